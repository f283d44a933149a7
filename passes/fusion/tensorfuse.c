/*
 * tensorfuse: several collectives become one message (tensor fusion: Sergeev and Del Balso,
 * "Horovod"; gradient buckets of PyTorch DDP). A collective costs a latency whatever it carries, so
 * few large ones are cheaper than many small ones; but a large one starts only when its last part
 * is ready.
 *
 * Collectives of one op, attributes (axis, dim ...) and element type are put in a bucket in issue
 * order; the policy (tensorfuse.h) says when it is full. The one op of the bucket stands where its
 * last member stood. A bucket is closed before the first op that reads a member's result, so that
 * definitions still precede their uses and nothing else moves. Right because a variadic collective
 * is defined as its collectives one by one.
 *
 * Gathers of sharded params (passes/sharded/gathers.h) stand right before their readers, and can be
 * issued at any earlier point: those of a bucket are issued where the first one stood, and its
 * readers do not close the bucket. That takes memory; the policy says whether it may.
 *
 * The size of a message is that on one device, of the operand or the result, whichever is larger.
 */
#include "passes/fusion/tensorfuse.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "ir/memory/storage.h"
#include "passes/parallel/collectives.h"
#include "passes/search/joint.h"
#include "passes/sharded/gathers.h"

#include <talloc.h>

/* The bucket of a kind of message: one op, its attributes, an element type. Gathers of params have
 * buckets of their own. */
struct bucket {
	struct bucket *next;
	const struct ir_op *like; /* a message of that kind, in the module */
	struct ir_op **member;    /* [fill.members]; in_bucket says `number` of them */
	int noperands;
	bool of_params;
	uint32_t number; /* from 1; a new number each time the bucket is filled */
	struct fuse_bucket fill;
};

struct fuser {
	struct pass_run *run;
	struct ir_module *m;
	const struct fuse_policy *policy;
	void *scratch;
	struct gathers *gathers; /* the gathers of params that are fused; NULL: none */
	struct bucket *bucket;
	uint32_t filled;
	/* By op->id, for ops from before this pass: the bucket's `number`, or 0. For the source of
	 * a gather, the number of the last of its gathers. */
	uint32_t *in_bucket, nids;
	uint64_t hash; /* of what was fused */
	bool silent;
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

/* Bytes to be copied into the contiguous row of the message. */
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

/* The gather that the op is; NULL: it is not a gather of a param. */
static const struct gather *
gather_of(const struct fuser *f, const struct ir_op *op)
{
	const uint32_t of = f->gathers ? f->gathers->of[op->id] : 0;

	return of && f->gathers->gather[of - 1].op == op ? &f->gathers->gather[of - 1] : NULL;
}

static void
move_after(struct ir_op **at, struct ir_op *op)
{
	ir_op_unlink(op);
	ir_insert_after(*at, op);
	*at = op;
}

/* Moves the gathers of a bucket, with their feeds, after the first one. */
static void
issue_at_first(const struct fuser *f, const struct bucket *k)
{
	struct ir_op *at = k->member[0];

	for (int i = 1; i < k->fill.members; i++) {
		const struct gather *g = gather_of(f, k->member[i]);
		for (int j = 0; j < g->nfeed; j++)
			move_after(&at, g->feed[j]);
		move_after(&at, g->op);
	}
}

static void
close_bucket(struct fuser *f, struct bucket *k)
{
	if (!k->fill.members)
		return;
	if (k->fill.members > 1) {
		struct ir_op *one;
		for (int i = 0; i < k->fill.members; i++)
			f->hash = mix_word(f->hash, k->member[i]->id);
		f->hash = mix_word(f->hash, (uint64_t)k->fill.members);
		if (k->of_params)
			issue_at_first(f, k);
		collectives_fuse(f->m, k->member, (uint32_t)k->fill.members, &one);
		k->like = one;
		if (!f->silent)
			remark_fused(f, one, &k->fill);
	}
	k->noperands = 0;
	k->fill = (struct fuse_bucket){0};
}

static bool
reads_member(const struct fuser *f, const struct ir_op *op, const struct bucket *k)
{
	if (!k->fill.members || k->of_params)
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
	const bool of_params = gather_of(f, op) != NULL;
	struct bucket *k = f->bucket;

	while (k && (k->of_params != of_params || !collectives_fusible(k->like, op)))
		k = k->next;
	if (k)
		return k;
	k = NEW(f->scratch, struct bucket);
	k->next = f->bucket;
	k->of_params = of_params;
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
		fill->cycle = fuse_policy_cycle(f->policy, op);
	}
	for (int i = 0; k->of_params && i < op->noperands; i++)
		f->in_bucket[gather_source(op, i)->op->id] = k->number;
	ARRAY_PUSH(f->scratch, k->member, fill->members, op);
	f->in_bucket[op->id] = k->number;
	k->noperands += op->noperands;
	fill->bytes += bytes;
}

