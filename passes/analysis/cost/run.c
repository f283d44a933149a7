/* A step, replayed: see cost.h. */
#include "passes/analysis/cost/internal.h"

#include "ir/base/alloc.h"
#include "ir/memory/storage.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

static bool
check_main(const struct ir_module *m, const struct ir_func *main)
{
	if (!main) {
		diag_error(m->ctx->diag, LOC_NONE, "the module has no @main: nothing to evaluate");
		return false;
	}
	for (const struct ir_op *op = main->body.first; op; op = op->next)
		if (op_is(op, TRAIT_CALLS)) {
			diag_error(m->ctx->diag, op->loc,
				"a call has no cost: run the pass inline first");
			return false;
		}
	return true;
}

static bool
place_devices(struct cost_step *s)
{
	uint32_t n = (uint32_t)ir_devices(s->m);

	s->device = cluster_placement(s, s->m, s->model->cluster);
	if (!s->device)
		return false;
	s->kind_of = NEW_ARRAY(s, uint16_t, n);
	for (uint32_t p = 0; p < n; p++)
		s->kind_of[p] = s->model->cluster->kind_of[s->device[p]];
	return true;
}

/* What is known of the i-th kind of ops from steps before; NULL: there is no memo. */
static struct cost_fact *
fact_of(const struct cost_step *s, uint32_t i)
{
	struct cost_memo *memo = s->model->memo;

	if (!memo || !s->alike->memo)
		return NULL;
	while (memo->fact.n <= s->alike->common[i])
		VEC_PUSH(memo, &memo->fact, (struct cost_fact){0});
	return &memo->fact.at[s->alike->common[i]];
}

static void
find_work_of(struct cost_step *s, uint32_t i)
{
	const struct ir_op *op = s->alike->first[i];
	const enum cost_kind kind = cost_op_kind(s->m, op);

	s->op_kind[i] = (uint8_t)kind;
	if (kind == COST_COMPUTE || kind == COST_COLLECTIVE)
		s->work[i] = cost_kernel_work(s->m, op);
}

/* The form is made once for ops that are alike. */
static void
find_work(struct cost_step *s)
{
	const uint32_t known = s->like ? s->like->alike->n : 0;

	s->work = ARRAY_ZERO(s, struct op_work, s->alike->n);
	s->op_kind = ARRAY_ZERO(s, uint8_t, s->alike->n);
	if (known) {
		memcpy(s->work, s->like->work, known * sizeof *s->work);
		memcpy(s->op_kind, s->like->op_kind, known * sizeof *s->op_kind);
	}
	for (uint32_t i = known; i < s->alike->n; i++) {
		struct cost_fact *fact = fact_of(s, i);
		if (fact && fact->known) {
			s->op_kind[i] = fact->kind;
			s->work[i] = fact->work;
			continue;
		}
		find_work_of(s, i);
		if ((fact = fact_of(s, i)))
			*fact = (struct cost_fact){true, s->op_kind[i], s->work[i],
				ARRAY_ZERO(s->model->memo, struct cost_plain,
					s->model->cluster->nkinds)};
	}
}

/* Computed once for all ops that are alike. */
static const struct cost_plain *
plain_time(const struct cost_step *s, uint32_t kind, const struct ir_op *op)
{
	const uint32_t i = alike_number(s->alike, op);
	/* A sum over micro-batches may be free, as `sums` of a device says, by what makes its operand. */
	struct cost_fact *fact = op->code == OP_reduce ? NULL : fact_of(s, i);
	struct cost_plain *t = fact ? &fact->plain[kind] : &s->plain[kind][i];

	if (!t->asked)
		t->seconds = cost_plain_seconds(
			s->model, kind, s->m, op, cost_step_work(s, op), &t->measured);
	t->asked = true;
	return t;
}

/*
 * The kernels of a bundle share one launch. Their blocks run at the same time, so that together they
 * take at least as long as what they read and write: the sum of their times without the launch. The
 * last one has the time of all, as in a program's trace.
 */
