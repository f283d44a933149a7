/*
 * Between whole tensors and their parts on processes: sdy.manual_computation, and custom_calls
 * @SPMDFullToShardShape and @SPMDShardToFullShape, which a shard_map becomes. A value constrained
 * to a sharding (sdy.sharding_constraint, @Sharding) is split accordingly and gathered again: this
 * has the same meaning, and the pass `propagate` starts from it.
 *
 *     f32[32,784] over y = 8 in dim 0     f32[32/y,784]     partition
 *                                         f32[8/y,4,784]    reshape: no message
 */
#include "ir/base/alloc.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/spmd/spmd.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* --- shards ------------------------------------------------------------------------------------
 */

/* Intermediate dims: existing leading ones, and for each dim its parts and the rest. */
struct way {
	int64_t size[2 * IR_MAX_RANK + IR_MAX_AXES];
	int axis[2 * IR_MAX_RANK + IR_MAX_AXES]; /* axis whose leading dim it is; -1: a local dim */
	int n;
};

static void
add_dim(struct way *w, int64_t size, int axis)
{
	w->size[w->n] = size;
	w->axis[w->n++] = axis;
}

static bool
way_fits(struct import *im, const struct mlir_op *op, const struct way *w)
{
	return w->n <= IR_MAX_RANK ||
	       import_unsupported_form(im, op,
		       "the value of a process has rank %d with the dims of the "
		       "mesh; the largest rank is %d",
		       w->n, IR_MAX_RANK);
}

static struct way
way_of(const struct import *im, const struct spmd_sharding *s, uint32_t manual, uint32_t lead,
	const struct ir_type *t)
{
	struct way w = {.n = 0};
	int d0 = 0;

	for (int a = 0; a < im->module->naxes; a++)
		if (lead >> a & 1)
			add_dim(&w, t->dim[d0++], a);
	for (int d = d0; d < t->rank; d++) {
		int64_t left = t->dim[d];
		for (int i = 0; i < s->n[d - d0]; i++) {
			const int a = s->axis[d - d0][i];
			if (!(manual >> a & 1))
				continue;
			add_dim(&w, im->module->axis[a].size, a);
			left /= im->module->axis[a].size;
		}
		add_dim(&w, left, -1);
	}
	return w;
}

/*
 * Turns a whole tensor into the slices of the processes over the axes `manual`: dims divided,
 * leading dims in front. Splits on other axes are undone.
 */
static bool
slices_of(struct import *im, const struct mlir_op *op, const struct spmd_sharding *s,
	uint32_t manual, struct import_value *v)
{
	struct ir_value *x = v->value;
	const int lead = import_lead(v);
	int64_t perm[2 * IR_MAX_RANK + IR_MAX_AXES];
	int n = 0;

	if (v->varies & manual)
		return import_error(im, op, "the value is already the local value of a process");
	const struct way w = way_of(im, s, manual, v->varies, x->type);
	if (!way_fits(im, op, &w))
		return false;
	for (int d = lead; d < v->value->type->rank; d++)
		for (int i = 0; x && i < s->n[d - lead]; i++) {
			const int a = s->axis[d - lead][i];
			if (!(manual >> a & 1))
				continue;
			if (ir_type_local_dim(im->module, x->type, d) % im->module->axis[a].size)
				return import_error(im, op,
					"dim %d of size %" PRId64
					" is not divisible into equal parts",
					d - lead, x->type->dim[d]);
			x = spmd_partition(im, x, d, a);
		}
	x = build_reshape(im, x, w.size, w.n);
	for (int a = 0; a < im->module->naxes; a++)
		for (int k = 0; k < w.n; k++)
			if (w.axis[k] == a) {
				perm[n++] = k;
				v->varies |= 1u << a;
			}
	for (int k = 0; k < w.n; k++)
		if (w.axis[k] < 0)
			perm[n++] = k;
	v->value = build_transpose(im, x, perm);
	v->type = NULL;
	return v->value != NULL;
}

