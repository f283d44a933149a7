/*
 * Which arguments of the step differ between processes.
 *
 * An argument that a result replaces is the same everywhere if that result is, given that it was so
 * at first. So all such arguments are first assumed to be the same; a walk over the program finds
 * the axes over which each value then varies; arguments whose next value varies are dropped, until
 * nothing changes: the largest consistent set. The walk follows what the importer does op by op
 * (`varies` in state.h), except for regions, whose arguments vary over all axes that any operand
 * varies over.
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "parser/stablehlo/spmd/spmd.h"

#include <string.h>
#include <talloc.h>

enum { MAX_ROUNDS = 8 }; /* of giving up arguments one after another; then all are given up */

struct walk {
	struct import *im;
	uint32_t all;
	int depth;
	uint32_t visits;
};

static uint32_t
get(const struct mlir_value *v)
{
	return (uint32_t)(uintptr_t)v->data;
}

static void
set(struct mlir_value *v, uint32_t varies)
{
	v->data = (void *)(uintptr_t)varies;
}

static uint32_t
of_operands(const struct mlir_op *op)
{
	uint32_t varies = 0;

	for (uint32_t i = 0; i < op->noperands; i++)
		varies |= get(op->operand[i]);
	return varies;
}

static void walk_block(struct walk *w, const struct mlir_block *b);

static uint32_t
of_results(const struct mlir_block *b)
{
	return b->last ? of_operands(b->last) : 0;
}

static uint32_t
of_collective(struct walk *w, const struct mlir_op *op, uint32_t varies)
{
	struct spmd_groups g;
	const char *name = op->name + strlen("stablehlo.");
	const bool reduces = !strcmp(name, "all_reduce") || !strcmp(name, "cross-replica-sum");

	if (!strcmp(name, "collective_permute") || mlir_attr_find(op, "has_dynamic_root"))
		return w->all;
	const bool before = diag_mute(w->im->diag, true);
	const bool ok = spmd_groups_of(w->im, op, &g);
	diag_mute(w->im->diag, before);
	if (!ok || !g.regular || !(g.ordered || reduces) || !strcmp(name, "collective_reduce"))
		return w->all;
	return !strcmp(name, "reduce_scatter") || !strcmp(name, "all_to_all") ? varies | g.axes
									      : varies & ~g.axes;
}

/* Arguments of a loop vary over what they start with and what the body makes of them. */
static void
walk_while(struct walk *w, const struct mlir_op *op)
{
	bool changed = true;

	for (uint32_t i = 0; i < op->nresults && i < op->noperands; i++)
		set(&op->result[i], get(op->operand[i]));
	while (changed) {
		uint32_t condition = 0;
		changed = false;
		for (uint32_t r = 0; r < op->nregions; r++) {
			const struct mlir_block *b = &op->region[r];
			for (uint32_t i = 0; i < b->nargs && i < op->nresults; i++)
				set(&b->arg[i], get(&op->result[i]));
			walk_block(w, b);
			if (r == 0)
				condition = of_results(b);
		}
		const struct mlir_op *last = op->nregions > 1 ? op->region[1].last : NULL;
		for (uint32_t i = 0; last && i < op->nresults && i < last->noperands; i++) {
			const uint32_t next = get(last->operand[i]) | condition;
			if (next & ~get(&op->result[i])) {
				set(&op->result[i], get(&op->result[i]) | next);
				changed = true;
			}
		}
	}
}

/* The function that a call or composite names; its results are those of the op. */
static bool
walk_call(struct walk *w, const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_find(op, "callee");

	a = a ? a : mlir_attr_find(op, "decomposition");
	const struct mlir_op *f = a && (a->kind == MLIR_SYMBOL || a->kind == MLIR_STRING)
					  ? import_func(w->im, a->s)
					  : NULL;
	if (!f || w->depth > IMPORT_MAX_CALLS)
		return false;
	const struct mlir_block *b = &f->region[0];
	for (uint32_t i = 0; i < b->nargs && i < op->noperands; i++)
		set(&b->arg[i], get(op->operand[i]));
	w->depth++;
	walk_block(w, b);
	w->depth--;
	for (uint32_t i = 0; b->last && i < op->nresults && i < b->last->noperands; i++)
		set(&op->result[i], get(b->last->operand[i]));
	return true;
}

static void
walk_op(struct walk *w, const struct mlir_op *op)
{
	const struct spmd *s = spmd_of(w->im);
	uint32_t varies = of_operands(op), ids = 0;

	if (!strcmp(op->name, "stablehlo.while")) {
		walk_while(w, op);
		return;
	}
	if ((!strcmp(op->name, "func.call") || !strcmp(op->name, "stablehlo.composite")) &&
		walk_call(w, op))
		return;
	if (spmd_is_collective(w->im, op))
		varies = of_collective(w, op, varies);
	else if (!strcmp(op->name, "stablehlo.replica_id"))
		varies = spmd_digits(w->im, s->partitions, spmd_processes(w->im), &ids) ? ids
											: w->all;
	else if (!strcmp(op->name, "stablehlo.partition_id"))
		varies = spmd_digits(w->im, 1, s->partitions, &ids) ? ids : w->all;
	else
		for (uint32_t r = 0; r < op->nregions; r++) {
			const struct mlir_block *b = &op->region[r];
			for (uint32_t i = 0; i < b->nargs; i++)
				set(&b->arg[i], varies);
			walk_block(w, b);
			varies |= of_results(b);
		}
	for (uint32_t i = 0; i < op->nresults; i++)
		set(&op->result[i], varies);
}

