/*
 * A device, described by a few numbers, to predict kernels that were not measured. Declared in the
 * text of a cluster (docs/clusters.md); values that are not given are those of the default device,
 * `generic`.
 */
#ifndef IR_DEVICE_H
#define IR_DEVICE_H

#include "ir/base/api.h"
#include "ir/base/diag.h"
#include "ir/cluster/reach.h"

DOPT_API_BEGIN

struct device {
	char *name;     /* talloc child of the device */
	char *measured; /* prefix of the names of measured devices that it stands for; NULL: only
			   its own name; a child, too */
#define DEVICE(name, unit, value, fits, why) double name;
#include "ir/cluster/device.def"
#undef DEVICE
	uint32_t given;   /* set of the fields that the text gives, by number in device.def */
	bool reached;     /* kernels reach the shares that follow, not the peaks */
	char *reach_like; /* name of the measured device the shares are from; NULL: given; a
			     child */
	struct ir_loc reach_loc;   /* location of `like` in the text */
	struct reach_factors like; /* times that, with reach_like */
	char *reach_source;        /* the device with these rates; NULL: unknown; a child */
	struct reach reach[REACH_KERNELS][REACH_TYPES];
};

/* The default device `generic`, owned by `owner`. */
struct device *device_generic(const void *owner);

/* Does the device represent one that was measured under that name? */
bool device_stands_for(const struct device *d, const char *measured);

/* FLOP/s of matrix products with operands of that type. */
double device_flops(const struct device *d, enum ir_dtype t);

/* The same with operands that have the rates of `t`. */
double device_reach_peak(const struct device *d, enum reach_type t);

/* Are products at that peak those of tensor cores, which multiply several times as fast as the rest
 * of the device computes? */
static inline bool
device_has_tensor_cores(const struct device *d, double peak)
{
	return d->scalar_flops > 0 && peak > 2 * d->scalar_flops;
}

/* Seconds to read and write `bytes` bytes: up to `cache` of them at the bandwidth of the cache. */
double device_memory_seconds(const struct device *d, double bytes);

/* Copies the shares of the peaks that kernels of another device reach, times `like`. */
void device_take_reach(struct device *d, const struct device *from);

/* From now on products of f32 use TF32. False: the device has no rate for it. */
bool device_use_tf32(struct device *d);

/* The number of the field of that name in device.def, or -1. */
int device_field_number(const char *name);

/* The field of that name in device.def, or NULL. */
double *device_field(struct device *d, const char *name);

DOPT_API_END

#endif
