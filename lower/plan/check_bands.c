/*
 * Elements that a matrix product leaves out have no effect. The planner derives bands from whole
 * forms (ir/loops/band/); this checks single elements instead, at the edges of the band in the
 * first and last rows of the blocks that are left out:
 *
 *    an operand    its element there, computed from positions and constants, is 0; or the kernel
 *                  tests it, and it is the same function of the same elements as the one tested
 *    the result    no op that reads the element depends on it, except to make elements of which
 *                  the same holds
 *
 * If one operand of a product is known to be 0, the product counts as 0.
 */
#include "lower/plan/check.h"

#include "ir/base/arena.h"
#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

enum { DEPTH = 200 }; /* most ops between an element and its sources */

struct made {
	const struct ir_op *op;
	const struct form *f; /* NULL: it cannot be followed */
};

struct element {
	const struct ir_value *value;
	int64_t at[IR_MAX_RANK];
};

/* What is known of an element from positions and constants. */
struct known {
	bool is, changed; /* its value is `number`; it depends on the changed element */
	double number;
};

/* A cached answer to a question about one element, or about two. */
struct answer {
	struct element e, other; /* other.value NULL: about e alone */
	struct known known;
	bool same;
};

struct look {
	struct check *c;
	struct arena *a;
	struct mades VEC(struct made) made;
	struct answers VEC(struct answer) answer;
	const struct ir_op *kernel;
	const struct scheme_gemm *g;
	const struct element *changed; /* whose readers are checked; NULL: none */
};

/* An op at values of its indices. */
struct point {
	struct look *l;
	const struct ir_op *op;
	const struct form *f;
	int64_t at[FORM_MAX_INDICES];
	int depth;
};

static struct known value_at(struct look *l, const struct element *e, int depth);

/* The form of an op whose elements can be followed. */
static const struct form *
form_of(struct look *l, const struct ir_op *op)
{
	const struct ir_module *m = l->c->p->module;

	for (int64_t i = 0; i < l->made.n; i++)
		if (l->made.at[i].op == op)
			return l->made.at[i].f;
	struct form *f = ARENA_NEW(l->a, struct form);
	bool good = form_exists((enum op_code)op->code) && op->nresults == 1 &&
		    !op_is(op, TRAIT_PARALLEL | TRAIT_NAMED | TRAIT_EFFECT | TRAIT_OWN) &&
		    form_make(m, l->a, op, op->result[0].type, f) && !form_has_computed(f);
	for (int j = 0; good && j < op->noperands; j++)
		for (int x = 0; x < m->naxes; x++)
			good &= ir_operand_type(op, j)->axis[x].kind != IR_SINGLE ||
				op->result[0].type->axis[x].kind == IR_SINGLE;
	VEC_PUSH_IN(l->a, &l->made, (struct made){op, good ? f : NULL});
	return good ? f : NULL;
}

/* The element of a tensor of that shape with the same row-major number. */
static struct element
reshaped(const struct element *e, const struct ir_type *from, const struct ir_value *to)
{
	struct element x = {.value = to};
	int64_t n = 0;

	for (int d = 0; d < from->rank; d++)
		n = n * from->dim[d] + e->at[d];
	for (int d = to->type->rank; d-- > 0; n /= to->type->dim[d])
		x.at[d] = n % to->type->dim[d];
	return x;
}

static struct element
element_of(const struct ir_value *v, const struct form_access *x, const int64_t *at)
{
	struct element e = {.value = v};

	for (int d = 0; d < x->rank; d++)
		e.at[d] = x->index[d] < 0 ? 0 : at[x->index[d]];
	return e;
}

static void
set_indices(const struct form_access *x, const int64_t *from, int64_t *at)
{
	for (int d = 0; d < x->rank; d++)
		if (x->index[d] >= 0)
			at[x->index[d]] = from[d];
}

