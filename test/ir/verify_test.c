/* What the verifier refuses of modules that no text can say: ops that stand in no block. */
#include "ir/ir.h"
#include "parser/dir/parse.h"
#include "test/unit.h"

#include <string.h>

static const char text[] = "module @test\n"
			   "func @other(%a) {\n"
			   "  %o = relu(%a)\n"
			   "  return(%o)\n"
			   "}\n"
			   "func @main() {\n"
			   "  %x = input(\"x\") : f32[4]\n"
			   "  %y = relu(%x)\n"
			   "  %f = fuse(%y) {\n"
			   "    %t = tanh(%y)\n"
			   "    %s = neg(%t)\n"
			   "    yield(%s)\n"
			   "  }\n"
			   "  %z = add(%y, %f)\n"
			   "  output(\"z\", %z)\n"
			   "}\n";

struct fixture {
	struct ir_context *ctx;
	struct ir_module *m;
	char *message; /* the last error */
};

static void
keep_message(void *data, const struct diag_message *m)
{
	struct fixture *f = data;

	talloc_free(f->message);
	f->message = talloc_strdup(f, m->text);
}

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);

	f->ctx = ir_context_create(f);
	diag_set_handler(f->ctx->diag, keep_message, f);
	f->m = parse_module(f, f->ctx, "test.dir", text, strlen(text), NULL);
	assert_non_null(f->m);
	*state = f;
	return 0;
}

static struct ir_op *
find(struct ir_block *b, enum op_code code)
{
	IR_FOR_OPS (op, b)
		if (op->code == code)
			return op;
	fail_msg("there is no such op");
	return NULL;
}

static void
assert_refused_without(struct fixture *f, struct ir_op *op)
{
	struct ir_op *next = op->next;

	assert_true(ir_verify(f->m));
	ir_op_unlink(op);
	TALLOC_FREE(f->message);
	assert_false(ir_verify_structure(f->m));
	assert_non_null(f->message);
	assert_non_null(strstr(f->message, "is used before it is defined"));
	assert_false(ir_verify(f->m));
	ir_insert_before(next, op);
	assert_true(ir_verify(f->m));
}

static void
an_op_in_no_block_defines_nothing(void **state)
{
	struct fixture *f = *state;
	struct ir_block *main = &ir_func_find(f->m, "main")->body;
	struct ir_block *body = find(main, OP_fuse)->body;

	assert_refused_without(f, find(main, OP_input));
	assert_refused_without(f, find(main, OP_relu));
	assert_refused_without(f, find(main, OP_fuse));
	assert_refused_without(f, find(main, OP_add));
	assert_refused_without(f, find(body, OP_tanh));
	assert_refused_without(f, find(body, OP_neg));
}

/* Tables by id would take one value for the other. */
static void
two_values_of_one_id_are_refused(void **state)
{
	struct fixture *f = *state;
	struct ir_block *main = &ir_func_find(f->m, "main")->body;
	struct ir_value *others[] = {&find(main, OP_relu)->result[0],
		&find(main, OP_fuse)->body->arg[0],
		&find(find(main, OP_fuse)->body, OP_tanh)->result[0],
		&find(&ir_func_find(f->m, "other")->body, OP_relu)->result[0]};

	for (size_t k = 0; k < 4; k++) {
		const uint32_t wrong[] = {find(main, OP_add)->result[0].id, f->m->value_ids,
			UINT32_MAX},
			       was = others[k]->id;
		for (size_t i = 0; i < 3; i++) {
			others[k]->id = wrong[i];
			assert_false(ir_verify_structure(f->m));
		}
		others[k]->id = was;
		assert_true(ir_verify(f->m));
	}
}

static void
new_ids_keep_the_module_right(void **state)
{
	struct fixture *f = *state;
	const uint32_t before = f->m->value_ids;
	struct ir_op *one = ir_op_create(f->m, OP_input, LOC_NONE, NULL, 0, NULL, 0, 1);

	assert_int_equal(one->result[0].id, before);
	ir_op_erase(one);
	ir_module_renumber(f->m);
	assert_int_equal(f->m->value_ids, before);
	assert_true(ir_verify(f->m));
}

/* A value of another function, or of a fuse, is not one of this block. */
static void
a_value_of_another_block_is_refused(void **state)
{
	struct fixture *f = *state;
	struct ir_block *main = &ir_func_find(f->m, "main")->body;
	struct ir_op *z = find(main, OP_add);
	struct ir_value *was = ir_operand(z, 0);
	struct ir_value *const others[] = {&find(find(main, OP_fuse)->body, OP_tanh)->result[0],
		&find(&ir_func_find(f->m, "other")->body, OP_relu)->result[0]};

	for (size_t k = 0; k < 2; k++) {
		others[k]->type = was->type;
		ir_set_operand(z, 0, others[k]);
		assert_false(ir_verify(f->m));
		assert_false(ir_verify_structure(f->m));
		ir_set_operand(z, 0, was);
		assert_true(ir_verify(f->m));
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, free_scratch)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_op_in_no_block_defines_nothing),
		TEST(two_values_of_one_id_are_refused),
		TEST(new_ids_keep_the_module_right),
		TEST(a_value_of_another_block_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
