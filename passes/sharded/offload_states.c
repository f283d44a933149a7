/* The step with states in host memory: see offload.h. */
#include "passes/sharded/offload.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "ir/memory/issue.h"
#include "ir/numbering.h"
#include "passes/analysis/cost/memory.h"

#include <stdlib.h>
#include <talloc.h>

/* ---- candidates ---- */

/* The op that updates a state; NULL: there is none. */
static struct ir_op *
update_of(const struct ir_op *state)
{
	IR_FOR_USES (u, &state->result[0])
		if (u->op->code == OP_update && u == &u->op->operand[0])
			return u->op;
	return NULL;
}

/* The larger of `last` and the number of the last kernel that reads the value. */
static uint32_t
last_reader(const struct ir_numbering *place, const struct ir_value *v, uint32_t last)
{
	IR_FOR_USES (u, v)
		if (!op_is(u->op, TRAIT_EFFECT) && ir_number(place, u->op) > last)
			last = ir_number(place, u->op);
	return last;
}

/* Can the state be offloaded? Fills s. */
static bool
describe(const struct ir_module *m, const struct ir_numbering *place, struct ir_op *op,
	uint64_t least, struct offload_state *s)
{
	const struct ir_type *t = op->code == OP_state ? op->result[0].type : NULL;

	if (!t || t->memory == IR_HOST || (uint64_t)ir_type_local_bytes(m, t) < least)
		return false;
	*s = (struct offload_state){.state = op, .update = update_of(op), .first = IR_NO_NUMBER};
	const struct ir_op *maker = s->update ? ir_operand(s->update, 1)->op : NULL;
	if (!maker || op_is(maker, TRAIT_NAMED) || issue_op_axes(m, maker))
		return false;
	s->last = last_reader(place, ir_operand(s->update, 1), ir_number(place, maker));
	IR_FOR_USES (u, &op->result[0]) {
		const uint32_t at = ir_number(place, u->op);
		if (u->op == s->update)
			continue;
		if (issue_op_axes(m, u->op))
			return false;
		s->first = at < s->first ? at : s->first;
		s->last = at > s->last ? at : s->last;
	}
	return s->first != IR_NO_NUMBER;
}

ORDER_BY(by_first, struct offload_state, UP(first), UP(last))

/* States whose ops are interleaved form one fragment. */
static void
group(struct offload_fragments *all, const struct ir_module *m, const struct ir_numbering *place,
	struct offload_state *state, uint32_t n)
{
	uint32_t last = 0;

	all->fragment = ARRAY_ZERO(all, struct offload_fragment, n + 1);
	for (uint32_t i = 0; i < n; i++) {
		struct offload_state *s = &state[i];
		if (!all->n || s->first > last) {
			struct offload_fragment *next = &all->fragment[all->n++];
			*next = (struct offload_fragment){.state = s, .first = place->op[s->first]};
			last = s->last;
		}
		struct offload_fragment *f = &all->fragment[all->n - 1];
		last = s->last > last ? s->last : last;
		f->n++;
		f->last = place->op[last];
		f->bytes += (uint64_t)ir_type_local_bytes(m, s->state->result[0].type);
	}
}

struct offload_fragments *
offload_fragments_create(const void *owner, struct ir_module *m, uint64_t least)
{
	struct offload_fragments *all = NEW(owner, struct offload_fragments);
	struct ir_block *main = &ir_func_find(m, "main")->body;
	const struct ir_numbering *place = ir_numbering_create(all, m, main);
	struct offload_state *state = ARRAY_NEW(all, struct offload_state, place->n + 1);
	uint32_t n = 0;

	IR_FOR_OPS (op, main)
		n += describe(m, place, op, least, &state[n]);
	qsort(state, n, sizeof *state, by_first);
	group(all, m, place, state, n);
	return all;
}

/* ---- moving states ---- */

struct mover {
	struct pass_run *run;
	struct ir_module *m;
	const struct offload_settings *set;
	bool silent;
	void *scratch;
	struct ir_op **reload, **offload; /* [set->n] by fragment */
	uint32_t waited;                  /* number of fragments whose offload is waited for */
	uint32_t nearly;                  /* number of reloads issued before their readers */
};

