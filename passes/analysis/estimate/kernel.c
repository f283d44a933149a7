/* The kernel of a fuse. See internal.h. */
#include "ir/ops/form.h"
#include "ir/base/alloc.h"
#include "passes/analysis/estimate/internal.h"

#include <math.h>
#include <talloc.h>

static double
elements_of(const struct ir_module *m, const struct ir_value *v)
{
	return (double)ir_type_local_elements(m, v->type);
}

static double
product_of(const struct fuse_role *r)
{
	double n = 1;

	for (int d = 0; d < r->rank; d++)
		n *= (double)r->space[d];
	return n;
}

struct estimate_op
estimate_op(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op, struct arena *a)
{
	const struct device *d = model->cluster->kind[kind];
	struct estimate_op e = {.code = op->code, .noperands = (uint8_t)op->noperands};

	for (int i = 0; i < op->nresults; i++) {
		e.results += (double)ir_type_local_bytes(m, op->result[i].type);
		e.elements += elements_of(m, &op->result[i]);
		e.dtype = op->result[i].type->dtype;
	}
	e.narrowest = UINT8_MAX;
	for (int j = 0; j < op->noperands; j++) {
		const enum ir_dtype t = (enum ir_dtype)ir_operand_type(op, j)->dtype;
		const uint8_t bytes = (uint8_t)ir_dtype_bytes(t);
		e.narrowest = bytes < e.narrowest ? bytes : e.narrowest;
	}
	if (cost_op_kind(m, op) != COST_COMPUTE)
		return e;
	const struct op_work w = cost_kernel_work(m, op);
	e.arithmetic = cost_arithmetic_seconds(d, m, op, w);
	e.product = cost_is_product(op);
	e.bytes = w.bytes;
	e.roofline = cost_roofline(d, m, op, w);
	if (d->reached)
		e.reach = reach_op_of(d, m, op, w, reach_rows_of(cost_model_storage(model)));
	e.seconds = cost_plain_seconds(model, kind, m, op, &w, &e.measured);
	if (!a)
		return e;
	e.flops = w.flops;
	e.role = fuse_role(m, a, op);
	arena_reset(a);
	e.points = fmax(product_of(&e.role), e.elements);
	struct nest *nest = nest_create(NULL, m, a, op);
	e.alone = nest->op[0];
	talloc_free(nest);
	return e;
}

/* --- of a fuse --- */

/* Scalar constants are part of the text of a kernel. */
static bool
is_work(const struct ir_op *op)
{
	return !fuse_is_scalar(op) && !op_is(op, TRAIT_TERMINATOR);
}

/* Is operand j of an op the same as an earlier one? */
static bool
is_repeated(const struct ir_op *op, int j)
{
	for (int i = 0; i < j; i++)
		if (ir_operand(op, i) == ir_operand(op, j))
			return true;
	return false;
}

static bool
is_yielded(const struct ir_block *body, const struct ir_op *op)
{
	for (int i = 0; i < body->last->noperands; i++)
		if (ir_operand(body->last, i)->op == op)
			return true;
	return false;
}

static uint32_t
number_in(const struct ir_block *body, const struct ir_op *op)
{
	uint32_t n = 0;

	for (const struct ir_op *o = body->first; o != op; o = o->next)
		n += is_work(o);
	return n;
}

static enum reach_type
memory_type(const struct ir_type *t)
{
	return reach_memory_type((enum ir_dtype)t->dtype);
}

/* Counts the operands of its kernel that op is the first to read. */
static void
add_reached(
	struct estimate_kernel *k, const struct ir_module *m, const struct ir_op *op, bool *seen)
{
	for (int j = 0; j < op->noperands; j++) {
		const struct ir_value *v = ir_operand(op, j);
		if (v->op || seen[v->index])
			continue;
		seen[v->index] = true;
		k->bytes_of[memory_type(v->type)] += reach_read_bytes(
			&k->op[k->n]->reach, j, (double)ir_type_local_bytes(m, v->type));
	}
}

static void
add_reads(struct estimate_kernel *k, const struct ir_module *m, const struct ir_op *op)
{
	double outer = 0;
	uint32_t nreads = k->first[k->n];

	for (int j = 0; j < op->noperands; j++) {
		const struct ir_value *v = ir_operand(op, j);
		if (fuse_is_scalar(v->op) || is_repeated(op, j))
			continue;
		if (v->op)
			k->read[nreads++] = number_in(op->block, v->op);
		else
			outer += (double)ir_type_local_bytes(m, v->type);
	}
	k->outer[k->n] = outer;
	k->first[k->n + 1] = nreads;
}

static void
make_room(struct estimate_kernel *k, uint32_t n, uint32_t reads, bool features)
{
	k->op = NEW_ARRAY(k, const struct estimate_op *, n);
	k->out = NEW_ARRAY(k, bool, n);
	k->outer = NEW_ARRAY(k, double, n);
	k->first = NEW_ARRAY(k, uint32_t, n + 1);
	k->read = NEW_ARRAY(k, uint32_t, reads);
	if (!features)
		return;
	k->loops = NEW_ARRAY(k, const struct nest_op *, n);
	k->feature = NEW_ARRAY(k, float, (size_t)n *NETWORK_OP_FEATURES);
	k->code = NEW_ARRAY(k, uint16_t, n);
}

struct estimate_kernel *
estimate_kernel_of(const void *owner, const struct cost_model *model, uint32_t kind,
	const struct ir_module *m, const struct ir_op *fuse, bool features,
	const struct estimate_op *const *known)
{
	struct estimate_kernel *k = NEW(owner, struct estimate_kernel);
	struct arena *a = features ? arena_create(k) : NULL;
	uint32_t n = 0, reads = 0, at = 0;

	IR_FOR_OPS (op, fuse->body) {
		n++;
		reads += op->noperands;
	}
	make_room(k, n, reads, features);
	bool *seen = ZERO_ARRAY(k, bool, fuse->noperands + 1);
	struct estimate_op *e = known ? NULL : NEW_ARRAY(k, struct estimate_op, n);
	if (features)
		k->nest = nest_create(k, m, a, fuse);
	k->first[0] = 0;
	IR_FOR_OPS (op, fuse->body) {
		const uint32_t number = at++;
		if (!is_work(op))
			continue;
		if (features)
			k->loops[k->n] = &k->nest->op[number];
		if (!known)
			e[k->n] = estimate_op(model, kind, m, op, a);
		k->op[k->n] = known ? known[k->n] : &e[k->n];
		k->out[k->n] = is_yielded(fuse->body, op);
		add_reads(k, m, op);
		add_reached(k, m, op, seen);
		k->n++;
	}
	k->bytes = cost_fuse_bytes(m, fuse);
	for (int i = 0; i < fuse->nresults; i++)
		k->bytes_of[memory_type(fuse->result[i].type)] +=
			(double)ir_type_local_bytes(m, fuse->result[i].type);
	k->operands = fuse->noperands;
	talloc_free(a);
	return k;
}
