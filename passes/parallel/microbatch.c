/*
 * accumulate{loss=microbatch}: terms of the loss by micro-batch. A loss that balances experts
 * (Fedus et al., "Switch Transformers", 2021, section 2.2) multiplies means over the batch. Its
 * gradient in one micro-batch needs the means of all of them, so that the backward pass becomes a
 * second loop (kept.c). Training codes, Megatron and DeepSpeed among them, instead compute such a
 * term for each micro-batch and average the terms. That is a different loss, which this code
 * computes on request:
 *
 *     %a = mean(%x) {dims = [0]} : f32[E]+mb        %y = reshape(%x) : f32[M/mb,B/M,E]
 *     %s = reduce(%a) : f32[E]@mb=last              %a = mean(%y) {dims = [1]} : f32[M/mb,E]
 *     %t = mul(%s, %r) : f32[E]@mb=last             %t = mul(%a, %b) : f32[M/mb,E]
 *     %l = sum(%t) : f32[]@mb=last                  %m = mean(%t) {dims = [0]} : f32[E]+mb
 *                                                   %s = reduce(%m) : f32[E]@mb=last
 *                                                   %l = sum(%s) : f32[]@mb=last
 *
 * Exactly: a *statistic* is a sum or mean over the batch on which the loss depends through an op
 * that is not affine in all statistics together. The op, and the ops that lead from statistics to
 * it, are computed for each micro-batch from its own statistics. Sums are multiplied by the number
 * M of micro-batches, so that they stand for the batch, as means do. Results that no other such op
 * reads are averaged. Statistics in which the loss is affine, such as the mean of the tokens'
 * losses, do not change: they already are averages over micro-batches.
 *
 * A statistic that rows of the batch read, as in batch normalization, stays one of the whole batch.
 * Gradients of the result are in the one loop over micro-batches, since the new tensors are split
 * over it.
 */
#include "passes/parallel/microbatch.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/ops/form.h"
#include "passes/parallel/dp_impl.h"
#include "passes/parallel/microbatch_terms.h"
#include "passes/parallel/reshard.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

const struct ir_op *
microbatch_term(const void *owner, const struct ir_module *m, int axis)
{
	struct terms *t = terms_create(owner, m, axis);
	const struct ir_op *op = terms_first_bend(t);

	talloc_free(t);
	return op;
}

/* ---- the terms again, with a dim of micro-batches in front ---- */

struct recompute_ops {
	const struct terms *t;
	struct pass_run *run;
	struct ir_builder b;
	struct ir_value **by; /* by value->id: the value by micro-batch; NULL: not needed */
};

static bool
refuse(const struct recompute_ops *g, const struct ir_op *op, const char *why)
{
	diag_error(g->b.m->ctx->diag, op->loc,
		"%s: loss=microbatch: %s cannot be computed by micro-batch: %s", g->run->pass->name,
		op_name((enum op_code)op->code), why);
	return false;
}

static struct ir_value *
build_reshape(struct recompute_ops *g, struct ir_value *v, const int64_t *dim, int rank)
{
	const struct ir_attr shape = ir_make_ints(g->b.m, "shape", dim, rank);

	return ir_build(&g->b, OP_reshape, &v, 1, &shape, 1);
}

static int64_t
micro_batches(const struct recompute_ops *g)
{
	return g->b.m->axis[g->t->axis].size;
}

/* The dims of an operand of that rank that the op reduces. */
static void
reduced_dims(const struct ir_op *op, int rank, bool reduced[IR_MAX_RANK])
{
	int64_t dim[IR_MAX_RANK];
	const int n = ir_attr_ints(op, "dims", dim, IR_MAX_RANK);

	for (int d = 0; d < rank; d++)
		reduced[d] = n < 0;
	for (int i = 0; i < n; i++)
		reduced[dim[i] < 0 ? dim[i] + rank : dim[i]] = true;
}

/*
 * Splits dim d of v, which the time axis splits, into several: one for each axis outside the time
 * axis, one for the time axis, and the rest. Returns how many are before the rest; the last of
 * these is that of micro-batches. 0: more than a tensor can have.
 */
static int
split_dim(struct recompute_ops *g, struct ir_value **v, int d)
{
	const struct ir_type *t = (*v)->type;
	int list[IR_MAX_AXES], n = 0, rank = 0;
	int64_t dim[IR_MAX_RANK], rest = t->dim[d];

	ir_type_split_axes(t, d, list);
	while (list[n++] != g->t->axis)
		;
	if (t->rank + n > IR_MAX_RANK)
		return 0;
	for (int i = 0; i < t->rank; i++) {
		for (int k = 0; i == d && k < n; k++) {
			dim[rank++] = g->b.m->axis[list[k]].size;
			rest /= g->b.m->axis[list[k]].size;
		}
		dim[rank++] = i == d ? rest : t->dim[i];
	}
	*v = build_reshape(g, *v, dim, rank);
	return *v ? n : 0;
}

