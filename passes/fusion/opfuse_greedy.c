/*
 * policy=greedy, in three sweeps:
 *
 *   chains    in issue order, an op's kernel joins those that make its operands
 *   siblings  kernels that read one tensor, the largest first, read it once; then chains again,
 *             now that the kernels are known
 *   copies    from the last op to the first: ops are computed again by their readers, where that
 *             moves fewer bytes (duplicate fusion): first chains of elementwise ops, such as
 *             exp(f32(z) - top) from z in bf16, then single ops that are cheap
 *
 * At last sums over leading dims may leave their kernels: opfuse_sums.c.
 *
 * Two kernels a and b, a before b, become one at the place of b if no other kernel before b reads
 * from a: then no reader, and no collective, is delayed. Or at the place of a, if all that b reads
 * stands before a: then the results of b are available earlier, but those of a only when b is done,
 * so not if a collective reads from a.
 */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/base/number.h"
#include "ir/loops/scheme.h"
#include "ir/ops/alike.h"
#include "passes/analysis/cost/cost.h"
#include "passes/fusion/opfuse.h"

#include <stdlib.h>

enum greedy_limit {
	FAR = 64,     /* ops; moving an op further would keep its tensors alive much longer */
	READERS = 16, /* readers of a value that are examined; further ones are far apart */
	MISSED_REMARKS = 10, /* tensors named in remarks because they go through memory */
	CHAIN_DEPTH =
		6,      /* of a chain: shifted, scaled, masked, converted values are not longer, and
			    each op with two operands may double the visits */
	CHAIN_OPS = 16, /* copied for one reader */
	CHAIN_FLOPS = 20 /* operations of a function such as exp */
};

/* ---- joining ---- */

/* Do all other readers of kernel a come after b? */
static bool
nobody_waits(struct opfuse *u, uint32_t a, uint32_t b)
{
	const struct opfuse_kernel *own = &u->kernel[a];

	for (uint32_t i = 0; i < own->n; i++)
		for (uint32_t r = u->first[own->op[i]]; r < u->first[own->op[i] + 1]; r++) {
			const uint32_t in = u->home[u->reader[r]];
			if (in != a && in != b && u->kernel[in].place < u->kernel[b].place)
				return false;
		}
	return true;
}

/* Does a collective read from kernel a? */
static bool
is_sent(const struct opfuse *u, uint32_t a)
{
	const struct opfuse_kernel *own = &u->kernel[a];

	for (uint32_t i = 0; i < own->n; i++)
		for (uint32_t r = u->first[own->op[i]]; r < u->first[own->op[i] + 1]; r++)
			if (op_is(u->op[u->reader[r]], TRAIT_PARALLEL))
				return true;
	return false;
}

/* Do all operands of b, except a, stand before a? */
static bool
is_ready(struct opfuse *u, uint32_t a, uint32_t b)
{
	uint32_t n;
	const uint32_t *operand = opfuse_operands(u, b, &n);
	bool ready = true;

	for (uint32_t i = 0; i < n && ready; i++) {
		const uint32_t home = u->home[operand[i]];
		ready = home == a || u->kernel[home].place < u->kernel[a].place;
	}
	return ready;
}

/* Bytes that kernel k writes (*left), and bytes of its operands that only k and `with` still read
 * (*ended). */
static void
find_bytes(struct opfuse *u, uint32_t k, uint32_t with, double *left, double *ended)
{
	uint32_t n;
	const uint32_t *operand = opfuse_operands(u, k, &n);

	*left = *ended = 0;
	for (uint32_t i = 0; i < u->kernel[k].n; i++) {
		uint32_t in[1];
		if (opfuse_readers(u, u->kernel[k].op[i], in, 1))
			*left += u->bytes[u->kernel[k].op[i]];
	}
	for (uint32_t i = 0; i < n; i++) {
		bool last = !op_is(u->op[operand[i]], TRAIT_NAMED);
		/* Start at the last reader: if there are many, it is usually after k. */
		for (uint32_t r = u->first[operand[i] + 1]; r-- > u->first[operand[i]] && last;) {
			const uint32_t in = u->home[u->reader[r]];
			last = in == with || u->kernel[in].place <= u->kernel[k].place;
		}
		*ended += last ? u->bytes[operand[i]] : 0;
	}
}

