/* Converts ops to a fuse, and a fuse to ops. */
#include "ir/base/alloc.h"
#include "ir/ops/form.h"
#include "ir/ops/row.h"
#include "passes/fuse/fuse.h"
#include "passes/fuse/role.h"

#include <assert.h>
#include <talloc.h>

struct maker {
	struct ir_module *m;
	struct ir_op *const *op;
	struct ir_op **copy; /* [n] of op[i]; NULL: not yet made */
	struct ir_value **in;
	uint32_t n, nin;
	struct ir_op *fuse;
};

/* Index of the op that computes the value; n: none. */
static uint32_t
find_op(const struct maker *k, const struct ir_value *v)
{
	uint32_t i = 0;

	while (i < k->n && k->op[i] != v->op)
		i++;
	return i;
}

static uint32_t
find_operand(const struct maker *k, const struct ir_value *v)
{
	uint32_t i = 0;

	while (i < k->nin && k->in[i] != v)
		i++;
	return i;
}

static void
collect_operands(struct maker *k)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < k->n; i++)
		most += k->op[i]->noperands;
	k->in = NEW_ARRAY(k->copy, struct ir_value *, most + 1);
	for (uint32_t i = 0; i < k->n; i++)
		for (int j = 0; j < k->op[i]->noperands; j++) {
			struct ir_value *v = ir_operand(k->op[i], j);
			if (fuse_is_scalar(v->op) || find_op(k, v) < k->n)
				continue;
			const uint32_t at = find_operand(k, v);
			k->in[at] = v;
			k->nin += at == k->nin;
		}
}

/* The kernel's own copy of a scalar constant, made before the first op that reads it. */
static struct ir_value *
own_constant(struct maker *k, const struct ir_value *v)
{
	IR_FOR_OPS (op, k->fuse->body)
		if (fuse_is_scalar(op) && op->result[0].type == v->type &&
			ir_attr_equal(&op->attr[0], &v->op->attr[0]))
			return &op->result[0];
	struct ir_op *copy = ir_op_clone(k->m, v->op, NULL);
	ir_block_append(k->fuse->body, copy);
	return &copy->result[0];
}

static struct ir_value *
inside(struct maker *k, const struct ir_value *v)
{
	const uint32_t at = find_op(k, v);

	if (at < k->n) {
		assert(k->copy[at] && "ops in an order in which each is made before it is read");
		return &k->copy[at]->result[v->index];
	}
	return fuse_is_scalar(v->op) ? own_constant(k, v) : &k->fuse->body->arg[find_operand(k, v)];
}

static void
copy_op(struct maker *k, uint32_t i)
{
	const struct ir_op *op = k->op[i];
	struct ir_value **v = NEW_ARRAY(k->copy, struct ir_value *, op->noperands + 1u);

	for (int j = 0; j < op->noperands; j++)
		v[j] = inside(k, ir_operand(op, j));
	k->copy[i] = ir_op_clone(k->m, op, v);
	ir_block_append(k->fuse->body, k->copy[i]);
}

/* Adds results in the order of the caller's ops. */
static void
add_results(struct maker *k, struct ir_op *const *op, const bool *out)
{
	struct ir_value **v = NEW_ARRAY(k->copy, struct ir_value *, k->n);
	int nout = 0;

	for (uint32_t i = 0; i < k->n; i++) {
		if (!out[i])
			continue;
		const struct ir_value *from = &op[i]->result[0];
		k->fuse->result[nout].type = from->type;
		k->fuse->result[nout].name = from->name;
		v[nout++] = &k->copy[find_op(k, from)]->result[0];
	}
	ir_block_append(
		k->fuse->body, ir_op_create(k->m, OP_yield, k->fuse->loc, v, nout, NULL, 0, 0));
}

/* A product sums, and has two operands: a test without the form that most ops fail. */
static bool
may_start(const struct ir_module *m, const struct ir_op *op)
{
	const struct pattern *p = op_row(m->ctx, op)->pattern;

	return op->noperands > 1 && !(p && p->reduce == REDUCE_NONE);
}

static uint32_t
look_for_product(struct ir_module *m, struct ir_op *const *op, uint32_t n)
{
	struct arena *a = arena_create(NULL);
	uint32_t product = 0;

	while (product < n &&
		(!may_start(m, op[product]) || fuse_role(m, a, op[product]).kind != FUSE_STARTS)) {
		arena_reset(a);
		product++;
	}
	talloc_free(a);
	return product;
}

/* The ops with their product first: it starts the kernel, and reads none of them. */
static struct ir_op **
product_first(struct ir_op *const *op, uint32_t n, uint32_t product)
{
	struct ir_op **list = NEW_ARRAY(NULL, struct ir_op *, n + 1u);

	for (uint32_t i = 0; i < n; i++)
		list[i] = i == 0 && product < n ? op[product]
						: op[i <= product && product < n ? i - 1 : i];
	return list;
}

struct ir_op *
fuse_make(
	struct ir_module *m, struct ir_op *const *op, uint32_t n, const bool *out, uint32_t product)
{
	if (product == FUSE_LOOK)
		product = look_for_product(m, op, n);
	struct ir_op **list = product_first(op, n, product);
	struct maker k = {.m = m, .op = list, .n = n};
	int nout = 0;

	for (uint32_t i = 0; i < n; i++) {
		assert(op[i]->nresults == 1 && !op[i]->body);
		nout += out[i];
	}
	assert(nout);
	k.copy = ZERO_ARRAY(list, struct ir_op *, n);
	collect_operands(&k);
	k.fuse = ir_op_create(m, OP_fuse, op[n - 1]->loc, k.in, (int)k.nin, NULL, 0, nout);
	ir_op_make_body(m, k.fuse);
	k.fuse->body->func = op[0]->block ? op[0]->block->func : NULL;
	for (uint32_t i = 0; i < n; i++)
		copy_op(&k, i);
	add_results(&k, op, out);
	talloc_free(list);
	return k.fuse;
}

/* Redirects all uses of the results of the fuse to the yielded values. */
static void
hand_results_out(struct ir_op *fuse)
{
	const struct ir_op *yield = fuse->body->last;

	for (int r = 0; r < fuse->nresults; r++) {
		struct ir_value *v = ir_operand(yield, r), *result = &fuse->result[r];
		if (v->op && result->name)
			v->name = result->name;
		ir_replace_uses(result, v->op ? v : ir_operand(fuse, (int)v->index));
	}
}

uint32_t
fuse_undo(struct ir_module *m, struct ir_op *fuse)
{
	uint32_t n = 0;

	(void)m;
	assert(fuse->code == OP_fuse);
	hand_results_out(fuse);
	ir_op_erase(fuse->body->last);
	for (uint32_t i = 0; i < fuse->body->nargs; i++)
		ir_replace_uses(&fuse->body->arg[i], ir_operand(fuse, (int)i));
	IR_FOR_OPS_SAFE (op, fuse->body) {
		ir_op_unlink(op);
		ir_insert_before(fuse, op);
		n++;
	}
	ir_op_erase(fuse);
	return n;
}
