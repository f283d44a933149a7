/*
 * Terms over symbolic sizes and positions, hash-consed: equal terms have the same number.
 *
 *     affine      c + sum of k v              a position or a size; v a variable or a product
 *     factor      access   x[e1,e2]           element of parameter x
 *                 apply    f(p, q)            a scalar function that no law takes apart
 *                 value    v                  a variable as a number: iota, sizes
 *                 at least [e >= 0]           1 or 0
 *                 reduce   max(k < e) p       and min, prod, argmax, argmin
 *     monomial    sum(k1 < e1, ...) f1 f2 ... factors sorted; bound variables with their ranges
 *     polynomial  sum of c m                  c rational
 *
 * An element of a tensor is a polynomial. Arithmetic is that of a commutative ring, with the laws
 * of scalar functions that laws.c lists; `bitwise` disables both, so that equal terms have equal
 * bits. Bound variables have names of their own until canonical() names them by their use.
 */
#ifndef PASSES_RULES_TERMS_H
#define PASSES_RULES_TERMS_H

#include "ir/base/vec.h"
#include "ir/ops/form.h"

#include <stdbool.h>
#include <stdint.h>

typedef int32_t term_id; /* 0: no term; terms->failed has the reason */

enum {
	TERMS_MOST = 1000000, /* limit for a rule in all its cases; a case has some hundreds */
	TERMS_ORDERS = 720,   /* limit on orders of bound variables that are used alike: 6! */
	TERMS_PRODUCT =
		4096,      /* most monomials of a product: of a published rule it has some tens */
	TERMS_FACTORS = 4, /* most variables in a product of sizes */
	TERMS_SMALL = 16,  /* cached constants: sizes of kernels, ones, zeros */
};

enum var_kind {
	VAR_SIZE,         /* at least `low` */
	VAR_INTEGER,      /* an integer attribute, of any value */
	VAR_REAL,         /* a real attribute of an op */
	VAR_NOT_NEGATIVE, /* a real attribute, at least 0 */
	VAR_INDEX,        /* a position of the result */
	VAR_BOUND,        /* summed over */
	VAR_NAMED,        /* a bound variable with its canonical name */
	VAR_DATA,         /* a position computed from an element: polynomial key[0] */
	VAR_PRODUCT,      /* product of the variables in key[] */
	VAR_QUOTIENT,     /* quotient of the affine forms key[0] and key[1], rounded down */
};

struct var {
	uint8_t kind;
	uint8_t nkeys;
	int64_t low;
	const char *name; /* name of sizes and attributes in the rule; NULL: none */
	int32_t key[TERMS_FACTORS];
	term_id form; /* linear_var of it; 0: not made yet */
};

enum term_node {
	NODE_AFFINE,
	NODE_ACCESS,
	NODE_APPLY,
	NODE_VALUE,
	NODE_AT_LEAST,
	NODE_REDUCE,
	NODE_MONOMIAL,
	NODE_POLYNOMIAL,
};

/* Functions in addition to those of scalar.def. */
enum {
	APPLY_RECIPROCAL = FN_COUNT,
	APPLY_IN_RANGE, /* 0 <= position < size */
	APPLY_OPAQUE,   /* a constant that is not a fraction of 64-bit integers */
	APPLY_MOVED,    /* the position from which an op moves an element, by names of lists */
	APPLY_CONVERT,  /* + 32 from + to, element types; from may be IR_NDTYPES, unknown */
};

/*
 * Element types to which a function is applied. Positions and sizes are representable in a signed
 * integer of 32 bits or more; arithmetic of any other integer may wrap around.
 */
enum apply_type {
	APPLY_REAL,
	APPLY_WIDE,    /* i32, i64 */
	APPLY_INTEGER, /* another integer, or a letter that stands for any */
	APPLY_NUMBER,
	APPLY_BOOL,
	APPLY_ANY
};

struct node {
	uint8_t kind;
	bool boolean; /* a factor that is 0 or 1 */
	int32_t n;    /* number of words */
	int64_t at;   /* the first word */
};

struct terms {
	struct VEC(struct node) node;
	struct VEC(int64_t) word;
	struct VEC(int64_t) stack; /* of terms being built */
	struct VEC(struct var) var;
	struct VEC(int32_t) table;     /* hash table of nodes */
	term_id constant[TERMS_SMALL]; /* cached constants 0, 1 ...; 0: not made yet */
	term_id one;                   /* the monomial 1; 0: not made yet */
	uint32_t used;
	bool bitwise;
	unsigned assumes; /* set of enum rule_assumes */
	const char *failed;
};

void terms_init(const void *owner, struct terms *t);
/* Removes all terms; keeps the memory. */
void terms_clear(struct terms *t);

static inline const int64_t *
term_words(const struct terms *t, term_id x)
{
	return t->word.at + t->node.at[x].at;
}

/* --- affine forms --- */

int32_t var_new(struct terms *t, enum var_kind kind, int64_t low, const char *name);
/* The variable with these keys; made if there is none. */
int32_t var_of(struct terms *t, enum var_kind kind, const int32_t *key, int n);

