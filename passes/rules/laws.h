/*
 * What the laws of scalar functions (laws.c) and those of maxima and comparisons (order.c) use of each other. Terms are made
 * in t; 0: no term, t->failed has the reason. Assumptions of a law are added to t->assumes.
 */
#ifndef PASSES_RULES_LAWS_H
#define PASSES_RULES_LAWS_H

#include "passes/rules/terms.h"

/* --- laws.c --- */

/* If a polynomial is an application: its function, and its first argument; otherwise -1. */
int poly_applied(const struct terms *t, term_id p, term_id *arg);
bool factor_applies(const struct terms *t, int64_t f, int fn);
bool monomial_has(const struct terms *t, term_id m, int64_t factor);
/* The monomial without one occurrence of a factor. */
term_id monomial_without(struct terms *t, term_id m, int64_t factor);
/* Does x use a variable over which the monomial is summed? */
bool monomial_binds(const struct terms *t, term_id m, term_id x);
/* The polynomial with each monomial replaced by f of it. */
term_id poly_map(
	struct terms *t, term_id p, term_id (*f)(struct terms *, term_id, int64_t), int64_t data);
term_id poly_exponential(struct terms *t, term_id x);
/* A function of truth values, as a polynomial in 0 and 1; 1 - p. */
term_id apply_logic(struct terms *t, int fn, term_id p, term_id q);
term_id poly_negated(struct terms *t, term_id p);

/* --- order.c --- */

/* Does it have any factor but sizes and positions? */
bool poly_has_elements(const struct terms *t, term_id p);
/* Is the coefficient of the first term negative? Then -p is the canonical one of p and -p. */
bool poly_is_negative(const struct terms *t, term_id p);
/* Is it, of that type, a NaN or at least 0? */
bool poly_is_not_negative(const struct terms *t, term_id p, enum apply_type type);
/* The maximum or minimum of two. */
term_id poly_extreme(struct terms *t, int fn, term_id p, term_id q, enum apply_type type);
/* fn = FN_lt, FN_eq */
term_id poly_compared(struct terms *t, int fn, term_id p, term_id q, enum apply_type type);
/* A NaN is not less, equal or greater: assumes that there is none. */
void apply_ordered(struct terms *t, enum apply_type type);
/* a < b ? a : b is the minimum of a and b, and so on; 0: it is not of this kind. */
term_id poly_selected(struct terms *t, term_id p, term_id a, term_id b, enum apply_type type);

#endif
