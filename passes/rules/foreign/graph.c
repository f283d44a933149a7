/*
 * Converts rules of ir/rule.h to those of FlexFlow and TASO. A rule that they cannot express is
 * left out with a warning. Two slices are a split if they are the parts that a concat joined.
 */
#include "passes/rules/foreign/foreign.h"

#include "ir/ops/row.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

struct reader {
	const void *owner;
	const struct ir_rules *rules;
	const struct ir_rule *rule;
	bool taso;
	int side;
	struct foreign_rule *to;
	struct foreign_tensor *value; /* by id of the module's values */
};

static bool
no_word(const struct reader *r, const struct ir_op *op, const char *why)
{
	diag_report(r->rules->m->ctx->diag, DIAG_WARNING, op->loc,
		"@%s is left out: %s has no word for this %s%s", r->rule->name,
		r->taso ? "TASO" : "FlexFlow", op_name((enum op_code)op->code), why);
	return false;
}

static int
rank_of(const struct reader *r)
{
	const struct ir_type_text *t =
		r->rule->side[RULE_LEFT]->body.nargs ? r->rule->param[0] : NULL;

	return t && !t->dots ? t->rank : 0;
}

/* A dim counted from the front; -1: unknown, or out of range. */
static int
dim_of(const struct reader *r, const struct ir_attr *a)
{
	const int rank = rank_of(r);
	const int64_t d = a && a->kind == ATTR_LIST && a->n == 1 ? a->list[0].i : a ? a->i : 0;

	if (a && a->kind != ATTR_INT &&
		(a->kind != ATTR_LIST || a->n != 1 || a->list[0].kind != ATTR_INT))
		return -1;
	return d >= -rank && d < rank ? (int)(d < 0 ? d + rank : d) : -1;
}

/* Has the op no other attributes than these? */
static bool
has_only(const struct ir_op *op, const char *const *key, int n)
{
	int found = 0;

	for (int i = 0; i < n; i++)
		found += ir_attr_find(op, key[i]) != NULL;
	return found == op->nattrs;
}

/* The text of the attribute's expression: equal texts are equal sizes. */
static bool same_item(const struct ir_attr *x, const struct ir_attr *y);

static bool
same_size(const struct ir_size *x, const struct ir_size *y)
{
	if (!x || !y)
		return x == y;
	return x->kind == y->kind && x->i == y->i && x->name == y->name &&
	       same_size(x->arg[0], y->arg[0]) && same_size(x->arg[1], y->arg[1]);
}

/* Are two list items the same expression? */
static bool
same_item(const struct ir_attr *x, const struct ir_attr *y)
{
	if (!x || !y || x->kind != y->kind)
		return false;
	return x->kind == ATTR_SIZE ? same_size(x->size, y->size)
				    : x->kind == ATTR_INT && x->i == y->i;
}

/* The only item of a list; NULL: the list has more or fewer. */
static const struct ir_attr *
item(const struct ir_op *op, const char *key)
{
	const struct ir_attr *a = ir_attr_find(op, key);

	return a && a->kind == ATTR_LIST && a->n == 1 ? a->list : NULL;
}

/* Does the slice begin at 0, so that it is the first of two? */
static bool
is_first(const struct ir_op *op)
{
	const struct ir_attr *start = item(op, "start");

	return start && start->kind == ATTR_INT && start->i == 0;
}

/* Does one slice of a value end where the other begins? */
static bool
are_halves(const struct ir_op *x, const struct ir_op *y)
{
	if (y->code != OP_slice || ir_operand(x, 0) != ir_operand(y, 0) ||
		!same_item(item(x, "dims"), item(y, "dims")) || is_first(x) == is_first(y))
		return false;
	return is_first(x) ? same_item(item(x, "limit"), item(y, "start"))
			   : same_item(item(y, "limit"), item(x, "start"));
}

static int
add_op(struct reader *r, const struct foreign_op *op)
{
	VEC_PUSH(r->owner, &r->to->side[r->side], *op);
	return (int)r->to->side[r->side].n - 1;
}

/* Makes both slices of a value results of one split, at the position of the first slice in the
 * text. */
