/*
 * Policies of tensorfuse. Each follows what its source does with the tensors of a step, taken in
 * the order of issue, which is the order in which they become ready:
 *
 *  - size: XLA's combiners of collectives. A message is added as long as bucket and number are not
 *    exceeded; one that is larger than the bucket stays alone, and later messages may still join
 *    those before it.
 *  - ddp: PyTorch's gradient buckets. A tensor is added first and the bucket closed once it has
 *    reached its size, so the last tensor may exceed it. The first bucket is small, so that
 *    communication starts early.
 *  - horovod: what has become ready since the last cycle goes together, up to the threshold. Cycles
 *    are counted from the start of the step; the replay of the step without fusion says when a
 *    tensor is ready.
 */
#include "passes/fusion/tensorfuse.h"

#include "ir/base/alloc.h"
#include "passes/analysis/cost/cost.h"

#include <math.h>

enum fuse_default {
	/* xla_gpu_all_reduce_combine_threshold_bytes, and those of all-gather and reduce-scatter:
	 * xla/service/collective_utils.h, 30 MiB plus 7 bytes, which mark it as the default. */
	SIZE_BUCKET = 30 * 1024 * 1024 + 7,
	/* The number of collectives given with it in the pipeline of XLA's GPU compiler. */
	SIZE_MEMBERS = 256,
	/* bucket_cap_mb of torch.nn.parallel.DistributedDataParallel, and
	   dist._DEFAULT_FIRST_BUCKET_BYTES. */
	DDP_BUCKET = 25 * 1024 * 1024,
	DDP_FIRST = 1024 * 1024,
	/* HOROVOD_FUSION_THRESHOLD and HOROVOD_CYCLE_TIME, docs/tensor-fusion.rst; from 0.21 on 128
	 * MiB and 1 ms. */
	HOROVOD_BUCKET = 64 * 1024 * 1024,
};

static const double horovod_cycle = 5e-3;

static int64_t
default_bucket(enum fuse_policy_kind kind)
{
	switch (kind) {
	case FUSE_NONE:
	case FUSE_REPLAY: /* becomes another policy */
	case FUSE_JOINT: return 0;
	case FUSE_SIZE: return SIZE_BUCKET;
	case FUSE_DDP: return DDP_BUCKET;
	case FUSE_HOROVOD: return HOROVOD_BUCKET;
	}
	return 0;
}

/* Reports an option that this policy does not have. */
static bool
refuse(struct pass_run *run, const char *option, const char *why)
{
	if (!pass_given(run, option))
		return true;
	diag_error(run->ctx->diag, pass_option_loc(run, option), "%s: %s", run->pass->name, why);
	return false;
}

static bool
check_options(const struct fuse_policy *p, struct pass_run *run)
{
	bool ok = true;

	if (p->kind == FUSE_NONE)
		ok = refuse(run, "bucket", "policy=none fuses nothing: it has no buckets");
	if (p->kind == FUSE_REPLAY)
		ok = refuse(run, "bucket", "policy=replay chooses the size of its buckets");
	if (p->kind == FUSE_JOINT)
		ok = refuse(run, "bucket", "policy=joint chooses the size of its buckets");
	if (p->kind != FUSE_DDP)
		ok = refuse(run, "first", "only policy=ddp has a first bucket of another size") &&
		     ok;
	if (p->kind != FUSE_HOROVOD)
		ok = refuse(run, "cycle", "only policy=horovod has cycles") && ok;
	return ok;
}

/* The op that computes v, looking through views. */
static const struct ir_op *
maker_of(const struct ir_module *m, const struct ir_value *v)
{
	for (const struct ir_value *of; (of = cost_viewed(m, v));)
		v = of;
	return v->op;
}