static bool
shares_tensor(const struct ir_op *a, const struct ir_op *b)
{
	for (int i = 0; i < a->noperands; i++)
		for (int j = 0; j < b->noperands; j++)
			if (gathers_same(a, i, b, j))
				return true;
	return false;
}

/* Does the bucket already have this tensor from a gather for the forward pass? If so, this one for
 * the backward pass would only be a copy that is kept until then. */
static bool
gathers_again(const struct fuser *f, const struct bucket *k, const struct ir_op *op)
{
	bool may = false;

	for (int i = 0; i < op->noperands; i++)
		may |= f->in_bucket[gather_source(op, i)->op->id] == k->number;
	for (int i = 0; may && i < k->fill.members; i++)
		if (shares_tensor(k->member[i], op))
			return true;
	return false;
}

static void
add_message(struct fuser *f, struct ir_op *op)
{
	const int64_t bytes = message_bytes(f->m, op);

	if (fuse_policy_leaves(f->policy, bytes)) {
		char size[NUMBER_TEXT], bucket[NUMBER_TEXT];
		if (f->silent)
			return;
		pass_remark(f->run, op, PASS_MISSED,
			"%s of %s is not fused: it exceeds the bucket size of %s",
			op_name((enum op_code)op->code), number_bytes(size, (double)bytes),
			number_bytes(bucket, (double)f->policy->bucket));
		return;
	}
	struct bucket *k = bucket_of(f, op);
	if (k->fill.members && (!fuse_policy_takes(f->policy, &k->fill, op, bytes) ||
				       k->noperands + op->noperands > IR_MAX_LIST ||
				       (k->of_params && gathers_again(f, k, op))))
		close_bucket(f, k);
	put(f, k, op, bytes);
	if (fuse_policy_seals(f->policy, &k->fill))
		close_bucket(f, k);
}

static void
fuse(struct fuser *f, struct ir_block *block)
{
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

uint64_t
fuse_policy_apply(
	const struct fuse_policy *p, struct pass_run *run, struct ir_module *m, bool silent)
{
	struct fuser f = {.run = run, .m = m, .policy = p, .nids = m->op_ids, .silent = silent};

	f.scratch = alloc_scratch(NULL);
	f.in_bucket = ARRAY_ZERO(f.scratch, uint32_t, f.nids);
	f.gathers = p->gathers ? gathers_create(f.scratch, NULL, m) : NULL;
	if (f.gathers && f.gathers->n > 1)
		gathers_hoist_sources(f.gathers);
	fuse(&f, &ir_func_find(m, "main")->body);
	talloc_free(f.scratch);
	return f.hash;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct fuse_policy policy;

	if (!fuse_policy_create(&policy, run, m))
		return false;
	if (policy.kind == FUSE_JOINT)
		return joint_run(run, m, joint_moves(SEARCH_PACK));
	if (policy.kind != FUSE_NONE)
		fuse_policy_apply(&policy, run, m, false);
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
	{"gathers", PASS_BOOL, "true",
		"also fuse allgathers of sharded params; the fused one is issued where the "
		"first one was, which takes more memory; default: if the step then fits into "
		"-budget",
		NULL, 0, 0},
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