static bool
read_slice(struct reader *r, const struct ir_op *op, struct foreign_op *to)
{
	const struct ir_op *other = NULL;
	const int dim = dim_of(r, ir_attr_find(op, "dims"));

	for (const struct ir_op *o = op->block->first; o; o = o->next)
		if (o != op && are_halves(op, o))
			other = o;
	if (!other || dim < 0 || ir_attr_find(op, "step"))
		return no_word(r, op, ": it is not half of a split");
	const struct foreign_tensor had = r->value[other->result[0].id];
	if (had.op != INT32_MIN) {
		r->value[op->result[0].id] = (struct foreign_tensor){had.op, !had.result};
		return true;
	}
	to->code = FOREIGN_SPLIT;
	to->parameter[FOREIGN_PM_NUM_OUTPUTS] = 2;
	to->parameter[FOREIGN_PM_AXIS] = dim;
	r->value[op->result[0].id] = (struct foreign_tensor){add_op(r, to), !is_first(op)};
	return true;
}

/* The dim that an axis splits, found by following the value to its partition; -1: none. */
static int
split_dim(const struct reader *r, const struct ir_value *v, const char *axis)
{
	const struct ir_op *op = v->op;

	if (!op || !op->noperands)
		return -1;
	if (op->code == OP_partition && ir_attr_string(op, "axis", "") == axis)
		return dim_of(r, ir_attr_find(op, "dim"));
	const int x = split_dim(r, ir_operand(op, 0), axis);
	if (op->code != OP_contract)
		return x;
	const int w = split_dim(r, ir_operand(op, 1), axis);
	return x == 1 ? 1 : w == 1 ? 2 : -1;
}

static bool
read_parallel(struct reader *r, const struct ir_op *op, struct foreign_op *to)
{
	static const char *const keys[] = {"axis", "dim"};
	const struct ir_attr *axis = ir_attr_find(op, "axis");
	int dim = 0;

	if (r->taso || !has_only(op, keys, 2) || !axis || axis->kind != ATTR_NAME)
		return no_word(r, op, "");
	if (op->code == OP_partition)
		dim = dim_of(r, ir_attr_find(op, "dim"));
	else if (op->code == OP_combine)
		dim = split_dim(r, ir_operand(op, 0), axis->s);
	if (dim < 0)
		return no_word(r, op, ": the dim that it is about is not in the rule");
	to->code = op->code == OP_partition ? FOREIGN_PARTITION
		   : op->code == OP_combine ? FOREIGN_COMBINE
		   : op->code == OP_reduce  ? FOREIGN_REDUCE
					    : FOREIGN_REPLICATE;
	to->parameter[FOREIGN_PM_PARALLEL_DIM] = dim;
	to->parameter[FOREIGN_PM_PARALLEL_DEGREE] = 2;
	return true;
}

/* Is it a list [k/2,k/2], for a border of zeros around an image? */
static bool
is_padding(const struct ir_op *op, const char *key, const int kernel[2], int more)
{
	const struct ir_attr *a = ir_attr_find(op, key);

	if (!a)
		return kernel[0] - 1 + more < 2 && kernel[1] - 1 + more < 2;
	return a->kind == ATTR_LIST && a->n == 2 && a->list[0].kind == ATTR_INT &&
	       a->list[1].kind == ATTR_INT && a->list[0].i == (kernel[0] - 1 + more) / 2 &&
	       a->list[1].i == (kernel[1] - 1 + more) / 2;
}

/* The size of dim `dim` of a filter, which concats and sums keep; 0: it is not a number. */
static int
kernel_size(const struct reader *r, const struct ir_value *v, int dim)
{
	while (v->op && v->op->noperands)
		v = ir_operand(v->op, 0);
	const struct ir_type_text *t = v->op ? NULL : r->rule->param[v->index];
	return t && t->rank == 4 && t->dim[dim]->kind == SIZE_INT ? (int)t->dim[dim]->i : 0;
}

static bool
read_conv(struct reader *r, const struct ir_op *op, struct foreign_op *to)
{
	static const char *const keys[] = {"low", "high", "groups"};
	const int kernel[2] = {
		kernel_size(r, ir_operand(op, 1), 2), kernel_size(r, ir_operand(op, 1), 3)};

	if (!kernel[0] || !kernel[1] || !has_only(op, keys, 3) ||
		!is_padding(op, "low", kernel, 0) || !is_padding(op, "high", kernel, 1))
		return no_word(
			r, op, "; its stride must be 1 and its result as large as the image");
	to->code = FOREIGN_CONV2D;
	to->parameter[FOREIGN_PM_KERNEL_H] = kernel[0];
	to->parameter[FOREIGN_PM_KERNEL_W] = kernel[1];
	to->parameter[FOREIGN_PM_STRIDE_H] = to->parameter[FOREIGN_PM_STRIDE_W] = 1;
	to->parameter[FOREIGN_PM_PAD] = to->parameter[FOREIGN_PM_ACTI] = 0;
	return true;
}