/* An op with as many results as operands, of types that are inferred. */
static struct ir_op *
make(struct mover *v, enum op_code code, struct ir_loc loc, struct ir_value **operand, int n)
{
	struct ir_op *op = ir_op_create(v->m, code, loc, operand, n, NULL, 0, n);

	if (!ir_infer(v->m, op, NULL))
		pass_bug(v->run, op, "a copy is invalid");
	return op;
}

/* Declares the state in host memory, at the start of the block. */
static void
move_state(struct mover *v, struct ir_block *main, struct ir_op *state)
{
	ir_op_unlink(state);
	ir_insert_before(main->first, state);
	state->result[0].type = ir_type_in(v->m->ctx, state->result[0].type, IR_HOST);
}

/* Replaces `from` by `to` in all readers except `but` and the update of the state. */
static void
replace_readers(struct ir_value *from, struct ir_value *to, const struct ir_op *but)
{
	for (struct ir_use *u = from->uses, *next; u; u = next) {
		next = u->next;
		if (u->op != but && !(u->op->code == OP_update && u == &u->op->operand[0]))
			ir_set_operand(u->op, (int)(u - u->op->operand), to);
	}
}

/* Inserts a reload before the first reader; readers use its results. */
static void
add_reload(struct mover *v, uint32_t i)
{
	const struct offload_fragment *f = &v->set->all->fragment[i];
	struct ir_value **x = ARRAY_NEW(v->scratch, struct ir_value *, f->n);

	for (uint32_t k = 0; k < f->n; k++)
		x[k] = &f->state[k].state->result[0];
	struct ir_op *op = v->reload[i] = make(v, OP_reload, f->first->loc, x, (int)f->n);
	ir_insert_before(f->first, op);
	for (uint32_t k = 0; k < f->n; k++)
		replace_readers(x[k], &op->result[k], op);
}

/* Inserts an offload after all next values of the fragment. Updates move to the end of the block,
 * so that barriers may precede them. */
static void
add_offload(struct mover *v, uint32_t i)
{
	const struct offload_fragment *f = &v->set->all->fragment[i];
	struct ir_value **x = ARRAY_NEW(v->scratch, struct ir_value *, f->n);

	for (uint32_t k = 0; k < f->n; k++)
		x[k] = ir_operand(f->state[k].update, 1);
	struct ir_op *op = v->offload[i] = make(v, OP_offload, f->last->loc, x, (int)f->n);
	ir_insert_after(f->last, op);
	for (uint32_t k = 0; k < f->n; k++) {
		struct ir_op *update = f->state[k].update;
		struct ir_block *main = update->block;
		ir_set_operand(update, 1, &op->result[k]);
		ir_op_unlink(update);
		ir_block_append(main, update);
	}
}

/*
 * Readers of the reloaded values also wait for the offloads of earlier fragments:
 *
 *     %d = reload(%m)                        %d = reload(%m)
 *     %n = mul(%d, %b)           --->        %h1, %d1 = barrier(%h, %d)      %h = offload(..)
 *                                            %n = mul(%d1, %b)
 */
static void
add_wait(struct mover *v, uint32_t until, struct ir_op *at, struct ir_value *const *x, int n)
{
	struct ir_value **all = ARRAY_NEW(v->scratch, struct ir_value *, IR_MAX_LIST);
	int count = 0;

	for (; v->waited < until; v->waited++)
		for (int r = 0; r < v->offload[v->waited]->nresults; r++)
			all[count++] = &v->offload[v->waited]->result[r];
	if (!count)
		return;
	for (int k = 0; k < n; k++)
		all[count + k] = x[k];
	struct ir_builder b = {.m = v->m, .block = at->block, .before = at, .loc = at->loc};
	struct ir_value *r = ir_build_barrier(&b, all, count + n);
	for (int k = 0; k < count + n; k++)
		replace_readers(all[k], &r[k], r->op);
	array_free(all);
}

