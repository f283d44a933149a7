/*
 * tensorfuse: several collectives become one over a packed buffer (tensor fusion: Sergeev and Del
 * Balso, "Horovod"; gradient buckets of PyTorch DDP). A collective costs a latency whatever it
 * carries, so few large ones are cheaper than many small ones; but a large one starts only when its
 * last part is ready.
 *
 * Collectives of one op, axis, dim and element type are put in a bucket in issue order, up to
 * `bucket` bytes at one place (of the larger of operand and result). The one op of the bucket
 * stands where its last member stood. A bucket is closed before the first op that reads a member's
 * result, so order and dominance hold and nothing else moves. Right because a variadic collective
 * is defined as each alone.
 */
#include "passes/pass.h"

#include <string.h>
#include <talloc.h>

struct bucket {
	struct bucket *next;
	struct ir_op **member; /* their op->mark is the bucket's number */
	int n, noperands;
	uint32_t number; /* from 1 */
	int64_t bytes;
};

struct fuser {
	struct pass_run *run;
	struct ir_module *m;
	struct bucket *open;
	int64_t limit;
	uint32_t nbuckets;
};

/* Same op, attributes (axis, dim ...) and element type. */
static bool
same_kind(const struct ir_op *a, const struct ir_op *b)
{
	if (a->code != b->code || a->nattrs != b->nattrs ||
		ir_operand_type(a, 0)->dtype != ir_operand_type(b, 0)->dtype)
		return false;
	for (int i = 0; i < a->nattrs; i++)
		if (!ir_attr_equal(&a->attr[i], &b->attr[i]))
			return false;
	return true;
}

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

/* All members become the last one with all operands; the results keep their names. */
static void
merge(struct fuser *f, struct bucket *k)
{
	struct ir_op *last = k->member[k->n - 1];
	int total = k->noperands, at = 0;

	struct ir_value **operand = talloc_array(f->run->scratch, struct ir_value *, (size_t)total);
	for (int i = 0; i < k->n; i++)
		for (int j = 0; j < k->member[i]->noperands; j++)
			operand[at++] = ir_operand(k->member[i], j);
	struct ir_op *one = ir_op_create(f->m, (enum op_code)last->code, last->loc, operand, total,
		last->attr, last->nattrs, total);
	ir_insert_before(last, one);
	at = 0;
	for (int i = 0; i < k->n; i++)
		for (int j = 0; j < k->member[i]->nresults; j++, at++) {
			struct ir_value *old = &k->member[i]->result[j];
			one->result[at].type = old->type;
			one->result[at].name = old->name;
			ir_replace_uses(old, &one->result[at]);
		}
	for (int i = 0; i < k->n; i++)
		ir_op_erase(k->member[i]);
	pass_count(f->run, "collectives fused", k->n);
	pass_remark(f->run, one, PASS_APPLIED, "%d %ss in one message of %lld bytes", k->n,
		op_name((enum op_code)one->code), (long long)k->bytes);
}

static void
close_bucket(struct fuser *f, struct bucket **link)
{
	struct bucket *k = *link;

	*link = k->next;
	if (k->n > 1)
		merge(f, k);
	talloc_free(k);
}

static bool
reads_member(const struct ir_op *op, const struct bucket *k)
{
	for (int j = 0; j < op->noperands; j++) {
		const struct ir_op *maker = ir_operand(op, j)->op;
		if (maker && maker->mark == k->number)
			return true;
	}
	return false;
}

static void
add_to_bucket(struct fuser *f, struct ir_op *op)
{
	int64_t bytes = message_bytes(f->m, op);
	struct bucket **link = &f->open;

	while (*link && !same_kind((*link)->member[0], op))
		link = &(*link)->next;
	if (*link && ((*link)->bytes + bytes > f->limit ||
			     (*link)->noperands + op->noperands > IR_MAX_LIST))
		close_bucket(f, link);
	struct bucket *k = *link && same_kind((*link)->member[0], op) ? *link : NULL;
	if (!k) {
		k = talloc_zero(f->run->scratch, struct bucket);
		k->next = f->open;
		k->number = ++f->nbuckets;
		f->open = k;
	}
	k->member = talloc_realloc(k, k->member, struct ir_op *, (size_t)k->n + 1);
	k->member[k->n++] = op;
	op->mark = k->number;
	k->noperands += op->noperands;
	k->bytes += bytes;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct fuser f = {.run = run, .m = m, .limit = pass_size(run, "bucket")};
	struct ir_block *block = &ir_func_find(m, "main")->body;

	IR_FOR_OPS (op, block)
		op->mark = 0;
	IR_FOR_OPS_SAFE (op, block) {
		for (struct bucket **link = &f.open; *link;)
			if (reads_member(op, *link))
				close_bucket(&f, link);
			else
				link = &(*link)->next;
		if (op_is(op, VARIADIC) && !m->axis[ir_attr_int(op, "axis", 0)].time)
			add_to_bucket(&f, op);
	}
	while (f.open)
		close_bucket(&f, &f.open);
	return true;
}

static const struct pass_option options[] = {
	{"bucket", PASS_SIZE, "25MB",
		"largest message, as bytes at one place; PyTorch DDP's default", NULL, 0, 1e15},
	{0},
};

const struct pass pass_tensorfuse = {
	.name = "tensorfuse",
	.family = "fusion",
	.summary = "several collectives become one over a packed buffer",
	.options = options,
	.needs = "no-calls",
	.run = run,
};
