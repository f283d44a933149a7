/* The needed part of a product: see band.h. */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/loops/band/internal.h"
#include "runtime/kernel/gemm.h"

#include <string.h>

enum { LEAST = 2 * RT_GEMM_BAND_ROWS /* smallest size of a side of which parts are skipped */ };

struct bands *
bands_create(const void *owner, const struct ir_module *m)
{
	struct bands *b = NEW(owner, struct bands);

	b->m = m;
	b->a = arena_create(b);
	b->scratch = arena_create(b);
	b->nvalues = m->value_ids;
	b->nops = m->op_ids;
	return b;
}

void
bands_stand_for(struct bands *b, const struct ir_op *fuse, struct ir_op *const *op, uint32_t n,
	const bool *out)
{
	b->copy = fuse;
	b->original = op;
	b->noriginals = n;
	b->out = out;
}

static const struct band_view *
view_of(struct bands *b, bool hopeful)
{
	struct band_view *v = &b->view[hopeful];

	if (!v->made) {
		band_find_facts(b, hopeful);
		band_find_candidates(b, hopeful);
		v->made = true;
	}
	return v;
}

struct walk
band_walk(struct bands *b, bool hopeful)
{
	return (struct walk){.b = b, .hopeful = hopeful};
}

/* --- one product --- */

static const struct ir_op *
kernel_of(const struct ir_op *op)
{
	return op->block->parent ? op->block->parent : op;
}

/* The number of a product's operand among the operands of its kernel; -1: the kernel makes it. */
static int
kernel_operand(const struct ir_op *product, int j)
{
	const struct ir_value *v = ir_operand(product, j);

	if (!product->block->parent)
		return j;
	return v->op ? -1 : (int)v->index;
}

/* Is load j 0 outside a band, either known or by a test? */
static bool
find_operand(
	struct walk *w, const struct ir_op *op, const struct form *f, int j, struct band_product *x)
{
	const struct ir_type *t = ir_operand_type(op, j);
	const struct fact *fact = band_fact(w, ir_operand(op, j));
	const int operand = kernel_operand(op, j);

	for (int i = 0; i < fact->nbands; i++) {
		const struct fact_band *b = &fact->band[i];
		*x = (struct band_product){.load = j};
		if (!band_of_indices(f, &f->in[j], &b->band, &x->band))
			continue;
		if (outside_is(b->out, 0) || (w->hopeful && band_may_test(t, b)) ||
			(!b->out.known && operand >= 0 &&
				band_add_test(w->b->m, x->test, &x->ntests, operand, t, b)))
			return true;
	}
	return false;
}

/* The tests of one operand after the other, in the order in which the body reads them. */
static void
add_sorted(const struct walk *w, int operand, struct band_product *x)
{
	for (int i = 0; i < x->ntests; i++)
		if (x->test[i].operand == operand)
			return;
	for (int i = 0; i < w->ntests; i++)
		if (w->test[i].operand == operand)
			x->test[x->ntests++] = w->test[i];
}

static void
sort_tests(const struct walk *w, struct band_product *x)
{
	if (!w->ntests)
		return;
	IR_FOR_OPS (op, w->kernel->body)
		for (int j = 0; j < op->noperands; j++)
			if (!ir_operand(op, j)->op)
				add_sorted(w, (int)ir_operand(op, j)->index, x);
}

/* Is the result of a product unread outside a band, either always or by a test of operands? */
static bool
find_result(struct bands *b, bool hopeful, const struct ir_op *op, const struct form *f,
	struct band_product *x)
{
	struct walk look = band_walk(b, hopeful);
	struct candidates c = {.n = 0};

	band_candidates(&look, &op->result[0], &c);
	map_free(&look.map);
	for (int tests = 0; tests < 2 - hopeful; tests++)
		for (int i = 0; i < c.n; i++) {
			struct walk w = band_walk(b, hopeful);
			w.kernel = tests ? kernel_of(op) : NULL;
			*x = (struct band_product){.load = -1};
			const bool good = band_of_indices(f, &f->out, &c.at[i], &x->band) &&
					  band_is_unread(&w, &op->result[0], &c.at[i]);
			map_free(&w.map);
			if (!good)
				continue;
			sort_tests(&w, x);
			return true;
		}
	return false;
}

/* Does a place have all of both indices of the band, and enough of both? Positions are those in it
 * then. */
static bool
is_whole(const struct ir_module *m, const struct ir_op *op, const struct form *f,
	const struct band *b)
{
	struct form local = *f;
	struct form_offset offset[FORM_MAX_INDICES];

	form_localize(m, op, &local, offset);
	return local.size[b->row] == f->size[b->row] && local.size[b->col] == f->size[b->col] &&
	       f->size[b->row] >= LEAST && f->size[b->col] >= LEAST;
}