static void
share_launches(const struct cost_step *s, const struct device *d, replay_time *time)
{
	const replay_time launch = replay_from_seconds(d->launch);

	for (uint32_t x = 0; s->bundles && x < s->bundles->n; x++) {
		const struct bundle *b = &s->bundles->bundle[x];
		replay_time sum = 0, longest = 0;
		for (uint32_t i = 0; i < b->n; i++) {
			replay_time *t = &time[s->storage->order->op[b->position[i]]->id];
			sum += *t > launch ? *t - launch : 0;
			longest = *t > longest ? *t : longest;
			*t = 0;
		}
		time[s->storage->order->op[b->position[b->n - 1]]->id] =
			longest < launch ? longest : launch + sum;
	}
}

/* The times of a kind of device for its kernels and between them. */
static void
set_up_kind(struct cost_step *s, uint32_t kind)
{
	const struct device *d = s->model->cluster->kind[kind];
	replay_time *time = ARRAY_ZERO(s, replay_time, s->m->op_ids);

	s->plain[kind] = ARRAY_ZERO(s, struct cost_plain, s->alike->n + 1);
	if (s->like && s->like->plain[kind])
		memcpy(s->plain[kind], s->like->plain[kind], s->like->alike->n * sizeof **s->plain);
	IR_FOR_OPS (op, &s->main->body) {
		const uint8_t is = s->op_kind[alike_number(s->alike, op)];
		if (is == COST_COLLECTIVE)
			time[op->id] =
				replay_from_seconds(cost_pack_seconds(s->model, kind, s->m, op));
		if (is == COST_COPY)
			time[op->id] =
				replay_from_seconds(cost_host_seconds(s->model, kind, s->m, op));
		if (is != COST_COMPUTE)
			continue;
		const struct cost_plain *t = plain_time(s, kind, op);
		time[op->id] =
			replay_from_seconds(cost_changed_seconds(s->model, s->m, op, t->seconds));
		if (kind == s->kind_of[0])
			s->measured[op->id] = t->measured;
	}
	share_launches(s, d, time);
	s->kind[kind] = (struct event_device){time, replay_from_seconds(d->post),
		replay_from_seconds(d->wait), replay_from_seconds(d->step), d->async != 0,
		d->overlap != 0, d->queues != 0};
}

static bool
same_group(const struct event_group *a, const struct event_group *b)
{
	return a == b ||
	       (a && a->ngroups == b->ngroups && a->places == b->places &&
		       !memcmp(a->place, b->place, sizeof *a->place * a->ngroups * a->places));
}

/* The last answer is cached for ops that are alike: layers, and iterations of a loop, need the same. */
static replay_time
collective_time(const void *data, const struct ir_op *op, const struct event_group *g)
{
	struct cost_step *s = (struct cost_step *)data;
	struct cost_answer *a = &s->answer[alike_number(s->alike, op)];

	if (!same_group(a->group, g) || (s->model->whatif && a->op != op)) {
		bool measured;
		double t = cost_collective_seconds(s->model, s->m, op, g, s->device, &measured);
		if (!isfinite(t) && !s->unfit)
			s->unfit = op;
		*a = (struct cost_answer){
			g, op, replay_from_seconds(isfinite(t) ? t : 0), measured};
	}
	a->group = g;
	s->measured[op->id] = a->measured;
	return a->time;
}

void
cost_report_algorithm(const struct cost_step *s, const struct ir_op *op)
{
	struct cost_collective c;

	cost_op_collective(s->m, op, &c);
	diag_error(s->m->ctx->diag, op->loc, "algorithm '%s' does not support %s on %d devices",
		collective_algorithm_name(s->model->algorithm), rt_coll_name(c.kind), c.places);
}

static bool
replay(struct cost_step *s)
{
	const struct replay_graph *g = &s->events->graph;

	s->r.start = ARRAY_NEW(s, replay_time, g->n);
	s->r.end = ARRAY_NEW(s, replay_time, g->n);
	s->r.busy = NEW_ARRAY(s, replay_time, g->nstreams);
	s->r.free_at = NEW_ARRAY(s, replay_time, g->nstreams);
	if (s->model->fine)
		return cost_replay_fine(s);
	replay_run(g, &s->r);
	return true;
}

