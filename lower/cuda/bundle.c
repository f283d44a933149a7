/* Small kernels as one launch: see bundle.h. */
#include "lower/cuda/bundle.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"
#include "lower/cuda/text.h"
#include "runtime/cuda/args.h"

#include <assert.h>
#include <string.h>

_Static_assert(sizeof(struct dopt_bundle) <= 4096, "arguments that a launch takes on all devices");

/* The actions of a plan, and lists of what two of them use. */
struct mover {
	const struct lower_plan *p;
	struct lower_access *first, *second;
};

/* What an action uses; a WAIT what is in flight until then. */
static int
accesses(const struct lower_plan *p, int i, struct lower_access *list)
{
	const struct lower_action *a = &p->action[i];
	const struct lower_action post = {.kind = LOWER_POST, .coll = a->coll};

	return lower_accesses(p, a->kind == LOWER_WAIT ? &post : a, list);
}

/* Must the order of the two actions stay? */
static bool
depend(const struct mover *l, int a, int b)
{
	const int n = accesses(l->p, a, l->first), m = accesses(l->p, b, l->second);

	for (int i = 0; i < n; i++)
		for (int j = 0; j < m; j++)
			if ((l->first[i].write || l->second[j].write) &&
				storage_overlap(
					l->p->storage, l->first[i].buffer, l->second[j].buffer))
				return true;
	return false;
}

/* Does no action between a member and the launch of its bundle depend on it? Bundles are found by
 * ops; this holds for the actions that they have become. */
static bool
can_move(const struct mover *l, const struct cuda_bundle *x)
{
	for (int k = 0; k < x->n; k++) {
		const int i = x->action[k];
		for (int other = i + 1; other < x->at; other++)
			if (depend(l, i, other))
				return false;
		for (int other = x->at; other < i; other++)
			if (depend(l, other, i))
				return false;
	}
	return true;
}

struct cuda_bundles *
cuda_bundles_create(const void *owner, const struct lower_plan *p)
{
	struct cuda_bundles *b = NEW(owner, struct cuda_bundles);
	const struct bundles *found = bundles_create(b, p->storage);
	int *kernel = ARRAY_NEW(b, int, (size_t)p->storage->order->n + 1); /* by position */
	const size_t most = (size_t)lower_most_accesses(p);
	const struct mover l = {p, NEW_ARRAY(b, struct lower_access, most),
		NEW_ARRAY(b, struct lower_access, most)};

	*b = (struct cuda_bundles){.of = ARRAY_NEW(b, int, (size_t)p->nactions + 1),
		.bundle = NEW_ARRAY(b, struct cuda_bundle, (size_t)found->n + 1),
		.n = (int)found->n};
	for (int i = 0; i < p->nactions; i++) {
		const struct lower_action *a = &p->action[i];
		b->of[i] = -1;
		if (a->kind == LOWER_KERNEL)
			kernel[p->storage->order->position[a->op->id]] = i;
	}
	for (int x = 0, at = 0; x < b->n; x++) {
		const struct bundle *from = &found->bundle[x];
		struct cuda_bundle *to = &b->bundle[x];
		while (at < p->nactions && p->action[at].at < (int32_t)(2 * from->at))
			at++;
		*to = (struct cuda_bundle){
			.at = at, .action = NEW_ARRAY(b, int, from->n), .n = (int)from->n};
		for (int i = 0; i < to->n; i++) {
			to->action[i] = kernel[from->position[i]];
			b->of[to->action[i]] = x;
		}
		assert(can_move(&l, to));
	}
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
