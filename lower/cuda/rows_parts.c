/*
 * Sums over the outer loops of a kernel of rows. Each group of lanes adds up its rows, in shared
 * memory if that suffices; then a block adds up its groups, in order, and another launch the blocks:
 *
 *     group 0   group 1   group 2   group 3        s<out>      of warps, or one that is a block
 *         block 0             block 1              part<out>   in scratch
 *                     result
 */
#include "lower/cuda/rows.h"

#include "ir/base/alloc.h"

#include <inttypes.h>

int64_t
rows_padded(int64_t n, uint32_t dtype)
{
	const bool narrow = dtype == IR_f16 || dtype == IR_bf16;

	return cuda_divide_up(n * (int64_t)ir_dtype_bytes(narrow ? IR_f32 : (enum ir_dtype)dtype),
		       CUDA_VECTOR) *
	       CUDA_VECTOR;
}

/* The space of the results of op o, a reduction over outer loops. */
static struct cuda_space
kept_space(const struct cuda_text *t, const struct scheme_op *o)
{
	return cuda_space_of(t->g, o->out_set);
}

static int64_t
rows_parts(const struct cuda_text *t, const struct rows *x, const struct scheme_op *o)
{
	return rows_keeps_outer(o, x->outer) ? cuda_space_of(t->g, o->red_set & x->outer).size
	       : rows_is_near(x, o)          ? rows_blocks(x)
					     : x->groups;
}

/* The row-major number of the current iteration in a space. */
static char *
flat_text(struct cuda_text *t, const struct cuda_space *space)
{
	char *text = NULL;
	int64_t below = 1;

	for (int i = space->n - 1; i >= 0; i--) {
		text = cuda_printf(t, "%s%si%d * (uint64_t)%" PRId64, text ? text : "",
			text ? " + " : "", space->cls[i], below);
		below *= t->g->size[space->cls[i]];
	}
	return text ? text : cuda_printf(t, "0");
}

char *
rows_part_text(struct cuda_text *t, const struct rows *x, const struct scheme_op *o)
{
	const struct cuda_space kept = kept_space(t, o),
				over = cuda_space_of(t->g, o->red_set & x->outer);
	const char *number = rows_keeps_outer(o, x->outer)
				     ? cuda_printf(t, "(%s)", flat_text(t, &over))
				     : "group";

	if (rows_is_near(x, o))
		return cuda_printf(t, "s%d[%s]", o->out, flat_text(t, &kept));
	return cuda_printf(t, "part%d[%s * (uint64_t)%" PRId64 " + %s]", o->out, number, kept.size,
		flat_text(t, &kept));
}

/* The type of a group's accumulator: double if it adds up many iterations. */
static const char *
part_type(const struct rows *x, const struct scheme_op *o)
{
	const bool is_long = x->space.size / x->groups > SCHEME_SUM_BLOCK && scheme_is_cut(o);

	return is_long && !rows_keeps_outer(o, x->outer) ? "double" : cuda_type(o);
}

/* Declares the parts of all reductions over outer loops, and initializes those that several outer
 * iterations add to with the identity. Do other lanes add to them? */
bool
rows_fill_parts(struct cuda_text *t, const struct rows *x)
{
	bool any = false;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (!(o->red_set & x->outer))
			continue;
		const struct cuda_space kept = kept_space(t, o);
		cuda_scratch(t, part_type(x, o), cuda_printf(t, "part%d", o->out),
			kept.size * rows_parts(t, x, o) * 8);
		if (rows_keeps_outer(o, x->outer))
			continue;
		cuda_block(
			t, "for (int64_t q = lane; q < %" PRId64 "; q += %d)", kept.size, x->lanes);
		kernel_line(&t->w, "%s = %s;",
			rows_is_near(x, o)
				? cuda_printf(t, "s%d[q]", o->out)
				: cuda_printf(t, "part%d[group * (uint64_t)%" PRId64 " + q]",
					  o->out, kept.size),
			kernel_identity(&t->w, o));
		cuda_end(t);
		/* the first lane alone adds to a single one, each to its own if it has no neighbours */
		any |= kept.size > 1 && x->width != 1;
	}
	return any;
}

/* Moves the parts to shared memory, beside row buffers, if they fit and a block then has fewer parts
 * than it has rows. */
void
rows_place_parts(struct cuda_text *t, struct rows *x)
{
	int64_t *part = NEW_ARRAY(t->w.scratch, int64_t, (size_t)t->s->ntensors + 1),
		bytes = x->row_bytes;
	bool any = false;

	for (int i = 0; i < t->s->ntensors; i++)
		part[i] = -1;
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (!(o->red_set & x->outer) || rows_keeps_outer(o, x->outer) ||
			part_type(x, o) != cuda_type(o))
			continue;
		part[o->out] = bytes;
		bytes += rows_padded(kept_space(t, o).size, o->f.dtype);
		any = true;
	}
	if (!any || !x->shared || bytes * x->per_block > CUDA_SHARED ||
		(x->per_block == 1 && x->space.size <= x->groups))
		return;
	x->part = part;
	x->row_bytes = bytes;
}

void
rows_write_near_parts(struct cuda_text *t, const struct rows *x)
{
	if (x->part)
		kernel_line(&t->w, "__syncthreads();");
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (!rows_is_near(x, o))
			continue;
		const int64_t size = kept_space(t, o).size;
		cuda_block(t, "for (uint32_t q = threadIdx.x; q < %" PRId64 "; q += %d)", size,
			x->lanes * x->per_block);
		kernel_line(&t->w, "%s v%d = %s;", cuda_type(o), o->out, kernel_identity(&t->w, o));
		cuda_block(t,
			"for (unsigned g = 0; g < %d && blockIdx.x * %d + g < %" PRId64 "; g++)",
			x->per_block, x->per_block, x->groups);
		cuda_accumulate(t, o, cuda_printf(t, "v%d", o->out),
			cuda_printf(t, "((%s *)(rows + g * %" PRId64 " + %" PRId64 "))[q]",
				cuda_type(o), x->row_bytes, x->part[o->out]));
		cuda_end(t);
		kernel_line(&t->w, "part%d[blockIdx.x * (uint64_t)%" PRId64 " + q] = v%d;", o->out,
			size, o->out);
		cuda_end(t);
	}
}

void
rows_put(struct cuda_text *t, const struct rows *x, const struct scheme_op *o)
{
	const char *v = cuda_printf(t, "v%d", o->out);

	if (!(o->red_set & x->outer))
		kernel_store(&t->w, o);
	else if (rows_keeps_outer(o, x->outer))
		kernel_line(&t->w, "%s = %s;", rows_part_text(t, x, o), v);
	else
		cuda_accumulate(t, o, rows_part_text(t, x, o), v);
}

bool
rows_have_vectors(const struct cuda_text *t, const struct rows *x, const struct pass *p, int cls)
{
	FOR_PASS(t, p, x, o)
	{
		const struct cuda_space kept = kept_space(t, o);
		if (!(o->red_set & x->outer) || rows_keeps_outer(o, x->outer) || !kept.n ||
			kept.cls[kept.n - 1] != cls || part_type(x, o) != cuda_type(o))
			return false;
	}
	return true;
}

void
rows_write_parts(struct cuda_text *t, const struct rows *x)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->red_set & x->outer)
			cuda_reduce_parts(t,
				&(struct cuda_parts){&o, 1, kept_space(t, o), rows_parts(t, x, o)});
	}
}
