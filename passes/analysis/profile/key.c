/*
 * The key of an op: text that determines how long its kernel takes.
 *
 *     matmul (f32[32,784], f32[784,512]) -> f32[32,512]
 *     add (f32[32,512], f32[]=0.5) -> f32[32,512]
 *     fuse (f32[32,512], f32[512]) { 2 = add(0, 1); 3 = relu(2); yield(3) } -> f32[32,512]
 *     iota (){dim=0} -> i32[8/2]
 *     allreduce 4 x 1048576
 *
 * Ops with the same key have the same kernel, up to names (test/random/keys_test.c). Shapes are
 * local, so that the same kernel has one key in every layout; only ops whose result depends on the
 * position of a slice, or on the global size, show how a dimension is split. A constant inside the
 * kernel is given by its value; `@` marks an operand that some of the computing places lack. Values
 * inside a fuse are numbered, operands first, in the order in which the body uses them. Left out:
 * names, seeds, and attributes with their default.
 */
#include "passes/analysis/profile/key.h"

#include "ir/base/out.h"
#include "ir/ops/row.h"
#include "ir/base/vec.h"
#include "passes/analysis/replay/kind.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* A growing text; a search needs many keys, so appending is cheap. */
struct text {
	const void *owner;
	char *s; /* talloc */
	size_t n, room;
};

static void
put_bytes(struct text *t, const char *s, size_t n)
{
	if (t->n + n + 1 > t->room) {
		LIST_ROOM(t->owner, t->s, t->n + n + 64);
		t->room = talloc_get_size(t->s);
	}
	memcpy(t->s + t->n, s, n);
	t->n += n;
	t->s[t->n] = 0;
}

static void
put(struct text *t, const char *s)
{
	put_bytes(t, s, strlen(s));
}

static void
put_int(struct text *t, int64_t i)
{
	char text[OUT_NUMBER];

	put_bytes(t, text, number_of_int(text, i));
}

static void
put_float(struct text *t, double x)
{
	char number[32];
	snprintf(number, sizeof number, "%.17g", x);
	put(t, number);
}

static void
put_type(struct text *t, const struct ir_module *m, const struct ir_type *type, bool slices)
{
	put(t, ir_dtype_name((enum ir_dtype)type->dtype));
	put(t, "[");
	for (int i = 0; i < type->rank; i++) {
		int64_t factor = slices ? ir_type_split_factor(m, type, i) : 1;
		if (i)
			put(t, ",");
		put_int(t, ir_type_local_dim(m, type, i));
		if (factor > 1) {
			put(t, "/");
			put_int(t, factor);
		}
	}
	put(t, "]");
}

static void
put_attr(struct text *t, const struct ir_attr *a)
{
	switch (a->kind) {
	case ATTR_INT:
	case ATTR_AXIS:
	case ATTR_BOOL: put_int(t, a->i); break;
	case ATTR_DTYPE: put(t, ir_dtype_name((enum ir_dtype)a->i)); break;
	case ATTR_FLOAT:
	case ATTR_QUANTITY: put_float(t, a->f); break;
	case ATTR_STRING:
	case ATTR_NAME: put(t, a->s); break;
	case ATTR_LIST:
		put(t, "[");
		for (int i = 0; i < a->n; i++) {
			if (i)
				put(t, ",");
			put_attr(t, &a->list[i]);
		}
		put(t, "]");
		break;
	default: break;
	}
}

static bool
matters(const struct ir_row *row, const struct ir_attr *a)
{
	const struct row_attr *known = row_attr_find(row, a->key);
	if (known && known->has_default && ir_attr_equal(&known->otherwise, a))
		return false;
	return strcmp(a->key, "seed") != 0 && strcmp(a->key, "axis") != 0;
}

/* " {dims=[1]}", or nothing. Attributes are in the order of the op's row. */
static void
put_attrs(struct text *t, const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_row *row = op_row(m->ctx, op);
	int n = 0;
	for (int i = 0; i < op->nattrs; i++) {
		if (!matters(row, &op->attr[i]))
			continue;
		put(t, n++ ? ", " : " {");
		put(t, op->attr[i].key);
		put(t, "=");
		put_attr(t, &op->attr[i]);
	}
	if (n)
		put(t, "}");
}

/* Does the kernel of an op depend on the position of its slice, or on the global size? Its row says
 * so: by a computed position, or a word for a position or a size. */
static bool
is_positional(const struct ir_module *m, const struct ir_op *op)
{
	static const char *const words[] = {
		"{", "size(", "at(", "position", "here", "extent", "key", "concat", "_nd"};
	const char *notation = op_row(m->ctx, op)->notation;
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (strstr(notation, words[i]))
			return true;
	return false;
}

static bool
is_split(const struct ir_module *m, const struct ir_type *t)
{
	for (int i = 0; t && i < t->rank; i++)
		if (ir_type_split_factor(m, t, i) > 1)
			return true;
	return false;
}

/* Is an operand on fewer places than the result? It counts as 0 on the others. */
static bool
is_absent(const struct ir_module *m, const struct ir_op *op, int j)
{
	for (int a = 0; a < m->naxes; a++)
		if (ir_operand_type(op, j)->axis[a].kind == IR_SINGLE && op->nresults &&
			op->result[0].type->axis[a].kind != IR_SINGLE)
			return true;
	return false;
}

