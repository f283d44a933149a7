/*
 * The grammar of MLIR texts as far as StableHLO programs go: generic ops, and the pretty forms of
 * StableHLO, CHLO, func and sdy. A few ops have their own productions; every other pretty op is a
 * name, items and a signature, which pretty.c decodes.
 */
%code requires {
#include "parser/stablehlo/mlir/parser.h"
}

%code {
int
mlir_scan(MLIR_STYPE *value, struct ir_loc *loc, struct mlir_parser *p, void *scanner);
int
mlir_lex(MLIR_STYPE *value, struct ir_loc *loc, struct mlir_parser *p);
static void
mlir_yyerror(const struct ir_loc *loc, struct mlir_parser *p, const char *message);
#define mlir_error mlir_yyerror /* called by bison; our function has another signature */

#define YYLLOC_DEFAULT(to, from, n) \
	do { \
		if (n) { \
			(to).begin = YYRHSLOC(from, 1).begin; \
			(to).end = YYRHSLOC(from, n).end; \
		} else { \
			(to).begin = (to).end = YYRHSLOC(from, 0).end; \
		} \
	} while (0)

#define ATTR(...) mlir_attr_push(p, (struct mlir_attr){__VA_ARGS__})
#define COUNTS(...) ((struct mlir_counts){__VA_ARGS__})
#define SIG(...) ((struct mlir_sig){__VA_ARGS__})
}

%define api.pure full
%define api.prefix {mlir_}
%define api.location.type {struct ir_loc}
%define parse.error custom
%define lr.default-reduction consistent
%locations
%param {struct mlir_parser *p}

%union {
	struct mlir_symbol *symbol;
	struct mlir_named value;
	struct mlir_counts counts;
	struct mlir_sig sig;
	struct mlir_head head;
	struct mlir_number_token number;
	uint32_t count;
	bool boolean;
}

%token END 0 "the end"
%token SYNC
%token <value> VALUE "a value" VALUES "a group of values" RESULT "a result" /* first on a line, and `=` follows */
%token <symbol> NAME "a name" ATNAME "@name" STRING "a string" TYPE "a type" LOC "a location"
%token <symbol> HASH "#name" HASHOPEN "an attribute of a dialect" OPAQUE "an attribute"
%token CARET "a block" DENSE "dense<...>" ARRAY "array<...>"
%token <number> NUMBER "a number" PRIORITY "a priority"
%token <boolean> BOOLEAN "true or false"
%token ARROW "'->'"
%token <symbol> MODULE "'module'" FUNC "'func.func'" RETURN "'return'" WHILE "'stablehlo.while'"
%token <symbol> REDUCE "'stablehlo.reduce'" SCAN "'chlo.scan'" MESH "'sdy.mesh'" MANUAL "'sdy.manual_computation'"
%token <symbol> ATTRIBUTES "'attributes'" APPLIES "'applies'" ACROSS "'across'" REDUCER "'reducer'"
%token <symbol> INIT "'init'" INITS "'inits'" COND "'cond'" DO "'do'" X "'x'"

%type <symbol> key word loc_opt symbol_opt visibility
%type <count> results uses use_list regions region_list props attr_dict entries attributes_opt
%type <count> elements axes types type_list outputs params param_list block_params pairs while_args while_head
%type <count> func_outputs output_list reducer_args manual_attrs
%type <counts> items item
%type <sig> sig
%type <head> generic_head
%type <count> region_open module_head func_head

%destructor { mlir_region_abandon(p); } region_open

%%

start:
  top END			{ (void)yynerrs; }
;

top:
  %empty
| top stmt			{ mlir_lexer_done(p, @2); }
| top HASH '=' LOC		{ mlir_location_alias(p, $2, $4); mlir_lexer_done(p, @4); }
| top HASH '=' attr		{ mlir_attr_define(p, $2, @2); mlir_lexer_done(p, @4); }
| top TYPE '=' TYPE		{ $2->type = mlir_type_of(p, $4, @4); mlir_lexer_done(p, @4); }
;

/* --- regions: each has one block --- */

region:
  region_open ops '}'			{ (void)$1; mlir_region_close(p); }
