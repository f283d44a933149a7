/*
 * Reads a key. See key_read.h and, for the form of keys, key.c. Unreadable parts are skipped: a
 * kernel is accepted only if its own key is equal to the one that was read.
 */
#include "passes/analysis/profile/key_read.h"

#include "ir/ops/row.h"
#include "ir/base/alloc.h"
#include "passes/analysis/profile/key.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	MAX_VALUES = 1024, /* of a kernel: passes/fuse/fuse.h allows 64 ops */
	MAX_NAME = 64,
	MAX_TEXT = 256, /* of an attribute */
};

struct reader {
	struct ir_module *m;
	const char *at;
	struct ir_builder in;               /* inputs, and the kernel */
	struct ir_value *value[MAX_VALUES]; /* of the body, by number */
	uint32_t nvalues;
	bool failed;
};

static bool
take(struct reader *r, const char *text)
{
	const size_t n = strlen(text);

	if (r->failed || strncmp(r->at, text, n) != 0)
		return false;
	r->at += n;
	return true;
}

static void
expect(struct reader *r, const char *text)
{
	if (!take(r, text))
		r->failed = true;
}

/* Reads up to a byte of `end`. */
static bool
take_word(struct reader *r, const char *end, char *word, size_t room)
{
	const size_t n = strcspn(r->at, end);

	if (r->failed || n == 0 || n >= room || !r->at[n]) {
		r->failed = true;
		return false;
	}
	memcpy(word, r->at, n);
	word[n] = 0;
	r->at += n;
	return true;
}

static int64_t
take_int(struct reader *r)
{
	char *end;
	const long long i = strtoll(r->at, &end, 10);

	if (end == r->at)
		r->failed = true;
	r->at = end;
	return i;
}

/* f32[64,512] */
static const struct ir_type *
take_type(struct reader *r)
{
	struct ir_type t = {0};
	char name[MAX_NAME];

	if (!take_word(r, "[", name, sizeof name))
		return NULL;
	const int dtype = ir_dtype_find(name);
	expect(r, "[");
	bool more = !take(r, "]");
	while (more && !r->failed) {
		if (t.rank == IR_MAX_RANK)
			r->failed = true;
		else
			t.dim[t.rank++] = take_int(r);
		more = take(r, ",");
		if (!more)
			expect(r, "]");
	}
	if (dtype < 0 || r->failed) {
		r->failed = true;
		return NULL;
	}
	t.dtype = (uint8_t)dtype;
	return ir_type_intern(r->m->ctx, &t);
}

/* --- attributes --- */

static struct ir_attr
list_of(struct reader *r, const char *key, const char *text)
{
	int64_t item[IR_MAX_RANK * 2];
	int n = 0;
	char *end;

	for (const char *s = text + 1; *s && *s != ']' && n < IR_MAX_RANK * 2; s = end) {
		item[n++] = strtoll(s, &end, 10);
		if (end == s)
			break;
		end += *end == ',';
	}
	return ir_make_ints(r->m, key, item, n);
}

static struct ir_attr
number_of(struct ir_context *ctx, const char *key, const char *text)
{
	return strpbrk(text, ".enx") ? ir_make_float(ctx, key, strtod(text, NULL))
				     : ir_make_int(ctx, key, strtoll(text, NULL, 10));
}

static struct ir_attr
attr_of(struct reader *r, const struct ir_row *row, const char *key, const char *text)
{
	struct ir_context *ctx = r->m->ctx;
	const struct row_attr *a = row_attr_find(row, key);
	const enum row_attr_type type = a ? a->type : ROW_INT;

	if (*text == '[')
		return list_of(r, key, text);
	switch (type) {
	case ROW_STRING: return ir_make_string(ctx, key, text);
	case ROW_BOOL: return ir_make_bool(ctx, key, *text == '1' || *text == 't');
	case ROW_DTYPE: return ir_make_dtype(ctx, key, (enum ir_dtype)ir_dtype_find(text));
	case ROW_FLOAT: return ir_make_float(ctx, key, strtod(text, NULL));
	case ROW_SCALAR:
		if (*text == 't' || *text == 'f')
			return ir_make_bool(ctx, key, *text == 't');
		return number_of(ctx, key, text);
	default: return ir_make_int(ctx, key, strtoll(text, NULL, 10));
	}
}

