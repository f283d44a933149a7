/* The command line of every program. The table in options.c is also what -help prints. */
#ifndef RUNTIME_OPTIONS_H
#define RUNTIME_OPTIONS_H

#include "runtime/comm/transport.h"
#include "runtime/status.h"
#include <stdint.h>

/* -save-every: one of the two, or neither. */
struct rt_every {
	int64_t steps, ns;
};

struct rt_options {
	int64_t ranks;            /* 0: the number of places of the mesh */
	struct rt_link link;      /* emulated, between ranks */
	struct rt_link host_link; /* emulated, between device and host memory, each way */
	bool bind;                /* each rank of this process to cores of its own */
	int64_t steps;            /* of this run */
	int64_t until;            /* steps of this run and those before it; -1: `steps` counts */
	int64_t start_step;       /* -1: what -load says, or 0 */
	uint64_t seed;
	bool seed_given;
	bool no_shuffle; /* keep the order of the data set's rows */
	const char *data, *save, *load, *dump, *trace, *metrics, *keep_step; /* NULL: not given */
	struct rt_every save_every;
	int64_t keep;
	bool resume; /* from the newest file of `save`, if there is one */
	bool stop_on_nan;
	int64_t report_every; /* 0: a tenth of the steps */
	bool no_eval;
	int64_t eval_every; /* 0: only at the end */
	bool subnormals;    /* compute with subnormal numbers instead of zeros */
	bool graph, tf32;   /* cuda */
	double timeout;     /* seconds that a rank may wait for others; 0: for ever */
	bool help;
};

/* Fills `o` with the defaults and then from argv; `o` points to its strings. Fails with
 * RT_EXIT_USAGE and a message that names the option. */
bool rt_options_parse(struct rt_options *o, int argc, char **argv, struct rt_status *st);

/* Longest name or value of an option that ranks compare. */
#define RT_OPTION_TEXT 256

/* The text of option number i on which ranks must agree: its name and its value, cut to
 * RT_OPTION_TEXT. The name is empty if ranks may differ; false after the last option. */
bool rt_options_fact(const struct rt_options *o, int i, char *name, char *text);

/* Prints the options and the exit statuses to stdout. `program` is the program's name. */
void rt_options_help(const char *program);

#endif
