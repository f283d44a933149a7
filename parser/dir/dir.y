/*
 * The grammar of .dir and .cluster texts. START_MODULE, START_CLUSTER and START_TYPE, which the
 * lexer delivers first, say what is parsed; a type is one token for the module's grammar and is
 * parsed by itself, so that repeated types are parsed once.
 */
%code requires {
#include "parser/cluster/tree.h"
#include "parser/dir/parser.h"
}

%code {
#include "parser/base/message.h"

#include <string.h>
#include <talloc.h>

int
dir_scan(DIR_STYPE *value, struct ir_loc *loc, struct parser *p, void *scanner);
int
dir_lex(DIR_STYPE *value, struct ir_loc *loc, struct parser *p);
static void
dir_error(const struct ir_loc *loc, struct parser *p, const char *message);

#define YYLLOC_DEFAULT(to, from, n) \
	do { \
		if (n) { \
			(to).begin = YYRHSLOC(from, 1).begin; \
			(to).end = YYRHSLOC(from, n).end; \
		} else { \
			(to).begin = (to).end = YYRHSLOC(from, 0).end; \
		} \
	} while (0)

/* A reported error inside a statement: the rest of it is skipped. */
#define GIVE_UP(ok) \
	do { \
		if (!(ok)) { \
			lexer_recover(p); \
			YYERROR; \
		} \
	} while (0)
#define WORD(s, where) ((struct named){(s), (where)})
}

%define api.pure full
%define api.prefix {dir_}
%define api.location.type {struct ir_loc}
%define parse.error custom
%define parse.lac full
%locations
%param {struct parser *p}

%union {
	const char *name; /* interned; of a type its text */
	struct size_value size;
	struct ir_attr attr;
	int count, depth;
	enum ir_rule_compare compare;
	struct cluster_end *end;
	struct cluster_group *group;
	struct cluster_item *item;
}

%token END 0 "the end"
%token START_MODULE START_CLUSTER START_TYPE START_RULES
%token SYNC
%token MODULE "'module'" LET "'let'" MESH "'mesh'" STEPS "'steps'" FUNC "'func'"
%token DIM "'dim('"
%token RULE "'rule'" WHERE "'where'" ARROW "'=>'" DOTS "'..'"
%token <compare> COMPARE "a comparison"
%token <name> NAME "a name" VALUE "a value" FUNCNAME "@name" TYPE "a type"
%token <size> INT "an integer"
%token <attr> FLOAT "a number" STRING "a string" QUANTITY "a quantity"
%type <size> size place
%type <attr> attr_value list
%type <count> items
%type <depth> head
%type <name> func_head
%type <end> end ends
%type <group> group groups
%type <item> fine_item item fine_items item_list

%left '+' '-'
%left '*' '/'
%precedence NEGATIVE

%destructor { stmt_abandon(p, $$); } <depth>
%destructor { func_abandon(p, WORD($$, @$)); } func_head

%%

start:
  START_MODULE declarations END	{ (void)yynerrs; }
| START_CLUSTER cluster END
| START_TYPE type END
| START_RULES rules END
;

declarations:
  %empty
| declarations declaration	{ lexer_done(p, @2); }
;

declaration:
  MODULE FUNCNAME		{ declare_module(p, WORD($2, @2)); }
| LET NAME '=' size		{ declare_let(p, WORD($2, @2), $4, @4); }
| axes
| axes '{' attrs '}'		{ declare_axes_attrs(p, @$); }
| func
| FUNC FUNCNAME error SYNC	{ func_abandon(p, WORD($2, @2)); yyerrok; }
| error SYNC			{ yyerrok; }
;

axes:
  axes_kind '[' axis_list ']'
;

axes_kind:
  MESH				{ declare_axes(p, false, @1); }
| STEPS				{ declare_axes(p, true, @1); }
;

axis_list:
  axis
| axis_list ',' axis
;

axis:
  NAME '=' size			{ declare_axis(p, WORD($1, @1), $3, @3); }
;

func:
  func_head func_open func_body '}'	{ (void)$1; func_end(p, @$); }
;

func_head:
  FUNC FUNCNAME '(' params ')'	{ func_begin(p, WORD($2, @2)); $$ = $2; }
;

func_open:
  '{'				{ lexer_done(p, @1); }
;

params:
  %empty
| names
;

names:
  VALUE				{ VEC_PUSH(p, &p->result, (struct named){$1, @1}); }
| names ',' VALUE		{ VEC_PUSH(p, &p->result, (struct named){$3, @3}); }
;

rules:
  %empty
| rules rule			{ lexer_done(p, @2); }
;

rule:
  rule_left ARROW rule_open func_body '}'	{ rule_end(p, @5); }
| error SYNC			{ rule_give_up(p); yyerrok; }
;

rule_left:
  rule_name '(' rule_params ')' conditions func_open func_body '}'	{ rule_side_end(p, @8); }
