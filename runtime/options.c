/* Options: one table row each; see options.h. `-name value` and `-name=value` are the same,
 * and a second dash is allowed. */
#include "runtime/options.h"
#include "runtime/data/position.h"
#include <errno.h>
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Most ranks as threads of one process: more is a typing error. */
#define MAX_RANKS 4096
#define MAX_STEPS RT_MAX_STEPS
/* Default number of steps: enough to see a loss fall. */
#define DEFAULT_STEPS 100
/* Default seconds that a rank waits for others: longer than ranks are apart in real runs, where a
 * slow file system or a checkpoint takes minutes, and short compared with a night of idle devices.
 * It is also the limit of other frameworks for a collective. */
#define DEFAULT_TIMEOUT 600

/* Files of -save-every that are kept: the newest, and the previous one in case training had
 * diverged by then. A crash during a save needs no more: the new file gets its name only when it is
 * complete. */
#define DEFAULT_KEEP 2
/* With more files, a folder is slow to read. */
#define MAX_KEEP 1000000
/* Longest time between saves: a year. */
#define MAX_SAVE_SECONDS (366 * 86400.0)

enum kind { FLAG, COUNT, SEED, TEXT, LINK, EVERY, DURATION };

struct row {
	const char *name;
	enum kind kind;
	size_t offset; /* in struct rt_options */
	int64_t min, max;
	const char *value; /* name of the value in the help */
	const char *help;
};

#define AT(field) offsetof(struct rt_options, field)

static const struct row rows[] = {
	{"ranks", COUNT, AT(ranks), 1, MAX_RANKS, "N",
		"number of devices, each a thread of this process (under mpirun: its processes)"},
	{"link", LINK, AT(link), 0, 0, "BW,LAT",
		"emulate links: collectives take as long as rings over them, as in 1GB/s,20us"},
	{"hostlink", LINK, AT(host_link), 0, 0, "BW,LAT",
		"emulate the link to host memory: copies take that long, each way, as in 25GB/s,10us"},
	{"bind", FLAG, AT(bind), 0, 0, NULL,
		"bind each rank to its own cores (mpirun does this itself: --bind-to core)"},
	{"steps", COUNT, AT(steps), 0, MAX_STEPS, "N",
		"training steps of this run, in addition to those before -load (100)"},
	{"until", COUNT, AT(until), 0, MAX_STEPS, "N",
		"train up to step N, including the steps before -load; replaces -steps"},
	{"seed", SEED, AT(seed), 0, 0, "N",
		"seed for initial values and the order of the rows (that of -load, or 0)"},
	{"data", TEXT, AT(data), 0, 0, "FILE",
		"safetensors file with tensors train.NAME and test.NAME, or 'set-*.safetensors'"},
	{"no-shuffle", FLAG, AT(no_shuffle), 0, 0, NULL,
		"read the rows of train.NAME in their order instead of another order each epoch"},
	{"save", TEXT, AT(save), 0, 0, "FILE|DIR/",
		"write parameters, states and step at the end, and after SIGTERM or SIGINT, which end "
		"the run; DIR/: a file for each rank"},
	{"save-every", EVERY, AT(save_every), 1, MAX_STEPS, "N|TIME",
		"also write FILE.step-N every N steps, or every 30s, 10min, 2h; SIGUSR1: now"},
	{"keep", COUNT, AT(keep), 1, MAX_KEEP, "K",
		"number of files of -save-every to keep, the newest (2)"},
	{"load", TEXT, AT(load), 0, 0, "FILE|DIR",
		"resume from a file or folder of -save: its step, seed and position in the data"},
	{"resume", FLAG, AT(resume), 0, 0, NULL,
		"resume from the newest file of -save and -save-every; without one as without -resume"},
	{"start-step", COUNT, AT(start_step), 0, MAX_STEPS, "N",
		"number of steps before this run, for step numbers and the position in the data"},
	{"stop-on-nan", FLAG, AT(stop_on_nan), 0, 0, NULL,
		"end the run without further saves when a scalar output is NaN or infinite"},
	{"keep-step", TEXT, AT(keep_step), 0, 0, "FILE",
		"-stop-on-nan, and write that step to FILE: its inputs, and params and states before it"},
	{"dump", TEXT, AT(dump), 0, 0, "FILE", "write the outputs of the last step"},
	{"trace", TEXT, AT(trace), 0, 0, "DIR", "write DIR/rank-N.json, a Chrome trace per rank"},
	{"report-every", COUNT, AT(report_every), 1, MAX_STEPS, "N",
		"print outputs every N steps (a tenth of the steps)"},
	{"metrics", TEXT, AT(metrics), 0, 0, "FILE",
		"append what is printed, the time of a step and the memory to FILE, as lines of JSON"},
	{"eval-every", COUNT, AT(eval_every), 1, MAX_STEPS, "N",
		"evaluate on test.NAME every N steps, too (only at the end)"},
	{"no-eval", FLAG, AT(no_eval), 0, 0, NULL, "skip the evaluation on test.NAME"},
	{"timeout", DURATION, AT(timeout), 0, 0, "TIME",
		"end the run if a rank waits this long for others: 30s, 10min; 0: never (10min)"},
	{"subnormals", FLAG, AT(subnormals), 0, 0, NULL,
		"hosts: compute with numbers below 1.2e-38 (slow) instead of taking them as 0"},
	{"graph", FLAG, AT(graph), 0, 0, NULL,
		"cuda: run the step as one CUDA graph (one rank, or mpirun)"},
	{"tf32", FLAG, AT(tf32), 0, 0, NULL,
		"cuda: matrix products in TF32, which rounds operands to 10 mantissa bits"},
	{"help", FLAG, AT(help), 0, 0, NULL, "print this help"},
};

