/* Hash tables of names and types behind a context, for ir/context.c and ir/type.c. */
#ifndef IR_INTERN_H
#define IR_INTERN_H

#include "ir/base/map.h"
#include "ir/base/vec.h"

struct intern_table {
	struct map map;
	struct VEC(const void *) item;
};

struct ir_intern {
	struct intern_table names, types;
};

#endif
