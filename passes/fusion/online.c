/*
 * opfuse{online}: finds chains (online.h) and has their kernels formed.
 *
 * A chain starts at a product that sums up few elements, so that recomputing it costs about as much
 * as reading it. Its values are followed from op to op by their indices: to their readers, and back
 * to what else those read (masks, the second product of the gradient). It is taken if
 *   - all readers of a wide value are wide or ends: no other op needs it in memory;
 *   - a reduction of its rows (or columns) is read, through wide values, by a product that reduces
 *     the same indices;
 *   - one kernel has both, as that is what makes them one pass.
 * So a product, a relu and another product are not a chain, as storing the result is cheaper than
 * recomputing it; nor is a softmax that is only printed.
 *
 * Results are the same to the bit: kernels contain copies of the same ops. Only sums that move from
 * the wide values to smaller ones are rounded differently (online_sum.c).
 */
#include "passes/fusion/online.h"

#include "ir/base/alloc.h"
#include "ir/base/sort.h"

#include <string.h>
#include <talloc.h>

enum online_side
online_side_of(const struct online *o, const int8_t *cls, int rank)
{
	unsigned side = 0;

	for (int d = 0; d < rank; d++)
		if (cls[d] >= 0 && o->size[cls[d]] > 1)
			side |= o->side[cls[d]];
	return (enum online_side)side;
}

bool
online_form(struct online *o, uint32_t op, struct form *f)
{
	return form_make(o->u->m, o->arena, o->u->op[op], NULL, f);
}

/* The class of each index of an op; -1: none. */
struct classes {
	int8_t of[FORM_MAX_INDICES];
};

/* Records the index classes of a value that is read or written by that access. False: they
 * contradict the classes recorded so far, or positions are computed. */
static bool
note(const struct online *o, const struct form *f, struct classes *c, const struct form_access *x,
	const int8_t *cls)
{
	for (int d = 0; d < x->rank; d++) {
		const int i = x->index[d];
		if (cls[d] < 0 || o->size[cls[d]] == 1 || i < 0)
			continue;
		if (f->at[i] || (c->of[i] >= 0 && c->of[i] != cls[d]) ||
			f->size[i] != o->size[cls[d]])
			return false;
		c->of[i] = cls[d];
	}
	return true;
}

/* The classes of a value's dims; false: two of its dims have the same class. */
static bool
look(const struct classes *c, const struct form_access *x, int8_t cls[IR_MAX_RANK])
{
	uint32_t seen = 0;

	for (int d = 0; d < x->rank; d++) {
		cls[d] = x->index[d] < 0 ? -1 : c->of[x->index[d]];
		if (cls[d] >= 0 && seen >> cls[d] & 1)
			return false;
		seen |= cls[d] < 0 ? 0 : 1u << cls[d];
	}
	return true;
}

static struct classes
no_classes(void)
{
	struct classes c;

	memset(c.of, -1, sizeof c.of);
	return c;
}

static enum fuse_kind
kind_of(const struct online *o, uint32_t op)
{
	return (enum fuse_kind)fuse_table_role(o->u->table, op)->kind;
}

/* Adds an op to the chain; if it is in the chain already, compares its kind and classes. */
static bool
add(struct online *o, uint32_t op, enum online_kind kind, const int8_t *cls)
{
	struct online_op *x = &o->op[op];

	if (x->chain == o->chain)
		return x->kind == kind && !memcmp(x->cls, cls, sizeof x->cls);
	x->chain = o->chain;
	x->kind = (uint8_t)kind;
	memcpy(x->cls, cls, sizeof x->cls);
	if (kind == ONLINE_END && x->joined)
		return false;
	if (kind == ONLINE_END)
		VEC_PUSH(o, &o->end, op);
	else
		VEC_PUSH(o, &o->wide, op);
	return o->wide.n <= ONLINE_MAX_WIDE && o->end.n <= ONLINE_MAX_ENDS;
}

static bool
is_small_sum(const struct form *f)
{
	int64_t n = 1;

	for (int i = 0; i < f->nindices; i++)
		if (f->reduced >> i & 1)
			n *= f->size[i];
	return n <= FUSE_MAX_REDUCED;
}

static bool add_made_by(struct online *o, uint32_t maker, const int8_t *cls, int depth);