/* Would less memory be free between the two kernels if a, the earlier one, ran at the place of
 * b? */
static bool
grows_late(struct opfuse *u, uint32_t a, uint32_t b)
{
	double left, ended;

	find_bytes(u, a, b, &left, &ended);
	return ended > left;
}

/* Would less memory be free between them if b ran at the place of a? */
static bool
grows_early(struct opfuse *u, uint32_t a, uint32_t b)
{
	double left, ended;

	find_bytes(u, b, a, &left, &ended);
	return left > ended;
}

/* Are the rows of the kernel so long that two of them exceed the cache? Then it goes over memory
 * several times, fused or not. */
static bool
has_long_rows(const struct opfuse *u, uint32_t kernel)
{
	for (uint32_t i = 0; i < u->kernel[kernel].n; i++) {
		const uint32_t op = u->kernel[kernel].op[i];
		const struct fuse_role *r = fuse_table_role(u->table, op);
		double elements = 1;
		for (int d = 0; d < r->rank; d++)
			elements *= (double)r->space[d];
		const double rows = (double)ir_type_local_bytes(u->m, u->op[op]->result[0].type) /
				    ir_dtype_bytes(u->op[op]->result[0].type->dtype);
		if (r->kind == FUSE_ROW && 2 * 8 * elements > SCHEME_ROW_BYTES * rows)
			return true;
	}
	return false;
}

enum how {
	HOW_LATE,  /* at the place of the later kernel */
	HOW_EITHER /* at the later place, or at the first; not over a long distance */
};

/* Joins kernels x and y if they can be one kernel; join() decides which number it has. */
static bool
try_join(struct opfuse *u, uint32_t x, uint32_t y, enum how how)
{
	const bool in_order = u->kernel[x].place < u->kernel[y].place;
	const uint32_t a = in_order ? x : y, b = in_order ? y : x;

	if (how == HOW_EITHER && u->kernel[b].place - u->kernel[a].place > FAR)
		return false;
	if (opfuse_check_join(u, a, b) != FUSE_POSSIBLE)
		return false;
	const uint32_t from = u->kernel[a].place, to = u->kernel[b].place;
	if (nobody_waits(u, a, b) && !opfuse_marked(u, from + 1, to + 1) &&
		(how == HOW_LATE || !grows_late(u, a, b)))
		opfuse_join(u, a, b, u->kernel[b].place);
	else if (how == HOW_EITHER && !opfuse_marked(u, from, to) && !is_sent(u, a) &&
		 is_ready(u, a, b) && !grows_early(u, a, b) && !has_long_rows(u, a))
		opfuse_join(u, a, b, u->kernel[a].place);
	else
		return false;
	return true;
}

static void
join_chains(struct opfuse *u, enum how how)
{
	for (uint32_t i = 0; i < u->nops; i++) {
		if (!fuse_may(u->table, i))
			continue;
		for (uint32_t j = 0; j < opfuse_noperands(u, i); j++) {
			const uint32_t maker = opfuse_maker(u, i, j);
			if (maker != OPFUSE_NONE && fuse_may(u->table, maker) &&
				u->home[maker] != u->home[i])
				try_join(u, u->home[maker], u->home[i], how);
		}
	}
}

/* ---- siblings ---- */

struct tensor {
	double bytes;
	uint32_t op;
};

ORDER_BY(largest_first, struct tensor, DOWN(bytes), UP(op))

/* All ops with a result, the largest result first. */
static struct tensor *
by_size(struct opfuse *u)
{
	struct tensor *t = ARRAY_NEW(u, struct tensor, u->nops + 1);

	for (uint32_t i = 0; i < u->nops; i++)
		t[i] = (struct tensor){u->bytes[i], i};
	qsort(t, u->nops, sizeof *t, largest_first);
	return t;
}

