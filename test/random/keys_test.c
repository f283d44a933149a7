/*
 * Keys of a profile: ops with one key have one kernel, up to names, so that a time that was
 * measured for one holds for the other; and changes that do not affect the kernel do not affect the
 * key: names, positions, the order of the operands of a fuse and of attributes.
 */
#include "ir/base/mix.h"
#include "ir/ops/alike.h"
#include "lower/plan/plan.h"
#include "parser/dir/parse.h"
#include "parser/cluster/cluster.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/profile/key.h"
#include "passes/fuse/fuse.h"
#include "test/random/check.h"
#include "test/random/generate.h"
#include "test/unit.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	COUNT = 600,  /* programs: some thousand kernels, most keys several times */
	ENOUGH = 500, /* of this many kernels some share a key */
	STEPS = 20,
	NAMES = 4096, /* identifiers with a number in one kernel */
};

struct entry {
	char *key, *code;
	uint64_t seed;
};

struct table {
	struct entry *entry; /* talloc array */
	int n;
	int alike, unlike; /* ops like a previous one; those with another kernel or key */
};

/* The number of a name, counted from its first use on. */
static int
number_of(char (*names)[16], int *n, const char *name)
{
	for (int i = 0; i < *n; i++)
		if (strcmp(names[i], name) == 0)
			return i;
	assert_true(*n < NAMES);
	snprintf(names[*n], sizeof names[*n], "%s", name);
	return (*n)++;
}

/* Is p at the seed of a random number? Seeds are part of the code and do not affect its time. */
static size_t
seed_at(const char *p, const char *begin)
{
	static const char *const functions[] = {"M_normal(", "M_uniform("};
	for (size_t i = 0; i < 2; i++) {
		size_t n = strlen(functions[i]);
		if (p - begin >= (ptrdiff_t)n && memcmp(p - n, functions[i], n) == 0)
			return strcspn(p, ",");
	}
	return 0;
}

/* The body of the kernel with names such as v12 renumbered in the order of their use. */
static char *
normalized(const void *owner, const char *source)
{
	static char names[NAMES][16];
	const char *p = strstr(source, "K_kernel("), *end = strstr(source, "\nvoid\nK(");
	int n = 0;
	assert_true(p && end);
	p = strchr(p, '{');
	const char *begin = p;
	char *text = talloc_strdup(owner, ""), piece[32];
	while (p < end) {
		size_t word = 0;
		p += seed_at(p, begin);
		while (isalnum((unsigned char)p[word]) || p[word] == '_')
			word++;
		bool numbered = word > 1 && word < 16 && isalpha((unsigned char)*p) &&
				strspn(p + 1, "0123456789") == word - 1;
		word = word ? word : 1;
		if (numbered) {
			char name[16] = "";
			memcpy(name, p, word);
			snprintf(piece, sizeof piece, "%c#%d", *p, number_of(names, &n, name));
			text = talloc_strdup_append_buffer(text, piece);
		} else {
			text = talloc_strndup_append_buffer(text, p, word);
		}
		p += word;
	}
	return text;
}

static char *
code_of(const void *owner, struct ir_module *m, const struct ir_op *op)
{
	char *text = NULL;
	size_t size = 0;
	uint64_t scratch;
	FILE *f = open_memstream(&text, &size);
	bool good = lower_kernel_source(m, op, &storage_host, "K", false, f, &scratch);
	fclose(f);
	char *code = good ? normalized(owner, text) : NULL;
	free(text);
	return code;
}

static void
add_kernels(struct table *t, uint64_t seed, struct ir_module *m)
{
	struct lower_plan *p = lower_plan_create(NULL, m);
	for (int i = 0; p && i < p->nactions; i++) {
		const struct ir_op *op = p->action[i].op;
		if (p->action[i].kind != LOWER_KERNEL)
			continue;
		char *key = cost_op_key(t, m, op), *code = code_of(t, m, op);
		if (!code || !key) /* a constant that must be in memory costs nothing */
			continue;
		t->entry = talloc_realloc(t, t->entry, struct entry, t->n + 1);
		t->entry[t->n++] = (struct entry){key, code, seed};
	}
	talloc_free(p);
}

/* Ops that are alike (ir/ops/alike.h) have one key, and one kernel with the same scratch. */
static void
compare_alike(struct table *t, uint64_t seed, struct ir_module *m)
{
	const struct ir_block *b = &ir_func_find(m, "main")->body;
	struct alike *a = alike_create(NULL, m, b);
	IR_FOR_OPS (op, b) {
		const struct ir_op *first = a->first[alike_number(a, op)];
		if (op == first || first->block != b || cost_op_kind(m, op) != COST_COMPUTE)
			continue;
		const char *key = cost_op_key(a, m, op), *code = code_of(a, m, op),
			   *other = code_of(a, m, first);
		const char *known = cost_op_key(a, m, first);
		t->alike++;
		if (!key == !known && (!key || strcmp(key, known) == 0) && !code == !other &&
			(!code || strcmp(code, other) == 0))
			continue;
		if (t->unlike++ < 8)
			printf("seed %llu: alike, but not the same: %s\n%s\n%s\n",
				(unsigned long long)seed, key ? key : "no key", code, other);
	}
	talloc_free(a);
}

