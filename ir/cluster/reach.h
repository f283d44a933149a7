/*
 * Shares of the peaks of a device that kernels reach, by size: R. W. Hockney's asymptotic rate and
 * half-performance length ("r_inf" and "n_1/2"; Characterizing computers and optimizing the FACR(l)
 * Poisson-solver, 1982), a length for each dim of a product.
 *
 *     m x k times k x n   calls * start + FLOPs / rate,
 *                         rate = share * peak * m/(m + half_m) * n/(n + half_n) * k/(k + half_k)
 *     all others          rate = share * bandwidth * bytes/(bytes + half)
 *
 * Declared in the text of a cluster (docs/clusters.md); the fields are in reach.def.
 */
#ifndef IR_REACH_H
#define IR_REACH_H

#include "ir/base/api.h"
#include "ir/type.h"

DOPT_API_BEGIN

enum reach_kernel {
#define REACH_KERNEL(name, product, meaning) REACH_##name,
#include "ir/cluster/reach.def"
#undef REACH_KERNEL
	REACH_KERNELS
};

enum reach_type {
#define REACH_TYPE(name) REACH_OF_##name,
#include "ir/cluster/reach.def"
#undef REACH_TYPE
	REACH_TYPES
};

struct reach {
#define REACH_FIELD(name, unit, value, fits, whose, meaning) double name;
#include "ir/cluster/reach.def"
#undef REACH_FIELD
};

struct device;

/* Factors on the shares of kinds of kernels. */
struct reach_factors {
#define REACH_FACTOR(name, meaning) double name;
#include "ir/cluster/reach.def"
#undef REACH_FACTOR
};

double reach_factor(const struct reach_factors *f, enum reach_kernel k);

/* The defaults of fields that are not given. */
struct reach reach_default(void);

/* Look up names of reach.def; -1: unknown. */
int reach_kernel_find(const char *name);
int reach_type_find(const char *name);
const char *reach_kernel_name(enum reach_kernel k);
const char *reach_type_name(enum reach_type t);

/* Does the kernel multiply matrices? */
bool reach_is_product(enum reach_kernel k);

/* The rates of products of that type, and of reading and writing it: those of its width. */
enum reach_type reach_type_of(enum ir_dtype t);
enum reach_type reach_memory_type(enum ir_dtype t);

/* A product: `calls` of a library, each of a batch of m x k times k x n; above 0. */
struct reach_size {
	double calls, batch, m, n, k;
	bool unaligned; /* rows of a matrix are not multiples of 16 bytes */
};

/* Seconds of a product of that size, with `flops` in all its calls, on a device with that peak. */
double reach_product_seconds(
	const struct reach *r, double peak, const struct reach_size *size, double flops);

/* Seconds to read and write `bytes` at that bandwidth; 0 for 0 bytes. */
double reach_seconds(const struct reach *r, double bandwidth, double bytes);

DOPT_API_END

#endif