| region_open block ops '}'		{ (void)$1; mlir_region_close(p); }
;

region_open:
  '{'				{ mlir_region_open(p, @1); mlir_lexer_done(p, @1); $$ = 0; }
;

block:
  CARET ':'
| CARET '(' block_params ')' ':'	{ mlir_region_block(p, $3, @1); mlir_lexer_done(p, @5); }
;

block_params:
  %empty			{ $$ = 0; }
| param_list
;

ops:
  body
| body terminator
;

body:
  %empty
| body stmt			{ mlir_lexer_done(p, @2); }
;

terminator:
  return loc_opt		{ mlir_op_finish(p, 0, $2); }
;

return:
  RETURN attr_dict
	{ mlir_return(p, $1, @1, COUNTS(0, $2), SIG(.arrow = true, .loc = @1)); }
| RETURN use_list attr_dict ':' type_list
	{ mlir_return(p, $1, @1, COUNTS($2, $3), SIG(.nin = $5, .arrow = true, .loc = @5)); }
;

/* --- ops --- */

stmt:
  form loc_opt			{ mlir_op_finish(p, 0, $2); }
| results '=' form loc_opt	{ mlir_op_finish(p, $1, $4); }
| results '=' error SYNC	{ mlir_op_give_up(p); yyerrok; }
| error SYNC			{ mlir_op_give_up(p); yyerrok; }
;

loc_opt:
  %empty			{ $$ = NULL; }
| LOC
;

results:
  VALUE				{ mlir_result_push(p, $1, @1); $$ = 1; }
| RESULT			{ mlir_result_push(p, $1, @1); $$ = 1; }
| VALUES			{ mlir_result_push(p, $1, @1); $$ = 1; }
| results ',' VALUE		{ mlir_result_push(p, $3, @3); $$ = $1 + 1; }
| results ',' VALUES		{ mlir_result_push(p, $3, @3); $$ = $1 + 1; }
;

form:
  generic
| pretty
| module
| func
| while
| reduce
| scan
| mesh
| manual
;

uses:
  %empty			{ $$ = 0; }
| use_list
;

use_list:
  VALUE				{ mlir_operand_push(p, $1, @1); $$ = 1; }
| use_list ',' VALUE		{ mlir_operand_push(p, $3, @3); $$ = $1 + 1; }
;

generic:
  generic_head regions attr_dict ':' sig
	{ mlir_generic(p, $1, @1, $2, $3, $5); }
;

generic_head:
  STRING '(' uses ')' props
	{ $$ = mlir_generic_head(p, $1, $3, $5); @$ = @1; }
;

props:
  %empty			{ $$ = 0; }
| '<' '{' '}' '>'		{ $$ = 0; }
| '<' '{' entries '}' '>'	{ $$ = $3; }
;

regions:
  %empty			{ $$ = 0; }
| '(' region_list ')'		{ $$ = $2; }
;

region_list:
  region			{ $$ = 1; }
| region_list ',' region	{ $$ = $1 + 1; }
;

sig:
  type_list			{ $$ = SIG(.nin = $1, .loc = @$); }
| type_list ARROW outputs	{ $$ = SIG(.nin = $1, .nout = $3, .arrow = true, .loc = @$); }
| '(' types ')' ARROW outputs	{ $$ = SIG(.nin = $2, .nout = $5, .arrow = true, .loc = @$); }
;

outputs:
  type				{ $$ = 1; }
| '(' types ')'			{ $$ = $2; }
;

types:
  %empty			{ $$ = 0; }
| type_list
;

type_list:
  type				{ $$ = 1; }
| type_list ',' type		{ $$ = $1 + 1; }
;

type:
  TYPE				{ mlir_push_type(p, mlir_type_of(p, $1, @1)); }
;

/* --- pretty forms --- */

pretty:
  NAME ':' sig			{ mlir_pretty(p, $1, @1, COUNTS(0, 0), $3); }
| NAME items ':' sig		{ mlir_pretty(p, $1, @1, $2, $4); }
| NAME items ':' sig '{' entries '}'
	{
		mlir_attr_group(p, MLIR_DICT, $6, NULL, @6);
		mlir_pretty(p, $1, @1, COUNTS($2.operands, $2.attrs + 1), $4);
	}
