/*
 * Bytes that the loops of any kernels move in addition to what parallel_costs_least counts for each
 * op, at reached rates: part of the bound of bound.c. They do not depend on layouts: a
 * step moves them in all its devices together, so a device moves the mean or more.
 *
 * Reads. Let p(1), p(2) ... be a chain of products, each depending on the one before it. What
 * depends on p(i) and is needed by p(i+1) without another product between them is the section i:
 *
 *     p(i) --> add, norm, convert --> p(i+1)       the kernels of different sections are different,
 *               ^                                  as those of one end before p(i+1) starts, those
 *               x(i-1), not of the section         of a later one need it
 *
 * What a section reads of values that are not its own comes from memory, or is computed again from
 * values that do. So on each path to a value that it reads, its kernels read one of the values of
 * the path, the smallest at least. Paths that share no value are read in addition to each other. A
 * result of a product that parallel_costs_least counts once is counted here from the second section
 * on.
 *
 * Sums over leading dims. A kernel with one has the rate of `columns` or of `both` for all that it
 * reads; on a path to what is summed it reads one value, whose bytes take longer by the difference
 * of the rates.
 *
 * Left out, as it may cost nothing: what may be inside of a kernel of several products, which
 * reads while it computes; what the product reads that starts the kernel; an add or relu
 * that the library does at the end of a product. Rows that are read or written by number have rates
 * of their own, which their kernels may have for all that they read: as many of the largest
 * sections as there are such ops count at these rates.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/base/arena.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/estimate/reach.h"
#include "passes/fuse/fuse.h"
#include "passes/fuse/role.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <math.h>
#include <stdlib.h>
#include <talloc.h>

enum rate { RATE_LOOPS, RATE_ROWS, RATE_COLUMNS, NRATES };

struct traffic {
	const struct parallel_step *s;
	struct fuse_role *role;  /* by alike number */
	const struct ir_op **op; /* by section, see list_sections */
	uint32_t *first;
	bool *first_part, *second_part; /* by section: it ends before v starts, starts after it */
	const struct ir_block *main;
	double rate[NRATES][REACH_TYPES]; /* bytes a second, at best */
	int *after, *needed; /* by op->id: the last product of the chain that it depends on, and
				the first one that depends on it; 0 and `length` + 1: none */
	int length;
	bool *multiplies;          /* by op->id: a product */
	double *need[NRATES];      /* by op->id: see find_needs; of its first result */
	const struct ir_op **next; /* by op->id: the rest of the path of need[RATE_LOOPS] */
	bool *counted;             /* by op->id: parallel_costs_least has counted a read */
	uint32_t *used, now;       /* by op->id: == now: on a path of this section */
	uint32_t *hops;            /* by op->id: values after it on its path */
	uint32_t *visited, visit;  /* by op->id: == visit: seen by is_fed_back */
};

/* --- rates ------------------------------------------------------------------------------------ */

static double
best_rate(const struct device *d, int t, unsigned kernels)
{
	double share = 0;

	for (int k = REACH_flat; k < REACH_KERNELS; k++)
		share = kernels >> k & 1 ? fmax(share, d->reach[k][t].share) : share;
	return share * d->bandwidth;
}

static void
find_rates(struct traffic *t, const struct device *d)
{
	const unsigned columns = 1u << REACH_columns | 1u << REACH_both,
		       loops = columns | 1u << REACH_flat | 1u << REACH_rows,
		       rows = loops | 1u << REACH_gather | 1u << REACH_scatter;

	for (int k = 0; k < REACH_TYPES; k++) {
		t->rate[RATE_LOOPS][k] = best_rate(d, k, loops);
		t->rate[RATE_ROWS][k] = best_rate(d, k, rows);
		t->rate[RATE_COLUMNS][k] = best_rate(d, k, columns);
	}
}

