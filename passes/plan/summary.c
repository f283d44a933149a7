/*
 * The choice of plan, on one screen: the command, placement, the main costs, and possible
 * improvements.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/cost/memory.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/plan/plan.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* A smaller share of repeated arithmetic is not reported. */
static const double told_share = 1e-3;

/* Lines of inputs, of params and of costs. */
enum { MOST_CLASSES = 8, MOST_COSTS = 3 };

/* Inputs or params whose names differ only in digits, of the same type. */
struct class
{
	const char *name, *first; /* with * for digits; the first op's */
	const struct ir_type *type;
	int64_t n, gathers;
	double bytes; /* on a device */
};

struct cost {
	const char *what, *remedy;
	double seconds;
};

struct writer {
	struct planner *p;
	struct diag *d;
	const void *scratch;
	const struct ir_module *m;
	struct VEC(struct class) class;
	struct VEC(struct cost) cost;
};

/* --- inputs and params ------------------------------------------------------------------------- */

/* "block12.query.w" -> "block*.query.w" */
static char *
pattern_of(const void *owner, const char *name)
{
	char *text = text_copy(owner, name), *to = text;

	for (const char *from = name; *from; from++) {
		const bool digit = *from >= '0' && *from <= '9';
		if (!digit)
			*to++ = *from;
		else if (to == text || to[-1] != '*')
			*to++ = '*';
	}
	*to = '\0';
	return text;
}

/* Does the op only reorder or relabel elements? */
static bool
is_same(const struct ir_op *op)
{
	if (op->code == OP_fuse) {
		IR_FOR_OPS (inner, op->body)
			if (inner->code != OP_convert && inner->code != OP_yield)
				return false;
		return true;
	}
	return op->code == OP_convert || op->code == OP_barrier || op->code == OP_reload;
}

/* Allgathers of a value, or of a value with the same elements. */
static int64_t
count_gathers(const struct ir_value *v)
{
	int64_t n = 0;

	IR_FOR_USES (u, v) {
		n += u->op->code == OP_allgather;
		for (int r = 0; is_same(u->op) && r < u->op->nresults; r++)
			n += u->op->nresults == 1 || ir_operand(u->op, r) == v
				     ? count_gathers(&u->op->result[r])
				     : 0;
	}
	return n;
}

static void
add_to_class(struct writer *w, const struct ir_op *op)
{
	const struct ir_value *v = &op->result[0];
	const char *name = pattern_of(w->scratch, op->symbol);
	int64_t i = 0;

	while (i < w->class.n &&
		(strcmp(w->class.at[i].name, name) || w->class.at[i].type != v->type))
		i++;
	if (i == w->class.n)
		VEC_PUSH(w->scratch, &w->class, (struct class){name, op->symbol, v->type, 0, 0, 0});
	struct class *c = &w->class.at[i];
	c->n++;
	c->gathers += count_gathers(v);
	c->bytes += (double)ir_type_local_bytes(w->m, v->type);
}

ORDER_BY(by_bytes, struct class, DOWN(bytes), strcmp(x->name, y->name))

/* "w: f32[8]", or "w* (12): f32[8]" for several. */
static char *
class_text(const struct writer *w, const struct class *c)
{
	return TEXT(w->scratch, "%s%s: %s", c->n > 1 ? c->name : c->first,
		c->n > 1 ? TEXT(w->scratch, " (%" PRId64 ")", c->n) : "",
		ir_type_text(w->scratch, w->m, c->type));
}

/* Fills w->class with the ops of that code, in their order. */
static void
find_classes(struct writer *w, enum op_code code)
{
	w->class.n = 0;
	IR_FOR_OPS (op, &ir_func_find(w->m, "main")->body)
		if (op->code == code)
			add_to_class(w, op);
}

static void
tell_rest(const struct writer *w, const char *what)
{
	if (w->class.n > MOST_CLASSES)
		diag_note(w->d, LOC_NONE, "plan: and %s",
			number_count(w->scratch, (uint64_t)(w->class.n - MOST_CLASSES), what));
}

static void
tell_inputs(struct writer *w)
{
	find_classes(w, OP_input);
	for (int64_t i = 0; i < w->class.n && i < MOST_CLASSES; i++)
		diag_note(w->d, LOC_NONE, "plan: input %s", class_text(w, &w->class.at[i]));
	tell_rest(w, "more kind(s) of inputs");
}

static void
tell_params(struct writer *w)
{
	char bytes[NUMBER_TEXT];

	find_classes(w, OP_param);
	qsort(w->class.at, (size_t)w->class.n, sizeof *w->class.at, by_bytes);
	for (int64_t i = 0; i < w->class.n && i < MOST_CLASSES; i++) {
		const struct class *c = &w->class.at[i];
		diag_note(w->d, LOC_NONE, "plan: param %s, %s on each device, %.3g gather%s a step",
			class_text(w, c), number_bytes(bytes, c->bytes),
			(double)c->gathers / (double)c->n, c->gathers == c->n ? "" : "s");
	}
	tell_rest(w, "kind(s) of params that take less");
}

/* --- memory ----------------------------------------------------------------------------------- */

static void
tell_memory(struct writer *w, const struct plan_candidate *best)
{
	struct ir_func *main = ir_func_find(w->m, "main");
	const struct memory_curve *c =
		memory_curve_create(w->scratch, w->m, main, cost_model_storage(w->p->model));
	const struct memory_point *at = &c->point[c->peak];
	char *text = TEXT(w->scratch, "plan: memory at its peak, at %s:", c->peak_name);
	char bytes[NUMBER_TEXT];

	for (enum memory_kind k = 0; k < MEMORY_NKINDS; k++)
		if (at->bytes[k])
			text = text_append(text, " %s %s,", memory_kind_name(k),
				number_bytes(bytes, (double)at->bytes[k]));
	diag_note(w->d, LOC_NONE, "%s in host memory %s", text,
		number_bytes(bytes, (double)best->r.host));
}

