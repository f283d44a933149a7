/*
 * What is known of values, op by op: from the first op of the module to the last, so that the facts
 * of operands are known before the op. Ops that read neither positions nor bands are skipped.
 */
#include "ir/loops/band/internal.h"

#include "ir/base/mix.h"
#include "ir/ops/row.h"

#include <string.h>

/* Adds a band of the value; two with the same value outside become one band. */
static void
add_band(struct fact *f, const struct fact_band *b)
{
	for (int i = 0; i < f->nbands; i++) {
		struct fact_band *x = &f->band[i];
		if (!band_same_pair(&x->band, &b->band))
			continue;
		if (band_within(&x->band, &b->band) && x->out.known >= b->out.known)
			return;
		if (x->out.known && b->out.known && x->out.number == b->out.number) {
			x->band.low = x->band.low > b->band.low ? x->band.low : b->band.low;
			x->band.high = x->band.high < b->band.high ? x->band.high : b->band.high;
			return;
		}
	}
	if (f->nbands < WALK_BANDS)
		f->band[f->nbands++] = *b;
}

/* Adds the value of the result outside a band of indices, if known. */
static void
try_band(const struct place *p, const struct band *b, struct fact *f)
{
	struct place at = *p;
	struct fact_band x;

	at.band = *b;
	if (!band_of_dims(&p->f->out, b, &x.band))
		return;
	x.out = band_body(&at, p->f->body);
	if (p->f->reduce != REDUCE_NONE && x.out.number != 0)
		x.out.known = false;
	x.out.dims = band_dims(&p->f->out, x.out.dims & ~p->f->reduced);
	if (band_is_uniform(&x))
		add_band(f, &x);
}

static void
try_comparisons(const struct place *p, const struct expr *e, struct fact *f)
{
	struct band b;

	if (e->kind != EXPR_CALL)
		return;
	if (band_compared(p, e, &b)) {
		const struct band rest = band_rest(&b);
		try_band(p, &b, f);
		try_band(p, &rest, f);
		return;
	}
	for (int i = 0; i < e->nargs; i++)
		try_comparisons(p, e->arg[i], f);
}

/* Derives bands of the result from bands of the operands. */
static void
try_operands(const struct place *p, struct fact *f)
{
	struct band b;

	for (int j = 0; j < p->f->ninputs; j++) {
		const struct fact *x = band_fact(p->w, ir_operand(p->op, j));
		for (int i = 0; i < x->nbands; i++)
			if (band_of_indices(p->f, &p->f->in[j], &x->band[i].band, &b))
				try_band(p, &b, f);
	}
}

static void
find_affine(const struct place *p, struct fact *f)
{
	struct affine sum = {.base = 0};

	if (p->f->reduce != REDUCE_NONE || !affine_add(p, p->f->body, 1, &sum) ||
		!affine_is_small(p, &sum))
		return;
	uint32_t left = 0;
	for (int i = 0; i < p->f->nindices; i++)
		left |= sum.coef[i] ? 1u << i : 0;
	for (int d = 0; d < p->f->out.rank; d++)
		if (p->f->out.index[d] >= 0) {
			f->coef[d] = sum.coef[p->f->out.index[d]];
			left &= ~(1u << p->f->out.index[d]);
		}
	f->affine = left == 0;
	f->base = sum.base;
}

/* Do places that hold the result differ in their operands? Missing ones are read as 0. */
static bool
has_absent(const struct ir_module *m, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++)
		for (int a = 0; a < m->naxes; a++)
			if (ir_operand_type(op, j)->axis[a].kind == IR_SINGLE &&
				op->result[0].type->axis[a].kind != IR_SINGLE)
				return true;
	return false;
}

/* The form, with whole sizes, of an op that works on elements of one place. */
bool
band_form(struct bands *b, const struct ir_op *op, struct form *f)
{
	return form_exists((enum op_code)op->code) && op->nresults == 1 &&
	       !op_is(op, TRAIT_PARALLEL | TRAIT_NAMED | TRAIT_EFFECT | TRAIT_OWN) &&
	       !has_absent(b->m, op) && form_make(b->m, b->scratch, op, op->result[0].type, f) &&
	       !form_has_computed(f) && !form_reduce_is_place((enum form_reduce)f->reduce);
}

/* May it compare indices of its own? */
static bool
is_positional(const struct ir_module *m, const struct ir_op *op)
{
	return op->code != OP_constant && strstr(op_row(m->ctx, op)->notation, "at(");
}

bool
band_is_near(struct walk *w, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++) {
		const struct fact *f = band_fact(w, ir_operand(op, j));
		if (f->affine || f->nbands)
			return true;
	}
	return op->noperands == 0 || is_positional(w->b->m, op);
}

