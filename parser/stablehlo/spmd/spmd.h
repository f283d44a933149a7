/*
 * Programs of several processes: the mesh they run on, and which values differ between processes.
 * state.h says how such values are represented.
 *
 * A program has replicas x partitions processes (StableHLO, "Parallel execution"). They are
 * numbered
 *
 *     process = replica * partitions + partition
 *
 * and the axes of the module, outermost first, are the digits of that number: axis a has a stride
 * in it. The number of processes comes from, in this order: sdy.mesh; interpreter.run_parallel's
 * grid; mhlo.num_replicas and mhlo.num_partitions, or the largest number in replica_groups;
 * `replicas` of the options, if all groups have one member, as in a program that was traced on one
 * device. The processes are factored into axes such that groups and shardings are sets of axes
 * wherever possible: 4 replicas in groups {0,1},{2,3} and {0,2},{1,3} are 2 x 2. There are no axes
 * of size 1.
 */
#ifndef PARSER_STABLEHLO_SPMD_H
#define PARSER_STABLEHLO_SPMD_H

#include "parser/stablehlo/import/state/state.h"

enum spmd_limit {
	SPMD_MAX_PROCESSES = 1 << 16, /* of one axis */
	SPMD_MAX_NAMES = 64,          /* axes of all meshes of a file */
	SPMD_MAX_VISITS = 1 << 22, /* ops that the analysis of arguments visits; ops of a function
					 count for each of its calls */
};

/* Finds the mesh and adds its axes to the module. Reports and returns false if none is valid. */
bool spmd_begin(struct import *im, const struct mlir_op *func);

/* The axes that number the processes, a set; 0 if there is one process. */
uint32_t spmd_axes(const struct import *im);

/*
 * The set of axes over which argument i of the step differs between processes. In explicit
 * programs: all axes, except for arguments with mhlo.is_same_data_across_replicas and for `carried`
 * ones (carried[i] = r if result r is their next value, else -1) whose next values are the same
 * everywhere if they are: the largest such set. In programs on whole tensors: 0. The first call
 * decides for all arguments and must come before the body is imported.
 */
uint32_t spmd_argument(
	struct import *im, const struct mlir_op *func, const int *carried, uint32_t i);

/* The layout that an annotation gives argument i of a program on whole tensors; NULL: none.
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
	uint32_t axes;      /* of the module, a set */
	bool explicit;      /* the arguments of the step are those of one process */
	bool one_means_all; /* a group of one means all replicas: see `replicas` above */
	int64_t alone;      /* the one process that is imported by itself; -1: all */
	struct spmd_name name[SPMD_MAX_NAMES];
	int nnames;
	uint32_t *argument; /* results of spmd_argument; NULL before its first call */
	uint32_t narguments;
	void *scratch; /* owner of the groups made last */
	/* values in flight: parser/stablehlo/import/collective/parallel.c */
	struct spmd_wire *wire;
	bool parallel;                  /* inside of run_parallel */
	const struct mlir_attr *infeed; /* LIST of functions, one for each infeed in turn */
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

/* The axes that are the digits from stride low up to high; false if no set of axes is. */
bool spmd_digits(const struct import *im, int64_t low, int64_t high, uint32_t *axes);

/* The op list that contains the functions; a module may be nested as the only op of a module. */
const struct mlir_op *spmd_top(const struct import *im);

/* How the numbers in replica_groups are meant (StableHLO, "cross_replica" ...). */
enum spmd_mode { SPMD_REPLICA, SPMD_PARTITION, SPMD_BOTH, SPMD_FLAT };

/* The mode of an op, from its channel and use_global_device_ids. */
enum spmd_mode spmd_mode_of(const struct mlir_op *op);

/* Has the op groups or pairs of processes? By its interned name. */
bool spmd_is_collective(const struct import *im, const struct mlir_op *op);

/* Process groups of an op, as numbers of processes. */
struct spmd_groups {
	int64_t n, size;       /* groups, and members of the largest */
	const int64_t *member; /* n x size, smaller groups are padded with -1 */
	bool regular;          /* each group is all processes that differ only on `axes`, and every
	process is in one */
	bool ordered;          /* and members are in ascending order */
	uint32_t axes;         /* if regular */
};

/* The groups of replica_groups, valid until the next call. Reports and returns false if they are
 * invalid. */
bool spmd_groups_of(struct import *im, const struct mlir_op *op, struct spmd_groups *g);

/* The group that a process is in; -1: none. *place receives its index in the group. */
int64_t spmd_group_find(const struct spmd_groups *g, int64_t process, int64_t *place);

/* --- values: move.c ------------------------------------------------------------------------
 */

/* The position of the leading dim of `axis` in a value that varies over `varies`. */
static inline int
spmd_lead(uint32_t varies, int axis)
{
	return __builtin_popcount(varies & ((1u << axis) - 1));
}

/* Ops that return their operand if nothing changes. NULL after an error. */
struct ir_value *spmd_slice(
	struct import *im, struct ir_value *x, int dim, int64_t start, int64_t limit);
/* Splits `dim`, innermost; if x is an allgather of exactly this split, returns its operand. */
struct ir_value *spmd_partition(struct import *im, struct ir_value *x, int dim, int axis);
struct ir_value *spmd_allgather(struct import *im, struct ir_value *x, uint32_t axes);

/* x, which is copied on axes where `like` is split, split as `like` is. */
struct ir_value *spmd_split_as(struct import *im, struct ir_value *x, const struct ir_value *like);

/* Gives v leading dims for `axes` too: copies. */
bool spmd_vary(struct import *im, struct import_value *v, uint32_t axes);

/* The values of all processes, concatenated in the order of process numbers: [processes, shape],
 * the same everywhere. */
struct ir_value *spmd_whole(struct import *im, struct import_value v);

/* The inverse of spmd_whole: a value that varies over all axes; its type is not filled in. */
struct import_value spmd_spread(
	struct import *im, const struct mlir_op *op, struct ir_value *whole);

/* Row p of a result of spmd_whole: [shape]. */
struct ir_value *spmd_row(struct import *im, struct ir_value *whole, int64_t p);
/* n values [shape] as [n, shape]. */
struct ir_value *spmd_stack(struct import *im, struct ir_value **x, int64_t n);
/* Zeros of the shape and element type of x, copied everywhere. */
struct ir_value *spmd_zeros(struct import *im, const struct ir_value *x);

/* --- shardings: sharding.c ----------------------------------------------------------------
 */

/* Which axes split each dim, outermost first. */
struct spmd_sharding {
	int n[IR_MAX_RANK];
	int axis[IR_MAX_RANK][IR_MAX_AXES];
	uint32_t axes; /* all axes above, a set */
	bool manual;   /* {manual}: says nothing about whole tensors */
};

/* Reads an sdy sharding (a DICT) or the text of an mhlo.sharding. `where` is for messages. */
bool spmd_sharding_read(struct import *im, const struct mlir_op *where, const struct mlir_attr *a,
	int rank, struct spmd_sharding *s);

/* Calls add() with each stride at which shardings cut the process number. Needs the mesh names.
 */
void spmd_sharding_cuts(const struct import *im, const struct mlir_attr *a,
	void (*add)(void *data, int64_t cut), void *data);

/* The axes that a list of names (manual_axes) stands for; false: a name is unknown. */
bool spmd_axis_list(const struct import *im, const struct mlir_attr *list, uint32_t *axes);

/* The type `shape` with the sharding's splits, else copied; NULL if they do not divide it. */
const struct ir_type *spmd_sharding_type(
	const struct import *im, const struct ir_type *shape, const struct spmd_sharding *s);

#endif