/* v with dim d first. */
static struct ir_value *
to_front(struct recompute_ops *g, struct ir_value *v, int d)
{
	int64_t perm[IR_MAX_RANK];
	int n = 0;

	perm[n++] = d;
	for (int i = 0; i < v->type->rank; i++)
		if (i != d)
			perm[n++] = i;
	const struct ir_attr attr = ir_make_ints(g->b.m, "perm", perm, n);
	return d ? ir_build(&g->b, OP_transpose, &v, 1, &attr, 1) : v;
}

/* A sum or mean over the batch, computed per micro-batch. */
static struct ir_value *
build_statistic(struct recompute_ops *g, const struct ir_op *op)
{
	struct ir_value *v = ir_operand(op, 0);
	const struct ir_type *old = op->result[0].type;
	const int d = terms_state(g->t, v).dim, before = v->type->rank;
	bool reduced[IR_MAX_RANK];
	int64_t dims[IR_MAX_RANK], shape[IR_MAX_RANK];
	int ndims = 0, kept = 0, n;

	if ((op->code != OP_sum && op->code != OP_mean) || terms_state(g->t, v).kind != IR_SPLIT) {
		refuse(g, op, "only sum and mean over the batch can");
		return NULL;
	}
	reduced_dims(op, before, reduced);
	n = split_dim(g, &v, d);
	if (!n) {
		refuse(g, op, "its operand would have too many dims");
		return NULL;
	}
	for (int i = 0; i < before; i++) {
		const int first = i > d ? i + n : i;
		kept += i < d && !reduced[i];
		for (int k = 0; reduced[i] && k <= (i == d ? n : 0); k++)
			if (i != d || k != n - 1)
				dims[ndims++] = first + k;
	}
	const struct ir_attr attr = ir_make_ints(g->b.m, "dims", dims, ndims);
	v = ir_build(&g->b, (enum op_code)op->code, &v, 1, &attr, 1);
	v = v ? to_front(g, v, kept) : NULL;
	if (v && op->code == OP_sum) {
		struct ir_value *times =
			ir_build_scalar(&g->b, (enum ir_dtype)old->dtype, (double)micro_batches(g));
		v = times ? ir_build2(&g->b, OP_mul, v, times) : NULL;
	}
	if (!v || !ir_attr_int(op, "keep", 0))
		return v;
	shape[0] = micro_batches(g);
	memcpy(&shape[1], old->dim, old->rank * sizeof *shape);
	return build_reshape(g, v, shape, old->rank + 1);
}

/* v, by micro-batch, padded with dims of size 1 to that rank, not counting the dim of
 * micro-batches. */
static struct ir_value *
to_rank(struct recompute_ops *g, struct ir_value *v, int rank)
{
	const int own = v->type->rank - 1;
	int64_t dim[IR_MAX_RANK];

	if (own >= rank)
		return v;
	dim[0] = micro_batches(g);
	for (int i = 0; i < rank; i++)
		dim[i + 1] = i < rank - own ? 1 : v->type->dim[i - (rank - own) + 1];
	return build_reshape(g, v, dim, rank + 1);
}

/* Is each element of the result computed from the elements at its position, with operands broadcast
 * from the right? */
static bool
is_pointwise(const struct recompute_ops *g, const struct ir_op *op)
{
	struct form f;

	if (!form_exists((enum op_code)op->code) || op_is(op, TRAIT_PARALLEL) || op->nattrs)
		return op->code == OP_convert;
	struct arena *a = arena_create(g->run->scratch);
	bool fits = form_make(g->b.m, a, op, op->result[0].type, &f) && f.reduce == REDUCE_NONE &&
		    f.nindices == f.out.rank;
	for (int i = 0; fits && i < f.nindices; i++)
		fits = !f.at[i] && !expr_uses_index(f.body, i);
	for (int k = 0; fits && k < f.ninputs; k++)
		for (int d = 0; fits && d < f.in[k].rank; d++)
			fits = f.in[k].index[d] < 0 ||
			       f.in[k].index[d] == f.out.index[d + f.out.rank - f.in[k].rank];
	talloc_free(a);
	return fits;
}

/* The attributes of a copy of op whose operands have one more leading dim. False: unknown. */
static bool
shift_attrs(struct recompute_ops *g, const struct ir_op *op, struct ir_op *copy)
{
	const int rank = op->noperands ? ir_operand_type(op, 0)->rank : 0;
	int64_t list[IR_MAX_RANK];
	bool reduced[IR_MAX_RANK];
	int n = 0;

	switch (op->code) {
	case OP_sum:
	case OP_mean:
	case OP_max:
	case OP_min:
	case OP_prod: {
		reduced_dims(op, rank, reduced);
		for (int d = 0; d < rank; d++)
			if (reduced[d])
				list[n++] = d + 1;
		const struct ir_attr attr = ir_make_ints(g->b.m, "dims", list, n);
		ir_attr_set(g->b.m, copy, &attr);
		return true;
	}
	case OP_reshape: {
		const struct ir_type *t = op->result[0].type;
		list[0] = micro_batches(g);
		memcpy(&list[1], t->dim, t->rank * sizeof *list);
		const struct ir_attr attr = ir_make_ints(g->b.m, "shape", list, t->rank + 1);
		ir_attr_set(g->b.m, copy, &attr);
		return true;
	}
	case OP_allreduce: return true;
	default: return is_pointwise(g, op);
	}
}

