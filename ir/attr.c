/* Attributes: making, finding, comparing. */
#include "ir/ir.h"

#include "ir/ops/row.h"

#include <string.h>

struct ir_attr
ir_make_int(struct ir_context *ctx, const char *key, int64_t i)
{
	return (struct ir_attr){.key = ir_name(ctx, key), .kind = ATTR_INT, .i = i};
}

struct ir_attr
ir_make_float(struct ir_context *ctx, const char *key, double f)
{
	return (struct ir_attr){.key = ir_name(ctx, key), .kind = ATTR_FLOAT, .f = f};
}

struct ir_attr
ir_make_string(struct ir_context *ctx, const char *key, const char *s)
{
	return (struct ir_attr){
		.key = ir_name(ctx, key), .kind = ATTR_STRING, .s = ir_name(ctx, s)};
}

struct ir_attr
ir_make_axis(struct ir_context *ctx, const char *key, int axis)
{
	return (struct ir_attr){.key = ir_name(ctx, key), .kind = ATTR_AXIS, .i = axis};
}

struct ir_attr
ir_make_dtype(struct ir_context *ctx, const char *key, enum ir_dtype t)
{
	return (struct ir_attr){.key = ir_name(ctx, key), .kind = ATTR_DTYPE, .i = t};
}

struct ir_attr
ir_make_bool(struct ir_context *ctx, const char *key, bool b)
{
	return (struct ir_attr){.key = ir_name(ctx, key), .kind = ATTR_BOOL, .i = b};
}

struct ir_attr
ir_make_ints(struct ir_module *m, const char *key, const int64_t *v, int n)
{
	struct ir_attr *list = ARENA_ARRAY(m->arena, struct ir_attr, n);

	for (int i = 0; i < n; i++)
		list[i] = (struct ir_attr){.kind = ATTR_INT, .i = v[i]};
	return (struct ir_attr){
		.key = ir_name(m->ctx, key), .kind = ATTR_LIST, .n = (uint16_t)n, .list = list};
}

/* Ops have few attributes, and keys are interned: compare pointers first. */
static int
attr_position(const struct ir_op *op, const char *key)
{
	for (int i = 0; i < op->nattrs; i++)
		if (op->attr[i].key == key || strcmp(op->attr[i].key, key) == 0)
			return i;
	return -1;
}

const struct ir_attr *
ir_attr_find(const struct ir_op *op, const char *key)
{
	int i = attr_position(op, key);

	return i < 0 ? NULL : &op->attr[i];
}

int64_t
ir_attr_int(const struct ir_op *op, const char *key, int64_t otherwise)
{
	const struct ir_attr *a = ir_attr_find(op, key);

	if (!a)
		return otherwise;
	return a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY ? (int64_t)a->f : a->i;
}

double
ir_attr_float(const struct ir_op *op, const char *key, double otherwise)
{
	const struct ir_attr *a = ir_attr_find(op, key);

	if (!a)
		return otherwise;
	return a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY ? a->f : (double)a->i;
}

const char *
ir_attr_string(const struct ir_op *op, const char *key, const char *otherwise)
{
	const struct ir_attr *a = ir_attr_find(op, key);

	return a ? a->s : otherwise;
}

int
ir_attr_ints(const struct ir_op *op, const char *key, int64_t *out, int max)
{
	const struct ir_attr *a = ir_attr_find(op, key);

	if (!a)
		return -1;
	int n = a->n < max ? a->n : max;
	for (int i = 0; i < n; i++)
		out[i] = a->list[i].i;
	return n;
}

int
ir_file_shape(const struct ir_op *op, const struct ir_type *t, int64_t dim[IR_MAX_RANK])
{
	const int rank = ir_attr_ints(op, "shape", dim, IR_MAX_RANK);

	if (rank >= 0)
		return rank;
	memcpy(dim, t->dim, sizeof t->dim);
	return t->rank;
}

/* The position of the key among the attributes of the op: in the order of the row, others last. */
static int
row_position(const struct ir_row *row, const char *key)
{
	for (int i = 0; i < row->nattrs; i++)
		if (row->attr[i].key == key)
			return i;
	return row->nattrs;
}

void
row_put_attrs(struct ir_context *ctx, struct ir_op *op, const struct ir_attr *attr, int n)
{
	const struct ir_row *row = op_row(ctx, op);

	op->nattrs = (uint16_t)n;
	for (int i = 0; i < n; i++) {
		int at = i, position = row_position(row, attr[i].key);
		while (at > 0 && row_position(row, op->attr[at - 1].key) > position) {
			op->attr[at] = op->attr[at - 1];
			at--;
		}
		op->attr[at] = attr[i];
	}
}

void
row_sort_attrs(struct ir_module *m, struct ir_op *op, const struct ir_attr *attr, int n)
{
	if (!n)
		return;
	op->attr = ARENA_ARRAY(m->arena, struct ir_attr, n);
	row_put_attrs(m->ctx, op, attr, n);
}

void
ir_attr_set(struct ir_module *m, struct ir_op *op, const struct ir_attr *attr)
{
	const struct ir_row *row = op_row(m->ctx, op);
	int at = attr_position(op, attr->key);

	if (at >= 0) {
		op->attr[at] = *attr;
		return;
	}
	struct ir_attr *list = ARENA_ARRAY(m->arena, struct ir_attr, op->nattrs + 1);
	int position = row_position(row, attr->key), n = 0;
	while (n < op->nattrs && row_position(row, op->attr[n].key) <= position) {
		list[n] = op->attr[n];
		n++;
	}
	list[n] = *attr;
	for (int i = n; i < op->nattrs; i++)
		list[i + 1] = op->attr[i];
	op->attr = list;
	op->nattrs++;
}

void
ir_attr_remove(struct ir_op *op, const char *key)
{
	int at = attr_position(op, key);

	if (at < 0)
		return;
	op->nattrs--;
	memmove(&op->attr[at], &op->attr[at + 1], sizeof *op->attr * (size_t)(op->nattrs - at));
}

uint32_t
ir_parts(const struct ir_op *op)
{
	return (uint32_t)ir_attr_int(op, "parts", 1);
}

void
ir_set_parts(struct ir_module *m, struct ir_op *op, uint32_t parts)
{
	const struct ir_attr attr = ir_make_int(m->ctx, "parts", parts);

	if (parts > 1)
		ir_attr_set(m, op, &attr);
	else
		ir_attr_remove(op, "parts");
}

bool
ir_attr_equal(const struct ir_attr *a, const struct ir_attr *b)
{
	if (a->key != b->key || a->kind != b->kind || a->n != b->n)
		return false;
	switch ((enum attr_kind)a->kind) {
	case ATTR_FLOAT:
	case ATTR_QUANTITY: return memcmp(&a->f, &b->f, sizeof a->f) == 0;
	case ATTR_STRING:
	case ATTR_NAME: return a->s == b->s;
	case ATTR_SIZE: return a->size == b->size;
	case ATTR_LIST:
		for (int i = 0; i < a->n; i++)
			if (!ir_attr_equal(&a->list[i], &b->list[i]))
				return false;
		return true;
	default: return a->i == b->i;
	}
}

bool
ir_attrs_equal(const struct ir_op *a, const struct ir_op *b)
{
	if (a->nattrs != b->nattrs)
		return false;
	for (int i = 0; i < a->nattrs; i++)
		if (!ir_attr_equal(&a->attr[i], &b->attr[i]))
			return false;
	return true;
}
