/* The op table of ops.def, parsed once for a context. */
#ifndef IR_ROW_H
#define IR_ROW_H

#include "ir/ir.h"

enum row_limit {
	ROW_MAX_ATTRS = 8,
	ROW_MAX_OPERANDS = 3, /* named in a row; "..." rows take any number */
	ROW_MAX_ITEMS = 6,    /* of one side: a convolution kernel split in groups has 5 */
	ROW_MAX_WHERE = 5,    /* conditions */
	ROW_MAX_NUMBERS = 5,  /* in the words of one condition */
	ROW_ANY = -1,         /* any number of operands or results */
};

enum row_attr_type {
	ROW_INT,
	ROW_FLOAT,
	ROW_STRING,
	ROW_BOOL,
	ROW_AXIS,
	ROW_DTYPE,
	ROW_SCALAR,  /* a number, true or false */
	ROW_INTS,    /* a list of integers, negative ones count from the end */
	ROW_SIZES,   /* a list of sizes */
	ROW_NUMBERS, /* a list of numbers, true and false */
};

struct row_attr {
	const char *key; /* interned */
	enum row_attr_type type;
	bool optional;
	bool has_default;
	struct ir_attr otherwise; /* where has_default */
};

/* One item between the brackets of an operand or of the result: an index, or a group of any number.
 */
struct pattern_item {
	char name; /* a letter; '.' for "..", '*' for "*" */
	char how;  /* 0, or the sign before an attribute: ':' order, '=' sizes, '-' left out */
	const char *attr;        /* of `how`: key, interned */
	const struct term *size; /* =(expr): the size of an index, or of each of a group */
	const struct term *at;   /* {expr}: where the dim is read or written; NULL: at an index */
};

struct pattern_side {
	struct pattern_item item[ROW_MAX_ITEMS];
	int nitems;
};

/* A scalar expression of a row, before sizes and types are known. */
enum term_kind {
	TERM_CONST,
	TERM_NAME,
	TERM_ATTR,     /* $name: a number; for a list the entry of the current dim, or $name.0 */
	TERM_GIVEN,    /* given(name, arg[0]): the same, arg[0] if it is absent */
	TERM_LISTED,   /* listed(dims): is the current dim in the attribute? */
	TERM_SIZE,     /* size(name): of an index; of all that an attribute with dims names */
	TERM_AT,       /* at(name): the index of the result along the dim in an attribute */
	TERM_EXTENT,   /* extent(name, k): size of dim k of an operand; `extent`: of the current dim
			*/
	TERM_HERE,     /* the index of the result in the current dim of a group */
	TERM_WHICH,    /* the number of that dim */
	TERM_POSITION, /* row-major number of the element in the result */
	TERM_KEY,      /* a number made of the op's name and seed */
	TERM_CALL
};

enum { TERM_WHOLE = -1 }; /* instead of an entry of a list */

struct term {
	enum term_kind kind;
	int fn; /* TERM_CALL: enum scalar_fn */
	int nargs;
	int entry;        /* TERM_ATTR, TERM_EXTENT: the number written after the name; a
			     negative one counts dims from the end */
	bool along;       /* TERM_EXTENT: along attribute `dim` instead */
	bool each;        /* TERM_EXTENT: of the dim that `where each` is about */
	double value;     /* TERM_CONST */
	const char *name; /* interned */
	const struct term *arg[3];
};

/* A condition on sizes and attributes, and the text of the error if it does not hold. */
struct condition {
	const struct term *holds;
	bool each;         /* of each dim of the operands' group ".." */
	const char *words; /* with a '%' for each number; interned */
	const struct term *number[ROW_MAX_NUMBERS];
	int nnumbers;
};

struct pattern {
	struct pattern_side in[ROW_MAX_OPERANDS], out;
	const char *name[ROW_MAX_OPERANDS]; /* of the operands: interned */
	int ninputs;
	int reduce;               /* enum form_reduce */
	struct pattern_side over; /* the reduced items; item name 0: the dims of attribute `attr` */
	const struct term *body;
	const struct term
		*fill[ROW_MAX_OPERANDS]; /* "else": the value of a read outside; NULL: 0 */
	struct condition where[ROW_MAX_WHERE];
	int nwhere;
	bool has_terms; /* positions, sizes or a condition: shapes need expressions */
};

struct ir_row {
	const char *name, *types, *notation, *layout, *summary;
	unsigned traits;
	struct row_attr attr[ROW_MAX_ATTRS];
	int nattrs;
	bool more_attrs;               /* "...": any further integer attribute */
	int noperands, nresults;       /* or ROW_ANY */
	const char *operand_types;     /* one letter an operand */
	const char *result_type;       /* "T", "b", "to", "written", "*" or "" */
	const struct pattern *pattern; /* NULL if code makes the notation */
	const struct pattern *last;    /* the same with channels_last; NULL: no such attribute */
	unsigned from;                 /* parallelization: set of 1 << enum ir_state_kind */
	int to;                        /* and the state after */
};

/* Parses ops.def. The rows belong to the context's arena. */
const struct ir_row *ir_rows_parse(struct ir_context *ctx);

/* The row of an op. */
static inline const struct ir_row *
op_row(const struct ir_context *ctx, const struct ir_op *op)
{
	return &ctx->row[op->code];
}

/* The number of letters of a side; its group of indices, `..` as '.' or `*`, NULL if it has none. */
int row_side_letters(const struct pattern_side *s);
const struct pattern_item *row_side_group(const struct pattern_side *s, char name);

/* Is each element computed from the elements of its operands at the same position, in `..`? */
bool row_is_pointwise(const struct ir_row *row);

/* The row's attribute of that name, or NULL. `key` is interned or not. */
const struct row_attr *row_attr_find(const struct ir_row *row, const char *key);

/* Is the type in the class of a letter of the table? */
bool row_letter_fits(char letter, enum ir_dtype t);

/* Gives an op without attributes a copy of these, in the order of its row. */
void row_sort_attrs(struct ir_module *m, struct ir_op *op, const struct ir_attr *attr, int n);
/* The same if the op has room for them. */
void row_put_attrs(struct ir_context *ctx, struct ir_op *op, const struct ir_attr *attr, int n);

/* Text of an attribute type for messages and docs: "integer", "axis" ... */
const char *row_attr_type_name(enum row_attr_type t);

/* Parses a row's notation, or just an expression (notation.c). A fault in the text is a bug: it
 * aborts. */
const struct pattern *notation_parse(struct ir_context *ctx, const char *text);
const struct term *notation_parse_expr(struct ir_context *ctx, const char *text);
/* The pattern of a row with attribute channels_last: channels, in dim -3 of each side, are the last
 * dim; where `..` includes them they become an index of their own, c. */
const struct pattern *notation_channels_last(struct ir_context *ctx, const struct pattern *p);

/* The dim of a tensor of such an op that is `dim` without channels_last: negative in images, from
 * the start in filters. */
int row_image_dim(const struct ir_op *op, int dim);

#endif
