/*
 * Statements: from names, operands, attributes and types to an op in the current block. An op of
 * @main is typed as soon as it is read, until the first call: functions may come later in the text,
 * so the remaining ops wait for its end.
 */
#include "parser/dir/parser.h"

#include "ir/base/number.h"
#include "ir/base/suggest.h"

#include <string.h>
#include <talloc.h>

enum { STMT_TYPES = 16 }; /* results of an op that need no allocation to infer */

void
stmt_reset(struct parser *p)
{
	p->result.n = p->operand.n = p->word.n = p->arg.n = p->attr.n = p->key.n = p->type.n =
		p->item.n = 0;
	p->stmt = (struct stmt){.code = -1};
}

/* Binds the names before "=" to the poison: their uses are not reported. */
static void
poison_results(struct parser *p)
{
	for (int i = 0; i < p->result.n; i++)
		symbol_poison(p, p->result.at[i].name);
	if (p->region)
		p->region->bad = true;
	p->func_bad = true;
}

void
stmt_give_up(struct parser *p)
{
	poison_results(p);
	stmt_reset(p);
}

void
stmt_operand(struct parser *p, struct named arg, struct named operand)
{
	VEC_PUSH(p, &p->arg, arg);
	VEC_PUSH(p, &p->word, operand);
}

/* Looks up the values of the names in the parentheses. */
static void
find_operands(struct parser *p)
{
	for (int i = 0; i < p->word.n; i++) {
		struct ir_value *v = symbol_value(p, p->word.at[i]);
		if (v && v != &p->poison)
			VEC_PUSH(p, &p->operand, v);
		else
			p->stmt.poisoned = true;
	}
}

static int
find_op(struct parser *p, struct named name)
{
	if (name_number(name.name) < OP_NCODES) /* the first names of a context */
		return (int)name_number(name.name);
	struct suggestion near = suggestion_for(name.name);
	for (int c = 0; c < OP_NCODES; c++)
		suggestion_add(&near, op_name((enum op_code)c));
	char *text = suggestion_text(NULL, &near);
	PARSE_ERROR(p, name.loc, "unknown op '%s'%s", name.name, text);
	talloc_free(text);
	return -1;
}

#define STMT_FAIL(p, loc, ...) (PARSE_ERROR(p, loc, __VA_ARGS__), (p)->stmt.poisoned = true)

/* Checks the name in quotes, or after @, which some ops must have and others must not. */
static void
check_symbol(struct parser *p, struct named callee)
{
	struct stmt *s = &p->stmt;
	unsigned traits = op_traits((enum op_code)s->code);
	const char *op = op_name((enum op_code)s->code);

	if (callee.name && !(traits & TRAIT_CALLS))
		STMT_FAIL(p, callee.loc, "%s does not take a function", op);
	else if (!callee.name && (traits & TRAIT_CALLS))
		STMT_FAIL(p, s->loc, "call needs a function: call @name(...)");
	if (s->symbol && (!(traits & (TRAIT_NAMED | TRAIT_KEYED)) || (traits & TRAIT_CALLS)))
		STMT_FAIL(p, s->symbol_loc, "%s does not take a name", op);
	else if (!s->symbol && (traits & (TRAIT_NAMED | TRAIT_KEYED)) && !(traits & TRAIT_CALLS))
		STMT_FAIL(p, s->loc, "%s needs a name in quotes as its first argument", op);
	if (callee.name)
		s->symbol = callee.name;
}

/* Checks the position of the op. */
static void
check_place(struct parser *p)
{
	struct stmt *s = &p->stmt;
	unsigned traits = op_traits((enum op_code)s->code);
	const char *op = op_name((enum op_code)s->code);

	if (p->block->last && op_is(p->block->last, TRAIT_TERMINATOR))
		STMT_FAIL(p, s->loc, "nothing can follow %s",
			op_name((enum op_code)p->block->last->code));
	if (s->code == OP_return && (p->region || !p->template))
		STMT_FAIL(p, s->loc,
			p->region ? "a body ends in yield(...)"
				  : "@main returns nothing; use output(\"name\", %%value)");
	if (s->code == OP_yield && !p->region)
		STMT_FAIL(p, s->loc,
			"yield is only allowed at the end of the body of a fuse or while");
	const int parent = p->region ? p->region->stmt.code : -1;
	if (parent >= 0 && !ir_body_allows((enum op_code)parent, (enum op_code)s->code))
		STMT_FAIL(
			p, s->loc, "%s is not allowed in a %s", op, op_name((enum op_code)parent));
	if ((traits & TRAIT_REGION) && p->nregions == PARSE_MAX_REGIONS)
		STMT_FAIL(p, s->loc, "bodies are nested more than %d deep", PARSE_MAX_REGIONS);
	for (int i = 0; i < p->arg.n; i++)
		if (s->code != OP_while && p->arg.at[i].name != p->word.at[i].name)
			STMT_FAIL(p, p->arg.at[i].loc,
				"%s gives its operands no names; only a while does", op);
}

