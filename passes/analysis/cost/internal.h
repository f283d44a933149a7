/* What the files of the cost model share: model.c, times.c, cost.c, timeline.c. */
#ifndef PASSES_ANALYSIS_COST_INTERNAL_H
#define PASSES_ANALYSIS_COST_INTERNAL_H

#include "ir/base/vec.h"
#include "ir/ops/alike.h"
#include "ir/ops/form.h"
#include "passes/analysis/cost/cost.h"
#include "ir/memory/bundle.h"
#include "passes/analysis/replay/events.h"
#include "passes/analysis/profile/profile.h"

/* Groups of kernels by accuracy: estimate_sort() of passes/analysis/estimate/internal.h. */
enum { ESTIMATE_SORTS = 4 };

/* What was measured on a kind of device of the cluster. */
struct cost_kind_model {
	struct profile_op *op; /* [nops] sorted by key, then ranks */
	int nops;
	double careful[ESTIMATE_SORTS]; /* factor on analytic estimates of kernels */
};

/* Measured times of messages of one kind between this number of places. */
struct cost_curve {
	enum rt_coll_kind kind;
	int places;
	const struct collective_curve *curve;
};

struct cost_model {
	struct cluster *cluster;
	struct cost_kind_model *kind; /* [cluster->nkinds] */
	struct cluster *stated;       /* as in the cluster text, without measurements; NULL: none */
	struct collective_model *collectives; /* on the cluster */
	enum collective_algorithm algorithm;
	bool fine;
	bool described;                       /* by a cluster or a profile */
	bool given;                           /* a cluster was given */
	const struct storage_target *storage; /* NULL: storage_host */
	struct network *network;       /* estimates kernels without measurements; NULL: none */
	const struct whatif *whatif;   /* NULL: no changes */
	const struct cost_model *base; /* with whatif: the model that it changes */
	/* Measured on the profiled machine; for described clusters the links decide instead. */
	struct cost_curve *curve;
	struct profile_link *link; /* for collectives without a curve */
	int ncurves, nlinks;
	struct cost_memo *memo; /* see cost_model_remember; NULL: none */
};

/* Seconds of a kernel, without what-ifs of ops. */
struct cost_plain {
	double seconds;
	bool asked, measured;
};

/* What a kernel or collective takes, for the modules of an alike_memo. */
struct cost_fact {
	bool known;
	uint8_t kind; /* enum cost_kind */
	struct op_work work;
	struct cost_plain *plain; /* [cluster->nkinds] */
};

struct cost_memo {
	struct alike_memo *ops;
	struct VEC(struct cost_fact) fact; /* by common number */
	struct storage_codes *codes;
};

/* Time of a collective at its last query. */
struct cost_answer {
	const struct event_group *group; /* NULL: not queried yet */
	const struct ir_op *op;
	replay_time time;
	bool measured;
};

static inline struct storage_codes *
cost_codes(const struct cost_model *model)
{
	return model && model->memo ? model->memo->codes : NULL;
}

/* A step that has been replayed. */
struct cost_step {
	const struct cost_model *model;
	const struct ir_module *m;
	struct ir_func *main;
	/* step whose op numbers are shared, see cost_step_create_like; NULL: none */
	const struct cost_step *like;
	struct event_device *kind; /* [cluster->nkinds] */
	bool program;              /* as programs run it: with the next two, else NULL */
	struct storage *storage;
	const struct bundles *bundles;
	const struct alike *alike;  /* the ops of @main */
	struct op_work *work;       /* [alike->n] of kernels and collectives */
	uint8_t *op_kind;           /* [alike->n] enum cost_kind */
	struct cost_plain **plain;  /* [cluster->nkinds][alike->n] */
	bool *measured;             /* by op->id: on the kind of device of the first place */
	struct cost_answer *answer; /* [alike->n] of collectives */
	uint32_t *device;           /* by place: device of the cluster */
	uint16_t *kind_of;          /* by place */
	/* the first collective that the algorithm does not support, or NULL */
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

/* The same as programs run it: small kernels are one launch (ir/memory/bundle.h). Searches compare
 * steps without, whose memory they do not place. */
struct cost_step *cost_step_create_program(
	const void *owner, const struct cost_model *model, const struct ir_module *m);

/* cost_step_create for a changed copy of the module of step `like`, faster: kernels that both
 * contain take the same time. The conditions of alike_create_like must hold. */
struct cost_step *cost_step_create_like(
	const void *owner, const struct cost_step *like, const struct ir_module *m);

/* How often the op is run in a step, summed over all places. */
double cost_step_runs(const struct cost_step *s, const struct ir_op *op);

/* FLOPs, over all devices, spent on values that the step has computed before. */
double cost_flops_repeated(const struct cost_step *s);

/* The arithmetic of a kernel and the bytes of memory that it reads and writes. Compute it once per
 * op, as it needs the canonical form; cost_fuse_bytes gives only the bytes of a fuse and needs no
 * form. */
struct op_work cost_kernel_work(const struct ir_module *m, const struct ir_op *op);
double cost_fuse_bytes(const struct ir_module *m, const struct ir_op *op);

/* Matrix products and convolutions, which run at another rate than other ops. */
bool cost_is_product(const struct ir_op *op);

/* Seconds of arithmetic of a kernel with work w on a device. */
double cost_arithmetic_seconds(const struct device *d, const struct ir_module *m,
	const struct ir_op *op, struct op_work w);

/* The roofline: the maximum of arithmetic and memory time, plus the launch. */
double cost_roofline(const struct device *d, const struct ir_module *m, const struct ir_op *op,
	struct op_work w);

/* The profile's time of exactly this kernel, if it has one; what-ifs of devices included. Makes no
 * estimates, so that threads with networks of their own may call it. */
bool cost_profile_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op, double *seconds);

/* Seconds of a kernel on a kind of device, with what-ifs of devices and without those of ops: equal
 * for ops that are alike. w: its work; NULL: computed when needed. */
double cost_plain_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op, const struct op_work *w, bool *measured);

/* Seconds of a kernel with what-ifs of ops, from t, its time without them. */
double cost_changed_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, double t);

/*
 * Seconds of a message like the op's, except for the fields in c: for a search that sends several
 * tensors together. Places of the group are given as devices of the cluster.
 */
double cost_message_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, const struct cost_collective *c, const struct event_group *g,
	const uint32_t *device, bool *measured);

/* Seconds to copy a tensor within memory: it is read and written once. */
double cost_copy_seconds(
	const struct device *d, const struct ir_module *m, const struct ir_type *t);

/* Seconds to copy tensors, one after another, between a kind of device and its host. */
double cost_host_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op);

/*
 * Seconds that a kind of device spends copying operands of a message into its row before posting
 * it: each is read and written once. 0 if all are computed in place, and for ops without a row.
 */
double cost_pack_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op);

/* A collective between devices of the cluster; the device list belongs to `owner`. */
struct collective_request cost_collective_request(const void *owner, const struct ir_module *m,
	const struct ir_op *op, const struct event_group *g, const uint32_t *device);

/* Reports that the selected algorithm does not support a collective. */
void cost_report_algorithm(const struct cost_step *s, const struct ir_op *op);

/* Fills s->r by fine replay of s->events. False: reported. */
bool cost_replay_fine(struct cost_step *s);

/* Seconds of a collective by its groups, places given as devices of the cluster. */
double cost_collective_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, const struct event_group *g, const uint32_t *device,
	bool *measured);

#endif
