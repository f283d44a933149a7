/* Reading MLIR text. */
#include "parser/stablehlo/mlir/parser.h"

#include "ir/base/alloc.h"
#include "ir/base/source.h"
#include "parser/stablehlo/mlir/mlir.tab.h"

#include <ctype.h>
#include <string.h>
#include <talloc.h>

/* The module of the text, or one around the ops of its top level. */
static struct mlir_op *
top_module(struct mlir_parser *p, struct mlir_block *top)
{
	const char *name = ir_name(p->ctx, "builtin.module");

	if (top->first && top->first == top->last && top->first->name == name)
		return top->first;
	struct mlir_op *op = ARENA_NEW(p->arena, struct mlir_op);
	*op = (struct mlir_op){.name = name,
		.loc = {p->lex.scan.base, p->lex.scan.base},
		.region = top,
		.nregions = 1};
	top->parent = op;
	p->file->nops++;
	return op;
}

static void
prepare(struct mlir_parser *p, const void *owner, struct ir_context *ctx)
{
	p->ctx = ctx;
	p->file = NEW(owner, struct mlir_file);
	p->arena = arena_create(p->file);
	p->file->arena = p->arena;
	p->file->ctx = ctx;
	p->scratch = arena_create(p);
	p->values = (struct symbols){.owner = p, .arena = p->scratch, .scope = 1, .last_scope = 1};
	p->bad_type = (struct mlir_type){.kind = MLIR_OTHER,
		.dtype = -1,
		.element = ir_name(ctx, "?"),
		.text = ir_name(ctx, "?")};
	p->poison = (struct mlir_value){.name = ir_name(ctx, "?"), .type = &p->bad_type};
	p->block = ARENA_NEW(p->arena, struct mlir_block);
	VEC_PUSH(p, &p->frame, (struct mlir_frame){.block = NULL});
	/* No stack may be a null pointer, as VEC_TOP adds to it. */
	VEC_ROOM(p, &p->operand, 1);
	VEC_ROOM(p, &p->item, 1);
	VEC_ROOM(p, &p->type, 1);
	VEC_ROOM(p, &p->result, 1);
	VEC_ROOM(p, &p->param, 1);
	VEC_ROOM(p, &p->region, 1);
	VEC_ROOM(p, &p->decoded, 1);
}

typedef uint32_t add_source(struct diag *d, const char *name, const char *text, size_t n);

static struct mlir_file *
read_source(const void *owner, struct ir_context *ctx, const char *name, const char *text, size_t n,
	add_source *add)
{
	unsigned errors = diag_errors(ctx->diag);

	if (n > MLIR_MAX_BYTES) {
		diag_error(ctx->diag, LOC_NONE, "%s has more than %d bytes", name, MLIR_MAX_BYTES);
		return NULL;
	}
	struct mlir_parser *p = NEW(NULL, struct mlir_parser);
	prepare(p, p, ctx);
	uint32_t base = add(ctx->diag, name, text, n);
	mlir_lexer_open(p, diag_source_text(ctx->diag, base), n, base);
	mlir_parse(p);
	mlir_locations_resolve(p);
	p->file->module = top_module(p, p->block);
	mlir_lexer_close(p);
	struct mlir_file *file = diag_errors(ctx->diag) == errors && !p->errors
					 ? talloc_steal(owner, p->file)
					 : NULL;
	talloc_free(p);
	return file;
}

struct mlir_file *
mlir_read(const void *owner, struct ir_context *ctx, const char *name, const char *text, size_t n)
{
	return read_source(owner, ctx, name, text, n, diag_add_source);
}

struct mlir_file *
mlir_read_lent(
	const void *owner, struct ir_context *ctx, const char *name, const char *text, size_t n)
{
	return read_source(owner, ctx, name, text, n, diag_lend_source);
}

/* --- is it MLIR? --- */

static bool
starts_with(const char *s, const char *end, const char *word)
{
	size_t n = strlen(word);

	return (size_t)(end - s) >= n && !memcmp(s, word, n);
}

static const char *
skip_blanks_and_comments(const char *s, const char *end)
{
	while (s < end) {
		if (isspace((unsigned char)*s)) {
			s++;
		} else if (starts_with(s, end, "//")) {
			s = memchr(s, '\n', (size_t)(end - s));
			if (!s)
				return end;
		} else {
			break;
		}
	}
	return s;
}

/* `module @m {` or `module attributes {`, but not `module @m` of .dir, which has no brace. */
static bool
is_module(const char *s, const char *end)
{
	s = skip_blanks_and_comments(s + strlen("module"), end);
	if (s < end && *s == '@') {
		bool quoted = false;
		for (s++;
			s < end && (quoted || isalnum((unsigned char)*s) || strchr("_$.-\":", *s));
			s++)
			quoted ^= *s == '"';
		s = skip_blanks_and_comments(s, end);
	}
	return s < end && (*s == '{' || starts_with(s, end, "attributes"));
}

bool
mlir_is_text(const char *text, size_t n)
{
	static const char *const words[] = {
		"builtin.module", "func.func", "sdy.mesh", "\"builtin.", "\"func.", "#", "!"};
	const char *end = text + n, *s = skip_blanks_and_comments(text, end);

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (starts_with(s, end, words[i]))
			return true;
	return starts_with(s, end, "module") && is_module(s, end);
}
