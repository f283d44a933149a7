/* Tables: see table.h. */
#include "passes/analysis/trace/report/table.h"

#include "ir/base/number.h"
#include "ir/base/alloc.h"

#include <stdarg.h>
#include <string.h>

enum {
	MAX_COLUMNS = 16,
	COLUMN_GAP = 2,
};

struct trace_table {
	int columns;
	bool text[MAX_COLUMNS];
	size_t width[MAX_COLUMNS];
	char *(*cell)[MAX_COLUMNS]; /* [nrows], the first is the head */
	uint32_t nrows;
};

/* Counts characters, not bytes: UTF-8 continuation bytes do not count. */
static size_t
width_of(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += ((unsigned char)*s & 0xC0) != 0x80;
	return n;
}

static void
add_row(struct trace_table *t, char *text)
{
	int n = 0;

	t->cell = alloc_resize(t, t->cell, (size_t)t->nrows + 1, sizeof *t->cell, "a table");
	memset(t->cell[t->nrows], 0, sizeof *t->cell);
	for (char *cell; n < MAX_COLUMNS && (cell = strsep(&text, "|")); n++) {
		if (t->nrows == 0) {
			t->text[n] = *cell == '<';
			cell += t->text[n];
			t->columns = n + 1;
		}
		t->cell[t->nrows][n] = cell;
		const size_t width = width_of(cell);
		t->width[n] = width > t->width[n] ? width : t->width[n];
	}
	t->nrows++;
}

struct trace_table *
trace_table_create(const void *owner, const char *head)
{
	struct trace_table *t = NEW(owner, struct trace_table);

	add_row(t, text_copy(t, head));
	return t;
}

void
trace_table_row(struct trace_table *t, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	add_row(t, text_vprint(t, format, args));
	va_end(args);
}

static void
put_cell(FILE *out, const struct trace_table *t, uint32_t row, int column, bool last)
{
	const char *cell = t->cell[row][column] ? t->cell[row][column] : "";
	const int blanks = (int)(t->width[column] - width_of(cell));

	if (!t->text[column])
		fprintf(out, "%*s", blanks, "");
	fputs(cell, out);
	if (t->text[column] && !last)
		fprintf(out, "%*s", blanks, "");
}

static void
put_rule(FILE *out, const struct trace_table *t)
{
	fputc('|', out);
	for (int c = 0; c < t->columns; c++)
		fputs(t->text[c] ? " --- |" : " ---: |", out);
	fputc('\n', out);
}

void
trace_table_print(FILE *out, enum trace_format format, const struct trace_table *t)
{
	const bool md = format == TRACE_MARKDOWN;

	for (uint32_t r = 0; r < t->nrows; r++) {
		for (int c = 0; c < t->columns; c++) {
			const bool last = c + 1 == t->columns;
			fputs(md ? (c ? " | " : "| ") : "", out);
			put_cell(out, t, r, c, last && !md);
			if (!md && !last)
				fprintf(out, "%*s", COLUMN_GAP, "");
		}
		fputs(md ? " |\n" : "\n", out);
		if (md && r == 0)
			put_rule(out, t);
	}
	fputc('\n', out);
}

char *
trace_time_text(const void *owner, double seconds)
{
	char text[NUMBER_TEXT];

	return TEXT(owner, "%s", number_seconds_column(text, seconds));
}
