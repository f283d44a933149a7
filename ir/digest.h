/* Which module is it? A number of its text, for files that say what they were made from. */
#ifndef IR_DIGEST_H
#define IR_DIGEST_H

#include "ir/ir.h"

enum { IR_DIGEST_DIGITS = 16 };

/*
 * Writes 16 hexadecimal digits and a zero: FNV-1a of the module's printed text, the same for a
 * module and for what is read back from its text. Not for adversaries: it tells versions apart.
 */
void ir_digest(const struct ir_module *m, char text[IR_DIGEST_DIGITS + 1]);

#endif
