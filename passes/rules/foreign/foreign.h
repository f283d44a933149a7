/*
 * Rules in foreign formats: FlexFlow's JSON and TASO's protobuf, which have the same structure. A
 * rule is two lists of ops in topological order. An input is a result of an earlier op or, if its
 * op is negative, a tensor from outside; equal numbers are the same tensor in both lists.
 *
 *     json.c     JSON to rules and back        text.c     to the text of ir/rule.h
 *     proto.c    protobuf to rules and back    graph.c    from rules of ir/rule.h
 *     check.c    what is asked of rules   sizes.c    sizes as text, equations solved
 */
#ifndef PASSES_RULES_FOREIGN_H
#define PASSES_RULES_FOREIGN_H

#include "ir/base/vec.h"
#include "ir/rule.h"

/* Name in FlexFlow, number in TASO (-1: it has none), outputs: 2 of a split. */
#define FOREIGN_OPS(OP)                                                                            \
	OP(CONV2D, 3)                                                                              \
	OP(LINEAR, -1)                                                                             \
	OP(RELU, 8)                                                                                \
	OP(CONCAT, 12)                                                                             \
	OP(SPLIT, 13)                                                                              \
	OP(EW_ADD, 16)                                                                             \
	OP(EW_MUL, 17)                                                                             \
	OP(MATMUL, 18)                                                                             \
	OP(PARTITION, -1)                                                                          \
	OP(COMBINE, -1)                                                                            \
	OP(REPLICATE, -1)                                                                          \
	OP(REDUCE, -1)

/* Parameters of ops, in the order in which they are written. */
#define FOREIGN_PARAMETERS(PM)                                                                     \
	PM(NUM_INPUTS, 1)                                                                          \
	PM(NUM_OUTPUTS, 2)                                                                         \
	PM(KERNEL_H, 4)                                                                            \
	PM(KERNEL_W, 5)                                                                            \
	PM(STRIDE_H, 6)                                                                            \
	PM(STRIDE_W, 7)                                                                            \
	PM(PAD, 8)                                                                                 \
	PM(ACTI, 9)                                                                                \
	PM(AXIS, 11)                                                                               \
	PM(NUMDIM, 10)                                                                             \
	PM(PARALLEL_DIM, -1)                                                                       \
	PM(PARALLEL_DEGREE, -1)

#define FOREIGN_OP_CODE(name, number) FOREIGN_##name,
#define FOREIGN_PM_CODE(name, number) FOREIGN_PM_##name,
enum foreign_op_code { FOREIGN_OPS(FOREIGN_OP_CODE) FOREIGN_NOPS };
enum foreign_parameter { FOREIGN_PARAMETERS(FOREIGN_PM_CODE) FOREIGN_NPARAMETERS };

enum {
	FOREIGN_MAX_INPUTS = 8, /* of an op: most inputs */
	FOREIGN_MAX_USES = 16,  /* of inputs of a rule */
	FOREIGN_MAX_OPS = 16,   /* most ops of a side; published rules have up to 10 */
	FOREIGN_MAX_RANK = 4,   /* rank of images */
	FOREIGN_NONE = -1,      /* the op does not have the parameter */
	FOREIGN_WITH_RELU = 2,  /* value of the parameter ACTIVATION */
};

struct foreign_name {
	const char *flexflow;
	int taso;
};
extern const struct foreign_name foreign_ops[FOREIGN_NOPS];
extern const struct foreign_name foreign_parameters[FOREIGN_NPARAMETERS];

struct foreign_tensor {
	int op, result;
};

struct foreign_op {
	int code; /* enum foreign_op_code */
	int ninputs;
	struct foreign_tensor input[FOREIGN_MAX_INPUTS];
	int parameter[FOREIGN_NPARAMETERS];
};

/* A result of the rule, on both sides. */
struct foreign_output {
	struct foreign_tensor side[2];
};

struct foreign_rule {
	const char *name;
	struct VEC(struct foreign_op) side[2];
	struct VEC(struct foreign_output) output;
};

/* Owned by the owner of the array. */
struct foreign_rules VEC(struct foreign_rule);

/* An op without inputs and parameters. */
struct foreign_op foreign_op_none(void);

/* Number of dims of the tensors of a rule; 0: any. */
int foreign_rank(const struct foreign_rule *r);

/* Reads the rules of a file into `rules`, which must be empty; false: reported, with a location. */
bool foreign_read_json(const void *owner, struct diag *d, const char *file, const char *text,
	size_t n, struct foreign_rules *rules);
bool foreign_read_proto(const void *owner, struct diag *d, const char *file, const char *bytes,
	size_t n, struct foreign_rules *rules);
/* Checks that inputs and results of a rule refer to earlier ops, and that dims are in range. False:
 * reported. */
bool foreign_check(struct diag *d, struct ir_loc loc, const struct foreign_rule *r);

void foreign_write_json(FILE *out, const struct foreign_rules *rules);
void foreign_write_proto(FILE *out, const struct foreign_rules *rules);

/*
 * What FlexFlow's parallelization ops mean. DEVICE and LINEAR0: tensors have a row for each
 * replica, replicate repeats elements, reduce adds neighbours. With LINEAR0, a linear layer reads
 * the first row of its operands; with DEVICE the rows that its operands have of each other's
 * partitions, once. DOPT: partition, combine, replicate and reduce are dopt's, on axes that follow
 * from the layers.
 */
#define FOREIGN_READINGS(X)                                                                        \
	X(FOREIGN_DOPT, "dopt")                                                                    \
	X(FOREIGN_DEVICE, "device")                                                                \
	X(FOREIGN_LINEAR0, "lin0")
enum foreign_reading { FOREIGN_DOPT, FOREIGN_DEVICE, FOREIGN_LINEAR0 };

/* Writes a checked rule as text. */
void foreign_write_text(FILE *out, const struct foreign_rule *r, enum foreign_reading reading);

/*
 * Converts a rule to the foreign structure; false, with a warning at a construct that it cannot
 * express. TASO has no parallelization ops and no linear layers.
 */
bool foreign_from_rule(const void *owner, const struct ir_rules *rules, const struct ir_rule *r,
	bool taso, struct foreign_rule *to);

#endif
