/* A hash of a module's text, for files that record what they were made from. */
#ifndef IR_DIGEST_H
#define IR_DIGEST_H

#include "ir/ir.h"

enum { IR_DIGEST_DIGITS = 16 };

/*
 * Writes 16 hexadecimal digits and a zero: FNV-1a of the module's printed text, the same for a
 * module and for one parsed from its text. Not cryptographic: it distinguishes versions.
 */
void ir_digest(const struct ir_module *m, char text[IR_DIGEST_DIGITS + 1]);

#endif
