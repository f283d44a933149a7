/* Remarks and statistics of passes: printed, kept for a report, as YAML. */
#include "passes/manager/pipeline.h"

#include "ir/base/vec.h"

#include <stdarg.h>
#include <string.h>
#include <talloc.h>

static const struct {
	const char *word,
		*tag; /* in a message; of the YAML document, as LLVM's opt-viewer reads it */
} remark_kind[] = {
	[PASS_APPLIED] = {"applied", "Passed"},
	[PASS_MISSED] = {"missed", "Missed"},
};

static void
remark_keep(struct pass_manager *manager, const struct pass_remark_record *r)
{
	LIST_PUSH(manager, manager->remark, manager->nremarks, *r);
	manager->remark[manager->nremarks - 1].text = text_copy(manager->remark, r->text);
}

bool
pass_remarks_wanted(const struct pass_run *run)
{
	return run->manager->keep_remarks || run->manager->show_remarks;
}

void
pass_remark(struct pass_run *run, const struct ir_op *op, enum pass_remark_kind kind,
	const char *format, ...)
{
	struct pass_manager *manager = run->manager;

	run->changed |= kind == PASS_APPLIED;
	if (!pass_remarks_wanted(run))
		return;
	va_list args;
	va_start(args, format);
	char *text = text_vprint(run->scratch, format, args);
	va_end(args);
	struct pass_remark_record r = {.pass = run->pass,
		.kind = kind,
		.loc = op ? op->loc : LOC_NONE,
		.op = op ? op_name((enum op_code)op->code) : NULL,
		.text = text};
	if (manager->show_remarks)
		diag_report(run->ctx->diag, DIAG_REMARK, r.loc, "%s: %s: %s", run->pass->name,
			remark_kind[kind].word, text);
	if (manager->keep_remarks)
		remark_keep(manager, &r);
	talloc_free(text);
}

void
pass_count(struct pass_run *run, const char *what, int64_t n)
{
	struct pass_manager *manager = run->manager;

	run->changed |= n > 0;
	for (int i = 0; i < manager->ncounters; i++) {
		if (!strcmp(manager->counter[i].what, what)) {
			manager->counter[i].n += n;
			return;
		}
	}
	LIST_PUSH(manager, manager->counter, manager->ncounters, (struct pass_counter){.n = n});
	/* A plugin's text may be freed before the table is printed. */
	manager->counter[manager->ncounters - 1].what = text_copy(manager->counter, what);
}

/* A YAML string in single quotes: the quote is doubled, a line break is written as a space. */
static void
yaml_quoted(FILE *out, const char *s)
{
	fputc('\'', out);
	for (; *s; s++) {
		if (*s == '\'')
			fputc('\'', out);
		fputc((unsigned char)*s < ' ' ? ' ' : *s, out);
	}
	fputc('\'', out);
}

static void
yaml_remark(FILE *out, const struct pass_manager *manager, const struct pass_remark_record *r)
{
	const char *file;
	unsigned line, column;

	fprintf(out, "--- !%s\n", remark_kind[r->kind].tag);
	fprintf(out, "Pass:            %s\n", r->pass->name);
	fprintf(out, "Name:            %s\n", r->op ? r->op : r->pass->name);
	if (diag_place(manager->ctx->diag, r->loc, &file, &line, &column)) {
		fputs("DebugLoc:        { File: ", out);
		yaml_quoted(out, file);
		fprintf(out, ", Line: %u, Column: %u }\n", line, column);
	}
	fputs("Function:        main\nArgs:\n  - String:          ", out);
	yaml_quoted(out, r->text);
	fputs("\n...\n", out);
}

void
pass_remarks_yaml(FILE *out, const struct pass_manager *manager)
{
	for (int i = 0; i < manager->nremarks; i++)
		yaml_remark(out, manager, &manager->remark[i]);
}
