/*
 * The profile data base: what was measured, one SQLite file that several processes may read and
 * write at once. Entries belong to a device: the machine with its libraries, as one name.
 *
 *     op          key, ranks at work at once  ->  seconds, flops, bytes
 *     collective  transport, kind, places, bytes  ->  seconds
 *     link        transport, kind, places  ->  alpha and beta, fitted to the collectives
 *     field       fields of device.def that were measured: overhead of a kernel, of a wait ...
 */
#ifndef PASSES_ANALYSIS_PROFILE_H
#define PASSES_ANALYSIS_PROFILE_H

#include "ir/diag.h"
#include "passes/analysis/device.h"

#include <stdbool.h>
#include <stdint.h>

/* Raised when a table changes; a file of another version is refused. */
#define PROFILE_SCHEMA 1

struct profile;

enum profile_mode {
	PROFILE_READ,  /* the file must exist */
	PROFILE_WRITE, /* it is made if it does not */
};

/*
 * Opens a file. NULL after reporting why: missing, no data base, another program's, another
 * version. Closed when `owner` or the profile is freed.
 */
struct profile *profile_open(
	const void *owner, struct diag *d, const char *path, enum profile_mode mode);

struct profile_op {
	const char *key;
	int ranks;     /* that ran the same at once, sharing caches and memory */
	double median; /* seconds */
	double spread; /* (third - first quartile) / median */
	int runs;
	double flops, bytes;
};

struct profile_collective {
	const char *transport;
	enum collective kind;
	int places;
	double bytes; /* as in struct cost_collective */
	double median, spread;
	int runs;
};

/* seconds = alpha + bytes / beta; `error`: root mean square of the relative error of the fit. */
struct profile_link {
	const char *transport;
	enum collective kind;
	int places;
	double alpha, beta, error;
};

struct profile_field {
	const char *name;
	double value;
};

/* Many writes in one transaction, which is faster and all or nothing. False: reported. */
bool profile_begin(struct profile *p);
bool profile_commit(struct profile *p);

/* Write an entry in place of an older one. False: reported. */
bool profile_put_op(struct profile *p, const char *device, const struct profile_op *op);
bool profile_put_collective(
	struct profile *p, const char *device, const struct profile_collective *c);
bool profile_put_link(struct profile *p, const char *device, const struct profile_link *l);
bool profile_put_field(struct profile *p, const char *device, const struct profile_field *f);

/*
 * All entries of a device in ascending order of their keys; the array and its texts belong to
 * `owner`. Return how many, -1 after reporting a failure.
 */
int profile_ops(const void *owner, struct profile *p, const char *device, struct profile_op **list);
int profile_collectives(
	const void *owner, struct profile *p, const char *device, struct profile_collective **list);
int profile_links(
	const void *owner, struct profile *p, const char *device, struct profile_link **list);
int profile_fields(
	const void *owner, struct profile *p, const char *device, struct profile_field **list);

/* The names of all devices, ascending; return and owner as above. */
int profile_devices(const void *owner, struct profile *p, char ***list);

/*
 * Fits alpha and beta of seconds = alpha + bytes / beta to n measurements, by least squares on the
 * relative error, both at least 0. Deterministic. n = 0 gives 0 and an infinite beta. Returns the
 * root mean square of the relative error.
 */
double profile_fit(const double *bytes, const double *seconds, int n, double *alpha, double *beta);

#endif
