/* From ops in issue order to events: see events.h. */
#include "passes/analysis/replay/events_build.h"

#include "ir/base/arena.h"

#include <string.h>
#include <talloc.h>

/* Product of the sizes of the device axes after `axis`. */
static uint32_t
stride_of(const struct ir_module *m, int axis)
{
	uint32_t stride = 1;
	for (int a = axis + 1; a < m->naxes; a++)
		if (!m->axis[a].time)
			stride *= (uint32_t)m->axis[a].size;
	return stride;
}

/* Are there machines of several kinds along a device axis? */
static bool
kinds_differ(const struct events_builder *b, int axis)
{
	const uint16_t *kind_of = b->times->kind_of;
	uint32_t n = (uint32_t)ir_devices(b->m), stride = stride_of(b->m, axis);
	uint32_t size = (uint32_t)b->m->axis[axis].size;
	for (uint32_t p = 0; kind_of && p < n; p++)
		if (kind_of[p] != kind_of[p - p / stride % size * stride])
			return true;
	return false;
}

/* Device axes on which some value is single, or machines are of different kinds. */
static uint32_t
axes_that_differ(const struct events_builder *b, const struct issue *o)
{
	const struct ir_module *m = b->m;
	uint32_t set = 0;
	for (int a = 0; a < m->naxes; a++)
		if (!m->axis[a].time && kinds_differ(b, a))
			set |= 1u << a;
	for (uint32_t p = 0; p < o->n; p++)
		for (int i = 0; i < o->op[p]->nresults; i++)
			for (int a = 0; a < m->naxes; a++)
				if (!m->axis[a].time &&
					o->op[p]->result[i].type->axis[a].kind == IR_SINGLE)
					set |= 1u << a;
	return set;
}

/* Coordinate on `axis` of a device; devices are row-major over b->axes. */
uint32_t
events_coordinate(const struct events_builder *b, uint32_t device, int axis)
{
	for (int a = b->m->naxes - 1; a > axis; a--)
		if (b->axes >> a & 1)
			device /= (uint32_t)b->m->axis[a].size;
	return device % (uint32_t)b->m->axis[axis].size;
}

/* The device at place k of `axis`, otherwise at the coordinates of `device`. */
static uint32_t
neighbour(const struct events_builder *b, uint32_t device, int axis, uint32_t k)
{
	uint32_t weight = 1;
	for (int a = b->m->naxes - 1; a > axis; a--)
		if (b->axes >> a & 1)
			weight *= (uint32_t)b->m->axis[a].size;
	return device + k * weight - events_coordinate(b, device, axis) * weight;
}

/* The first of the places that a device represents. */
static uint32_t
first_place(const struct events_builder *b, uint32_t device)
{
	uint32_t place = 0;
	for (int a = 0; a < b->m->naxes; a++)
		if (b->axes >> a & 1)
			place += events_coordinate(b, device, a) * stride_of(b->m, a);
	return place;
}

/* Does device `device` represent the place, considering all axes other than `except`? */
static bool
stands_for(const struct events_builder *b, uint32_t device, uint32_t place, int except)
{
	for (int a = 0; a < b->m->naxes; a++)
		if ((b->axes >> a & 1) && a != except &&
			place / stride_of(b->m, a) % (uint32_t)b->m->axis[a].size !=
				events_coordinate(b, device, a))
			return false;
	return true;
}

/* Lists the groups of the places that a device represents. */
static void
list_places(const struct events_builder *b, struct event_group *g, uint32_t device)
{
	uint32_t n = (uint32_t)ir_devices(b->m), stride = stride_of(b->m, g->axis);
	uint32_t size = g->places;

	for (uint32_t p = 0; p < n; p++) {
		if (p / stride % size || !stands_for(b, device, p, g->axis))
			continue;
		for (uint32_t k = 0; k < size; k++)
			g->place[g->ngroups * size + k] = p + k * stride;
		g->ngroups++;
	}
}