;

rule_name:
  rule_word
| rule_word '{' attrs '}'	{ rule_family(p, @$); }
;

rule_word:
  RULE FUNCNAME			{ rule_begin(p, WORD($2, @2), @1); }
;

rule_open:
  '{'				{ rule_right(p); lexer_done(p, @1); }
;

rule_params:
  %empty			{ rule_left(p); }
| rule_param_list		{ rule_left(p); }
;

rule_param_list:
  rule_param
| rule_param_list ',' rule_param
;

rule_param:
  VALUE ':' TYPE
	{ VEC_PUSH(p, &p->result, WORD($1, @1)); type_push(p, $3, @3); }
;

conditions:
  %empty
| WHERE condition_list
;

condition_list:
  condition
| condition_list ',' condition
;

condition:
  size COMPARE size		{ rule_condition(p, $1, @1, $2, $3, @3); }
| NAME				{ rule_assumption(p, WORD($1, @1)); }
;

func_body:
  %empty
| func_body stmt		{ lexer_done(p, @2); }
;

stmt:
  fine_stmt
| names '=' error SYNC		{ stmt_give_up(p); yyerrok; }
| error SYNC			{ stmt_give_up(p); yyerrok; }
;

fine_stmt:
  op
| names '=' op
;

op:
  head types			{ stmt_finish(p, $1); }
| head attr_block types		{ stmt_finish(p, $1); }
| head body types		{ stmt_finish(p, $1); }
| head attr_block body types	{ stmt_finish(p, $1); }
;

head:
  NAME '(' args ')'		{ $$ = stmt_head(p, WORD($1, @1), WORD(NULL, @1), @$); }
| NAME FUNCNAME '(' args ')'	{ $$ = stmt_head(p, WORD($1, @1), WORD($2, @2), @$); }
;

args:
  %empty
| string
| string ',' operands
| operands
;

string:
  STRING			{ p->stmt.symbol = $1.s; p->stmt.symbol_loc = @1; }
;

operands:
  operand
| operands ',' operand
;

operand:
  VALUE				{ stmt_operand(p, WORD($1, @1), WORD($1, @1)); }
| VALUE '=' VALUE		{ stmt_operand(p, WORD($1, @1), WORD($3, @3)); }
;

body:
  '{' statements '}'		{ stmt_body(p); lexer_done(p, @3); }
;

statements: /* the first one is not recovered from: it may still be an attribute */
  fine_stmt			{ lexer_done(p, @1); }
| statements stmt		{ lexer_done(p, @2); }
;

attr_block:
  '{' '}'
| '{' attrs '}'			{ stmt_attrs(p); }
;

attrs:
  attr
| attrs ',' attr
;

attr:
  NAME '=' attr_value		{ attr_push(p, WORD($1, @1), $3); }
;

attr_value:
  size				{ $$ = attr_of_size(p, $1, @1); }
| FLOAT
| '-' FLOAT			{ $$ = $2; $$.f = -$$.f; $$.loc = @$; }
| '-' QUANTITY			{ $$ = $2; $$.f = -$$.f; $$.loc = @$; }
| STRING
| QUANTITY
| size '*' QUANTITY		{ $$ = attr_of_product(p, $1, $3, @1, @$); }
| list
;

list:
  '[' ']'			{ $$ = attr_of_list(p, 0, @$); }
| '[' items ']'			{ $$ = attr_of_list(p, $2, @$); }
;

items:
  attr_value			{ VEC_PUSH(p, &p->item, $1); $$ = 1; }
| items ',' attr_value		{ VEC_PUSH(p, &p->item, $3); $$ = $1 + 1; }
;

types:
  %empty
| ':' type_list
;

type_list:
  TYPE				{ type_push(p, $1, @1); }
| type_list ',' TYPE		{ type_push(p, $3, @3); }
;

size:
  INT
| NAME				{ $$ = size_name(p, $1, @1); }
| DIM VALUE ',' size ')'	{ GIVE_UP(size_dim(p, WORD($2, @2), $4, @$, &$$)); }
| '(' size ')'			{ $$ = $2; }
| '-' size %prec NEGATIVE	{ GIVE_UP(size_negate(p, $2, @2, @$, &$$)); }
| size '+' size			{ GIVE_UP(size_join(p, SIZE_ADD, $1, @1, $3, @3, &$$)); }
| size '-' size			{ GIVE_UP(size_join(p, SIZE_SUB, $1, @1, $3, @3, &$$)); }
| size '*' size			{ GIVE_UP(size_join(p, SIZE_MUL, $1, @1, $3, @3, &$$)); }
| size '/' size			{ GIVE_UP(size_join(p, SIZE_DIV, $1, @1, $3, @3, &$$)); }
;

