/* The kernel that a key of a profile stands for: key.c, the other way. */
#ifndef PASSES_ANALYSIS_KEY_READ_H
#define PASSES_ANALYSIS_KEY_READ_H

#include "ir/ir.h"

/*
 * A module owned by `owner` whose @main has the kernel, which *op receives, on inputs; cost_op_key
 * of it is `key`. NULL, without a message, where there is none: a message, a kernel that knows
 * where its slice is (its key does not say of what) or whose products leave something out (its
 * key does not say why), or no key. Messages of `ctx` are dropped from
 * then on: give it a context of its own.
 */
struct ir_module *key_read(
	const void *owner, struct ir_context *ctx, const char *key, struct ir_op **op);

#endif
