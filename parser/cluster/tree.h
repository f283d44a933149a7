/*
 * The text of a cluster as a tree, inside the parser:
 *
 *     text --lexer (dir.l), grammar (dir.y)--> tree (tree.c) --build.c--> cluster
 *                                              tree --print.c--> canonical text
 *
 * All of it is in the arena of the parse.
 */
#ifndef PARSER_CLUSTER_TREE_H
#define PARSER_CLUSTER_TREE_H

#include "parser/dir/parser.h"

/* `g[0,1]`; without index `g`. */
struct cluster_end {
	struct named name;
	struct ir_attr index; /* ATTR_LIST */
	bool indexed;
	struct ir_loc loc;
	struct cluster_end *next, *last; /* last: in the first of a list */
};

/* `{bandwidth = 450GB/s, source = "data sheet"}` */
struct cluster_group {
	struct ir_attr *attr; /* [n] */
	struct ir_loc *key;   /* [n] */
	int n;
	struct cluster_group *next, *last;
};

/* `word ends groups`, `word ends { body }`, `word "text"` or `let end = value`. */
struct cluster_item {
	struct named word;
	struct cluster_end *ends;
	const struct ir_attr *text;
	const char *value; /* of a let: as it is printed */
	struct cluster_group *groups;
	struct cluster_item *body;
	struct cluster_item *next, *last;
};

struct cluster_tree {
	struct named word, name;
	struct cluster_item *items; /* NULL where all of them were wrong */
};

/* tree.c: what the grammar calls. */
void tree_finish(
	struct parser *p, struct named word, struct named name, struct cluster_item *items);
struct cluster_item *tree_item(struct parser *p, struct named word, struct cluster_end *ends,
	struct cluster_group *groups, struct cluster_item *body);
struct cluster_item *tree_text(struct parser *p, struct named word, struct ir_attr text);
/* Adds the let to the module of the parser, in which sizes find it, with the value of -D. */
struct cluster_item *tree_let(struct parser *p, struct named word, struct named name,
	struct size_value size, struct ir_loc loc);
/* An item without the names that must follow its word: reports, and returns NULL. */
struct cluster_item *tree_bare(struct parser *p, struct named word);
/* Either may be NULL. */
struct cluster_item *tree_join(struct cluster_item *list, struct cluster_item *item);
/* After a syntax error: drops the item read so far. Returns NULL. */
struct cluster_item *tree_give_up(struct parser *p);
struct cluster_end *tree_end(
	struct parser *p, struct named name, const struct ir_attr *index, struct ir_loc loc);
/* The index is the last n items that were read. */
struct cluster_end *tree_indexed(struct parser *p, struct named name, int n, struct ir_loc loc);
struct cluster_end *tree_ends(struct cluster_end *list, struct cluster_end *end);
/* From the attributes that were read. */
struct cluster_group *tree_group(struct parser *p);
struct cluster_group *tree_groups(struct cluster_group *list, struct cluster_group *group);

/* print.c: the canonical text, owned by `owner`. */
/* A size as it was written, without blanks and comments; in the arena of the parse. */
const char *cluster_size_text(struct parser *p, struct ir_loc loc);
char *cluster_tree_text(const void *owner, struct parser *p, const struct cluster_tree *tree);

#endif
