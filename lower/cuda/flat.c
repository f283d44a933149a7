/*
 * Segments without reductions: one thread per element of all loops together. If the innermost loop
 * is contiguous in everything that it accesses, a thread handles as many neighbours as fit 16
 * bytes: it loads them at once, computes them one after the other, and stores them at once.
 */
#include "lower/cuda/text.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <string.h>

/* Elements that one thread handles: neighbours along the innermost class. */
struct vectors {
	int cls, width;
	int n;
	struct {
		char *element; /* text of the first element */
		char *name;
		char *when; /* for a result: the condition under which it is stored; NULL: always */
	} at[64];
};

/* Does load j of op o (-1: its result) access memory here? */
static bool
is_memory(const struct cuda_text *t, const struct scheme_op *o, int j)
{
	if (j < 0)
		return cuda_is_stored(t, o);
	return scheme_reads(o) >> j & 1 && !scheme_made_in(t->s, o->in[j], o->segment) &&
	       t->s->tensor[o->in[j]].where == SCHEME_MEMORY;
}

/* Are the op's loops among the kernel's? Ops of smaller kernels read no larger ones. */
static bool
is_inside(const struct cuda_text *t, const struct scheme_op *o)
{
	return !(o->out_set & ~t->space);
}

/* Can a thread handle 16 bytes along class c? If so, sets the width. */
static bool
fits(const struct cuda_text *t, int c, int *width)
{
	unsigned widest = 0;
	int count = 0;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (!is_inside(t, o))
			continue;
		if (o->computed)
			return false;
		for (int j = -1; j < o->f.ninputs; j++) {
			if (o->stage < 0 || !is_memory(t, o, j))
				continue;
			const int64_t stride = scheme_stride(t->s, o, j, c);
			const unsigned bytes =
				ir_dtype_bytes(t->s->tensor[j < 0 ? o->out : o->in[j]].dtype);
			if (stride > 1 || (j < 0 && stride != 1))
				return false;
			widest = bytes > widest ? bytes : widest;
			count++;
		}
	}
	*width = widest ? CUDA_VECTOR / (int)widest : 0;
	if (*width > 8)
		*width = 8;
	return *width > 1 && t->g->size[c] % *width == 0 && count <= 64 && t->aligned;
}

/* The name of the vector that holds an element; NULL if it is not in a vector. */
static char *
vector_element(struct kernel_text *w, const struct scheme_op *o, int j)
{
	struct cuda_text *t = (struct cuda_text *)w;
	struct vectors *v = w->data;

	if (!is_memory(t, o, j) || scheme_stride(t->s, o, j, v->cls) != 1)
		return NULL;
	w->element = NULL;
	const char *text = kernel_element(w, o, j);
	w->element = vector_element;
	for (int i = 0; i < v->n; i++)
		if (!strcmp(v->at[i].element, text))
			return cuda_printf(t, "%s.at[u]", v->at[i].name);
	return NULL;
}

/* Declares the vectors of the elements that are read, or of those that are written. */
static void
declare(struct cuda_text *t, struct vectors *v, bool results)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		for (int j = results ? -1 : 0; j < (results ? 0 : o->f.ninputs); j++) {
			if (o->stage < 0 || !is_inside(t, o) || !is_memory(t, o, j) ||
				scheme_stride(t->s, o, j, v->cls) != 1)
				continue;
			char *when = results ? cuda_first_iteration(t, o) : NULL;
			if (when && t->in_place)
				continue; /* another kernel stores it */
			char *element = kernel_element(&t->w, o, j);
			const char *type =
				kernel_ctype(t->s->tensor[j < 0 ? o->out : o->in[j]].dtype);
			bool known = false;
			for (int i = 0; i < v->n; i++)
				known |= !strcmp(v->at[i].element, element);
			if (known)
				continue;
			v->at[v->n].element = element;
			v->at[v->n].name = cuda_printf(t, "x%d", v->n);
			v->at[v->n].when = when;
			if (results)
				kernel_line(&t->w, "vec<%s, %d> x%d;", type, v->width, v->n);
			else
				kernel_line(&t->w, "const vec<%s, %d> x%d = vec_load<%d>(&%s);",
					type, v->width, v->n, v->width, element);
			v->n++;
		}
	}
}

static void
write_all(struct cuda_text *t)
{
	bool *need = cuda_need_none(t);

	for (int k = 0; k < t->g->nops; k++)
		need[t->g->op[k]] = is_inside(t, &t->s->op[t->g->op[k]]);
	cuda_pointwise(t, 0, need, true);
}

static void
write_vectors(struct cuda_text *t, int cls, int width)
{
	struct vectors v = {.cls = cls, .width = width};

	declare(t, &v, false);
	const int first = v.n;
	declare(t, &v, true);
	kernel_line(&t->w, "const int64_t first = i%d;", cls);
	kernel_line(&t->w, "#pragma unroll");
	cuda_block(t, "for (int u = 0; u < %d; u++)", width);
	kernel_line(&t->w, "const int64_t i%d = first + u;", cls);
	t->w.data = &v;
	t->w.element = vector_element;
	write_all(t);
	t->w.element = NULL;
	cuda_end(t);
	for (int i = first; i < v.n; i++) {
		if (v.at[i].when)
			cuda_block(t, "if (%s)", v.at[i].when);
		kernel_line(&t->w, "vec_store(&%s, %s);", v.at[i].element, v.at[i].name);
		if (v.at[i].when)
			cuda_end(t);
	}
}

/* A kernel over the classes of t->space. */
static void
write_space(struct cuda_text *t)
{
	struct cuda_space all = cuda_space_of(t->g, t->space);
	const int last = all.n ? all.cls[all.n - 1] : -1;
	int width = 1;
	const bool alone = !t->in_place || t->space == cuda_all(t->g);
	const bool vectors = alone && all.n && fits(t, last, &width);
	const int64_t n = all.size / (vectors ? width : 1);
	const char *type = cuda_index_type(all.size + (int64_t)CUDA_GRID * CUDA_BLOCK);

	cuda_open(t);
	cuda_prologue(t);
	cuda_block(t,
		"for (%s at = blockIdx.x * (%s)%d + threadIdx.x; at < %" PRId64
		"; at += gridDim.x * %d)",
		type, type, CUDA_BLOCK, n, CUDA_BLOCK);
	if (vectors)
		kernel_line(&t->w, "const %s element = at * %d;", type, width);
	cuda_unflatten(t, &all, vectors ? "element" : "at");
	if (vectors)
		write_vectors(t, last, width);
	else
		write_all(t);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, (n + CUDA_BLOCK - 1) / CUDA_BLOCK);
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