/* Seconds of each device to read its part of a value. */
static double
seconds_of(const struct traffic *t, const struct ir_value *v, enum rate r)
{
	return parallel_share_bytes(t->s, v->type) /
	       t->rate[r][reach_memory_type((enum ir_dtype)v->type->dtype)];
}

/* --- the chain -------------------------------------------------------------------------------- */

static const struct ir_op *
maker_of(const struct ir_op *op, int j)
{
	return parallel_made(ir_operand(op, j))->op;
}

static int
larger(int a, int b)
{
	return a > b ? a : b;
}

/* The products of a longest chain have numbers from 1 on. */
static int *
find_chain(struct traffic *t)
{
	const uint32_t n = t->s->m->op_ids;
	int *number = ARRAY_ZERO(t, int, n), *up = ARRAY_ZERO(t, int, n),
	    *down = ARRAY_ZERO(t, int, n), last = 0;

	IR_FOR_OPS (op, t->main) {
		for (int j = 0; j < op->noperands; j++)
			up[op->id] = larger(up[op->id], up[maker_of(op, j)->id]);
		up[op->id] += t->multiplies[op->id];
		t->length = larger(t->length, up[op->id]);
	}
	for (const struct ir_op *op = t->main->last; op; op = op->prev) {
		down[op->id] += t->multiplies[op->id];
		for (int j = 0; j < op->noperands; j++) {
			int *of = &down[maker_of(op, j)->id];
			*of = larger(*of, down[op->id]);
		}
	}
	/* The first one of each number that depends on the one before, and leads to the last. */
	int *depends = ARRAY_ZERO(t, int, n);
	IR_FOR_OPS (op, t->main) {
		int *of = &depends[op->id];
		for (int j = 0; j < op->noperands; j++)
			*of = larger(*of, depends[maker_of(op, j)->id]);
		if (t->multiplies[op->id] && up[op->id] + down[op->id] == t->length + 1 &&
			up[op->id] == last + 1 && *of == last)
			*of = number[op->id] = ++last;
	}
	t->length = last;
	t->after = depends;
	return number;
}

static void
find_needed(struct traffic *t, const int *number)
{
	t->needed = ARRAY_NEW(t, int, t->s->m->op_ids);
	for (uint32_t i = 0; i < t->s->m->op_ids; i++)
		t->needed[i] = t->length + 1;
	for (const struct ir_op *op = t->main->last; op; op = op->prev)
		for (int j = 0; j < op->noperands; j++) {
			int *of = &t->needed[maker_of(op, j)->id];
			const int by = number[op->id] ? number[op->id] : t->needed[op->id];
			*of = by < *of ? by : *of;
		}
}

/* The section that the op belongs to; 0: none. */
static int
section_of(const struct traffic *t, const struct ir_op *op)
{
	const int i = t->after[op->id];

	return !t->multiplies[op->id] && i > 0 && t->needed[op->id] == i + 1 &&
			       t->needed[op->id] <= t->length && !t->s->inside[op->id]
		       ? i
		       : 0;
}

/* --- paths ------------------------------------------------------------------------------------ */

/* Does the op read every element of its operands, in loops? */
static bool
reads_all(const struct traffic *t, const struct ir_op *op)
{
	const struct fuse_role *r = &t->role[t->s->alike->number[op->id]];

	if (op->nresults != 1 || r->apart || op_is(op, TRAIT_NAMED))
		return false;
	for (int j = 0; j < op->noperands && r->kind != FUSE_ROW && r->kind != FUSE_LAST; j++)
		if (ir_type_elements(ir_operand_type(op, j)) > ir_type_elements(op->result[0].type))
			return false;
	return op->noperands > 0;
}

static bool
is_by_number(const struct ir_op *op)
{
	return op->code == OP_gather || op->code == OP_gather_nd || op->code == OP_scatter_add ||
	       op->code == OP_scatter_nd;
}

/* The least that a kernel reads to have a value, for each value: the value or, unless it is in memory
 * anyway, the largest need of what it is computed from. Free values have none. */
