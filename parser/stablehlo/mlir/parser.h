/*
 * Inside the reader of MLIR texts. One struct mlir_parser holds everything of one read; the grammar
 * (mlir.y) calls the functions below as it recognizes things.
 *
 *     mlir.c     entry point, result            attr.c     attributes
 *     lex.c      tokens, recovery after errors  dense.c    elements of dense<>, array<>
 *     symbol.c   symbol tables                  number.c   bit patterns to numbers
 *     type.c     types                          sdy.c      meshes and shardings
 *     op.c       ops and regions                special.c  func, while, reduce ...
 *     pretty.c   pretty forms to generic ones   loc.c      loc("...")
 *     message.c  wording of syntax errors       find.c     queries of a tree
 *     print.c    a tree as generic text
 *
 * Operands, attributes, types, names of results and arguments, and regions are kept on stacks while
 * they are read. A grammar rule pushes some and its value is their number, so that ops in the
 * regions of an op use the stacks above what that op has pushed so far.
 */
#ifndef PARSER_STABLEHLO_MLIR_PARSER_H
#define PARSER_STABLEHLO_MLIR_PARSER_H

#include "ir/base/symbol.h"
#include "parser/base/scan.h"
#include "parser/stablehlo/mlir/mlir.h"

enum {
	MLIR_MAX_BYTES = 1 << 30,  /* of a text: locations have 32 bits, for all texts together */
	MLIR_MAX_ERRORS = 1000,    /* more do not help users, and each shows its line */
	MLIR_MAX_NESTED = 1 << 20, /* bytes of a type or location: limits the search for a missing
				      closing bracket */
	MLIR_MAX_LIST = 1 << 24,   /* results, operands, dims of one thing: counted in 32 bits */
};

struct mlir_form;

/* A text that may repeat: a word, a name with its sigil, a type, a location. Looked up once. */
struct mlir_symbol {
	const char *text; /* n bytes of the source */
	uint32_t n;
	bool location_read; /* `debug_name` is known */
	bool place_read;    /* `place` is known */
	const struct mlir_type *type;
	const char *name;       /* interned, without sigil and escapes; set by mlir_symbol_name */
	const char *debug_name; /* of a location */
	const char *place;      /* likewise: as that of an op */
	const struct mlir_form *form;  /* of an op name */
	const struct mlir_attr *alias; /* of #name */
	struct mlir_symbol *location;  /* of #loc1: the location it stands for */
};

/* The name of a value. */
struct mlir_named {
	const char *name; /* without %; interned */
	uint32_t n;       /* the number in `%r:2` and `%r#1`; else 0 */
};

struct mlir_operand {
	struct mlir_value *value;
	struct ir_loc loc;
};

struct mlir_item {
	struct mlir_attr attr;
	struct mlir_symbol *key; /* of `key = value`; NULL */
	struct ir_loc loc;       /* with the key */
	uint32_t depth;          /* of nested lists */
};

struct mlir_result {
	struct mlir_named name;
	struct ir_loc loc;
};

/* An argument of a block, before the block is opened. */
struct mlir_param {
	const char *name; /* NULL: of a function declaration */
	struct ir_loc loc;
	const struct mlir_type *type;
	const struct mlir_attr *attr;
	uint32_t nattrs;
	struct mlir_symbol *location;
};

/* Heights of the stacks. */
struct mlir_heights {
	uint32_t operand, item, type, result, param, region;
};

/* A region being read. */
struct mlir_frame {
	struct mlir_block *block; /* outside */
	uint32_t scope;           /* outside */
	int64_t undo;
	struct ir_loc loc; /* of the brace */
	struct mlir_heights heights;
};

/* The head of a function, before its body. */
struct mlir_func_text {
	struct mlir_symbol *visibility, *name; /* visibility may be NULL */
	struct ir_loc visibility_loc, name_loc;
	uint32_t params, outputs, attrs;
};

/* A location to look up at the end, when all aliases are known. */
struct mlir_located {
	const char **debug_name, **place; /* place: NULL of a value */
	struct mlir_symbol *location;
};

/* `: (a, b) -> c`: on the stack of types are the inputs, then the outputs. */
struct mlir_sig {
	uint32_t nin, nout : 31;
	bool arrow : 1; /* else all types are inputs */
	struct ir_loc loc;
};