cluster: /* parser/cluster/build.c defines the words */
  NAME FUNCNAME func_open item_list '}'
	{ tree_finish(p, WORD($1, @1), WORD($2, @2), $4); }
;

item_list:
  item				{ $$ = $1; lexer_done(p, @1); }
| item_list item		{ $$ = tree_join($1, $2); lexer_done(p, @2); }
;

item:
  fine_item
| error SYNC			{ $$ = tree_give_up(p); yyerrok; }
;

fine_items: /* as in `statements` */
  fine_item			{ $$ = $1; lexer_done(p, @1); }
| fine_items item		{ $$ = tree_join($1, $2); lexer_done(p, @2); }
;

fine_item:
  NAME STRING			{ $$ = tree_text(p, WORD($1, @1), $2); }
| LET NAME '=' size		{ $$ = tree_let(p, WORD("let", @1), WORD($2, @2), $4, @4); }
| NAME ends			{ $$ = tree_item(p, WORD($1, @1), $2, NULL, NULL); }
| NAME ends groups		{ $$ = tree_item(p, WORD($1, @1), $2, $3, NULL); }
| NAME ends '{' fine_items '}'	{ $$ = tree_item(p, WORD($1, @1), $2, NULL, $4); }
| NAME groups			{ $$ = tree_bare(p, WORD($1, @1)); }
| NAME '{' fine_items '}'	{ $$ = tree_bare(p, WORD($1, @1)); }
;

ends:
  end
| ends ',' end			{ $$ = tree_ends($1, $3); }
;

end:
  NAME				{ $$ = tree_end(p, WORD($1, @1), NULL, @$); }
| NAME '[' items ']'		{ $$ = tree_indexed(p, WORD($1, @1), $3, @$); }
;

groups:
  group
| groups group			{ $$ = tree_groups($1, $2); }
;

group:
  '{' '}'			{ $$ = tree_group(p); }
| '{' attrs '}'			{ $$ = tree_group(p); }
;

type:
  NAME '[' dims ']' suffixes	{ GIVE_UP(type_finish(p, $1, @1, @$)); }
;

dims:
  %empty
| dim_list
| dots
| dots ',' dim_list
;

dots: /* in rules */
  DOTS				{ GIVE_UP(type_dots(p, @1)); }
;

dim_list:
  dim
| dim_list ',' dim
;

dim:
  size				{ VEC_PUSH(p, &p->dim, size_tree(p, $1, @1)); }
;

suffixes:
  %empty
| suffixes '+' NAME		{ type_suffix(p, WORD($3, @3), NULL); }
| suffixes FUNCNAME '=' place	{ type_suffix(p, WORD($2, @2), size_tree(p, $4, @4)); }
| suffixes FUNCNAME		{ GIVE_UP(type_memory(p, WORD($2, @2))); }
;

place:
  INT
| NAME				{ $$ = size_name(p, $1, @1); }
| '(' size ')'			{ $$ = $2; }
;

%%

enum { EXPECTED_TOKENS = 16 }; /* more than any state of the grammar waits for */

/* Arithmetic can follow nearly every number and name: listing it does not help. */
static bool
is_arithmetic(yysymbol_kind_t kind)
{
	const char *name = yysymbol_name(kind);

	return name[0] == '\'' && name[2] == '\'' && strchr("+-*/", name[1]);
}

static void
report(struct parser *p, struct ir_loc loc, const char *const *expected, int n)
{
	static const char *const cluster[] = {"'cluster'"};
	const struct lexer *lx = p->lex;
	char *found = message_token(NULL, &lx->scan, loc,
		lx->is_type ? "the end of the type" : "the end of the text");

	if (lx->is_cluster && !lx->scan.sync_from && n == 1 && !strcmp(expected[0], "a name"))
		expected = cluster; /* its first word is not a keyword, as modules may use it */
	if (p->func && lexer_at_line_start(p) && strcmp(found, "'func'") == 0)
		PARSE_ERROR(p, loc, "expected '}' to end @%s, found %s", p->func->name, found);
	else
		PARSE_ERROR(p, loc, "%s", message_expected(found, expected, n, found));
	talloc_free(found);
	lexer_recover(p);
}

static int
yyreport_syntax_error(const yypcontext_t *context, struct parser *p)
{
	yysymbol_kind_t kind[EXPECTED_TOKENS];
	const char *name[EXPECTED_TOKENS];
	int all = yypcontext_expected_tokens(context, kind, EXPECTED_TOKENS), n = 0;

	for (int i = 0; i < all; i++)
		if (!is_arithmetic(kind[i]))
			name[n++] = yysymbol_name(kind[i]);
	report(p, *yypcontext_location(context), name, n);
	return 0;
}

/* The only other error of bison: its stack is full. */
static void
dir_error(const struct ir_loc *loc, struct parser *p, const char *message)
{
	(void)message;
	PARSE_ERROR(p, *loc, "nested too deeply");
}
