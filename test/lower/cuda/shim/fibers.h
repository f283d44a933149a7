/* A grid of CUDA threads on one thread of a processor. */
#ifndef TEST_LOWER_CUDA_SHIM_FIBERS_H
#define TEST_LOWER_CUDA_SHIM_FIBERS_H

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

/* The current CUDA thread has added a value to a sum. With SHIM_ADDED=FILE each kernel that does so
 * adds a line to the file: its name, and the most additions of one of its threads. */
void shim_added(void);

#ifdef __cplusplus
}
#endif

#endif
