/*
 * The canonical text of a cluster: an item a line, attributes in the order in which they were
 * written, several groups of them on lines of their own, lines broken before 100 columns.
 */
#include "parser/cluster/tree.h"

#include "ir/base/alloc.h"
#include "ir/base/out.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	LINE_COLUMNS = 100,
	ITEM_INDENT = 2,  /* as in the text of modules */
	GROUP_INDENT = 2, /* for parts that do not fit on the line of their item */
};

struct writer {
	struct parser *p;
	char *text; /* so far; talloc */
	size_t column;
};

static void
put(struct writer *w, const char *s)
{
	const char *line = strrchr(s, '\n');

	w->text = text_append_end(w->text, "%s", s);
	w->column = line ? strlen(line + 1) : w->column + strlen(s);
}

static void
put_indent(struct writer *w, int n)
{
	char *s = TEXT(w->p, "\n%*s", n, "");

	put(w, s);
	talloc_free(s);
}

static char *text_of_list(struct parser *p, const struct ir_attr *a);

const char *
cluster_size_text(struct parser *p, struct ir_loc loc)
{
	const char *s = text_at(p, loc), *end = s + (loc.end - loc.begin);
	char *text = NEW_ARRAY(p, char, loc.end - loc.begin + 1), *to = text;

	for (; s < end; s++)
		if (s[0] == '/' && s[1] == '/')
			s += strcspn(s, "\r\n");
		else if (*s > ' ')
			*to++ = *s;
	*to = '\0';
	return text;
}

/* The value as it is written; a talloc child of the parser. */
static char *
text_of_value(struct parser *p, const struct ir_attr *a)
{
	char number[OUT_QUANTITY];
	char *buffer = NULL, *copy;
	size_t size;

	switch ((enum attr_kind)a->kind) {
	case ATTR_INT: return text_copy_n(p, number, number_of_int(number, a->i));
	case ATTR_FLOAT: return text_copy_n(p, number, number_of_float(number, a->f));
	case ATTR_QUANTITY:
		number_of_quantity(number, a->f, (enum ir_unit)a->n);
		return text_copy(p, number);
	case ATTR_LIST: return text_of_list(p, a);
	case ATTR_SIZE: return text_copy(p, cluster_size_text(p, a->loc));
	case ATTR_STRING: break;
	default: return text_copy(p, a->s);
	}
	struct out out = {.file = text_stream(&buffer, &size)};
	out_string(&out, a->s);
	out_flush(&out);
	fclose(out.file);
	copy = text_copy(p, buffer);
	free(buffer);
	return copy;
}

static char *
text_of_list(struct parser *p, const struct ir_attr *a)
{
	char *s = text_copy(p, "[");

	for (int i = 0; i < a->n; i++) {
		char *value = text_of_value(p, &a->list[i]);
		s = text_append_end(s, "%s%s", i ? ", " : "", value);
		talloc_free(value);
	}
	return text_append_end(s, "]");
}

/* A word on this line, or on the next one if it would be too long. */
static void
put_word(struct writer *w, const char *s, int indent)
{
	if (w->column + 1 + strlen(s) > LINE_COLUMNS)
		put_indent(w, indent);
	else
		put(w, " ");
	put(w, s);
}

static void
put_group(struct writer *w, const struct cluster_group *g, bool alone, int indent)
{
	if (!alone)
		put_indent(w, indent);
	for (int i = 0; i < g->n; i++) {
		char *value = text_of_value(w->p, &g->attr[i]);
		char *s = TEXT(value, "%s%s = %s%s", i ? "" : "{", g->attr[i].key, value,
			i + 1 < g->n ? "," : "}");
		if (i || alone)
			put_word(w, s, indent + (i ? 1 : 0));
		else
			put(w, s);
		talloc_free(value);
	}
}

static void
put_item(struct writer *w, const struct cluster_item *item, int indent)
{
	const char *word = item->word.name;

	put_indent(w, indent);
	put(w, word);
	if (item->value) {
		char *s = TEXT(w->p, " %s = %s", item->ends->name.name, item->value);
		put(w, s);
		talloc_free(s);
		return;
	}
	if (item->text) {
		char *value = text_of_value(w->p, item->text);
		put(w, " ");
		put(w, value);
		talloc_free(value);
	}
	for (const struct cluster_end *e = item->ends; e; e = e->next) {
		char *index = e->indexed ? text_of_list(w->p, &e->index) : text_copy(w->p, "");
		char *s = TEXT(index, "%s%s%s", e->name.name, index, e->next ? "," : "");
		put_word(w, s, indent + GROUP_INDENT);
		talloc_free(index);
	}
	int n = 0;
	for (const struct cluster_group *g = item->groups; g; g = g->next)
		n += g->n != 0;
	for (const struct cluster_group *g = item->groups; g; g = g->next)
		if (g->n)
			put_group(w, g, n == 1, indent + GROUP_INDENT);
	if (!item->body)
		return;
	put(w, " {");
	for (const struct cluster_item *i = item->body; i; i = i->next)
		put_item(w, i, indent + ITEM_INDENT);
	put_indent(w, indent);
	put(w, "}");
}

char *
cluster_tree_text(const void *owner, struct parser *p, const struct cluster_tree *tree)
{
	struct writer w = {.p = p, .text = text_copy(owner, "cluster @")};

	put(&w, tree->name.name);
	put(&w, " {");
	for (const struct cluster_item *i = tree->items; i; i = i->next)
		put_item(&w, i, ITEM_INDENT);
	put(&w, "\n}\n");
	return w.text;
}
