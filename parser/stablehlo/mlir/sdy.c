/* Meshes and shardings of the dialect sdy, as mlir.h describes them. */
#include "parser/stablehlo/mlir/parser.h"

#include <string.h>

/* {"x", "y", ?}p1: axes, whether more may be added, and a priority. */
static struct mlir_attr
sharding_dim(struct mlir_parser *p, const struct mlir_attr *set)
{
	struct mlir_attr *axis = ARENA_ARRAY(p->arena, struct mlir_attr, set->n + 1);
	struct mlir_attr *item = ARENA_ARRAY(p->arena, struct mlir_attr, 3);
	uint32_t n = 0;
	int64_t priority = 0;
	bool open = false;

	if (set->kind != MLIR_LIST && set->kind != MLIR_DICT) {
		mlir_error(p, set->loc, "expected a set of axes, {\"x\"}");
		return *set;
	}
	for (uint32_t i = 0; set->item && i < set->n; i++) {
		const struct mlir_attr *a = &set->item[i];
		if (a->kind == MLIR_INT)
			priority = a->i;
		else if (a->kind == MLIR_WORD)
			open = true;
		else
			axis[n++] = *a;
	}
	item[0] = mlir_make_list(p, "axes", axis, n, set->loc);
	item[1] = (struct mlir_attr){
		.name = ir_name(p->ctx, "open"), .kind = MLIR_BOOL, .loc = set->loc, .i = open};
	item[2] = mlir_make_int(p, "priority", priority, set->loc);
	return (struct mlir_attr){.kind = MLIR_DICT, .n = 3, .loc = set->loc, .item = item};
}

/* The sets {"x"} among entries become lists, as replicated = {"x"} is one. */
static void
plain_sets(struct mlir_item *entry, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (entry[i].attr.kind == MLIR_DICT && !entry[i].attr.n)
			entry[i].attr.kind = MLIR_LIST;
		if (entry[i].attr.kind == MLIR_LIST)
			entry[i].attr.dialect = NULL;
	}
}

/* @mesh, [dims] and entries are on the stack: one dictionary for them. */
void
mlir_sharding(struct mlir_parser *p, uint32_t entries, struct ir_loc loc)
{
	struct mlir_item *item = VEC_TOP(&p->item, entries + 2);
	struct mlir_attr *dims = &item[1].attr;
	struct mlir_attr *dim = ARENA_ARRAY(p->arena, struct mlir_attr, dims->n + 1);
	const char *replicated = ir_name(p->ctx, "replicated");
	bool has_replicated = false;

	for (uint32_t i = 0; i < dims->n; i++)
		dim[i] = sharding_dim(p, &dims->item[i]);
	dims->item = dim;
	dims->name = ir_name(p->ctx, "dims");
	item[0].attr.name = ir_name(p->ctx, "mesh");
	plain_sets(item + 2, entries);
	for (uint32_t i = 0; i < entries; i++)
		has_replicated = has_replicated || item[i + 2].attr.name == replicated;
	if (!has_replicated) {
		mlir_attr_push(p, mlir_make_list(p, "replicated", NULL, 0, loc));
		entries++;
	}
	mlir_attr_group(p, MLIR_DICT, entries + 2, ir_name(p->ctx, "sdy.sharding"), loc);
}

/* ["x"=2, "y"=4] and entries, as device_ids = [0, 1], are on the stack. */
void
mlir_mesh_attr(struct mlir_parser *p, uint32_t entries, struct ir_loc loc)
{
	struct mlir_item *item = VEC_TOP(&p->item, entries + 1);

	item[0].attr.name = ir_name(p->ctx, "axes");
	mlir_attr_group(p, MLIR_DICT, entries + 1, ir_name(p->ctx, "sdy.mesh"), loc);
}
