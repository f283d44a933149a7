/* The helpers are in ir/base/alloc.h. */
#include "ir/base/alloc.h"
