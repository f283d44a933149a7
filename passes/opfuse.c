/*
 * opfuse: ops become kernels. A group of ops that would pass tensors through memory becomes one
 * `fuse`, whose inner values stay in registers and rows (op fusion: DisCo, section 2.2).
 *
 * policy=greedy joins an op, in issue order, with the groups that make its operands, when
 *   - the op and the group work on one iteration space: the largest shape in the group; other
 * values of the group have a prefix of it (what a row is reduced to) or are repeated along it;
 *   - nothing of the group reads a reduction that leaves the iteration space (over leading dims, or
 * to a scalar): it is complete only when the kernel ends;
 *   - a product (of matrices, a convolution) starts its group, and ops on the space of its result
 * are its epilogue: pointwise ones, reductions of its rows, sums over them;
 *   - nothing outside the group that stands before the op reads a value of the group. The group
 * moves to the place of its last op, so this is what keeps definitions before uses; a path from the
 * group through a collective back into it would have such a reader, so no cycle can arise.
 *
 * A scalar constant is no operand: every kernel that reads it gets its own.
 *
 * Right because a fuse means its body. Collectives, inputs, params, updates are never in a group.
 */
#include "ir/form.h"
#include "passes/pass.h"

#include <string.h>
#include <talloc.h>

enum opfuse_limit {
	GROUP_MAX_OPS = 64,      /* longer bodies gain nothing and compile slowly */
	GROUP_MAX_OPERANDS = 24, /* pointers that a kernel holds in registers, roughly */
	GROUP_MAX_LAST = 8,      /* sums that a kernel adds to in turn, in first-level cache */
};

enum role {
	ROLE_NONE,    /* never in a group */
	ROLE_MAP,     /* result as large as the iteration space of the op */
	ROLE_ROW,     /* a reduction over trailing dims */
	ROLE_LAST,    /* a reduction over others: nothing of its group reads it */
	ROLE_PRODUCT, /* a product: starts its group */
};

struct group {
	struct ir_op **op; /* in issue order */
	int n;
	struct ir_op *last[GROUP_MAX_LAST]; /* its reductions that leave the space */
	int nlast;
	struct ir_op *product; /* the PRODUCT that it holds; NULL: none */
	int rank;              /* of the iteration space, local sizes */
	int64_t space[IR_MAX_RANK];
};

struct fuser {
	struct pass_run *run;
	struct ir_module *m;
	struct arena *a, *groups; /* for the form of the op at hand, for the groups */
	struct group **group;     /* from 1; one that went into another is empty */
	uint32_t ngroups;         /* op->mark: its group; 0: none */
	/* Who reads a value, in issue order: reader[first[v->mark]] ... reader[first[v->mark + 1]].
	 */
	struct ir_op **reader;
	uint32_t *first;
};

static bool
is_sum_product(const struct form *f)
{
	return f->reduce == REDUCE_SUM && f->ninputs > 1 && f->body->kind == EXPR_CALL &&
	       f->body->id == FN_mul && f->body->arg[0]->kind == EXPR_LOAD &&
	       f->body->arg[1]->kind == EXPR_LOAD;
}

/* Do the indices of the result come first, in order, and the reduced ones last? */
static bool
reduces_trailing(const struct form *f)
{
	const struct form_access *in = &f->in[0];
	bool seen = false;

	for (int d = 0; d < in->rank; d++) {
		bool reduced = in->index[d] >= 0 && (f->reduced >> in->index[d] & 1);
		if (seen && !reduced)
			return false;
		seen = seen || reduced;
	}
	return f->out.rank > 0;
}

/* Are the operands read at the indices of the result, as numpy broadcasts, or as prefixes? */
static bool
reads_in_order(const struct form *f)
{
	for (int j = 0; j < f->ninputs; j++) {
		int last = -1;
		for (int d = 0; d < f->in[j].rank; d++) {
			int index = f->in[j].index[d];
			if (index < 0)
				continue;
			int at = form_access_dim(&f->out, index);
			if (at <= last)
				return false;
			last = at;
		}
	}
	return true;
}

static bool
is_scalar_constant(const struct ir_op *op)
{
	return op && op->code == OP_constant && op->result[0].type->rank == 0;
}

static void
form_open_all(struct arena *a, struct form *f)
{
	for (int i = 0; i < f->nindices; i++)
		if (f->at[i])
			form_open(a, f, i);
}

