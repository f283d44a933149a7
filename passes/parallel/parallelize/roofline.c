/*
 * What kernels have to read and write on a device whose kernels have no reached rates: part of the bound
 * of bound.c. There a kernel takes its arithmetic or its bytes, whichever is longer, so that what an op
 * moves may be hidden by the arithmetic of a product in the same kernel. What counts:
 *
 *  - A product: the larger of its arithmetic and the bytes of its operands, and of its result if that has
 *    to be in memory. It reads nothing of its kernel (fuse.h).
 *  - An op that never shares a kernel: all its bytes.
 *  - Any other op that can share a kernel only with products that count by their bytes alone: those of
 *    operands that are in memory in any case, each for one of its readers, and of its result if it has
 *    to be in memory, for a product or as the next value of a param or state.
 *
 * An op can be in the kernel of a product if
 *
 *  - the loops of both can be equal, each dim divided by some number that divides the number of devices,
 *  - and neither depends on the other, or all paths from the product to it are of ops that a kernel can
 *    have: no other product, no sum over leading dims.
 *
 * What such a path excludes is read from memory: in a batch normalization, the result of the convolution
 * for what depends on its mean. The backward pass may instead compute again what it reads of the forward
 * pass, so that nothing counts where one reads the other.
 */
#include "ir/base/alloc.h"
#include "ir/base/arena.h"
#include "passes/analysis/cost/internal.h"
#include "passes/fuse/role.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <talloc.h>

/* Pairs of an op and a product: 32 MB in each of three sets. Steps with more count products alone. */
static const uint64_t most_pairs = UINT64_C(1) << 28;

struct roofline {
	struct parallel_step *s;
	const struct ir_block *main;
	struct alike *alike;
	struct fuse_role *role; /* by alike number */
	struct VEC(const struct ir_op *) product;
	uint32_t words; /* of a set of products */
	bool *rooted,
		*used; /* by op->id: a path leads to memory; it is on one that counts, or counts
				for a product */
	uint64_t *before, *after, *with; /* by op->id, sets of products: it depends on them, they on
					       it, it can end their kernels */
};

static const struct ir_op *
maker_of(const struct ir_op *op, int k)
{
	return parallel_made(ir_operand(op, k))->op;
}

static const struct fuse_role *
role_of(const struct roofline *r, const struct ir_op *op)
{
	return &r->role[alike_number(r->alike, op)];
}

static uint64_t *
set_of(const struct roofline *r, uint64_t *sets, const struct ir_op *op)
{
	return &sets[(size_t)op->id * r->words];
}

static bool
has(const struct roofline *r, uint64_t *sets, const struct ir_op *op, int64_t product)
{
	return set_of(r, sets, op)[product / 64] >> (product % 64) & 1;
}

static bool
is_alone(const struct roofline *r, const struct ir_op *op)
{
	return op_is(op, TRAIT_PURE) && cost_op_kind(r->s->m, op) == COST_COMPUTE &&
	       role_of(r, op)->kind == FUSE_NONE && !cost_is_product(op) && !op->body &&
	       !parallel_is_free(op);
}

/* --- which kernels an op can be in ---------------------------------------------------------------- */

/* Can a / x = b / y, with numbers x and y that divide n? */
static bool
may_equal(int64_t a, int64_t b, int64_t n)
{
	for (int64_t x = 1; x <= n; x++)
		for (int64_t y = 1; n % x == 0 && y <= n; y++)
			if (n % y == 0 && a * y == b * x)
				return true;
	return false;
}

/* Can the loops of the op be the first ones of the product? */
static bool
fits(const struct fuse_role *op, const struct fuse_role *product, int64_t devices)
{
	for (int d = 0; d < op->rank; d++)
		if (devices % op->space[d] != 0 &&
			(d >= product->rank ||
				!may_equal(op->space[d], product->space[d], devices)))
			return false;
	return true;
}

