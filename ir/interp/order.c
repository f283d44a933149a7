/* sort and topk in the interpreter, by the library's qsort over a total order. */
#include "ir/base/alloc.h"
#include "ir/interp/internal.h"
#include "ir/ops/order.h"

#include <stdlib.h>
#include <talloc.h>

struct entry {
	union cell value;
	int64_t at;
	enum ir_dtype dtype;
	bool descending;
};

/* A NaN is the largest. */
static int
compare_floats(double a, double b)
{
	if (a != a || b != b)
		return (a != a) - (b != b);
	return (a > b) - (a < b);
}

static int
compare(const void *x, const void *y)
{
	const struct entry *a = x, *b = y;
	const int order = ir_dtype_class(a->dtype) == IR_FLOAT
				  ? compare_floats(a->value.f, b->value.f)
				  : ir_dtype_less(a->dtype, b->value.i, a->value.i) -
					    ir_dtype_less(a->dtype, a->value.i, b->value.i);

	if (order)
		return a->descending ? -order : order;
	return (a->at > b->at) - (a->at < b->at);
}

static void
run_rows(const struct tensor *in, struct tensor *values, struct tensor *positions,
	const struct order *o)
{
	struct entry *row = NEW_ARRAY(values, struct entry, (size_t)o->n);

	for (int64_t r = 0; r < o->outer * o->inner; r++) {
		const int64_t from = r / o->inner * o->n * o->inner + r % o->inner,
			      to = r / o->inner * o->k * o->inner + r % o->inner;
		for (int64_t i = 0; i < o->n; i++)
			row[i] = (struct entry){
				in->data[from + i * o->inner], i, in->dtype, o->descending};
		qsort(row, (size_t)o->n, sizeof *row, compare);
		for (int64_t i = 0; i < o->k; i++) {
			values->data[to + i * o->inner] = row[i].value;
			positions->data[to + i * o->inner].i = row[i].at;
		}
	}
	talloc_free(row);
}

void
order_run(const struct ir_op *op, struct tensor *const *in, struct tensor *const *out)
{
	const struct order o = order_of(op, in[0]->dim);

	run_rows(in[0], out[0], out[1], &o);
}
