/*
 * Costs for parallelize: an op is typed anew in a module of its own and evaluated by the cost
 * model; a change of layout is built there by reshard. So both cost what they will cost in the
 * step. Changes of layout depend on the mesh alone, so steps on one mesh share what they cost.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/digest.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/estimate/reach.h"
#include "passes/parallel/parallelize/parallelize.h"
#include "passes/parallel/reshard.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

struct change {
	const struct ir_type *from, *to;
	double seconds;
};

/* What is known of a change: its seconds as the sum has them, the least that it adds to messages, the
 * least from its begin to its end. */
enum change_cost { CHANGE_USUAL, CHANGE_LEAST, CHANGE_PATH, NCHANGE_COSTS };

/* Changes of layout on one mesh of devices, for kernels on one kind of device. */
struct changes {
	enum change_cost what;
	const struct cluster *cluster;
	const struct ir_context *ctx; /* of the types */
	int naxes;
	struct ir_axis axis[IR_MAX_AXES];
	const uint32_t *device; /* [ndevices] by position in the mesh */
	int64_t ndevices;
	uint32_t kind;
	struct map map;
	struct VEC(struct change) list;
};

/* A plan that was found; its choices are those of the memo, and it has no step. */
struct kept {
	char digest[IR_DIGEST_DIGITS + 1]; /* of the module */
	const char *text;
	struct parallel_plan plan[PARALLEL_NPOLICIES];
	double least[PARALLEL_NPOLICIES], need, least_need;
	const char *passes;
	int meshes;
};

struct parallel_memo {
	struct VEC(struct changes *) mesh;
	struct parallel_first first[2];
	struct VEC(struct kept) kept;
};

struct parallel_costs {
	const struct cost_model *model;
	struct ir_module *m; /* module of the probes */
	struct ir_block *block;
	struct ir_op **held; /* [nheld] ops whose results are the operands of probes */
	uint32_t nheld, kind;
	struct ir_op *probe;       /* NULL: none yet */
	const uint32_t *device;    /* by position in the mesh */
	struct event_group *group; /* by axis */
	struct parallel_memo *memo;
	struct changes *changes[NCHANGE_COSTS]; /* for `kind` */
};

static const struct ir_loc nowhere = {0};

/* Lists the groups of devices that differ only in their position on the axis. */
static void
list_group(struct parallel_costs *c, int axis)
{
	struct event_group *g = &c->group[axis];
	const struct ir_module *m = c->m;
	const uint32_t n = (uint32_t)ir_devices(m), size = (uint32_t)m->axis[axis].size;
	uint32_t stride = 1;

	for (int a = axis + 1; a < m->naxes; a++)
		stride *= m->axis[a].time ? 1 : (uint32_t)m->axis[a].size;
	*g = (struct event_group){
		axis, 0, size, ARRAY_NEW(c, uint32_t, n), NEW(c, struct event_costs)};
	for (uint32_t p = 0; p < n; p++) {
		if (p / stride % size)
			continue;
		for (uint32_t k = 0; k < size; k++)
			g->place[g->ngroups * size + k] = p + k * stride;
		g->ngroups++;
	}
}

struct parallel_memo *
parallel_memo_create(const void *owner)
{
	struct parallel_memo *memo = NEW(owner, struct parallel_memo);

	for (int i = 0; i < 2; i++)
		memo->first[i] = (struct parallel_first){0, -1, -1};
	return memo;
}

struct parallel_first *
parallel_memo_first(struct parallel_memo *memo, int64_t devices, bool replayed)
{
	struct parallel_first *first = &memo->first[replayed];

	if (first->devices != devices)
		*first = (struct parallel_first){devices, -1, -1};
	return first;
}

