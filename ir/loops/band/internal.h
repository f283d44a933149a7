/*
 * Shared by the files of the folder. See band.h.
 *
 *     pairs.c      bands as pairs of dimensions or of indices, and from one to the other
 *     position.c   sums of positions, and the band that a comparison of two gives
 *     body.c       the value of the body of an op outside a band
 *     facts.c      what is known of values: from the first op of the module to the last
 *     readers.c    bands that readers of values know: from the last op to the first; reads outside
 *     product.c    the needed part of a product
 */
#ifndef IR_BAND_INTERNAL_H
#define IR_BAND_INTERNAL_H

#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "ir/loops/band/band.h"

enum {
	WALK_READERS = 96, /* of one query: attention has about 40 between a mask and a gradient */
	WALK_BANDS = 3,    /* of one value */
	WALK_CANDIDATES = 8,
	WALK_FAR = 1 << 24 /* positions and their distances: sums of two fit in an i32 */
};

/* --- what is known --- */

/* The value outside a band. */
struct outside {
	bool known; /* it is `number` */
	bool taint; /* it depends on the value whose readers are examined */
	double number;
	uint32_t dims; /* set of indices of an op, or dimensions of a value, that it depends on */
};

struct fact_band {
	struct band band;
	struct outside out;
};

struct fact {
	bool same; /* all elements are `number` */
	double number;
	bool affine; /* of an integer type: a sum of positions and a number */
	int64_t coef[IR_MAX_RANK], base;
	int nbands;
	struct fact_band band[WALK_BANDS];
};

/* Bands of two dimensions of a value outside which it may be unread, in ascending order. */
struct candidates {
	struct band at[WALK_CANDIDATES];
	int n;
};

/* One of the two views of a module: known facts only, or also those a program can test. */
struct band_view {
	bool made;
	const struct fact **fact;       /* by value->id; NULL: nothing is known */
	struct candidates **candidates; /* the same; NULL: none */
};

/* The bands found for a product. */
struct product_bands {
	int n;
	struct band_product found[3];
	double share;
	uint32_t number; /* result of band_number */
};

struct bands {
	const struct ir_module *m;
	struct arena *a, *scratch; /* permanent data; forms, until the next op or query */
	uint32_t nvalues, nops;    /* limits of ids: values and ops made later are not remembered */
	struct band_view view[2];  /* [hopeful] */
	struct map map;            /* products of the module */
	struct {
		struct VEC(const struct ir_op *) op;
		struct VEC(struct product_bands) bands;
	} product;
	struct VEC(struct product_bands) kind; /* distinct ones, numbered from 1 */
	/* The ops of the module that a kernel of copies replaces; NULL: none. */
	const struct ir_op *copy;
	struct ir_op *const *original;
	uint32_t noriginals;
	const bool *out;
};

/* --- a query --- */

struct known {
	const struct ir_value *value;
	const struct fact *fact;
};

struct walk {
	struct bands *b;
	bool hopeful; /* assume that all testable values are 0 outside their bands */
	struct knowns VEC(struct known) known; /* of values that are not remembered */
	struct map map;
	int readers;
	const struct ir_op *kernel; /* whose operands are assumed to be 0 where they can be
				       tested; or NULL */
	int ntests;
	struct band_test test[BAND_MAX_TESTS];
};

struct walk band_walk(struct bands *b, bool hopeful);

/* The op whose body is evaluated, and the band of its indices outside which this is done. */
struct place {
	struct walk *w;
	const struct ir_op *op;
	const struct form *f;
	struct band band;
	const struct ir_value *taint; /* operands that are this value; NULL: none */
};

/* A sum of indices and a number. */
struct affine {
	int64_t coef[FORM_MAX_INDICES], base;
};

/* --- pairs.c --- */

/* The band of two dimensions or indices, in the order in which all bands are kept. */
struct band band_make(int row, int col, int64_t low, int64_t high);
bool band_same_pair(const struct band *a, const struct band *b);
bool band_within(const struct band *a, const struct band *b); /* all of a is inside b */
int band_order(const struct band *a, const struct band *b);   /* as for qsort */
struct band band_rest(const struct band *b);                  /* outside a half-open band */

/* The band of the indices with which an access reads the dimensions of a band; false if they are
 * not two loops. And the reverse. */
bool band_of_indices(
	const struct form *f, const struct form_access *x, const struct band *b, struct band *to);
bool band_of_dims(const struct form_access *x, const struct band *b, struct band *to);

/* The indices of a set of dimensions, and the reverse. */
uint32_t band_indices(const struct form_access *x, uint32_t dims);
uint32_t band_dims(const struct form_access *x, uint32_t indices);

/* The same for a reshaped value, as far as its last dimensions did not change. */
bool band_reshaped(const struct ir_type *from, const struct ir_type *to, const struct band *b,
	struct band *out);
uint32_t band_reshaped_dims(const struct ir_type *from, const struct ir_type *to, uint32_t dims);

/* --- position.c --- */

/* Adds `factor` times an expression, if it is a sum of positions. */
bool affine_add(const struct place *p, const struct expr *e, int64_t factor, struct affine *sum);

/* Does the sum not overflow: has each position coefficient 1 or -1, and are all small? */
bool affine_is_small(const struct place *p, const struct affine *sum);

/* The band in which a comparison of positions is true; they must be a difference of two indices. */
bool band_compared(const struct place *p, const struct expr *e, struct band *b);

/* --- body.c --- */

struct outside outside_number(double x);
bool outside_is(struct outside x, double n);

/* The value of an expression of an op outside the band. A known value depends on no dimension. */
struct outside band_body(const struct place *p, const struct expr *e);

/* Is the value outside the band uniform in each row, or in each column? */
bool band_is_uniform(const struct fact_band *b);

/* Can a program test whether a value of type t is 0 outside the band? */
bool band_may_test(const struct ir_type *t, const struct fact_band *b);

/* --- facts.c --- */

/* The form, with whole sizes, of an op that works on elements of one place. */
bool band_form(struct bands *b, const struct ir_op *op, struct form *f);

/* What is known of a value; never NULL. */
const struct fact *band_fact(struct walk *w, const struct ir_value *v);

/* Finds the facts of all values of the module. */
void band_find_facts(struct bands *b, bool hopeful);

/* Can the op introduce or pass on a band: does it read positions or bands? */
bool band_is_near(struct walk *w, const struct ir_op *op);

/* Lists the test that an operand of the kernel is 0 outside one of its bands; false if there is
 * none: each place must have all of its rows and columns. */
bool band_add_test(const struct ir_module *m, struct band_test *list, int *n, int operand,
	const struct ir_type *t, const struct fact_band *b);

/* --- readers.c --- */

/* Finds the bands that readers know, for all values of the module. */
void band_find_candidates(struct bands *b, bool hopeful);

/* The same for one value. */
void band_candidates(struct walk *w, const struct ir_value *v, struct candidates *c);

/* Is v, outside the band, not read or only multiplied by 0? */
bool band_is_unread(struct walk *w, const struct ir_value *v, const struct band *b);

#endif
