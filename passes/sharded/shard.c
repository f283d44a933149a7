/*
 * shard: data-parallel devices no longer hold the same states, gradients and params, but a slice of
 * each (S. Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter
 * Models", 2020, section 5; DeepCompile, section 4.1). On a step that dp has split over the axis
 * and that has gradients or updates:
 *
 *     stage 1   states of the optimizer are split; an update is computed on slices, and the new
 *               param gathered
 *     stage 2   so are gradients, which are scattered in each micro-batch
 *     stage 3   so are params, which are gathered before they are used: shard_gather.c
 *
 *     %w = param("w") : f32[64,8]                %w = param("w") : f32[64/dp,8]
 *     %h = matmul(%x, %w)                        %0 = allgather(%w) {axis = dp}
 *     %g = allreduce(%p) {axis = dp}             %h = matmul(%x, %0)
 *     %n = sub(%w, %g)                           %g = reducescatter(%p) {dim = 0, axis = dp}
 *     update(%w, %n)                             %n = sub(%w, %g) : f32[64/dp,8]
 *                                                update(%w, %n)
 *
 * Tensors to be split are declared as split, each followed by an allgather. From every update, and
 * every reported gradient, the pass goes back to the allreduces that the new value is computed
 * from, dim by dim through the indices of the ops, and makes each a reducescatter and an allgather.
 * Moving the allgathers down, through the optimizer, norms and conversions, is what propagate does
 * (passes/parallel/propagate.c); so this pass depends on no particular optimizer, messages have the
 * element type in which values are used, and norms of gradients are sums over slices.
 *
 * Right because parallelization ops do not change the value of a tensor, and the verifier infers
 * every layout again. Must not change what is split or partial on the axis, or the order of ops.
 */
#include "passes/sharded/shard.h"

#include "ir/base/alloc.h"
#include "ir/ops/form.h"
#include "passes/parallel/propagate.h"

#include <inttypes.h>
#include <string.h>

/* Limit on the path from an update back to its gradient: the longest optimizer has some twenty
 * ops. */
enum { TRACE_MAX_DEPTH = 200 };

static struct ir_state
state_of(const struct shard *s, const struct ir_value *v)
{
	return v->type->axis[s->axis];
}

/* --- params, states, gradients ---------------------------------------------------------------- */

static const char prefix[] = "grad."; /* of the names of outputs that are gradients */

static bool
is_gradient(const struct ir_op *op)
{
	return op->code == OP_output && strncmp(op->symbol, prefix, strlen(prefix)) == 0;
}

bool *
shard_forward_ops(const struct shard *s)
{
	const struct ir_block *block = &ir_func_find(s->m, "main")->body;
	bool *forward = ARRAY_ZERO(s->run->scratch, bool, s->m->op_ids);

	for (struct ir_op *op = block->last; op; op = op->prev) {
		bool needed = op->code == OP_output && !is_gradient(op);
		for (int i = 0; i < op->nresults; i++)
			IR_FOR_USES (u, &op->result[i])
				needed = needed || forward[u->op->id];
		forward[op->id] = needed;
	}
	return forward;
}

struct ir_op *
shard_update_of(const struct ir_value *v)
{
	IR_FOR_USES (u, v)
		if (u->op->code == OP_update && ir_operand(u->op, 0) == v)
			return u->op;
	return NULL;
}

static bool
is_used_forward(const struct shard *s, const struct ir_value *v)
{
	IR_FOR_USES (u, v)
		if (s->forward[u->op->id])
			return true;
	return false;
}

/* A state of the optimizer: it has an update, and the forward pass does not read it. */
static bool
is_state(const struct shard *s, const struct ir_op *op)
{
	return shard_update_of(&op->result[0]) && !is_used_forward(s, &op->result[0]);
}

/* A param that the forward pass uses, trained or not. */
static bool
is_weight(const struct shard *s, const struct ir_op *op)
{
	return op->code == OP_param && !is_state(s, op);
}

