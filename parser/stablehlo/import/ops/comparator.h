/*
 * Comparators of sort: which of them are orders by keys.
 *
 *     compare LT, f(a), f(b)                                   by the key f, ascending
 *     compare GT, f(a), f(b)  or  compare LT, f(b), f(a)       by f, descending
 *     or(C, and(compare EQ, f(a), f(b), P))                    by C's key f, equal ones by P
 *
 * where f is any expression of the first elements of the pairs, and the other side is the same
 * expression of the second ones: negated keys, keys with equal zeros or NaNs, sums of keys.
 */
#ifndef PARSER_STABLEHLO_IMPORT_OPS_COMPARATOR_H
#define PARSER_STABLEHLO_IMPORT_OPS_COMPARATOR_H

#include "parser/stablehlo/mlir/mlir.h"

enum {
	COMPARATOR_MAX_KEYS = 16, /* levels of or and and: a limit on a walk that input decides */
	COMPARATOR_MAX_STEPS =
		4096, /* of comparing two expressions: shared parts count each time */
};

struct comparator_key {
	const struct mlir_value *value; /* f of the first elements */
	bool descending;
	bool total; /* floats in total order: -0 before 0 */
};

/* The keys of a region, most significant first; returns their number, 0: it is not such an
 * order. */
int comparator_keys(
	const struct mlir_block *region, struct comparator_key key[COMPARATOR_MAX_KEYS]);

#endif
