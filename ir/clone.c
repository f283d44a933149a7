/*
 * Copies of ops and modules. The copy of each value is found in a table by id for a module, and in
 * a map for one op, whose body has few of the module's values.
 */
#include "ir/ir.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

struct copied {
	const struct ir_value *from;
	struct ir_value *to;
};

struct clone_map {
	struct ir_module *m;     /* that the copies belong to */
	struct ir_value **by_id; /* of a module; else NULL, and: */
	struct map map;
	struct VEC(struct copied) value;
	struct VEC(struct ir_value *) operand; /* of the current op, until it is made */
};

MAP_SAME(same_value, struct clone_map, struct ir_value, list->value.at[i].from == key)

static void
clone_value(struct clone_map *map, const struct ir_value *from, struct ir_value *to)
{
	if (map->by_id) {
		map->by_id[from->id] = to;
		return;
	}
	map_add(NULL, &map->map, mix_pointer(from), same_value, map, from);
	VEC_PUSH(NULL, &map->value, (struct copied){from, to});
}

static struct ir_value *
copy_of(const struct clone_map *map, const struct ir_value *v)
{
	if (map->by_id)
		return map->by_id[v->id];
	return map->value.at[map_find(&map->map, mix_pointer(v), same_value, map, v)].to;
}

static const struct ir_attr *
clone_list(struct ir_module *m, const struct ir_attr *list, int n)
{
	struct ir_attr *copy = ARENA_ARRAY(m->arena, struct ir_attr, n);

	for (int i = 0; i < n; i++) {
		copy[i] = list[i];
		if (list[i].kind == ATTR_LIST)
			copy[i].list = clone_list(m, list[i].list, list[i].n);
	}
	return copy;
}

static void clone_block(struct clone_map *map, const struct ir_block *from, struct ir_block *to);

/* Everything but the operands. */
static struct ir_op *
clone_shell(struct clone_map *map, const struct ir_op *op, struct ir_value *const *operands)
{
	struct ir_module *m = map->m;
	struct ir_op *copy = ir_op_create(
		m, (enum op_code)op->code, op->loc, operands, op->noperands, NULL, 0, op->nresults);

	copy->symbol = op->symbol;
	copy->written = op->written;
	copy->nattrs = op->nattrs;
	if (op->nattrs)
		copy->attr = (struct ir_attr *)clone_list(m, op->attr, op->nattrs);
	for (int i = 0; i < op->nresults; i++) {
		copy->result[i].type = op->result[i].type;
		copy->result[i].name = op->result[i].name;
	}
	if (op->body) {
		ir_op_make_body(m, copy);
		for (uint32_t i = 0; i < copy->body->nargs; i++)
			copy->body->arg[i].name = op->body->arg[i].name;
		clone_block(map, op->body, copy->body);
	}
	return copy;
}

/* Values used in a block are its arguments or results of ops before: all are in the map. */
static void
clone_block(struct clone_map *map, const struct ir_block *from, struct ir_block *to)
{
	for (uint32_t i = 0; i < from->nargs; i++)
		clone_value(map, &from->arg[i], &to->arg[i]);
	IR_FOR_OPS (op, from) {
		map->operand.n = 0;
		for (int i = 0; i < op->noperands; i++)
			VEC_PUSH(NULL, &map->operand, copy_of(map, ir_operand(op, i)));
		struct ir_op *copy = clone_shell(map, op, map->operand.at);
		ir_block_append(to, copy);
		if (copy->body)
			copy->body->func = to->func;
		for (int i = 0; i < op->nresults; i++)
			clone_value(map, &op->result[i], &copy->result[i]);
	}
}

struct ir_op *
ir_op_clone(struct ir_module *m, const struct ir_op *op, struct ir_value *const *operands)
{
	struct clone_map map = {.m = m};
	struct ir_op *copy = clone_shell(&map, op, operands);

	map_free(&map.map);
	VEC_FREE(&map.value);
	VEC_FREE(&map.operand);
	return copy;
}

static void
clone_func(struct clone_map *map, const struct ir_func *from)
{
	struct ir_module *to = map->m;
	struct ir_func *f = ir_func_create(to, from->name, from->loc);

	f->prelude = from->prelude;
	f->body.nargs = from->body.nargs;
	f->body.arg = ir_block_args(to, &f->body, from->body.nargs);
	for (uint32_t i = 0; i < from->body.nargs; i++) {
		f->body.arg[i] = from->body.arg[i];
		f->body.arg[i].uses = NULL;
		f->body.arg[i].id = to->value_ids++;
	}
	clone_block(map, &from->body, &f->body);
}

/*
 * Size expressions and written types of templates are shared with the original: they are immutable
 * and live in the context's arena.
 */
struct ir_module *
ir_module_clone(const void *owner, const struct ir_module *from)
{
	struct ir_module *m = ir_module_create(owner, from->ctx, from->name);

	memcpy(m->axis, from->axis, sizeof m->axis);
	m->naxes = from->naxes;
	for (int i = 0; i < from->nlets; i++)
		ir_let_add(m, from->let[i]);
	m->nmesh_attrs = from->nmesh_attrs;
	if (from->nmesh_attrs)
		m->mesh_attr = clone_list(m, from->mesh_attr, from->nmesh_attrs);
	struct clone_map map = {
		.m = m, .by_id = ARRAY_NEW(NULL, struct ir_value *, from->value_ids)};
	for (const struct ir_func *f = from->func; f; f = f->next)
		clone_func(&map, f);
	array_free(map.by_id);
	VEC_FREE(&map.operand);
	m->op_ids_before = m->op_ids;
	return m;
}

void
ir_module_take(struct ir_module *to, struct ir_module *from)
{
	*to = *talloc_steal(to, from); /* what `from` has stays its talloc child */
	for (struct ir_func *f = to->func; f; f = f->next)
		f->module = to;
	if (!to->func)
		to->last_func = &to->func;
}
