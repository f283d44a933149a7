/*
 * `joint` on every model of test/models: by the cost model it is told to believe, no policy makes a
 * faster step, with few evaluations, on one device or on two, with a profile or without: a model has
 * two of these four, the other two where DOPT_RANDOM_SLICE is 1, and all where it is "all".
 */
#include "test/random/seeds.h"
#include "test/passes/search/policies.h"
#include "test/file.h"
#include "test/unit.h"

#include "parser/cluster/cluster.h"
#include "parser/dir/parse.h"

#include <dirent.h>

enum { EVALUATIONS = 4, BLOCKS = 2 /* of a network that repeats them: the others are alike */ };

static const char machine[] = "cluster @t {\n device test {launch = 2us, link_latency = 3us, "
			      "link_bandwidth = 10GB/s}\n}\n";

/* The model with few blocks and n devices. */
static struct ir_module *
read_model(const void *owner, struct ir_context *ctx, const char *name, int devices)
{
	static const char *const repeats[] = {"L", "R1", "R2", "R3", "R4"};
	struct parse_define define[6] = {{"N", devices}};
	struct parse_options o = {.define = define, .ndefines = 1, .inline_calls = true};
	size_t n = 0;
	char *path = talloc_asprintf(owner, TEST_SOURCE_DIR "/models/%s", name);
	const char *text = read_file(owner, path, &n);

	assert_non_null(text);
	for (size_t i = 0; i < sizeof repeats / sizeof *repeats; i++)
		if (strstr(text, talloc_asprintf(owner, "\nlet %s = ", repeats[i])))
			define[o.ndefines++] = (struct parse_define){repeats[i], BLOCKS};
	return parse_module(owner, ctx, name, text, n, &o);
}

/* A training step as the search gets it. */
static struct ir_module *
step_of(const void *owner, struct ir_context *ctx, const char *name, int devices)
{
	struct ir_module *m = read_model(owner, ctx, name, devices);

	assert_non_null(m);
	struct ir_module *step = policies_apply(owner, m, NULL,
		devices > 1 ? "dp{axis=dp},canonicalize,cse,grad,momentum,cse"
			    : "canonicalize,cse,grad,momentum,canonicalize,cse");
	assert_non_null(step);
	return step;
}

static void
check(const char *name, int devices, bool profile)
{
	void *owner = talloc_new(NULL);
	struct ir_context *ctx = ir_context_create(owner);
	struct ir_module *m = step_of(owner, ctx, name, devices);
	struct cluster *c = cluster_parse(owner, ctx, "t.cluster", machine, strlen(machine));
	struct cost_model *model =
		cost_model_create(owner, ctx->diag, &(struct cost_options){.cluster = c});

	assert_non_null(model);
	if (profile)
		model = policies_profiled(owner, m, model, c, "test", 1);
	assert_non_null(model);
	char *search = talloc_asprintf(owner, "joint{evaluations=%d}", EVALUATIONS);
	const char *faster = policies_faster(owner, m, model, search);
	if (faster)
		fail_msg("%s on %d devices%s: %s", name, devices, profile ? ", profile" : "",
			faster);
	talloc_free(owner);
}

/* Of a name, which stays when there are more models; a folder is read in any order. */
static uint64_t
number_of(const char *name)
{
	uint64_t n = 0;

	while (*name)
		n += (unsigned char)*name++;
	return n;
}

/* One device without a profile and two with one, or the other two; under sanitizers one of 16. */
static bool
is_chosen(uint64_t model, int devices, bool profile)
{
	const char *slice = getenv("DOPT_RANDOM_SLICE");

	if (SANITIZED)
		return ((model + 2 * (uint64_t)devices + profile) & 15) == 0;
	return (slice && strcmp(slice, "all") == 0) ||
	       ((model + (uint64_t)devices + profile) & 1) == 0;
}

static void
no_policy_is_faster_than_the_search(void **state)
{
	const uint64_t first = random_number_of("DOPT_RANDOM_SLICE", 0);
	DIR *folder = opendir(TEST_SOURCE_DIR "/models");
	uint64_t models = 0;

	(void)state;
	printf("DOPT_RANDOM_SLICE=%llu\n", (unsigned long long)first);
	assert_non_null(folder);
	for (const struct dirent *e; (e = readdir(folder));) {
		const char *end = strrchr(e->d_name, '.');
		if (!end || strcmp(end, ".dir") != 0)
			continue;
		for (int k = 0; k < 4; k++)
			if (is_chosen(first + number_of(e->d_name), 1 + k / 2, k % 2))
				check(e->d_name, 1 + k / 2, k % 2);
		models++;
	}
	closedir(folder);
	assert_true(models >= 17);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(no_policy_is_faster_than_the_search)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
