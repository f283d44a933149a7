/* The attributes of a cluster's items: names, units and bounds. */
#include "parser/cluster/build.h"

#include "ir/base/suggest.h"
#include "ir/base/unit.h"

#include <string.h>
#include <talloc.h>

/* Bounds that keep times finite, far beyond any machine. */
static const struct {
	double least, most; /* above 0 */
} bounds[] = {
	[UNIT_BYTES] = {1, 1e21},    /* a zettabyte: the world stores about a hundred of them */
	[UNIT_SECONDS] = {0, 3600},  /* an hour */
	[UNIT_RATE] = {1, 1e21},     /* a byte a second */
	[UNIT_FLOPS] = {1, 1e24},    /* a million times the fastest computer */
	[UNIT_FLOPS + 1] = {0, 1e6}, /* plain numbers */
};

static const struct attr_spec device_specs[] = {
#define DEVICE(name, unit, value, fits, why)                                                       \
	{#name, TYPE_NUMBER, unit, FITS_##fits, offsetof(struct device, name), false},
#include "ir/cluster/device.def"
#undef DEVICE
	{"name", TYPE_TEXT, "", FITS_FLAG, offsetof(struct device, name), false},
	{"measured", TYPE_TEXT, "", FITS_FLAG, offsetof(struct device, measured), false},
};

/* The text of a value. */
#define FOUND(p, a) (int)((a)->loc.end - (a)->loc.begin), text_at((p), (a)->loc)

static bool
misfit(struct parser *p, const struct attr_spec *s, const struct ir_attr *a, const char *want)
{
	PARSE_ERROR(p, a->loc, "%s must be %s, not %.*s", s->key, want, FOUND(p, a));
	return false;
}

/* An example for the unit of that kind. */
static const char *
example_of(enum ir_unit_kind kind)
{
	static const char *const example[] = {
		[UNIT_BYTES] = "a size in bytes such as 80GB",
		[UNIT_SECONDS] = "a time such as 5us",
		[UNIT_RATE] = "a rate in bytes per second such as 450GB/s",
		[UNIT_FLOPS] = "a rate in FLOP/s such as 15TFLOP/s",
	};

	return example[kind];
}

static bool
fits(struct parser *p, const struct attr_spec *s, const struct ir_attr *a, double v)
{
	int unit = ir_unit_find(s->unit, strlen(s->unit));
	size_t kind = unit < 0 ? UNIT_FLOPS + 1 : (size_t)ir_unit_kind((enum ir_unit)unit);

	if (s->fits == FITS_FLAG && v != 0 && v != 1)
		return misfit(p, s, a, "0 or 1");
	if (s->fits == FITS_ABOVE_0 && !(v > 0))
		return misfit(p, s, a, "above 0");
	if (s->fits == FITS_FROM_0 && !(v >= 0))
		return misfit(p, s, a, "at least 0");
	if (s->fits == FITS_FROM_1 && !(v >= 1))
		return misfit(p, s, a, "at least 1");
	if (v > bounds[kind].most || (v > 0 && v < bounds[kind].least)) {
		PARSE_ERROR(p, a->loc, "%s is %.*s, which is out of range", s->key, FOUND(p, a));
		return false;
	}
	return true;
}

static bool
set_number(struct parser *p, const struct attr_spec *s, const struct ir_attr *a, double *to)
{
	int unit = ir_unit_find(s->unit, strlen(s->unit));
	double v = a->kind == ATTR_INT ? (double)a->i : a->f;

	if (unit < 0 && a->kind != ATTR_INT && a->kind != ATTR_FLOAT)
		return misfit(p, s, a, "a number without a unit");
	if (unit >= 0) {
		enum ir_unit_kind kind = ir_unit_kind((enum ir_unit)unit);
		if (a->kind != ATTR_QUANTITY || ir_unit_kind((enum ir_unit)a->n) != kind)
			return misfit(p, s, a, example_of(kind));
	}
	if (!fits(p, s, a, v))
		return false;
	*to = v;
	return true;
}

static bool
set_value(struct parser *p, const struct attr_spec *s, const struct ir_attr *a, void *to)
{
	void *field = (char *)to + s->offset;
	bool is_word = a->kind == ATTR_NAME;

	switch (s->type) {
	case TYPE_NUMBER: return set_number(p, s, a, field);
	case TYPE_BOOL:
		if (!is_word || (strcmp(a->s, "true") && strcmp(a->s, "false")))
			return misfit(p, s, a, "true or false");
		*(bool *)field = *a->s == 't';
		return true;
	case TYPE_WORD:
		if (!is_word)
			return misfit(p, s, a, "a name");
		*(struct named *)field = (struct named){a->s, a->loc};
		return true;
	case TYPE_TEXT:
		if (a->kind != ATTR_STRING || !*a->s)
			return misfit(p, s, a, "a non-empty string");
		*(const char **)field = a->s;
		return true;
	}
	return false;
}

static bool
unknown(struct parser *p, const struct cluster_item *item, const struct attr_spec *spec, int n,
	const char *key, struct ir_loc loc)
{
	struct suggestion near = suggestion_for(key);

	for (int i = 0; i < n; i++)
		suggestion_add(&near, spec[i].key);
	suggestion_add(&near, "source");
	char *text = suggestion_text(NULL, &near);
	PARSE_ERROR(p, loc, "%s has no attribute '%s'%s", item->word.name, key, text);
	talloc_free(text);
	return false;
}

/*
 * Handles an attribute; `given` says in which group each was. Duplicates within a group were
 * reported when the group was read.
 */
static bool
set_attr(struct parser *p, const struct cluster_item *item, const struct attr_spec *spec, int n,
	const struct cluster_group **given, const struct cluster_group *g, int number, void *to)
{
	const struct ir_attr *a = &g->attr[number];
	int i = 0;

	if (!strcmp(a->key, "source")) { /* each group may have one */
		if (a->kind != ATTR_STRING)
			PARSE_ERROR(p, a->loc, "source must be a string, not %.*s", FOUND(p, a));
		return a->kind == ATTR_STRING;
	}
	while (i < n && strcmp(spec[i].key, a->key))
		i++;
	if (i == n)
		return unknown(p, item, spec, n, a->key, g->key[number]);
	bool twice = given[i] != NULL;
	if (twice && given[i] != g)
		PARSE_ERROR(p, g->key[number], "'%s' is given twice", a->key);
	given[i] = g;
	return set_value(p, &spec[i], a, to) && !twice;
}

bool
cluster_attrs(struct parser *p, const struct cluster_item *item, const struct attr_spec *spec,
	int n, void *to)
{
	const struct cluster_group **given =
		ARENA_ARRAY(p->scratch, const struct cluster_group *, n);
	bool ok = true;

	for (const struct cluster_group *g = item->groups; g; g = g->next)
		for (int i = 0; i < g->n; i++)
			ok = set_attr(p, item, spec, n, given, g, i, to) && ok;
	for (int i = 0; i < n; i++) {
		if (!spec[i].required || given[i])
			continue;
		PARSE_ERROR(p, loc_join(item->word.loc, item->ends->loc), "%s needs '%s'",
			item->word.name, spec[i].key);
		ok = false;
	}
	return ok;
}

bool
cluster_device_attrs(struct parser *p, const struct cluster_item *item, struct device *device)
{
	for (const struct cluster_group *g = item->groups; g; g = g->next)
		for (int i = 0; i < g->n; i++) {
			int field = device_field_number(g->attr[i].key);
			device->given |= field >= 0 ? 1u << field : 0;
		}
	return cluster_attrs(
		p, item, device_specs, sizeof device_specs / sizeof *device_specs, device);
}
