/* From one layout to another: the parallelization ops that lead there. */
#ifndef PASSES_RESHARD_H
#define PASSES_RESHARD_H

#include "ir/ir.h"

/*
 * Builds ops that give `v` the layout of `want` (same meaning), an axis at a time, and returns the
 * result; v itself where nothing differs. NULL after an error, reported at the builder's place: a
 * size does not divide, or the state cannot be reached (copied -> partial, copied -> single on
 * devices).
 *
 * On a time axis "copied" also takes what is there only once all steps are done, single at the
 * last: a partial sum is accumulated (reduce) and not sent back in time.
 */
struct ir_value *reshard(struct ir_builder *b, struct ir_value *v, const struct ir_type *want);

/*
 * The layout that a value's gradient must have: copied where the value is copied or partial, split
 * where split, single where single (design, "Layouts"). `dtype` and shape are the value's.
 */
const struct ir_type *gradient_type(struct ir_module *m, const struct ir_type *t);

#endif
