/*
 * Which bands the readers of a value know, and whether any of them reads outside one. The first
 * goes from the last op of the module to the first, so that readers of an op's results come before
 * the op's operands; it ends at products. The second follows a value from reader to reader.
 */
#include "ir/loops/band/internal.h"

/* --- bands that readers know --- */

/* The set is kept sorted, so that it does not depend on the order of readers. */
static void
add_band(struct candidates *c, const struct band *b)
{
	int at = 0;

	while (at < c->n && band_order(&c->at[at], b) < 0)
		at++;
	if (at == WALK_CANDIDATES || (at < c->n && band_order(&c->at[at], b) == 0))
		return;
	c->n += c->n < WALK_CANDIDATES;
	for (int i = c->n - 1; i > at; i--)
		c->at[i] = c->at[i - 1];
	c->at[at] = *b;
}

static void
add_all(struct candidates *c, const struct candidates *from)
{
	for (int i = 0; from && i < from->n; i++)
		add_band(c, &from->at[i]);
}

static void
add_candidate(struct candidates *c, const struct form_access *x, const struct band *indices)
{
	struct band b;

	if (band_of_dims(x, indices, &b))
		add_band(c, &b);
}

/* Bands that an op compares positions for. */
static void
collect_comparisons(const struct place *p, const struct expr *e, const struct form_access *x,
	struct candidates *c)
{
	struct band b;

	if (e->kind != EXPR_CALL)
		return;
	if (band_compared(p, e, &b)) {
		const struct band rest = band_rest(&b);
		add_candidate(c, x, &b);
		add_candidate(c, x, &rest);
	}
	for (int i = 0; i < e->nargs; i++)
		collect_comparisons(p, e->arg[i], x, c);
}

/* Bands of the other operands of an op, or of what reads its result. */
static void
collect_formed(struct walk *w, const struct ir_op *op, const struct form *f, int at,
	const struct candidates *result, struct candidates *c)
{
	const struct place p = {.w = w, .op = op, .f = f};
	const bool product = f->reduce != REDUCE_NONE && f->ninputs > 1;
	struct candidates own = {.n = 0};
	struct band b;

	collect_comparisons(&p, f->body, &f->in[at], &own);
	for (int j = 0; j < f->ninputs; j++) {
		const struct fact *x = band_fact(w, ir_operand(op, j));
		for (int i = 0; i < x->nbands; i++)
			if (band_of_indices(f, &f->in[j], &x->band[i].band, &b))
				add_candidate(&own, &f->in[at], &b);
	}
	for (int i = 0; result && i < result->n && !own.n && !product; i++)
		if (band_of_indices(f, &f->out, &result->at[i], &b))
			add_candidate(c, &f->in[at], &b);
	add_all(c, &own);
}

static void
collect_reshaped(const struct ir_op *op, const struct candidates *result, struct candidates *c)
{
	struct band b;

	for (int i = 0; result && i < result->n; i++)
		if (band_reshaped(op->result[0].type, ir_operand_type(op, 0), &result->at[i], &b))
			add_band(c, &b);
}

/* The bands that an op knows of its operand `at`; `result`: the bands that readers of the op know.
 */
static void
collect_reader(struct walk *w, const struct ir_op *op, int at, const struct candidates *result,
	struct candidates *c)
{
	struct form f;

	if (op->code == OP_reshape)
		collect_reshaped(op, result, c);
	else if (((result && result->n) || band_is_near(w, op)) && band_form(w->b, op, &f))
		collect_formed(w, op, &f, at, result, c);
}

/* Adds a band that readers of a value know. */
static void
keep(struct bands *b, bool hopeful, const struct ir_value *v, const struct candidates *c)
{
	struct candidates **at = &b->view[hopeful].candidates[v->id];

	if (!c || !c->n)
		return;
	if (!*at) {
		*at = ARENA_NEW(b->a, struct candidates);
		(*at)->n = 0;
	}
	add_all(*at, c);
}

