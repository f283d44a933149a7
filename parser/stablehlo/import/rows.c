/* The table of all StableHLO ops. An import has it at hand, so that nothing depends on all of them. */
#include "parser/stablehlo/import/block.h"
#include "parser/stablehlo/import/ops.h"

static const struct import_row rows[] = {
#define POINT_OF(name, numbers, bools, values)                                                     \
	{name, NULL, "t+", 1, 0, POINTWISE_YES, values, OP_##numbers, OP_##bools, NULL, NULL,      \
		false},
#define IMPORT_OF(name, function, operands, results, regions, pointwise, values)                   \
	{name, function, operands, results, regions, POINTWISE_##pointwise, values, OP_NCODES,     \
		OP_NCODES, NULL, NULL, false},
#define POINT(...) POINT_OF(__VA_ARGS__, VALUES_COMPUTED)
#define POINT_BITS(...) POINT_OF(__VA_ARGS__, VALUES_BITS)
#define IMPORT(...) IMPORT_OF(__VA_ARGS__, VALUES_COMPUTED)
#define MOVED(...) IMPORT_OF(__VA_ARGS__, VALUES_MOVED)
#define BITS(...) IMPORT_OF(__VA_ARGS__, VALUES_BITS)
#define TEMPLATE(name, function, operands)                                                         \
	{name, NULL, operands, 1, 0, POINTWISE_YES, VALUES_COMPUTED, OP_NCODES, OP_NCODES, NULL,   \
		#function, true},
#define FORMULA(name, function, operands, results)                                                 \
	{IMPORT_COMPLEX name, NULL, operands, results, 0, POINTWISE_YES, VALUES_COMPUTED,          \
		OP_NCODES, OP_NCODES, NULL, #function, false},
#define RULE(name, function)
#define EACH(name)
#define FOLD(name)
#define THROUGH(name)
#define REFUSED(name, why)                                                                         \
	{name, NULL, "x*", -1, -1, POINTWISE_NO, VALUES_COMPUTED, OP_NCODES, OP_NCODES, why, NULL, \
		false},
#include "parser/stablehlo/import/import.def"
#include "parser/stablehlo/import/complex.def"
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