/* `"name"(operands) <{properties}>` of a generic op. */
struct mlir_head {
	struct mlir_symbol *name;
	uint32_t noperands, nprops;
};

/* A number, as a token: small, as the grammar's stack is copied often. */
struct mlir_number_token {
	union mlir_number number;
	bool is_float;
};

struct mlir_counts {
	uint32_t operands, attrs;
};

/* An op that has just been read. All its parts are on top of their stacks. */
struct mlir_pending {
	const char *name;
	struct ir_loc loc;
	uint32_t noperands, nattrs, nregions;
	struct mlir_sig sig;
	const struct mlir_form *form; /* of a pretty op, whose items are not decoded yet */
	bool failed;                  /* an error was reported: no op is made */
};

struct mlir_lexer {
	struct scan scan;
	int nested;     /* token code of the bracketed text being scanned */
	uint32_t depth; /* open brackets in it */
};

struct mlir_parser {
	struct ir_context *ctx;
	struct mlir_file *file;
	struct arena *arena;   /* of the file */
	struct arena *scratch; /* ends with the parse */
	struct mlir_lexer lex;
	struct map symbol_map;
	struct VEC(struct mlir_symbol *) symbols;
	struct symbols values; /* for a group `%r:2` the first value, and their number */
	unsigned errors;       /* of this text */
	bool stop;             /* too many errors */

	struct mlir_block *block;
	uint32_t params; /* number of parameters of the next region */
	bool isolated;   /* the next region does not see outer names */
	struct mlir_pending pending;
	struct VEC(struct mlir_operand) operand;
	struct VEC(struct mlir_item) item, decoded; /* decoded: attributes of a pretty form */
	struct VEC(const struct mlir_type *) type;
	struct VEC(struct mlir_result) result;
	struct VEC(struct mlir_param) param;
	struct VEC(struct mlir_block *) region;
	struct VEC(struct mlir_frame) frame;
	struct VEC(struct mlir_located) located;

	struct mlir_value poison;  /* stands for values whose definition failed */
	struct mlir_type bad_type; /* and for types */
};