void
parallel_memo_keep(struct parallel_memo *memo, const char *digest, const char *text,
	const struct parallel_search *f)
{
	struct parallel_plan *plan;
	struct kept kept = {.text = text_copy(memo, text),
		.passes = f->passes ? text_copy(memo, f->passes) : NULL,
		.meshes = f->meshes,
		.need = f->need,
		.least_need = f->least_need};

	memcpy(kept.digest, digest, sizeof kept.digest);
	memcpy(kept.plan, f->plan, sizeof kept.plan);
	memcpy(kept.least, f->least, sizeof kept.least);
	plan = &kept.plan[f->policy];
	plan->name = text_copy(memo, plan->name);
	plan->found.choice =
		COPY_ARRAY(memo, uint16_t, plan->found.choice, plan->s->problem.nnodes);
	VEC_PUSH(memo, &memo->kept, kept);
}

bool
parallel_memo_recall(
	struct parallel_memo *memo, const char *digest, const char *text, struct parallel_search *f)
{
	for (int64_t i = 0; i < memo->kept.n; i++) {
		const struct kept *kept = &memo->kept.at[i];
		if (strcmp(kept->digest, digest) != 0 || strcmp(kept->text, text) != 0)
			continue;
		memcpy(f->plan, kept->plan, sizeof f->plan);
		memcpy(f->least, kept->least, sizeof f->least);
		f->need = kept->need;
		f->least_need = kept->least_need;
		f->passes = kept->passes;
		f->meshes = kept->meshes;
		return true;
	}
	return false;
}

static bool
is_mesh_of(const struct changes *k, const struct parallel_costs *c, enum change_cost what)
{
	bool same = k->what == what && k->cluster == cost_model_cluster(c->model) &&
		    k->ctx == c->m->ctx && k->naxes == c->m->naxes &&
		    k->ndevices == ir_devices(c->m) && k->kind == c->kind &&
		    !memcmp(k->device, c->device, (size_t)k->ndevices * sizeof *k->device);

	for (int a = 0; a < k->naxes && same; a++)
		same = alike_axis(&k->axis[a], &c->m->axis[a]);
	return same;
}

/* The changes for the current kind of device. */
static struct changes *
changes_of(struct parallel_costs *c, enum change_cost what)
{
	struct parallel_memo *memo = c->memo;

	for (int64_t i = 0; i < memo->mesh.n; i++)
		if (is_mesh_of(memo->mesh.at[i], c, what))
			return memo->mesh.at[i];
	struct changes *k = NEW(memo, struct changes);
	k->what = what;
	k->cluster = cost_model_cluster(c->model);
	k->ctx = c->m->ctx;
	k->naxes = c->m->naxes;
	memcpy(k->axis, c->m->axis, sizeof k->axis);
	k->ndevices = ir_devices(c->m);
	k->device = COPY_ARRAY(k, uint32_t, c->device, k->ndevices);
	k->kind = c->kind;
	VEC_PUSH(memo, &memo->mesh, k);
	return k;
}

static void
find_changes(struct parallel_costs *c)
{
	for (int what = 0; what < NCHANGE_COSTS; what++)
		c->changes[what] = changes_of(c, (enum change_cost)what);
}

struct parallel_costs *
parallel_costs_create(const void *owner, const struct cost_model *model, const struct ir_module *m,
	struct parallel_memo *memo)
{
	struct parallel_costs *c = NEW(owner, struct parallel_costs);

	c->model = model;
	c->memo = memo ? memo : parallel_memo_create(c);
	c->m = ir_module_create(c, m->ctx, m->name);
	memcpy(c->m->axis, m->axis, sizeof m->axis);
	c->m->naxes = m->naxes;
	c->block = &ir_func_create(c->m, "main", nowhere)->body;
	c->device = cluster_placement(c, m, cost_model_cluster(model));
	if (!c->device)
		return NULL;
	c->kind = cost_model_cluster(model)->kind_of[c->device[0]];
	c->group = ZERO_ARRAY(c, struct event_group, m->naxes + 1);
	for (int a = 0; a < m->naxes; a++)
		if (!m->axis[a].time)
			list_group(c, a);
	find_changes(c);
	return c;
}

