/*
 * From the tree of a cluster to its graph. Names refer to earlier declarations, in this scope or an
 * outer one; the parts of a node or a group are made once for each instance, and errors in them are
 * reported the first time.
 */
#include "parser/cluster/build.h"

#include "ir/base/alloc.h"
#include "ir/base/suggest.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

/* --- words --------------------------------------------------------------------------------- */

typedef void build_item(struct builder *b, const struct cluster_item *item);

static build_item build_device, build_link, build_switches, build_hosts, build_nodes, build_groups,
	build_source, build_let, build_devices;

enum shape {
	HAS_TEXT = 1, /* word "text" */
	HAS_BODY = 2, /* word ends { parts } */
	IS_KIND = 4,  /* outside nodes and groups, no count */
	OF_KIND = 8,  /* the same of a kind that is declared above */
};

static const struct word {
	const char *name;
	build_item *build;
	int shape;
} words[] = {
	{"source", build_source, HAS_TEXT},
	{"let", build_let, 0},
	{"device", build_device, IS_KIND},
	{"link", build_link, IS_KIND},
	{"reach", build_reach, OF_KIND},
	{"switch", build_switches, 0},
	{"host", build_hosts, 0},
	{"node", build_nodes, HAS_BODY},
	{"group", build_groups, HAS_BODY},
	{"connect", build_connect, 0},
};

static const struct word instances = {NULL, build_devices, 0};

enum { NWORDS = sizeof words / sizeof *words };

static const struct word *
word_find(const char *name)
{
	for (int i = 0; i < NWORDS; i++)
		if (!strcmp(words[i].name, name))
			return &words[i];
	return NULL;
}

bool
is_cluster_word(const char *name)
{
	return word_find(name) != NULL;
}

static void
unknown_word(struct builder *b, struct named word)
{
	struct suggestion near = suggestion_for(word.name);

	for (int i = 0; i < NWORDS; i++)
		suggestion_add(&near, words[i].name);
	for (int i = 0; i < b->entry.n; i++)
		if (b->entry.at[i].kind == ENTRY_DEVICE)
			suggestion_add(&near, b->entry.at[i].name);
	char *text = suggestion_text(NULL, &near);
	PARSE_ERROR(b->p, word.loc, "'%s' is neither a kind of device nor a keyword%s", word.name,
		text);
	talloc_free(text);
}

/* Has the item the form that its word requires? */
static bool
check_shape(struct builder *b, const struct cluster_item *item, const struct word *w)
{
	const char *name = item->word.name;
	struct ir_loc loc = item->word.loc;

	if (w->shape & HAS_TEXT && !item->text)
		PARSE_ERROR(b->p, loc, "expected a string after %s", name);
	else if (item->text && !(w->shape & HAS_TEXT))
		PARSE_ERROR(
			b->p, item->text->loc, "expected a name after %s, found a string", name);
	else if (w->shape & HAS_BODY && (!item->body || item->ends->next))
		PARSE_ERROR(b->p, loc, "expected a name and, in braces, its parts after %s", name);
	else if (item->body && !(w->shape & HAS_BODY))
		PARSE_ERROR(b->p, item->body->word.loc,
			"%s must have attributes in its braces, not parts", name);
	else if (w->shape & IS_KIND && b->depth)
		PARSE_ERROR(
			b->p, loc, "a kind of %s must be declared outside nodes and groups", name);
	else if (w->shape & IS_KIND && (item->ends->indexed || item->ends->next))
		PARSE_ERROR(b->p, item->ends->loc, "%s declares a kind, which cannot have a count",
			name);
	else if (w->shape & OF_KIND && b->depth)
		PARSE_ERROR(b->p, loc, "%s must be given outside nodes and groups", name);
	else if (w->shape & OF_KIND && (!item->ends || item->ends->indexed || item->ends->next))
		PARSE_ERROR(b->p, loc, "%s must name one kind, without a count", name);
	else
		return true;
	return false;
}

static void
build_items(struct builder *b, const struct cluster_item *items)
{
	for (const struct cluster_item *item = items; item && !b->full; item = item->next) {
		const char *name = item->word.name;
		const struct word *w = word_find(name);
		const struct entry *e = w ? NULL : entry_find(b, name);
		if (e && e->kind == ENTRY_DEVICE)
			w = &instances;
		if (!w)
			unknown_word(b, item->word);
		else if (check_shape(b, item, w))
			w->build(b, item);
	}
}

/* --- items ----------------------------------------------------------------------------------- */

static void
build_source(struct builder *b, const struct cluster_item *item)
{
	if (b->depth)
		return; /* of a node: for readers */
	if (b->c->source)
		PARSE_ERROR(b->p, item->word.loc, "'source' is given twice");
	b->c->source = arena_strndup(b->names, item->text->s, strlen(item->text->s));
}

