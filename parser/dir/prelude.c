/* The prelude: templates that every module can call. Only those called enter the module. */
#include "parser/dir/parse.h"
#include "parser/dir/parser.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

extern const char dopt_prelude[];

bool
prelude_load(struct parser *p, const char *name)
{
	char *head = TEXT(NULL, "\nfunc @%s(", name);

	const char *start = strstr(dopt_prelude, head);
	talloc_free(head);
	if (!start)
		return false;
	size_t n = (size_t)(strstr(start, "\n}\n") + 3 - start);
	if (!p->prelude_base)
		p->prelude_base = diag_add_source(
			p->ctx->diag, "prelude.dir", dopt_prelude, strlen(dopt_prelude));
	p->in_prelude = true;
	parse_text(p, p, start, n, p->prelude_base + (uint32_t)(start - dopt_prelude));
	p->in_prelude = false;
	return true;
}

bool
parse_prelude_next(const void *owner, struct parse_prelude *f)
{
	static const char func[] = "\nfunc @";
	const char *found = strstr(f->at ? f->at : dopt_prelude, func);

	if (!found)
		return false;
	const char *head = found + 1, *name = found + strlen(func), *comment = head;
	f->at = head + strcspn(head, "\n");
	/* The lines before it, up to an empty one. */
	while (comment[-2] != '\n')
		for (comment--; comment[-1] != '\n';)
			comment--;
	f->name = text_copy_n(owner, name, strcspn(name, "("));
	f->comment = text_copy_n(owner, comment, (size_t)(head - comment));
	f->header = text_copy_n(owner, head, strcspn(head, "{") - 1);
	return true;
}
