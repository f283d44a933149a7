/* A trace file that is being read: shared by the files that read it. */
#ifndef PASSES_ANALYSIS_TRACE_IMPL_H
#define PASSES_ANALYSIS_TRACE_IMPL_H

#include "ir/base/vec.h"
#include "passes/analysis/trace/trace.h"
#include "passes/analysis/trace/json.h"

/* Nanoseconds: 30 years, so that sums and differences of times fit 64 bits. */
#define TRACE_MAX_TIME ((int64_t)1000000000 * 60 * 60 * 24 * 366 * 30)

/* Fields of "otherData" that are not kept unchanged. */
struct trace_header {
	const char *format;
	int64_t version, rank, ranks, dropped;
	const char *where[TRACE_MAX_FIELDS];
};

/* Events of one kind, in file order. */
struct trace_list VEC(struct trace_event);

/* In each list events are in order and do not overlap. */
enum trace_list_of {
	TRACE_OF_STEPS,
	TRACE_OF_COMPUTE,
	TRACE_OF_COMMUNICATION,
	TRACE_OF_COPIES_TO_HOST,
	TRACE_OF_COPIES_TO_DEVICE,
	TRACE_LISTS
};

/* The contents of one file. */
struct trace_file {
	struct trace *trace; /* owns everything; t is moved there in the end */
	struct trace t;
	struct trace_header header;
	bool checked; /* the header is present and valid */
	struct trace_list list[TRACE_LISTS];
	const char *where[2]; /* "otherData" and "traceEvents" */
};

/* The fields of "otherData", into struct trace_file. */
extern const struct trace_fields trace_header_fields;

/* Are all fields present and consistent? Call it once the object has been read. */
bool trace_header_check(struct trace_reader *r, struct trace_file *f);

/* Reads one of "traceEvents" into the lists; the header must be valid. */
bool trace_event_read(struct trace_reader *r, struct trace_file *f);

/* Joins the lists; they must be in order, without overlapping events. */
bool trace_events_finish(struct trace_reader *r, struct trace_file *f);

#endif
