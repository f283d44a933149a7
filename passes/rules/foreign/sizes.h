/*
 * Sizes of generated rules, as text: linear in symbols. Equations are solved for one of their
 * symbols; symbols get names when they are first written.
 */
#ifndef PASSES_RULES_FOREIGN_SIZES_H
#define PASSES_RULES_FOREIGN_SIZES_H

#include <stdbool.h>

enum {
	SIZES_MOST = 256
}; /* most symbols: sizes of inputs, and two halves for each op, whenever it is visited */

/* constant + sum of coefficient * symbol */
struct size {
	int constant;
	int coefficient[SIZES_MOST];
};

struct symbol {
	const char *name; /* NULL: none yet */
	bool bound, is_half;
	struct size is; /* bound: replaced by this; is_half: half of this */
};

struct sizes {
	bool solving; /* false: equations are not solved */
	struct symbol symbol[SIZES_MOST];
	int n, nnames;
	void *scratch; /* owner of the texts */
};

struct size size_constant(int c);
/* x + factor * y */
struct size size_plus(struct size x, int factor, const struct size *y);

struct size sizes_symbol(struct sizes *z); /* a new symbol */
/* Is the size a number, given the equations solved so far? */
bool sizes_constant(const struct sizes *z, struct size s, int *value);
void sizes_equate(struct sizes *z, const struct size *x, const struct size *y);
struct size sizes_half(struct sizes *z, struct size s);

/* The k-th name made with `letters` letters: a, b ... o, a1 ... */
const char *sizes_name(struct sizes *z, char first, int letters, int k);
const char *sizes_text(struct sizes *z, struct size s);
/* "[1,a,b]", with an additional dim before dim `at`; at < 0: without. */
const char *sizes_shape(struct sizes *z, int rank, const struct size *dim, int at, int more);
/* Forgets the names, so that they are given in the order of what is written next. */
void sizes_name_anew(struct sizes *z);

#endif