/* Leading dims of `axes` that are one place's: the first. */
static struct ir_value *
first_place(struct import *im, struct import_value *v, uint32_t axes)
{
	struct ir_value *x = spmd_allgather(im, v->value, axes);

	for (int a = im->module->naxes - 1; x && a >= 0; a--)
		if (axes >> a & 1) {
			int64_t dim[IR_MAX_RANK];
			const int lead = spmd_lead(v->varies, a);
			int n = 0;
			x = spmd_slice(im, x, lead, 0, 1);
			for (int d = 0; x && d < x->type->rank; d++)
				if (d != lead)
					dim[n++] = x->type->dim[d];
			x = build_reshape(im, x, dim, n);
		}
	v->varies &= ~axes;
	return v->value = x;
}

/* The inverse. A value that varies over an axis of `manual` that the sharding does not name is
 * taken from place 0 of that axis: the program asserts that it is the same everywhere. */
static bool
whole_of(struct import *im, const struct mlir_op *op, const struct spmd_sharding *s,
	uint32_t manual, struct import_value *v)
{
	const uint32_t split = s->axes & manual;
	int64_t perm[2 * IR_MAX_RANK + IR_MAX_AXES], size[IR_MAX_RANK];
	int n = 0, rank = 0;

	if (!first_place(im, v, v->varies & manual & ~split) || !spmd_vary(im, v, split))
		return false;
	const int lead = import_lead(v);
	const uint32_t rest = v->varies & ~split;
	for (int a = 0; a < im->module->naxes; a++)
		if (rest >> a & 1) {
			perm[n++] = spmd_lead(v->varies, a);
			size[rank++] = im->module->axis[a].size;
		}
	for (int d = lead; d < v->value->type->rank; d++) {
		size[rank] = v->value->type->dim[d];
		for (int i = 0; i < s->n[d - lead]; i++) {
			const int a = s->axis[d - lead][i];
			if (!(manual >> a & 1))
				continue;
			perm[n++] = spmd_lead(v->varies, a);
			size[rank] *= im->module->axis[a].size;
		}
		perm[n++] = d;
		rank++;
	}
	if (n != v->value->type->rank)
		return import_error(im, op, "the sharding names dims that the value does not have");
	struct ir_value *x = build_transpose(im, v->value, perm);
	x = build_reshape(im, x, size, rank);
	v->value = spmd_allgather(im, x, split);
	v->varies = rest;
	v->type = NULL;
	return v->value != NULL;
}

/* --- sdy.manual_computation --------------------------------------------------------------------
 */

static const struct mlir_attr *
sharding_list(struct import *im, const struct mlir_op *op, const char *name, uint32_t n)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	if (a && a->kind == MLIR_DICT && a->n == 1)
		a = &a->item[0]; /* #sdy.sharding_per_value<[..]> */
	if (a && a->kind == MLIR_LIST && a->n == n)
		return a;
	if (!a && !n)
		return NULL;
	import_error(im, op, "%s must have one sharding for each of %u values", name, n);
	return NULL;
}

bool
import_manual(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *from = sharding_list(im, op, "in_shardings", op->noperands),
			       *to = sharding_list(im, op, "out_shardings", op->nresults);
	const struct mlir_block *b = &op->region[0];
	uint32_t manual;
	bool ok = true;

	if ((op->noperands && !from) || (op->nresults && !to))
		return false;
	if (!spmd_axis_list(im, mlir_attr_find(op, "manual_axes"), &manual))
		return import_error(im, op, "manual_axes has a name that is not an axis of a mesh");
	if (b->nargs != op->noperands)
		return import_error(im, op, "the region has %u arguments for %u operands", b->nargs,
			op->noperands);
	struct import_value *v = NEW_ARRAY(im->spmd, struct import_value, op->noperands + 1);
	for (uint32_t i = 0; ok && i < op->noperands; i++) {
		struct spmd_sharding s;
		v[i] = in[i];
		ok = spmd_sharding_read(im, op, &from->item[i], in[i].type->rank, &s) &&
		     slices_of(im, op, &s, manual, &v[i]);
		if (!ok)
			break;
		const struct ir_type *t = v[i].value->type;
		const int lead = import_lead(&v[i]);
		const struct mlir_type *local = import_local_type(
			im, (enum ir_dtype)t->dtype, t->rank - lead, t->dim + lead);
		if (!import_same_type(local, b->arg[i].type))
			ok = import_error(im, op,
				"argument %u of the region is %s, which does "
				"not match its sharding",
				i + 1, b->arg[i].type->text);
	}
	ok = ok && import_region(im, op, 0, v, (int)op->noperands, out, (int)op->nresults);
	talloc_free(v);
	for (uint32_t i = 0; ok && i < op->nresults; i++) {
		struct spmd_sharding s;
		ok = out[i].value &&
		     spmd_sharding_read(im, op, &to->item[i],
			     out[i].value->type->rank - import_lead(&out[i]), &s) &&
		     whole_of(im, op, &s, manual, &out[i]);
	}
	return ok;
}