;

items:
  item
| items item			{ $$ = COUNTS($1.operands + $2.operands, $1.attrs + $2.attrs); }
| items ',' item		{ $$ = COUNTS($1.operands + $3.operands, $1.attrs + $3.attrs); }
;

item:
  VALUE				{ mlir_operand_push(p, $1, @1); $$ = COUNTS(1, 0); }
| plain				{ $$ = COUNTS(0, 1); }
| word				{ mlir_attr_word(p, $1, @1); $$ = COUNTS(0, 1); }
| word '=' value		{ mlir_attr_key(p, $1, @$); $$ = COUNTS(0, 1); }
| '(' ')'			{ $$ = COUNTS(0, 0); }
| '(' items ')'			{ $$ = $2; }
| '<' '{' entries '}' '>'	{ mlir_attr_group(p, MLIR_DICT, $3, NULL, @$); $$ = COUNTS(0, 1); }
;

value:
  plain
| type				{ mlir_attr_of_type(p, @1); }
| word				{ mlir_attr_word(p, $1, @1); }
| list X list			{ mlir_attr_group(p, MLIR_LIST, 2, "x", @$); }
| list X list ARROW list	{ mlir_attr_conv(p, @$); }
;

module:
  module_head region		{ mlir_module(p, @1, $1); }
;

module_head:
  MODULE symbol_opt attributes_opt	{ $$ = mlir_module_head(p, $2, @2, $3); @$ = @1; }
;

symbol_opt:
  %empty			{ $$ = NULL; }
| ATNAME
;

attributes_opt:
  %empty			{ $$ = 0; }
| ATTRIBUTES '{' '}'		{ $$ = 0; }
| ATTRIBUTES '{' entries '}'	{ $$ = $3; }
;

func:
  func_head			{ mlir_func(p, @1, $1, 0); }
| func_head region		{ mlir_func(p, @1, $1, 1); }
;

func_head:
  FUNC visibility ATNAME '(' params ')' func_outputs attributes_opt
	{
		const struct mlir_func_text f = {.visibility = $2,
			.visibility_loc = @2,
			.name = $3,
			.name_loc = @3,
			.params = $5,
			.outputs = $7,
			.attrs = $8};
		@$ = @1;
		$$ = mlir_func_head(p, &f);
	}
;

visibility:
  %empty			{ $$ = NULL; }
| word
;

params:
  %empty			{ $$ = 0; }
| param_list
;

param_list:
  param				{ $$ = 1; }
| param_list ',' param		{ $$ = $1 + 1; }
;

param:
  VALUE ':' type attr_dict loc_opt	{ mlir_param_push(p, $1.name, @1, $4, $5); }
| type attr_dict loc_opt		{ mlir_param_push(p, NULL, @1, $2, $3); }
;

func_outputs:
  %empty			{ $$ = 0; }
| ARROW type			{ mlir_attr_group(p, MLIR_DICT, 0, NULL, @2); $$ = 1; }
| ARROW '(' ')'			{ $$ = 0; }
| ARROW '(' output_list ')'	{ $$ = $3; }
;

output_list:
  output			{ $$ = 1; }
| output_list ',' output	{ $$ = $1 + 1; }
;

output:
  type attr_dict		{ mlir_attr_group(p, MLIR_DICT, $2, NULL, @$); }
;

while:
  while_head attributes_opt COND cond region DO do region	{ mlir_while(p, @1, $1, $2); }
;

while_head:
  WHILE '(' while_args ')' ':' type_list	{ $$ = mlir_while_head(p, $3, $6, @6); @$ = @1; }
| WHILE '(' ')'					{ $$ = 0; @$ = @1; }
;

cond: %empty			{ p->params = $<count>-2; } ;
do: %empty			{ p->params = $<count>-5; } ;

while_args:
  while_arg			{ $$ = 1; }
| while_args ',' while_arg	{ $$ = $1 + 1; }
;

while_arg:
  VALUE '=' VALUE		{ mlir_while_arg(p, $1, @1, $3, @3); }
