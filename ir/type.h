/*
 * Types: element type, whole shape, on every axis the state of the layout, and the memory.
 *
 *     f32[64/dp/mb,512/tp]+ep@pp=1@host
 *         |  |           |  |     +---- in host memory; without it in that of the device
 *         |  |           |  +---------- single on pp: only coordinate 1 holds it
 *         |  |           +------------- partial on ep: the tensor is the sum over the axis
 *         |  +------------------------- split: dim 0 by dp, each slice again by mb
 *         +---------------------------- the whole size; on axes that are not named it is copied
 *
 * Types are immutable and interned in their module's context: equal types are one pointer.
 */
#ifndef IR_TYPE_H
#define IR_TYPE_H

#include "ir/base/api.h"
#include "ir/base/diag.h"

#include <stdbool.h>
#include <stdint.h>

DOPT_API_BEGIN

enum ir_limit {
	IR_MAX_RANK = 8,  /* the most that cuDNN and oneDNN need; local shapes fit on the stack */
	IR_MAX_AXES = 16, /* an axis for each prime factor: 2^12 devices and 4 time axes */
	IR_MAX_AXIS = 1 << 16,     /* places of an axis: a layout names one in 16 bits */
	IR_MAX_PLACES = 1 << 30,   /* of all axes together: numbers of places have 32 bits */
	IR_MAX_ELEMENTS_LOG2 = 50, /* of a tensor: far above any machine's memory, and the bytes of
				      a thousand such tensors are still less than 2^63 */
};

enum ir_dtype {
#define DTYPE(name, bytes, ctype, class, tag) IR_##name,
#include "runtime/kernel/dtype.def"
#undef DTYPE
	IR_NDTYPES
};

enum ir_dclass { IR_FLOAT, IR_INT, IR_UINT, IR_BOOL };

enum ir_state_kind { IR_COPIED, IR_SPLIT, IR_PARTIAL, IR_SINGLE };

/* The state of a layout on one axis. */
struct ir_state {
	uint8_t kind;   /* enum ir_state_kind */
	uint8_t dim;    /* IR_SPLIT: the dimension */
	uint16_t order; /* IR_SPLIT: position among the axes that split this dimension, 0 =
			   outermost */
			/* IR_SINGLE: the coordinate, or the stage: ir_axis_place */
};

/* The memory of a value: each device has its own, and its share of that of its host. */
enum ir_memory { IR_DEVICE, IR_HOST, IR_MEMORIES };

struct ir_type {
	uint8_t dtype; /* enum ir_dtype */
	uint8_t rank;
	uint8_t memory;                    /* enum ir_memory */
	int64_t dim[IR_MAX_RANK];          /* whole sizes */
	struct ir_state axis[IR_MAX_AXES]; /* by axis of the module */
};

/* A mesh axis (devices) or a steps axis (time). */
struct ir_axis {
	const char *name;
	int32_t size;
	bool time;
	struct ir_loc loc;
	bool peel; /* a time axis: readers of its loops' results run in the last iteration */
	const char *schedule; /* a time axis: the order in which stages run iterations, see
				 ir/memory/cells.h; NULL: one after another */
	/* A device axis with more pipeline stages than devices: the coordinate of each stage's
	 * device; types and sends then name stages. 0 and NULL: stages are coordinates. */
	int32_t nstages;
	const uint16_t *stage;
};

/* Number of states IR_SINGLE on the axis: coordinates, or stages. */
static inline int32_t
ir_axis_stages(const struct ir_axis *a)
{
	return a->stage ? a->nstages : a->size;
}

/* The coordinate of the device that holds a tensor that is single in that state. */
static inline uint16_t
ir_axis_place(const struct ir_axis *a, uint16_t order)
{
	return a->stage ? a->stage[order] : order;
}

struct ir_context;
struct ir_module;

const char *ir_dtype_name(enum ir_dtype t);

unsigned ir_dtype_bytes(enum ir_dtype t);

/* Bits of a value: 1 for bool, else 8 times the bytes. */
unsigned ir_dtype_bits(enum ir_dtype t);

enum ir_dclass ir_dtype_class(enum ir_dtype t);

/* The element type of that name, or -1. */
int ir_dtype_find(const char *name);

/* Numbers of an element type: a double for floats, an int64_t for integers and bool (the bits of a
 * u64; 0 or 1). ir_dtype_round and ir_dtype_wrap convert a number of its own kind: floats are
 * rounded to nearest even, integers wrap. */