/* The same element of the value outside of the kernel's body, made by a separate op. */
static struct element
resolved(struct element e)
{
	for (;;) {
		const struct ir_value *v = e.value;
		if (ir_value_outside(v) != v)
			e.value = ir_value_outside(v);
		else if (v->op && v->op->code == OP_fuse)
			e.value = ir_operand(v->op->body->last, (int)v->index);
		else if (v->op && v->op->code == OP_reshape)
			e = reshaped(&e, v->type, ir_operand(v->op, 0));
		else
			return e;
	}
}

static bool
same_element(const struct element *a, const struct element *b)
{
	return a->value == b->value &&
	       memcmp(a->at, b->at, (size_t)a->value->type->rank * sizeof *a->at) == 0;
}

/* --- an element from positions and constants --- */

static struct known body_at(const struct point *p, const struct expr *e);

static struct known
number(double x)
{
	return (struct known){.is = true, .number = x};
}

static bool
is_number(struct known x, double n)
{
	return x.is && x.number == n;
}

/* Functions of known numbers that are exact: for positions, and for 0 and 1. */
static struct known
computed(const struct expr *e, const struct known *x)
{
	const double a = x[0].number, b = x[1].number;

	switch ((enum scalar_fn)e->id) {
	case FN_lt: return number(a < b);
	case FN_le: return number(a <= b);
	case FN_gt: return number(a > b);
	case FN_ge: return number(a >= b);
	case FN_add: return number(a + b);
	case FN_sub: return number(a - b);
	case FN_neg: return number(-a);
	case FN_and: return number(a != 0 && b != 0);
	case FN_or: return number(a != 0 || b != 0);
	case FN_not: return number(a == 0);
	default: return (struct known){.is = false};
	}
}

/* Is it of a type in which such numbers are exact? */
static bool
is_exact(const struct expr *e, const struct known *x)
{
	const int t = e->arg[0]->dtype;
	const double most = 1 << 30;
	const bool logic = e->id == FN_and || e->id == FN_or || e->id == FN_not;

	for (int i = 0; i < e->nargs; i++)
		if (!x[i].is || x[i].number > most || x[i].number < -most)
			return false;
	if (logic)
		return t == IR_bool;
	if (t == IR_i32 || t == IR_i64)
		return true;
	return (e->id == FN_add || e->id == FN_sub || e->id == FN_neg) && x[0].number == 0 &&
	       (e->nargs == 1 || x[1].number == 0);
}

static struct known
call_at(const struct point *p, const struct expr *e)
{
	struct known x[3] = {{.is = false}}, none = {.is = false};

	x[0] = body_at(p, e->arg[0]);
	if (e->id == FN_select && x[0].is)
		return body_at(p, e->arg[x[0].number != 0 ? 1 : 2]);
	if (e->id == FN_stop)
		return x[0];
	if (e->id == FN_convert)
		return x[0].is && x[0].number != (float)x[0].number ? none : x[0];
	for (int i = 1; i < e->nargs; i++)
		x[i] = body_at(p, e->arg[i]);
	const bool times = e->id == FN_mul || (e->id == FN_and && e->dtype == IR_bool);
	if (is_number(x[0], 0) && (times || e->id == FN_div))
		return x[0];
	if (is_number(x[1], 0) && times)
		return x[1];
	if (e->id == FN_or && e->dtype == IR_bool && (is_number(x[0], 1) || is_number(x[1], 1)))
		return number(1);
	if (is_exact(e, x))
		return computed(e, x);
	for (int i = 0; i < e->nargs; i++)
		none.changed |= x[i].changed;
	return none;
}

static struct known
body_at(const struct point *p, const struct expr *e)
{
	switch ((enum expr_kind)e->kind) {
	case EXPR_CONST: return number(e->value);
	case EXPR_INDEX: return number((double)p->at[e->id]);
	case EXPR_CALL: return call_at(p, e);
	case EXPR_LOAD: break;
	}
	const struct element x = element_of(ir_operand(p->op, e->id), &p->f->in[e->id], p->at);
	return value_at(p->l, &x, p->depth + 1);
}

