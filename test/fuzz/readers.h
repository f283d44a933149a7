/*
 * The readers of dopt, and what must hold of each for any bytes: they are read, and what was read
 * is sound and prints as itself, or there is a message. Fuzzers (fuzzer.c) and unit tests
 * (mutate.h) go through the table of shared_readers.c.
 */
#ifndef TEST_FUZZ_READERS_H
#define TEST_FUZZ_READERS_H

#include <stdbool.h>
#include <stddef.h>

struct fuzz_session;

/* For one reader: dir, mlir, cluster, profile, trace, safetensors, index, schedule. Ends the process
 * where there is none of that name. */
struct fuzz_session *fuzz_session_create(const char *reader);

/* Reads n bytes. True: they are right; false: there was a message. Ends the process where something
 * does not hold. */
bool fuzz_read(struct fuzz_session *s, const char *text, size_t n);

void fuzz_session_end(struct fuzz_session *s);

#endif
