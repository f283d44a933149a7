/*
 * Loops in which a thread handles neighbouring elements: it loads as many as fit 16 bytes at once,
 * computes them one after the other, and stores them at once.
 */
#include "lower/cuda/text.h"

#include <inttypes.h>
#include <string.h>

enum { VECTOR_ELEMENTS = 8 }; /* at most: their values are in registers */

/* Does load j of op o (-1: its result) access memory or a row here? */
static bool
is_memory(const struct cuda_text *t, const struct cuda_vectors *v, const struct scheme_op *o, int j)
{
	if (j < 0)
		return v->store && !o->red_set && cuda_is_stored(t, o);
	const struct scheme_tensor *x = &t->s->tensor[o->in[j]];
	if (!(scheme_reads(o) >> j & 1) || x->constant || x->where == SCHEME_CONST)
		return false;
	if (!scheme_made_in(t->s, o->in[j], o->segment))
		return x->where == SCHEME_MEMORY;
	const struct scheme_op *maker = &t->s->op[x->op];
	return !t->w.all_local && maker->stage != o->stage &&
	       (x->where == SCHEME_MEMORY || x->where == SCHEME_ROW);
}

static bool
is_here(const struct cuda_vectors *v, int i, const struct scheme_op *o)
{
	return v->need[i] && o->stage >= 0;
}

/* The op whose loads are visited: one that is needed and has loops. */
#define FOR_NEEDED(t, v, o)                                                                        \
	for (int k_ = 0; k_ < (t)->g->nops; k_++)                                                  \
		for (const struct scheme_op *o = &(t)->s->op[(t)->g->op[k_]]; o; o = NULL)         \
			if (is_here(v, (t)->g->op[k_], o))

bool
cuda_vectors_fit(const struct cuda_text *t, struct cuda_vectors *v)
{
	int widest = 0, narrowest = CUDA_VECTOR, count = 0;

	if (!t->aligned || !t->src->target->vectors || v->cls < 0)
		return false;
	FOR_NEEDED(t, v, o)
	{
		if (o->computed)
			return false;
		for (int j = -1; j < o->f.ninputs; j++) {
			if (!is_memory(t, v, o, j))
				continue;
			const struct scheme_tensor *x = &t->s->tensor[j < 0 ? o->out : o->in[j]];
			const int64_t stride = scheme_stride(t->s, o, j, v->cls);
			const bool row = x->where == SCHEME_ROW; /* of floats at least */
			const int own = (int)ir_dtype_bytes(x->dtype),
				  bytes = row && own < 4 ? 4 : own;
			if (stride > 1 || (j < 0 && stride != 1) ||
				(row && ir_dtype_class(x->dtype) != IR_FLOAT))
				return false;
			if (stride == 1 || t->w.all_local) {
				widest = bytes > widest ? bytes : widest;
				narrowest = bytes < narrowest ? bytes : narrowest;
			}
			count++;
		}
	}
	v->width = widest ? CUDA_VECTOR / (t->w.all_local ? widest : narrowest) : 0;
	if (v->width > VECTOR_ELEMENTS)
		v->width = VECTOR_ELEMENTS;
	return v->width > 1 && t->g->size[v->cls] % v->width == 0 && count <= CUDA_VECTORS;
}

/* The name of the vector that holds an element; NULL if it is not in a vector. */
static char *
vector_element(struct kernel_text *w, const struct scheme_op *o, int j)
{
	struct cuda_text *t = (struct cuda_text *)w;
	struct cuda_vectors *v = w->data;

	if (!is_memory(t, v, o, j) || scheme_stride(t->s, o, j, v->cls) != 1)
		return NULL;
	w->element = NULL;
	const char *text = kernel_element(w, o, j);
	w->element = vector_element;
	for (int i = 0; i < v->n; i++)
		if (!strcmp(v->at[i].element, text))
			return cuda_printf(t, "%s.at[u]", v->at[i].name);
	return NULL;
}

/* Declares the vector of load j of op o, or of its result. */
static void
declare(struct cuda_text *t, struct cuda_vectors *v, const struct scheme_op *o, int j)
{
	const struct scheme_tensor *x = &t->s->tensor[j < 0 ? o->out : o->in[j]];
	char *when = j < 0 ? cuda_first_iteration(t, o) : NULL;

	if (!is_memory(t, v, o, j) || scheme_stride(t->s, o, j, v->cls) != 1 ||
		(when && t->in_place)) /* another kernel stores it */
		return;
	char *element = kernel_element(&t->w, o, j);
	const char *type =
		x->where == SCHEME_ROW ? kernel_compute_type(x->dtype) : kernel_ctype(x->dtype);
	for (int i = 0; i < v->n; i++)
		if (!strcmp(v->at[i].element, element))
			return;
	v->at[v->n].element = element;
	v->at[v->n].name = cuda_printf(t, "x%d", v->n);
	v->at[v->n].when = when;
	if (j < 0)
		kernel_line(&t->w, "vec<%s, %d> x%d;", type, v->width, v->n);
	else
		kernel_line(&t->w, "const vec<%s, %d> x%d = vec_load<%d>(&%s);", type, v->width,
			v->n, v->width, element);
	v->n++;
}

void
cuda_vectors_open(struct cuda_text *t, struct cuda_vectors *v)
{
	FOR_NEEDED(t, v, o)
	for (int j = 0; j < o->f.ninputs; j++)
		declare(t, v, o, j);
	v->nread = v->n;
	FOR_NEEDED(t, v, o)
	declare(t, v, o, -1);
	kernel_line(&t->w, "const int64_t first = i%d;", v->cls);
	kernel_line(&t->w, "#pragma unroll");
	cuda_block(t, "for (int u = 0; u < %d; u++)", v->width);
	kernel_line(&t->w, "const int64_t i%d = first + u;", v->cls);
	t->w.data = v;
	t->w.element = vector_element;
}

void
cuda_vectors_close(struct cuda_text *t, const struct cuda_vectors *v)
{
	t->w.element = NULL;
	cuda_end(t);
	for (int i = v->nread; i < v->n; i++) {
		if (v->at[i].when)
			cuda_block(t, "if (%s)", v->at[i].when);
		kernel_line(&t->w, "vec_store(&%s, %s);", v->at[i].element, v->at[i].name);
		if (v->at[i].when)
			cuda_end(t);
	}
}
