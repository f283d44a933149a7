/* Creates the plan of a module as it stands: see plan.h. */
#include "passes/search/plan/impl.h"

#include "ir/memory/awaited.h"
#include "ir/memory/issue.h"
#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

static void
split_view(struct ir_module *m, struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++) {
		struct ir_value *operand = ir_operand(op, i);
		struct ir_op *one = ir_op_create(
			m, (enum op_code)op->code, op->loc, &operand, 1, op->attr, op->nattrs, 1);
		one->result[0].type = op->result[i].type;
		one->result[0].name = op->result[i].name;
		ir_insert_before(op, one);
		ir_replace_uses(&op->result[i], &one->result[0]);
	}
	ir_op_erase(op);
}

void
plan_split_views(struct ir_module *m)
{
	IR_FOR_OPS_SAFE (op, &ir_func_find(m, "main")->body)
		if (op->nresults > 1 && op->noperands && op->code != OP_barrier &&
			cost_op_kind(m, op) == COST_NONE)
			split_view(m, op);
}

/* The op that makes a value, if it does work; NULL: the value is available from the start. */
static struct plan_op *
maker_of(const struct plan_base *b, const struct ir_value *v)
{
	struct plan_op *maker = v->op ? &b->op[ir_number(b->ops, v->op)] : NULL;

	return maker && maker->work ? maker : NULL;
}

/* The values that an op waits for when it reads v, through views and barriers; in b->awaited, valid
 * until the next call. */
static const struct awaited *
awaited_by(struct plan_base *b, const struct ir_value *v)
{
	awaited_clear(&b->awaited);
	awaited_add(b, &b->awaited, b->m, v);
	return &b->awaited;
}

/* Marks the makers of op's operands as kept: op does no work, is not a view, and needs the
 * values. */
static void
keep(struct plan_base *b, const struct ir_op *op)
{
	for (int j = 0; j < op->noperands; j++) {
		const struct awaited *a = awaited_by(b, ir_operand(op, j));
		for (int64_t k = 0; k < a->value.n; k++) {
			struct plan_op *maker = maker_of(b, a->value.at[k]);
			if (maker)
				maker->kept = true;
		}
	}
}

static void
find_work(struct plan_base *b)
{
	struct cost_collective c;

	for (uint32_t i = 0; i < b->nops; i++) {
		const struct ir_op *op = b->ops->op[i];
		struct plan_op *o = &b->op[i];
		enum cost_kind kind = cost_op_kind(b->m, op);
		*o = (struct plan_op){.op = op, .work = kind != COST_NONE};
		o->collective = kind == COST_COLLECTIVE;
		if (o->collective && cost_op_collective(b->m, op, &c))
			o->bytes = c.bytes;
		if (o->work)
			b->first_node[i] = b->room++;
		else
			b->first_node[i] = PLAN_NONE;
	}
}

/* Adds a dependency on op `number` to o, which must be the last op with dependencies so far. */
static void
add_dep(struct plan_base *b, struct plan_op *o, uint32_t number, uint32_t through)
{
	uint32_t *dep = b->dep.at + o->first_dep;

	for (uint32_t k = 0; k < o->ndeps; k++)
		if ((dep[k] & ~PLAN_THROUGH_VIEW) == number) {
			dep[k] |= through;
			return;
		}
	VEC_PUSH(b, &b->dep, number | through);
	o->ndeps++;
}

static void
add_deps(struct plan_base *b, struct plan_op *o, const struct ir_value *v)
{
	const struct awaited *a = awaited_by(b, v);

	for (int64_t k = 0; k < a->value.n; k++) {
		const struct plan_op *maker = maker_of(b, a->value.at[k]);
		if (maker)
			add_dep(b, o, (uint32_t)(maker - b->op),
				a->value.at[k] == v ? 0 : PLAN_THROUGH_VIEW);
	}
}

static void
find_deps(struct plan_base *b)
{
	for (uint32_t i = 0; i < b->nops; i++) {
		struct plan_op *o = &b->op[i];
		const struct ir_op *op = o->op;
		o->first_dep = (uint32_t)b->dep.n;
		if (!o->work) {
			/* An op that only hands a value on as a view needs nothing itself. */
			if (!op->nresults)
				keep(b, op);
			continue;
		}
		for (int j = 0; j < op->noperands; j++)
			add_deps(b, o, ir_operand(op, j));
	}
}

