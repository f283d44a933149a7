/* What executes the collectives of a step: on the host a communication thread over a transport
 * (engine_host.c); a device may bring its own (struct rt_device). */
#ifndef RUNTIME_ENGINE_H
#define RUNTIME_ENGINE_H

#include "runtime/rt_program.h"
#include "runtime/trace/trace.h"
#include "runtime/comm/transport.h"
#include "runtime/comm/world.h"

struct rt_engine;

/* The arguments of an engine; all of them outlive it. */
struct rt_engine_setup {
	const struct rt_program *prog;
	struct rt_world *world;
	const int64_t *coord;
	unsigned char *arena;
	void *device;                   /* for the device's functions */
	struct rt_transport *transport; /* NULL for a device that brings its own engine */
	struct rt_trace *trace;         /* NULL: no trace */
};

struct rt_engine_ops {
	/* Makes the engine of one rank; all ranks do it together. NULL and a status on failure. */
	struct rt_engine *(*create)(const struct rt_engine_setup *setup, struct rt_status *st);
	void (*post)(struct rt_engine *e, int32_t coll);
	void (*wait)(struct rt_engine *e, int32_t coll);
	/* Returns when no collective is in flight: at the end of every step. */
	void (*drain)(struct rt_engine *e);
	void (*destroy)(struct rt_engine *e);
};

extern const struct rt_engine_ops rt_engine_host;

#endif
