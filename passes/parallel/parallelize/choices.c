/*
 * How an op can be split: on each axis an index of its form, so that operands and results that have
 * it are split there, or none, or partial operands. The op's layout rule (ir/ops/layout.c) decides
 * for each of them whether it fits and what the results are. For ops without index notation, the
 * dims of the first operand, or of the result, serve as indices.
 */
#include "ir/base/alloc.h"
#include "ir/ops/form.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <string.h>

/* Further choices of an op are not considered: later ones split over more axes. */
enum { MOST_CHOICES = 2000 };

/* An option on one axis. */
struct option {
	int index;        /* -1: none */
	uint32_t partial; /* operands, bit k = operand k */
};

/* The line of each choice. */
struct column VEC(uint16_t);

struct chooser {
	const void *owner;
	struct parallel_costs *costs;
	const struct parallel_axes *axes;
	const struct ir_module *m;
	const struct ir_op *op;
	struct parallel_part part;
	struct ir_op *probe;
	struct form f;
	struct VEC(struct option) option[IR_MAX_AXES]; /* by position in `axes` */
	const struct ir_type **operand, **written;     /* types of the choice being tried */
	struct parallel_choices *all;
	struct VEC(double) seconds, least, bytes;
	struct column *line; /* operands, then results */
};

/* An identity form on the dims of the first operand, or else of the result. */
static void
form_of_dims(struct chooser *c)
{
	const struct ir_op *op = c->op;
	const struct ir_type *t = op->noperands ? ir_operand_type(op, 0) : op->result[0].type;

	c->f = (struct form){.nindices = t->rank};
	c->f.ninputs = (uint8_t)(op->noperands < FORM_MAX_INPUTS ? op->noperands : FORM_MAX_INPUTS);
	for (int k = 0; k < c->f.ninputs; k++) {
		c->f.in[k].rank = ir_operand_type(op, k)->rank;
		for (int d = 0; d < c->f.in[k].rank; d++)
			c->f.in[k].index[d] = (int8_t)(c->f.in[k].rank == t->rank ? d : -1);
	}
	c->f.out.rank = op->noperands ? 0 : t->rank;
	for (int d = 0; d < t->rank; d++)
		c->f.out.index[d] = (int8_t)d;
}

static void
find_form(struct chooser *c)
{
	const bool before = diag_mute(c->m->ctx->diag, true);
	const bool found = op_is(c->op, TRAIT_WRITTEN | TRAIT_PARALLEL) == 0 &&
			   form_exists((enum op_code)c->op->code) && c->op->nresults == 1 &&
			   form_shape(c->m, c->op, c->op->result[0].type, &c->f, NULL);

	diag_mute(c->m->ctx->diag, before);
	if (!found)
		form_of_dims(c);
}

static bool
operands_have(const struct chooser *c, int index)
{
	for (int k = 0; k < c->f.ninputs; k++)
		if (form_access_has(&c->f.in[k], index))
			return true;
	return false;
}

/* The type split once more, over the axis, along its dim; NULL: the dim is not divisible. */
static const struct ir_type *
split(const struct chooser *c, const struct ir_type *t, int dim, int axis)
{
	struct ir_type s = *t;

	if (ir_type_local_dim(c->m, t, dim) % c->m->axis[axis].size)
		return NULL;
	s.axis[axis] =
		(struct ir_state){IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(t, dim)};
	return ir_type_intern(c->m->ctx, &s);
}

static const struct ir_type *
with_option(const struct chooser *c, const struct ir_type *t, const struct form_access *access,
	struct option o, bool partial, int axis)
{
	const int dim = o.index < 0 ? -1 : form_access_dim(access, o.index);

	if (dim >= 0)
		return split(c, t, dim, axis);
	if (!partial)
		return t;
	struct ir_type s = *t;
	s.axis[axis] = (struct ir_state){.kind = IR_PARTIAL};
	return ir_type_intern(c->m->ctx, &s);
}

