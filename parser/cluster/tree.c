/* Clusters as trees, which the grammar builds. */
#include "parser/cluster/tree.h"

#include "ir/base/out.h"

#include <string.h>

/* Appends an element to a list whose first element points to the last one. */
#define JOIN(list, element)                                                                        \
	do {                                                                                       \
		if (!(list))                                                                       \
			return (element);                                                          \
		if (element) {                                                                     \
			(list)->last->next = (element);                                            \
			(list)->last = (element);                                                  \
		}                                                                                  \
		return (list);                                                                     \
	} while (0)

void
tree_finish(struct parser *p, struct named word, struct named name, struct cluster_item *items)
{
	struct cluster_tree *tree = ARENA_NEW(p->scratch, struct cluster_tree);

	*tree = (struct cluster_tree){word, name, items};
	p->tree = tree;
}

/* Is the word the first on its line, or the first after a brace? */
static bool
begins_item(const struct parser *p, struct named word)
{
	const char *s = text_at(p, word.loc);

	while (s > p->lex->scan.text && (s[-1] == ' ' || s[-1] == '\t'))
		s--;
	return s == p->lex->scan.text || strchr("\r\n{", s[-1]);
}

static bool
check_beginning(struct parser *p, struct named word)
{
	if (begins_item(p, word))
		return true;
	PARSE_ERROR(p, word.loc, "expected a line break, ',' or '{' before '%s'", word.name);
	p->tree_lacks = true;
	return false;
}

struct cluster_item *
tree_bare(struct parser *p, struct named word)
{
	if (check_beginning(p, word))
		PARSE_ERROR(p, word.loc, "a name must follow '%s'", word.name);
	return tree_give_up(p);
}

struct cluster_item *
tree_item(struct parser *p, struct named word, struct cluster_end *ends,
	struct cluster_group *groups, struct cluster_item *body)
{
	struct cluster_item *item = ARENA_NEW(p->scratch, struct cluster_item);

	check_beginning(p, word);
	*item = (struct cluster_item){
		.word = word, .ends = ends, .groups = groups, .body = body, .last = item};
	return item;
}

struct cluster_item *
tree_text(struct parser *p, struct named word, struct ir_attr text)
{
	struct cluster_item *item = tree_item(p, word, NULL, NULL, NULL);
	struct ir_attr *copy = ARENA_NEW(p->scratch, struct ir_attr);

	*copy = text;
	item->text = copy;
	return item;
}

struct cluster_item *
tree_let(struct parser *p, struct named word, struct named name, struct size_value size,
	struct ir_loc loc)
{
	struct cluster_item *item =
		tree_item(p, word, tree_end(p, name, NULL, name.loc), NULL, NULL);

	p->named = true; /* a cluster has its name by now */
	declare_let(p, name, size, loc);
	item->value = cluster_size_text(p, loc);
	for (int i = 0; p->o && i < p->o->ndefines; i++) {
		char number[OUT_QUANTITY];
		if (strcmp(p->o->define[i].name, name.name))
			continue;
		item->value = arena_strndup(
			p->scratch, number, (size_t)number_of_int(number, p->o->define[i].value));
	}
	return item;
}

struct cluster_item *
tree_join(struct cluster_item *list, struct cluster_item *item)
{
	JOIN(list, item);
}

struct cluster_item *
tree_give_up(struct parser *p)
{
	p->attr.n = p->key.n = p->item.n = 0;
	p->tree_lacks = true;
	return NULL;
}

struct cluster_end *
tree_end(struct parser *p, struct named name, const struct ir_attr *index, struct ir_loc loc)
{
	struct cluster_end *end = ARENA_NEW(p->scratch, struct cluster_end);

	*end = (struct cluster_end){.name = name, .loc = loc, .last = end};
	if (index) {
		end->index = *index;
		end->indexed = true;
	}
	return end;
}

struct cluster_end *
tree_indexed(struct parser *p, struct named name, int n, struct ir_loc loc)
{
	struct ir_attr index = attr_of_list(p, n, loc);

	return tree_end(p, name, &index, loc);
}

struct cluster_end *
tree_ends(struct cluster_end *list, struct cluster_end *end)
{
	JOIN(list, end);
}

struct cluster_group *
tree_group(struct parser *p)
{
	struct cluster_group *g = ARENA_NEW(p->scratch, struct cluster_group);
	size_t n = (size_t)p->attr.n;

	*g = (struct cluster_group){.n = p->attr.n, .last = g};
	g->attr = ARENA_ARRAY(p->scratch, struct ir_attr, n);
	g->key = ARENA_ARRAY(p->scratch, struct ir_loc, n);
	if (n) {
		memcpy(g->attr, p->attr.at, n * sizeof *g->attr);
		memcpy(g->key, p->key.at, n * sizeof *g->key);
	}
	p->attr.n = p->key.n = 0;
	return g;
}

struct cluster_group *
tree_groups(struct cluster_group *list, struct cluster_group *group)
{
	JOIN(list, group);
}
