/* Changes of a step that are taken back: everything is as it was, down to the order of uses, and the next change of the same
 * kind makes the same step. */
#include "ir/saved.h"
#include "ir/base/alloc.h"
#include "parser/dir/parse.h"
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char text[] =
	"module @test\nmesh [dp = 2]\nfunc @main() {\n"
	"  %w = param(\"w\") {init = \"he\"} : f32[8,8/dp]\n"
	"  %x = input(\"x\") : f32[8/dp,8]\n"
	"  %g = allgather(%w) {axis = dp}\n  %a = matmul(%x, %g)\n  %b = relu(%a)\n"
	"  %f, %h = fuse(%a, %b) { %s = exp(%a) %t = sub(%s, %b) yield(%t, %s) }\n"
	"  %c = add(%f, %h)\n  %d = mul(%c, %a)\n  %e = add(%d, %b)\n"
	"  %l = allgather(%e) {axis = dp}\n  output(\"l\", %l)\n}\n";

/* The text, the ids, and for each value who uses it, in order. */
static char *
describe(const void *owner, struct ir_module *m)
{
	char *printed;
	size_t n;
	FILE *out = text_stream(&printed, &n);
	const struct ir_op *before = NULL;

	ir_print(out, m);
	fprintf(out, "%u %u\n", m->op_ids, m->value_ids);
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		assert_ptr_equal(op->prev, before);
		before = op;
		fprintf(out, "%u:", op->id);
		for (int r = 0; r < op->nresults; r++) {
			struct ir_use *const *link = &op->result[r].uses;
			IR_FOR_USES (u, &op->result[r]) {
				assert_ptr_equal(u->link, link);
				link = &u->next;
				fprintf(out, " %u.%d.%d", u->op->id, r, (int)(u - u->op->operand));
			}
		}
		fputc('\n', out);
	}
	assert_ptr_equal(ir_func_find(m, "main")->body.last, before);
	fflush(out);
	char *copy = text_copy(owner, printed);
	text_stream_close(out);
	free(printed);
	return copy;
}

static uint32_t
draw(uint32_t *seed, uint32_t n)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % n;
}

static struct ir_op *
op_at(struct ir_block *b, uint32_t i)
{
	struct ir_op *op = b->first;

	while (i-- > 0)
		op = op->next;
	return op;
}

static uint32_t
count(const struct ir_block *b)
{
	uint32_t n = 0;

	IR_FOR_OPS (op, b)
		n++;
	return n;
}

/* One change that leaves a module that prints, whatever it means. */
static void
change(struct ir_module *m, uint32_t *seed)
{
	struct ir_block *main = &ir_func_find(m, "main")->body;
	struct ir_op *op = op_at(main, draw(seed, count(main))),
		     *other = op_at(main, draw(seed, count(main)));

	switch (draw(seed, 6)) {
	case 0: /* another place */
		ir_op_unlink(op);
		ir_block_append(main, op);
		break;
	case 1: /* another operand */
		if (op->noperands && other->nresults)
			ir_set_operand(op, 0, &other->result[0]);
		break;
	case 2: /* a copy, which all read */
		if (op->nresults == 1 && op->noperands == 1) {
			struct ir_value *x = ir_operand(op, 0);
			struct ir_op *copy = ir_op_clone(m, op, &x);
			ir_insert_before(op, copy);
			ir_replace_uses(&op->result[0], &copy->result[0]);
		}
		break;
	case 3: /* more operands than there is room for */
		if (op->code == OP_allgather && other->nresults)
			ir_set_operands(m, op,
				(struct ir_value *[]){&other->result[0], ir_operand(op, 0)}, 2);
		break;
	case 4: /* an attribute less, another type */
		ir_attr_remove(op, "axis");
		if (op->nresults && other->nresults)
			op->result[0].type = other->result[0].type;
		break;
	case 5: /* gone */
		if (op->nresults == 1 && !op->result[0].uses)
			ir_op_erase(op);
		break;
	}
}

static void
all_is_as_it_was(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);
	struct ir_module *m = parse_module(*state, ctx, "test.dir", text, strlen(text), NULL);
	assert_non_null(m);
	ir_module_renumber(m);
	struct ir_saved *s = ir_saved_create(*state, m);
	const char *was = describe(*state, m);
	const size_t bytes = arena_bytes(m->arena);
	int differ = 0;

	for (uint32_t seed = 0; seed < 500; seed++) {
		char *changed[2];
		for (int turn = 0; turn < 2; turn++) {
			uint32_t at = seed;
			ir_saved_change(s);
			for (int i = 0; i < 12; i++)
				change(m, &at);
			changed[turn] = describe(*state, m);
			ir_saved_restore(s);
			assert_string_equal(describe(*state, m), was);
		}
		assert_string_equal(changed[0], changed[1]);
		differ += strcmp(changed[0], was) != 0;
	}
	assert_true(differ > 490);
	assert_int_equal(arena_bytes(m->arena), bytes);
	assert_true(ir_verify(m));
}

/* A change that is kept is there when the snapshot is not, and the next snapshot restores it. */
static void
a_change_is_kept(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);
	struct ir_module *m = parse_module(*state, ctx, "test.dir", text, strlen(text), NULL);
	assert_non_null(m);
	ir_module_renumber(m);
	uint32_t seed = 1;

	for (int round = 0; round < 50; round++) {
		struct ir_saved *s = ir_saved_create(*state, m);
		ir_saved_change(s);
		for (int i = 0; i < 3; i++)
			change(m, &seed);
		const char *changed = describe(*state, m);
		ir_saved_keep(s);
		talloc_free(s);
		assert_string_equal(describe(*state, m), changed);

		s = ir_saved_create(*state, m);
		ir_saved_change(s);
		change(m, &seed);
		ir_saved_restore(s);
		assert_string_equal(describe(*state, m), changed);
		talloc_free(s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(all_is_as_it_was, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(a_change_is_kept, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests_name("saved", tests, NULL, NULL);
}
