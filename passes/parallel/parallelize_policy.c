/* The policies of parallelize: what people would do, as the same problem with the layouts of inputs and params held. */
#include "ir/base/alloc.h"
#include "passes/parallel/parallelize.h"

const char *
parallel_policy_name(enum parallel_policy policy)
{
	static const char *const name[PARALLEL_NPOLICIES] = {[PARALLEL_BEST] = "the sum",
		[PARALLEL_DATA] = "data parallelism",
		[PARALLEL_MEGATRON] = "megatron"};

	return name[policy];
}

/* On how many axes a layout of an input or a param is what the policy says: data parallelism splits the batch and
 * copies params; megatron does so on the first axis of several, and on the others splits matrices and no input. */
static int
agreement(const struct parallel_step *s, enum parallel_policy policy, const struct ir_op *op,
	const struct ir_type *t)
{
	const bool matrix = op->code == OP_param && t->rank > 1;
	int n = 0;

	for (int i = 0; i < s->axes.n; i++) {
		const struct ir_state state = t->axis[s->axes.axis[i]];
		if (policy == PARALLEL_MEGATRON && (i > 0 || s->axes.n == 1))
			n += op->code == OP_input ? state.kind == IR_COPIED
						  : !matrix || state.kind == IR_SPLIT;
		else
			n += op->code == OP_input ? state.kind == IR_SPLIT && state.dim == 0
						  : state.kind == IR_COPIED;
	}
	return n;
}

/* Costs of the choices with all but those excluded that agree most with the policy. */
static const double *
pinned_costs(const void *owner, const struct parallel_step *s, enum parallel_policy policy,
	const struct parallel_choices *c)
{
	double *cost = COPY_ARRAY(owner, double, c->seconds, c->n);
	int most = 0;

	for (int turn = 0; turn < 2; turn++)
		for (uint32_t x = 0; x < c->n; x++) {
			const int n = agreement(
				s, policy, c->op, c->result[0].type[c->result[0].line[x]]);
			most = n > most ? n : most;
			if (turn && n < most)
				cost[x] = SPLIT_NEVER;
		}
	return cost;
}

struct split_problem
parallel_policy_problem(
	const void *owner, const struct parallel_step *s, enum parallel_policy policy)
{
	struct split_problem p = s->problem;
	struct split_node *node = ARRAY_NEW(owner, struct split_node, p.nnodes);
	const double **pinned = ARRAY_ZERO(owner, const double *, s->alike->n);

	for (uint32_t i = 0; i < p.nnodes; i++) {
		const struct parallel_choices *c = parallel_step_choices(s, i);
		const double **cost = &pinned[s->alike->number[s->op.at[i]->id]];
		if (op_is(c->op, TRAIT_NAMED) && c->nresults && !*cost)
			*cost = pinned_costs(owner, s, policy, c);
		node[i] = (struct split_node){c->n, *cost ? *cost : c->seconds};
	}
	p.node = node;
	return p;
}
