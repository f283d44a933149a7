/* Keys of ops in profiles. */
#ifndef PASSES_ANALYSIS_PROFILE_KEY_H
#define PASSES_ANALYSIS_PROFILE_KEY_H

#include "ir/base/api.h"
#include "ir/ir.h"

DOPT_API_BEGIN

/*
 * Key of an op in a profile: its text with names normalized and local shapes in place of types, the
 * same for every op that does the same work on one device. The key of a fuse contains its body. For
 * collectives: kind, devices, bytes and parts. talloc text owned by `owner`; NULL for ops without
 * work.
 */
char *cost_op_key(const void *owner, const struct ir_module *m, const struct ir_op *op);

DOPT_API_END

#endif
