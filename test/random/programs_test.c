/*
 * Random programs end to end: the program of a seed and the result of a random pipeline on it, for
 * one device and in random layouts for several, compiled and run, equal the interpreter's results
 * by meaning. test/lower/cuda/random_test.c is the same for kernels of the cuda target.
 *
 *     program of the seed ──interpreter: layout = meaning ──────────────> compiled, 4 or 6 devices
 *       │ random passes ──interpreter: after each as before it ─────────> compiled, 4 or 6 devices
 *       │ erased ──interpreter: as before it
 *       └──> no axes ──random passes, interpreter: after each as before─> compiled, 1 device
 *
 * Many go into one library, because compilers take long to start.
 */
#include "test/lower/program.h"
#include "test/random/check.h"

enum {
	COUNT = 1000,         /* programs */
	SANITIZED_COUNT = 50, /* sanitizers make compilers many times slower */
	STEPS = 18,           /* attempts per program: about twelve ops */
	AT_ONCE = 50,         /* programs in a library */
	PROGRAM_STEPS = 2,    /* so that states and params change */
};

static bool
trains(uint64_t seed)
{
	return seed % 4 == 3;
}

static void
options(uint64_t seed, struct random_options *o)
{
	o->parallel = true;
	o->program = true;
	o->wide = seed % 5 != 0;
	o->fuse = seed % 4 == 0;
	o->loss = trains(seed);
	o->padded = seed % 6 == 5;
}

/* A program and its test results. */
struct subject {
	uint64_t seed;
	struct trial *t;
	const struct ir_module *m;
	int first, end; /* its compiled modules in the batch */
	bool right;
};

static bool
interpreted(struct trial *t, const struct ir_module *m)
{
	struct ir_module *copy = ir_module_clone(t, m), *plain = trial_erased(t, m);
	return ir_verify(copy) && ir_verify(plain) && trial_is_fixed_point(t, m) &&
	       interp_check_layout(m, NULL) && interp_check_modules(plain, m, NULL);
}

static bool
lowered(struct batch *b, struct trial *t, const char *what, const char *text, struct ir_module *m)
{
	const char *name = talloc_asprintf(b, "%s%s%s", what, *text ? " after " : "", text);
	if (m && ir_devices(m) > BATCH_DEVICES)
		return true;
	if (batch_try_module(b, name, m))
		return true;
	t->text = talloc_asprintf_append(t->text, "%s\n", name);
	return false;
}

/* The interpreter's part of the work; collects the modules to compile. */
static bool
prepare(struct batch *b, struct subject *s)
{
	struct trial *t = s->t;
	struct ir_module *m = ir_module_clone(t, s->m), *after = ir_module_clone(t, m),
			 *one = trial_single(t, m);
	const char *text, *one_text;
	return interpreted(t, m) && trial_pipeline(t, &after, s->seed, trains(s->seed), &text) &&
	       trial_pipeline(t, &one, s->seed + 1, trains(s->seed), &one_text) &&
	       lowered(b, t, "all devices", "", m) && lowered(b, t, "all devices", text, after) &&
	       lowered(b, t, "one device", one_text, one);
}

static void
compare(struct batch *b, struct subject *s)
{
	for (int i = s->first; i < s->end && s->right; i++) {
		const char *wrong = program_difference(b, i);
		if (!wrong)
			continue;
		s->right = false;
		s->t->text =
			talloc_asprintf_append(s->t->text, "%s: %s\n", b->program[i].what, wrong);
	}
}

/* Checks n programs at once. False: they cannot be compiled together. */
static bool
check_subjects(struct subject *s, int n)
{
	struct batch *b = batch_create();
	b->steps = PROGRAM_STEPS;
	for (int k = 0; k < n; k++) {
		random_try(s[k].seed, 1);
		s[k].first = b->n;
		s[k].right = prepare(b, &s[k]);
		s[k].end = b->n;
	}
	random_try(s[0].seed, n);
	const bool built = !b->n || batch_try_build(b, "-O0");
	for (int k = 0; k < n && built; k++)
		compare(b, &s[k]);
	batch_end(b);
	return built;
}

static bool
check_alone(struct trial *t, const struct ir_module *m, uint64_t seed)
{
	struct subject s = {.seed = seed, .t = t, .m = m};
	if (check_subjects(&s, 1))
		return s.right;
	t->text = talloc_asprintf_append(t->text, "it does not compile\n");
	return false;
}

static const struct trial_test test = {
	.count = COUNT, .steps = STEPS, .options = options, .check = check_alone};

/* Checks count programs from the seed on; returns the number of failures. */
static int
check_range(const struct gen_table *table, uint64_t first, int count)
{
	struct subject s[AT_ONCE];
	int wrong = 0;
	for (int k = 0; k < count; k++) {
		s[k] = (struct subject){
			.seed = first + (uint64_t)k, .t = trial_create(NULL, table)};
		s[k].m = trial_module(s[k].t, &test, s[k].seed);
	}
	const bool built = check_subjects(s, count);
	for (int k = 0; k < count; k++) {
		const bool right = built ? s[k].right : check_alone(s[k].t, s[k].m, s[k].seed);
		wrong += !right;
		if (!right)
			trial_report(&test, table, s[k].seed, s[k].t->text);
		talloc_free(s[k].t);
	}
	return wrong;
}

/* The fixed seeds together contain every op of the table. */
static void
programs_hold_every_op(void **state)
{
	(void)state;
	struct trial_cover c = {0};
	const struct gen_table *table = gen_table_create(NULL);
	for (int k = 0; k < test.count; k++) {
		struct trial *t = trial_create(NULL, table);
		trial_count(&c, trial_module(t, &test, (uint64_t)k));
		talloc_free(t);
	}
	talloc_free((void *)table);
	assert_int_equal(trial_uncovered(&c), 0);
}

static void
programs_compute_what_they_mean(void **state)
{
	(void)state;
	struct random_seeds range[RANDOM_RANGES];
	int wrong = 0;
	random_seeds(SANITIZED ? SANITIZED_COUNT : COUNT, range);
	const struct gen_table *table = gen_table_create(NULL);
	for (int r = 0; r < RANDOM_RANGES; r++)
		for (int k = 0; k < range[r].count && !wrong; k += AT_ONCE)
			wrong = check_range(table, range[r].first + (uint64_t)k,
				range[r].count - k < AT_ONCE ? range[r].count - k : AT_ONCE);
	talloc_free((void *)table);
	assert_int_equal(wrong, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(programs_hold_every_op),
		cmocka_unit_test(programs_compute_what_they_mean)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
