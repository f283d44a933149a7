/* Random programs: pipelines. See check.h. */
#include "ir/interp/interp.h"
#include "passes/manager/facts.h"
#include "passes/manager/pipeline.h"
#include "passes/registry.h"
#include "runtime/kernel/rng.h"
#include "test/random/check.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	MOST_PASSES = 4,  /* of a pipeline: their pairs meet soon enough */
	EVALUATIONS = 40, /* of a search: enough for correctness, not for quality */
	VALUES = 9,       /* of an option, at most */
};

static bool
note_bits(void *data, const struct pass_run *run, const struct pass_entry *e,
	struct ir_module *input, struct ir_module *m, double seconds, bool *drop)
{
	struct trial *t = data;
	(void)e, (void)input, (void)m, (void)seconds, (void)drop;
	t->bits = t->bits && run->pass->keeps_bits && !run->rounded;
	t->reordered = t->reordered || run->reordered;
	return true;
}

bool
trial_run_passes(struct trial *t, struct ir_module **m, const char *text)
{
	const struct pass_hooks hooks = {.data = t, .after = note_bits};
	struct pass_manager *manager = pass_manager_create(t, t->ctx);
	struct pass_pipeline *p = pass_pipeline_create(t);
	manager->verify_each = true;
	manager->evaluations = EVALUATIONS;
	if (!pass_pipeline_parse(p, manager, "pipeline", text) ||
		!pass_pipeline_check(p, manager, *m)) {
		*m = NULL;
		return true;
	}
	t->bits = true;
	t->reordered = false;
	const enum pass_status status = pass_pipeline_run(p, manager, m, &hooks);
	if (status == PASS_FAILED)
		*m = NULL;
	return status != PASS_BUG;
}

bool
trial_same(const struct trial *t, const struct ir_module *before, const struct ir_module *after)
{
	if (!t->bits)
		return interp_check_modules(before, after, NULL);
	return interp_check_bits(before, after, t->reordered, NULL) &&
	       interp_check_layout(after, NULL);
}

static int
draw(uint64_t *random, int n)
{
	return (int)(rt_mix64(++*random) % (uint64_t)n);
}

static const char *
draw_word(uint64_t *random, const char *const *word, int n)
{
	return word[*random ? draw(random, n) : 0];
}

#define DRAW_WORD(random, ...)                                                                     \
	draw_word(random, (const char *const[]){__VA_ARGS__},                                      \
		sizeof((const char *const[]){__VA_ARGS__}) / sizeof(const char *))

/* Options whose help describes the values in prose, or most of whose values would be refused; other
 * texts keep their defaults. */
static const struct {
	const char *pass, *option, *value[VALUES]; /* NULL after the last */
} texts[] = {
	{"joint", "moves", {"all", "fuse", "\"fuse,pack\"", "\"copy,part,order\"", "pack"}},
	{"accumulate", "steps", {"2", "4", "2", "1", "3"}},
	{"parallelize", "finish",
		{"overlap", "opfuse", "\"opfuse,overlap\"", "tensorfuse", "opfuse"}},
	{"plan", "evaluations", {"1", "8", "12", "4", "9"}},
	{"plan", "devices", {"2", "4", "2", "3", "0"}},
	{"plan", "optimizer", {"adam", "sgd", "none", "momentum", "adam"}},
	{"plan", "decide", {"all", "\"layouts,memory\"", "\"shards,order\"", "fusion", "all"}},
	{"plan", "microbatches", {"auto", "1", "\"1,2\"", "auto", "1"}},
	{"parallelize", "devices", {"2", "4", "2", "3", "0"}},
	{"pipeline", "steps", {"2", "4", "2", "1", "3"}},
	{"pipeline", "axis", {"pp", "tp", "pp", "dp", "pp"}},
	{"pipeline", "schedule",
		{"1f1b", "gpipe", "interleaved", "zb1p", "zb2p", "zbv", "vhalf", "vmin", "search"}},
	{"pipeline", "stages", {"2", "4", "2", "3", "4"}},
	{"shard", "stage", {"3", "2", "1", "3", "2"}},
};

