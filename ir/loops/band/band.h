/*
 * Which part of a matrix product is needed. A mask, such as that of causal attention, makes
 * elements outside a band of the index space known or unread:
 *
 *     seen[t,s] = s <= t                    outside the band s - t <= 0 it is false
 *     masked = select(seen, dots, -1e30)    outside: -1e30;  dots is not read there
 *     e = exp(masked - top)                 outside: the same along s, as top has no s
 *     d_dots = select(seen, d, 0)           outside: 0, which adds nothing to a product
 *
 * This is derived from the forms of the ops that make and read a value, not from their names: an
 * index expression that is compared with another gives a band, and then the body of each op is
 * evaluated outside it. docs/language.md states the assumption: numbers are finite.
 *
 * A band belongs to two dimensions of a value, or to two indices of an op:
 *
 *     inside:  low <= position(col) - position(row) <= high
 *
 * Bands come from comparisons of positions, sums of indices and constants, and propagate to values
 * computed from them as long as something is known. They end at products, at ops with computed
 * positions and at ops that change layouts.
 */
#ifndef IR_BAND_H
#define IR_BAND_H

#include "ir/ops/form.h"

#define BAND_FAR (INT64_C(1) << 40) /* an open side: larger than any dimension */

enum band_limit { BAND_MAX_TESTS = 4 };

struct band {
	int row, col; /* row < col */
	int64_t low, high;
};

/* Operand `operand` of the kernel is uniform outside the band in each of its rows, or columns: a
 * program that tests one element of each knows whether all are 0. */
struct band_test {
	int operand;
	struct band band;   /* of the last two dimensions of the operand */
	bool along_columns; /* each column has one value, not each row */
};

/* The needed part of  out = sum(k) a * b. */
struct band_product {
	int load;         /* this load is 0 outside the band; -1: the result is not read there */
	struct band band; /* of indices of the op's form */
	int ntests;       /* holds if these operands are 0 outside their bands */
	struct band_test test[BAND_MAX_TESTS];
};

/*
 * The bands of a module, which is analysed as a whole at the first query: owned by `owner`, out of
 * date once an op of the module changes. Queries about kernels made later, as in searches, are
 * possible, but not remembered. Not thread-safe.
 */
struct bands;
struct bands *bands_create(const void *owner, const struct ir_module *m);

/*
 * The bands of a product in @main, in a fuse or alone, whose form, with whole sizes, has the body
 * load * load: at most one of each load and one of the result. Only bands that kernels can use: of
 * types that have such products, with both sides long enough. Returns their number; 0 for other
 * ops. Tests are in the order in which the kernel reads the operands.
 */
int band_find(struct bands *b, const struct ir_op *product, struct band_product found[3]);

/*
 * The share of a product's multiplications that remains (1: all) if a program skips all it can and
 * every test finds zeros. For the cost model: independent of how the ops are fused.
 */
double band_share(struct bands *b, const struct ir_op *product);

/* A number for the result of the two functions on an op; 0: nothing is skipped. Ops that are
 * otherwise alike are alike if it is equal (ir/ops/alike.h). */
uint32_t band_number(struct bands *b, const struct ir_op *op);

/* Is the value uniform outside a band, in each row or in each column? Then the elements that a
 * program skips may depend on the value. */
bool band_has_value(struct bands *b, const struct ir_value *v);

/*
 * Says that kernel `fuse`, which is in no block, consists of copies of these n ops of the module
 * and replaces them; its results are those of the ops with out[i], whose readers are taken as its
 * readers. Valid until the next call; fuse NULL: none.
 */
void bands_stand_for(struct bands *b, const struct ir_op *fuse, struct ir_op *const *op, uint32_t n,
	const bool *out);

#endif
