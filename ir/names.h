/*
 * The names that values have in the text: unique in a function, even if value->name is not. The
 * first value of a name keeps it, the next ones become %x_1, %x_2 ...; values without a name are
 * numbered. An argument of a fuse's body has the name of its operand.
 */
#ifndef IR_NAMES_H
#define IR_NAMES_H

#include "ir/ir.h"

struct names;

/* The names of the values of a function in its present form, owned by `owner`. */
struct names *names_create(const void *owner, const struct ir_func *f);

/* The printed name of a value of the function; for a numbered one NULL, with its number. */
const char *names_find(const struct names *n, const struct ir_value *v, uint32_t *number);

/* The name or number of a value of the function as it is printed, with its %; owned by `owner`. */
char *names_text(const void *owner, const struct names *n, const struct ir_value *v);

/* As ir_print_op, with names made before: for printing many ops of one function. */
#include <stdio.h>
void ir_print_op_named(
	FILE *out, const struct ir_module *m, const struct ir_op *op, struct names *names);

#endif