static void
find_needs(struct traffic *t)
{
	IR_FOR_OPS (op, t->main) {
		if (!op->nresults || parallel_is_free(op))
			continue;
		const double all = seconds_of(t, &op->result[0], RATE_LOOPS),
			     more = seconds_of(t, &op->result[0], RATE_COLUMNS) - all;
		t->need[RATE_LOOPS][op->id] = all;
		t->need[RATE_COLUMNS][op->id] = more;
		t->next[op->id] = NULL;
		if (t->multiplies[op->id] || !op->noperands || is_by_number(op))
			continue;
		if (!reads_all(t, op)) { /* of parts, what is computed again may need less */
			t->need[RATE_LOOPS][op->id] = t->need[RATE_COLUMNS][op->id] = 0;
			continue;
		}
		double largest = 0;
		for (int j = 0; j < op->noperands; j++) {
			const struct ir_op *from = maker_of(op, j);
			const double least = t->need[RATE_LOOPS][from->id];
			if (least > largest || (least == largest && least > 0 &&
						       t->hops[from->id] < t->hops[op->id])) {
				largest = least;
				t->next[op->id] = from;
				t->hops[op->id] = t->hops[from->id] + 1;
			}
		}
		t->need[RATE_LOOPS][op->id] = fmin(all, largest);
		const struct ir_op *next = t->next[op->id];
		t->need[RATE_COLUMNS][op->id] =
			next ? fmin(more, t->need[RATE_COLUMNS][next->id]) : 0;
	}
}

/* Does a kernel of the section start with a product that reads the value? Then it is read for that. */
static bool
is_fed(const struct traffic *t, const struct ir_op *op, int section)
{
	IR_FOR_USES (u, &op->result[0])
		if (t->multiplies[u->op->id])
			IR_FOR_USES (v, &u->op->result[0])
				if (section_of(t, v->op) == section)
					return true;
	return false;
}

/* Is `from` computed, without another product, from the result of one that reads a value of its path? */
static bool
is_fed_back(struct traffic *t, const struct ir_op *from)
{
	struct VEC(const struct ir_op *) list = {0};
	bool fed = false;

	t->visit++;
	VEC_PUSH(t, &list, from);
	for (int64_t i = 0; i < list.n && !fed; i++) {
		const struct ir_op *op = list.at[i];
		for (int j = 0; j < op->noperands; j++) {
			const struct ir_op *maker = maker_of(op, j);
			if (t->multiplies[op->id])
				for (const struct ir_op *u = from; u; u = t->next[u->id])
					fed = fed || u == maker;
			else if (t->visited[maker->id] != t->visit)
				VEC_PUSH(t, &list, maker);
			t->visited[maker->id] = t->visit;
		}
	}
	return fed;
}

/* Takes the path from a value for this section. False: it shares a value with another one, or may
 * cost nothing. */
static bool
take_path(struct traffic *t, const struct ir_op *from, int section)
{
	const struct ir_op *op, *last = from;

	for (op = from; op; op = t->next[op->id]) {
		if (t->used[op->id] == t->now || t->s->inside[op->id] ||
			(section && is_fed(t, op, section)))
			return false;
		last = op;
	}
	for (op = from; op; op = t->next[op->id])
		t->used[op->id] = t->now;
	const bool fresh = !section || !t->counted[last->id];
	t->counted[last->id] = t->counted[last->id] && !section;
	return fresh;
}

/* An op that a library may do at the end of a product. */
static bool
is_end(const struct ir_op *op)
{
	return op->code == OP_add || op->code == OP_relu;
}

/* Does the library do an op, of which nothing else of the section reads the result? */
static bool
ends_library(const struct traffic *t, const struct ir_op *op, int section)
{
	if (!is_end(op))
		return false;
	IR_FOR_USES (u, &op->result[0])
		if (section_of(t, u->op) == section && !is_end(u->op))
			return false;
	return true;
}