/* Does the host have the memory for what is copied to it? */
static bool
check_copies(const struct cost_step *s)
{
	if (cost_model_host_memory(s->model) > 0)
		return true;
	IR_FOR_OPS (op, &s->main->body)
		if (storage_is_copy(op)) {
			diag_error(s->m->ctx->diag, op->loc,
				"%s: the cluster has no host memory; 'host_memory' of its devices "
				"says how much there is for each",
				op_name((enum op_code)op->code));
			return false;
		}
	return true;
}

/*
 * A kernel stands for several framework calls, counted by `issue`; a collective is one of hundreds.
 */
static bool
is_issued(enum event_kind kind)
{
	return kind == EVENT_KERNEL || kind == EVENT_COPY;
}

/*
 * Load of a device in a step, in seconds. With micro-batches, only the work for each of them:
 * frameworks update all params in a few calls.
 */
struct host_load {
	double host, kernels,
		messages; /* to issue kernels; messages other than those between stages */
};

/* Is a kernel issued for each micro-batch? */
static bool
has_iterations(const struct cost_step *s)
{
	const struct events *e = s->events;

	for (uint32_t i = 0; i < e->graph.n; i++)
		if (is_issued((enum event_kind)e->event[i].kind) &&
			e->iterations[e->event[i].op->id] > 1)
			return true;
	return false;
}

static bool
counts(const struct cost_step *s, uint32_t event, bool iterations)
{
	const struct ir_op *op = s->events->event[event].op;

	return op && (!iterations || s->events->iterations[op->id] > 1);
}

/* The load of each device; the caller owns the array. */
static struct host_load *
host_loads(const struct cost_step *s, bool iterations)
{
	const struct events *e = s->events;
	struct host_load *load = ZERO_ARRAY(NULL, struct host_load, e->ndevices);

	for (uint32_t i = 0; i < e->graph.n; i++) {
		const struct event *v = &e->event[i];
		struct host_load *l = &load[v->device];
		if (!counts(s, i, iterations))
			continue;
		if (is_issued((enum event_kind)v->kind))
			l->host += s->model->cluster->kind[s->kind_of[e->first_place[v->device]]]
					   ->issue;
		if (v->kind == EVENT_KERNEL)
			l->kernels += replay_seconds(e->graph.duration[i]);
		else if (v->kind == EVENT_COLLECTIVE && v->op->code != OP_send)
			l->messages += replay_seconds(e->graph.duration[i]);
	}
	return load;
}

/* The time of the slowest host to issue a step. */
static double
host_seconds(const struct cost_step *s)
{
	struct host_load *load = host_loads(s, has_iterations(s));
	double last = 0;

	for (uint32_t d = 0; d < s->events->ndevices; d++)
		last = fmax(last, load[d].host);
	talloc_free(load);
	return last;
}

static bool
hosts_issue(const struct cost_step *s)
{
	const struct cluster *c = s->model->cluster;

	for (uint32_t k = 0; k < c->nkinds; k++)
		if (c->kind[k]->issue > 0)
			return true;
	return false;
}

/*
 * Host and device overlap, but one waits for the other now and then: together they take the cube
 * root of the sum of their cubes, about the longer time if they differ much. The power is fitted
 * with framework.def.
 */
static double
together(double device, double host)
{
	return cbrt(pow(device, 3) + pow(host, 3));
}

static replay_time
host_is_late(const struct cost_step *s)
{
	const double device = replay_seconds(s->r.makespan), host = host_seconds(s);

	return host > 0 ? replay_from_seconds(together(device, host) - device) : 0;
}

static bool
replay_events(struct cost_step *s)
{
	const struct event_times times = {s->kind, s->kind_of, collective_time, s, s->bundles};

	/* Cached answers refer to groups that are freed with their events. */
	if (s->events)
		memset(s->answer, 0, s->alike->n * sizeof *s->answer);
	talloc_free(s->events);
	s->events = events_create(s, s->m, &s->main->body, &times);
	if (s->unfit)
		cost_report_algorithm(s, s->unfit);
	return s->events && !s->unfit && replay(s);
}

static bool
has_stages(const struct cost_step *s)
{
	IR_FOR_OPS (op, &s->main->body)
		if (op->code == OP_send)
			return true;
	return false;
}

