/*
 * The elements of dense<...> and array<...>: numbers, true and false, nested lists, complex numbers
 * in parentheses, or a string of hexadecimal digits, which are the bytes of the elements, least
 * significant first. The text is checked against the type. Lists are read without recursion: the
 * indices of the open lists are in an array.
 */
#include "parser/stablehlo/mlir/parser.h"

#include "ir/base/hex.h"
#include "ir/base/number.h"
#include "parser/stablehlo/mlir/number.h"

#include <inttypes.h>
#include <string.h>

struct dense {
	struct mlir_parser *p;
	const char *s, *end;
	struct ir_loc loc;
	const struct mlir_type *type;
	struct mlir_element element;
	struct mlir_dense *d;
	struct VEC(union mlir_number) number; /* in the scratch arena, until all are read */
};

static void
skip_blanks(struct dense *r)
{
	for (;;) {
		while (r->s < r->end &&
			(*r->s == ' ' || *r->s == '\n' || *r->s == '\t' || *r->s == '\r'))
			r->s++;
		if (r->end - r->s < 2 || r->s[0] != '/' || r->s[1] != '/')
			return;
		while (r->s < r->end && *r->s != '\n')
			r->s++;
	}
}

static bool
dense_error(struct dense *r, const char *expected)
{
	int n = (int)(r->end - r->s > 20 ? 20 : r->end - r->s);

	mlir_error(r->p, mlir_place(r->p, r->s, n ? 1 : 0), "expected %s, found %s%.*s%s", expected,
		n ? "'" : "the end of the elements", n, r->s, n ? "'" : "");
	return false;
}

static bool
accept(struct dense *r, char c)
{
	skip_blanks(r);
	if (r->s >= r->end || *r->s != c)
		return false;
	r->s++;
	return true;
}

static bool
accept_word(struct dense *r, const char *word)
{
	size_t n = strlen(word);

	if ((size_t)(r->end - r->s) < n || memcmp(r->s, word, n) != 0)
		return false;
	r->s += n;
	return true;
}

static bool
in_range(const struct mlir_element *e, const struct mlir_number_text *number)
{
	if (e->bits >= 64)
		return e->kind == ELEMENT_UINT ? !number->negative || !number->bits
					       : number->negative || number->hex ||
							 number->bits <= (uint64_t)INT64_MAX;
	if (number->hex && !number->negative)
		return number->bits >> e->bits == 0;
	if (number->negative)
		return e->kind != ELEMENT_UINT && -number->bits <= (uint64_t)1 << (e->bits - 1);
	return number->bits >> (e->kind == ELEMENT_UINT ? e->bits : e->bits - 1) == 0;
}

/* The value of those bits as an integer of the element type. */
static int64_t
int_of_bits(const struct mlir_element *e, uint64_t bits)
{
	if (e->bits >= 64 || e->kind == ELEMENT_UINT || e->kind == ELEMENT_BOOL)
		return (int64_t)bits;
	return (int64_t)(bits << (64 - e->bits)) >> (64 - e->bits);
}

/* One number, or true or false, at r->s. */
static bool
read_number(struct dense *r, union mlir_number *out)
{
	const struct mlir_element *e = &r->element;

	skip_blanks(r);
	if (e->kind == ELEMENT_BOOL || e->kind == ELEMENT_INT) {
		if (accept_word(r, "true"))
			return out->i = 1, true;
		if (accept_word(r, "false"))
			return out->i = 0, true;
	}
	struct mlir_number_text number = mlir_number_read(r->s, (size_t)(r->end - r->s));
	if (!number.used)
		return dense_error(r, e->kind == ELEMENT_BOOL ? "true or false" : "a number");
	if (e->kind == ELEMENT_FLOAT) {
		if (number.hex && (number.overflow || (e->bits < 64 && number.bits >> e->bits)))
			return dense_error(r, "as many bits as the element type has");
		out->f = number.hex ? mlir_float_of_bits(e, number.bits) : number.f;
	} else if (number.is_float) {
		return dense_error(r, "an integer, like the element type");
	} else if (e->kind == ELEMENT_BOOL) {
		if (number.bits > 1 && number.bits != UINT64_MAX)
			return dense_error(r, "true or false");
		out->i = number.bits != 0;
	} else if (number.overflow || !in_range(e, &number)) {
		return dense_error(r, "a number that fits in the element type");
	} else {
		out->i = int_of_bits(e, number.bits);
	}
	r->s += number.used;
	return true;
}