bool
parallel_costs_use(struct parallel_costs *c, int axis, uint32_t place, uint32_t kind)
{
	const struct event_group *g = &c->group[axis];
	const struct cluster *cluster = cost_model_cluster(c->model);

	for (uint32_t i = 0; i < g->ngroups; i++)
		if (cluster->kind_of[c->device[g->place[i * g->places + place]]] == kind) {
			c->kind = kind;
			find_changes(c);
			return true;
		}
	return false;
}

/* --- probes ----------------------------------------------------------------------------------- */

/* The k-th value used as an operand of probes. */
static struct ir_value *
hold(struct parallel_costs *c, uint32_t k)
{
	while (c->nheld <= k) {
		struct ir_op *op = ir_op_create(c->m, OP_barrier, nowhere, NULL, 0, NULL, 0, 1);
		if (c->nheld)
			ir_insert_after(c->held[c->nheld - 1], op);
		else
			ir_block_append(c->block, op);
		LIST_PUSH(c, c->held, c->nheld, op);
	}
	return &c->held[k]->result[0];
}

struct ir_op *
parallel_costs_probe(struct parallel_costs *c, const struct ir_op *op)
{
	struct ir_value **operand = NEW_ARRAY(c, struct ir_value *, op->noperands);

	if (c->probe)
		ir_op_erase(c->probe);
	for (int k = 0; k < op->noperands; k++) {
		operand[k] = hold(c, (uint32_t)k);
		operand[k]->type = ir_operand_type(op, k);
	}
	c->probe = ir_op_clone(c->m, op, operand);
	ir_block_append(c->block, c->probe);
	talloc_free(operand);
	return c->probe;
}

bool
parallel_costs_fit(struct parallel_costs *c, struct ir_op *probe,
	const struct ir_type *const *operand, const struct ir_type *const *written)
{
	const bool before = diag_mute(c->m->ctx->diag, true);

	for (int k = 0; k < probe->noperands; k++)
		ir_operand(probe, k)->type = operand[k];
	const bool fits = ir_infer(c->m, probe, written);
	diag_mute(c->m->ctx->diag, before);
	return fits;
}

/* How often a device runs an op: once in each iteration of the loops that it reads from or belongs
 * to. */
static double
turns_of(const struct ir_module *m, const struct ir_op *op)
{
	double turns = 1;

	for (int a = 0; a < m->naxes; a++) {
		bool loops = false;
		for (int k = 0; k < op->noperands; k++) {
			const enum ir_state_kind s =
				(enum ir_state_kind)ir_operand_type(op, k)->axis[a].kind;
			loops = loops || s == IR_SPLIT || s == IR_PARTIAL;
		}
		for (int r = 0; r < op->nresults; r++) {
			const enum ir_state_kind s =
				(enum ir_state_kind)op->result[r].type->axis[a].kind;
			loops = loops || s == IR_SPLIT || s == IR_PARTIAL;
		}
		if (m->axis[a].time && loops)
			turns *= m->axis[a].size;
	}
	return turns;
}

double
parallel_costs_op(struct parallel_costs *c, const struct ir_op *op)
{
	struct cost_collective message;
	bool measured;

	switch (cost_op_kind(c->m, op)) {
	case COST_COMPUTE:
		return turns_of(c->m, op) *
		       cost_plain_seconds(c->model, c->kind, c->m, op, NULL, &measured);
	case COST_COLLECTIVE:
		cost_op_collective(c->m, op, &message);
		return turns_of(c->m, op) * cost_message_seconds(c->model, c->m, op, &message,
						    &c->group[message.axis], c->device, &measured);
	case COST_NONE:
	case COST_COPY: break;
	}
	return 0;
}

/* --- what no kernel takes less than --------------------------------------------------------- */

