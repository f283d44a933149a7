/*
 * The time of a kernel on a device whose reached rates are known (ir/cluster/reach.h):
 *
 *     T = launch + sum over its products of max(flops / rate, bytes / rate of memory)
 *         + bytes that the other ops read and write / rate of memory
 *
 * Programs for GPUs call a library for a product and run loops for the ops after it, so the result
 * of a product passes through memory: it is counted as bytes of the product, and of the other ops
 * that read it. A convolution on tensor cores copies tensors whose channels are not the last dim, in
 * multiples of 16 bytes, in both directions. A bias and a relu are part of the call. Products with a softmax between them are
 * one kernel, whose products have the rate of `attention` and whose intermediate values do not pass
 * through memory.
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_REACH_H
#define PASSES_ANALYSIS_ESTIMATE_REACH_H

#include "ir/cluster/device.h"
#include "ir/memory/storage.h"
#include "ir/ops/form.h"

/* The contribution of one op to a kernel. */
struct reach_op {
	uint8_t kernel;        /* enum reach_kernel */
	uint8_t type;          /* enum reach_type of a product */
	uint8_t reads, writes; /* enum reach_type of its first operand and of its result */
	bool product;
	bool ends_product; /* the library does it at the end of a product */
	bool exponential;
	struct reach_size size; /* of a product */
	double flops;
	double seconds;        /* of a product, by the library; else arithmetic */
	double inside;         /* of a product in an attention kernel */
	double bytes, results; /* of memory if it is a kernel of its own; of these, its results */
	double spared;         /* bytes of its first operand that are skipped */
	double copied;         /* bytes of tensors that a convolution on tensor cores copies */
};

/* Rows of products whose length is no multiple of 16 bytes. */
enum reach_rows {
	REACH_DENSE,
	REACH_PITCH,   /* padded where pitch_row says so (ir/loops/pitch.h) */
	REACH_ALIGNED, /* padded: for bounds */
};

struct reach_op reach_op_of(const struct device *d, const struct ir_module *m,
	const struct ir_op *op, struct op_work w, enum reach_rows rows);

/* The rows of a model's target. */
static inline enum reach_rows
reach_rows_of(const struct storage_target *target)
{
	return target && target->pitch ? REACH_PITCH : REACH_DENSE;
}

/* Bytes that it reads of operand j, which has `bytes` bytes. */
static inline double
reach_read_bytes(const struct reach_op *r, int j, double bytes)
{
	return j == 0 ? bytes - r->spared : bytes;
}

/* Recomputes the seconds of a product for another device. */
void reach_price(struct reach_op *r, const struct device *d);

/* The sums over a kernel. Adding in another order may round differently. */
struct reach_sums {
	uint32_t n, products, batched, ends;
	bool exponential;
	double kernel[REACH_KERNELS]; /* the most bytes of one of the other ops, by kind */
	double seconds, inside;       /* of the products */
	double loops;                 /* arithmetic of the other ops */
	double bytes[REACH_TYPES];    /* that pass the boundary */
	double read[REACH_TYPES], written[REACH_TYPES]; /* of these, by products */
	double results[REACH_TYPES];                    /* of products */
};

/* out: the result is read outside the kernel. */
void reach_add(struct reach_sums *s, const struct reach_op *r, bool out);

/* Is it an attention kernel? */
bool reach_is_attention(const struct reach_sums *s);

/* The kind of the loops of a kernel, and the bytes of a type that they read and write. */
enum reach_kernel reach_loops(const struct reach_sums *s);
double reach_loop_bytes(const struct reach_sums *s, int type);

/* Seconds, launch included. */
double reach_kernel_seconds(const struct reach_sums *s, const struct device *d);

/* The sums of an op alone; its seconds. */
struct reach_sums reach_alone(const struct reach_op *r);
double reach_alone_seconds(const struct reach_op *r, const struct device *d);

/* Seconds to copy a tensor of `bytes` bytes within the memory of the device. */
double reach_copy_seconds(const struct device *d, enum ir_dtype t, double bytes);

#endif
