/* custom_call: LAPACK as jaxlib's CPU backend calls it, "lapack_spotrf_ffi". */
#ifndef PARSER_STABLEHLO_IMPORT_SUM_LAPACK_H
#define PARSER_STABLEHLO_IMPORT_SUM_LAPACK_H

#include "parser/stablehlo/import/import.h"

import_function import_lapack_cholesky; /* potrf: a -> factor, info */
import_function import_lapack_solve;    /* trsm: a, b -> x */
import_function import_lapack_lu;       /* getrf: a -> l and u, pivots, info */
import_function import_lapack_qr;       /* geqrf: a -> r and reflections, tau */
import_function import_lapack_q;        /* orgqr: reflections, tau -> q */
import_function import_lapack_eigh;     /* syevd: a -> eigenvectors, eigenvalues, info */
import_function import_lapack_svd;      /* gesdd: a -> a, s, u, v transposed, info */

/* A letter of LAPACK in backend_config, one of `letters`: {uplo = 76 : ui8} is 'L'. */
bool lapack_letter(struct import *im, const struct mlir_op *op, const char *name,
	const char *letters, char *out);

/* Result `result` is info: for each matrix 0, or 1 where `bad` (NULL: never) holds. */
bool lapack_info(struct import *im, const struct mlir_op *op, int result,
	const struct import_value *like, struct ir_value *bad, struct import_value *out);

/* Runs a function of templates.dir on matrices of M rows and N columns; it processes K columns. */
bool lapack_factorize(struct import *im, const struct mlir_op *op, const char *function,
	struct ir_value *const *operand, int noperands, int64_t k, struct ir_value **result,
	int nresults);

#endif
