/* Triangular systems and Cholesky factors, for StableHLO's ops and LAPACK's. */
#ifndef PARSER_STABLEHLO_IMPORT_SUM_SOLVE_H
#define PARSER_STABLEHLO_IMPORT_SUM_SOLVE_H

#include "parser/stablehlo/import/import.h"

enum {
	SOLVE_MAX_ROWS = 1024, /* unrolled: about eight ops each, for LU or QR thirty */
};

struct solve_form {
	bool left, lower, unit, transpose; /* a x = b, not x a = b; of a */
};

/* Fills in out[0] from in[0], the matrix a, and in[1], b. */
bool solve_triangular(struct import *im, const struct mlir_op *op, const struct import_value *in,
	const struct solve_form *f, struct import_value *out);

/* The lower factor, or the upper one, of in[0]; the other triangle is zeros. */
bool solve_cholesky(struct import *im, const struct mlir_op *op, const struct import_value *in,
	bool lower, struct import_value *out);

#endif
