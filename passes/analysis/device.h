/*
 * A device and the links between its places, for machines that nobody has measured: what a kernel
 * and a message cost from a few numbers. A text file of lines `name = value`, `#` comments:
 *
 *     device = h100
 *     flops = 400TFLOP/s      # what a matrix product reaches, not the peak on paper
 *     bandwidth = 2.5TB/s
 *     link_latency = 5us
 *
 * A value that is not given is that of the default device, `generic`.
 */
#ifndef PASSES_ANALYSIS_DEVICE_H
#define PASSES_ANALYSIS_DEVICE_H

#include "ir/diag.h"

#include <stdbool.h>

struct device {
	char *name; /* talloc child of the device */
#define DEVICE(name, unit, value, why) double name;
#include "passes/analysis/device.def"
#undef DEVICE
};

/* The default device `generic`, owned by `owner`. */
struct device *device_generic(const void *owner);

/* A device from a file; NULL after reporting every fault with its place in the file. */
struct device *device_read(const void *owner, struct diag *d, const char *path);

/* The same from text that is registered under `name`. */
struct device *device_parse(const void *owner, struct diag *d, const char *name, const char *text);

/* The field of that name in device.def, or NULL. */
double *device_field(struct device *d, const char *name);

/*
 * Seconds for a collective of that kind among `places` over links with latency alpha and bandwidth
 * beta, by ring algorithms; `bytes` as
 * in struct cost_collective. See device.c for the formulas.
 */
enum collective {
	COLL_ALLREDUCE,
	COLL_REDUCE,
	COLL_BROADCAST,
	COLL_ALLGATHER,
	COLL_GATHER,
	COLL_SCATTER,
	COLL_REDUCESCATTER,
	COLL_ALLTOALL,
	COLL_SEND,
	COLL_NKINDS
};

/* "allreduce" ... */
const char *collective_name(enum collective c);

double collective_seconds(enum collective c, int places, double bytes, double alpha, double beta);

#endif
