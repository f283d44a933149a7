/*
 * -explain: why an op or a param is split as it is. The layout in the plan is listed with the
 * alternatives, each with the best plan found when it is fixed:
 *
 *     parallelize: param "h*.wq", 32 alike
 *     f32[4096,4096/card]        1.66ms   chosen     kernels 91us, messages 26us   8.4MB
 *     f32[4096,4096]             2.39ms   +730us     kernels 91us, messages 750us  67MB
 *
 * "kernels" are those of the op, "messages" those between it and its neighbours in that plan; for a
 * param also the gathers of its readers and the sums of its gradient.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/base/number.h"
#include "ir/base/suggest.h"
#include "ir/names.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/parallel/split/within.h"

#include <fnmatch.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	EXPLAIN_KINDS = 10,   /* ops that a name may match: further ones are not considered */
	EXPLAIN_LAYOUTS = 40, /* layouts of one kind: each needs a search */
};

/* Nodes that match a name and are alike. */
struct matched {
	const char *name;
	uint32_t *node, n;
};

/* A layout of the first result, or of the only operand of an op without results, and the plan with
 * it. */
struct alternative {
	const struct ir_type *type;
	uint32_t line;
	struct split_solution found;
	double kernels, messages, bytes;
	bool chosen;
};

/* "up" of a param, an input, a state; "%h" */
static char *
name_of(const void *owner, const struct names *names, const struct ir_op *op)
{
	return op->symbol     ? text_copy(owner, op->symbol)
	       : op->nresults ? names_text(owner, names, &op->result[0])
			      : text_copy(owner, "");
}

static const struct parallel_lines *
lines_of(const struct parallel_choices *c)
{
	return c->nresults ? &c->result[0] : c->noperands ? &c->operand[0] : NULL;
}

/* The problem with these nodes fixed to that layout. */
static struct split_problem
hold(const void *owner, const struct parallel_step *s, const struct matched *m, uint32_t line)
{
	struct split_problem p = s->problem;
	struct split_node *node = COPY_ARRAY(owner, struct split_node, p.node, p.nnodes);
	const struct parallel_choices *c = parallel_step_choices(s, m->node[0]);
	double *cost = COPY_ARRAY(owner, double, c->seconds, c->n);

	for (uint32_t x = 0; x < c->n; x++)
		if (lines_of(c)->line[x] != line)
			cost[x] = SPLIT_NEVER;
	for (uint32_t i = 0; i < m->n; i++)
		node[m->node[i]].cost = cost;
	p.node = node;
	return p;
}

/* The cost of the plan at these nodes. */
static void
count_costs(const struct parallel_step *s, const struct matched *m, struct alternative *a)
{
	const struct split_problem *p = &s->problem;
	bool *held = ARRAY_ZERO(s, bool, p->nnodes);

	for (uint32_t i = 0; i < m->n; i++) {
		const uint32_t node = m->node[i];
		held[node] = true;
		a->kernels += p->node[node].cost[a->found.choice[node]];
		a->bytes += s->bytes[node] ? s->bytes[node][a->found.choice[node]] : 0;
	}
	for (uint32_t e = 0; e < p->nedges; e++) {
		const struct split_edge *edge = &p->edge[e];
		if (held[edge->end[0]] || held[edge->end[1]])
			a->messages += split_edge_cost(
				edge, a->found.choice[edge->end[0]], a->found.choice[edge->end[1]]);
	}
	array_free(held);
}

ORDER_BY(by_cost, struct alternative, UP(found.cost), UP(line))

static void
print_alternative(FILE *out, const struct parallel_step *s, const struct parallel_plan *plan,
	const struct alternative *a, int width)
{
	char cost[NUMBER_TEXT], more[NUMBER_TEXT], kernels[NUMBER_TEXT], messages[NUMBER_TEXT],
		bytes[NUMBER_TEXT], change[NUMBER_TEXT + 1];
	const double by = a->found.cost - plan->found.cost;
	char *type = ir_type_text(NULL, s->m, a->type);

	snprintf(change, sizeof change, "%s%s", by < 0 ? "-" : "+", number_seconds(more, fabs(by)));
	fprintf(out, "  %-*s %10s %10s  kernels %s, messages %s", width, type,
		number_seconds(cost, a->found.cost), a->chosen ? "chosen" : change,
		number_seconds(kernels, a->kernels), number_seconds(messages, a->messages));
	if (a->bytes > 0)
		fprintf(out, ", memory %s", number_bytes(bytes, a->bytes));
	fputc('\n', out);
	talloc_free(type);
}

