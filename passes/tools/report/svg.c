/*
 * The timeline and the memory curve as pictures, for browsers without scripts; the script replaces
 * them by the same drawing. Bars narrower than a pixel are added up pixel by pixel: the height of a
 * column is the busy part of its time.
 *
 *     0        200us     400us     600us      axis
 *     compute                                 label
 *     [ matmul ][ matmul ]        [ sub ]     lane
 *     ----------------            -------     critical path
 */
#include "passes/tools/report/impl.h"

#include <math.h>

enum { BAR = 18, STRIP = 3 }; /* heights in a lane */
#define SEAM 0.7              /* between bars of at least 3 pixels that touch */

/* A path of rectangles of one class. */
struct path {
	FILE *out;
	double y, height;   /* of a full bar */
	double column, sum; /* the pixel being added up */
	double end;         /* end of the last bar wider than a pixel */
	bool open, apart;   /* apart: with seams */
};

static void
path_rectangle(struct path *p, double x, double width, double part)
{
	double height = fmax(1, p->height * fmin(1, part));

	fprintf(p->out, "M%.1f %.1fh%.1fv%.1fh-%.1fz", x, p->y + p->height - height, width, height,
		width);
}

static void
path_flush(struct path *p)
{
	if (p->open)
		path_rectangle(p, p->column, 1, p->sum);
	p->open = false;
	p->sum = 0;
}

static struct path
path_begin(FILE *out, const char *class, double y, double height)
{
	fprintf(out, "<path class=\"%s\" d=\"", class);
	return (struct path){.out = out, .y = y, .height = height};
}

static void
path_end(struct path *p)
{
	path_flush(p);
	fputs("\"/>\n", p->out);
}

/* Pixels x0 to x1, busy for the fraction `part`. The share of wide bars in a pixel is added up,
 * too, if there are narrow ones in it. */
static void
path_bar(struct path *p, double x0, double x1, double part)
{
	bool inside = p->open && floor(x0) == p->column;

	if (x1 - x0 >= 1) {
		if (inside)
			p->sum += p->column + 1 - x0;
		path_flush(p);
		path_rectangle(p, x0, x1 - x0 - (p->apart && x1 - x0 >= 3 ? SEAM : 0), part);
		p->end = x1;
		return;
	}
	if (!inside) {
		path_flush(p);
		p->column = floor(x0);
		p->sum = fmax(0, p->end - p->column);
	}
	p->sum += (fmin(x1, p->column + 1) - x0) * part;
	p->open = true;
	if (x1 > p->column + 1)
		path_bar(p, p->column + 1, x1, part);
}

/* The x coordinate of a time, in pixels. */
static double
place(const struct report *r, double seconds)
{
	return r->v->line->iteration > 0 ? seconds / r->v->line->iteration * REPORT_COLUMNS : 0;
}

static void
draw_bars(FILE *out, const struct report *r, const struct report_lane *lane, const char *class,
	double y, double height, bool critical)
{
	struct path p = path_begin(out, class, y, height);

	p.apart = !critical;
	for (uint32_t i = 0; i < lane->n; i++) {
		const struct report_bar *b = &lane->bar[i];
		double length = b->end - b->start;
		if (length > 0 && (!critical || b->critical))
			path_bar(&p, place(r, b->start), place(r, b->end),
				critical ? 1 : b->busy / length);
	}
	path_end(&p);
}

static void
draw_exposed(FILE *out, const struct report *r, const struct report_device *d, double y)
{
	struct path p = path_begin(out, "x", y, BAR);

	for (uint32_t i = 0; i < d->nexposed; i++)
		path_bar(&p, place(r, d->exposed[i].start), place(r, d->exposed[i].end), 1);
	path_end(&p);
}

/* 1, 2 or 5 times a power of ten: at least `least`. */
static double
round_step(double least)
{
	double power = pow(10, floor(log10(least)));

	for (int i = 0; i < 3; i++) {
		static const double step[] = {1, 2, 5};
		if (step[i] * power >= least)
			return step[i] * power;
	}
	return 10 * power;
}

static void
draw_axis(FILE *out, const struct report *r, double height)
{
	enum { TICKS = 6 };
	double iteration = r->v->line->iteration, step;
	char text[NUMBER_TEXT];

	if (!(iteration > 0))
		return;
	step = round_step(iteration / TICKS);
	for (int i = 0; i * step < iteration; i++)
		fprintf(out,
			"<path class=\"g\" d=\"M%.1f 16V%.0f\"/><text class=\"a\" x=\"%.1f\" "
			"y=\"12\">%s</text>\n",
			place(r, i * step), height, place(r, i * step) + 3,
			number_seconds(text, i * step));
}

