/* What whatif_parse.c reads and whatif.c applies. */
#ifndef PASSES_ANALYSIS_WHATIF_IMPL_H
#define PASSES_ANALYSIS_WHATIF_IMPL_H

#include "passes/analysis/cost/whatif.h"

enum whatif_kind {
	TARGET_NONE, /* a fault was reported */
	TARGET_LATENCY,
	TARGET_BANDWIDTH,
	TARGET_FIELD,
	TARGET_FLOPS,      /* the rates of matrix products in all element types */
	TARGET_CODE,       /* ops of one name */
	TARGET_COLLECTIVE, /* collectives of one kind */
	TARGET_KERNELS,
	TARGET_COLLECTIVES,
	TARGET_VALUE /* one op, named by its value */
};

struct whatif_item {
	enum whatif_kind kind;
	int number;        /* enum op_code or enum rt_coll_kind */
	const char *field; /* of the device */
	double least;      /* the field must be at least this */
	bool set;          /* `=`, not `*` */
	double x;
	const char *text;       /* "matmul*0.5" */
	const char *name;       /* of a value, without %; digits if it has only a number */
	struct ir_loc loc;      /* of the target */
	const struct ir_op *op; /* of the value, after whatif_bind */
};

struct whatif {
	struct diag *diag;
	struct whatif_item *item; /* talloc array */
	int n;
};

#endif
