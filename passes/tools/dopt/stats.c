/*
 * -stats and -time: one row a pass.
 *
 *     pass          ops  iteration    compute       comm    exposed     memory  pass time  counts
 *     input          12     1.24ms     1.02ms     0.40ms     0.22ms     12.5MB
 *     tensorfuse     10     1.10ms     ...                                         0.1ms  2 fused
 *
 * If anything is in host memory there are two more columns: the time of copies to the host and
 * back, and the host memory of each device.
 */
#include "passes/tools/dopt/driver.h"
#include "passes/tools/report/report.h"

#include "ir/base/vec.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

enum { CELL = 10 }; /* columns of a number with its unit, and a blank */
/* Keys of JSON name counts in the plural, for any number. */
enum { COUNTS = 2 };

struct ir_module *
driver_without_calls(const void *owner, struct driver *t, struct ir_module *m)
{
	struct pass_pipeline *p = pass_pipeline_create(owner);
	struct pass_manager *manager = pass_manager_create(p, t->ctx);

	if (!pass_pipeline_require(p, manager, m, "no-calls"))
		return NULL;
	if (!p->n)
		return m;
	struct ir_module *copy = ir_module_clone(p, m);
	return pass_pipeline_run(p, manager, &copy, NULL) == PASS_DONE ? copy : NULL;
}

bool
driver_evaluate(struct driver *t, struct ir_module *m, struct cost_report *report)
{
	void *scratch = alloc_scratch(t->stats);
	struct ir_module *copy = driver_without_calls(scratch, t, m);
	bool ok = copy && cost_evaluate(t->cost, copy, report);
	const double budget = (double)t->manager->budget;

	if (budget > 0 && report->peak_bytes > budget)
		report->fits = false;

	talloc_free(scratch);
	return ok;
}

bool
driver_stats_add(struct driver *t, struct ir_module *m, const struct pass_run *run,
	const struct pass_entry *e, double seconds)
{
	struct driver_stats *s = t->stats;

	LIST_PUSH(s, s->row, s->n, (struct driver_row){.seconds = seconds});
	struct driver_row *row = &s->row[s->n - 1];
	if (e) {
		row->name = e->pass->name;
		row->automatic = e->automatic;
		row->changed = run->changed;
		row->counter = talloc_steal(s, run->manager->counter);
		row->ncounters = run->manager->ncounters;
		run->manager->counter = NULL;
		run->manager->ncounters = 0;
	}
	if (!t->o->stats && t->o->emit != DRIVER_EMIT_REPORT && t->o->keep != DRIVER_KEEP_BETTER)
		return true;
	bool ok = driver_evaluate(t, m, &row->cost);
	row->over = t->manager->budget && row->cost.peak_bytes > (double)t->manager->budget;
	return ok;
}

static void
print_seconds(FILE *out, double s)
{
	char text[NUMBER_TEXT];

	fprintf(out, " %*s", CELL, number_seconds(text, s));
}

static void
print_bytes(FILE *out, double bytes)
{
	char text[NUMBER_TEXT];

	fprintf(out, " %*s", CELL, number_bytes(text, bytes));
}

static int
name_width(const struct driver_stats *s)
{
	int width = (int)strlen("input");

	for (int i = 0; i < s->n; i++) {
		const struct driver_row *row = &s->row[i];
		int n = row->name ? (int)strlen(row->name) + 2 * row->automatic : 0;
		if (n > width)
			width = n;
	}
	return width;
}

static void
put_counter(FILE *out, const char *gap, const struct pass_counter *c)
{
	char *text = number_count(NULL, c->n, c->what);

	fprintf(out, "%s%s", gap, text);
	talloc_free(text);
}

/* Does any module keep values in host memory? */
static bool
uses_host(const struct driver_stats *s)
{
	for (int i = 0; i < s->n; i++)
		if (s->row[i].cost.host_bytes > 0)
			return true;
	return false;
}