static bool
is_outside(const struct band *b, const int64_t *at)
{
	const int64_t d = at[b->col] - at[b->row];

	return d < b->low || d > b->high;
}

/* Is it an element of the kernel's operand that a test has found to be 0? */
static bool
is_tested(const struct look *l, const struct element *e)
{
	for (int i = 0; i < l->g->ntests; i++) {
		const struct band_test *t = &l->g->test[i];
		const struct ir_value *v = l->kernel->body ? &l->kernel->body->arg[t->operand]
							   : ir_operand(l->kernel, t->operand);
		if (e->value == v && is_outside(&t->band, e->at))
			return true;
	}
	return false;
}

static struct known
find_value(struct look *l, const struct element *e, int depth)
{
	const struct known none = {.is = false};

	if (!e->value->op && ir_value_outside(e->value) != e->value) {
		struct element outer = *e;
		outer.value = ir_value_outside(e->value);
		return value_at(l, &outer, depth + 1);
	}
	const struct element x = resolved(*e);
	const struct ir_op *op = x.value->op;
	const struct form *f = op && depth < DEPTH ? form_of(l, op) : NULL;
	if (!f || f->reduce != REDUCE_NONE)
		return none;
	struct point p = {.l = l, .op = op, .f = f, .depth = depth};
	set_indices(&f->out, x.at, p.at);
	return body_at(&p, f->body);
}

static struct known
value_at(struct look *l, const struct element *e, int depth)
{
	if (is_tested(l, e))
		return number(0);
	if (l->changed && same_element(e, l->changed))
		return (struct known){.changed = true};
	for (int64_t i = 0; i < l->answer.n; i++)
		if (!l->answer.at[i].other.value && same_element(&l->answer.at[i].e, e))
			return l->answer.at[i].known;
	const struct known x = find_value(l, e, depth);
	VEC_PUSH_IN(l->a, &l->answer, (struct answer){.e = *e, .known = x});
	return x;
}

/* Begins a new question. */
static void
ask(struct look *l, const struct element *changed)
{
	l->changed = changed;
	l->answer.n = 0;
}

/* --- two elements that are the same function of the same elements --- */

static bool same_values(struct look *l, struct element a, struct element b, int depth);

static bool
same_bodies(const struct point *p, const struct point *q, const struct expr *e)
{
	if (e->kind == EXPR_CONST)
		return true;
	if (e->kind == EXPR_INDEX)
		return p->at[e->id] == q->at[e->id];
	if (e->kind == EXPR_LOAD)
		return same_values(p->l,
			element_of(ir_operand(p->op, e->id), &p->f->in[e->id], p->at),
			element_of(ir_operand(q->op, e->id), &q->f->in[e->id], q->at),
			p->depth + 1);
	const struct known x = body_at(p, e), y = body_at(q, e);
	if (x.is && is_number(y, x.number))
		return true;
	if (e->id == FN_select) {
		const struct known c = body_at(p, e->arg[0]), d = body_at(q, e->arg[0]);
		if (c.is && d.is && (c.number != 0) == (d.number != 0))
			return same_bodies(p, q, e->arg[c.number != 0 ? 1 : 2]);
	}
	for (int i = 0; i < e->nargs; i++)
		if (!same_bodies(p, q, e->arg[i]))
			return false;
	return true;
}

static bool
find_same(struct look *l, const struct element *a, const struct element *b, int depth)
{
	const struct form *f = a->value->op ? form_of(l, a->value->op) : NULL;

	if (!f || f->reduce != REDUCE_NONE || depth > DEPTH)
		return false;
	struct point p = {.l = l, .op = a->value->op, .f = f, .depth = depth}, q = p;
	set_indices(&f->out, a->at, p.at);
	set_indices(&f->out, b->at, q.at);
	return same_bodies(&p, &q, f->body);
}

