/*
 * The time of an op on a kind of device, and of a collective between devices of the cluster: from
 * the profile if it has one, else from the description.
 */
#include "passes/analysis/cost/internal.h"

#include "ir/base/arena.h"
#include "ir/ops/form.h"
#include "ir/ops/while.h"
#include "ir/memory/storage.h"
#include "ir/base/alloc.h"
#include "passes/analysis/collective/fit.h"
#include "passes/analysis/estimate/internal.h"
#include "passes/analysis/cost/whatif.h"

#include <math.h>
#include <talloc.h>

bool
cost_is_product(const struct ir_op *op)
{
	switch (op->code) {
	case OP_matmul:
	case OP_contract:
	case OP_conv2d:
	case OP_conv2d_data:
	case OP_conv2d_filter: return true;
	default: return false;
	}
}

static double
flop_rate(const struct device *d, const struct ir_op *op)
{
	return cost_is_product(op) ? device_flops(d, ir_operand_type(op, 0)->dtype)
				   : d->scalar_flops;
}

struct op_work
cost_kernel_work(const struct ir_module *m, const struct ir_op *op)
{
	struct op_work w = op_work(m, op);

	/* A loop writes its slices in place. For a value that is whole, only the slice is read or
	 * written. */
	if (op->code == OP_dynamic_update_slice && !ir_operand(op, 0)->op) {
		w.bytes = 2 * (double)ir_type_local_bytes(m, ir_operand_type(op, 1));
		w.flops = 0;
	} else if (op->code == OP_partition)
		w.bytes = 2 * (double)ir_type_local_bytes(m, op->result[0].type);
	else if (op->code == OP_combine)
		w.bytes = 2 * (double)ir_type_local_bytes(m, ir_operand_type(op, 0));
	return w;
}

double
cost_fuse_bytes(const struct ir_module *m, const struct ir_op *op)
{
	double bytes = 0;

	for (int i = 0; i < op->noperands; i++)
		bytes += (double)ir_type_local_bytes(m, ir_operand_type(op, i));
	for (int i = 0; i < op->nresults; i++)
		bytes += (double)ir_type_local_bytes(m, op->result[i].type);
	return bytes;
}

double
cost_arithmetic_seconds(
	const struct device *d, const struct ir_module *m, const struct ir_op *op, struct op_work w)
{
	double t = 0;

	if (!op->body)
		return w.flops / flop_rate(d, op);
	IR_FOR_OPS (inner, op->body)
		t += cost_arithmetic_seconds(d, m, inner, op_work(m, inner));
	return t * (double)while_trips(op);
}

double
cost_roofline(
	const struct device *d, const struct ir_module *m, const struct ir_op *op, struct op_work w)
{
	return d->launch +
	       fmax(cost_arithmetic_seconds(d, m, op, w), device_memory_seconds(d, w.bytes));
}

double
cost_copy_seconds(const struct device *d, const struct ir_module *m, const struct ir_type *t)
{
	return reach_copy_seconds(d, (enum ir_dtype)t->dtype, (double)ir_type_local_bytes(m, t));
}

double
cost_host_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op)
{
	const struct device *d = model->cluster->kind[kind];
	double t = 0;

	for (int i = 0; i < op->noperands; i++)
		t += d->host_latency +
		     (double)ir_type_local_bytes(m, ir_operand_type(op, i)) / d->host_bandwidth;
	return cost_changed_seconds(model, m, op, t);
}

double
cost_pack_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op)
{
	const struct device *d = model->cluster->kind[kind];
	double t = 0;

	if (!storage_is_row(m, op))
		return 0;
	for (int i = 0; i < op->noperands; i++)
		if (storage_is_packed(m, op, i))
			t += cost_copy_seconds(d, m, ir_operand_type(op, i));
	return t;
}

double
cost_changed_seconds(
	const struct cost_model *model, const struct ir_module *m, const struct ir_op *op, double t)
{
	return model->whatif ? whatif_seconds(model->whatif, m, op, t) : t;
}

/* A measured time changes in proportion to the estimate. */
static double
scaled(double measured, double now, double before)
{
	return before > 0 ? measured * (now / before) : measured;
}

