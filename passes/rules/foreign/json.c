/* Reads and writes FlexFlow's substitutions as JSON: foreign.h. The output has the form of that of
 * FlexFlow's converter. */
#include "passes/rules/foreign/foreign.h"

#include "runtime/data/json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct reader {
	const void *owner;
	struct diag *diag;
	struct rt_json j;
	uint32_t base;
	bool failed;
	const char *key; /* of a parameter */
	int value;       /* of it */
	struct foreign_rules *rules;
};

static struct ir_loc
here(const struct reader *r)
{
	const uint32_t at = r->base + (uint32_t)(r->j.at - r->j.begin);

	return (struct ir_loc){at, at + 1};
}

/* Reports an error unless one has been reported. */
static bool
fail(struct reader *r, const char *expected)
{
	if (!r->failed)
		diag_error(r->diag, here(r), "expected %s", expected);
	r->failed = true;
	return false;
}

/* Reads the members of an object; `member` reads the value of one. */
static bool
read_object(struct reader *r, void *to, bool (*member)(struct reader *r, const char *key, void *to))
{
	if (!rt_json_take(&r->j, '{'))
		return fail(r, "an object");
	if (rt_json_take(&r->j, '}'))
		return true;
	do {
		char *key = rt_json_string(&r->j);
		bool ok = (key && rt_json_take(&r->j, ':')) || fail(r, "a member of an object");
		ok = ok && (member(r, key, to) || fail(r, "a value"));
		free(key);
		if (!ok)
			return false;
	} while (rt_json_take(&r->j, ','));
	return rt_json_take(&r->j, '}') || fail(r, "',' or '}'");
}

static bool
read_array(struct reader *r, void *to, bool (*item)(struct reader *r, void *to))
{
	if (!rt_json_take(&r->j, '['))
		return fail(r, "an array");
	if (rt_json_take(&r->j, ']'))
		return true;
	do {
		if (!item(r, to))
			return false;
	} while (rt_json_take(&r->j, ','));
	return rt_json_take(&r->j, ']') || fail(r, "',' or ']'");
}

static bool
read_int(struct reader *r, int *to)
{
	double v;

	if (!rt_json_number(&r->j, &v) || v != floor(v) || fabs(v) > 1e6)
		return fail(r, "an integer");
	*to = (int)v;
	return true;
}

static int
find_name(const struct foreign_name *list, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(list[i].flexflow, name))
			return i;
	return -1;
}

static bool
tensor_member(struct reader *r, const char *key, void *to)
{
	struct foreign_tensor *t = to;

	if (!strcmp(key, "opId"))
		return read_int(r, &t->op);
	return strcmp(key, "tsId") ? rt_json_skip(&r->j) : read_int(r, &t->result);
}

static bool
input_item(struct reader *r, void *to)
{
	struct foreign_op *op = to;

	if (op->ninputs == FOREIGN_MAX_INPUTS)
		return fail(r, "at most 8 inputs");
	return read_object(r, &op->input[op->ninputs++], tensor_member);
}

static bool
parameter_member(struct reader *r, const char *key, void *to)
{
	int *parameter = to;

	if (!strcmp(key, "value"))
		return read_int(r, &parameter[1]);
	if (strcmp(key, "key"))
		return rt_json_skip(&r->j);
	char *name = rt_json_string(&r->j);
	parameter[0] = name ? find_name(foreign_parameters, FOREIGN_NPARAMETERS, name) : -1;
	free(name);
	return parameter[0] >= 0 || fail(r, "a parameter that dopt reads, such as PM_AXIS");
}

static bool
parameter_item(struct reader *r, void *to)
{
	struct foreign_op *op = to;
	int parameter[2] = {0, 0};

	if (!read_object(r, parameter, parameter_member))
		return false;
	op->parameter[parameter[0]] = parameter[1];
	return true;
}

