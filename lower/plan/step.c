/* Actions as statements: see step.h. */
#include "lower/plan/step.h"

#include "ir/base/alloc.h"
#include "lower/plan/tables.h"

#include <inttypes.h>
#include <stdarg.h>
#include <talloc.h>

void
step_line(struct step_writer *w, const char *format, ...)
{
	va_list ap;

	for (int i = 0; i <= w->indent; i++)
		fputc('\t', w->out);
	va_start(ap, format);
	vfprintf(w->out, format, ap);
	va_end(ap);
	fputc('\n', w->out);
}

/* The iteration over these time axes, row-major; NULL for none. */
static char *
slot_text(const void *owner, const struct ir_module *m, uint32_t time)
{
	char *slot = NULL;

	for (int a = 0; a < m->naxes; a++) {
		if (!(time >> a & 1))
			continue;
		slot = slot ? TEXT(owner, "(%s * %d + c->coord[%d])", slot, m->axis[a].size, a)
			    : TEXT(owner, "c->coord[%d]", a);
	}
	return slot;
}

char *
step_address(const void *owner, const struct lower_plan *p, const struct lower_value *v)
{
	const struct storage_buffer *b = &p->buffer[v->buffer];
	char *text = TEXT(owner, "%s + %" PRIu64, b->memory == IR_HOST ? "h" : "m", b->offset);
	const char *slot = slot_text(owner, p->module, v->time);

	if (slot && v->ring)
		slot = TEXT(owner, "%s %% %u", slot, v->ring);

	return slot ? text_append(text, " + %s * %" PRIu64, slot, v->stride) : text;
}

void
step_copy_sides(const void *owner, const struct lower_plan *p, const struct lower_action *a,
	char **src, char **dst)
{
	*src = step_address(owner, p, &p->value[a->src]);
	*dst = step_address(owner, p, &p->value[a->dst]);
	if (a->copy.slice_axis < 0)
		return;
	char **side = a->copy.slice_src ? src : dst;
	*side = text_append(
		*side, " + c->coord[%d] * %" PRIu64, a->copy.slice_axis, a->copy.slice_bytes);
}

char *
step_is_first(const void *owner, const struct lower_plan *p, const struct lower_action *a)
{
	char *first = text_copy(owner, "");

	for (int x = 0; x < p->module->naxes; x++)
		if (a->over >> x & 1)
			first = text_append(first, "%sc->coord[%d] == 0", *first ? " && " : "", x);
	return first;
}

/* rt_transfer_post or rt_transfer_wait of the transfer's rows for this iteration, one a buffer. */
static void
write_transfer(struct step_writer *w, const struct lower_action *a)
{
	const struct lower_coll *coll = &w->p->coll[a->coll];
	const char *name = a->kind == LOWER_POST ? "post" : "wait";
	char *slot = slot_text(NULL, w->p->module, coll->time);

	for (int k = 0; k < coll->nbufs; k++)
		if (slot)
			step_line(w, "rt_transfer_%s(c, (int32_t)(%d + %s * %d));", name,
				coll->row + k, slot, coll->nbufs);
		else
			step_line(w, "rt_transfer_%s(c, %d);", name, coll->row + k);
	talloc_free(slot);
}

/* rt_post or rt_wait of the collective's row for this iteration. */
static void
write_coll(struct step_writer *w, const struct lower_action *a)
{
	const struct lower_coll *coll = &w->p->coll[a->coll];
	const char *name = a->kind == LOWER_POST ? "post" : "wait";
	char *slot = slot_text(NULL, w->p->module, coll->time);

	if (slot)
		step_line(w, "rt_%s(c, (int32_t)(%d + %s));", name, coll->row, slot);
	else
		step_line(w, "rt_%s(c, %d);", name, coll->row);
	talloc_free(slot);
}