static bool
read_plain(struct reader *r, const struct ir_op *op, struct foreign_op *to)
{
	static const char *const dim[] = {"dim"};

	to->code = -1;
	switch (op->code) {
	case OP_relu: to->code = FOREIGN_RELU; break;
	case OP_add: to->code = FOREIGN_EW_ADD; break;
	case OP_mul: to->code = FOREIGN_EW_MUL; break;
	case OP_conv2d: return read_conv(r, op, to);
	case OP_matmul:
		if (rank_of(r) == 2)
			to->code = FOREIGN_MATMUL;
		to->parameter[FOREIGN_PM_ACTI] = 0;
		break;
	case OP_contract:
		if (!r->taso && !strcmp(ir_attr_string(op, "spec", ""), "rmk,rnk->rmn"))
			to->code = FOREIGN_LINEAR;
		to->parameter[FOREIGN_PM_ACTI] = 0;
		break;
	case OP_concat:
		to->parameter[FOREIGN_PM_NUM_INPUTS] = op->noperands;
		to->parameter[FOREIGN_PM_AXIS] = dim_of(r, ir_attr_find(op, "dim"));
		to->parameter[FOREIGN_PM_NUMDIM] = rank_of(r);
		if (to->parameter[FOREIGN_PM_AXIS] >= 0 && has_only(op, dim, 1))
			to->code = FOREIGN_CONCAT;
		break;
	default: break;
	}
	return to->code >= 0 || no_word(r, op, "");
}

static bool
read_op(struct reader *r, const struct ir_op *op)
{
	struct foreign_op to = foreign_op_none();

	if (op->noperands > FOREIGN_MAX_INPUTS)
		return no_word(r, op, " of so many operands");
	for (int i = 0; i < op->noperands; i++)
		to.input[to.ninputs++] = r->value[ir_operand(op, i)->id];
	if (op->code == OP_slice)
		return read_slice(r, op, &to);
	const bool is_parallel = op->code == OP_partition || op->code == OP_combine ||
				 op->code == OP_replicate || op->code == OP_reduce;
	if (!(is_parallel ? read_parallel(r, op, &to) : read_plain(r, op, &to)))
		return false;
	r->value[op->result[0].id] = (struct foreign_tensor){add_op(r, &to), 0};
	return true;
}

/* The number of a parameter: that in its name, as in x3, if all have such names, else its
 * position. */
static int
input_number(const struct ir_block *b, uint32_t i)
{
	for (uint32_t k = 0; k < b->nargs; k++) {
		const char *name = b->arg[k].name;
		if (*name != 'x' || name[1] < '1' || name[1] > '9' || strlen(name) > 8 ||
			name[1 + strspn(name + 1, "0123456789")])
			return (int)i + 1;
	}
	return atoi(b->arg[i].name + 1);
}

static bool
read_side(struct reader *r, int side)
{
	const struct ir_block *b = &r->rule->side[side]->body;
	const struct ir_op *ret = ir_rule_return(r->rule, side);

	r->side = side;
	for (uint32_t i = 0; i < b->nargs; i++)
		r->value[b->arg[i].id] = (struct foreign_tensor){-input_number(b, i), 0};
	for (const struct ir_op *op = b->first; op != ret; op = op->next)
		if (!read_op(r, op))
			return false;
	for (int i = 0; i < ret->noperands; i++) {
		if (side == RULE_LEFT)
			VEC_PUSH(r->owner, &r->to->output, (struct foreign_output){0});
		r->to->output.at[i].side[side] = r->value[ir_operand(ret, i)->id];
		if (r->to->output.at[i].side[side].op < 0)
			return no_word(r, ret, " of a parameter");
	}
	return true;
}

bool
foreign_from_rule(const void *owner, const struct ir_rules *rules, const struct ir_rule *r,
	bool taso, struct foreign_rule *to)
{
	const uint32_t n = rules->m->value_ids;
	struct reader reader = {.owner = owner, .rules = rules, .rule = r, .taso = taso, .to = to};

	*to = (struct foreign_rule){.name = r->name};
	if (r->nwhere) {
		diag_report(rules->m->ctx->diag, DIAG_WARNING, r->loc,
			"@%s is left out: %s has no conditions", r->name,
			taso ? "TASO" : "FlexFlow");
		return false;
	}
	reader.value = NEW_ARRAY(owner, struct foreign_tensor, n);
	for (uint32_t i = 0; i < n; i++)
		reader.value[i].op = INT32_MIN; /* none yet */
	const bool ok = read_side(&reader, RULE_LEFT) && read_side(&reader, RULE_RIGHT);
	talloc_free(reader.value);
	return ok;
}
