/* Rates that kernels reach: the names of reach.def, and the curves. */
#include "ir/cluster/reach.h"

#include <string.h>

static const struct {
	const char *name;
	bool product;
} kernels[] = {
#define REACH_KERNEL(name, product, meaning) {#name, product},
#include "ir/cluster/reach.def"
#undef REACH_KERNEL
};

static const char *const types[] = {
#define REACH_TYPE(name) #name,
#include "ir/cluster/reach.def"
#undef REACH_TYPE
};

struct reach
reach_default(void)
{
	return (struct reach){
#define REACH_FIELD(name, unit, value, fits, whose, meaning) .name = value,
#include "ir/cluster/reach.def"
#undef REACH_FIELD
	};
}

int
reach_kernel_find(const char *name)
{
	for (int i = 0; i < REACH_KERNELS; i++)
		if (strcmp(kernels[i].name, name) == 0)
			return i;
	return -1;
}

int
reach_type_find(const char *name)
{
	for (int i = 0; i < REACH_TYPES; i++)
		if (strcmp(types[i], name) == 0)
			return i;
	return -1;
}

const char *
reach_kernel_name(enum reach_kernel k)
{
	return kernels[k].name;
}

const char *
reach_type_name(enum reach_type t)
{
	return types[t];
}

bool
reach_is_product(enum reach_kernel k)
{
	return kernels[k].product;
}

double
reach_factor(const struct reach_factors *f, enum reach_kernel k)
{
	switch (k) {
	case REACH_product:
	case REACH_batched: return f->products;
	case REACH_conv:
	case REACH_conv_data:
	case REACH_conv_filter: return f->convolutions;
	case REACH_attention: return f->attention;
	default: return f->memory;
	}
}

enum reach_type
reach_type_of(enum ir_dtype t)
{
	if (t == IR_bf16)
		return REACH_OF_bf16;
	switch (ir_dtype_bytes(t)) {
	case 1: return REACH_OF_i8;
	case 2: return REACH_OF_f16;
	case 4: return REACH_OF_f32;
	default: return REACH_OF_f64;
	}
}

enum reach_type
reach_memory_type(enum ir_dtype t)
{
	return t == IR_bf16 || t == IR_f16 ? reach_type_of(t) : REACH_OF_f32;
}

double
reach_product_seconds(
	const struct reach *r, double peak, const struct reach_size *size, double flops)
{
	const double rate = r->share * (size->unaligned ? r->unaligned : 1) * peak *
			    (size->m / (size->m + r->half_m)) * (size->n / (size->n + r->half_n)) *
			    (size->k / (size->k + r->half_k));

	return size->calls * r->start + flops / rate;
}

double
reach_seconds(const struct reach *r, double bandwidth, double bytes)
{
	return bytes > 0 ? (bytes + r->half) / (r->share * bandwidth) : 0;
}
