/*
 * not known
 */
#ifndef PASSES_TOOLS_REPORT_REPORT_H
#define PASSES_TOOLS_REPORT_REPORT_H

#include "ir/base/number.h"
#include "ir/names.h"
#include "ir/numbering.h"
#include "passes/analysis/cost/memory.h"
#include "passes/manager/pipeline.h"
#include "passes/tools/stats.h"

/* Live bytes of a device from a time on. */
struct view_level {
	double time; /* s */
	const struct memory_point *point;
};

/* A module whose step has been replayed. */
struct view {
	const struct ir_module *m;
	struct ir_func *main;
	struct names *names;
	const struct cost_model *cost;
	struct cost_report total;
	struct cost_timeline *line;
	struct ir_numbering *ops; /* of @main */
	double *flops;            /* of one run of a kernel at one place, by number of the op */
	uint32_t *places;         /* on each kind of device of the cluster */
	double peak; /* peak FLOP/s of all places together, for the element type of the products; */
	double room; /* bytes of memory of the device with the least */
	struct memory_curve *memory;
	struct view_level *level; /* [nlevels] in order of time, at different times */
	uint32_t nlevels;
};

/* Fills in the memory of a view that has its timeline. */
void view_memory(struct view *v);

/* Replays a module without calls; owned by `owner`. NULL: reported. */
struct view *view_create(
	const void *owner, const struct cost_model *cost, const struct ir_module *m);

/*
 * At most n levels over an iteration: the largest one in each n-th of it. Returns the number of
 * levels that remain.
 */
uint32_t view_levels_reduce(
	struct view_level *level, uint32_t nlevels, double iteration, uint32_t n);

/* The number of the op of an event. */
static inline uint32_t
view_op(const struct view *v, const struct cost_event *e)
{
	return ir_number(v->ops, e->op);
}

/* Work of an event: flops of a kernel at one place; the mesh axis of a collective or NULL. */
double view_flops(const struct view *v, const struct cost_event *e);
const char *view_axis(const struct view *v, const struct cost_event *e);

/* "%h", "%42", or "" for an op without results; in `text`, which is returned. */
enum { VIEW_NAME = 256 }; /* longer names are cut, as they are unreadable */
const char *view_value(const struct view *v, const struct ir_op *op, char text[VIEW_NAME]);

/* Events of one kind: all kernels of an op, all its messages along an axis. Seconds, bytes and
 * FLOPs are means over the devices. */
struct view_kind {
	int number;
	enum op_code code; /* of a fuse, that of its op with the most arithmetic */
	bool fuse;
	const char *axis; /* of collectives */
	uint32_t count;
	double bytes, flops, seconds, exposed, waited;
};

/*
 * The events selected by a test (NULL: all) by kind, sorted (NULL: the longest first), owned by
 * `owner`. After the last one, an entry has count 0.
 */
struct view_kind *view_kinds(const void *owner, const struct view *v,
	bool (*test)(const struct cost_event *), int (*order)(const void *, const void *));

/* "fuse: matmul", "allreduce along dp"; owned by `owner`. */
char *view_kind_text(const void *owner, const struct view_kind *k);

/* The predicted step as a Chrome trace. */
void driver_timeline_write(FILE *out, const struct view *v);

/* The same as an HTML page, with the passes and their remarks; reduces the levels. */
void driver_report_write(FILE *out, const struct driver_stats *stats,
	const struct pass_manager *manager, struct view *v);

/* A JSON string in quotes; the text of an HTML element or attribute. Bytes that are not valid UTF-8
 * are written as U+FFFD. */
void text_json(FILE *out, const char *s);
void text_html(FILE *out, const char *s);

/* The name without its numbers, "h*.wq" of "h12.wq"; owned by `owner`. */
char *text_pattern(const void *owner, const char *name);

#endif
