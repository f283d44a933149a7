/*
 * interpreter.run_parallel: functions as processes of a replicas x partitions grid. Operands are
 * those of process 0, of process 1 ...; so are the results.
 *
 * One function for all: the arguments of the processes are stacked over the axes, the function is
 * imported once, and its results are split. Different functions are imported one by one, which is
 * correct if they communicate only through channels: a send that comes before its recv passes its
 * values on. Infeeds take the results of the functions that feed them.
 */
#include "ir/base/alloc.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/spmd/spmd.h"

#include <string.h>
#include <talloc.h>

/* Values that were sent and not yet received. */
struct spmd_wire {
	struct spmd_wire *next;
	int64_t channel;
	uint32_t n;
	struct import_value v[];
};

/* The functions of the grid, in the order of processes; owned by the scratch it is put under. */
struct grid {
	const struct mlir_op *op, **func;
	int64_t n;
	const struct import_value *in;
	struct import_value *out;
	bool same; /* one function for all */
};

static bool
read_grid(struct import *im, void *scratch, struct grid *g)
{
	const struct spmd *s = spmd_of(im);
	const struct mlir_attr *a = mlir_attr_find(g->op, "programs");
	uint64_t operands = 0, results = 0;

	if (!a || a->kind != MLIR_LIST || a->n != s->replicas)
		return import_unsupported(im, g->op, "on grids of different sizes");
	g->n = spmd_processes(im);
	g->func = NEW_ARRAY(scratch, const struct mlir_op *, g->n);
	g->same = true;
	for (int64_t p = 0; p < g->n; p++) {
		const struct mlir_attr *row = &a->item[p / s->partitions];
		if (row->kind != MLIR_LIST || row->n != s->partitions)
			return import_unsupported(im, g->op, "on grids of different sizes");
		const struct mlir_attr *name = &row->item[p % s->partitions];
		const bool named = name->kind == MLIR_SYMBOL || name->kind == MLIR_STRING;
		g->func[p] = named ? import_func(im, name->s) : NULL;
		if (!g->func[p])
			return import_error(
				im, g->op, "there is no function @%s", named ? name->s : "");
		if (!g->func[p]->region[0].last)
			return import_error(im, g->op, "@%s has no body", name->s);
		g->same = g->same && g->func[p] == g->func[0];
		operands += g->func[p]->region[0].nargs;
		results += g->func[p]->region[0].last->noperands;
	}
	if (operands == g->op->noperands && results == g->op->nresults)
		return true;
	return import_error(im, g->op,
		"the functions take %u values and return %u in total, but the op has %u and %u",
		(unsigned)operands, (unsigned)results, g->op->noperands, g->op->nresults);
}

/* Argument k of all processes as one value. */
static struct import_value
stack_argument(struct import *im, const struct grid *g, uint32_t k, struct ir_value **row)
{
	const uint32_t nargs = g->func[0]->region[0].nargs;
	struct import_value first = g->in[k];
	bool same = true;

	for (int64_t p = 0; p < g->n; p++) {
		row[p] = g->in[p * nargs + k].value;
		same = same && row[p] == row[0];
	}
	if (same || !first.value)
		return first; /* a token, or one value for all */
	for (int64_t p = 0; p < g->n; p++)
		if (!import_same_type(g->in[p * nargs + k].type, first.type)) {
			import_error(im, g->op, "operand %u is not of the type of operand %u",
				(unsigned)(p * nargs + k + 1), k + 1);
			return (struct import_value){.failed = true};
		}
	struct ir_value *whole = spmd_stack(im, row, g->n);
	struct import_value v = spmd_spread(im, g->op, whole);
	v.type = first.type;
	return v;
}

static bool
split_result(struct import *im, const struct grid *g, uint32_t k, struct import_value v)
{
	const uint32_t n = g->func[0]->region[0].last->noperands;
	struct ir_value *whole = v.value && v.varies ? spmd_whole(im, v) : NULL;

	for (int64_t p = 0; p < g->n; p++) {
		struct import_value *out = &g->out[p * n + k];
		*out = v;
		if (!v.value || !v.varies)
			continue;
		*out = (struct import_value){.value = whole ? spmd_row(im, whole, p) : NULL};
		if (!out->value)
			return false;
	}
	return true;
}

