/*
 * What a step costs: durations of ops from a profile data base or, where that has none, from a
 * device description; replayed on the streams of the devices; memory by liveness.
 *
 *     module -> events (events.h) -> durations (this file) -> replay (replay.h) -> report
 *            -> memory (memory.h)                                               -> report
 */
#ifndef PASSES_ANALYSIS_COST_H
#define PASSES_ANALYSIS_COST_H

#include "ir/base/api.h"
#include "ir/ir.h"
#include "passes/analysis/collective/collective.h"
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
	const char *profile;     /* a profile data base, or NULL for none */
	const char *transport;   /* whose messages in the profile count; NULL: see profile_select */
	enum collective_algorithm algorithm;
	bool fine; /* replay messages as sends that share links: see fine.h */
	const char *network; /* weights that estimate kernels which nobody has measured; NULL: none
			      */
	const struct storage_target *storage; /* where programs put tensors; NULL: storage_host */
};

/*
 * A model owned by `owner`. With a cluster, kernels have the times that the profile has of devices
 * of those names, and so do fields of device.def that the text does not give; messages are computed
 * from the links. With a profile alone its only device is taken, with messages as they were
 * measured. NULL after reporting to `d`
 * what is wrong with the profile.
 */
struct cost_model *cost_model_create(
	const void *owner, struct diag *d, const struct cost_options *o);

/*
 * The same model with other costs. `base` and `w` must live as long as the result, and `w` be bound
 * to the modules that are evaluated.
 */
struct cost_model *cost_model_whatif(
	const void *owner, const struct cost_model *base, const struct whatif *w);

/* The first kind of device of the cluster; the cluster. */
const struct device *cost_model_device(const struct cost_model *model);
struct cluster *cost_model_cluster(const struct cost_model *model);
/* Where its programs put tensors; NULL: storage_host. */
const struct storage_target *cost_model_storage(const struct cost_model *model);

/* One step of @main. Seconds and bytes of the device that has most of each. */
struct cost_report {
	double iteration;     /* start of the step to its end */
	double compute;       /* kernels of the device that computes longest */
	double communication; /* collectives of the device that communicates longest */
	double exposed; /* iteration less compute: communication, and waiting, that nothing hides */
	double peak_bytes;       /* memory of the device that needs most */
	double persistent_bytes; /* of these: params, states and inputs */
	double flops;            /* arithmetic of all devices */
	double parameters; /* elements of all params, whole tensors: what a model is said to have */
	uint32_t ops;      /* of @main */
	uint32_t events;   /* that were replayed: kernels and collectives, once for each turn of a
			      loop */
	uint32_t measured, estimated; /* ops whose time is from the profile; from the device */
	double measured_time, estimated_time; /* seconds of those, all events together */
	bool fits;                            /* peak_bytes is not more than the device's memory */
};

/*
 * Evaluates @main. Reports and returns false where that cannot be done: no @main, or calls in it
 * that are not inlined. Writes op->order in @main and nothing else of the module.
 */
bool cost_evaluate(const struct cost_model *model, struct ir_module *m, struct cost_report *report);

/* One JSON object, keys as the fields above, times in seconds, with the device's name. No newline.
 */
void cost_report_json(FILE *out, const struct cost_model *model, const struct cost_report *report);

/* "times: 12 of 15 ops measured (98.2 % of the time), the others estimated for generic"; talloc. */
char *cost_report_header(
	const void *owner, const struct cost_model *model, const struct cost_report *report);

/* The timeline behind a report: one entry an event, in the order of issue. */
struct cost_event {
	const struct ir_op *op;
	int32_t device;     /* among the devices that are told apart: see events.h */
	bool communication; /* a collective; else a kernel */
	uint32_t turn;      /* of the loops over time axes, 0 first */
	double start, end;  /* seconds */
	double slack;   /* seconds by which it could end later, the iteration staying as it is */
	double exposed; /* seconds of a collective in which its device computes nothing */
	double waited;  /* seconds in which devices do nothing because this has not ended */
	double bytes;   /* of memory that a kernel reads and writes; of a collective's message */
	bool critical;  /* on the critical path */
	bool measured;  /* its time is from the profile */
};

/* How one device spends the iteration, seconds: compute + exposed + idle = iteration. */
struct cost_device {
	double compute;       /* its compute stream works, or posts or waits */
	double communication; /* communicates, hidden or not */
	double exposed;       /* communicates and computes nothing */
	double idle;          /* neither */
};

struct cost_timeline {
	struct cost_event *event;
	struct cost_device *device; /* [ndevices] */
	uint32_t n, ndevices;
	double iteration;
};

/* Owned by `owner`; NULL where cost_evaluate returns false. */
struct cost_timeline *cost_timeline(
	const void *owner, const struct cost_model *model, struct ir_module *m);

/*
 * Key of an op in a profile: its text with names normalized and local shapes in place of types, the
 * same for every op that does the same work at one place. A fuse has its body in it. For
 * collectives: kind, places, bytes and parts. talloc text owned by `owner`; NULL for ops that are
 * no work.
 */
char *cost_op_key(const void *owner, const struct ir_module *m, const struct ir_op *op);

/* What an op is to the cost model. */
enum cost_kind {
	COST_NONE,      /* no work: param, release, a slice that is a view ... */
	COST_COMPUTE,   /* a kernel */
	COST_COLLECTIVE /* a message between places */
};

enum cost_kind cost_op_kind(const struct ir_module *m, const struct ir_op *op);

/*
 * The value that v is a view of, where its op is no work: of several operands the one in the place
 * of v among the results. NULL: v is no view.
 */
const struct ir_value *cost_viewed(const struct ir_module *m, const struct ir_value *v);

/* For a collective: its kind, the places that take part, and the bytes of its message at one place.
 */
struct cost_collective {
	enum rt_coll_kind kind;
	int axis, places;
	double bytes;   /* slices, or wholes where there are any; alltoall: the source */
	uint32_t parts; /* messages in which they go, at least 1 */
};
bool cost_op_collective(
	const struct ir_module *m, const struct ir_op *op, struct cost_collective *c);

DOPT_API_END

#endif
