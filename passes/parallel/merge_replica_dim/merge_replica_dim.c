/*
 * merge-replica-dim: a dim of replicas in front of the batch becomes part of it. A tensor of a
 * process of an SPMD program is f32[4/dp,32,784] after import, which is the batch f32[128/dp,784],
 * split in two dims: the same elements, in the same order, at the same places.
 *
 *     %x : f32[4/dp,32,784]                          %x : f32[4/dp,32,784]
 *     %h = matmul(%x, %w) : f32[4/dp,32,512]         %y = reshape(%x) : f32[128/dp,784]
 *     %s = sum(%h) {dims = [0, 1]}                   %h = matmul(%y, %w) : f32[128/dp,512]
 *                                                    %s = sum(%h) {dims = [0]}
 *
 * First, sums over replicas are joined with preceding sums over the batch
 * (sums.c). Then, op by op in order from the inputs on: if an operand is the
 * unfolded form of a folded value, and the two dims are adjacent wherever the op's form has them,
 * the op is built again on folded operands, and its result is unfolded for the readers that need it
 * so. An operand that has only one of the two dims, or neither because it is broadcast, is
 * repeated. A reshape in place remains where an op keeps the dims apart: at inputs and outputs, and
 * around reductions of one of them.
 *
 * Right because an op's form is a loop nest over indices, and
 *
 *     for i < R, for j < n: body(i, j)  =  for k < R * n: body(k),  where i * n + j = k everywhere
 *
 * Ops whose form computes with the two indices, or reads at computed positions there, are left
 * alone.
 */
#include "passes/parallel/merge_replica_dim/op.h"

#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

const struct folded *
replica_folded(const struct replica_merge *p, const struct ir_value *v)
{
	const struct folded *f = v->id < p->folded.n ? &p->folded.at[v->id] : NULL;

	return f && f->whole ? f : NULL;
}

struct ir_value *
replica_reshape(struct replica_merge *p, struct ir_value *x, const int64_t *dim, int rank)
{
	const struct ir_attr shape = ir_make_ints(p->m, "shape", dim, rank);

	if (!x || (x->type->rank == rank && !memcmp(x->type->dim, dim, (size_t)rank * sizeof *dim)))
		return x;
	return ir_build_try(&p->b, OP_reshape, x, &shape, 1, NULL);
}

/* The sizes of t with dims `at` and at + 1 merged. */
int
replica_merged(const struct ir_type *t, int at, int64_t dim[IR_MAX_RANK])
{
	int n = 0;

	for (int d = 0; d < t->rank; d++)
		if (d == at + 1)
			dim[n - 1] *= t->dim[d];
		else
			dim[n++] = t->dim[d];
	return n;
}

static void
remember(struct replica_merge *p, struct ir_value *apart, struct ir_value *whole, int at)
{
	while (p->folded.n <= apart->id)
		VEC_PUSH(p->run->scratch, &p->folded, (struct folded){0});
	p->folded.at[apart->id] = (struct folded){whole, at};
}

/* Replaces old, the result of its op, by v, which is old with dims at, at + 1 merged. */
static bool
take_apart(struct replica_merge *p, struct ir_value *old, struct ir_value *v, int at)
{
	struct ir_value *apart = replica_reshape(p, v, old->type->dim, old->type->rank);

	if (!apart || apart->type != old->type)
		return false;
	if (!v->name)
		v->name = old->name;
	ir_replace_uses(old, apart);
	if (apart == v)
		return true;
	remember(p, apart, v, at);
	return true;
}

/* --- ops -------------------------------------------------------------------------------------- */

/* The pair of dims of an op, from its first folded operand; *at: their position in that operand. */
static bool
find_pair(const struct replica_merge *p, const struct ir_op *op, const struct form *f,
	struct pair *pair, int *operand)
{
	for (int k = 0; k < f->ninputs; k++) {
		const struct folded *have = replica_folded(p, ir_operand(op, k));
		if (!have)
			continue;
		pair->first = f->in[k].index[have->at];
		pair->second = f->in[k].index[have->at + 1];
		*operand = k;
		if (pair->first < 0 || pair->second < 0 || f->at[pair->first] ||
			f->at[pair->second])
			return false;
		pair->nfirst = f->size[pair->first];
		pair->nsecond = f->size[pair->second];
		pair->like = ir_operand_type(op, k);
		pair->at = have->at;
		return true;
	}
	return false;
}

/* Are both reduced, or both in the result and adjacent? False: neither. */
static bool
result_fits(const struct form *f, const struct pair *pair, int *at_out)
{
	*at_out = form_access_dim(&f->out, pair->first);
	const int second = form_access_dim(&f->out, pair->second);

	return *at_out < 0 ? second < 0 : second == *at_out + 1;
}

