/* Modules built by hand, and tensors to run them on: what the tests of the interpreter share. */
#ifndef TEST_IR_INTERP_BUILD_H
#define TEST_IR_INTERP_BUILD_H

#include "ir/interp/interp.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bench {
	struct ir_context *ctx;
	struct ir_module *m;
	struct ir_builder b;
	char *message; /* the last error, "" before one */
	int nnames;
};

enum { DP, TP, MB };

static inline void
keep_message(void *data, const struct diag_message *m)
{
	struct bench *x = data;
	if (m->level == DIAG_ERROR)
		x->message = talloc_strdup(x, m->text);
}

/* A module with mesh [dp = 2, tp = 2], steps [mb = 2] and an empty @main. */
static inline struct bench *
bench_create(void)
{
	struct bench *x = talloc_zero(NULL, struct bench);
	x->ctx = ir_context_create(x);
	x->message = talloc_strdup(x, "");
	x->m = ir_module_create(x, x->ctx, "test");
	static const char *const name[] = {"dp", "tp", "mb"};
	for (int i = 0; i < 3; i++)
		x->m->axis[x->m->naxes++] = (struct ir_axis){
			.name = ir_name(x->ctx, name[i]), .size = 2, .time = i == MB};
	x->b = (struct ir_builder){
		.m = x->m, .block = &ir_func_create(x->m, "main", LOC_NONE)->body};
	diag_set_handler(x->ctx->diag, keep_message, x);
	return x;
}

static inline int
setup(void **state)
{
	*state = bench_create();
	return 0;
}

#define DIMS(...)                                                                                  \
	(int)(sizeof((int64_t[]){__VA_ARGS__}) / 8), (int64_t[])                                   \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define SCALAR_DIMS 0, NULL
#define COPIED ((struct ir_state){0})
#define SPLIT(d, o) ((struct ir_state){IR_SPLIT, d, o})
#define PARTIAL ((struct ir_state){.kind = IR_PARTIAL})
#define SINGLE(k) ((struct ir_state){.kind = IR_SINGLE, .order = k})

static inline const struct ir_type *
type_of(struct bench *x, enum ir_dtype t, int rank, const int64_t *dim, struct ir_state dp,
	struct ir_state tp, struct ir_state mb)
{
	struct ir_type type = {.dtype = (uint8_t)t, .rank = (uint8_t)rank, .axis = {dp, tp, mb}};
	for (int d = 0; d < rank; d++)
		type.dim[d] = dim[d];
	return ir_type_intern(x->ctx, &type);
}

/* input("name") copied everywhere, and with a layout. */
static inline struct ir_value *
source(struct bench *x, enum op_code code, const char *name, const struct ir_type *type)
{
	struct ir_value *v = ir_build_typed(&x->b, code, name, NULL, 0, NULL, 0, type);
	assert_non_null(v);
	return v;
}

static inline struct ir_value *
input(struct bench *x, const char *name, enum ir_dtype t, int rank, const int64_t *dim)
{
	return source(x, OP_input, name, type_of(x, t, rank, dim, COPIED, COPIED, COPIED));
}

static inline struct ir_value *
build(struct bench *x, enum op_code code, int n, struct ir_value *const *v, int nattrs,
	const struct ir_attr *attr)
{
	struct ir_value *r = ir_build(&x->b, code, v, n, attr, nattrs);
	if (!r)
		fail_msg("%s: %s", op_name(code), x->message);
	return r;
}

#define OPERANDS(...)                                                                              \
	(int)(sizeof((struct ir_value *[]){__VA_ARGS__}) / sizeof(void *)), (struct ir_value *[])  \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define ATTRS(...)                                                                                 \
	(int)(sizeof((struct ir_attr[]){__VA_ARGS__}) / sizeof(struct ir_attr)),                   \
		(struct ir_attr[])                                                                 \
	{                                                                                          \
		__VA_ARGS__                                                                        \
	}
#define NO_ATTRS 0, NULL
#define AXIS(x, a) ir_make_axis((x)->ctx, "axis", a)
#define INT(x, k, v) ir_make_int((x)->ctx, k, v)
#define INTS(x, k, ...)                                                                            \
	ir_make_ints(                                                                              \
		(x)->m, k, (int64_t[]){__VA_ARGS__}, (int)(sizeof((int64_t[]){__VA_ARGS__}) / 8))

static inline void
effect(struct bench *x, enum op_code code, const char *symbol, int n, struct ir_value *const *v)
{
	struct ir_op *op = ir_op_create(x->m, code, LOC_NONE, v, n, NULL, 0, 0);
	if (symbol)
		op->symbol = ir_name(x->ctx, symbol);
	if (!ir_infer(x->m, op, NULL))
		fail_msg("%s: %s", op_name(code), x->message);
	ir_block_append(x->b.block, op);
}

static inline void
output(struct bench *x, const char *name, struct ir_value *v)
{
	effect(x, OP_output, name, 1, &v);
}

/* A tensor whose element i is f(i). */
static inline struct tensor *
filled(struct bench *x, enum ir_dtype t, int rank, const int64_t *dim, double (*f)(int64_t))
{
	struct tensor *r = tensor_create(x, t, rank, dim);
	for (int64_t i = 0; i < tensor_elements(r); i++)
		if (ir_dtype_class(t) == IR_FLOAT)
			r->data[i].f = ir_dtype_round(t, f(i));
		else
			r->data[i].i = (int64_t)f(i);
	return r;
}

static inline struct interp *
interpreter_with(struct bench *x, const struct interp_options *o)
{
	struct interp *it = interp_create(x, x->m, o);
	if (!it)
		fail_msg("interp_create: %s", x->message);
	return it;
}

/* Runs one step by meaning on inputs that were set before. */
static inline struct interp *
interpreter(struct bench *x, bool f64)
{
	return interpreter_with(x, &(struct interp_options){.f64 = f64});
}

static inline void
set(struct interp *it, const char *name, const struct tensor *t)
{
	assert_true(interp_set_input(it, name, t));
}

static inline void
step(struct bench *x, struct interp *it, int64_t number)
{
	if (!interp_step(it, number))
		fail_msg("interp_step: %s", x->message);
}

#endif
