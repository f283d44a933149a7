/* The table of all StableHLO ops. An import has it at hand, so that nothing depends on all of them. */
#include "parser/stablehlo/import/block.h"
#include "parser/stablehlo/import/ops.h"

static const struct import_row rows[] = {
#define POINT(name, numbers, bools)                                                                \
	{name, NULL, "t+", 1, 0, POINTWISE_YES, OP_##numbers, OP_##bools, NULL, NULL, false},
#define IMPORT(name, function, operands, results, regions, pointwise)                              \
	{name, function, operands, results, regions, POINTWISE_##pointwise, OP_NCODES, OP_NCODES,  \
		NULL, NULL, false},
#define TEMPLATE(name, function, operands)                                                         \
	{name, NULL, operands, 1, 0, POINTWISE_YES, OP_NCODES, OP_NCODES, NULL, #function, true},
#define FORMULA(name, function, operands, results)                                                 \
	{IMPORT_COMPLEX name, NULL, operands, results, 0, POINTWISE_YES, OP_NCODES, OP_NCODES,     \
		NULL, #function, false},
#define RULE(name, function)
#define EACH(name)
#define FOLD(name)
#define THROUGH(name)
#define REFUSED(name, why)                                                                         \
	{name, NULL, "x*", -1, -1, POINTWISE_NO, OP_NCODES, OP_NCODES, why, NULL, false},
#include "parser/stablehlo/import/import.def"
#undef POINT
#undef IMPORT
#undef TEMPLATE
#undef REFUSED
#include "parser/stablehlo/import/complex.def"
#undef FORMULA
#undef RULE
#undef EACH
#undef FOLD
#undef THROUGH
};

enum { NROWS = sizeof rows / sizeof *rows };

void
import_rows(struct import *im)
{
	im->row = rows;
	im->nrows = NROWS;
	im->rows = ptr_map_create(im->missing);
	for (int i = 0; i < NROWS; i++)
		ptr_map_set(im->rows, ir_name(im->module->ctx, rows[i].name), &rows[i]);
}
