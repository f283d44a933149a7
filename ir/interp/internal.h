/*
 * Shared by the files of the interpreter; not included from elsewhere.
 *
 *     interp.c   the interpreter: steps, ops, live ranges of values
 *     tensor.c   whole and local tensors: rounding, copies
 *     data.c     initial values and random inputs
 *     file.c     the data set
 *     place.c    layouts: slicing, assembling, moving data between places
 *     form.c     an op by its form: a small program run over strips of elements
 *     scalar.c   the scalar functions over strips
 *     fold.c     an op on single numbers
 *     gemm.c     sums of products of two tensors, fast
 *     compare.c  comparison of tensors, modules and layouts
 *     print.c    dopt -run
 */
#ifndef IR_INTERP_INTERNAL_H
#define IR_INTERP_INTERNAL_H

#include "ir/ops/form.h"
#include "ir/interp/interp.h"

enum interp_limit {
	INTERP_MAX_PLACES = 4096, /* places in LAYOUT; each holds its tensors, so more would not fit
				     in memory */
	INTERP_MAX_ELEMENTS = 1 << 28, /* of a tensor: 2 GiB of cells, minutes of work */
	INTERP_STRIP = 256, /* elements of one run of a form's program: registers stay in the
			       first-level cache */
};

/* The interpreter's data of a value; its number is value->id. */
struct slot {
	struct tensor **place; /* one a place, NULL if the place does not hold the value; NULL:
				  no value now */
	int uses;              /* still to come in this step */
	bool borrowed;         /* the tensors belong to another slot: an argument of a fuse */
	bool released;
};

/* A param or state, or an output. */
struct named {
	const char *name;
	struct ir_op *op;
	struct tensor *now;  /* persistent: value in this step; output: value of this step */
	struct tensor *next; /* persistent: value in the next step, NULL before it is computed */
};

struct interp_data;

struct interp {
	struct ir_module *m; /* own copy */
	struct ir_func *main;
	struct interp_options o;
	struct arena *arena; /* forms and their programs */
	int64_t nplaces;     /* 1 in MEANING */
	int (*coord)[IR_MAX_AXES];
	struct slot *slot;                         /* by value->id */
	struct form_plan **plan;                   /* by op->id; made when an op is first run */
	struct named *output, *persistent, *input; /* input: those that were set by hand */
	int noutputs, npersistents, ninputs;
	struct interp_data *data; /* the open data file, or NULL */
	uint64_t noise; /* not 0: seed for moving each rounded result by a unit in the last place */
	int64_t step;
	int64_t done; /* steps that have ended, counted from step 0 */
	bool repeats; /* a step that a program kept because of a number that is not finite */
	bool found_infinite, found_nan,
		found_given; /* where such numbers come from has been reported */
};

/* interp.c: a step op by op. interp_op runs one op of @main; interp_op_done frees values without
 * further readers. */
void interp_begin(struct interp *it, int64_t step);
bool interp_op(struct interp *it, struct ir_op *op);
void interp_op_done(struct interp *it, struct ir_op *op);
void interp_end(struct interp *it);

/* finite.c: reports the first op whose result is infinite, and the first whose result has a NaN,
 * where its operands are and have not. */
void interp_look(struct interp *it, const struct ir_op *op);

/* The tensors of a value at all places; never NULL for one that has been computed and not freed. */
static inline struct tensor **
interp_places(const struct interp *it, const struct ir_value *v)
{
	return it->slot[v->id].place;
}

/* data.c: whole tensors owned by `owner`. NULL, after a report, if the data does not fit. */
struct tensor *interp_initial(const struct interp *it, const void *owner, const struct ir_op *op);
struct tensor *interp_input(const struct interp *it, const void *owner, const struct ir_op *op);
/* file.c: opens the data file of the options, owned by `it`; the rows of this step. */
bool interp_data_open(struct interp *it);
/* Params and states from the file of the options; states that it does not have keep their initial values. Reports. */
bool interp_load(struct interp *it);
/* Rows of a step, 0 without an input; rows of the data set, 0 without one. */
int64_t interp_batch(const struct interp *it);
int64_t interp_data_rows(const struct interp *it);
struct tensor *interp_rows(const struct interp *it, const void *owner, const struct ir_op *op,
	const struct ir_type *type);

/* tensor.c */
/* Rounds and wraps all elements to the tensor's type; floats are left alone with f64. */
void tensor_settle(struct tensor *t, bool f64);
/* Moves each float by a unit in the last place of a double: up or down, as the seed and the number
 * say, so that equal numbers stay equal. */
void tensor_add_noise(struct tensor *t, uint64_t seed);
/* Row-major strides, in elements. */
void tensor_strides(const struct tensor *t, int64_t stride[IR_MAX_RANK]);
/* The same elements in another shape, owned by `owner`. */
struct tensor *tensor_reshape(
	const void *owner, const struct tensor *t, int rank, const int64_t *dim);
/* Copies the box of `size` at `from` in `src` to the box at `to` in `dst`; with `add` it is added
 * there. */
void tensor_copy_box(struct tensor *dst, const int64_t *to, const struct tensor *src,
	const int64_t *from, const int64_t *size, bool add);

/* place.c */
/* Local shape of a value at a place: the whole shape in MEANING. */
void interp_local_shape(const struct interp *it, const struct ir_type *t, int64_t dim[IR_MAX_RANK]);
/* Does the place hold such a value: is it at k on every axis where the value is single(k)? */
bool interp_holds(const struct interp *it, const struct ir_type *t, int64_t place);
/* The local tensor of a place. If the type is partial, place 0 has the values and others zeros.
 */
struct tensor *interp_cut(const struct interp *it, const void *owner, const struct ir_type *t,
	const struct tensor *whole, int64_t place);
/* The whole tensor from the places. */
struct tensor *interp_assemble(const struct interp *it, const void *owner, const struct ir_type *t,
	struct tensor *const *place);
/* Do all copies of a value agree? */
bool interp_copies_agree(
	const struct interp *it, const struct ir_type *t, struct tensor *const *place);
/* Operand i of a parallelization op with its new layout, at all places; result[] has nplaces
 * entries. */
void interp_move(const struct interp *it, const void *owner, const struct ir_op *op, int i,
	struct tensor **result);

/* form.c: an op with a form. */
struct form_plan;
/* NULL, after a report, if the op has no form. */
struct form_plan *form_plan_make(struct interp *it, const struct ir_op *op);
/* The op at one place; in[] are its operands there. The result is owned by `owner`. */
struct tensor *form_plan_run(const struct interp *it, const struct form_plan *plan,
	const void *owner, struct tensor *const *in, const struct ir_type *result, int64_t place);

/* scalar.c: r[i] = fn(x[i], y[i], z[i]) for n elements. `dtype` is the result's, `arg` the
 * type of x. */
void scalar_run(enum scalar_fn fn, enum ir_dtype dtype, enum ir_dtype arg,
	const struct interp_options *o, union cell *r, const union cell *x, const union cell *y,
	const union cell *z, int n);
/* n values of type t as arithmetic reads them: subnormal ones are zeros, unless they are kept. */
void scalar_flush(enum ir_dtype t, const struct interp_options *o, union cell *r, int n);

/*
 * gemm.c: out += sum of a * b, where index i has size[i] and strides a[i], b[i], out[i] (0:
 * it has no such index). Returns false, doing nothing, if an index does not fit a batched matrix
 * product.
 */
struct product_index {
	int64_t size, a, b, out;
};
bool product_run(const struct product_index *index, int n, const union cell *a, const union cell *b,
	union cell *out);

#endif
