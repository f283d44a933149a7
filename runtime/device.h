/* The hardware that a rank computes on. The main loop, options, data files and results are the same
 * for all; a backend provides memory, copies to and from it, and, where collectives do not run in
 * host memory, an engine of its own. */
#ifndef RUNTIME_DEVICE_H
#define RUNTIME_DEVICE_H

#include "runtime/comm/engine.h"
#include "runtime/transfer.h"

struct rt_device {
	const char *name;
	/* Does this machine have `needed` of them? If not, fails with RT_EXIT_RUN and the
	 * reason. */
	bool (*available)(int needed, struct rt_status *st);
	/* Opens the device of the rank that is number `local` on this machine; sets *dev, which is
	 * then passed to the other functions and as rt_ctx.device. */
	bool (*open)(int local, void **dev, struct rt_status *st);
	void (*close)(void *dev); /* accepts NULL, if open failed */
	/* RT_ARENA_ALIGN-aligned zeroed memory, or NULL. */
	void *(*alloc)(void *dev, size_t bytes);
	void (*free)(void *dev, void *memory);
	/* The same in host memory that the device can copy from and to; fails with a message. */
	void *(*alloc_host)(void *dev, size_t bytes, struct rt_status *st);
	void (*free_host)(void *dev, void *memory);
	/* Complete on return, and ordered after the work that step functions have started. */
	void (*upload)(void *dev, void *to, const void *host, size_t bytes);
	void (*download)(void *dev, void *host, const void *from, size_t bytes);
	/* Returns when everything that was started is complete. */
	void (*sync)(void *dev);
	/* The arena is host memory: uploads and downloads can be skipped. */
	bool is_host;
	/* Bytes that a rank allocates on the device outside of the arena: for libraries, and for
	 * collectives if the program has any. */
	size_t outside_arena, for_collectives;
	const struct rt_engine_ops *engine; /* &rt_engine_host where is_host */
	const struct rt_transfers_ops *transfers;
};

#endif
