/*
 * Replaces a sum over the result of a product by a smaller sum. In gradients of softmax, the sum
 * over a row of p * dP, which is known only after a pass over the row, is computed from results of
 * the forward pass:
 *
 *     o[i,d] = sum(k) p[i,k] v[k,d]     dP[i,k] = sum(d) dO[i,d] v[k,d]
 *     sum(k) p[i,k] dP[i,k] = sum(d) dO[i,d] sum(k) p[i,k] v[k,d] = sum(d) dO[i,d] o[i,d]
 *
 * (Dao et al., "FlashAttention", 2022, equation 4). It holds for any p. The summand is split into
 * its factors. If these, without dP and without factors that are constant along the row, are the
 * factors of the first operand of an end o of the chain, and o's other operand is that of dP, the
 * sum is taken over d. Conversions of floats are ignored: terms are added in another order, and
 * rounded at other places.
 */
#include "passes/fusion/online.h"

#include "ir/base/diag.h"

#include <string.h>

enum { MAX_FACTORS = 16 };

struct factor {
	const struct ir_value *v;
	int power;
	bool mask; /* of v, a condition: 1 or 0 */
};

struct factors {
	struct online *o;
	struct factor at[MAX_FACTORS];
	int n;
	double scale;
	bool full; /* more than there is room for */
};

static void
add_factor(struct factors *x, const struct ir_value *v, int power, bool mask)
{
	for (int i = 0; i < x->n; i++)
		if (x->at[i].v == v && x->at[i].mask == mask) {
			x->at[i].power = mask ? 1 : x->at[i].power + power;
			return;
		}
	if (x->n < MAX_FACTORS)
		x->at[x->n++] = (struct factor){v, power, mask};
	else
		x->full = true;
}

static void add_value(struct factors *x, const struct ir_value *v, int power);

static bool
is_float(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_FLOAT;
}

/* Is the op a scalar constant? Sets its value; false if it is not. */
static bool
constant_of(const struct ir_op *op, const struct expr *e, double *value)
{
	if (e->kind == EXPR_CONST && is_float((enum ir_dtype)e->dtype)) {
		*value = e->value;
		return true;
	}
	const struct ir_op *maker = e->kind == EXPR_LOAD ? ir_operand(op, e->id)->op : NULL;
	if (!maker || !fuse_is_scalar(maker))
		return false;
	*value = ir_attr_float(maker, "value", 0);
	return is_float((enum ir_dtype)maker->result[0].type->dtype);
}

/* Adds the factors of an expression; false: the expression is itself a single factor. */
static bool
add_expr(struct factors *x, const struct ir_op *op, const struct expr *e, int power)
{
	double value;

	if (constant_of(op, e, &value)) {
		x->scale *= power > 0 ? value : 1 / value;
		return value != 0;
	}
	if (e->kind == EXPR_LOAD) {
		add_value(x, ir_operand(op, e->id), power);
		return true;
	}
	if (e->kind != EXPR_CALL)
		return false;
	switch ((enum scalar_fn)e->id) {
	case FN_mul: return add_expr(x, op, e->arg[0], power) && add_expr(x, op, e->arg[1], power);
	case FN_div:
		return is_float((enum ir_dtype)e->dtype) && add_expr(x, op, e->arg[0], power) &&
		       add_expr(x, op, e->arg[1], -power);
	case FN_neg: x->scale = -x->scale; return add_expr(x, op, e->arg[0], power);
	case FN_stop: return add_expr(x, op, e->arg[0], power);
	case FN_convert:
		return is_float((enum ir_dtype)e->dtype) &&
		       is_float((enum ir_dtype)e->arg[0]->dtype) &&
		       add_expr(x, op, e->arg[0], power);
	case FN_select:
		if (power < 0 || e->arg[0]->kind != EXPR_LOAD ||
			!constant_of(op, e->arg[2], &value) || value != 0)
			return false;
		add_factor(x, ir_operand(op, e->arg[0]->id), 1, true);
		return add_expr(x, op, e->arg[1], power);
	default: return false;
	}
}

/* Adds the factors of a value; for a wide value, those of the op that makes it. */
static void
add_value(struct factors *x, const struct ir_value *v, int power)
{
	const uint32_t op = v->op ? ir_number(x->o->u->ops, v->op) : OPFUSE_NONE;
	const struct factors before = *x;
	struct form f;

	if (online_is_wide(x->o, op) && online_form(x->o, op, &f) && f.reduce == REDUCE_NONE &&
		!form_has_computed(&f) && add_expr(x, v->op, f.body, power))
		return;
	*x = before;
	add_factor(x, v, power, false);
}

