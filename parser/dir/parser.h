/*
 * Inside the parser. One struct parser holds everything of one parse; the grammar (dir.y) calls the
 * functions below as it recognizes things.
 *
 *     parse.c    entry point: options, end of the module    symbols.c  names to values, scopes
 *     lex.c      tokens; recovery after an error             sizes.c    size expressions and types
 *     declare.c  let, mesh, steps, func                      attrs.c    attributes by the op's row
 *     stmt.c     ops and fuse bodies                         rule.c     rules
 */
#ifndef PARSER_PARSER_H
#define PARSER_PARSER_H

#include "ir/base/symbol.h"
#include "ir/base/vec.h"
#include "ir/ir.h"
#include "ir/ops/row.h"
#include "ir/rule.h"
#include "ir/template.h"
#include "ir/base/intern.h"
#include "parser/base/scan.h"
#include "parser/dir/parse.h"

enum parse_limit {
	PARSE_MAX_BYTES = 1 << 30, /* of a text: locations have 32 bits, for all texts together */
	PARSE_MAX_REGIONS = 32,    /* nested fuses; passes and printer recurse */
	PARSE_MAX_LIST = IR_MAX_LIST, /* operands, attributes, items of a list */
};

/* A size that is being built: a constant or a tree. */
struct size_value {
	const struct ir_size *tree; /* NULL: the constant i */
	int64_t i;
	bool minimum; /* the literal 2^63, which is valid only after a minus sign */
};

/* A text being scanned. */
struct lexer {
	struct scan scan;
	struct lexer *outer; /* of the enclosing text */
	int start;           /* the token that says what is parsed; 0 after its delivery */
	bool is_type;        /* START_TYPE: messages speak of the type */
	bool is_cluster;     /* START_CLUSTER: recovery is at items */
	int close;           /* closing braces to deliver that the text lacks */
	int open;            /* open braces */
};

/* A name with its place; the name is interned. */
struct named {
	const char *name;
	struct ir_loc loc;
};

/* A written type: evaluated in @main, as text in templates. */
struct typed {
	const struct ir_type *type;
	struct ir_type_text *text;
	struct ir_loc loc;
};

/* The statement being read. */
struct stmt {
	bool pending; /* its head was read: op and operands */
	bool attrs_done;
	int code; /* enum op_code, or -1 */
	const char *symbol;
	struct ir_loc loc, symbol_loc;
	struct ir_op *op; /* of a fuse: made before its body; NULL if poisoned */
	bool poisoned;    /* an error in it, or in a value it uses, was reported */
};

/* The body of a fuse, or of an op that should not have one, being read. */
struct region {
	struct region *outer;
	struct stmt stmt;       /* the fuse */
	struct ir_block *block; /* outside */
	uint32_t scope;         /* outside */
	int64_t undo;           /* length of the undo list outside */
	bool bad;               /* a statement of the body was dropped */
};

/*
 * Rules that differ in words: their text is read once for each choice of what its letters stand
 * for, as a rule of its own.
 */
struct family_letter {
	const char *name;
	const struct ir_attr *word; /* names */
	int n, at;                  /* number of them, and the one that is being read */
	bool of_ops;                /* the attributes of the op have names, too */
};

struct family {
	struct VEC(struct family_letter) letter;
	uint32_t begin; /* location of the rule */
	bool reading;   /* its letters were read: words are replaced */
	bool again;     /* its text was read before */
};

struct parser {
	struct ir_context *ctx;
	struct ir_module *m;
	const struct parse_options *o;
	struct arena *scratch; /* ends with the parse */
	struct lexer *lex;
	struct symbols
		meanings; /* what names mean; of scopes only the undo list of bodies is used: a
				    value of a scope has a larger id than all before it */
	uint32_t scope;   /* values with ids >= this belong to the function or body being read */
	bool named, in_prelude;
	bool *defined;  /* by -D option: its let was found */
	bool time;      /* axes being declared are time axes */
	int first_axis; /* of those */

	struct ir_func *func; /* being read, or NULL */
	bool template, func_bad;
	struct ir_block *block;
	struct region *region;
	int nregions;
	struct ir_op *untyped; /* first op of @main that waits for a function defined later */
	bool deferred;