static void
find_sets(struct roofline *r)
{
	int64_t product = 0;

	IR_FOR_OPS (op, r->main) {
		uint64_t *before = set_of(r, r->before, op), *with = set_of(r, r->with, op);
		for (int k = 0; k < op->noperands; k++)
			for (uint32_t w = 0; w < r->words; w++)
				before[w] |= set_of(r, r->before, maker_of(op, k))[w];
		for (uint32_t w = 0; w < r->words; w++)
			with[w] = before[w];
		for (int k = 0; k < op->noperands; k++) {
			const struct ir_op *from = maker_of(op, k);
			const uint8_t kind = role_of(r, from)->kind;
			const bool open =
				(kind == FUSE_MAP || kind == FUSE_ROW || kind == FUSE_STARTS) &&
				!(role_of(r, op)->apart >> k & 1);
			for (uint32_t w = 0; w < r->words; w++)
				with[w] &= ~set_of(r, r->before, from)[w] |
					   (open ? set_of(r, r->with, from)[w] : 0);
		}
		if (cost_is_product(op)) {
			before[product / 64] |= UINT64_C(1) << (product % 64);
			for (uint32_t w = 0; w < r->words; w++)
				with[w] = 0;
			with[product / 64] = UINT64_C(1) << (product % 64);
			product++;
		}
	}
	for (const struct ir_op *op = r->main->last; op; op = op->prev) {
		uint64_t *after = set_of(r, r->after, op);
		if (cost_is_product(op)) {
			product--;
			after[product / 64] |= UINT64_C(1) << (product % 64);
		}
		for (int k = 0; k < op->noperands; k++)
			for (uint32_t w = 0; w < r->words; w++)
				set_of(r, r->after, maker_of(op, k))[w] |= after[w];
	}
}

/* Can the op be in the kernel of a product whose arithmetic counts? */
static bool
may_hide(const struct roofline *r, const struct ir_op *op)
{
	const int64_t devices = ir_devices(r->s->m);

	for (int64_t i = 0; i < r->product.n; i++) {
		const struct ir_op *p = r->product.at[i];
		const bool apart = !has(r, r->before, op, i) && !has(r, r->after, op, i);
		if (r->s->part[p->id].counts != PARALLEL_BYTES &&
			(apart || has(r, r->with, op, i)) &&
			fits(role_of(r, op), role_of(r, p), devices))
			return true;
	}
	return false;
}

/* --- what counts ---------------------------------------------------------------------------------- */

/* Does the value come from memory wherever it is read, unless its own kernel has it? */
static bool
is_root(const struct roofline *r, const struct ir_op *op)
{
	return op_is(op, TRAIT_NAMED) || is_alone(r, op) ||
	       (cost_is_product(op) && !r->s->several[op->id]);
}

/* The operand of an op from which a kernel that computes the result itself reads as many bytes as the
 * result has, or more; NULL: there is none. */
static const struct ir_op *
next_of(const struct roofline *r, const struct ir_op *op)
{
	const struct ir_type *t = op->nresults == 1 ? op->result[0].type : NULL;
	const struct fuse_role *role = role_of(r, op);

	if (role->kind != FUSE_MAP || r->s->inside[op->id])
		return NULL;
	for (int k = 0; k < op->noperands; k++) {
		const struct ir_op *from = maker_of(op, k);
		const struct ir_type *u = ir_operand_type(op, k);
		if (!(role->apart >> k & 1) && r->rooted[from->id] && !r->used[from->id] &&
			ir_type_same_dims(t, u) &&
			ir_dtype_bytes((enum ir_dtype)u->dtype) >=
				ir_dtype_bytes((enum ir_dtype)t->dtype))
			return from;
	}
	return NULL;
}

/* Is the result of the product in memory where the op, or what it is computed from, reads it? */
static bool
is_apart(const struct roofline *r, const struct ir_op *op, const struct ir_op *product)
{
	for (int64_t i = 0; i < r->product.n; i++)
		if (r->product.at[i] == product)
			return !has(r, r->with, op, i) &&
			       r->s->forward[op->id] == r->s->forward[product->id];
	return false;
}

/* Takes a path from a value that the op reads to what it is computed from in memory. Kernels read one
 * value of it, in the layout in which the op has it. */
static bool
take_path(struct roofline *r, const struct ir_op *op, const struct ir_op *from)
{
	const struct ir_op *last = from;

	while (last && !is_root(r, last))
		last = r->used[last->id] ? NULL : next_of(r, last);
	if (!last || r->used[last->id] || (cost_is_product(last) && !is_apart(r, op, last)))
		return false;
	for (const struct ir_op *at = from; at != last;) {
		const struct ir_op *next = next_of(r, at);
		r->used[at->id] = true;
		at = next;
	}
	r->used[last->id] = true;
	return true;
}

