/* A cost report as JSON and as the line above a table. */
#include "passes/analysis/cost/cost.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/ops/while.h"

static void
put_json_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < ' ')
			fprintf(out, "\\u%04x", (unsigned)*s);
		else
			fputc(*s, out);
	}
	fputc('"', out);
}

void
cost_report_json(FILE *out, const struct cost_model *model, const struct cost_report *r)
{
	const struct {
		const char *name;
		double value;
	} fields[] = {
		{"iteration", r->iteration},
		{"compute", r->compute},
		{"communication", r->communication},
		{"exposed", r->exposed},
		{"peak_bytes", r->peak_bytes},
		{"library_bytes", r->library_bytes},
		{"persistent_bytes", r->persistent_bytes},
		{"copies", r->copies},
		{"host_bytes", r->host_bytes},
		{"flops", r->flops},
		{"parameters", r->parameters},
		{"examples", r->examples},
		{"tokens", r->tokens},
		{"ops", r->ops},
		{"events", r->events},
		{"launches", r->launches},
		{"measured", r->measured},
		{"estimated", r->estimated},
		{"measured_time", r->measured_time},
		{"estimated_time", r->estimated_time},
		{"assumed", r->assumed},
	};
	fprintf(out, "{\"device\": ");
	put_json_string(out, cost_model_device(model)->name);
	for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
		fprintf(out, ", \"%s\": %.12g", fields[i].name, fields[i].value);
	fprintf(out, ", \"fits\": %s}", r->fits ? "true" : "false");
}

enum { RATES_TEXT = 2 * NUMBER_TEXT + 96 };

/* "; 1 loop assumed to run 10 times; 16.2k examples, 16.6M tokens a second", as far as they are known. */
static void
write_rates(char text[RATES_TEXT], const struct cost_report *r)
{
	char number[NUMBER_TEXT];
	int n = 0;

	*text = '\0';
	if (r->assumed)
		n = snprintf(text, RATES_TEXT, "; %u loop%s assumed to run %d times", r->assumed,
			number_plural(r->assumed), WHILE_TRIPS);
	if (!(r->iteration > 0) || (!r->examples && !r->tokens))
		return;
	if (r->examples)
		n += snprintf(text + n, (size_t)(RATES_TEXT - n), "; %s examples",
			number_large(number, r->examples / r->iteration));
	if (r->tokens)
		n += snprintf(text + n, (size_t)(RATES_TEXT - n), "%s%s tokens",
			r->examples ? ", " : "; ", number_large(number, r->tokens / r->iteration));
	snprintf(text + n, (size_t)(RATES_TEXT - n), " a second");
}

char *
cost_report_header(const void *owner, const struct cost_model *model, const struct cost_report *r)
{
	uint32_t all = r->measured + r->estimated;
	double time = r->measured_time + r->estimated_time;
	const struct device *d = cost_model_device(model);
	const char *name = d->name;
	char rates[RATES_TEXT];

	write_rates(rates, r);
	if (!r->measured && d->reached)
		return TEXT(owner, "times: all %u ops estimated for %s at reached rates: %s%s", all,
			name, d->reach_source ? d->reach_source : "no source given", rates);
	if (!r->measured)
		return TEXT(owner, "times: all %u ops estimated for %s%s", all, name, rates);
	if (!r->estimated)
		return TEXT(owner, "times: all %u ops measured on %s%s", all, name, rates);
	return TEXT(owner,
		"times: %u of %u ops (%.1f %% of the time) measured on %s, the others estimated%s",
		r->measured, all, time > 0 ? 100 * r->measured_time / time : 0, name, rates);
}
