/* Random programs: runs of neighbouring ops become one fuse. See generate.h. */
#include "test/random/generate.h"

enum { MAX_RUN = 5, MAX_OPERANDS = 12 };

static bool
may_fuse(const struct ir_op *op)
{
	return op && op_is(op, TRAIT_PURE) && !op_is(op, TRAIT_PARALLEL | TRAIT_OWN) &&
	       op->noperands > 0;
}

/* A run of adjacent ops, first to last, that will become a fuse. */
struct run {
	struct ir_op *op[MAX_RUN];
	int n;
	struct ir_value *in[MAX_OPERANDS]; /* from outside */
	int nin;
	struct ir_value *out[MAX_RUN]; /* used outside */
	int nout;
};

static bool
inside(const struct run *r, const struct ir_op *op)
{
	for (int i = 0; i < r->n; i++)
		if (r->op[i] == op)
			return true;
	return false;
}

static void
find_borders(struct run *r)
{
	for (int i = 0; i < r->n; i++) {
		for (int j = 0; j < r->op[i]->noperands; j++) {
			struct ir_value *v = ir_operand(r->op[i], j);
			int k = 0;
			while (k < r->nin && r->in[k] != v)
				k++;
			if (k == r->nin && !inside(r, v->op))
				r->in[r->nin++] = v;
		}
		bool outside = false;
		IR_FOR_USES (u, &r->op[i]->result[0])
			outside = outside || !inside(r, u->op);
		if (outside)
			r->out[r->nout++] = &r->op[i]->result[0];
	}
}

/* A value's counterpart inside the body: an argument, or the result of the copy of its op. */
static struct ir_value *
inner_value(const struct run *r, const struct ir_block *body, struct ir_op *const *copy,
	struct ir_value *v)
{
	for (int k = 0; k < r->nin; k++)
		if (r->in[k] == v)
			return &body->arg[k];
	for (int i = 0; i < r->n; i++)
		if (v == &r->op[i]->result[0])
			return &copy[i]->result[0];
	return NULL;
}

static void
outline(struct gen *g, struct run *r)
{
	struct ir_op *fuse = ir_op_create(g->m, OP_fuse, LOC_NONE, r->in, r->nin, NULL, 0, r->nout),
		     *copy[MAX_RUN];
	struct ir_block *body = ir_op_make_body(g->m, fuse);
	struct ir_value *v[MAX_OPERANDS];
	for (int i = 0; i < r->n; i++) {
		for (int j = 0; j < r->op[i]->noperands; j++)
			v[j] = inner_value(r, body, copy, ir_operand(r->op[i], j));
		copy[i] = ir_op_clone(g->m, r->op[i], v);
		ir_block_append(body, copy[i]);
	}
	for (int i = 0; i < r->nout; i++) {
		v[i] = inner_value(r, body, copy, r->out[i]);
		fuse->result[i].type = r->out[i]->type;
		ir_replace_uses(r->out[i], &fuse->result[i]);
	}
	ir_block_append(body, ir_op_create(g->m, OP_yield, LOC_NONE, v, r->nout, NULL, 0, 0));
	ir_insert_after(r->op[r->n - 1], fuse);
	for (int i = r->n; i-- > 0;)
		ir_op_erase(r->op[i]);
}

void
gen_fuse(struct gen *g)
{
	struct ir_op *next;
	for (struct ir_op *op = g->b.block->first; op; op = next) {
		struct run r = {0};
		const int most = 1 + gen_below(g, MAX_RUN);
		next = op->next;
		if (!gen_chance(g, 10))
			continue;
		for (; r.n < most && may_fuse(op); op = op->next)
			r.op[r.n++] = op;
		if (!r.n)
			continue;
		next = op;
		find_borders(&r);
		if (r.nout)
			outline(g, &r);
		if (!next)
			return;
	}
}
