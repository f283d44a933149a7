/* What the files of -measure share. */
#ifndef PASSES_DRIVER_MEASURE_IMPL_H
#define PASSES_DRIVER_MEASURE_IMPL_H

#include "ir/ops/form.h"
#include "lower/job.h"
#include "lower/plan/plan.h"
#include "passes/analysis/profile/profile.h"
#include "passes/tools/dopt/measure.h"

/* A kernel to measure, or one that is known and stands between such. */
struct key {
	const char *text;
	const struct ir_op *op;
	bool known;
	bool runs;     /* one that is known: because what it makes decides what others do */
	bool in_place; /* a result lies on an operand, in one of its calls at least */
	struct op_work work;
	uint64_t scratch; /* bytes */
};

struct message {
	enum rt_coll_kind kind;
	int axis, places;
	int64_t bytes;
};

/*
 * On an idle machine the quartiles of a kernel's runs are a few percent apart. One that varies more
 * than this is measured badly; where such kernels take more than that share of the time, what is
 * predicted from them is off by more than the 5 % that predictions are to keep.
 */
#define MEASURE_WIDE 0.2
#define MEASURE_WIDE_SHARE 0.1
/*
 * Kernels do not wait for anything, so on an idle machine a rank has its processor all the time but
 * for interrupts, which take about 1 %. Below this share another process had it.
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
	struct job *job;    /* its folder has the sources and what measures */
	const char *folder; /* of the job */
	int ranks;
	const struct profile_op *op; /* [nops] what the profile had */
	int nops;
	struct key *key;
	int nkeys, nmissing;
	int *key_of; /* [plan->nactions]: number of the key; -1: none */
	struct message *message;
	int nmessages;
	bool transfers; /* the link to host memory */
	int64_t *range; /* [plan->nvalues]: integers are drawn below it; 0: they are not */
	uint64_t arena; /* of the program that is being written */
	int kernels_stored, messages_stored;
	struct measure_quality quality; /* of the kernels stored */
	bool convolves;                 /* cuda: with the library */
};

/* Writes the sources of the program that measures into s->folder; *nfiles receives the number of
 * files kernels_0.c ... False: reported. */
bool measure_write(struct measure *s, int *nfiles);

/* Compiles and links LOWER_PROGRAM from them. False: reported. */
bool measure_build(struct measure *s, int nfiles);

/* Runs it and stores what it writes, line by line. False: reported. */
bool measure_run(struct measure *s);

#endif
