/* Values of pass options: from text to what the getters of pass.h return. */
#ifndef PASSES_OPTIONS_H
#define PASSES_OPTIONS_H

#include "passes/pass.h"

/* A value. The type of the option decides which fields are used. */
struct pass_value {
	bool given;        /* by the pipeline text */
	struct ir_loc loc; /* of the value there */
	const char *text;  /* PASS_STRING; names of axes, comma-separated */
	int64_t i;         /* PASS_INT, PASS_BOOL, PASS_SIZE in bytes, PASS_ENUM: the position */
	double f;          /* PASS_FLOAT, PASS_TIME in seconds */
	int axis[IR_MAX_AXES], naxes; /* after pass_value_resolve */
};

/* "int", "size" ...: how help and messages name the type; "a|b" for a choice. talloc. */
char *pass_option_type_text(const void *owner, const struct pass_option *o);

/*
 * Reads `text` as a value of that option into *v (strings owned by `owner`). NULL on success; else
 * the error, a talloc text of `owner`: "expected a size such as 25MB, found 'x'".
 */
char *pass_value_parse(
	const void *owner, const struct pass_option *o, const char *text, struct pass_value *v);

/* The error in the description of the option (its default, its choices), or NULL; talloc text. */
char *pass_option_fault(const void *owner, const struct pass_option *o);

/* Looks the axes of the values up in the module. Reports each axis that is missing. */
bool pass_values_resolve(const struct pass *p, struct pass_value *v, const struct ir_module *m);

#endif
