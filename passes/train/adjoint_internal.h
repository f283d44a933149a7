/* What adjoint.c and adjoint_rules.c share. */
#ifndef PASSES_ADJOINT_INTERNAL_H
#define PASSES_ADJOINT_INTERNAL_H

#include "passes/train/adjoint.h"

struct adjoint {
	struct ir_builder *b;
	struct arena *a;
	struct ir_op *op;
	int operand;
	struct ir_value *g;
	struct form f;
	const struct ir_type *type; /* of the operand */
};

/* Builds the gradient of one operand; sets *none if there is none. */
typedef struct ir_value *adjoint_rule(struct adjoint *x, bool *none);

/* The rule of an op whose gradient does not follow from index notation; NULL: there is none. */
adjoint_rule *adjoint_rule_of(enum op_code code);

#endif