static void
write_guard(struct step_writer *w, const struct lower_action *a)
{
	const struct lower_guard *g = &a->guard;
	char *text = text_copy(NULL, "");

	for (int i = 0; i < g->n; i++)
		text = text_append(
			text, "%sc->coord[%d] == %d", *text ? " && " : "", g->axis[i], g->place[i]);
	for (int x = 0; x < w->p->module->naxes; x++)
		if (a->last >> x & 1)
			text = text_append(text, "%sc->coord[%d] == %d", *text ? " && " : "", x,
				w->p->module->axis[x].size - 1);
	if (*text) {
		step_line(w, "if (%s) {", text);
		w->indent++;
	}
	talloc_free(text);
}

/* ---- loops with a schedule ---- */

/* A loop with a schedule as devices execute it. */
struct schedule {
	const struct lower_action *loop;
	const struct issue_loop *l;
	int time;                       /* axis */
	const struct ir_op **op;        /* [n] of messages */
	struct cell_message *message;   /* [n] */
	const struct lower_coll **coll; /* [n] */
	uint32_t n;
};

static struct schedule
schedule_of(const void *owner, const struct lower_plan *p, const struct lower_action *loop)
{
	struct schedule s = {.loop = loop, .l = lower_loop_of(p, loop)};

	while (!(s.l->over >> s.time & 1))
		s.time++;
	s.n = issue_messages(owner, p->storage->order, s.l, &s.op, &s.message);
	s.coll = ARRAY_ZERO(owner, const struct lower_coll *, s.n + 1u);
	for (int i = 0; i < p->ncolls; i++)
		for (uint32_t k = 0; k < s.n; k++)
			if (p->coll[i].op == s.op[k])
				s.coll[k] = &p->coll[i];
	return s;
}

/* The value of a message is made in a slot that an earlier message must have left. */
static void
write_source_waits(
	struct step_writer *w, const struct schedule *s, int stage, enum cell_phase phase)
{
	const struct lower_plan *p = w->p;

	for (uint32_t k = 0; k < s->n; k++)
		for (int b = 0; b < s->coll[k]->nbufs; b++) {
			const struct lower_value *v = &p->value[s->coll[k]->buf[b].src];
			const struct ir_op *maker = p->buffer[v->buffer].op;
			const uint32_t slots = v->ring ? v->ring : v->time ? s->l->iterations : 1;
			if (issue_loop_of(p->storage->order, maker) != s->l ||
				issue_phase(p->storage->order, maker) != phase ||
				slots >= s->l->iterations ||
				(stage >= 0 && s->message[k].from != (uint32_t)stage))
				continue;
			step_line(w, "if (c->coord[%d] == %u && c->coord[%d] >= %u)",
				s->coll[k]->axis, s->l->cells->device[s->message[k].from], s->time,
				slots);
			step_line(w, "\trt_wait(c, (int32_t)(%d + c->coord[%d] - %u));",
				s->coll[k]->row, s->time, slots);
		}
}

static void write_action(struct step_writer *w, const struct lower_action *a);

/* The first action of a phase, after its waits: these are for the posts of the previous phase. */
static const struct lower_action *
phase_begin(const struct schedule *s, uint32_t phase)
{
	const struct lower_action *a = s->loop + 1;

	while (phase && a->kind != LOWER_END &&
		(a->kind == LOWER_WAIT || a->at < (int32_t)(2 * s->l->phase[phase])))
		a++;
	return a;
}

/* Does the action belong to that stage? */
static bool
is_of_stage(const struct schedule *s, const struct lower_action *a, int stage)
{
	return stage < 0 || !a->op || !a->op->nresults ||
	       issue_stage(s->l, &a->op->result[0]) == stage;
}

