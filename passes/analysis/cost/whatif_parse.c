/* What-if: reading the items. The grammar is in whatif.h. */
#include "passes/analysis/cost/whatif_impl.h"

#include "ir/base/option_text.h"
#include "ir/base/suggest.h"
#include "ir/base/vec.h"
#include "passes/analysis/collective/collective.h"
#include "ir/cluster/device.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static const struct {
	const char *name;
	enum whatif_kind kind;
	const char *unit;
} words[] = {
	{"net.bandwidth", TARGET_BANDWIDTH, "B/s"},
	{"net.latency", TARGET_LATENCY, "s"},
	{"flops", TARGET_FLOPS, "FLOP/s"},
	{"kernels", TARGET_KERNELS, "s"},
	{"collectives", TARGET_COLLECTIVES, "s"},
};

/* Beyond it a single item would dominate the whole step, or leave the range of doubles. */
#define FACTOR_LEAST 1e-9
#define FACTOR_MOST 1e9

enum fits { ABOVE_0, FROM_0, FROM_1, FLAG }; /* as in device.def */

static const struct {
	const char *name, *unit;
	enum fits fits;
} fields[] = {
#define DEVICE(name, unit, value, fits, why) {#name, unit, fits},
#include "ir/cluster/device.def"
#undef DEVICE
};

enum { NWORDS = sizeof words / sizeof *words, NFIELDS = sizeof fields / sizeof *fields };

/* Can an op of that name take time? */
static bool
is_work(enum op_code c)
{
	return !(op_traits(c) & (TRAIT_EFFECT | TRAIT_TERMINATOR | TRAIT_NAMED | TRAIT_CALLS));
}

/* The target of that name into *it, and its unit; false: there is none. */
static bool
find_target(struct whatif_item *it, const char *name, const char **unit)
{
	*unit = "s";
	for (int i = 0; i < NWORDS; i++)
		if (strcmp(words[i].name, name) == 0) {
			it->kind = words[i].kind;
			*unit = words[i].unit;
			return true;
		}
	for (int i = 0; i < NFIELDS; i++)
		if (strcmp(fields[i].name, name) == 0) {
			it->kind = TARGET_FIELD;
			it->field = fields[i].name;
			it->least = fields[i].fits == FROM_1;
			*unit = fields[i].unit;
			return true;
		}
	it->number = op_find(name);
	if (it->number >= 0 && is_work((enum op_code)it->number)) {
		it->kind = TARGET_CODE;
		return true;
	}
	it->number = (int)rt_coll_find(name, strlen(name));
	it->kind = TARGET_COLLECTIVE;
	return it->number < RT_COLL_KINDS;
}

static void
suggest_target(struct suggestion *near)
{
	for (int i = 0; i < NWORDS; i++)
		suggestion_add(near, words[i].name);
	for (int i = 0; i < NFIELDS; i++)
		suggestion_add(near, fields[i].name);
	for (int c = 0; c < OP_NCODES; c++)
		if (is_work((enum op_code)c))
			suggestion_add(near, op_name((enum op_code)c));
	for (int c = 0; c < RT_COLL_KINDS; c++)
		suggestion_add(near, rt_coll_name((enum rt_coll_kind)c));
}

struct reader {
	struct option_text in;
	struct whatif *w;
};

/* Characters of a name, also of a value. */
static const char *
name_end(const char *s)
{
	return s + strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$");
}

/* Reads "op=%NAME": true if that begins here, valid or not. */
static bool
read_value_name(struct reader *r, struct whatif_item *it)
{
	const char *begin = r->in.at, *p = name_end(begin);

	if (p - begin != 2 || strncmp(begin, "op", 2) != 0)
		return false;
	p += strspn(p, " \t");
	if (*p != '=')
		return false;
	p += 1 + strspn(p + 1, " \t");
	const char *name = p + (*p == '%'), *end = name_end(name);
	r->in.at = end;
	if (*p != '%' || end == name) {
		option_text_fault(&r->in, p, end > p ? end : p + 1,
			"expected the name of a value, as in op=%%NAME");
		return true;
	}
	it->kind = TARGET_VALUE;
	it->name = option_text_slice(&r->in, name, end);
	it->loc = option_text_loc(&r->in, p, end);
	return true;
}

/* False if there is nothing that could be a target. */
static bool
read_target(struct reader *r, struct whatif_item *it, const char **unit)
{
	const char *begin = r->in.at, *end = name_end(begin);

	*unit = "s";
	if (read_value_name(r, it))
		return true;
	if (begin == end) {
		option_text_fault(&r->in, begin, begin + 1,
			*begin ? "expected what to change, found '%c'"
			       : "expected what to change, found the end",
			*begin);
		return false;
	}
	r->in.at = end;
	it->loc = option_text_loc(&r->in, begin, end);
	struct suggestion near = suggestion_for(option_text_slice(&r->in, begin, end));
	if (find_target(it, near.wrong, unit))
		return true;
	suggest_target(&near);
	char *also = suggestion_text(r->w, &near);
	option_text_fault(
		&r->in, begin, end, "there is nothing to change named '%s'%s", near.wrong, also);
	if (!near.best)
		diag_note(r->w->diag, LOC_NONE,
			"expected net.bandwidth, net.latency, a field of the device (f32, launch "
			"...), an op (matmul ...), kernels, collectives or op=%%NAME");
	return true;
}

