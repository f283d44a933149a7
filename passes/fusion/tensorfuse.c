/*
 * tensorfuse: several collectives become one message (tensor fusion: Sergeev and Del Balso,
 * "Horovod"; gradient buckets of PyTorch DDP). A collective costs a latency whatever it carries, so
 * few large ones are cheaper than many small ones; but a large one starts only when its last part
 * is ready.
 *
 * Collectives of one op, attributes (axis, dim ...) and element type are put in a bucket in issue
 * order; the policy (tensorfuse.h) says when it is full. The one op of the bucket stands where its
 * last member stood. A bucket is closed before the first op that reads a member's result, so order
 * and dominance hold and nothing else moves. Right because a variadic collective is defined as each
 * alone.
 *
 * Bytes of a message are those at one place, of the larger of operand and result.
 */
#include "ir/base/vec.h"
#include "ir/base/number.h"
#include "ir/memory/storage.h"
#include "passes/fusion/collectives.h"
#include "passes/fusion/tensorfuse.h"
#include "passes/search/joint.h"

/* The bucket of a kind of message: one op, its attributes, an element type. */
struct bucket {
	struct bucket *next;
	const struct ir_op *like; /* a message of that kind, in the module */
	struct ir_op **member;    /* [fill.members]; in_bucket says `number` of them */
	int noperands;
	uint32_t number; /* from 1; another one each time that it is filled */
	struct fuse_bucket fill;
};

struct fuser {
	struct pass_run *run;
	struct ir_module *m;
	struct fuse_policy policy;
	struct bucket *bucket;
	uint32_t filled;
	/* By op->id, of ops that were there before this pass: `number` of the bucket, or 0. */
	uint32_t *in_bucket, nids;
};

static int64_t
message_bytes(const struct ir_module *m, const struct ir_op *op)
{
	int64_t bytes = 0;

	for (int i = 0; i < op->nresults; i++) {
		int64_t in = ir_type_local_bytes(m, ir_operand_type(op, i));
		int64_t out = ir_type_local_bytes(m, op->result[i].type);
		bytes += in > out ? in : out;
	}
	return bytes;
}

/* Bytes that have to be copied into the row of the message. */
static int64_t
packed_bytes(const struct ir_module *m, const struct ir_op *op)
{
	int64_t bytes = 0;

	if (!storage_is_row(m, op))
		return 0;
	for (int i = 0; i < op->noperands; i++)
		if (storage_is_packed(m, op, i))
			bytes += ir_type_local_bytes(m, ir_operand_type(op, i));
	return bytes;
}

static void
remark_fused(struct fuser *f, const struct ir_op *one, const struct fuse_bucket *fill)
{
	const int64_t packed = packed_bytes(f->m, one);
	const char *name = op_name((enum op_code)one->code);
	char bytes[NUMBER_TEXT], copied[NUMBER_TEXT];

	number_bytes(bytes, (double)fill->bytes);
	pass_count(f->run, "collective(s) fused", fill->members);
	if (packed)
		pass_remark(f->run, one, PASS_APPLIED,
			"%d %ss fused into one of %s, %s of which are copied into a bucket",
			fill->members, name, bytes, number_bytes(copied, (double)packed));
	else
		pass_remark(f->run, one, PASS_APPLIED, "%d %ss fused into one of %s", fill->members,
			name, bytes);
}

static void
close_bucket(struct fuser *f, struct bucket *k)
{
	if (!k->fill.members)
		return;
	if (k->fill.members > 1) {
		struct ir_op *one;
		collectives_fuse(f->m, k->member, (uint32_t)k->fill.members, &one);
		k->like = one;
		remark_fused(f, one, &k->fill);
	}
	k->noperands = 0;
	k->fill = (struct fuse_bucket){0};
}

static bool
reads_member(const struct fuser *f, const struct ir_op *op, const struct bucket *k)
{
	if (!k->fill.members)
		return false;
	for (int j = 0; j < op->noperands; j++) {
		const struct ir_op *maker = ir_operand(op, j)->op;
		if (maker && maker->id < f->nids && f->in_bucket[maker->id] == k->number)
			return true;
	}
	return false;
}

