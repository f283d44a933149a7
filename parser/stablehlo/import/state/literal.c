/* Constants with elements of their own. */
#include "ir/ops/literal.h"

#include "parser/stablehlo/import/state/state.h"

struct ir_value *
import_build_literal(struct import *im, const struct ir_type *type, const union cell *v, int64_t n)
{
	_Static_assert(sizeof(union cell) == sizeof(union ir_number), "cells are numbers");
	(void)n;
	return ir_build_numbers(&im->builder, type, (const union ir_number *)(const void *)v);
}
