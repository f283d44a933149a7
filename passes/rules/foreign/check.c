/* Requirements on foreign rules, checked before they are used: foreign.h. */
#include "passes/rules/foreign/foreign.h"

#include <string.h>

#define OP_NAME(name, number) {"OP_" #name, number},
#define PM_NAME(name, number) {"PM_" #name, number},
const struct foreign_name foreign_ops[FOREIGN_NOPS] = {FOREIGN_OPS(OP_NAME)};
const struct foreign_name foreign_parameters[FOREIGN_NPARAMETERS] = {FOREIGN_PARAMETERS(PM_NAME)};

struct foreign_op
foreign_op_none(void)
{
	struct foreign_op op = {0};

	for (int i = 0; i < FOREIGN_NPARAMETERS; i++)
		op.parameter[i] = FOREIGN_NONE;
	return op;
}

static int
op_rank(const struct foreign_op *op)
{
	switch (op->code) {
	case FOREIGN_RELU:
	case FOREIGN_EW_ADD:
	case FOREIGN_EW_MUL: return 0;
	case FOREIGN_CONV2D: return 4;
	case FOREIGN_CONCAT: return op->parameter[FOREIGN_PM_NUMDIM];
	case FOREIGN_MATMUL:
	case FOREIGN_SPLIT: return 2;
	default: return 3;
	}
}

int
foreign_rank(const struct foreign_rule *r)
{
	int rank = 0;

	for (int side = 0; side < 2; side++)
		for (int64_t i = 0; i < r->side[side].n; i++) {
			const int here = op_rank(&r->side[side].at[i]);
			rank = here > rank ? here : rank;
		}
	return rank;
}

static bool
tensor_exists(const struct foreign_rule *r, int side, int64_t before, struct foreign_tensor t)
{
	if (t.op < 0)
		return t.result == 0;
	return t.op < before && t.result >= 0 &&
	       t.result < (r->side[side].at[t.op].code == FOREIGN_SPLIT ? 2 : 1);
}

/* An error of an op as text; NULL: none. */
static const char *
op_fault(const struct foreign_rule *r, int side, int64_t k, int rank)
{
	static const int inputs[] = {[FOREIGN_CONV2D] = 2,
		[FOREIGN_LINEAR] = 2,
		[FOREIGN_EW_ADD] = 2,
		[FOREIGN_EW_MUL] = 2,
		[FOREIGN_MATMUL] = 2,
		[FOREIGN_REDUCE] = 0};
	const struct foreign_op *op = &r->side[side].at[k];
	const int *p = op->parameter, wanted = inputs[op->code] ? inputs[op->code] : 1;
	const bool has_axis = op->code == FOREIGN_CONCAT || op->code == FOREIGN_SPLIT,
		   is_parallel = op->code >= FOREIGN_PARTITION;
	const int dim = has_axis      ? p[FOREIGN_PM_AXIS]
			: is_parallel ? p[FOREIGN_PM_PARALLEL_DIM]
				      : 0;

	if (op->code == FOREIGN_CONCAT ? op->ninputs < 1 : op->ninputs != wanted)
		return "the number of inputs is not that of the op";
	for (int i = 0; i < op->ninputs; i++)
		if (!tensor_exists(r, side, k, op->input[i]))
			return "an input is not a result of an op before";
	if (op_rank(op) > FOREIGN_MAX_RANK || dim < 0 || dim >= (rank ? rank : 1))
		return "the tensors do not have that dim";
	if (is_parallel && p[FOREIGN_PM_PARALLEL_DEGREE] != 2)
		return "PM_PARALLEL_DEGREE is not 2";
	if (op->code == FOREIGN_SPLIT && p[FOREIGN_PM_NUM_OUTPUTS] != 2)
		return "PM_NUM_OUTPUTS is not 2";
	if (op->code == FOREIGN_CONV2D &&
		(p[FOREIGN_PM_STRIDE_H] != 1 || p[FOREIGN_PM_STRIDE_W] != 1 ||
			p[FOREIGN_PM_PAD] != 0 || p[FOREIGN_PM_KERNEL_H] < 1 ||
			p[FOREIGN_PM_KERNEL_W] < 1))
		return "only convolutions of stride 1 whose results have the size of the images "
		       "are read";
	if (p[FOREIGN_PM_ACTI] > 0 && p[FOREIGN_PM_ACTI] != FOREIGN_WITH_RELU)
		return "PM_ACTI is neither 0 nor 2, relu";
	return NULL;
}

static const char *
rule_fault(const struct foreign_rule *r)
{
	const int rank = foreign_rank(r);
	int inputs = 0;

	if (!r->name || !*r->name ||
		strspn(r->name,
			"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") !=
			strlen(r->name) ||
		(*r->name >= '0' && *r->name <= '9'))
		return "its name is not one of letters, digits and '_'";
	if (!r->output.n)
		return "it has no outputs";
	for (int side = 0; side < 2; side++) {
		if (r->side[side].n > FOREIGN_MAX_OPS)
			return "a side has more than 16 ops";
		for (int64_t k = 0; k < r->side[side].n; k++) {
			const char *fault = op_fault(r, side, k, rank);
			if (fault)
				return fault;
			for (int i = 0; i < r->side[side].at[k].ninputs; i++)
				inputs += r->side[side].at[k].input[i].op < 0;
		}
		for (int64_t k = 0; k < r->output.n; k++) {
			const struct foreign_tensor t = r->output.at[k].side[side];
			if (!tensor_exists(r, side, r->side[side].n, t))
				return "an output is not a result of an op";
			inputs += t.op < 0;
		}
	}
	return inputs > FOREIGN_MAX_USES ? "it uses its inputs more than 16 times" : NULL;
}

bool
foreign_check(struct diag *d, struct ir_loc loc, const struct foreign_rule *r)
{
	const char *fault = rule_fault(r);

	if (fault)
		diag_error(d, loc, "rule %s: %s", r->name ? r->name : "", fault);
	return !fault;
}
