/*
 * joint: which ops share a kernel, which tensors share a message, into how many chunks messages are
 * split, and the issue order: all chosen at once by a search over plans, which are judged by replay
 * (DisCo, section 4; dPRO, section 5). Engines: passes/search/search.h.
 */
#include "ir/base/alloc.h"
#include "passes/search/joint.h"

#include <inttypes.h>
#include <string.h>

/* Share of the evaluation limit that is reserved for rules. */
enum { RULES_SHARE = 8 };

static const struct {
	const char *name;
	unsigned moves;
} moves[] = {
	{"fuse", SEARCH_FUSE},
	{"copy", SEARCH_COPY},
	{"pack", SEARCH_PACK},
	{"part", SEARCH_PART},
	{"order", SEARCH_ORDER},
	{"all", SEARCH_ALL},
};

/* The moves named in a text such as "fuse,pack"; 0 after reporting an unknown word. */
static unsigned
read_moves(struct pass_run *run, const char *text)
{
	unsigned set = 0;

	while (*text) {
		size_t n = strcspn(text, ",+ "), i = 0;
		while (i < sizeof moves / sizeof *moves &&
			(strlen(moves[i].name) != n || strncmp(moves[i].name, text, n) != 0))
			i++;
		if (i == sizeof moves / sizeof *moves) {
			diag_error(run->ctx->diag, pass_option_loc(run, "moves"),
				"joint: unknown move '%.*s'; expected fuse, "
				"copy, pack, part, order or all",
				(int)n, text);
			return 0;
		}
		set |= moves[i].moves;
		text += n;
		text += strspn(text, ",+ ");
	}
	return set;
}

/* Rules are searched separately: each changed step is fused by a policy, as the engines only
 * rearrange existing ops in kernels and messages. */
static bool
apply_rules(struct pass_run *run, struct ir_module *m, const struct search_options *o)
{
	const unsigned kernels = SEARCH_FUSE | SEARCH_COPY;
	const char *rules = pass_string(run, "rules");
	const uint64_t limit = o->evaluations ? o->evaluations : pass_evaluations(run);

	if (!*rules || pass_instead(run))
		return true;
	char *text = TEXT(run->scratch, "rewrite{policy=search,rules=\"%s\",before=\"%s\"", rules,
		(o->moves & kernels) == kernels ? "opfuse" : "");
	if (limit)
		text = text_append(text, ",evaluations=%" PRIu64, limit / RULES_SHARE + 1);
	pass_changes_rounding(run);
	return pass_apply_before(run, m, text_append(text, "}"), pass_rest(run, "opfuse", NULL));
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct search_options o = joint_moves(read_moves(run, pass_string(run, "moves")));

	o.engine = (enum search_engine)pass_enum(run, "engine");
	o.evaluations = (uint64_t)pass_int(run, "evaluations");
	o.time_limit = pass_time(run, "time");
	o.alpha = pass_float(run, "alpha");
	o.beta = (uint32_t)pass_int(run, "beta");
	o.unchanged = (uint32_t)pass_int(run, "unchanged");
	o.again = pass_bool(run, "again");
	o.coarsen = pass_bool(run, "coarsen");
	o.partial = pass_bool(run, "partial");
	o.symmetry = pass_bool(run, "symmetry");
	o.workers = (uint32_t)pass_int(run, "workers");
	return o.moves && apply_rules(run, m, &o) && joint_run(run, m, o);
}

static const struct pass_option options[] = {
	{"engine", PASS_ENUM, "dopt",
		"search engine: dopt, two engines from papers (disco, dpro), or all "
		"plans of a small step (exhaust)",
		CHOICE_LIST(SEARCH_ENGINES), 0, 0},
	{"moves", PASS_STRING, "all",
		"what may change: fuse and copy (ops), pack and part "
		"(collectives), order; \"fuse,pack\"",
		NULL, 0, 0},
	{"rules", PASS_STRING, "",
		"file of rules to apply first (pass rewrite), wherever they make the fused "
		"step faster; shipped: those of docs/rules.md",
		NULL, 0, 0},
	{"evaluations", PASS_INT, "0", "limit on cost evaluations; 0: none", NULL, 0, 1e15},
	{"time", PASS_TIME, "0s", "time limit; 0: that of -time-limit, or none", NULL, 0, 1e6},
	{"workers", PASS_INT, "2", "dopt: number of search threads; the result depends on it", NULL,
		1, 256},
	{"alpha", PASS_FLOAT, "1.05",
		"disco: keep plans that are at most this factor slower than the best", NULL, 1,
		100},
	{"beta", PASS_INT, "10", "disco: largest number of changes between two evaluations", NULL,
		1, 1000},
	{"unchanged", PASS_INT, "1000",
		"disco: stop after this many evaluations without a better plan", NULL, 1, 1e9},
	{"again", PASS_BOOL, "false",
		"disco: continue from the best plan when the queue is empty, instead of stopping",
		NULL, 0, 0},
	{"coarsen", PASS_BOOL, "true", "dpro: fuse the ops near each gradient before the search",
		NULL, 0, 0},
	{"partial", PASS_BOOL, "true", "dpro: replay one tensor instead of the whole step", NULL, 0,
		0},
	{"symmetry", PASS_BOOL, "true", "dpro: decide once for blocks that are identical", NULL, 0,
		0},
	{0},
};

const struct pass pass_joint = {
	.name = "joint",
	.family = "fusion",
	.summary = "search for the op fusion, collective fusion, chunking and "
		   "order that make the step fastest",
	.options = options,
	.needs = "no-calls",
	.provides = "fused",
	.run = run,
	.searches = "",
	.keeps_bits = true,
};
