/*
 * Loops in which a thread handles neighbouring elements: it loads as many as fit 16 bytes at once,
 * computes them one after the other, and stores them at once. Where rows do not start at multiples of
 * 16 bytes, vectors do, and the first and last one of a row have only some elements of it. Rows of
 * 19 elements by 8:
 *
 *     row 0    [0 1 2 3 4 5 6 7][8 9 10 11 12 13 14 15][16 17 18 . . . . .]
 *     row 1    [. . . 0 1 2 3 4][5 6 7 8 9 10 11 12][13 14 15 16 17 18 . .]
 *
 * Lanes that go over a row several times, each over the same elements, keep them in registers.
 */
#include "lower/cuda/text.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

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

int
cuda_vectors_width(const struct cuda_text *t, const struct cuda_vectors *v)
{
	int widest = 0, narrowest = CUDA_VECTOR, count = 0;

	FOR_NEEDED(t, v, o)
	{
		if (o->computed)
			return 0;
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
				return 0;
			if (stride == 1 || t->w.all_local) {
				widest = bytes > widest ? bytes : widest;
				narrowest = bytes < narrowest ? bytes : narrowest;
			}
			count++;
		}
	}
	if (count > CUDA_VECTORS)
		return 0;
	if (!t->aligned || !t->src->target->vectors || !widest)
		return 1;
	const int width = CUDA_VECTOR / (t->w.all_local ? widest : narrowest);
	return width < CUDA_VECTOR_ELEMENTS ? width : CUDA_VECTOR_ELEMENTS;
}

bool
cuda_vectors_fit(const struct cuda_text *t, struct cuda_vectors *v)
{
	v->width = v->cls < 0 ? 0 : cuda_vectors_width(t, v);
	return v->width > 1 && t->g->size[v->cls] % v->width == 0;
}

/* Are there elements after the row of load j of op o (-1: its result) to fill its last vector: padding,
 * or, after a vector that all rows read, what its buffer is rounded up to? */
static bool
has_padding(
	const struct cuda_text *t, const struct cuda_vectors *v, const struct scheme_op *o, int j)
{
	const struct scheme_tensor *x = &t->s->tensor[j < 0 ? o->out : o->in[j]];

	if (x->row || x->where == SCHEME_ROW)
		return x->row % v->width == 0;
	for (int i = 0; i < t->g->norder; i++)
		if (t->g->order[i] != v->cls && scheme_stride(t->s, o, j, t->g->order[i]))
			return false;
	return j >= 0 && x->operand >= 0;
}

int64_t
cuda_vectors_padded(const struct cuda_text *t, const struct cuda_vectors *v)
{
	if (v->width <= 1)
		return 0;
	FOR_NEEDED(t, v, o)
	for (int j = -1; j < o->f.ninputs; j++)
		if (is_memory(t, v, o, j) && scheme_stride(t->s, o, j, v->cls) == 1 &&
			!has_padding(t, v, o, j))
			return 0;
	return cuda_divide_up(t->g->size[v->cls], v->width) * v->width;
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

/* Lists the vector of load j of op o, or of its result. */
static void
list(struct cuda_text *t, struct cuda_vectors *v, const struct scheme_op *o, int j)
{
	const struct scheme_tensor *x = &t->s->tensor[j < 0 ? o->out : o->in[j]];
	char *when = j < 0 ? cuda_first_iteration(t, o) : NULL;

	if (!is_memory(t, v, o, j) || scheme_stride(t->s, o, j, v->cls) != 1 ||
		(when && t->in_place)) /* another kernel stores it */
		return;
	char *element = kernel_element(&t->w, o, j);
	for (int i = 0; i < v->n; i++)
		if (!strcmp(v->at[i].element, element))
			return;
	const bool row = x->where == SCHEME_ROW;
	assert(v->n < CUDA_VECTORS); /* cuda_vectors_width counts accesses */
	v->at[v->n] = (struct cuda_vector){.element = element,
		.name = cuda_printf(t, "x%d", v->n),
		.type = row ? kernel_compute_type(x->dtype) : kernel_ctype(x->dtype),
		.tensor = j < 0 ? o->out : o->in[j],
		.bytes = (int)ir_dtype_bytes(x->dtype),
		.row = row,
		.when = when};
	v->n++;
}

void
cuda_vectors_list(struct cuda_text *t, struct cuda_vectors *v)
{
	v->n = 0;
	FOR_NEEDED(t, v, o)
	for (int j = 0; j < o->f.ninputs; j++)
		list(t, v, o, j);
	v->nread = v->n;
	FOR_NEEDED(t, v, o)
	list(t, v, o, -1);
}

char *
cuda_vector_loaded(struct cuda_text *t, const struct cuda_vectors *v, const char *element)
{
	return v->odd ? cuda_printf(t, "vec_load_part<%d>(&%s, i%d, %" PRId64 ")", v->width,
				element, v->cls, t->g->size[v->cls])
		      : cuda_printf(t, "vec_load<%d>(&%s)", v->width, element);
}

void
cuda_vector_store(
	struct cuda_text *t, const struct cuda_vectors *v, const char *element, const char *name)
{
	if (v->odd)
		kernel_line(&t->w, "vec_store_part(&%s, %s, i%d, %" PRId64 ");", element, name,
			v->cls, t->g->size[v->cls]);
	else
		kernel_line(&t->w, "vec_store(&%s, %s);", element, name);
}

void
cuda_vectors_load(struct cuda_text *t, const struct cuda_vectors *v)
{
	for (int i = 0; i < v->n; i++) {
		const struct cuda_vector *x = &v->at[i];
		if (x->kept && (x->made || i >= v->nread))
			continue;
		if (x->kept)
			kernel_line(
				&t->w, "%s = %s;", x->name, cuda_vector_loaded(t, v, x->element));
		else if (i < v->nread)
			kernel_line(&t->w, "const vec<%s, %d> %s = %s;", x->type, v->width, x->name,
				cuda_vector_loaded(t, v, x->element));
		else
			kernel_line(&t->w, "vec<%s, %d> %s;", x->type, v->width, x->name);
	}
}

void
cuda_vectors_each(struct cuda_text *t, struct cuda_vectors *v)
{
	kernel_line(&t->w, "#pragma unroll");
	cuda_block(t, "for (int u = 0; u < %d; u++)", v->width);
	kernel_line(&t->w, "const int64_t i%d = first + u;", v->cls);
	if (v->odd || v->tail) {
		kernel_line(&t->w, "if ((uint64_t)i%d >= %" PRId64 ")", v->cls, t->g->size[v->cls]);
		kernel_line(&t->w, "\tcontinue;");
	}
	t->w.data = v;
	t->w.element = vector_element;
}

void
cuda_vectors_each_end(struct cuda_text *t)
{
	t->w.element = NULL;
	cuda_end(t);
}

void
cuda_vectors_open(struct cuda_text *t, struct cuda_vectors *v)
{
	cuda_vectors_list(t, v);
	kernel_line(&t->w, "const int64_t first = i%d;", v->cls);
	cuda_vectors_load(t, v);
	cuda_vectors_each(t, v);
}

void
cuda_vectors_close(struct cuda_text *t, const struct cuda_vectors *v)
{
	cuda_vectors_each_end(t);
	for (int i = v->nread; i < v->n; i++) {
		if (v->at[i].kept && v->at[i].row)
			continue;
		if (v->at[i].when)
			cuda_block(t, "if (%s)", v->at[i].when);
		cuda_vector_store(t, v, v->at[i].element, v->at[i].name);
		if (v->at[i].when)
			cuda_end(t);
	}
}
