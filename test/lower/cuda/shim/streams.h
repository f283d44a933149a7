/*
 * Streams as queues. Work in a stream runs when its turn comes: in an eager stream as soon as the
 * preceding events allow, in a lazy one only when a thread waits for it. A program that lacks a
 * wait computes something else for some choice of eager streams; the environment's SHIM_STREAMS
 * chooses: bit k of the number is for the streams whose number is k modulo 64, four per rank
 * (compute, communication, to and from host memory). Without it all are lazy. SHIM_SLOW=N makes
 * each wait for a stream N ms longer. The streams of a captured step belong to its graph, which
 * runs in the same way at each launch.
 */
#ifndef TEST_LOWER_CUDA_SHIM_STREAMS_H
#define TEST_LOWER_CUDA_SHIM_STREAMS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

enum { SHIM_DEVICES = 2 };

/* Executes an entry of a stream, with a copy of its data. */
typedef void shim_work(void *data);

/* Puts work into a stream of the thread's current device, NULL: into the device's default stream,
 * which others do not wait for; copies the data. */
cudaError_t shim_put(cudaStream_t stream, shim_work *work, const void *data, size_t bytes);

/* Executes everything in the streams of the current device. */
void shim_finish_device(void);

/* While the thread captures a step: increments an object's count of the graphs that use it, and
 * decrements it when the graph of the capture is destroyed. Does nothing otherwise. */
void shim_hold(cudaStream_t stream, int *graphs);

#endif