/* How far the ranks of a run must agree on an option. */
enum alike {
	ALIKE, /* the same value on all of them */
	GIVEN, /* on all or on none, each with its own value */
	OWN    /* each rank may differ */
};

/* Options on which ranks need not agree fully; on all others they must. */
static const struct {
	size_t offset; /* the option: its offset in struct rt_options */
	enum alike alike;
	const char *why;
} exceptions[] = {
	{AT(ranks), OWN, "given or not, it is checked against the mesh, on which they agree"},
	{AT(data), GIVEN, "machines may have copies: the contents are compared"},
	{AT(load), GIVEN, "as -data"},
	{AT(metrics), GIVEN, "rank 0 writes it, perhaps on a machine of its own"},
	{AT(trace), GIVEN, "each rank writes a file of its own, perhaps to a disk of its machine"},
};

static enum alike
alike_of(const struct row *row)
{
	for (size_t i = 0; i < sizeof exceptions / sizeof *exceptions; i++)
		if (exceptions[i].offset == row->offset)
			return exceptions[i].alike;
	return ALIKE;
}

struct unit {
	const char *name;
	double factor;
};

static const struct unit bandwidth_units[] = {
	{"B/s", 1}, {"KB/s", 1e3}, {"MB/s", 1e6}, {"GB/s", 1e9}, {"TB/s", 1e12}, {NULL, 0}};
static const struct unit time_units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1},
	{"min", 60}, {"h", 3600}, {"d", 86400}, {NULL, 0}};

/* Reads a number with one of `units` that ends at `end`; is it valid? */
static bool
parse_unit(const char *text, const char *end, const struct unit *units, double *out)
{
	char *rest;
	const double x = strtod(text, &rest);
	if (rest == text || !isfinite(x) || x < 0 || (*text != '.' && (*text < '0' || *text > '9')))
		return false;
	for (const struct unit *u = units; u->name; u++)
		if (strlen(u->name) == (size_t)(end - rest) &&
			!strncmp(u->name, rest, strlen(u->name))) {
			*out = x * u->factor;
			return true;
		}
	return false;
}