/* Its value is in the module of the parser since it was read. */
static void
build_let(struct builder *b, const struct cluster_item *item)
{
	const char *before = b->c->lets;
	char *text = TEXT(b->p, "%s%s%s = %s", before ? before : "", before ? ", " : "",
		item->ends->name.name, item->value);

	if (b->depth || b->entry.n)
		PARSE_ERROR(b->p, item->word.loc, "let must come before kinds and parts");
	b->c->lets = arena_strndup(b->names, text, strlen(text));
	talloc_free(text);
}

static void
build_device(struct builder *b, const struct cluster_item *item)
{
	struct device *d = device_generic(b->p);
	struct entry *e = entry_define(b, item->ends->name, ENTRY_DEVICE);
	char *generic = d->name;

	if (!cluster_device_attrs(b->p, item, d) || !e)
		return;
	if (b->c->nkinds == CLUSTER_KINDS_MAX) {
		PARSE_ERROR(b->p, item->word.loc, "a cluster has at most %d kinds of devices",
			CLUSTER_KINDS_MAX);
		b->full = true;
		return;
	}
	d->name = text_copy(d, d->name == generic ? e->name : d->name);
	d->measured = text_copy(d, d->measured);
	talloc_free(generic);
	e->number = cluster_add_kind(b->c, d);
}

static void
build_link(struct builder *b, const struct cluster_item *item)
{
	static const struct attr_spec specs[] = {
		{"bandwidth", TYPE_NUMBER, "B/s", FITS_ABOVE_0,
			offsetof(struct link_kind, bandwidth), true},
		{"latency", TYPE_NUMBER, "s", FITS_FROM_0, offsetof(struct link_kind, latency),
			false},
		{"shared", TYPE_BOOL, "", FITS_FLAG, offsetof(struct link_kind, shared), false},
	};
	struct link_kind link = {.bandwidth = 1}; /* any location, if it is missing */
	struct entry *e = entry_define(b, item->ends->name, ENTRY_LINK);

	cluster_attrs(b->p, item, specs, sizeof specs / sizeof *specs, &link);
	if (!e)
		return;
	link.name = arena_strndup(b->names, e->name, strlen(e->name));
	e->number = (uint32_t)b->link.n;
	VEC_PUSH(b->p, &b->link, link);
}

struct switch_attrs {
	double latency, bandwidth, oversubscription;
};

static bool
switch_attrs(struct builder *b, const struct cluster_item *item, struct switch_attrs *a)
{
	static const struct attr_spec specs[] = {
		{"latency", TYPE_NUMBER, "s", FITS_FROM_0, offsetof(struct switch_attrs, latency),
			false},
		{"bandwidth", TYPE_NUMBER, "B/s", FITS_ABOVE_0,
			offsetof(struct switch_attrs, bandwidth), false},
		{"oversubscription", TYPE_NUMBER, "", FITS_FROM_1,
			offsetof(struct switch_attrs, oversubscription), false},
	};

	*a = (struct switch_attrs){0, INFINITY, 1};
	if (!cluster_attrs(b->p, item, specs, sizeof specs / sizeof *specs, a))
		return false;
	if (a->oversubscription == 1 || isinf(a->bandwidth))
		return true;
	PARSE_ERROR(b->p, item->word.loc,
		"a switch cannot have both a bandwidth and an "
		"oversubscription, which implies a bandwidth");
	return false;
}

static void
build_switches(struct builder *b, const struct cluster_item *item)
{
	struct switch_attrs a;
	bool ok = switch_attrs(b, item, &a);
	bool is_port = ok && a.oversubscription > 1;

	for (const struct cluster_end *end = item->ends; end; end = end->next) {
		struct entry *e = entry_define_parts(b, end);
		for (uint32_t i = 0; e && ok && i < e->n; i++) {
			double bandwidth = is_port ? 1 : a.bandwidth; /* known at the end */
			e->vertex[i] = cluster_add_switch(
				b->c, builder_name(b, end, i), a.latency, bandwidth);
			if (is_port)
				VEC_PUSH(b->p, &b->port,
					(struct port){e->vertex[i], b->c->nlinks - 1,
						a.oversubscription, 0});
		}
	}
}

static void
build_hosts(struct builder *b, const struct cluster_item *item)
{
	bool ok = cluster_attrs(b->p, item, NULL, 0, NULL);

	for (const struct cluster_end *end = item->ends; end; end = end->next) {
		struct entry *e = entry_define_parts(b, end);
		for (uint32_t i = 0; e && ok && i < e->n; i++) {
			e->vertex[i] = cluster_add_host(b->c, builder_name(b, end, i), b->node);
			VEC_PUSH(b->p, &b->host, end->loc);
		}
	}
}

