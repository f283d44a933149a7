/* The part of the CUDA runtime that libdopt_rt_cuda calls, on a processor:
 * everything is done at once and in memory, streams and events have nothing to wait for. The
 * exception are copies between host and device memory: these are done as late as streams and events
 * allow, so that a program that does not wait for one computes something else. Two devices that see
 * each other. */
#include "fibers.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { DEVICES = 2 };

cudaError_t
cudaGetDeviceCount(int *count)
{
	*count = DEVICES;
	return cudaSuccess;
}

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	(void)device;
	memset(prop, 0, sizeof *prop);
	snprintf(prop->name, sizeof prop->name, "device of the shim");
	return cudaSuccess;
}

/* The one that is asked for: bytes of the second-level cache. */
cudaError_t
cudaDeviceGetAttribute(int *value, enum cudaDeviceAttr attribute, int device)
{
	(void)device;
	*value = attribute == cudaDevAttrL2CacheSize ? 1 << 16 : 0;
	return cudaSuccess;
}

const char *
cudaGetErrorString(cudaError_t error)
{
	return error == cudaSuccess ? "no error" : "an error of the shim";
}

cudaError_t
cudaGetLastError(void)
{
	return cudaSuccess;
}

cudaError_t
cudaSetDevice(int device)
{
	return device < DEVICES ? cudaSuccess : cudaErrorInvalidDevice;
}

cudaError_t
cudaDeviceSynchronize(void)
{
	return cudaSuccess;
}

cudaError_t
cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return cudaSuccess;
}

cudaError_t
cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	return peer < DEVICES && !flags ? cudaSuccess : cudaErrorInvalidDevice;
}

/* --- memory: filled with what shows where nobody wrote
 * -------------------------------------------- */

/* Of an allocation: programs of tests are small, and a library's workspace would take longer to
 * fill than they take to run. */
enum { FILLED_BYTES = 1 << 20 };

cudaError_t
cudaMalloc(void **memory, size_t bytes)
{
	*memory = aligned_alloc(256, (bytes + 256) / 256 * 256);
	if (*memory)
		memset(*memory, 0xFF, bytes < FILLED_BYTES ? bytes : FILLED_BYTES);
	return *memory ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t
cudaHostAlloc(void **memory, size_t bytes, unsigned flags)
{
	return flags == cudaHostAllocDefault ? cudaMalloc(memory, bytes) : cudaErrorInvalidValue;
}

cudaError_t
cudaFreeHost(void *memory)
{
	free(memory);
	return cudaSuccess;
}

cudaError_t
cudaFree(void *memory)
{
	free(memory);
	return cudaSuccess;
}

cudaError_t
cudaMemset(void *to, int value, size_t bytes)
{
	memset(to, value, bytes);
	return cudaSuccess;
}

/* A copy that was put into a stream and is still to be done. */
struct late {
	void *to;
	const void *from;
	size_t bytes;
};

/* A stream: its copies that are still to be done, all of them its last. */
struct stream {
	struct late *late;
	int n, room;
};

/* Does what is left in a stream. */
static void
finish_stream(cudaStream_t stream)
{
	struct stream *s = (struct stream *)stream;
	for (int i = 0; s && i < s->n; i++)
		memmove(s->late[i].to, s->late[i].from, s->late[i].bytes);
	if (s && s->n)
		s->n = 0;
}

cudaError_t
cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	finish_stream(stream);
	return stream ? cudaMemset(to, value, bytes) : cudaErrorInvalidValue;
}

cudaError_t
cudaMemcpyAsync(
	void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	struct stream *s = (struct stream *)stream;
	if (!s)
		return cudaErrorInvalidValue;
	if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToHost) {
		finish_stream(stream);
		memmove(to, from, bytes);
		return cudaSuccess;
	}
	if (s->n == s->room)
		s->late = realloc(s->late, (size_t)(s->room = 2 * s->n + 8) * sizeof *s->late);
	s->late[s->n++] = (struct late){to, from, bytes};
	return cudaSuccess;
}

cudaError_t
cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
	size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	if (to_pitch < width || from_pitch < width)
		return cudaErrorInvalidPitchValue;
	for (size_t i = 0; i < height; i++)
		cudaMemcpyAsync((char *)to + i * to_pitch, (const char *)from + i * from_pitch,
			width, kind, stream);
	return stream ? cudaSuccess : cudaErrorInvalidValue;
}

/* --- streams, events, graphs
 * ---------------------------------------------------------------------- */