static const char *
text_value(const struct pass *p, const struct pass_option *o, uint64_t *random)
{
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		int n = 0;
		if (strcmp(texts[i].pass, p->name) != 0 || strcmp(texts[i].option, o->name) != 0)
			continue;
		while (n < VALUES && texts[i].value[n])
			n++;
		return draw_word(random, texts[i].value, n);
	}
	return NULL;
}

static double
within(const struct pass_option *o, double x)
{
	if (o->min == 0 && o->max == 0)
		return x;
	return x < o->min ? o->min : x > o->max ? o->max : x;
}

/* Twice the default, or halfway to the largest: Adam with its largest beta divides by 1e-7 in the
 * first step, which magnifies the difference of two orders of a sum 1e7 times. */
static double
larger(const struct pass_option *o, double x)
{
	return o->max > 0 && 2 * x > o->max ? (x + o->max) / 2 : 2 * x;
}

/* Near the default: a large learning rate tests nothing. Also 0, except for numbers that are added
 * to a divisor: gradients that are only rounding error would be divided by their sizes, which are 0
 * in one order of summation and not in another. */
static const char *
float_value(const void *owner, const struct pass_option *o, uint64_t *random)
{
	const double x = o->fallback ? strtod(o->fallback, NULL) : 1;
	const double near[] = {x, 0.5 * x, larger(o, x), 0};
	const int n = strcmp(o->name, "eps") == 0 ? 3 : 4;
	return talloc_asprintf(owner, "%.9g", within(o, near[draw(random, n)]));
}

static const char *
int_value(const void *owner, const struct pass_option *o, uint64_t *random)
{
	static const int64_t number[] = {0, 1, 2, 3, 7, 50, 200};
	const double x = (double)number[draw(random, sizeof number / sizeof *number)];
	return talloc_asprintf(owner, "%.0f", within(o, x));
}

static const char *
enum_value(const void *owner, const struct pass_option *o, uint64_t *random)
{
	char *list = talloc_strdup(owner, o->choices), *rest = NULL;
	const char *chosen = strtok_r(list, ",", &rest);
	int seen = 1;
	for (const char *word = chosen; word && *random; word = strtok_r(NULL, ",", &rest), seen++)
		if (draw(random, seen) == 0)
			chosen = word;
	return chosen;
}

/* A value for the option, or NULL. If *random is 0, the first candidate. */
static const char *
option_value(const void *owner, const struct pass *p, const struct pass_option *o, uint64_t *random)
{
	const char *text = text_value(p, o, random);
	if (text)
		return text;
	switch (o->type) {
	case PASS_AXIS: return DRAW_WORD(random, "dp", "dp", "dp", "tp", "mb");
	case PASS_AXES: return DRAW_WORD(random, "auto", "dp", "[dp]", "tp", "[dp,tp]");
	case PASS_BOOL: return *random && draw(random, 2) ? "true" : "false";
	case PASS_SIZE: return DRAW_WORD(random, "1GB", "1", "64", "1KB");
	case PASS_TIME: return *random ? DRAW_WORD(random, "1us", "1ms") : NULL;
	case PASS_INT: return *random ? int_value(owner, o, random) : o->fallback ? NULL : "2";
	case PASS_FLOAT: return *random ? float_value(owner, o, random) : NULL;
	case PASS_STRING: return NULL;
	case PASS_ENUM: return enum_value(owner, o, random);
	}
	return NULL;
}

const char *
trial_pass_text(const void *owner, const struct pass *p, uint64_t *random)
{
	char *text = talloc_strdup(owner, p->name);
	int n = 0;
	for (const struct pass_option *o = p->options; o && o->name; o++) {
		if (o->fallback && (!*random || draw(random, 3) > 0))
			continue;
		const char *value = option_value(owner, p, o, random);
		if (value)
			text = talloc_asprintf_append(
				text, "%s%s=%s", n++ ? "," : "{", o->name, value);
		else if (!o->fallback)
			return NULL;
	}
	return n ? talloc_strdup_append(text, "}") : text;
}