/* An attribute ends at ", name=" or at the brace; lists and texts have commas without a blank. */
static bool
take_value(struct reader *r, char *text)
{
	size_t n = 0;

	while (r->at[n] && r->at[n] != '}' && strncmp(r->at + n, ", ", 2) != 0)
		n++;
	if (r->failed || !r->at[n] || n >= MAX_TEXT) {
		r->failed = true;
		return false;
	}
	memcpy(text, r->at, n);
	text[n] = 0;
	r->at += n;
	return true;
}

/* "dims=[1], keep=1}" */
static int
take_attrs(struct reader *r, const struct ir_row *row, struct ir_attr *attr)
{
	char key[MAX_NAME], text[MAX_TEXT];
	int n = 0;

	do {
		if (n == ROW_MAX_ATTRS || !take_word(r, "=", key, sizeof key))
			break;
		expect(r, "=");
		if (take_value(r, text))
			attr[n++] = attr_of(r, row, key, text);
	} while (take(r, ", "));
	expect(r, "}");
	return r->failed ? 0 : n;
}

/* --- values --- */

static struct ir_value *
make_input(struct reader *r, const struct ir_type *t, int number)
{
	char name[MAX_NAME];

	snprintf(name, sizeof name, "x%d", number);
	return r->failed ? NULL : ir_build_typed(&r->in, OP_input, name, NULL, 0, NULL, 0, t);
}

static struct ir_value *
make_constant(struct reader *r, const struct ir_type *t, const char *text)
{
	struct ir_attr value = attr_of(r, &r->m->ctx->row[OP_constant], "value", text);

	return r->failed ? NULL : ir_build_typed(&r->in, OP_constant, NULL, NULL, 0, &value, 1, t);
}

/* "f32[32], f32[]=0.5)" */
static int
take_operands(struct reader *r, struct ir_value **v, int room)
{
	int n = 0;

	if (take(r, ")"))
		return 0;
	do {
		char text[MAX_TEXT];
		const struct ir_type *t = take_type(r);
		if (n == room)
			r->failed = true;
		if (r->failed)
			return 0;
		if (!take(r, "="))
			v[n] = make_input(r, t, n);
		else if (take_word(r, ",)@", text, sizeof text))
			v[n] = make_constant(r, t, text);
		r->failed |= r->failed || !v[n];
		n++;
	} while (take(r, ", "));
	expect(r, ")");
	return n;
}

/* "0, 3)" */
static int
take_numbers(struct reader *r, struct ir_value **v, int room)
{
	int n = 0;

	if (take(r, ")"))
		return 0;
	do {
		const int64_t i = take_int(r);
		if (r->failed || n == room || i < 0 || i >= r->nvalues)
			r->failed = true;
		else
			v[n++] = r->value[i];
	} while (take(r, ", "));
	expect(r, ")");
	return n;
}

static void
add_value(struct reader *r, struct ir_value *v)
{
	if (!v || r->nvalues == MAX_VALUES)
		r->failed = true;
	else
		r->value[r->nvalues++] = v;
}

/* Checks an op before it is made: inference would report errors, which must not appear here. */
static struct ir_value *
make_op(struct reader *r, struct ir_builder *b, int code, struct ir_value **v, int n,
	const struct ir_attr *attr, int nattrs, const struct ir_type *type)
{
	const struct ir_row *row = &r->m->ctx->row[code];

	if (r->failed || (row->noperands != ROW_ANY && row->noperands != n))
		return NULL;
	return ir_build_typed(b, (enum op_code)code,
		op_traits((enum op_code)code) & TRAIT_KEYED ? "key" : NULL, v, n, attr, nattrs,
		type);
}