bool
shard_stays_whole(const struct shard *s, const struct ir_op *op)
{
	return s->stage < 3 && is_weight(s, op);
}

static bool
may_split(const struct shard *s, const struct ir_op *op)
{
	const struct ir_type *t = op_is(op, TRAIT_PERSISTENT) ? op->result[0].type : NULL;

	return t && t->rank && ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT &&
	       t->axis[s->axis].kind == IR_COPIED && (is_weight(s, op) || is_state(s, op));
}

static bool
divides(const struct shard *s, const struct ir_type *t, int dim)
{
	return ir_type_local_dim(s->m, t, dim) % s->m->axis[s->axis].size == 0;
}

/*
 * The first dim that can be split evenly; -1: none. Slices of dim 0 are contiguous. The result
 * depends only on the type, so that a param and its states have the same one.
 */
static int
choose_dim(const struct shard *s, const struct ir_type *t)
{
	for (int d = 0; d < t->rank; d++)
		if (divides(s, t, d))
			return d;
	return -1;
}

static const char *
bytes_text(const struct shard *s, const struct ir_type *t)
{
	return TEXT(s->run->scratch, "%" PRId64 "B", ir_type_local_bytes(s->m, t));
}

/* The dim to split, or -1 with a remark on why the tensor stays whole. */
static int
dim_of(const struct shard *s, const struct ir_op *op)
{
	const struct ir_type *t = op->result[0].type;
	const int dim = choose_dim(s, t);
	const struct ir_axis *axis = &s->m->axis[s->axis];

	if (ir_type_local_bytes(s->m, t) <= s->whole) {
		pass_remark(s->run, op, PASS_MISSED,
			"%s stays whole: its %s are not more than whole=%" PRId64 "B", op->symbol,
			bytes_text(s, t), s->whole);
		return -1;
	}
	if (dim < 0)
		pass_remark(s->run, op, PASS_MISSED,
			"%s stays whole, %s on each device: axis %s of size %" PRId32
			" divides none of its dims",
			op->symbol, bytes_text(s, t), axis->name, axis->size);
	return dim;
}

/* --- ops over the axis ------------------------------------------------------------------------ */

static struct ir_value *
build(const struct shard *s, enum op_code code, struct ir_value *v, int dim, struct ir_op *before)
{
	struct ir_builder b = {
		.m = s->m, .block = before->block, .before = before, .loc = before->loc};
	const struct ir_attr attr[] = {
		ir_make_axis(s->m->ctx, "axis", s->axis), ir_make_int(s->m->ctx, "dim", dim)};

	return ir_build(&b, code, &v, 1, attr, dim < 0 ? 1 : 2);
}

/* Declares the tensor as split, and inserts a gather for its readers. */
static bool
split_tensor(struct shard *s, struct ir_op *op, int dim)
{
	struct ir_value *v = &op->result[0];
	struct ir_type t = *v->type;
	struct ir_use *uses = v->uses, *next;

	t.axis[s->axis] =
		(struct ir_state){IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_depth(&t, dim)};
	v->type = ir_type_intern(s->m->ctx, &t);
	struct ir_value *whole = build(s, OP_allgather, v, -1, op->next);
	for (struct ir_use *u = uses; whole && u; u = next) {
		const int at = (int)(u - u->op->operand);
		next = u->next;
		if (!(u->op->code == OP_update && at == 0) && u->op != whole->op)
			ir_set_operand(u->op, at, whole);
	}
	return whole != NULL;
}

/* --- gradients -------------------------------------------------------------------------------- */

/* Can the sum, over another axis, be done on slices, after the scatter? Over devices always, over
 * time if the options ask for it. */
static bool
goes_after(const struct shard *s, const struct ir_op *op)
{
	if (!op || op->noperands != 1 || op->result[0].uses->next)
		return false;
	return op->code == OP_allreduce || (op->code == OP_reduce && s->scatter == SCATTER_EACH &&
						   s->m->axis[ir_attr_int(op, "axis", 0)].time);
}

