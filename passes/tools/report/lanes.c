/*
 * The lanes of the timeline: events stream by stream, reduced to a number that a page can hold.
 * Neighbours on a stream that both begin in the same interval of a grid and are both shorter than
 * it become one bar. The grid is the finest power of two of the iteration with which all bars
 * together are at most REPORT_EVENTS.
 */
#include "passes/tools/report/impl.h"

#include "ir/base/alloc.h"

#include <math.h>

#define FINEST 0x1p-24 /* of the iteration: a millionth of a pixel wide */

static bool
joins(const struct report_bar *bar, const struct cost_event *e, double grid)
{
	return grid > 0 && bar->end - bar->start < grid && e->end - e->start < grid &&
	       floor(bar->start / grid) == floor(e->start / grid);
}

static void
lane_add(struct report_lane *lane, const struct cost_event *e, double grid)
{
	struct report_bar *last = lane->n ? &lane->bar[lane->n - 1] : NULL;
	double seconds = e->end - e->start;

	if (!last || !joins(last, e, grid)) {
		lane->bar[lane->n++] =
			(struct report_bar){e->start, e->end, e, 1, seconds, e->critical};
		return;
	}
	last->end = e->end;
	last->n++;
	last->busy += seconds;
	last->critical |= e->critical;
}

/* The lane of an event, or NULL if its device is not shown. */
static struct report_lane *
lane_of(const struct report *r, const struct cost_event *e)
{
	const int copy = e->op->code == OP_offload ? LANE_OFFLOAD : LANE_RELOAD;
	const int s = e->communication ? LANE_COMMUNICATION : LANE_COMPUTE;
	const struct cost_timeline *line = r->v->line;

	if ((uint32_t)e->device >= r->ndevices)
		return NULL;
	return &r->device[e->device]
			.lane[e >= line->copy && e < line->copy + line->ncopies ? copy : s];
}

/* The i-th of all events: kernels and collectives, then copies. */
static const struct cost_event *
event_at(const struct cost_timeline *line, uint32_t i)
{
	return i < line->n ? &line->event[i] : &line->copy[i - line->n];
}

/* Puts all events into bars; returns the number of bars. */
static uint32_t
fill(struct report *r, double grid)
{
	const struct cost_timeline *line = r->v->line;
	uint32_t bars = 0;

	for (uint32_t d = 0; d < r->ndevices; d++)
		for (int s = 0; s < LANES; s++)
			r->device[d].lane[s].n = 0;
	for (uint32_t i = 0; i < line->n + line->ncopies; i++) {
		struct report_lane *lane = lane_of(r, event_at(line, i));
		if (lane)
			lane_add(lane, event_at(line, i), grid);
	}
	for (uint32_t d = 0; d < r->ndevices; d++)
		for (int s = 0; s < LANES; s++)
			bars += r->device[d].lane[s].n;
	return bars;
}

static void
allocate(struct report *r)
{
	const struct cost_timeline *line = r->v->line;

	r->device = array_create_zero(r, r->ndevices, sizeof *r->device, "the bars of a timeline");
	for (uint32_t i = 0; i < line->n + line->ncopies; i++) {
		struct report_lane *lane = lane_of(r, event_at(line, i));
		if (lane)
			lane->n++;
	}
	for (uint32_t d = 0; d < r->ndevices; d++)
		for (int s = 0; s < LANES; s++) {
			struct report_lane *lane = &r->device[d].lane[s];
			lane->bar = array_create_zero(
				r, lane->n, sizeof *lane->bar, "the bars of a timeline");
		}
}

static void
add_span(struct report_device *d, double start, double end)
{
	if (end <= start)
		return;
	if (d->nexposed && d->exposed[d->nexposed - 1].end >= start)
		d->exposed[d->nexposed - 1].end = end;
	else
		d->exposed[d->nexposed++] = (struct report_span){start, end};
}

/* The parts of the second lane not covered by the first. A bar begins or ends each span. */
static void
find_exposed(const struct report *r, struct report_device *d)
{
	const struct report_lane *compute = &d->lane[LANE_COMPUTE],
				 *communication = &d->lane[LANE_COMMUNICATION];
	uint32_t k = 0;

	d->exposed = array_create_zero(r, (size_t)compute->n + communication->n, sizeof *d->exposed,
		"the bars of a timeline");
	for (uint32_t i = 0; i < communication->n; i++) {
		double at = communication->bar[i].start, end = communication->bar[i].end;
		while (k < compute->n && compute->bar[k].end <= at)
			k++;
		for (uint32_t j = k; j < compute->n && compute->bar[j].start < end; j++) {
			add_span(d, at, compute->bar[j].start);
			at = fmax(at, compute->bar[j].end);
		}
		add_span(d, at, end);
	}
}

void
report_lanes(struct report *r)
{
	double grid = 0;

	r->ndevices = r->v->line->ndevices;
	if (r->ndevices > REPORT_DEVICES)
		r->ndevices = REPORT_DEVICES;
	r->nlanes = r->v->line->ncopies ? LANES : LANE_COMMUNICATION + 1;
	allocate(r);
	while ((r->nbars = fill(r, grid)) > REPORT_EVENTS)
		grid = grid > 0 ? 2 * grid : r->v->line->iteration * FINEST;
	r->merged = grid;
	for (uint32_t d = 0; d < r->ndevices; d++)
		find_exposed(r, &r->device[d]);
}
