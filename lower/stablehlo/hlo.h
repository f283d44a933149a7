/*
 * A module as StableHLO text: shared by the files of this folder.
 *
 *     emit.c         the whole: module, @main, arguments and results, ops one by one
 *     write.c        text: values, types, attributes, ops in generic form
 *     form.c         an op by its form: expressions over the loops, then a reduction or a scatter
 *     load.c         operands at computed positions: pad, slice, reverse, dynamic_slice, gather
 *     product.c      sums of products: dot_general
 *     scalar.c       the scalar functions, one row each
 *     random.c       random numbers, by integer arithmetic
 *     rows.c         ops that StableHLO has as they are
 *     conv.c         convolutions and windows
 *     collective.c   parallelization ops as collectives
 *
 * The text is the program of one replica: shapes are local, and replica_id gives the replica's
 * position on the mesh, whose places are numbered row-major over the device axes. Without device
 * axes it is the program itself.
 *
 * Source: the StableHLO specification (ops, their attributes and constraints); the generic form of
 * ops is MLIR's language reference.
 */
#ifndef LOWER_STABLEHLO_HLO_H
#define LOWER_STABLEHLO_HLO_H

#include "ir/ops/form.h"
#include "ir/interp/interp.h"

enum hlo_limit {
	HLO_MAX_RANK = FORM_MAX_INDICES + 1, /* loops of a form, and a dim for index vectors */
};

/* A tensor of the program: an SSA value. */
struct hlo_value {
	uint32_t id;
	int32_t part;  /* result number of an op that has several; -1: it has one */
	bool argument; /* of @main */
	uint8_t dtype, rank;
	int64_t dim[HLO_MAX_RANK];
};

/* An op to be written. */
struct hlo_op {
	const char *name; /* "stablehlo.add" */
	const struct hlo_value *in;
	int nin;
	const char *attrs;     /* the content of <{..}>, or NULL */
	const char *region;    /* text of a region, or NULL */
	struct hlo_value *out; /* with types; ids are filled in */
	int nout;
};

struct hlo_missing;

struct hlo {
	const struct ir_module *m;
	struct arena *arena; /* expressions */
	void *scratch;       /* texts of the current op */
	char *text;          /* talloc; `used` bytes of it are filled */
	size_t used;
	uint32_t next;                       /* id of the next result */
	size_t last;                         /* end of the text of the last op: a name may follow */
	uint32_t last_id;                    /* id of its result */
	struct hlo_value *value;             /* by value->id */
	struct hlo_value coord[IR_MAX_AXES]; /* of this replica, i64 scalars */
	uint32_t coords;                     /* set of the coordinates that have been written */
	struct hlo_missing *missing;         /* what cannot be expressed: talloc array */
	int nmissing;
};

/* --- write.c ----------------------------------------------------------------------------------
 */

