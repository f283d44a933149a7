/* Instances of templates, for template.c. */
#ifndef IR_INSTANCE_H
#define IR_INSTANCE_H

#include "ir/template.h"

/* The return op of a function, or NULL. */
const struct ir_op *template_return(const struct ir_func *f);

struct instance_place {
	struct ir_block *block;
	struct ir_op *before; /* NULL: at the end of the block */
	const char *prefix;   /* of names, "" or "h3." */
};

/*
 * Makes an instance of the call's function `f` on these operands and puts the returned values into
 * result[], which may be the same array. False after an error; ops made so far are kept. `f` may be
 * a side of a rule; the call then also has attributes for its lists, its axes, the element type of
 * each letter and, named "..", the sizes of those dims.
 */
bool instance_make(struct ir_module *m, const struct instance_place *place,
	const struct ir_op *call, const struct ir_func *f, struct ir_value *const *operands,
	struct ir_value **result);

#endif
