/* An op that may not fit: see build_try.h. */
#include "ir/build_try.h"

struct ir_value *
ir_build_try(struct ir_builder *b, enum op_code code, struct ir_value *x,
	const struct ir_attr *attr, int nattrs, const struct ir_type *type)
{
	struct diag *d = b->m->ctx->diag;
	const bool before = diag_mute(d, true);
	struct ir_value *v =
		ir_build_typed(b, code, NULL, x ? &x : NULL, x ? 1 : 0, attr, nattrs, type);

	diag_mute(d, before);
	b->failed = false;
	return v;
}
