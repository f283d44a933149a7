/*
 * The key of an op: what decides how long its kernel takes, as text.
 *
 *     matmul (f32[32,784], f32[784,512]) -> f32[32,512]
 *     fuse (f32[32,512], f32[512]) { 2 = add(0, 1); 3 = relu(2); yield(3) } -> f32[32,512]
 *     allreduce 4 x 1048576
 *
 * Values inside a fuse are numbered, operands first. Shapes are local, so that the same kernel has
 * one key in every layout. Left out: seeds and names, which change no time.
 */
#include "passes/analysis/cost.h"

#include "passes/analysis/alloc.h"

#include <string.h>

static void
put_type(char **key, const struct ir_module *m, const struct ir_type *t)
{
	*key = talloc_asprintf_append_buffer(*key, "%s[", ir_dtype_name((enum ir_dtype)t->dtype));
	for (int i = 0; i < t->rank; i++)
		*key = talloc_asprintf_append_buffer(
			*key, "%s%lld", i ? "," : "", (long long)ir_type_local_dim(m, t, i));
	*key = must_have(talloc_asprintf_append_buffer(*key, "]"));
}

static void
put_attr(char **key, const struct ir_attr *a)
{
	switch (a->kind) {
	case ATTR_INT:
	case ATTR_AXIS:
	case ATTR_BOOL: *key = talloc_asprintf_append_buffer(*key, "%lld", (long long)a->i); break;
	case ATTR_DTYPE:
		*key = talloc_asprintf_append_buffer(
			*key, "%s", ir_dtype_name((enum ir_dtype)a->i));
		break;
	case ATTR_FLOAT:
	case ATTR_QUANTITY: *key = talloc_asprintf_append_buffer(*key, "%.17g", a->f); break;
	case ATTR_STRING:
	case ATTR_NAME: *key = talloc_asprintf_append_buffer(*key, "%s", a->s); break;
	case ATTR_LIST:
		*key = talloc_asprintf_append_buffer(*key, "[");
		for (int i = 0; i < a->n; i++) {
			if (i)
				*key = talloc_asprintf_append_buffer(*key, ",");
			put_attr(key, &a->list[i]);
		}
		*key = talloc_asprintf_append_buffer(*key, "]");
		break;
	default: break;
	}
	must_have(*key);
}

static bool
matters(const struct ir_attr *a)
{
	return strcmp(a->key, "seed") != 0 && strcmp(a->key, "axis") != 0;
}

/* " {dims = [1]}", or nothing. */
static void
put_attrs(char **key, const struct ir_op *op)
{
	int n = 0;
	for (int i = 0; i < op->nattrs; i++) {
		if (!matters(&op->attr[i]))
			continue;
		*key = talloc_asprintf_append_buffer(
			*key, "%s%s=", n++ ? ", " : " {", op->attr[i].key);
		put_attr(key, &op->attr[i]);
	}
	if (n)
		*key = must_have(talloc_asprintf_append_buffer(*key, "}"));
}

/* The number of a value inside a fuse: arguments first, then results in order. */
static unsigned
number_of(const struct ir_block *body, const struct ir_value *v)
{
	if (!v->op)
		return v->index;
	unsigned n = body->nargs;
	for (const struct ir_op *op = body->first; op != v->op; op = op->next)
		n += op->nresults;
	return n + v->index;
}

static void
put_body(char **key, const struct ir_module *m, const struct ir_block *body)
{
	*key = talloc_asprintf_append_buffer(*key, " {");
	for (const struct ir_op *op = body->first; op; op = op->next) {
		*key = talloc_asprintf_append_buffer(*key, " ");
		if (op->nresults)
			*key = talloc_asprintf_append_buffer(
				*key, "%u = ", number_of(body, &op->result[0]));
		*key = talloc_asprintf_append_buffer(*key, "%s(", op_name((enum op_code)op->code));
		for (int i = 0; i < op->noperands; i++)
			*key = talloc_asprintf_append_buffer(
				*key, "%s%u", i ? ", " : "", number_of(body, ir_operand(op, i)));
		*key = must_have(talloc_asprintf_append_buffer(*key, ")"));
		put_attrs(key, op);
		if (op->noperands == 0 && op->nresults) /* a source: only its type says its size */
			put_type(key, m, op->result[0].type);
		*key = must_have(talloc_asprintf_append_buffer(*key, ";"));
	}
	*key = must_have(talloc_asprintf_append_buffer(*key, " }"));
}

char *
cost_op_key(const void *owner, const struct ir_module *m, const struct ir_op *op)
{
	enum cost_kind kind = cost_op_kind(m, op);
	struct cost_collective c;
	if (kind == COST_NONE)
		return NULL;
	if (cost_op_collective(m, op, &c))
		return TEXT(owner, "%s %d x %.0f", collective_name(c.kind), c.places, c.bytes);
	char *key = TEXT(owner, "%s (", op_name((enum op_code)op->code));
	for (int i = 0; i < op->noperands; i++) {
		if (i)
			key = talloc_asprintf_append_buffer(key, ", ");
		put_type(&key, m, ir_operand_type(op, i));
	}
	key = must_have(talloc_asprintf_append_buffer(key, ")"));
	put_attrs(&key, op);
	if (op->body)
		put_body(&key, m, op->body);
	key = must_have(talloc_asprintf_append_buffer(key, " ->"));
	for (int i = 0; i < op->nresults; i++) {
		key = talloc_asprintf_append_buffer(key, i ? ", " : " ");
		put_type(&key, m, op->result[i].type);
	}
	return key;
}
