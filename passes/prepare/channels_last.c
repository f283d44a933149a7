/*
 * channels-last: convolutions on images [.., height, width, channels], which is how tensor cores
 * read them. A library that is given [.., channels, height, width] copies both operands and the
 * result in each of its calls.
 *
 *     %y = conv2d(%x, %f)          %l = transpose(%x)    %g = transpose(%f)
 *                                  %c = conv2d(%l, %g) {channels_last = true}
 *                                  %y = transpose(%c)
 *
 * sink-transpose then moves the transposes past pools, sums and all that works element by element,
 * until they meet those of the next convolution. What remains is a transpose of each filter, of its
 * gradient, and of images that other ops read. It is what XLA calls layout assignment and PyTorch
 * memory_format = channels_last, with the layout written out in the dims of the types.
 *
 * By policy cost only those convolutions are changed that run on tensor cores: of 16-bit floats,
 * and of f32 with -tf32. All or none: a transpose between two of them costs more than one saves.
 */
#include "passes/analysis/cost/cost.h"
#include "passes/pass.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

/* Equal transposes, as those of a filter for its two readers, become one. */
static const char sink[] = "sink-transpose,cse,dce";

#define POLICIES(ROW) ROW(COST, "cost") ROW(TENSOR_CORES, "tensor-cores") ROW(ALL, "all")
enum policy { POLICIES(CHOICE_CODE) };

/* v with channels as its last dim (`back`: as dim -3). */
static struct ir_value *
turn(struct ir_builder *b, struct ir_value *v, bool back)
{
	static const int last[] = {-2, -1, -3}, first[] = {-1, -3, -2};
	const int rank = v->type->rank;
	int64_t perm[IR_MAX_RANK];

	for (int d = 0; d < rank; d++)
		perm[d] = d < rank - 3 ? d : rank + (back ? first : last)[d - (rank - 3)];
	const struct ir_attr attr = ir_make_ints(b->m, "perm", perm, rank);
	return ir_build(b, OP_transpose, &v, 1, &attr, 1);
}

/* Which convolutions: of these types. */
static bool
is_wanted(const struct ir_op *op, const bool type[IR_NDTYPES])
{
	return (op->code == OP_conv2d || op->code == OP_conv2d_data ||
		       op->code == OP_conv2d_filter) &&
	       !ir_attr_int(op, "channels_last", 0) && type[op->result[0].type->dtype];
}

static int
change(struct ir_module *m, const bool type[IR_NDTYPES])
{
	const struct ir_attr last = ir_make_bool(m->ctx, "channels_last", true);
	struct ir_block *block = &ir_func_find(m, "main")->body;
	int n = 0;

	IR_FOR_OPS_SAFE (op, block) {
		if (!is_wanted(op, type))
			continue;
		struct ir_builder b = {.m = m, .block = block, .before = op, .loc = op->loc};
		struct ir_value *v[] = {
			turn(&b, ir_operand(op, 0), false), turn(&b, ir_operand(op, 1), false)};
		struct ir_op *copy = ir_op_clone(m, op, v);
		const char *name = op->result[0].name;
		ir_attr_set(m, copy, &last);
		const bool fits = ir_infer(m, copy, NULL);
		assert(fits);
		ir_insert_before(op, copy);
		op->result[0].name = NULL;
		copy->result[0].name = name;
		ir_replace_uses(&op->result[0], turn(&b, &copy->result[0], true));
		ir_op_erase(op);
		n++;
	}
	return n;
}

/* The types whose products run on tensor cores. */
static void
tensor_core_types(const struct device *d, bool type[IR_NDTYPES])
{
	static const enum ir_dtype types[] = {IR_f32, IR_f16, IR_bf16};

	for (size_t i = 0; i < sizeof types / sizeof *types; i++)
		type[types[i]] = device_has_tensor_cores(d, device_flops(d, types[i]));
}

/* Seconds of an iteration of a copy of the step after these passes; infinity: not known. */
static double
seconds_after(struct pass_run *run, const struct ir_module *m, const bool *type, const char *passes)
{
	struct ir_module *copy = ir_module_clone(run->scratch, m);
	struct cost_report r;

	if (type)
		change(copy, type);
	const bool known = pass_try(run, copy, passes) && cost_evaluate(run->cost, copy, &r);
	talloc_free(copy);
	return known ? r.iteration : INFINITY;
}

/* Is the step faster with the change, after the passes that follow and a fusion of kernels? */
static bool
is_faster(struct pass_run *run, const struct ir_module *m, const bool type[IR_NDTYPES])
{
	static const char fusion[] = "opfuse";
	const char *rest = pass_rest(run, fusion, NULL);

	if (!strstr(rest, fusion))
		rest = TEXT(run->scratch, "%s%s%s", rest, *rest ? "," : "", fusion);
	const double before = seconds_after(run, m, NULL, rest),
		     after = seconds_after(run, m, type, TEXT(run->scratch, "%s,%s", sink, rest));
	char text[2][NUMBER_TEXT];

	pass_remark(run, NULL, after < before ? PASS_APPLIED : PASS_MISSED,
		"convolutions with their channels last: an iteration takes %s, and %s without",
		number_seconds(text[0], after), number_seconds(text[1], before));
	return after < before;
}

static bool
channels_last_run(struct pass_run *run, struct ir_module *m)
{
	const enum policy policy = (enum policy)pass_enum(run, "policy");
	bool type[IR_NDTYPES], any = false;

	memset(type, policy == ALL, sizeof type);
	if (policy != ALL && run->cost)
		tensor_core_types(cost_model_device(run->cost), type);
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		any = any || is_wanted(op, type);
	if (!any || (policy == COST && !is_faster(run, m, type)))
		return true;
	pass_reorders(run); /* the sum over channels is the innermost */
	pass_count(run, "convolution(s) with their channels last", change(m, type));
	return pass_apply(run, m, sink);
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "cost",
		"cost: those on tensor cores, if the step is predicted to be faster; tensor-cores: "
		"without predicting it; all: every one",
		CHOICE_LIST(POLICIES), 0, 0},
	{0},
};

const struct pass pass_channels_last = {
	.name = "channels-last",
	.family = "prepare",
	.summary =
		"lay images of convolutions out with their channels last, as tensor cores read them",
	.options = options,
	.needs = "no-calls",
	.conflicts = "fused",
	.run = channels_last_run,
	.keeps_bits = true,
};
