/*
 * A select whose arms are already loaded. A condition given by data cannot be predicted, and
 * compilers use a branch if an arm must be loaded. So arms that are elements of memory are read
 * first, both of them. Loops of a few vectors are unrolled, and a select in their remainders
 * becomes a branch again, unless it is computed on bits; in longer loops blending is faster.
 */
#include "lower/text/text.h"

#include "ir/base/alloc.h"

#include <string.h>

enum { SHORT_LOOP = 48 };

static bool
is_in_short_loop(const struct kernel_text *w, const struct scheme_op *o)
{
	const struct scheme_segment *g = &w->s->segment[o->segment];
	const uint32_t space = o->out_set | o->red_set;

	for (int i = g->norder - 1; i >= 0; i--)
		if (space >> g->order[i] & 1)
			return g->size[g->order[i]] <= SHORT_LOOP;
	return true;
}

static bool
is_plain(const struct expr *e)
{
	return e->kind == EXPR_LOAD || e->kind == EXPR_CONST;
}

/* Reads an arm into a local if it is an element of memory. */
static char *
read_first(struct kernel_text *w, const struct expr *e, char *text)
{
	if (e->kind != EXPR_LOAD || !strchr(text, '['))
		return text;
	char *name = TEXT(w->scratch, "t%d", w->ntemps++);
	kernel_line(
		w, "const %s %s = %s;", kernel_compute_type((enum ir_dtype)e->dtype), name, text);
	return name;
}

char *
kernel_select(
	struct kernel_text *w, const struct scheme_op *o, const struct expr *e, char *const *arg)
{
	const enum ir_dtype t = (enum ir_dtype)e->dtype;
	const bool plain = w->reads_both && is_plain(e->arg[1]) && is_plain(e->arg[2]);
	const bool bits = kernel_goes_by_position(w) || (plain && is_in_short_loop(w, o));
	char *const yes = plain ? read_first(w, e->arg[1], arg[1]) : arg[1];
	char *const no = plain ? read_first(w, e->arg[2], arg[2]) : arg[2];

	if (bits && (t == IR_f32 || (t == IR_f64 && plain)))
		return TEXT(w->scratch, "m_select_%s(%s != 0, %s, %s)", ir_dtype_name(t), arg[0],
			yes, no);
	return TEXT(w->scratch, "(%s ? %s : %s)", arg[0], yes, no);
}
