/* What the files of -measure share. */
#ifndef PASSES_DRIVER_MEASURE_IMPL_H
#define PASSES_DRIVER_MEASURE_IMPL_H

#include "ir/form.h"
#include "lower/plan.h"
#include "passes/analysis/profile.h"
#include "passes/driver_measure.h"

struct key {
	char *text;
	const struct ir_op *op;
	struct op_work work;
};

struct message {
	enum collective kind;
	int places;
	int64_t bytes;
	double median, beside; /* alone; what it adds to computation beside it */
	bool fitted;           /* for the fit of alpha and beta */
};

struct measure {
	const struct measure_options *o;
	struct ir_module *m;
	struct diag *diag;
	struct lower_plan *plan;
	struct profile *profile;
	char *device, *folder;
	int ranks;
	struct key *key;
	int nkeys;
	struct message *message;
	int nmessages;
	uint64_t arena; /* of the program that is being written */
	struct profile_op *known;
	struct profile_collective *known_messages;
	struct profile_link *known_links;
	int nknown, nknown_messages, nknown_links;
};

/* The number of the key of that text, or -1. */
int measure_key(const struct measure *s, const char *text);

/*
 * Writes the program that measures: the kernels of all keys, if `kernels`, and the messages between
 * so many places. False: reported.
 */
bool measure_write(struct measure *s, FILE *out, int places, bool kernels);

#endif
