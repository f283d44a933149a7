/* Changes of layout: builds the parallelization ops between two layouts of a tensor. */
#ifndef PASSES_RESHARD_H
#define PASSES_RESHARD_H

#include "ir/base/api.h"
#include "ir/ir.h"

DOPT_API_BEGIN

/*
 * Builds ops that give `v` the layout of `want` (same meaning), one axis at a time, and returns the
 * result; v itself if the layouts are equal. NULL after an error, reported at the builder's
 * location: a size does not divide, or the state cannot be reached (copied -> partial, copied ->
 * single on devices).
 *
 * On a time axis "copied" also accepts a value that is available only after all iterations, single
 * at the last: a partial sum is accumulated (reduce) and not sent back in time.
 */
struct ir_value *reshard(struct ir_builder *b, struct ir_value *v, const struct ir_type *want);

/*
 * The layout that a value's gradient must have: copied where the value is copied or partial, split
 * where it is split, single where it is single. `dtype` and shape are the value's.
 */
const struct ir_type *gradient_type(struct ir_module *m, const struct ir_type *t);

DOPT_API_END

#endif