static void
add_waits(struct mover *v, uint32_t i)
{
	struct ir_op *reload = v->reload[i];
	const int n = reload->nresults;
	struct ir_value **x = ARRAY_NEW(v->scratch, struct ir_value *, n);

	for (int k = 0; k < n; k++)
		x[k] = v->set->sync ? ir_operand(reload, k) : &reload->result[k];
	if (v->set->sync)
		add_wait(v, i, reload, x, n);
	else if (i >= OFFLOAD_OUTSTANDING)
		add_wait(v, i - OFFLOAD_OUTSTANDING + 1, v->set->all->fragment[i].first, x, n);
}

/* ---- reloads as early as memory allows ---- */

struct early {
	struct mover *v;
	uint64_t *ends; /* by op->id: bytes issued early whose last reader is this op */
	uint64_t added; /* bytes that were issued early and still have readers */
};

/* Bytes that are live from the op to the end of the step, with reloads issued early and this one. */
static uint64_t
bytes_from(const struct early *e, const struct ir_op *op, uint64_t bytes)
{
	const struct offload_settings *set = e->v->set;

	return set->late_most[set->late->order->position[op->id]] + e->added + bytes;
}

static void
tell_missed(struct mover *v, const struct ir_op *reload, uint64_t over)
{
	const struct ir_value *state = ir_operand(reload, 0);
	char more[NUMBER_TEXT];

	if (!v->silent && pass_remarks_wanted(v->run))
		pass_remark(v->run, reload, PASS_MISSED,
			"reload of %%%s is issued right before its reader: earlier is %s over the budget",
			state->op->symbol, number_bytes(more, (double)over));
}

/* Issues reload i at op or later; returns the op from which the next one may be issued. */
static struct ir_op *
issue_from(struct early *e, struct ir_op *op, uint32_t i)
{
	struct mover *v = e->v;
	const uint64_t bytes = v->set->all->fragment[i].bytes;
	struct ir_op *reload = v->reload[i];

	while (op != reload && (op_is(op, TRAIT_NAMED) || issue_op_axes(v->m, op) ||
				       bytes_from(e, op, bytes) > v->set->early)) {
		e->added -= e->ends[op->id];
		op = op->next;
	}
	if (op == reload) {
		tell_missed(v, reload, bytes_from(e, op, bytes) - v->set->early);
		return op->next;
	}
	ir_op_unlink(reload);
	ir_insert_before(op, reload);
	e->added += bytes;
	e->ends[v->set->all->fragment[i].last->id] = bytes;
	v->nearly++;
	return op;
}

/*
 * Walks the block from its first op on. A reload is issued where, from there to the end of the
 * step, memory suffices for it and for earlier reloads that still have readers.
 */
static void
issue_early(struct mover *v)
{
	struct early e = {v, ARRAY_ZERO(v->scratch, uint64_t, v->m->op_ids), 0};
	struct ir_op *op = ir_func_find(v->m, "main")->body.first;

	for (uint32_t i = 0; i < v->set->n; i++)
		op = issue_from(&e, op, i);
}

void
offload_states(
	struct pass_run *run, struct ir_module *m, const struct offload_settings *set, bool silent)
{
	struct mover v = {.run = run, .m = m, .set = set, .silent = silent};
	struct ir_block *main = &ir_func_find(m, "main")->body;

	if (!set->n)
		return;
	v.scratch = alloc_scratch(run->scratch);
	v.reload = ARRAY_NEW(v.scratch, struct ir_op *, set->n);
	v.offload = ARRAY_NEW(v.scratch, struct ir_op *, set->n);
	for (uint32_t i = set->n; i-- > 0;)
		for (uint32_t k = set->all->fragment[i].n; k-- > 0;)
			move_state(&v, main, set->all->fragment[i].state[k].state);
	for (uint32_t i = 0; i < set->n; i++) {
		add_reload(&v, i);
		add_offload(&v, i);
		add_waits(&v, i);
	}
	if (set->early)
		issue_early(&v);
	if (!silent) {
		pass_count(run, "state fragment(s) offloaded", set->n);
		pass_count(run, "reload(s) issued early", v.nearly);
	}
	talloc_free(v.scratch);
}