/* The role of an op, and its iteration space: the dims of its result, then what it reduces. */
static enum role
classify(struct fuser *u, struct ir_op *op, int *rank, int64_t space[IR_MAX_RANK])
{
	struct form f;
	struct form_offset offset[FORM_MAX_INDICES];

	*rank = 0;
	if (!op_is(op, PURE) || op_is(op, PARALLEL | NAMED) || is_scalar_constant(op) ||
		op->nresults != 1 || !form_make(u->m, u->a, op, NULL, &f))
		return ROLE_NONE;
	form_localize(u->m, op, &f, offset);
	if (op->code == OP_pick || op->code == OP_put)
		form_open_all(u->a, &f); /* a kernel goes over the row and takes the one element */
	const struct form_access *whole = f.reduce != REDUCE_NONE && f.ninputs ? &f.in[0] : &f.out;
	if (is_sum_product(&f))
		whole = &f.out;
	for (int d = 0; d < whole->rank; d++)
		space[(*rank)++] = whole->index[d] < 0 ? 1 : f.size[whole->index[d]];
	if (is_sum_product(&f))
		return ROLE_PRODUCT;
	if (form_has_computed(&f))
		return ROLE_NONE; /* what is read or written out of order shares no loops */
	if (f.reduce == REDUCE_NONE)
		return reads_in_order(&f) ? ROLE_MAP : ROLE_NONE;
	return reduces_trailing(&f) ? ROLE_ROW : ROLE_LAST;
}

static bool
is_prefix(int rank, const int64_t *shape, const struct group *g)
{
	while (rank > 0 && shape[rank - 1] == 1)
		rank--;
	if (rank > g->rank)
		return false;
	for (int d = 0; d < rank; d++)
		if (shape[d] != g->space[d])
			return false;
	return true;
}

/* One iteration space: equal, or one is a prefix of the other in a group that has rows. */
static bool
spaces_meet(const struct group *g, int rank, const int64_t *space)
{
	struct group other = {.rank = rank};

	memcpy(other.space, space, sizeof other.space);
	return is_prefix(rank, space, g) || is_prefix(g->rank, g->space, &other);
}

/* Fills in who reads what; a use list has no order. */
static void
find_readers(struct fuser *u, struct ir_block *block)
{
	uint32_t n = 0, uses = 0;

	IR_FOR_OPS (op, block)
		for (int i = 0; i < op->nresults; i++)
			op->result[i].mark = n++;
	u->first = talloc_zero_array(u->run->scratch, uint32_t, n + 2u);
	if (!u->first)
		out_of_memory();
	/* Counts stand two places further on, so that filling in leaves the ends behind. */
	IR_FOR_OPS (op, block)
		for (int j = 0; j < op->noperands; j++, uses++)
			u->first[ir_operand(op, j)->mark + 2]++;
	for (uint32_t i = 2; i <= n; i++)
		u->first[i] += u->first[i - 1];
	u->reader = talloc_array(u->run->scratch, struct ir_op *, uses + 1u);
	if (!u->reader)
		out_of_memory();
	IR_FOR_OPS (op, block)
		for (int j = 0; j < op->noperands; j++)
			u->reader[u->first[ir_operand(op, j)->mark + 1]++] = op;
}

/*
 * Does anything outside both groups, standing before `op`, read a value of g? The first readers
 * tell: groups are small, so few of them are inside.
 */
static bool
read_before(const struct fuser *u, const struct group *g, const struct ir_op *op, uint32_t number,
	uint32_t other)
{
	for (int i = 0; i < g->n; i++) {
		uint32_t v = g->op[i]->result[0].mark;
		for (uint32_t k = u->first[v]; k < u->first[v + 1]; k++) {
			const struct ir_op *reader = u->reader[k];
			if (reader->order >= op->order)
				break;
			if (reader->mark != number && reader->mark != other)
				return true;
		}
	}
	return false;
}

static int
count_operands(const struct group *g)
{
	int n = 0;

	for (int i = 0; i < g->n; i++)
		n += g->op[i]->noperands;
	return n;
}

static void
append_op(struct fuser *u, struct group *g, struct ir_op *op, uint32_t number)
{
	g->op = talloc_realloc(u->run->scratch, g->op, struct ir_op *, (size_t)g->n + 1);
	if (!g->op)
		out_of_memory();
	g->op[g->n++] = op;
	op->mark = number;
}

