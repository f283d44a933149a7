/* What the files that write one kernel share: kernel.c, expr.c, select.c, gemm.c ... */
#ifndef LOWER_KERNEL_TEXT_H
#define LOWER_KERNEL_TEXT_H

#include "lower/text/kernel.h"

/* A loop of a stage, and the part of it that has any effect: range.c. */
struct kernel_range {
	int cls;
	int64_t size, most; /* of the class; of the loop's variable */
	uint32_t inside;    /* computed indices that are inside in all of it; 0: all of it is run */
	bool backwards;     /* all of it is run, from the last iteration to the first */
	char *low, *high;
	char *value; /* in a loop over the position: the class's index */
};

struct kernel_text {
	FILE *out;
	FILE *before;     /* for functions that the kernel calls, which its function follows */
	const char *name; /* of the function */
	const struct scheme *s;
	struct kernel_args *args;
	void *scratch; /* talloc: texts of this kernel */
	int indent;
	int ntemps;
	bool reads_both; /* a select reads both arms before it chooses: a branch costs more */
	bool wide_sums;  /* sums of 16-bit floats accumulate in f32, outside their results */
	struct kernel_range range[SCHEME_MAX_CLASSES]; /* of the current segment, by class */
	/* For targets that keep values elsewhere: every value of a segment is a local in the
	 * function that reads it; returns the text of an element, NULL for the default. */
	bool all_local;
	bool sums_local; /* complete sums of an outer iteration are locals of later stages */
	char *(*element)(struct kernel_text *w, const struct scheme_op *o, int j);
	void *data; /* of `element` */
};

