/*
 * Measuring: a program with exactly the kernels that a profile lacks, compiled and run once.
 *
 *     @main -> keys that the profile lacks -> kernels, tables -> cc -> measure -> lines -> profile
 *
 * Operands are placed as in the lowered program (lower_plan), and kernels run in its order, so that
 * each finds the caches in the same state as in training. With private buffers in a loop a small
 * kernel would be timed in the first-level cache; with buffers larger than the caches, never there.
 * One rank per device of the module runs at once: they share memory and caches in training too.
 */
#include "passes/tools/dopt/measure_impl.h"
#include "ir/base/sort.h"

#include "ir/base/number.h"
#include "lower/build.h"
#include "lower/cuda/cuda.h"
#include "lower/lower.h"
#include "ir/base/vec.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/profile/derive.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>
#include <unistd.h>

enum {
	/* Memory that a compiler needs for a file of kernels. */
	COMPILER_BYTES = 512 << 20,
};

/*
 * Sizes of messages for the curve of a kind: from where latency dominates to where bandwidth does,
 * each four times the previous one, so that the error from a change of protocol between two is
 * small; then up to the size of a message that carries everything of its kind in the step, because
 * a pass may fuse that much.
 */
#define LADDER_LEAST 256
#define LADDER_MOST (16 << 20)
#define LADDER_TIMES 4

/* The existing entries of the profile, sorted as in profile.h. */
struct known {
	struct profile_op *op; /* measured with the requested buffers */
	struct profile_collective *collective;
	int nops, ncollectives;
};

/* A kernel of the plan, while equal kernels are being matched. */
struct found {
	char *text;
	int action;
	bool known;
};

ORDER_BY(by_text, struct found, strcmp(x->text, y->text), UP(action))

static bool
op_is_known(const struct measure *s, const struct known *k, const char *key)
{
	const struct profile_op *op =
		s->o->all || s->o->again ? NULL : profile_find_op(k->op, k->nops, key, s->ranks);
	return op && op->ranks == s->ranks;
}

/*
 * Do the results of the op decide what others do, so that it must run if they are measured? Others
 * may read integers as indices.
 */
static bool
decides(const struct ir_op *op)
{
	bool any = false;

	for (int r = 0; r < op->nresults; r++)
		any |= ir_dtype_class((enum ir_dtype)op->result[r].type->dtype) != IR_FLOAT;
	return any;
}

/*
 * Known kernels are kept if others are measured between them: their accesses decide the state of
 * the caches. If each kernel is measured alone they are dropped; on devices whose memory the
 * program cannot access from the host, only those that decide what others do are kept.
 */
static int
drop_known(const struct measure *s, struct found *found, int n)
{
	int missing = 0, kept = 0;

	for (int i = 0; i < n; i++)
		missing += !found[i].known;
	for (int i = 0; i < n; i++)
		if (!found[i].known ||
			(missing && !s->o->rotate &&
				(!s->o->cuda || decides(s->plan->action[found[i].action].op))))
			found[kept++] = found[i];
	return kept;
}

/* CUDA kernels are compiled for separate memory, and so are kernels that run alone. */
static bool
lies_in_place(const struct measure *s, int action)
{
	return s->plan->action[action].in_place && !s->o->rotate && !s->o->cuda;
}