/* The group of a device along an axis; places are listed at the first query. */
static uint32_t
group_of(struct events_builder *b, int axis, uint32_t device)
{
	uint32_t number = (uint32_t)axis * b->e->ndevices + device;
	struct event_group *g = &b->e->group[number];
	int64_t alike = ir_devices(b->m);

	if (g->place)
		return number;
	for (int a = 0; a < b->m->naxes; a++)
		if ((b->axes >> a & 1) && a != axis)
			alike /= b->m->axis[a].size;
	*g = (struct event_group){axis, 0, (uint32_t)b->m->axis[axis].size,
		NEW_ARRAY(b->e, uint32_t, alike), NEW(b->e, struct event_costs)};
	list_places(b, g, device);
	return number;
}

static uint32_t
copy_stream(const struct events_builder *b, const struct ir_op *op, uint32_t device)
{
	return 2 * b->e->ndevices + 2 * device + (op->code == OP_reload);
}

static int
axis_of(const struct ir_op *op)
{
	return (int)ir_attr_int(op, "axis", 0);
}

/* Axis 0 uses the stream of devices without queues. */
static uint32_t
message_stream(const struct events_builder *b, const struct ir_op *op, uint32_t device)
{
	const int axis = b->device[device]->queues ? axis_of(op) : 0;

	return axis ? b->queues + device * ((uint32_t)b->m->naxes - 1) + (uint32_t)axis - 1
		    : 2 * device + 1;
}

static uint32_t
event_add(struct events_builder *b, const struct ir_op *op, enum event_kind kind,
	uint32_t iteration, uint32_t device, replay_time duration)
{
	struct events *e = b->e;
	uint32_t n = e->graph.n++;
	if (n == b->duration.room) {
		VEC_ROOM(e, &b->duration, n + 1);
		const int64_t room = b->duration.room;
		b->stream = ARRAY_RESIZE(e, b->stream, uint16_t, room);
		b->dep_first = ARRAY_RESIZE(e, b->dep_first, uint32_t, room + 1);
		e->event = ARRAY_RESIZE(e, e->event, struct event, room);
		b->dep_first[0] = 0;
	}
	const bool communicates = kind == EVENT_COLLECTIVE || kind == EVENT_JOIN,
		   copies = kind == EVENT_COPY;
	b->stream[n] = (uint16_t)(copies         ? copy_stream(b, op, device)
				  : communicates ? message_stream(b, op, device)
						 : 2 * device);
	b->duration.at[n] = duration;
	b->dep_first[n + 1] = b->dep_first[n];
	e->event[n] = (struct event){op, iteration, 0, n, (uint16_t)device, (uint8_t)kind};
	if (!communicates && !copies)
		b->computed[device] = n;
	return n;
}

/* The message of a collective, as one device runs it. */
static uint32_t
collective_add(struct events_builder *b, const struct ir_op *op, int axis, uint32_t iteration,
	uint32_t device)
{
	uint32_t group = group_of(b, axis, device);
	replay_time t = b->times->collective(b->times->data, op, &b->e->group[group]);
	uint32_t n = event_add(b, op, EVENT_COLLECTIVE, iteration, device, t);
	b->e->event[n].group = group;
	return n;
}

/* The newest event waits for `on`. */
static void
dep_add(struct events_builder *b, uint32_t on)
{
	VEC_PUSH(b->e, &b->dep, on);
	b->dep_first[b->e->graph.n] = (uint32_t)b->dep.n;
}

/* The record of the op that computes v, which is not a view; NULL: available from the start. */
static struct events_record *
record_of(const struct events_builder *b, const struct ir_value *v)
{
	struct events_record *r = v->op ? &b->record[v->op->id] : NULL;

	return r && r->source == v->op && r->ready ? r : NULL;
}

/* The iteration of r whose results a consumer at that turn reads. */
static uint32_t
iteration_read(const struct events_builder *b, const struct events_record *r, uint32_t over,
	uint32_t iteration)
{
	const uint32_t t = issue_map(b->m, over, iteration, r->over);
	return t < r->iterations ? t : r->iterations - 1;
}

static void depend_on_operands(struct events_builder *b, const struct ir_op *op, uint32_t over,
	uint32_t iteration, uint32_t device);