/* Is it a sum over time in another element type: convert, sum, convert back? */
static bool
is_converted_sum(const struct shard *s, const struct ir_op *op)
{
	const struct ir_op *sum = op && op->code == OP_convert ? ir_operand(op, 0)->op : NULL;
	const struct ir_op *first = sum && sum->code == OP_reduce ? ir_operand(sum, 0)->op : NULL;

	return first && first->code == OP_convert && goes_after(s, sum) &&
	       !op->result[0].uses->next && !first->result[0].uses->next &&
	       ir_operand_type(first, 0)->dtype == op->result[0].type->dtype;
}

struct ir_value *
shard_sum_copy(const struct shard *s, struct ir_op *op, struct ir_value *v)
{
	struct ir_op *copy = ir_op_clone(s->m, op, &v);

	if (!ir_infer(s->m, copy, NULL))
		return NULL;
	ir_insert_before(op, copy);
	return &copy->result[0];
}

int
shard_hops(const struct shard *s, const struct ir_op *sum, struct ir_op **hop)
{
	const struct ir_value *v = ir_operand(sum, 0);
	int n = 0;

	for (int axis = 0; axis < IR_MAX_AXES; axis++) {
		const int ops = is_converted_sum(s, v->op) ? SHARD_SUM_OPS : goes_after(s, v->op);
		for (int i = 0; i < ops; i++) {
			hop[n++] = v->op;
			v = ir_operand(v->op, 0);
		}
	}
	return n;
}

/*
 * Replaces an allreduce over the axis by a reducescatter and an allgather. Preceding sums over
 * other axes are done on slices after the reducescatter: that reduces the bytes sent between nodes,
 * and the bytes accumulated over micro-batches.
 */
static bool
scatter(struct shard *s, struct ir_op *op, int dim)
{
	struct ir_op *hop[SHARD_MAX_HOPS];
	const int n = shard_hops(s, op, hop);
	struct ir_value *v = ir_operand(n ? hop[n - 1] : op, 0);

	v = build(s, OP_reducescatter, v, dim, n ? hop[n - 1] : op);
	for (int i = n - 1; v && i >= 0; i--)
		v = shard_sum_copy(s, hop[i], v);
	struct ir_value *whole = v ? build(s, OP_allgather, v, -1, op) : NULL;
	if (!whole)
		return false;
	ir_replace_uses(&op->result[0], whole);
	ir_op_erase(op);
	for (int i = 0; i < n; i++)
		ir_op_erase(hop[i]);
	pass_count(s->run, "gradient(s) scattered", 1);
	return true;
}

static bool trace(struct shard *s, struct ir_value *v, int dim, int depth);

static bool
trace_form(struct shard *s, struct ir_op *op, int dim, int depth)
{
	struct form f;
	const bool before = diag_mute(s->run->ctx->diag, true);
	const bool has = form_exists((enum op_code)op->code) && op->nresults == 1 &&
			 op->noperands <= FORM_MAX_INPUTS &&
			 form_shape(s->m, op, op->result[0].type, &f, NULL);

	diag_mute(s->run->ctx->diag, before);
	for (int j = 0; has && j < f.ninputs; j++) {
		const int at = form_access_dim(&f.in[j], f.out.index[dim]);
		if (at >= 0 && !trace(s, ir_operand(op, j), at, depth + 1))
			return false;
	}
	return true;
}

/* Scatters the sums over the axis from which v is computed, such that dim `dim` of v is split. */
static bool
trace(struct shard *s, struct ir_value *v, int dim, int depth)
{
	struct ir_op *op = v->op;

	if (!op || depth > TRACE_MAX_DEPTH || v->id >= s->nids || s->seen[v->id] ||
		state_of(s, v).kind != IR_COPIED || dim < 0)
		return true;
	s->seen[v->id] = true;
	if (!op_is(op, TRAIT_PARALLEL))
		return op_is(op, TRAIT_PURE) && !op->body ? trace_form(s, op, dim, depth) : true;
	if (ir_attr_int(op, "axis", -1) != s->axis)
		return trace(s, ir_operand(op, (int)v->index), dim, depth + 1);
	if (op->code != OP_allreduce || op->noperands != 1 || !divides(s, v->type, dim))
		return true;
	return scatter(s, op, dim);
}