/* printf at the current indentation, followed by a newline. */
void kernel_line(struct kernel_text *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Opens a block after `head`, or a loop over a class; closes one. */
void kernel_open(struct kernel_text *w, const char *head);
void kernel_open_loop(struct kernel_text *w, const struct scheme_segment *g, int cls);
void kernel_close(struct kernel_text *w);

/*
 * The loop over the part of a class that has any effect, cut into chunks where a sum needs that:
 * sum.c. Chunks are opened first, by a separate function, so that accumulators can be declared
 * between the two loops.
 */
void kernel_open_chunks(
	struct kernel_text *w, const struct scheme_segment *g, int cls, int64_t chunk);
void kernel_open_counted(
	struct kernel_text *w, const struct scheme_segment *g, int cls, int64_t chunk);

/* Iterations of loop g->order[at] per chunk because of sums in memory of the ops of a stage (-1: of
 * all), at most `chunk`; 0: all. */
int64_t kernel_chunk(const struct kernel_text *w, const struct scheme_segment *g, int at, int stage,
	int64_t chunk);

/* Adds the sums that the ops of a stage (-1: of all) made in memory during a chunk of loop
 * g->order[at] to their doubles. */
void kernel_flush(struct kernel_text *w, const struct scheme_segment *g, int at, int stage);

/* The sum that op o made in memory, as a float; from its doubles, if it has any. */
char *kernel_sum(struct kernel_text *w, const struct scheme_op *o, const char *accumulator);

/* Writes a segment's ops without loops, before its nest; writes stage `number` inside the outer
 * nest: stage.c. */
void kernel_prologue(struct kernel_text *w, const struct scheme_segment *g);
void kernel_stage(struct kernel_text *w, const struct scheme_segment *g, int number);

/* Where op o accumulates: f32 in a buffer of its own if its result has 16 bits. Does the
 * accumulator have the 16 bits of the result? */
char *kernel_accumulator(struct kernel_text *w, const struct scheme_op *o);
bool kernel_is_narrow(const struct kernel_text *w, const struct scheme_op *o);

/* Number of the argument; it is added if it is new. */
int kernel_arg(struct kernel_text *w, const struct kernel_arg *arg);

/* The C type in which elements of type t are computed. */
const char *kernel_compute_type(enum ir_dtype t);

/* The element of memory tensor or row `t` that op o reads as load j (j = -1: writes), as an lvalue.
 */
char *kernel_element(struct kernel_text *w, const struct scheme_op *o, int j);

/* Select e of op o, with these texts as its arguments. */
char *kernel_select(
	struct kernel_text *w, const struct scheme_op *o, const struct expr *e, char *const *arg);

/* The value of load j in op o: a local or an element, converted to the type that op o computes
 * in. */
char *kernel_load(struct kernel_text *w, const struct scheme_op *o, int j);

/* `value` converted and rounded for an assignment to an element of type t. */
char *kernel_stored(struct kernel_text *w, enum ir_dtype t, const char *value);

/* The value of an expression of op o; subexpressions used twice become locals, written first. A
 * 16-bit expression is computed in f32; the second function rounds it, as for the result of an
 * op. */
char *kernel_expr(struct kernel_text *w, const struct scheme_op *o, const struct expr *e);
char *kernel_rounded(struct kernel_text *w, const struct expr *body, char *value);

/* The value of op o at the current indices; for one that reduces, its summand, not rounded. */
char *kernel_value(struct kernel_text *w, const struct scheme_op *o);

/* Declares the positions of an access's computed indices, once each. Returns the condition under
 * which all are inside the range that this rank has, NULL where they always are. */
char *kernel_positions(
	struct kernel_text *w, const struct scheme_op *o, const struct form_access *x);

/* The name of the local that holds the position of a computed index. */
char *kernel_position_name(struct kernel_text *w, const struct scheme_op *o, int index);

/* Declares the elements of the literals that the scheme reads, as arrays of their bits, before the
 * code of the kernel. */
void kernel_literals(struct kernel_text *w);

/* Stores value `v<out>` of op o if it is read outside its loop. */
void kernel_store(struct kernel_text *w, const struct scheme_op *o);

/* The identity of a reduction; `a` and `b` reduced (an accumulator: max and min are plain
 * comparisons). */
char *kernel_identity(struct kernel_text *w, const struct scheme_op *o);
char *kernel_combined(struct kernel_text *w, const struct scheme_op *o, const char *a,
	const char *b, bool accumulator);

/* Accumulator v<out> of op o, once it is complete: divided for a mean, rounded to its element
 * type. */
void kernel_settle(struct kernel_text *w, const struct scheme_op *o);

/* The complete sum of a mean, divided. */
char *kernel_divided(struct kernel_text *w, const struct scheme_op *o, const char *sum);

/* Element of op o's result = reduce(element, value). */
void kernel_accumulate(struct kernel_text *w, const struct scheme_op *o, const char *value);

/* Number of the tensor that result r of the kernel is. */
int kernel_result(const struct scheme *s, int r);

/* A constant of that type. */
char *kernel_const(struct kernel_text *w, enum ir_dtype t, double v);
/* The same for a node EXPR_CONST, exact for all integers. */
char *kernel_const_expr(struct kernel_text *w, const struct expr *e);

/* The loops over slabs of a kernel that has them, with calls of the function of one slab:
 * slab.c. */
void kernel_slabs(struct kernel_text *w, const char *name);

/* The matrix product of a segment; rows [b0, b1) of it only where `block`. */
void kernel_gemm(struct kernel_text *w, const struct scheme_segment *g, bool block);

/*
 * Finds the ranges of the loops of a segment that has one op. Opens a loop that has one. Is
 * computed index `index` inside by them, and is its position the variable of a loop (else `value`
 * stays)?
 */
void kernel_find_ranges(struct kernel_text *w, const struct scheme_segment *g);
void kernel_open_range(
	struct kernel_text *w, const struct kernel_range *r, const char *first, const char *end);
bool kernel_is_ranged(const struct kernel_text *w, int index, char **value);

/* Is a loop of the current segment over positions, instead of the index that it belongs to? */
bool kernel_goes_by_position(const struct kernel_text *w);

/* Writes the running sums of segment `number`. */
void kernel_scan(struct kernel_text *w, int number);

/* Writes the convolution of segment `number`. */
void kernel_conv(struct kernel_text *w, int number);

/* Name of a tensor's memory. */
char *kernel_memory(struct kernel_text *w, int tensor);

#endif