static bool
same_values(struct look *l, struct element a, struct element b, int depth)
{
	a = resolved(a);
	b = resolved(b);
	if (a.value != b.value || same_element(&a, &b))
		return a.value == b.value;
	for (int64_t i = 0; i < l->answer.n; i++) {
		const struct answer *x = &l->answer.at[i];
		if (x->other.value && same_element(&x->e, &a) && same_element(&x->other, &b))
			return x->same;
	}
	const bool same = find_same(l, &a, &b, depth);
	VEC_PUSH_IN(l->a, &l->answer, (struct answer){.e = a, .other = b, .same = same});
	return same;
}

/* --- readers of an element --- */

static bool is_unread(struct look *l, const struct element *e, int depth);

/* Is the element read once, by an op whose other indices have only one value? */
static bool
is_read_once(const struct form *f, const struct form_access *x)
{
	for (int i = 0; i < f->nindices; i++)
		if (f->size[i] > 1 && !form_access_has(x, i))
			return false;
	return true;
}

/* Does the op's result not depend on the element? Checked at both ends of the loop that repeats
 * it. */
static bool
is_unread_by(struct look *l, const struct ir_op *op, int j, const struct element *e, int depth)
{
	const struct form *f = form_of(l, op);

	for (int end = 0; f && end < 2 - is_read_once(f, &f->in[j]); end++) {
		struct point p = {.l = l, .op = op, .f = f, .depth = depth};
		for (int i = 0; i < f->nindices; i++)
			p.at[i] = end ? f->size[i] - 1 : 0;
		set_indices(&f->in[j], e->at, p.at);
		ask(l, e);
		const bool depends = body_at(&p, f->body).changed;
		const struct element next = element_of(&op->result[0], &f->out, p.at);
		if (depends && !is_unread(l, &next, depth + 1))
			return false;
	}
	return f != NULL;
}

static bool
is_unread(struct look *l, const struct element *e, int depth)
{
	if (depth > DEPTH)
		return false;
	IR_FOR_USES (u, e->value) {
		const struct ir_op *op = u->op;
		const int j = (int)(u - op->operand);
		struct element next = *e;
		bool good;
		if (op->code == OP_fuse || (op->code == OP_yield && op->block->parent)) {
			next.value = op->code == OP_fuse ? &op->body->arg[j]
							 : &op->block->parent->result[j];
			good = is_unread(l, &next, depth + 1);
		} else if (op->code == OP_reshape) {
			next = reshaped(e, e->value->type, &op->result[0]);
			good = is_unread(l, &next, depth + 1);
		} else {
			good = is_unread_by(l, op, j, e, depth + 1);
		}
		if (!good)
			return false;
	}
	return true;
}

/* --- bands --- */

/* Is the product at one element of the matrix of its band without effect? */
static bool
is_left_out(struct look *l, const struct ir_op *op, const struct form *f, const int64_t *at)
{
	const enum rt_gemm_matrix of = l->g->band.of;

	ask(l, NULL);
	if (of == RT_GEMM_C) {
		const struct element e = element_of(&op->result[0], &f->out, at);
		return is_unread(l, &e, 0);
	}
	const int j = of == RT_GEMM_A ? l->g->first : l->g->second;
	const struct element e = element_of(ir_operand(op, j), &f->in[j], at);
	return is_number(value_at(l, &e, 0), 0);
}

/* Elements outside of the band, adjacent to it and farthest from it, in row `r`, with the other
 * indices at an end. */
static bool
check_row(struct look *l, const struct ir_op *op, const struct form *f, int row, int col, int64_t r,
	bool end)
{
	const struct rt_gemm_band *b = &l->g->band;
	const int64_t last = f->size[col] - 1;
	const int64_t column[] = {0, r + b->low - 1, r + b->high + 1, last};
	int64_t at[FORM_MAX_INDICES];

	for (int i = 0; i < f->nindices; i++)
		at[i] = end ? f->size[i] - 1 : 0;
	for (size_t i = 0; i < sizeof column / sizeof *column; i++) {
		const int64_t d = column[i] - r;
		at[row] = r;
		at[col] = column[i];
		if (column[i] >= 0 && column[i] <= last && (d < b->low || d > b->high) &&
			!is_left_out(l, op, f, at))
			return false;
	}
	return true;
}

