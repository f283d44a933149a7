/* Types of values: the text of each, which is one token, is read by the grammar once. */
#include "parser/dir/parser.h"

#include "parser/dir/dir.tab.h"

/* Parses the text of a type, which was one token so far. NULL after an error. */
static struct ir_type_text *
type_parse(struct parser *p, struct ir_loc loc)
{
	struct lexer inner;

	lexer_open(p, &inner, p, text_at(p, loc), loc.end - loc.begin, loc.begin, START_TYPE);
	type_begin(p);
	p->written = NULL;
	if (dir_parse(p))
		p->written = NULL;
	lexer_close(p);
	return p->written;
}

void
type_push(struct parser *p, const char *text, struct ir_loc loc)
{
	const struct ir_size_scope scope = {.m = p->m};
	void **known = symbol_meaning(p, text);
	struct typed t = {.loc = loc};

	if (!p->template)
		t.type = *known;
	if (!t.type)
		t.text = type_parse(p, loc);
	if (t.text && !p->template)
		*known = (void *)(uintptr_t)(t.type = ir_type_resolve(&scope, t.text));
	if (!t.type && !(t.text && p->template))
		p->stmt.poisoned = true;
	VEC_PUSH(p, &p->type, t);
}
