/*
 * From a pretty form to the generic one: a table by op name (pretty.def) describes the items. A row
 * is decoded once for each text, when its op first occurs.
 */
#include "parser/stablehlo/mlir/parser.h"
#include "ir/base/number.h"
#include "ir/ops/row.h"

#include <inttypes.h>
#include <string.h>

enum sig_kind { SIG_SAME, SIG_RESULT, SIG_OPERANDS, SIG_SELECT, SIG_PAIRS, SIG_ARROW, SIG_UNKNOWN };

enum decoder { DECODE_PLAIN, DECODE_SLICE, DECODE_DOT, DECODE_CONV, DECODE_FORMAT, DECODE_INDEX };

static const struct row {
	const char *name;
	int least, most;
	enum sig_kind sig;
	enum decoder decoder;
	const char *items;
	enum op_code point; /* of a row of point.def: has its number of operands */
} rows[] = {
#define PRETTY(name, least, most, sig, decoder, items)                                             \
	{name, least, most, SIG_##sig, DECODE_##decoder, items, OP_NCODES},
#define POINT(name, numbers, bools) {name, 0, 0, SIG_SAME, DECODE_PLAIN, "", OP_##numbers},
#define POINT_BITS POINT
#include "parser/stablehlo/mlir/pretty.def"
#include "parser/stablehlo/mlir/point.def"
#undef PRETTY
#undef POINT
#undef POINT_BITS
};

/* Ops that no row names: operands, `key = value`, {attributes}. */
static const struct row unknown = {NULL, 0, -1, SIG_UNKNOWN, DECODE_PLAIN, "", OP_NCODES};

enum { FORM_MAX_ITEMS = 8 }; /* of a row */

/* A row with names that are compared by pointer. */
struct mlir_form {
	const struct row *row;
	const char *name; /* of the op; `call` is func.call */
	int n;
	struct slot {
		const char *key, *text; /* as written, NULL of a positional one; and for messages */
		char place;             /* [ @ $ " . # < of a positional one; else 0 */
		const char *name;
		bool optional;
	} item[FORM_MAX_ITEMS];
};

static void
read_slot(struct mlir_parser *p, struct slot *slot, const char *text, size_t n)
{
	slot->optional = text[n - 1] == '?';
	n -= slot->optional;
	const char *equals = memchr(text, '=', n);
	if (equals) {
		slot->key = ir_name_n(p->ctx, text, (size_t)(equals - text));
		slot->text = slot->key;
		slot->name = ir_name_n(p->ctx, equals + 1, n - 1 - (size_t)(equals - text));
	} else {
		slot->place = *text;
		slot->name = ir_name_n(p->ctx, text + 1, n - 1);
		slot->text = slot->name;
	}
}

static const struct row *
row_find(const char *name)
{
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
		if (!strcmp(rows[i].name, name))
			return &rows[i];
	return &unknown;
}

static const struct mlir_form *
mlir_form_find(struct mlir_parser *p, struct mlir_symbol *s)
{
	if (s->form)
		return s->form;
	struct mlir_form *f = ARENA_NEW(p->scratch, struct mlir_form);
	const char *name = mlir_symbol_name(p, s);
	f->name = !strcmp(name, "call") ? ir_name(p->ctx, "func.call") : name;
	f->row = row_find(f->name);
	for (const char *item = f->row->items; *item; f->n++) {
		size_t n = strcspn(item, " ");
		read_slot(p, &f->item[f->n], item, n);
		item += n + strspn(item + n, " ");
	}
	s->form = f;
	return f;
}

/* --- items to attributes --- */

static const char *
place_text(char place)
{
	switch (place) {
	case '[': return "a list in brackets";
	case '$':
	case '@': return "a function, @name";
	case '"': return "a string";
	case '.': return "a word";
	case '#': return "dense<...>";
	default: return "<...>";
	}
}

static bool
fits_place(const struct mlir_attr *a, char place)
{
	switch (place) {
	case '[': return a->kind == MLIR_LIST;
	case '$':
	case '@': return a->kind == MLIR_SYMBOL;
	case '"': return a->kind == MLIR_STRING;
	case '.': return a->kind == MLIR_WORD;
	case '#': return a->kind == MLIR_DENSE;
	case '<': return a->kind == MLIR_DICT && a->dialect;
	default: return false;
	}
}

static int
slot_find(const struct mlir_form *f, const struct mlir_item *item, unsigned used)
{
	for (int i = 0; i < f->n; i++) {
		if (used >> i & 1)
			continue;
		if (item->key ? f->item[i].key == item->attr.name
			      : f->item[i].place && fits_place(&item->attr, f->item[i].place))
			return i;
	}
	return -1;
}

/* An item that the row does not have. */
static bool
bad_item(struct mlir_parser *p, const struct mlir_form *f, const struct mlir_item *item)
{
	char list[256] = "";
	size_t n = 0;

	if (!f->row->name) {
		mlir_error(p, item->loc, "%s: unknown form; the generic form is \"%s\"(...)",
			f->name, f->name);
		return false;
	}
	for (int i = 0; i < f->n && n < sizeof list; i++)
		n += (size_t)snprintf(list + n, sizeof list - n, "%s%s%s%s", i ? ", " : "",
			f->item[i].key ? "'" : "",
			f->item[i].key ? f->item[i].key : place_text(f->item[i].place),
			f->item[i].key ? " = ...'" : "");
	const char *text = mlir_text_at(p, item->loc);
	int length = (int)(item->loc.end - item->loc.begin);
	mlir_error(p, item->loc, "%s has no item '%.*s'; %s%s", f->name, length > 30 ? 30 : length,
		text, f->n ? "it has " : "it has only operands", list);
	return false;
}

/* The entries of {..} join the attributes of the op. */
static void
merge_dict(struct mlir_parser *p, const struct mlir_attr *dict)
{
	for (uint32_t i = 0; i < dict->n; i++)
		VEC_PUSH(p, &p->decoded, (struct mlir_item){.attr = dict->item[i]});
}

static struct mlir_attr *
decoded_find(struct mlir_parser *p, const char *name)
{
	const char *interned = ir_name(p->ctx, name);

	for (uint32_t i = 0; i < p->decoded.n; i++) {
		struct mlir_attr *a = &p->decoded.at[i].attr;
		if (a->name == interned)
			return a;
	}
	return NULL;
}

/* Items to the attributes of the generic form, in p->decoded. */
static bool
decode_items(struct mlir_parser *p, const struct mlir_form *f, const struct mlir_pending *op)
{
	const struct mlir_item *item = VEC_TOP(&p->item, op->nattrs);
	unsigned used = 0;
	bool ok = true;

	for (uint32_t i = 0; i < op->nattrs; i++) {
		bool dict = !item[i].key && item[i].attr.kind == MLIR_DICT && !item[i].attr.dialect;
		int slot = slot_find(f, &item[i], used);
		if (slot >= 0) {
			used |= 1u << slot;
			VEC_PUSH(p, &p->decoded, (struct mlir_item){.attr = item[i].attr});
			struct mlir_attr *a = &VEC_LAST(&p->decoded).attr;
			a->name = f->item[slot].name;
			if (f->item[slot].place == '$')
				a->kind = MLIR_STRING;
		} else if (dict) {
			merge_dict(p, &item[i].attr);
		} else if (!f->row->name && item[i].key) {
			VEC_PUSH(p, &p->decoded, (struct mlir_item){.attr = item[i].attr});
		} else {
			ok = bad_item(p, f, &item[i]) && ok;
			if (!f->row->name)
				break; /* one message an op */
		}
	}
	for (int i = 0; ok && i < f->n; i++) {
		if (used >> i & 1 || f->item[i].optional || decoded_find(p, f->item[i].name))
			continue;
		const char *key = f->item[i].key;
		mlir_error(p, op->loc, "%s: expected %s%s%s%s", f->name, key ? "'" : "",
			key ? key : place_text(f->item[i].place), key ? " = ...'" : "",
			key ? "" : " after it");
		ok = false;
	}
	return ok;
}

/* --- decoders of single ops; each changes p->decoded --- */

static void
decoded_push(struct mlir_parser *p, struct mlir_attr a)
{
	VEC_PUSH(p, &p->decoded, (struct mlir_item){.attr = a});
}

/* Removes the attribute, which must exist, as it becomes others. */
static struct mlir_attr
decoded_take(struct mlir_parser *p, const char *name)
{
	struct mlir_attr *a = decoded_find(p, name), taken = *a;
	struct mlir_item *first = p->decoded.at;
	struct mlir_item *item = (struct mlir_item *)((char *)a - offsetof(struct mlir_item, attr));
	size_t behind = --p->decoded.n - (size_t)(item - first);

	memmove(item, item + 1, behind * sizeof *item);
	return taken;
}

static bool
item_error(struct mlir_parser *p, const struct mlir_attr *a, const char *expected)
{
	mlir_error(p, a->loc, "expected %s", expected);
	return false;
}

/* [0:4, 1:8:2] are start_indices, limit_indices and strides. */
static bool
decode_slice(struct mlir_parser *p)
{
	static const char *const name[] = {"start_indices", "limit_indices", "strides"};
	const struct mlir_attr ranges = decoded_take(p, "ranges");
	struct mlir_attr *list[3];

	for (int k = 0; k < 3; k++)
		list[k] = ARENA_ARRAY(p->arena, struct mlir_attr, ranges.n + 1);
	for (uint32_t i = 0; i < ranges.n; i++) {
		const struct mlir_attr *r = &ranges.item[i];
		if (r->kind != MLIR_LIST || !r->dialect || *r->dialect != ':')
			return item_error(p, r, "start:limit or start:limit:stride");
		for (uint32_t k = 0; k < 3; k++)
			list[k][i] = k < r->n ? r->item[k] : mlir_make_int(p, NULL, 1, r->loc);
	}
	for (int k = 0; k < 3; k++)
		decoded_push(p, mlir_make_list(p, name[k], list[k], ranges.n, ranges.loc));
	return true;
}

/* `[0] x [1]`, or NULL: two empty lists. */
static bool
dot_dims(struct mlir_parser *p, const struct mlir_attr *pair, struct ir_loc loc, const char *left,
	const char *right, struct mlir_attr *out)
{
	bool is_pair = pair && pair->kind == MLIR_LIST && pair->dialect && *pair->dialect == 'x';

	if (pair && !is_pair)
		return item_error(p, pair, "dims of both sides, [1] x [0]");
	for (int k = 0; k < 2; k++)
		out[k] = mlir_make_list(p, k ? right : left, pair ? pair->item[k].item : NULL,
			pair ? pair->item[k].n : 0, loc);
	return true;
}

static bool
decode_dot(struct mlir_parser *p, const struct mlir_pending *op)
{
	struct mlir_attr *item = ARENA_ARRAY(p->arena, struct mlir_attr, 4);
	struct mlir_attr batching = {0};
	bool batched = decoded_find(p, "batching") != NULL;

	if (batched)
		batching = decoded_take(p, "batching");
	struct mlir_attr contracting = decoded_take(p, "contracting");
	if (!dot_dims(p, batched ? &batching : NULL, op->loc, "lhs_batching_dimensions",
		    "rhs_batching_dimensions", item))
		return false;
	if (!dot_dims(p, &contracting, contracting.loc, "lhs_contracting_dimensions",
		    "rhs_contracting_dimensions", item + 2))
		return false;
	decoded_push(p, (struct mlir_attr){.name = ir_name(p->ctx, "dot_dimension_numbers"),
				.kind = MLIR_DICT,
				.n = 4,
				.loc = contracting.loc,
				.dialect = ir_name(p->ctx, "stablehlo.dot"),
				.item = item});
	return true;
}

/* pad = [[1, 1], [0, 2]] is a dense attribute in the generic form. */
static bool
decode_padding(struct mlir_parser *p, struct mlir_attr *a)
{
	int64_t *v = ARENA_ARRAY(p->scratch, int64_t, 2 * (size_t)a->n + 1);

	for (uint32_t i = 0; a->kind == MLIR_LIST && i < a->n; i++)
		for (uint32_t k = 0; k < 2; k++) {
			const struct mlir_attr *pair = &a->item[i];
			if (pair->kind != MLIR_LIST || pair->n != 2 ||
				pair->item[k].kind != MLIR_INT)
				return item_error(p, pair, "two numbers, [low, high]");
			v[2 * i + k] = pair->item[k].i;
		}
	if (a->kind != MLIR_LIST)
		return item_error(p, a, "a list of [low, high]");
	int n = (int)a->n;
	a->kind = MLIR_DENSE;
	a->dense = mlir_dense_ints(p, v, 2 * n, 2);
	return true;
}

/* window = {stride = ..} are attributes of their own. */
static bool
decode_conv(struct mlir_parser *p)
{
	static const char *const names[][2] = {{"stride", "window_strides"}, {"pad", "padding"},
		{"lhs_dilate", "lhs_dilation"}, {"rhs_dilate", "rhs_dilation"},
		{"reverse", "window_reversal"}};
	const struct mlir_attr *numbers = decoded_find(p, "dimension_numbers");

	if (numbers->kind != MLIR_DICT)
		return item_error(p, numbers, "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]");
	if (!decoded_find(p, "window"))
		return true;
	struct mlir_attr window = decoded_take(p, "window");
	if (window.kind != MLIR_DICT)
		return item_error(p, &window, "{stride = ..., pad = ...}");
	for (uint32_t i = 0; i < window.n; i++) {
		struct mlir_attr a = window.item[i];
		size_t k = 0;
		while (k < sizeof names / sizeof *names && strcmp(a.name, names[k][0]) != 0)
			k++;
		if (k == sizeof names / sizeof *names)
			return item_error(p, &a, "stride, pad, lhs_dilate, rhs_dilate or reverse");
		a.name = ir_name(p->ctx, names[k][1]);
		if (k == 1 && !decode_padding(p, &a))
			return false;
		if (a.kind != MLIR_LIST && a.kind != MLIR_DENSE)
			return item_error(p, &a, "a list, a number for each spatial dim");
		decoded_push(p, a);
	}
	return true;
}

/* e5m10: bits of exponent and mantissa. */
static bool
decode_format(struct mlir_parser *p)
{
	struct mlir_attr a = decoded_take(p, "format");
	unsigned e = 0, m = 0;
	int used = 0;

	if (a.kind != MLIR_WORD || strlen(a.s) > 20 ||
		sscanf(a.s, "e%um%u%n", &e, &m, &used) != 2 || a.s[used])
		return item_error(p, &a, "bits of exponent and mantissa, e5m10");
	decoded_push(p, mlir_make_int(p, "exponent_bits", e, a.loc));
	decoded_push(p, mlir_make_int(p, "mantissa_bits", m, a.loc));
	return true;
}

static bool
decode_index(struct mlir_parser *p)
{
	struct mlir_attr a = decoded_take(p, "index");

	if (a.n != 1 || a.item[0].kind != MLIR_INT)
		return item_error(p, &a, "the number of an item, [0]");
	decoded_push(p, mlir_make_int(p, "index", a.item[0].i, a.loc));
	return true;
}

static bool
decode(struct mlir_parser *p, const struct mlir_form *f, const struct mlir_pending *op)
{
	switch (f->row->decoder) {
	case DECODE_PLAIN: return true;
	case DECODE_SLICE: return decode_slice(p);
	case DECODE_DOT: return decode_dot(p, op);
	case DECODE_CONV: return decode_conv(p);
	case DECODE_FORMAT: return decode_format(p);
	case DECODE_INDEX: return decode_index(p);
	}
	return true;
}

/* --- signatures --- */

/* The short signature has another number of types than its op. */
static bool
sig_error(struct mlir_parser *p, const struct mlir_pending *op, const char *expected)
{
	mlir_error(p, op->sig.loc, "%s: expected %s, found %u type%s", op->name, expected,
		op->sig.nin, number_plural(op->sig.nin));
	return false;
}

/* Types of operands as they were defined. */
static void
push_operand_types(struct mlir_parser *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		mlir_push_type(p, VEC_TOP(&p->operand, n)[i].value->type);
}

/* Completes a short signature. `results`: the number of names before the op. */
static bool
decode_sig(
	struct mlir_parser *p, const struct mlir_form *f, struct mlir_pending *op, uint32_t results)
{
	uint32_t written = op->sig.nin, n = op->noperands;
	const struct mlir_type **from = VEC_TOP(&p->type, written);
	const struct mlir_type *first = written ? from[0] : NULL;
	const struct mlir_type *second = written > 1 ? from[1] : NULL;
	enum sig_kind kind = f->row->sig;

	if (op->sig.arrow)
		return true;
	if (kind == SIG_UNKNOWN)
		kind = !results ? SIG_OPERANDS : written == 1 ? SIG_SAME : SIG_PAIRS;
	if (kind == SIG_SELECT && written == 3)
		kind = SIG_OPERANDS; /* the older form of select has no arrow either */
	if (kind == SIG_OPERANDS && f->row->sig == SIG_SELECT) {
		mlir_push_type(p, from[1]);
		op->sig.nout = 1;
		return true;
	}
	switch (kind) {
	case SIG_OPERANDS:
		if (written != n && written == 1) /* one for all */
			for (uint32_t i = 1; i < n; i++)
				mlir_push_type(p, first);
		op->sig.nin = written == 1 && n ? n : written;
		return true;
	case SIG_PAIRS:
		for (uint32_t i = 0; i < written; i++)
			mlir_push_type(p, VEC_TOP(&p->type, written + i)[i]);
		op->sig.nin = op->sig.nout = written;
		return true;
	case SIG_SAME:
		if (written != 1)
			return sig_error(p, op, "one type, or (operands) -> result");
		for (uint32_t i = 0; i < n; i++)
			mlir_push_type(p, first);
		op->sig.nin = n;
		op->sig.nout = 1;
		return true;
	case SIG_SELECT:
		if (written != 2 || n != 3)
			return sig_error(p, op, "the types of the predicate and of the rest");
		mlir_push_type(p, second);
		mlir_push_type(p, second);
		op->sig.nin = 3;
		op->sig.nout = 1;
		return true;
	case SIG_RESULT:
		if (written != 1)
			return sig_error(p, op, "the type of the result");
		p->type.n--;
		push_operand_types(p, n);
		mlir_push_type(p, first);
		op->sig.nin = n;
		op->sig.nout = 1;
		return true;
	default: return sig_error(p, op, "(types of operands) -> types of results");
	}
}

/* Elements of dense<> items have the type of the signature. */
static void
decode_dense(struct mlir_parser *p, const struct mlir_pending *op)
{
	uint32_t types = op->sig.nin + op->sig.nout;
	const struct mlir_type *t = types ? VEC_TOP(&p->type, types)[types - 1] : NULL;

	for (uint32_t i = 0; t && i < p->decoded.n; i++) {
		struct mlir_attr *a = &p->decoded.at[i].attr;
		if (a->kind != MLIR_DENSE || a->dense)
			continue;
		a->dense = mlir_dense_read(p, a->loc, t, op->sig.loc);
		if (!a->dense)
			a->kind = MLIR_UNIT;
	}
}

static bool
check_operand_count(struct mlir_parser *p, const struct mlir_form *f, const struct mlir_pending *op)
{
	const enum op_code point = f->row->point;
	int n = (int)op->noperands, least = f->row->least, most = f->row->most;

	if (point != OP_NCODES)
		least = most = p->ctx->row[point].noperands;
	if (n >= least && (most < 0 || n <= most))
		return true;
	mlir_error(p, op->loc, "%s: expected %s%d operand%s, found %d", f->name,
		most == least ? ""
		: n < least   ? "at least "
			      : "at most ",
		n < least ? least : most, number_plural(n < least ? least : most), n);
	return false;
}

bool
mlir_pretty_decode(struct mlir_parser *p, struct mlir_pending *op, uint32_t results)
{
	const struct mlir_form *f = op->form;

	op->name = f->name;
	p->decoded.n = 0;
	if (!check_operand_count(p, f, op))
		return false;
	if (!decode_items(p, f, op) || !decode(p, f, op) || !decode_sig(p, f, op, results))
		return false;
	decode_dense(p, op);
	p->item.n -= op->nattrs;
	op->nattrs = p->decoded.n;
	for (uint32_t i = 0; i < op->nattrs; i++)
		VEC_PUSH(p, &p->item, (struct mlir_item){.attr = p->decoded.at[i].attr});
	return true;
}

void
mlir_pretty(struct mlir_parser *p, struct mlir_symbol *name, struct ir_loc loc,
	struct mlir_counts n, struct mlir_sig sig)
{
	mlir_op_form(p, NULL, loc, n, 0, sig);
	p->pending.form = mlir_form_find(p, name);
}
