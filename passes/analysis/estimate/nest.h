/*
 * What a kernel does, loop by loop, before anybody has built it: read off its scheme (ir/loops/scheme.h),
 * from which both targets are written. Numbers are of one run at one place.
 */
#ifndef PASSES_ANALYSIS_ESTIMATE_NEST_H
#define PASSES_ANALYSIS_ESTIMATE_NEST_H

#include "ir/ir.h"

struct arena;

/* How a loop goes through a tensor: not along it, element after element, by strides, or at
 * positions that it cannot know before (rows by number). */
enum nest_walk { NEST_STAYS, NEST_NEXT, NEST_STRIDES, NEST_COMPUTED, NEST_WALKS };

/* Arithmetic that costs alike. */
enum nest_work { NEST_CHEAP, NEST_DIVISION, NEST_CALL, NEST_RANDOM, NEST_WORKS };

enum nest_place {
	NEST_NOWHERE, /* a constant that its readers hold, a reshape */
	NEST_PRODUCT, /* a call of the matrix library */
	NEST_LIBRARY, /* a call of the library of convolutions */
	NEST_LOOPS,
	NEST_ALONE, /* loops that it shares with none: it writes at computed positions, or sums up
		       along one */
	NEST_OWN,   /* functions of its own */
	NEST_PLACES
};

struct nest_op {
	enum nest_place place;
	int stage;      /* of its segment; -1: before the loops */
	double points;  /* how often it is computed; the multiplications of a product */
	double inner;   /* turns of its innermost loop */
	double entries; /* how often that loop begins; calls of a library */
	bool simd;      /* the innermost loop may be made into vectors */
	bool tiled;     /* two loops go in tiles */
	bool sums;      /* into an accumulator of the innermost loops */
	bool adds;      /* to memory or a row, at each point */
	uint8_t memory[NEST_WALKS], rows, locals; /* what it reads at each point, and how */
	bool stores, keeps;                       /* its value in memory; in a row buffer */
	enum nest_walk store;
	uint8_t tests;           /* positions that may be outside of what is there */
	double work[NEST_WORKS]; /* scalar functions at each point */
};

struct nest {
	uint32_t n; /* ops of the body, as they stand; 1 of a kernel of one op */
	struct nest_op *op;
	uint32_t segments, stages;
	double touched; /* bytes of memory that each segment goes through, all together */
	double scratch; /* bytes */
	double widest;  /* of what the largest segment goes through, bytes */
};

/* Of a typed op or fuse; owned by `owner`, `a` is for scratch of the call. Without a scheme all ops
 * are NEST_OWN. */
struct nest *nest_create(
	const void *owner, const struct ir_module *m, struct arena *a, const struct ir_op *kernel);

#endif