/* Numbers the kernels to measure, and those between them, in the order of the step. */
static void
collect_keys(struct measure *s, const struct known *known)
{
	int n = s->plan->nactions, nfound = 0;
	struct found *found = ARRAY_NEW(s, struct found, n);
	int *first = ARRAY_NEW(s, int, n); /* the first action with the same key */
	s->key_of = ARRAY_NEW(s, int, n);
	for (int i = 0; i < n; i++) {
		const struct lower_action *a = &s->plan->action[i];
		s->key_of[i] = first[i] = -1;
		char *text = a->kind == LOWER_KERNEL ? cost_op_key(s, s->m, a->op) : NULL;
		if (text)
			found[nfound++] = (struct found){text, i, op_is_known(s, known, text)};
	}
	nfound = drop_known(s, found, nfound);
	qsort(found, (size_t)nfound, sizeof *found, by_text);
	s->key = ARRAY_NEW(s, struct key, nfound);
	for (int i = 0; i < nfound; i++) {
		bool same = i > 0 && strcmp(found[i].text, found[i - 1].text) == 0;
		first[found[i].action] = same ? first[found[i - 1].action] : found[i].action;
	}
	struct found *of = ARRAY_NEW(s, struct found, n);
	for (int i = 0; i < nfound; i++)
		of[found[i].action] = found[i];
	for (int i = 0; i < n; i++) {
		if (first[i] < 0)
			continue;
		if (first[i] == i) {
			const struct ir_op *op = s->plan->action[i].op;
			s->key[s->nkeys++] = (struct key){.text = of[i].text,
				.op = op,
				.known = of[i].known,
				.runs = !of[i].known || decides(op),
				.work = op_work(s->m, op)};
			s->nmissing += !of[i].known;
		}
		s->key_of[i] = first[i] == i ? s->nkeys - 1 : s->key_of[first[i]];
		s->key[s->key_of[i]].in_place |= lies_in_place(s, i);
	}
}

/* If all ranks are on one machine, messages along different axes use the same paths. */
static bool
is_same_message(const struct measure *s, const struct message *a, const struct message *b)
{
	bool one_machine = !s->o->mpi && !s->o->program;
	return a->kind == b->kind && a->bytes == b->bytes && a->places == b->places &&
	       (one_machine || a->axis == b->axis);
}

static void
add_message(struct measure *s, const struct known *k, struct message x)
{
	bool known = !s->o->all && profile_find_collective(k->collective, k->ncollectives, x.kind,
					   x.places, (double)x.bytes);
	for (int i = 0; i < s->nmessages; i++)
		known |= is_same_message(s, &s->message[i], &x);
	if (known)
		return;
	LIST_PUSH(s, s->message, s->nmessages, x);
}

/* Bytes of a part of a message, with whole elements for each place. */
static int64_t
part_bytes(const struct cost_collective *c)
{
	const int64_t unit = (int64_t)sizeof(float) * c->places;
	const int64_t n = (int64_t)ceil(c->bytes / c->parts / (double)unit);
	return c->parts < 2 ? (int64_t)c->bytes : n * unit;
}

/* The total bytes of the messages of a kind along an axis. */
static int64_t
bytes_together(const struct measure *s, const struct message *of)
{
	double sum = 0;
	for (int i = 0; i < s->plan->ncolls; i++) {
		struct cost_collective c;
		if (cost_op_collective(s->m, s->plan->coll[i].op, &c) && c.kind == of->kind &&
			c.axis == of->axis)
			sum += c.bytes;
	}
	return (int64_t)sum;
}

static void
add_ladder(struct measure *s, const struct known *k, struct message x)
{
	const int64_t together = bytes_together(s, &x);
	const int64_t most = together > LADDER_MOST ? together : LADDER_MOST;
	for (x.bytes = LADDER_LEAST; x.bytes <= most; x.bytes *= LADDER_TIMES)
		add_message(s, k, x);
	x.bytes = together;
	if (together > LADDER_MOST)
		add_message(s, k, x);
}

static void
collect_messages(struct measure *s, const struct known *k)
{
	for (int i = 0; i < s->plan->ncolls && s->ranks == ir_devices(s->m); i++) {
		struct cost_collective c;
		if (!cost_op_collective(s->m, s->plan->coll[i].op, &c))
			continue;
		struct message x = {c.kind, c.axis, c.places, part_bytes(&c)};
		add_message(s, k, x);
		add_ladder(s, k, x);
	}
}

/* If the step copies to host memory or back: the link, unless its fields are known. */
static bool
lacks_host_link(const struct measure *s)
{
	struct profile_field *field;
	const int n = s->profile ? profile_fields(s, s->profile, s->device, &field) : 0;
	bool known = false;

	for (int i = 0; i < n && !s->o->all; i++)
		known |= strcmp(field[i].name, "host_bandwidth") == 0;
	return s->plan->ntransfers && !known;
}

