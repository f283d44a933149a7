/*
 * Sizes of generated rules: sizes.h. An equation is solved for a symbol that occurs in it once; if
 * there is none, the sizes are unknown.
 */
#include "passes/rules/foreign/sizes.h"

#include "ir/base/alloc.h"

#include <assert.h>
#include <stdlib.h>

struct size
size_constant(int c)
{
	struct size s = {.constant = c};

	return s;
}

static struct size
size_symbol(int i)
{
	struct size s = {0};

	s.coefficient[i] = 1;
	return s;
}

static int
new_symbol(struct sizes *z)
{
	assert(z->n < SIZES_MOST);
	return z->n++;
}

struct size
sizes_symbol(struct sizes *z)
{
	return size_symbol(new_symbol(z));
}

struct size
size_plus(struct size x, int factor, const struct size *y)
{
	x.constant += factor * y->constant;
	for (int i = 0; i < SIZES_MOST; i++)
		x.coefficient[i] += factor * y->coefficient[i];
	return x;
}

/* Replaces bound symbols. */
static struct size
resolve(const struct sizes *z, struct size s)
{
	for (int i = 0; i < z->n; i++) {
		const int factor = s.coefficient[i];
		if (!factor || !z->symbol[i].bound)
			continue;
		s.coefficient[i] = 0;
		s = size_plus(s, factor, &z->symbol[i].is);
		i = -1;
	}
	return s;
}

bool
sizes_constant(const struct sizes *z, struct size s, int *value)
{
	s = resolve(z, s);
	*value = s.constant;
	for (int i = 0; i < z->n; i++)
		if (s.coefficient[i])
			return false;
	return true;
}

/* Solves s = 0 for a symbol that occurs in it once; if there is none, the sizes are unknown. */
static void
make_zero(struct sizes *z, struct size s)
{
	s = resolve(z, s);
	for (int i = z->n - 1; i >= 0; i--) {
		const int factor = s.coefficient[i];
		if (factor != 1 && factor != -1)
			continue;
		s.coefficient[i] = 0;
		z->symbol[i].is = size_plus(size_constant(0), -factor, &s);
		z->symbol[i].bound = true;
		return;
	}
}

void
sizes_equate(struct sizes *z, const struct size *x, const struct size *y)
{
	if (z->solving)
		make_zero(z, size_plus(*x, -1, y));
}

struct size
sizes_half(struct sizes *z, struct size s)
{
	bool odd = false;

	s = resolve(z, s);
	odd = s.constant % 2;
	for (int i = 0; i < z->n; i++)
		odd = odd || s.coefficient[i] % 2;
	if (odd) {
		const int k = new_symbol(z);
		const struct size made = size_symbol(k);
		int rest;
		if (z->solving)
			make_zero(z, size_plus(s, -2, &made));
		if (!sizes_constant(z, size_plus(s, -2, &made), &rest) || rest)
			z->symbol[k] = (struct symbol){.is_half = true, .is = s};
		return made;
	}
	s.constant /= 2;
	for (int i = 0; i < z->n; i++)
		s.coefficient[i] /= 2;
	return s;
}

const char *
sizes_name(struct sizes *z, char first, int letters, int k)
{
	const char letter = (char)(first + k % letters);

	return k < letters ? TEXT(z->scratch, "%c", letter)
			   : TEXT(z->scratch, "%c%d", letter, k / letters);
}

static const char *
symbol_text(struct sizes *z, int i)
{
	struct symbol *s = &z->symbol[i];

	if (s->is_half)
		return TEXT(z->scratch, "(%s) / 2", sizes_text(z, s->is));
	if (!s->name)
		s->name = sizes_name(z, 'a', 'p' - 'a', z->nnames++);
	return s->name;
}

const char *
sizes_text(struct sizes *z, struct size s)
{
	char *text = text_copy(z->scratch, "");

	s = resolve(z, s);
	for (int i = 0; i < z->n; i++) {
		const int c = s.coefficient[i];
		if (!c)
			continue;
		text = text_append(text, "%s", c < 0 ? (*text ? " - " : "-") : *text ? " + " : "");
		if (abs(c) != 1)
			text = text_append(text, "%d * ", abs(c));
		text = text_append(text, "%s", symbol_text(z, i));
	}
	if (!*text)
		return text_append(text, "%d", s.constant);
	if (s.constant)
		text = text_append(text, s.constant < 0 ? " - %d" : " + %d", abs(s.constant));
	return text;
}

const char *
sizes_shape(struct sizes *z, int rank, const struct size *dim, int at, int more)
{
	char *text = text_copy(z->scratch, "[");

	for (int i = 0; i <= rank; i++) {
		if (i == at)
			text = text_append(text, "%s%d", i ? "," : "", more);
		if (i < rank)
			text = text_append(
				text, "%s%s", i || at == 0 ? "," : "", sizes_text(z, dim[i]));
	}
	return text_append(text, "]");
}

void
sizes_name_anew(struct sizes *z)
{
	for (int i = 0; i < z->n; i++)
		z->symbol[i].name = NULL;
	z->nnames = 0;
}
