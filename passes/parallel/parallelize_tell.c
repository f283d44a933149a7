/* What parallelize says of the choices that it has made, and of those that it has not. */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/internal.h"
#include "passes/parallel/parallelize.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* "f32[64/dp,512], f32[512,8/tp] -> f32[64/dp,8/tp]" */
static char *
layouts_text(const struct pass_run *run, const struct ir_module *m,
	const struct parallel_choices *c, uint32_t x)
{
	char *text = text_copy(run->scratch, "");

	for (uint32_t k = 0; k < c->noperands; k++)
		text = text_append(text, "%s%s", k ? ", " : "",
			ir_type_text(run->scratch, m, c->operand[k].type[c->operand[k].line[x]]));
	for (uint32_t r = 0; r < c->nresults; r++)
		text = text_append(text, "%s%s",
			r              ? ", "
			: c->noperands ? " -> "
				       : "",
			ir_type_text(run->scratch, m, c->result[r].type[c->result[r].line[x]]));
	return text;
}

void
parallel_tell_choices(struct pass_run *run, const struct parallel_step *s, const uint16_t *choice)
{
	const uint32_t nodes = s->problem.nnodes;
	uint32_t **count = ARRAY_ZERO(run->scratch, uint32_t *, s->alike->n);

	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t **n = &count[s->alike->number[s->op.at[i]->id]];
		if (!*n)
			*n = ARRAY_ZERO(run->scratch, uint32_t, s->problem.node[i].n);
		(*n)[choice[i]]++;
	}
	for (uint32_t i = 0; i < nodes; i++) {
		const struct ir_op *op = s->op.at[i];
		uint32_t *n = &count[s->alike->number[op->id]][choice[i]];
		if (!*n || !(op_is(op, TRAIT_NAMED) ? op->nresults : cost_is_product(op)))
			continue;
		pass_remark(run, op, PASS_APPLIED, "%s: %s",
			op_is(op, TRAIT_NAMED)
				? TEXT(run->scratch, "%s \"%s\"%s", op_name((enum op_code)op->code),
					  op->symbol,
					  *n > 1 ? TEXT(run->scratch, " and %" PRIu32 " alike",
							   *n - 1)
						 : "")
				: number_noun(run->scratch, *n,
					  TEXT(run->scratch, "%s op(s)",
						  op_name((enum op_code)op->code))),
			layouts_text(run, s->m, parallel_step_choices(s, i), choice[i]));
		*n = 0;
	}
}

/* --- why one choice --------------------------------------------------------------------------- */

/* Alternatives that are told, the cheapest. */
enum { MOST_TOLD = 5 };

struct alternative {
	uint32_t choice;
	double kernel, messages, bytes;
	double more; /* seconds that the plan costs more with it, where others follow */
};

/* With and without the % of values. */
static uint32_t
find_named(const struct parallel_step *s, const char *name)
{
	const char *value = name + (*name == '%');

	for (uint32_t i = 0; i < s->problem.nnodes; i++) {
		const struct ir_op *op = s->op.at[i];
		if (op->symbol && !strcmp(op->symbol, name) && op->nresults)
			return i;
		for (int r = 0; r < op->nresults; r++)
			if (op->result[r].name && !strcmp(op->result[r].name, value))
				return i;
	}
	return PARALLEL_NONE;
}

/* What the node costs with choice x, the others as they are; then what the whole plan costs more, where all others
 * descend from what they are. */
static struct alternative
weigh_choice(const void *owner, const struct parallel_step *s, const uint16_t *choice,
	uint32_t node, uint32_t x)
{
	struct split_problem p = s->problem;
	struct split_node *nodes = COPY_ARRAY(owner, struct split_node, p.node, p.nnodes);
	double *only = ARRAY_NEW(owner, double, p.node[node].n);
	uint16_t *other = COPY_ARRAY(owner, uint16_t, choice, p.nnodes);
	struct alternative a = {x, p.node[node].cost[x], 0, s->bytes[node][x], 0};

	for (uint32_t e = 0; e < p.nedges; e++) {
		const struct split_edge *d = &p.edge[e];
		if (d->end[0] != node && d->end[1] != node)
			continue;
		const uint32_t row = d->line[0][d->end[0] == node ? x : choice[d->end[0]]],
			       column = d->line[1][d->end[1] == node ? x : choice[d->end[1]]];
		a.messages += d->table->cost[row * d->table->columns + column];
	}
	for (uint32_t y = 0; y < p.node[node].n; y++)
		only[y] = y == x ? p.node[node].cost[y] : p.node[node].cost[y] + SPLIT_NEVER;
	nodes[node].cost = only;
	other[node] = (uint16_t)x;
	p.node = nodes;
	split_descend(&p, other);
	a.more = split_cost(&s->problem, other) - split_cost(&s->problem, choice);
	return a;
}

static int
by_seconds(const void *a, const void *b)
{
	const struct alternative *x = a, *y = b;
	const double cost = x->kernel + x->messages, other = y->kernel + y->messages;

	if (cost != other)
		return cost < other ? -1 : 1;
	return x->choice < y->choice ? -1 : x->choice > y->choice;
}

static void
tell_alternative(struct pass_run *run, const struct parallel_step *s, uint32_t node,
	const struct alternative *a, bool taken)
{
	char kernel[NUMBER_TEXT], messages[NUMBER_TEXT], bytes[NUMBER_TEXT], more[NUMBER_TEXT];

	pass_remark(run, s->op.at[node], PASS_APPLIED,
		"%s %s: kernel %s, messages around it %s, %s kept%s", taken ? "taken:" : "instead",
		layouts_text(run, s->m, parallel_step_choices(s, node), a->choice),
		number_seconds(kernel, a->kernel), number_seconds(messages, a->messages),
		number_bytes(bytes, a->bytes),
		taken ? ""
		      : TEXT(run->scratch, "; the plan takes %s %s where others follow",
				number_seconds(more, fabs(a->more)),
				a->more < 0 ? "less" : "more"));
}

bool
parallel_explain(struct pass_run *run, const struct parallel_step *s, const uint16_t *choice,
	const char *name)
{
	const uint32_t node = find_named(s, name);

	if (node == PARALLEL_NONE) {
		diag_error(run->ctx->diag, pass_option_loc(run, "explain"),
			"parallelize: no param, state, input or value '%s' is laid out", name);
		return false;
	}
	const struct split_node *n = &s->problem.node[node];
	struct VEC(struct alternative) all = {0};
	for (uint32_t x = 0; x < n->n; x++) {
		const struct alternative a = weigh_choice(run->scratch, s, choice, node, x);
		if (x == choice[node])
			tell_alternative(run, s, node, &a, true);
		else if (a.kernel + a.messages < SPLIT_NEVER)
			VEC_PUSH(run->scratch, &all, a);
	}
	if (all.n)
		qsort(all.at, (size_t)all.n, sizeof *all.at, by_seconds);
	for (int64_t i = 0; i < all.n && i < MOST_TOLD; i++)
		tell_alternative(run, s, node, &all.at[i], false);
	return true;
}
