/*
 * Programs of several processes: the mesh they run on, and what differs between processes. How
 * values that do are written is in import.h.
 *
 * A program has replicas x partitions processes (StableHLO, "Parallel execution"). They are
 * numbered
 *
 *     process = replica * partitions + partition
 *
 * and the axes of the module, outermost first, are the digits of that number: axis a has a stride
 * in it. The number of processes comes from, in this order: sdy.mesh; interpreter.run_parallel's
 * grid; mhlo.num_replicas and mhlo.num_partitions, or the largest number in replica_groups;
 * `replicas` of the options, where all groups have one member, as a program has that was traced on
 * one device. They are cut into axes such that groups and shardings are sets of axes wherever that
 * is possible: 4 replicas in groups {0,1},{2,3} and {0,2},{1,3} are 2 x 2. An axis of size 1 is
 * none.
 */
#ifndef PARSER_STABLEHLO_SPMD_H
#define PARSER_STABLEHLO_SPMD_H

#include "parser/stablehlo/import/state/state.h"

enum spmd_limit {
	SPMD_MAX_PROCESSES = 1 << 16, /* what an axis may have */
	SPMD_MAX_NAMES = 64,          /* axes of all meshes of a file */
	SPMD_MAX_VISITS = 1 << 22,    /* ops that the analysis of arguments goes through, calls in
					 calls counted as often as they are made */
};

/* Finds the mesh and adds its axes to the module. Reports and returns false where there is none. */
bool spmd_begin(struct import *im, const struct mlir_op *func);

/* The axes that number the processes; 0 where there is one process. */
uint32_t spmd_axes(const struct import *im);

/*
 * Over which axes argument i of the step differs between processes. In explicit programs: over all,
 * but for those with mhlo.is_same_data_across_replicas, and for `carried` ones (result r of the
 * step is its next value, carried[i] = r, else -1) whose next value is the same everywhere if they
 * are: the largest such set. In programs that see whole tensors: 0. The first call decides for all
 * arguments, and has to come before the body is imported.
 */
uint32_t spmd_argument(
	struct import *im, const struct mlir_op *func, const int *carried, uint32_t i);

/* The layout that an annotation gives argument i of a program that sees whole tensors; NULL: none.
 */
const struct ir_type *spmd_layout(struct import *im, const struct mlir_op *func, uint32_t i);

/*
 * custom_call @Sharding, @SPMDFullToShardShape, @SPMDShardToFullShape. Returns whether the op is
 * one of them; *ok is then what an import_function returns.
 */
bool spmd_custom_call(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out, bool *ok);

/* --- between the files of this family --------------------------------------------------------- */

/* An axis that a text names: the digits of the process number from stride `low` up to `high`. */
struct spmd_name {
	const char *mesh, *axis; /* interned */
	int64_t low, high;
};

struct spmd {
	int64_t replicas, partitions;
	int64_t stride[IR_MAX_AXES];
	uint32_t axes;      /* of the module */
	bool explicit;      /* the arguments of the step are those of one process */
	bool one_means_all; /* a group of one is all replicas: see `replicas` above */
	int64_t alone;      /* the one process that is imported by itself; -1: all */
	struct spmd_name name[SPMD_MAX_NAMES];
	int nnames;
	uint32_t *argument; /* of the step: spmd_argument; NULL before the first call */
	uint32_t narguments;
	void *scratch; /* of the groups made last */
	/* values under way: parser/stablehlo/import/collective/parallel.c */
	struct spmd_wire *wire;
	bool parallel;                  /* inside of run_parallel */
	const struct mlir_attr *infeed; /* LIST of functions that feed in, one a turn */
	uint32_t fed;
};

static inline struct spmd *
spmd_of(const struct import *im)
{
	return im->spmd;
}

static inline int64_t
spmd_processes(const struct import *im)
{
	return spmd_of(im)->replicas * spmd_of(im)->partitions;
}

/* The coordinate of a process on an axis. */
static inline int64_t
spmd_coordinate(const struct import *im, int64_t process, int axis)
{
	return process / spmd_of(im)->stride[axis] % im->module->axis[axis].size;
}

/* The axes that are the digits from stride low up to high; false where no set of axes is. */
bool spmd_digits(const struct import *im, int64_t low, int64_t high, uint32_t *axes);

/* The ops beside the functions; a module may be the only thing in a module. */
const struct mlir_op *spmd_top(const struct import *im);

/* How the numbers in replica_groups are meant (StableHLO, "cross_replica" ...). */
enum spmd_mode { SPMD_REPLICA, SPMD_PARTITION, SPMD_BOTH, SPMD_FLAT };

/* Of an op: by its channel and use_global_device_ids. */
enum spmd_mode spmd_mode_of(const struct mlir_op *op);

