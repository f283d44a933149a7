/* Functions of templates.dir in place of an op. */
#include "parser/stablehlo/import/build/template.h"

#include "ir/base/alloc.h"
#include "parser/dir/parse.h"
#include "parser/stablehlo/import/build/build.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

extern const char dopt_stablehlo_templates[];

/* The functions with the type in the place of T: `constant() {value = 1} : T[]`, `{to = T}`. */
static char *
add_functions(char *text, enum ir_dtype type)
{
	const char *at = dopt_stablehlo_templates;

	for (const char *t; (t = strstr(at, " T")) != NULL; at = t + 2) {
		const bool is_type = t[2] && strchr("[},", t[2]);
		text = text_append(text, "%.*s", (int)(t - at) + 1, at);
		text = text_append(text, "%s", is_type ? ir_dtype_name(type) : "T");
	}
	return text_append(text, "%s", at);
}

/* A function main that calls it with inputs of the operands' sizes. */
static char *
main_text(const void *owner, const struct template_call *c)
{
	char *text = text_copy(owner, "func @main() {\n");

	for (int i = 0; i < c->noperands; i++) {
		const struct ir_type *t = c->operand[i]->type;
		text = text_append(text, "  %%in%d = input(\"%d\") : %s[", i, i,
			ir_dtype_name((enum ir_dtype)t->dtype));
		for (int d = 0; d < t->rank; d++)
			text = text_append(text, "%s%" PRId64, d ? "," : "", t->dim[d]);
		text = text_append(text, "]\n");
	}
	for (int i = 0; i < c->nresults; i++)
		text = text_append(text, "%s%%out%d", i ? ", " : "  ", i);
	text = text_append(text, " = call @%s(", c->function);
	for (int i = 0; i < c->noperands; i++)
		text = text_append(text, "%s%%in%d", i ? ", " : "", i);
	text = text_append(text, ")");
	for (int i = 0; i < c->nnumbers; i++)
		text = text_append(text, "%s%s = %.17g", i ? ", " : " {", c->number[i].name,
			c->number[i].value);
	text = text_append(text, "%s\n", c->nnumbers ? "}" : "");
	for (int i = 0; i < c->nresults; i++)
		text = text_append(text, "  output(\"%d\", %%out%d)\n", i, i);
	return text_append(text, "}\n");
}

/*
 * The inlined function, in its own module, made once for all equal calls. It lives as long as the
 * module of the import, whose ops share its attribute lists.
 */
static const struct ir_module *
template_module(struct import *im, const struct template_call *call)
{
	const struct parse_options o = {.inline_calls = true};
	void *scratch = alloc_scratch(NULL);
	char *text = main_text(scratch, call);
	const char *key =
		ir_name(im->module->ctx, TEXT(scratch, "%s %s", ir_dtype_name(call->type), text));
	const struct ir_module *m = ptr_map_get(im->templates, key);

	if (!m) {
		text = text_append(text_copy(scratch, "module @template\n"), "%s\n%s",
			add_functions(text_copy(scratch, ""), call->type), text);
		m = parse_module(
			im->module, im->module->ctx, "templates.dir", text, strlen(text), &o);
		ptr_map_set(im->templates, key, m);
	}
	talloc_free(scratch);
	return m;
}

/* The same op in the module of the import. */
static bool
build_op(struct import *im, const struct ir_op *op, struct ptr_map *map)
{
	struct ir_value **operand = ARENA_ARRAY(im->arena, struct ir_value *, op->noperands + 1);

	for (int i = 0; i < op->noperands; i++)
		operand[i] = (struct ir_value *)(uintptr_t)ptr_map_get(map, ir_operand(op, i));
	struct ir_value *v = op->noperands
				     ? ir_build(&im->builder, (enum op_code)op->code, operand,
					       op->noperands, op->attr, op->nattrs)
				     : ir_build_typed(&im->builder, (enum op_code)op->code, NULL,
					       NULL, 0, op->attr, op->nattrs, op->result->type);
	for (int i = 0; v && i < op->nresults; i++)
		ptr_map_set(map, &op->result[i], &v->op->result[i]);
	return v != NULL;
}

bool
template_build(struct import *im, const struct template_call *call, struct ir_value **result)
{
	for (int i = 0; i < call->noperands; i++)
		if (!call->operand[i])
			return false;
	void *scratch = alloc_scratch(NULL);
	const struct ir_module *m = template_module(im, call);
	struct ptr_map *map = ptr_map_create(scratch);
	bool ok = m != NULL;
	int inputs = 0, outputs = 0;

	if (m)
		IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
			if (op->code == OP_input)
				ptr_map_set(map, op->result, call->operand[inputs++]);
			else if (op->code == OP_output)
				result[outputs++] = (struct ir_value *)(uintptr_t)ptr_map_get(
					map, ir_operand(op, 0));
			else if (!(ok = build_op(im, op, map)))
				break;
		}
	talloc_free(scratch);
	return ok;
}

bool
template_pointwise(struct import *im, const char *function, bool table,
	struct ir_value *const *operand, int n, struct ir_value **result, int nresults)
{
	struct ir_value *in[TEMPLATE_MAX_OPERANDS];
	const enum ir_dtype t = operand[0] ? build_dtype(operand[0]) : IR_f32, wide = build_wide(t);

	for (int i = 0; i < n; i++) {
		in[i] = build_convert(im, operand[i], wide);
		if (table && in[i])
			in[i] = build_unsqueeze(im, in[i], in[i]->type->rank);
	}
	const struct template_call call = {.function = function,
		.type = wide,
		.operand = in,
		.noperands = n,
		.nresults = nresults};
	bool ok = template_build(im, &call, result);
	for (int i = 0; i < nresults && ok; i++) {
		if (table)
			result[i] = build_squeeze(im, result[i], result[i]->type->rank - 1);
		result[i] = build_convert(im, result[i], t);
		ok = result[i] != NULL;
	}
	return ok;
}
