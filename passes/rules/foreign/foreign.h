/*
 * Rules as others write them: FlexFlow's JSON and TASO's protobuf, which are one structure. A rule is
 * two lists of ops in topological order; an input is a result of an op before, or, with a negative op,
 * a tensor from outside; the same number is the same tensor in both lists.
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
	FOREIGN_MAX_INPUTS = 8, /* of an op */
	FOREIGN_MAX_USES = 16,  /* of inputs of a rule */
	FOREIGN_MAX_OPS = 16,   /* of a side; published rules have up to 10 */
	FOREIGN_MAX_RANK = 4,   /* images */
	FOREIGN_NONE = -1,      /* a parameter that an op does not have */
	FOREIGN_WITH_RELU = 2,  /* as an activation */
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

/* A result of the rule, on either side. */
struct foreign_output {
	struct foreign_tensor side[2];
};

struct foreign_rule {
	const char *name;
	struct VEC(struct foreign_op) side[2];
	struct VEC(struct foreign_output) output;
};

/* Owned by the array's owner. */
struct foreign_rules VEC(struct foreign_rule);

/* An op that has nothing yet. */
struct foreign_op foreign_op_none(void);

/* Number of dims of the tensors of a rule; 0: any. */
int foreign_rank(const struct foreign_rule *r);

/* What a file has; false after a located message. `rules` is empty before. */
bool foreign_read_json(const void *owner, struct diag *d, const char *file, const char *text,
	size_t n, struct foreign_rules *rules);
bool foreign_read_proto(const void *owner, struct diag *d, const char *file, const char *bytes,
	size_t n, struct foreign_rules *rules);
/* Are the inputs and results of a rule those of ops before, and its dims in range? Else a message. */
bool foreign_check(struct diag *d, struct ir_loc loc, const struct foreign_rule *r);

void foreign_write_json(FILE *out, const struct foreign_rules *rules);
void foreign_write_proto(FILE *out, const struct foreign_rules *rules);

/*
 * What FlexFlow's parallelization ops mean. DEVICE and LINEAR0: tensors have a row for each replica,
 * replicate repeats elements, reduce adds neighbours. With LINEAR0, a linear layer reads the first row
 * of its operands; with DEVICE the rows that its operands have of each other's partitions, once.
 * DOPT: partition, combine, replicate and reduce are dopt's, on axes that follow from the layers.
 */
#define FOREIGN_READINGS(X)                                                                        \
	X(FOREIGN_DOPT, "dopt")                                                                    \
	X(FOREIGN_DEVICE, "device")                                                                \
	X(FOREIGN_LINEAR0, "lin0")
enum foreign_reading { FOREIGN_DOPT, FOREIGN_DEVICE, FOREIGN_LINEAR0 };

/* Writes a checked rule as text. */
void foreign_write_text(FILE *out, const struct foreign_rule *r, enum foreign_reading reading);

/*
 * A rule in the words of others; false, with a warning at what they have no word for. TASO has no
 * parallelization ops and no linear layers.
 */
bool foreign_from_rule(const void *owner, const struct ir_rules *rules, const struct ir_rule *r,
	bool taso, struct foreign_rule *to);

#endif
