/*
 * The pipelines that plan starts from: common ones, and those that docs/sharding.md and
 * docs/parallel.md recommend. A planned step is therefore never slower than one of them, as
 * predicted.
 */
#include "ir/base/alloc.h"
#include "passes/plan/plan.h"

#include <inttypes.h>
#include <string.h>

/*
 * Words in capitals stand for passes that depend on the step, the mesh and the options:
 *
 *	AMP, GRAD, OPT  mixed precision, gradients and an optimizer, if the step lacks them; after
 *	                gradients, channels-last if that makes the step faster
 *	DP              dp over all axes, the innermost first
 *	SHARD           shard over the innermost axis
 *	STAGES          pipeline over the axis of stages
 *	MEGATRON, BEST  parallelize over the axes other than stages: by that policy, or by all
 *	LAYOUTS         the same as BEST, or without a mesh parallelize, which makes one
 */
static const struct recipe {
	const char *name;
	enum plan_mesh mesh;
	enum plan_decision needs;
	bool many; /* for several devices only */
	const char *text;
} recipes[] = {
	{"one device", PLAN_PLAIN, PLAN_FUSION, false, "AMP,GRAD,OPT,opfuse"},
	{"recompute", PLAN_PLAIN, PLAN_MEMORY, false, "AMP,GRAD,recompute,OPT,opfuse"},
	{"dp", PLAN_FLAT, PLAN_LAYOUTS, true, "AMP,DP,GRAD,OPT,opfuse,tensorfuse"},
	{"zero3", PLAN_FLAT, PLAN_SHARDS, true,
		"AMP,DP,GRAD,recompute,SHARD,OPT,opfuse,prefetch{policy=zero3}"},
	{"fsdp", PLAN_FLAT, PLAN_SHARDS, true,
		"AMP,DP,GRAD,recompute,SHARD,OPT,opfuse,prefetch{policy=fsdp}"},
	{"sharded", PLAN_FLAT, PLAN_SHARDS, true,
		"AMP,DP,GRAD,recompute,SHARD,OPT,opfuse,prefetch,overlap,unshard"},
	{"hybrid", PLAN_LEVELS, PLAN_SHARDS, true,
		"AMP,DP,GRAD,recompute,SHARD,OPT,opfuse,prefetch,overlap,unshard"},
	{"megatron", PLAN_LEVELS, PLAN_LAYOUTS, true,
		"AMP,GRAD,recompute,OPT,MEGATRON,opfuse,prefetch,overlap,unshard"},
	{"megatron with stages", PLAN_STAGED, PLAN_STAGES, true,
		"STAGES,AMP,GRAD,recompute,OPT,MEGATRON,opfuse,overlap"},
	{"layouts", PLAN_LEVELS, PLAN_LAYOUTS, true,
		"AMP,GRAD,recompute,OPT,BEST,opfuse,prefetch,overlap,unshard"},
	{"layouts, all kept", PLAN_LEVELS, PLAN_LAYOUTS, true,
		"AMP,GRAD,OPT,BEST,opfuse,tensorfuse"},
	{"layouts over one axis", PLAN_FLAT, PLAN_LAYOUTS, true,
		"AMP,GRAD,recompute,OPT,BEST,opfuse,prefetch,overlap,unshard"},
	{"layouts and mesh", PLAN_PLAIN, PLAN_LAYOUTS, true,
		"AMP,GRAD,recompute,OPT,LAYOUTS,opfuse,prefetch,overlap,unshard"},
};

enum { NRECIPES = sizeof recipes / sizeof *recipes };

/* Micro-batches per stage: bubbles then take (stages - 1) / 4 stages of the time. */
enum { MICROBATCHES_OF_STAGE = 4 };

static void
push(struct planner *p, struct pass_list *list, const char *entry)
{
	LIST_PUSH(p->run->scratch, list->pass, list->n, entry);
}

/* "[a,b]" of the axes of the base other than stages. */
static const char *
axes_text(struct planner *p, const struct plan_base *b)
{
	char *text = text_copy(p->run->scratch, "[");

	for (int i = 0; i < b->n; i++)
		text = text_append(text, i ? ",%s" : "%s", b->axis[i]);
	return text_append(text, "]");
}

/* The largest number of micro-batches, 4, 2 or 1 per stage, that divides the batch; 0: none. */
static int64_t
stage_steps(const struct planner *p, const struct plan_base *b)
{
	for (int64_t steps = MICROBATCHES_OF_STAGE * (int64_t)b->stages; steps >= b->stages;
		steps /= 2)
		if (p->rows && p->rows % steps == 0)
			return steps;
	return 0;
}

