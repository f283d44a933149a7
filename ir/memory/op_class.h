/* Which collective an op is: runtime/comm/collective.def read by op code. */
#ifndef IR_MEMORY_OP_CLASS_H
#define IR_MEMORY_OP_CLASS_H

#include "ir/ir.h"
#include "runtime/comm/collective.h"

/* The kind of collective that carries out an op along a device axis; RT_COLL_KINDS for an op that
 * is none. Whether something is sent depends on layouts as well: storage_is_message. */
enum rt_coll_kind op_collective(const struct ir_op *op);

#endif
