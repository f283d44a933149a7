/* -expect: programs with expected results. */
#include "passes/tools/dopt/checks.h"

#include "ir/base/alloc.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>
#include <talloc.h>

struct driver_checks {
	unsigned passed, failed, unsupported;
	/* of the current program */
	struct import_outcome outcome;
	struct diag *diag;
	char *message; /* the first error, or the first check that failed; NULL: none */
	bool empty;    /* nothing but blanks and comments */
};

struct driver_checks *
driver_checks_create(const void *owner)
{
	struct driver_checks *c = NEW(owner, struct driver_checks);

	return c;
}

static bool
is_blank(const char *text)
{
	for (; *text; text++) {
		if (isspace((unsigned char)*text))
			continue;
		if (text[0] != '/' || text[1] != '/')
			return false;
		text += strcspn(text, "\n");
		if (!*text)
			break;
	}
	return true;
}

static void
keep_first(void *data, const struct diag_message *m)
{
	struct driver_checks *c = data;

	if (m->level != DIAG_ERROR || c->message)
		return;
	const char *base = m->file ? strrchr(m->file, '/') : NULL;
	if (m->file)
		c->message = TEXT(c, "%s:%u: %s", base ? base + 1 : m->file, m->line, m->text);
	else
		c->message = text_copy(c, m->text);
}

void
driver_checks_begin(struct driver_checks *c, struct diag *d, const char *text)
{
	talloc_free(c->message);
	c->message = NULL;
	c->outcome = (struct import_outcome){0};
	c->diag = d;
	c->empty = is_blank(text);
	diag_set_handler(d, keep_first, c);
}

struct import_outcome *
driver_checks_outcome(struct driver_checks *c)
{
	return &c->outcome;
}

/* "check.12" is 12, any other name -1. */
static int
check_number(const char *name)
{
	int n = 0, end = 0;

	return sscanf(name, "check.%d%n", &n, &end) == 1 && !name[end] ? n : -1;
}

/* The first element that is false; -1: none. */
static int64_t
first_false(const struct tensor *t)
{
	for (int64_t i = 0; t && i < tensor_elements(t); i++)
		if (!t->data[i].i)
			return i;
	return -1;
}

/* Element i of a tensor that may lack leading dims, or have them with size 1. */
static char *
element_text(const void *owner, const struct tensor *t, int64_t i)
{
	if (!t)
		return text_copy(owner, "?");
	union cell v = t->data[i % tensor_elements(t)];
	if (ir_dtype_class(t->dtype) == IR_FLOAT)
		return TEXT(owner, "%.9g", v.f);
	if (t->dtype == IR_bool)
		return text_copy(owner, v.i ? "true" : "false");
	if (ir_dtype_class(t->dtype) == IR_UINT)
		return TEXT(owner, "%" PRIu64, (uint64_t)v.i);
	return TEXT(owner, "%" PRId64, v.i);
}

static const struct tensor *
part_of(const struct interp *it, int number, const char *part)
{
	char name[48];

	snprintf(name, sizeof name, "check.%d.%s", number, part);
	return interp_output(it, name);
}

static void
describe(struct driver_checks *c, const struct interp *it, int number, const struct ir_op *op,
	const char *how)
{
	void *scratch = alloc_scratch(NULL);
	const struct tensor *agrees = part_of(it, number, "agrees");
	int64_t at = first_false(agrees);
	const char *file = "";
	unsigned line = 0, column = 0;

	diag_place(c->diag, op->loc, &file, &line, &column);
	const char *base = strrchr(file, '/');
	c->message = TEXT(c, "%s:%u: check %d%s", base ? base + 1 : file, line, number, how);
	if (at >= 0)
		c->message = text_append(c->message, ", element %s: found %s, expected %s",
			tensor_index_text(scratch, agrees, at),
			element_text(scratch, part_of(it, number, "found"), at),
			element_text(scratch, part_of(it, number, "expected"), at));
	talloc_free(scratch);
}

/* One step in that mode. */
static bool
run(struct driver_checks *c, const struct ir_module *m, enum interp_mode mode, const char *how)
{
	/* StableHLO's arithmetic is that of IEEE 754, subnormal numbers included. */
	const struct interp_options options = {.mode = mode, .subnormals = true};
	void *scratch = alloc_scratch(NULL);
	struct interp *it = interp_create(scratch, m, &options);
	bool ok = it && interp_step(it, 0);
	const struct ir_op *op;
	const char *name;

	for (int i = 0; ok && (name = interp_output_name(it, i, &op)); i++) {
		int number = check_number(name);
		if (number < 0 || first_false(interp_output(it, name)) < 0 || c->message)
			continue;
		describe(c, it, number, op, how);
	}
	talloc_free(scratch);
	return ok;
}

bool
driver_checks_run(struct driver_checks *c, const struct ir_module *m)
{
	if (!c->outcome.checks)
		return true; /* nothing to compare: it need not run */
	if (!run(c, m, INTERP_MEANING, ""))
		return false;
	return c->message || ir_places(m) < 2 || run(c, m, INTERP_LAYOUT, ", with layouts");
}

enum driver_exit
driver_checks_end(struct driver_checks *c, FILE *out, enum driver_exit exit)
{
	const char *name = c->outcome.name ? c->outcome.name : "program";

	diag_set_handler(c->diag, NULL, NULL);
	if (exit == DRIVER_USAGE || exit == DRIVER_BUG)
		return exit;
	if (c->empty)
		return DRIVER_OK;
	if (c->message && !c->outcome.unsupported) {
		fprintf(out, "%s: failed: %s\n", name, c->message);
		c->failed++;
		return DRIVER_INPUT;
	}
	if (c->message || !c->outcome.checks) {
		fprintf(out, "%s: unsupported: %s\n", name,
			c->message ? c->message : "it has no checks");
		c->unsupported++;
		return DRIVER_OK;
	}
	fprintf(out, "%s: passed\n", name);
	c->passed++;
	return DRIVER_OK;
}

void
driver_checks_sum(const struct driver_checks *c, FILE *out)
{
	fprintf(out, "%u passed, %u failed, %u unsupported\n", c->passed, c->failed,
		c->unsupported);
}