static void
count_products(struct roofline *r, const struct device *d, const bool *written)
{
	for (int64_t i = 0; i < r->product.n; i++) {
		const struct ir_op *op = r->product.at[i];
		struct parallel_part *part = &r->s->part[op->id];
		const double peak = device_flops(d, ir_operand_type(op, 0)->dtype);
		double bytes = 0;
		for (int k = 0; k < op->noperands; k++) {
			bool again = parallel_is_free(maker_of(op, k));
			for (int j = 0; j < k; j++)
				again = again || parallel_made(ir_operand(op, j)) ==
							 parallel_made(ir_operand(op, k));
			if (again)
				continue;
			part->reads |= UINT64_C(1) << k;
			bytes += (double)ir_type_local_bytes(r->s->m, ir_operand_type(op, k));
		}
		part->writes = written[op->id];
		if (part->writes)
			bytes += (double)ir_type_local_bytes(r->s->m, op->result[0].type);
		const bool moves =
			!(peak > 0) ||
			bytes / d->bandwidth > cost_kernel_work(r->s->m, op).flops / peak;
		part->counts = r->s->several[op->id] ? PARALLEL_FLOPS
			       : moves               ? PARALLEL_BYTES
						     : PARALLEL_LARGER;
	}
}

/* Reads count for the last op that has them, so that they count after what it depends on. */
static void
count_others(struct roofline *r, const bool *written)
{
	IR_FOR_OPS (op, r->main)
		r->rooted[op->id] = op->nresults == 1 && (is_root(r, op) || next_of(r, op));
	for (const struct ir_op *op = r->main->last; op; op = op->prev) {
		struct parallel_part *part = &r->s->part[op->id];
		if (is_alone(r, op))
			part->counts = op->result[0].uses ? PARALLEL_WHOLE : PARALLEL_BYTES;
		const struct fuse_role *role = role_of(r, op);
		if (cost_is_product(op) || role->kind == FUSE_NONE || r->s->inside[op->id] ||
			may_hide(r, op))
			continue;
		part->writes = written[op->id];
		for (int k = 0; k < op->noperands && k < 64; k++)
			if (!(role->apart >> k & 1) && r->rooted[maker_of(op, k)->id] &&
				take_path(r, op, maker_of(op, k)))
				part->reads |= UINT64_C(1) << k;
	}
}

void
parallel_find_bytes(struct parallel_step *s, const struct device *d)
{
	struct roofline *r = NEW(NULL, struct roofline);
	const uint32_t n = s->m->op_ids;
	struct arena *a = arena_create(r);

	r->s = s;
	r->main = &ir_func_find(s->m, "main")->body;
	r->alike = alike_create(r, s->m, r->main);
	r->role = ARRAY_ZERO(r, struct fuse_role, r->alike->n);
	for (uint32_t i = 0; i < r->alike->n; i++, arena_reset(a))
		if (r->alike->first[i]->block == r->main)
			r->role[i] = fuse_role(s->m, a, r->alike->first[i]);
	bool *written = ARRAY_ZERO(r, bool, n); /* by op->id: its only result must be in memory */
	r->rooted = ARRAY_ZERO(r, bool, n);
	r->used = ARRAY_ZERO(r, bool, n);
	IR_FOR_OPS (op, r->main) {
		if (cost_is_product(op))
			VEC_PUSH(r, &r->product, op);
		for (int k = 0; k < op->noperands; k++) {
			const uint32_t from = maker_of(op, k)->id;
			r->used[from] = r->used[from] || cost_is_product(op);
			written[from] = written[from] || cost_is_product(op) ||
					op->code == OP_update || is_alone(r, op) ||
					role_of(r, op)->apart >> k & 1;
		}
	}
	count_products(r, d, written);
	r->words = (uint32_t)((r->product.n + 63) / 64);
	if (r->words * UINT64_C(64) * n <= most_pairs) {
		r->before = ARRAY_ZERO(r, uint64_t, (size_t)n * r->words + 1);
		r->after = ARRAY_ZERO(r, uint64_t, (size_t)n * r->words + 1);
		r->with = ARRAY_ZERO(r, uint64_t, (size_t)n * r->words + 1);
		find_sets(r);
		count_others(r, written);
	}
	talloc_free(r);
}