static bool
push(struct dense *r, union mlir_number number)
{
	VEC_PUSH_IN(r->p->scratch, &r->number, number);
	return true;
}

/* One element: a number, or (re, im). */
static bool
read_element(struct dense *r)
{
	union mlir_number number;

	if (!r->d->complex)
		return read_number(r, &number) && push(r, number);
	if (!accept(r, '('))
		return dense_error(r, "'(' of a complex element");
	if (!read_number(r, &number) || !push(r, number))
		return false;
	if (!accept(r, ','))
		return dense_error(r, "','");
	if (!read_number(r, &number) || !push(r, number))
		return false;
	return accept(r, ')') || dense_error(r, "')'");
}

static bool
count_error(struct dense *r, int level, int64_t items)
{
	mlir_error(r->p, mlir_place(r->p, r->s, 1),
		"expected %" PRId64 " item%s for dim %d of %s, found %" PRId64 "%s",
		r->type->dim[level], number_plural(r->type->dim[level]), level, r->type->text,
		items, items > r->type->dim[level] ? " or more" : "");
	return false;
}

/* [[1, 2], [3, 4]]: lists nested as deep as the number of dims. */
static bool
read_lists(struct dense *r)
{
	int64_t *items = ARENA_ARRAY(r->p->scratch, int64_t, r->type->rank + 1);
	int open = 0, rank = r->type->rank;

	for (;;) {
		/* An item begins here, or the list that was opened last is empty. */
		skip_blanks(r);
		if (open < rank && accept(r, '[')) {
			items[open++] = 0;
			if (!accept(r, ']'))
				continue;
		} else if (open < rank) {
			return dense_error(r, "'['");
		} else {
			if (!read_element(r))
				return false;
			if (++items[open - 1] > r->type->dim[open - 1])
				return count_error(r, open - 1, items[open - 1]);
			if (accept(r, ','))
				continue;
			if (!accept(r, ']'))
				return dense_error(r, "',' or ']'");
		}
		for (;;) { /* a list has ended */
			if (items[open - 1] != r->type->dim[open - 1]) {
				r->s--;
				return count_error(r, open - 1, items[open - 1]);
			}
			if (--open == 0)
				return true;
			if (++items[open - 1] > r->type->dim[open - 1])
				return count_error(r, open - 1, items[open - 1]);
			if (accept(r, ','))
				break;
			if (!accept(r, ']'))
				return dense_error(r, "',' or ']'");
		}
	}
}

static unsigned
byte_at(const char *digits, int64_t i)
{
	return (unsigned)(hex_digit(digits[2 * i]) * 16 + hex_digit(digits[2 * i + 1]));
}

static union mlir_number
number_of_bytes(const struct mlir_element *e, const char *digits, unsigned bytes)
{
	uint64_t bits = 0;

	for (unsigned b = 0; b < bytes; b++)
		bits |= (uint64_t)byte_at(digits, b) << (8 * b);
	if (e->kind == ELEMENT_FLOAT)
		return (union mlir_number){.f = mlir_float_of_bits(e, bits)};
	return (union mlir_number){.i = e->kind == ELEMENT_BOOL ? bits != 0 : int_of_bits(e, bits)};
}

/*
 * "0x0000803F": bytes of all elements, or of one that all equal. Booleans are a byte each, or in
 * older texts a bit, the first least significant.
 */
