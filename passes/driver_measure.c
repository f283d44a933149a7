/*
 * Measuring: a program with exactly the kernels that a profile lacks, compiled and run once.
 *
 *     @main -> keys that the profile lacks -> measure.c: kernels, tables -> cc -> ./measure ->
 * profile
 *
 * Operands lie where the lowered program has them (lower_plan), and kernels run in its order, so
 * that each finds in the caches what it will find in training; with buffers of its own in a loop a
 * small kernel would be timed in the first-level cache, with buffers larger than the caches never
 * there. As many ranks as the module has devices run at once: they share memory and caches in
 * training too.
 */
#include "passes/driver_measure_impl.h"

#include "dopt_config.h"
#include "lower/build.h"
#include "passes/analysis/alloc.h"
#include "passes/analysis/cost.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
	/* Kernels stop by themselves after seconds; what takes minutes hangs. */
	RUN_SECONDS = 300,
	POLL_MS = 5,
	/* Messages of up to so many bytes are latency; those up to the next fit beside what is
	   computed. */
	SHORT_BYTES = 4096,
	LONG_BYTES = 4 << 20,
	/* A kernel compiles in a tenth of a second; several files would compile side by side. */
	MAX_KEYS = 2000,
};

/* Sizes of messages for the fit: from where latency is all to where bandwidth is. */
static const int64_t ladder[] = {256, 4096, 65536, 1 << 20, 16 << 20};

char *
driver_measure_device(const void *owner)
{
	FILE *f = fopen("/proc/cpuinfo", "r");
	char line[256], *name = NULL;
	while (f && !name && fgets(line, sizeof line, f))
		if (strncmp(line, "model name", 10) == 0 && strchr(line, ':')) {
			char *text = strchr(line, ':') + 1;
			text += strspn(text, " \t");
			text[strcspn(text, "\n")] = 0;
			name = TEXT(owner, "%s", text);
		}
	if (f)
		fclose(f);
	name = name ? name : TEXT(owner, "cpu");
	return TEXT(owner, "%s, host " DOPT_VERSION, name);
}

static bool
is_known(const struct measure *s, const char *key)
{
	for (int i = 0; i < s->nknown && !s->o->all; i++)
		if (s->known[i].ranks == s->ranks && strcmp(s->known[i].key, key) == 0)
			return true;
	return false;
}

static bool
collect_keys(struct measure *s)
{
	s->key = NEW_ARRAY(s, struct key, s->plan->nactions);
	for (int i = 0; i < s->plan->nactions; i++) {
		const struct lower_action *a = &s->plan->action[i];
		if (a->kind != LOWER_KERNEL)
			continue;
		char *text = cost_op_key(s, s->m, a->op);
		if (!text || is_known(s, text) || measure_key(s, text) >= 0)
			continue;
		s->key[s->nkeys++] = (struct key){text, a->op, op_work(s->m, a->op)};
	}
	if (s->nkeys > MAX_KEYS)
		diag_error(s->diag, LOC_NONE,
			"%d kernels to measure; at most %d are measured at once", s->nkeys,
			MAX_KEYS);
	return s->nkeys <= MAX_KEYS;
}

/* Adds a message unless it is there or known. Bytes become a multiple of an element of every place.
 */
static void
add_message(struct measure *s, enum collective kind, int places, int64_t bytes, bool fitted)
{
	for (int i = 0; i < s->nknown_messages && !s->o->all && !fitted; i++) {
		const struct profile_collective *k = &s->known_messages[i];
		if (k->kind == kind && k->places == places && k->bytes == (double)bytes)
			return;
	}
	for (int i = 0; i < s->nmessages; i++) {
		struct message *x = &s->message[i];
		if (x->kind == kind && x->places == places && x->bytes == bytes) {
			x->fitted |= fitted;
			return;
		}
	}
	s->message = RESIZE(s, s->message, struct message, s->nmessages + 1);
	s->message[s->nmessages++] = (struct message){kind, places, bytes, 0, 0, fitted};
}

static bool
link_is_known(const struct measure *s, enum collective kind, int places)
{
	for (int i = 0; i < s->nknown_links && !s->o->all; i++)
		if (s->known_links[i].kind == kind && s->known_links[i].places == places)
			return true;
	return false;
}

static void
collect_messages(struct measure *s)
{
	for (int i = 0; i < s->plan->ncolls; i++) {
		struct cost_collective c;
		if (!cost_op_collective(s->m, s->plan->coll[i].op, &c) || c.places > s->ranks ||
			s->ranks % c.places)
			continue;
		add_message(s, c.kind, c.places, (int64_t)c.bytes, false);
		for (size_t k = 0; k < sizeof ladder / sizeof *ladder; k++)
			if (!link_is_known(s, c.kind, c.places))
				add_message(s, c.kind, c.places, ladder[k], true);
	}
}

