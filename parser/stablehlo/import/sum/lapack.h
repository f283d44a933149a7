/* custom_call: LAPACK as jaxlib's CPU backend calls it, "lapack_spotrf_ffi". */
#ifndef PARSER_STABLEHLO_IMPORT_SUM_LAPACK_H
#define PARSER_STABLEHLO_IMPORT_SUM_LAPACK_H

#include "parser/stablehlo/import/import.h"

import_function import_lapack_cholesky; /* potrf: a -> factor, info */
import_function import_lapack_solve;    /* trsm: a, b -> x */
import_function import_lapack_lu;       /* getrf: a -> l and u, pivots, info */
import_function import_lapack_qr;       /* geqrf: a -> r and reflections, tau */
import_function import_lapack_q;        /* orgqr: reflections, tau -> q */

#endif
