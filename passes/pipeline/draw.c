/*
 * A schedule as a picture:
 *
 *     rank 0 |0|1|2|3|       | 0 | 4 | 1 ...      a box per action, as wide as its time
 *     rank 1     |0|1|2|3| 0 | 4 | 1 ...          legend, times below
 */
#include "passes/pipeline/schedule.h"

#include <math.h>
#include <talloc.h>

enum {
	ROW = 26,     /* height of a rank's row */
	BOX = 20,     /* height of a box in it */
	MARGIN = 60,  /* space left of the boxes for names of ranks */
	LEGEND = 160, /* width of an entry of the legend */
	DIGIT = 7,    /* width of a digit */
	SHORT = 16,   /* wanted width of the shortest action ... */
	LEAST = 600,  /* ... within these widths of the whole */
	MOST = 6000,
	SHADES = 2, /* colours of the stages of a rank, in turn */
};

static const struct {
	enum schedule_kind kind;
	const char *text, *color[SHADES];
} legend[] = {
	{SCHEDULE_FORWARD, "F forward", {"#7aa6da", "#b9d2f0"}},
	{SCHEDULE_BACKWARD, "B backward", {"#e39b54", "#f3cfa6"}},
	{SCHEDULE_INPUT, "I gradients of inputs", {"#d9776f", "#efb9b4"}},
	{SCHEDULE_WEIGHT, "W gradients of weights", {"#8fbf7f", "#c9e2c0"}},
};
enum { KINDS = sizeof legend / sizeof *legend };

static const char *
color_of(const struct schedule *s, const struct schedule_action *a)
{
	int k = 0;

	while (legend[k].kind != a->kind)
		k++;
	return legend[k].color[s->nranks ? a->stage / s->nranks % SHADES : 0];
}

/* Pixels of a unit of time. */
static double
find_scale(const struct schedule *s, const struct schedule_cost *cost)
{
	double shortest = cost->makespan;

	for (int r = 0; r < s->nranks; r++)
		for (int i = 0; i < s->rank[r].n; i++) {
			const double time = cost->rank[r].finish[i] - cost->rank[r].start[i];
			if (schedule_computes(s->rank[r].action[i].kind) && time > 0)
				shortest = fmin(shortest, time);
		}
	if (!(cost->makespan > 0))
		return 1;
	return fmin(fmax(SHORT / shortest * cost->makespan, LEAST), MOST) / cost->makespan;
}

static void
draw_action(FILE *out, const struct schedule *s, const struct schedule_action *a, double x,
	double width, double y)
{
	int digits = 1;

	for (int n = a->step; n >= 10; n /= 10)
		digits++;
	fprintf(out, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"%s\">", x, y,
		width, BOX, color_of(s, a));
	char *text = schedule_action_text(NULL, a);
	fprintf(out, "<title>%s</title></rect>\n", text);
	talloc_free(text);
	if (width >= DIGIT * digits)
		fprintf(out, "<text x=\"%.2f\" y=\"%.0f\" text-anchor=\"middle\">%d</text>\n",
			x + width / 2, y + BOX - 6, a->step);
}

static void
draw_legend(FILE *out, const bool *used, double y)
{
	double x = MARGIN;

	for (int k = 0; k < KINDS; k++) {
		if (!used[k])
			continue;
		fprintf(out,
			"<rect x=\"%.0f\" y=\"%.0f\" width=\"14\" height=\"14\" fill=\"%s\"/>"
			"<text x=\"%.0f\" y=\"%.0f\">%s</text>\n",
			x, y, legend[k].color[0], x + 18, y + 11, legend[k].text);
		x += LEGEND;
	}
}

void
schedule_draw(FILE *out, const struct schedule *s, const struct schedule_cost *cost)
{
	const double scale = find_scale(s, cost);
	const double width = MARGIN + fmax(cost->makespan * scale, LEGEND * (KINDS + 2)) + 10;
	bool used[KINDS] = {false};

	fprintf(out,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%d\" "
		"font-family=\"sans-serif\" font-size=\"11\">\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		width, ROW * (s->nranks + 2));
	for (int r = 0; r < s->nranks; r++) {
		const struct schedule_use *u = &cost->rank[r];
		const double y = r * ROW + 4;
		fprintf(out, "<text x=\"6\" y=\"%.0f\">rank %d</text>\n", y + BOX - 6, r);
		fprintf(out,
			"<rect x=\"%d\" y=\"%.0f\" width=\"%.2f\" height=\"%d\" fill=\"#eeeeee\"/>\n",
			MARGIN, y, cost->makespan * scale, BOX);
		for (int i = 0; i < s->rank[r].n; i++) {
			const struct schedule_action *a = &s->rank[r].action[i];
			if (!schedule_computes(a->kind))
				continue;
			for (int k = 0; k < KINDS; k++)
				used[k] |= legend[k].kind == a->kind;
			/* A seam between boxes. */
			const double box = fmax(0.5, (u->finish[i] - u->start[i]) * scale - 1);
			draw_action(out, s, a, MARGIN + u->start[i] * scale, box, y);
		}
	}
	draw_legend(out, used, s->nranks * ROW + 8);
	if (s->nstages > s->nranks)
		fprintf(out,
			"<text x=\"%d\" y=\"%d\">lighter: every second stage of a rank</text>\n",
			MARGIN + KINDS * LEGEND, s->nranks * ROW + 19);
	fprintf(out,
		"<text x=\"%d\" y=\"%d\">makespan %.6g, largest bubble %.6g, most kept %.6g</text>\n",
		MARGIN, s->nranks * ROW + ROW + 14, cost->makespan, cost->bubble, cost->peak);
	fputs("</svg>\n", out);
}