static struct split_solution
solve(const struct parallel_search *f, const struct parallel_step *s, const struct split_problem *p)
{
	struct split_solution found;

	if (f->budget > 0)
		split_solve_within(
			f->run->scratch, p, s->bytes, f->budget, f->sweeps, f->gap, NULL, &found);
	else
		found = split_solve(f->run->scratch, p, f->sweeps, f->gap, INFINITY);
	return found;
}

static void
explain_kind(const struct parallel_search *f, const struct parallel_plan *plan,
	const struct matched *m, FILE *out)
{
	const struct parallel_step *s = plan->s;
	const struct parallel_choices *c = parallel_step_choices(s, m->node[0]);
	const struct parallel_lines *lines = lines_of(c);
	struct alternative alternative[EXPLAIN_LAYOUTS] = {{0}};
	const struct ir_op *op = s->op.at[m->node[0]];
	uint32_t n = 0, left = 0;
	int width = 0;

	for (uint32_t line = 0; line < lines->n; line++) {
		struct alternative a = {.type = lines->type[line], .line = line};
		a.chosen = lines->line[plan->found.choice[m->node[0]]] == line;
		if (!a.chosen && n + 1 >= EXPLAIN_LAYOUTS) {
			left++;
			continue;
		}
		const struct split_problem p = hold(f->run->scratch, s, m, line);
		a.found = a.chosen ? plan->found : solve(f, s, &p);
		if (a.found.cost >= SPLIT_NEVER)
			continue;
		count_costs(s, m, &a);
		char *type = ir_type_text(f->run->scratch, s->m, a.type);
		width = (int)strlen(type) > width ? (int)strlen(type) : width;
		alternative[n++] = a;
	}
	qsort(alternative, n, sizeof *alternative, by_cost);
	fprintf(out, "parallelize: %s %s", op_name((enum op_code)op->code), m->name);
	if (m->n > 1)
		fprintf(out, ", %" PRIu32 " alike", m->n);
	fputs("; with each layout, the best plan found takes\n", out);
	for (uint32_t i = 0; i < n; i++)
		print_alternative(out, s, plan, &alternative[i], width);
	if (left)
		fprintf(out, "  and %" PRIu32 " layouts that were not tried\n", left);
}

/* The nodes that match a name, by kind. */
static uint32_t
match(const void *scratch, const struct parallel_step *s, const char *name, struct matched *kind,
	struct suggestion *near)
{
	const struct names *names = names_create(scratch, ir_func_find(s->m, "main"));
	uint32_t *number = ARRAY_ZERO(scratch, uint32_t, s->alike->n), n = 0;

	for (uint32_t i = 0; i < s->problem.nnodes; i++) {
		const struct ir_op *op = s->op.at[i];
		char *called = name_of(scratch, names, op);
		uint32_t *k = &number[s->alike->number[op->id]];
		if (!lines_of(parallel_step_choices(s, i)) || !*called)
			continue;
		suggestion_add(near, called);
		if (fnmatch(name, called, 0) != 0 || (!*k && n == EXPLAIN_KINDS))
			continue;
		if (!*k) {
			kind[n] = (struct matched){
				called, ARRAY_NEW(scratch, uint32_t, s->problem.nnodes), 0};
			*k = ++n;
		}
		struct matched *m = &kind[*k - 1];
		m->name = m->n ? name : m->name;
		m->node[m->n++] = i;
	}
	return n;
}

void
parallel_explain(const struct parallel_search *f, const struct parallel_plan *plan)
{
	const char *names = pass_explain(f->run);
	char *copy = text_copy(f->run->scratch, names ? names : ""), *name;

	while (names && (name = strsep(&copy, ","))) {
		struct matched kind[EXPLAIN_KINDS];
		struct suggestion near = suggestion_for(name);
		const uint32_t n = match(f->run->scratch, plan->s, name, kind, &near);
		if (!n)
			diag_report(f->run->ctx->diag, DIAG_WARNING, f->run->loc,
				"-explain: no op, param or input that parallelize lays out is called '%s'%s",
				name, suggestion_text(f->run->scratch, &near));
		for (uint32_t i = 0; i < n; i++)
			explain_kind(f, plan, &kind[i], stderr);
	}
}
