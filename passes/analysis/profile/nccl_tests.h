/*
 * Reads what NVIDIA's nccl-tests print (all_reduce_perf and the like; RCCL's tests print the same),
 * versions of 2018 to 2026:
 *
 *     # Collective test starting: all_reduce_perf              newer ones; else the command line
 *     # nThread 1 nGpus 1 ... iters: 20 ...
 *     # Using devices
 *     #  Rank  0 Group  0 Pid 6899 on host-a device  0 [...] NVIDIA H100
 *     ...
 *     #   size    count   type  redop  root   time  algbw  busbw #wrong   time  algbw  busbw #wrong
 *     1048576   262144  float    sum    -1  203.2   5.16   9.68      0  207.2   5.06   9.49      0
 *     # Out of bounds values : 0 OK
 *
 * Columns are found by their names: older versions lack some, options add others. The size is that
 * of the whole tensor, of alltoall what one rank has, as in struct collective_request.
 */
#ifndef PASSES_ANALYSIS_NCCL_TESTS_H
#define PASSES_ANALYSIS_NCCL_TESTS_H

#include "passes/analysis/profile/profile.h"

/*
 * The collectives of a text, which is registered under `name`: one for each kind, number of ranks
 * and size, ascending; transport "nccl", nodes those of the ranks (0: not listed). Times are the
 * mean of out of place and in place, the spread is their difference, runs are the iterations of
 * both. The text may contain several tests; unknown lines between them are skipped, and so are
 * sizes of 0.
 *
 * `kind`: used if the text names no test; RT_COLL_KINDS: it must name one. `places`: used if it
 * lists no ranks; 0: it must list them. The array belongs to `owner`. Returns their number, -1
 * after reporting every fault with its place: no table, a row or a run cut off, times that are not
 * above 0, wrong results, a size that does not match its count.
 */
int nccl_tests_read(const void *owner, struct diag *d, const char *name, const char *text,
	enum rt_coll_kind kind, int places, struct profile_collective **list);

#endif
