/*
 * Shares of the peaks that kernels reach on a kind of device, and messages on a link:
 *
 *     reach h100 {kernel = product, type = bf16, share = 0.72, half_k = 250}
 *     reach nvlink {share = 0.8, half = 1MB}
 *     reach h200 {like = "NVIDIA H100"}
 *     reach a100 {like = "NVIDIA H100", products = 1.1, attention = 2}
 *
 * A message of n bytes takes (n + half) / (share * bandwidth) and the latency, so the link becomes
 * one with less bandwidth and a longer latency, and only this file needs to know.
 */
#include "parser/cluster/build.h"

#include "ir/base/alloc.h"
#include "ir/base/suggest.h"

#include <string.h>
#include <talloc.h>

/* The attributes of an item. */
struct reach_attrs {
	struct named kernel, type;
	const char *like;
	struct reach_factors factor; /* with like */
	struct reach reach;
};

enum whose { ANY, PRODUCTS, MEMORY };

static const enum whose whose_is[] = {
#define REACH_FIELD(name, unit, value, fits, whose, meaning) whose,
#include "ir/cluster/reach.def"
#undef REACH_FIELD
};

static const struct attr_spec specs[] = {
#define REACH_FIELD(name, unit, value, fits, whose, meaning)                                       \
	{#name, TYPE_NUMBER, unit, FITS_##fits,                                                    \
		offsetof(struct reach_attrs, reach) + offsetof(struct reach, name), false},
#include "ir/cluster/reach.def"
#undef REACH_FIELD
	{"type", TYPE_WORD, "", FITS_FLAG, offsetof(struct reach_attrs, type), false},
	{"kernel", TYPE_WORD, "", FITS_FLAG, offsetof(struct reach_attrs, kernel), false},
	{"like", TYPE_TEXT, "", FITS_FLAG, offsetof(struct reach_attrs, like), false},
#define REACH_FACTOR(name, meaning)                                                                \
	{#name, TYPE_NUMBER, "", FITS_ABOVE_0,                                                     \
		offsetof(struct reach_attrs, factor) + offsetof(struct reach_factors, name),       \
		false},
#include "ir/cluster/reach.def"
#undef REACH_FACTOR
};

enum { NFIELDS = sizeof whose_is / sizeof *whose_is };

/* The number of a word that the attribute `key` has; -1 after an error. */
static int
number_of(struct builder *b, const char *key, struct named word, int (*find)(const char *name),
	const char *const *names, int n)
{
	const int number = find(word.name);

	if (number >= 0)
		return number;
	struct suggestion near = suggestion_for(word.name);
	for (int i = 0; i < n; i++)
		suggestion_add(&near, names[i]);
	char *text = suggestion_text(NULL, &near);
	PARSE_ERROR(b->p, word.loc, "unknown %s '%s'%s", key, word.name, text);
	talloc_free(text);
	return -1;
}

static int
kernel_of(struct builder *b, struct named word)
{
	static const char *const names[] = {
#define REACH_KERNEL(name, product, meaning) #name,
#include "ir/cluster/reach.def"
#undef REACH_KERNEL
	};

	return number_of(b, "kernel", word, reach_kernel_find, names, REACH_KERNELS);
}

static int
type_of(struct builder *b, struct named word)
{
	static const char *const names[] = {
#define REACH_TYPE(name) #name,
#include "ir/cluster/reach.def"
#undef REACH_TYPE
	};

	return word.name ? number_of(b, "type", word, reach_type_find, names, REACH_TYPES)
			 : REACH_OF_f32;
}

/* Do the fields of the item apply to such kernels? */
static bool
check_fields(struct builder *b, const struct cluster_item *item, enum reach_kernel kernel)
{
	const enum whose other = reach_is_product(kernel) ? MEMORY : PRODUCTS;

	for (const struct cluster_group *g = item->groups; g; g = g->next)
		for (int i = 0; i < g->n; i++)
			for (int f = 0; f < NFIELDS; f++) {
				if (whose_is[f] != other || strcmp(specs[f].key, g->attr[i].key))
					continue;
				PARSE_ERROR(b->p, g->key[i], "kernels of the kind %s have no '%s'",
					reach_kernel_name(kernel), specs[f].key);
				return false;
			}
	return true;
}

static const char *
source_of(const struct cluster_item *item)
{
	for (const struct cluster_group *g = item->groups; g; g = g->next)
		for (int i = 0; i < g->n; i++)
			if (!strcmp(g->attr[i].key, "source"))
				return g->attr[i].s;
	return NULL;
}

