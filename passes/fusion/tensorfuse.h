/*
 * Policies of tensorfuse, which decide when a bucket is closed: those of other systems, with their
 * published defaults. tensorfuse.c fills buckets and makes one message of each.
 */
#ifndef PASSES_TENSORFUSE_H
#define PASSES_TENSORFUSE_H

#include "passes/pass.h"

/* In the order of the option's choices. */
#define FUSE_POLICIES(ROW)                                                                         \
	ROW(FUSE_NONE, "none")                                                                     \
	ROW(FUSE_SIZE, "size")                                                                     \
	ROW(FUSE_DDP, "ddp")                                                                       \
	ROW(FUSE_HOROVOD, "horovod") ROW(FUSE_REPLAY, "replay") ROW(FUSE_JOINT, "joint")

enum fuse_policy_kind { FUSE_POLICIES(CHOICE_CODE) };

/* A policy with its options. */
struct fuse_policy {
	enum fuse_policy_kind kind;
	int64_t bucket; /* bytes */
	int64_t first;  /* ddp: bytes of the first bucket of each kind of message */
	double cycle;   /* horovod: seconds */
	double *ready;  /* horovod: seconds at which operands are there, by op->id */
	bool gathers;   /* also fuse gathers of params */
};

/* A bucket as a policy sees it. */
struct fuse_bucket {
	int members;
	int64_t bytes;
	bool first;    /* of its kind of message */
	int64_t cycle; /* horovod: of its members */
};

/*
 * Reads the options of a run; false, reported, if an option is given that the policy does not have,
 * or if the step has no replay, which the policy needs to know when tensors are ready.
 */
bool fuse_policy_create(struct fuse_policy *p, struct pass_run *run, struct ir_module *m);

/* Sets fields that are 0 to the defaults of the kind, and ready times from m, to which the policy
 * is applied; false: m has no replay. */
bool fuse_policy_complete(struct fuse_policy *p, struct pass_run *run, struct ir_module *m);

/* Fuses collectives of m. Returns a hash of the fused collectives: copies of a module with equal
 * hashes are the same step. `silent`: no remarks, as for a trial copy. */
uint64_t fuse_policy_apply(
	const struct fuse_policy *p, struct pass_run *run, struct ir_module *m, bool silent);

/*
 * Sets the kind and bucket sizes of p (0: the kind's default) to those with the shortest replayed
 * step among those that fit (fuse_replay_fits), with a remark. Without a cluster or a profile only
 * the links of the device `generic` could decide, which no real machine has; then the kind is
 * `size`, the most widely used policy. True: the step fits with what was chosen.
 */
bool fuse_replay_choose(struct pass_run *run, struct ir_module *m, struct fuse_policy *p);

/* Does the step as fused by the policy fit into -budget, if given, or need no more memory than the
 * step as it is? Not checked if gathers of params are not fused. */
bool fuse_replay_fits(struct pass_run *run, struct ir_module *m, const struct fuse_policy *p);

/* Does a message of `bytes` stay alone, whatever the bucket contains? */
bool fuse_policy_leaves(const struct fuse_policy *p, int64_t bytes);

/* Does the message go into the bucket, which has members? Otherwise the bucket is closed first. */
bool fuse_policy_takes(const struct fuse_policy *p, const struct fuse_bucket *b,
	const struct ir_op *op, int64_t bytes);

/* Is the bucket full after this message? */
bool fuse_policy_seals(const struct fuse_policy *p, const struct fuse_bucket *b);

/* The cycle in which the operands of a message are ready; always 0 if the policy has no cycles. */
int64_t fuse_policy_cycle(const struct fuse_policy *p, const struct ir_op *op);

#endif
