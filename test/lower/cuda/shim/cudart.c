/* The part of the CUDA runtime that libdopt_rt_cuda calls, on a processor: memory, copies and
 * kernels. Streams, events and graphs are in streams.c. Two devices that can access each other's
 * memory. */
#include "fibers.h"
#include "streams.h"

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

cudaError_t
cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	(void)device;
	memset(prop, 0, sizeof *prop);
	snprintf(prop->name, sizeof prop->name, "device of the shim");
	return cudaSuccess;
}

/* The only attribute that is queried: bytes of the second-level cache. */
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
cudaDeviceCanAccessPeer(int *can, int device, int peer)
{
	*can = device != peer;
	return cudaSuccess;
}

cudaError_t
cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	return peer < SHIM_DEVICES && !flags ? cudaSuccess : cudaErrorInvalidDevice;
}

/* --- memory: filled with a pattern that reveals unwritten bytes
 * -------------------------------------------- */

/* Bytes of an allocation that are filled: tests' programs are small, and filling a library's
 * workspace would take longer than running them. */
enum { FILLED_BYTES = 1 << 20 };

cudaError_t
cudaMalloc(void **memory, size_t bytes)
{
	*memory = aligned_alloc(256, (bytes + 256) / 256 * 256);
	if (*memory)
		memset(*memory, 0xFF, bytes < FILLED_BYTES ? bytes : FILLED_BYTES);
	shim_has_memory(*memory, bytes);
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
	shim_had_memory(memory);
	free(memory);
	return cudaSuccess;
}

cudaError_t
cudaFree(void *memory)
{
	shim_finish_device();
	shim_had_memory(memory);
	free(memory);
	return cudaSuccess;
}

struct fill {
	void *to;
	int value;
	size_t bytes;
};

static void
fill(void *data)
{
	const struct fill *f = data;
	memset(f->to, f->value, f->bytes);
}

cudaError_t
cudaMemset(void *to, int value, size_t bytes)
{
	return shim_put(NULL, fill, &(struct fill){to, value, bytes}, sizeof(struct fill));
}

cudaError_t
cudaMemsetAsync(void *to, int value, size_t bytes, cudaStream_t stream)
{
	return stream ? shim_put(
				stream, fill, &(struct fill){to, value, bytes}, sizeof(struct fill))
		      : cudaErrorInvalidValue;
}

struct rows {
	char *to;
	const char *from;
	size_t to_pitch, from_pitch, width, height;
};

static void
copy_rows(void *data)
{
	const struct rows *r = data;
	for (size_t i = 0; i < r->height; i++)
		memmove(r->to + i * r->to_pitch, r->from + i * r->from_pitch, r->width);
}

cudaError_t
cudaMemcpy2DAsync(void *to, size_t to_pitch, const void *from, size_t from_pitch, size_t width,
	size_t height, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	const struct rows r = {to, from, to_pitch, from_pitch, width, height};
	(void)kind;
	const size_t most = height > 1 ? INT32_MAX : SIZE_MAX; /* as real devices have it */
	if (to_pitch < width || from_pitch < width || to_pitch > most || from_pitch > most)
		return cudaErrorInvalidPitchValue;
	return stream ? shim_put(stream, copy_rows, &r, sizeof r) : cudaErrorInvalidValue;
}

cudaError_t
cudaMemcpyAsync(
	void *to, const void *from, size_t bytes, enum cudaMemcpyKind kind, cudaStream_t stream)
{
	return cudaMemcpy2DAsync(to, bytes, from, bytes, bytes, 1, kind, stream);
}

/* --- code: linked kernels, by name
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

/* A launch: the kernel, followed from ARGS on by its arguments. */
struct launch {
	shim_kernel *run;
	unsigned grid, block;
};

enum { ARGS = 32, MOST_ARGS = 4096 }; /* bytes: CUDA's limit */

union args {
	struct launch head;
	_Alignas(16) char bytes[ARGS + MOST_ARGS];
};

static void
launch(void *data)
{
	const struct launch *l = data;
	shim_run(l->run, (const char *)data + ARGS, l->grid, l->block);
}

static _Atomic int nlaunches;

static void
say_launches(void)
{
	fprintf(stderr, "shim: %d launches of kernels\n", nlaunches);
}

cudaError_t
cudaLaunchKernel(
	const void *kernel, dim3 grid, dim3 block, void **args, size_t shared, cudaStream_t stream)
{
	if (!grid.x || !block.x || block.x > 1024 || shared || !stream ||
		((const struct shim_code *)kernel)->bytes > MOST_ARGS)
		return cudaErrorInvalidConfiguration;
	if (!nlaunches++ && getenv("SHIM_COUNT"))
		atexit(say_launches);
	const struct shim_code *code = kernel;
	const struct launch head = {code->run, grid.x, block.x};
	union args all;
	memcpy(&all.head, &head, sizeof head);
	memcpy(all.bytes + ARGS, args[0], code->bytes);
	return shim_put(stream, launch, &all, ARGS + code->bytes);
}
