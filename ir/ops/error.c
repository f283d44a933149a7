/* The table of permitted errors. */
#include "ir/ops/error.h"

struct op_error
op_error(enum op_code code)
{
	static const struct op_error error[OP_NCODES] = {
#define ERROR(op, f32, f64, of) [OP_##op] = {true, ERROR_OF_##of, f32, f64},
#include "ir/ops/error.def"
#undef ERROR
	};

	return error[code];
}
