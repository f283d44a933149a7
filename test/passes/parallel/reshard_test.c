/*
 * Changes of layout: from every layout of a matrix on three axes to every other one that is no sum, there is a way,
 * and not a long one.
 */
#include "passes/parallel/reshard.h"
#include "test/unit.h"

#include <string.h>

enum { AXES = 3, DIMS = 2, MOST_LAYOUTS = 200, MOST_OPS = 2 * AXES };

struct layouts {
	const struct ir_type *type[MOST_LAYOUTS];
	int n;
};

/* The type with axes `from`, ... in every state; splits of a dim in every order, as each is put on after those of any
 * other set. */
static void
list(struct ir_module *m, const struct ir_type *t, unsigned left, bool partial, struct layouts *l)
{
	const struct ir_type *known = ir_type_intern(m->ctx, t);
	bool is_new = true;

	for (int i = 0; i < l->n; i++)
		is_new = is_new && l->type[i] != known;
	if (is_new)
		l->type[l->n++] = known;
	for (int a = 0; a < AXES; a++) {
		struct ir_type next = *t;
		if (!(left >> a & 1))
			continue;
		for (int d = 0; d < DIMS; d++) {
			next.axis[a] = (struct ir_state){
				IR_SPLIT, (uint8_t)d, (uint16_t)ir_type_split_depth(t, d)};
			list(m, &next, left & ~(1u << a), partial, l);
		}
		next.axis[a] = (struct ir_state){.kind = IR_PARTIAL};
		if (partial)
			list(m, &next, left & ~(1u << a), partial, l);
	}
}

static void
there_is_a_way_between_any_two_layouts(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);
	struct ir_module *m = ir_module_create(*state, ctx, "m");
	struct ir_block *block = &ir_func_create(m, "main", (struct ir_loc){0})->body;
	const struct ir_type meaning = {.dtype = IR_f32, .rank = DIMS, .dim = {8, 8}};
	struct layouts from = {.n = 0}, to = {.n = 0};

	for (int a = 0; a < AXES; a++)
		m->axis[m->naxes++] =
			(struct ir_axis){.name = ir_name(ctx, &"a\0b\0c"[2 * a]), .size = 2};
	list(m, &meaning, (1u << AXES) - 1, true, &from);
	list(m, &meaning, (1u << AXES) - 1, false, &to);
	/* Without sums: 1 copied, 3 * 2 of one split, 3 * (4 + 2) of two, 2^3 assignments of three with 6, 2, 2 and
	 * six times 2 orders: 6 + 6 + 6 * 2 = 24. */
	assert_int_equal(to.n, 1 + 6 + 18 + 24);
	for (int i = 0; i < from.n; i++)
		for (int j = 0; j < to.n; j++) {
			struct ir_builder b = {.m = m, .block = block};
			struct ir_op *op = ir_op_create(
				m, OP_barrier, (struct ir_loc){0}, NULL, 0, NULL, 0, 1);
			int n = 0;
			op->result[0].type = from.type[i];
			ir_block_append(block, op);
			const struct ir_value *v = reshard(&b, &op->result[0], to.type[j]);
			assert_non_null(v);
			assert_ptr_equal(v->type, to.type[j]);
			for (const struct ir_op *made = op->next; made; made = made->next)
				n++;
			assert_in_range(n, from.type[i] != to.type[j], MOST_OPS);
			while (block->last)
				ir_op_erase(block->last);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			there_is_a_way_between_any_two_layouts, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