static bool
reads_group(const struct ir_op *op, uint32_t number)
{
	for (int j = 0; j < op->noperands; j++) {
		const struct ir_op *maker = ir_operand(op, j)->op;
		if (maker && maker->mark == number)
			return true;
	}
	return false;
}

/* Does an op of `own` read a reduction of g that leaves the iteration space? */
static bool
reads_last(const struct group *own, const struct group *g)
{
	for (int i = 0; i < own->n; i++)
		for (int j = 0; j < own->op[i]->noperands; j++)
			for (int k = 0; k < g->nlast; k++)
				if (ir_operand(own->op[i], j)->op == g->last[k])
					return true;
	return false;
}

/* A product and its epilogue: ops on the product's own space, or on its rows. */
static bool
fits_product(const struct group *product, const struct group *other)
{
	return !other->product && is_prefix(other->rank, other->space, product);
}

/* May group `number` take `op` (already in group `mine`, alone or with others)? */
static bool
may_join(struct fuser *u, uint32_t number, uint32_t mine, const struct ir_op *op, enum role role)
{
	struct group *g = u->group[number], *own = u->group[mine];

	if (role == ROLE_PRODUCT || g->nlast + own->nlast > GROUP_MAX_LAST || reads_last(own, g))
		return false;
	/* A product that reads the group could not start the kernel. */
	if ((g->product && !fits_product(g, own)) || (own->product && !fits_product(own, g)) ||
		(own->product && reads_group(own->product, number)))
		return false;
	if (g->n + own->n > GROUP_MAX_OPS ||
		count_operands(g) + count_operands(own) > GROUP_MAX_OPERANDS + g->n)
		return false;
	return spaces_meet(g, own->rank, own->space) && !read_before(u, g, op, number, mine);
}

/* All of g goes into the group of `mine`, in issue order. */
static void
join(struct fuser *u, uint32_t number, uint32_t mine)
{
	struct group *g = u->group[number], *own = u->group[mine], both = {0};
	int i = 0, j = 0;

	while (i < g->n || j < own->n) {
		bool first = j == own->n || (i < g->n && g->op[i]->order < own->op[j]->order);
		append_op(u, &both, first ? g->op[i++] : own->op[j++], mine);
	}
	const struct group *larger = is_prefix(own->rank, own->space, g) ? g : own;
	both.rank = larger->rank;
	memcpy(both.space, larger->space, sizeof both.space);
	both.product = own->product ? own->product : g->product;
	for (const struct group *x = g; x; x = x == g ? own : NULL)
		for (int k = 0; k < x->nlast; k++)
			both.last[both.nlast++] = x->last[k];
	talloc_free(g->op);
	talloc_free(own->op);
	*g = (struct group){0};
	*own = both;
}

static void
place_op(struct fuser *u, struct ir_op *op)
{
	struct group g = {0};
	enum role role = classify(u, op, &g.rank, g.space);
	arena_reset(u->a);

	op->mark = 0;
	if (role == ROLE_NONE)
		return;
	uint32_t mine = ++u->ngroups;
	if (role == ROLE_LAST)
		g.last[g.nlast++] = op;
	g.product = role == ROLE_PRODUCT ? op : NULL;
	u->group[mine] = ARENA_NEW(u->groups, struct group);
	*u->group[mine] = g;
	append_op(u, u->group[mine], op, mine);
	for (int j = 0; j < op->noperands; j++) {
		const struct ir_op *maker = ir_operand(op, j)->op;
		uint32_t number = maker && maker->block == op->block ? maker->mark : 0;
		if (number && number != mine && may_join(u, number, mine, op, role))
			join(u, number, mine);
	}
}

/* ---- groups become fuses ---- */

struct interface {
	struct ir_value **in, **out;
	int nin, nout;
};

static void
find_interface(struct fuser *u, const struct group *g, uint32_t number, struct interface *f)
{
	f->in = talloc_array(u->run->scratch, struct ir_value *, (size_t)count_operands(g) + 1);
	f->out = talloc_array(u->run->scratch, struct ir_value *, (size_t)g->n);
	for (int i = 0; i < g->n; i++) {
		for (int j = 0; j < g->op[i]->noperands; j++) {
			struct ir_value *v = ir_operand(g->op[i], j);
			bool known = is_scalar_constant(v->op) || (v->op && v->op->mark == number);
			for (int k = 0; k < f->nin && !known; k++)
				known = f->in[k] == v;
			if (!known)
				f->in[f->nin++] = v;
		}
		bool read = false;
		IR_FOR_USES (use, &g->op[i]->result[0])
			read = read || use->op->mark != number;
		if (read)
			f->out[f->nout++] = &g->op[i]->result[0];
	}
}