static void
collect_in_block(struct walk *w, const struct ir_block *block)
{
	struct candidates **all = w->b->view[w->hopeful].candidates;

	for (const struct ir_op *op = block->last; op; op = op->prev) {
		if (ir_fuse_body(op)) /* a while reads all of its operands */
			collect_in_block(w, op->body);
		for (int j = 0; j < op->noperands; j++) {
			struct candidates c = {.n = 0};
			if (op->code == OP_fuse)
				add_all(&c, all[op->body->arg[j].id]);
			else if (op->code == OP_yield && block->parent)
				add_all(&c, all[block->parent->result[j].id]);
			else
				collect_reader(
					w, op, j, op->nresults ? all[op->result[0].id] : NULL, &c);
			keep(w->b, w->hopeful, ir_operand(op, j), &c);
		}
		arena_reset(w->b->scratch);
	}
}

void
band_find_candidates(struct bands *b, bool hopeful)
{
	struct walk w = band_walk(b, hopeful);

	b->view[hopeful].candidates = ARRAY_ZERO(b, struct candidates *, b->nvalues);
	collect_in_block(&w, &ir_func_find(b->m, "main")->body);
}

/* The module's value that a result of a kernel of copies replaces; any other value itself. */
static const struct ir_value *
original(const struct bands *b, const struct ir_value *v)
{
	uint32_t left = v->index;

	if (!b->copy || v->op != b->copy)
		return v;
	for (uint32_t i = 0; i < b->noriginals; i++)
		if (b->out[i] && left-- == 0)
			return &b->original[i]->result[0];
	return v;
}

void
band_candidates(struct walk *w, const struct ir_value *v, struct candidates *c)
{
	v = original(w->b, v);
	if (v->id < w->b->nvalues) {
		add_all(c, w->b->view[w->hopeful].candidates[v->id]);
		return;
	}
	IR_FOR_USES (u, v) {
		const struct ir_op *op = u->op;
		const int at = (int)(u - op->operand);
		struct candidates result = {.n = 0};
		if (op->code == OP_yield) {
			band_candidates(w, &op->block->parent->result[at], c);
			continue;
		}
		band_candidates(w, &op->result[0], &result);
		collect_reader(w, op, at, &result, c);
	}
}

/* --- which ops read outside a band --- */

/* Are op, which reads v, and its readers independent of v outside the band? */
static bool
is_unread_by(struct walk *w, const struct ir_op *op, const struct ir_value *v, const struct band *b)
{
	struct form f;
	struct band next;

	if (w->readers++ >= WALK_READERS)
		return false;
	if (op->code == OP_reshape)
		return band_reshaped(v->type, op->result[0].type, b, &next) &&
		       band_is_unread(w, &op->result[0], &next);
	if (!band_form(w->b, op, &f))
		return false;
	struct place p = {.w = w, .op = op, .f = &f, .taint = ir_value_outside(v)};
	for (int j = 0, seen = 0; j < f.ninputs; j++) {
		if (ir_operand(op, j) != v)
			continue;
		if (!band_of_indices(&f, &f.in[j], b, &next) ||
			(seen++ && (!band_same_pair(&next, &p.band) || next.low != p.band.low ||
					   next.high != p.band.high)))
			return false;
		p.band = next;
	}
	if (!band_body(&p, f.body).taint)
		return true;
	return band_of_dims(&f.out, &p.band, &next) && band_is_unread(w, &op->result[0], &next);
}

/* Is the op replaced by a kernel of copies? */
static bool
is_replaced(const struct bands *b, const struct ir_op *op)
{
	for (uint32_t i = 0; b->copy && i < b->noriginals; i++)
		if (b->original[i] == op)
			return true;
	return false;
}

bool
band_is_unread(struct walk *w, const struct ir_value *v, const struct band *b)
{
	v = original(w->b, v);
	IR_FOR_USES (u, v) {
		const struct ir_op *op = u->op;
		const int at = (int)(u - op->operand);
		if (is_replaced(w->b, op))
			continue;
		if (op->code == OP_fuse ? !band_is_unread(w, &op->body->arg[at], b)
			: op->code == OP_yield && op->block->parent
				? !band_is_unread(w, &op->block->parent->result[at], b)
				: !is_unread_by(w, op, v, b))
			return false;
	}
	return true;
}
