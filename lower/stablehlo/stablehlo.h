/* -emit=stablehlo: a module as StableHLO text, in generic form, for XLA and its users. */
#ifndef LOWER_STABLEHLO_STABLEHLO_H
#define LOWER_STABLEHLO_STABLEHLO_H

#include "ir/ir.h"

#include <stdio.h>

/*
 * Writes @main of a verified module without calls. On a mesh the text is explicit SPMD: the program
 * of one replica, with collectives. If something cannot be expressed, reports it with one message
 * per op, writes nothing and returns false.
 */
bool stablehlo_write(FILE *out, const struct ir_module *m);

#endif