/* --- time ------------------------------------------------------------------------------------- */

static bool
has_product(const struct ir_op *op)
{
	if (op->code != OP_fuse)
		return cost_is_product(op);
	IR_FOR_OPS (inner, op->body)
		if (has_product(inner))
			return true;
	return false;
}

static void
add_cost(struct writer *w, const char *what, const char *remedy, double seconds)
{
	for (int64_t i = 0; i < w->cost.n; i++)
		if (!strcmp(w->cost.at[i].what, what)) {
			w->cost.at[i].seconds += seconds;
			return;
		}
	VEC_PUSH(w->scratch, &w->cost, (struct cost){what, remedy, seconds});
}

static void
add_event(struct writer *w, const struct cost_event *e)
{
	const double seconds = e->end - e->start;

	if (e->communication)
		add_cost(w,
			TEXT(w->scratch, "%s between devices", op_name((enum op_code)e->op->code)),
			"a faster link, more kernels to overlap with, or more memory (fewer gathers)",
			seconds);
	else if (has_product(e->op))
		add_cost(w, "products",
			"more devices, narrower types, or more memory (less recomputation)",
			seconds);
	else
		add_cost(w, "other kernels", "fusion, narrower types, or a higher memory bandwidth",
			seconds);
}

ORDER_BY(by_seconds, struct cost, DOWN(seconds), strcmp(x->what, y->what))

static void
tell_time(struct writer *w)
{
	const struct cost_timeline *t = cost_timeline(w->scratch, w->p->model, w->m);
	double critical = 0;
	struct cost_report r;
	char seconds[NUMBER_TEXT];

	if (!t || !cost_evaluate(w->p->model, w->m, &r) || t->iteration <= 0)
		return;
	for (uint32_t i = 0; i < t->n; i++)
		if (t->event[i].critical) {
			critical += t->event[i].end - t->event[i].start;
			add_event(w, &t->event[i]);
		}
	if (critical < t->iteration)
		add_cost(w, "waiting", "more micro-batches, or pipeline stages of equal length",
			t->iteration - critical);
	qsort(w->cost.at, (size_t)w->cost.n, sizeof *w->cost.at, by_seconds);
	for (int64_t i = 0; i < w->cost.n && i < MOST_COSTS; i++)
		diag_note(w->d, LOC_NONE,
			"plan: %s, %.3g %% of the step: %s on the critical path; reduced by %s",
			number_seconds(seconds, w->cost.at[i].seconds),
			100 * w->cost.at[i].seconds / t->iteration, w->cost.at[i].what,
			w->cost.at[i].remedy);
	if (t->repeated > told_share * r.flops)
		diag_note(w->d, LOC_NONE, "plan: %.3g %% of the arithmetic is recomputation",
			100 * t->repeated / r.flops);
}

/* Bounds of the step before any layout, on the chosen mesh. */
static void
tell_bound(struct writer *w, const struct plan_candidate *best)
{
	struct planner *p = w->p;
	const bool made = !p->base[best->base].n && best->r.naxes;
	const int base = made ? plan_mesh_of(p, best->r.axis, best->r.naxes) : best->base;
	const struct plan_base *b = &p->base[base];
	const char *optimizer = p->has_optimizer ? "" : p->optimizer;
	const char *passes =
		TEXT(w->scratch, "%s%s%s", plan_gradients(p), *optimizer ? "," : "", optimizer);
	const struct parallel_memory memory = {p->limit, p->host_limit > 0};
	double bound = INFINITY;
	char seconds[NUMBER_TEXT];

	/* Of convolutions as they are written, and with their channels last, where that may be faster. */
	for (int last = 0; b->n && last <= p->channels_last; last++) {
		struct ir_module *m = ir_module_clone(p->run->scratch, b->m);
		if (!pass_try(p->run, m,
			    last ? TEXT(w->scratch, "%s,%s", passes, plan_channels_last) : passes))
			return;
		bound = fmin(bound, parallel_module_bound(p->run, p->model, m, memory));
	}
	if (isfinite(bound) && bound > 0)
		diag_note(w->d, LOC_NONE,
			"plan: lower bound for this mesh without micro-batches: %s, %.3g %% less",
			number_seconds(seconds, bound), 100 * (1 - bound / best->r.seconds));
}

void
plan_summary(struct planner *p, const struct plan_candidate *best, const struct ir_module *m)
{
	char seconds[NUMBER_TEXT], peak[NUMBER_TEXT], limit[NUMBER_TEXT];
	struct writer w = {.p = p, .d = p->run->ctx->diag, .scratch = p->run->scratch, .m = m};

	if (!pass_bool(p->run, "summary"))
		return;
	diag_note(w.d, LOC_NONE, "plan: %s, %s%s%s on each device; the best of %s, from: %s",
		number_seconds(seconds, best->r.seconds), number_bytes(peak, (double)best->r.peak),
		isfinite(p->limit) ? " of " : "",
		isfinite(p->limit) ? number_bytes(limit, p->limit) : "",
		number_count(w.scratch, (uint64_t)p->tried, "pipeline(s)"), best->from);
	diag_note(w.d, LOC_NONE, "plan: %s", plan_command(p, best));
	tell_inputs(&w);
	tell_params(&w);
	tell_memory(&w, best);
	tell_time(&w);
	tell_bound(&w, best);
}
