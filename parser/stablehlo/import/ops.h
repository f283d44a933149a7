/* The functions that import.def names: each imports one op (import_function of import.h). */
#ifndef PARSER_STABLEHLO_IMPORT_OPS_H
#define PARSER_STABLEHLO_IMPORT_OPS_H

#include "parser/stablehlo/import/import.h"

#define IMPORT(name, function, ...) import_function function;
#define MOVED IMPORT
#define BITS IMPORT
#define POINT(...)
#define POINT_BITS(...)
#define TEMPLATE(...)
#define REFUSED(...)
#include "parser/stablehlo/import/import.def"
#undef IMPORT
#undef MOVED
#undef BITS
#undef POINT
#undef POINT_BITS
#undef TEMPLATE
#undef REFUSED

import_function import_approx_top_k; /* a custom_call: ops/custom.c */

#endif