static void
find_readers(struct plan_base *b)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < b->nops; i++)
		for (uint32_t k = 0; k < b->op[i].ndeps; k++)
			b->op[b->dep.at[b->op[i].first_dep + k] & ~PLAN_THROUGH_VIEW].nreaders++;
	for (uint32_t i = 0; i < b->nops; i++) {
		b->op[i].first_reader = n;
		n += b->op[i].nreaders;
		b->op[i].nreaders = 0;
	}
	b->reader = ARRAY_NEW(b, uint32_t, n);
	for (uint32_t i = 0; i < b->nops; i++)
		for (uint32_t k = 0; k < b->op[i].ndeps; k++) {
			struct plan_op *on =
				&b->op[b->dep.at[b->op[i].first_dep + k] & ~PLAN_THROUGH_VIEW];
			b->reader[on->first_reader + on->nreaders++] = i;
			on->sent |= b->op[i].collective;
		}
}

/* Can the two collectives share a message? */
static bool
alike(const struct ir_module *m, const struct ir_op *a, const struct ir_op *b)
{
	if (a->code != b->code || !op_is(a, TRAIT_VARIADIC) ||
		ir_operand_type(a, 0)->dtype != ir_operand_type(b, 0)->dtype ||
		!ir_type_same_devices(m, a->result[0].type, b->result[0].type) ||
		ir_attr_int(a, "each", -1) != ir_attr_int(b, "each", -1))
		return false;
	for (int i = 0; i < a->nattrs; i++) {
		const struct ir_attr *other = ir_attr_find(b, a->attr[i].key);
		if (strcmp(a->attr[i].key, "parts") != 0 &&
			(!other || !ir_attr_equal(&a->attr[i], other)))
			return false;
	}
	return true;
}

/* The first collective of each kind represents the kind; there are few kinds. */
static void
find_kinds(struct plan_base *b)
{
	uint32_t *first = ARRAY_NEW(b, uint32_t, b->nops), n = 0;

	for (uint32_t i = 0; i < b->nops; i++) {
		uint32_t k = 0;
		if (!b->op[i].collective)
			continue;
		while (k < n && (!alike(b->m, b->op[first[k]].op, b->op[i].op) ||
					b->op[first[k]].over != b->op[i].over))
			k++;
		if (k == n)
			first[n++] = i;
		b->op[i].like = first[k];
	}
	array_free(first);
}

static void
find_loops(struct plan_base *b, const struct ir_block *block)
{
	const struct issue *o = issue_create(b, b->m, block);

	for (uint32_t i = 0; i < o->n; i++)
		b->op[ir_number(b->ops, o->op[i])].over =
			o->once[i] ? 0 : o->loop[o->loop_of[i]].over;
	talloc_free((void *)o);
}

static bool
has_loops(const struct plan_base *b)
{
	for (uint32_t i = 0; i < b->nops; i++)
		if (b->op[i].over)
			return true;
	return false;
}

static int
end_asking(pthread_mutex_t *asking)
{
	pthread_mutex_destroy(asking);
	return 0;
}

static struct plan_base *
base_create(const void *owner, const struct cost_model *model, struct ir_module *m)
{
	struct plan_base *b = NEW(owner, struct plan_base);
	struct ir_func *main = ir_func_find(m, "main");

	plan_split_views(m);
	*b = (struct plan_base){.model = model, .m = m, .step = cost_step_create(b, model, m)};
	if (!b->step) {
		talloc_free(b);
		return NULL;
	}
	struct ir_block *block = &main->body;
	b->asking = NEW(b, pthread_mutex_t);
	pthread_mutex_init(b->asking, NULL);
	talloc_set_destructor(b->asking, end_asking);
	b->ops = ir_numbering_create(b, m, block);
	b->nops = b->ops->n;
	b->op = ARRAY_NEW(b, struct plan_op, b->nops);
	b->first_node = ARRAY_NEW(b, uint32_t, b->nops);
	b->fuse = fuse_table_create(b, m, block, b->step->alike);
	find_work(b);
	find_deps(b);
	find_readers(b);
	find_loops(b, block);
	find_kinds(b);
	const struct event_device *d = &b->step->kind[b->step->kind_of[0]];
	b->post = d->post;
	b->wait = d->wait;
	b->first = d->step;
	b->async = d->async;
	b->overlap = d->overlap;
	b->whole = b->step->events->ndevices > 1 || has_loops(b);
	return b;
}

struct plan *
plan_create(const void *owner, const struct cost_model *model, struct ir_module *m)
{
	struct plan *p = NEW(owner, struct plan);
	struct plan_base *b = base_create(p, model, m);

	if (!b) {
		talloc_free(p);
		return NULL;
	}
	p->base = b;
	p->estimator = estimator_create(
		p, model, b->step->kind_of[0], m, &ir_func_find(m, "main")->body, b->step->alike);
	plan_set_up(p);
	plan_reset(p);
	return p;
}
