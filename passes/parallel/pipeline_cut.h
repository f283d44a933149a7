/* Where to cut a line of ops into stages: see pipeline_cut.c. */
#ifndef PASSES_PARALLEL_PIPELINE_CUT_H
#define PASSES_PARALLEL_PIPELINE_CUT_H

#include <stdbool.h>
#include <stdint.h>

/* Ops 0 .. n - 1, in an order in which every op reads only what is before it. */
struct pipeline_line {
	uint32_t n, stages, micro_batches;
	const double **work; /* [stages][n] seconds on the devices of the stage */
	/* [stages + 1][n + 1] seconds of the messages between ops before i and from i on, if a stage begins with i;
	 * 0 where the first begins and the last ends */
	const double **cut;
	double *fixed; /* [n] bytes that a stage has for the op */
	double *kept;  /* [n] bytes that a stage has for it in each micro-batch that is under way */
	double *memory; /* [stages] bytes that it may have; INFINITY: any number */
	double least;   /* bytes of a device, of those that have the least */
};

/*
 * The first op of each stage: the slowest stage, with its messages, is as fast as possible among
 * those cuts whose stages have memory. If no cut has, what stages need is at most the least possible
 * multiple of what they may have, and false is returned. There are at least as many ops as stages.
 */
bool pipeline_cut(const struct pipeline_line *l, uint32_t *first);

#endif
