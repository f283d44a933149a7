/* What the steps of making a scheme ask of it: sizes, strides, reads; and how they add to it. */
#include "ir/base/vec.h"
#include "ir/loops/build.h"

int64_t
scheme_elements(const struct scheme_tensor *t)
{
	int64_t n = 1;
	for (int d = 0; d < t->rank; d++)
		n *= t->dim[d];
	return n;
}

int64_t
scheme_room(const struct scheme_tensor *t)
{
	return t->row ? t->dim[0] * scheme_dim_stride(t, 0) : scheme_elements(t);
}

int64_t
scheme_dim_stride(const struct scheme_tensor *t, int d)
{
	int64_t stride = 1;
	for (int i = d + 1; i < t->rank; i++)
		stride *= i == t->rank - 1 && t->row ? t->row : t->dim[i];
	return stride;
}

int
scheme_root(const struct scheme *s, int t)
{
	while (s->tensor[t].alias >= 0)
		t = s->tensor[t].alias;
	return t;
}

uint32_t
scheme_loads(const struct expr *e)
{
	uint32_t set = e->kind == EXPR_LOAD ? 1u << e->id : 0;
	for (int i = 0; i < e->nargs; i++)
		set |= scheme_loads(e->arg[i]);
	return set;
}

uint32_t
scheme_reads(const struct scheme_op *o)
{
	uint32_t set = scheme_loads(o->f.body);
	for (int i = 0; o->computed && i < o->f.nindices; i++)
		if (o->f.at[i])
			set |= scheme_loads(o->f.at[i]);
	return set;
}

void
scheme_append(struct scheme *s, struct scheme_segment *g, int op)
{
	LIST_PUSH(s, g->op, g->nops, op);
	s->op[op].segment = s->nsegments - 1;
}

int64_t
scheme_take_scratch(struct scheme *s, int64_t bytes)
{
	const int64_t at = s->scratch_bytes;

	s->scratch_bytes += (bytes + SCHEME_ALIGN - 1) / SCHEME_ALIGN * SCHEME_ALIGN;
	return at;
}
