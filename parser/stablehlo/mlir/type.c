/* Types from their texts. A text is read once; texts that differ only in blanks are one type. */
#include "parser/stablehlo/mlir/parser.h"

#include "parser/stablehlo/mlir/number.h"

#include <ctype.h>
#include <string.h>

/* A type being read. */
struct reader {
	struct mlir_parser *p;
	const char *s, *end; /* what is left */
	struct ir_loc loc;   /* of the token, for messages */
	bool failed;
};

static void
type_error(struct reader *r, const char *what)
{
	int n = (int)(r->end - r->s > 40 ? 40 : r->end - r->s);

	if (!r->failed)
		mlir_error(r->p, r->loc, "%s, found %s%.*s%s", what,
			n ? "'" : "the end of the type", n, r->s, n ? "'" : "");
	r->failed = true;
}

static void
skip_blanks(struct reader *r)
{
	while (r->s < r->end && isspace((unsigned char)*r->s))
		r->s++;
}

static bool
accept(struct reader *r, const char *text)
{
	size_t n = strlen(text);

	skip_blanks(r);
	if ((size_t)(r->end - r->s) < n || memcmp(r->s, text, n) != 0)
		return false;
	r->s += n;
	return true;
}

/* Passes over a text up to a comma or a bracket that closes, outside inner brackets. */
static const char *
skip_nested(struct reader *r)
{
	int depth = 0;

	for (const char *s = r->s; s < r->end; s++) {
		if (*s == '"') {
			for (s++; s < r->end && *s != '"'; s++)
				s += *s == '\\';
		} else if (*s == '-' && s + 1 < r->end && s[1] == '>') {
			s++;
		} else if (strchr("<([{", *s)) {
			depth++;
		} else if (strchr(">)]}", *s) && depth-- == 0) {
			return s;
		} else if (*s == ',' && depth == 0) {
			return s;
		}
	}
	return r->end;
}

/*
 * An IR element type, or -1: i1 is bool; si8 and i8 are i8, ui8 is u8. Types of less than 8 bits, and
 * floats of 8 that JAX has, are kept in wider ones: the importer rounds (import/ops/narrow.c).
 */
static int
dtype_of(const char *element)
{
	char name[16];
	const struct mlir_element e = mlir_element_of(element);

	if (e.kind == ELEMENT_BOOL)
		return ir_dtype_find("bool");
	if (e.kind == ELEMENT_FLOAT && e.bits == 8 && e.exponent)
		return ir_dtype_find("f32");
	if (e.kind != ELEMENT_INT && e.kind != ELEMENT_UINT)
		return ir_dtype_find(element);
	if (e.bits > 64 || !e.bits || !strcmp(element, "index"))
		return -1;
	snprintf(name, sizeof name, "%c%u", e.kind == ELEMENT_UINT ? 'u' : 'i',
		e.bits == 2 || e.bits == 4 ? 8 : e.bits);
	return ir_dtype_find(name);
}

static bool
is_element(const char *element)
{
	return mlir_element_of(element).kind != ELEMENT_OTHER || !strncmp(element, "complex<", 8) ||
	       *element == '!' || !strncmp(element, "vector<", 7) || !strcmp(element, "none");
}

/* Reads "4x?x" into dim[], if not NULL; returns the number of dims. */
static uint32_t
read_dims(struct reader *r, int64_t *dim)
{
	uint32_t n = 0;

	for (;; n++) {
		skip_blanks(r);
		const char *s = r->s;
		int64_t size = MLIR_DYNAMIC;
		if (s < r->end && *s == '?') {
			s++;
		} else if (s < r->end && isdigit((unsigned char)*s)) {
			struct mlir_number_text number = {0};
			for (; s < r->end && isdigit((unsigned char)*s); s++) {
				number.overflow |= number.bits > INT64_MAX / 10 - 1;
				number.bits = number.bits * 10 + (uint64_t)(*s - '0');
			}
			if (number.overflow) {
				type_error(r, "expected a size below 2^63");
				return n;
			}
			size = (int64_t)number.bits;
		} else {
			return n;
		}
		while (s < r->end && isspace((unsigned char)*s))
			s++;
		if (s >= r->end || *s != 'x') {
			type_error(r, "expected 'x' and an element type after a size");
			return n;
		}
		r->s = s + 1;
		if (dim)
			dim[n] = size;
	}
}