static bool
op_member(struct reader *r, const char *key, void *to)
{
	struct foreign_op *op = to;

	if (!strcmp(key, "input"))
		return read_array(r, op, input_item);
	if (!strcmp(key, "para"))
		return read_array(r, op, parameter_item);
	if (strcmp(key, "type"))
		return rt_json_skip(&r->j);
	char *name = rt_json_string(&r->j);
	op->code = name ? find_name(foreign_ops, FOREIGN_NOPS, name) : -1;
	free(name);
	return op->code >= 0 || fail(r, "an op that dopt reads, such as OP_LINEAR");
}

static bool
op_item(struct reader *r, void *to, int side)
{
	struct foreign_rule *rule = to;
	struct foreign_op op = foreign_op_none();

	if (!read_object(r, &op, op_member))
		return false;
	VEC_PUSH(r->owner, &rule->side[side], op);
	return true;
}

static bool
left_item(struct reader *r, void *to)
{
	return op_item(r, to, RULE_LEFT);
}

static bool
right_item(struct reader *r, void *to)
{
	return op_item(r, to, RULE_RIGHT);
}

static bool
output_member(struct reader *r, const char *key, void *to)
{
	static const char *const name[] = {"srcOpId", "srcTsId", "dstOpId", "dstTsId"};
	struct foreign_output *o = to;
	int *const field[] = {&o->side[RULE_LEFT].op, &o->side[RULE_LEFT].result,
		&o->side[RULE_RIGHT].op, &o->side[RULE_RIGHT].result};

	for (int i = 0; i < 4; i++)
		if (!strcmp(key, name[i]))
			return read_int(r, field[i]);
	return rt_json_skip(&r->j);
}

static bool
output_item(struct reader *r, void *to)
{
	struct foreign_rule *rule = to;
	struct foreign_output o = {0};

	if (!read_object(r, &o, output_member))
		return false;
	VEC_PUSH(r->owner, &rule->output, o);
	return true;
}

static bool
rule_member(struct reader *r, const char *key, void *to)
{
	struct foreign_rule *rule = to;

	if (!strcmp(key, "srcOp"))
		return read_array(r, rule, left_item);
	if (!strcmp(key, "dstOp"))
		return read_array(r, rule, right_item);
	if (!strcmp(key, "mappedOutput"))
		return read_array(r, rule, output_item);
	if (strcmp(key, "name"))
		return rt_json_skip(&r->j);
	char *name = rt_json_string(&r->j);
	rule->name = text_copy(r->owner, name);
	free(name);
	return rule->name != NULL;
}

static bool
rule_item(struct reader *r, void *to)
{
	(void)to;
	const struct ir_loc begin = here(r);
	struct foreign_rule rule = {0};

	if (!read_object(r, &rule, rule_member))
		return false;
	if (!foreign_check(r->diag, begin, &rule)) {
		r->failed = true;
		return false;
	}
	VEC_PUSH(r->owner, r->rules, rule);
	return true;
}

static bool
top_member(struct reader *r, const char *key, void *to)
{
	return strcmp(key, "rule") ? rt_json_skip(&r->j) : read_array(r, to, rule_item);
}

bool
foreign_read_json(const void *owner, struct diag *d, const char *file, const char *text, size_t n,
	struct foreign_rules *rules)
{
	struct reader r = {.owner = owner,
		.diag = d,
		.j = {text, text, text + n},
		.base = diag_add_source(d, file, text, n),
		.rules = rules};
	const unsigned errors = diag_errors(d);

	read_object(&r, NULL, top_member);
	return diag_errors(d) == errors;
}

/* --- writing ------------------------------------------------------------------------------------
 */

/* Indented by 2 per level, as all of the output. */
static void
indent(FILE *out, int depth)
{
	fprintf(out, "\n%*s", 2 * depth, "");
}

static void
member(FILE *out, int depth, const char *key, const char *comma)
{
	fputs(comma, out);
	indent(out, depth);
	fprintf(out, "\"%s\": ", key);
}

