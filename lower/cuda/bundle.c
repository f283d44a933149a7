/* Small kernels as one launch: see bundle.h. */
#include "lower/cuda/bundle.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "lower/cuda/text.h"
#include "runtime/cuda/args.h"

#include <stdlib.h>
#include <string.h>

/* Kernels whose blocks do not fill a large device. Others gain nothing from company. */
#define MEMBER_BLOCKS CUDA_GROUPS

/* Actions over which a kernel is moved up at most, to bound the time of planning: more than the
 * parameters of a block of a model. */
#define MOVES_UP 128

_Static_assert(sizeof(struct dopt_bundle) <= 4096, "arguments that a launch takes on all devices");

struct planner {
	const struct lower_plan *p;
	struct cuda_bundles *b;
	const struct cuda_part *part;
	const int *part_of;
	int *member; /* actions of the bundle that is being filled */
	int n, words;
	int at; /* it is launched before this action; -1: at the last member, or later */
	struct lower_access *first, *second; /* of two actions */
};

static bool
overlap(const struct lower_plan *p, int32_t i, int32_t j)
{
	const struct storage_buffer *a = &p->buffer[i], *b = &p->buffer[j];

	return a->memory == b->memory && a->offset < b->offset + storage_bytes(p->storage, b) &&
	       b->offset < a->offset + storage_bytes(p->storage, a);
}

/* What an action uses; a WAIT what is in flight until then. */
static int
accesses(const struct planner *l, int i, struct lower_access *list)
{
	const struct lower_action *a = &l->p->action[i];
	const struct lower_action post = {.kind = LOWER_POST, .coll = a->coll};

	return lower_accesses(l->p, a->kind == LOWER_WAIT ? &post : a, list);
}

/* Must the order of the two actions stay? */
static bool
depend(const struct planner *l, int a, int b)
{
	const int n = accesses(l, a, l->first), m = accesses(l, b, l->second);

	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++)
			if ((l->first[i].write || l->second[j].write) &&
				overlap(l->p, l->first[i].buffer, l->second[j].buffer))
				return true;
	return false;
}

static bool
depends_on_members(const struct planner *l, int i)
{
	for (int k = 0; k < l->n; k++)
		if (depend(l, l->member[k], i))
			return true;
	return false;
}

/* The bundle is complete. A kernel alone stays where it is. */
static void
complete(struct planner *l, int end)
{
	struct cuda_bundle bundle = {.at = l->at < 0 ? end : l->at, .n = l->n};

	if (l->n > 1) {
		bundle.action = NEW_ARRAY(l->b, int, (size_t)l->n);
		for (int i = 0; i < l->n; i++) {
			bundle.action[i] = l->member[i];
			l->b->of[l->member[i]] = l->b->n;
		}
		LIST_PUSH(l->b, l->b->bundle, l->b->n, bundle);
	}
	l->n = 0;
	l->words = 0;
	l->at = -1;
}

int
cuda_bundle_words(const struct lower_action *a)
{
	return a->op->noperands + a->op->nresults + 1;
}

static bool
may_join(const struct planner *l, const struct lower_action *a)
{
	if (a->kind != LOWER_KERNEL || a->guard.n || a->last)
		return false;
	const struct cuda_single *s = &l->part[l->part_of[a->kernel]].single;
	return s->body && s->grid < MEMBER_BLOCKS && cuda_bundle_words(a) <= DOPT_BUNDLE_WORDS;
}

/* Is there room for action i, and can it run where the bundle does? */
static bool
joins(const struct planner *l, int i)
{
	if (l->n == DOPT_BUNDLE_MOST ||
		l->words + cuda_bundle_words(&l->p->action[i]) > DOPT_BUNDLE_WORDS ||
		depends_on_members(l, i) || (l->at >= 0 && i - l->at > MOVES_UP))
		return false;
	for (int k = l->at < 0 ? i : l->at; k < i; k++)
		if (depend(l, k, i))
			return false;
	return true;
}

/* Takes account of action i: it is a member, or members must run before it. */
static void
pass(struct planner *l, int i)
{
	const struct lower_action *a = &l->p->action[i];
	const bool member = may_join(l, a);

	if (a->kind == LOWER_LOOP || a->kind == LOWER_END) {
		complete(l, i);
		return;
	}
	if (member && l->n && !joins(l, i))
		complete(l, i);
	if (member) {
		l->member[l->n++] = i;
		l->words += cuda_bundle_words(a);
	} else if (l->at < 0 && depends_on_members(l, i)) {
		l->at = i;
	}
}

