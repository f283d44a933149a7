/*
 * Kernels of several products, as for attention (opfuse{online}): what they may have inside, and how
 * often they compute a product at least, for the bound of bound.c.
 */
#include "ir/base/alloc.h"
#include "ir/ops/form.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/estimate/reach.h"
#include "passes/fuse/fuse.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <math.h>
#include <talloc.h>

/* Is it one of several products of a kind in one call, as of all heads of attention? */
static bool
is_batched(const struct ir_op *op)
{
	struct form f;
	bool batched = false;

	if (!cost_is_product(op) || op->nresults != 1 || !form_exists((enum op_code)op->code) ||
		!form_shape(op->block->func->module, op, op->result[0].type, &f, NULL))
		return false;
	for (int i = 0; i < f.nindices; i++) {
		bool all = f.size[i] > 1 && form_access_has(&f.out, i);
		for (int k = 0; k < f.ninputs; k++)
			all = all && form_access_has(&f.in[k], i);
		batched = batched || all;
	}
	return batched;
}

/* Does it sum few enough products of elements for a kernel to compute it again (FUSE_MAX_REDUCED)? No
 * such kernel begins with a convolution. */
static bool
is_short(const struct ir_op *op)
{
	struct form f;
	double summed = 1;

	if (!cost_is_product(op))
		return false;
	if (op->nresults != 1 || !form_exists((enum op_code)op->code) ||
		!form_shape(op->block->func->module, op, op->result[0].type, &f, NULL))
		return true;
	if (form_has_computed(&f))
		return false;
	for (int i = 0; i < f.nindices; i++)
		summed *= form_access_has(&f.out, i) || f.size[i] < 1 ? 1 : (double)f.size[i];
	return summed <= FUSE_MAX_REDUCED;
}

/* Sets s->inside for the ops on paths without a product from those that start to any product. */
static void
find_between(struct parallel_step *s, const struct ir_block *main, const bool *starts)
{
	bool *leads = ARRAY_ZERO(s, bool, s->m->op_ids);

	IR_FOR_OPS (op, main) {
		s->inside[op->id] = false;
		for (int k = 0; k < op->noperands && !cost_is_product(op); k++) {
			const uint32_t from = parallel_made(ir_operand(op, k))->op->id;
			s->inside[op->id] |= starts[from] || s->inside[from];
		}
	}
	for (const struct ir_op *op = main->last; op; op = op->prev) {
		for (int k = 0; k < op->noperands && (cost_is_product(op) || leads[op->id]); k++)
			leads[parallel_made(ir_operand(op, k))->op->id] = true;
		s->inside[op->id] = s->inside[op->id] && leads[op->id];
	}
	array_free(leads);
}

static bool
makes_smaller(const struct ir_op *op)
{
	for (int k = 0; k < op->noperands; k++)
		if (op->nresults == 1 && ir_type_elements(ir_operand_type(op, k)) >
						 ir_type_elements(op->result[0].type))
			return true;
	return false;
}

/* Is a reduction of what is made of the product's result inside? Otherwise no kernel goes on. */
static bool
is_reduced(const struct parallel_step *s, const struct ir_op *product, uint32_t *seen)
{
	struct VEC(const struct ir_op *) list = {0};
	void *scratch = alloc_scratch(NULL);
	bool reduced = false;

	VEC_PUSH(scratch, &list, product);
	for (int64_t i = 0; i < list.n && !reduced; i++)
		for (int r = 0; r < list.at[i]->nresults; r++)
			IR_FOR_USES (u, &list.at[i]->result[r]) {
				if (!s->inside[u->op->id] || seen[u->op->id] == product->id)
					continue;
				seen[u->op->id] = product->id;
				reduced = reduced || makes_smaller(u->op);
				VEC_PUSH(scratch, &list, u->op);
			}
	talloc_free(scratch);
	return reduced;
}

/*
 * What one kernel of several products may have between them: ops on paths from a product that is cheap
 * to compute again, and whose values are reduced on the way, to another product. Such a kernel takes no
 * time for what it keeps, nor for what it reads while it computes.
 */
void
parallel_find_inside(struct parallel_step *s)
{
	const struct ir_block *main = &ir_func_find(s->m, "main")->body;
	bool *starts = ARRAY_ZERO(s, bool, s->m->op_ids);
	uint32_t *seen = ARRAY_NEW(s, uint32_t, s->m->op_ids);

	for (uint32_t i = 0; i < s->m->op_ids; i++)
		seen[i] = UINT32_MAX;
	IR_FOR_OPS (op, main)
		starts[op->id] = is_short(op);
	find_between(s, main, starts);
	IR_FOR_OPS (op, main)
		starts[op->id] = starts[op->id] && is_reduced(s, op, seen);
	find_between(s, main, starts);
	IR_FOR_OPS (op, main) {
		s->several[op->id] = starts[op->id];
		for (int k = 0; k < op->noperands && cost_is_product(op); k++) {
			const uint32_t from = parallel_made(ir_operand(op, k))->op->id;
			s->several[op->id] |= starts[from] || s->inside[from];
		}
	}
	array_free(starts);
	array_free(seen);
}

/* --- products that are computed again ----------------------------------------------------------- */

/* At most that many ops are between a product and those that read what is made of its result. */
enum { MOST_WIDE = 256 };