static bool
read_blob(struct dense *r, int64_t elements)
{
	const struct mlir_element *e = &r->element;
	bool boolean = e->kind == ELEMENT_BOOL;
	unsigned bytes = boolean ? 1 : e->bits / 8, parts = r->d->complex ? 2 : 1;
	const char *s = r->s + 3, *end = s;

	while (end < r->end && hex_digit(*end) >= 0)
		end++;
	if (end >= r->end || *end != '"') {
		r->s = end;
		return dense_error(r, "hexadecimal digits");
	}
	int64_t digits = end - s, whole = elements * parts * bytes;
	bool is_whole = digits == 2 * whole,
	     is_splat = !is_whole && digits == 2 * (int64_t)(bytes * parts);
	bool packed = boolean && !is_whole && digits == 2 * ((elements + 7) / 8);
	if ((e->bits % 8 && !boolean) || (e->kind == ELEMENT_FLOAT && !e->exponent)) {
		mlir_error(r->p, r->loc,
			"a string of bytes is not supported for elements of type %s",
			r->type->element);
		return false;
	}
	if (!is_whole && !is_splat && !packed) {
		mlir_error(r->p, r->loc, "%s has %" PRId64 " bytes, but the string has %" PRId64,
			r->type->text, whole, digits / 2);
		return false;
	}
	if (packed && is_splat) /* of at most eight: all bits set, or none, is a splat as well */
		packed = byte_at(s, 0) != 0xFF && byte_at(s, 0) != 0;
	r->d->splat = is_splat && !packed;
	r->d->n = r->d->splat ? parts : elements * parts;
	r->d->number = ARENA_ARRAY(r->p->arena, union mlir_number, r->d->n + 1);
	for (int64_t i = 0; i < r->d->n; i++)
		if (packed)
			r->d->number[i].i = byte_at(s, i / 8) >> (i % 8) & 1;
		else
			r->d->number[i] = number_of_bytes(e, s + 2 * i * bytes, bytes);
	r->s = end + 1;
	return true;
}

/* Elements of a type; 0 for a dynamic size, which was reported before. */
static int64_t
elements_of(const struct mlir_type *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->rank; i++)
		n *= t->dim[i];
	return n;
}

static bool
is_dynamic(const struct mlir_type *t)
{
	for (int i = 0; i < t->rank; i++)
		if (t->dim[i] == MLIR_DYNAMIC)
			return true;
	return false;
}

/* The type of a number, for complex<f32> that of its parts. */
static struct mlir_element
number_of(struct mlir_parser *p, const char *element, bool *complex)
{
	size_t n = strlen(element);

	*complex = !strncmp(element, "complex<", 8) && element[n - 1] == '>';
	if (*complex)
		element = ir_name_n(p->ctx, element + 8, n - 9);
	return mlir_element_of(element);
}

static bool
read_elements(struct dense *r)
{
	int64_t elements = elements_of(r->type);

	skip_blanks(r);
	if (r->s == r->end) {
		if (elements == 0)
			return true;
		return dense_error(r, "elements");
	}
	if (*r->s == '"' && r->end - r->s > 3 && r->s[1] == '0' && r->s[2] == 'x')
		return read_blob(r, elements);
	if (*r->s == '"')
		return dense_error(r, "a string that begins with 0x");
	if (*r->s == '[')
		return r->type->rank ? read_lists(r)
				     : dense_error(r, "one number for a type of rank 0");
	r->d->splat = true;
	return read_element(r);
}

const struct mlir_dense *
mlir_dense_read(struct mlir_parser *p, struct ir_loc loc, const struct mlir_type *type,
	struct ir_loc type_loc)
{
	const char *text = mlir_text_at(p, loc);
	struct mlir_dense *d = ARENA_NEW(p->arena, struct mlir_dense);
	struct dense r = {.p = p,
		.s = text + strlen("dense<"),
		.end = text + (loc.end - loc.begin) - 1,
		.loc = loc,
		.type = type,
		.d = d};

