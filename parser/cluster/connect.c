/* Connections of a cluster: which vertices get links, and the effect on switches. */
#include "parser/cluster/build.h"

#include <inttypes.h>

/* The vertices of one side. */
struct side {
	const struct entry *entry;
	uint32_t *vertex;
	uint32_t n;
};

static bool
side_of(struct builder *b, const struct cluster_end *end, struct side *side)
{
	const struct entry *e = entry_find_kind(b, end->name, ENTRY_PARTS);
	bool ok = e != NULL;

	if (!e)
		return false;
	*side = (struct side){e, e->vertex, e->n};
	if (!end->indexed)
		return true;
	side->n = end->index.n;
	side->vertex = ARENA_ARRAY(b->p->scratch, uint32_t, side->n);
	for (uint32_t i = 0; i < side->n; i++) {
		const struct ir_attr *a = &end->index.list[i];
		if (a->kind == ATTR_INT && a->i >= 0 && a->i < e->n) {
			side->vertex[i] = e->vertex[a->i];
			continue;
		}
		PARSE_ERROR(b->p, a->loc, "'%s' has indices 0 to %" PRIu32, e->name, e->n - 1);
		ok = false;
	}
	return ok;
}

/* Messages that arrive through the link count for an over-subscribed switch. */
static void
count_port(struct builder *b, uint32_t vertex, double bandwidth)
{
	struct port *port = b->port.at;
	int low = 0, high = b->port.n;

	while (low < high) {
		int middle = low + (high - low) / 2;
		if (port[middle].vertex < vertex)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < b->port.n && port[low].vertex == vertex)
		port[low].inward += bandwidth;
}

/* The link of each direction. */
struct ways {
	uint32_t there, back;
};

static struct ways
add_links(struct builder *b, const struct link_kind *link, bool one)
{
	uint32_t there = cluster_add_link(b->c, link->name, link->bandwidth, link->latency);

	return (struct ways){there,
		one ? there : cluster_add_link(b->c, link->name, link->bandwidth, link->latency)};
}

struct connect_attrs {
	struct named link;
	bool each, common;
};

static void
connect_sides(struct builder *b, const struct cluster_item *item, const struct side *x,
	const struct side *y, const struct connect_attrs *a, const struct link_kind *link)
{
	bool same = x->entry == y->entry && x->vertex == y->vertex; /* each with each other */
	uint64_t n = a->each ? x->n : (uint64_t)x->n * (same ? x->n - 1 : 2 * y->n) / 2;
	struct ir_loc loc = loc_join(item->ends->loc, item->ends->next->loc);

	if (a->each && x->n != y->n) {
		PARSE_ERROR(b->p, loc,
			"each: the sides have different sizes, %" PRIu32 " and %" PRIu32, x->n,
			y->n);
		return;
	}
	if (!builder_have_room(b, &b->nways, 2 * n, CLUSTER_LINKS_MAX, "links", loc))
		return;
	struct ways w = {0};
	for (uint32_t i = 0; i < x->n; i++) {
		uint32_t first = a->each ? i : same ? i + 1 : 0;
		uint32_t end = a->each ? i + 1 : y->n;
		for (uint32_t j = first; j < end; j++) {
			if (x->vertex[i] == y->vertex[j]) {
				PARSE_ERROR(b->p, loc, "a part cannot be connected to itself");
				return;
			}
			if (!a->common || (i == 0 && j == first))
				w = add_links(b, link, link->shared || (a->common && same));
			cluster_add_way(b->c, x->vertex[i], y->vertex[j], w.there);
			cluster_add_way(b->c, y->vertex[j], x->vertex[i], w.back);
			/* a common link leads to each vertex once */
			if (!a->common || (j == first && (i == 0 || !same)))
				count_port(b, x->vertex[i], link->bandwidth);
			if (!a->common || a->each || i == 0)
				count_port(b, y->vertex[j], link->bandwidth);
		}
	}
}

void
build_connect(struct builder *b, const struct cluster_item *item)
{
	static const struct attr_spec specs[] = {
		{"link", TYPE_WORD, "", FITS_FLAG, offsetof(struct connect_attrs, link), true},
		{"each", TYPE_BOOL, "", FITS_FLAG, offsetof(struct connect_attrs, each), false},
		{"common", TYPE_BOOL, "", FITS_FLAG, offsetof(struct connect_attrs, common), false},
	};
	struct connect_attrs a = {0};
	struct side x, y;

	if (!item->ends->next || item->ends->next->next) {
		PARSE_ERROR(
			b->p, item->word.loc, "connect needs two sides, as in `connect g, root`");
		return;
	}
	bool ok = cluster_attrs(b->p, item, specs, sizeof specs / sizeof *specs, &a);
	const struct entry *e = a.link.name ? entry_find_kind(b, a.link, ENTRY_LINK) : NULL;
	ok = side_of(b, item->ends, &x) && ok;
	ok = side_of(b, item->ends->next, &y) && ok;
	if (e)
		b->link.at[e->number].connected = true;
	if (ok && e && is_fine(b))
		connect_sides(b, item, &x, &y, &a, &b->link.at[e->number]);
}

void
finish_ports(struct builder *b)
{
	for (int i = 0; i < b->port.n; i++) {
		const struct port *port = &b->port.at[i];
		if (port->inward > 0)
			b->c->link[port->link].bandwidth = port->inward / port->ratio;
	}
}