/* An op inside of a fuse that reads an argument reads the operand of the fuse. */
static void
put_constant(struct text *t, const struct ir_value *v)
{
	v = ir_value_outside(v);
	const struct ir_attr *value =
		v->op && v->op->code == OP_constant ? ir_attr_find(v->op, "value") : NULL;
	if (!value)
		return;
	put(t, "=");
	put_attr(t, value);
}

/* The values of a fuse in the order of their first use; number[i] of operand i. */
struct numbers {
	uint32_t *operand; /* by argument of the body */
	uint32_t *order;   /* arguments in the order of use */
};

static struct numbers
number_operands(const void *owner, const struct ir_block *body)
{
	struct numbers n = {
		NEW_ARRAY(owner, uint32_t, body->nargs), NEW_ARRAY(owner, uint32_t, body->nargs)};
	uint32_t used = 0;
	for (uint32_t i = 0; i < body->nargs; i++)
		n.operand[i] = UINT32_MAX;
	IR_FOR_OPS (op, body)
		for (int j = 0; j < op->noperands; j++) {
			const struct ir_value *v = ir_operand(op, j);
			if (v->op || ir_value_block(v) != body || n.operand[v->index] != UINT32_MAX)
				continue;
			n.order[used] = v->index;
			n.operand[v->index] = used++;
		}
	for (uint32_t i = 0; i < body->nargs; i++)
		if (n.operand[i] == UINT32_MAX) {
			n.order[used] = i;
			n.operand[i] = used++;
		}
	return n;
}

/* The number of a value inside a fuse: arguments first, then results in order. */
static uint32_t
number_of(const struct numbers *n, const struct ir_block *body, const struct ir_value *v)
{
	if (!v->op)
		return n->operand[v->index];
	uint32_t number = body->nargs;
	for (const struct ir_op *op = body->first; op != v->op; op = op->next)
		number += op->nresults;
	return number + v->index;
}

/* What the key of an op inside of a fuse contains besides its operands: for sources their type, for
 * others what places make of it. */
static void
put_inner_types(struct text *t, const struct ir_module *m, const struct ir_op *op)
{
	bool positional = is_positional(m, op), split = false;
	for (int j = 0; j < op->noperands; j++)
		split |= is_split(m, ir_operand_type(op, j));
	if (op->noperands == 0 && op->nresults) {
		put_type(t, m, op->result[0].type, positional);
		return;
	}
	if (!op->nresults || !positional || !(split || is_split(m, op->result[0].type)))
		return;
	put(t, " of ");
	for (int j = 0; j < op->noperands; j++)
		put_type(t, m, ir_operand_type(op, j), true);
	put_type(t, m, op->result[0].type, true);
}

static void
put_body(struct text *t, const struct ir_module *m, const struct ir_block *body,
	const struct numbers *n)
{
	put(t, " {");
	IR_FOR_OPS (op, body) {
		put(t, " ");
		if (op->nresults) {
			put_int(t, number_of(n, body, &op->result[0]));
			put(t, " = ");
		}
		put(t, op_name((enum op_code)op->code));
		put(t, "(");
		for (int i = 0; i < op->noperands; i++) {
			if (i)
				put(t, ", ");
			put_int(t, number_of(n, body, ir_operand(op, i)));
			if (op->nresults && is_absent(m, op, i))
				put(t, "@");
		}
		put(t, ")");
		put_attrs(t, m, op);
		put_inner_types(t, m, op);
		put(t, ";");
	}
	put(t, " }");
}

static void
put_kernel(struct text *t, const struct ir_module *m, const struct ir_op *op)
{
	struct numbers n = {NULL, NULL};
	void *scratch = op->body ? alloc_scratch(NULL) : NULL;
	bool slices = !op->body && is_positional(m, op);
	if (op->body)
		n = number_operands(scratch, op->body);
	put(t, op_name((enum op_code)op->code));
	put(t, " (");
	for (int i = 0; i < op->noperands; i++) {
		int j = n.order ? (int)n.order[i] : i;
		if (i)
			put(t, ", ");
		put_type(t, m, ir_operand_type(op, j), slices);
		put_constant(t, ir_operand(op, j));
		if (!op->body && is_absent(m, op, j))
			put(t, "@");
	}
	put(t, ")");
	put_attrs(t, m, op);
	if (op->body)
		put_body(t, m, op->body, &n);
	put(t, " ->");
	for (int i = 0; i < op->nresults; i++) {
		put(t, i ? ", " : " ");
		put_type(t, m, op->result[i].type, slices);
	}
	talloc_free(scratch);
}

char *
cost_op_key(const void *owner, const struct ir_module *m, const struct ir_op *op)
{
	struct cost_collective c;
	if (cost_op_kind(m, op) == COST_NONE || op->code == OP_while)
		return NULL; /* how long a loop takes depends on its data */
	if (cost_op_collective(m, op, &c)) {
		char *text = TEXT(owner, "%s %d x %.0f", rt_coll_name(c.kind), c.places, c.bytes);
		return c.parts < 2 ? text : text_append(text, " in %u", c.parts);
	}
	struct text t = {.owner = owner};
	put_kernel(&t, m, op);
	return t.s;
}