static void
join_readers(struct opfuse *u, uint32_t op)
{
	uint32_t in[READERS], n = opfuse_readers(u, op, in, READERS);

	for (uint32_t i = 0; i < n && n <= READERS; i++)
		for (uint32_t j = i + 1; j < n; j++) {
			const bool both = u->kernel[in[i]].n && u->kernel[in[j]].n;
			if (both && fuse_may(u->table, u->kernel[in[i]].op[0]) &&
				fuse_may(u->table, u->kernel[in[j]].op[0]))
				try_join(u, in[i], in[j], HOW_EITHER);
		}
}

static void
join_siblings(struct opfuse *u, const struct tensor *t)
{
	for (uint32_t i = 0; i < u->nops; i++)
		if (!fuse_is_scalar(u->op[t[i].op]))
			join_readers(u, t[i].op);
}

/* ---- copies ---- */

struct copier {
	struct opfuse *u;
	double bytes_a_flop; /* bytes moved in the time of one floating-point operation */
	double *flops;       /* [alike->n]; -1: not computed yet */
};

/* Additional bytes that kernel k reads if it computes op itself. */
static double
more_to_read(const struct opfuse *u, uint32_t op, uint32_t k)
{
	const struct ir_op *o = u->op[op];
	double sum = 0;

	for (int j = 0; j < o->noperands; j++) {
		const uint32_t maker = opfuse_maker(u, op, (uint32_t)j);
		bool known = fuse_is_scalar(u->op[maker]) || opfuse_has(u, k, maker);
		for (uint32_t i = 0; i < u->kernel[k].n && !known; i++)
			known = opfuse_reads(u, u->kernel[k].op[i], maker);
		sum += known ? 0 : (double)ir_type_local_bytes(u->m, ir_operand_type(o, j));
	}
	return sum;
}

static double
flops_of(const struct copier *c, uint32_t op)
{
	double *flops = &c->flops[alike_number(c->u->alike, c->u->op[op])];

	if (*flops < 0)
		*flops = op_work(c->u->m, c->u->op[op]).flops;
	return *flops;
}

/* Bytes saved if kernel k computes op instead of reading it; arithmetic is converted to bytes. */
static double
gain(struct copier *c, uint32_t op, uint32_t k)
{
	struct opfuse *u = c->u;

	if (!opfuse_may_copy(u, &op, 1, k, false))
		return -1;
	return u->bytes[op] - more_to_read(u, op, k) - flops_of(c, op) * c->bytes_a_flop;
}

/* Bytes written and, if op is alone in its home, read to make op: saved if all readers have
 * copies. */
static double
bytes_to_make(const struct opfuse *u, uint32_t op)
{
	double sum = u->bytes[op];

	if (u->kernel[u->home[op]].n == 1)
		for (int j = 0; j < u->op[op]->noperands; j++)
			sum += fuse_is_scalar(ir_operand(u->op[op], j)->op)
				       ? 0
				       : (double)ir_type_local_bytes(
						 u->m, ir_operand_type(u->op[op], j));
	return sum;
}

/* Copies op into all its readers if that pays in total, else into those where it pays alone. */
static void
place_copies(struct copier *c, uint32_t op)
{
	struct opfuse *u = c->u;
	uint32_t in[READERS], n = opfuse_readers(u, op, in, READERS);
	double each[READERS], sum = bytes_to_make(u, op);
	bool all = true;

	if (!n || n > READERS)
		return;
	for (uint32_t i = 0; i < n; i++) {
		each[i] = gain(c, op, in[i]);
		all &= each[i] >= 0 || opfuse_may_copy(u, &op, 1, in[i], false);
		sum += each[i];
	}
	for (uint32_t i = 0; i < n; i++)
		if ((all && sum > 0) || each[i] > 0)
			opfuse_copy(u, op, in[i]);
}

static bool
may_be_copied(const struct opfuse *u, uint32_t op)
{
	return fuse_may(u->table, op) && fuse_table_role(u->table, op)->kind == FUSE_MAP &&
	       !opfuse_heavy(u, op);
}

/* The f32 and memory rates of the cluster's device, or of the generic one. */
static double
bytes_a_flop(const struct opfuse *u)
{
	const struct device *d =
		u->run->cost ? cost_model_device(u->run->cost) : device_generic(u->run->scratch);
	return d->bandwidth / d->scalar_flops;
}

/* ---- chains ---- */