static bool
too_large(const struct mlir_type *t)
{
	uint64_t n = 1;

	for (int i = 0; i < t->rank; i++)
		if (t->dim[i] > 0 && __builtin_mul_overflow(n, (uint64_t)t->dim[i], &n))
			return true;
	return n > INT64_MAX / 16; /* sizes in bytes fit too */
}

static void
read_tensor(struct reader *r, struct mlir_type *t)
{
	struct reader count = *r;
	uint32_t rank = read_dims(&count, NULL);

	t->kind = MLIR_TENSOR;
	r->failed = r->failed || count.failed;
	if (rank > UINT16_MAX)
		type_error(r, "expected fewer dims");
	if (r->failed)
		return;
	if (accept(r, "*")) { /* unranked */
		t->kind = MLIR_OTHER;
		r->s = skip_nested(r);
	} else {
		int64_t *dim = ARENA_ARRAY(r->p->arena, int64_t, rank + 1);
		t->rank = (uint16_t)read_dims(r, dim);
		t->dim = dim;
		skip_blanks(r);
		const char *end = skip_nested(r), *last = end;
		while (last > r->s && isspace((unsigned char)last[-1]))
			last--;
		t->element = ir_name_n(r->p->ctx, r->s, (size_t)(last - r->s));
		if (!is_element(t->element))
			type_error(r, "expected an element type");
		t->dtype = (int8_t)dtype_of(t->element);
		r->s = end;
		if (!r->failed && too_large(t))
			type_error(r, "expected fewer elements than 2^59");
	}
	if (accept(r, ","))
		r->s = skip_nested(r); /* an encoding: bounds of dynamic sizes */
	if (!accept(r, ">"))
		type_error(r, "expected '>'");
}

/* A function, so that the type is read before: reading pushes and pops, too, and may move the
 * stack. */
void
mlir_push_type(struct mlir_parser *p, const struct mlir_type *t)
{
	VEC_PUSH(p, &p->type, t);
}

static const struct mlir_type *read_type(struct reader *r, int depth);

static void
read_tuple(struct reader *r, struct mlir_type *t, int depth)
{
	const int64_t from = r->p->type.n;

	t->kind = MLIR_TUPLE;
	while (!r->failed && !accept(r, ">")) {
		if (r->p->type.n > from && !accept(r, ","))
			type_error(r, "expected ',' or '>'");
		else
			mlir_push_type(r->p, read_type(r, depth + 1));
	}
	const int64_t n = r->p->type.n - from;
	if (n > UINT16_MAX)
		type_error(r, "expected fewer items");
	const struct mlir_type **item = ARENA_ARRAY(r->p->arena, const struct mlir_type *, n + 1);
	if (n)
		memcpy(item, VEC_TOP(&r->p->type, n), (size_t)n * sizeof *item);
	r->p->type.n = from;
	t->item = item;
	t->nitems = (uint16_t)n;
}

/* The word and `<`, perhaps with blanks between. */
static bool
accept_open(struct reader *r, const char *word)
{
	struct reader ahead = *r;

	if (!accept(&ahead, word) || !accept(&ahead, "<"))
		return false;
	*r = ahead;
	return true;
}