struct cuda_bundles *
cuda_bundles_create(const void *owner, const struct lower_plan *p, const struct cuda_part *part,
	const int *part_of)
{
	struct cuda_bundles *b = NEW(owner, struct cuda_bundles);
	const size_t most = (size_t)lower_most_accesses(p);
	struct planner l = {.p = p,
		.b = b,
		.part = part,
		.part_of = part_of,
		.member = NEW_ARRAY(b, int, DOPT_BUNDLE_MOST),
		.at = -1,
		.first = NEW_ARRAY(b, struct lower_access, most),
		.second = NEW_ARRAY(b, struct lower_access, most)};

	*b = (struct cuda_bundles){.of = NEW_ARRAY(b, int, (size_t)p->nactions + 1)};
	for (int i = 0; i < p->nactions; i++)
		b->of[i] = -1;
	for (int i = 0; i < p->nactions && p->target->bundles; i++) {
		pass(&l, i);
		/* Devices execute the phases of a loop with a schedule in an order of their own. */
		if (p->action[i].kind == LOWER_LOOP && lower_loop_of(p, &p->action[i])->cells)
			while (p->action[i].kind != LOWER_END)
				i++;
	}
	complete(&l, p->nactions);
	return b;
}

/* The functions of a bundle, each once, as a string of 0 and 1 by number. */
static char *
set_of(const void *owner, const struct cuda_bundle *x, const struct lower_plan *p, int nparts,
	const int *part_of)
{
	char *set = NEW_ARRAY(owner, char, (size_t)nparts + 1);

	memset(set, '0', (size_t)nparts);
	set[nparts] = 0;
	for (int i = 0; i < x->n; i++)
		set[part_of[p->action[x->action[i]].kernel]] = '1';
	return set;
}

static void
write_kernel(FILE *out, const char *name, const struct cuda_part *part, int nparts, const char *set)
{
	fprintf(out, "\nDOPT_KERNEL(%s, dopt_bundle, %d)\n{\n", name, CUDA_BLOCK);
	fprintf(out, "\tconst int i = dopt_bundle_member(k, blockIdx.x);\n"
		     "\tconst unsigned first = i ? k.end[i - 1] : 0;\n"
		     "\tconst unsigned block = blockIdx.x - first, blocks = k.end[i] - first;\n"
		     "\tconst void *args = &k.word[k.at[i]];\n\tswitch (k.which[i]) {\n");
	for (int i = 0; i < nparts; i++)
		if (set[i] == '1')
			fprintf(out,
				"\tcase %d: %s_part(*(const %s_args *)args, block, blocks); break;\n",
				i, part[i].name, part[i].name);
	fprintf(out, "\t}\n}\n");
}

void
cuda_bundles_write(struct cuda_bundles *b, struct cuda_sources *src, const struct lower_plan *p,
	const struct cuda_part *part, int nparts, const int *part_of, const char *prefix)
{
	bool *written = ARRAY_ZERO(NULL, bool, (size_t)nparts + 1);
	char **set = NEW_ARRAY(b, char *, (size_t)b->n + 1);

	for (int x = 0; x < b->n; x++) {
		struct cuda_bundle *bundle = &b->bundle[x];
		int same = 0;
		set[x] = set_of(b, bundle, p, nparts, part_of);
		for (int i = 0; i < nparts; i++) {
			if (set[x][i] != '1' || written[i])
				continue;
			written[i] = true;
			fprintf(src->kernels,
				"\nDEV void\n%s_part(const %s_args &k, unsigned block, unsigned "
				"blocks)\n{\n%s}\n",
				part[i].name, part[i].name, part[i].single.body);
		}
		while (strcmp(set[same], set[x]) != 0)
			same++;
		bundle->launch = b->bundle[same].launch;
		if (same == x) {
			char *name = TEXT(src, "%sk_bundle_%d", prefix, x);
			write_kernel(src->kernels, name, part, nparts, set[x]);
			bundle->launch = src->nlaunches;
			LIST_PUSH(src, src->launch, src->nlaunches,
				(struct cuda_launch){name, CUDA_BLOCK});
		}
	}
	array_free(written);
}
