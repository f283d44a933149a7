/* Where to cut a line of ops into stages: see pipeline_cut.c. */
#ifndef PASSES_PARALLEL_PIPELINE_CUT_H
#define PASSES_PARALLEL_PIPELINE_CUT_H

#include <stdbool.h>
#include <stdint.h>

/* Ops 0 .. n - 1, in an order in which every op reads only what is before it. */
struct pipeline_line {
	uint32_t n;
	double *work;  /* [n] seconds */
	double *cut;   /* [n + 1] seconds of the messages between ops before i and from i on */
	double *fixed; /* [n] bytes that a stage has for the op */
	double *kept;  /* [n] bytes that a stage has for it in each micro-batch that is under way */
	uint32_t stages, micro_batches;
	double memory; /* bytes that a stage may have; INFINITY: any number */
};

/*
 * The first op of each stage: the slowest stage, with its messages, is as fast as possible among
 * those cuts whose stages have memory. If no cut has, the most that a stage needs is the least possible and
 * false is returned. There are at least as many ops as stages.
 */
bool pipeline_cut(const struct pipeline_line *l, uint32_t *first);

#endif
