/* Initial values of parameters and states: the value of one element from its number in the global
 * tensor, so that every layout and every target starts from the same numbers. */
#ifndef RUNTIME_INIT_H
#define RUNTIME_INIT_H

#include "runtime/kernel/rng.h"
#include "runtime/rt_program.h"

struct rt_initer {
	enum rt_init kind;
	double scale, mean; /* of the initial values, fans included */
	uint64_t key;
};

/* Tensors with this many dims are filters of convolutions, [out,in,height,width]. */
enum { RT_FILTER_RANK = 4 };

/*
 * Prepares the initial values of `t` in a program run with `seed`. Fan in is the number of inputs
 * of a result, fan out the number of results that use an input: for matrices the rows and columns
 * (the last two dims), for filters the channels times the positions of the window.
 */
static inline struct rt_initer
rt_initer_of(const struct rt_tensor *t, uint64_t seed)
{
	double fan_in = 1, fan_out = 1;
	const int rank = t->file_rank ? t->file_rank : t->rank;
	const int64_t *dims = t->file_rank ? t->file_dims : t->dims;
	if (rank == 1)
		fan_in = fan_out = (double)dims[0];
	else if (rank == RT_FILTER_RANK) {
		const double window = (double)(dims[2] * dims[3]);
		fan_in = (double)dims[1] * window;
		fan_out = (double)dims[0] * window;
	} else if (rank >= 2) {
		fan_in = (double)dims[rank - 2];
		fan_out = (double)dims[rank - 1];
	}
	struct rt_initer in = {t->init, t->scale, t->mean, rt_key(seed, t->seed, t->name)};
	switch (t->init) {
#define INIT(code, name, spread, value)                                                            \
	case RT_INIT_##code:                                                                       \
		in.scale *= spread;                                                                \
		break;
#include "runtime/kernel/init.def"
#undef INIT
	case RT_INITS: break;
	}
	return in;
}

/* The value of the element with row-major number `index` in the global tensor. It is rounded to the
 * tensor's type afterwards, so all types start from the same double. */
static inline double
rt_init_value(const struct rt_initer *in, uint64_t index)
{
	switch (in->kind) {
#define INIT(code, name, spread, value)                                                            \
	case RT_INIT_##code:                                                                       \
		return value;
#include "runtime/kernel/init.def"
#undef INIT
	case RT_INITS: break;
	}
	return 0;
}

#endif
