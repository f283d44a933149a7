/*
 * Params whose rows cannot be divided over the devices: 50257 rows of 768 on 8. Slices of columns
 * are not contiguous, so that their messages would be packed and unpacked. Such a tensor is declared
 * as the row of its elements, which is split instead; its readers take a reshape, which moves no
 * data. Files and initial values keep the shape (attribute `shape`).
 *
 *     %w = param("w") : f32[50257,768]       %w = param("w") {shape = [50257,768]} : f32[38597376]
 *     %h = matmul(%x, %w)                    %v = reshape(%w) : f32[50257,768]
 *     %g = allreduce(%p) {axis = dp}         %h = matmul(%x, %v)
 *     %n = sub(%w, %g)                       %r = reshape(%p) : f32[38597376]+dp
 *     update(%w, %n)                         %g = allreduce(%r) {axis = dp} : f32[38597376]
 *                                            %n = sub(%w, %g) : f32[38597376]
 *                                            update(%w, %n)
 *
 * Done where the next value is computed from such tensors, scalars and sums of gradients by
 * elementwise ops alone; what an optimizer computes from rows needs the shape, and such params are
 * split along another dim. Right because elementwise ops, and sums over all elements, do not depend
 * on the shape.
 */
#include "passes/sharded/shard.h"

#include "ir/base/alloc.h"
#include "ir/base/arena.h"
#include "ir/base/vec.h"
#include "ir/ops/form.h"
#include "ir/ops/row.h"

#include <string.h>
#include <talloc.h>

struct flatten {
	struct shard *s;
	struct arena *arena;
	uint8_t *seen;  /* by value->id: 1 + can it be computed flat? 0: not known yet */
	uint32_t first; /* id of the first value that is made here */
	uint8_t *rows;  /* by value->id: a tensor is computed from it that needs rows */
	struct VEC(struct ir_op *) sum; /* allreduces of gradients that were reached */
};

/* Are the rows not divisible by the axis, but the elements? With fewer rows than devices, slices of
 * columns are few large pieces, whose packing takes little time. */
static bool
wants_flat(const struct shard *s, const struct ir_type *t)
{
	const int64_t n = s->m->axis[s->axis].size;
	bool wants = t->rank > 1 && t->memory == IR_DEVICE && t->dim[0] > n && t->dim[0] % n &&
		     ir_type_elements(t) % n == 0;

	for (int a = 0; a < s->m->naxes; a++)
		wants = wants && t->axis[a].kind != IR_SPLIT;
	return wants;
}

/* --- which tensors ---------------------------------------------------------------------------- */

/* Does element i of the result depend on element i of each operand, or all of a scalar, alone, whatever
 * the shape? An identity that lists dims (transpose, broadcast, slice) does not qualify. */
static bool
is_elementwise(const struct shard *s, const struct ir_op *op)
{
	const struct ir_type *t = op->nresults == 1 ? op->result[0].type : NULL;
	bool is = t && op->noperands && op_is(op, TRAIT_PURE) && wants_flat(s, t) &&
		  row_is_pointwise(op_row(s->m->ctx, op));

	for (int j = 0; is && j < op->noperands; j++) {
		const struct ir_type *in = ir_operand_type(op, j);
		is = !in->rank || (wants_flat(s, in) && ir_type_same_dims(in, t));
	}
	return is;
}

/* Is it the sum of a gradient over the axis? */
static bool
is_sum(const struct shard *s, const struct ir_op *op)
{
	return op->code == OP_allreduce && op->noperands == 1 &&
	       ir_attr_int(op, "axis", -1) == s->axis;
}

/* Does the forward pass read a param here that stays whole, and has no row but for the optimizer? */
static bool
reads_whole(const struct shard *s, const struct ir_op *op, int operand)
{
	const struct ir_op *from = ir_operand(op, operand)->op;

	return s->forward[op->id] && op_is(from, TRAIT_PERSISTENT) && shard_stays_whole(s, from);
}

static bool
can_be_flat(struct flatten *x, struct ir_value *v)
{
	struct ir_op *op = v->op;
	bool can = op && v->type->axis[x->s->axis].kind == IR_COPIED && !x->rows[v->id];

	if (!v->type->rank)
		return true;
	if (!can || x->seen[v->id])
		return can && x->seen[v->id] > 1;
	x->seen[v->id] = 1;
	if (op_is(op, TRAIT_PERSISTENT))
		can = x->s->flat[op->id];
	else if (is_sum(x->s, op))
		VEC_PUSH(x->arena, &x->sum, op);
	else if (is_elementwise(x->s, op))
		for (int j = 0; j < op->noperands; j++)
			can = can_be_flat(x, ir_operand(op, j)) && !reads_whole(x->s, op, j) && can;
	else
		can = false;
	x->seen[v->id] = can ? 2 : 1;
	return can;
}

/* What v is computed from by ops on tensors of its shape needs rows, too: their mixture would be
 * gathered. */