/* Seconds to move the bytes of a value at the best rate at which any loop nest accesses memory. */
static double
pass_seconds(const struct device *d, const struct ir_module *m, const struct ir_type *t)
{
	const enum reach_type type = reach_memory_type((enum ir_dtype)t->dtype);
	double share = 0;

	for (int k = REACH_flat; k < REACH_KERNELS; k++)
		share = fmax(share, d->reach[k][type].share);
	return (double)ir_type_local_bytes(m, t) / (share * d->bandwidth);
}

/*
 * At reached rates (estimate/reach.h) the time of a kernel is that of its product plus that of the
 * bytes that its other ops read and write. A kernel has one product at most, which reads nothing of
 * the kernel (fuse.h), or it is one of attention:
 *
 *     a product      its time alone; if batched, at most that of the arithmetic of attention
 *     any other op   the bytes of operands in `part` that some op must read, in its kernel or
 *                    another, and that no product reads, and of results that must be written; but
 *                    nothing for an add or relu, which the library may do
 */
static double
least_reached(const struct parallel_costs *c, const struct device *d, const struct ir_op *op,
	struct parallel_part part)
{
	/* which rows a step has padded in the end is not known */
	const bool pitch = reach_rows_of(cost_model_storage(c->model)) == REACH_PITCH;
	const struct reach_op r = reach_op_of(
		d, c->m, op, cost_kernel_work(c->m, op), pitch ? REACH_ALIGNED : REACH_DENSE);
	double seconds = 0;

	if (r.product)
		return r.size.batch * r.size.calls > 1.5 ? fmin(r.seconds, r.inside) : r.seconds;
	if (r.ends_product || r.spared > 0)
		return 0;
	for (int k = 0; k < op->noperands; k++)
		if (k < 64 && part.reads >> k & 1)
			seconds += pass_seconds(d, c->m, ir_operand_type(op, k));
	if (part.writes)
		seconds += pass_seconds(d, c->m, op->result[0].type);
	return seconds;
}

const struct device *
parallel_costs_device(const struct parallel_costs *c)
{
	const struct cost_model *model = c->model;
	const bool estimated = !model->kind[c->kind].nops && !model->network && !model->whatif;

	return estimated ? cost_model_cluster(model)->kind[c->kind] : NULL;
}

/* By a roofline, a kernel takes its arithmetic or its bytes, whichever is longer: roofline.c. */
static double
least_roofline(const struct parallel_costs *c, const struct device *d, const struct ir_op *op,
	struct parallel_part part)
{
	const struct op_work w = cost_kernel_work(c->m, op);
	const double peak = cost_model_peak(c->model, c->kind,
			     (enum ir_dtype)(
				     op->noperands ? ir_operand_type(op, 0) : op->result[0].type)
				     ->dtype),
		     rate = fmax(d->bandwidth, d->cache_bandwidth);
	double bytes = part.writes ? (double)ir_type_local_bytes(c->m, op->result[0].type) : 0;

	for (int k = 0; k < op->noperands; k++)
		if (k < 64 && part.reads >> k & 1)
			bytes += (double)ir_type_local_bytes(c->m, ir_operand_type(op, k));
	const double moves = fmin(bytes, w.bytes) / rate,
		     flops = cost_is_product(op) && peak > 0 ? w.flops / peak : 0;
	switch ((enum parallel_counts)part.counts) {
	case PARALLEL_LARGER: return fmax(flops, moves);
	case PARALLEL_FLOPS: return flops;
	case PARALLEL_WHOLE: return w.bytes / rate;
	case PARALLEL_BYTES: break;
	}
	return moves;
}

double
parallel_costs_least(
	const struct parallel_costs *c, const struct ir_op *op, struct parallel_part part)
{
	const struct cost_model *model = c->model;
	const struct device *d = parallel_costs_device(c);

	if (cost_op_kind(c->m, op) != COST_COMPUTE)
		return 0;
	if (d && d->reached)
		return turns_of(c->m, op) * least_reached(c, d, op, part);
	if (d)
		return turns_of(c->m, op) * least_roofline(c, d, op, part);
	if (!cost_is_product(op))
		return 0;
	const double peak =
		cost_model_peak(model, c->kind, (enum ir_dtype)ir_operand_type(op, 0)->dtype);
	return peak > 0 ? turns_of(c->m, op) * cost_kernel_work(c->m, op).flops / peak : 0;
}