static void
run_pending(struct events_builder *b, struct events_pending *w)
{
	struct events_record *r = &b->record[w->op->id];
	const uint32_t slot = events_slot(r, w->iteration, w->device);
	uint32_t e = collective_add(b, w->op, axis_of(w->op), w->iteration, w->device);
	b->stream[e] = (uint16_t)(2 * w->device);
	depend_on_operands(b, w->op, w->over, w->iteration, w->device);
	r->ready[slot] = r->done[slot] = e;
	w->op = NULL;
}

/* Runs everything that a device has posted up to that collective. */
static void
run_pending_up_to(
	struct events_builder *b, const struct ir_op *op, uint32_t iteration, uint32_t device)
{
	struct events_pending *w = b->pending.at;
	const int64_t n = b->pending.n;
	int64_t last = b->pending_first;
	while (last < n &&
		(w[last].op != op || w[last].iteration != iteration || w[last].device != device))
		last++;
	for (int64_t i = b->pending_first; last < n && i <= last; i++)
		if (w[i].op && w[i].device == device)
			run_pending(b, &w[i]);
	while (b->pending_first < n && !w[b->pending_first].op)
		b->pending_first++;
}

/* The compute stream waits for a collective, once. */
void
events_wait_for(struct events_builder *b, struct events_record *r, uint32_t made,
	uint32_t iteration, uint32_t device)
{
	const uint32_t slot = events_slot(r, made, device);

	if (!r->done || slot == NO_EVENT || r->waited[slot])
		return;
	run_pending_up_to(b, r->source, made, device);
	if (r->done[slot] == NO_EVENT)
		return;
	r->waited[slot] = true;
	const struct event_device *d = b->device[device];
	event_add(b, r->source, EVENT_WAIT, iteration, device, d->async ? 0 : d->wait);
	dep_add(b, r->done[slot]);
}

/* If a thread computes: it waits for the collectives that op reads. */
static void
wait_for_operands(struct events_builder *b, const struct ir_op *op, uint32_t over,
	uint32_t iteration, uint32_t device)
{
	struct awaited *a = &b->waits;

	for (int i = 0; !b->device[device]->async && i < op->noperands; i++) {
		awaited_clear(a);
		awaited_add(b, a, b->m, ir_operand(op, i));
		for (int64_t k = 0; k < a->value.n; k++) {
			struct events_record *r = record_of(b, a->value.at[k]);
			if (r)
				events_wait_for(b, r, iteration_read(b, r, over, iteration),
					iteration, device);
		}
	}
}

/* The newest event waits for the operands of op. */
static void
depend_on_operands(struct events_builder *b, const struct ir_op *op, uint32_t over,
	uint32_t iteration, uint32_t device)
{
	struct awaited *a = &b->deps;

	for (int i = 0; i < op->noperands; i++) {
		awaited_clear(a);
		awaited_add(b, a, b->m, ir_operand(op, i));
		for (int64_t k = 0; k < a->value.n; k++) {
			const struct events_record *r = record_of(b, a->value.at[k]);
			const uint32_t slot =
				r ? events_slot(r, iteration_read(b, r, over, iteration), device)
				  : NO_EVENT;
			if (slot != NO_EVENT && r->ready[slot] != NO_EVENT)
				dep_add(b, r->ready[slot]);
		}
	}
}

/* Does the device hold the tensor, considering all axes other than `except`? */
static bool
holds(const struct events_builder *b, const struct ir_type *t, uint32_t device, int except)
{
	for (int a = 0; a < b->m->naxes; a++)
		if ((b->axes >> a & 1) && a != except && t->axis[a].kind == IR_SINGLE &&
			events_coordinate(b, device, a) !=
				ir_axis_place(&b->m->axis[a], t->axis[a].order))
			return false;
	return true;
}

static bool
takes_part(const struct events_builder *b, const struct ir_op *op, uint32_t device)
{
	const struct ir_type *t = op->nresults ? op->result[0].type : ir_operand_type(op, 0);
	return holds(b, t, device, -1);
}

