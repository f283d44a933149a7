/*
 * What closes a bucket of tensorfuse: the policies that others ship, with their published defaults.
 * tensorfuse.c fills buckets and makes one message of each.
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
	bool gathers;   /* fuse those of params, too */
};

/* A bucket as a policy sees it. */
struct fuse_bucket {
	int members;
	int64_t bytes;
	bool first;    /* of its kind of message */
	int64_t cycle; /* horovod: of its members */
};

/*
 * Reads the options of a run; false where one is given that the policy does not have, reported at
 * the option, or where the step has no replay that says when tensors are ready.
 */
bool fuse_policy_create(struct fuse_policy *p, struct pass_run *run, struct ir_module *m);

/* Sets what is 0 to the defaults of the kind, and the times of m, which the policy is applied to;
 * false: it has no replay. */
bool fuse_policy_complete(struct fuse_policy *p, struct pass_run *run, struct ir_module *m);

/* Fuses collectives of m. Returns a hash of what it fused: two copies of a module with the same one
 * are the same step. `silent`: on a copy, without remarks. */
uint64_t fuse_policy_apply(
	const struct fuse_policy *p, struct pass_run *run, struct ir_module *m, bool silent);

/*
 * Gives p the kind and the bucket sizes, 0 where they are the defaults of that kind, with which the
 * replay of the step is shortest, of those that fit (fuse_replay_fits), and says so in a remark. Where
 * nothing describes the machine, no cluster and no profile, the links of the device `generic` would
 * decide, which no real machine has: then it is `size`, the policy that is used most.
 */
void fuse_replay_choose(struct pass_run *run, struct ir_module *m, struct fuse_policy *p);

/* Does a step that the policy fuses fit into -budget, where one is given, or need no more memory than
 * the step as it is? Where gathers of params are not to be fused, it is not asked. */
bool fuse_replay_fits(struct pass_run *run, struct ir_module *m, const struct fuse_policy *p);

/* Does a message of so many bytes stay alone, whatever is in the bucket? */
bool fuse_policy_leaves(const struct fuse_policy *p, int64_t bytes);

/* Does the message go into the bucket, which has members? Else the bucket is closed before. */
bool fuse_policy_takes(const struct fuse_policy *p, const struct fuse_bucket *b,
	const struct ir_op *op, int64_t bytes);

/* Is the bucket closed now that this is in it? */
bool fuse_policy_seals(const struct fuse_policy *p, const struct fuse_bucket *b);

/* The cycle in which the operands of a message are ready; 0 for all where the policy has none. */
int64_t fuse_policy_cycle(const struct fuse_policy *p, const struct ir_op *op);

#endif
