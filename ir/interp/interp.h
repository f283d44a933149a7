/*
 * The reference interpreter: computes the meaning of a module, slowly and plainly. Passes, layouts
 * and programs are compared with it.
 *
 *     MEANING  layouts are ignored and parallelization ops are identities: one place, whole tensors
 *     LAYOUT   every value is an array of local tensors, one for each place (a coordinate on each
 *              device axis and each time axis); parallelization ops move data between places
 *
 * Both give the same whole tensors for a correct module. An interpreter works on a copy of the
 * module with all calls inlined; the module itself is not touched. Iterations of time axes run in
 * lockstep: see place.c for why that changes nothing.
 */
#ifndef IR_INTERP_H
#define IR_INTERP_H

#include "ir/base/api.h"
#include "ir/ir.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

DOPT_API_BEGIN

/* One element: .f for floats of any width, .i for integers and bool (0 or 1). */
union cell {
	double f;
	int64_t i;
};

/* A dense row-major tensor. `data` is owned by the tensor (talloc). */
struct tensor {
	enum ir_dtype dtype;
	int rank;
	int64_t dim[IR_MAX_RANK];
	union cell *data;
};

/* A tensor of zeros owned by `owner`. Never NULL. */
struct tensor *tensor_create(const void *owner, enum ir_dtype dtype, int rank, const int64_t *dim);

/* A copy owned by `owner`. */
struct tensor *tensor_copy(const void *owner, const struct tensor *t);

/* Number of elements. */
int64_t tensor_elements(const struct tensor *t);

/* Adds +0 to each element: -0 becomes +0, integers are unchanged. */
void tensor_add_zero(struct tensor *t);

/*
 * Evaluates `op` on the operand elements in[0], in[1] ...: bitwise what the interpreter computes in
 * the op's element types. False if op is not pointwise, or its result does not depend on the
 * operands alone.
 */
bool interp_fold(
	struct ir_module *m, const struct ir_op *op, const union cell *in, union cell *out);

enum interp_mode { INTERP_MEANING, INTERP_LAYOUT };

struct interp_options {
	enum interp_mode mode;
	bool f64;         /* floats are doubles and never rounded: any difference is an error */
	bool subnormals;  /* arithmetic computes with them instead of taking them as 0, as programs
			    do (runtime/kernel/subnormal.h) */
	bool perturb;     /* params and float states start slightly above their initial values, so
			  that zeros do not hide differences */
	uint64_t seed;    /* for initial values, the order of the data set and random inputs */
	int64_t steps;    /* for the calls that run more than one; 0: the default of the call */
	const char *save; /* interp_run_print: a file for params and states at the end, or NULL */
	const char *
		load; /* a safetensors file whose params and states take the place of initial values, or NULL */
	const char *data; /* a safetensors file: input("x") reads rows of "train.x"; NULL: random
			     inputs */
	bool no_shuffle;  /* of data: rows in their order, in every epoch */
};

struct interp;

/*
 * An interpreter of `m`, owned by `owner`. Params and states have their initial values. The module
 * must have passed the verifier. Reports and returns NULL if it cannot be run: no @main, a call
 * that cannot be inlined, a data file that cannot be read, a tensor that is empty or very large,
 * more than 4096 places with INTERP_LAYOUT.
 */
struct interp *interp_create(
	const void *owner, const struct ir_module *m, const struct interp_options *options);

/*
 * Runs one training step, number `step` of the data set's order. `update`s take effect at its end.
 * Returns false after an error, which is reported at its op.
 */
bool interp_step(struct interp *it, int64_t step);

/*
 * Whole tensors by name: an output of the last step; the current value of a param or state. NULL if
 * there is none of that name. Owned by the interpreter, valid until the next step.
 */
const struct tensor *interp_output(const struct interp *it, const char *name);
const struct tensor *interp_persistent(const struct interp *it, const char *name);

/*
 * The i-th name in the order of the text, NULL after the last. *op is set to its op in the
 * interpreter's copy of the module; `op` may be NULL.
 */
const char *interp_output_name(const struct interp *it, int i, const struct ir_op **op);
const char *interp_persistent_name(const struct interp *it, int i, const struct ir_op **op);

/* Writes all params and states to a safetensors file. False after an error, which is reported. */
bool interp_save(const struct interp *it, const char *path);

/*
 * Sets the value of a param or state; sets the value of an input for all following steps. The
 * tensor is copied. False, without a message, if there is none of that name or type and shape do
 * not fit.
 */
bool interp_set_persistent(struct interp *it, const char *name, const struct tensor *value);
bool interp_set_input(struct interp *it, const char *name, const struct tensor *value);

/* Where two tensors differ. Positions are row-major element numbers. */
struct tensor_diff {
	int64_t first, worst,
		count; /* the first and the worst element over the tolerance; their number */
	double a, b;   /* the elements at `worst` */
	bool shape;    /* types or shapes differ, nothing else is set */
};

/*
 * Are two tensors equal? Floats: |a - b| <= tolerance * (largest |a| or |b| of both tensors, at
 * least 0.001); NaN equals NaN and an infinity itself; integers and bool exactly. `diff` may be
 * NULL.
 */
bool tensor_compare(
	const struct tensor *a, const struct tensor *b, double tolerance, struct tensor_diff *diff);

/* The tolerance for results in element type t, of computations in it; with f64 that of doubles. */
double tensor_tolerance(enum ir_dtype t, bool f64);

/* "[3,0]": the indices of an element, owned by `owner`. */
char *tensor_index_text(const void *owner, const struct tensor *t, int64_t element);

/*
 * Do two modules compute the same, for the same random inputs, params and states? `before` is run
 * by meaning, `after` by layout (by meaning if it has too many places), for options->steps steps
 * (default 2). Compared are every output of `before`, and every param and state that `before`
 * updates or neither does. If `after` updates more (an optimizer was added) only one step is run,
 * and an output grad.w may be missing if w is updated. Reports each tensor that differs, with
 * the first and the worst element, and returns false. With f64, only warns of those that rounding
 * alone changes as much.
 */
bool interp_check_modules(const struct ir_module *before, const struct ir_module *after,
	const struct interp_options *options);

/*
 * The same, but both run by meaning and in their own element types (options->f64 is ignored), and
 * every element must be bitwise equal, except that all NaNs are equal, that subnormal numbers are
 * zeros unless options->subnormals is set, and, if one module has more collectives that sum than the
 * other, that +0 equals -0, since a sum is never -0. For passes that must not change arithmetic.
 * With `reordered`, if terms of sums may be in another order, elements are compared within the
 * tolerance of their type. Layouts are ignored: interp_check_layout checks them.
 */
bool interp_check_bits(const struct ir_module *before, const struct ir_module *after,
	bool reordered, const struct interp_options *options);

/*
 * Does every value of @main, assembled from the local tensors of its layout, equal its meaning?
 * Runs LAYOUT and MEANING op by op, unless there is one place, and reports the first op that
 * differs. options may be NULL: f64, perturbed, 2 steps.
 */
bool interp_check_layout(const struct ir_module *m, const struct interp_options *options);

/*
 * Warns of sums of 16-bit floats over micro-batches that lose more than a unit in the last place of the
 * largest element because a program rounds them in each iteration, which no comparison in doubles
 * shows. Runs one step by layout; options may be NULL.
 */
void interp_warn_sums(const struct ir_module *m, const struct interp_options *options);

/*
 * Runs options->steps steps (default 1) and prints every output of every step, one per line:
 *     step 0 loss = 2.31402
 */
bool interp_run_print(const struct ir_module *m, const struct interp_options *options, FILE *out);

DOPT_API_END

#endif