/* A while launches the kernels of its body in every iteration, and waits for its condition. */
static double
estimate_while(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op)
{
	double t = model->cluster->kind[kind]->host_latency;
	bool measured;

	IR_FOR_OPS (inner, op->body)
		if (cost_op_kind(m, inner) == COST_COMPUTE)
			t += cost_plain_seconds(model, kind, m, inner, NULL, &measured);
	return t * (double)while_trips(op);
}

/* The product that is all of a kernel but for conversions of its result; NULL: there is more. */
static const struct ir_op *
lone_product(const struct ir_op *op)
{
	const struct ir_op *product = NULL;

	if (!op->body)
		return cost_is_product(op) ? op : NULL;
	IR_FOR_OPS (inner, op->body) {
		if (cost_is_product(inner)
				? product != NULL
				: inner->code != OP_convert && !op_is(inner, TRAIT_TERMINATOR))
			return NULL;
		product = cost_is_product(inner) ? inner : product;
	}
	return product;
}

static bool
is_partial_in_time(const struct ir_module *m, const struct ir_type *t)
{
	for (int a = 0; a < m->naxes; a++)
		if (m->axis[a].time && t->axis[a].kind == IR_PARTIAL)
			return true;
	return false;
}

/* Does the op sum products over micro-batches? */
static bool
sums_products(const struct ir_module *m, const struct ir_op *op)
{
	return op->code == OP_reduce && m->axis[ir_attr_int(op, "axis", 0)].time &&
	       ir_operand(op, 0)->op && lone_product(ir_operand(op, 0)->op);
}

/* The estimate of a kernel without measurements. */
static double
estimate(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op, const struct op_work *w)
{
	const struct device *d = model->cluster->kind[kind];

	if (op->code == OP_while)
		return estimate_while(model, kind, m, op);
	if (d->sums && sums_products(m, op))
		return 0;
	if (d->sums && op->body && is_partial_in_time(m, op->result[0].type) && lone_product(op))
		return estimate(model, kind, m, lone_product(op), NULL);
	if (op->body)
		return estimate_fuse(model, kind, m, op);
	const struct op_work work = w ? *w : cost_kernel_work(m, op);
	if (!d->reached)
		return cost_roofline(d, m, op, work);
	const struct reach_op r =
		reach_op_of(d, m, op, work, reach_rows_of(cost_model_storage(model)));
	return reach_alone_seconds(&r, d);
}

bool
cost_profile_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op, double *seconds)
{
	const struct cost_kind_model *k = &model->kind[kind];
	const struct device *d = model->cluster->kind[kind];

	char *key = k->nops ? cost_op_key(NULL, m, op) : NULL;
	if (!key)
		return false;
	const struct profile_op *entry = profile_find_op(k->op, k->nops, key, ir_devices(m));
	talloc_free(key);
	if (!entry)
		return false;
	*seconds = profile_op_careful(entry);
	if (model->base) {
		const struct op_work w = cost_kernel_work(m, op);
		*seconds = scaled(*seconds, cost_roofline(d, m, op, w),
			cost_roofline(model->base->cluster->kind[kind], m, op, w));
	}
	return true;
}

double
cost_model_measured(const struct cost_model *model, const char *key)
{
	const struct cost_kind_model *k = &model->kind[0];
	const struct profile_op *entry = k->nops ? profile_find_op(k->op, k->nops, key, 1) : NULL;

	return entry ? profile_op_careful(entry) : 0;
}

double
cost_plain_seconds(const struct cost_model *model, uint32_t kind, const struct ir_module *m,
	const struct ir_op *op, const struct op_work *w, bool *measured)
{
	double t;

	*measured = cost_profile_seconds(model, kind, m, op, &t);
	return *measured ? t : estimate(model, kind, m, op, w);
}

/* From the measurements of the profiled machine; negative: not measured. */
static double
measured_part(const struct cost_model *model, const struct cost_collective *c, double bytes)
{
	for (int i = 0; i < model->ncurves; i++)
		if (model->curve[i].kind == c->kind && model->curve[i].places == c->places)
			return collective_curve_seconds(model->curve[i].curve, bytes);
	for (int i = 0; i < model->nlinks; i++) {
		const struct profile_link *l = &model->link[i];
		if (l->kind == c->kind && l->places == c->places && l->beta > 0)
			return l->alpha + bytes / l->beta;
	}
	return -1;
}

