/* Rules: two templates over the same parameters, which have types: ir/rule.h. */
#include "parser/dir/parser.h"

#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/ops/row.h"

#include <string.h>
#include <talloc.h>

static struct ir_func *
side_create(struct parser *p, const struct ir_rule *r, int nparams)
{
	struct ir_func *f = ARENA_NEW(p->m->arena, struct ir_func);

	f->name = r->name;
	f->module = p->m;
	f->loc = r->loc;
	f->body.func = f;
	f->body.nargs = (uint32_t)nparams;
	f->body.arg = ir_block_args(p->m, &f->body, (uint32_t)nparams);
	return f;
}

/* The next statements are those of a side. */
static void
side_begin(struct parser *p, int side)
{
	struct ir_func *f = p->rule->side[side];
	const struct ir_block *left = &p->rule->side[RULE_LEFT]->body;

	p->func = f;
	p->block = &f->body;
	p->scope = p->m->value_ids;
	for (uint32_t i = 0; i < f->body.nargs; i++) {
		const struct named name = {
			side == RULE_LEFT ? p->result.at[i].name : left->arg[i].name,
			side == RULE_LEFT ? p->result.at[i].loc : p->rule->loc};
		f->body.arg[i].name = name.name;
		f->body.arg[i].id = p->m->value_ids++;
		if (side == RULE_LEFT || !symbol_is_here(p, name.name))
			p->func_bad = !symbol_define(p, name, &f->body.arg[i]) || p->func_bad;
	}
}

static void
side_close(struct parser *p)
{
	p->func = NULL;
	p->block = NULL;
	p->meanings.undo.n = 0;
}

void
rule_begin(struct parser *p, struct named name, struct ir_loc begin)
{
	struct ir_rule *r = ARENA_NEW(p->m->arena, struct ir_rule);

	r->name = name.name;
	r->loc = name.loc;
	p->rule = r;
	p->func_bad = false;
	p->template = true;
	p->family.begin = begin.begin;
}

/* --- families --------------------------------------------------------------------------------- */

/* The elementwise ops of so many operands; what a bitcast does to a number depends on its type. */
static struct ir_attr
ops_of(struct parser *p, int noperands)
{
	struct ir_attr *list = ARENA_ARRAY(p->scratch, struct ir_attr, OP_NCODES);
	int n = 0;

	for (int c = 0; c < OP_NCODES; c++)
		if (c != OP_bitcast && row_is_pointwise(&p->ctx->row[c]) &&
			p->ctx->row[c].noperands == noperands &&
			!(op_traits((enum op_code)c) & (TRAIT_KEYED | TRAIT_PARALLEL)))
			list[n++] = (struct ir_attr){
				.kind = ATTR_NAME, .s = ir_name(p->ctx, op_name((enum op_code)c))};
	return (struct ir_attr){.kind = ATTR_LIST, .n = (uint16_t)n, .list = list};
}

static void
add_letter(struct parser *p, const struct ir_attr *a)
{
	static const char *const set[] = {"unary", "binary"};
	struct ir_attr words = *a;
	bool of_ops = false, ok = true;

	for (int i = 0; i < 2 && a->kind == ATTR_NAME; i++)
		if (strcmp(a->s, set[i]) == 0) {
			words = ops_of(p, i + 1);
			of_ops = true;
		}
	for (int i = 0; i < words.n && words.kind == ATTR_LIST; i++)
		ok = ok && words.list[i].kind == ATTR_NAME;
	if (words.kind != ATTR_LIST || !words.n || !ok) {
		PARSE_ERROR(p, a->loc,
			"'%s' must be a list of names, or unary or binary for all elementwise ops of one or two operands",
			a->key);
		words = ops_of(p, 1); /* so that no error follows from this one */
		p->func_bad = true;
	}
	const struct family_letter letter = {
		.name = a->key, .word = words.list, .n = words.n, .of_ops = of_ops};
	VEC_PUSH(p, &p->family.letter, letter);
}

void
rule_family(struct parser *p, struct ir_loc head)
{
	struct family *f = &p->family;

	for (int i = 0; i < p->attr.n && !f->again; i++)
		add_letter(p, &p->attr.at[i]);
	stmt_reset(p);
	f->reading = true;
	for (int i = 0; i < f->letter.n; i++) {
		p->rule->any_op |= f->letter.at[i].of_ops;
		char *name = TEXT(
			NULL, "%s.%s", p->rule->name, f->letter.at[i].word[f->letter.at[i].at].s);
		p->rule->name = ir_name(p->ctx, name);
		talloc_free(name);
	}
	p->rule->loc = head;
}

const char *
rule_family_word(const struct parser *p, const char *word)
{
	const struct family *f = &p->family;

	for (int i = 0; i < f->letter.n && f->reading; i++)
		if (word == f->letter.at[i].name)
			return f->letter.at[i].word[f->letter.at[i].at].s;
	return word;
}

/* Does the text have the word here, and not a letter for it? */
static bool
is_written(const struct parser *p, struct ir_loc loc, const char *word)
{
	const size_t n = strlen(word);

	return loc.end - loc.begin == n && strncmp(text_at(p, loc), word, n) == 0;
}