/* Does the op compute with the position in the pair's dims? */
static bool
uses_position(struct replica_merge *p, const struct ir_op *op, const struct pair *pair)
{
	struct arena *a = arena_create(p->run->scratch);
	struct form f;
	bool uses = true;

	if (form_make(p->m, a, op, op->result[0].type, &f)) {
		uses = expr_uses_index(f.body, pair->first) ||
		       expr_uses_index(f.body, pair->second);
		for (int i = 0; i < f.nindices; i++)
			uses = uses || (f.at[i] && (expr_uses_index(f.at[i], pair->first) ||
							   expr_uses_index(f.at[i], pair->second)));
	}
	talloc_free(a);
	return uses;
}

static bool
fold_form(struct replica_merge *p, struct ir_op *op)
{
	struct ir_value *in[FORM_MAX_INPUTS];
	struct pair pair;
	struct form f;
	int operand, at_out;

	if (op->nresults != 1 || !form_shape(p->m, op, op->result[0].type, &f, NULL) ||
		!find_pair(p, op, &f, &pair, &operand) || !result_fits(&f, &pair, &at_out) ||
		uses_position(p, op, &pair))
		return false;
	for (int k = 0; k < f.ninputs; k++)
		if (!(in[k] = replica_operand(p, op, &f, k, &pair, at_out)))
			return false;
	struct ir_op *copy = ir_op_clone(p->m, op, in);
	const struct ir_type *t = op->result[0].type;
	int64_t dim[IR_MAX_RANK];
	const int rank = at_out < 0 ? t->rank : replica_merged(t, at_out, dim);
	const bool before = diag_mute(p->m->ctx->diag, true);
	bool ok = replica_attrs(p, copy, op, &f, &pair, form_access_dim(&f.in[operand], pair.first),
			  at_out) &&
		  ir_infer(p->m, copy, NULL);
	diag_mute(p->m->ctx->diag, before);
	ok = ok && copy->result[0].type->rank == rank &&
	     (at_out < 0 ? copy->result[0].type == t
			 : !memcmp(copy->result[0].type->dim, dim, (size_t)rank * sizeof *dim));
	if (!ok) {
		ir_op_erase(copy);
		return false;
	}
	ir_insert_before(op, copy);
	if (at_out >= 0)
		return take_apart(p, &op->result[0], &copy->result[0], at_out);
	copy->result[0].name = op->result[0].name;
	ir_replace_uses(&op->result[0], &copy->result[0]);
	return true;
}

/* Is the first dim split down to one element? */
static bool
is_replicas(const struct replica_merge *p, const struct ir_type *t)
{
	return t->rank > 1 && t->dim[0] > 1 && ir_type_split_factor(p->m, t, 0) == t->dim[0];
}

/* Does the reshape split a batch, which is split over the axis, into a dim of replicas and a
 * batch? */
static bool
takes_apart(const struct replica_merge *p, const struct ir_op *op)
{
	const struct ir_type *from = ir_operand_type(op, 0), *to = op->result[0].type;
	int64_t dim[IR_MAX_RANK];

	if (to->rank < 2 || to->dim[1] == 1 || replica_merged(to, 0, dim) != from->rank ||
		memcmp(dim, from->dim, from->rank * sizeof *dim))
		return false;
	return is_replicas(p, to);
}

/* Folds a reshape, or several, that keep the pair and the dims before it. */
static bool
fold_reshape(struct replica_merge *p, struct ir_op *op)
{
	const struct ir_type *to = op->result[0].type;
	const struct ir_value *from = ir_operand(op, 0);
	int64_t dim[IR_MAX_RANK];

	while (!replica_folded(p, from) && from->op && from->op->code == OP_reshape)
		from = ir_operand(from->op, 0);
	const struct folded *have = replica_folded(p, from);
	if (!have && takes_apart(p, op)) {
		remember(p, &op->result[0], ir_operand(op, 0), 0);
		return true;
	}
	if (!have || to->rank < have->at + 2)
		return false;
	for (int d = 0; d <= have->at + 1; d++)
		if (from->type->dim[d] != to->dim[d])
			return false;
	struct ir_value *v =
		replica_reshape(p, have->whole, dim, replica_merged(to, have->at, dim));
	return v && take_apart(p, &op->result[0], v, have->at);
}

