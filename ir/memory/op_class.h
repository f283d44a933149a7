/* Which collective an op is: runtime/comm/collective.def read by op code. */
#ifndef IR_MEMORY_OP_CLASS_H
#define IR_MEMORY_OP_CLASS_H

#include "ir/ir.h"
#include "runtime/comm/collective.h"

/* The kind of collective that an op is along a device axis; RT_COLL_KINDS if it is not one.
 * Whether data is sent depends on layouts as well: storage_is_message. */
enum rt_coll_kind op_collective(const struct ir_op *op);

#endif
