/* What the files of the cost model share: model.c, times.c, cost.c, timeline.c. */
#ifndef PASSES_ANALYSIS_COST_INTERNAL_H
#define PASSES_ANALYSIS_COST_INTERNAL_H

#include "ir/ops/alike.h"
#include "ir/ops/form.h"
#include "passes/analysis/cost/cost.h"
#include "passes/analysis/replay/events.h"
#include "passes/analysis/profile/profile.h"

/* Sorts of kernels: estimate_sort() of passes/analysis/estimate/internal.h. */
enum { ESTIMATE_SORTS = 4 };

/* What was measured on a kind of device of the cluster. */
struct cost_kind_model {
	struct profile_op *op; /* [nops] sorted by key, then ranks */
	int nops;
	double careful[ESTIMATE_SORTS]; /* analytic estimates of kernels are multiplied by it */
};

/* What messages of one kind between so many places took. */
struct cost_curve {
	enum rt_coll_kind kind;
	int places;
	const struct collective_curve *curve;
};

struct cost_model {
	struct cluster *cluster;
	struct cost_kind_model *kind; /* [cluster->nkinds] */
	struct cluster *stated; /* as its text has it, with nothing measured; NULL: there is none */
	struct collective_model *collectives; /* on the cluster */
	enum collective_algorithm algorithm;
	bool fine;
	bool described;                       /* by a cluster or a profile */
	bool given;                           /* the cluster is */
	const struct storage_target *storage; /* NULL: storage_host */
	struct network *network;       /* estimates kernels that nobody has measured; NULL: none */
	const struct whatif *whatif;   /* NULL: as it is */
	const struct cost_model *base; /* with whatif: the model that it changes */
	/* Of the machine that was measured; the links of clusters that are described decide. */
	struct cost_curve *curve;
	struct profile_link *link; /* for what has no curve */
	int ncurves, nlinks;
};

/* What a collective took when it was last asked for. */
struct cost_answer {
	const struct event_group *group; /* NULL: nobody has asked */
	const struct ir_op *op;
	replay_time time;
	bool measured;
};

/* What a kernel takes, what-ifs of ops not included. */
struct cost_plain {
	double seconds;
	bool asked, measured;
};

/* A step that has been replayed. */
struct cost_step {
	const struct cost_model *model;
	const struct ir_module *m;
	struct ir_func *main;
	/* whose numbers the ops have, see cost_step_create_like; NULL: none */
	const struct cost_step *like;
	struct event_device *kind;  /* [cluster->nkinds] */
	struct bands *bands;        /* of the module; NULL: no device leaves anything out */
	const struct alike *alike;  /* the ops of @main */
	struct op_work *work;       /* [alike->n] of kernels and collectives */
	uint8_t *op_kind;           /* [alike->n] enum cost_kind */
	struct cost_plain **plain;  /* [cluster->nkinds][alike->n] */
	bool *measured;             /* by op->id: on the kind of the first place */
	struct cost_answer *answer; /* [alike->n] of collectives */
	uint32_t *device;           /* by place: device of the cluster */
	uint16_t *kind_of;          /* by place */
	/* the first collective that the algorithm does not do, or NULL */
	const struct ir_op *unfit;
	struct events *events;
	struct replay_result r;
};

static inline const struct op_work *
cost_step_work(const struct cost_step *s, const struct ir_op *op)
{
	return &s->work[alike_number(s->alike, op)];
}

/* Evaluates @main; owned by `owner`. NULL after reporting. */
struct cost_step *cost_step_create(
	const void *owner, const struct cost_model *model, const struct ir_module *m);

/* The same of a changed copy of the module of another step, sooner: kernels that it had take what they took there. What
 * alike_create_like asks of them must hold. */
struct cost_step *cost_step_create_like(
	const void *owner, const struct cost_step *like, const struct ir_module *m);

/* How often the op is run in a step, by all places together. */
double cost_step_runs(const struct cost_step *s, const struct ir_op *op);

/* FLOPs of all devices for values that the step has computed before. */
double cost_flops_repeated(const struct cost_step *s);

/* The arithmetic of a kernel, and the bytes of memory that it reads and writes: asked once an op, as
 * it takes the form; of a kernel of several ops, the bytes alone, which take none. */
struct op_work cost_kernel_work(const struct ir_module *m, const struct ir_op *op);
double cost_fuse_bytes(const struct ir_module *m, const struct ir_op *op);

/* Products of matrices and convolutions, which run at another rate than the rest. */
bool cost_is_product(const struct ir_op *op);

/* Do products on the device leave out what does not count (ir/loops/band/band.h)? Those of hosts do. */
static inline bool
cost_has_bands(const struct device *d)
{
	return d->async == 0;
}

/* Arithmetic on a device of a kernel whose work is w. Here and below, `b` are the bands of the
 * module, with what devices leave out that leave anything out; NULL: nothing. */
double cost_arithmetic_seconds(const struct device *d, const struct ir_module *m, struct bands *b,
	const struct ir_op *op, struct op_work w);

/* The roofline: whichever of arithmetic and memory takes longer, and the launch. */
double cost_roofline(const struct device *d, const struct ir_module *m, struct bands *b,
	const struct ir_op *op, struct op_work w);

/* What the profile has of this very kernel, if it has it; what-ifs of devices included. Estimates
 * nothing, so that threads with networks of their own may ask. */
bool cost_profile_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	struct bands *b, const struct ir_op *op, double *seconds);

/* Seconds of a kernel on a kind of device; what-ifs of devices included, those of ops not: the same
 * for ops that are alike. w: its work; NULL: it is asked for where it counts. */
double cost_plain_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	struct bands *b, const struct ir_op *op, const struct op_work *w, bool *measured);

/* What a kernel takes with what-ifs of ops, that takes t without them; and from the start. */
double cost_changed_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, double t);
double cost_kernel_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	struct bands *b, const struct ir_op *op, bool *measured);

/*
 * Seconds of a message that is as the op's, but for what c says of it: bytes of several tensors
 * that go together, for a search. Places of the group are given as devices of the cluster.
 */
double cost_message_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, const struct cost_collective *c, const struct event_group *g,
	const uint32_t *device, bool *measured);

/* A tensor is copied to another place in memory: read and written once. */
double cost_copy_seconds(
	const struct device *d, const struct ir_module *m, const struct ir_type *t);

/* Seconds of a copy between a kind of device and its host, its tensors one after another. */
double cost_host_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op);

/*
 * Seconds in which a kind of device copies operands of a message into its row before it posts it:
 * each is read and written once. 0 where all are made there, and for ops that are no row.
 */
double cost_pack_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op);

/* A collective between devices of the cluster; the list of them belongs to `owner`. */
struct collective_request cost_collective_request(const void *owner, const struct ir_module *m,
	const struct ir_op *op, const struct event_group *g, const uint32_t *device);

/* Says that the algorithm asked for does not do what a collective needs. */
void cost_report_algorithm(const struct cost_step *s, const struct ir_op *op);

/* Fills s->r by fine replay of s->events. False: reported. */
bool cost_replay_fine(struct cost_step *s);

/* Seconds of a collective by its groups, places given as devices of the cluster. */
double cost_collective_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, const struct event_group *g, const uint32_t *device,
	bool *measured);

#endif