void
rule_family_attrs(struct parser *p, struct named op)
{
	const struct family *f = &p->family;
	const struct family_letter *letter = NULL;
	const struct ir_row *row = &p->ctx->row[name_number(op.name)];

	for (int i = 0; i < f->letter.n && f->reading; i++)
		if (f->letter.at[i].of_ops && is_written(p, op.loc, f->letter.at[i].name))
			letter = &f->letter.at[i];
	for (int i = 0; letter && i < row->nattrs; i++) {
		const bool type = row->attr[i].type == ROW_DTYPE;
		char *name = type ? TEXT(NULL, "T0%d", (int)(letter - f->letter.at))
				  : TEXT(NULL, "%s_%s", letter->name, row->attr[i].key);
		attr_push(p, (struct named){ir_name(p->ctx, row->attr[i].key), op.loc},
			(struct ir_attr){
				.kind = ATTR_NAME, .loc = op.loc, .s = ir_name(p->ctx, name)});
		talloc_free(name);
	}
	if (letter && row->nattrs)
		stmt_attrs(p);
}

/* The next member is read, unless this was the last one, or one was wrong. */
static void
family_next(struct parser *p, bool ok)
{
	struct family *f = &p->family;
	int64_t i = f->letter.n - 1;

	f->reading = false;
	while (ok && i >= 0 && ++f->letter.at[i].at == f->letter.at[i].n)
		f->letter.at[i--].at = 0;
	f->again = ok && i >= 0;
	if (f->again)
		lexer_return(p, f->begin);
	else
		f->letter.n = 0;
}

void
rule_left(struct parser *p)
{
	struct ir_rule *r = p->rule;
	const int n = p->result.n;

	const struct ir_rule *before = symbol_of(&p->rule_named, r->name)->value;
	if (before) {
		PARSE_ERROR(p, r->loc, "@%s is already defined", r->name);
		diag_note(p->ctx->diag, before->loc, "here");
		p->func_bad = true;
	}
	r->param = ARENA_ARRAY(p->m->arena, const struct ir_type_text *, n);
	for (int i = 0; i < n; i++) {
		r->param[i] = p->type.at[i].text;
		p->func_bad = p->func_bad || !r->param[i];
		if (r->param[i] && (r->param[i]->nsuffixes || r->param[i]->memory == IR_HOST))
			PARSE_ERROR(p, p->type.at[i].loc,
				"a parameter of a rule has no layout; layouts follow from its ops");
	}
	for (int i = 0; i < 2; i++)
		r->side[i] = side_create(p, r, n);
	side_begin(p, RULE_LEFT);
	stmt_reset(p);
}

void
rule_right(struct parser *p)
{
	side_begin(p, RULE_RIGHT);
}

static bool
asks_for_dim(const struct ir_size *s)
{
	return s->kind == SIZE_DIM || (s->arg[0] && asks_for_dim(s->arg[0])) ||
	       (s->arg[1] && asks_for_dim(s->arg[1]));
}

void
rule_condition(struct parser *p, struct size_value x, struct ir_loc xloc,
	enum ir_rule_compare compare, struct size_value y, struct ir_loc yloc)
{
	const struct ir_rule_condition c = {
		compare, {size_tree(p, x, xloc), size_tree(p, y, yloc)}, loc_join(xloc, yloc)};

	for (int i = 0; i < 2; i++)
		if (asks_for_dim(c.arg[i]))
			PARSE_ERROR(p, i ? yloc : xloc,
				"a condition cannot contain dim(...): name the size in the type of the parameter"),
				p->func_bad = true;
	VEC_PUSH(p, &p->where, c);
}

void
rule_assumption(struct parser *p, struct named word)
{
	for (int i = 0; i < RULE_NASSUMES; i++)
		if (strcmp(word.name, ir_rule_assumption[i]) == 0) {
			p->rule->assumes |= 1u << i;
			return;
		}
	PARSE_ERROR(p, word.loc,
		"expected a comparison, or what is assumed of elements: finite, positive or nonzero");
	p->func_bad = true;
}

void
rule_side_end(struct parser *p, struct ir_loc brace)
{
	const struct ir_op *last = p->block->last;

	if (!p->func_bad && (!last || last->code != OP_return || !last->noperands)) {
		PARSE_ERROR(p, brace, "each side of @%s must end in return(...)", p->rule->name);
		p->func_bad = true;
	}
	side_close(p);
}

void
rule_end(struct parser *p, struct ir_loc brace)
{
	struct ir_rule *r = p->rule;

	rule_side_end(p, brace);
	if (!p->func_bad && ir_rule_return(r, RULE_LEFT)->noperands !=
				    ir_rule_return(r, RULE_RIGHT)->noperands) {
		const int n[2] = {ir_rule_return(r, RULE_LEFT)->noperands,
			ir_rule_return(r, RULE_RIGHT)->noperands};
		PARSE_ERROR(p, ir_rule_return(r, RULE_RIGHT)->loc,
			"the left side of @%s returns %d value%s, the right side %d", r->name, n[0],
			number_plural(n[0]), n[1]);
		p->func_bad = true;
	}
	if (!p->func_bad) {
		struct ir_rule_condition *where =
			ARENA_ARRAY(p->m->arena, struct ir_rule_condition, p->where.n);
		for (int i = 0; i < p->where.n; i++)
			where[i] = p->where.at[i];
		r->where = where;
		r->nwhere = (int)p->where.n;
		symbol_of(&p->rule_named, r->name)->value = r;
		*p->rules->last = r;
		p->rules->last = &r->next;
		p->rules->n++;
	}
	p->where.n = 0;
	p->rule = NULL;
	p->template = false;
	family_next(p, !p->func_bad);
}

void
rule_give_up(struct parser *p)
{
	stmt_reset(p);
	side_close(p);
	p->where.n = 0;
	p->rule = NULL;
	p->template = false;
	family_next(p, false);
}
