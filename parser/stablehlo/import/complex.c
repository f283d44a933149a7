/*
 * From complex values to pairs of real ones (complex.h): a walk over the tree, in order, so that
 * what replaces an operand is known before the op is reached.
 */
#include "parser/stablehlo/import/complex.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

static const char *const part_names[2] = {".re", ".im"};

/* --- types and values --- */

bool
complex_is(const struct mlir_type *t)
{
	return t->kind == MLIR_TENSOR && t->dtype < 0 &&
	       (!strcmp(t->element, "complex<f32>") || !strcmp(t->element, "complex<f64>"));
}

const struct mlir_type *
complex_part_type(struct complex *c, const struct mlir_type *t)
{
	if (!complex_is(t))
		return t;
	const enum ir_dtype dtype = strstr(t->element, "f64") ? IR_f64 : IR_f32;
	return import_local_type(c->im, dtype, t->rank, t->dim);
}

struct complex_parts
complex_get(const struct complex *c, const struct mlir_value *v)
{
	const struct complex_parts *p = ptr_map_get(c->parts, v);
	struct mlir_value *same = (struct mlir_value *)(uintptr_t)v;

	return p ? *p : (struct complex_parts){{same, same}};
}

void
complex_set(
	struct complex *c, const struct mlir_value *v, struct mlir_value *re, struct mlir_value *im)
{
	struct complex_parts *p = ARENA_NEW(c->im->arena, struct complex_parts);

	*p = (struct complex_parts){{re, im}};
	ptr_map_set(c->parts, v, p);
}

/* "w" -> "w.re" */
static const char *
part_name(const struct complex *c, const char *name, int part)
{
	if (!name || !*name)
		return name;
	char *text = TEXT(NULL, "%s%s", name, part_names[part]);
	name = ir_name(c->im->module->ctx, text);
	talloc_free(text);
	return name;
}

static void
make_part(struct complex *c, struct mlir_value *v, int part)
{
	v->type = complex_part_type(c, v->type);
	v->name = part_name(c, v->name, part);
	v->debug_name = part_name(c, v->debug_name, part);
}

struct mlir_value *
complex_expand(struct complex *c, struct mlir_value *old, uint32_t n, uint32_t *count)
{
	uint32_t extra = 0, k = 0;

	for (uint32_t i = 0; i < n; i++)
		extra += complex_is(old[i].type);
	*count = n + extra;
	if (!extra)
		return old;
	struct mlir_value *v = ARENA_ARRAY(c->im->arena, struct mlir_value, *count);
	for (uint32_t i = 0; i < n; i++) {
		const int parts = complex_is(old[i].type) ? 2 : 1;
		complex_set(c, &old[i], &v[k], &v[k + (uint32_t)parts - 1]);
		for (int p = 0; p < parts; p++, k++) {
			v[k] = old[i];
			v[k].index = k;
			if (parts == 2)
				make_part(c, &v[k], p);
		}
	}
	return v;
}

/* --- attributes --- */

/* A list with an item for each of n values: twice that of a complex one. */
static void
repeat_items(struct complex *c, struct mlir_attr *a, const struct mlir_value *const *v, uint32_t n)
{
	uint32_t count = 0;

	if (a->kind != MLIR_LIST || a->n != n)
		return;
	struct mlir_attr *item = ARENA_ARRAY(c->im->arena, struct mlir_attr, 2 * (size_t)n);
	for (uint32_t i = 0; i < n; i++) {
		item[count++] = a->item[i];
		if (complex_is(v[i]->type))
			item[count++] = a->item[i];
	}
	a->item = item;
	a->n = count;
}

/* One part of dense<(1.0, 2.0)> : tensor<complex<f32>>. */
static void
take_dense(struct complex *c, struct mlir_attr *a, int part)
{
	if (a->kind != MLIR_DENSE || !a->dense->complex || !complex_is(a->dense->type))
		return;
	struct mlir_dense *d = ARENA_NEW(c->im->arena, struct mlir_dense);
	*d = *a->dense;
	d->complex = false;
	d->type = complex_part_type(c, d->type);
	d->n /= 2;
	d->number = ARENA_ARRAY(c->im->arena, union mlir_number, d->n + 1);
	for (int64_t i = 0; i < d->n; i++)
		d->number[i] = a->dense->number[2 * i + part];
	a->dense = d;
}

