/* Devices: the table of their fields. */
#include "ir/cluster/device.h"

#include "ir/base/alloc.h"

#include <stddef.h>
#include <string.h>

static const struct field {
	const char *name;
	size_t offset;
} fields[] = {
#define DEVICE(name, unit, value, fits, why) {#name, offsetof(struct device, name)},
#include "ir/cluster/device.def"
#undef DEVICE
};

enum { NFIELDS = sizeof fields / sizeof *fields };

_Static_assert(NFIELDS <= 32, "device.given has a bit for each");

struct device *
device_generic(const void *owner)
{
	struct device *d = NEW(owner, struct device);
	d->name = text_copy(d, "generic");
#define DEVICE(name, unit, value, fits, why) d->name = value;
#include "ir/cluster/device.def"
#undef DEVICE
	for (int k = 0; k < REACH_KERNELS; k++)
		for (int t = 0; t < REACH_TYPES; t++)
			d->reach[k][t] = reach_default();
	return d;
}

bool
device_stands_for(const struct device *d, const char *measured)
{
	return strcmp(d->name, measured) == 0 ||
	       (d->measured && strncmp(d->measured, measured, strlen(d->measured)) == 0);
}

double
device_flops(const struct device *d, enum ir_dtype t)
{
	double half = d->f16 > 0 ? d->f16 : d->bf16 > 0 ? d->bf16 : d->f32;

	switch (t) {
	case IR_f64: return d->f64 > 0 ? d->f64 : d->f32;
	case IR_bf16: return d->bf16 > 0 ? d->bf16 : half;
	case IR_f16: return half;
	case IR_i8:
	case IR_u8: return d->i8 > 0 ? d->i8 : half;
	default: return d->f32;
	}
}

double
device_reach_peak(const struct device *d, enum reach_type t)
{
	switch (t) {
	case REACH_OF_tf32: return d->tf32 > 0 ? d->tf32 : d->f32;
	case REACH_OF_f64: return device_flops(d, IR_f64);
	case REACH_OF_bf16: return device_flops(d, IR_bf16);
	case REACH_OF_f16: return device_flops(d, IR_f16);
	case REACH_OF_i8: return device_flops(d, IR_i8);
	default: return d->f32;
	}
}

double
device_memory_seconds(const struct device *d, double bytes)
{
	const double cached = d->cache_bandwidth > 0 ? (bytes < d->cache ? bytes : d->cache) : 0;

	return (bytes - cached) / d->bandwidth + (cached > 0 ? cached / d->cache_bandwidth : 0);
}

void
device_take_reach(struct device *d, const struct device *from)
{
	memcpy(d->reach, from->reach, sizeof d->reach);
	for (int k = 0; d->reach_like && k < REACH_KERNELS; k++)
		for (int t = 0; t < REACH_TYPES; t++)
			d->reach[k][t].share *= reach_factor(&d->like, (enum reach_kernel)k);
	d->reached = from->reached;
	if (!d->reach_source)
		d->reach_source = text_copy(d, from->reach_source);
}

bool
device_use_tf32(struct device *d)
{
	if (!(d->tf32 > 0))
		return false;
	d->f32 = d->tf32;
	for (int k = 0; k < REACH_KERNELS; k++)
		if (reach_is_product((enum reach_kernel)k))
			d->reach[k][REACH_OF_f32] = d->reach[k][REACH_OF_tf32];
	return true;
}

int
device_field_number(const char *name)
{
	for (int i = 0; i < NFIELDS; i++)
		if (strcmp(fields[i].name, name) == 0)
			return i;
	return -1;
}

double *
device_field(struct device *d, const char *name)
{
	int i = device_field_number(name);

	return i < 0 ? NULL : (double *)((char *)d + fields[i].offset);
}
