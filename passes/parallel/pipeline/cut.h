/* Where to cut a line of ops into stages: see cut.c. */
#ifndef PASSES_PARALLEL_PIPELINE_CUT_H
#define PASSES_PARALLEL_PIPELINE_CUT_H

#include <stdbool.h>
#include <stdint.h>

/* Ops 0 .. n - 1, in an order in which every op reads only earlier ones. */
struct pipeline_line {
	uint32_t n, stages, micro_batches;
	const double **work; /* [stages][n] seconds on the devices of the stage */
	/* [stages + 1][n + 1] seconds of the messages between ops before i and from i on, if a
	 * stage begins with i; 0 where the first stage begins and the last one ends */
	const double **cut;
	double *fixed; /* [n] bytes that the op takes in its stage */
	double *kept;  /* [n] bytes that the op takes in its stage for each micro-batch in flight */
	double *memory; /* [stages] bytes available to the stage; INFINITY: unlimited */
	double least;   /* bytes of the devices that have the least memory */
};

/*
 * The first op of each stage: the slowest stage, with its messages, is as fast as possible among
 * the cuts whose stages fit their memory. If there is no such cut, the stages exceed their memory
 * by the least possible factor, and false is returned. There are at least as many ops as stages.
 */
bool pipeline_cut(const struct pipeline_line *l, uint32_t *first);

#endif
