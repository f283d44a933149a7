/* The policies of parallelize: what engineers would do by hand, as the same problem with the
 * layouts of inputs and params fixed. */
#include "ir/base/alloc.h"
#include "passes/parallel/parallelize/parallelize.h"

const char *
parallel_policy_name(enum parallel_policy policy)
{
	static const char *const name[PARALLEL_NPOLICIES] = {[PARALLEL_BEST] = "the sum",
		[PARALLEL_DATA] = "data parallelism",
		[PARALLEL_SHARDED] = "fully sharded",
		[PARALLEL_MEGATRON] = "megatron",
		[PARALLEL_DLRM] = "dlrm"};

	return name[policy];
}

/* The role of an op for a policy. */
enum role {
	OTHER,   /* an input, a param or a state */
	TABLE,   /* a param of embeddings: its rows are gathered */
	INDICES, /* an input that selects the rows */
	READER,  /* products of the step depend on it, and it reads values that need no input */
	EARLY,   /* depends on no input: a converted param */
	NROLES,
};

/* Is the value, possibly through ops that keep its elements, that operand of a gather? */
static bool
feeds_gather(const struct ir_value *v, int operand)
{
	IR_FOR_USES (u, v)
		for (int k = 0; k < u->op->noperands; k++)
			if (ir_operand(u->op, k) == v &&
				((u->op->code == OP_gather && k == operand) ||
					(u->op->code == OP_convert &&
						feeds_gather(&u->op->result[0], operand))))
				return true;
	return false;
}

static enum role
role_of(const struct ir_op *op)
{
	if (op->code == OP_param && feeds_gather(&op->result[0], 0))
		return TABLE;
	return op->code == OP_input && feeds_gather(&op->result[0], 1) ? INDICES : OTHER;
}

static bool
splits_batch(const struct ir_op *op, struct ir_state state)
{
	return op->code == OP_input ? state.kind == IR_SPLIT && state.dim == 0
				    : state.kind == IR_COPIED;
}

/*
 * Is the layout on one axis what the policy says? Data parallelism splits the batch and copies
 * params; fully sharded, params and states are split instead, and gathered by their readers
 * (ZeRO-3, FSDP). Megatron is data parallelism on the first axis of several, and on the others it
 * splits matrices and no input. dlrm does so except for tables of embeddings, which it splits over
 * all axes, while their indices and all states have any layout.
 */
static bool
agrees(enum parallel_policy policy, const struct ir_op *op, enum role role, const struct ir_type *t,
	struct ir_state state, bool first)
{
	switch (policy) {
	case PARALLEL_SHARDED:
		if (op->code != OP_input)
			return state.kind == IR_SPLIT;
		break;
	case PARALLEL_MEGATRON:
		if (first)
			break;
		if (op->code == OP_input)
			return state.kind == IR_COPIED;
		return op->code != OP_param || t->rank < 2 || state.kind == IR_SPLIT;
	case PARALLEL_DLRM:
		if (role == INDICES || op->code == OP_state)
			return true;
		if (role == TABLE)
			return state.kind == IR_SPLIT;
		break;
	default: break;
	}
	return splits_batch(op, state);
}

/* Has every operand that depends on params alone been gathered on that axis? */
static bool
gathers(const struct parallel_step *s, const struct parallel_choices *c, uint32_t x, int axis)
{
	for (uint32_t k = 0; k < c->noperands; k++) {
		const struct ir_op *from = parallel_made(ir_operand(c->op, (int)k))->op;
		if (s->early[from->id] &&
			c->operand[k].type[c->operand[k].line[x]]->axis[axis].kind != IR_COPIED)
			return false;
	}
	return true;
}

/* Excludes all choices but those that agree with the policy on the largest number of axes. */
static const double *
pinned_costs(const void *owner, const struct parallel_step *s, enum parallel_policy policy,
	enum role role, const struct parallel_choices *c)
{
	double *cost = COPY_ARRAY(owner, double, c->seconds, c->n);
	int most = 0;

	for (int turn = 0; turn < 2; turn++)
		for (uint32_t x = 0; x < c->n; x++) {
			int n = 0;
			for (int i = 0; i < s->axes.n; i++) {
				const int axis = s->axes.axis[i];
				const struct ir_type *t = c->result[0].type[c->result[0].line[x]];
				n += role == READER ? gathers(s, c, x, axis)
						    : agrees(policy, c->op, role, t, t->axis[axis],
							      i == 0 && s->axes.n > 1);
			}
			most = n > most ? n : most;
			if (turn && n < most)
				cost[x] = SPLIT_NEVER;
		}
	return cost;
}

/* NROLES: the policy does not restrict it. */
static enum role
role_in(const struct parallel_step *s, enum parallel_policy policy, const struct ir_op *op)
{
	if (op_is(op, TRAIT_NAMED))
		return op->nresults ? role_of(op) : NROLES;
	if (policy != PARALLEL_SHARDED || s->late[op->id])
		return NROLES;
	return s->early[op->id] ? EARLY : READER;
}

struct split_problem
parallel_policy_problem(
	const void *owner, const struct parallel_step *s, enum parallel_policy policy)
{
	struct split_problem p = s->problem;
	struct split_node *node = ARRAY_NEW(owner, struct split_node, p.nnodes);
	const double **pinned = ARRAY_ZERO(owner, const double *, (size_t)s->alike->n *NROLES);

	for (uint32_t i = 0; i < p.nnodes; i++) {
		const struct ir_op *op = s->op.at[i];
		const struct parallel_choices *c = parallel_step_choices(s, i);
		node[i] = (struct split_node){c->n, c->seconds};
		const enum role role = role_in(s, policy, op);
		if (role == NROLES)
			continue;
		const double **cost = &pinned[s->alike->number[op->id] * NROLES + role];
		if (!*cost)
			*cost = pinned_costs(owner, s, policy, role, c);
		node[i].cost = *cost;
	}
	p.node = node;
	return p;
}