/* Removes entries that were measured the other way. */
static int
drop_other_buffers(const struct measure *s, struct profile_op *op, int n)
{
	int kept = 0;
	for (int i = 0; i < n; i++)
		if ((op[i].buffers == PROFILE_ROTATE) == s->o->rotate)
			op[kept++] = op[i];
	return kept;
}

/* The transports that a program of this target measures, as in runtime/measure/measure.c. */
static const char *
transport_of(const struct measure *s)
{
	if (s->o->cuda)
		return s->o->mpi ? "nccl" : "peers";
	if (s->o->mpi)
		return s->o->library ? PROFILE_LIBRARY : "mpi";
	return "threads";
}

/* This machine; for CUDA, and in rounds on another machine, a device of the profile that was measured
 * with this backend, if this machine was not: only the program can list the devices. */
static bool
find_device(struct measure *s)
{
	s->device = profile_this_device(s);
	if ((!s->o->cuda && !s->o->lacking) || !s->profile)
		return true;
	char **device, **backend, *found = NULL;
	bool here = false;
	int n = profile_devices(s, s->profile, &device);
	for (int i = 0; i < n; i++) {
		int nbackends = profile_backends(s, s->profile, device[i], &backend);
		for (int k = 0; k < nbackends; k++)
			if (strcmp(backend[k], s->backend) == 0) {
				here = here || strcmp(device[i], s->device) == 0;
				found = device[i];
			}
	}
	s->device = here || !found ? s->device : found;
	return n >= 0;
}

static bool
load_known(struct measure *s, struct known *k)
{
	if (!s->profile)
		return true;
	profile_select(s->profile, s->backend, transport_of(s));
	int n = profile_ops(s, s->profile, s->device, &k->op);
	k->nops = drop_other_buffers(s, k->op, n);
	k->ncollectives = profile_collectives(s, s->profile, s->device, &k->collective);
	return n >= 0 && k->ncollectives >= 0;
}

/* Location of the sources: next to a program that is kept, or in a temporary folder. */
static bool
make_job(struct measure *s)
{
	const char *program = s->o->program;

	if (program && !job_can_publish(s->diag, program))
		return false;
	s->job = program ? job_create(s, s->diag, job_sources(s, program))
			 : job_create_temporary(s, s->diag, "dopt-measure");
	s->folder = s->job ? job_folder(s->job) : NULL;
	return s->job != NULL;
}

/* Number of concurrent compilers: limited by processors and memory. */
static long
jobs(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);
	long fit = sysconf(_SC_AVPHYS_PAGES) / (COMPILER_BYTES / sysconf(_SC_PAGESIZE));
	n = fit < n ? fit : n;
	return n > 1 ? n : 1;
}

/* Compiles and links LOWER_PROGRAM from them. False: reported. */
static bool
measure_build(struct measure *s, int nfiles)
{
	if (s->o->cuda) {
		const struct lower_options o = {.target = LOWER_CUDA, .verbose = s->o->verbose};
		return cuda_build(s->job, s->diag, &o, s->convolves);
	}
	const char *cc = lower_compile_command(s);
	char *command = TEXT(s,
		"{ %s -O1 -c measure.c & p=$!; ok=0; "
		"test %d = 0 || seq 0 %d | xargs -P %ld -I{} %s -c kernels_{}.c || ok=1; "
		"wait $p || ok=1; test $ok = 0; } && %s -o " LOWER_PROGRAM " *.o %s",
		cc, nfiles, nfiles - 1, jobs(), cc, cc, lower_link_flags(s));
	return job_run(s->job, command, s->o->verbose);
}

/* With threads, more ranks than processors would measure the scheduler. With processes the user
 * decides. */
static int
ranks_of(const struct ir_module *m, const struct measure_options *o)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t devices = ir_devices(m);
	return (int)(devices <= cores || o->mpi || o->program || o->cuda ? devices : 1);
}

static bool
store_all(struct measure *s)
{
	bool good = measure_run(s);
	/* Also from entries stored before a failure. */
	profile_select(s->profile, s->backend, NULL);
	return profile_derive(s->profile, s->device, true) && good;
}

