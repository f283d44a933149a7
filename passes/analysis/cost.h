/*
 * What a step costs: durations of ops from a profile data base or, where that has none, from a
 * device description; replayed on the streams of the devices; memory by liveness.
 *
 *     module -> events (events.h) -> durations (this file) -> replay (replay.h) -> report
 *            -> memory (memory.h)                                               -> report
 */
#ifndef PASSES_ANALYSIS_COST_H
#define PASSES_ANALYSIS_COST_H

#include "ir/ir.h"
#include "passes/analysis/device.h"

#include <stdio.h>

struct cost_model;

/*
 * A model owned by `owner`. `device`: a file, or NULL for the default device `generic`; `profile`:
 * a profile data base, or NULL for none. With both, ops have the times that the profile has of the
 * device of that name, and all else is from the file; with a profile alone its only device is
 * taken, with its links and overheads. NULL after reporting to `d` what is wrong with a file.
 */
struct cost_model *cost_model_create(
	const void *owner, struct diag *d, const char *device, const char *profile);

/* A model of a device that is already there; takes it over. Without a profile. */
struct cost_model *cost_model_of(const void *owner, struct device *device);

const struct device *cost_model_device(const struct cost_model *model);

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

/* Seconds of one run of one op at one place; 0 for ops that are no work. `measured` may be NULL. */
double cost_op_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, bool *measured);

/* The timeline behind a report: one entry an event, in the order of issue. */
struct cost_event {
	const struct ir_op *op;
	int32_t device; /* among the devices that are told apart: see events.h */
	bool communication;
	uint32_t turn;     /* of the loops over time axes, 0 first */
	double start, end; /* seconds */
	bool critical;     /* on the critical path */
};

struct cost_timeline {
	struct cost_event *event;
	uint32_t n, ndevices;
	double iteration;
};

/* Owned by `owner`; NULL where cost_evaluate returns false. */
struct cost_timeline *cost_timeline(
	const void *owner, const struct cost_model *model, struct ir_module *m);

/*
 * Key of an op in a profile: its text with names normalized and local shapes in place of types, the
 * same for every op that does the same work at one place. A fuse has its body in it. For
 * collectives: kind, places and bytes. talloc text owned by `owner`; NULL for ops that are no work.
 */
char *cost_op_key(const void *owner, const struct ir_module *m, const struct ir_op *op);

/* What an op is to the cost model. */
enum cost_kind {
	COST_NONE,      /* no work: param, release, a slice that is a view ... */
	COST_COMPUTE,   /* a kernel */
	COST_COLLECTIVE /* a message between places */
};

enum cost_kind cost_op_kind(const struct ir_module *m, const struct ir_op *op);

/* For a collective: its kind, the places that take part, and the bytes of its message at one place.
 */
struct cost_collective {
	enum collective kind;
	int axis, places;
	double bytes; /* slices, or wholes where there are any; alltoall: the source */
};
bool cost_op_collective(
	const struct ir_module *m, const struct ir_op *op, struct cost_collective *c);

#endif