/* Adds the wide values that a wide op reads to the chain, if kernels may compute them. */
static bool
add_operands(
	struct online *o, uint32_t op, const struct form *f, const struct classes *c, int depth)
{
	const uint16_t apart = fuse_table_role(o->u->table, op)->apart;

	for (int j = 0; j < f->ninputs; j++) {
		const uint32_t maker = opfuse_maker(o->u, op, (uint32_t)j);
		int8_t cls[IR_MAX_RANK];
		memset(cls, -1, sizeof cls);
		if (maker == OPFUSE_NONE || apart >> j & 1)
			continue;
		if (!look(c, &f->in[j], cls))
			return false;
		if (online_side_of(o, cls, f->in[j].rank) == ONLINE_BOTH &&
			!add_made_by(o, maker, cls, depth))
			return false;
	}
	return true;
}

/* A mask depends on no product. Whether an op is a mask is known once its operands are
 * classified. */
static bool
reads_product(const struct online *o, uint32_t op)
{
	for (uint32_t j = 0; j < opfuse_noperands(o->u, op); j++)
		if (online_has(o, opfuse_maker(o->u, op, j), ONLINE_WIDE))
			return true;
	return false;
}

static bool
add_made_by(struct online *o, uint32_t maker, const int8_t *cls, int depth)
{
	struct classes c = no_classes();
	struct form f;

	if (o->op[maker].chain == o->chain)
		return o->op[maker].kind != ONLINE_END;
	const enum fuse_kind kind = kind_of(o, maker);
	if (kind != FUSE_MAP && kind != FUSE_STARTS)
		return true; /* lies in memory */
	if (depth > FUSE_MAX_OPS || !online_form(o, maker, &f) || !note(o, &f, &c, &f.out, cls))
		return false;
	if (kind == FUSE_STARTS)
		return is_small_sum(&f) && add(o, maker, ONLINE_WIDE, cls);
	if (!add_operands(o, maker, &f, &c, depth + 1))
		return false;
	return add(o, maker, reads_product(o, maker) ? ONLINE_WIDE : ONLINE_MASK, cls);
}

/* An op that reads wide values is itself wide, or an end of the chain. */
static bool
add_reader(struct online *o, uint32_t reader)
{
	const enum fuse_kind kind = kind_of(o, reader);
	struct classes c = no_classes();
	struct form f;
	int8_t cls[IR_MAX_RANK];

	memset(cls, -1, sizeof cls);
	if (kind == FUSE_NONE || !online_form(o, reader, &f))
		return false;
	for (int j = 0; j < f.ninputs; j++) {
		const uint32_t maker = opfuse_maker(o->u, reader, (uint32_t)j);
		if (online_is_wide(o, maker) && !note(o, &f, &c, &f.in[j], o->op[maker].cls))
			return false;
	}
	if (!look(&c, &f.out, cls))
		return false;
	if (kind != FUSE_MAP)
		return add(o, reader, ONLINE_END, cls);
	return online_side_of(o, cls, f.out.rank) == ONLINE_BOTH &&
	       add_operands(o, reader, &f, &c, 0) && add(o, reader, ONLINE_WIDE, cls);
}

/* The indices of a product's result, by the operands that have them. False: no chain starts at this
 * product. */
static bool
start(struct online *o, uint32_t seed)
{
	struct form f;
	int8_t cls[IR_MAX_RANK];
	unsigned sides = 0;

	o->chain++;
	o->seed = seed;
	o->wide.n = o->end.n = 0;
	arena_reset(o->arena);
	if (!online_form(o, seed, &f) || f.ninputs != 2 || form_has_computed(&f) ||
		!is_small_sum(&f))
		return false;
	o->nclasses = (int8_t)f.out.rank;
	memset(cls, -1, sizeof cls);
	for (int d = 0; d < f.out.rank; d++) {
		const int i = f.out.index[d];
		const bool in[2] = {form_access_has(&f.in[0], i), form_access_has(&f.in[1], i)};
		o->size[d] = i < 0 ? 1 : f.size[i];
		cls[d] = o->size[d] > 1 ? (int8_t)d : -1;
		o->side[d] = in[0] == in[1] ? ONLINE_BATCH : in[0] ? ONLINE_ROWS : ONLINE_COLUMNS;
		sides |= o->size[d] > 1 ? o->side[d] : 0;
	}
	return sides == ONLINE_BOTH && add(o, seed, ONLINE_WIDE, cls);
}