static bool
run_together(struct import *im, const struct grid *g, void *scratch)
{
	const struct mlir_block *b = &g->func[0]->region[0];
	const uint32_t nout = b->last->noperands;
	struct import_value *v = ZERO_ARRAY(scratch, struct import_value, b->nargs + nout + 1);
	struct ir_value **row = NEW_ARRAY(scratch, struct ir_value *, g->n);

	for (uint32_t k = 0; k < b->nargs; k++) {
		v[k] = stack_argument(im, g, k, row);
		if (v[k].failed)
			return false;
	}
	if (!import_call_function(im, g->op, g->func[0], v, (int)b->nargs, v + b->nargs, (int)nout))
		return false;
	for (uint32_t k = 0; k < nout; k++)
		if (!split_result(im, g, k, v[b->nargs + k]))
			return false;
	return true;
}

static bool
run_apart(struct import *im, const struct grid *g)
{
	const struct import_value *in = g->in;
	struct import_value *out = g->out;
	bool ok = true;

	for (int64_t p = 0; ok && p < g->n; p++) {
		const struct mlir_block *b = &g->func[p]->region[0];
		spmd_of(im)->alone = p;
		ok = import_call_function(
			im, g->op, g->func[p], in, (int)b->nargs, out, (int)b->last->noperands);
		in += b->nargs;
		out += b->last->noperands;
	}
	spmd_of(im)->alone = -1;
	return ok;
}

bool
import_run_parallel(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd *s = spmd_of(im);
	void *scratch = alloc_scratch(s);
	struct grid g = {.op = op, .in = in, .out = out};
	bool ok = true;

	if (s->parallel) {
		talloc_free(scratch);
		return import_error(im, op, "must not be nested in another one");
	}
	for (uint32_t i = 0; ok && i < op->noperands; i++)
		if (in[i].varies || in[i].nitems)
			ok = import_unsupported(im, op, "with tuples, or within a process");
	s->parallel = true;
	s->infeed = mlir_attr_find(op, "infeed");
	s->fed = 0;
	s->wire = NULL;
	ok = ok && read_grid(im, scratch, &g) &&
	     (g.same ? run_together(im, &g, scratch) : run_apart(im, &g));
	s->parallel = false;
	talloc_free(scratch);
	return ok;
}

/* --- communication between processes -----------------------------------------------------------
 */

static const char outside[] = "a step communicates only through its arguments and results";

static int64_t
channel(const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_find(op, "channel_handle");

	a = a && a->kind == MLIR_DICT ? mlir_item_find(a, "handle")
				      : mlir_attr_find(op, "channel_id");
	return a && a->kind == MLIR_INT ? a->i : 0;
}

bool
import_send(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd *s = spmd_of(im);
	const uint32_t n = op->noperands ? op->noperands - 1 : 0; /* the last is a token */

	(void)out;
	if (!s->parallel || s->alone < 0)
		return import_unsupported(im, op, s->parallel ? "among equal processes" : outside);
	struct spmd_wire *w = alloc_zero(s, sizeof *w + n * sizeof *w->v, 1, "a send"),
			 **last = &s->wire;
	w->channel = channel(op);
	w->n = n;
	memcpy(w->v, in, n * sizeof *in);
	while (*last)
		last = &(*last)->next;
	*last = w;
	return true;
}

bool
import_recv(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd *s = spmd_of(im);
	struct spmd_wire **at = &s->wire;

	(void)in;
	if (!s->parallel || s->alone < 0)
		return import_unsupported(im, op, s->parallel ? "among equal processes" : outside);
	while (*at && (*at)->channel != channel(op))
		at = &(*at)->next;
	struct spmd_wire *w = *at;
	if (!w)
		return import_unsupported(im, op, "of values that a later process sends");
	if (op->nresults != w->n + 1)
		return import_error(
			im, op, "has %u results, but %u values were sent", op->nresults, w->n);
	*at = w->next;
	memcpy(out, w->v, w->n * sizeof *out);
	return true;
}

bool
import_infeed(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	struct spmd *s = spmd_of(im);

	(void)in;
	if (!s->parallel || !s->infeed || s->infeed->kind != MLIR_LIST || spmd_processes(im) > 1)
		return import_unsupported(im, op, s->parallel ? "of several processes" : outside);
	if (s->fed >= s->infeed->n || !op->nresults)
		return import_error(im, op, "no values are left to feed in");
	const struct mlir_attr *name = &s->infeed->item[s->fed++];
	const struct mlir_op *func = name->kind == MLIR_SYMBOL || name->kind == MLIR_STRING
					     ? import_func(im, name->s)
					     : NULL;
	if (!func)
		return import_error(im, op, "the function that should feed it does not exist");
	return import_call_function(im, op, func, NULL, 0, out, (int)op->nresults - 1);
}

bool
import_outfeed(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return spmd_of(im)->parallel || import_unsupported(im, op, outside);
}
