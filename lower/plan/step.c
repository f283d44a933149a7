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

/* The slot over these time axes in the present iteration, row-major; NULL for none. */
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
		/* What follows the loop is done at the last iteration's place in time. */
		step_line(w, "c->coord[%d] = %d;", last[n], w->p->module->axis[last[n]].size - 1);
	}
}

static void
write_action(struct step_writer *w, const struct lower_action *a)
{
	const int before = w->indent;

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
	for (int i = 0; i < w->p->nactions; i++)
		write_action(w, &w->p->action[i]);
	fprintf(w->out, "}\n\n");
}
