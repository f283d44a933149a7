/*
 * What a pass may ask, a pass each; docs/writing-a-pass.md explains them.
 *
 *     faster          the cost model: apply passes where the step becomes faster
 *     whole-outputs   resharding: give every output whole to every device
 *     products        forms: find the products of matrices, whatever op they are written as
 *     estimate        replay: what a step takes by rules of one's own
 *
 * Built outside of the tree against the installed headers: see ask.test.
 */
#include "dopt/dopt.h"

#include <talloc.h>

static bool
faster_run(struct pass_run *run, struct ir_module *m)
{
	const char *passes = pass_string(run, "passes");
	struct ir_module *trial = ir_module_clone(run->scratch, m);
	struct cost_report now, then;

	if (!run->cost) {
		pass_remark(run, NULL, PASS_MISSED, "there is no cost model to compare with");
		return true;
	}
	if (!pass_try(run, trial, passes)) {
		pass_remark(run, NULL, PASS_MISSED, "'%s' cannot be applied", passes);
		return true;
	}
	if (!cost_evaluate(run->cost, m, &now) || !cost_evaluate(run->cost, trial, &then))
		return false;
	if (then.iteration >= now.iteration) {
		pass_remark(run, NULL, PASS_MISSED, "'%s': %.3g us instead of %.3g us", passes,
			then.iteration * 1e6, now.iteration * 1e6);
		return true;
	}
	pass_remark(run, NULL, PASS_APPLIED, "'%s': %.3g us instead of %.3g us", passes,
		then.iteration * 1e6, now.iteration * 1e6);
	return pass_apply(run, m, passes);
}

static bool
whole_outputs_run(struct pass_run *run, struct ir_module *m)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		if (op->code != OP_output)
			continue;
		struct ir_builder b = {.m = m, .block = op->block, .before = op, .loc = op->loc};
		struct ir_value *v = ir_operand(op, 0);
		struct ir_value *whole = reshard(&b, v, ir_type_meaning(run->ctx, v->type));
		if (!whole)
			return false;
		if (whole != v)
			pass_count(run, "outputs made whole", 1);
		ir_set_operand(op, 0, whole);
	}
	return true;
}

/* Is the body of the form the product of its two operands? */
static bool
multiplies(const struct form *f)
{
	const struct expr *e = f->body;

	return e->kind == EXPR_CALL && e->id == FN_mul && e->arg[0]->kind == EXPR_LOAD &&
	       e->arg[1]->kind == EXPR_LOAD;
}

static bool
products_run(struct pass_run *run, struct ir_module *m)
{
	struct arena *arena = arena_create(run->scratch);

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		struct form f;
		int64_t rows = 1, columns = 1, inner = 1;
		if (!form_exists((enum op_code)op->code) || !form_make(m, arena, op, NULL, &f) ||
			f.ninputs != 2 || f.reduce != REDUCE_SUM || !multiplies(&f))
			continue;
		for (int i = 0; i < f.nindices; i++) {
			const bool a = form_access_has(&f.in[0], i);
			const bool b = form_access_has(&f.in[1], i);
			rows *= a && !b ? f.size[i] : 1;
			columns *= b && !a ? f.size[i] : 1;
			inner *= a && b && !form_access_has(&f.out, i) ? f.size[i] : 1;
		}
		pass_remark(run, op, PASS_APPLIED, "%lld x %lld by %lld x %lld", (long long)rows,
			(long long)inner, (long long)inner, (long long)columns);
	}
	return true;
}

/* What an op takes: a kernel its bytes over the bandwidth of the memory, a collective a ring's time. */
static replay_time
op_takes(const struct ir_module *m, const struct ir_op *op, const struct device *d)
{
	struct cost_collective c;

	if (cost_op_collective(m, op, &c))
		return replay_from_seconds(collective_ring_seconds(
			c.kind, c.places, c.bytes, d->link_latency, d->link_bandwidth));
	return replay_from_seconds(d->launch + op_work(m, op).bytes / d->bandwidth);
}

/* Event i is op i, and waits for the ops that make its operands. */
static bool
estimate_run(struct pass_run *run, struct ir_module *m)
{
	enum { COMPUTE, COMMUNICATION, NSTREAMS };
	struct ir_block *b = &ir_func_find(m, "main")->body;
	const struct device *d =
		run->cost ? cost_model_device(run->cost) : device_generic(run->scratch);
	uint32_t nops = 0, ndeps = 0;

	uint32_t *number = talloc_array(run->scratch, uint32_t, m->op_ids + 1);
	IR_FOR_OPS (op, b) {
		number[op->id] = nops++;
		ndeps += op->noperands;
	}
	uint16_t *stream = talloc_array(run->scratch, uint16_t, nops + 1);
	replay_time *duration = talloc_array(run->scratch, replay_time, nops + 1);
	replay_time *end = talloc_array(run->scratch, replay_time, nops + 1);
	uint32_t *first = talloc_array(run->scratch, uint32_t, nops + 1);
	uint32_t *dep = talloc_array(run->scratch, uint32_t, ndeps + 1);
	replay_time busy[NSTREAMS], free_at[NSTREAMS];
	struct replay_graph g = {nops, NSTREAMS, stream, duration, first, dep, NULL, 0};
	struct replay_result r = {0, NULL, end, busy, free_at};

	ndeps = 0;
	IR_FOR_OPS (op, b) {
		const enum cost_kind kind = cost_op_kind(m, op);
		stream[number[op->id]] = kind == COST_COLLECTIVE ? COMMUNICATION : COMPUTE;
		duration[number[op->id]] = kind == COST_NONE ? 0 : op_takes(m, op, d);
		first[number[op->id]] = ndeps;
		for (int i = 0; i < op->noperands; i++)
			if (ir_operand(op, i)->op)
				dep[ndeps++] = number[ir_operand(op, i)->op->id];
	}
	first[nops] = ndeps;
	if (!replay_check(&g))
		return pass_bug(run, NULL, "the events of the step are not in order");
	replay_run(&g, &r);
	pass_remark(run, NULL, PASS_APPLIED, "%.3f us: %.3f us of kernels, %.3f us of collectives",
		replay_seconds(r.makespan) * 1e6, replay_seconds(busy[COMPUTE]) * 1e6,
		replay_seconds(busy[COMMUNICATION]) * 1e6);
	return true;
}

static const struct pass_option faster_options[] = {
	{"passes", PASS_STRING, NULL, "passes that are applied where they make the step faster",
		NULL, 0, 0},
	{NULL, PASS_INT, NULL, NULL, NULL, 0, 0},
};

static const struct pass faster = {
	.name = "faster",
	.family = "example",
	.summary = "apply passes where the cost model says that the step becomes faster",
	.options = faster_options,
	.needs = "no-calls",
	.run = faster_run,
};

static const struct pass whole_outputs = {
	.name = "whole-outputs",
	.family = "example",
	.summary = "give every output whole to every device",
	.needs = "no-calls",
	.run = whole_outputs_run,
};

static const struct pass products = {
	.name = "products",
	.family = "example",
	.summary = "remark on every product of matrices with its sizes",
	.needs = "no-calls",
	.run = products_run,
	.keeps_bits = true,
};

static const struct pass estimate = {
	.name = "estimate",
	.family = "example",
	.summary = "remark on what a step takes if memory and links alone count",
	.needs = "no-calls",
	.run = estimate_run,
	.keeps_bits = true,
};

static const struct pass *const passes[] = {&faster, &whole_outputs, &products, &estimate, NULL};

const struct dopt_plugin dopt_plugin = {DOPT_API_VERSION, "ask", passes};