/* Adds the option to the types of the choice being tried. False: a dim is not divisible. */
static bool
add_option(struct chooser *c, struct option o, int axis)
{
	const bool sums = o.partial || (o.index >= 0 && form_access_dim(&c->f.out, o.index) < 0);

	for (int k = 0; k < c->f.ninputs; k++) {
		c->operand[k] =
			with_option(c, c->operand[k], &c->f.in[k], o, o.partial >> k & 1, axis);
		if (!c->operand[k])
			return false;
	}
	if (c->op->nresults != 1)
		return true;
	c->written[0] = with_option(c, c->written[0], &c->f.out, o, sums, axis);
	return c->written[0] != NULL;
}

static bool
is_known(const struct chooser *c, uint32_t choice)
{
	const int n = c->op->noperands + c->op->nresults;

	for (uint32_t x = 0; x < choice; x++) {
		int same = 0;
		while (same < n && c->line[same].at[x] == c->line[same].at[choice])
			same++;
		if (same == n)
			return true;
	}
	return false;
}

static uint16_t
line_of(const struct chooser *c, struct parallel_lines *l, const struct ir_type *t)
{
	for (uint32_t i = 0; i < l->n; i++)
		if (l->type[i] == t)
			return (uint16_t)i;
	LIST_PUSH(c->owner, l->type, l->n, t);
	return (uint16_t)(l->n - 1);
}

/*
 * The share of a value's bytes that counts for each device. Stages are about equal, so a device has
 * one part of what is kept on one of them each. Of a value of one micro-batch the first stage keeps
 * as many as there are stages, under 1F1B, so that all of them count once.
 */
static double
share_of_bytes(const struct ir_module *m, const struct ir_type *t)
{
	double share = 1;

	for (int a = 0; a < m->naxes; a++) {
		if (m->axis[a].time && t->axis[a].kind != IR_COPIED)
			return 1;
		if (t->axis[a].kind == IR_SINGLE)
			share /= m->axis[a].size;
	}
	return share;
}

static double
result_bytes(const struct chooser *c)
{
	double bytes = 0;

	for (int r = 0; r < c->probe->nresults; r++) {
		const struct ir_type *t = c->probe->result[r].type;
		if (t->memory == IR_DEVICE)
			bytes += share_of_bytes(c->m, t) * (double)ir_type_local_bytes(c->m, t);
	}
	return bytes;
}

/* Records the probe's current types as a choice. */
static void
add_choice(struct chooser *c)
{
	struct parallel_choices *all = c->all;

	for (uint32_t k = 0; k < all->noperands; k++)
		VEC_PUSH(c->owner, &c->line[k], line_of(c, &all->operand[k], c->operand[k]));
	for (uint32_t r = 0; r < all->nresults; r++)
		VEC_PUSH(c->owner, &c->line[all->noperands + r],
			line_of(c, &all->result[r], c->probe->result[r].type));
	if (!is_known(c, all->n)) {
		VEC_PUSH(c->owner, &c->seconds, parallel_costs_op(c->costs, c->probe));
		VEC_PUSH(c->owner, &c->least, parallel_costs_least(c->costs, c->probe, c->part));
		VEC_PUSH(c->owner, &c->bytes, result_bytes(c));
		all->n++;
		return;
	}
	for (uint32_t i = 0; i < all->noperands + all->nresults; i++)
		c->line[i].n--;
}

/* Types the probe as options [which[i]] of the axes say; if `reverse`, axes that split one index do
 * so in reverse order. */
static bool
try_options(struct chooser *c, const struct option *o, bool reverse)
{
	bool own = op_is(c->op, TRAIT_WRITTEN);

	for (int k = 0; k < c->op->noperands; k++)
		c->operand[k] = ir_operand_type(c->op, k);
	for (int r = 0; r < c->op->nresults; r++)
		c->written[r] = c->op->result[r].type;
	for (int i = 0; i < c->axes->n; i++) {
		const int a = reverse ? c->axes->n - 1 - i : i;
		if (!add_option(c, o[a], c->axes->axis[a]))
			return false;
		own = own || (o[a].index >= 0 && !operands_have(c, o[a].index));
	}
	return parallel_costs_fit(c->costs, c->probe, c->operand, own ? c->written : NULL);
}