/* Is it what a library may make of a product, for an op that no library does? */
static bool
is_ended(const struct traffic *t, const struct ir_op *op, const struct ir_op *from)
{
	while (is_end(from) && t->next[from->id])
		from = t->next[from->id];
	return !is_end(op) && t->multiplies[from->id];
}

/* --- sections --------------------------------------------------------------------------------- */

/* Seconds of the reads of one op of section i. */
static double
reads_of(struct traffic *t, const struct ir_op *op, int i)
{
	const bool ends = is_end(op);
	double sum = 0;

	for (int j = 0; j < op->noperands && reads_all(t, op); j++) {
		const struct ir_op *from = maker_of(op, j);
		const bool product = t->multiplies[from->id];
		if (parallel_is_free(from) ||
			(section_of(t, from) == i && !is_ended(t, op, from)) ||
			(product && ends_library(t, op, i)) || !take_path(t, from, i))
			continue;
		const double least = t->need[RATE_LOOPS][from->id];
		sum += product && ends ? fmin(least, seconds_of(t, &op->result[0], RATE_LOOPS))
				       : least;
	}
	return sum;
}

ORDER_BY(largest_first, double, ORDER_UP(*y, *x))

/* The least ratio of the rate of loops to that of loops over rows by number. */
static double
slower_loops(const struct traffic *t)
{
	double least = 1;

	for (int k = 0; k < REACH_TYPES; k++)
		least = fmin(least, t->rate[RATE_LOOPS][k] / t->rate[RATE_ROWS][k]);
	return least;
}

/* Seconds by section, of which as many of the largest as there are rows by number are shorter. */
static void
add_sections(struct traffic *t, double *of, int rows, struct parallel_traffic *sum)
{
	double *sorted = ARRAY_ZERO(t, double, t->length + 1), saved = 0;

	for (int i = 1; i <= t->length; i++) {
		t->now++;
		for (uint32_t k = t->first[i]; k < t->first[i + 1]; k++)
			of[i] += reads_of(t, t->op[k], i);
		sorted[i] = of[i];
		sum->all += of[i];
		if (t->first_part[i])
			sum->first += of[i];
		if (t->second_part[i])
			sum->second += of[i];
	}
	qsort(sorted, (size_t)t->length + 1, sizeof *sorted, largest_first);
	for (int i = 0; i < rows && i <= t->length; i++)
		saved += sorted[i] * (1 - slower_loops(t));
	sum->all -= saved;
	sum->first = fmax(0, sum->first - saved);
	sum->second = fmax(0, sum->second - saved);
}

/* The ops of section i are op[first[i]] ... op[first[i + 1] - 1]; those of section 0 belong to none. */
static void
list_sections(struct traffic *t, const bool *before, const bool *after)
{
	const int *number = find_chain(t);
	uint32_t n = 0;

	find_needed(t, number);
	t->first = ARRAY_ZERO(t, uint32_t, t->length + 3);
	t->first_part = ARRAY_ZERO(t, bool, t->length + 2);
	t->second_part = ARRAY_ZERO(t, bool, t->length + 2);
	IR_FOR_OPS (op, t->main) {
		t->first[section_of(t, op) + 2]++;
		n++;
		if (!number[op->id])
			continue;
		const uint32_t node = t->s->node[op->id];
		t->first_part[number[op->id] - 1] = before[node];
		t->second_part[number[op->id]] = after[node];
	}
	t->op = ARRAY_NEW(t, const struct ir_op *, n);
	for (int i = 0; i <= t->length; i++)
		t->first[i + 2] += t->first[i + 1];
	IR_FOR_OPS (op, t->main)
		t->op[t->first[section_of(t, op) + 1]++] = op;
}

/* --- sums over leading dims ------------------------------------------------------------------- */

/* Could the kernel of a sum have an op of another kind that reads and writes so much more that the sum
 * does not matter to its rate? It goes over the dims of what is summed and further ones. */