cudaError_t
cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags)
{
	(void)flags;
	*stream = calloc(1, sizeof(struct stream));
	return cudaSuccess;
}

cudaError_t
cudaStreamDestroy(cudaStream_t stream)
{
	free(((struct stream *)stream)->late);
	free(stream);
	return cudaSuccess;
}

cudaError_t
cudaStreamSynchronize(cudaStream_t stream)
{
	finish_stream(stream);
	return stream ? cudaSuccess : cudaErrorInvalidValue;
}

/* An event: when and in which stream it was recorded last. */
struct event {
	struct timespec time;
	cudaStream_t stream;
};

/* What the event stands for is done. */
static void
finish_event(cudaEvent_t event)
{
	if (event)
		finish_stream(((struct event *)event)->stream);
}

cudaError_t
cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags)
{
	(void)flags;
	finish_event(event);
	/* CUDA takes an event that was never recorded, but not in a step that is captured. */
	return stream && event && ((struct event *)event)->stream ? cudaSuccess
								  : cudaErrorInvalidValue;
}

cudaError_t
cudaEventCreate(cudaEvent_t *event)
{
	*event = calloc(1, sizeof(struct event));
	return cudaSuccess;
}

cudaError_t
cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags)
{
	(void)flags;
	return cudaEventCreate(event);
}

cudaError_t
cudaEventDestroy(cudaEvent_t event)
{
	free(event);
	return cudaSuccess;
}

cudaError_t
cudaEventRecord(cudaEvent_t event, cudaStream_t stream)
{
	struct event *e = (struct event *)event;
	clock_gettime(CLOCK_MONOTONIC, &e->time);
	e->stream = stream;
	return stream ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaEventQuery(cudaEvent_t event)
{
	/* Of another thread, which looks and does nothing. */
	return event ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaEventSynchronize(cudaEvent_t event)
{
	finish_event(event);
	return event ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t
cudaEventElapsedTime(float *ms, cudaEvent_t begin, cudaEvent_t end)
{
	const struct timespec *a = &((const struct event *)begin)->time,
			      *b = &((const struct event *)end)->time;
	*ms = (float)((double)(b->tv_sec - a->tv_sec) * 1e3 +
		      (double)(b->tv_nsec - a->tv_nsec) / 1e6);
	return cudaSuccess;
}

/* What is captured runs at once as well: a graph is never made. */
cudaError_t
cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode)
{
	(void)stream;
	(void)mode;
	return cudaErrorNotSupported;
}

cudaError_t
cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t *graph)
{
	(void)stream;
	(void)graph;
	return cudaErrorNotSupported;
}

cudaError_t
cudaGraphInstantiate(cudaGraphExec_t *exec, cudaGraph_t graph, unsigned long long flags)
{
	(void)exec;
	(void)graph;
	(void)flags;
	return cudaErrorNotSupported;
}

cudaError_t
cudaGraphLaunch(cudaGraphExec_t exec, cudaStream_t stream)
{
	(void)exec;
	(void)stream;
	return cudaErrorNotSupported;
}

cudaError_t
cudaGraphDestroy(cudaGraph_t graph)
{
	(void)graph;
	return cudaSuccess;
}

cudaError_t
cudaGraphExecDestroy(cudaGraphExec_t exec)
{
	(void)exec;
	return cudaSuccess;
}

/* --- code: kernels that are linked in, by their names
 * --------------------------------------------- */

cudaError_t
cudaLibraryLoadData(cudaLibrary_t *library, const void *code, enum cudaJitOption *options,
	void **values, unsigned noptions, enum cudaLibraryOption *library_options,
	void **library_values, unsigned nlibrary)
{
	(void)code, (void)options, (void)values, (void)noptions;
	(void)library_options, (void)library_values, (void)nlibrary;
	*library = malloc(1);
	return cudaSuccess;
}

cudaError_t
cudaLibraryGetKernel(cudaKernel_t *kernel, cudaLibrary_t library, const char *name)
{
	(void)library;
	*kernel = (cudaKernel_t)shim_find(name);
	return *kernel ? cudaSuccess : cudaErrorSymbolNotFound;
}

cudaError_t
cudaLibraryUnload(cudaLibrary_t library)
{
	free(library);
	return cudaSuccess;
}

cudaError_t
cudaLaunchKernel(
	const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
	if (!grid.x || !block.x || block.x > 1024 || shared || !stream)
		return cudaErrorInvalidConfiguration;
	finish_stream(stream);
	shim_run((shim_kernel *)(uintptr_t)kernel, args[0], grid.x, block.x);
	return cudaSuccess;
}