static struct mlir_attr *
copy_attrs(const struct complex *c, const struct mlir_attr *attr, uint32_t n)
{
	struct mlir_attr *a = ARENA_ARRAY(c->im->arena, struct mlir_attr, n + 1);

	if (n)
		memcpy(a, attr, n * sizeof *a);
	return a;
}

/* --- ops --- */

/* Appends an op to the current block. */
static void
complex_append(struct complex *c, struct mlir_op *op)
{
	op->next = NULL;
	op->block = c->to;
	if (c->to->last)
		c->to->last->next = op;
	else
		c->to->first = op;
	c->to->last = op;
}

struct mlir_value *
complex_new(struct complex *c, const struct mlir_op *like, const char *name,
	struct mlir_value *const *operand, uint32_t n, const struct mlir_type *type)
{
	struct mlir_op *op = ARENA_NEW(c->im->arena, struct mlir_op);
	struct mlir_value **copy = ARENA_ARRAY(c->im->arena, struct mlir_value *, n + 1);

	for (uint32_t i = 0; i < n; i++)
		copy[i] = operand[i];
	*op = (struct mlir_op){.name = ir_name(c->im->module->ctx, name),
		.loc = like->loc,
		.operand = copy,
		.noperands = n,
		.result = ARENA_NEW(c->im->arena, struct mlir_value),
		.nresults = 1};
	*op->result = (struct mlir_value){.type = type, .op = op, .loc = like->loc};
	complex_append(c, op);
	return op->result;
}

/* A copy of a region for one part. */
static void
copy_region(struct complex *c, const struct mlir_block *from, struct mlir_block *to,
	struct mlir_op *parent, uint32_t mask)
{
	struct mlir_block *outer = c->to;

	*to = (struct mlir_block){.nargs = from->nargs, .parent = parent};
	to->arg = ARENA_ARRAY(c->im->arena, struct mlir_value, from->nargs + 1);
	c->to = to;
	for (uint32_t i = 0; i < from->nargs; i++) {
		to->arg[i] = from->arg[i];
		to->arg[i].type = complex_part_type(c, from->arg[i].type);
		to->arg[i].block = to;
		complex_set(c, &from->arg[i], &to->arg[i], &to->arg[i]);
	}
	for (const struct mlir_op *op = from->first; op; op = op->next) {
		struct mlir_op *copy = complex_copy(c, op, mask);
		for (uint32_t i = 0; i < op->nresults; i++)
			complex_set(c, &op->result[i], &copy->result[i], &copy->result[i]);
	}
	c->to = outer;
}

struct mlir_op *
complex_copy(struct complex *c, const struct mlir_op *op, uint32_t mask)
{
	struct arena *arena = c->im->arena;
	struct mlir_op *copy = ARENA_NEW(arena, struct mlir_op);
	struct mlir_value **operand = ARENA_ARRAY(arena, struct mlir_value *, op->noperands + 1);
	struct mlir_attr *attr = copy_attrs(c, op->attr, op->nattrs);
	const int part = mask & 1;

	*copy = *op;
	for (uint32_t i = 0; i < op->noperands; i++)
		operand[i] = complex_get(c, op->operand[i]).part[mask >> (i < 31 ? i : 31) & 1];
	for (uint32_t i = 0; i < op->nattrs; i++)
		take_dense(c, &attr[i], part);
	copy->operand = operand;
	copy->attr = attr;
	copy->result = ARENA_ARRAY(arena, struct mlir_value, op->nresults + 1);
	for (uint32_t i = 0; i < op->nresults; i++) {
		copy->result[i] = op->result[i];
		copy->result[i].op = copy;
		if (complex_is(op->result[i].type))
			make_part(c, &copy->result[i], part);
	}
	copy->region = ARENA_ARRAY(arena, struct mlir_block, op->nregions + 1);
	for (uint32_t i = 0; i < op->nregions; i++)
		copy_region(c, &op->region[i], &copy->region[i], copy, mask);
	complex_append(c, copy);
	return copy;
}