| RESULT '=' VALUE		{ mlir_while_arg(p, $1, @1, $3, @3); }
;

reduce:
  REDUCE pairs APPLIES NAME ACROSS dimensions attr_dict ':' sig
	{ mlir_reduce_applies(p, @1, $2, $4, @4, $7, $9); }
| REDUCE pairs ACROSS dimensions attr_dict ':' sig REDUCER reducer_args reducer region
	{ mlir_reduce(p, @1, $2, $5, $7); }
;

reducer: %empty			{ mlir_reducer(p, $<count>0); } ;

pairs:
  pair				{ $$ = 1; }
| pairs ',' pair		{ $$ = $1 + 1; }
;

pair:
  '(' VALUE INIT ':' VALUE ')'
	{ mlir_operand_push(p, $2, @2); mlir_operand_push(p, $5, @5); }
;

dimensions:
  key '=' list			{ mlir_attr_key(p, $1, @$); }
;

reducer_args:
  reducer_arg			{ $$ = 1; }
| reducer_args reducer_arg	{ $$ = $1 + 1; }
;

reducer_arg:
  '(' param ',' param ')'
;

scan:
  SCAN '(' uses ')' INITS '(' uses ')' dimension attributes_opt region ':' sig
	{ mlir_scan_op(p, @1, $3, $7, $10, $13); }
;

dimension:
  key '=' NUMBER		{ mlir_attr_number(p, $3, @3); mlir_attr_key(p, $1, @$); }
;

mesh:
  mesh_head attr_dict		{ mlir_mesh_op(p, @1, $2); }
;

mesh_head:
  MESH ATNAME '=' '<' inside '>'	{ mlir_mesh(p, $2, @2); @$ = @1; }
;

manual:
  MANUAL '(' uses ')' manual_attrs '(' params ')' manual_body region ':' sig
	{ mlir_manual(p, @1, $3, $5, $12); }
;

manual_body: %empty		{ p->params = $<count>-1; } ;

manual_attrs:
  word '=' attr			{ mlir_attr_key(p, $1, @$); $$ = 1; }
| manual_attrs word '=' attr	{ mlir_attr_key(p, $2, @$); $$ = $1 + 1; }
;

/* --- attributes --- */

attr_dict:
  %empty			{ $$ = 0; }
| '{' '}'			{ $$ = 0; }
| '{' entries '}'		{ $$ = $2; }
;

entries:
  entry				{ $$ = 1; }
| entries ',' entry		{ $$ = $1 + 1; }
;

entry:
  key				{ ATTR(.kind = MLIR_UNIT, .loc = @1); mlir_attr_key(p, $1, @1); }
| key '=' attr			{ mlir_attr_key(p, $1, @$); }
| STRING '=' attr		{ mlir_attr_key(p, $1, @$); }
| TYPE '=' attr			{ mlir_attr_key(p, $1, @$); /* index = 0 */ }
;

key:
  word
| X
;

word:
  NAME | MODULE | FUNC | RETURN | WHILE | REDUCE | SCAN | MESH | MANUAL | ATTRIBUTES | APPLIES | ACROSS | REDUCER
| INIT | INITS | COND | DO
;

attr:
  value
| scalar ':' type		{ mlir_attr_typed(p, @1, @3); }
| NUMBER ':' type		{ mlir_attr_number(p, $1, @1); mlir_attr_typed(p, @1, @3); }
| function
;

function:
  '(' types ')' ARROW outputs	{ mlir_attr_function(p, $2, $5, @$); }
;

plain:
  NUMBER			{ mlir_attr_number(p, $1, @1); }
| scalar
;

scalar:
  BOOLEAN			{ ATTR(.kind = MLIR_BOOL, .i = $1, .loc = @1); }
| STRING			{ mlir_attr_symbol(p, MLIR_STRING, $1, @1); }
| ATNAME			{ mlir_attr_symbol(p, MLIR_SYMBOL, $1, @1); }
| OPAQUE			{ mlir_attr_symbol(p, MLIR_OPAQUE, $1, @1); }
| HASH				{ mlir_attr_alias(p, $1, @1); }
| DENSE				{ mlir_attr_dense(p, @1); }
| ARRAY				{ mlir_array_push(p, @1); }
| '?'				{ ATTR(.kind = MLIR_WORD, .s = "?", .loc = @1); }
| list
| set
| HASHOPEN inside '>'		{ mlir_attr_dialect(p, $1, @$); }
| '<' inside '>'
;

