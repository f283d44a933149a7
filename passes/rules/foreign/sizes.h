/*
 * Sizes of rules that are made, as text: linear in symbols, whose equations are solved for one of
 * them and which get names when they are first written.
 */
#ifndef PASSES_RULES_FOREIGN_SIZES_H
#define PASSES_RULES_FOREIGN_SIZES_H

#include <stdbool.h>

enum {
	SIZES_MOST = 256
}; /* symbols: sizes of inputs; two halves of each op, whenever it is seen */

/* constant + sum of coefficient * symbol */
struct size {
	int constant;
	int coefficient[SIZES_MOST];
};

struct symbol {
	const char *name; /* NULL: none yet */
	bool bound, is_half;
	struct size is; /* bound: it is this; is_half: half of this */
};

struct sizes {
	bool solving; /* equations, else they are left as they are */
	struct symbol symbol[SIZES_MOST];
	int n, nnames;
	void *scratch; /* owner of the texts */
};

struct size size_constant(int c);
/* x + factor * y */
struct size size_plus(struct size x, int factor, const struct size *y);

struct size sizes_symbol(struct sizes *z); /* a new one */
/* Is it a number, as far as equations are solved? */
bool sizes_constant(const struct sizes *z, struct size s, int *value);
void sizes_equate(struct sizes *z, const struct size *x, const struct size *y);
struct size sizes_half(struct sizes *z, struct size s);

/* The k-th of names of `letters` letters: a, b ... o, a1 ... */
const char *sizes_name(struct sizes *z, char first, int letters, int k);
const char *sizes_text(struct sizes *z, struct size s);
/* "[1,a,b]", with one more dim in front of dim `at`; at < 0: none. */
const char *sizes_shape(struct sizes *z, int rank, const struct size *dim, int at, int more);
/* Names are given again in the order of what is written next. */
void sizes_name_anew(struct sizes *z);

#endif
