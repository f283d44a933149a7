/*
 * Puts choices into the module, op by op in order: operands are brought into the layouts that the
 * op's choice wants, then its results are typed anew. A change of layout is made once for all
 * readers that want it. Ops that sum or slice a value are placed right after the op that makes it,
 * ops that gather it right before its first reader. Where memory is short (parallel_plan.again) what
 * the forward pass gathers is gathered again for the backward pass, from a barrier, so that it is not
 * kept in between:
 *
 *     %0 = allgather(%w) {axis = x}         forward
 *     ...
 *     %b = barrier(%w)                      backward
 *     %1 = allgather(%b) {axis = x}
 *
 * and for ops in a loop over micro-batches in each iteration, {each = mb}, not once before the loop. So
 * is in any case what becomes known in the loop alone: what `shard` gathers in each iteration.
 *
 * Right because parallelization ops do not change the value of a tensor, and the verifier infers
 * every layout again.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/memory/issue.h"
#include "ir/ops/row.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/parallel/reshard.h"

struct changed {
	const struct ir_value *of;
	const struct ir_type *type;
	bool again; /* for the backward pass */
	struct ir_value *v;
};

struct apply {
	struct pass_run *run;
	const struct parallel_step *s;
	struct ir_module *m; /* that of the step, or a copy */
	struct ir_op **copy; /* by id of an op of the step: the corresponding op of the module */
	bool *forward;    /* by id of an op of the module: parallel_step.forward, or a param, ... */
	bool again, kept; /* gathers are made again; some result of one is kept, or would be */
	struct map map;
	struct VEC(struct changed) changed;
};

MAP_SAME(same_change, struct apply, struct changed,
	list->changed.at[i].of == key->of && list->changed.at[i].type == key->type &&
		list->changed.at[i].again == key->again)

/* A constant in another layout is made in that layout. */
static struct ir_value *
make_free(struct apply *a, struct ir_value *v, const struct ir_type *want)
{
	struct ir_op *copy = ir_op_clone(a->m, v->op, NULL);

	if (!ir_infer(a->m, copy, &want))
		return NULL;
	ir_insert_after(v->op, copy);
	return &copy->result[0];
}

/* Among the ops from `first` to before `end`, moves those up to the first gather right after the
 * value. */
static void
move_up(const struct ir_value *v, struct ir_op *first, const struct ir_op *end)
{
	struct ir_op *at = v->op;

	if (op_is(at, TRAIT_NAMED))
		return;
	while (first != end && first->code != OP_allgather) {
		struct ir_op *next = first->next;
		ir_op_unlink(first);
		ir_insert_after(at, first);
		at = first;
		first = next;
	}
}

/* The time axis in whose iterations v is laid out for the reader, which is in a loop over it, although
 * v is the same in all of them; -1: v is laid out before the loop, and kept during the whole loop. */
static int
repeating_axis(struct apply *a, const struct ir_value *v, const struct ir_type *want,
	const struct ir_op *reader)
{
	const uint32_t over = issue_op_axes(a->m, reader);

	if (!over || (over & (over - 1)) || issue_axes(a->m, v->type))
		return -1;
	const bool made_inside = issue_op_axes(a->m, v->op) == over,
		   grows = ir_type_local_bytes(a->m, want) > ir_type_local_bytes(a->m, v->type);
	a->kept |= grows && !made_inside;
	return made_inside || (grows && a->again) ? __builtin_ctz(over) : -1;
}

static void
repeat(struct apply *a, struct ir_op *first, const struct ir_op *end, int axis)
{
	const struct ir_attr each = ir_make_axis(a->m->ctx, "each", axis);

	for (struct ir_op *op = first; op != end && axis >= 0; op = op->next)
		if (row_attr_find(&a->m->ctx->row[op->code], "each"))
			ir_attr_set(a->m, op, &each);
}

static struct ir_value *
change(struct apply *a, struct ir_value *v, const struct ir_type *want, struct ir_op *reader,
	bool again)
{
	struct ir_builder b = {
		.m = a->m, .block = reader->block, .before = reader, .loc = v->op->loc};
	struct ir_op *before = reader->prev;

	if (parallel_is_free(v->op))
		return make_free(a, v, want);
	struct ir_value *r = reshard(&b, again ? ir_build_barrier(&b, &v, 1) : v, want);
	if (!r)
		return NULL;
	struct ir_op *first = before ? before->next : reader->block->first;
	for (const struct ir_op *op = first; op != reader && a->m == a->s->m; op = op->next)
		pass_count(a->run, op_name((enum op_code)op->code), 1);
	repeat(a, first, reader, repeating_axis(a, v, want, reader));
	if (!again)
		move_up(v, first, reader);
	return r;
}

static uint64_t
hash_change(const struct changed *c)
{
	return mix_word(mix_word(c->again, (uintptr_t)c->of), (uintptr_t)c->type);
}

