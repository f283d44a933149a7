/* Files that are truncated while they are mapped: the system sends SIGBUS to a thread that reads
 * beyond the new end of the file. */
#ifndef RUNTIME_SHRUNK_H
#define RUNTIME_SHRUNK_H

#include <stdbool.h>

/* From now on such a read ends the process with RT_EXIT_RUN and a message that names the file;
 * other causes of SIGBUS still kill it. The handler keeps no data: it finds the file in /proc. */
void rt_shrunk_guard(void);

/*
 * For other handlers of SIGBUS: if a file is mapped at that address, prints that it became shorter
 * and returns true. Safe in a handler.
 */
bool rt_shrunk_report(const void *address);

#endif