/* Programs send parts one after the other, each as a message of its own size. */
static double
measured_seconds(const struct cost_model *model, const struct cost_collective *c)
{
	return c->parts * measured_part(model, c, c->bytes / c->parts);
}

/* The place that an op sends from, or to, if its type or its attribute names one. */
static uint32_t
root_of(const struct ir_module *m, const struct ir_op *op, const struct ir_type *t, int axis,
	const char *attribute)
{
	if (t->axis[axis].kind == IR_SINGLE)
		return ir_axis_place(&m->axis[axis], t->axis[axis].order);
	return (uint32_t)ir_attr_int(op, attribute, 0);
}

/* Kinds without a root have roots of 0, so that equal requests are equal: the attributes of an
 * alltoall are dims. */
static struct collective_request
request_of(const void *owner, const struct ir_module *m, const struct ir_op *op,
	const struct cost_collective *c, const struct event_group *g, const uint32_t *device)
{
	const struct rt_coll_info *info = rt_coll_info(c->kind);
	uint32_t n = g->ngroups * g->places, *member = NEW_ARRAY(owner, uint32_t, n);

	for (uint32_t i = 0; i < n; i++)
		member[i] = device[g->place[i]];
	return (struct collective_request){c->kind, g->ngroups, g->places, member, c->bytes,
		info->givers == RT_COLL_ALL
			? 0
			: root_of(m, op, ir_operand_type(op, 0), c->axis, "from"),
		info->getters == RT_COLL_ALL ? 0
					     : root_of(m, op, op->result[0].type, c->axis, "to"),
		c->parts};
}

struct collective_request
cost_collective_request(const void *owner, const struct ir_module *m, const struct ir_op *op,
	const struct event_group *g, const uint32_t *device)
{
	struct cost_collective c;

	cost_op_collective(m, op, &c);
	return request_of(owner, m, op, &c, g, device);
}

/* What messages of this kind between the devices of the group cost, for any bytes. */
static struct collective_cost *
cost_of(const struct cost_model *model, const struct ir_module *m, const struct ir_op *op,
	const struct cost_collective *c, const struct event_group *g, const uint32_t *device)
{
	const struct rt_coll_info *info = rt_coll_info(c->kind);
	const bool rooted = info->givers != RT_COLL_ALL || info->getters != RT_COLL_ALL;
	struct event_costs *known = rooted ? NULL : g->costs;

	if (known && known->model != model->collectives)
		*known = (struct event_costs){.model = model->collectives};
	if (known && known->of[c->kind])
		return known->of[c->kind];
	void *scratch = alloc_scratch(NULL);
	const struct collective_request q = request_of(scratch, m, op, c, g, device);
	struct collective_cost *k = collective_model_cost(model->collectives, &q);
	if (known)
		known->of[c->kind] = k;
	talloc_free(scratch);
	return k;
}

static double
computed_seconds(const struct cost_model *model, const struct ir_module *m, const struct ir_op *op,
	const struct cost_collective *c, const struct event_group *g, const uint32_t *device)
{
	const uint32_t parts = c->parts ? (uint32_t)c->parts : 1;

	return collective_cost_seconds(
		cost_of(model, m, op, c, g, device), c->bytes, parts, model->algorithm, NULL);
}

double
cost_message_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, const struct cost_collective *c, const struct event_group *g,
	const uint32_t *device, bool *measured)
{
	double t = measured_seconds(model, c);

	*measured = t >= 0;
	if (!*measured)
		t = computed_seconds(model, m, op, c, g, device);
	else if (model->base)
		t = scaled(t, computed_seconds(model, m, op, c, g, device),
			computed_seconds(model->base, m, op, c, g, device));
	return cost_changed_seconds(model, m, op, t);
}

double
cost_collective_seconds(const struct cost_model *model, const struct ir_module *m,
	const struct ir_op *op, const struct event_group *g, const uint32_t *device, bool *measured)
{
	struct cost_collective c;

	cost_op_collective(m, op, &c);
	return cost_message_seconds(model, m, op, &c, g, device, measured);
}
