/*
 * Kernels of the host target: the scheme of an op written as one C function.
 *
 *     void
 *     NAME(const float *restrict a0, const int32_t *restrict a1, float *restrict r0,
 *             unsigned char *restrict scratch, int64_t s0, int64_t s1)
 *
 * a: operands, r: results, local tensors, row-major. s: values that depend on the rank's
 * coordinates, one for each kernel_arg.
 */
#ifndef LOWER_KERNEL_H
#define LOWER_KERNEL_H

#include "ir/loops/scheme.h"

#include <stdio.h>

enum kernel_arg_kind {
	KERNEL_START, /* where the local range of a dimension starts: slice * local size */
	KERNEL_HELD,  /* 1 on ranks that hold the operand of this type, 0 elsewhere */
	KERNEL_KEY,   /* differs between ops of one kind, so that they share a function */
};

struct kernel_arg {
	enum kernel_arg_kind kind;
	const struct ir_type *type;
	int dim; /* KERNEL_START */
	const struct ir_type
		*other; /* KERNEL_HELD: the result's type; where both are single the guard has
			 * decided */
	int64_t key;    /* KERNEL_KEY */
};

/* A kernel that takes its keys as arguments serves all ops that differ only in their keys; a kernel
 * with more keys than this is unlikely to be shared, so its keys are written as numbers. */
enum kernel_limit { KERNEL_MAX_KEYS = 32 };

struct kernel_args {
	int n;
	struct kernel_arg *at; /* [n], a talloc child of the scheme of the kernel */
};

bool kernel_arg_equal(const struct kernel_arg *a, const struct kernel_arg *b);

/*
 * Writes the function to `out`, without a comment, and its declaration to `prototype`; if that is
 * NULL, the function is static. `in_place`: results may be in the memory of operands. `args`
 * receives the arguments for s0, s1 ... It lives as long as the scheme.
 */
void kernel_write(FILE *out, FILE *prototype, const struct scheme *s, const char *name,
	bool in_place, struct kernel_args *args);

/* The value of an argument as a C expression; `coord` is the name of an array of int64_t. */
char *kernel_arg_text(const void *owner, const struct ir_module *m, const struct kernel_arg *arg,
	const char *coord);

/* The C type that holds an element in memory: "float", "uint16_t" ... */
const char *kernel_ctype(enum ir_dtype t);

#endif
