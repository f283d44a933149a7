/* Rules of the ops that index notation does not say: special.c. */
#ifndef IR_SPECIAL_H
#define IR_SPECIAL_H

#include "ir/ir.h"
#include "runtime/kernel/init_kind.h"

/*
 * Result type of a reshape: shape and layout. A split dim must be the outermost of the dims that
 * are merged or taken apart with it, except after dims that are split down to one element a place,
 * so that a slice is reshaped in place: f32[2/a,4/b,3] is f32[8/a/b,3] if a has 2 places.
 * Reports failures.
 */
bool special_reshape(const struct ir_module *m, const struct ir_op *op, struct ir_type *result);

/* Operand layouts of update and output. Report failures. */
bool special_update(const struct ir_module *m, const struct ir_op *op);
bool special_output(const struct ir_module *m, const struct ir_op *op);

/*
 * An op whose meaning is not an index expression but which is a kernel (trait TRAIT_OWN): what the
 * interpreter, type checker and cost model need to know. lower/own.h says how it is computed.
 */
struct tensor;
enum { OWN_MAX_RESULTS = 2 };
struct special_op {
	/* Types of all results. Reports failures. */
	bool (*infer)(const struct ir_module *m, const struct ir_op *op, struct ir_type *result);
	/* At one place: in[] are the operands there, out[] results of local shape to be filled. */
	void (*run)(const struct ir_op *op, struct tensor *const *in, struct tensor *const *out);
	double (*flops)(const struct ir_module *m, const struct ir_op *op);
	/* Bytes of scratch of the host's kernel. */
	int64_t (*scratch)(const struct ir_module *m, const struct ir_op *op);
};

/* Those functions; NULL for any other op. */
const struct special_op *special_op(enum op_code code);

/* The initial value of a param or state; RT_INITS after reporting one that is unknown. */
enum rt_init special_init(const struct ir_module *m, const struct ir_op *op);

/* A param, state or input: its written type. */
bool special_written(const struct ir_module *m, const struct ir_op *op, const struct ir_type *t);

/* Type of result `operand` of a parallelization op: layout.c. */
bool layout_transition(
	const struct ir_module *m, const struct ir_op *op, int operand, struct ir_type *result);

#endif
