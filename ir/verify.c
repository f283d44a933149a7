/*
 * The verifier. Types and layouts are checked by inferring them again; this file checks structure,
 * dominance, use lists and names. A table has, by id, the values whose definition the walk has
 * reached, so an op outside any block defines nothing, and neither does one of another module. A
 * use is valid if the table has the value and its block is that of the user.
 */
#include "ir/ir.h"
#include "ir/base/sort.h"

#include "ir/base/map.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "ir/infer_memo.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

struct verifier {
	struct ir_module *m;
	const struct ir_value *
		*defined; /* by id; NULL: not defined yet; RELEASED: its buffer was released */
	bool ok;
	bool in_main;
	struct VEC(struct ir_op *) named; /* ops of @main with a name in quotes */
};

static const struct ir_value released, *const RELEASED = &released;

#define FAULT(v, op, ...) (diag_error((v)->m->ctx->diag, (op)->loc, __VA_ARGS__), (v)->ok = false)

/* The table's entry of a value; NULL: its id is not one of this module. */
static const struct ir_value **
defined_at(const struct verifier *v, const struct ir_value *value)
{
	return value->id < v->m->value_ids ? &v->defined[value->id] : NULL;
}

static void
verify_operands(struct verifier *v, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct ir_use *u = &op->operand[i];
		if (!u->value || u->op != op || *u->link != u) {
			FAULT(v, op, "%s: the use list of operand %d is broken", op_name(op->code),
				i + 1);
			continue;
		}
		const struct ir_value *const *at = defined_at(v, u->value);
		if (at && *at == RELEASED)
			FAULT(v, op, "%s: operand %d%s%s was already released", op_name(op->code),
				i + 1, u->value->name ? " %" : "",
				u->value->name ? u->value->name : "");
		else if (!at || *at != u->value || ir_value_block(u->value) != op->block)
			FAULT(v, op,
				"%s: operand %d%s%s is used before it is "
				"defined, or outside its block",
				op_name(op->code), i + 1, u->value->name ? " %" : "",
				u->value->name ? u->value->name : "");
	}
}

static void
verify_types(struct verifier *v, struct ir_op *op)
{
	const struct ir_type *type[16], **written = type;

	if (op->nresults > 16)
		written = NEW_ARRAY(NULL, const struct ir_type *, op->nresults);
	for (int i = 0; i < op->nresults; i++)
		written[i] = op->result[i].type;
	bool untyped = false;
	for (int i = 0; i < op->nresults; i++)
		untyped = untyped || !written[i];
	for (int i = 0; i < op->noperands; i++)
		untyped = untyped || !ir_operand_type(op, i);
	if (untyped)
		FAULT(v, op, "%s: a value has no type", op_name(op->code));
	else if (!ir_infer(v->m, op, written))
		v->ok = false;
	if (written != type)
		talloc_free(written);
}

/* Enters a value as defined; its id must be unique. */
static void
define(struct verifier *v, struct ir_loc loc, const struct ir_value *value)
{
	const struct ir_value **at = defined_at(v, value);

	if (at && !*at) {
		*at = value;
		return;
	}
	diag_error(v->m->ctx->diag, loc, "the id %u of a value%s%s is out of range or used twice",
		value->id, value->name ? ", %" : "", value->name ? value->name : "");
	v->ok = false;
}

static void
release(const struct verifier *v, const struct ir_op *op)
{
	const struct ir_value **at = op->noperands == 1 && op->operand[0].value
					     ? defined_at(v, ir_operand(op, 0))
					     : NULL;

	if (at)
		*at = RELEASED;
}

bool
ir_body_allows(enum op_code parent, enum op_code code)
{
	const unsigned never = TRAIT_PERSISTENT | TRAIT_EFFECT | TRAIT_CALLS | TRAIT_PARALLEL |
			       TRAIT_COPY | (parent == OP_while ? 0 : TRAIT_OWN);

	return !(op_traits(code) & never) && code != OP_input && code != OP_barrier;
}

static void verify_block(struct verifier *v, struct ir_block *b, bool typed);

static void
verify_op(struct verifier *v, struct ir_op *op, unsigned traits, bool typed)
{
	verify_operands(v, op);
	if ((traits & TRAIT_TERMINATOR) && op->next)
		FAULT(v, op, "%s: must be the last op of its block", op_name(op->code));
	if ((traits & (TRAIT_NAMED | TRAIT_KEYED)) && !op->symbol)
		FAULT(v, op, "%s: the name is missing", op_name(op->code));
	if (op->body) {
		if (op->body->nargs != op->noperands)
			FAULT(v, op, "%s: the body has %u arguments for %d operands",
				op_name(op->code), op->body->nargs, op->noperands);
		verify_block(v, op->body, typed);
	}
	if (typed && v->ok)
		verify_types(v, op);
	for (int i = 0; i < op->nresults; i++)
		define(v, op->loc, &op->result[i]);
	if (op->code == OP_release)
		release(v, op);
}