static int
by_key(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	int order = strcmp(x->key, y->key);
	return order ? order : (x->seed > y->seed) - (x->seed < y->seed);
}

static struct table *
random_kernels(void)
{
	struct table *t = talloc_zero(NULL, struct table);
	const struct gen_table *ops = gen_table_create(t);
	struct random_seeds range[RANDOM_RANGES];
	random_seeds(COUNT, range);
	for (int k = 0; k < random_count(range); k++) {
		const uint64_t seed = random_nth(range, k);
		random_try(seed, 1);
		void *scratch = talloc_new(NULL);
		struct ir_context *ctx = ir_context_create(scratch);
		diag_mute(ctx->diag, true);
		const struct random_options o = {.table = ops,
			.steps = STEPS,
			.parallel = seed % 3 != 0,
			.fuse = seed % 2 == 0,
			.wide = seed % 5 != 0,
			.program = true};
		struct ir_module *m = random_module(scratch, ctx, seed, &o);
		if (m && ir_verify(m)) {
			add_kernels(t, seed, m);
			compare_alike(t, seed, m);
		}
		talloc_free(scratch);
	}
	return t;
}

static void
check_table(struct table *t)
{
	int shared = 0, wrong = 0;
	qsort(t->entry, (size_t)t->n, sizeof *t->entry, by_key);
	for (int i = 1; i < t->n; i++) {
		if (strcmp(t->entry[i].key, t->entry[i - 1].key) != 0)
			continue;
		shared++;
		if (strcmp(t->entry[i].code, t->entry[i - 1].code) != 0 && wrong++ < 8)
			printf("key %s\nseed %llu: %s\nseed %llu: %s\n", t->entry[i].key,
				(unsigned long long)t->entry[i - 1].seed, t->entry[i - 1].code,
				(unsigned long long)t->entry[i].seed, t->entry[i].code);
	}
	printf("%d kernels, %d share their key; %d ops are like one "
	       "before\n",
		t->n, shared, t->alike);
	assert_int_equal(wrong, 0);
	assert_int_equal(t->unlike, 0);
	assert_true(t->n < ENOUGH || (shared > t->n / 20 && t->alike > 0));
	talloc_free(t);
}

static void
one_key_is_one_kernel(void **state)
{
	(void)state;
	check_table(random_kernels());
}

/* The keys of the kernels of @main in `text`. */
static int
keys_of(const void *owner, const char *text, char **key, int most)
{
	struct ir_context *ctx = ir_context_create(owner);
	struct ir_module *m = parse_module(owner, ctx, "keys", text, strlen(text), NULL);
	int n = 0;
	assert_true(m && ir_verify(m));
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		char *k = cost_op_key(owner, m, op);
		if (k && n < most)
			key[n++] = k;
	}
	return n;
}

/* Two modules that do the same in different notation. */
static void
what_changes_no_kernel_changes_no_key(void **state)
{
	(void)state;
	void *owner = talloc_new(NULL);
	char *a[16], *b[16];
	int n = keys_of(owner,
		"module @m\nmesh [dp = 2]\n"
		"func @main() {\n"
		"  %x = input(\"x\") : f32[16/dp,8]\n"
		"  %w = param(\"w\") {init = \"he\"} : f32[8]\n"
		"  %h = fuse(%x, %w) { %a = add(%x, %w) %b = relu(%a) yield(%b) }\n"
		"  %m = max(%h) {dims = [1], keep = true}\n"
		"  %s = sub(%h, %m)\n"
		"  %u = sum(%s) {dims = [1]}\n"
		"  output(\"u\", %u)\n"
		"}\n",
		a, 16);
	assert_int_equal(n, 4);
	/* Other names, other places, other axes, the whole tensor half as large, the operands of
	 * the fuse and the attributes in reverse order, a default written explicitly, ops in
	 * between. */
	assert_int_equal(
		keys_of(owner,
			"module @m\nfunc @main() {\n"
			"  %v = param(\"v\") {init = \"he\"} : f32[8]\n"
			"  %y = input(\"y\") : f32[8,8]\n"
			"  %z = fuse(%v, %y) { %p = add(%y, %v) %q = relu(%p) yield(%q) }\n"
			"  %m = max(%z) {keep = true, dims = [1]}\n"
			"  %r = sub(%z, %m)\n"
			"  %t = sum(%r) {keep = false, dims = [1]}\n"
			"  output(\"t\", %t)\n"
			"}\n",
			b, 16),
		n);
	for (int i = 0; i < n; i++)
		assert_string_equal(a[i], b[i]);
	/* Changes that affect the key: the other operand broadcast, another constant, a slice of a
	 * whole. */
	n = keys_of(owner,
		"module @m\nmesh [dp = 2]\n"
		"func @main() {\n"
		"  %x = input(\"x\") : f32[16/dp,8]\n"
		"  %w = param(\"w\") {init = \"he\"} : f32[8]\n"
		"  %a = add(%x, %w)\n"
		"  %b = add(%w, %x)\n"
		"  %two = constant() {value = 2.0} : f32[]\n"
		"  %ten = constant() {value = 10.0} : f32[]\n"
		"  %c = mul(%x, %two)\n"
		"  %d = mul(%x, %ten)\n"
		"  %e = mul(%x, %x)\n"
		"  %f = cumsum(%x) {dim = 1}\n"
		"  output(\"a\", %a) output(\"b\", %b) output(\"c\", %c) output(\"d\", %d)\n"
		"  output(\"e\", %e) output(\"f\", %f)\n"
		"}\n",
		a, 16);
	assert_int_equal(n, 6);
	for (int i = 0; i < n; i++)
		for (int k = 0; k < i; k++)
			assert_string_not_equal(a[i], a[k]);
	talloc_free(owner);
}