static void
emit_kernel(struct events_builder *b, const struct ir_op *op, struct events_record *r,
	uint32_t iteration, uint32_t device)
{
	if (!takes_part(b, op, device))
		return;
	wait_for_operands(b, op, r->over, iteration, device);
	uint32_t e =
		event_add(b, op, EVENT_KERNEL, iteration, device, b->device[device]->op[op->id]);
	depend_on_operands(b, op, r->over, iteration, device);
	r->ready[events_slot(r, iteration, device)] = e;
}

/* The event on the compute stream of a place after which it communicates: if kernels are queued
 * ahead and nothing is copied, the newest one, since until then the buffers of a message may hold
 * data of earlier kernels. */
static uint32_t
emit_post(struct events_builder *b, const struct ir_op *op, struct events_record *r,
	uint32_t iteration, uint32_t device)
{
	const struct event_device *d = b->device[device];
	const replay_time copies = d->op[op->id];

	wait_for_operands(b, op, r->over, iteration, device);
	if (!d->async)
		return event_add(b, op, EVENT_POST, iteration, device, d->post + copies);
	if (!copies)
		return b->computed[device];
	const uint32_t post = event_add(b, op, EVENT_POST, iteration, device, copies);
	depend_on_operands(b, op, r->over, iteration, device);
	return post;
}

/* All places of the axis do the same: one of them represents all. */
static void
emit_alike(struct events_builder *b, const struct ir_op *op, struct events_record *r,
	uint32_t iteration, uint32_t device)
{
	if (!takes_part(b, op, device))
		return;
	const uint32_t post = emit_post(b, op, r, iteration, device);
	const struct event_device *d = b->device[device];
	if (!d->async && !d->overlap) {
		VEC_PUSH(b, &b->pending, (struct events_pending){op, r->over, iteration, device});
		return;
	}
	uint32_t e = collective_add(b, op, axis_of(op), iteration, device);
	if (post != NO_EVENT)
		dep_add(b, post);
	depend_on_operands(b, op, r->over, iteration, device);
	const uint32_t slot = events_slot(r, iteration, device);
	r->ready[slot] = r->done[slot] = e;
}

/* Does the place of the axis send or receive? */
static bool
is_party(const struct ir_module *m, const struct ir_op *op, const struct cost_collective *c,
	uint32_t place)
{
	const struct ir_axis *axis = &m->axis[c->axis];

	return c->kind != RT_SEND ||
	       place == ir_axis_place(axis, (uint16_t)ir_attr_int(op, "from", 0)) ||
	       place == ir_axis_place(axis, (uint16_t)ir_attr_int(op, "to", 0));
}

/* A group of places that differ on the axis, starting with `first`: see the drawing. */
static void
emit_group(struct events_builder *b, const struct ir_op *op, const struct cost_collective *c,
	struct events_record *r, uint32_t iteration, uint32_t first)
{
	uint32_t *party = NEW_ARRAY(b->e, uint32_t, c->places), nparties = 0;
	uint32_t *posted = NEW_ARRAY(party, uint32_t, c->places);
	for (uint32_t k = 0; k < (uint32_t)c->places; k++)
		if (is_party(b->m, op, c, k))
			party[nparties++] = neighbour(b, first, c->axis, k);
	for (uint32_t k = 0; k < nparties; k++) {
		const uint32_t post = emit_post(b, op, r, iteration, party[k]);
		posted[k] = event_add(b, op, EVENT_JOIN, iteration, party[k], 0);
		if (post != NO_EVENT)
			dep_add(b, post);
		depend_on_operands(b, op, r->over, iteration, party[k]);
	}
	uint32_t join = event_add(b, op, EVENT_JOIN, iteration, party[0], 0);
	for (uint32_t k = 0; k < nparties; k++)
		dep_add(b, posted[k]);
	for (uint32_t k = 0; k < nparties; k++) {
		uint32_t e = collective_add(b, op, c->axis, iteration, party[k]);
		b->e->event[e].leader = e - k;
		dep_add(b, join);
		const uint32_t slot = events_slot(r, iteration, party[k]);
		r->done[slot] = e;
		if (holds(b, op->result[0].type, party[k], -1))
			r->ready[slot] = e;
	}
	talloc_free(party);
}

