/* Parses the key of a kernel in a profile: the inverse of key.c. */
#ifndef PASSES_ANALYSIS_KEY_READ_H
#define PASSES_ANALYSIS_KEY_READ_H

#include "ir/ir.h"

/*
 * A module owned by `owner` whose @main applies the kernel, stored in *op, to inputs; cost_op_key
 * of *op is `key`. NULL, without a message, if there is none: a message, a kernel that depends on
 * the position of its slice (its key does not say of what) or whose products skip masked work (its
 * key does not say why), or not a key. Messages of `ctx` are dropped from then on: give it a
 * context of its own.
 */
struct ir_module *key_read(
	const void *owner, struct ir_context *ctx, const char *key, struct ir_op **op);

#endif