void hlo_print(struct hlo *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A text that lives as long as the current op. */
const char *hlo_text(struct hlo *h, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Prints a string in quotes, escaped as MLIR does. */
void hlo_print_string(struct hlo *h, const char *s);
/* "tensor<4x5xf32>" */
const char *hlo_type_text(struct hlo *h, const struct hlo_value *type);
/* "array<i64: 1, 2>"; "[1, 2]" */
const char *hlo_array(struct hlo *h, const int64_t *v, int n);
const char *hlo_list(struct hlo *h, const int64_t *v, int n);
/* "dense<[[1, 2], [3, 4]]> : tensor<2x2xi64>", rows of `columns`. */
const char *hlo_matrix(struct hlo *h, const int64_t *v, int64_t rows, int64_t columns);
/* An element: "1.5", "-2", "true", "0x7F800000". */
const char *hlo_element(struct hlo *h, enum ir_dtype t, union cell v);
/* "dense<1.0> : tensor<4xf32>": every element is v. */
const char *hlo_splat(struct hlo *h, const struct hlo_value *type, union cell v);

/* A type, for functions that make values. */
struct hlo_value hlo_type(enum ir_dtype t, int rank, const int64_t *dim);
static inline struct hlo_value
hlo_like(struct hlo_value x, enum ir_dtype t)
{
	x.dtype = (uint8_t)t;
	return x;
}

/* Writes an op; sets the ids of o->out. */
void hlo_write(struct hlo *h, const struct hlo_op *o);
/* The same in two parts, for regions that are written in between. */
void hlo_open(struct hlo *h, const struct hlo_op *o);
void hlo_close(struct hlo *h, const struct hlo_op *o);
/* Begins the block of a region; sets the ids of its arguments, which have types. */
void hlo_open_block(struct hlo *h, struct hlo_value *arg, int n);
/* An op with one result. */
struct hlo_value hlo_make(struct hlo *h, const char *name, const struct hlo_value *in, int n,
	const char *attrs, struct hlo_value type);
/* An elementwise op, with the type of x. */
struct hlo_value hlo_one(struct hlo *h, const char *name, struct hlo_value x);
struct hlo_value hlo_two(struct hlo *h, const char *name, struct hlo_value x, struct hlo_value y);
/* "EQ", "LT" ... */
struct hlo_value hlo_compare(
	struct hlo *h, const char *direction, struct hlo_value x, struct hlo_value y);
struct hlo_value hlo_select(
	struct hlo *h, struct hlo_value c, struct hlo_value a, struct hlo_value b);
/* Converts to an element type; writes no op if x already has it. */
struct hlo_value hlo_convert(struct hlo *h, enum ir_dtype t, struct hlo_value x);

/* Constants of that type; a number, an integer. */
struct hlo_value hlo_constant(struct hlo *h, struct hlo_value type, union cell v);
struct hlo_value hlo_number(struct hlo *h, struct hlo_value type, double v);
struct hlo_value hlo_integer(struct hlo *h, struct hlo_value type, int64_t v);

/* Ops on shapes; no op is written if nothing changes. perm[i] is the dim of x that becomes dim
 * i. */
struct hlo_value hlo_reshape(struct hlo *h, struct hlo_value x, int rank, const int64_t *dim);
struct hlo_value hlo_transpose(struct hlo *h, struct hlo_value x, const int64_t *perm);
struct hlo_value hlo_slice(struct hlo *h, struct hlo_value x, const int64_t *start,
	const int64_t *limit, const int64_t *stride);
struct hlo_value hlo_pad(struct hlo *h, struct hlo_value x, struct hlo_value fill,
	const int64_t *low, const int64_t *high, const int64_t *interior);
struct hlo_value hlo_concat(struct hlo *h, const struct hlo_value *x, int n, int dim);

/* The op that reduces two elements: "stablehlo.add"; NULL: the second element. */
const char *hlo_monoid(enum form_reduce how, enum ir_dtype t);
/* The region with that op, and the initial value of a reduction. */
const char *hlo_region(struct hlo *h, const char *monoid, enum ir_dtype t);
union cell hlo_identity(enum form_reduce how, enum ir_dtype t);
/* Reduces over dims (ascending); the caller must widen sums of 16-bit floats first. */
struct hlo_value hlo_reduce(
	struct hlo *h, struct hlo_value x, const int64_t *dims, int n, enum form_reduce how);

/* --- emit.c -----------------------------------------------------------------------------------
 */

/* Records that the op, or a case of it, cannot be expressed: one message for each op and reason, at
 * the end. `why` ends a sentence. Returns false. */
bool hlo_unsupported(struct hlo *h, const struct ir_op *op, const char *why);
/* Local shape of a value. */
struct hlo_value hlo_local_type(struct hlo *h, const struct ir_type *t);
static inline struct hlo_value *
hlo_of(struct hlo *h, const struct ir_value *v)
{
	return &h->value[v->id];
}

/* --- the ops ----------------------------------------------------------------------------------
 */

/* Writes an op on `in`; sets the results of hlo_of. HLO_OTHER: this case must be converted by the
 * form. */
enum hlo_done { HLO_DONE, HLO_FAILED, HLO_OTHER };
typedef enum hlo_done hlo_row(
	struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out);

/* rows.c: the op's own function; NULL: none. */
hlo_row *hlo_find_row(enum op_code code);
/* conv.c */
hlo_row hlo_conv2d, hlo_conv2d_data, hlo_conv2d_filter, hlo_max_pool, hlo_avg_pool, hlo_window;

/* form.c: an op by its form. */
enum hlo_done hlo_form(
	struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out);

/* collective.c */
bool hlo_parallel(struct hlo *h, const struct ir_op *op);
/* The number of the slice of `dim` that this replica holds: an i64 scalar. */
struct hlo_value hlo_slice_number(struct hlo *h, const struct ir_type *t, int dim);
/* x where this replica holds values of that type, 0 elsewhere. */
struct hlo_value hlo_held(struct hlo *h, const struct ir_type *t, struct hlo_value x);

/* scalar.c: e->id of arguments of one shape. False: StableHLO has no such function. */
bool hlo_scalar(
	struct hlo *h, const struct expr *e, const struct hlo_value *arg, struct hlo_value *out);
/* Does the function have a row? For tests. */
bool hlo_scalar_exists(enum scalar_fn fn);
/* random.c */
struct hlo_value hlo_random(struct hlo *h, const struct expr *e, const struct hlo_value *arg);

/* --- form.c, load.c, product.c ----------------------------------------------------------------
 */

/* A tensor whose dims correspond to indices of a form; no index occurs twice. */
struct hlo_nest {
	struct hlo_value v;
	int8_t index[HLO_MAX_RANK];
	const struct expr *lazy; /* constant or index that is not written yet, of any shape */
};

struct hlo_memo {
	const struct expr *e;
	struct hlo_nest nest;
};

struct hlo_nests {
	struct hlo *h;
	const struct ir_op *op;
	struct form f;
	struct form_offset offset[FORM_MAX_INDICES];
	const struct hlo_value *in;
	int8_t order[FORM_MAX_INDICES]; /* loops: those of the result, then the reduced ones */
	int norder;
	int8_t rank[FORM_MAX_INDICES]; /* position of a loop in the order; -1: not a loop */
	struct hlo_memo *memo;         /* talloc array */
	int nmemo;
	bool failed;
};

/* The value of an expression. */
struct hlo_nest hlo_eval(struct hlo_nests *x, const struct expr *e);
/* Operand j, at its positions. */
struct hlo_nest hlo_load(struct hlo_nests *x, int j);
/* The set of loops that a nest runs over. */
uint32_t hlo_loops(const struct hlo_nest *n);
/* The nest as a tensor over exactly these loops, in their order; it must have no others. */
struct hlo_nest hlo_spread(
	struct hlo_nests *x, const struct hlo_nest *n, const int8_t *index, int rank);
/* The loops of a set in order; returns their number. */
int hlo_ordered(const struct hlo_nests *x, uint32_t set, int8_t *index);
/* Positions of computed indices as one tensor [loops.., n] of i64. */
struct hlo_value hlo_positions(
	struct hlo_nests *x, const int *computed, int n, const int8_t *loops, int nloops);
/* Sums a nest over the loops in the set. */
struct hlo_nest hlo_reduce_nest(
	struct hlo_nests *x, const struct hlo_nest *n, uint32_t set, enum form_reduce how);
/* Is the body a product that is summed over loops that its factors share? If so, writes its sum, in
 * `wide`. */
bool hlo_product(struct hlo_nests *x, enum ir_dtype wide, struct hlo_nest *sum);

#endif