	struct stmt stmt;
	struct VEC(struct named) result, word; /* before "=", in the parentheses */
	struct VEC(struct named) arg; /* the name of each word in the body, if there is one */
	struct VEC(struct ir_value *) operand;
	struct VEC(struct ir_attr) attr, item; /* of the op, of lists */
	struct VEC(struct ir_loc) key;         /* of each of `attr` */
	struct VEC(struct typed) type;
	struct VEC(struct ir_op *) call;
	struct VEC(const struct ir_size *) dim;
	struct VEC(struct ir_type_suffix) suffix;
	enum ir_memory memory;
	bool dots, is_param;       /* of the type being read */
	struct ir_rules *rules;    /* NULL: a module is read */
	struct symbols rule_named; /* the rules that were read */
	struct ir_rule *rule;      /* being read, or NULL */
	struct family family;      /* of that rule */
	struct VEC(struct ir_rule_condition) where;
	struct ir_value poison;       /* stands for values whose definition failed */
	struct ir_type_text *written; /* result of parsing a type */
	struct cluster_tree *tree;    /* result of parsing a cluster */
	bool tree_lacks;              /* wrong items, and the names in them, were dropped */
	uint32_t prelude_base; /* location of the prelude among the sources; 0: not loaded yet */
};

#define PARSE_ERROR(p, loc, ...) diag_error((p)->ctx->diag, (loc), __VA_ARGS__)

/* The text at location `loc` in the current text. */
static inline const char *
text_at(const struct parser *p, struct ir_loc loc)
{
	return scan_text(&p->lex->scan, loc);
}

/* lex.c. The lexer of the parser until it is closed; `start` is a START_ token. See scan_open. */
void lexer_open(struct parser *p, struct lexer *lx, const void *owner, const char *text, size_t n,
	uint32_t base, int start);
void lexer_close(struct parser *p);
/* The statement or declaration that ends at `loc` is finished, valid or not. */
static inline void
lexer_done(struct parser *p, struct ir_loc loc)
{
	scan_done(&p->lex->scan, loc);
}
/* The next token is the one at this location, which was read before. */
void lexer_return(struct parser *p, uint32_t loc);
/* Is the last token the first on its line? */
static inline bool
lexer_at_line_start(const struct parser *p)
{
	return scan_begins_line(&p->lex->scan, p->lex->scan.text + p->lex->scan.last);
}
/* After an error: the next token is SYNC, at the next statement. */
static inline void
lexer_recover(struct parser *p)
{
	p->lex->scan.recovering = true;
}

/* symbols.c. What a name means: NULL or a value; for the text of a type, the type. */
static inline void **
symbol_meaning(struct parser *p, const char *name)
{
	return &symbol_of(&p->meanings, name)->value;
}
/* Is the name defined in the current scope? */
bool symbol_is_here(struct parser *p, const char *name);
/* Binds a name in the current scope. If it is already defined, reports and returns false. */
bool symbol_define(struct parser *p, struct named name, struct ir_value *v);
/* Binds an undefined name to the poison. */
void symbol_poison(struct parser *p, const char *name);
/* The value of a name, perhaps the poison; if it is undefined, reports and returns NULL. */
struct ir_value *symbol_value(struct parser *p, struct named name);

/* sizes.c. False: a reported error. */
struct size_value size_name(struct parser *p, const char *name, struct ir_loc loc);
bool size_dim(struct parser *p, struct named value, struct size_value dim, struct ir_loc loc,
	struct size_value *to);
bool size_join(struct parser *p, enum size_kind kind, struct size_value x, struct ir_loc xloc,
	struct size_value y, struct ir_loc yloc, struct size_value *to);
bool size_negate(struct parser *p, struct size_value x, struct ir_loc xloc, struct ir_loc loc,
	struct size_value *to);
const struct ir_size *size_tree(struct parser *p, struct size_value s, struct ir_loc loc);
/* Its value, with the lets of the module. */
bool size_number(struct parser *p, struct size_value s, struct ir_loc loc, int64_t *value);
/* Before a type is read: nothing was read of one. */
void type_begin(struct parser *p);
void type_suffix(struct parser *p, struct named axis, const struct ir_size *place);
/* `@host`, the last suffix of a type. */
bool type_memory(struct parser *p, struct named memory);
bool type_finish(struct parser *p, const char *dtype, struct ir_loc dtype_loc, struct ir_loc loc);
/* type.c: the type of a value, from its token. */
void type_push(struct parser *p, const char *text, struct ir_loc loc);