/* Does the variable stand for a position? Is it never negative? */
bool var_is_index(const struct terms *t, int32_t v);
bool var_has_low(const struct terms *t, int32_t v);
term_id linear_constant(struct terms *t, int64_t c);
term_id linear_var(struct terms *t, int32_t v);
term_id linear_add(struct terms *t, term_id a, term_id b, int64_t times); /* a + times b */
term_id linear_scale(struct terms *t, term_id a, int64_t times);
term_id linear_product(struct terms *t, term_id a, term_id b);
bool linear_is_constant(const struct terms *t, term_id a, int64_t *c);
int64_t linear_coefficient(const struct terms *t, term_id a, int32_t v);
/* Replaces variables v < nby by by[v]; 0: v is kept. */
term_id linear_replace(struct terms *t, term_id a, const term_id *by, int nby);

/* The constant of an affine form; the number of its variables; the i-th variable with its
 * factor. */
static inline int64_t
linear_rest(const struct terms *t, term_id a)
{
	return term_words(t, a)[0];
}
static inline int
linear_nvars(const struct terms *t, term_id a)
{
	return (t->node.at[a].n - 1) / 2;
}
static inline int32_t
linear_var_at(const struct terms *t, term_id a, int i, int64_t *factor)
{
	*factor = term_words(t, a)[2 + 2 * i];
	return (int32_t)term_words(t, a)[1 + 2 * i];
}

/* --- polynomials --- */

term_id poly_constant(struct terms *t, int64_t numerator, int64_t denominator);
/* A constant known only by its name. */
term_id poly_opaque(struct terms *t, int64_t name);
/* That number exactly; an opaque symbol if numerator and denominator do not fit. */
term_id poly_double(struct terms *t, double x);
term_id poly_affine(struct terms *t, term_id a); /* as a number */
term_id poly_access(struct terms *t, int input, const int32_t *position, int n, bool boolean);
term_id poly_at_least(struct terms *t, term_id a); /* [a >= 0], undecided */
term_id poly_add(struct terms *t, term_id p, term_id q);
term_id poly_sub(struct terms *t, term_id p, term_id q);
term_id poly_scale(struct terms *t, term_id p, int64_t numerator, int64_t denominator);
term_id poly_mul(struct terms *t, term_id p, term_id q);
/* The sum over v < range: times the range if v is not used. */
term_id poly_sum(struct terms *t, term_id p, int32_t v, term_id range);
/* Another reduction over v < range, of elements of that type. */
term_id poly_reduce(struct terms *t, enum form_reduce how, term_id p, int32_t v, term_id range,
	enum apply_type type);
/* Such a reduction, a maximum or minimum of real numbers, by laws of monotone functions; 0: none applies. */
term_id poly_reduce_monotone(struct terms *t, enum form_reduce how, term_id p, int32_t v,
	term_id range, enum apply_type type);
bool poly_is_constant(const struct terms *t, term_id p, int64_t *numerator, int64_t *denominator);
bool poly_is_integer(const struct terms *t, term_id p, int64_t value);
/* The monomial of a polynomial that is a single monomial with factor 1; otherwise 0. */
term_id poly_single(const struct terms *t, term_id p);
/* The only factor of a polynomial that is a single factor, without bound variables; otherwise 0. */
term_id poly_factor(const struct terms *t, term_id p);
term_id poly_of_factor(struct terms *t, term_id factor);
/* Does the term use the variable? */
bool term_uses(const struct terms *t, term_id x, int32_t v);

/* Names bound variables by their use: terms that are equal up to these names become equal. */
term_id poly_canonical(struct terms *t, term_id p);

/* f(arg[0], ...), by the laws of laws.c. */
term_id poly_apply(struct terms *t, int fn, const term_id *arg, int n, enum apply_type type);
/* The factor f(arg[0], ...), without applying laws. */
term_id poly_apply_plain(struct terms *t, int fn, const term_id *arg, int n);
/* Is p, computed with elements of that type, the number that it is in exact arithmetic? */
bool poly_is_exact(const struct terms *t, term_id p, enum apply_type type);
/* Is the function commutative? */
bool apply_commutes(const struct terms *t, int fn);
/* The monomial without factor `without`, and with variable `by` in place of v. */
term_id monomial_put(struct terms *t, term_id m, int64_t without, int32_t v, int32_t by);
/* The monomial with new names for its bound variables. */
term_id monomial_fresh(struct terms *t, term_id m);
/* The product of two monomials, by laws of products such as exp(a) exp(b). */
term_id monomial_product(struct terms *t, term_id a, term_id b);

/* Makes a node of the words on the stack from `mark` on, and pops them. */
term_id term_make(struct terms *t, enum term_node kind, int64_t mark, bool boolean);
/* The positions of a node's words that are terms: from *first on, every *step-th, before *end. */
void term_children(const struct terms *t, term_id x, int *first, int *step, int *end);
/* Pushes monomial m with factor n/d, reduced; nothing if n is 0. */
void poly_push(struct terms *t, int64_t m, int64_t n, int64_t d);
#define TERM_PUSH(t, w) VEC_PUSH(NULL, &(t)->stack, (w))
void linear_print(FILE *out, const struct terms *t, term_id a);
void poly_print(FILE *out, const struct terms *t, term_id p);
term_id term_fail(struct terms *t, const char *why);

#endif
