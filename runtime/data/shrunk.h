/* Files that are cut off while they are mapped: the system sends SIGBUS to who reads where the file
 * has no bytes any more. */
#ifndef RUNTIME_SHRUNK_H
#define RUNTIME_SHRUNK_H

#include <stdbool.h>

/* From here on such a read ends the process with RT_EXIT_RUN and a message that names the file;
 * other causes of SIGBUS still kill it. The handler has no data of its own: /proc tells the file.
 */
void rt_shrunk_guard(void);

/*
 * For a handler of SIGBUS of one's own: if a file is mapped at that address, says that it became
 * shorter, and returns true. Safe in a handler.
 */
bool rt_shrunk_report(const void *address);

#endif