static void
print_costs(FILE *out, const struct cost_report *r, bool host)
{
	fprintf(out, " %8u", r->ops);
	print_seconds(out, r->iteration);
	print_seconds(out, r->compute);
	print_seconds(out, r->communication);
	print_seconds(out, r->exposed);
	if (host)
		print_seconds(out, r->copies);
	print_bytes(out, r->peak_bytes);
	if (host)
		print_bytes(out, r->host_bytes);
}

static void
print_row(FILE *out, const struct driver_row *row, int width, bool cost, bool host)
{
	int n = fprintf(out, row->automatic ? "(%s)" : "%s", row->name ? row->name : "input");

	if (cost || row->name)
		fprintf(out, "%*s", width - n, "");
	if (cost)
		print_costs(out, &row->cost, host);
	if (row->name)
		print_seconds(out, row->seconds);
	if (row->over)
		fputs("  over budget", out);
	if (row->dropped)
		fputs("  dropped", out);
	else if (row->name && !row->changed)
		fputs("  no change", out);
	for (int i = 0; i < row->ncounters; i++)
		put_counter(out, i ? ", " : "  ", &row->counter[i]);
	fputc('\n', out);
}

static void
print_table(FILE *out, const struct driver_stats *s, const struct cost_model *cost)
{
	static const struct {
		const char *name;
		bool host; /* only if anything is in host memory */
	} column[] = {{"iteration", false}, {"compute", false}, {"comm", false}, {"exposed", false},
		{"copies", true}, {"memory", false}, {"host", true}};
	const int width = name_width(s);
	const bool host = cost && uses_host(s);

	if (cost && s->n) {
		const double libraries = s->row[s->n - 1].cost.library_bytes;
		char number[NUMBER_TEXT];
		char *times = cost_report_header(s, cost, &s->row[s->n - 1].cost);
		fprintf(out, "%s\n", times);
		if (libraries > 0)
			fprintf(out, "memory: the driver and NCCL take %s of it on each device\n",
				number_bytes(number, libraries));
		talloc_free(times);
	}
	fprintf(out, "%-*s", width, "pass");
	if (cost) {
		fprintf(out, " %8s", "ops");
		for (size_t i = 0; i < sizeof column / sizeof *column; i++)
			if (host || !column[i].host)
				fprintf(out, " %*s", CELL, column[i].name);
	}
	fprintf(out, " %*s\n", CELL, "pass time");
	for (int i = 0; i < s->n; i++)
		print_row(out, &s->row[i], width, cost != NULL, host);
}

static void
json_row(FILE *out, const struct driver_row *row, const struct cost_model *cost)
{
	fputs("  {\"pass\": ", out);
	text_json(out, row->name ? row->name : "input");
	if (row->name)
		fprintf(out,
			", \"automatic\": %s, \"changed\": %s, \"dropped\": %s, \"seconds\": %.9g",
			row->automatic ? "true" : "false", row->changed ? "true" : "false",
			row->dropped ? "true" : "false", row->seconds);
	if (row->ncounters) {
		fputs(", \"counts\": {", out);
		for (int i = 0; i < row->ncounters; i++) {
			fputs(i ? ", " : "", out);
			char *key = number_noun(NULL, COUNTS, row->counter[i].what);
			text_json(out, key);
			fprintf(out, ": %" PRId64, row->counter[i].n);
			talloc_free(key);
		}
		fputc('}', out);
	}
	if (cost) {
		fprintf(out, ", \"over_budget\": %s, \"cost\": ", row->over ? "true" : "false");
		cost_report_json(out, cost, &row->cost);
	}
	fputc('}', out);
}

void
driver_stats_print(
	FILE *out, const struct driver_stats *s, const struct cost_model *cost, bool json)
{
	if (!json) {
		print_table(out, s, cost);
		if (s->whatif)
			driver_whatif_print(out, s->whatif);
		return;
	}
	fputs("[\n", out);
	for (int i = 0; i < s->n; i++) {
		json_row(out, &s->row[i], cost);
		fputs(i + 1 < s->n || s->whatif ? ",\n" : "\n", out);
	}
	if (s->whatif)
		driver_whatif_json(out, s->whatif);
	fputs("]\n", out);
}
