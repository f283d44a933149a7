/* What the files of -measure share. */
#ifndef PASSES_DRIVER_MEASURE_IMPL_H
#define PASSES_DRIVER_MEASURE_IMPL_H

#include "ir/ops/form.h"
#include "lower/job.h"
#include "lower/plan/plan.h"
#include "passes/analysis/profile/profile.h"
#include "passes/tools/dopt/measure.h"

/* A kernel to measure, or a known one that runs between such kernels. */
struct key {
	const char *text;
	const struct ir_op *op;
	bool known;
	bool runs;     /* a known kernel that is run because its results decide what others do */
	bool in_place; /* a result is placed on an operand, in at least one of its calls */
	struct op_work work;
	uint64_t scratch; /* bytes */
};

struct message {
	enum rt_coll_kind kind;
	int axis, places;
	int64_t bytes;
};

/*
 * On an idle machine the quartiles of a kernel's runs are a few percent apart. A kernel that varies
 * more than this is badly measured; if such kernels take more than this share of the time,
 * predictions from them miss the 5 % that predictions should keep.
 */
#define MEASURE_WIDE 0.2
#define MEASURE_WIDE_SHARE 0.1
/*
 * Kernels wait for nothing, so on an idle machine a rank always has its processor except for
 * interrupts, which take about 1 %. Below this share another process had it.
 */
#define MEASURE_PROCESSOR 0.95

struct measure {
	const struct measure_options *o;
	struct ir_module *m;
	struct diag *diag;
	struct lower_plan *plan;
	struct profile *profile; /* NULL: none */
	const char *backend;
	char *device;
	struct job *job;    /* its folder has the sources and the measuring program */
	const char *folder; /* of the job */
	int ranks;
	const struct profile_op *op; /* [nops] earlier entries of the profile */
	int nops;
	struct key *key;
	int nkeys, nmissing;
	int *key_of; /* [plan->nactions]: number of the key; -1: none */
	struct message *message;
	int nmessages;
	bool transfers; /* the link to host memory */
	int64_t *range; /* [plan->nvalues]: integers are drawn below it; 0: not drawn */
	uint64_t arena; /* of the program that is being generated */
	int kernels_stored, messages_stored;
	struct measure_quality quality; /* of the kernels stored */
	bool convolves;                 /* cuda: with the convolution library */
};

/* Writes the sources of the measuring program into s->folder; *nfiles receives the number of files
 * kernels_0.c ... False: reported. */
bool measure_write(struct measure *s, int *nfiles);

/* Runs it and stores its output, line by line. False: reported. */
bool measure_run(struct measure *s);

#endif
