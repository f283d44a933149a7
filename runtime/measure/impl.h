/* What the files of the op profiler share.
 *
 *	measure.c           the program around it: options, the ranks, warm steps
 *	kernels.c   kernels, in windows of the step or alone
 *	fill.c      the values that kernels read
 *	messages.c  collectives, and what they do to computation
 *	transfers.c the link to host memory
 *	result.c    medians, the rule by which measuring stops, the lines
 *	cuda/measure.c      the clock of a CUDA device
 */
#ifndef RUNTIME_MEASURE_IMPL_H
#define RUNTIME_MEASURE_IMPL_H

#include "runtime/measure/measure.h"
#include "runtime/rank.h"

#include <stdio.h>

/* Limits, all of them.
 * A median is good once the half-width of its confidence interval (95 %) is below this share of it:
 * a plan is judged by sums of many times, whose errors cancel. */
#define MEASURE_PRECISION 0.02
/* Samples of a kernel at least, and at most; below 24 the interval says little, and where 1000 do
 * not settle it the machine is noisy and more will not either. */
#define MEASURE_RUNS_MIN 24
#define MEASURE_RUNS_MAX 1000
/* A window, or a kernel alone, stops after so long, but not before a few rounds: kernels of seconds
 * vary little. */
#define MEASURE_KERNEL_NS INT64_C(2000000000)
#define MEASURE_ALONE_NS INT64_C(1000000000)
#define MEASURE_ROUNDS_LEAST 5
/* Bytes of a line of the cache, of all processors that we know. */
#define MEASURE_LINE 64
/* Rounds between two looks at the samples: a look costs microseconds and disturbs the caches. */
#define MEASURE_CHUNK 8
#define MEASURE_CHUNK_NS INT64_C(100000000)
/* Values are set anew after so many rounds, before updates can let them run off. */
#define MEASURE_FILL_EVERY 16
/* What a window touches, in last caches, and what copies used in turn have together, in caches that a
 * core has to itself: what is read again has been thrown out by then, as it is in a step that is
 * larger than the caches. Copies of several last caches take minutes to fill, and where a machine
 * is shared nobody knows how much of that cache is ours. */
#define MEASURE_CACHES 4
/* The messages of a size stop after so many rounds or so long: they take as long as their slowest
 * place, and vary more than kernels. */
#define MEASURE_MESSAGE_RUNS_MIN 40
#define MEASURE_MESSAGE_RUNS_MAX 200
#define MEASURE_MESSAGE_NS INT64_C(400000000)
/* Warm steps run no kernels any more after so long: one round of a large model is warm enough. */
#define MEASURE_WARM_NS INT64_C(500000000)
/* Bytes of a transfer that is latency, and of one that is bandwidth: some of a large activation,
 * more than caches of a core have. */
#define MEASURE_TRANSFER_SMALL 4096
#define MEASURE_TRANSFER_LARGE (16 << 20)

/* The clock of a kind of device, and what else depends on it. */
struct measure_device {
	/* rt_main with that device. */
	int (*main)(const struct rt_program *prog, int argc, char **argv);
	void (*step)(struct rt_ctx *ctx); /* measure_step with that device */
	const struct rt_program *(*program)(const struct rt_ctx *ctx); /* as rt_main was given it */
	/* Around call number i of a round; then the nanoseconds of the first n calls. */
	void (*begin)(struct rt_ctx *ctx, int64_t *ns, int i);
	void (*end)(struct rt_ctx *ctx, int64_t *ns, int i);
	void (*read)(struct rt_ctx *ctx, int64_t *ns, int n);
	void (*name)(char *name, size_t size);
	int64_t (*cache)(void);     /* bytes of the last one */
	int64_t (*own_cache)(void); /* of the last that a core has to itself */
	const char *threads;        /* the transport of ranks in one process */
	const char *mpi;            /* of processes */
	bool is_host;
};

struct measuring {
	struct rt_program prog; /* first: a step finds the rest from here */
	const struct rt_measure *m;
	const struct measure_device *device;
	const void *target; /* the device's */
	struct kept **kept; /* [nranks] */
	FILE *out;          /* of rank 0 */
	int64_t cache;      /* bytes */
	int64_t turn;       /* bytes that copies used in turn have together, at least */
	int64_t kernels;    /* bytes of the arena that they have */
	int32_t meetings;   /* collectives that only let ranks meet, one an axis */
	struct rt_buf *bufs;
	struct rt_coll *colls; /* the meetings, then those to measure */
	int64_t room;          /* of each of the two buffers of messages, behind the kernels */
	struct rt_transfer transfers[4]; /* after those: small and large to the host, and back */
};

