/*
 * @main as it is, to take changes of it back: for a pass that tries several. What is saved are its ops, with operands and
 * attributes, in one walk that copies memory; ids and lists of uses are as they were again, too. Bodies of ops
 * are not saved, as nothing but their own fuse depends on them: a change must leave those that there are as they are, and
 * must add no functions.
 *
 *     struct ir_saved *s = ir_saved_create(owner, m);
 *     for (...) {
 *         ir_saved_change(s);
 *         ... change and look at m ...
 *         ir_saved_restore(s);
 *     }
 */
#ifndef IR_SAVED_H
#define IR_SAVED_H

#include "ir/ir.h"

struct ir_saved;

/* Of a module with a @main; owned by `owner`, which must live no longer than the module. */
struct ir_saved *ir_saved_create(const void *owner, struct ir_module *m);

/* Begins a change, if none has begun: ops made from now on exist until it is taken back. */
void ir_saved_change(struct ir_saved *s);

/* The module is as it was when it was saved. */
void ir_saved_restore(struct ir_saved *s);

#endif
