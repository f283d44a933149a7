/* What the files of the op profiler share.
 *
 *	measure.c           the program around it: options, the ranks, warm steps
 *	kernels.c   kernels, in windows of the step or alone
 *	fill.c      the values that kernels read
 *	messages.c  collectives, and how they slow down computation
 *	transfers.c the link to host memory
 *	result.c    medians, the rule by which measuring stops, the lines
 *	cuda/measure.c      the clock of a CUDA device
 */
#ifndef RUNTIME_MEASURE_IMPL_H
#define RUNTIME_MEASURE_IMPL_H

#include "runtime/measure/measure.h"
#include "runtime/rank.h"

#include <stdio.h>

/* All limits of the profiler. A median is accepted once the half-width of its 95 % confidence
 * interval is below this share of it: a plan is judged by sums of many times, whose errors
 * cancel. */
#define MEASURE_PRECISION 0.02
/* Least and most samples of a kernel; below 24 the interval means little, and if 1000 do not
 * suffice, the machine is noisy and more will not help. */
#define MEASURE_RUNS_MIN 24
#define MEASURE_RUNS_MAX 1000
/* A window, or a single kernel, stops after this time, but not before a few rounds: kernels that
 * take seconds vary little. */
#define MEASURE_KERNEL_NS INT64_C(2000000000)
#define MEASURE_ALONE_NS INT64_C(1000000000)
#define MEASURE_ROUNDS_LEAST 5
/* Bytes of a cache line, on all processors that we know. */
#define MEASURE_LINE 64
/* Rounds between two checks of the samples: a check takes microseconds and disturbs the caches. */
#define MEASURE_CHUNK 8
#define MEASURE_CHUNK_NS INT64_C(100000000)
/* Values are reset after this many rounds, before updates can let them diverge. */
#define MEASURE_FILL_EVERY 16
/* The size of the data that a window touches, in last-level caches, and that rotated copies have
 * together, in caches that a core has to itself: data that is read again has been evicted by then,
 * as in a step that is larger than the caches. Copies of several last-level caches would take
 * minutes to fill, and on a shared machine our share of that cache is unknown. */
#define MEASURE_CACHES 4
/* The messages of a size stop after this many rounds or this time: they take as long as their
 * slowest place, and vary more than kernels. */
#define MEASURE_MESSAGE_RUNS_MIN 40
#define MEASURE_MESSAGE_RUNS_MAX 200
#define MEASURE_MESSAGE_NS INT64_C(400000000)
/* Warm steps stop running kernels after this time: one round of a large model is warm enough. */
#define MEASURE_WARM_NS INT64_C(500000000)
/* Bytes of a transfer that measures latency, and of one that measures bandwidth: part of a large
 * activation, larger than the caches of a core. */
#define MEASURE_TRANSFER_SMALL 4096
#define MEASURE_TRANSFER_LARGE (16 << 20)

struct measurer;

/* The clock of a kind of device, and other functions that depend on the device. */
struct measure_device {
	/* rt_main with that device. */
	int (*main)(const struct rt_program *prog, int argc, char **argv);
	void (*step)(struct rt_ctx *ctx); /* measure_step with that device */
	const struct rt_program *(*program)(const struct rt_ctx *ctx); /* as passed to rt_main */
	/* Begin and end of call number i of a round; then the nanoseconds of the first n calls. */
	void (*begin)(struct rt_ctx *ctx, int64_t *ns, int i);
	void (*end)(struct rt_ctx *ctx, int64_t *ns, int i);
	void (*read)(struct rt_ctx *ctx, int64_t *ns, int n);
	void (*name)(char *name, size_t size);
	int64_t (*cache)(void);     /* bytes of the last-level cache */
	int64_t (*own_cache)(void); /* bytes of the last cache that a core has to itself */
	const char *threads;        /* name of the transport between ranks of one process */
	const char *mpi;            /* name of the transport between processes */
	bool is_host;
	/* Times alternatives that a library has for calls of the kernels; NULL: none. */
	void (*alternatives)(struct measurer *w);
};

struct measuring {
	struct rt_program prog; /* first: a step finds the other fields from here */
	const struct rt_measure *m;
	const struct measure_device *device;
	const void *target; /* the device's */
	struct kept **kept; /* [nranks] */
	FILE *out;          /* on rank 0 */
	int64_t cache;      /* bytes */
	int64_t turn;       /* bytes that rotated copies have together, at least */
	int64_t kernels;    /* bytes of the arena for kernels */
	int32_t meetings;   /* collectives that only synchronize ranks, one per axis */
	struct rt_buf *bufs;
	struct rt_coll *colls; /* those that synchronize, then those to measure */
	int64_t room;          /* of each of the two buffers of messages, after the kernels */
	struct rt_transfer transfers[4]; /* after those: small and large to the host, and back */
};