/* --- changes of layout ------------------------------------------------------------------------ */

MAP_SAME(same_change, struct changes, struct change,
	list->list.at[i].from == key->from && list->list.at[i].to == key->to)

/* Messages of that many times their bytes take as long for each byte as any that they are sent
 * together with, except for rounding. */
static const double together = 1 << 30;

/* The least that the op adds to the messages of a step. */
static double
least_message(struct parallel_costs *c, const struct ir_op *op)
{
	struct cost_collective message;
	bool measured;

	if (cost_op_kind(c->m, op) != COST_COLLECTIVE)
		return 0;
	cost_op_collective(c->m, op, &message);
	message.bytes *= together;
	return turns_of(c->m, op) *
	       cost_message_seconds(c->model, c->m, op, &message, &c->group[message.axis],
		       c->device, &measured) /
	       together;
}

/* No pass sends a message in more parts. */
enum { MOST_PARTS = 64 };

/* The least that the op takes as a message of its own. */
static double
path_message(struct parallel_costs *c, const struct ir_op *op)
{
	struct cost_collective message;
	double least = INFINITY;
	bool measured;

	if (cost_op_kind(c->m, op) != COST_COLLECTIVE)
		return 0;
	cost_op_collective(c->m, op, &message);
	for (message.parts = 1; message.parts <= MOST_PARTS; message.parts++)
		least = fmin(least, cost_message_seconds(c->model, c->m, op, &message,
					    &c->group[message.axis], c->device, &measured));
	return turns_of(c->m, op) * least;
}

static double
build_change(struct parallel_costs *c, const struct ir_type *from, const struct ir_type *to,
	enum change_cost what)
{
	struct ir_builder b = {.m = c->m, .block = c->block};
	struct ir_value *v = hold(c, 0);
	const struct ir_type *held = v->type;
	struct ir_op *last = c->block->last;
	const bool before = diag_mute(c->m->ctx->diag, true);
	double seconds = 0;

	v->type = from;
	if (!reshard(&b, v, to))
		seconds = SPLIT_NEVER;
	diag_mute(c->m->ctx->diag, before);
	for (struct ir_op *op = last->next; op && seconds < SPLIT_NEVER; op = op->next)
		seconds += what == CHANGE_LEAST  ? least_message(c, op)
			   : what == CHANGE_PATH ? path_message(c, op)
						 : parallel_costs_op(c, op);
	while (c->block->last != last)
		ir_op_erase(c->block->last);
	v->type = held;
	return seconds < SPLIT_NEVER ? seconds : SPLIT_NEVER;
}

static double
change_seconds(struct parallel_costs *c, const struct ir_type *from, const struct ir_type *to,
	enum change_cost what)
{
	const struct change key = {from, to, 0};
	struct changes *known = c->changes[what];

	if (from == to)
		return 0;
	const uint32_t i = map_add(known, &known->map,
		mix_word(mix_word(0, (uintptr_t)from), (uintptr_t)to), same_change, known, &key);
	if (i == known->list.n)
		VEC_PUSH(known, &known->list,
			((struct change){from, to, build_change(c, from, to, what)}));
	return known->list.at[i].seconds;
}

double
parallel_costs_reshard(
	struct parallel_costs *c, const struct ir_type *from, const struct ir_type *to)
{
	return change_seconds(c, from, to, CHANGE_USUAL);
}

double
parallel_costs_least_reshard(
	struct parallel_costs *c, const struct ir_type *from, const struct ir_type *to)
{
	return change_seconds(c, from, to, CHANGE_LEAST);
}

double
parallel_costs_path_reshard(
	struct parallel_costs *c, const struct ir_type *from, const struct ir_type *to)
{
	return change_seconds(c, from, to, CHANGE_PATH);
}