list:
  '[' ']'			{ mlir_attr_group(p, MLIR_LIST, 0, NULL, @$); }
| '[' elements ']'		{ mlir_attr_group(p, MLIR_LIST, $2, NULL, @$); }
;

elements:
  element			{ $$ = 1; }
| elements ',' element		{ $$ = $1 + 1; }
;

element:
  attr
| STRING '=' NUMBER		{ mlir_axis_size(p, $1, @1, $3, @$); }
| range				{ mlir_attr_range(p, 2, @$); }
| range ':' NUMBER		{ mlir_attr_number(p, $3, @3); mlir_attr_range(p, 3, @$); }
;

range:
  NUMBER ':' NUMBER		{ mlir_attr_number(p, $1, @1); mlir_attr_number(p, $3, @3); }
;

set:
  '{' '}'			{ mlir_attr_group(p, MLIR_DICT, 0, NULL, @$); }
| '{' entries '}'		{ mlir_attr_group(p, MLIR_DICT, $2, NULL, @$); }
| '{' axes '}'			{ mlir_attr_group(p, MLIR_LIST, $2, "{}", @$); }
| '{' PRIORITY			{ mlir_attr_number(p, $2, @2); mlir_attr_group(p, MLIR_LIST, 1, "{}", @$); }
| '{' axes PRIORITY		{ mlir_attr_number(p, $3, @3); mlir_attr_group(p, MLIR_LIST, $2 + 1, "{}", @$); }
;

axes:
  axis				{ $$ = 1; }
| axes ',' axis			{ $$ = $1 + 1; }
;

axis:
  STRING			{ mlir_attr_symbol(p, MLIR_STRING, $1, @1); }
| STRING ':' '(' NUMBER ')' NUMBER	{ mlir_axis_part(p, $1, @1, $4, $6, @$); }
| '?'				{ ATTR(.kind = MLIR_WORD, .s = "?", .loc = @1); }
;

inside:
  %empty			{ mlir_attr_group(p, MLIR_DICT, 0, NULL, @$); }
| entries			{ mlir_attr_entries(p, $1, @$); }
| NAME entries			{ mlir_attr_named(p, $1, $2, @$); }
| NAME '{' axes '}'		{ mlir_attr_group(p, MLIR_LIST, $3, NULL, @$); }
| axes				{ mlir_attr_group(p, MLIR_LIST, $1, NULL, @$); }
| list
| list X list ARROW list	{ mlir_attr_conv(p, @$); }
| list ',' entries		{ mlir_mesh_attr(p, $3, @$); }
| ATNAME			{ mlir_attr_symbol(p, MLIR_SYMBOL, $1, @1); }
| mesh_name ',' list		{ mlir_sharding(p, 0, @$); }
| mesh_name ',' list ',' entries	{ mlir_sharding(p, $5, @$); }
;

mesh_name:
  ATNAME			{ mlir_attr_symbol(p, MLIR_SYMBOL, $1, @1); }
;

%%

enum { EXPECTED_TOKENS = 64 }; /* more than any state of the grammar waits for */

static int
yyreport_syntax_error(const yypcontext_t *context, struct mlir_parser *p)
{
	yysymbol_kind_t kind[EXPECTED_TOKENS];
	const char *name[EXPECTED_TOKENS];
	int n = yypcontext_expected_tokens(context, kind, EXPECTED_TOKENS);

	for (int i = 0; i < n; i++)
		name[i] = yysymbol_name(kind[i]);
	mlir_message_syntax(p, *yypcontext_location(context), name, n);
	return 0;
}

/* The only other error of bison: its stack is full. */
#undef mlir_error
static void
mlir_yyerror(const struct ir_loc *loc, struct mlir_parser *p, const char *message)
{
	(void)message;
	mlir_error(p, *loc, "nested too deeply");
}