	if (type == &p->bad_type)
		return NULL;
	if (type->kind != MLIR_TENSOR || is_dynamic(type)) {
		mlir_error(p, type_loc,
			"the type of dense<> must be a tensor of known sizes, found %s",
			type->text);
		return NULL;
	}
	r.element = number_of(p, type->element, &d->complex);
	d->type = type;
	d->is_float = r.element.kind == ELEMENT_FLOAT;
	if (r.element.kind == ELEMENT_OTHER || r.element.bits > 64 || !r.element.bits) {
		mlir_error(p, type_loc, "dense<> of elements of type %s is not supported",
			type->element);
		return NULL;
	}
	if (!read_elements(&r))
		return NULL;
	skip_blanks(&r);
	if (r.s < r.end) {
		dense_error(&r, "'>'");
		return NULL;
	}
	if (r.number.n) {
		d->n = r.number.n;
		d->number = ARENA_ARRAY(p->arena, union mlir_number, d->n);
		memcpy(d->number, r.number.at, (size_t)d->n * sizeof *d->number);
	}
	return d;
}

const struct mlir_dense *
mlir_dense_ints(struct mlir_parser *p, const int64_t *v, int n, int columns)
{
	struct mlir_dense *d = ARENA_NEW(p->arena, struct mlir_dense);
	struct mlir_type *t = ARENA_NEW(p->arena, struct mlir_type);
	int64_t *dim = ARENA_ARRAY(p->arena, int64_t, 2);

	dim[0] = n / columns;
	dim[1] = columns;
	*t = (struct mlir_type){.kind = MLIR_TENSOR,
		.dtype = (int8_t)ir_dtype_find("i64"),
		.rank = 2,
		.dim = dim,
		.element = ir_name(p->ctx, "i64")};
	char text[64];
	int length = snprintf(text, sizeof text, "tensor<%dx%dxi64>", n / columns, columns);
	t->text = ir_name_n(p->ctx, text, (size_t)length);
	*d = (struct mlir_dense){
		.type = t, .n = n, .number = ARENA_ARRAY(p->arena, union mlir_number, n + 1)};
	for (int i = 0; i < n; i++)
		d->number[i].i = v[i];
	return d;
}

void
mlir_array_push(struct mlir_parser *p, struct ir_loc loc)
{
	const char *text = mlir_text_at(p, loc), *end = text + (loc.end - loc.begin) - 1;
	const char *colon = memchr(text, ':', (size_t)(end - text));
	struct mlir_dense d = {0};
	struct dense r = {.p = p, .s = text + strlen("array<"), .end = end, .loc = loc, .d = &d};
	const char *element_end = colon ? colon : end;
	uint32_t n = 0;

	skip_blanks(&r);
	if (element_end < r.s) /* in a comment */
		element_end = r.s;
	while (element_end > r.s && (unsigned char)element_end[-1] <= ' ')
		element_end--;
	const char *name = ir_name_n(p->ctx, r.s, (size_t)(element_end - r.s));
	r.element = mlir_element_of(name);
	if (r.element.kind == ELEMENT_OTHER || r.element.bits > 64 || !r.element.bits) {
		mlir_error(p, loc,
			"the element type of array<> must be an integer or "
			"a float type, found '%s'",
			name);
		r.s = end;
	} else {
		r.s = colon ? colon + 1 : end;
	}
	skip_blanks(&r);
	while (r.s < r.end) {
		union mlir_number number;
		const char *begin = r.s;
		if (!read_number(&r, &number))
			break;
		mlir_attr_push(
			p, (struct mlir_attr){.kind = d.is_float || r.element.kind == ELEMENT_FLOAT
							      ? MLIR_FLOAT
						      : r.element.kind == ELEMENT_BOOL ? MLIR_BOOL
										       : MLIR_INT,
				   .loc = mlir_place(p, begin, (size_t)(r.s - begin)),
				   .i = number.i});
		n++;
		skip_blanks(&r);
		if (r.s < r.end && !accept(&r, ',')) {
			dense_error(&r, "',' or '>'");
			break;
		}
		skip_blanks(&r);
	}
	mlir_attr_group(p, MLIR_LIST, n, NULL, loc);
}
