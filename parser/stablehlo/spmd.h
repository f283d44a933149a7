/*
 * Programs of several processes: the mesh they run on, and what differs between processes. How
 * values that do are written is in import.h.
 *
 * A program has replicas x partitions processes (StableHLO, "Parallel execution"). The mesh comes
 * from, in this order: sdy.mesh; interpreter.run_parallel's grid; replica_groups, as axes such that
 * every group of the program is a set of axes (4 replicas in groups {0,1},{2,3} and {0,2},{1,3}:
 * 2 x 2); mhlo.num_replicas and num_partitions; `replicas` of the options, where all groups have
 * one member, as a program has that was traced on one device. An axis of size 1 is none.
 */
#ifndef PARSER_STABLEHLO_SPMD_H
#define PARSER_STABLEHLO_SPMD_H

#include "parser/stablehlo/import.h"

/* Finds the mesh and adds its axes to the module. Reports and returns false where there is none. */
bool spmd_begin(struct import *im, const struct mlir_op *func);

/* The axes that number the processes; 0 where there is one process. */
uint32_t spmd_axes(const struct import *im);

/*
 * Over which axes argument i of the step differs between processes. In explicit programs: over all,
 * but for those with mhlo.is_same_data_across_replicas, and for `carried` ones (result r of the
 * step is its next value, carried[i] = r, else -1) whose next value is the same everywhere if they
 * are: the largest such set. In programs that see whole tensors: 0.
 */
uint32_t spmd_argument(
	struct import *im, const struct mlir_op *func, const int *carried, uint32_t i);

/* The layout that an annotation gives argument i of a program that sees whole tensors; NULL: none.
 */
const struct ir_type *spmd_layout(struct import *im, const struct mlir_op *func, uint32_t i);

#endif