static void rewrite_block(struct complex *c, struct mlir_block *b);

/* Shardings of operands and results. */
static void
repeat_shardings(struct complex *c, struct mlir_op *op)
{
	struct mlir_attr *attr = copy_attrs(c, op->attr, op->nattrs);
	const struct mlir_value **result =
		ARENA_ARRAY(c->im->arena, const struct mlir_value *, op->nresults + 1);

	for (uint32_t i = 0; i < op->nresults; i++)
		result[i] = &op->result[i];
	for (uint32_t i = 0; i < op->nattrs; i++)
		if (attr[i].name && !strcmp(attr[i].name, "in_shardings"))
			repeat_items(c, &attr[i], (const struct mlir_value *const *)op->operand,
				op->noperands);
		else if (attr[i].name && !strcmp(attr[i].name, "out_shardings"))
			repeat_items(c, &attr[i], result, op->nresults);
	op->attr = attr;
}

void
complex_through(struct complex *c, struct mlir_op *op)
{
	const size_t most = 2 * (size_t)op->noperands + 1;
	struct mlir_value **operand = ARENA_ARRAY(c->im->arena, struct mlir_value *, most);
	struct ir_loc *loc = ARENA_ARRAY(c->im->arena, struct ir_loc, most);
	uint32_t n = 0;

	if (!strcmp(op->name, "sdy.manual_computation"))
		repeat_shardings(c, op);
	for (uint32_t i = 0; i < op->noperands; i++) {
		const struct complex_parts p = complex_get(c, op->operand[i]);
		for (int part = 0; part < (complex_is(op->operand[i]->type) ? 2 : 1); part++) {
			loc[n] = op->operand_loc ? op->operand_loc[i] : op->loc;
			operand[n++] = p.part[part];
		}
	}
	op->operand = operand;
	op->operand_loc = loc;
	op->noperands = n;
	complex_append(c, op);
	for (uint32_t i = 0; i < op->nregions; i++)
		rewrite_block(c, &op->region[i]);
	op->result = complex_expand(c, op->result, op->nresults, &op->nresults);
}

void
complex_refuse(struct complex *c, struct mlir_op *op)
{
	complex_through(c, op);
	const struct mlir_attr *call = mlir_attr_find(op, "call_target_name");
	if (!call || call->kind != MLIR_STRING)
		op->refused = "complex numbers";
	else if (strstr(call->s, "geev"))
		op->refused = "eigenvalues of a matrix that is not symmetric (jnp.linalg.eig); "
			      "jnp.linalg.eigh takes symmetric ones";
	else
		op->refused = "linear algebra of complex numbers; the real matrix [[re, -im], [im, "
			      "re]] computes the same";
}

/* --- functions --- */

/* The number of a function's result once those before it are split. */
static int64_t
result_number(const struct mlir_op *last, int64_t i)
{
	int64_t n = i;

	for (int64_t k = 0; k < i && k < last->noperands; k++)
		n += complex_is(last->operand[k]->type);
	return n;
}

/* Attributes that contain a name get that of the part; a number of a result is adjusted. */
static const struct mlir_attr *
part_attrs(struct complex *c, const struct mlir_attr *attr, uint32_t n, int part,
	const struct mlir_op *last)
{
	static const char *const names[] = {"jax.arg_info", "jax.result_info", "dopt.name"};
	struct mlir_attr *a = copy_attrs(c, attr, n);

	for (uint32_t i = 0; i < n; i++) {
		const char *name = a[i].name ? a[i].name : "";
		for (size_t k = 0; part >= 0 && k < sizeof names / sizeof *names; k++)
			if (!strcmp(name, names[k]) && a[i].kind == MLIR_STRING)
				a[i].s = part_name(c, a[i].s, part);
		if (!strcmp(name, "tf.aliasing_output") && a[i].kind == MLIR_INT)
			a[i].i = result_number(last, a[i].i) + (part > 0);
	}
	return a;
}