/* For one stage; -1: for all, if each device has one. */
static void
write_phase(struct step_writer *w, const struct schedule *s, int stage, enum cell_phase phase)
{
	const struct lower_action *end = phase_begin(s, phase + 1u);
	struct cell_message m;

	write_source_waits(w, s, stage, phase);
	for (const struct lower_action *a = phase_begin(s, phase); a < end; a++)
		if (is_of_stage(s, a, stage) &&
			(a->kind != LOWER_POST ||
				!lower_is_message(w->p, &w->p->coll[a->coll], &m)))
			write_action(w, a);
}

/* The action of a cell as a number: that of its phase, or of both phases of the backward pass, for
 * each stage if devices have several; numbers after those are messages. */
enum { DOES_BOTH = CELL_PHASES, DOES };

static uint32_t
first_message(const struct cells *c)
{
	return cells_are_several(c) ? DOES * c->stages : DOES;
}

static uint32_t
number_of(const struct cells *c, const struct cell_item *it)
{
	if (it->cell.phase == CELL_PHASES)
		return first_message(c) + it->message;
	const uint32_t does = it->cell.last > it->cell.phase ? (uint32_t)DOES_BOTH : it->cell.phase;
	return cells_are_several(c) ? DOES * it->cell.stage + does : does;
}

/* The switch cases of the cells that occur. */
static void
write_cases(struct step_writer *w, const struct schedule *s)
{
	const struct cells *c = s->l->cells;
	bool *seen = ARRAY_ZERO(NULL, bool, first_message(c));

	for (uint32_t d = 0; d < c->devices; d++)
		for (uint32_t i = 0; i < c->n[d]; i++) {
			const struct cell_item it = {cells_line(c, d)[i], 0};
			const uint32_t does = number_of(c, &it);
			if (seen[does])
				continue;
			seen[does] = true;
			step_line(w, "case %u:", does);
			w->indent++;
			for (uint32_t phase = it.cell.phase; phase <= it.cell.last; phase++)
				write_phase(w, s, cells_are_several(c) ? it.cell.stage : -1,
					(enum cell_phase)phase);
			step_line(w, "break;");
			w->indent--;
		}
	array_free(seen);
}

/* The lines of all devices, one after another. */
static void
write_lines(struct step_writer *w, const struct schedule *s)
{
	const struct cells *c = s->l->cells;
	struct cell_lines *x = cells_lines(NULL, c, s->message, s->n);
	uint32_t first = 0;

	step_line(w, "static const struct { int32_t does, iteration; } line[] = {");
	for (uint32_t d = 0; d < c->devices; d++)
		for (uint32_t i = 0; i < x->n[d]; i++) {
			const struct cell_item *it = &x->item[d][i];
			step_line(w, "\t{%u, %u},", number_of(c, it), it->cell.iteration);
		}
	step_line(w, "};");
	step_line(w, "static const int32_t line_of[] = {");
	for (uint32_t d = 0; d <= c->devices; d++) {
		step_line(w, "\t%u,", first);
		first += d < c->devices ? x->n[d] : 0;
	}
	step_line(w, "};");
	talloc_free(x);
}

/* Each device executes its line: phases of iterations, and posts of messages between them. */
static void
write_scheduled(struct step_writer *w, const struct lower_action *a)
{
	void *scratch = alloc_scratch(NULL);
	const struct schedule s = schedule_of(scratch, w->p, a);

	step_line(w, "{");
	w->indent++;
	write_lines(w, &s);
	step_line(w,
		"for (int32_t i = line_of[c->coord[%d]]; i < line_of[c->coord[%d] + 1]; i++) {",
		s.l->stage_axis, s.l->stage_axis);
	w->indent++;
	step_line(w, "c->coord[%d] = line[i].iteration;", s.time);
	step_line(w, "switch (line[i].does) {");
	write_cases(w, &s);
	for (uint32_t k = 0; k < s.n; k++) {
		step_line(w, "case %u:", first_message(s.l->cells) + k);
		step_line(w, "\trt_post(c, (int32_t)(%d + c->coord[%d]));", s.coll[k]->row, s.time);
		step_line(w, "\tbreak;");
	}
	step_line(w, "}");
	w->indent--;
	step_line(w, "}");
	step_line(w, "c->coord[%d] = %u;", s.time, s.l->iterations - 1);
	/* Only the two ranks of a message have posted it. */
	for (uint32_t k = 0; k < s.n; k++) {
		const uint32_t *device = s.l->cells->device;
		step_line(w, "if (c->coord[%d] == %u || c->coord[%d] == %u)", s.l->stage_axis,
			device[s.message[k].from], s.l->stage_axis, device[s.message[k].to]);
		step_line(w, "\tfor (int32_t i = 0; i < %u; i++)", s.l->iterations);
		step_line(w, "\t\trt_wait(c, %d + i);", s.coll[k]->row);
	}
	w->indent--;
	step_line(w, "}");
	talloc_free(scratch);
}