/* --- updates ---------------------------------------------------------------------------------- */

/* Makes the op take slices of its operand, put together again if `gather`. */
static bool
take_slices(struct shard *s, struct ir_op *op, int operand, int dim, bool gather)
{
	struct ir_value *v = ir_operand(op, operand);

	if (state_of(s, v).kind != IR_COPIED)
		return true;
	struct ir_value *slice = build(s, OP_partition, v, dim, op);
	if (slice && gather)
		slice = build(s, OP_allgather, slice, -1, op);
	if (!slice)
		return false;
	ir_set_operand(op, operand, slice);
	return trace(s, v, dim, 0);
}

static bool
is_gradient_of(const struct ir_op *op, const struct ir_op *param)
{
	return is_gradient(op) && strcmp(op->symbol + strlen(prefix), param->symbol) == 0;
}

/* The output of the param's gradient, or NULL. Outputs have the order of the params, so the search
 * starts at the last one found. */
struct ir_op *
shard_gradient_of(struct shard *s, const struct ir_op *param)
{
	struct ir_op *start = s->gradient ? s->gradient : param->block->first, *op = start;

	while (op && !is_gradient_of(op, param))
		op = op->next;
	for (op = op ? op : param->block->first; op != start; op = op->next)
		if (is_gradient_of(op, param))
			break;
	if (!is_gradient_of(op, param))
		return NULL;
	return s->gradient = op;
}

/* Shards a param or state, and the ops from which its next value or its gradient is computed. */
static bool
shard_one(struct shard *s, struct ir_op *op)
{
	const bool weight = is_weight(s, op), whole = shard_stays_whole(s, op),
		   row = whole && s->flat[op->id];
	struct ir_op *update = shard_update_of(&op->result[0]),
		     *gradient = weight && !update ? shard_gradient_of(s, op) : NULL;
	const int dim = row ? 0 : dim_of(s, op);

	if (dim < 0)
		return true;
	if (!whole) {
		if (!split_tensor(s, op, dim))
			return false;
		pass_count(s->run, weight ? "param(s) sharded" : "state(s) sharded", 1);
	}
	if (row && !take_slices(s, ir_operand(update, 1)->op, 0, dim, true))
		return false;
	if (update && !row && !take_slices(s, update, 1, dim, whole))
		return false;
	return !gradient || take_slices(s, gradient, 0, dim, false);
}

static bool
shard_all(struct shard *s)
{
	const struct ir_block *block = &ir_func_find(s->m, "main")->body;
	struct ir_op **op = ARRAY_NEW(s->run->scratch, struct ir_op *, s->m->op_ids);
	int n = 0;

	IR_FOR_OPS (o, block)
		if (may_split(s, o))
			op[n++] = o;
	if (!shard_flatten(s, op, n))
		return false;
	s->forward = shard_forward_ops(s);
	s->nids = s->m->value_ids;
	s->seen = ARRAY_ZERO(s->run->scratch, bool, s->nids);
	for (int i = 0; i < n; i++)
		if (!shard_one(s, op[i]))
			return false;
	return true;
}

/* --- the pass --------------------------------------------------------------------------------- */

static bool
complain(const struct shard *s, const char *option, const char *text)
{
	diag_error(s->run->ctx->diag, pass_option_loc(s->run, option), "shard: %s", text);
	return false;
}

/* Reports options that the stage does not have. */
static bool
check_given(const struct shard *s)
{
	static const char *const gathers[] = {"gather", "reshard_after_forward"};

	for (size_t i = 0; s->stage < 3 && i < sizeof gathers / sizeof *gathers; i++)
		if (pass_given(s->run, gathers[i]))
			return complain(s, gathers[i],
				TEXT(s->run->scratch,
					"'%s' applies to gathered params, which stage %d does not have; use stage=3",
					gathers[i], s->stage));
	if (s->stage == 1 && s->scatter == SCATTER_EACH && pass_given(s->run, "scatter"))
		return complain(s, "scatter",
			"stage 1 scatters gradients once, after they are accumulated; stage 2 "
			"scatters them in each micro-batch");
	return true;
}

