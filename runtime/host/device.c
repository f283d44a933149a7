/* The host as a device: plain aligned memory. */
#include "runtime/device.h"
#include <stdlib.h>

static bool
host_available(int needed, struct rt_status *st)
{
	(void)needed;
	(void)st;
	return true;
}

static bool
host_open(int local, void **dev, struct rt_status *st)
{
	(void)local;
	(void)st;
	*dev = NULL;
	return true;
}

static void
host_nothing(void *dev)
{
	(void)dev;
}

static void *
host_alloc(void *dev, size_t bytes)
{
	(void)dev;
	const size_t least = bytes ? bytes : 1;
	const size_t whole = (least + RT_ARENA_ALIGN - 1) / RT_ARENA_ALIGN * RT_ARENA_ALIGN;
	void *memory = whole < bytes ? NULL : aligned_alloc(RT_ARENA_ALIGN, whole);
	if (memory)
		memset(memory, 0, whole);
	return memory;
}

static void *
host_alloc_host(void *dev, size_t bytes, struct rt_status *st)
{
	void *memory = host_alloc(dev, bytes);
	if (!memory)
		rt_fail_memory(st, bytes, "host memory");
	return memory;
}

static void
host_free(void *dev, void *memory)
{
	(void)dev;
	free(memory);
}

static void
host_copy(void *dev, void *to, const void *from, size_t bytes)
{
	(void)dev;
	memcpy(to, from, bytes);
}

const struct rt_device rt_device_host = {
	.name = "host",
	.available = host_available,
	.open = host_open,
	.close = host_nothing,
	.alloc = host_alloc,
	.free = host_free,
	.alloc_host = host_alloc_host,
	.free_host = host_free,
	.upload = host_copy,
	.download = host_copy,
	.sync = host_nothing,
	.is_host = true,
	.engine = &rt_engine_host,
	.transfers = &rt_transfers_host,
};