static void
emit_collective(struct events_builder *b, const struct ir_op *op, struct events_record *r,
	uint32_t iteration)
{
	struct cost_collective c;
	cost_op_collective(b->m, op, &c);
	bool alike = !(b->axes >> c.axis & 1);
	for (uint32_t i = 0; i < b->now->n; i++) {
		const uint32_t d = b->now->at[i];
		if (alike)
			emit_alike(b, op, r, iteration, d);
		else if (events_coordinate(b, d, c.axis) == 0 &&
			 holds(b, op->result[0].type, d, c.axis))
			emit_group(b, op, &c, r, iteration, d);
	}
}

/* Copies use their own hardware, independent of what runs on the cores. */
static void
emit_copy(struct events_builder *b, const struct ir_op *op, struct events_record *r,
	uint32_t iteration, uint32_t device)
{
	const struct event_device *d = b->device[device];
	uint32_t post = b->computed[device];

	if (!takes_part(b, op, device))
		return;
	wait_for_operands(b, op, r->over, iteration, device);
	if (!d->async)
		post = event_add(b, op, EVENT_POST, iteration, device, d->post);
	const uint32_t e = event_add(b, op, EVENT_COPY, iteration, device, d->op[op->id]);
	if (post != NO_EVENT)
		dep_add(b, post);
	depend_on_operands(b, op, r->over, iteration, device);
	const uint32_t slot = events_slot(r, iteration, device);
	r->ready[slot] = r->done[slot] = e;
}

void
events_emit(struct events_builder *b, const struct ir_op *op, uint32_t iteration)
{
	struct events_record *r = &b->record[op->id];
	if (r->kind == COST_COLLECTIVE)
		emit_collective(b, op, r, iteration);
	for (uint32_t i = 0; i < b->now->n; i++)
		if (r->kind == COST_COMPUTE)
			emit_kernel(b, op, r, iteration, b->now->at[i]);
		else if (r->kind == COST_COPY)
			emit_copy(b, op, r, iteration, b->now->at[i]);
}

static uint32_t *
no_events(struct events_builder *b, uint32_t n)
{
	uint32_t *event = ARENA_ARRAY(b->arena, uint32_t, n);

	for (uint32_t i = 0; i < n; i++)
		event[i] = NO_EVENT;
	return event;
}

/* The devices that may run an op of the loop: those of its stage. */
static const struct events_devices *
devices_of(const struct events_builder *b, const struct issue *o, const struct issue_loop *l,
	const struct ir_op *op)
{
	struct cell_message m;
	const int stage = b->at_stage && op->nresults && !issue_message(o, op, &m)
				  ? issue_stage(l, &op->result[0])
				  : -1;

	return stage < 0 ? &b->all : &b->at_stage[l->cells->device[stage]];
}

/* Records of the work of one loop, whose iterations have `all` events. */
void
events_record_work(
	struct events_builder *b, const struct issue *o, const struct issue_loop *l, uint32_t all)
{
	for (uint32_t p = l->first; p < l->end; p++) {
		const struct ir_op *op = o->op[p];
		const uint32_t over = o->once[p] ? 0 : l->over, iterations = o->once[p] ? 1 : all;
		enum cost_kind kind = cost_op_kind(b->m, op);
		if (kind == COST_NONE)
			continue;
		struct events_record *r = &b->record[op->id];
		*r = (struct events_record){.source = op,
			.kind = kind,
			.over = over,
			.iterations = iterations,
			.on = devices_of(b, o, l, op)};
		const uint32_t slots = iterations * r->on->n;
		r->ready = no_events(b, slots);
		if (kind == COST_COMPUTE)
			continue;
		r->done = no_events(b, slots);
		r->waited = ARENA_ARRAY(b->arena, bool, slots);
	}
}