/* Is the step data parallel over the axis: does each device read its own part of some input? */
static bool
has_slices(const struct shard *s)
{
	IR_FOR_OPS (op, &ir_func_find(s->m, "main")->body)
		if (op->code == OP_input && state_of(s, &op->result[0]).kind == IR_SPLIT)
			return true;
	return false;
}

static bool
has_updates(const struct shard *s)
{
	IR_FOR_OPS (op, &ir_func_find(s->m, "main")->body)
		if (op->code == OP_param && shard_update_of(&op->result[0]))
			return true;
	return false;
}

static bool
check(const struct shard *s)
{
	const struct ir_axis *axis = &s->m->axis[s->axis];

	if (axis->time)
		return complain(s, "axis",
			TEXT(s->run->scratch, "%s is a time axis; expected a device axis",
				axis->name));
	if (!has_slices(s))
		return complain(s, "axis",
			TEXT(s->run->scratch,
				"no input is split over %s, so all its devices compute the same; "
				"run dp{axis=%s} before shard",
				axis->name, axis->name));
	if (!check_given(s))
		return false;
	if (s->stage < 3 && !has_updates(s))
		return complain(s, "stage",
			TEXT(s->run->scratch,
				"stage %d shards the states of an optimizer, and the step has none "
				"yet; run the optimizer before shard",
				s->stage));
	return true;
}

static bool
run(struct pass_run *run, struct ir_module *m)
{
	struct shard s = {.run = run,
		.m = m,
		.axis = pass_axis(run, "axis"),
		.stage = (int)pass_int(run, "stage"),
		.whole = pass_size(run, "whole"),
		.scatter = (enum shard_scatter)pass_enum(run, "scatter"),
		.gather = (enum shard_gather)pass_enum(run, "gather"),
		.reshard = pass_bool(run, "reshard_after_forward")};

	if (!check(&s))
		return false;
	if (s.stage == 1 && !pass_given(run, "scatter"))
		s.scatter = SCATTER_ONCE;
	s.forward = shard_forward_ops(&s);
	if (!shard_all(&s) || !propagate_over(run, m, 1u << s.axis))
		return false;
	shard_copy_views(&s);
	return shard_place_gathers(&s);
}

static const struct pass_option options[] = {
	{"axis", PASS_AXIS, NULL, "device axis over which dp has split the batch", NULL, 0, 0},
	{"stage", PASS_INT, "3",
		"what to shard: 1: states of the optimizer, 2: gradients, too, 3: params, too",
		NULL, 1, 3},
	{"reshard_after_forward", PASS_BOOL, "true",
		"stage 3: gather params again for the backward pass instead of keeping them", NULL,
		0, 0},
	{"gather", PASS_ENUM, "each",
		"stage 3: gather params in each micro-batch, or once for all of them",
		CHOICE_LIST(SHARD_GATHERS), 0, 0},
	{"scatter", PASS_ENUM, "each",
		"when gradients are scattered: in each micro-batch, or once, after they are "
		"accumulated whole (default of stage 1)",
		CHOICE_LIST(SHARD_SCATTERS), 0, 0},
	{"whole", PASS_SIZE, "0", "tensors of at most this many bytes on a device stay whole", NULL,
		0, 0},
	{0},
};

const struct pass pass_shard = {
	.name = "shard",
	.family = "sharded",
	.summary = "ZeRO: split optimizer states, gradients and params over data-parallel devices",
	.options = options,
	.needs = "no-calls,backward",
	.provides = "sharded",
	.conflicts = "fused,sharded,offloaded",
	.run = run,
	.keeps_bits = true,
};