static void
need_rows(struct flatten *x, const struct ir_value *v, const struct ir_type *t)
{
	if (!v->op || x->rows[v->id] || !ir_type_same_dims(v->type, t))
		return;
	x->rows[v->id] = 1;
	if (op_is(v->op, TRAIT_PERSISTENT))
		x->s->flat[v->op->id] = false;
	else if (!is_sum(x->s, v->op))
		for (int j = 0; j < v->op->noperands; j++)
			need_rows(x, ir_operand(v->op, j), t);
}

/* The op that takes the next value of a tensor, or the gradient of a param without an update, and
 * which operand that is; NULL: there is none. */
static struct ir_op *
taker(struct shard *s, const struct ir_op *op, int *operand)
{
	struct ir_op *update = shard_update_of(&op->result[0]);

	*operand = update ? 1 : 0;
	return update ? update : shard_gradient_of(s, op);
}

/* Removes tensors whose next values depend on others than flat ones, until none does. */
static void
choose(struct flatten *x, struct ir_op **op, int n)
{
	struct shard *s = x->s;

	for (int i = 0; i < n; i++) {
		const struct ir_value *v = &op[i]->result[0];
		s->flat[op[i]->id] = wants_flat(s, v->type) &&
				     ir_type_local_bytes(s->m, v->type) > s->whole &&
				     (shard_update_of(v) || !shard_stays_whole(s, op[i]));
	}
	for (bool again = true; again;) {
		again = false;
		memset(x->seen, 0, s->m->value_ids);
		x->sum.n = 0;
		for (int i = 0; i < n; i++) {
			int at;
			struct ir_op *to = s->flat[op[i]->id] ? taker(s, op[i], &at) : NULL;
			if (!to || can_be_flat(x, ir_operand(to, at)))
				continue;
			s->flat[op[i]->id] = false;
			need_rows(x, ir_operand(to, at), op[i]->result[0].type);
			again = true;
		}
	}
}

/* --- the change ------------------------------------------------------------------------------- */

/* v in the shape of a type, or as a row of its elements if that is NULL. */
static struct ir_value *
reshape(struct ir_builder *b, struct ir_value *v, const struct ir_type *like)
{
	const int64_t n = ir_type_elements(v->type);
	const struct ir_attr shape = like ? ir_make_ints(b->m, "shape", like->dim, like->rank)
					  : ir_make_ints(b->m, "shape", &n, 1);

	return ir_build(b, OP_reshape, &v, 1, &shape, 1);
}

/* The row of elements that v is a reshape of; NULL: it is none that is made here, after `first` ids. */
static struct ir_value *
row_of(const struct shard *s, const struct ir_value *v, uint32_t first)
{
	struct ir_value *row =
		v->id >= first && v->op && v->op->code == OP_reshape ? ir_operand(v->op, 0) : NULL;

	return row && row->type->rank == 1 && wants_flat(s, v->type) ? row : NULL;
}

/* Declares a tensor as a row, or if it stays whole (a param before stage 3) makes one of it for the
 * optimizer alone. */
static bool
declare(struct shard *s, struct ir_op *op, bool whole)
{
	struct ir_value *v = &op->result[0], *row = v;
	const struct ir_type *t = v->type;
	struct ir_type flat = *t;
	struct ir_builder b = {.m = s->m, .block = op->block, .before = op->next, .loc = op->loc};
	struct ir_use *uses = v->uses, *next;
	const struct ir_attr shape = ir_make_ints(s->m, "shape", t->dim, t->rank);

	memset(flat.dim, 0, sizeof flat.dim);
	flat.rank = 1;
	flat.dim[0] = ir_type_elements(t);
	if (whole)
		row = reshape(&b, v, NULL);
	else {
		v->type = ir_type_intern(s->m->ctx, &flat);
		ir_attr_set(s->m, op, &shape);
	}
	struct ir_value *view = row ? reshape(&b, row, t) : NULL;
	for (struct ir_use *u = uses; view && u; u = next) {
		next = u->next;
		if (!(u->op->code == OP_update && u == u->op->operand) &&
			!(whole && s->forward[u->op->id]))
			ir_set_operand(u->op, (int)(u - u->op->operand), view);
	}
	return view != NULL;
}

/* A sum of a gradient over the axis, and the sums before it that are done on slices, are done on rows. */
static bool
flatten_sum(struct shard *s, struct ir_op *op)
{
	struct ir_op *hop[SHARD_MAX_HOPS], *first;
	const int n = shard_hops(s, op, hop);
	struct ir_builder b = {.m = s->m, .block = op->block, .loc = op->loc};

	b.before = first = n ? hop[n - 1] : op;
	struct ir_value *v = reshape(&b, ir_operand(first, 0), NULL);
	for (int i = n; v && i >= 0; i--)
		v = shard_sum_copy(s, i ? hop[i - 1] : op, v);
	b.before = op;
	v = v ? reshape(&b, v, op->result[0].type) : NULL;
	if (!v)
		return false;
	ir_replace_uses(&op->result[0], v);
	ir_op_erase(op);
	for (int i = 0; i < n; i++)
		ir_op_erase(hop[i]);
	return true;
}

/* A sum over all dims of a reshaped row. */
static bool
is_total(const struct ir_op *op)
{
	return op->code == OP_sum && !op->result[0].type->rank;
}