/* A term for each micro-batch. */
static struct ir_value *
build_term(struct recompute_ops *g, const struct ir_op *op)
{
	struct ir_value *v[FORM_MAX_INPUTS];

	if (op->code == OP_reduce && ir_attr_int(op, "axis", -1) == g->t->axis)
		return g->by[ir_operand(op, 0)->id];
	v[0] = g->by[ir_operand(op, 0)->id];
	if (op->code == OP_allreduce && v[0] &&
		v[0]->type->axis[ir_attr_int(op, "axis", 0)].kind != IR_PARTIAL)
		return v[0]; /* an axis of size 1, which splits any dim */
	if (op->nresults != 1 || op->noperands > FORM_MAX_INPUTS ||
		op->result[0].type->rank == IR_MAX_RANK) {
		refuse(g, op, "it has too many operands, results or dims");
		return NULL;
	}
	for (int j = 0; j < op->noperands; j++) {
		struct ir_value *old = ir_operand(op, j);
		v[j] = g->by[old->id];
		if (v[j])
			v[j] = op->noperands > 1 ? to_rank(g, v[j], op->result[0].type->rank)
						 : v[j];
		else if (terms_state(g->t, old).kind == IR_COPIED)
			v[j] = old;
		else
			refuse(g, op, "it needs all rows of the batch");
		if (!v[j])
			return NULL;
	}
	struct ir_op *copy = ir_op_clone(g->b.m, op, v);
	if (!shift_attrs(g, op, copy)) {
		ir_op_erase(copy);
		refuse(g, op, "only elementwise ops, reductions and reshapes can");
		return NULL;
	}
	ir_insert_before(g->b.before, copy);
	return ir_infer(g->b.m, copy, NULL) ? &copy->result[0] : NULL;
}

/* Replaces the term of the batch by the average over micro-batches, for all readers except rows of
 * the batch. */
static bool
use_average(struct recompute_ops *g, struct ir_op *op)
{
	static const int64_t first = 0;
	struct ir_value *old = &op->result[0], *v = g->by[old->id];
	const struct ir_attr dims = ir_make_ints(g->b.m, "dims", &first, 1);

	v = ir_build(&g->b, OP_mean, &v, 1, &dims, 1);
	v = v ? reshard(&g->b, v, old->type) : NULL;
	if (!v)
		return false;
	if (v->type != old->type)
		return pass_bug(g->run, op, "a term by micro-batch has another layout");
	for (struct ir_use *u = old->uses, *next; u; u = next) {
		next = u->next;
		if (u->op->code != OP_replicate && !terms_have(g->t, u->op))
			ir_set_operand(u->op, (int)(u - u->op->operand), v);
	}
	return true;
}

/* Is a result read by an op that is not a term? */
static bool
leaves(const struct terms *t, const struct ir_op *op)
{
	IR_FOR_USES (u, &op->result[0])
		if (!terms_have(t, u->op))
			return true;
	return false;
}

bool
microbatch_loss(struct pass_run *run, struct ir_module *m, int axis)
{
	const struct terms *t = terms_create(run->scratch, m, axis);
	struct recompute_ops g = {.t = t, .run = run, .b = {.m = m, .block = t->block}};
	struct dp_names names = {0};
	uint32_t n = 0;

	if (!t->loss) {
		diag_error(m->ctx->diag, pass_option_loc(run, "loss"),
			"%s: loss=microbatch: there is no output named \"loss\"", run->pass->name);
		return false;
	}
	if (!terms_first_bend(t)) {
		pass_remark(run, NULL, PASS_MISSED,
			"loss=microbatch changes nothing: no term of the loss needs sums over "
			"the whole batch");
		return true;
	}
	struct ir_op **bend = ARRAY_NEW(run->scratch, struct ir_op *, t->nbends);
	g.by = ARRAY_ZERO(run->scratch, struct ir_value *, m->value_ids);
	IR_FOR_OPS_SAFE (op, t->block) {
		if (!terms_have(t, op))
			continue;
		g.b.before = op->next;
		g.b.loc = op->loc;
		struct ir_value *v =
			terms_reads_sum(t, op) ? build_term(&g, op) : build_statistic(&g, op);
		if (!v)
			return false;
		g.by[op->result[0].id] = v;
		if (t->bends[op->id]) {
			if (leaves(t, op) && !use_average(&g, op))
				return false;
			dp_names_add(run, &names, op);
			bend[n++] = op;
		}
	}
	for (uint32_t i = 0; i < n; i++) /* an op that was erased with another one has no block */
		dp_drop_dead(&bend[i]->result[0]);
	pass_remark(run, names.first, PASS_APPLIED,
		"%s computed by micro-batch, from sums over each of them, and averaged, so the loss is "
		"another one than that of the whole batch: %s",
		number_count(run->scratch, names.n,
			names.n == 1 ? "term of the loss is" : "terms of the loss are"),
		names.text ? names.text : "");
	pass_redefines(run);
	return true;
}
