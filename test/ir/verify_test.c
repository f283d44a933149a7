/* What the verifier refuses of modules that no text can say: ops that stand in no block. */
#include "ir/ir.h"
#include "parser/dir/parse.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include <talloc.h>

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

static int
teardown(void **state)
{
	talloc_free(*state);
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

/* What passes and earlier runs of the verifier leave behind, everywhere. */
static void
set_marks(struct ir_block *b, uint32_t mark)
{
	IR_FOR_OPS (op, b) {
		op->mark = mark;
		for (int i = 0; i < op->nresults; i++)
			op->result[i].mark = mark;
		if (op->body)
			set_marks(op->body, mark);
	}
}

/* Numbers of blocks are small; the largest number says that a value was released. */
static const uint32_t marks[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 100, UINT32_MAX - 1, UINT32_MAX};

#define FOR_MARKS(at) for (size_t at = 0; at < sizeof marks / sizeof *marks; at++)

static void
assert_refused_without(struct fixture *f, struct ir_op *op)
{
	struct ir_block *main = &ir_func_find(f->m, "main")->body;
	struct ir_op *next = op->next;

	assert_true(ir_verify(f->m)); /* which leaves its own marks, too */
	ir_op_unlink(op);
	assert_false(ir_verify(f->m));
	FOR_MARKS(i)
	{
		set_marks(main, marks[i]);
		op->mark = marks[i];
		for (int r = 0; r < op->nresults; r++)
			op->result[r].mark = marks[i];
		TALLOC_FREE(f->message);
		assert_false(ir_verify_structure(f->m));
		assert_non_null(f->message);
		assert_non_null(strstr(f->message, "is used before it is defined"));
		assert_false(ir_verify(f->m));
	}
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

static void
a_right_module_stays_right_whatever_marks_are_left(void **state)
{
	struct fixture *f = *state;

	FOR_MARKS(i)
	{
		set_marks(&ir_func_find(f->m, "main")->body, marks[i]);
		assert_true(ir_verify(f->m));
	}
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
		FOR_MARKS(i)
		{
			set_marks(main, marks[i]);
			others[k]->mark = marks[i];
			assert_false(ir_verify_structure(f->m));
		}
		ir_set_operand(z, 0, was);
		assert_true(ir_verify(f->m));
	}
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_op_in_no_block_defines_nothing),
		TEST(a_right_module_stays_right_whatever_marks_are_left),
		TEST(a_value_of_another_block_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