/* Attributes of results, a dictionary each. */
static void
expand_result_attrs(struct complex *c, struct mlir_op *func, const struct mlir_op *last)
{
	struct mlir_attr *attr = copy_attrs(c, func->attr, func->nattrs);

	for (uint32_t i = 0; i < func->nattrs; i++) {
		if (!attr[i].name || strcmp(attr[i].name, "res_attrs"))
			continue;
		repeat_items(c, &attr[i], (const struct mlir_value *const *)last->operand,
			last->noperands);
		struct mlir_attr *item = copy_attrs(c, attr[i].item, attr[i].n);
		attr[i].item = item;
		for (uint32_t k = 0, r = 0; k < last->noperands && r < attr[i].n; k++) {
			const int parts = complex_is(last->operand[k]->type) ? 2 : 1;
			for (int p = 0; p < parts; p++, r++)
				if (parts == 2 && item[r].kind == MLIR_DICT)
					item[r].item =
						part_attrs(c, item[r].item, item[r].n, p, last);
		}
	}
	func->attr = attr;
}

static void
rewrite_function(struct complex *c, struct mlir_op *func)
{
	struct mlir_block *b = &func->region[0];
	struct mlir_op *last = func->nregions ? b->last : NULL;

	if (!last)
		return;
	expand_result_attrs(c, func, last);
	const struct mlir_value *old = b->arg;
	const uint32_t n = b->nargs;
	b->arg = complex_expand(c, b->arg, n, &b->nargs);
	for (uint32_t i = 0; i < n; i++) {
		const struct complex_parts p = complex_get(c, &old[i]);
		const bool two = complex_is(old[i].type);
		for (int part = 0; part < (two ? 2 : 1); part++)
			p.part[part]->attr =
				part_attrs(c, old[i].attr, old[i].nattrs, two ? part : -1, last);
	}
	rewrite_block(c, b);
}

static bool
has_complex(const struct mlir_op *op)
{
	bool has = false;

	for (uint32_t i = 0; i < op->noperands && !has; i++)
		has = complex_is(op->operand[i]->type);
	for (uint32_t i = 0; i < op->nresults && !has; i++)
		has = complex_is(op->result[i].type);
	return has;
}

static void
rewrite_block(struct complex *c, struct mlir_block *b)
{
	struct mlir_block *outer = c->to;
	struct mlir_op *op = b->first, *next;

	b->arg = complex_expand(c, b->arg, b->nargs, &b->nargs);
	b->first = b->last = NULL;
	c->to = b;
	for (; op; op = next) {
		next = op->next;
		if (!strcmp(op->name, "func.func")) {
			complex_append(c, op);
			rewrite_function(c, op);
		} else if (has_complex(op)) {
			complex_by_rule(c, op);
		} else {
			complex_through(c, op);
		}
	}
	c->to = outer;
}

/* Has an op in the regions of `op`, or an argument of them, complex numbers? */
static bool
any_complex(const struct mlir_op *op)
{
	for (uint32_t r = 0; r < op->nregions; r++) {
		const struct mlir_block *b = &op->region[r];
		for (uint32_t i = 0; i < b->nargs; i++)
			if (complex_is(b->arg[i].type))
				return true;
		for (const struct mlir_op *o = b->first; o; o = o->next)
			if (has_complex(o) || any_complex(o))
				return true;
	}
	return false;
}

void
import_complex(struct import *im)
{
	struct mlir_op *module = im->file->module;
	struct complex c = {.im = im};

	if (!any_complex(module))
		return;
	c.parts = ptr_map_create(im->missing);
	for (uint32_t i = 0; i < module->nregions; i++)
		rewrite_block(&c, &module->region[i]);
}