/* Checks the number of names before "="; a row with any number of results is left to inference. */
static void
check_counts(struct parser *p)
{
	struct stmt *s = &p->stmt;
	int want = p->ctx->row[s->code].nresults, have = p->result.n;

	if (want != ROW_ANY && want != have && !want)
		STMT_FAIL(p, p->result.at[0].loc, "%s has no result to name",
			op_name((enum op_code)s->code));
	else if (want != ROW_ANY && want != have)
		STMT_FAIL(p, s->loc, "%s has %d result%s, %s", op_name((enum op_code)s->code), want,
			number_plural(want),
			have > want ? "but more names are given"
			: want == 1 ? "which needs a name: write %name = ..."
				    : "each of which needs a name: write %a, %b = ...");
	if (p->operand.n > PARSE_MAX_LIST || have > PARSE_MAX_LIST)
		STMT_FAIL(p, s->loc, "an op has at most %d operands and results", PARSE_MAX_LIST);
}

/* Numbers are names in templates, where dim(%3, 0) may refer to them; elsewhere they are not. */
static const char *
value_name(const struct parser *p, const char *name)
{
	return !p->template && name[0] >= '0' && name[0] <= '9' ? NULL : name;
}

static void
define_results(struct parser *p, struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++) {
		struct named name = p->result.at[i];
		op->result[i].name = value_name(p, name.name);
		if (!symbol_define(p, name, &op->result[i]))
			p->func_bad = true;
	}
}

static struct ir_op *
make_op(struct parser *p)
{
	struct stmt *s = &p->stmt;
	struct ir_op *op = ir_op_create(p->m, (enum op_code)s->code, s->loc, p->operand.at,
		p->operand.n, p->attr.at, p->attr.n, p->result.n);

	op->symbol = s->symbol;
	if (op_is(op, TRAIT_CALLS)) {
		VEC_PUSH(p, &p->call, op);
		if (!p->template && !p->deferred) {
			p->deferred = true;
			p->untyped = op;
		}
	}
	return op;
}

/* Opens a body of the current statement. Values with ids below `scope` are not visible in it. */
static void
region_open(struct parser *p, struct ir_block *body, uint32_t scope)
{
	struct region *r = ARENA_NEW(p->scratch, struct region);

	*r = (struct region){.outer = p->region,
		.stmt = p->stmt,
		.block = p->block,
		.scope = p->scope,
		.undo = p->meanings.undo.n};
	p->scope = scope;
	p->region = r;
	p->nregions++;
	p->block = body;
}

static void
region_close(struct parser *p)
{
	struct region *r = p->region;

	scope_close(&p->meanings, 0, r->undo);
	p->scope = r->scope;
	p->region = r->outer;
	p->nregions--;
	p->block = r->block;
	stmt_reset(p);
	p->stmt = r->stmt;
	p->stmt.poisoned = r->stmt.poisoned || r->bad;
}

/* A block for the statements of a body that belongs to no op. */
static struct ir_block *
lost_block(struct parser *p)
{
	struct ir_block *b = ARENA_NEW(p->m->arena, struct ir_block);

	b->func = p->func;
	return b;
}

/* The op itself comes first: in its body the names of the operands are those of the arguments,
 * unless a while gives others. */
static void
body_open(struct parser *p)
{
	struct ir_op *op = NULL;
	struct ir_block *body = NULL;
	uint32_t scope = p->m->value_ids;

	if (p->stmt.poisoned) {
		poison_results(p);
		body = lost_block(p);
	} else {
		op = p->stmt.op = make_op(p);
		ir_block_append(p->block, op);
		define_results(p, op);
		scope = p->m->value_ids;
		body = ir_op_make_body(p->m, op);
	}
	region_open(p, body, scope);
	for (int i = 0; i < p->word.n; i++) {
		struct named name = p->arg.at[i];
		if (!op)
			symbol_poison(p, name.name);
		else if (op->code == OP_while || !symbol_is_here(p, name.name)) /* in a fuse, of
										    equal operands
										    the first */
			symbol_define(p, name, &body->arg[i]);
		if (op && op->code == OP_while)
			body->arg[i].name = value_name(p, name.name);
	}
	stmt_reset(p);
}

int
stmt_head(struct parser *p, struct named op, struct named callee, struct ir_loc loc)
{
	struct stmt *s = &p->stmt;
	int depth = p->nregions;

	if (s->pending) { /* a statement between braces after an op other than fuse */
		if (s->code >= 0)
			PARSE_ERROR(p, s->loc, "%s does not take a body",
				op_name((enum op_code)s->code));
		s->poisoned = true;
		poison_results(p);
		region_open(p, lost_block(p), p->scope);
		stmt_reset(p);
		s->poisoned = true;
		depth++;
	}
	s->pending = true;
	s->loc = loc;
	find_operands(p);
	s->code = find_op(p, op);
	if (s->code < 0) {
		s->poisoned = true;
		return depth;
	}
	rule_family_attrs(p, op);
	check_symbol(p, callee);
	check_place(p);
	if (!s->poisoned)
		check_counts(p);
	if (op_traits((enum op_code)s->code) & TRAIT_REGION)
		body_open(p);
	return depth;
}