static void
open_object(FILE *out, int depth, const char *comma, const char *kind)
{
	fputs(comma, out);
	indent(out, depth);
	fputc('{', out);
	member(out, depth + 1, "_t", "");
	fprintf(out, "\"%s\"", kind);
}

static void
close_list(FILE *out, int depth, int64_t n, char bracket)
{
	if (n)
		indent(out, depth);
	fputc(bracket, out);
}

static void
write_number(FILE *out, int depth, const char *key, int value)
{
	member(out, depth, key, ",");
	fprintf(out, "%d", value);
}

static void
write_op(FILE *out, int depth, const char *comma, const struct foreign_op *op)
{
	int n = 0;

	open_object(out, depth, comma, "Operator");
	member(out, depth + 1, "input", ",");
	fputc('[', out);
	for (int i = 0; i < op->ninputs; i++) {
		open_object(out, depth + 2, i ? "," : "", "Tensor");
		write_number(out, depth + 3, "opId", op->input[i].op);
		write_number(out, depth + 3, "tsId", op->input[i].result);
		close_list(out, depth + 2, 1, '}');
	}
	close_list(out, depth + 1, op->ninputs, ']');
	member(out, depth + 1, "para", ",");
	fputc('[', out);
	for (int i = 0; i < FOREIGN_NPARAMETERS; i++) {
		if (op->parameter[i] == FOREIGN_NONE)
			continue;
		open_object(out, depth + 2, n++ ? "," : "", "Parameter");
		member(out, depth + 3, "key", ",");
		fprintf(out, "\"%s\"", foreign_parameters[i].flexflow);
		write_number(out, depth + 3, "value", op->parameter[i]);
		close_list(out, depth + 2, 1, '}');
	}
	close_list(out, depth + 1, n, ']');
	member(out, depth + 1, "type", ",");
	fprintf(out, "\"%s\"", foreign_ops[op->code].flexflow);
	close_list(out, depth, 1, '}');
}

static void
write_side(FILE *out, const char *key, const struct foreign_rule *r, int side)
{
	member(out, 3, key, ",");
	fputc('[', out);
	for (int64_t i = 0; i < r->side[side].n; i++)
		write_op(out, 4, i ? "," : "", &r->side[side].at[i]);
	close_list(out, 3, r->side[side].n, ']');
}

void
foreign_write_json(FILE *out, const struct foreign_rules *rules)
{
	fputc('{', out);
	member(out, 1, "_t", "");
	fputs("\"RuleCollection\"", out);
	member(out, 1, "rule", ",");
	fputc('[', out);
	for (int64_t i = 0; i < rules->n; i++) {
		const struct foreign_rule *r = &rules->at[i];
		open_object(out, 2, i ? "," : "", "Rule");
		write_side(out, "dstOp", r, RULE_RIGHT);
		member(out, 3, "mappedOutput", ",");
		fputc('[', out);
		for (int64_t k = 0; k < r->output.n; k++) {
			const struct foreign_output *o = &r->output.at[k];
			open_object(out, 4, k ? "," : "", "MapOutput");
			write_number(out, 5, "dstOpId", o->side[RULE_RIGHT].op);
			write_number(out, 5, "dstTsId", o->side[RULE_RIGHT].result);
			write_number(out, 5, "srcOpId", o->side[RULE_LEFT].op);
			write_number(out, 5, "srcTsId", o->side[RULE_LEFT].result);
			close_list(out, 4, 1, '}');
		}
		close_list(out, 3, r->output.n, ']');
		member(out, 3, "name", ",");
		fprintf(out, "\"%s\"", r->name);
		write_side(out, "srcOp", r, RULE_LEFT);
		close_list(out, 2, 1, '}');
	}
	close_list(out, 1, rules->n, ']');
	close_list(out, 0, 1, '}');
	fputc('\n', out);
}