static struct factors
factors_of(struct online *o, const struct ir_value *v)
{
	struct factors x = {.o = o, .scale = 1};

	add_value(&x, v, 1);
	return x;
}

/* --- the match ------------------------------------------------------------------------------ */

/* A dim's key: its class, or -1 - x for dim x of the operand that both products read. */
enum { NOTHING = -100 };

struct keys {
	int of[FORM_MAX_INDICES];
};

static bool
set_keys(const struct online *o, struct keys *k, const struct form_access *x, const int8_t *cls)
{
	for (int d = 0; d < x->rank; d++)
		if (x->index[d] >= 0 && cls[d] >= 0 && o->size[cls[d]] > 1)
			k->of[x->index[d]] = cls[d];
	return true;
}

/* Sets the keys of a product's indices. `shared` is the operand that both products read; `cls` has
 * the classes of x. */
static struct keys
keys_of(const struct online *o, const struct form *f, const struct form_access *x,
	const int8_t *cls, int shared)
{
	struct keys k;

	for (int i = 0; i < FORM_MAX_INDICES; i++)
		k.of[i] = NOTHING;
	set_keys(o, &k, x, cls);
	for (int d = 0; d < f->in[shared].rank; d++) {
		const int i = f->in[shared].index[d];
		if (i >= 0 && k.of[i] == NOTHING && f->size[i] > 1)
			k.of[i] = -1 - d;
	}
	return k;
}

static int
key_at(const struct keys *k, const struct form_access *x, int d)
{
	return x->index[d] < 0 ? NOTHING : k->of[x->index[d]];
}

struct match {
	const struct ir_value *small[2]; /* dO, o */
	int key[IR_MAX_RANK];            /* of their dims */
	struct factor rest[MAX_FACTORS]; /* the same for the whole row */
	int nrest;
	double scale;
};

/* Does the other operand of the product `inner` have the dims of the result of `end`? */
static bool
same_dims(struct online *o, uint32_t inner, int in_shared, uint32_t end, int end_shared,
	struct match *x)
{
	struct form p, e;

	if (!online_form(o, inner, &p) || !online_form(o, end, &e) || p.ninputs != 2 ||
		e.ninputs != 2)
		return false;
	const uint32_t wide = opfuse_maker(o->u, end, (uint32_t)!end_shared);
	const struct keys kp = keys_of(o, &p, &p.out, o->op[inner].cls, in_shared),
			  ke = keys_of(o, &e, &e.in[!end_shared], o->op[wide].cls, end_shared);
	const struct form_access *a = &p.in[!in_shared], *b = &e.out;
	if (a->rank != b->rank)
		return false;
	for (int d = 0; d < p.in[in_shared].rank; d++)
		if (key_at(&kp, &p.in[in_shared], d) != key_at(&ke, &e.in[end_shared], d))
			return false;
	for (int d = 0; d < a->rank; d++) {
		x->key[d] = key_at(&kp, a, d);
		if (x->key[d] != key_at(&ke, b, d))
			return false;
	}
	x->small[0] = ir_operand(o->u->op[inner], !in_shared);
	x->small[1] = &o->u->op[end]->result[0];
	return true;
}

/* Is the value constant along rows: does it have the dims of a wide value, but size 1 in the summed
 * dims? */
static bool
is_of_row(const struct ir_value *v, const struct ir_type *wide, uint32_t summed)
{
	if (v->type->rank == 0)
		return true;
	if (v->type->rank != wide->rank)
		return false;
	for (int d = 0; d < wide->rank; d++)
		if (v->type->dim[d] != 1 && (summed >> d & 1 || v->type->dim[d] != wide->dim[d]))
			return false;
	return true;
}