/* Runs a shell command; false after reporting that it failed or took too long. */
static bool
run_child(struct measure *s, const char *command)
{
	if (s->o->verbose)
		diag_report(s->diag, DIAG_REMARK, LOC_NONE, "%s", command);
	pid_t pid = fork();
	if (pid < 0) {
		diag_error(s->diag, LOC_NONE, "cannot start a process: %s", strerror(errno));
		return false;
	}
	if (pid == 0) {
		setpgid(0, 0);
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	int status = 0;
	for (int ms = 0; waitpid(pid, &status, WNOHANG) == 0; ms += POLL_MS) {
		const struct timespec pause = {0, POLL_MS * 1000000};
		nanosleep(&pause, NULL);
		if (ms < RUN_SECONDS * 1000)
			continue;
		kill(-pid, SIGKILL);
		waitpid(pid, &status, 0);
		diag_error(s->diag, LOC_NONE, "measuring took longer than %d s and was stopped",
			RUN_SECONDS);
		return false;
	}
	if (status)
		diag_error(
			s->diag, LOC_NONE, "a command failed with status %d: %s", status, command);
	return status == 0;
}

/* Number `index` of the messages with that many places. */
static struct message *
message_at(struct measure *s, int places, int index)
{
	for (int i = 0; i < s->nmessages; i++)
		if (s->message[i].places == places && index-- == 0)
			return &s->message[i];
	return NULL;
}

static bool
store_kernel(struct measure *s, int k, double median, double spread, int runs)
{
	if (k < 0 || k >= s->nkeys)
		return true;
	const struct key *key = &s->key[k];
	const struct profile_op op = {
		key->text, s->ranks, median, spread, runs, key->work.flops, key->work.bytes};
	return profile_put_op(s->profile, s->device, &op);
}

static bool
store_message(struct measure *s, int places, int i, double median, double spread, int runs)
{
	struct message *x = message_at(s, places, i);
	if (!x)
		return true;
	x->median = median;
	const struct profile_collective c = {
		"threads", x->kind, places, (double)x->bytes, median, spread, runs};
	return profile_put_collective(s->profile, s->device, &c);
}

static void
set_beside(struct measure *s, int places, int i, double seconds)
{
	struct message *x = message_at(s, places, i);
	if (x)
		x->beside = seconds;
}

static bool
store_field(struct measure *s, const char *name, double value)
{
	const struct profile_field f = {name, value};
	return profile_put_field(s->profile, s->device, &f);
}

/* The lines that rt_measure_main writes. */
static bool
read_result(struct measure *s, int places)
{
	FILE *f = fopen(TEXT(s, "%s/result", s->folder), "r");
	char line[256], name[64];
	bool good = f != NULL;
	while (good && fgets(line, sizeof line, f)) {
		int number, runs;
		double median, spread;
		if (sscanf(line, "kernel %d %lf %lf %d", &number, &median, &spread, &runs) == 4)
			good = store_kernel(s, number, median, spread, runs);
		else if (sscanf(line, "collective %d %lf %lf %d", &number, &median, &spread,
				 &runs) == 4)
			good = store_message(s, places, number, median, spread, runs);
		else if (sscanf(line, "beside %d %lf %lf %d", &number, &median, &spread, &runs) ==
			 4)
			set_beside(s, places, number, median);
		else if (sscanf(line, "field %63s %lf", name, &median) == 2)
			good = store_field(s, name, median);
	}
	if (f)
		fclose(f);
	else
		diag_error(s->diag, LOC_NONE, "the program that measures wrote no result");
	return good;
}

static bool
measure_places(struct measure *s, int places, bool kernels)
{
	FILE *out = lower_open(s->diag, s->folder, "measure.c");
	if (!out)
		return false;
	bool good = measure_write(s, out, places, kernels);
	good = fclose(out) == 0 && good;
	char *command = TEXT(s, "cd %s && %s -o measure measure.c %s && ./measure > log 2>&1",
		lower_quote(s, s->folder), lower_compile_command(s), lower_link_flags(s));
	return good && run_child(s, command) && read_result(s, places);
}

/* alpha and beta of each kind of message that the ladder was measured for. */
static bool
fit_links(struct measure *s)
{
	enum { STEPS = sizeof ladder / sizeof *ladder };
	bool good = true;
	for (int i = 0; i < s->nmessages && good; i++) {
		const struct message *x = &s->message[i];
		double bytes[STEPS], seconds[STEPS];
		int n = 0;
		if (!x->fitted || x->bytes != ladder[0])
			continue;
		for (int k = 0; k < s->nmessages; k++) {
			const struct message *y = &s->message[k];
			if (y->fitted && y->kind == x->kind && y->places == x->places &&
				n < STEPS && y->median > 0) {
				bytes[n] = (double)y->bytes;
				seconds[n++] = y->median;
			}
		}
		struct profile_link l = {"threads", x->kind, x->places, 0, 0, 0};
		l.error = profile_fit(bytes, seconds, n, &l.alpha, &l.beta);
		good = profile_put_link(s->profile, s->device, &l);
	}
	return good;
}

static int
by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

/* Stores the median of n > 0 rates. */
static bool
store_rate(struct measure *s, const char *name, double *rate, int n)
{
	if (n == 0)
		return true;
	qsort(rate, (size_t)n, sizeof *rate, by_value);
	return store_field(s, name, rate[n / 2]);
}

/*
 * What kernels that nobody has measured are estimated with: the median rate of matrix products, and
 * of bytes in the kernels that have none. There is no launch: a call is part of the measured time.
 */
static bool
store_rates(struct measure *s)
{
	struct profile_op *op;
	int n = profile_ops(s, s->profile, s->device, &op), nproducts = 0, nothers = 0;
	double *product = NEW_ARRAY(s, double, n > 0 ? n : 1),
	       *other = NEW_ARRAY(s, double, n > 0 ? n : 1);
	for (int i = 0; i < n; i++) {
		if (op[i].median <= 0 || op[i].ranks != s->ranks)
			continue;
		if (strncmp(op[i].key, "matmul", 6) == 0 || strncmp(op[i].key, "contract", 8) == 0)
			product[nproducts++] = op[i].flops / op[i].median;
		else if (op[i].bytes > 0)
			other[nothers++] = op[i].bytes / op[i].median;
	}
	return n >= 0 && store_rate(s, "flops", product, nproducts) &&
	       store_rate(s, "bandwidth", other, nothers) && store_field(s, "launch", 0) &&
	       store_field(s, "async", 0);
}

/*
 * What posting costs: a message beside computation takes that much more than alone, for the change
 * of threads; the median of those that are short. And whether computation hides messages: whether
 * most of the longer ones add less than half of their time to it.
 */
static bool
store_overlap(struct measure *s)
{
	double *post = NEW_ARRAY(s, double, s->nmessages);
	int nshort = 0, nlong = 0, hidden = 0;
	for (int i = 0; i < s->nmessages; i++) {
		const struct message *x = &s->message[i];
		if (x->bytes <= SHORT_BYTES)
			post[nshort++] = x->beside > x->median ? x->beside - x->median : 0;
		else if (x->bytes <= LONG_BYTES)
			nlong++, hidden += x->beside < x->median / 2;
	}
	return store_rate(s, "post", post, nshort) &&
	       (nlong == 0 || store_field(s, "overlap", 2 * hidden > nlong));
}

/* Numbers of places among the messages, each once. */
static int
list_places(const struct measure *s, int *list, int max)
{
	int n = 0;
	for (int i = 0; i < s->nmessages && n < max; i++) {
		int k = 0;
		while (k < n && list[k] != s->message[i].places)
			k++;
		if (k == n)
			list[n++] = s->message[i].places;
	}
	return n;
}

static bool
measure_all(struct measure *s)
{
	int places[IR_MAX_AXES], n = list_places(s, places, IR_MAX_AXES);
	bool good = true;
	for (int i = 0; i < n && good; i++)
		good = measure_places(s, places[i], i == 0 && s->nkeys);
	if (n == 0 && s->nkeys)
		good = measure_places(s, 1, true);
	return good && fit_links(s) && store_rates(s) && store_overlap(s);
}

static bool
load_known(struct measure *s)
{
	s->nknown = profile_ops(s, s->profile, s->device, &s->known);
	s->nknown_messages = profile_collectives(s, s->profile, s->device, &s->known_messages);
	s->nknown_links = profile_links(s, s->profile, s->device, &s->known_links);
	return s->nknown >= 0 && s->nknown_messages >= 0 && s->nknown_links >= 0;
}

static char *
make_folder(struct measure *s)
{
	const char *tmp = getenv("TMPDIR");
	char *path = TEXT(s, "%s/dopt-measure-XXXXXX", tmp && *tmp ? tmp : "/tmp");
	if (mkdtemp(path))
		return path;
	diag_error(s->diag, LOC_NONE, "cannot make the folder %s: %s", path, strerror(errno));
	return NULL;
}

static void
remove_folder(const struct measure *s)
{
	static const char *const names[] = {"measure.c", "measure", "result", "log"};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		unlink(TEXT(s, "%s/%s", s->folder, names[i]));
	rmdir(s->folder);
}

/* More ranks than cores would measure the scheduler. */
static int
ranks_of(const struct ir_module *m)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	int64_t devices = ir_devices(m);
	return (int)(devices <= cores ? devices : 1);
}

bool
driver_measure(struct ir_module *m, const struct measure_options *o, FILE *out)
{
	struct measure *s = NEW(NULL, struct measure);
	s->o = o, s->m = m, s->diag = m->ctx->diag;
	s->device = driver_measure_device(s);
	s->ranks = ranks_of(m);
	s->plan = lower_plan_create(s, m);
	s->profile = s->plan ? profile_open(s, s->diag, o->profile, PROFILE_WRITE) : NULL;
	bool good = s->profile && load_known(s) && collect_keys(s);
	if (good)
		collect_messages(s);
	if (good && s->nkeys + s->nmessages > 0) {
		s->folder = make_folder(s);
		good = s->folder && measure_all(s);
		if (s->folder)
			remove_folder(s);
	}
	if (good)
		fprintf(out, "measured: %d kernels and %d messages with %d ranks on %s\n", s->nkeys,
			s->nmessages, s->ranks, s->device);
	talloc_free(s);
	return good;
}
