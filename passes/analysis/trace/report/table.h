/* Tables for readers: columns of text, aligned, or as Markdown. */
#ifndef PASSES_ANALYSIS_TRACE_REPORT_TABLE_H
#define PASSES_ANALYSIS_TRACE_REPORT_TABLE_H

#include "passes/analysis/trace/report/print.h"

struct trace_table;

/* A table whose first row is `head`, columns separated by '|'; a column whose head begins with '<'
 * is text; the others are numbers and right-aligned. */
struct trace_table *trace_table_create(const void *owner, const char *head);

/* A row, its cells separated by '|'. printf-like. */
void trace_table_row(struct trace_table *t, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Prints it, followed by an empty line. */
void trace_table_print(FILE *out, enum trace_format format, const struct trace_table *t);

/* "12.3us", "4.56ms": three digits and a unit; owned by `owner`. */
char *trace_time_text(const void *owner, double seconds);

#endif