static void
find_formed(struct walk *w, const struct ir_op *op, struct fact *f)
{
	struct form form;

	if (!band_is_near(w, op) || !band_form(w->b, op, &form) ||
		(form.reduce != REDUCE_NONE && form.ninputs > 1))
		return;
	const struct place p = {.w = w, .op = op, .f = &form};
	if (form.ninputs == 0 && form.body->kind == EXPR_CONST && form.reduce == REDUCE_NONE) {
		f->same = true;
		f->number = form.body->value;
	}
	find_affine(&p, f);
	if (f->affine || f->same)
		return;
	try_comparisons(&p, form.body, f);
	if (!f->nbands)
		try_operands(&p, f);
}

static void
find_reshaped(struct walk *w, const struct ir_op *op, struct fact *f)
{
	const struct ir_type *from = ir_operand_type(op, 0), *to = op->result[0].type;
	const struct fact *x = band_fact(w, ir_operand(op, 0));

	f->same = x->same;
	f->number = x->number;
	for (int i = 0; i < x->nbands; i++) {
		struct fact_band b = x->band[i];
		if (!band_reshaped(from, to, &x->band[i].band, &b.band))
			continue;
		b.out.dims = band_reshaped_dims(from, to, b.out.dims);
		add_band(f, &b);
	}
}

/* --- operands that a program can test --- */

bool
band_add_test(const struct ir_module *m, struct band_test *list, int *n, int operand,
	const struct ir_type *t, const struct fact_band *b)
{
	if (*n == BAND_MAX_TESTS || !band_may_test(t, b) ||
		ir_type_local_dim(m, t, b->band.row) != t->dim[b->band.row] ||
		ir_type_local_dim(m, t, b->band.col) != t->dim[b->band.col])
		return false;
	list[(*n)++] = (struct band_test){operand, b->band, (b->out.dims & 1u << b->band.col) != 0};
	return true;
}

/* The fact of an argument of the kernel's body, if testable operands are assumed to be 0. */
static struct fact
assumed(struct walk *w, const struct ir_value *v)
{
	struct fact x = *band_fact(w, ir_operand(w->kernel, (int)v->index));

	for (int i = 0; i < x.nbands; i++)
		if (band_add_test(w->b->m, w->test, &w->ntests, (int)v->index, v->type, &x.band[i]))
			x.band[i].out = outside_number(0);
	return x;
}

/* --- all values --- */

/* Is the value inside the kernel whose operands are assumed to be 0? */
static bool
is_assumed(const struct walk *w, const struct ir_value *v)
{
	return w->kernel && w->kernel->body && ir_value_block(v) == w->kernel->body;
}

static struct fact
find_fact(struct walk *w, const struct ir_value *v)
{
	struct fact f = {.same = false};
	const struct ir_op *op = v->op;

	if (!op)
		return is_assumed(w, v) ? assumed(w, v) : f;
	if (op->code == OP_fuse)
		return *band_fact(w, ir_operand(op->body->last, (int)v->index));
	if (op->code == OP_reshape)
		find_reshaped(w, op, &f);
	else
		find_formed(w, op, &f);
	return f;
}

static const struct fact *
kept(struct bands *b, const struct fact *f)
{
	struct fact *x;

	if (!f->same && !f->affine && !f->nbands)
		return NULL;
	x = ARENA_NEW(b->a, struct fact);
	*x = *f;
	return x;
}

static bool
same_value(const void *list, uint32_t i, const void *key)
{
	const struct knowns *known = list;

	return known->at[i].value == key;
}

/* For values that are not remembered: of a kernel that was made later, or of one whose operands are
 * assumed to be 0. */
static const struct fact *
looked_up(struct walk *w, const struct ir_value *v)
{
	const uint64_t hash = mix64((uintptr_t)v);
	const uint32_t i = map_find(&w->map, hash, same_value, &w->known, v);

	if (i != MAP_NONE)
		return w->known.at[i].fact;
	struct fact *f = ARENA_NEW(w->b->scratch, struct fact);
	*f = find_fact(w, v);
	map_add(w->b, &w->map, hash, same_value, &w->known, v);
	VEC_PUSH_IN(w->b->scratch, &w->known, (struct known){v, f});
	return f;
}

const struct fact *
band_fact(struct walk *w, const struct ir_value *v)
{
	static const struct fact nothing;

	if (is_assumed(w, v))
		return looked_up(w, v);
	v = ir_value_outside(v);
	if (is_assumed(w, v) || v->id >= w->b->nvalues)
		return looked_up(w, v);
	const struct fact *f = w->b->view[w->hopeful].fact[v->id];
	return f ? f : &nothing;
}

static void
find_in_block(struct walk *w, const struct ir_block *block)
{
	IR_FOR_OPS (op, block) {
		if (ir_fuse_body(op))
			find_in_block(w, op->body);
		for (int r = 0; r < op->nresults; r++) {
			const struct fact f = find_fact(w, &op->result[r]);
			w->b->view[w->hopeful].fact[op->result[r].id] = kept(w->b, &f);
		}
		arena_reset(w->b->scratch);
	}
}

void
band_find_facts(struct bands *b, bool hopeful)
{
	struct walk w = band_walk(b, hopeful);

	b->view[hopeful].fact = ARRAY_ZERO(b, const struct fact *, b->nvalues);
	find_in_block(&w, &ir_func_find(b->m, "main")->body);
}