/* Adds the passes that the word stands for; false: there are none. */
static bool
add_word(struct planner *p, const struct plan_base *b, const char *word, struct pass_list *list)
{
	const void *s = p->run->scratch;
	const bool trains = p->has_gradients || *p->optimizer;

	if (!strcmp(word, "AMP")) {
		if (p->amp)
			push(p, list, "amp");
	} else if (!strcmp(word, "GRAD")) {
		if (!p->has_gradients && *p->optimizer)
			push(p, list, "grad");
		if (p->channels_last)
			push(p, list, plan_channels_last);
	} else if (!strcmp(word, "OPT")) {
		if (!p->has_optimizer && *p->optimizer)
			push(p, list, p->optimizer);
	} else if (!strcmp(word, "DP")) {
		for (int i = b->n - 1; i >= 0; i--)
			push(p, list, TEXT(s, "dp{axis=%s}", b->axis[i]));
	} else if (!strcmp(word, "SHARD")) {
		if (!b->n || !trains)
			return false;
		push(p, list, TEXT(s, "shard{axis=%s}", b->axis[b->n - 1]));
	} else if (!strcmp(word, "STAGES")) {
		const int64_t steps = stage_steps(p, b);
		if (b->stages == 1 || !steps || p->has_gradients)
			return false;
		push(p, list,
			TEXT(s,
				"pipeline{axis=%s,stages=%d,steps=%" PRId64
				",schedule=1f1b,memory=params}",
				plan_stage_axis, b->stages, steps));
	} else if (!strcmp(word, "MEGATRON")) {
		if (b->n)
			push(p, list,
				TEXT(s, "parallelize{policy=megatron,axes=%s,finish=\"\"}",
					axes_text(p, b)));
	} else if (!strcmp(word, "BEST")) {
		push(p, list, TEXT(s, "parallelize{axes=%s,finish=\"\"}", axes_text(p, b)));
	} else if (!strcmp(word, "LAYOUTS")) {
		push(p, list,
			b->n ? TEXT(s, "parallelize{axes=%s,finish=\"\"}", axes_text(p, b))
			: pass_int(p->run, "devices") == 0
				? "parallelize"
				: TEXT(s, "parallelize{devices=%" PRId64 "}",
					  pass_int(p->run, "devices")));
	} else if (!strcmp(word, "recompute") && !trains) {
		return true;
	} else {
		push(p, list, word);
	}
	return true;
}

void
plan_set_finish(struct planner *p, struct pass_list *list)
{
	static const char option[] = "finish=\"";
	const void *s = p->run->scratch;
	const int at = pass_list_find(list, "parallelize"), fused = pass_list_find(list, "opfuse");
	const char *begin = at >= 0 ? strstr(list->pass[at], option) : NULL;

	if (!begin)
		return;
	begin += strlen(option);
	const char *end = strchr(begin, '"');
	struct pass_list finish = pass_list_read(s, text_copy_n(s, begin, (size_t)(end - begin)));
	const int told = pass_list_find(&finish, "opfuse");
	if (!finish.n)
		finish = (struct pass_list){list->pass + at + 1, list->n - at - 1};
	else if (told >= 0 && fused >= 0)
		finish.pass[told] = list->pass[fused];
	list->pass[at] = TEXT(s, "%.*s%s%s", (int)(begin - list->pass[at]), list->pass[at],
		pass_list_text(s, &finish), end);
}

bool
plan_read_recipe(
	struct planner *p, const struct plan_base *b, const char *recipe, struct pass_list *list)
{
	const struct pass_list words = pass_list_read(p->run->scratch, recipe);

	push(p, list, "inline");
	for (int i = 0; i < words.n; i++)
		if (!add_word(p, b, words.pass[i], list))
			return false;
	return true;
}

/* False: it does not apply to the step on that mesh, or was tried before. */
static bool
try_on(struct planner *p, const struct recipe *r, int base)
{
	struct pass_list list = {0};
	const int64_t before = p->candidate.n;

	if (!plan_read_recipe(p, &p->base[base], r->text, &list))
		return false;
	plan_set_finish(p, &list);
	plan_try(p, base, list, r->name, -1);
	return p->candidate.n > before;
}

static void
try_recipe(struct planner *p, const struct recipe *r)
{
	int base = r->mesh < (enum plan_mesh)p->nbases ? (int)r->mesh : PLAN_PLAIN;

	/* Nodes of one device, or one node: the mesh of one axis. */
	if (base == PLAN_LEVELS && p->base[base].n == 1)
		base = PLAN_FLAT;
	/* Each mesh that parallelize tries takes as long as another recipe: on a large step, those
	 * of the recipes are enough. */
	if (base == PLAN_PLAIN && p->nbases > 1 && p->blocks)
		return;
	if (!try_on(p, r, base))
		return;
	struct plan_candidate *made = &VEC_LAST(&p->candidate);
	if (p->base[base].n || !made->r.naxes || p->nbases == PLAN_NMESHES)
		return;
	/* Searching for its mesh takes long: moves start from the mesh that was found. */
	made->expanded = true;
	try_on(p, r, plan_mesh_of(p, made->r.axis, made->r.naxes));
}

/* Ops that all passes of a pipeline go through, up to which it is cheap to run as a whole: tenths of a
 * second. */
enum { MOST_SMALL = 20000 };

void
plan_start(struct planner *p)
{
	const bool many = p->nbases > 1 || p->base[PLAN_PLAIN].n > 0;

	for (int i = 0; i < NRECIPES; i++) {
		const int64_t first = p->candidate.n;
		if (recipes[i].many == many && plan_decides(p, recipes[i].needs))
			try_recipe(p, &recipes[i]);
		/* At once, as slow recipes are told by fast steps after the smallest depth. Large
		 * steps of few blocks are run as a whole, some seconds each. */
		for (int64_t f = first, n = p->candidate.n; f < n; f++)
			if (p->blocks || p->candidate.at[f].r.effort <= MOST_SMALL)
				plan_improve_first(p, f);
	}
}