static bool
may_be_small(const struct traffic *t, const struct ir_type *v)
{
	for (uint32_t i = 0; i < t->s->alike->n; i++) {
		const struct ir_op *op = t->s->alike->first[i];
		const struct ir_type *o = op->nresults ? op->result[0].type : NULL;
		bool prefix = o && o->rank > v->rank && v->rank > 0;
		for (int d = 0; prefix && d < v->rank; d++)
			prefix = o->dim[d] == v->dim[d] || v->dim[d] == 1;
		if (prefix && ir_type_elements(o) > ir_type_elements(v))
			return true;
	}
	return false;
}

/* A kernel with rows by number has their rate instead: it may have as many sums as one can have. */
static void
add_sums(struct traffic *t, const bool *after, int rows, struct parallel_traffic *sum)
{
	struct VEC(double) all = {0};
	double saved = 0;

	t->now++;
	IR_FOR_OPS (op, t->main) {
		if (t->role[t->s->alike->number[op->id]].kind != FUSE_LAST ||
			!op->result[0].type->rank || may_be_small(t, ir_operand_type(op, 0)))
			continue;
		const struct ir_op *from = maker_of(op, 0);
		if (parallel_is_free(from) || is_fed_back(t, from) || !take_path(t, from, 0))
			continue;
		const double more = t->need[RATE_COLUMNS][from->id];
		const uint32_t node = t->s->node[op->id];
		VEC_PUSH(t, &all, more);
		sum->all += more;
		sum->second += node != PARALLEL_NONE && after[node] ? more : 0;
	}
	if (all.n)
		qsort(all.at, (size_t)all.n, sizeof *all.at, largest_first);
	for (int64_t i = 0; i < all.n && i < (int64_t)rows * FUSE_MAX_SUMS; i++)
		saved += all.at[i];
	sum->all = fmax(0, sum->all - saved);
	sum->second = fmax(0, sum->second - saved);
}

/* --- all -------------------------------------------------------------------------------------- */

struct parallel_traffic
parallel_traffic(const struct parallel_step *s, const struct device *d, const bool *before,
	const bool *after)
{
	struct parallel_traffic sum = {0};
	const uint32_t n = s->m->op_ids;
	struct traffic *t = NEW(NULL, struct traffic);
	struct arena *a = arena_create(t);
	t->s = s;
	t->main = &ir_func_find(s->m, "main")->body;
	t->multiplies = ARRAY_ZERO(t, bool, n);
	t->counted = ARRAY_ZERO(t, bool, n);
	t->used = ARRAY_ZERO(t, uint32_t, n);
	t->hops = ARRAY_ZERO(t, uint32_t, n);
	t->visited = ARRAY_ZERO(t, uint32_t, n);
	t->next = ARRAY_ZERO(t, const struct ir_op *, n);
	for (int r = 0; r < NRATES; r++)
		t->need[r] = ARRAY_ZERO(t, double, n);
	t->role = ARRAY_ZERO(t, struct fuse_role, s->alike->n);
	for (uint32_t i = 0; i < s->alike->n; i++, arena_reset(a))
		if (s->alike->first[i]->block == t->main)
			t->role[i] = fuse_role(s->m, a, s->alike->first[i]);
	IR_FOR_OPS (op, t->main) {
		t->multiplies[op->id] = cost_is_product(op);
		for (int k = 0; k < op->noperands && k < 64; k++)
			if (s->part[op->id].reads >> k & 1 && !is_end(op))
				t->counted[maker_of(op, k)->id] = true;
	}
	find_rates(t, d);
	list_sections(t, before, after);
	find_needs(t);
	int rows = 0;
	IR_FOR_OPS (op, t->main)
		rows += is_by_number(op);
	add_sections(t, ARRAY_ZERO(t, double, t->length + 2), rows, &sum);
	add_sums(t, after, rows, &sum);
	talloc_free(t);
	return sum;
}
