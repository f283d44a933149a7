/*
 * A snapshot of @main to undo changes, for a pass that tries several. It has the ops, with operands
 * and attributes, copied in one walk; ids and lists of uses are restored, too. Bodies of ops are
 * not saved, as only their own fuse depends on them: a change must not modify existing bodies and
 * must not add functions.
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

/* Saves a module with a @main; owned by `owner`, which must not outlive the module. */
struct ir_saved *ir_saved_create(const void *owner, struct ir_module *m);

/* Begins a change, if none has begun: ops made from now on exist until it is taken back. */
void ir_saved_change(struct ir_saved *s);

/* Restores the module to its state when it was saved. */
void ir_saved_restore(struct ir_saved *s);

/* Makes the change permanent: its ops exist as long as the module. The snapshot is no longer that
 * of the module and must not be used. */
void ir_saved_keep(struct ir_saved *s);

#endif