static uint64_t
count_events(const struct events_builder *b, const struct issue *o)
{
	uint64_t events = 0;
	for (const struct issue_loop *l = o->loop; l < o->loop + o->nloops; l++)
		for (uint32_t p = l->first; p < l->end; p++) {
			const struct ir_op *op = o->op[p];
			const bool one =
				l->cells && op->nresults && issue_stage(l, &op->result[0]) >= 0;
			events += (uint64_t)l->iterations * b->e->ndevices /
				  (one ? (uint64_t)b->m->axis[l->stage_axis].size : 1);
		}
	return events;
}

/* Waits for what ops of a loop that run once, or those that do not, have posted in an iteration. */
void
events_wait_for_all(struct events_builder *b, const struct issue *o, const struct issue_loop *l,
	bool once, uint32_t iteration)
{
	for (uint32_t p = l->first; p < l->end; p++) {
		struct events_record *r = &b->record[o->op[p]->id];
		for (uint32_t i = 0; r->done && o->once[p] == once && i < r->on->n; i++)
			events_wait_for(b, r, iteration, iteration, r->on->at[i]);
	}
}

/* The number of iterations with events. If there are too many, one represents all, or all but the
 * last if that one does more. */
static uint32_t
replayed_iterations(
	const struct events_builder *b, const struct issue *o, const struct issue_loop *l)
{
	bool differs = false;

	for (uint32_t p = l->first; p < l->end; p++)
		differs |= o->once[p];
	const uint32_t least = differs ? 2 : 1;
	return b->e->collapsed && least < l->iterations ? least : l->iterations;
}

/* The bundles that are launched before position p, of members in a loop. */
static void
emit_bundles(struct events_builder *b, const struct issue *o, const struct issue_loop *l,
	uint32_t p, uint32_t iteration)
{
	const struct bundles *bundles = b->times->bundles;

	for (; bundles && b->nbundles < bundles->n; b->nbundles++) {
		const struct bundle *x = &bundles->bundle[b->nbundles];
		if (x->at != p || x->position[0] < l->first)
			return;
		for (uint32_t i = 0; i < x->n; i++)
			events_emit(b, o->op[x->position[i]], iteration);
	}
}

static void
emit_iteration(struct events_builder *b, const struct issue *o, const struct issue_loop *l,
	uint32_t iteration, bool last)
{
	const struct bundles *bundles = b->times->bundles;

	for (uint32_t p = l->first; p < l->end; p++) {
		emit_bundles(b, o, l, p, iteration);
		if ((!o->once[p] || last) && (!bundles || bundles->of[p] < 0))
			events_emit(b, o->op[p], o->once[p] ? 0 : iteration);
	}
	emit_bundles(b, o, l, l->end, iteration);
}

static void
emit_loop(struct events_builder *b, const struct issue *o, const struct issue_loop *l)
{
	const uint32_t first_bundle = b->nbundles;
	const uint32_t iterations = l->over ? replayed_iterations(b, o, l) : 1,
		       left_out = l->iterations - iterations, first_event = b->e->graph.n;
	uint32_t end_of_first = first_event;

	events_record_work(b, o, l, iterations);
	for (uint32_t iteration = 0; iteration < iterations; iteration++) {
		b->nbundles = first_bundle;
		emit_iteration(b, o, l, iteration, iteration == iterations - 1);
		/* So that every iteration starts in the same state. */
		if (l->over)
			events_wait_for_all(b, o, l, false, iteration);
		end_of_first = iteration ? end_of_first : b->e->graph.n;
	}
	for (uint32_t e = first_event; left_out && e < end_of_first; e++)
		b->duration.at[e] *= left_out + 1;
}

static void
emit_loops(struct events_builder *b, const struct issue *o)
{
	bool staged = false;

	for (uint32_t i = 0; i < o->nloops; i++)
		staged |= o->loop[i].cells != NULL;
	b->e->collapsed = count_events(b, o) > (staged ? EVENTS_MAX_STAGED : EVENTS_MAX);
	b->e->iterations = ARRAY_NEW(b->e, uint32_t, b->m->op_ids);
	for (uint32_t p = 0; p < o->n; p++)
		b->e->iterations[o->op[p]->id] = o->once[p] ? 1 : o->loop[o->loop_of[p]].iterations;
	for (uint32_t i = 0; i < o->nloops; i++)
		if (o->loop[i].cells && !b->e->collapsed)
			events_emit_staged(b, o, &o->loop[i]);
		else
			emit_loop(b, o, &o->loop[i]);
	for (uint32_t i = 0; i < o->nloops; i++)
		events_wait_for_all(b, o, &o->loop[i], true, 0);
}