/* Does an op of the backward pass read what the forward pass has gathered? */
static bool
is_kept(const struct apply *a, const struct ir_op *reader, const struct changed *key)
{
	return a->forward[key->of->op->id] && !a->forward[reader->id] &&
	       ir_type_local_bytes(a->m, key->type) > ir_type_local_bytes(a->m, key->of->type) &&
	       map_find(&a->map, hash_change(key), same_change, a, key) != MAP_NONE;
}

static bool fit(struct apply *a, struct ir_op *op, int k, const struct ir_type *want);

/* A value that is copied to the host gets its layout before the copy. */
static bool
fit_before(struct apply *a, const struct ir_op *reader, const struct ir_value *v,
	const struct ir_type *want)
{
	const int k = (int)v->index;

	if (v->op->noperands <= k || v->uses->next)
		return pass_bug(a->run, reader, "a value in host memory cannot be laid out anew");
	return fit(a, v->op, k,
		       ir_type_in(a->m->ctx, want,
			       (enum ir_memory)ir_operand_type(v->op, k)->memory)) &&
	       ir_infer(a->m, v->op, NULL);
}

/* Operand k in that layout. */
static bool
fit(struct apply *a, struct ir_op *op, int k, const struct ir_type *want)
{
	struct ir_value *v = ir_operand(op, k);

	if (v->type == want)
		return true;
	if (v->type->memory == IR_HOST)
		return fit_before(a, op, v, want);
	struct changed key = {v, want, false, NULL};
	if (is_kept(a, op, &key)) {
		a->kept = true;
		key.again = a->again;
	}
	const uint32_t i =
		map_add(a->run->scratch, &a->map, hash_change(&key), same_change, a, &key);
	if (i == a->changed.n) {
		key.v = change(a, v, want, op, key.again);
		if (!key.v)
			return pass_bug(a->run, op, "a layout that was chosen cannot be reached");
		VEC_PUSH(a->run->scratch, &a->changed, key);
	}
	ir_set_operand(op, k, a->changed.at[i].v);
	return true;
}

static bool
apply_choice(struct apply *a, struct ir_op *op, const struct parallel_choices *c, uint32_t x)
{
	const struct ir_type **written =
		ZERO_ARRAY(a->run->scratch, const struct ir_type *, op->nresults);

	for (int k = 0; k < op->noperands; k++)
		if (!fit(a, op, k, c->operand[k].type[c->operand[k].line[x]]))
			return false;
	for (int r = 0; r < op->nresults; r++)
		written[r] = c->result[r].type[c->result[r].line[x]];
	return ir_infer(a->m, op, op->nresults ? written : NULL);
}

/* `from`: the op of the step that is `op`, or of which `op` is a copy. */
static bool
apply_op(struct apply *a, struct ir_op *op, const struct ir_op *from, const uint16_t *choice)
{
	const uint32_t node = a->s->node[from->id];
	const struct ir_op *trained = a->s->trained[from->id];

	if (node != PARALLEL_NONE)
		return apply_choice(a, op, parallel_step_choices(a->s, node), choice[node]);
	if (op->code == OP_update)
		return fit(a, op, 1,
			ir_type_in(a->m->ctx, ir_operand_type(op, 0),
				(enum ir_memory)ir_operand_type(op, 1)->memory));
	if (trained)
		return fit(a, op, 0, gradient_type(a->m, a->copy[trained->id]->result[0].type));
	return parallel_is_free(op) || ir_infer(a->m, op, NULL);
}

/* Where memory is short, messages in flight hold at most this share of the budget: 2 GB of 80 GB, as
 * `prefetch` has it, which is some layers of a large model. */
static const double in_flight_share = 0.025;

bool
parallel_apply(
	struct pass_run *run, const struct parallel_plan *plan, struct ir_module *m, bool *kept)
{
	const struct parallel_step *s = plan->s;
	struct apply a = {.run = run, .s = s, .m = m, .again = plan->again};
	struct VEC(struct ir_op *) ops = {0};
	struct VEC(const struct ir_op *) from = {0};

	a.copy = ARRAY_ZERO(run->scratch, struct ir_op *, s->m->op_ids);
	a.forward = ARRAY_ZERO(run->scratch, bool, m->op_ids);
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		VEC_PUSH(run->scratch, &ops, op);
	IR_FOR_OPS (op, &ir_func_find(s->m, "main")->body) {
		a.copy[op->id] = ops.at[from.n];
		a.forward[ops.at[from.n]->id] = s->forward[op->id] || op_is(op, TRAIT_NAMED);
		VEC_PUSH(run->scratch, &from, op);
	}
	for (int64_t i = 0; i < ops.n; i++)
		if (!apply_op(&a, ops.at[i], from.at[i], plan->found.choice))
			return false;
	for (int64_t i = 0; i < ops.n; i++)
		if (parallel_is_free(ops.at[i]) && !ops.at[i]->result[0].uses)
			ir_op_erase(ops.at[i]);
	if (plan->again)
		parallel_await(run->scratch, m, in_flight_share * (double)pass_budget(run));
	if (kept)
		*kept = a.kept;
	return true;
}
