/* Remarks on the choices that parallelize has made. */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "passes/analysis/cost/internal.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <inttypes.h>

/* "f32[64/dp,512], f32[512,8/tp] -> f32[64/dp,8/tp]" */
static char *
layouts_text(const struct pass_run *run, const struct ir_module *m,
	const struct parallel_choices *c, uint32_t x)
{
	char *text = text_copy(run->scratch, "");

	for (uint32_t k = 0; k < c->noperands; k++)
		text = text_append(text, "%s%s", k ? ", " : "",
			ir_type_text(run->scratch, m, c->operand[k].type[c->operand[k].line[x]]));
	for (uint32_t r = 0; r < c->nresults; r++)
		text = text_append(text, "%s%s",
			r              ? ", "
			: c->noperands ? " -> "
				       : "",
			ir_type_text(run->scratch, m, c->result[r].type[c->result[r].line[x]]));
	return text;
}

void
parallel_tell_choices(struct pass_run *run, const struct parallel_step *s, const uint16_t *choice)
{
	const uint32_t nodes = s->problem.nnodes;
	uint32_t **count = ARRAY_ZERO(run->scratch, uint32_t *, s->alike->n);

	for (uint32_t i = 0; i < nodes; i++) {
		uint32_t **n = &count[s->alike->number[s->op.at[i]->id]];
		if (!*n)
			*n = ARRAY_ZERO(run->scratch, uint32_t, s->problem.node[i].n);
		(*n)[choice[i]]++;
	}
	for (uint32_t i = 0; i < nodes; i++) {
		const struct ir_op *op = s->op.at[i];
		uint32_t *n = &count[s->alike->number[op->id]][choice[i]];
		if (!*n || !(op_is(op, TRAIT_NAMED) ? op->nresults : cost_is_product(op)))
			continue;
		pass_remark(run, op, PASS_APPLIED, "%s: %s",
			op_is(op, TRAIT_NAMED)
				? TEXT(run->scratch, "%s \"%s\"%s", op_name((enum op_code)op->code),
					  op->symbol,
					  *n > 1 ? TEXT(run->scratch, " and %" PRIu32 " alike",
							   *n - 1)
						 : "")
				: number_noun(run->scratch, *n,
					  TEXT(run->scratch, "%s op(s)",
						  op_name((enum op_code)op->code))),
			layouts_text(run, s->m, parallel_step_choices(s, i), choice[i]));
		*n = 0;
	}
}
