/*
 * Kernels of several products for devices: tiles of rows of the results, each of which streams over
 * tiles of what the results are summed over (attention, forward and backward). Values that have
 * indices of both exist for one pair of tiles at a time, in registers.
 *
 *     s[b,t,k] = q[b,t,d] k[b,k,d]       a tile of 64 t  x  64 k, for each of the tiles of k
 *     e = exp(s - max(k) s)              wide
 *     l[b,t] = sum(k) e                  a fold
 *     o[b,t,d] = e[b,t,k] v[b,k,d]       a product: 64 t x d, summed up from tile to tile
 *
 * The results of another kind of kernel have both rows and columns, and sum up something else, such
 * as the gradient of a bias sums up a batch: a block has one pair of tiles, and streams over that.
 *
 * Indices are one class if a value that the kernel makes is written with one and read with the
 * other. All ends (folds and products) reduce the same classes, which are streamed, and have all
 * other classes of the wide values. The largest class on each side is cut into tiles; all others
 * are taken one index at a time.
 */
#ifndef IR_STREAM_H
#define IR_STREAM_H

#include "ir/loops/scheme.h"

enum stream_limit {
	STREAM_TILE = 64, /* rows, and columns, of a tile */
	STREAM_MAX_WIDTH =
		256, /* of a product: its sums are in registers while tiles are streamed */
	STREAM_MAX_SUMS = 640, /* columns of all tiles and products together: 160 registers of each
				   of 256 threads */
	STREAM_MAX_ENDS = 32,  /* sets of ends are bits of a word */
};

enum stream_kind {
	STREAM_UNUSED,
	STREAM_NARROW,  /* elementwise, without streamed classes: a value for each row */
	STREAM_WIDE,    /* elementwise, with streamed classes */
	STREAM_TILE_OF, /* a product of two operands of the kernel, with streamed classes */
	/* Ends: */
	STREAM_FOLD,    /* a reduction over the streamed classes: a value for each row */
	STREAM_PRODUCT, /* the product of a wide value and an operand, summed over them */
	STREAM_SUM,     /* the sum of a wide value over them, for each row and column */
};

struct stream_op {
	enum stream_kind kind;
	int of_rows; /* load of the side of the rows: a TILE_OF's operand, a PRODUCT's wide value */
	int of_columns; /* load of the streamed side */
	int inner;      /* the class that a TILE_OF sums over; that only a PRODUCT's result has */
};

struct scheme_stream {
	struct stream_op *op;             /* by op of the scheme */
	int rows, columns;                /* classes that are cut into tiles */
	bool sums;                        /* columns are not streamed: ends are SUMs */
	int8_t outer[SCHEME_MAX_CLASSES]; /* other classes of the results */
	int8_t over[SCHEME_MAX_CLASSES];  /* other streamed classes, outermost first */
	int nouter, nover;
};

/*
 * Makes the kernel one segment of kind SCHEME_STREAM, if it is of that form. If not, returns false,
 * and only classes of ops have changed.
 */
bool scheme_make_stream(struct scheme *s);

#endif