static bool
check_edges(struct look *l, const struct ir_op *op)
{
	const struct scheme_gemm *g = l->g;
	const struct form *f = form_of(l, op);
	const int row = g->band.of == RT_GEMM_B ? g->k_index : g->m_index;
	const int col = g->band.of == RT_GEMM_A ? g->k_index : g->n_index;

	if (!f || row < 0 || col < 0 || row == col || (unsigned)g->band.of > RT_GEMM_C)
		return false;
	for (int64_t r = 0; r < f->size[row]; r += RT_GEMM_BAND_ROWS)
		for (int end = 0; end < 2; end++) {
			const int64_t last = r + RT_GEMM_BAND_ROWS - 1;
			if (!check_row(l, op, f, row, col, r, end) ||
				!check_row(l, op, f, row, col,
					last < f->size[row] ? last : f->size[row] - 1, end))
				return false;
		}
	return true;
}

/* In line `i`, are the elements next to a test's band the same as the element that the program
 * reads, at an end of the line? */
static bool
check_line(struct look *l, const struct ir_value *v, const struct band_test *t, int64_t i)
{
	const int line = t->along_columns ? t->band.col : t->band.row;
	const int across = t->along_columns ? t->band.row : t->band.col;
	const int64_t last = v->type->dim[across] - 1;

	for (int side = 0; side < 2; side++) {
		/* the limit beyond which this end of the line lies, if any */
		const bool upper = t->along_columns ? side == 0 : side == 1;
		const int64_t limit = upper ? t->band.high + 1 : t->band.low - 1;
		int64_t beside = t->along_columns ? i - limit : i + limit;
		struct element e = {.value = v}, edge = {.value = v};
		beside = beside < 0 ? 0 : beside > last ? last : beside;
		e.at[line] = edge.at[line] = i;
		e.at[across] = side ? last : 0;
		edge.at[across] = beside;
		ask(l, NULL);
		if (is_outside(&t->band, e.at) && is_outside(&t->band, edge.at) &&
			!same_values(l, e, edge, 0))
			return false;
	}
	return true;
}

static bool
check_test(struct look *l, const struct band_test *t)
{
	if (t->operand < 0 || t->operand >= l->kernel->noperands)
		return false;
	const struct ir_value *v = ir_operand(l->kernel, t->operand);
	const int rank = v->type->rank;
	if (t->band.row != rank - 2 || t->band.col != rank - 1)
		return false;
	const int64_t n = v->type->dim[t->along_columns ? t->band.col : t->band.row];
	for (int64_t i = 0; i < n; i += RT_GEMM_BAND_ROWS) {
		const int64_t last = i + RT_GEMM_BAND_ROWS - 1;
		if (!check_line(l, v, t, i) || !check_line(l, v, t, last < n ? last : n - 1))
			return false;
	}
	return true;
}

static void
check_product(struct look *l, const struct ir_op *op)
{
	bool good = l->g->ntests >= 0 && l->g->ntests <= BAND_MAX_TESTS;

	for (int i = 0; good && i < l->g->ntests; i++)
		good = check_test(l, &l->g->test[i]);
	if (!good || !check_edges(l, op))
		FAULT(l->c, op, "%s leaves out a part that counts", check_op_name(op));
}

void
check_bands(struct check *c)
{
	for (int i = 0; i < c->p->nactions; i++) {
		const struct lower_action *a = &c->p->action[i];
		for (int k = 0; a->scheme && k < a->scheme->nsegments; k++) {
			const struct scheme_segment *g = &a->scheme->segment[k];
			if (g->kind != SCHEME_GEMM || g->gemm.band.of == RT_GEMM_NONE)
				continue;
			struct look l = {
				.c = c, .a = arena_create(NULL), .kernel = a->op, .g = &g->gemm};
			check_product(&l, a->scheme->op[g->op[0]].op);
			talloc_free(l.a);
		}
	}
}
