/*
 * What the driver and libraries take of a device's memory. No GPU is queried at compile time, so
 * these are estimates: the cluster says what a context takes and how many channels NCCL opens, and
 * a channel takes the same bytes on all devices.
 */
#include "ir/cluster/cluster.h"
#include "ir/cluster/device.h"
#include "lower/cuda/cuda.h"

/*
 * Bytes of a channel of a connection: on the receiver the buffers of NCCL's three protocols
 * (512 KiB, 4.7 MiB, 4 MiB: NCCL 2.26, src/init.cc) and on the sender its counters, both in units
 * of 2 MiB. An 8 x H100 server allocated 10 MiB and 2 MiB for each of 32 channels to each GPU
 * (NVIDIA/nccl, issue 1685, April 2025).
 */
#define CHANNEL_BYTES (UINT64_C(12) << 20)

/* Channels to each other device of a communicator that extends over several nodes, by NCCL's
 * default for network cards (src/graph/paths.cc). NCCL shares buffers of sends over a network among
 * peers, so that this is an upper bound. */
#define FAR_CHANNELS 2

/* Devices of the first node. A device alone, any number of which there may be, is a node. */
static uint32_t
node_devices(const struct cluster *c)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < c->ndevices; i++)
		n += c->node_of[i] == c->node_of[0];
	return n;
}

struct storage_libraries
cuda_libraries(const struct cluster *c)
{
	struct storage_libraries l = {.node_devices = node_devices(c)};

	for (uint32_t k = 0; k < c->nkinds; k++) {
		const struct device *d = c->kind[k];
		const uint64_t context = (uint64_t)d->context,
			       near = (uint64_t)(d->channels * (double)CHANNEL_BYTES);
		const uint64_t far = FAR_CHANNELS * CHANNEL_BYTES;
		l.context = context > l.context ? context : l.context;
		l.near = near > l.near ? near : l.near;
		l.far = l.near < far ? l.near : far;
	}
	return l;
}