static void
walk_block(struct walk *w, const struct mlir_block *b)
{
	for (const struct mlir_op *op = b->first; op; op = op->next) {
		if (w->visits == SPMD_MAX_VISITS)
			for (uint32_t i = 0; i < op->nresults; i++)
				set(&op->result[i], w->all);
		else {
			w->visits++;
			walk_op(w, op);
		}
	}
}

/* The importer finds values as the reader left them. */
static void
forget(const struct mlir_block *b)
{
	for (uint32_t i = 0; i < b->nargs; i++)
		b->arg[i].data = NULL;
	for (const struct mlir_op *op = b->first; op; op = op->next) {
		for (uint32_t i = 0; i < op->nresults; i++)
			op->result[i].data = NULL;
		for (uint32_t r = 0; r < op->nregions; r++)
			forget(&op->region[r]);
	}
}

static const struct mlir_attr *
argument_attr(const struct mlir_value *v, const char *name)
{
	for (uint32_t i = 0; i < v->nattrs; i++)
		if (!strcmp(v->attr[i].name, name))
			return &v->attr[i];
	return NULL;
}

static bool
same_by_attr(const struct mlir_value *v)
{
	const struct mlir_attr *a = argument_attr(v, "mhlo.is_same_data_across_replicas");

	return a && (a->kind != MLIR_BOOL || a->i);
}

/* One round: true if an argument was given up. */
static bool
give_up(struct walk *w, const struct mlir_block *b, const int *carried, uint32_t *argument)
{
	bool changed = false;

	for (uint32_t i = 0; i < b->nargs; i++)
		set(&b->arg[i], argument[i]);
	walk_block(w, b);
	for (uint32_t i = 0; i < b->nargs; i++) {
		if (carried[i] < 0 || !b->last || (uint32_t)carried[i] >= b->last->noperands)
			continue;
		const uint32_t next = get(b->last->operand[carried[i]]);
		changed = changed || (next & ~argument[i]);
		argument[i] |= next;
	}
	return changed;
}

/* Remarks on carried arguments that are assumed to be the same without an attribute. */
static void
remark(struct import *im, const struct mlir_block *b, const int *carried, const uint32_t *argument,
	struct ir_loc loc)
{
	uint32_t n = 0, first = 0;

	for (uint32_t i = 0; i < b->nargs; i++)
		if (carried[i] >= 0 && !argument[i] && !same_by_attr(&b->arg[i])) {
			first = n ? first : i;
			n++;
		}
	if (n)
		diag_report(im->diag, DIAG_REMARK, loc,
			"%u argument%s, argument %u first, %s the same in all processes after a "
			"step; they are assumed to be the same at the start as well",
			n, number_plural(n), first, n == 1 ? "is" : "are");
}

static void
decide(struct import *im, const struct mlir_op *func, const int *carried)
{
	struct spmd *s = spmd_of(im);
	const struct mlir_block *b = &func->region[0];
	struct walk w = {.im = im, .all = s->axes};
	void **data = NEW_ARRAY(s, void *, b->nargs + 1);

	s->narguments = b->nargs;
	s->argument = ZERO_ARRAY(s, uint32_t, b->nargs + 1);
	if (!s->explicit || !s->axes)
		return;
	for (uint32_t i = 0; i < b->nargs; i++) {
		data[i] = b->arg[i].data;
		if (carried[i] < 0 && !same_by_attr(&b->arg[i]))
			s->argument[i] = s->axes;
	}
	int round = 0;
	while (give_up(&w, b, carried, s->argument))
		if (++round == MAX_ROUNDS)
			for (uint32_t i = 0; i < b->nargs; i++)
				s->argument[i] = carried[i] >= 0 ? s->axes : s->argument[i];
	for (const struct mlir_op *op = spmd_top(im); op; op = op->next)
		for (uint32_t r = 0; r < op->nregions; r++)
			forget(&op->region[r]);
	for (uint32_t i = 0; i < b->nargs; i++)
		b->arg[i].data = data[i];
	talloc_free(data);
	remark(im, b, carried, s->argument, func->loc);
}

uint32_t
spmd_argument(struct import *im, const struct mlir_op *func, const int *carried, uint32_t i)
{
	struct spmd *s = spmd_of(im);

	if (!s->argument)
		decide(im, func, carried);
	return i < s->narguments ? s->argument[i] : 0;
}

const struct ir_type *
spmd_layout(struct import *im, const struct mlir_op *func, uint32_t i)
{
	const struct spmd *s = spmd_of(im);
	const struct mlir_value *v = &func->region[0].arg[i];
	const struct mlir_attr *a = argument_attr(v, "sdy.sharding");
	struct spmd_sharding sharding;

	a = a ? a : argument_attr(v, "mhlo.sharding");
	if (!a || s->explicit || s->parallel || v->type->kind != MLIR_TENSOR ||
		v->type->rank > IR_MAX_RANK ||
		!spmd_sharding_read(im, func, a, v->type->rank, &sharding) || !sharding.axes)
		return NULL;
	const struct ir_type *t = import_type(im, func, v->type, 0);
	return t ? spmd_sharding_type(im, t, &sharding) : NULL;
}