/* Removes the factors of w from those of the sum: the product and row constants must remain. */
static bool
take_out(const struct online *o, const struct factors *sum, const struct factors *w,
	const struct ir_type *wide, uint32_t summed, struct match *x, uint32_t *inner)
{
	struct factors left = *sum;

	x->nrest = 0;
	x->scale = sum->scale / w->scale;
	*inner = OPFUSE_NONE;
	for (int i = 0; i < w->n; i++) {
		const struct factor *f = &w->at[i];
		if (f->mask)
			continue; /* both or none: compared below */
		add_factor(&left, f->v, -f->power, false);
	}
	for (int i = 0; i < left.n; i++) {
		const struct factor *f = &left.at[i];
		if (f->mask) {
			bool in_both = false;
			for (int j = 0; j < w->n; j++)
				in_both |= w->at[j].mask && w->at[j].v == f->v;
			if (!in_both)
				return false;
			continue;
		}
		const uint32_t op = f->v->op ? ir_number(o->u->ops, f->v->op) : OPFUSE_NONE;
		if (!f->power)
			continue;
		if (f->power == 1 && *inner == OPFUSE_NONE && online_is_wide(o, op) &&
			fuse_table_role(o->u->table, op)->kind == FUSE_STARTS)
			*inner = op;
		else if (is_of_row(f->v, wide, summed))
			x->rest[x->nrest++] = *f;
		else
			return false;
	}
	for (int j = 0; j < w->n; j++) {
		bool in_both = !w->at[j].mask;
		for (int i = 0; i < sum->n; i++)
			in_both |= sum->at[i].mask && sum->at[i].v == w->at[j].v;
		if (!in_both)
			return false;
	}
	return !left.full && *inner != OPFUSE_NONE;
}

/* The dims of a wide value whose indices an end does not have, a set. */
static uint32_t
summed_dims(const struct online *o, uint32_t wide, uint32_t end)
{
	const struct online_op *w = &o->op[wide], *e = &o->op[end];
	const int rank = o->u->op[wide]->result[0].type->rank,
		  erank = o->u->op[end]->result[0].type->rank;
	uint32_t set = 0;

	for (int d = 0; d < rank; d++)
		if (w->cls[d] >= 0 && !memchr(e->cls, w->cls[d], (size_t)erank))
			set |= 1u << d;
	return set;
}

/* The classes of these dims. */
static uint32_t
classes_of(const struct online *o, uint32_t wide, uint32_t dims)
{
	uint32_t set = 0;

	for (int d = 0; d < IR_MAX_RANK; d++)
		if (dims >> d & 1)
			set |= 1u << o->op[wide].cls[d];
	return set;
}

/* Can the sum over `wide` be computed from an end one of whose operands is `shared`? */
static bool
matches(struct online *o, uint32_t sum, uint32_t wide, uint32_t end, int shared, struct match *x)
{
	const struct opfuse *u = o->u;
	const uint32_t w = opfuse_maker(u, end, (uint32_t)!shared);
	const uint32_t summed = summed_dims(o, wide, sum);
	uint32_t inner;

	if (!online_is_wide(o, w) || end >= sum ||
		classes_of(o, wide, summed) != classes_of(o, w, summed_dims(o, w, end)))
		return false;
	const struct factors of_sum = factors_of(o, ir_operand(u->op[sum], 0)),
			     of_end = factors_of(o, ir_operand(u->op[end], !shared));
	if (of_sum.full || of_end.full ||
		!take_out(o, &of_sum, &of_end, u->op[wide]->result[0].type, summed, x, &inner))
		return false;
	for (int j = 0; j < 2; j++)
		if (ir_operand(u->op[inner], j) == ir_operand(u->op[end], shared) &&
			same_dims(o, inner, j, end, shared, x))
			return true;
	return false;
}

static bool
find(struct online *o, uint32_t sum, uint32_t wide, struct match *x)
{
	for (int64_t i = 0; i < o->end.n; i++) {
		const uint32_t end = o->end.at[i];
		if (fuse_table_role(o->u->table, end)->kind != FUSE_STARTS ||
			o->u->op[end]->noperands != 2)
			continue;
		for (int shared = 0; shared < 2; shared++)
			if (matches(o, sum, wide, end, shared, x))
				return true;
	}
	return false;
}

/* --- the sum -------------------------------------------------------------------------------- */

static struct ir_value *
build_attr(struct ir_builder *b, enum op_code code, struct ir_value *v, struct ir_attr attr)
{
	return v ? ir_build(b, code, &v, 1, &attr, 1) : NULL;
}

static struct ir_value *
convert(struct ir_builder *b, struct ir_value *v, uint8_t dtype)
{
	if (!v || v->type->dtype == dtype)
		return v;
	return build_attr(b, OP_convert, v, ir_make_dtype(b->m->ctx, "to", (enum ir_dtype)dtype));
}

/* The position of a class among the dims of a wide value; those of size 1 come last. */
static int
position(const struct online_op *wide, int rank, int key)
{
	for (int d = 0; d < rank; d++)
		if (key >= 0 && wide->cls[d] == key)
			return d;
	return rank;
}