/* Reports an error, unless there were too many. */
void mlir_error(struct mlir_parser *p, struct ir_loc loc, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void mlir_note(struct mlir_parser *p, struct ir_loc loc, const char *text);

/* The text of a place. */
static inline const char *
mlir_text_at(const struct mlir_parser *p, struct ir_loc loc)
{
	return scan_text(&p->lex.scan, loc);
}

/* A place inside the text: n bytes at s. */
static inline struct ir_loc
mlir_place(const struct mlir_parser *p, const char *s, size_t n)
{
	uint32_t begin = p->lex.scan.base + (uint32_t)(s - p->lex.scan.text);

	return (struct ir_loc){begin, begin + (uint32_t)n};
}

/* lex.c */
void mlir_lexer_open(struct mlir_parser *p, const char *text, size_t n, uint32_t base);
void mlir_lexer_close(struct mlir_parser *p);
/* The op that ends at `loc` is finished, valid or not. */
static inline void
mlir_lexer_done(struct mlir_parser *p, struct ir_loc loc)
{
	scan_done(&p->lex.scan, loc);
}
/* After an error: the next token is SYNC, at the next op. */
static inline void
mlir_lexer_recover(struct mlir_parser *p)
{
	p->lex.scan.recovering = true;
}

/* symbol.c. The symbol of a text that lives as long as the parser. */
struct mlir_symbol *mlir_symbol_find(struct mlir_parser *p, const char *text, size_t n);
/* The text without its sigil, or the characters of a string; interned. */
const char *mlir_symbol_name(struct mlir_parser *p, struct mlir_symbol *s);
/* Binds a name in the current scope to `n` values. */
void mlir_symbol_define(struct mlir_parser *p, const char *name, struct ir_loc loc,
	struct mlir_value *v, uint32_t n);
/* Binds an undefined name to the poison. */
void mlir_symbol_poison(struct mlir_parser *p, const char *name);
/* The value of a name; if undefined, reports and returns the poison. */
struct mlir_value *mlir_symbol_value(
	struct mlir_parser *p, struct mlir_named name, struct ir_loc loc);

/* type.c */
/* The type of a token; the bad type after an error. */
const struct mlir_type *mlir_type_of(
	struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc);
/* Pushes a type. */
void mlir_push_type(struct mlir_parser *p, const struct mlir_type *t);
/* A type from a text of this program, not of the user. */
const struct mlir_type *mlir_type_make(struct mlir_parser *p, const char *text);
const struct mlir_type *mlir_type_function(
	struct mlir_parser *p, const struct mlir_type *const *item, uint32_t nin, uint32_t nout);
static inline bool
mlir_type_same(const struct mlir_parser *p, const struct mlir_type *a, const struct mlir_type *b)
{
	return a == b || a == &p->bad_type || b == &p->bad_type;
}

/* dense.c */
/* The elements in the text at `loc`, `dense<...>`, for a type; pushes nothing. NULL after an error.
 */
const struct mlir_dense *mlir_dense_read(struct mlir_parser *p, struct ir_loc loc,
	const struct mlir_type *type, struct ir_loc type_loc);
const struct mlir_dense *mlir_dense_ints(
	struct mlir_parser *p, const int64_t *v, int n, int columns);
/* array<i64: 1, 2> at `loc`, pushed as a list. */
void mlir_array_push(struct mlir_parser *p, struct ir_loc loc);

/* attr.c: all push one attribute, or change the last one. */
void mlir_attr_push(struct mlir_parser *p, struct mlir_attr a);
void mlir_attr_symbol(
	struct mlir_parser *p, enum mlir_attr_kind kind, struct mlir_symbol *s, struct ir_loc loc);
void mlir_attr_word(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc);
void mlir_attr_of_type(struct mlir_parser *p, struct ir_loc loc);
void mlir_attr_function(struct mlir_parser *p, uint32_t nin, uint32_t nout, struct ir_loc loc);
void mlir_attr_dense(struct mlir_parser *p, struct ir_loc loc);
/* Gives the last attribute, at `loc`, the type on top of the stack: `3 : i64`. */
void mlir_attr_typed(struct mlir_parser *p, struct ir_loc loc, struct ir_loc type_loc);
/* Groups the last n into one. `dialect` is a mark for its readers: NULL, "x", ":", "{}". */
void mlir_attr_group(struct mlir_parser *p, enum mlir_attr_kind kind, uint32_t n,
	const char *dialect, struct ir_loc loc);
void mlir_attr_key(struct mlir_parser *p, struct mlir_symbol *key, struct ir_loc loc);
void mlir_attr_number(struct mlir_parser *p, struct mlir_number_token n, struct ir_loc loc);
/* start:limit:stride, whose last n numbers are on the stack. */
void mlir_attr_range(struct mlir_parser *p, uint32_t n, struct ir_loc loc);
void mlir_attr_alias(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc);
void mlir_attr_define(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc);
/* The inside of #stablehlo.NAME<..> was pushed. */
void mlir_attr_dialect(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc);
void mlir_attr_entries(struct mlir_parser *p, uint32_t n, struct ir_loc loc);
void mlir_attr_named(
	struct mlir_parser *p, struct mlir_symbol *word, uint32_t n, struct ir_loc loc);
/* Three lists, [b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f], become dimension numbers. */
void mlir_attr_conv(struct mlir_parser *p, struct ir_loc loc);
void mlir_axis_size(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc name_loc,
	struct mlir_number_token size, struct ir_loc loc);
void mlir_axis_part(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc name_loc,
	struct mlir_number_token before, struct mlir_number_token size, struct ir_loc loc);
/* Takes the last n off the stack into the arena. */
const struct mlir_attr *mlir_attrs_take(struct mlir_parser *p, uint32_t n);
struct mlir_attr mlir_make_list(struct mlir_parser *p, const char *name,
	const struct mlir_attr *item, uint32_t n, struct ir_loc loc);
struct mlir_attr mlir_make_int(
	struct mlir_parser *p, const char *name, int64_t i, struct ir_loc loc);

/* sdy.c. The last attributes, @mesh, [..] and n entries, become a sharding. */
void mlir_sharding(struct mlir_parser *p, uint32_t entries, struct ir_loc loc);
void mlir_mesh_attr(struct mlir_parser *p, uint32_t entries, struct ir_loc loc);

/* op.c */
void mlir_operand_push(struct mlir_parser *p, struct mlir_named name, struct ir_loc loc);
void mlir_result_push(struct mlir_parser *p, struct mlir_named name, struct ir_loc loc);
/* Its type and attributes are on their stacks. */
void mlir_param_push(struct mlir_parser *p, const char *name, struct ir_loc loc, uint32_t nattrs,
	struct mlir_symbol *location);
/* Uses `p->params` and `p->isolated`. */
void mlir_region_open(struct mlir_parser *p, struct ir_loc loc);
void mlir_region_close(struct mlir_parser *p);
void mlir_region_abandon(struct mlir_parser *p);
void mlir_region_block(struct mlir_parser *p, uint32_t params, struct ir_loc loc);
/* An op was read; `n`, `regions` and `sig` say how much of each stack is its. */
void mlir_op_form(struct mlir_parser *p, const char *name, struct ir_loc loc, struct mlir_counts n,
	uint32_t regions, struct mlir_sig sig);
/* The op is complete: its results are the last `results` names. */
void mlir_op_finish(struct mlir_parser *p, uint32_t results, struct mlir_symbol *location);
/* After a syntax error: binds the names of results to the poison. */
void mlir_op_give_up(struct mlir_parser *p);

/* special.c */
struct mlir_head mlir_generic_head(
	struct mlir_parser *p, struct mlir_symbol *name, uint32_t operands, uint32_t props);
void mlir_generic(struct mlir_parser *p, struct mlir_head head, struct ir_loc loc, uint32_t regions,
	uint32_t attrs, struct mlir_sig sig);
void mlir_return(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc loc,
	struct mlir_counts n, struct mlir_sig sig);
uint32_t mlir_module_head(
	struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc loc, uint32_t attrs);
void mlir_module(struct mlir_parser *p, struct ir_loc loc, uint32_t attrs);
uint32_t mlir_func_head(struct mlir_parser *p, const struct mlir_func_text *f);
void mlir_func(struct mlir_parser *p, struct ir_loc loc, uint32_t attrs, uint32_t regions);
/* Parts that the generic form stores differently: attributes of arguments, an empty region. */
void mlir_func_finish(struct mlir_parser *p, struct mlir_op *op);
void mlir_while_arg(struct mlir_parser *p, struct mlir_named name, struct ir_loc loc,
	struct mlir_named from, struct ir_loc from_loc);
uint32_t mlir_while_head(
	struct mlir_parser *p, uint32_t n, uint32_t types, struct ir_loc types_loc);
void mlir_while(struct mlir_parser *p, struct ir_loc loc, uint32_t n, uint32_t attrs);
void mlir_reducer(struct mlir_parser *p, uint32_t n);
void mlir_reduce(
	struct mlir_parser *p, struct ir_loc loc, uint32_t n, uint32_t attrs, struct mlir_sig sig);
void mlir_reduce_applies(struct mlir_parser *p, struct ir_loc loc, uint32_t n,
	struct mlir_symbol *name, struct ir_loc name_loc, uint32_t attrs, struct mlir_sig sig);
void mlir_scan_op(struct mlir_parser *p, struct ir_loc loc, uint32_t inputs, uint32_t inits,
	uint32_t attrs, struct mlir_sig sig);
void mlir_mesh(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc name_loc);
void mlir_mesh_op(struct mlir_parser *p, struct ir_loc loc, uint32_t attrs);
void mlir_manual(struct mlir_parser *p, struct ir_loc loc, uint32_t operands, uint32_t attrs,
	struct mlir_sig sig);

/* pretty.c */
void mlir_pretty(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc loc,
	struct mlir_counts n, struct mlir_sig sig);
/* The pending op has a pretty form and `results` names of results: turns its items into generic
 * attributes and completes its signature. False: reported. */
bool mlir_pretty_decode(struct mlir_parser *p, struct mlir_pending *op, uint32_t results);

/* loc.c */
void mlir_location_alias(
	struct mlir_parser *p, struct mlir_symbol *alias, struct mlir_symbol *location);
void mlir_locations_resolve(struct mlir_parser *p);

/* message.c. `expected` are names of tokens. */
void mlir_message_syntax(
	struct mlir_parser *p, struct ir_loc loc, const char *const *expected, int n);

#endif
