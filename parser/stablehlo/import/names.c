/* Names of arguments, results and values; which result replaces which argument. */
#include "parser/stablehlo/import/block.h"

#include "ir/base/alloc.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* --- names --- */

/*
 * Letters, digits and _ are kept, sequences of others become one dot: "params['w'].b[0]" ->
 * "params.w.b.0". The result is owned by `owner` and may be empty.
 */
static char *
clean(const void *owner, const char *text)
{
	size_t n = strlen(text), to = 0;
	char *s = NEW_ARRAY(owner, char, n + 1);

	for (size_t i = 0; i < n; i++) {
		if (isalnum((unsigned char)text[i]) || text[i] == '_')
			s[to++] = text[i];
		else if (to && s[to - 1] != '.')
			s[to++] = '.';
	}
	while (to && s[to - 1] == '.')
		to--;
	s[to] = 0;
	return s;
}

const char *
import_symbol(struct import *im, const char *text, const char *otherwise)
{
	struct ir_context *ctx = im->module->ctx;
	char *s = clean(NULL, text ? text : "");

	if (!*s) {
		talloc_free(s);
		s = text_copy(NULL, otherwise);
	} else if (isdigit((unsigned char)*s)) {
		char *t = TEXT(NULL, "%s.%s", otherwise, s);
		talloc_free(s);
		s = t;
	}
	const char *name = ir_name(ctx, s);
	/* The value in the map is the last number that was tried, so that a thousand equal names
	 * are a thousand steps. */
	while (ptr_map_get(im->symbols, name)) {
		const char *base = ir_name(ctx, s);
		uintptr_t k = (uintptr_t)ptr_map_get(im->symbols, base) + 1;
		ptr_map_set(im->symbols, base, (const void *)k);
		char *t = TEXT(NULL, "%s.%zu", s, (size_t)k - 1);
		name = ir_name(ctx, t);
		talloc_free(t);
	}
	ptr_map_set(im->symbols, name, (const void *)(uintptr_t)1);
	talloc_free(s);
	return name;
}

void
import_name_value(struct import *im, const struct mlir_value *v, struct ir_value *value)
{
	const char *name = v->name;

	if (value->name || !name || !(isalpha((unsigned char)*name) || *name == '_'))
		return;
	for (const char *p = name; *p; p++)
		if (!isalnum((unsigned char)*p) && *p != '_' && *p != '.') {
			char *s = clean(NULL, name);
			value->name = *s ? ir_name(im->module->ctx, s) : NULL;
			talloc_free(s);
			return;
		}
	value->name = name;
}

bool
import_output(struct import *im, const char *name, const struct import_value *v,
	const struct ir_attr *attr, int nattrs)
{
	if (!v->value)
		return !v->failed; /* empty, or a token: nothing to report */
	struct ir_op *op = ir_op_create(im->module, OP_output, im->builder.loc,
		&(struct ir_value *){v->value}, 1, attr, nattrs, 0);
	op->symbol = import_symbol(im, name, "result");
	if (!ir_infer(im->module, op, NULL)) {
		im->failed = true;
		return false;
	}
	ir_block_append(im->builder.block, op);
	return true;
}

/* --- arguments that results replace --- */

static const struct mlir_attr *
value_attr(const struct mlir_value *v, const char *name)
{
	for (uint32_t i = 0; i < v->nattrs; i++)
		if (v->attr[i].name && !strcmp(v->attr[i].name, name))
			return &v->attr[i];
	return NULL;
}

const char *
import_argument_text(const struct mlir_value *v)
{
	static const char *const keys[] = {"jax.arg_info", "dopt.name"};

	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		const struct mlir_attr *a = value_attr(v, keys[i]);
		if (a && a->kind == MLIR_STRING)
			return a->s;
	}
	return v->debug_name ? v->debug_name : v->name;
}

const struct mlir_attr *
import_result_attrs(const struct mlir_op *func, uint32_t i)
{
	const struct mlir_attr *all = mlir_attr_find(func, "res_attrs");
	const bool has = all && all->kind == MLIR_LIST && i < all->n;

	return has && all->item[i].kind == MLIR_DICT ? &all->item[i] : NULL;
}

const char *
import_result_text(const struct mlir_op *func, uint32_t i)
{
	static const char *const keys[] = {"jax.result_info", "dopt.name"};
	const struct mlir_attr *of = import_result_attrs(func, i);

	for (size_t k = 0; of && k < sizeof keys / sizeof *keys; k++) {
		const struct mlir_attr *a = mlir_item_find(of, keys[k]);
		if (a && a->kind == MLIR_STRING && *a->s)
			return a->s;
	}
	return NULL;
}

struct carry {
	struct import *im;
	const struct mlir_op *func;
	const struct mlir_block *b;
	int *carried, *taken; /* by argument: result; by result: argument; -1 */
	uint32_t nresults;
};

static const struct mlir_type *
result_type(const struct carry *c, uint32_t i)
{
	return c->b->last->operand[i]->type;
}

