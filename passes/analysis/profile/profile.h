/*
 * The profile database: measurements, in one SQLite file that several processes may read and write
 * at once. An entry belongs to a device, the hardware by name, and to a backend, the code and the
 * libraries that ran on it:
 *
 *     op          key, concurrent ranks, way of measuring  ->  seconds, flops, bytes
 *     collective  transport, kind, places, nodes, bytes  ->  seconds
 *     link        transport, kind, places, nodes  ->  alpha and beta, fitted to the collectives
 *     field       transport or none, name  ->  a value of device.def: wait, step, slowdown ...
 *
 * The same entries as text, one a line, are in text.h; a file of that form is opened for reading
 * like a database.
 */
#ifndef PASSES_ANALYSIS_PROFILE_H
#define PASSES_ANALYSIS_PROFILE_H

#include "ir/base/diag.h"
#include "passes/analysis/collective/collective.h"
#include "ir/cluster/device.h"

#include <stdbool.h>
#include <stdint.h>

/* Incremented when a table changes; a file of another version is refused. */
#define PROFILE_SCHEMA 2

/* The transport for which profile_select selects the entries of all transports. */
#define PROFILE_ALL "*"

/* The transport of collectives that are those of the MPI library (-algorithm=mpi). */
#define PROFILE_LIBRARY "mpi-library"

struct profile;

enum profile_mode {
	PROFILE_READ,  /* the file must exist; a database, or text */
	PROFILE_WRITE, /* a database; created if it does not exist */
};

/*
 * Opens a file. NULL after reporting why: missing, not a database, another program's, another
 * version, text with errors. Closed when `owner` or the profile is freed.
 */
struct profile *profile_open(
	const void *owner, struct diag *d, const char *path, enum profile_mode mode);

/* How an op was measured. */
enum profile_buffers {
	PROFILE_STEP,   /* between its neighbours of the step, on the step's memory */
	PROFILE_ROTATE, /* alone, on memory larger than the caches */
	PROFILE_NBUFFERS
};

/* "step", "rotate". */
const char *profile_buffers_name(enum profile_buffers b);

struct profile_op {
	const char *key;
	int ranks;     /* concurrent ranks of the same op, sharing caches and memory; at least 1 */
	double median; /* seconds, above 0 */
	double spread; /* (third - first quartile) / median */
	int runs;      /* at least 1 */
	double flops, bytes;
	enum profile_buffers buffers;
	int64_t time; /* seconds since 1970; 0 in a put: now */
};

struct profile_collective {
	const char *transport; /* "threads", "mpi", "nccl" */
	enum rt_coll_kind kind;
	int places;
	double bytes; /* as in struct cost_collective */
	double median, spread;
	int runs;
	int nodes; /* machines over which a group spreads; 0 in a put: 1 */
	int64_t time;
};

/* seconds = alpha + bytes / beta; `error`: root mean square of the relative error of the fit. */
struct profile_link {
	const char *transport;
	enum rt_coll_kind kind;
	int places;
	double alpha, beta, error;
	int nodes; /* as above */
	int64_t time;
};

struct profile_field {
	const char *name;
	double value;          /* at least 0 */
	const char *transport; /* NULL or "": of the device */
	int64_t time;
};

/* What is wrong with the numbers of an entry, for a message; NULL: nothing. */
const char *profile_op_fault(const struct profile_op *op);
const char *profile_collective_fault(const struct profile_collective *c);
const char *profile_link_fault(const struct profile_link *l);
const char *profile_field_fault(const struct profile_field *f);

/*
 * Which entries are read and written from now on. `backend` NULL, as at first: those of the backend
 * of this build of dopt; if the device has none, those that were measured last, with a warning;
 * writing uses the host backend of this build. `transport` NULL: "threads" where there are entries
 * of it, else the first in the alphabet.
 */
void profile_select(struct profile *p, const char *backend, const char *transport);

/* The backend of this build: "host 0.1.0, code 1a2b3c4d, ...". `cuda`: that of the CUDA target. */
const char *profile_backend(bool cuda);

/* The name of this machine in a profile: its processor and how many it has; talloc text. */
char *profile_this_device(const void *owner);

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
 * The selected entries of a device in ascending order of their keys (op: key, ranks, buffers); the
 * array and its texts belong to `owner`. Return how many, -1 after reporting a failure: the file is
 * damaged, or an entry has an impossible value.
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

/* The backends of a device, ascending; return and owner as above. */
int profile_backends(const void *owner, struct profile *p, const char *device, char ***list);

/*
 * One entry for two independent measurements of a kernel: that of the later one, except for the
 * mean of the medians, each weighted by its runs, and the spread: the larger one, or how far the
 * medians are apart.
 */
struct profile_op profile_op_mean(const struct profile_op *a, const struct profile_op *b);

/*
 * Seconds of a kernel for choosing the fastest of many: the minimum of many noisy numbers is biased
 * low. It is the median; if runs were so few or so far apart that its 95 % confidence interval
 * exceeds PROFILE_PRECISION, the excess is added.
 */
#define PROFILE_PRECISION 0.02 /* where measuring stops: runtime/measure/impl.h */
double profile_op_careful(const struct profile_op *op);

/* Is it a kernel of several ops? */
bool profile_op_is_fuse(const struct profile_op *op);

/*
 * The op of that key with this number of ranks, or else the nearest number, by binary search in a
 * list as above; prefers one measured in the step to a rotating one. NULL: none.
 */
const struct profile_op *profile_find_op(
	const struct profile_op *list, int n, const char *key, int64_t ranks);

/* The collective of that kind, places and bytes in the list of one transport, on one node or else
 * on the fewest; NULL: none. */
const struct profile_collective *profile_find_collective(const struct profile_collective *list,
	int n, enum rt_coll_kind kind, int places, double bytes);

#endif
