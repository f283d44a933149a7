/*
 * A plugin for another interface. Only its first field may be looked at: the rest is not what it
 * was.
 */
#include <stdint.h>

extern const uint64_t dopt_plugin[];
const uint64_t dopt_plugin[] = {VERSION, (uint64_t)-1, (uint64_t)-1, (uint64_t)-1};