/* --- pipelines as text --------------------------------------------------------------------------
 */

static const char *
text_of(const void *owner, const char *name, uint64_t *random)
{
	const struct pass_registry *r = pass_registry_create(owner);
	for (int i = 0; i < pass_registry_count(r); i++)
		if (strcmp(pass_registry_get(r, i)->name, name) == 0)
			return trial_pass_text(owner, pass_registry_get(r, i), random);
	return name;
}

/*
 * Relative frequency of each pass. One row for each pass of passes.def, or this does not compile:
 * WEIGHT_name.
 */
enum {
	WEIGHT_inline = 1,
	WEIGHT_canonicalize = 3,
	WEIGHT_sink_transpose = 1,
	WEIGHT_channels_last = 1,
	WEIGHT_rewrite = 2,
	WEIGHT_cse = 3,
	WEIGHT_hoist = 1,
	WEIGHT_dce = 2,
	WEIGHT_amp = 2,
	WEIGHT_grad = 12, /* most others need it */
	WEIGHT_recompute = 4,
	WEIGHT_sgd = 2,
	WEIGHT_momentum = 1,
	WEIGHT_adam = 3,
	WEIGHT_adamw = 2,
	WEIGHT_lamb = 2,
	WEIGHT_nadam = 1,
	WEIGHT_radam = 1,
	WEIGHT_adafactor = 1,
	WEIGHT_adamax = 1,
	WEIGHT_rmsprop = 2,
	WEIGHT_adagrad = 1,
	WEIGHT_adadelta = 1,
	WEIGHT_rprop = 1,
	WEIGHT_asgd = 1,
	WEIGHT_lion = 1,
	WEIGHT_muon = 1,
	WEIGHT_parallelize = 4,
	WEIGHT_merge_replica_dim = 1,
	WEIGHT_propagate = 2,
	WEIGHT_dp = 5,
	WEIGHT_spatial = 1,
	WEIGHT_pipeline = 2,
	WEIGHT_scatter_sends = 1,
	WEIGHT_accumulate = 2,
	WEIGHT_shard = 5,
	WEIGHT_prefetch = 5,
	WEIGHT_unshard = 4,
	WEIGHT_offload = 3,
	WEIGHT_opfuse = 3,
	WEIGHT_random_fuse = 1,
	WEIGHT_tensorfuse = 3,
	WEIGHT_tensorpart = 2,
	WEIGHT_overlap = 1,
	WEIGHT_joint = 3,
	WEIGHT_plan = 1, /* it runs many others */
};

#define PASS(name) extern const struct pass pass_##name;
#include "passes/passes.def"
#undef PASS

static const struct weighted {
	const struct pass *pass;
	int weight;
} weights[] = {
#define PASS(name) {&pass_##name, WEIGHT_##name},
#include "passes/passes.def"
#undef PASS
};

enum { PASSES = sizeof weights / sizeof *weights };

static const struct pass *
any_pass(uint64_t *random)
{
	int sum = 0, i = 0;
	for (int k = 0; k < PASSES; k++)
		sum += weights[k].weight;
	for (int at = draw(random, sum); at >= weights[i].weight; i++)
		at -= weights[i].weight;
	return weights[i].pass;
}

/* The facts that hold after the passes drawn so far: words, each with commas around it. */
struct facts {
	char *held;
};

static bool
holds(const struct facts *f, const char *word, size_t length)
{
	const char *comma = talloc_asprintf(f->held, ",%.*s,", (int)length, word);
	return strstr(f->held, comma) != NULL;
}

/* May the pass run, given the facts? A fact for which another pass is inserted is not an
 * obstacle. */