static uint64_t
count_devices(const struct events_builder *b)
{
	uint64_t devices = 1;
	for (int a = 0; a < b->m->naxes; a++)
		if ((b->axes >> a & 1) && devices <= EVENTS_MAX_DEVICES)
			devices *= (uint64_t)b->m->axis[a].size;
	return devices;
}

static void
set_up_devices(struct events_builder *b, uint32_t n)
{
	const struct event_times *times = b->times;

	b->e->ndevices = n;
	b->e->group = ZERO_ARRAY(b->e, struct event_group, (size_t)b->m->naxes * n + 1);
	b->e->first_place = NEW_ARRAY(b->e, uint32_t, n);
	b->device = NEW_ARRAY(b, const struct event_device *, n);
	b->computed = NEW_ARRAY(b, uint32_t, n);
	b->all = (struct events_devices){NEW_ARRAY(b, uint32_t, n), n, NEW_ARRAY(b, uint32_t, n)};
	b->now = &b->all;
	for (uint32_t d = 0; d < n; d++) {
		b->all.at[d] = b->all.index[d] = d;
		uint32_t place = b->e->first_place[d] = first_place(b, d);
		b->device[d] = &times->kind[times->kind_of ? times->kind_of[place] : 0];
	}
}

static bool
has_copies(const struct issue *o)
{
	for (uint32_t p = 0; p < o->n; p++)
		if (op_is(o->op[p], TRAIT_COPY))
			return true;
	return false;
}

/*
 * Streams of a device for collectives on axes other than the first, if any device has such queues.
 */
static uint32_t
queues_of(const struct events_builder *b)
{
	const struct event_times *t = b->times;

	for (int64_t place = 0; place < (t->kind_of ? ir_devices(b->m) : 1); place++)
		if (t->kind[t->kind_of ? t->kind_of[place] : 0].queues)
			return (uint32_t)b->m->naxes - 1;
	return 0;
}

struct events *
events_create(const void *owner, const struct ir_module *m, const struct ir_block *block,
	const struct event_times *times)
{
	struct events_builder *b = NEW(NULL, struct events_builder);
	*b = (struct events_builder){.m = m, .times = times, .e = NEW(b, struct events)};
	const struct issue *o = issue_create(b, m, block);
	b->axes = axes_that_differ(b, o);
	uint64_t devices = count_devices(b);
	const uint32_t copies = has_copies(o) ? 2 : 0, queues = queues_of(b);
	const int most = (int)(REPLAY_MAX_STREAMS / (2 + copies + queues));
	if (devices > (uint64_t)most) {
		diag_error(m->ctx->diag, LOC_NONE,
			"more than %d devices with different work: the step cannot be replayed",
			most);
		talloc_free(b);
		return NULL;
	}
	set_up_devices(b, (uint32_t)devices);
	b->queues = (2 + copies) * b->e->ndevices;
	b->arena = arena_create(b);
	b->record = ARRAY_ZERO(b, struct events_record, m->op_ids);
	for (uint32_t d = 0; d < devices; d++)
		event_add(b, NULL, EVENT_STEP, 0, d, b->device[d]->step);
	emit_loops(b, o);
	struct events *e = talloc_steal(owner, b->e);
	e->graph.nothers = (copies + queues) * e->ndevices;
	e->graph.nstreams = 2 * e->ndevices + e->graph.nothers;
	e->graph.stream = b->stream;
	e->graph.duration = b->duration.at;
	e->graph.dep_first = b->dep_first;
	e->graph.dep = b->dep.at;
	talloc_free(b);
	return e;
}