/* What tensors are filled with, piece by piece. */
enum { MEASURE_PATTERN = 4096 };
struct measure_pattern {
	double normal[MEASURE_PATTERN]; /* n(0, 1): no processor knows so many by heart */
	uint64_t made[RT_DTYPES][MEASURE_PATTERN]; /* of MEASURE_SPREAD, as each type */
	uint64_t scaled[MEASURE_PATTERN];          /* of any type, anew for each tensor or piece */
};
/* Standard deviation of what nobody makes: activations between norms are of about 1, gradients and
 * what is multiplied by weights are smaller. Products of two such numbers stay far from overflow
 * through all layers of a step. */
#define MEASURE_SPREAD 0.1

/* Of one rank, while it measures. */
struct measurer {
	struct measuring *s;
	struct rt_ctx *ctx;
	struct rt_world *world;
	int64_t empty_ns;        /* what timing nothing takes */
	int64_t *round;          /* [ncalls]: ns of the present round */
	int64_t took_ns, ran_ns; /* of all rounds; of that with a processor */
	int64_t *all;            /* [nranks * MEASURE_RUNS_MAX]: gathered samples */
	struct measure_pattern *pattern;
	bool failed; /* without memory */
};

/* Median and spread of n > 0 values, which it sorts; is the median known well enough? */
struct measure_result {
	double median, spread; /* ns; distance of the quartiles over the median */
	int64_t runs;
	bool settled;
};
struct measure_result measure_median(int64_t *v, int64_t n);

/* Everybody's n values, of which each rank has as many. */
int64_t *measure_gather(struct measurer *w, const int64_t *mine, int64_t n);
int64_t measure_most(struct measurer *w, int64_t mine);

/* The time limit, one of those above or what the program was asked for, if that is shorter. */
int64_t measure_limit(const struct measurer *w, int64_t ns);

/* Rank 0 writes a line: an op, a collective, a field; at once, and if it cannot, all end. */
void measure_write_op(struct measurer *w, const struct rt_measure_kernel *k, int ranks,
	const struct measure_result *r);
void measure_write_coll(struct measurer *w, const struct rt_measure_coll *c, int places, int nodes,
	const struct measure_result *r);
void measure_write_field(struct measurer *w, const char *transport, const char *name, double value);
/* What is measured next, as a comment. */
void measure_write_comment(struct measurer *w, const char *what);
void measure_write_device(struct measurer *w);

/* The transport of this run, in a profile. */
const char *measure_transport(const struct measurer *w);

bool measure_make_pattern(struct measurer *w);

/* Values for a tensor in the arena: numbers of mean 0, or integers of its range; none for integers
 * without a range, which stay as they are. */
void measure_fill(struct measurer *w, int64_t offset, const struct rt_measure_tensor *t);

/* The same for the params and inputs of the step. */
void measure_fill_step(struct measurer *w);

/* Rounds of kernels lie between these: what they take, and how much of it a processor runs them. */
void measure_begin_rounds(struct measurer *w);
void measure_end_rounds(struct measurer *w);

/* Says, as a comment, for how much of the rounds a rank had a processor: the one that had the least. */
void measure_write_processor(struct measurer *w);

/* Calls [first, first + n) of the step, counted around its end, into w->round[0 .. n). */
void measure_round(struct measurer *w, int first, int n);

void measure_kernels_in_step(struct measurer *w);
void measure_kernels_alone(struct measurer *w);
/* Bytes of the arena that measuring alone takes. */
int64_t measure_alone_bytes(const struct measuring *s);

void measure_messages(struct measurer *w);

/* Latency and bandwidth between a device and host memory. */
void measure_transfers(struct measurer *w);
void measure_make_transfers(struct measuring *s);

/* All ranks meet, so that what follows begins at the same time. */
void measure_meet(struct measurer *w);

/* One step of the program, at one rank. */
void measure_step(const struct measure_device *d, struct rt_ctx *ctx);

/* rt_measure_main for a device, whose main finds `target` in struct measuring. */
int measure_main(const struct rt_measure *m, const struct measure_device *device,
	const void *target, int argc, char **argv);

#endif
