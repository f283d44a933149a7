/* One rank of a run and its resources. */
#ifndef RUNTIME_RANK_H
#define RUNTIME_RANK_H

#include "runtime/device.h"
#include "runtime/layout.h"
#include "runtime/metrics.h"
#include "runtime/options.h"
#include "runtime/data/position.h"

/* Measures the time in kernels and in waits over the steps whose kernels are timed. */
struct rt_probe {
	int64_t begin;     /* of the current kernel, ns */
	int64_t busy_ns;   /* in kernels and waits */
	int64_t waited_ns; /* for collectives and copies: what computation does not hide */
	struct rt_trace *trace;
};

struct rt_rank {
	const struct rt_program *prog;
	const struct rt_device *device;
	const struct rt_options *options;
	struct rt_world *world;
	struct rt_status *status; /* of this rank, until all ranks agree */
	struct rt_position start; /* where this run starts */
	const char *load;         /* the file or folder to start from; NULL: none */
	char *resumed;            /* the memory of `load` if -resume has found it */
	int64_t steps;            /* the number of its steps */
	int print_error;          /* errno of the first line that did not reach stdout */
	struct rt_transport *transport;
	struct rt_engine *engine;
	struct rt_transfers *transfers; /* NULL: the program has none */
	struct rt_trace *trace;         /* NULL: none */
	struct rt_probe probe;
	struct rt_metrics metrics; /* of rank 0 */
	struct rt_ctx ctx;
	void *stage;           /* host memory for the largest slice of a tensor */
	bool own_stage;        /* the stage is not part of the arena */
	size_t allocated;      /* bytes on the device */
	size_t allocated_host; /* bytes of host memory for the step */
};

/* Opens the device, allocates arena and staging and starts the engine. `transport` is NULL if the
 * device has an engine of its own or MPI is the carrier. All ranks call it together and agree on
 * the result. Call rt_rank_close in any case. */
bool rt_rank_open(struct rt_rank *r, struct rt_transport *transport);
void rt_rank_close(struct rt_rank *r);

/* Returns when everything that the step has started is complete. */
void rt_rank_drain(struct rt_rank *r);

/* Bytes of one slice of a tensor on this rank. */
size_t rt_slice_bytes(const struct rt_program *p, const struct rt_tensor *t);

/* Copies a parameter's or state's slice to or from memory of the runtime. */
void rt_rank_keep(struct rt_rank *r, const struct rt_tensor *t, void *to);
void rt_rank_restore(struct rt_rank *r, const struct rt_tensor *t, const void *from);

/* A slice of a tensor in host memory, read-only: in place or copied to the stage. */
const void *rt_rank_view(struct rt_rank *r, const struct rt_tensor *t, int64_t slice);

/* Host memory for a slice, to be written and then stored with rt_rank_put. */
void *rt_rank_room(struct rt_rank *r, const struct rt_tensor *t, int64_t slice);
void rt_rank_put(struct rt_rank *r, const struct rt_tensor *t, int64_t slice);

#endif