static bool
parse_link(const struct row *row, struct rt_link *out, const char *text, struct rt_status *st)
{
	const char *comma = strchr(text, ',');
	if (comma && parse_unit(text, comma, bandwidth_units, &out->bytes_per_second) &&
		out->bytes_per_second > 0 &&
		parse_unit(comma + 1, text + strlen(text), time_units, &out->latency))
		return true;
	return rt_fail(st, RT_EXIT_USAGE,
		"-%s: expected a bandwidth and a latency such as '1GB/s,20us', found '%s'",
		row->name, text);
}

static bool
parse_duration(const struct row *row, double *out, const char *text, struct rt_status *st)
{
	if (!strcmp(text, "0")) {
		*out = 0;
		return true;
	}
	if (parse_unit(text, text + strlen(text), time_units, out))
		return true;
	return rt_fail(st, RT_EXIT_USAGE,
		"-%s: expected a time such as '30s' or '10min', or 0, found '%s'", row->name, text);
}

static bool
parse_count(const struct row *row, int64_t *out, const char *text, struct rt_status *st)
{
	char *end;
	errno = 0;
	const long long x = strtoll(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno || x < row->min || x > row->max)
		return rt_fail(st, RT_EXIT_USAGE,
			"-%s: expected a whole number from %lld to %lld, found '%s'", row->name,
			(long long)row->min, (long long)row->max, text);
	*out = x;
	return true;
}

static bool
parse_seed(struct rt_options *o, const char *text, struct rt_status *st)
{
	char *end;
	errno = 0;
	const unsigned long long x = strtoull(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || errno)
		return rt_fail(st, RT_EXIT_USAGE,
			"-seed: expected a whole number below 2^64, found '%s'", text);
	o->seed = x;
	o->seed_given = true;
	return true;
}

/* A number of steps or a time. */
static bool
parse_every(const struct row *row, struct rt_every *out, const char *text, struct rt_status *st)
{
	double seconds;
	*out = (struct rt_every){0, 0};
	if (*text && strspn(text, "0123456789") == strlen(text))
		return parse_count(row, &out->steps, text, st);
	if (parse_unit(text, text + strlen(text), time_units, &seconds) && seconds >= 1e-3 &&
		seconds <= MAX_SAVE_SECONDS) {
		out->ns = (int64_t)(seconds * 1e9);
		return true;
	}
	return rt_fail(st, RT_EXIT_USAGE,
		"-%s: expected a number of steps or a time from 1ms to "
		"366d such as '10min', found '%s'",
		row->name, text);
}

static bool
parse_value(const struct row *row, struct rt_options *o, const char *text, struct rt_status *st)
{
	void *field = (char *)o + row->offset;
	switch (row->kind) {
	case FLAG: *(bool *)field = true; return true;
	case COUNT: return parse_count(row, field, text, st);
	case SEED: return parse_seed(o, text, st);
	case LINK: return parse_link(row, field, text, st);
	case DURATION: return parse_duration(row, field, text, st);
	case EVERY: return parse_every(row, field, text, st);
	case TEXT: break;
	}
	if (!*text)
		return rt_fail(st, RT_EXIT_USAGE, "-%s: expected %s, found nothing", row->name,
			row->value);
	*(const char **)field = text;
	return true;
}

static const struct row *
find_row(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (strlen(rows[i].name) == length && !strncmp(rows[i].name, name, length))
			return &rows[i];
	return NULL;
}

/* Options that require another one. */
static bool
check_together(const struct rt_options *o, struct rt_status *st)
{
	if ((o->save_every.steps || o->save_every.ns) && !o->save)
		return rt_fail(st, RT_EXIT_USAGE,
			"-save-every: expected -save FILE, which names the files, found none");
	if (o->resume && !o->save)
		return rt_fail(st, RT_EXIT_USAGE,
			"-resume: expected -save FILE, whose newest file it loads, found none");
	return true;
}

