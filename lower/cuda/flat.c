/*
 * Segments without reductions: one thread per element of all loops together. If the innermost loop
 * is contiguous in everything that it accesses, a thread handles as many neighbours as fit 16
 * bytes: it loads them at once, computes them one after the other, and stores them at once. Rows that
 * are padded are computed with their padding.
 */
#include "lower/cuda/text.h"

#include "ir/base/alloc.h"

#include <inttypes.h>

/* Are the op's loops among the kernel's? Ops of smaller kernels read no larger ones. */
static bool
is_inside(const struct cuda_text *t, const struct scheme_op *o)
{
	return !(o->out_set & ~t->space);
}

/* The ops of the kernel. */
static const bool *
all_inside(struct cuda_text *t)
{
	bool *need = cuda_need_none(t);

	for (int k = 0; k < t->g->nops; k++)
		need[t->g->op[k]] = is_inside(t, &t->s->op[t->g->op[k]]);
	return need;
}

/* A kernel over the classes of t->space. */
static void
write_space(struct cuda_text *t)
{
	struct cuda_space all = cuda_space_of(t->g, t->space);
	const int last = all.n ? all.cls[all.n - 1] : -1;
	const bool alone = !t->in_place || t->space == cuda_all(t->g);
	struct cuda_vectors v = {.cls = last, .need = all_inside(t), .store = true};
	const struct scheme_segment *const whole = t->g;
	struct scheme_segment padded = *t->g;
	bool vectors = alone && cuda_vectors_fit(t, &v);
	if (alone && !vectors && cuda_vectors_padded(t, &v)) {
		padded.size[last] = cuda_vectors_padded(t, &v);
		t->g = &padded;
		all = cuda_space_of(t->g, t->space);
		vectors = true;
	}
	const int64_t n = all.size / (vectors ? v.width : 1);
	const char *type = cuda_index_type(all.size + (int64_t)CUDA_GRID * CUDA_BLOCK);

	cuda_open(t);
	cuda_prologue(t);
	cuda_block(t,
		"for (%s at = blockIdx.x * (%s)%d + threadIdx.x; at < %" PRId64
		"; at += gridDim.x * %d)",
		type, type, CUDA_BLOCK, n, CUDA_BLOCK);
	if (vectors)
		kernel_line(&t->w, "const %s element = at * %d;", type, v.width);
	cuda_unflatten(t, &all, vectors ? "element" : "at");
	if (vectors)
		cuda_vectors_open(t, &v);
	cuda_pointwise(t, 0, v.need, true);
	if (vectors)
		cuda_vectors_close(t, &v);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, (n + CUDA_BLOCK - 1) / CUDA_BLOCK);
	t->g = whole;
}

/*
 * The sets of loops for which there is a kernel, larger ones first: those of the stored results. A
 * kernel also writes results that have fewer loops, in the first iteration of the others; but where
 * results may lie on operands, a separate kernel after it writes them, when no kernel reads those
 * operands any more.
 */
static int
list_spaces(const struct cuda_text *t, uint32_t *set)
{
	int n = 0;

	for (int loops = SCHEME_MAX_CLASSES; loops >= 0; loops--)
		for (int k = 0; k < t->g->nops; k++) {
			const struct scheme_op *o = &t->s->op[t->g->op[k]];
			bool known = __builtin_popcount(o->out_set) != loops || o->stage < 0 ||
				     !cuda_is_stored(t, o);
			for (int i = 0; i < n; i++)
				known |= t->in_place ? set[i] == o->out_set
						     : !(o->out_set & ~set[i]);
			if (!known)
				set[n++] = o->out_set;
		}
	return n;
}

/* One kernel for each set of loops that is not contained in another: never one over the loops of
 * unrelated results, whose sizes would multiply. */
void
cuda_flat(struct cuda_text *t)
{
	uint32_t *set = NEW_ARRAY(t->w.scratch, uint32_t, (size_t)t->g->nops + 1);

	t->w.all_local = true;
	const int n = cuda_all(t->g) ? list_spaces(t, set) : 0;
	for (int i = 0; i < n; i++) {
		t->space = set[i];
		if (t->space != cuda_all(t->g) || !cuda_tile(t))
			write_space(t);
	}
	t->w.all_local = false;
	cuda_prologue_results(t);
}