/* sum(d) dO * o, with the dims of the row in the order in which wide values have them. */
static struct ir_value *
build_small(struct ir_builder *b, const struct online_op *wide, int rank, const struct match *x,
	uint8_t dtype)
{
	int64_t dims[IR_MAX_RANK], perm[IR_MAX_RANK];
	int key[IR_MAX_RANK], n = 0, ndims = 0;
	struct ir_value *v[2];

	for (int i = 0; i < 2; i++)
		v[i] = convert(b, (struct ir_value *)(uintptr_t)x->small[i], dtype);
	const int all = v[0] ? v[0]->type->rank : 0;
	struct ir_value *r = v[0] && v[1] ? ir_build2(b, OP_mul, v[0], v[1]) : NULL;
	for (int d = 0; d < all; d++) {
		if (x->key[d] < 0 && x->key[d] != NOTHING)
			dims[ndims++] = d;
		else
			key[n++] = x->key[d];
	}
	r = build_attr(b, OP_sum, r, ir_make_ints(b->m, "dims", dims, ndims));
	bool moved = false;
	for (int i = 0; i < n; i++) {
		int at = i;
		for (; at > 0 &&
			position(wide, rank, key[perm[at - 1]]) > position(wide, rank, key[i]);
			at--)
			perm[at] = perm[at - 1];
		perm[at] = i;
		moved |= at != i;
	}
	return moved ? build_attr(b, OP_transpose, r, ir_make_ints(b->m, "perm", perm, n)) : r;
}

static struct ir_value *
build_sum(struct ir_builder *b, const struct online *o, uint32_t sum, uint32_t wide,
	const struct match *x)
{
	const struct ir_type *t = o->u->op[sum]->result[0].type,
			     *w = o->u->op[wide]->result[0].type;
	const uint32_t summed = summed_dims(o, wide, sum);
	int64_t row[IR_MAX_RANK];
	struct ir_value *r = build_small(b, &o->op[wide], w->rank, x, t->dtype);

	for (int d = 0; d < w->rank; d++)
		row[d] = summed >> d & 1 ? 1 : w->dim[d];
	r = build_attr(b, OP_reshape, r, ir_make_ints(b->m, "shape", row, w->rank));
	for (int i = 0; i < x->nrest; i++) {
		const int power = x->rest[i].power;
		struct ir_value *f =
			convert(b, (struct ir_value *)(uintptr_t)x->rest[i].v, t->dtype);
		for (int p = power < 0 ? -power : power; p > 0 && r && f; p--)
			r = ir_build2(b, power < 0 ? OP_div : OP_mul, r, f);
	}
	if (r && x->scale == -1)
		r = ir_build1(b, OP_neg, r);
	else if (r && x->scale != 1)
		r = ir_build2(b, OP_mul, r, ir_build_scalar(b, (enum ir_dtype)t->dtype, x->scale));
	if (r && r->type != t)
		r = build_attr(b, OP_reshape, r, ir_make_ints(b->m, "shape", t->dim, t->rank));
	return r && r->type == t ? r : NULL;
}

/* Erases ops from the last one on, while they have no readers, down to `end`, which stays. */
static void
erase_back(struct ir_op *last, const struct ir_op *end)
{
	while (last != end) {
		struct ir_op *prev = last->prev;
		ir_op_erase(last);
		last = prev;
	}
}

static bool
move_sum(struct online *o, uint32_t sum, uint32_t wide, const struct match *x)
{
	struct ir_op *op = o->u->op[sum];
	struct ir_op *before = op->prev;
	struct ir_builder b = {.m = o->u->m, .block = o->u->block, .before = op, .loc = op->loc};
	/* If the layouts are not compatible, the sum stays. */
	const bool muted = diag_mute(b.m->ctx->diag, true);
	struct ir_value *r = build_sum(&b, o, sum, wide, x);

	diag_mute(b.m->ctx->diag, muted);
	if (!r) {
		erase_back(op->prev, before);
		return false;
	}
	r->name = op->result[0].name;
	op->result[0].name = NULL;
	ir_replace_uses(&op->result[0], r);
	return true;
}

int
online_move_sums(struct online *o)
{
	struct match x;
	int n = 0;

	for (int64_t i = 0; i < o->end.n; i++) {
		const uint32_t end = o->end.at[i];
		const struct ir_op *op = o->u->op[end];
		const uint32_t wide = opfuse_maker(o->u, end, 0);
		if (op->code == OP_sum && online_is_wide(o, wide) && find(o, end, wide, &x))
			n += move_sum(o, end, wide, &x);
	}
	return n;
}