/* --- constraints, custom calls -----------------------------------------------------------------
 */

/* Splits as the sharding says, and gathers again. */
static bool
constrain(struct import *im, const struct mlir_op *op, const struct mlir_attr *a,
	const struct import_value *in, struct import_value *out)
{
	const struct ir_type *t = in->value->type;
	struct ir_value *x = in->value;
	struct spmd_sharding s;

	out[0] = *in;
	if (!spmd_sharding_read(im, op, a, t->rank - import_lead(in), &s))
		return false;
	if (in->varies || s.manual || !s.axes || !spmd_sharding_type(im, t, &s))
		return true; /* within a process, or in parts that are not equal: no more than a
				wish */
	for (int d = 0; x && d < t->rank; d++)
		for (int i = 0; i < s.n[d]; i++)
			x = spmd_partition(im, x, d, s.axis[d][i]);
	out[0].value = spmd_allgather(im, x, s.axes);
	return out[0].value != NULL;
}

bool
import_sharding(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, "sharding");

	return a ? constrain(im, op, a, in, out) : import_error(im, op, "the sharding is missing");
}

/* The sharding of the custom_call @Sharding that makes the operand. */
static const struct mlir_attr *
operand_sharding(const struct mlir_op *op)
{
	const struct mlir_op *from = op->operand[0]->op;
	const struct mlir_attr *target = from ? mlir_attr_find(from, "call_target_name") : NULL;

	if (!target || (target->kind != MLIR_STRING && target->kind != MLIR_SYMBOL) ||
		strcmp(target->s, "Sharding"))
		return NULL;
	return mlir_attr_find(from, "mhlo.sharding");
}

/* All axes: a partly manual sharding has a last tile dim, which does not occur here. */
static bool
to_shards(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *a = operand_sharding(op);
	struct spmd_sharding s;

	if (!a)
		return import_error(im, op, "the operand must come from a custom_call @Sharding");
	out[0] = *in;
	return spmd_sharding_read(im, op, a, in->type->rank, &s) &&
	       slices_of(im, op, &s, spmd_axes(im), out);
}

static bool
to_full(struct import *im, const struct mlir_op *op, const struct mlir_attr *a,
	const struct import_value *in, struct import_value *out)
{
	struct spmd_sharding s;

	out[0] = *in;
	return spmd_sharding_read(im, op, a, in->type->rank, &s) &&
	       whole_of(im, op, &s, spmd_axes(im), out);
}

bool
spmd_custom_call(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out, bool *ok)
{
	const struct mlir_attr *target = mlir_attr_find(op, "call_target_name"),
			       *a = mlir_attr_find(op, "mhlo.sharding");
	const char *name = target && (target->kind == MLIR_STRING || target->kind == MLIR_SYMBOL)
				   ? target->s
				   : "";
	const bool sharding = !strcmp(name, "Sharding"),
		   in_shards = !strcmp(name, "SPMDFullToShardShape"),
		   full = !strcmp(name, "SPMDShardToFullShape");

	if (!sharding && !in_shards && !full)
		return false;
	if (op->noperands != 1 || op->nresults != 1 || !in[0].value)
		*ok = import_error(im, op, "@%s takes one tensor", name);
	else if (!a || a->kind != MLIR_STRING)
		*ok = import_error(im, op, "@%s needs mhlo.sharding", name);
	else
		*ok = sharding    ? constrain(im, op, a, in, out)
		      : in_shards ? to_shards(im, op, in, out)
				  : to_full(im, op, a, in, out);
	return true;
}