void
stmt_attrs(struct parser *p)
{
	struct stmt *s = p->stmt.pending ? &p->stmt : &p->region->stmt;

	if (s->code >= 0 && !attrs_resolve(p, &p->ctx->row[s->code]))
		s->poisoned = true;
	s->attrs_done = true;
	if (s == &p->stmt)
		return;
	s->poisoned = s->poisoned || p->stmt.poisoned;
	if (s->op)
		row_sort_attrs(p->m, s->op, p->attr.at, p->attr.n);
	stmt_reset(p);
}

void
stmt_body(struct parser *p)
{
	struct ir_block *body = p->block;

	region_close(p);
	if (p->stmt.poisoned || (body->last && body->last->code == OP_yield))
		return;
	STMT_FAIL(p, p->stmt.loc, "the body of %s must end in yield(...)",
		op_name((enum op_code)p->stmt.code));
}

static void
check_types(struct parser *p)
{
	int types = p->type.n, results = p->stmt.op ? p->stmt.op->nresults : p->result.n;

	if (types && types != results)
		STMT_FAIL(p, p->type.at[0].loc, "%d type%s for %d result%s", types,
			number_plural(types), results, number_plural(results));
}

/* @main: the results carry the written types until they are inferred. A template keeps the text. */
static void
set_written(struct parser *p, struct ir_op *op)
{
	const struct typed *type = p->type.at;

	for (int i = 0; i < p->type.n; i++) {
		op->result[i].type = type[i].type;
		if (p->template && i)
			type[i - 1].text->next = type[i].text;
	}
	if (p->template && p->type.n)
		op->written = type[0].text;
}

static bool
values_typed(const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++)
		if (!ir_operand_type(op, i))
			return false;
	return true;
}

/* Infers an op of @main. One that uses a value without a type fails silently: it was reported. */
static void
stmt_type(struct parser *p, struct ir_op *op)
{
	const struct ir_type *few[STMT_TYPES], **written = few;
	bool known =
		values_typed(op) && !(op->body && op->body->last && !values_typed(op->body->last));

	if (op->nresults > STMT_TYPES)
		written = ARENA_ARRAY(p->scratch, const struct ir_type *, op->nresults);
	for (int i = 0; i < op->nresults; i++) {
		written[i] = op->result[i].type;
		op->result[i].type = NULL;
	}
	if (known && ir_infer(p->m, op, op->nresults ? written : NULL))
		return;
	for (int i = 0; i < op->nresults; i++)
		op->result[i].type = NULL;
}

static void
type_block(struct parser *p, struct ir_op *first)
{
	for (struct ir_op *op = first; op; op = op->next) {
		if (op->body) {
			for (uint32_t i = 0; i < op->body->nargs; i++) {
				const struct ir_type *t = ir_operand_type(op, (int)i);
				op->body->arg[i].type =
					op->code == OP_while && t ? ir_type_meaning(p->ctx, t) : t;
			}
			type_block(p, op->body->first);
		}
		stmt_type(p, op);
	}
}

void
stmt_type_rest(struct parser *p)
{
	type_block(p, p->untyped);
}

/* A statement with an error is dropped; its names become poison, its fuse is removed. */
static void
stmt_drop(struct parser *p)
{
	poison_results(p);
	if (p->stmt.op)
		ir_op_unlink(p->stmt.op);
}

void
stmt_finish(struct parser *p, int depth)
{
	struct ir_op *op;

	if (p->nregions > depth) {
		const int64_t types = p->type.n;
		p->type.n = 0;
		region_close(p);
		p->type.n = types;
		STMT_FAIL(p, p->stmt.loc, "%s needs a body, { ... yield(...) }",
			op_name((enum op_code)p->stmt.code));
	}
	check_types(p);
	if (p->stmt.poisoned) {
		stmt_drop(p);
		stmt_reset(p);
		return;
	}
	op = p->stmt.op;
	if (!op) {
		op = make_op(p);
		ir_block_append(p->block, op);
		define_results(p, op);
	}
	set_written(p, op);
	if (!p->template && !p->deferred)
		stmt_type(p, op);
	stmt_reset(p);
}

/*
 * The grammar needs one more token to know that a statement has ended. If this token is wrong, and
 * begins a line, the error is not in the statement before it.
 */
static bool
stmt_is_whole(const struct parser *p, int depth)
{
	return p->nregions == depth && p->stmt.pending && (p->stmt.attrs_done || !p->attr.n) &&
	       lexer_at_line_start(p);
}

void
stmt_abandon(struct parser *p, int depth)
{
	if (stmt_is_whole(p, depth)) {
		stmt_finish(p, depth);
		return;
	}
	while (p->nregions > depth) {
		region_close(p);
		if (p->stmt.op)
			ir_op_unlink(p->stmt.op);
	}
}
