/* Source texts that a reporter shows but does not copy: for reading a large file once. */
#ifndef IR_SOURCE_H
#define IR_SOURCE_H

#include "ir/base/diag.h"

/* As diag_add_source, of a text that stays where it is as long as `d`, with two zero bytes after
 * it. Parsers write into it, and leave it as it was. */
uint32_t diag_lend_source(struct diag *d, const char *name, const char *text, size_t length);

#endif