/* A barrier takes and returns rows: otherwise ops that recompute values from its results, such as a
 * conversion to fewer bits, would come after the gather. */
static bool
sink_barrier(struct flatten *x, struct ir_op *op)
{
	struct shard *s = x->s;
	struct ir_builder b = {.m = s->m, .block = op->block, .before = op->next, .loc = op->loc};

	for (int j = 0; j < op->noperands; j++) {
		struct ir_value *row = row_of(s, ir_operand(op, j), x->first), *v = &op->result[j];
		const struct ir_type *t = v->type;
		if (!row)
			continue;
		ir_set_operand(op, j, row);
		v->type = row->type;
		struct ir_value *view = reshape(&b, v, t);
		if (!view)
			return false;
		ir_replace_uses(v, view);
		ir_set_operand(view->op, 0, v);
	}
	return true;
}

/* Computes an op on the rows that its operands are reshapes of, if they all are, or scalars. */
static bool
sink(struct flatten *x, struct ir_op *op)
{
	struct shard *s = x->s;
	struct ir_value *operand[FORM_MAX_INPUTS];
	bool any = false, all = op->noperands <= FORM_MAX_INPUTS;

	if (op->code == OP_barrier)
		return sink_barrier(x, op);
	for (int j = 0; j < op->noperands && all; j++) {
		struct ir_value *v = ir_operand(op, j), *row = row_of(s, v, x->first);
		operand[j] = row ? row : v;
		any = any || row;
		all = row || !v->type->rank;
	}
	if (!any || !all)
		return true;
	if (is_total(op)) {
		ir_set_operand(op, 0, operand[0]);
		ir_attr_remove(op, "dims");
		return true;
	}
	if (!is_elementwise(s, op))
		return true;
	struct ir_builder b = {.m = s->m, .block = op->block, .before = op, .loc = op->loc};
	struct ir_op *copy = ir_op_clone(s->m, op, operand);
	if (!ir_infer(s->m, copy, NULL))
		return false;
	ir_insert_before(op, copy);
	struct ir_value *v = reshape(&b, &copy->result[0], op->result[0].type);
	if (!v)
		return false;
	ir_replace_uses(&op->result[0], v);
	ir_op_erase(op);
	return true;
}

/* Updates and reported gradients of tensors that are rows now take rows. */
static void
take_row(struct flatten *x, struct ir_op *op)
{
	struct shard *s = x->s;
	int at;
	const struct ir_type *t = op->result[0].type;
	struct ir_op *to = s->flat[op->id] && t->rank == 1 ? taker(s, op, &at) : NULL;

	if (!to)
		return;
	ir_set_operand(to, at, row_of(s, ir_operand(to, at), x->first));
	if (to->code == OP_output)
		ir_attr_set(s->m, to, ir_attr_find(op, "shape"));
}

static bool
change(struct flatten *x, struct ir_op **op, int n)
{
	struct shard *s = x->s;
	struct ir_block *block = &ir_func_find(s->m, "main")->body;

	for (int64_t i = 0; i < x->sum.n; i++)
		if (!flatten_sum(s, x->sum.at[i]))
			return false;
	for (int i = 0; i < n; i++)
		if (s->flat[op[i]->id]) {
			pass_count(s->run, "tensor(s) split as a row of elements", 1);
			if (!declare(s, op[i], shard_stays_whole(s, op[i])))
				return false;
		}
	IR_FOR_OPS_SAFE (o, block)
		if (!sink(x, o))
			return false;
	for (int i = 0; i < n; i++)
		take_row(x, op[i]);
	for (struct ir_op *o = block->last, *prev; o; o = prev) {
		prev = o->prev;
		if (o->code == OP_reshape && !o->result[0].uses)
			ir_op_erase(o);
	}
	return true;
}

bool
shard_flatten(struct shard *s, struct ir_op **op, int n)
{
	struct flatten x = {.s = s, .arena = arena_create(NULL), .first = s->m->value_ids};

	s->flat = ARRAY_ZERO(s->run->scratch, bool, s->m->op_ids);
	x.seen = ARRAY_ZERO(s->run->scratch, uint8_t, s->m->value_ids);
	x.rows = ARRAY_ZERO(s->run->scratch, uint8_t, s->m->value_ids);
	choose(&x, op, n);
	const bool ok = change(&x, op, n);
	talloc_free(x.arena);
	return ok;
}

void
shard_copy_views(struct shard *s)
{
	IR_FOR_OPS_SAFE (op, &ir_func_find(s->m, "main")->body) {
		const struct ir_value *row = op->nresults ? row_of(s, &op->result[0], 0) : NULL;
		if (!row || !row->op || row->op->code != OP_allgather)
			continue;
		for (struct ir_use *u = op->result[0].uses, *next; u; u = next) {
			struct ir_value *from = ir_operand(op, 0);
			struct ir_op *copy = ir_op_clone(s->m, op, &from);
			next = u->next;
			ir_insert_before(u->op, copy);
			ir_set_operand(u->op, (int)(u - u->op->operand), &copy->result[0]);
		}
		ir_op_erase(op);
	}
}