/* Elementwise ops of one kernel that a reader may compute again: in ascending order. */
struct chain {
	struct copier *c;
	uint32_t home, reader;
	uint32_t op[CHAIN_OPS], n;
	double bytes; /* of what it starts with, with the bytes to write what is not in memory */
	bool whole;   /* there was room for all */
	bool product; /* it starts with a product that is in memory anyway */
};

/* Is op a product whose rows are reduced in its kernel, which reads them from memory? */
static bool
is_stored_product(const struct opfuse *u, uint32_t op)
{
	const struct opfuse_kernel *home = &u->kernel[u->home[op]];
	bool rows = false;

	for (uint32_t i = 0; i < home->n; i++)
		rows |= fuse_table_role(u->table, home->op[i])->kind == FUSE_ROW;
	return rows && fuse_table_role(u->table, op)->kind == FUSE_STARTS;
}

static bool
is_stored(struct opfuse *u, uint32_t op)
{
	uint32_t in[1];

	return u->kernel[u->home[op]].n == 1 || is_stored_product(u, op) ||
	       opfuse_readers(u, op, in, 1);
}

/* Does the reader have the value without another read? */
static bool
is_at_hand(const struct chain *x, uint32_t op)
{
	const struct opfuse *u = x->c->u;
	const struct opfuse_kernel *k = &u->kernel[x->reader];
	bool known = fuse_is_scalar(u->op[op]) || opfuse_has(u, x->reader, op);

	for (uint32_t i = 0; i < k->n && !known; i++)
		known = opfuse_reads(u, k->op[i], op);
	return known;
}

static void
take(struct chain *x, uint32_t op)
{
	uint32_t at = 0;

	while (at < x->n && x->op[at] < op)
		at++;
	if (at < x->n && x->op[at] == op)
		return;
	x->whole = x->whole && x->n < CHAIN_OPS;
	if (!x->whole)
		return;
	for (uint32_t i = x->n++; i > at; i--)
		x->op[i] = x->op[i - 1];
	x->op[at] = op;
}

static bool
can_compute(const struct chain *x, uint32_t op)
{
	const struct opfuse *u = x->c->u;
	const struct fuse_role *r = fuse_table_role(u->table, op);

	return u->home[op] == x->home && r->kind == FUSE_MAP && !r->apart && fuse_may(u->table, op);
}

static double
memory_of(const struct chain *x, uint32_t op)
{
	return x->c->u->bytes[op] * (is_stored(x->c->u, op) ? 1 : 2);
}

/* Arithmetic of the op, as bytes. */
static double
arithmetic_of(const struct chain *x, uint32_t op)
{
	const bool heavy = opfuse_heavy(x->c->u, op);

	return flops_of(x->c, op) * x->c->bytes_a_flop * (heavy ? CHAIN_FLOPS : 1);
}

/* Bytes that move, with arithmetic as bytes, for the reader to have the value of op: from memory,
 * or computed by it. */
static double
cost_of(const struct chain *x, uint32_t op, int depth)
{
	const struct opfuse *u = x->c->u;

	if (is_at_hand(x, op))
		return 0;
	const double memory = memory_of(x, op);
	if (!depth || !can_compute(x, op))
		return memory;
	double work = arithmetic_of(x, op);
	for (uint32_t j = 0; j < opfuse_noperands(u, op) && work <= memory; j++)
		work += cost_of(x, opfuse_maker(u, op, j), depth - 1);
	return work <= memory ? work : memory;
}

/* Adds op to the chain, and what it is computed from; returns what cost_of does. */
static double
grow(struct chain *x, uint32_t op, int depth)
{
	const struct opfuse *u = x->c->u;
	double sum = arithmetic_of(x, op);

	take(x, op);
	for (uint32_t j = 0; j < opfuse_noperands(u, op); j++) {
		const uint32_t from = opfuse_maker(u, op, j);
		if (is_at_hand(x, from))
			continue;
		const double memory = memory_of(x, from);
		if (depth && can_compute(x, from) && cost_of(x, from, depth) < memory) {
			sum += grow(x, from, depth - 1);
			continue;
		}
		sum += memory;
		x->bytes += memory;
		x->product |= u->home[from] == x->home && is_stored_product(u, from);
	}
	return sum;
}

