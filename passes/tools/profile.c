/*
 * dopt-profile: profiles as text, and differences between two.
 *
 *     dopt-profile dump PROFILE                       database -> text
 *     dopt-profile load TEXT... PROFILE               text -> database
 *     dopt-profile diff BEFORE AFTER                  a table
 *     dopt-profile train PROFILE... -o WEIGHTS        an estimator of kernels
 *     dopt-profile evaluate WEIGHTS PROFILE...        how well it does
 *     dopt-profile fit PROFILE... -cluster=NAME       shares of a device's peaks that kernels reach
 */
#include "ir/base/alloc.h"
#include "parser/cluster/cluster.h"
#include "passes/analysis/estimate/data.h"
#include "passes/analysis/estimate/reach_fit.h"
#include "passes/analysis/profile/derive.h"
#include "passes/analysis/profile/diff.h"
#include "passes/analysis/profile/text.h"
#include "passes/tools/command_line.h"
#include "passes/tools/output.h"
#include "passes/tools/tools.h"

#include <inttypes.h>
#include <limits.h>
#include <string.h>

/* Runs on a machine that is shared differ by this much: test/bench measures it. */
#define DEFAULT_TOLERANCE 0.05

struct tool {
	struct diag *diag;
	const char *output, *cluster;
	int64_t seed, epochs, members;
	int loss; /* enum network_loss */
	double tolerance;
	bool help;
	bool lost; /* some of the output has not reached stdout */
	struct driver_list file;
};