double ir_dtype_round(enum ir_dtype t, double v);
int64_t ir_dtype_wrap(enum ir_dtype t, int64_t v);
/* A float converted to an integer type: truncated, clamped to its range; NaN is 0. */
int64_t ir_dtype_truncated(enum ir_dtype t, double v);
/* The fill value of an integer type for reads outside a tensor: as ir_dtype_truncated, but minus
 * infinity becomes the lowest value, also for bool. */
int64_t ir_dtype_fill(enum ir_dtype t, double v);
/* An integer of type t as a double; is a less than b? */
double ir_dtype_double(enum ir_dtype t, int64_t i);
bool ir_dtype_less(enum ir_dtype t, int64_t a, int64_t b);
/* The lowest value of an integer type. */
int64_t ir_dtype_lowest(enum ir_dtype t);

/* The interned type equal to *t. Unused dims and axes must be zero. */
const struct ir_type *ir_type_intern(struct ir_context *ctx, const struct ir_type *t);

/* Equal in every field: for interned types the same as ==. */
bool ir_type_equal(const struct ir_type *a, const struct ir_type *b);

/* The same tensor in another memory. */
const struct ir_type *ir_type_in(
	struct ir_context *ctx, const struct ir_type *t, enum ir_memory memory);

/* The same tensor, copied on every axis, on the device: its meaning. */
const struct ir_type *ir_type_meaning(struct ir_context *ctx, const struct ir_type *t);

/* Same whole shape. */
bool ir_type_same_dims(const struct ir_type *a, const struct ir_type *b);

/* Same element type and whole shape. */
bool ir_type_same_meaning(const struct ir_type *a, const struct ir_type *b);

/* Do the same devices hold tensors of the two types, as far as they are single on device axes? */
bool ir_type_same_devices(
	const struct ir_module *m, const struct ir_type *a, const struct ir_type *b);

/* Is the state on any axis one of the set (bits, 1 << IR_SPLIT)? A tensor that has none of
 * IR_NOT_COPIED is whole, and the same, on every device and in every iteration. */
bool ir_type_has(const struct ir_module *m, const struct ir_type *t, unsigned states);
enum { IR_NOT_COPIED = 1 << IR_SPLIT | 1 << IR_PARTIAL | 1 << IR_SINGLE };

/* Is the value at one place of a device axis alone? */
bool ir_type_single(const struct ir_module *m, const struct ir_type *t);

/* Copies the axes that split `dim`, outermost first, to list[]; returns their number. */
int ir_type_split_axes(const struct ir_type *t, int dim, int list[IR_MAX_AXES]);

/* Renumbers the axes that split each dim 0, 1 ..., in order, after some have been removed. */
void ir_type_close_splits(struct ir_type *t);

/* Number of axes that split `dim`: the order of the next one. */
int ir_type_split_depth(const struct ir_type *t, int dim);

/* Product of the sizes of the axes that split `dim`. */
int64_t ir_type_split_factor(const struct ir_module *m, const struct ir_type *t, int dim);

/* Size of `dim` on one device, in one iteration. */
int64_t ir_type_local_dim(const struct ir_module *m, const struct ir_type *t, int dim);

/* Elements of the whole tensor; elements and bytes of the local one. */
int64_t ir_type_elements(const struct ir_type *t);
int64_t ir_type_local_elements(const struct ir_module *m, const struct ir_type *t);
int64_t ir_type_local_bytes(const struct ir_module *m, const struct ir_type *t);

/*
 * The slice of `dim` held at the given coordinate on every axis: a number in mixed radix, the
 * outermost axis most significant. The slice starts at this number times the local size.
 */
int64_t ir_type_slice(
	const struct ir_module *m, const struct ir_type *t, int dim, const int *coord);

/* At most 2^IR_MAX_ELEMENTS_LOG2 elements? Dims of size 0 are not counted, so that no product of
 * some of the sizes is larger either. */
bool ir_shape_fits(const int64_t *dim, int rank);

/* Is the shape within the limit, are sizes divisible, dims in range, orders dense? Reports at `loc`
 * and returns false if not. */
bool ir_type_check(
	const struct ir_module *m, const struct ir_type *t, struct ir_loc loc, const char *what);

/* The type as text, in a buffer owned by `owner` (talloc). */
char *ir_type_text(const void *owner, const struct ir_module *m, const struct ir_type *t);

/* One state in words for messages: "copied", "split on dim 0", "partial", "single at 3". */
char *ir_state_text(const void *owner, struct ir_state s);

DOPT_API_END

#endif
