/*
 * Text to module: docs/language.md says what the language is.
 *
 *     text --dir.l--> tokens --dir.y--> statements --stmt.c, declare.c--> typed ops of a module
 *
 * All errors of a text are reported, one for each cause: after a syntax error the parser resumes at
 * the next statement, and uses of a value whose definition failed cause no further errors.
 */
#ifndef PARSER_PARSE_H
#define PARSER_PARSE_H

#include "ir/ir.h"

/* A let that is given another value: dopt -D B=128. */
struct parse_define {
	const char *name;
	int64_t value;
};

struct parse_options {
	const struct parse_define *define; /* a name that is no let of the module is an error */
	int ndefines;
	bool inline_calls; /* put all templates in place, so that @main is the only function */
};

/*
 * The module of a text of n bytes, owned by `owner`; `file_name` is what messages show. `o` may be
 * NULL. After an error, which was reported, NULL.
 */
struct ir_module *parse_module(const void *owner, struct ir_context *ctx, const char *file_name,
	const char *text, size_t n, const struct parse_options *o);

/*
 * A type, "f32[64/dp,512]+ep", over the axes and lets of a module; `name` is what messages show as
 * the file. NULL after an error.
 */
const struct ir_type *parse_type_text(
	struct ir_module *m, const char *name, const char *text, size_t n);

#endif
