/* Constants with elements of their own. */
#include "parser/stablehlo/import.h"

struct ir_value *
import_build_literal(struct import *im, const struct ir_type *type, const union cell *v, int64_t n)
{
	(void)type;
	(void)v;
	(void)n;
	diag_error(im->diag, im->builder.loc, "constants of several values are not supported");
	im->failed = im->builder.failed = true;
	return NULL;
}