/* Folds a collective that names no dim and whose axis does not split the pair. */
static bool
fold_parallel(struct replica_merge *p, struct ir_op *op)
{
	const struct folded *have =
		op->noperands == 1 ? replica_folded(p, ir_operand(op, 0)) : NULL;

	if (!have || (op->code != OP_allgather && op->code != OP_allreduce))
		return false;
	struct ir_value *x = have->whole;
	const int at = have->at;
	const bool before = diag_mute(p->m->ctx->diag, true);
	struct ir_value *v = ir_build(&p->b, (enum op_code)op->code, &x, 1, op->attr, op->nattrs);
	diag_mute(p->m->ctx->diag, before);
	p->b.failed = false;
	return v && take_apart(p, &op->result[0], v, at);
}

/*
 * Where folding starts: an input whose first dim is split down to one element, and the first larger
 * dim after it. Dims of size 1 between are taken out.
 */
static void
start_at(struct replica_merge *p, struct ir_value *v)
{
	const struct ir_type *t = v->type;
	int64_t dim[IR_MAX_RANK], close[IR_MAX_RANK];
	int at = -1, n = 0, k = 0;

	if (is_replicas(p, t))
		at = 1;
	while (at > 0 && at < t->rank && t->dim[at] == 1)
		at++;
	if (at < 1 || at == t->rank || !v->uses)
		return;
	for (int d = 0; d < t->rank; d++)
		if (d == 0 || d >= at)
			close[k++] = t->dim[d];
	dim[n++] = t->dim[0] * t->dim[at];
	for (int d = at + 1; d < t->rank; d++)
		dim[n++] = t->dim[d];
	bool open = false; /* else all of its readers use it folded */
	IR_FOR_USES (u, v)
		open = open || u->op->code != OP_reshape || u->op->result[0].type->rank != n ||
		       memcmp(u->op->result[0].type->dim, dim, (size_t)n * sizeof *dim) != 0;
	if (!open)
		return;
	p->b = (struct ir_builder){
		.m = p->m, .block = v->op->block, .before = v->op->next, .loc = v->op->loc};
	struct ir_value *whole = replica_reshape(p, v, dim, n);
	struct ir_value *apart = replica_reshape(p, whole, close, k),
			*back = replica_reshape(p, apart, t->dim, t->rank);
	if (!back || back == v || back->type != t)
		return;
	for (struct ir_use *u = v->uses, *next; u; u = next) {
		next = u->next;
		if (u->op != whole->op)
			ir_set_operand(u->op, (int)(u - u->op->operand), back);
	}
	remember(p, apart, whole, 0);
}

/* Folds an input, or a reshape of one. */
static bool
is_start(const struct ir_op *op)
{
	const struct ir_op *from = op->code == OP_reshape ? ir_operand(op, 0)->op : NULL;

	return op->code == OP_input || (from && from->code == OP_input);
}

static bool
fold_op(struct replica_merge *p, struct ir_op *op)
{
	if (!op->nresults || !op_is(op, TRAIT_PURE) || op->body || !op->noperands ||
		op->noperands > FORM_MAX_INPUTS)
		return false;
	p->b = (struct ir_builder){.m = p->m, .block = op->block, .before = op, .loc = op->loc};
	if (op->code == OP_reshape)
		return fold_reshape(p, op);
	if (op_is(op, TRAIT_PARALLEL))
		return fold_parallel(p, op);
	return form_exists((enum op_code)op->code) && fold_form(p, op);
}

/* Folds one dim of replicas everywhere; returns how many ops that changed. */
static int64_t
fold_once(struct replica_merge *p, struct ir_block *b)
{
	int64_t changed = 0;

	p->folded.n = 0;
	IR_FOR_OPS_SAFE (op, b) {
		const bool done = fold_op(p, op);
		changed += done;
		if (!done && is_start(op))
			start_at(p, &op->result[0]);
	}
	for (struct ir_op *op = b->last, *prev; op; op = prev) {
		prev = op->prev;
		if (op->nresults == 1 && !op->result[0].uses && op_is(op, TRAIT_PURE))
			ir_op_erase(op);
	}
	return changed;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct replica_merge p = {.run = run, .m = m};
	struct ir_block *b = &ir_func_find(m, "main")->body;
	int64_t changed = 1;

	if (!replica_join_sums(run, m, b))
		return false;
	for (int i = 0; i < m->naxes && changed; i++) {
		changed = fold_once(&p, b);
		pass_count(run, "op(s) on the merged batch", changed);
	}
	return true;
}

const struct pass pass_merge_replica_dim = {
	.name = "merge-replica-dim",
	.family = "parallelize",
	.summary = "merge a leading dim of replicas into the batch dim after it",
	.needs = "no-calls",
	.conflicts = "fused",
	.run = run,
};
