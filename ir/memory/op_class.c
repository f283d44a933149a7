/* See op_class.h. */
#include "ir/memory/op_class.h"

enum rt_coll_kind
op_collective(const struct ir_op *op)
{
	switch (op->code) {
#define COLLECTIVE(code, name, op, givers, getters, source, target)                                \
	case OP_##op:                                                                              \
		return RT_##code;
#include "runtime/comm/collective.def"
#undef COLLECTIVE
	default: return RT_COLL_KINDS;
	}
}
