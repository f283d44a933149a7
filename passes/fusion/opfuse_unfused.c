/*
 * Ops that opfuse leaves alone because of their names, as programs have them that run an op at a
 * time: the loss of Megatron-LM, a softmax of sizes that its fused kernel does not support.
 *
 * A name stands for the values of all blocks that are called so, and for all in an instance of a
 * template: "core.scores" for %block3.core.scores, "entropy" for %entropy.e. Gradients are named
 * like their values, %d_block3.core.scores: "d_core.scores". Ops that passes insert have no names,
 * such as the conversions of amp: they go with a named op that they read or that reads them.
 */
#include "passes/fusion/opfuse.h"

#include "ir/base/alloc.h"

#include <ctype.h>
#include <string.h>
#include <talloc.h>

static bool
is_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool
is_gradient(const char *name)
{
	return strncmp(name, "d_", 2) == 0;
}

/* Is `part` in the name as whole words: after its start or a dot, before its end, a dot or the
 * number that makes names unique? */
static bool
has_part(const char *name, const char *part)
{
	if (is_gradient(name) != is_gradient(part))
		return false;
	const char *begin = is_gradient(name) ? name + 2 : name;
	const char *what = is_gradient(part) ? part + 2 : part;
	for (const char *at = begin; (at = strstr(at, what)); at++) {
		const char *rest = at + strlen(what);
		if (at != begin && at[-1] != '.')
			continue;
		if (*rest == '_' && isdigit((unsigned char)rest[1]))
			rest += 1 + strspn(rest + 1, "0123456789");
		if (!is_word(*rest))
			return true;
	}
	return false;
}

static bool
is_named(const struct ir_op *op, char *const *part)
{
	const char *name = op->nresults ? op->result[0].name : NULL;

	for (; name && *part; part++)
		if (has_part(name, *part))
			return true;
	return false;
}

/* Does an op without a name read a named op, or is it read by one? */
static bool
goes_along(const struct opfuse *u, const bool *named, uint32_t op)
{
	if (!u->op[op]->nresults || u->op[op]->result[0].name)
		return false;
	for (uint32_t j = 0; j < opfuse_noperands(u, op); j++) {
		const uint32_t maker = opfuse_maker(u, op, j);
		if (maker != OPFUSE_NONE && named[maker])
			return true;
	}
	for (uint32_t r = u->first[op]; r < u->first[op + 1]; r++)
		if (named[u->reader[r]])
			return true;
	return false;
}

static char **
parts_of(const void *owner, const char *names)
{
	char **part = ZERO_ARRAY(owner, char *, strlen(names) + 2);
	int n = 0;

	for (const char *at = names; *at; at += strspn(at, ", ")) {
		const size_t length = strcspn(at, ", ");
		if (length)
			part[n++] = TEXT(part, "%.*s", (int)length, at);
		at += length;
	}
	return part;
}

bool
opfuse_check_unfused(const struct pass_run *run, const struct ir_module *m)
{
	char **part = parts_of(run->scratch, pass_string(run, "unfused"));

	for (char **p = part; *p; p++) {
		char *const one[] = {*p, NULL};
		bool found = false;
		IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
			found |= is_named(op, one);
		if (!found) {
			diag_error(m->ctx->diag, pass_option_loc(run, "unfused"),
				"no value is named '%s'", *p);
			return false;
		}
	}
	return true;
}

void
opfuse_unfused(struct opfuse *u, const char *names)
{
	char **part = parts_of(u, names);
	bool *named = ARRAY_ZERO(part, bool, u->nops + 1u);
	unsigned count = 0;

	for (uint32_t i = 0; i < u->nops && *part; i++)
		named[i] = fuse_may(u->table, i) && is_named(u->op[i], part);
	for (uint32_t i = 0; i < u->nops && *part; i++)
		if (named[i] || goes_along(u, named, i)) {
			fuse_table_exclude(u->table, i);
			count++;
		}
	if (count && !u->silent)
		pass_count(u->run, "op(s) left unfused by name", count);
	talloc_free(part);
}
