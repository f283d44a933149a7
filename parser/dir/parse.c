/* A complete parse: the text, then the checks that need the whole text. */
#include "parser/dir/parser.h"

#include "ir/base/alloc.h"
#include "parser/dir/dir.tab.h"

#include "ir/base/source.h"
#include "ir/base/suggest.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

struct parser *
parser_create(const void *owner, struct ir_module *m, const struct parse_options *o)
{
	struct parser *p = NEW(owner, struct parser);

	p->ctx = m->ctx;
	p->m = m;
	p->o = o;
	p->scratch = arena_create(p);
	p->meanings = p->rule_named = (struct symbols){.owner = p, .arena = p->scratch};
	p->stmt.code = -1;
	p->defined = ZERO_ARRAY(p, bool, o ? (size_t)o->ndefines + 1 : 1);
	return p;
}

void
parse_text(struct parser *p, const void *owner, const char *text, size_t n, uint32_t base)
{
	struct lexer lx;

	lexer_open(p, &lx, owner, text, n, base, START_MODULE);
	dir_parse(p);
	lexer_close(p);
}

static void
check_defines(struct parser *p)
{
	for (int i = 0; p->o && i < p->o->ndefines; i++) {
		if (p->defined[i] || (p->o->used && p->o->used[i]))
			continue;
		struct suggestion near = suggestion_for(p->o->define[i].name);
		for (int j = 0; j < p->m->nlets; j++)
			suggestion_add(&near, p->m->let[j].name);
		char *text = suggestion_text(NULL, &near);
		PARSE_ERROR(p, LOC_NONE, "the module has no let '%s' to set to %" PRId64 "%s%s%s",
			p->o->define[i].name, p->o->define[i].value, text,
			p->o->lets ? "; the cluster has let " : "", p->o->lets ? p->o->lets : "");
		talloc_free(text);
	}
}

static void
check_devices(struct parser *p)
{
	const struct ir_attr *a = p->m->mesh_attr;

	if (a && a->n != ir_devices(p->m))
		PARSE_ERROR(p, a->loc, "%d devices are listed for a mesh of %" PRId64, a->n,
			ir_devices(p->m));
}

/* Every call has its function: of the module, else of the prelude. */
static bool
find_callees(struct parser *p)
{
	bool ok = true;

	for (int i = 0; i < p->call.n; i++) {
		const struct ir_op *call = p->call.at[i];
		if (ir_func_find(p->m, call->symbol) || prelude_load(p, call->symbol))
			continue;
		struct suggestion near = suggestion_for(call->symbol);
		for (const struct ir_func *f = p->m->func; f; f = f->next)
			if (ir_func_is_template(f))
				suggestion_add(&near, f->name);
		char *text = suggestion_text(NULL, &near);
		PARSE_ERROR(p, call->loc, "there is no function @%s%s", call->symbol, text);
		talloc_free(text);
		ok = false;
	}
	return ok;
}

static bool
inline_calls(struct ir_module *m)
{
	struct ir_func *f = ir_func_find(m, "main");
	unsigned inlined = 0;

	if (!ir_inline_calls(m, f, &inlined))
		return false;
	m->func = f;
	f->next = NULL;
	m->last_func = &f->next;
	return true;
}

/* Checks that need the whole text. */
static void
parse_end(struct parser *p, const char *file_name, struct ir_loc whole)
{
	const struct ir_func *f;

	check_defines(p);
	check_devices(p);
	if (!p->named)
		PARSE_ERROR(p, whole, "%s does not contain a module", file_name);
	bool found = find_callees(p);
	f = ir_func_find(p->m, "main");
	if (p->named && !f)
		PARSE_ERROR(p, whole, "the module has no function @main");
	if (found && p->untyped)
		stmt_type_rest(p);
}

struct ir_module *
parse_module(const void *owner, struct ir_context *ctx, const char *file_name, const char *text,
	size_t n, const struct parse_options *o)
{
	unsigned errors = diag_errors(ctx->diag);

	if (n > PARSE_MAX_BYTES) {
		diag_error(ctx->diag, LOC_NONE, "%s has more than %d bytes", file_name,
			PARSE_MAX_BYTES);
		return NULL;
	}
	struct ir_module *m = ir_module_create(NULL, ctx, "");
	struct parser *p = parser_create(m, m, o);
	uint32_t base = (o && o->text_stays ? diag_lend_source : diag_add_source)(
		ctx->diag, file_name, text, n);
	parse_text(p, NULL, diag_source_text(ctx->diag, base), n, base);
	parse_end(p, file_name, (struct ir_loc){base, base});
	talloc_free(p);
	bool ok = diag_errors(ctx->diag) == errors && ir_verify_structure(m);
	if (ok && o && o->inline_calls)
		ok = inline_calls(m);
	if (!ok) {
		talloc_free(m);
		return NULL;
	}
	m->op_ids_before = m->op_ids;
	return talloc_steal(owner, m);
}

struct ir_rules *
parse_rules(const void *owner, struct ir_context *ctx, const char *file_name, const char *text,
	size_t n)
{
	const unsigned errors = diag_errors(ctx->diag);
	struct lexer lx;

	if (n > PARSE_MAX_BYTES) {
		diag_error(ctx->diag, LOC_NONE, "%s has more than %d bytes", file_name,
			PARSE_MAX_BYTES);
		return NULL;
	}
	struct ir_rules *rules = NEW(NULL, struct ir_rules);
	rules->m = ir_module_create(rules, ctx, "rules");
	rules->last = &rules->first;
	struct parser *p = parser_create(rules, rules->m, NULL);
	p->rules = rules;
	const uint32_t base = diag_add_source(ctx->diag, file_name, text, n);
	lexer_open(p, &lx, NULL, diag_source_text(ctx->diag, base), n, base, START_RULES);
	dir_parse(p);
	lexer_close(p);
	if (find_callees(p) && !rules->n && diag_errors(ctx->diag) == errors)
		PARSE_ERROR(
			p, ((struct ir_loc){base, base}), "%s does not contain a rule", file_name);
	talloc_free(p);
	if (diag_errors(ctx->diag) == errors)
		return talloc_steal(owner, rules);
	talloc_free(rules);
	return NULL;
}

const struct ir_type *
parse_type_text(struct ir_module *m, const char *name, const char *text, size_t n)
{
	struct parser *p = parser_create(NULL, m, NULL);
	uint32_t base = diag_add_source(m->ctx->diag, name, text, n);
	const struct ir_size_scope scope = {.m = m};
	const struct ir_type *type = NULL;
	struct lexer lx;

	lexer_open(p, &lx, NULL, diag_source_text(m->ctx->diag, base), n, base, START_TYPE);
	if (!dir_parse(p))
		type = ir_type_resolve(&scope, p->written);
	lexer_close(p);
	talloc_free(p);
	return type;
}
