/*
 * What if the network were twice as fast, or products of matrices took half their time? A text
 * changes what a step costs before it is replayed:
 *
 *     text   = [ item { "," item } ]
 *     item   = target "*" FACTOR | target "=" VALUE
 *     target = net.bandwidth | net.latency     all links
 *            | FIELD                           of every device: bandwidth, launch, bf16 ...
 *            | flops                           matrix products in every element type that is given
 *            | OP                              ops of that name: matmul, allreduce, fuse ...
 *            | scatter                         messages that a partition sends
 *            | kernels | collectives           all ops that compute; all that send messages
 *            | op=%NAME                        one op of @main, by the name of a result as printed
 *
 * Items work from left to right: factors multiply, a value replaces what was there. FACTOR is a
 * number of at least 0, above 0 for rates; VALUE has the unit of its target: `launch=2us`,
 * `flops=800TFLOP/s`, `matmul=10us`, `overlap=0`. A fuse is one kernel: it counts as `fuse`, and as
 * the op in it that has the most arithmetic (the first of equals), since that determines how long
 * it takes.
 *
 * How the cost model applies it (cost.c): descriptions of devices and clusters are changed before
 * any cost is taken from them; a time that was measured is scaled as the estimate for the same op
 * is; and then come the factors and values of the op.
 */
#ifndef PASSES_ANALYSIS_WHATIF_H
#define PASSES_ANALYSIS_WHATIF_H

#include "ir/ir.h"

struct cluster;
struct device;
struct whatif;

/*
 * The items of a text, which messages show under `name`; owned by `owner`. NULL after reporting
 * every fault with its place in the text.
 */
struct whatif *whatif_parse(const void *owner, struct diag *d, const char *name, const char *text);

/* Items and their places in the text: "net.bandwidth*2" */
int whatif_count(const struct whatif *w);
const char *whatif_item_text(const struct whatif *w, int i);

/*
 * Looks up the ops that items name in @main of `m`, and remembers them: before whatif_seconds, for
 * the module that it is given, and again when that has changed. Reports an op=%NAME that is not
 * there and returns false. Warns of items that change nothing in this module.
 */
bool whatif_bind(struct whatif *w, const struct ir_module *m);

/*
 * The ops of @main of `m` whose time item i changes, as in "%h (matmul), %r (allreduce) and 3
 * more"; owned by `owner`. NULL if it changes devices or links, or nothing.
 */
char *whatif_effect(const void *owner, const struct whatif *w, int i, const struct ir_module *m);

/* Changes a copy of a device's description: its own fields, and its links by net.*. */
void whatif_device(const struct whatif *w, struct device *d);

/*
 * Changes a copy of a cluster: its links by net.*, and its kinds of devices, which are replaced by
 * changed copies owned by the cluster. Before any route is asked for: routes are kept.
 */
void whatif_cluster(const struct whatif *w, struct cluster *c);

/* The code that an op counts as: its own, or for a fuse that of its op with the most arithmetic. */
enum op_code whatif_code(const struct ir_module *m, const struct ir_op *op);

/* The changed time of one run of an op of @main that took `seconds`: factors and values (`matmul=10us`). */
double whatif_seconds(
	const struct whatif *w, const struct ir_module *m, const struct ir_op *op, double seconds);

#endif
