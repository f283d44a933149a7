/*
 * Reads the plan back from a plan's module that passes have changed: their kernels and messages
 * become nodes, in the order of the block. Ops are recognized by the names of their results, which
 * passes keep where they fuse, copy and pack.
 */
#include "passes/search/plan/impl.h"

#include "ir/base/sort.h"
#include "passes/fuse/role.h"

#include <stdio.h>
#include <stdlib.h>

/* Names of results while passes change the module: this prefix and the number of the op. */
static const char prefix[] = "op";

struct ir_module *
plan_module_to_change(const void *owner, const struct plan *p)
{
	struct ir_module *m = ir_module_clone(owner, p->base->m);
	uint32_t number = 0;
	char name[32];

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		snprintf(name, sizeof name, "%s%u", prefix, number++);
		for (int i = 0; i < op->nresults; i++)
			op->result[i].name = ir_name(m->ctx, name);
	}
	return m;
}

/* The work op whose result, or a copy of it, a value is; PLAN_NONE: none. */
static uint32_t
number_of(const struct plan *p, const struct ir_value *v)
{
	const size_t n = sizeof prefix - 1;
	char *end;

	if (!v->name || strncmp(v->name, prefix, n) != 0)
		return PLAN_NONE;
	const unsigned long number = strtoul(v->name + n, &end, 10);
	const bool work = !*end && number < p->base->nops && p->base->op[number].work;
	return work ? (uint32_t)number : PLAN_NONE;
}

/* A node while it is read: its members are in p->member; p->flag, by op, marks those that others
 * read. */
struct reader {
	struct plan *p;
	const struct ir_module *m;
	const struct ir_op *op;
	uint32_t n;
};

static bool
add_member(struct reader *r, uint32_t number)
{
	struct plan *p = r->p;

	if (number == PLAN_NONE)
		return false;
	if (!r->n || p->member[r->n - 1] != number) /* an op may have several results */
		p->member[r->n++] = number;
	return true;
}

/* A kernel that passes have formed, as opposed to a fuse that is a single op of the plan. */
static bool
is_made(const struct reader *r)
{
	const uint32_t first = number_of(r->p, &r->op->result[0]);

	return r->op->code == OP_fuse &&
	       (first == PLAN_NONE || r->p->base->op[first].op->code != OP_fuse);
}

static bool
read_body(struct reader *r)
{
	IR_FOR_OPS (op, r->op->body)
		if (op->nresults && !fuse_is_scalar(op) &&
			!add_member(r, number_of(r->p, &op->result[0])))
			return false;
	return true;
}

static bool
read_results(struct reader *r)
{
	for (int i = 0; i < r->op->nresults; i++)
		if (!add_member(r, number_of(r->p, &r->op->result[i])))
			return false;
	return true;
}

/* Members whose results leave the kernel are at home in it; the others are copies until all nodes
 * have been read. */
static void
add_node(struct reader *r)
{
	struct plan *p = r->p;
	const uint32_t node = p->base->first_node[number_of(p, &r->op->result[0])];

	sort_uint32(p->member, r->n);
	plan_add_node(p, node, ir_parts(r->op));
	p->node[node].message = p->base->op[p->member[0]].collective;
	for (int i = 0; i < r->op->nresults; i++)
		p->home[number_of(p, &r->op->result[i])] = node;
	plan_set_members(p, node, p->member, r->n);
}

static bool
read_node(struct reader *r)
{
	r->n = 0;
	if (!(is_made(r) ? read_body(r) : read_results(r)) || !r->n)
		return false;
	add_node(r);
	return true;
}

/* An op whose result leaves no kernel is at home in the first kernel that has it; the others have
 * copies. */
static void
find_copies(struct plan *p)
{
	for (uint32_t i = 0; i < p->count; i++) {
		const uint32_t node = p->order[i];
		const struct plan_state *s = &p->node[node];
		for (uint32_t k = 0; k < s->nops; k++) {
			const uint32_t op = p->pool[s->op + k];
			if (p->home[op] == PLAN_NONE)
				p->home[op] = node;
			if (p->home[op] == node)
				continue;
			p->pool[s->op + k] |= PLAN_COPY;
			plan_add_copy(p, op, node);
		}
	}
}

static void
free_rest(struct plan *p)
{
	for (uint32_t i = p->base->nops; i-- > 0;) {
		const uint32_t node = p->base->first_node[i];
		if (node != PLAN_NONE && p->node[node].position == PLAN_NONE)
			p->free[p->nfree++] = node;
	}
}

bool
plan_read(struct plan *p, struct ir_module *m)
{
	struct reader r = {.p = p, .m = m};
	bool known = true;

	plan_split_views(m);
	plan_clear(p);
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		if (!known || cost_op_kind(m, op) == COST_NONE)
			continue;
		r.op = op;
		known = read_node(&r);
	}
	if (!known) {
		plan_reset(p);
		return false;
	}
	find_copies(p);
	free_rest(p);
	plan_settle_all(p);
	return true;
}