/* When results are available, by op->id, in the step as it is. */
static double *
result_times(struct pass_run *run, struct ir_module *m)
{
	const struct cost_options generic = {0};
	const struct cost_model *cost =
		run->cost ? run->cost : cost_model_create(run->scratch, run->ctx->diag, &generic);
	const struct cost_timeline *t = cost ? cost_timeline(run->scratch, cost, m) : NULL;

	if (!t)
		return NULL;
	double *end = ARRAY_ZERO(run->scratch, double, m->op_ids);
	for (uint32_t i = 0; i < t->n; i++) {
		double *x = &end[t->event[i].op->id];
		*x = fmax(*x, t->event[i].end);
	}
	return end;
}

/* When all operands are available, by op->id. */
static double *
ready_times(struct pass_run *run, struct ir_module *m)
{
	const double *end = result_times(run, m);
	struct ir_block *block = &ir_func_find(m, "main")->body;

	if (!end)
		return NULL;
	double *ready = ARRAY_ZERO(run->scratch, double, m->op_ids);
	IR_FOR_OPS (op, block)
		for (int i = 0; i < op->noperands; i++) {
			const struct ir_op *maker = maker_of(m, ir_operand(op, i));
			if (maker)
				ready[op->id] = fmax(ready[op->id], end[maker->id]);
		}
	return ready;
}

bool
fuse_policy_complete(struct fuse_policy *p, struct pass_run *run, struct ir_module *m)
{
	p->bucket = p->bucket ? p->bucket : default_bucket(p->kind);
	p->first = p->first ? p->first : DDP_FIRST;
	p->cycle = pass_given(run, "cycle") ? pass_time(run, "cycle") : horovod_cycle;
	if (p->kind != FUSE_HOROVOD)
		p->ready = NULL;
	else if (!p->ready)
		p->ready = ready_times(run, m);
	return p->kind != FUSE_HOROVOD || p->ready;
}

bool
fuse_policy_create(struct fuse_policy *p, struct pass_run *run, struct ir_module *m)
{
	bool fits = false;

	*p = (struct fuse_policy){.kind = (enum fuse_policy_kind)pass_enum(run, "policy"),
		.gathers = pass_bool(run, "gathers")};
	if (pass_given(run, "bucket") && !pass_given(run, "policy"))
		p->kind = FUSE_SIZE;
	if (!check_options(p, run))
		return false;
	if (p->kind == FUSE_JOINT || p->kind == FUSE_NONE)
		return true;
	if (p->kind == FUSE_REPLAY)
		fits = fuse_replay_choose(run, m, p);
	if (pass_given(run, "bucket"))
		p->bucket = pass_size(run, "bucket");
	if (pass_given(run, "first"))
		p->first = pass_size(run, "first");
	fits = fits && !pass_given(run, "bucket") && !pass_given(run, "first");
	if (!fits && p->gathers && !pass_given(run, "gathers") && !fuse_replay_fits(run, m, p)) {
		p->gathers = false;
		pass_remark(run, NULL, PASS_MISSED,
			"allgathers of params are not fused: the step would not fit");
	}
	return fuse_policy_complete(p, run, m);
}

bool
fuse_policy_leaves(const struct fuse_policy *p, int64_t bytes)
{
	return p->kind == FUSE_NONE || (p->kind == FUSE_SIZE && bytes > p->bucket);
}

int64_t
fuse_policy_cycle(const struct fuse_policy *p, const struct ir_op *op)
{
	return p->kind == FUSE_HOROVOD ? (int64_t)floor(p->ready[op->id] / p->cycle) : 0;
}

bool
fuse_policy_takes(const struct fuse_policy *p, const struct fuse_bucket *b, const struct ir_op *op,
	int64_t bytes)
{
	switch (p->kind) {
	case FUSE_NONE:
	case FUSE_REPLAY:
	case FUSE_JOINT: return false;
	case FUSE_SIZE: return b->bytes + bytes <= p->bucket && b->members < SIZE_MEMBERS;
	case FUSE_DDP: return true;
	case FUSE_HOROVOD:
		return b->bytes + bytes <= p->bucket && fuse_policy_cycle(p, op) == b->cycle;
	}
	return false;
}

bool
fuse_policy_seals(const struct fuse_policy *p, const struct fuse_bucket *b)
{
	return p->kind == FUSE_DDP && b->bytes >= (b->first ? p->first : p->bucket);
}