static bool
carry(struct carry *c, int64_t argument, int64_t result)
{
	struct import *im = c->im;

	if (argument < 0 || argument >= c->b->nargs)
		return import_error(im, c->func, "there is no argument %lld to carry; there are %u",
			(long long)argument, c->b->nargs);
	if (result < 0 || result >= c->nresults)
		return import_error(im, c->func, "there is no result %lld to carry; there are %u",
			(long long)result, c->nresults);
	if (!import_same_type(c->b->arg[argument].type, result_type(c, (uint32_t)result)))
		return import_error(im, c->func,
			"result %lld is %s, which cannot replace argument %lld, %s",
			(long long)result, result_type(c, (uint32_t)result)->text,
			(long long)argument, c->b->arg[argument].type->text);
	if (c->carried[argument] >= 0 || c->taken[result] >= 0)
		return import_error(im, c->func, "argument %lld or result %lld is carried twice",
			(long long)argument, (long long)result);
	c->carried[argument] = (int)result;
	c->taken[result] = (int)argument;
	return true;
}

/* A number, or two with - between them. */
static bool
read_range(const char **at, int64_t *from, int64_t *to)
{
	char *end;

	if (!isdigit((unsigned char)**at))
		return false;
	*from = *to = strtoll(*at, &end, 10);
	if (*end == '-' && isdigit((unsigned char)end[1]))
		*to = strtoll(end + 1, &end, 10);
	*at = end;
	return *from <= *to;
}

/* "0,2:1,4-6:2-4" */
static bool
carry_listed(struct carry *c, const char *text)
{
	for (const char *at = text;;) {
		int64_t a, b, r, s;
		bool good = read_range(&at, &a, &b);
		r = a, s = b;
		if (good && *at == ':') {
			at++;
			good = read_range(&at, &r, &s);
		}
		if (!good || b - a != s - r || b - a > INT32_MAX || (*at && *at != ',')) {
			diag_error(c->im->diag, LOC_NONE,
				"option -carry: expected auto, none, or argument:result "
				"such as 0,2:1,4-6:2-4; found '%s'",
				text);
			c->im->failed = true;
			return false;
		}
		for (int64_t i = 0; i <= b - a; i++)
			if (!carry(c, a + i, r + i))
				return false;
		if (!*at++)
			return true;
	}
}

/* From the text itself: aliases, donated buffers, names. */
static bool
carry_found(struct carry *c)
{
	struct ptr_map *names = ptr_map_create(c->carried);
	struct ir_context *ctx = c->im->module->ctx;
	struct ptr_map *next = ptr_map_create(c->carried);

	for (uint32_t i = 0; i < c->b->nargs; i++) {
		const struct mlir_attr *a = value_attr(&c->b->arg[i], "tf.aliasing_output");
		if (a && a->kind == MLIR_INT && !carry(c, i, a->i))
			return false;
	}
	for (uint32_t i = 0; i < c->b->nargs; i++) {
		const struct mlir_attr *a = value_attr(&c->b->arg[i], "jax.buffer_donor");
		if (c->carried[i] >= 0 || !a || (a->kind == MLIR_BOOL && !a->i))
			continue;
		/* In order among the results of its type. */
		const char *type = c->b->arg[i].type->text;
		uint32_t r = (uint32_t)(uintptr_t)ptr_map_get(next, type);
		while (r < c->nresults && (c->taken[r] >= 0 || result_type(c, r)->text != type))
			r++;
		ptr_map_set(next, type, (const void *)(uintptr_t)(r + 1));
		if (r < c->nresults)
			carry(c, i, r);
	}
	for (uint32_t r = 0; r < c->nresults; r++) {
		const char *text = c->taken[r] < 0 ? import_result_text(c->func, r) : NULL;
		char *s = clean(c->carried, text ? text : "");
		if (*s)
			ptr_map_set(names, ir_name(ctx, s), (const void *)(uintptr_t)(r + 1));
	}
	for (uint32_t i = 0; i < c->b->nargs; i++) {
		const char *text = import_argument_text(&c->b->arg[i]);
		char *s = clean(c->carried, text ? text : "");
		uintptr_t r = (uintptr_t)ptr_map_get(names, ir_name(ctx, s));
		if (r && c->carried[i] < 0 && c->taken[r - 1] < 0 &&
			import_same_type(c->b->arg[i].type, result_type(c, (uint32_t)r - 1)))
			carry(c, i, (int64_t)r - 1);
	}
	return true;
}

bool
import_carried(struct import *im, const struct mlir_op *func, int *carried)
{
	const struct mlir_block *b = &func->region[0];
	const char *how = im->options->carry;
	struct carry c = {.im = im, .func = func, .b = b};

	void *scratch = alloc_scratch(NULL);
	c.nresults = b->last ? b->last->noperands : 0;
	c.carried = NEW_ARRAY(scratch, int, (size_t)b->nargs + 1);
	c.taken = NEW_ARRAY(scratch, int, (size_t)c.nresults + 1);
	for (uint32_t i = 0; i < b->nargs; i++)
		c.carried[i] = -1;
	for (uint32_t i = 0; i < c.nresults; i++)
		c.taken[i] = -1;
	bool ok = true;
	if (!how || !strcmp(how, "auto"))
		ok = carry_found(&c);
	else if (strcmp(how, "none"))
		ok = carry_listed(&c, how);
	memcpy(carried, c.carried, b->nargs * sizeof *carried);
	talloc_free(scratch);
	return ok;
}