/* Is the name a letter for the element types of a class, in rules: T, N, F1 ...? */
bool type_letter(const char *name);
/* `..`, in rules. */
bool type_dots(struct parser *p, struct ir_loc loc);

/* rule.c. A rule: its name, its parameters, its sides; wrong parts are dropped. */
void rule_begin(struct parser *p, struct named name, struct ir_loc begin);
/* The attributes read so far are the letters of a family of rules; `head` is its name and they. */
void rule_family(struct parser *p, struct ir_loc head);
/* An op for which a letter of all ops stands gets names for its attributes: those of both sides are
 * equal. */
void rule_family_attrs(struct parser *p, struct named op);
/* What a word stands for in the member of a family that is being read. */
const char *rule_family_word(const struct parser *p, const char *word);
void rule_left(struct parser *p);
void rule_right(struct parser *p);
void rule_condition(struct parser *p, struct size_value x, struct ir_loc xloc,
	enum ir_rule_compare compare, struct size_value y, struct ir_loc yloc);
/* If `word` is not an assumption, reports and returns false. */
void rule_assumption(struct parser *p, struct named word);
void rule_side_end(struct parser *p, struct ir_loc brace);
void rule_end(struct parser *p, struct ir_loc brace);
void rule_give_up(struct parser *p);

/* attrs.c */
struct ir_attr attr_of_size(struct parser *p, struct size_value s, struct ir_loc loc);
struct ir_attr attr_of_list(struct parser *p, int n, struct ir_loc loc);

/* The product of a size and a quantity. */
struct ir_attr attr_of_product(struct parser *p, struct size_value s, struct ir_attr quantity,
	struct ir_loc of_size, struct ir_loc loc);
void attr_push(struct parser *p, struct named key, struct ir_attr value);
/* The attributes read so far belong to an op of this row: checks and converts them. */
bool attrs_resolve(struct parser *p, const struct ir_row *row);

/* declare.c */
void declare_module(struct parser *p, struct named name);
void declare_let(struct parser *p, struct named name, struct size_value size, struct ir_loc loc);
void declare_axes(struct parser *p, bool time, struct ir_loc loc);
void declare_axis(struct parser *p, struct named name, struct size_value size, struct ir_loc loc);
void declare_axes_attrs(struct parser *p, struct ir_loc loc);
/* The parameters are the results read so far. */
void func_begin(struct parser *p, struct named name);
void func_end(struct parser *p, struct ir_loc loc);
/* A function that could not be read: calls of it are silent. */
void func_abandon(struct parser *p, struct named name);

/* stmt.c */
/*
 * op_name(operands): `callee` is that of a call; its name is NULL for other ops. Opens the body of
 * a fuse. Returns the number of bodies that are open around the statement.
 */
/* An operand, and its name in the body of a while: `%i = %zero`; without one it is the operand's. */
void stmt_operand(struct parser *p, struct named arg, struct named operand);
int stmt_head(struct parser *p, struct named op, struct named callee, struct ir_loc loc);
void stmt_attrs(struct parser *p);
/* The end of the innermost body. */
void stmt_body(struct parser *p);
/* Abandons a statement: closes the bodies that it opened. A complete statement is kept. */
void stmt_abandon(struct parser *p, int depth);
/* The end of a statement whose head returned `depth`. */
void stmt_finish(struct parser *p, int depth);
/* After a syntax error: binds the names that were read to the poison. */
void stmt_give_up(struct parser *p);
/* Infers the types of the ops of @main that waited for the functions. */
void stmt_type_rest(struct parser *p);

/* Discards what was read of a statement. */
void stmt_reset(struct parser *p);

/* prelude.c. Adds the prelude's function `name` to the module, if it has one. */
bool prelude_load(struct parser *p, const char *name);

/* parse.c. A parser of a text that belongs to the module m; `o` may be NULL. */
struct parser *parser_create(const void *owner, struct ir_module *m, const struct parse_options *o);
/* Reads declarations and functions from a text, see scan_open. */
void parse_text(struct parser *p, const void *owner, const char *text, size_t n, uint32_t base);

#endif
