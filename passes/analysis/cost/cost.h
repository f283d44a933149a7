/*
 * The cost model: durations of ops from a profile or, if it has none, from a device description;
 * replayed on the streams of the devices; memory from live ranges.
 *
 *     module -> events (events.h) -> durations (this file) -> replay (replay.h) -> report
 *            -> memory (memory.h)                                               -> report
 */
#ifndef PASSES_ANALYSIS_COST_H
#define PASSES_ANALYSIS_COST_H

#include "ir/base/api.h"
#include "ir/ir.h"
#include "passes/analysis/collective/collective.h"
#include "passes/analysis/profile/key.h"
#include "passes/analysis/replay/kind.h"
#include "ir/cluster/device.h"

#include <stdio.h>

DOPT_API_BEGIN

struct cost_model;
struct storage_target;
struct whatif;

/* Where times come from. All fields may be 0. */
struct cost_options {
	struct cluster *cluster; /* NULL: any number of the devices in the profile, or of `generic`;
				    must live as long as the model */
	const char *profile;     /* a profile, or NULL for none */
	const char *transport;   /* of the collectives in the profile; NULL: see profile_select */
	enum collective_algorithm algorithm;
	bool fine;           /* replay collectives as sends that share links: see fine.h */
	const char *network; /* weights that estimate kernels without measurements; NULL: none */
	const struct storage_target *storage; /* how programs place tensors; NULL: storage_host */
};

/*
 * A model owned by `owner`. With a cluster, kernels take the times of the profile for devices of
 * those names, and fields of device.def that the cluster text omits come from the profile too;
 * collectives are computed from the links. With a profile alone, its only device is used, with
 * collectives as they were measured. NULL after an error in the profile, which is reported to `d`.
 */
struct cost_model *cost_model_create(
	const void *owner, struct diag *d, const struct cost_options *o);

/*
 * The same model with the costs changed by `w`. `base` and `w` must live as long as the result, and
 * `w` must be bound to the modules that are evaluated.
 */
struct cost_model *cost_model_whatif(
	const void *owner, const struct cost_model *base, const struct whatif *w);

/* Does a cluster or a profile give the times? If not, they are those of the device `generic`. */
bool cost_model_is_described(const struct cost_model *model);
/* The first kind of device of the cluster; the cluster. */
const struct device *cost_model_device(const struct cost_model *model);
struct cluster *cost_model_cluster(const struct cost_model *model);
/* Bytes of host memory per device: the minimum over the cluster's kinds; INFINITY without one. */
/*
 * Peak FLOP/s of matrix products of that type on a kind of device, as the cluster text gives it; 0
 * if not known, as where only a profile says how fast the device is, by what its kernels reach.
 */
double cost_model_peak(const struct cost_model *model, uint32_t kind, enum ir_dtype t);
double cost_model_host_memory(const struct cost_model *model);
/* The same model for a search over many steps: it keeps what it has found of kernels for further steps
 * with the same ones. Owned by `owner`; `base` must live as long. */
struct cost_model *cost_model_remember(const void *owner, const struct cost_model *base);

/* The same model for estimates: storage_target.rough. Owned by `owner`; `base` must live as long. */
struct cost_model *cost_model_rough(const void *owner, const struct cost_model *base);
/* Measured seconds of an entry for kernels with that key, on the first kind of device; 0: none. */
double cost_model_measured(const struct cost_model *model, const char *key);

/* How the model's programs place tensors; NULL: storage_host. `model` may be NULL. */
const struct storage_target *cost_model_storage(const struct cost_model *model);

/* One step of @main. Seconds and bytes of the device with the largest value of each. */
struct cost_report {
	double iteration;     /* start of the step to its end */
	double compute;       /* kernels of the device that computes longest */
	double communication; /* collectives of the device that communicates longest */
	double copies;        /* to the host and back, of the device that copies longest */
	double exposed;    /* iteration minus compute: communication and waiting without overlap */
	double peak_bytes; /* memory of the device with the largest need */
	double library_bytes;    /* of these: what the driver and libraries allocate themselves */
	double persistent_bytes; /* of these: params, states and inputs */
	double host_bytes;       /* host memory of each device */
	double flops;            /* arithmetic of all devices */
	double parameters;       /* elements of all params, whole tensors: the size of the model */
	double examples;         /* per step: dim 0 shared by all non-scalar inputs; 0: none */
	double tokens;     /* per step: elements of the first integer input of rank 2; 0: none */
	uint32_t ops;      /* of @main */
	uint32_t events;   /* that were replayed: kernels and collectives, once for each iteration
			      of a loop */
	uint32_t launches; /* of kernels of the program's own on the first device, not of library
			      calls, once for each replayed iteration of a loop; 0 for hosts */
	uint32_t measured, estimated; /* ops whose time is from the profile; from an estimate */
	double measured_time, estimated_time; /* seconds of these, summed over events */
	uint32_t assumed; /* while ops without `trips`: their number of iterations is assumed */
	bool fits;        /* peak_bytes is not more than the device's memory */
};

/*
 * Evaluates @main. Reports and returns false if that is not possible: no @main, or calls in it
 * that are not inlined.
 */
bool cost_evaluate(
	const struct cost_model *model, const struct ir_module *m, struct cost_report *report);

/* One JSON object, keys as the fields above, times in seconds, with the device's name. No newline.
 */
void cost_report_json(FILE *out, const struct cost_model *model, const struct cost_report *report);

/* "times: all 12 ops estimated for generic; 16.2k examples, 16.6M tokens a second"; talloc text. */
char *cost_report_header(
	const void *owner, const struct cost_model *model, const struct cost_report *report);

/* The timeline of a report: an entry for each event, in issue order. */
struct cost_event {
	const struct ir_op *op;
	int32_t device;     /* among the distinguished devices: see events.h */
	bool communication; /* a collective; else a kernel */
	uint32_t iteration; /* iteration of the loops over time axes, from 0 */
	double start, end;  /* seconds */
	double slack;       /* seconds it could end later without lengthening the iteration */
	double exposed;     /* seconds of a collective in which its device computes nothing */
	double waited;      /* seconds in which devices are idle because this has not ended */
	double bytes;       /* read and written by a kernel; of a collective's message */
	bool critical;      /* on the critical path */
	bool measured;      /* its time is from the profile */
};

/* How one device spends the iteration, seconds: compute + exposed + idle = iteration. */
struct cost_device {
	double compute;       /* its compute stream works, posts or waits */
	double communication; /* communicates, overlapped or not */
	double exposed;       /* communicates and computes nothing */
	double idle;          /* neither */
};

struct cost_timeline {
	struct cost_event *event;
	struct cost_device *device; /* [ndevices] */
	uint32_t n, ndevices;
	struct cost_event *copy; /* [ncopies] to the host and back only, in issue order */
	uint32_t ncopies;
	double iteration;
	double repeated; /* FLOPs of all devices for values that the step has computed before */
};

/* Owned by `owner`; NULL if cost_evaluate returns false. */
struct cost_timeline *cost_timeline(
	const void *owner, const struct cost_model *model, const struct ir_module *m);

DOPT_API_END

#endif
