/*
 * Decompositions written as functions of .dir, in parser/stablehlo/import/templates.dir: ops of
 * StableHLO and its extensions that an importer need not build op by op.
 */
#ifndef PARSER_STABLEHLO_IMPORT_BUILD_TEMPLATE_H
#define PARSER_STABLEHLO_IMPORT_BUILD_TEMPLATE_H

#include "parser/stablehlo/import/import.h"

/* A size that the function reads, or a number: {N = 4}. */
struct template_number {
	const char *name;
	double value;
};

struct template_call {
	const char *function; /* without the @ */
	enum ir_dtype type;   /* the type of the letter T in the text */
	struct ir_value *const *operand;
	int noperands, nresults;
	const struct template_number *number;
	int nnumbers;
};

/*
 * Builds the ops of the function on the operands, with their layouts, and puts its results into
 * result[]. False if an operand is NULL or an op does not fit, which was reported.
 */
bool template_build(struct import *im, const struct template_call *call, struct ir_value **result);

/* Of those element by element: both parts of two complex numbers, and of one. */
enum { TEMPLATE_MAX_OPERANDS = 4, TEMPLATE_MAX_RESULTS = 2 };

/*
 * The results of a function of n operands of one shape, which it sees as [..,1] if it has a table
 * along the last dim. T is their type, but f32 for 16-bit types. False as above.
 */
bool template_pointwise(struct import *im, const char *function, bool table,
	struct ir_value *const *operand, int n, struct ir_value **result, int nresults);

#endif