static void
build_devices(struct builder *b, const struct cluster_item *item)
{
	uint32_t kind = entry_find(b, item->word.name)->number, used;
	/* An invalid kind has no number. */
	bool ok = cluster_attrs(b->p, item, NULL, 0, NULL) && is_fine(b);

	for (const struct cluster_end *end = item->ends; end; end = end->next) {
		struct entry *e = entry_define_parts(b, end);
		used = b->c->ndevices;
		if (!e || !builder_have_room(
				  b, &used, e->n, CLUSTER_DEVICES_MAX, "devices", end->loc))
			continue;
		for (uint32_t i = 0; ok && i < e->n; i++) {
			e->vertex[i] =
				cluster_add_device(b->c, builder_name(b, end, i), kind, b->node);
			VEC_PUSH(b->p, &b->device, end->loc);
		}
	}
}

/* The parts of a node or a group, once for each instance. */
static void
build_places(struct builder *b, const struct cluster_item *item, bool is_node)
{
	const struct cluster_end *end = item->ends;
	uint32_t n = builder_count(b, end), outer_node = b->node;
	const char *outer = b->path;
	unsigned errors = diag_errors(b->p->ctx->diag);

	bool ok = n && entry_define(b, end->name, ENTRY_PLACE) &&
		  builder_have_room(b, &b->nparts, n, CLUSTER_PARTS_MAX, "parts", end->loc);
	int nentries = b->entry.n;
	b->depth++;
	for (uint32_t i = 0; ok && i < n; i++) {
		b->path = TEXT(b->p, "%s.", builder_name(b, end, i));
		if (is_node)
			b->node = cluster_add_node(b->c);
		build_items(b, item->body);
		b->entry.n = nentries;
		talloc_free((char *)b->path);
		b->path = outer;
		ok = diag_errors(b->p->ctx->diag) == errors;
	}
	b->depth--;
	b->node = outer_node;
}

static void
build_nodes(struct builder *b, const struct cluster_item *item)
{
	if (b->node != CLUSTER_NO_NODE)
		PARSE_ERROR(b->p, item->word.loc, "a node cannot contain a node; use group");
	else
		build_places(b, item, true);
}

static void
build_groups(struct builder *b, const struct cluster_item *item)
{
	build_places(b, item, false);
}

/* --- the whole ------------------------------------------------------------------------------- */

/* Links are described: then those of a single device must not be. */
static void
check_lone_links(struct builder *b, const struct cluster_tree *tree)
{
	for (const struct cluster_item *item = tree->items; item; item = item->next)
		for (const struct cluster_group *g = item->groups; g; g = g->next)
			for (int i = 0; i < g->n; i++)
				if (!strncmp(g->attr[i].key, "link_", 5))
					PARSE_ERROR(b->p, g->key[i],
						"'%s' is only allowed where no links are described",
						g->attr[i].key);
}

static void
check_connected(struct builder *b)
{
	uint32_t from, to;

	if (cluster_connected(b->c, &from, &to))
		return;
	uint32_t n = b->c->ndevices;
	struct ir_loc loc = to < n ? b->device.at[to] : b->host.at[to - n];
	PARSE_ERROR(b->p, loc, "there is no path from %s to %s", cluster_end_name(b->c, from),
		cluster_end_name(b->c, to));
}

/* A device alone: any number of them. */
static struct cluster *
lone_device(struct builder *b, const struct cluster_tree *tree)
{
	if (b->c->nkinds != 1 || b->nparts) {
		PARSE_ERROR(b->p, tree->name.loc,
			"the cluster has no devices; declare a kind of device such as "
			"`device d {}` and devices of it such as `d g[8]`");
		return NULL;
	}
	struct device *d = (struct device *)b->c->kind[0];
	struct cluster *c = cluster_of_device(b->c, d);

	c->source = b->c->source;
	return c;
}

struct cluster *
cluster_build(const void *owner, struct parser *p, const struct cluster_tree *tree, unsigned errors)
{
	struct builder b = {.p = p, .path = "", .node = CLUSTER_NO_NODE, .errors = errors};
	const char *name = tree->name.name;

	b.c = cluster_create(p, name);
	b.names = arena_create(b.c);
	build_items(&b, tree->items);
	if (is_fine(&b))
		finish_reach(&b);
	if (is_fine(&b) && b.c->ndevices) {
		check_lone_links(&b, tree);
		finish_ports(&b);
		check_connected(&b);
	}
	struct cluster *c = b.c;
	if (is_fine(&b) && !c->ndevices)
		c = lone_device(&b, tree);
	if (!is_fine(&b))
		return NULL;
	c->name = arena_strndup(b.names, name, strlen(name));
	talloc_steal(c, b.names);
	return talloc_steal(owner, c);
}
