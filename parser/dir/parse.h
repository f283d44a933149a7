/*
 * Text to module: docs/language.md defines the language.
 *
 *     text --dir.l--> tokens --dir.y--> statements --stmt.c, declare.c--> typed ops of a module
 *
 * All errors of a text are reported, one for each cause: after a syntax error the parser resumes at
 * the next statement, and uses of a value whose definition failed cause no further errors.
 */
#ifndef PARSER_PARSE_H
#define PARSER_PARSE_H

#include "ir/ir.h"
#include "ir/rule.h"

/* A new value for a let: dopt -D B=128. */
struct parse_define {
	const char *name;
	int64_t value;
};

struct parse_options {
	const struct parse_define *define; /* a name that is not a let of the module is an error */
	int ndefines;
	bool *used; /* [ndefines] the cluster has this let, so the module may lack it; NULL: none */
	const char *lets;  /* lets of the cluster, for messages: "nodes = 4"; NULL: none */
	bool inline_calls; /* inline all templates, so that @main is the only function */
	bool text_stays;   /* it need not be copied: diag_lend_source */
};

/*
 * Parses a text of n bytes. The module is owned by `owner`; `file_name` is shown in messages; `o`
 * may be NULL. Returns NULL after errors, which are reported.
 */
struct ir_module *parse_module(const void *owner, struct ir_context *ctx, const char *file_name,
	const char *text, size_t n, const struct parse_options *o);

/*
 * Parses a text of rules, n bytes: ir/rule.h. `owner` owns them. Rules may have the same name as
 * functions, not as each other. Returns NULL after errors, which are reported.
 */
struct ir_rules *parse_rules(const void *owner, struct ir_context *ctx, const char *file_name,
	const char *text, size_t n);

/*
 * Parses a type, "f32[64/dp,512]+ep", over the axes and lets of a module; `name` is shown in
 * messages as the file. Returns NULL after an error, which is reported.
 */
const struct ir_type *parse_type_text(
	struct ir_module *m, const char *name, const char *text, size_t n);

/* A function of the prelude. */
struct parse_prelude {
	const char *at; /* where to look for the next one; NULL: at the beginning */
	char *name;     /* "softmax" */
	char *comment;  /* its lines, each with "//" and a line end */
	char *header;   /* "func @softmax(%x)" */
};

/* Fills in the next function, owned by `owner`; false after the last one. */
bool parse_prelude_next(const void *owner, struct parse_prelude *f);

#endif
