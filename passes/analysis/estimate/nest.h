/*
 * The work of a kernel, loop by loop, before it is built: read off its scheme (ir/loops/scheme.h),
 * from which both targets are generated. Numbers are for one run at one place.
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_NEST_H
#define PASSES_ANALYSIS_ESTIMATE_NEST_H

#include "ir/ir.h"

struct arena;

/* How a loop accesses a tensor: independent of it, contiguously, strided, or at computed positions
 * (rows by number). */
enum nest_walk { NEST_STAYS, NEST_NEXT, NEST_STRIDES, NEST_COMPUTED, NEST_WALKS };

/* Classes of arithmetic with equal cost. */
enum nest_work { NEST_CHEAP, NEST_DIVISION, NEST_CALL, NEST_RANDOM, NEST_WORKS };

enum nest_place {
	NEST_NOWHERE, /* a constant held by its readers, a reshape */
	NEST_PRODUCT, /* a call of the matrix library */
	NEST_LIBRARY, /* a call of the library of convolutions */
	NEST_LOOPS,
	NEST_ALONE, /* loops not shared with other ops: it writes at computed positions, or sums up
		       along one */
	NEST_OWN,   /* functions of its own */
	NEST_PLACES
};

struct nest_op {
	enum nest_place place;
	int stage;      /* stage of its segment; -1: before the loops */
	double points;  /* how often it is computed; the multiplications of a product */
	double inner;   /* iterations of its innermost loop */
	double entries; /* how often that loop is entered; calls of a library */
	bool simd;      /* the innermost loop may be vectorized */
	bool tiled;     /* two loops are tiled */
	bool sums;      /* into an accumulator of the innermost loops */
	bool adds;      /* to memory or a row, at each point */
	uint8_t memory[NEST_WALKS], rows, locals; /* accesses at each point, by kind */
	bool stores, keeps;                       /* its value in memory; in a row buffer */
	enum nest_walk store;
	uint8_t tests;           /* positions that may be out of bounds */
	double work[NEST_WORKS]; /* scalar functions at each point */
};

struct nest {
	uint32_t n; /* ops of the body in order; 1 for a kernel of one op */
	struct nest_op *op;
	uint32_t segments, stages;
	double touched; /* bytes of memory that each segment accesses, in total */
	double scratch; /* bytes */
	double widest;  /* bytes accessed by the largest segment */
};

/* For a typed op or fuse; owned by `owner`; `a` is scratch space for the call. Without a scheme all
 * ops are NEST_OWN. */
struct nest *nest_create(
	const void *owner, const struct ir_module *m, struct arena *a, const struct ir_op *kernel);

#endif