static void
find_options(struct chooser *c, int position)
{
	struct option o[IR_MAX_AXES];
	const uint32_t all = (1u << c->f.ninputs) - 1;

	for (int i = 0; i < c->axes->n; i++)
		o[i] = (struct option){-1, 0};
	VEC_PUSH(c->owner, &c->option[position], o[position]);
	for (int i = 0; i < c->f.nindices; i++) {
		o[position] = (struct option){i, 0};
		if ((operands_have(c, i) || form_access_has(&c->f.out, i)) &&
			try_options(c, o, false))
			VEC_PUSH(c->owner, &c->option[position], o[position]);
	}
	for (int k = 0; k < c->f.ninputs + (c->f.ninputs > 1); k++) {
		o[position] = (struct option){-1, k < c->f.ninputs ? 1u << k : all};
		if (try_options(c, o, false))
			VEC_PUSH(c->owner, &c->option[position], o[position]);
	}
}

static bool
one_index_twice(const struct chooser *c, const struct option *o)
{
	for (int i = 0; i < c->axes->n; i++)
		for (int j = 0; j < i; j++)
			if (o[i].index >= 0 && o[i].index == o[j].index)
				return true;
	return false;
}

/* Sorted, so that ops with the same layouts list them in the same order. */
static void
sort_lines(const struct chooser *c, struct parallel_lines *l, uint32_t choices)
{
	uint16_t *number = ARRAY_NEW(c->owner, uint16_t, l->n);
	const struct ir_type **sorted = ARRAY_NEW(c->owner, const struct ir_type *, l->n);

	for (uint32_t i = 0; i < l->n; i++) {
		number[i] = 0;
		for (uint32_t j = 0; j < l->n; j++)
			number[i] += memcmp(l->type[j]->axis, l->type[i]->axis,
					     sizeof l->type[i]->axis) < 0;
		sorted[number[i]] = l->type[i];
	}
	for (uint32_t x = 0; x < choices; x++)
		l->line[x] = number[l->line[x]];
	l->type = sorted;
}

struct parallel_choices *
parallel_choices_create(const void *owner, struct parallel_costs *costs, const struct ir_op *op,
	struct parallel_part part, const struct parallel_axes *axes)
{
	struct chooser c = {.owner = owner, .costs = costs, .axes = axes, .op = op, .part = part};
	int which[IR_MAX_AXES] = {0}, i;

	c.m = op->block->func->module;
	c.all = NEW(owner, struct parallel_choices);
	c.all->op = op;
	c.all->noperands = op->noperands;
	c.all->nresults = op->nresults;
	c.all->operand = ZERO_ARRAY(owner, struct parallel_lines, op->noperands);
	c.all->result = ZERO_ARRAY(owner, struct parallel_lines, op->nresults);
	c.operand = ZERO_ARRAY(owner, const struct ir_type *, op->noperands);
	c.written = ZERO_ARRAY(owner, const struct ir_type *, op->nresults);
	c.line = ZERO_ARRAY(owner, struct column, op->noperands + op->nresults);
	c.probe = parallel_costs_probe(costs, op);
	find_form(&c);
	for (i = 0; i < axes->n; i++)
		find_options(&c, i);
	do {
		struct option o[IR_MAX_AXES];
		for (i = 0; i < axes->n; i++)
			o[i] = c.option[i].at[which[i]];
		for (int reverse = 0; reverse <= one_index_twice(&c, o); reverse++)
			if (try_options(&c, o, reverse))
				add_choice(&c);
		for (i = 0; i < axes->n && ++which[i] == c.option[i].n; i++)
			which[i] = 0;
	} while (i < axes->n && c.all->n < MOST_CHOICES);
	for (uint32_t k = 0; k < c.all->noperands; k++) {
		c.all->operand[k].line = c.line[k].at;
		sort_lines(&c, &c.all->operand[k], c.all->n);
	}
	for (uint32_t r = 0; r < c.all->nresults; r++) {
		c.all->result[r].line = c.line[c.all->noperands + r].at;
		sort_lines(&c, &c.all->result[r], c.all->n);
	}
	c.all->seconds = c.seconds.at;
	c.all->least = c.least.at;
	c.all->bytes = c.bytes.at;
	return c.all;
}