/* --- facts of kernels that a model remembers --- */

enum {
	REMEMBERED = 300, /* programs: each kernel some times */
	MANY = 50,        /* programs of which some have the same kernel */
};

/* Seconds of the step, and its memory, with what the model remembers of steps before; adds its kinds of
 * ops. */
static double
costs(const struct cost_model *model, const struct ir_module *m, uint64_t *live, int64_t *kinds)
{
	void *scratch = talloc_new(NULL);
	const struct cost_step *step = cost_step_create(scratch, model, m);
	double seconds = -1;

	if (step) {
		struct storage_known *known =
			storage_known_create(scratch, step->alike, NULL, cost_codes(model));
		*live = storage_create_unplaced(
			scratch, m, ir_func_find(m, "main"), cost_model_storage(model), known)
				->live_bytes;
		seconds = replay_seconds(step->r.makespan);
		*kinds += step->alike->n;
	}
	talloc_free(scratch);
	return seconds;
}

/* Two models, one of which remembers, agree on all steps; each module is freed before the next one. */
static void
a_model_that_remembers_gives_the_same_costs(void **state)
{
	(void)state;
	void *owner = talloc_new(NULL);
	struct ir_context *ctx = ir_context_create(owner);
	const struct gen_table *ops = gen_table_create(owner);
	const char text[] = "cluster @t { device test {sums = 1, launch = 2us, link_latency = 3us, "
			    "link_bandwidth = 1GB/s} }\n";
	struct cluster *c = cluster_parse(owner, ctx, "t.cluster", text, strlen(text));
	assert_non_null(c);
	const struct cost_model *forgets =
		cost_model_create(owner, ctx->diag, &(struct cost_options){.cluster = c});
	const struct cost_model *remembers = cost_model_remember(owner, forgets);
	struct random_seeds range[RANDOM_RANGES];
	int steps = 0;
	int64_t kinds[2] = {0};

	random_seeds(REMEMBERED, range);
	diag_mute(ctx->diag, true);
	for (int k = 0; k < random_count(range); k++) {
		const uint64_t seed = random_nth(range, k);
		random_try(seed, 1);
		const struct random_options o = {.table = ops,
			.steps = STEPS,
			.devices = 1 + (int)(seed % 3),
			.parallel = seed % 4 != 0,
			.fuse = seed % 2 == 0};
		struct ir_module *m = random_module(NULL, ctx, seed, &o);
		uint64_t bytes[2] = {0};
		if (m && ir_verify(m)) {
			const double seconds = costs(forgets, m, &bytes[0], &kinds[0]);
			steps += seconds > 0;
			assert_true(costs(remembers, m, &bytes[1], &kinds[1]) == seconds);
			assert_int_equal(bytes[1], bytes[0]);
		}
		talloc_free(m);
	}
	assert_int_equal(kinds[1], kinds[0]);
	assert_true(remembers->memo->fact.n <= kinds[1]);
	/* A few programs may have no kernel in common. */
	if (random_count(range) >= MANY) {
		assert_true(steps > random_count(range) / 2);
		assert_true(remembers->memo->fact.n < kinds[1]);
	}
	talloc_free(owner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(one_key_is_one_kernel),
		cmocka_unit_test(what_changes_no_kernel_changes_no_key),
		cmocka_unit_test(a_model_that_remembers_gives_the_same_costs)};
	return cmocka_run_group_tests_name("keys", tests, NULL, NULL);
}
