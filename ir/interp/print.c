/* `dopt -run`: every output of every step, a line each; see interp_run_print. */
#include "ir/interp/internal.h"

#include <inttypes.h>
#include <math.h>
#include <talloc.h>

/* Printed elements of a tensor: enough for a few lines of a terminal. */
static const int64_t max_printed = 64;

static void
print_element(FILE *out, const struct tensor *t, int64_t i)
{
	if (ir_dtype_class(t->dtype) == IR_FLOAT)
		fprintf(out, "%.9g",
			isnan(t->data[i].f) ? (double)NAN : t->data[i].f); /* without a sign */
	else if (t->dtype == IR_bool)
		fputs(t->data[i].i ? "true" : "false", out);
	else if (t->dtype == IR_u64)
		fprintf(out, "%" PRIu64, (uint64_t)t->data[i].i);
	else
		fprintf(out, "%" PRId64, t->data[i].i);
}

/* Nested brackets, cut after max_printed elements. */
static void
print_dim(FILE *out, const struct tensor *t, int d, int64_t *at)
{
	if (d == t->rank) {
		print_element(out, t, (*at)++);
		return;
	}
	fputc('[', out);
	for (int64_t i = 0; i < t->dim[d]; i++) {
		if (i)
			fputs(", ", out);
		if (*at >= max_printed) {
			fputs("...", out);
			break;
		}
		print_dim(out, t, d + 1, at);
	}
	fputc(']', out);
}

static bool
run_print(struct interp *it, int64_t steps, FILE *out)
{
	for (int64_t s = 0; s < steps; s++) {
		if (!interp_step(it, s))
			return false;
		for (int i = 0; i < it->noutputs; i++) {
			int64_t at = 0;
			fprintf(out, "step %" PRId64 " %s = ", s, it->output[i].name);
			print_dim(out, it->output[i].now, 0, &at);
			fputc('\n', out);
		}
	}
	return true;
}

bool
interp_run_print(const struct ir_module *m, const struct interp_options *options, FILE *out)
{
	struct interp *it = interp_create(NULL, m, options);
	const bool ok = it && run_print(it, options->steps ? options->steps : 1, out) &&
			(!options->save || interp_save(it, options->save));
	talloc_free(it);
	return ok;
}