/* Is it an op that has groups or pairs of processes? By its interned name. */
bool spmd_is_collective(const struct import *im, const struct mlir_op *op);

/* Process groups of an op, as numbers of processes. */
struct spmd_groups {
	int64_t n, size;       /* groups, and members of the largest */
	const int64_t *member; /* n x size, -1 behind the last of a smaller one */
	bool regular;  /* each group is all processes that differ on `axes` alone, and none is left
			  out */
	bool ordered;  /* and its members ascend */
	uint32_t axes; /* if regular */
};

/* The groups of replica_groups, valid until the next call. Reports and returns false where they are
 * wrong. */
bool spmd_groups_of(struct import *im, const struct mlir_op *op, struct spmd_groups *g);

/* The group that a process is in; -1: none. *place gets its place in it. */
int64_t spmd_group_find(const struct spmd_groups *g, int64_t process, int64_t *place);

/* --- values: move.c ------------------------------------------------------------------------
 */

/* Where the leading dim of an axis stands in a value that varies over these. */
static inline int
spmd_lead(uint32_t varies, int axis)
{
	return __builtin_popcount(varies & ((1u << axis) - 1));
}

/* Ops on values whose result is the operand where nothing changes. NULL after an error. */
struct ir_value *spmd_reshape(struct import *im, struct ir_value *x, const int64_t *dim, int rank);
struct ir_value *spmd_transpose(struct import *im, struct ir_value *x, const int64_t *perm);
struct ir_value *spmd_slice(
	struct import *im, struct ir_value *x, int dim, int64_t start, int64_t limit);
/* Any number of operands; frees nothing. */
struct ir_value *spmd_concat(struct import *im, struct ir_value **x, int64_t n, int dim);
/* Split as the innermost of its dim; what a gather of just that is made of where x is one. */
struct ir_value *spmd_partition(struct import *im, struct ir_value *x, int dim, int axis);
struct ir_value *spmd_allgather(struct import *im, struct ir_value *x, uint32_t axes);

/* x, which is copied where `like` is split, split as that is. */
struct ir_value *spmd_split_as(struct import *im, struct ir_value *x, const struct ir_value *like);

/* v with leading dims for `axes` as well: copies. */
bool spmd_vary(struct import *im, struct import_value *v, uint32_t axes);

/* All processes' values, one behind the other in the order of their numbers: [processes, shape],
 * the same everywhere. */
struct ir_value *spmd_whole(struct import *im, struct import_value v);

/* The way back: a value that varies over all axes; its type is not filled in. */
struct import_value spmd_spread(
	struct import *im, const struct mlir_op *op, struct ir_value *whole);

/* Row p of a whole: [shape]. */
struct ir_value *spmd_row(struct import *im, struct ir_value *whole, int64_t p);
/* n values [shape] as [n, shape]. */
struct ir_value *spmd_stack(struct import *im, struct ir_value **x, int64_t n);
/* Zeros of the shape and element type of x, copied. */
struct ir_value *spmd_zeros(struct import *im, const struct ir_value *x);

/* --- shardings: sharding.c ----------------------------------------------------------------
 */

/* Which axes split each dim, outermost first. */
struct spmd_sharding {
	int n[IR_MAX_RANK];
	int axis[IR_MAX_RANK][IR_MAX_AXES];
	uint32_t axes; /* all of these */
	bool manual;   /* {manual}: nothing is said of whole tensors */
};

/* Of an sdy sharding (a DICT) or a text as mhlo.sharding has it. `where` is for messages. */
bool spmd_sharding_read(struct import *im, const struct mlir_op *where, const struct mlir_attr *a,
	int rank, struct spmd_sharding *s);

/* The strides at which shardings cut the process number: each to add(). Names of meshes are known.
 */
void spmd_sharding_cuts(const struct import *im, const struct mlir_attr *a,
	void (*add)(void *data, int64_t cut), void *data);

/* The axes that a list of names says (manual_axes), of the mesh of that name or any; false:
 * unknown. */
bool spmd_axis_list(const struct import *im, const struct mlir_attr *list, uint32_t *axes);

/* The sharding's splits on a type of that shape, else copied; NULL where they do not divide it. */
const struct ir_type *spmd_sharding_type(
	const struct import *im, const struct ir_type *shape, const struct spmd_sharding *s);

/*
 * A whole tensor as what each process has of it, over the axes `manual`: dims divided, leading dims
 * in front. What other axes split is whole.
 */
bool spmd_to_shards(struct import *im, const struct mlir_op *op, const struct spmd_sharding *s,
	uint32_t manual, struct import_value *v);

/* And back. What varies over an axis of `manual` that the sharding does not name is taken from its
 * place 0: the program says that it is the same everywhere. */
bool spmd_to_full(struct import *im, const struct mlir_op *op, const struct spmd_sharding *s,
	uint32_t manual, struct import_value *v);

#endif
