/* A description of this machine, for profiles. */
#ifndef RUNTIME_MACHINE_H
#define RUNTIME_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* "AMD EPYC 9004, 16 processors": at most `size` bytes with the terminating zero, without
 * quotes. */
void rt_machine_name(char *name, size_t size);

/* Bytes of the largest cache that a core uses; the second function: of the largest cache that a
 * core has (almost) to itself. */
int64_t rt_machine_cache(void);
int64_t rt_machine_own_cache(void);

/* Bytes of main memory; 0: unknown. */
int64_t rt_machine_memory(void);

#endif