static enum driver_exit
dump(struct tool *t)
{
	struct driver_output out;
	struct profile *p = profile_open(t, t->diag, t->file.item[0], PROFILE_READ);

	if (!p || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	if (profile_text_write(p, out.file))
		return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
	driver_output_discard(&out);
	return DRIVER_INPUT;
}

/* Derives values from the entries of a measuring program; existing ones are kept, and other
 * backends are not changed. */
static bool
derive(struct tool *t, struct profile *p)
{
	char **device, **backend;
	int n = profile_devices(t, p, &device);
	bool good = n >= 0;

	for (int i = 0; i < n && good; i++) {
		int nbackends = profile_backends(t, p, device[i], &backend);
		good = nbackends >= 0;
		for (int k = 0; k < nbackends && good; k++) {
			bool ours = !strncmp(backend[k], "host ", 5) ||
				    !strncmp(backend[k], "cuda ", 5) ||
				    !strcmp(backend[k], "nccl-tests");
			profile_select(p, backend[k], NULL);
			good = !ours || profile_derive(p, device[i], false);
		}
	}
	return good;
}

/* Texts are checked before the database is created, so that errors do not leave one. */
static enum driver_exit
load(struct tool *t)
{
	int n = t->file.n - 1;
	char **text = NEW_ARRAY(t, char *, n);

	for (int i = 0; i < n; i++)
		if (!profile_text_read_file(t, t->diag, t->file.item[i], &text[i]) ||
			!profile_text_load(
				NULL, t->diag, t->file.item[i], text[i], strlen(text[i])))
			return DRIVER_INPUT;
	struct profile *p = profile_open(t, t->diag, t->file.item[n], PROFILE_WRITE);
	bool good = p && profile_begin(p);
	for (int i = 0; i < n && good; i++)
		good = profile_text_load(p, t->diag, t->file.item[i], text[i], strlen(text[i]));
	good = good && derive(t, p) && profile_commit(p);
	return good ? DRIVER_OK : DRIVER_INPUT;
}

static enum driver_exit
diff(struct tool *t)
{
	struct profile_difference found;
	struct profile *a = profile_open(t, t->diag, t->file.item[0], PROFILE_READ);
	struct profile *b = profile_open(t, t->diag, t->file.item[1], PROFILE_READ);

	if (!a || !b || !profile_diff(stdout, a, b, t->tolerance, &found))
		return DRIVER_INPUT;
	printf("%d changed, %d added, %d removed, %d unchanged within %g %%\n", found.changed,
		found.added, found.removed, found.same, 100 * t->tolerance);
	if (!driver_stdout_flush())
		return DRIVER_INPUT;
	return found.changed + found.added + found.removed ? DRIVER_INPUT : DRIVER_OK;
}

/* The samples of the files from `first` on, as one; `part`, if it is not NULL, receives those of
 * each. NULL: reported. */
static struct estimate_data *
load_samples(struct tool *t, int first, struct estimate_data **part)
{
	struct estimate_data *all = NEW(t, struct estimate_data);

	for (int i = first; i < t->file.n; i++) {
		struct estimate_data *one = estimate_data_load(all, t->diag, t->file.item[i]);
		if (!one)
			return NULL;
		estimate_data_append(all, one);
		if (part)
			part[i] = one;
	}
	if (all->n)
		return all;
	diag_error(t->diag, LOC_NONE,
		"no fused kernels in these profiles; docs/estimator.md shows how to measure some");
	return NULL;
}

static void
show_progress(void *data, uint32_t epoch, double loss)
{
	struct tool *t = data;

	if (t->lost || ((epoch + 1) % 20 != 0 && epoch + 1 != (uint32_t)t->epochs))
		return;
	printf("epoch %" PRIu32 ": loss %.5f\n", epoch + 1, loss);
	t->lost = !driver_stdout_flush();
}

static struct network *
train_one(struct tool *t, const struct estimate_data *samples, const double *target, uint64_t seed)
{
	struct network *w = network_create(t, seed);
	struct network_training how = network_training_defaults();

	how.seed = seed;
	how.epochs = (uint32_t)t->epochs;
	how.loss = (enum network_loss)t->loss;
	how.progress = show_progress;
	how.data = t;
	network_normalize(w, samples->graph, samples->n);
	network_train(w, samples->graph, target, samples->weight, samples->n, &how);
	return w;
}

static enum driver_exit
train(struct tool *t)
{
	if (!t->output) {
		driver_error("train: expected an output file for the weights: -o=FILE");
		return DRIVER_USAGE;
	}
	if (t->members < 1 || t->members > NETWORK_MEMBERS) {
		driver_error("option -members: expected a number from 1 to %d, found %" PRId64,
			NETWORK_MEMBERS, t->members);
		return DRIVER_USAGE;
	}
	struct estimate_data *samples = load_samples(t, 0, NULL);
	if (!samples)
		return DRIVER_INPUT;
	double *target = NEW_ARRAY(t, double, samples->n);
	struct network *w = NULL;
	estimate_data_targets(samples, target);
	printf("%" PRIu32 " kernels on %s\n", samples->n, samples->device);
	for (int64_t i = 0; i < t->members; i++) {
		struct network *member = train_one(t, samples, target, (uint64_t)(t->seed + i));
		if (w)
			network_join(w, member);
		else
			w = member;
	}
	const bool saved = network_save(w, t->diag, t->output, samples->device);
	return saved && !t->lost ? DRIVER_OK : DRIVER_INPUT;
}

static void
print_errors(
	const char *name, const char *who, const struct estimate_data *s, const double *seconds)
{
	const struct estimate_errors e = estimate_data_errors(s, seconds);

	printf("%-24s %-8s %7" PRIu32, name, who, s->n);
	for (int i = 0; i < ESTIMATE_SHARES; i++)
		printf(" %6.1f", 100 * e.within[i]);
	printf(" %7.1f\n", 100 * e.median);
}

static void
print_both(struct tool *t, const char *name, const struct estimate_data *s, struct network *w)
{
	double *seconds = NEW_ARRAY(t, double, s->n);
	const char *slash = strrchr(name, '/');

	estimate_data_network(s, w, seconds);
	name = slash ? slash + 1 : name;
	print_errors(name, "network", s, seconds);
	print_errors(name, "analytic", s, s->analytic);
}

/* One line per kernel: measured, network and analytic seconds, and its key. */
static enum driver_exit
write_each(struct tool *t, const struct estimate_data *s, struct network *w)
{
	double *seconds = NEW_ARRAY(t, double, s->n);
	struct driver_output out;

	if (!driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	estimate_data_network(s, w, seconds);
	for (uint32_t i = 0; i < s->n; i++)
		fprintf(out.file, "%.6g %.6g %.6g %s\n", s->seconds[i], seconds[i], s->analytic[i],
			s->key[i]);
	return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
}

static enum driver_exit
evaluate(struct tool *t)
{
	struct network *w = network_load(t, t->diag, t->file.item[0]);
	struct estimate_data **part = NEW_ARRAY(t, struct estimate_data *, t->file.n);
	struct estimate_data *all = w ? load_samples(t, 1, part) : NULL;

	if (!all)
		return DRIVER_INPUT;
	printf("%-24s %-8s %7s", "percent within", "", "kernels");
	for (int i = 0; i < ESTIMATE_SHARES; i++)
		printf(" %5.0f%%", 100 * estimate_share[i]);
	printf(" median%%\n");
	for (int i = 1; i < t->file.n && t->file.n > 2; i++)
		print_both(t, t->file.item[i], part[i], w);
	print_both(t, "all", all, w);
	return t->output ? write_each(t, all, w) : DRIVER_OK;
}

static enum driver_exit
fit(struct tool *t)
{
	struct driver_output out;

	if (!t->cluster) {
		driver_error("fit: expected the cluster whose first kind of device was measured: "
			     "-cluster=NAME|FILE");
		return DRIVER_USAGE;
	}
	struct ir_context *ctx = ir_context_create(t);
	const struct cluster *c = cluster_open(t, ctx, t->cluster);
	if (!c)
		return DRIVER_INPUT;
	struct reach_data *data = reach_data_create(t, c->kind[0]);
	for (int i = 0; i < t->file.n; i++)
		if (!reach_data_add(data, t->diag, t->file.item[i]))
			return DRIVER_INPUT;
	if (!driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	if (reach_data_fit(data, t->diag, out.file))
		return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
	driver_output_discard(&out);
	return DRIVER_INPUT;
}

#define FIELD(field) offsetof(struct tool, field)
#define AT(field) .at = FIELD(field)

static const struct choice losses[] = {
	CHOICE_ROW(NETWORK_SQUARE, "square") CHOICE_ROW(NETWORK_LOGCOSH, "logcosh"){.name = NULL},
};

static const struct flag flags[] = {
	{"Options", .kind = FLAG_GROUP},
	{"o", "FILE",
		"dump, train, fit: write to FILE atomically (temporary file, then rename); -: standard "
		"output; evaluate: write a line for each kernel: seconds measured, predicted by "
		"the network and analytic, and its key",
		FLAG_TEXT, AT(output)},
	{"cluster", "NAME|FILE",
		"fit: the cluster whose first kind of device was measured; shares are of its peaks",
		FLAG_TEXT, AT(cluster)},
	{"tolerance", "X",
		"diff: relative tolerance, as a fraction (0.05) or in percent (5%) (default: 5%)",
		FLAG_SHARE, AT(tolerance)},
	{"seed", "N",
		"train: seed for the initial weights and the order of the samples (default: 1)",
		FLAG_INT, AT(seed)},
	{"epochs", "N", "train: number of epochs (default: 60)", FLAG_INT, AT(epochs)},
	{"members", "N", "train: ensemble size; predictions are averaged (default: 1)", FLAG_INT,
		AT(members)},
	{"loss", NULL, "train: loss function of log(predicted) - log(measured) (default: logcosh)",
		FLAG_CHOICE, AT(loss), .choice = losses},
	{"help", NULL, "print this text", FLAG_BOOL, AT(help)},
};

static const struct command commands[] = {
	{"dump", "PROFILE",
		"write a profile as sorted text, one entry per line, suitable for version control",
		1, 1, dump},
	{"load", "TEXT... PROFILE",
		"load text into a profile, which is created if it does not exist: output of dump, "
		"or of a measuring program (dopt -emit=measure); if any of it is invalid, nothing "
		"is loaded",
		2, INT_MAX, load},
	{"diff", "BEFORE AFTER",
		"show which entries differ between two profiles by more than the tolerance and "
		"the spread, which were added and which were removed",
		2, 2, diff},
	{"train", "PROFILE...",
		"train a graph network on the fused kernels of profiles; dopt -estimator=network "
		"reads the weights that -o names",
		1, INT_MAX, train},
	{"evaluate", "WEIGHTS PROFILE...",
		"compare predicted times of the fused kernels in profiles, by the network and by "
		"the analytic estimator, with the measured times",
		2, INT_MAX, evaluate},
	{"fit", "PROFILE...",
		"fit the share of a device's peaks that kernels reach, by kind, type and size; "
		"write it as items of a cluster, with the errors of the fit, and those of each "
		"profile predicted from the others",
		1, INT_MAX, fit},
};

static const struct command_line line = {
	.head = "usage: dopt-profile COMMAND [options] FILES\n"
		"Converts profiles to and from text, compares them, "
		"and trains estimators on them.\n"
		"PROFILE, BEFORE and AFTER are databases; dump and diff also read text.\n",
	.tail = "Exit status: 0 success, no differences; 1 differences found, or invalid input;\n"
		"2 invalid command line.\n",
	.flag = flags,
	.nflags = sizeof flags / sizeof *flags,
	.command = commands,
	.ncommands = sizeof commands / sizeof *commands,
	.words = FIELD(file),
};

int
tool_profile(int argc, char **argv)
{
	struct tool *t = NEW(NULL, struct tool);

	t->diag = diag_create(t);
	t->tolerance = DEFAULT_TOLERANCE;
	t->loss = network_training_defaults().loss;
	t->seed = network_training_defaults().seed;
	t->epochs = network_training_defaults().epochs;
	t->members = 1;
	return command_line_main(&line, t, argc, argv);
}
