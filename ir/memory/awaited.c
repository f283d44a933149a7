/* What a reader of a value waits for: see awaited.h. */
#include "ir/memory/awaited.h"

#include "ir/memory/storage.h"

static bool
has_passed(const struct awaited *a, const struct ir_op *barrier)
{
	for (int64_t i = 0; i < a->barrier.n; i++)
		if (a->barrier.at[i] == barrier)
			return true;
	return false;
}

void
awaited_add(
	const void *owner, struct awaited *a, const struct ir_module *m, const struct ir_value *v)
{
	while (v->op && v->op->code != OP_barrier && v->op->noperands && storage_is_view(m, v->op))
		v = ir_operand(v->op, (int)v->index);
	if (!v->op || v->op->code != OP_barrier) {
		VEC_PUSH(owner, &a->value, v);
		return;
	}
	if (has_passed(a, v->op))
		return;
	VEC_PUSH(owner, &a->barrier, v->op);
	for (int i = 0; i < v->op->noperands; i++)
		awaited_add(owner, a, m, ir_operand(v->op, i));
}

void
awaited_clear(struct awaited *a)
{
	a->value.n = a->barrier.n = 0;
}

void
awaited_free(struct awaited *a)
{
	VEC_FREE(&a->value);
	VEC_FREE(&a->barrier);
}
