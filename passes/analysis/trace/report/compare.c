/*
 * Measured and predicted times: see compare.h. Ops are matched by their number in @main, which the
 * program has from the module that it was built from; a digest tells whether it is the same module.
 */
#include "passes/analysis/trace/report/compare.h"
#include "ir/base/sort.h"

#include "ir/digest.h"
#include "ir/base/vec.h"
#include "ir/names.h"
#include "ir/numbering.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

bool
trace_check_build(struct diag *d, const struct trace *t, const struct ir_module *m)
{
	char build[IR_DIGEST_DIGITS + 1];

	ir_digest(m, build);
	if (strcmp(t->build, build) == 0)
		return true;
	trace_report(d, DIAG_ERROR, t->path, t->at,
		*t->build
			? "the program of this trace was built from another module: its build is %s, "
			  "that of the given module is %s"
			: "the trace does not name the build of its program%s%s",
		*t->build ? t->build : "", *t->build ? build : "");
	diag_note(d, LOC_NONE,
		"give the module that the program was built from: after all passes, as "
		"dopt -pass=... -o FILE writes it");
	return false;
}

/* The prediction of the replay for one op. */
struct predicted {
	struct VEC(double) time; /* of its events */
	double exposed;
	uint32_t devices;
	int32_t last; /* last device encountered */
	const struct ir_op *op;
	bool communication, profiled;
};

static struct predicted *
list_predicted(const struct cost_timeline *line, const struct ir_numbering *ops)
{
	struct predicted *list = ZERO_ARRAY(line, struct predicted, ops->n);

	for (uint32_t i = 0; i < line->n; i++) {
		const struct cost_event *e = &line->event[i];
		struct predicted *p = &list[ir_number(ops, e->op)];
		p->devices += p->time.n == 0 || p->last != e->device;
		p->last = e->device;
		p->op = e->op;
		VEC_PUSH(list, &p->time, e->end - e->start);
		p->exposed += e->exposed;
		p->communication = e->communication;
		p->profiled = e->measured;
	}
	return list;
}

/* "matmul h", as programs name their kernels. */
static char *
name_of(const void *owner, const struct ir_op *op)
{
	const char *value = op->nresults ? op->result[0].name : NULL;

	return TEXT(owner, "%s%s%s", op_name((enum op_code)op->code), value ? " " : "",
		value ? value : "");
}

/* Like trace_value_text, for an op of the module. */
static char *
value_of(const void *owner, const struct names *names, const struct ir_op *op, uint32_t index)
{
	return op->nresults ? names_text(owner, names, &op->result[0])
			    : trace_value_text(owner, NULL, index);
}

static void
fill_measured(struct trace_pair *p, const struct trace_op_time *o)
{
	p->measured = o->time.median;
	p->low = o->time.low;
	p->high = o->time.high;
	p->count = o->count;
	p->exposed_measured = o->exposed;
	p->value = o->value;
	p->name = o->name;
	p->text = o->text;
	p->communication = o->communication;
}

static void
fill_predicted(
	const void *owner, const struct names *names, struct trace_pair *p, struct predicted *q)
{
	p->predicted = trace_middle_of(q->time.at, (uint32_t)q->time.n).median;
	p->exposed_predicted = q->exposed / q->devices;
	p->communication = q->communication;
	p->profiled = q->profiled;
	if (p->name)
		return;
	p->count = (double)q->time.n / q->devices;
	p->name = name_of(owner, q->op);
	p->value = value_of(owner, names, q->op, p->op);
	p->text = "";
}

ORDER_BY(by_difference, struct trace_pair, ORDER_UP(fabs(y->difference), fabs(x->difference)),
	UP(op))

static void
pair_ops(struct trace_comparison *c, const struct trace_measured *measured,
	const struct names *names, struct predicted *list, uint32_t nops)
{
	uint32_t at = 0;

	c->pair = NEW_ARRAY(c, struct trace_pair, nops + measured->nops);
	for (uint32_t op = 0; op < nops || at < measured->nops; op++) {
		const bool ran = at < measured->nops && measured->op[at].op == op;
		struct trace_pair p = {.predicted = NAN, .measured = NAN, .op = op};
		if (ran)
			fill_measured(&p, &measured->op[at++]);
		if (op < nops && list[op].time.n)
			fill_predicted(c, names, &p, &list[op]);
		if (!p.name)
			continue;
		p.difference = ((isnan(p.measured) ? 0 : p.measured) -
				       (isnan(p.predicted) ? 0 : p.predicted)) *
			       p.count;
		c->predicted[p.communication] += !isnan(p.predicted);
		c->profiled[p.communication] += p.profiled;
		c->pair[c->npairs++] = p;
	}
	qsort(c->pair, c->npairs, sizeof *c->pair, by_difference);
}

static void
set_totals(struct trace_comparison *c, const struct trace_measured *m, const struct cost_report *r)
{
	const struct trace_total total[TRACE_TOTALS] = {
		{"iteration", r->iteration, m->iteration},
		{"compute", r->compute, m->compute},
		{"communication", r->communication, m->communication},
		{"exposed", r->exposed, m->exposed},
	};

	memcpy(c->total, total, sizeof total);
	c->peak_bytes = r->peak_bytes;
}

struct trace_comparison *
trace_compare(const void *owner, struct diag *d, const struct trace_set *s,
	const struct trace_measured *measured, const struct cost_model *model,
	const struct ir_module *m)
{
	struct cost_report report;

	if (!trace_check_build(d, s->trace[0], m) || !cost_evaluate(model, m, &report))
		return NULL;
	struct trace_comparison *c = NEW(owner, struct trace_comparison);
	struct cost_timeline *line = cost_timeline(c, model, m);
	if (!line) {
		talloc_free(c);
		return NULL;
	}
	const struct ir_numbering *ops =
		ir_numbering_create(line, m, &ir_func_find(m, "main")->body);
	const uint32_t known = measured->nops ? measured->op[measured->nops - 1].op + 1 : 0;
	if (known > report.ops) {
		trace_report(d, DIAG_ERROR, s->trace[0]->path, s->trace[0]->at,
			"op %u of a module that has %u", known - 1, report.ops);
		talloc_free(c);
		return NULL;
	}
	const struct names *names = names_create(line, ir_func_find(m, "main"));
	pair_ops(c, measured, names, list_predicted(line, ops), ops->n);
	set_totals(c, measured, &report);
	c->program = s->trace[0]->program;
	c->build = s->trace[0]->build;
	c->device = cost_model_device(model)->name;
	c->steps = measured->steps;
	c->ranks = s->trace[0]->ranks;
	for (uint32_t i = 0; i < s->n; i++)
		c->arena_bytes = s->trace[i]->arena_bytes > c->arena_bytes
					 ? s->trace[i]->arena_bytes
					 : c->arena_bytes;
	talloc_free(line);
	return c;
}
