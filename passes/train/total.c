/*
 * Sums over whole tensors. A sum over a split tensor is partial by the rule of its op, and
 * passes/parallel/reshard.c selects the message that adds it up; so no layout needs a special rule
 * here.
 */
#include "passes/train/total.h"

#include "passes/parallel/reshard.h"

/*
 * The sum of all elements of v, a scalar with the placement of v: the sums over slices are partial
 * and are added up over the devices (allreduce); a copied tensor is counted once. NULL after an
 * error.
 */
static struct ir_value *
total_of(struct ir_builder *b, struct ir_value *v)
{
	struct ir_value *sum = ir_build1(b, OP_sum, v);

	return sum ? reshard(b, sum, gradient_type(b->m, sum->type)) : NULL;
}

struct ir_value *
total_convert(struct ir_builder *b, struct ir_value *x, enum ir_dtype t)
{
	if (!x || x->type->dtype == t)
		return x;
	const struct ir_attr to = ir_make_dtype(b->m->ctx, "to", t);
	return ir_build(b, OP_convert, &x, 1, &to, 1);
}

struct ir_value *
total_of_squares(struct ir_builder *b, struct ir_value *v)
{
	struct ir_value *wide = total_convert(b, v, v->type->dtype == IR_f64 ? IR_f64 : IR_f32);
	struct ir_value *square = ir_build2(b, OP_mul, wide, wide);

	return square ? total_of(b, square) : NULL;
}

/* Are the two partial or split on the same device axes, so that a message is needed for both or
 * neither? Then their sum is covered by one of the rules of add. */
static bool
lie_alike(const struct ir_module *m, const struct ir_type *a, const struct ir_type *b)
{
	for (int i = 0; i < m->naxes; i++)
		if (!m->axis[i].time &&
			(a->axis[i].kind == IR_COPIED) != (b->axis[i].kind == IR_COPIED))
			return false;
	return true;
}

/* Copied on the devices; time axes unchanged. */
static const struct ir_type *
copied_type(struct ir_module *m, const struct ir_type *t)
{
	struct ir_type copied = *t;

	for (int i = 0; i < m->naxes; i++)
		if (!m->axis[i].time || t->axis[i].kind == IR_PARTIAL)
			copied.axis[i] = (struct ir_state){.kind = IR_COPIED};
	return ir_type_intern(m->ctx, &copied);
}

/* total + v, once v is known on all devices. */
static struct ir_value *
add_whole(struct ir_builder *b, struct ir_value *total, struct ir_value *v)
{
	struct ir_value *whole = reshard(b, v, copied_type(b->m, v->type));

	return total && whole ? ir_build2(b, OP_add, total, whole) : whole;
}

struct ir_value *
total_of_all(struct ir_builder *b, struct ir_value *const *v, int n)
{
	enum { GROUPS = 16 }; /* further kinds of layout are summed one by one */
	struct ir_value *group[GROUPS], *total = NULL;
	int ngroups = 0;

	for (int i = 0; i < n; i++) {
		struct ir_value *sum = ir_build1(b, OP_sum, v[i]);
		int g = 0;
		if (!sum)
			return NULL;
		while (g < ngroups && !lie_alike(b->m, group[g]->type, sum->type))
			g++;
		if (g < ngroups)
			group[g] = ir_build2(b, OP_add, group[g], sum);
		else if (g < GROUPS)
			group[ngroups++] = sum;
		else
			total = add_whole(b, total, sum);
		if (b->failed)
			return NULL;
	}
	for (int g = 0; g < ngroups && !b->failed; g++)
		total = add_whole(b, total, group[g]);
	return b->failed ? NULL : total;
}
