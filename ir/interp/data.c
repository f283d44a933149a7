/*
 * Data from outside a step: initial values, random inputs, and the data set
 * in file.c. All are a function of seed, name and the element's number in the whole tensor,
 * computed by the functions that programs use, so that interpreter and programs start from the same
 * numbers whatever the layout.
 */
#include "ir/interp/internal.h"
#include "ir/ops/special.h"
#include "runtime/kernel/init.h"

#include <math.h>
#include <string.h>

/* How far above their initial values perturbed tensors start: small against 1 / sqrt(fan), positive
 * because second moments and scales are. */
static const double perturbation = 0.05;

static void
store(struct tensor *t, int64_t i, double v)
{
	if (ir_dtype_class(t->dtype) == IR_FLOAT)
		t->data[i].f = v;
	else
		t->data[i].i = (int64_t)nearbyint(v); /* as rt_value_set */
}

struct tensor *
interp_initial(const struct interp *it, const void *owner, const struct ir_op *op)
{
	const struct ir_type *type = op->result[0].type;
	struct rt_tensor rt = {.name = op->symbol};
	rt.rank = ir_file_shape(op, type, rt.dims);
	rt.init = special_init(it->m, op);
	if (rt.init == RT_INITS)
		return NULL;
	rt.scale = ir_attr_float(op, "scale", 1);
	rt.mean = ir_attr_float(op, "value", 0);
	rt.seed = (uint64_t)ir_attr_int(op, "seed", 0);
	const struct rt_initer initer = rt_initer_of(&rt, it->o.seed);
	const bool perturb =
		it->o.perturb && ir_dtype_class((enum ir_dtype)type->dtype) == IR_FLOAT;
	const uint64_t key = rt_key(it->o.seed + 1, rt.seed, op->symbol);
	struct tensor *t = tensor_create(owner, (enum ir_dtype)type->dtype, rt.rank, rt.dims);
	const int64_t n = tensor_elements(t);
	for (int64_t i = 0; i < n; i++)
		store(t, i,
			rt_init_value(&initer, (uint64_t)i) +
				(perturb ? perturbation * rt_uniform(key, (uint64_t)i) : 0));
	tensor_settle(t, it->o.f64);
	return t;
}

/* The same numbers at every step, as in a program without data: floats are standard normal,
 * integers below the range, without a range and for bool 0 or 1. */
static struct tensor *
random_input(const struct interp *it, const void *owner, const struct ir_op *op,
	const struct ir_type *type)
{
	struct tensor *t = tensor_create(owner, (enum ir_dtype)type->dtype, type->rank, type->dim);
	const uint64_t key = rt_key(it->o.seed, 0, op->symbol);
	const int64_t n = tensor_elements(t), range = ir_attr_int(op, "range", 0);
	const bool isfloat = ir_dtype_class(t->dtype) == IR_FLOAT;
	for (int64_t i = 0; i < n; i++)
		store(t, i,
			isfloat ? rt_normal(key, (uint64_t)i)
				: floor((double)(range > 0 ? range : 2) *
					  rt_uniform(key, (uint64_t)i)));
	tensor_settle(t, it->o.f64);
	return t;
}

struct tensor *
interp_input(const struct interp *it, const void *owner, const struct ir_op *op)
{
	for (int i = 0; i < it->ninputs; i++)
		if (strcmp(it->input[i].name, op->symbol) == 0)
			return tensor_copy(owner, it->input[i].now);
	const struct ir_type *type = op->result[0].type;
	return it->data ? interp_rows(it, owner, op, type) : random_input(it, owner, op, type);
}