static bool
may_run(const struct facts *f, const struct pass *p)
{
	const char *at = p->needs, *word;
	size_t length;
	while (pass_fact_next(&at, &word, &length)) {
		const struct pass_fact *fact = pass_fact_find(word, length);
		if (!holds(f, word, length) && !(fact && fact->provider))
			return false;
	}
	for (at = p->conflicts; pass_fact_next(&at, &word, &length);)
		if (holds(f, word, length))
			return false;
	return true;
}

static void
note_facts(struct facts *f, const struct pass *p)
{
	const char *at = p->provides, *word;
	size_t length;
	while (pass_fact_next(&at, &word, &length))
		if (*word != '!')
			f->held = talloc_asprintf_append(f->held, "%.*s,", (int)length, word);
}

/* A position in a realistic pipeline: one of these passes, or none. */
static const struct stage {
	int percent; /* probability that it occurs */
	const char *pass[11];
} sensible[] = {
	{30, {"inline"}},
	{30, {"amp"}},
	{20, {"accumulate", "pipeline"}},
	{40, {"canonicalize", "cse", "dce"}},
	{50, {"dp"}},
	{85, {"grad"}},
	{25, {"recompute", "recompute{policy=budget,budget=1KB}"}},
	{80, {"sgd", "momentum", "adam", "adamw", "lamb", "rmsprop", "lion", "nadam", "radam",
		     "adafactor", "muon"}},
	{30, {"dp", "spatial"}},
	{10, {"accumulate"}},
	{30, {"shard"}},
	{25, {"prefetch"}},
	{25, {"unshard", "unshard", "prefetch"}},
	{20, {"propagate", "merge-replica-dim", "sink-transpose", "channels-last{policy=all}"}},
	{40, {"canonicalize", "cse", "dce"}},
	{40, {"opfuse", "opfuse{online}", "random-fuse"}},
	{40, {"tensorfuse"}},
	{25, {"tensorpart"}},
	{30, {"joint"}},
	{30, {"canonicalize", "cse", "dce", "opfuse"}},
};

/* The same for sharded training: the axis named `dp` is that of the batch. */
static const struct stage sharded[] = {
	{30, {"accumulate"}},
	{25, {"amp"}},
	{90, {"dp{axis=dp}"}},
	{15, {"dp{axis=tp}"}},
	{20, {"accumulate", "pipeline"}},
	{98, {"grad"}},
	{45, {"recompute", "recompute{policy=budget,budget=1KB}"}},
	{20, {"canonicalize", "cse", "dce"}},
	{45, {"shard{axis=dp}", "shard"}},
	{90, {"sgd", "momentum", "adam", "adamw", "lamb", "rmsprop", "lion", "nadam", "radam",
		     "adafactor", "muon"}},
	{20, {"accumulate"}},
	{50, {"shard{axis=dp}", "shard", "shard{axis=tp}"}},
	{60, {"prefetch"}},
	{15, {"recompute"}},
	{60, {"unshard"}},
	{30, {"prefetch", "unshard"}},
	{50, {"canonicalize", "cse", "dce"}},
	{40, {"opfuse", "opfuse{online}", "random-fuse"}},
	{30, {"tensorfuse"}},
	{20, {"tensorpart"}},
	{20, {"joint"}},
	{20, {"prefetch", "unshard", "cse"}},
};

static char *
join(char *text, const char *pass)
{
	return talloc_asprintf_append(text, "%s%s", *text ? "," : "", pass);
}

static char *
staged_pipeline(const void *owner, const struct stage *stage, size_t stages, uint64_t *random)
{
	char *text = talloc_strdup(owner, "");
	for (size_t i = 0; i < stages; i++) {
		int n = 0;
		while (n < 8 && stage[i].pass[n])
			n++;
		if (draw(random, 100) >= stage[i].percent)
			continue;
		const char *pass = text_of(owner, stage[i].pass[draw(random, n)], random);
		text = join(text, pass);
		if (draw(random, 8) == 0) /* twice */
			text = join(text, pass);
	}
	return text;
}

