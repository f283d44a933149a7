/* Source texts that a reporter shows but does not copy: for reading a large file once. */
#ifndef IR_SOURCE_H
#define IR_SOURCE_H

#include "ir/base/diag.h"

/* As diag_add_source, for a text that stays at its address as long as `d`, with two zero bytes
 * after it. Parsers write into it temporarily and restore it. */
uint32_t diag_lend_source(struct diag *d, const char *name, const char *text, size_t length);

#endif