/* The scale of the unit [s, s + n) for a target in `base` units; 0: not one of these. */
static double
unit_scale(const char *s, size_t n, const char *base)
{
	static const struct {
		char letter;
		double scale;
		bool of_seconds;
	} prefix[] = {{'n', 1e-9, true}, {'u', 1e-6, true}, {'m', 1e-3, true}, {'K', 1e3, false},
		{'M', 1e6, false}, {'G', 1e9, false}, {'T', 1e12, false}, {'P', 1e15, false}};
	size_t length = strlen(base);

	if (n == length && memcmp(s, base, n) == 0)
		return 1;
	if (n != length + 1 || length == 0 || memcmp(s + 1, base, length) != 0)
		return 0;
	for (size_t i = 0; i < sizeof prefix / sizeof *prefix; i++)
		if (prefix[i].letter == *s && prefix[i].of_seconds == (*base == 's'))
			return prefix[i].scale;
	return 0;
}

static bool
is_rate(const char *unit)
{
	return strstr(unit, "/s") != NULL;
}

/* Units for which 0 makes no sense: devices need a rate and memory. */
static bool
is_above_zero(const struct whatif_item *it, const char *unit)
{
	return is_rate(unit) || (it->kind == TARGET_FIELD && strcmp(unit, "B") == 0);
}

/* On or off. */
static bool
is_flag(const struct whatif_item *it, const char *unit)
{
	return it->kind == TARGET_FIELD && !*unit && it->least == 0;
}

/* A finite number of at least 0 from [begin, end); *rest: the text after it. */
static bool
read_number(struct reader *r, const char *begin, const char *end, double *x, const char **rest)
{
	char *word = option_text_slice(&r->in, begin, end), *stop = word;
	bool decimal = strchr("+-.0123456789", *word) && !strpbrk(word, "xX");

	if (decimal)
		*x = strtod(word, &stop);
	*rest = begin + (stop - word);
	if (stop == word)
		option_text_fault(
			&r->in, begin, end > begin ? end : begin + 1, "expected a number");
	else if (!isfinite(*x))
		option_text_fault(&r->in, begin, *rest, "the number is too large");
	else if (*x < 0 || signbit(*x))
		option_text_fault(&r->in, begin, *rest, "expected a number of at least 0");
	else
		return true;
	return false;
}

static void
read_factor(struct reader *r, struct whatif_item *it, const char *unit, const char *begin,
	const char *end)
{
	const char *rest;

	if (is_flag(it, unit))
		option_text_fault(&r->in, begin, end, "%s is a switch: expected %s=1 or %s=0",
			it->field, it->field, it->field);
	else if (!read_number(r, begin, end, &it->x, &rest))
		return;
	else if (rest != end)
		option_text_fault(&r->in, rest, end, "a factor has no unit");
	else if (it->x == 0 && is_above_zero(it, unit))
		option_text_fault(&r->in, begin, end, "expected a factor above 0");
	else if (it->x != 0 && (it->x < FACTOR_LEAST || it->x > FACTOR_MOST))
		option_text_fault(&r->in, begin, end, "expected a factor between %g and %g",
			FACTOR_LEAST, FACTOR_MOST);
}

static void
read_setting(struct reader *r, struct whatif_item *it, const char *unit, const char *begin,
	const char *end)
{
	const char *rest;

	if (!read_number(r, begin, end, &it->x, &rest))
		return;
	rest += strspn(rest, " \t");
	double scale = !*unit ? rest == end : unit_scale(rest, (size_t)(end - rest), unit);
	if (scale == 0) {
		option_text_fault(&r->in, rest < end ? rest : begin, end,
			rest < end ? "expected %s, found '%.*s'" : "expected %s, found none",
			!*unit ? "no unit" : TEXT(r->w, "a unit: %s", unit), (int)(end - rest),
			rest);
		return;
	}
	it->x *= scale;
	if (is_flag(it, unit) && it->x != 0 && it->x != 1)
		option_text_fault(&r->in, begin, end, "expected 0 or 1");
	else if (it->x < 1 && is_above_zero(it, unit))
		option_text_fault(&r->in, begin, end, "expected a value of at least 1%s", unit);
	else if (it->x < it->least)
		option_text_fault(&r->in, begin, end, "expected a value of at least %g", it->least);
}

/* To the next comma or the end. False: reading cannot go on. */
static bool
read_item(struct reader *r)
{
	struct whatif_item it = {.kind = TARGET_NONE};
	const char *unit;

	option_text_skip_blanks(&r->in);
	const char *begin = r->in.at;
	if (!read_target(r, &it, &unit))
		return false;
	option_text_skip_blanks(&r->in);
	char how = *r->in.at;
	if (how != '*' && how != '=') {
		option_text_fault(&r->in, r->in.at, r->in.at + 1,
			how ? "expected '*' and a factor, or '=' and a value, found '%c'"
			    : "expected '*' and a factor, or '=' and a value, found the end",
			how);
		return false;
	}
	r->in.at++;
	option_text_skip_blanks(&r->in);
	const char *value = r->in.at, *end = value + strcspn(value, ",");
	r->in.at = end;
	while (end > value && strchr(" \t\r\n", end[-1]))
		end--;
	it.set = how == '=';
	(it.set ? read_setting : read_factor)(r, &it, unit, value, end);
	it.text = option_text_slice(&r->in, begin, end);
	LIST_PUSH(r->w, r->w->item, r->w->n, it);
	return true;
}

struct whatif *
whatif_parse(const void *owner, struct diag *d, const char *name, const char *text)
{
	struct whatif *w = NEW(NULL, struct whatif);
	struct reader r = {.in = option_text_begin(w, d, name, text), .w = w};

	w->diag = d;
	option_text_skip_blanks(&r.in);
	while (*r.in.at && read_item(&r) && *r.in.at == ',') {
		r.in.at++;
		option_text_skip_blanks(&r.in);
		if (!*r.in.at)
			option_text_fault(&r.in, r.in.at, r.in.at + 1,
				"expected what to change, found the end");
	}
	if (r.in.ok)
		return talloc_steal(owner, w);
	talloc_free(w);
	return NULL;
}