/* The kernel's own copy of a scalar constant, made once, before the op that reads it. */
static struct ir_value *
own_constant(struct fuser *u, struct ir_op *reader, struct ir_value *v)
{
	IR_FOR_OPS (op, reader->block)
		if (op->code == OP_constant && op->result[0].type == v->type &&
			ir_attr_equal(&op->attr[0], &v->op->attr[0]))
			return &op->result[0];
	struct ir_op *copy = ir_op_clone(u->m, v->op, NULL);
	ir_insert_before(reader, copy);
	return &copy->result[0];
}

static struct ir_value *
inside(struct fuser *u, const struct ir_op *fuse, const struct interface *f, struct ir_op *reader,
	struct ir_value *v)
{
	for (int k = 0; k < f->nin; k++)
		if (f->in[k] == v)
			return &fuse->body->arg[k];
	return is_scalar_constant(v->op) ? own_constant(u, reader, v) : v;
}

static void
move_inside(struct fuser *u, const struct group *g, struct ir_op *fuse, struct interface *f)
{
	for (int i = 0; i < g->n; i++) {
		ir_op_unlink(g->op[i]);
		ir_block_append(fuse->body, g->op[i]);
		for (int j = 0; j < g->op[i]->noperands; j++)
			ir_set_operand(
				g->op[i], j, inside(u, fuse, f, g->op[i], ir_operand(g->op[i], j)));
	}
	struct ir_op *yield = ir_op_create(u->m, OP_yield, fuse->loc, f->out, f->nout, NULL, 0, 0);
	ir_block_append(fuse->body, yield);
}

static void
make_fuse(struct fuser *u, const struct group *g, uint32_t number)
{
	struct interface f = {0};
	struct ir_op *last = g->op[g->n - 1];

	find_interface(u, g, number, &f);
	if (!f.nout)
		return; /* dead: dce takes it */
	struct ir_op *fuse = ir_op_create(u->m, OP_fuse, last->loc, f.in, f.nin, NULL, 0, f.nout);
	ir_insert_after(last, fuse);
	ir_op_make_body(u->m, fuse);
	fuse->body->func = fuse->block->func;
	for (int i = 0; i < f.nout; i++) {
		fuse->result[i].type = f.out[i]->type;
		fuse->result[i].name = f.out[i]->name;
		struct ir_use *next;
		for (struct ir_use *use = f.out[i]->uses; use; use = next) {
			next = use->next;
			if (use->op->mark != number)
				ir_set_operand(
					use->op, (int)(use - use->op->operand), &fuse->result[i]);
		}
	}
	fuse->mark = 0;
	move_inside(u, g, fuse, &f);
	pass_count(u->run, "ops fused", g->n);
	pass_count(u->run, "kernels", 1);
	pass_remark(u->run, fuse, PASS_APPLIED, "%d ops in one kernel", g->n);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct fuser u = {.run = run,
		.m = m,
		.a = arena_create(run->scratch),
		.groups = arena_create(run->scratch)};
	struct ir_block *block = &ir_func_find(m, "main")->body;
	uint32_t n = ir_block_number(block);

	u.group = talloc_zero_array(run->scratch, struct group *, n + 1u);
	if (!u.group)
		out_of_memory();
	if (pass_enum(run, "policy") == 1) /* none */
		return true;
	find_readers(&u, block);
	IR_FOR_OPS (op, block)
		place_op(&u, op);
	for (uint32_t i = 1; i <= u.ngroups; i++)
		if (u.group[i]->n > 1)
			make_fuse(&u, u.group[i], i);
	IR_FOR_OPS_SAFE (op, block)
		if (is_scalar_constant(op) && !op->result[0].uses)
			ir_op_erase(op); /* every reader has its own */
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "greedy",
		"what to fuse: greedy joins producers and consumers, none nothing", "greedy,none",
		0, 0},
	{0},
};

const struct pass pass_opfuse = {
	.name = "opfuse",
	.family = "fusion",
	.summary = "ops that would pass tensors through memory become one kernel",
	.options = options,
	.needs = "no-calls",
	.provides = "fused",
	.conflicts = "fused",
	.run = run,
};