static void
write_loop(struct step_writer *w, const struct lower_action *a)
{
	for (int x = 0; x < w->p->module->naxes; x++) {
		if (!(a->over >> x & 1))
			continue;
		step_line(w, "for (c->coord[%d] = 0; c->coord[%d] < %d; c->coord[%d]++) {", x, x,
			w->p->module->axis[x].size, x);
		w->indent++;
	}
}

static void
write_end(struct step_writer *w, const struct lower_action *a)
{
	int last[IR_MAX_AXES], n = 0;

	for (int x = 0; x < w->p->module->naxes; x++)
		if (a->over >> x & 1)
			last[n++] = x;
	while (n-- > 0) {
		w->indent--;
		step_line(w, "}");
		/* Actions after the loop see the coordinates of the last iteration. */
		step_line(w, "c->coord[%d] = %d;", last[n], w->p->module->axis[last[n]].size - 1);
	}
}

static void
write_action(struct step_writer *w, const struct lower_action *a)
{
	const int before = w->indent;

	if (w->before && !w->before(w, a))
		return;
	if (a->op && a->kind != LOWER_WAIT) {
		char *text = tables_op_text(NULL, w->p, a->op);
		fputc('\n', w->out);
		step_line(w, "/* %s */", text);
		talloc_free(text);
	}
	write_guard(w, a);
	if (a->kernel >= 0)
		step_line(w, "%s_begin(c, %d);", w->timer, a->kernel);
	switch (a->kind) {
	case LOWER_LOOP: write_loop(w, a); return;
	case LOWER_END: write_end(w, a); return;
	case LOWER_POST:
	case LOWER_WAIT:
		if (w->p->coll[a->coll].transfer)
			write_transfer(w, a);
		else
			write_coll(w, a);
		break;
	case LOWER_KERNEL: w->kernel(w, a); break;
	case LOWER_COPY:
	case LOWER_PACK: w->copy(w, a); break;
	case LOWER_ADD: w->add(w, a); break;
	}
	if (a->kernel >= 0)
		step_line(w, "%s_end(c, %d);", w->timer, a->kernel);
	if (w->indent > before) {
		w->indent = before;
		step_line(w, "}");
	}
}

void
step_write(struct step_writer *w)
{
	fprintf(w->out,
		"static void\n%sstep(struct rt_ctx *c)\n{\n\tunsigned char "
		"*const m = c->arena%s;\n\n\t(void)m;\n",
		w->prefix, w->p->host_bytes ? ", *const h = c->host" : "");
	if (w->p->host_bytes)
		step_line(w, "(void)h;");
	for (int i = 0; i < w->p->nactions; i++) {
		const struct lower_action *a = &w->p->action[i];
		if (a->kind != LOWER_LOOP || !lower_loop_of(w->p, a)->cells) {
			write_action(w, a);
			continue;
		}
		if (w->before)
			w->before(w, a);
		write_scheduled(w, a);
		while (w->p->action[i].kind != LOWER_END)
			i++;
	}
	if (w->before)
		w->before(w, NULL);
	fprintf(w->out, "}\n\n");
}