static void
verify_block(struct verifier *v, struct ir_block *b, bool typed)
{
	const struct ir_op *prev = NULL;

	for (uint32_t i = 0; i < b->nargs; i++)
		define(v, b->parent ? b->parent->loc : b->func->loc, &b->arg[i]);
	IR_FOR_OPS (op, b) {
		const unsigned traits = op_traits((enum op_code)op->code);
		if (op->prev != prev || op->block != b)
			FAULT(v, op, "%s: the list of ops is broken", op_name(op->code));
		if (b->parent && !ir_body_allows(b->parent->code, op->code))
			FAULT(v, op, "%s: is not allowed in a %s", op_name(op->code),
				op_name(b->parent->code));
		verify_op(v, op, traits, typed);
		if (v->in_main && op->symbol && (traits & TRAIT_NAMED) && !(traits & TRAIT_CALLS))
			VEC_PUSH(NULL, &v->named, op);
		prev = op;
	}
	if (b->last != prev)
		v->ok = false;
}

/* Outputs have a separate name space from params, states and inputs. */
ORDER_POINTERS_BY(compare_symbols, struct ir_op, op_is(x, TRAIT_EFFECT) - op_is(y, TRAIT_EFFECT),
	strcmp(x->symbol, y->symbol), UP(loc.begin))

/* Names are aligned, so the last bit is free. */
static uintptr_t
name_key(const struct ir_op *op)
{
	return (uintptr_t)op->symbol | op_is(op, TRAIT_EFFECT);
}

MAP_SAME(same_name, struct verifier, struct ir_op, name_key(list->named.at[i]) == name_key(key))

/* Have two of one kind the same name? A table of all finds them without sorting. */
static bool
names_repeat(const struct verifier *v)
{
	struct map seen = {0};
	int64_t n = 0;

	while (n < v->named.n && map_add(NULL, &seen, mix64(name_key(v->named.at[n])), same_name, v,
					 v->named.at[n]) == n)
		n++;
	map_free(&seen);
	return n < v->named.n;
}

/* No two params, states or inputs, and no two outputs, may have the same name. Each name is
 * reported once, however many calls repeat it. */
static void
verify_names(struct verifier *v)
{
	if (!names_repeat(v))
		return;
	qsort(v->named.at, (size_t)v->named.n, sizeof *v->named.at, compare_symbols);
	for (int64_t i = 1; i < v->named.n; i++) {
		const struct ir_op *op = v->named.at[i], *before = v->named.at[i - 1];
		if (name_key(op) != name_key(before) ||
			(i > 1 && name_key(op) == name_key(v->named.at[i - 2])))
			continue;
		FAULT(v, op, "%s: the name \"%s\" is already used", op_name(op->code), op->symbol);
		diag_note(v->m->ctx->diag, before->loc, "this %s has it",
			op_is(op, TRAIT_EFFECT) ? "output" : "op");
	}
}

/* A tensor has one next value. */
static void
verify_updates(struct verifier *v)
{
	for (int64_t i = 0; i < v->named.n; i++) {
		const struct ir_op *op = v->named.at[i];
		if (!op_is(op, TRAIT_PERSISTENT))
			continue;
		const struct ir_op *first = NULL;
		IR_FOR_USES (u, &op->result[0]) {
			if (u->op->code != OP_update || u != &u->op->operand[0])
				continue;
			if (first)
				FAULT(v, u->op, "update: \"%s\" is updated twice", op->symbol);
			first = u->op;
		}
	}
}

static bool
verify_module(struct ir_module *m, bool types)
{
	struct verifier v = {.m = m,
		.defined = ARRAY_ZERO(NULL, const struct ir_value *, m->value_ids),
		.ok = true};

	infer_forget(m);
	for (struct ir_func *f = m->func; f; f = f->next) {
		bool typed = strcmp(f->name, "main") == 0;
		v.in_main = typed;
		verify_block(&v, &f->body, typed && types);
		if (!typed)
			continue;
		verify_names(&v);
		verify_updates(&v);
	}
	VEC_FREE(&v.named);
	array_free(v.defined);
	return v.ok;
}

bool
ir_verify(struct ir_module *m)
{
	return verify_module(m, true);
}

bool
ir_verify_structure(struct ir_module *m)
{
	return verify_module(m, false);
}
