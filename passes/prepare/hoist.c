/*
 * hoist: computes before a while what its body computes alike in every iteration: products,
 * transposes, gathers and other ops of carried values that the body yields as they are.
 *
 *     while(%x = %a, %w = %b) {              %p = transpose(%b)
 *       %t = transpose(%w)              ->   while(%x = %a, %w = %b, %t = %p) {
 *       %y = matmul(%x, %t)                    %y = matmul(%x, %t)
 *       yield(%c, %y, %w)                      yield(%c, %y, %w, %t)
 *
 * It is correct because such ops are pure; a body that does not run at all computes them in vain.
 * What only repeats elements, as a constant or a broadcast does, stays, as carrying it costs memory
 * and saves little; of a chain, the last value alone is carried. A loop within a loop comes first,
 * so that its values can leave both.
 */
#include "ir/base/alloc.h"
#include "ir/numbering.h"
#include "passes/pass.h"

#include <string.h>
#include <talloc.h>

struct hoist {
	struct pass_run *run;
	struct ir_module *m;
	struct ir_op *loop;
	struct ir_numbering *number; /* of the ops of its body */
	struct ir_value **outside;   /* [number->n]: the value before the loop; NULL: it stays */
};

/* The value that v has before the loop, in every iteration; NULL: none. */
static struct ir_value *
outside_of(const struct hoist *h, const struct ir_value *v)
{
	const struct ir_block *body = h->loop->body;

	if (v->op)
		return h->outside[ir_number(h->number, v->op)];
	return ir_operand(body->last, (int)v->index) == v ? ir_operand(h->loop, (int)v->index)
							  : NULL;
}

/* Is the value cheaper to compute again than to carry: made of nothing, or copies of elements? */
static bool
only_repeats(const struct ir_op *op)
{
	return !op->noperands || op->code == OP_broadcast || op->code == OP_reshape;
}

/* Infers the type of a copy on the devices of the loop. */
static bool
infer_outside(const struct hoist *h, const struct ir_op *op, struct ir_op *copy)
{
	struct ir_type where = *ir_operand_type(h->loop, 0), type = *op->result[0].type;

	memcpy(type.axis, where.axis, sizeof type.axis);
	const struct ir_type *written = ir_type_intern(h->m->ctx, &type);
	return ir_infer(h->m, copy, op_is(op, TRAIT_WRITTEN) ? &written : NULL);
}

/* Copies the op to before the loop, if it computes the same in every iteration. */
static void
copy_outside(struct hoist *h, uint32_t i)
{
	const struct ir_op *op = h->number->op[i];

	if (!op_is(op, TRAIT_PURE) || op->body || op->nresults != 1)
		return;
	struct ir_value **operand = ARRAY_NEW(NULL, struct ir_value *, op->noperands);
	bool same = true;
	for (int k = 0; k < op->noperands && same; k++)
		same = (operand[k] = outside_of(h, ir_operand(op, k)));
	if (same) {
		struct ir_op *copy = ir_op_clone(h->m, op, operand);
		ir_insert_before(h->loop, copy);
		if (infer_outside(h, op, copy))
			h->outside[i] = &copy->result[0];
		else
			ir_op_erase(copy);
	}
	array_free(operand);
}

/* Is the value read by an op that stays in the loop? */
static bool
is_read_inside(const struct hoist *h, const struct ir_value *v)
{
	IR_FOR_USES (u, v)
		if (!h->outside[ir_number(h->number, u->op)])
			return true;
	return false;
}

