/* Executes the transfers of a step between the arena and host memory: on the host by a thread for
 * each direction (host/transfers.c), on a GPU by a stream for each (cuda/transfers.c), since a PCIe
 * link and the copy engines of a GPU work in both directions at once. Transfers concern one rank
 * alone, so they complete by themselves, whatever other ranks do. */
#ifndef RUNTIME_TRANSFER_H
#define RUNTIME_TRANSFER_H

#include "runtime/comm/transport.h"
#include "runtime/trace/trace.h"

struct rt_transfers;

/* The arguments of transfers; all of them outlive them. */
struct rt_transfers_setup {
	const struct rt_program *prog;
	unsigned char *arena, *host;
	void *device;           /* for the device's functions */
	struct rt_link link;    /* emulated, of each direction */
	bool crowded;           /* more ranks than cores */
	struct rt_trace *trace; /* NULL: no trace */
};

struct rt_transfers_ops {
	/* NULL and a status on failure. */
	struct rt_transfers *(*create)(
		const struct rt_transfers_setup *setup, struct rt_status *st);
	void (*post)(struct rt_transfers *t, int32_t transfer);
	void (*wait)(struct rt_transfers *t, int32_t transfer);
	/* Returns when no transfer is in flight: at the end of every step, after the engine's
	 * drain. */
	void (*drain)(struct rt_transfers *t);
	void (*destroy)(struct rt_transfers *t); /* no transfer is in flight */
};

extern const struct rt_transfers_ops rt_transfers_host;

/* The track of a transfer in a trace. */
static inline enum rt_track
rt_transfer_track(const struct rt_transfer *t)
{
	return t->to_host ? RT_TRACK_TO_HOST : RT_TRACK_TO_DEVICE;
}

#endif