static int
find_all(struct bands *b, const struct ir_op *op, bool hopeful, struct form *f,
	struct band_product found[3])
{
	struct walk w = band_walk(b, hopeful);
	int n = 0;

	view_of(b, hopeful);
	if (!band_form(b, op, f) || f->ninputs != 2)
		return 0;
	for (int j = 0; j < 2; j++)
		n += find_operand(&w, op, f, j, &found[n]) && is_whole(b->m, op, f, &found[n].band);
	map_free(&w.map);
	n += find_result(b, hopeful, op, f, &found[n]) && is_whole(b->m, op, f, &found[n].band);
	return n;
}

/* --- queries --- */

/* Has the type two dimensions that are long enough for skipping? */
static bool
is_large(const struct ir_type *t)
{
	int n = 0;

	for (int d = 0; d < t->rank; d++)
		n += t->dim[d] >= LEAST;
	return n >= 2;
}

/* May it be a product that is divided? */
static bool
may_count(const struct ir_op *op)
{
	if ((op->code != OP_matmul && op->code != OP_contract) || op->noperands != 2)
		return false;
	return ir_dtype_class((enum ir_dtype)op->result[0].type->dtype) == IR_FLOAT &&
	       (is_large(op->result[0].type) || is_large(ir_operand_type(op, 0)) ||
		       is_large(ir_operand_type(op, 1)));
}

static double
share_of(const struct form *f, const struct band_product *found, int n)
{
	double share = 1;

	for (int i = 0; i < n; i++) {
		const struct band *b = &found[i].band;
		const int64_t rows = f->size[b->row], columns = f->size[b->col];
		const struct rt_gemm_band x = {RT_GEMM_C, b->low, b->high};
		const double points = rt_gemm_band_points(&x, rows, columns, 1) /
				      ((double)rows * (double)columns);
		share = points < share ? points : share;
	}
	return share;
}

static bool
same_tests(const struct band_product *x, const struct band_product *y)
{
	if (x->ntests != y->ntests)
		return false;
	for (int i = 0; i < x->ntests; i++)
		if (x->test[i].operand != y->test[i].operand ||
			x->test[i].along_columns != y->test[i].along_columns ||
			band_order(&x->test[i].band, &y->test[i].band) != 0)
			return false;
	return true;
}

static bool
same_bands(const struct product_bands *x, const struct product_bands *y)
{
	if (x->n != y->n || x->share != y->share)
		return false;
	for (int i = 0; i < x->n; i++)
		if (x->found[i].load != y->found[i].load ||
			band_order(&x->found[i].band, &y->found[i].band) != 0 ||
			!same_tests(&x->found[i], &y->found[i]))
			return false;
	return true;
}

/* Masks are few, so these are: a list. */
static uint32_t
number_of(struct bands *b, const struct product_bands *x)
{
	if (!x->n && x->share == 1)
		return 0;
	for (int64_t i = 0; i < b->kind.n; i++)
		if (same_bands(&b->kind.at[i], x))
			return (uint32_t)i + 1;
	VEC_PUSH(b, &b->kind, *x);
	return (uint32_t)b->kind.n;
}

static struct product_bands
find_product(struct bands *b, const struct ir_op *op)
{
	struct product_bands x = {.share = 1};
	struct band_product hoped[3];
	struct form f;

	x.n = find_all(b, op, false, &f, x.found);
	x.share = share_of(&f, hoped, find_all(b, op, true, &f, hoped));
	x.number = number_of(b, &x);
	arena_reset(b->scratch);
	return x;
}

static bool
same_op(const void *list, uint32_t i, const void *key)
{
	const struct bands *b = list;

	return b->product.op.at[i] == key;
}

static struct product_bands
bands_of(struct bands *b, const struct ir_op *op)
{
	if (!may_count(op))
		return (struct product_bands){.share = 1};
	if (op->id >= b->nops)
		return find_product(b, op);
	const uint32_t i = map_add(b, &b->map, mix64((uintptr_t)op), same_op, b, op);
	if (i == b->product.op.n) {
		VEC_PUSH(b, &b->product.op, op);
		const struct product_bands x = find_product(b, op);
		VEC_PUSH(b, &b->product.bands, x);
	}
	return b->product.bands.at[i];
}

int
band_find(struct bands *b, const struct ir_op *product, struct band_product found[3])
{
	const struct product_bands x = bands_of(b, product);

	memcpy(found, x.found, sizeof x.found);
	return x.n;
}

double
band_share(struct bands *b, const struct ir_op *product)
{
	return bands_of(b, product).share;
}

uint32_t
band_number(struct bands *b, const struct ir_op *op)
{
	return bands_of(b, op).number;
}

bool
band_has_value(struct bands *b, const struct ir_value *v)
{
	view_of(b, false);
	struct walk w = band_walk(b, false);
	const bool any = band_fact(&w, v)->nbands > 0;
	map_free(&w.map);
	arena_reset(b->scratch);
	return any;
}