/* Scaled, converted, transposed, reshaped: what attention leaves reaches the next product in fewer ops. */
enum { PARTING_STEPS = 8 };

/* Readers of one kind can share a kernel. */
struct readers {
	const struct ir_op *op[MOST_WIDE];
	uint32_t n, kinds;
	struct ir_type const *wide;
	const struct ir_op *forward; /* a reader of the forward pass */
	bool backward;
	double least;  /* seconds: the least of the products if no kernel has several of them */
	double inside; /* the most of one of them in such a kernel */
};

/* A kernel goes over rows or over columns, as its result has the indices of one of both: bit d of the
 * result: the reader sums over dim d of the wide value. */
static uint32_t
summed_dims(const struct ir_module *m, const struct ir_op *reader, const struct ir_op *wide)
{
	struct form f;
	uint32_t dims = 0;

	if (!form_shape(m, reader, reader->result[0].type, &f, NULL))
		return 0;
	for (int k = 0; k < f.ninputs; k++)
		for (int d = 0;
			d < f.in[k].rank && parallel_made(ir_operand(reader, k))->op == wide; d++)
			if (f.size[f.in[k].index[d]] > 1 &&
				form_access_dim(&f.out, f.in[k].index[d]) < 0)
				dims |= 1u << d;
	return dims;
}

static void
add_product(const struct parallel_step *s, const struct device *d, const struct ir_op *op,
	struct readers *r)
{
	const struct reach_op x =
		reach_op_of(d, s->m, op, cost_kernel_work(s->m, op), REACH_ALIGNED);

	r->least = fmin(r->least, x.seconds);
	r->inside = fmax(r->inside, x.inside);
}

/* Follows the values of the shape of a product's result to the products that read them. */
static void
find_readers(const struct parallel_step *s, const struct device *d, const struct ir_op *product,
	struct readers *r)
{
	uint32_t masks[2] = {
		0, 0}; /* of the forward pass and of the other readers: bit 1 << dims */

	*r = (struct readers){.op = {product}, .n = 1, .least = INFINITY};
	r->wide = product->result[0].type;
	add_product(s, d, product, r);
	for (uint32_t i = 0; i < r->n; i++)
		IR_FOR_USES (u, &r->op[i]->result[0]) {
			const struct ir_op *op = u->op;
			bool known = false;
			for (uint32_t k = 0; k < r->n; k++)
				known = known || r->op[k] == op;
			if (known)
				continue;
			if (is_batched(op)) {
				const uint32_t dims = summed_dims(s->m, op, r->op[i]);
				const bool forward = s->forward[op->id];
				masks[!forward] |= dims && dims < 32 ? 1u << dims : 0;
				r->forward = forward ? op : r->forward;
				r->backward |= !forward;
				add_product(s, d, op, r);
			} else if (s->inside[op->id] && op->nresults == 1 && r->n < MOST_WIDE &&
				   ir_type_same_dims(op->result[0].type, r->wide)) {
				r->op[r->n++] = op;
			}
		}
	for (int k = 0; k < 2; k++)
		r->kinds += (uint32_t)__builtin_popcount(masks[k]);
}

/* Does a product that is not one of many stand between the forward and the backward pass, so that no
 * kernel has parts of both? It is searched for among the next `steps` ops of each path. */
static bool
is_parted(const struct parallel_step *s, const struct ir_op *from, int steps)
{
	if (!from->nresults)
		return false;
	IR_FOR_USES (u, &from->result[0])
		if (!s->inside[u->op->id] && s->forward[u->op->id] &&
			(cost_is_product(u->op) ? !is_batched(u->op)
						: steps && is_parted(s, u->op, steps - 1)))
			return true;
	return false;
}

/*
 * Wide values, with the indices of both operands of a product, do not leave a kernel of several
 * products, so that each kernel with a reader computes the product anew:
 *
 *     s = q k'   p = exp(s) ...   o = p v          forward, sums over columns
 *     dp = do v'   ds = f(p, dp)  dq = ds k        backward, sums over columns
 *                                 dk = ds' q, dv = p' do       and over rows: 3 times s, 2 times dp
 *
 * That is the least if storing a wide value takes longer: kernels of one product each, of which none is
 * faster than in a kernel of several, and two passes over wide values, take at least the time of the
 * two products of the forward pass and of the seven of the backward pass in such kernels.
 */
double
parallel_repeated_products(const struct parallel_step *s, const struct device *d)
{
	double sum = 0;

	IR_FOR_OPS (op, &ir_func_find(s->m, "main")->body) {
		if (!is_batched(op))
			continue;
		struct readers r;
		find_readers(s, d, op, &r);
		const double pass = (double)ir_type_local_bytes(s->m, r.wide) / d->bandwidth;
		const bool again = r.kinds > 1 && r.n > 1 && r.least >= r.inside &&
				   5 * r.least + 2 * pass >= 7 * r.inside &&
				   (!r.forward || is_parted(s, r.forward, PARTING_STEPS));
		const struct reach_op x =
			reach_op_of(d, s->m, op, cost_kernel_work(s->m, op), REACH_ALIGNED);
		sum += again ? (r.kinds - 1) * x.inside : 0;
	}
	return sum / (double)ir_devices(s->m);
}
