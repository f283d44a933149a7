/*
 * accumulate: gradient accumulation. Declares a time axis of `steps` micro-batches, splits dim 0 of
 * the inputs over it, and carries that through the step as dp does over devices (dp_fit.c):
 *
 *     %x = input("x") : f32[64,8]               steps [mb = 8]
 *     %h = matmul(%x, %w)                       %x = input("x") : f32[64/mb,8]
 *     ...                                       %h = matmul(%x, %w) : f32[64/mb,4]
 *     %g = contract(%x, %d) : f32[8,4]          %p = contract(%x, %d) : f32[8,4]+mb
 *                                               %g = reduce(%p) {axis = mb} : f32[8,4]@mb=7
 *
 * so that activations of one micro-batch are in memory at a time. What sums over the batch is added
 * up over the micro-batches, before any message: gradients are communicated once. A mean over the
 * batch divides by the size of the whole batch and stays the same number. What needs the whole
 * batch otherwise (a maximum over it, statistics that normalize it) is right too, but the ops after
 * it run in a second loop over the micro-batches, with a remark. loss=microbatch changes the loss
 * so that its gradient does not need the second loop: microbatch.c.
 *
 * Otherwise right because parallelization ops never change what a value means; the verifier infers
 * every layout again. Works on forward steps, on steps with gradients and on steps that train
 * alike.
 */
#include "passes/parallel/accumulate.h"

#include "ir/base/alloc.h"
#include "passes/parallel/dp.h"
#include "passes/parallel/kept.h"
#include "passes/parallel/microbatch.h"

#include <inttypes.h>
#include <string.h>

/* The most numbers of micro-batches that an error message lists: a line of text. */
enum { SIZES_SHOWN = 12 };

static bool
complain(struct pass_run *run, const char *option, const char *text)
{
	diag_error(run->ctx->diag, pass_option_loc(run, option), "%s: %s", run->pass->name, text);
	return false;
}

/* The first input that has a batch: all inputs of its size have one. */
static const struct ir_op *
find_batch(const struct ir_module *m)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (op->code == OP_input && op->result[0].type->rank)
			return op;
	return NULL;
}

/* "1, 2, 4, 8": the numbers of micro-batches into which n rows can be split. */
static char *
divisors(const void *owner, int64_t n)
{
	char *text = TEXT(owner, "1");
	int shown = 1;

	for (int64_t d = 2; d <= n && shown < SIZES_SHOWN; d++)
		if (n % d == 0) {
			text = text_append(text, ", %" PRId64, d);
			shown++;
		}
	return text;
}

static bool
check_size(struct pass_run *run, const struct ir_module *m, const struct ir_op *input)
{
	const int64_t steps = pass_int(run, "steps"), rows = input->result[0].type->dim[0],
		      here = ir_type_local_dim(m, input->result[0].type, 0);

	if (here % steps == 0)
		return true;
	complain(run, "steps",
		TEXT(run->scratch,
			"%" PRId64 " micro-batches do not divide the batch of %" PRId64
			" rows, %" PRId64 " on each device; these do: %s",
			steps, rows, here, divisors(run->scratch, here)));
	diag_note(run->ctx->diag, input->loc, "the batch is dim 0 of input %s", input->symbol);
	return false;
}

static bool
is_name(const char *s)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";

	return strspn(s, letters) > 0 &&
	       strspn(s, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") ==
		       strlen(s);
}

bool
accumulate_check_name(struct pass_run *run, const struct ir_module *m, const char *option)
{
	const char *name = pass_string(run, option);
	bool taken = ir_axis_find(m, name) >= 0;

	for (int i = 0; i < m->nlets; i++)
		taken = taken || strcmp(m->let[i].name, name) == 0;
	if (!is_name(name))
		return complain(run, option, TEXT(run->scratch, "'%s' is not a name", name));
	if (taken)
		return complain(run, option,
			TEXT(run->scratch,
				"the module already has an axis or a let named %s; name the new "
				"axis with %s{%s=...}",
				name, run->pass->name, option));
	if (m->naxes == IR_MAX_AXES)
		return complain(run, option,
			TEXT(run->scratch, "the module already has %d axes", IR_MAX_AXES));
	return true;
}

/* Has dim 0 of the input the size of the batch? Other inputs, such as a table of positions, stay
 * whole. */
static bool
has_batch(const struct ir_op *input, const void *batch)
{
	const struct ir_type *t = input->result[0].type;

	return t->rank && t->dim[0] == ((const struct ir_op *)batch)->result[0].type->dim[0];
}

enum loss { ACCUMULATE_LOSSES(CHOICE_CODE) };

/* For a step with gradients it would be too late. */
static bool
check_forward(struct pass_run *run, const struct ir_module *m)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if ((op->code == OP_output && !strncmp(op->symbol, "grad.", 5)) ||
			(op->code == OP_update && ir_operand(op, 0)->op->code == OP_param))
			return complain(run, "loss",
				"loss=microbatch changes the loss, so it must come before grad");
	return true;
}

bool
accumulate_split(struct pass_run *run, struct ir_module *m, bool peel)
{
	const struct ir_op *batch = find_batch(m);
	const int64_t steps = pass_int(run, "steps");
	const bool by_microbatch = (enum loss)pass_enum(run, "loss") == LOSS_MICROBATCH;

	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].schedule)
			return complain(run, "steps",
				TEXT(run->scratch,
					"the micro-batches of axis %s follow the schedule of a pipeline, which "
					"cannot be divided further: give pass pipeline more steps",
					m->axis[a].name));
	if (by_microbatch && !check_forward(run, m))
		return false;
	if (!batch)
		return complain(run, "steps", "no input has a dim to split");
	if (ir_places(m) * steps > IR_MAX_PLACES)
		return complain(run, "steps",
			TEXT(run->scratch,
				"the product of the sizes of the axes would be more than %d",
				IR_MAX_PLACES));
	if (!accumulate_check_name(run, m, "name") || !check_size(run, m, batch))
		return false;
	if (steps == 1)
		return true;
	m->axis[m->naxes] = (struct ir_axis){.name = ir_name(run->ctx, pass_string(run, "name")),
		.size = (int32_t)steps,
		.time = true,
		.loc = pass_option_loc(run, "steps"),
		.peel = peel};
	if (!dp_split_over(run, m, m->naxes++, 0, has_batch, batch))
		return false;
	if (by_microbatch && !microbatch_loss(run, m, m->naxes - 1))
		return false;
	kept_remark(run, m);
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	return accumulate_split(run, m, pass_bool(run, "peel"));
}

static const struct pass_option options[] = {
	ACCUMULATE_OPTIONS(NULL),
	{"peel", PASS_BOOL, "false",
		"issue ops that need the results of all micro-batches, such as collectives of "
		"gradients, during the last micro-batch, as soon as these results are "
		"complete: its backward pass then overlaps with them, but may need more memory",
		NULL, 0, 0},
	{0},
};

const struct pass pass_accumulate = {
	.name = "accumulate",
	.family = "memory",
	.summary = "gradient accumulation: run the batch as micro-batches, one after another, "
		   "and sum gradients over them",
	.options = options,
	.needs = "no-calls",
	.provides = "axes",
	.conflicts = "fused,sharded",
	.run = run,
	.keeps_bits = true,
};
