/* A grid of CUDA threads on one thread of a processor. */
#ifndef TEST_LOWER_CUDA_SHIM_FIBERS_H
#define TEST_LOWER_CUDA_SHIM_FIBERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shim_dim {
	unsigned x, y, z;
};

struct shim_thread {
	struct shim_dim thread, block, grid;
};

/* The current CUDA thread. */
const struct shim_thread *shim_self(void);

/* Waits for all threads of the block. */
void shim_block_barrier(void);

/* Waits for all 32 lanes of the warp; returns the values of all lanes. Valid until the lane's next
 * call. */
const uint64_t *shim_warp_exchange(uint64_t mine);

/* __syncwarp: shim_warp_exchange, and orders the memory of the lanes. */
void shim_warp_barrier(void);

/* A kernel by name, with the bytes of its arguments, and the kernel of that name (NULL: none). */
typedef void shim_kernel(const void *args);
struct shim_code {
	const char *name;
	shim_kernel *run;
	unsigned long bytes;
};
void shim_register(const char *name, shim_kernel *run, unsigned long bytes);
const struct shim_code *shim_find(const char *name);

/* Runs all threads of a grid to their ends. */
void shim_run(shim_kernel *kernel, const void *args, unsigned grid, unsigned block);

/* The name of the kernel that runs. */
const char *shim_kernel_name(void);

/* When a thread of a grid is: between which barriers. */
struct shim_moment {
	uint32_t block;
	uint16_t thread;
	uint32_t barriers, warp_barriers;
};

/* Now, in which launch of this thread of the processor; false: no kernel runs, or p is on the
 * stack of the CUDA thread, which no other one accesses. */
bool shim_now(const void *p, struct shim_moment *now, uint64_t *launch);

/* Memory of a device, which all blocks access; no longer. */
void shim_has_memory(const void *begin, size_t bytes);
void shim_had_memory(const void *begin);

/* The current CUDA thread has added a value to a sum. With SHIM_ADDED=FILE each kernel that does so
 * adds a line to the file: its name, and the most additions of one of its threads. */
void shim_added(void);

#ifdef __cplusplus
}
#endif

#endif