/* "3 = relu(2);" after the blank; the number is that of the next value. */
static void
take_inner(struct reader *r, struct ir_builder *b)
{
	struct ir_value *v[MAX_NAME];
	struct ir_attr attr[ROW_MAX_ATTRS];
	const struct ir_type *type = NULL;
	char name[MAX_NAME];

	if (take_int(r) != r->nvalues)
		r->failed = true;
	expect(r, " = ");
	if (!take_word(r, "(", name, sizeof name))
		return;
	const int code = op_find(name);
	expect(r, "(");
	const int n = take_numbers(r, v, MAX_NAME);
	if (code < 0 || r->failed) {
		r->failed = true;
		return;
	}
	const int nattrs = take(r, " {") ? take_attrs(r, &r->m->ctx->row[code], attr) : 0;
	if (n == 0)
		type = take_type(r);
	add_value(r, make_op(r, b, code, v, n, attr, nattrs, type));
	expect(r, ";");
}

/* "{ 2 = ...; yield(2); } -> f32[32]"; the operands exist already. */
static struct ir_op *
take_fuse(struct reader *r, struct ir_value **operand, int noperands)
{
	struct ir_value *v[MAX_NAME];

	/* Results are known after the body: the fuse is then made again. */
	struct ir_op *fuse =
		ir_op_create(r->m, OP_fuse, LOC_NONE, operand, noperands, NULL, 0, MAX_NAME);
	ir_op_make_body(r->m, fuse);
	fuse->body->func = r->in.block->func;
	for (int i = 0; i < noperands; i++)
		add_value(r, &fuse->body->arg[i]);
	struct ir_builder b = {.m = r->m, .block = fuse->body, .loc = LOC_NONE};
	while (!r->failed && take(r, " ") && !take(r, "yield("))
		take_inner(r, &b);
	const int n = take_numbers(r, v, MAX_NAME);
	expect(r, "; }");
	if (r->failed)
		return NULL;
	fuse->nresults = (uint16_t)n;
	for (int i = 0; i < n; i++)
		fuse->result[i].type = v[i]->type;
	ir_block_append(fuse->body, ir_op_create(r->m, OP_yield, LOC_NONE, v, n, NULL, 0, 0));
	ir_block_append(r->in.block, fuse);
	return fuse;
}

/* "{dims=[1]} -> f32[32]", or without attributes; the operands exist already. */
static struct ir_op *
take_one(struct reader *r, int code, struct ir_value **operand, int noperands)
{
	struct ir_attr attr[ROW_MAX_ATTRS];
	const int nattrs = take(r, " {") ? take_attrs(r, &r->m->ctx->row[code], attr) : 0;
	const struct ir_type *type = NULL;

	expect(r, " -> ");
	if (noperands == 0)
		type = take_type(r);
	struct ir_value *v = make_op(r, &r->in, code, operand, noperands, attr, nattrs, type);
	return v ? v->op : NULL;
}

static struct ir_op *
take_kernel(struct reader *r)
{
	struct ir_value *v[MAX_NAME];
	char name[MAX_NAME];

	if (!take_word(r, " ", name, sizeof name))
		return NULL;
	const int code = op_find(name);
	expect(r, " (");
	const int n = take_operands(r, v, MAX_NAME);
	if (r->failed || code < 0)
		return NULL;
	if (code != OP_fuse)
		return take_one(r, code, v, n);
	expect(r, " {");
	return r->failed ? NULL : take_fuse(r, v, n);
}

static void
ignore(void *data, const struct diag_message *m)
{
	(void)data, (void)m;
}

struct ir_module *
key_read(const void *owner, struct ir_context *ctx, const char *key, struct ir_op **op)
{
	struct reader *r = NEW(NULL, struct reader);
	struct ir_module *m = ir_module_create(owner, ctx, "kernel");
	struct ir_func *main = ir_func_create(m, "main", LOC_NONE);

	diag_set_handler(ctx->diag, ignore, NULL);
	r->m = m;
	r->at = key;
	r->in = (struct ir_builder){.m = m, .block = &main->body, .loc = LOC_NONE};
	*op = take_kernel(r);
	char *back = *op ? cost_op_key(r, m, *op) : NULL;
	const bool good = back && strcmp(back, key) == 0;
	talloc_free(r);
	if (good)
		return m;
	talloc_free(m);
	return NULL;
}