/*
 * Finds the chain of which op is the end, for one reader, and what it costs. False: none is worth
 * it. Functions such as exp are computed twice only for values that are much larger than what they
 * are computed from, or of a product that is kept in place of them: with the bytes written, three
 * eighths or five eighths of two times the value's. A barrier between them does not matter, as what
 * is kept instead of the value is smaller.
 */
static bool
find_chain(struct chain *x, uint32_t op, double *cost)
{
	*cost = grow(x, op, CHAIN_DEPTH);
	return x->whole && 8 * x->bytes < (x->product ? 5 : 3) * 2 * x->c->u->bytes[op] &&
	       opfuse_may_copy(x->c->u, x->op, x->n, x->reader, true);
}

/* Lets all readers of op compute it from the start of its chain, if that moves fewer bytes. */
static void
copy_chain(struct copier *c, uint32_t op)
{
	struct opfuse *u = c->u;
	uint32_t in[READERS];
	double sum = u->bytes[op];

	if (u->kernel[u->home[op]].n == 1)
		return;
	const uint32_t n = opfuse_readers(u, op, in, READERS);
	if (!n || n > READERS)
		return;
	struct chain *x = ARRAY_NEW(u, struct chain, n);
	bool possible = true;
	for (uint32_t i = 0; i < n && possible; i++) {
		double bytes;
		x[i] = (struct chain){.c = c, .home = u->home[op], .reader = in[i], .whole = true};
		possible =
			fuse_may(u->table, u->kernel[in[i]].op[0]) && find_chain(&x[i], op, &bytes);
		sum += possible ? u->bytes[op] - bytes : 0;
	}
	for (uint32_t i = 0; i < n && possible && sum > 0; i++)
		for (uint32_t k = 0; k < x[i].n; k++)
			opfuse_copy(u, x[i].op[k], in[i]);
	array_free(x);
}

static void
copy_cheap_ops(struct opfuse *u)
{
	struct copier c = {u, bytes_a_flop(u), ARRAY_NEW(u, double, u->alike->n)};

	for (uint32_t i = 0; i < u->alike->n; i++)
		c.flops[i] = -1;
	for (uint32_t i = u->nops; i-- > 0;)
		if (fuse_may(u->table, i) && fuse_table_role(u->table, i)->kind == FUSE_MAP &&
			!fuse_table_role(u->table, i)->apart)
			copy_chain(&c, i);
	for (uint32_t i = u->nops; i-- > 0;)
		if (may_be_copied(u, i))
			place_copies(&c, i);
	array_free(c.flops);
}

/* ---- what was not fused ---- */

/* Why the reader in kernel `in` does not share a kernel with op; NULL: no remark. */
static const char *
reason(struct opfuse *u, uint32_t op, uint32_t in)
{
	const uint32_t home = u->home[op];

	if (!fuse_may(u->table, u->kernel[in].op[0]))
		return NULL;
	const enum fuse_verdict v = opfuse_check_join(u, home, in);
	return v == FUSE_POSSIBLE ? "ops that depend on the first have to run before the second"
				  : fuse_verdict_text(v);
}

static void
remark_missed(struct opfuse *u, const struct tensor *t)
{
	int left = u->silent ? 0 : MISSED_REMARKS;
	char bytes[NUMBER_TEXT];

	for (uint32_t i = 0; i < u->nops && left; i++) {
		uint32_t in[1];
		if (!fuse_may(u->table, t[i].op) || !opfuse_readers(u, t[i].op, in, 1))
			continue;
		const char *why = reason(u, t[i].op, in[0]);
		if (!why)
			continue;
		pass_remark(u->run, u->op[t[i].op], PASS_MISSED, "%s pass through memory to %s: %s",
			number_bytes(bytes, t[i].bytes),
			op_name((enum op_code)u->op[u->kernel[in[0]].place]->code), why);
		left--;
	}
}

void
opfuse_greedy(struct opfuse *u)
{
	struct tensor *t = by_size(u);

	join_chains(u, HOW_LATE);
	join_siblings(u, t);
	join_chains(u, HOW_EITHER);
	copy_cheap_ops(u);
	opfuse_split_sums(u);
	remark_missed(u, t);
	array_free(t);
}
