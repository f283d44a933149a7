#include "passes/sharded/repeated.h"

#include "ir/base/alloc.h"

#include <talloc.h>

/* The gather that was first to make the tensor of a param. */
struct first {
	struct ir_op *op;
	int i;
};

struct lister {
	struct gathers *all;
	struct repeated *list;
	uint32_t n;
};

static const struct ir_value *
root_of(const struct ir_value *v)
{
	while (v->op && v->op->noperands && (op_is(v->op, TRAIT_PURE) || v->op->code == OP_barrier))
		v = ir_operand(v->op, v->op->code == OP_barrier ? (int)v->index : 0);
	return v;
}

static void
add_repeated(struct lister *l, struct ir_op *op, int at, const struct first *f)
{
	const uint64_t bytes = (uint64_t)ir_type_local_bytes(l->all->m, op->result[at].type);

	l->list[l->n] = (struct repeated){
		op, f->op, at, f->i, bytes, gathers_seconds(l->all, op, bytes), l->n};
	l->n++;
}

struct repeated *
repeated_list(struct gathers *all, const void *owner, uint32_t *n)
{
	struct lister l = {.all = all};
	struct first *first = ARRAY_ZERO(owner, struct first, all->m->value_ids);
	uint32_t most = 0;

	for (uint32_t g = 0; g < all->n; g++)
		most += all->gather[g].op->nresults;
	l.list = ARRAY_NEW(owner, struct repeated, most + 1);
	for (uint32_t g = 0; g < all->n; g++) {
		struct ir_op *op = all->gather[g].op;
		for (int i = 0; i < op->nresults; i++) {
			struct first *f = &first[root_of(ir_operand(op, i))->id];
			if (!f->op)
				*f = (struct first){op, i};
			else if (gathers_same(f->op, f->i, op, i))
				add_repeated(&l, op, i, f);
		}
	}
	*n = l.n;
	return l.list;
}

void
repeated_keep(const struct repeated *r)
{
	ir_replace_uses(&r->op->result[r->k], &r->first->result[r->i]);
}

/* Replaces the gather by one without the results that have no readers, or erases it if none has. */
static void
drop_unread(struct ir_module *m, const struct gather *g, const void *scratch)
{
	struct ir_op *op = g->op;
	struct ir_value **operand = ARRAY_NEW(scratch, struct ir_value *, op->noperands);
	int n = 0;

	for (int i = 0; i < op->nresults; i++)
		if (op->result[i].uses)
			operand[n++] = ir_operand(op, i);
	if (n == op->nresults)
		return;
	if (n) {
		struct ir_op *one =
			ir_op_create(m, OP_allgather, op->loc, operand, n, op->attr, op->nattrs, n);
		ir_insert_before(op, one);
		for (int i = 0, at = 0; i < op->nresults; i++)
			if (op->result[i].uses) {
				one->result[at].type = op->result[i].type;
				one->result[at].name = op->result[i].name;
				ir_replace_uses(&op->result[i], &one->result[at++]);
			}
	}
	ir_op_erase(op);
	for (int i = g->nfeed; i-- > 0;)
		if (!g->feed[i]->result[0].uses)
			ir_op_erase(g->feed[i]);
}

void
repeated_drop_unread(const struct gathers *all)
{
	void *scratch = alloc_scratch(NULL);

	for (uint32_t g = 0; g < all->n; g++)
		drop_unread(all->m, &all->gather[g], scratch);
	talloc_free(scratch);
}