/* Passes in any order; if `legal`, only those that the facts allow. */
static char *
unordered_pipeline(const void *owner, bool legal, uint64_t *random)
{
	enum { MOST = 9, TRIES = 400 };
	struct facts facts = {talloc_strdup(owner, ",")};
	char *text = talloc_strdup(owner, "");
	int left = 1 + draw(random, MOST);
	for (int k = 0; k < TRIES && left > 0; k++) {
		const struct pass *p = any_pass(random);
		const char *drawn =
			legal && !may_run(&facts, p) ? NULL : trial_pass_text(owner, p, random);
		if (!drawn)
			continue;
		text = join(text, drawn);
		note_facts(&facts, p);
		left--;
	}
	return text;
}

const char *
trial_pipeline_text(const void *owner, uint64_t seed)
{
	uint64_t random = rt_mix64(seed ^ UINT64_C(0x6f64642070697065)) | 1;
	const int how = draw(&random, 100);
	char *text = how < 40 ? staged_pipeline(owner, sensible, sizeof sensible / sizeof *sensible,
					&random)
			      : unordered_pipeline(owner, how < 80, &random);
	return *text ? text : unordered_pipeline(owner, true, &random);
}

const char *
trial_sharded_text(const void *owner, uint64_t seed)
{
	uint64_t random = rt_mix64(seed ^ UINT64_C(0x7368617264656420)) | 1;
	return draw(&random, 100) < 60
		       ? staged_pipeline(owner, sharded, sizeof sharded / sizeof *sharded, &random)
		       : unordered_pipeline(owner, true, &random);
}

/* --- pipelines in a process ---------------------------------------------------------------------
 */

/* Runs one pass on *m, which is unchanged if the pass refuses it, and checks the result. */
static bool
checked_pass(struct trial *t, struct ir_module **m, const char *pass, const char **text)
{
	struct ir_module *after = ir_module_clone(t, *m);
	char *said = talloc_strdup(t, t->text);
	const char *with = talloc_asprintf(t, "%s%s%s", *text, **text ? "," : "", pass);
	if (trial_run_passes(t, &after, pass) &&
		(!after || (trial_is_fixed_point(t, after) && interp_check_layout(after, NULL) &&
				   trial_same(t, *m, after)))) {
		if (after) {
			*m = after;
			*text = with;
		}
		t->text = said; /* without the reason for a pass's refusal */
		return true;
	}
	t->text = talloc_asprintf_append(t->text, "after %s\n", with);
	return false;
}

static bool
is_of_family(const struct pass *p, const char *family)
{
	return strcmp(p->family, family) == 0;
}

/* A pass of the table, of the family; if that is NULL, one that is not a training pass. */
static const char *
drawn_pass(struct trial *t, const char *family, uint64_t *random)
{
	const struct pass_registry *r = pass_registry_create(t);
	for (;;) {
		const struct pass *p = pass_registry_get(r, draw(random, pass_registry_count(r)));
		if (family ? !is_of_family(p, family) : is_of_family(p, "train"))
			continue;
		const char *text = trial_pass_text(t, p, random);
		if (text)
			return text;
	}
}

bool
trial_pipeline(struct trial *t, struct ir_module **m, uint64_t seed, bool train, const char **text)
{
	uint64_t random = rt_mix64(seed ^ UINT64_C(0x706970656c696e65)) | 1;
	*text = "";
	if (train && !checked_pass(t, m, "grad", text))
		return false;
	if (train && draw(&random, 3) && !checked_pass(t, m, drawn_pass(t, "train", &random), text))
		return false;
	/* The budget cannot be met: everything that may be recomputed is. */
	if (train && draw(&random, 2) &&
		!checked_pass(t, m, "recompute{policy=budget,budget=64}", text))
		return false;
	for (int n = 1 + draw(&random, MOST_PASSES); n > 0; n--)
		if (!checked_pass(t, m, drawn_pass(t, NULL, &random), text))
			return false;
	return true;
}