/* Is it the only item of that device? Then cluster_parse copies the values of `like`. */
static void
reach_like(struct builder *b, const struct cluster_item *item, const struct entry *e,
	const struct reach_attrs *a)
{
	if (!is_fine(b))
		return;
	struct device *d = (struct device *)b->c->kind[e->number];
	if (d->reached || d->reach_like) {
		PARSE_ERROR(b->p, item->word.loc, "what %s reaches is given twice", e->name);
		return;
	}
	d->reach_like = text_copy(d, a->like);
	d->reach_loc = item->word.loc;
	d->like = a->factor;
	d->reach_source = text_copy(d, source_of(item));
}

/* Factors apply to the shares of another device. */
static bool
check_factors(struct builder *b, const struct cluster_item *item, const struct reach_attrs *a)
{
#define REACH_FACTOR(name, meaning)                                                                \
	if (!a->like && a->factor.name != 1) {                                                     \
		PARSE_ERROR(b->p, item->word.loc, "'" #name "' needs 'like'");                     \
		return false;                                                                      \
	}
#include "ir/cluster/reach.def"
#undef REACH_FACTOR
	return true;
}

static void
reach_device(struct builder *b, const struct cluster_item *item, struct entry *e)
{
	struct reach_attrs a = {.reach = reach_default(), .factor = {1, 1, 1, 1}};

	if (!cluster_attrs(b->p, item, specs, sizeof specs / sizeof *specs, &a))
		return;
	if (!a.kernel.name == !a.like) {
		PARSE_ERROR(b->p, item->word.loc,
			"reach needs either 'kernel' or 'like', as in {like = \"NVIDIA H100\"}");
		return;
	}
	if (a.like) {
		reach_like(b, item, e, &a);
		return;
	}
	if (!check_factors(b, item, &a))
		return;
	const int kernel = kernel_of(b, a.kernel), type = type_of(b, a.type);
	if (kernel < 0 || type < 0 || !check_fields(b, item, (enum reach_kernel)kernel) ||
		!is_fine(b))
		return;
	struct device *d = (struct device *)b->c->kind[e->number];
	uint32_t *given = &e->reach[kernel];
	if (d->reach_like) {
		PARSE_ERROR(b->p, item->word.loc, "what %s reaches is given twice", e->name);
		return;
	}
	if (*given >> type & 1) {
		PARSE_ERROR(b->p, item->word.loc, "%s of %s are given twice for %s",
			reach_kernel_name((enum reach_kernel)kernel),
			reach_type_name((enum reach_type)type), e->name);
		return;
	}
	*given |= 1u << type;
	d->reach[kernel][type] = a.reach;
	if (!d->reached)
		d->reach_source = text_copy(d, source_of(item));
	d->reached = true;
}

static void
reach_link(struct builder *b, const struct cluster_item *item, const struct entry *e)
{
	static const struct attr_spec of_link[] = {
		{"share", TYPE_NUMBER, "", FITS_ABOVE_0, offsetof(struct reach, share), false},
		{"half", TYPE_NUMBER, "B", FITS_FROM_0, offsetof(struct reach, half), false},
	};
	struct reach r = reach_default();
	struct link_kind *link = &b->link.at[e->number];

	if (!cluster_attrs(b->p, item, of_link, sizeof of_link / sizeof *of_link, &r))
		return;
	if (link->connected || link->reached) {
		PARSE_ERROR(b->p, item->word.loc,
			link->reached ? "what %s reaches is given twice"
				      : "what %s reaches must be given before it is connected",
			e->name);
		return;
	}
	link->reached = true;
	link->bandwidth *= r.share;
	link->latency += r.half / link->bandwidth;
}

void
build_reach(struct builder *b, const struct cluster_item *item)
{
	struct entry *e = entry_find(b, item->ends->name.name);

	if (e && e->kind == ENTRY_DEVICE)
		reach_device(b, item, e);
	else if (e && e->kind == ENTRY_LINK)
		reach_link(b, item, e);
	else
		PARSE_ERROR(b->p, item->ends->loc,
			"'%s' is neither a kind of device nor of link that is declared above",
			item->ends->name.name);
}

/* Types without an item get the rates of the type that is computed in the same way. */
void
finish_reach(struct builder *b)
{
	static const enum reach_type like[REACH_TYPES] = {
		[REACH_OF_f16] = REACH_OF_bf16, [REACH_OF_bf16] = REACH_OF_f16};

	for (int i = 0; i < b->entry.n; i++) {
		const struct entry *e = &b->entry.at[i];
		if (e->kind != ENTRY_DEVICE)
			continue;
		struct device *d = (struct device *)b->c->kind[e->number];
		for (int k = 0; k < REACH_KERNELS; k++)
			for (int t = 0; t < REACH_TYPES; t++)
				if (!(e->reach[k] >> t & 1))
					d->reach[k][t] = d->reach[k][e->reach[k] >> like[t] & 1
									     ? like[t]
									     : REACH_OF_f32];
	}
}