/* Follows the chain from its first product. False: an op outside the chain needs a wide value. */
static bool
follow(struct online *o)
{
	const struct opfuse *u = o->u;

	for (int64_t i = 0; i < o->wide.n; i++) {
		const uint32_t op = o->wide.at[i];
		if (o->op[op].kind == ONLINE_MASK)
			continue;
		for (uint32_t r = u->first[op]; r < u->first[op + 1]; r++)
			if (!(o->op[u->reader[r]].chain == o->chain) &&
				!add_reader(o, u->reader[r]))
				return false;
	}
	if (o->end.n > 1)
		sort_uint32(o->end.at, (size_t)o->end.n);
	return true;
}

/* Are there ops between the product and the next one that reduces its rows? This cheap test rejects
 * most products without following the whole chain. */
static bool
has_rows(const struct online *o)
{
	for (int64_t i = 0; i < o->end.n; i++)
		if (kind_of(o, o->end.at[i]) == FUSE_ROW)
			return true;
	return false;
}

static bool
find(struct online *o, uint32_t seed)
{
	if (!start(o, seed) || !follow(o) || !has_rows(o) || !online_plan(o))
		return false;
	for (int64_t i = 0; i < o->wide.n; i++)
		o->op[o->wide.at[i]].taken = true;
	for (int64_t i = 0; i < o->end.n; i++)
		o->op[o->end.at[i]].joined = true;
	for (int k = 0; k < o->nnests; k++)
		for (int64_t i = 0; i < o->nest[k].between.n; i++)
			o->op[o->nest[k].between.at[i]].joined = true;
	return true;
}

static struct online *
online_create(struct pass_run *run, struct ir_module *m)
{
	struct online *o = NEW(run->scratch, struct online);

	o->u = opfuse_create(run, m);
	talloc_steal(o, o->u);
	o->arena = arena_create(o);
	o->op = ARRAY_ZERO(o, struct online_op, o->u->nops + 1u);
	o->seen = ARRAY_ZERO(o, uint32_t, o->u->nops + 1u);
	o->far = ARRAY_NEW(o, uint32_t, o->u->nops + 1u);
	for (uint32_t i = 0; i < o->u->nops; i++)
		o->far[i] = i;
	o->form_of = ARRAY_ZERO(o, uint8_t, o->u->nops + 1u);
	return o;
}

/* Erases ops whose only readers were the sums that have been replaced. Ops that had no readers
 * before stay. */
static void
erase_unread(const struct opfuse *u)
{
	for (uint32_t i = u->nops; i-- > 0;)
		if (u->first[i] != u->first[i + 1] && u->op[i]->nresults == 1 &&
			!u->op[i]->result[0].uses)
			ir_op_erase(u->op[i]);
}

/* Sums are moved before kernels are formed, as moving them changes the ops. */
static bool
move_sums(struct pass_run *run, struct ir_module *m)
{
	struct online *o = online_create(run, m);
	int64_t moved = 0;
	bool any = false;

	for (uint32_t i = 0; i < o->u->nops; i++)
		if (kind_of(o, i) == FUSE_STARTS && !o->op[i].taken && find(o, i)) {
			any = true;
			moved += online_move_sums(o);
		}
	if (moved)
		erase_unread(o->u);
	talloc_free(o);
	if (moved) {
		pass_count(run, "sum(s) of products replaced", moved);
		pass_changes_rounding(run);
	}
	return any;
}

void
opfuse_online(struct pass_run *run, struct ir_module *m)
{
	if (!move_sums(run, m)) {
		pass_remark(run, NULL, PASS_MISSED,
			"no chain of products whose intermediate results can stay out of memory");
		return;
	}
	struct online *o = online_create(run, m);
	for (uint32_t i = 0; i < o->u->nops; i++)
		if (kind_of(o, i) == FUSE_STARTS && !o->op[i].taken && find(o, i))
			online_commit(o);
	opfuse_apply(o->u);
	talloc_free(o);
}
