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

#define BAND_FAR (INT64_C(1) << 40) /* a side that is open: farther than any dimension */

enum band_limit { BAND_MAX_TESTS = 4 };

struct band {
	int row, col; /* row < col */
	int64_t low, high;
};

/* Operand number `operand` of the kernel has one value outside of the band in each of its rows, or
 * columns: a program that looks at one element of each knows whether all are 0. */
struct band_test {
	int operand;
	struct band band;   /* of the last two dimensions of the operand */
	bool along_columns; /* each column has one value, not each row */
};

/* What counts of  out = sum(k) a * b. */
struct band_product {
	int load;         /* this load is 0 outside of the band; -1: the result is not read there */
	struct band band; /* of indices of the op's form */
	int ntests;       /* if these operands are 0 outside of theirs */
	struct band_test test[BAND_MAX_TESTS];
};

/*
 * The bands of a module, which is looked at as a whole, once, when they are first asked for: owned
 * by `owner`, out of date once an op of the module changes. A kernel that is made later, as
 * searches do, may be asked about; nothing of it is remembered. Not for several threads at once.
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
 * The share of a product's multiplications that a program does which leaves out what it can, 1: all;
 * if every test finds zeros. For the cost model: the same however the ops are fused.
 */
double band_share(struct bands *b, const struct ir_op *product);

/* A number for what the two say of an op, 0: nothing is left out. Ops that are otherwise alike are
 * alike if they have the same (ir/ops/alike.h). */
uint32_t band_number(struct bands *b, const struct ir_op *op);

/* Are elements of the value outside of a band all the same, in each row or in each column? Whether
 * a program leaves out what it could may depend on the value. */
bool band_has_value(struct bands *b, const struct ir_value *v);

/*
 * Says that kernel `fuse`, which is in no block, consists of copies of these n ops of the module
 * and replaces them; its results are those of the ops with out[i], whose readers are taken as its
 * readers. Valid until the next call; fuse NULL: none.
 */
void bands_stand_for(struct bands *b, const struct ir_op *fuse, struct ir_op *const *op, uint32_t n,
	const bool *out);

#endif
