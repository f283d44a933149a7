/*
 * A profile as text: one entry a line, sorted, numbers exact, so that it can be committed, compared
 * and merged as text. The entries after a line `device` are measurements of that device.
 *
 *     dopt-profile 2
 *     device "AMD EPYC, 2 processors" backend "host 0.1.0, code 1a2b3c4d, gcc 12.2.0, oneDNN 2.6.3"
 *     op ranks=2 buffers=step median=1.8e-05 spread=0.03 runs=160 flops=25690112 bytes=1806336
 *         time=2026-11-20T23:55:01Z key=matmul (f32[32,784], f32[784,512]) -> f32[32,512]
 *     collective transport=threads kind=allreduce places=2 nodes=1 bytes=4096 median=... time=...
 *     link transport=threads kind=allreduce places=2 nodes=1 alpha=2e-06 beta=1e+10 error=0.1
 *         time=...
 *     field transport=threads name=post value=3e-07 time=...
 *
 * (Each entry is one line; here two are broken to fit.) The fields of a line may come in any order,
 * except that key= is last and takes the rest of the line. `#` begins a comment line.
 */
#ifndef PASSES_ANALYSIS_PROFILE_TEXT_H
#define PASSES_ANALYSIS_PROFILE_TEXT_H

#include "passes/analysis/profile/columns.h"

#include <stdio.h>

/* The first line of every text begins with it; PROFILE_SCHEMA, the version, follows. */
#define PROFILE_TEXT_MARK "dopt-profile "

/* Writes all entries of all devices and backends. False: reported (reading failed, not writing). */
bool profile_text_write(struct profile *p, FILE *out);

/* One entry as a line with its newline. */
void profile_text_entry(FILE *out, enum profile_kind kind, const void *entry);

/* x as the shortest text that reads back as exactly x; `text` has room for 32 bytes. */
void profile_number(double x, char *text);

/* What a line says. */
struct profile_line {
	enum profile_kind kind;
	const char *device, *backend; /* PROFILE_DEVICE */
	union {                       /* `entry` of all of them */
		char entry;
		struct profile_op op;
		struct profile_collective collective;
		struct profile_link link;
		struct profile_field field;
	};
};

/*
 * Reads one line, without its newline. Texts of the result belong to `owner`. `at`: the place of
 * its first byte for messages. Every fault of the line is reported.
 */
struct profile_line profile_text_line(
	const void *owner, struct diag *d, struct ir_loc at, const char *line, size_t length);

/* Stores the entry of a line in the profile; `device` is that of the last PROFILE_DEVICE line. */
bool profile_text_store(struct profile *p, const char *device, const struct profile_line *line);

/*
 * Stores all entries of a text in a profile, replacing older ones; or none, after reporting every
 * fault with its place in `name`. May run inside a transaction. Afterwards no backend or transport
 * is selected. p NULL: the text is only checked.
 */
bool profile_text_load(
	struct profile *p, struct diag *d, const char *name, const char *text, size_t length);

/* The whole file as text, owned by `owner`; "-" is standard input. False: reported. */
bool profile_text_read_file(const void *owner, struct diag *d, const char *path, char **text);

#endif