/*
 * The host of a stage waits for what it receives (torch.cuda.synchronize after batch_isend_irecv in
 * Megatron-LM's p2p_communication.py, blocking receives in DeepSpeed), so that it cannot issue
 * ahead while its device is idle. It is late in each micro-batch instead of once in a step, so
 * kernels take longer by that factor.
 */
static void
slow_stages(struct cost_step *s)
{
	struct events *e = s->events;
	const bool iterations = has_iterations(s);
	struct host_load *load = host_loads(s, iterations);
	replay_time *duration = ARRAY_NEW(e, replay_time, e->graph.n);

	for (uint32_t i = 0; i < e->graph.n; i++) {
		const struct event *v = &e->event[i];
		const struct host_load *l = &load[v->device];
		const double device = l->kernels + l->messages;
		duration[i] = e->graph.duration[i];
		if (v->kind == EVENT_KERNEL && counts(s, i, iterations) && l->kernels > 0)
			duration[i] = replay_from_seconds(
				replay_seconds(duration[i]) *
				(1 + (together(device, l->host) - device) / l->kernels));
	}
	e->graph.duration = duration;
	talloc_free(load);
}

/*
 * The additional time of the host is idle time of the devices before the first kernel of the
 * replay.
 */
static bool
replay_with_host(struct cost_step *s)
{
	if (!replay_events(s))
		return false;
	if (!hosts_issue(s))
		return true;
	if (has_stages(s)) {
		slow_stages(s);
		return replay(s);
	}
	const replay_time late = host_is_late(s);
	for (uint32_t k = 0; k < s->model->cluster->nkinds; k++)
		s->kind[k].step += late;
	return !late || replay_events(s);
}

static const struct alike *
number_ops(struct cost_step *s)
{
	const struct ir_block *main = &s->main->body;

	if (s->like)
		return alike_create_like(s, s->m, main, s->like->alike);
	return storage_alike(s, s->m, main, cost_model_storage(s->model),
		s->model->memo ? s->model->memo->ops : NULL);
}

static bool
step_run(struct cost_step *s)
{
	const struct cluster *c = s->model->cluster;

	/* The module of `like` had no calls, and changes of it add none. */
	if ((!s->like && !check_main(s->m, s->main)) || !check_copies(s) || !place_devices(s))
		return false;
	s->kind = ZERO_ARRAY(s, struct event_device, c->nkinds);
	s->alike = number_ops(s);
	s->plain = ZERO_ARRAY(s, struct cost_plain *, c->nkinds);
	find_work(s);
	s->measured = ARRAY_ZERO(s, bool, s->m->op_ids);
	if (s->program) {
		s->storage = storage_create(s, s->m, s->main, s->model->storage,
			storage_known_create(s, s->alike, NULL, cost_codes(s->model)));
		s->bundles = bundles_create(s, s->storage);
	}
	s->answer = ARRAY_ZERO(s, struct cost_answer, s->alike->n);
	if (s->like)
		memcpy(s->answer, s->like->answer, s->like->alike->n * sizeof *s->answer);
	for (uint32_t p = 0; p < (uint32_t)ir_devices(s->m); p++)
		if (!s->kind[s->kind_of[p]].op)
			set_up_kind(s, s->kind_of[p]);
	return replay_with_host(s);
}

static struct cost_step *
create(const void *owner, const struct cost_model *model, const struct ir_module *m,
	const struct cost_step *like, bool program)
{
	struct cost_step *s = NEW(owner, struct cost_step);

	s->model = model;
	s->m = m;
	s->main = ir_func_find(m, "main");
	s->like = like;
	s->program = program;
	if (step_run(s))
		return s;
	talloc_free(s);
	return NULL;
}

struct cost_step *
cost_step_create(const void *owner, const struct cost_model *model, const struct ir_module *m)
{
	return create(owner, model, m, NULL, false);
}

struct cost_step *
cost_step_create_program(
	const void *owner, const struct cost_model *model, const struct ir_module *m)
{
	return create(owner, model, m, NULL, true);
}

struct cost_step *
cost_step_create_like(const void *owner, const struct cost_step *like, const struct ir_module *m)
{
	return create(owner, like->model, m, like, false);
}