/* The bucket of messages of the op's kind. */
static struct bucket *
bucket_of(struct fuser *f, const struct ir_op *op)
{
	struct bucket *k = f->bucket;

	while (k && !collectives_fusible(k->like, op))
		k = k->next;
	if (k)
		return k;
	k = NEW(f->run->scratch, struct bucket);
	k->next = f->bucket;
	k->like = op;
	k->fill.first = true;
	f->bucket = k;
	return k;
}

static void
put(struct fuser *f, struct bucket *k, struct ir_op *op, int64_t bytes)
{
	struct fuse_bucket *fill = &k->fill;

	if (!fill->members) {
		k->number = ++f->filled;
		fill->cycle = fuse_policy_cycle(&f->policy, op);
	}
	ARRAY_PUSH(f->run->scratch, k->member, fill->members, op);
	f->in_bucket[op->id] = k->number;
	k->noperands += op->noperands;
	fill->bytes += bytes;
}

static void
add_message(struct fuser *f, struct ir_op *op)
{
	const int64_t bytes = message_bytes(f->m, op);

	if (fuse_policy_leaves(&f->policy, bytes)) {
		char size[NUMBER_TEXT], bucket[NUMBER_TEXT];
		pass_remark(f->run, op, PASS_MISSED,
			"%s of %s is not fused: it exceeds the bucket size of %s",
			op_name((enum op_code)op->code), number_bytes(size, (double)bytes),
			number_bytes(bucket, (double)f->policy.bucket));
		return;
	}
	struct bucket *k = bucket_of(f, op);
	if (k->fill.members && (!fuse_policy_takes(&f->policy, &k->fill, op, bytes) ||
				       k->noperands + op->noperands > IR_MAX_LIST))
		close_bucket(f, k);
	put(f, k, op, bytes);
	if (fuse_policy_seals(&f->policy, &k->fill))
		close_bucket(f, k);
}

static void
fuse(struct fuser *f, struct ir_block *block)
{
	f->nids = f->m->op_ids;
	f->in_bucket = ARRAY_ZERO(f->run->scratch, uint32_t, f->nids);
	IR_FOR_OPS_SAFE (op, block) {
		for (struct bucket *k = f->bucket; k; k = k->next)
			if (reads_member(f, op, k))
				close_bucket(f, k);
		if (op_is(op, TRAIT_VARIADIC) && !f->m->axis[ir_attr_int(op, "axis", 0)].time)
			add_message(f, op);
	}
	for (struct bucket *k = f->bucket; k; k = k->next)
		close_bucket(f, k);
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct fuser f = {.run = run, .m = m};

	if (!fuse_policy_create(&f.policy, run, m))
		return false;
	if (f.policy.kind == FUSE_JOINT)
		return joint_run(run, m, joint_moves(SEARCH_PACK));
	if (f.policy.kind != FUSE_NONE)
		fuse(&f, &ir_func_find(m, "main")->body);
	return true;
}

static const struct pass_option options[] = {
	{"policy", PASS_ENUM, "replay",
		"what to fuse: none, size (XLA's combiners), ddp (PyTorch's gradient buckets), "
		"horovod (collectives that are ready in the same cycle), replay (the policy and "
		"bucket size with the shortest predicted step; size with a bucket or without "
		"-cluster and -profile), joint (search)",
		CHOICE_LIST(FUSE_POLICIES), 0, 0},
	{"bucket", PASS_SIZE, "",
		"bucket size on each device: upper limit (size, horovod), or size at which a "
		"bucket is closed (ddp); default: size 30MiB, ddp 25MiB, horovod 64MiB",
		NULL, 0, 1e15},
	{"first", PASS_SIZE, "", "policy=ddp: size of the first bucket; default: 1MiB", NULL, 0,
		1e15},
	{"cycle", PASS_TIME, "", "policy=horovod: Horovod cycle time; default: 5ms", NULL, 1e-9,
		1e3},
	{0},
};

const struct pass pass_tensorfuse = {
	.name = "tensorfuse",
	.family = "fusion",
	.summary = "fuse several collectives into one",
	.options = options,
	.needs = "no-calls",
	.run = run,
	.keeps_bits = true,
};