double
report_svg_height(const struct report *r)
{
	return REPORT_AXIS + r->ndevices * (2.0 * (REPORT_LABEL + REPORT_LANE) + REPORT_GAP);
}

void
report_svg_timeline(FILE *out, const struct report *r)
{
	static const char *const name[] = {"compute", "communication"};
	double y = REPORT_AXIS;

	draw_axis(out, r, report_svg_height(r));
	for (uint32_t d = 0; d < r->ndevices; d++, y += REPORT_GAP)
		for (int s = 0; s < 2; s++) {
			const struct report_device *device = &r->device[d];
			fprintf(out, "<text class=\"l\" x=\"2\" y=\"%.0f\">", y + 11);
			if (r->ndevices > 1)
				fprintf(out, "device %u: ", d);
			fprintf(out, "%s</text>\n", name[s]);
			y += REPORT_LABEL;
			draw_bars(out, r, &device->lane[s], s ? "c" : "k", y, BAR, false);
			if (s)
				draw_exposed(out, r, device, y);
			draw_bars(out, r, &device->lane[s], "p", y + BAR + 1, STRIP, true);
			y += REPORT_LANE;
		}
}

static double
level_sum(const struct memory_point *p, int kinds)
{
	double sum = 0;

	for (int k = 0; k < kinds; k++)
		sum += (double)p->bytes[k];
	return sum;
}

/* Where level i ends. */
static double
level_end(const struct report *r, uint32_t i)
{
	return place(r, i + 1 < r->nlevels ? r->level[i + 1].time : r->v->line->iteration);
}

/* The area between the sum of the kinds below `k` and that including it, as a stepped polygon. */
static void
draw_kind(FILE *out, const struct report *r, int k, double scale)
{
	fprintf(out, "<path class=\"m%d\" d=\"M0 %d", k, REPORT_CURVE);
	for (uint32_t i = 0; i < r->nlevels; i++)
		fprintf(out, "L%.1f %.1fH%.1f", place(r, r->level[i].time),
			REPORT_CURVE - scale * level_sum(r->level[i].point, k + 1),
			level_end(r, i));
	for (uint32_t i = r->nlevels; i-- > 0;)
		fprintf(out, "L%.1f %.1fH%.1f", level_end(r, i),
			REPORT_CURVE - scale * level_sum(r->level[i].point, k),
			place(r, r->level[i].time));
	fputs("z\"/>\n", out);
}

/* The memory of the device with the least, and what is beyond it. */
static void
draw_capacity(FILE *out, const struct report *r, double room, double scale)
{
	const double y = REPORT_CURVE - scale * room;
	char text[NUMBER_TEXT];

	for (uint32_t i = 0; i < r->nlevels; i++) {
		const double live = level_sum(r->level[i].point, MEMORY_NKINDS);
		if (live > room)
			fprintf(out, "<path class=\"over\" d=\"M%.1f %.1fV%.1fH%.1fV%.1fz\"/>\n",
				place(r, r->level[i].time), y, REPORT_CURVE - scale * live,
				level_end(r, i), y);
	}
	fprintf(out,
		"<path class=\"room\" d=\"M0 %.1fH%d\"/><text class=\"a\" x=\"%d\" y=\"%.1f\" "
		"text-anchor=\"end\">capacity %s</text>\n",
		y, REPORT_COLUMNS, REPORT_COLUMNS - 3,
		y + (scale * room < REPORT_CURVE - 14 ? 12 : -3), number_bytes(text, room));
}

void
report_svg_memory(FILE *out, const struct report *r)
{
	const double most = (double)r->v->memory->point[r->v->memory->peak].live;
	const double room = most > r->v->room * REPORT_NEAR / 100 ? r->v->room : 0;
	const double scale = (REPORT_CURVE - 14) / fmax(most, room);
	char text[NUMBER_TEXT];

	for (int k = 0; k < MEMORY_NKINDS && most > 0; k++)
		draw_kind(out, r, k, scale);
	if (room > 0)
		draw_capacity(out, r, room, scale);
	fprintf(out, "<text class=\"a\" x=\"3\" y=\"11\">%s</text>\n", number_bytes(text, most));
}