/* The values that tensors are filled with, piece by piece. */
enum { MEASURE_PATTERN = 4096 };
struct measure_pattern {
	double normal[MEASURE_PATTERN]; /* n(0, 1): too many for branch predictors to learn */
	uint64_t made[RT_DTYPES][MEASURE_PATTERN]; /* of MEASURE_SPREAD, as each type */
	uint64_t scaled[MEASURE_PATTERN];          /* of any type, for each tensor */
};
/* Standard deviation of values that no timed kernel makes: activations between norms are about 1,
 * gradients and operands of products with weights are smaller. Products of two such numbers stay
 * far from overflow through all layers of a step. */
#define MEASURE_SPREAD 0.1

/* One rank, while it measures. */
struct measurer {
	struct measuring *s;
	struct rt_ctx *ctx;
	struct rt_world *world;
	int64_t empty_ns;        /* time of an empty measurement */
	int64_t *round;          /* [ncalls]: ns of the current round */
	int64_t took_ns, ran_ns; /* of all rounds; the part with a processor */
	int64_t *all;            /* [nranks * MEASURE_RUNS_MAX]: gathered samples */
	struct measure_pattern *pattern;
	bool failed; /* without memory */
};

/* Sorts n > 0 values and sets their median and spread; is the median known well enough? */
struct measure_result {
	double median, spread; /* ns; interquartile range over the median */
	int64_t runs;
	bool settled;
};
struct measure_result measure_median(int64_t *v, int64_t n);

/* Gathers n values from every rank. */
int64_t *measure_gather(struct measurer *w, const int64_t *mine, int64_t n);
int64_t measure_most(struct measurer *w, int64_t mine);

/* The time limit: one of those above, or the one that the program was asked for if that is
 * shorter. */
int64_t measure_limit(const struct measurer *w, int64_t ns);

/* Rank 0 writes a line: an op, a collective, a field; at once, and if it cannot, all ranks end. */
void measure_write_op(struct measurer *w, const struct rt_measure_kernel *k, int ranks,
	const struct measure_result *r);
void measure_write_coll(struct measurer *w, const struct rt_measure_coll *c, int places, int nodes,
	const struct measure_result *r);
void measure_write_field(struct measurer *w, const char *transport, const char *name, double value);
/* Writes a comment that says what is measured next. */
void measure_write_comment(struct measurer *w, const char *what);
void measure_write_device(struct measurer *w);

/* The name of the transport of this run, in a profile. */
const char *measure_transport(const struct measurer *w);

bool measure_make_pattern(struct measurer *w);

/* Fills a tensor in the arena: numbers of mean 0, or integers of its range; integers without a
 * range stay as they are. */
void measure_fill(struct measurer *w, int64_t offset, const struct rt_measure_tensor *t);

/* The same for the params and inputs of the step. */
void measure_fill_step(struct measurer *w);

/* Begin and end of rounds of kernels: record how long they take, and how much of it they have a
 * processor. */
void measure_begin_rounds(struct measurer *w);
void measure_end_rounds(struct measurer *w);

/* Writes a comment: the share of the rounds in which a rank had a processor, on the rank that had
 * the least. */
void measure_write_processor(struct measurer *w);

/* Runs calls [first, first + n) of the step, wrapping around at its end, with times in w->round[0
 * .. n). */
void measure_round(struct measurer *w, int first, int n);

void measure_kernels_in_step(struct measurer *w);
void measure_kernels_alone(struct measurer *w);
/* Bytes of the arena that only measuring needs. */
int64_t measure_alone_bytes(const struct measuring *s);

void measure_messages(struct measurer *w);

/* Measures latency and bandwidth between a device and host memory. */
void measure_transfers(struct measurer *w);
void measure_make_transfers(struct measuring *s);

/* Synchronizes all ranks, so that what follows begins at the same time. */
void measure_meet(struct measurer *w);

/* One step of the program, on one rank. */
void measure_step(const struct measure_device *d, struct rt_ctx *ctx);

/* rt_measure_main for a device, whose main function finds `target` in struct measuring. */
int measure_main(const struct rt_measure *m, const struct measure_device *device,
	const void *target, int argc, char **argv);

#endif