/* The loop, with n more carried values: `inside` of the body as `before` the loop. */
static void
carry(struct hoist *h, struct ir_value **inside, struct ir_value **before, int n)
{
	struct ir_op *loop = h->loop, *yield = loop->body->last;
	struct ir_block *body = loop->body;
	const int had = loop->noperands;
	struct ir_value **in = NEW_ARRAY(h->run->scratch, struct ir_value *, (unsigned)(had + n)),
			**out = NEW_ARRAY(h->run->scratch, struct ir_value *, (unsigned)(had + n)),
			*arg = ir_block_args(h->m, body, (uint32_t)(had + n));

	for (int i = 0; i < had + n; i++) {
		in[i] = i < had ? ir_operand(loop, i) : before[i - had];
		if (i < had) {
			arg[i] = body->arg[i];
			arg[i].uses = NULL;
			ir_replace_uses(&body->arg[i], &arg[i]);
		} else {
			arg[i].id = h->m->value_ids++;
			arg[i].type = inside[i - had]->type;
			arg[i].name = inside[i - had]->name;
			ir_replace_uses(inside[i - had], &arg[i]);
		}
	}
	for (int i = 0; i < had + n; i++) /* once all uses are replaced */
		out[i] = i < had ? ir_operand(yield, i) : &arg[i];
	body->arg = arg;
	body->nargs = (uint32_t)(had + n);
	ir_set_operands(h->m, yield, out, had + n);
	struct ir_op *to = ir_op_create(
		h->m, OP_while, loop->loc, in, had + n, loop->attr, loop->nattrs, had + n);
	to->body = body;
	body->parent = to;
	ir_insert_before(loop, to);
	for (int i = 0; i < had + n; i++) {
		to->result[i].type = in[i]->type;
		if (i >= had)
			continue;
		to->result[i].type = loop->result[i].type;
		to->result[i].name = loop->result[i].name;
		ir_replace_uses(&loop->result[i], &to->result[i]);
	}
	loop->body = NULL;
	ir_op_erase(loop);
	talloc_free(in);
	talloc_free(out);
}

static void hoist_block(struct pass_run *run, struct ir_module *m, struct ir_block *b);

static void
hoist_loop(struct pass_run *run, struct ir_module *m, struct ir_op *loop)
{
	struct hoist h = {.run = run, .m = m, .loop = loop};
	int n = 0;

	hoist_block(run, m, loop->body);
	h.number = ir_numbering_create(run->scratch, m, loop->body);
	const uint32_t nops = h.number->n;
	struct ir_value **inside = NEW_ARRAY(run->scratch, struct ir_value *, nops),
			**before = NEW_ARRAY(run->scratch, struct ir_value *, nops);
	h.outside = ZERO_ARRAY(run->scratch, struct ir_value *, nops);
	for (uint32_t i = 0; i < nops; i++)
		copy_outside(&h, i);
	for (uint32_t i = nops; i-- > 0;) { /* what stays makes its operands be carried */
		struct ir_op *op = h.number->op[i];
		struct ir_value *copy = h.outside[i];
		if (!copy)
			continue;
		const bool read = is_read_inside(&h, &op->result[0]);
		if (read && only_repeats(op)) {
			h.outside[i] = NULL;
		} else if (read) {
			inside[n] = &op->result[0];
			before[n++] = copy;
		}
		if (!copy->uses && !(read && h.outside[i]))
			ir_op_erase(copy->op);
		else if (h.outside[i])
			pass_count(run, "op(s) moved before a loop", 1);
	}
	if (n)
		carry(&h, inside, before, n);
	for (uint32_t i = nops; i-- > 0;) {
		struct ir_op *op = h.number->op[i];
		if (h.outside[i])
			ir_op_erase(op);
	}
	talloc_free(h.number);
	talloc_free(h.outside);
	talloc_free(inside);
	talloc_free(before);
}

static void
hoist_block(struct pass_run *run, struct ir_module *m, struct ir_block *b)
{
	struct ir_op *next;

	for (struct ir_op *op = b->first; op; op = next) {
		next = op->next;
		if (op->code == OP_while)
			hoist_loop(run, m, op);
	}
}

static bool
hoist_run(struct pass_run *run, struct ir_module *m)
{
	struct ir_func *f = ir_func_find(m, "main");

	if (f)
		hoist_block(run, m, &f->body);
	return true;
}

const struct pass pass_hoist = {
	.name = "hoist",
	.family = "prepare",
	.summary =
		"loop-invariant code motion: move what is the same in every iteration of a while in front of it",
	.run = hoist_run,
	.keeps_bits = true,
};
