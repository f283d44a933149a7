/*
 * What the files of the folder share. See band.h.
 *
 *     pairs.c      bands as pairs of dimensions or of indices, and from one to the other
 *     position.c   sums of positions, and the band that a comparison of two gives
 *     body.c       what the body of an op is outside of a band
 *     facts.c      what is known of values: from the first op of the module to the last
 *     readers.c    which bands readers of values know: from the last to the first; who reads outside
 *     product.c    what counts of a product
 */
#ifndef IR_BAND_INTERNAL_H
#define IR_BAND_INTERNAL_H

#include "ir/base/map.h"
#include "ir/base/vec.h"
#include "ir/loops/band/band.h"

enum {
	WALK_READERS =
		96,     /* of one question: attention has about 40 between a mask and a gradient */
	WALK_BANDS = 3, /* of one value */
	WALK_CANDIDATES = 8,
	WALK_FAR = 1 << 24 /* positions and their distances: no sum of two leaves an i32 */
};

/* --- what is known --- */

/* What a value is outside of a band. */
struct outside {
	bool known; /* it is `number` */
	bool taint; /* it depends on the value whose readers are looked at */
	double number;
	uint32_t dims; /* set: what it depends on; indices of an op, or dimensions of a value */
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

/* Bands of two dimensions of a value, outside of which it may be unread, in ascending order. */
struct candidates {
	struct band at[WALK_CANDIDATES];
	int n;
};

/* One of the two ways to look at a module: what is known, or also what a program can test. */
struct band_view {
	bool made;
	const struct fact **fact;       /* by value->id; NULL: nothing is known */
	struct candidates **candidates; /* the same; NULL: none */
};

/* What was found of a product. */
struct product_bands {
	int n;
	struct band_product found[3];
	double share;
	uint32_t number; /* of these numbers: band_number */
};

struct bands {
	const struct ir_module *m;
	struct arena *a, *scratch; /* what stays; forms, until the next op or question */
	uint32_t nvalues, nops;    /* ids are below: what is made later is not remembered */
	struct band_view view[2];  /* [hopeful] */
	struct map map;            /* products of the module */
	struct {
		struct VEC(const struct ir_op *) op;
		struct VEC(struct product_bands) bands;
	} product;
	struct VEC(struct product_bands) kind; /* the different ones, from number 1 on */
	/* The ops of the module that a kernel of copies stands for; NULL: none. */
	const struct ir_op *copy;
	struct ir_op *const *original;
	uint32_t noriginals;
	const bool *out;
};

/* --- a question --- */

struct known {
	const struct ir_value *value;
	const struct fact *fact;
};

struct walk {
	struct bands *b;
	bool hopeful; /* all that could be tested is 0, wherever it is read */
	struct knowns VEC(struct known) known; /* of values that are not remembered */
	struct map map;
	int readers;
	const struct ir_op *kernel; /* whose operands are taken as 0 where they can be tested; or
				       NULL */
	int ntests;
	struct band_test test[BAND_MAX_TESTS];
};

struct walk band_walk(struct bands *b, bool hopeful);

/* The op whose body is looked at, and the band of its indices outside of which. */
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
bool band_within(const struct band *a, const struct band *b); /* all of a is inside of b */
int band_order(const struct band *a, const struct band *b);   /* as of qsort */
struct band band_rest(const struct band *b);                  /* of one that is open on one side */

/* The indices with which an access reads the dimensions of a band, false where they are no two
 * loops; and back. */
bool band_of_indices(
	const struct form *f, const struct form_access *x, const struct band *b, struct band *to);
bool band_of_dims(const struct form_access *x, const struct band *b, struct band *to);

/* The indices of a set of dimensions, and back. */
uint32_t band_indices(const struct form_access *x, uint32_t dims);
uint32_t band_dims(const struct form_access *x, uint32_t indices);

/* The same of a reshaped value, whose last dimensions did not change. */
bool band_reshaped(const struct ir_type *from, const struct ir_type *to, const struct band *b,
	struct band *out);
uint32_t band_reshaped_dims(const struct ir_type *from, const struct ir_type *to, uint32_t dims);

/* --- position.c --- */

/* Adds `factor` times an expression, if it is a sum of positions. */
bool affine_add(const struct place *p, const struct expr *e, int64_t factor, struct affine *sum);

/* A sum in which nothing wraps: each position counts once, and all are small. */
bool affine_is_small(const struct place *p, const struct affine *sum);

/* The band in which a comparison of positions is true: of two indices, one taken from the other. */
bool band_compared(const struct place *p, const struct expr *e, struct band *b);

/* --- body.c --- */

struct outside outside_number(double x);
bool outside_is(struct outside x, double n);

/* What an expression of an op is outside of the band. What is known depends on nothing. */
struct outside band_body(const struct place *p, const struct expr *e);

/* Does it have one value in each row, or in each column? */
bool band_is_uniform(const struct fact_band *b);

/* Has a program a test of floats whether a value is 0 outside of the band? */
bool band_may_test(const struct ir_type *t, const struct fact_band *b);

/* --- facts.c --- */

/* The form of an op that works on elements of one place, of whole sizes. */
bool band_form(struct bands *b, const struct ir_op *op, struct form *f);

/* What is known of a value; never NULL. */
const struct fact *band_fact(struct walk *w, const struct ir_value *v);

/* Of all values of the module. */
void band_find_facts(struct bands *b, bool hopeful);

/* Can the op know a band: does it read positions or bands? */
bool band_is_near(struct walk *w, const struct ir_op *op);

/* Lists the test that an operand of the kernel is 0 outside of one of its bands; false where there
 * is none: each place must have all of its rows and columns. */
bool band_add_test(const struct ir_module *m, struct band_test *list, int *n, int operand,
	const struct ir_type *t, const struct fact_band *b);

/* --- readers.c --- */

/* Bands that readers of values know, of all values of the module. */
void band_find_candidates(struct bands *b, bool hopeful);

/* The same of one value. */
void band_candidates(struct walk *w, const struct ir_value *v, struct candidates *c);

/* Is v not read outside of the band, or only multiplied by 0? */
bool band_is_unread(struct walk *w, const struct ir_value *v, const struct band *b);

#endif
