/* What the files of the report share. */
#ifndef PASSES_TOOLS_REPORT_IMPL_H
#define PASSES_TOOLS_REPORT_IMPL_H

#include "passes/tools/report/report.h"

/* Size limits of a page: at all limits it has about 20 MB. */
enum report_limit {
	REPORT_EVENTS = 100000, /* bars; more are merged. A phone draws this many in 20 ms */
	REPORT_DEVICES = 32,    /* in the timeline and its table: more are unreadable */
	REPORT_ROWS = 100,      /* of a table; remarks have REPORT_REMARKS */
	REPORT_REMARKS = 500,
	REPORT_COLLECTIVES = 20, /* those exposed longest */
	REPORT_BUFFERS = 20,     /* the largest at the peak of memory */
	REPORT_LEVELS = 2000,    /* points of the memory curve: more than screens are wide */
	REPORT_NAME = 64,        /* bytes of a name or a type */
};

/* A bar of the timeline: an event, or several that are too short to be visible. */
struct report_bar {
	double start, end;
	const struct cost_event *event; /* the first */
	uint32_t n;                     /* events */
	double busy;                    /* sum of their seconds */
	bool critical;                  /* any of them is critical */
};

/* The events of one stream. */
struct report_lane {
	struct report_bar *bar;
	uint32_t n;
};

struct report_span {
	double start, end;
};

/* Lanes of a device; those of copies only if the step has any. */
enum report_stream { LANE_COMPUTE, LANE_COMMUNICATION, LANE_OFFLOAD, LANE_RELOAD, LANES };

/* A device of the timeline: its lanes, and when communication is not hidden by computation. */
struct report_device {
	struct report_lane lane[LANES];
	struct report_span *exposed;
	uint32_t nexposed;
};

struct report {
	const struct driver_stats *stats;
	const struct pass_manager *manager;
	const struct view *v;
	struct report_device *device;   /* [ndevices] */
	uint32_t ndevices;              /* shown */
	int nlanes;                     /* of each */
	const struct view_level *level; /* of the view, at most REPORT_LEVELS */
	uint32_t nlevels;
	uint32_t nbars;
	double merged; /* seconds: shorter events are merged; 0: none */
};

/* Fills in the lanes. */
void report_lanes(struct report *r);

/* Writes the data that the script draws, as JSON. */
void report_data(FILE *out, const struct report *r);

/* Tables and figures, each a section of the page. */
void report_totals(FILE *out, const struct report *r);
void report_whatif(FILE *out, const struct report *r);
void report_passes(FILE *out, const struct report *r);
void report_critical(FILE *out, const struct report *r);
void report_critical_kinds(FILE *out, const struct report *r); /* a table of that section */
void report_exposed(FILE *out, const struct report *r);
void report_causes(FILE *out, const struct report *r);
void report_kinds(FILE *out, const struct report *r);
void report_devices(FILE *out, const struct report *r);
void report_memory(FILE *out, const struct report *r);
void report_remarks(FILE *out, const struct report *r);

/* Sections and tables. Columns: names separated by "|"; a name that begins with ">" is numeric.
 */
void html_section(FILE *out, const char *id, const char *title, const char *about);
void html_table(FILE *out, const char *caption, const char *columns);
void html_table_end(FILE *out);
void html_row(FILE *out);
void html_text(FILE *out, const char *s);
void html_code(FILE *out, const char *s);
void html_number(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));
void html_seconds(FILE *out, double s);
void html_bytes(FILE *out, double bytes);
/* A number formatted as by number_seconds and the like, without a line break before its unit. */
void html_unit(FILE *out, const char *text);
void html_share(FILE *out, double part, double whole);
/* "The 20 longest of 1234." if a table is cut. */
void html_cut(FILE *out, uint32_t shown, uint32_t all, const char *what);

#endif