static const struct mlir_type *
read_type(struct reader *r, int depth)
{
	struct mlir_type *t = ARENA_NEW(r->p->arena, struct mlir_type);
	const char *begin;

	skip_blanks(r);
	begin = r->s;
	t->dtype = -1;
	if (depth > MLIR_MAX_DEPTH) {
		type_error(r, "nested too deeply");
	} else if (accept_open(r, "tensor")) {
		read_tensor(r, t);
	} else if (accept_open(r, "tuple")) {
		read_tuple(r, t, depth);
	} else {
		const char *end = skip_nested(r);
		t->element = ir_name_n(r->p->ctx, begin, (size_t)(end - begin));
		t->dtype = (int8_t)dtype_of(t->element);
		t->kind = mlir_element_of(t->element).kind != ELEMENT_OTHER ? MLIR_SCALAR
									    : MLIR_OTHER;
		if (end == begin)
			type_error(r, "expected a type");
		r->s = end;
	}
	t->text = ir_name_n(r->p->ctx, begin, (size_t)(r->s - begin));
	return r->failed ? &r->p->bad_type : t;
}

/* The text without blanks outside strings; NULL if it contains none. */
static const char *
without_blanks(struct mlir_parser *p, const char *text, size_t *n)
{
	size_t i = 0, length = 0;

	while (i < *n && !isspace((unsigned char)text[i]))
		i++;
	if (i == *n)
		return NULL;
	char *out = arena_alloc(p->scratch, *n + 1);
	bool quoted = false;
	for (i = 0; i < *n; i++) {
		quoted ^= text[i] == '"';
		if (quoted || !isspace((unsigned char)text[i]))
			out[length++] = text[i];
	}
	*n = length;
	return out;
}

const struct mlir_type *
mlir_type_of(struct mlir_parser *p, struct mlir_symbol *s, struct ir_loc loc)
{
	if (s->type)
		return s->type;
	size_t n = s->n;
	const char *text = without_blanks(p, s->text, &n);
	struct mlir_symbol *same = text ? mlir_symbol_find(p, text, n) : s;
	if (!same->type) {
		struct reader r = {.p = p, .s = s->text, .end = s->text + s->n, .loc = loc};
		same->type = read_type(&r, 0);
		skip_blanks(&r);
		if (r.s < r.end)
			type_error(&r, "expected the end of the type");
	}
	s->type = same->type;
	return s->type;
}

const struct mlir_type *
mlir_type_make(struct mlir_parser *p, const char *text)
{
	const char *copy = arena_strndup(p->scratch, text, strlen(text));

	return mlir_type_of(p, mlir_symbol_find(p, copy, strlen(copy)), LOC_NONE);
}

const struct mlir_type *
mlir_type_function(
	struct mlir_parser *p, const struct mlir_type *const *item, uint32_t nin, uint32_t nout)
{
	struct mlir_type *t = ARENA_NEW(p->arena, struct mlir_type);
	const struct mlir_type **copy =
		ARENA_ARRAY(p->arena, const struct mlir_type *, nin + nout + 1);
	size_t length = strlen("() -> ()") + 1, at = 0;

	for (uint32_t i = 0; i < nin + nout; i++) {
		copy[i] = item[i];
		length += strlen(item[i]->text) + 2;
	}
	char *text = arena_alloc(p->scratch, length);
	text[at++] = '(';
	for (uint32_t i = 0; i <= nin + nout; i++) {
		if (i == nin) {
			memcpy(text + at, ") -> (", 6);
			at += 6;
		}
		if (i == nin + nout)
			break;
		if (i != 0 && i != nin) {
			text[at++] = ',';
			text[at++] = ' ';
		}
		size_t n = strlen(item[i]->text);
		memcpy(text + at, item[i]->text, n);
		at += n;
	}
	text[at++] = ')';
	if (nin + nout > UINT16_MAX)
		return &p->bad_type;
	*t = (struct mlir_type){.kind = MLIR_FUNCTION,
		.dtype = -1,
		.item = copy,
		.nitems = (uint16_t)(nin + nout),
		.ninputs = (uint16_t)nin,
		.text = ir_name_n(p->ctx, text, at)};
	return t;
}