bool
rt_options_parse(struct rt_options *o, int argc, char **argv, struct rt_status *st)
{
	*o = (struct rt_options){.steps = DEFAULT_STEPS,
		.until = -1,
		.start_step = -1,
		.keep = DEFAULT_KEEP,
		.timeout = DEFAULT_TIMEOUT};
	for (int i = 1; i < argc; i++) {
		const char *name = argv[i];
		if (*name != '-')
			return rt_fail(
				st, RT_EXIT_USAGE, "'%s': expected an option; see -help", name);
		name += name[1] == '-' ? 2 : 1;
		const size_t length = strcspn(name, "=");
		const struct row *row = find_row(name, length);
		if (!row)
			return rt_fail(st, RT_EXIT_USAGE, "-%.*s: no such option; see -help",
				(int)length, name);
		const char *value = name[length] ? name + length + 1 : NULL;
		if (row->kind == FLAG && value)
			return rt_fail(st, RT_EXIT_USAGE, "-%s: takes no value, found '%s'",
				row->name, value);
		if (row->kind != FLAG && !value && ++i < argc)
			value = argv[i];
		if (row->kind != FLAG && !value)
			return rt_fail(st, RT_EXIT_USAGE,
				"-%s: expected %s after it, found nothing", row->name, row->value);
		if (!parse_value(row, o, value, st))
			return false;
	}
	return check_together(o, st);
}

/* Was the option given? Those with a default of their own always count as given. */
static bool
is_given(const struct row *row, const void *field)
{
	switch (row->kind) {
	case FLAG: return *(const bool *)field;
	case COUNT: return *(const int64_t *)field || !row->min;
	case TEXT: return *(const char *const *)field != NULL;
	case LINK: return ((const struct rt_link *)field)->bytes_per_second > 0;
	case EVERY:
		return ((const struct rt_every *)field)->steps ||
		       ((const struct rt_every *)field)->ns;
	case SEED:
	case DURATION: break;
	}
	return true;
}

static void
put_every(const struct rt_every *every, char *text)
{
	if (every->steps)
		snprintf(text, RT_OPTION_TEXT, "%lld steps", (long long)every->steps);
	else
		snprintf(text, RT_OPTION_TEXT, "%.9g s", (double)every->ns * 1e-9);
}

static void
put_link(const struct rt_link *link, char *text)
{
	snprintf(text, RT_OPTION_TEXT, "%.9g B/s,%.9g s", link->bytes_per_second, link->latency);
}

static void
put_value(const struct row *row, const void *field, char *text)
{
	const size_t n = RT_OPTION_TEXT;
	switch (row->kind) {
	case FLAG: snprintf(text, n, "given"); break;
	case COUNT: snprintf(text, n, "%lld", (long long)*(const int64_t *)field); break;
	case SEED: snprintf(text, n, "%llu", (unsigned long long)*(const uint64_t *)field); break;
	case EVERY: put_every(field, text); break;
	case TEXT: snprintf(text, n, "%s", *(const char *const *)field); break;
	case LINK: put_link(field, text); break;
	case DURATION: snprintf(text, n, "%.9g s", *(const double *)field); break;
	}
}

bool
rt_options_fact(const struct rt_options *o, int i, char *name, char *text)
{
	if ((size_t)i >= sizeof rows / sizeof *rows)
		return false;
	const struct row *row = &rows[i];
	const void *field = (const char *)o + row->offset;
	*name = 0;
	if (alike_of(row) == OWN)
		return true;
	snprintf(name, RT_OPTION_TEXT, "-%s", row->name);
	if (!is_given(row, field) || alike_of(row) == GIVEN)
		snprintf(text, RT_OPTION_TEXT, is_given(row, field) ? "given" : "not given");
	else
		put_value(row, field, text);
	return true;
}

void
rt_options_help(const char *program)
{
	printf("usage: %s [options]\n", program);
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		const struct row *r = &rows[i];
		const int width = printf("  -%s %s", r->name, r->value ? r->value : "");
		printf("%*s%s\n", width < 22 ? 22 - width : 1, "", r->help);
	}
	printf("exit status: 0 success; %d run-time failure; %d invalid option, data or "
	       "number of ranks;\n  %d stopped by SIGTERM or SIGINT, with everything saved by -save\n",
		RT_EXIT_RUN, RT_EXIT_USAGE, RT_EXIT_STOPPED);
}