static bool
measure_missing(struct measure *s)
{
	int nfiles = 0;
	bool good = make_job(s) && measure_write(s, &nfiles) && measure_build(s, nfiles);
	if (good)
		good = s->o->program ? job_publish(s->job, s->diag, LOWER_PROGRAM, s->o->program)
				     : store_all(s);
	talloc_free(s->job);
	s->job = NULL;
	return good;
}

void
driver_measure_warn(struct diag *d, const struct measure_quality *q, bool kept)
{
	const bool wide = q->wide_seconds > MEASURE_WIDE_SHARE * q->seconds;
	const bool busy = q->ran < MEASURE_PROCESSOR * q->took;
	double load = 0;

	if (wide)
		diag_report(d, DIAG_WARNING, LOC_NONE,
			"measured times vary: %.0f %% or more between the quartiles of kernels that "
			"take %.0f %% of the time",
			100 * MEASURE_WIDE, 100 * q->wide_seconds / q->seconds);
	else if (busy)
		diag_report(d, DIAG_WARNING, LOC_NONE,
			"the machine was busy while times were measured");
	if (!wide && !busy)
		return;
	if (busy)
		diag_note(d, LOC_NONE,
			"other processes ran: a rank that measures had a processor for %.0f %% of "
			"the time",
			100 * q->ran / q->took);
	diag_note(d, LOC_NONE, "load average %.1f; on an idle machine, %s",
		getloadavg(&load, 1) == 1 ? load : 0,
		kept ? "-measure=again adds better times"
		     : "measured times are better, and so is the plan");
}

/* Added to the sum over several runs, whose owner warns; without a sum, warns here. */
static void
tell_quality(const struct measure *s)
{
	struct measure_quality *sum = s->o->quality;
	const struct measure_quality *q = &s->quality;

	if (!sum) {
		driver_measure_warn(s->diag, q, s->o->profile != NULL);
		return;
	}
	sum->seconds += q->seconds;
	sum->wide_seconds += q->wide_seconds;
	sum->took += q->took;
	sum->ran += q->ran;
}

static void
print_summary(const struct measure *s, FILE *out)
{
	const bool program = s->o->program;
	const char *kernels =
		number_count(s, program ? s->nmissing : s->kernels_stored, "kernel(s)");
	const char *collectives =
		number_count(s, program ? s->nmessages : s->messages_stored, "collective(s)");
	const char *ranks = number_count(s, s->ranks, "rank(s)");

	if (program)
		fprintf(out, "%s measures %s and %s with %s\n", s->o->program, kernels, collectives,
			ranks);
	else
		fprintf(out, "measured%s%s: %s and %s with %s on %s\n", s->o->when ? " " : "",
			s->o->when ? s->o->when : "", kernels, collectives, ranks, s->device);
}

bool
driver_measure(struct ir_module *m, const struct measure_options *o, FILE *out)
{
	struct measure *s = NEW(NULL, struct measure);
	struct known known = {0};
	s->o = o, s->m = m, s->diag = m->ctx->diag;
	s->backend = profile_backend(o->cuda);
	s->ranks = ranks_of(m, o);
	/* Ops have one key whether their rows are padded or not, and one kernel: without padding. */
	struct storage_target *dense = COPY_ARRAY(s, struct storage_target, o->storage, 1);
	dense->pitch = false;
	s->plan = lower_plan_create_for(s, m, dense);
	bool good = s->plan != NULL, lacks = false;
	if (good && o->profile)
		good = (s->profile = profile_open(s, s->diag, o->profile, PROFILE_WRITE)) != NULL;
	good = good && find_device(s) && load_known(s, &known);
	if (good) {
		s->op = known.op;
		s->nops = known.nops;
		collect_keys(s, &known);
		collect_messages(s, &known);
		s->transfers = lacks_host_link(s);
		lacks = s->nkeys + s->nmessages + s->transfers > 0;
		if (lacks || (o->program && !o->lacking))
			good = measure_missing(s);
	}
	if (good && (lacks || !o->lacking)) {
		tell_quality(s);
		print_summary(s, out);
	}
	if (o->stored)
		*o->stored = o->lacking ? lacks : s->kernels_stored;
	talloc_free(s);
	return good;
}
