/* What happens between the steps of a run: see control.h. */
#include "runtime/control.h"
#include "runtime/data/checkpoint.h"
#include "runtime/trace/clock.h"
#include "runtime/data/params.h"
#include "runtime/signals.h"
#include "runtime/data/value.h"
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>

/* Target cost of conferring: an allgather of a few bytes takes 10 us, which is 1/5000 of this, and
 * a person who sends a signal does not notice the delay. */
#define CONFER_NS 50000000

bool
rt_is_scalar_output(const struct rt_program *p, const struct rt_tensor *t)
{
	return t->role == RT_OUTPUT && t->rank == 0 && rt_tensor_slices(p, t) == 1;
}

bool
rt_control_open(struct rt_control *c, struct rt_rank *r)
{
	const struct rt_options *o = r->options;
	const size_t bytes = (size_t)r->world->nranks * sizeof *c->all;
	*c = (struct rt_control){.confers = o->save || o->stop_on_nan || o->keep_step,
		.interval = 1,
		.next = r->start.step + 1,
		.since = rt_now_ns()};
	c->due = o->save_every.ns && !r->world->rank ? c->since + o->save_every.ns : 0;
	c->all = calloc(1, bytes);
	if (!c->all)
		rt_fail_memory(r->status, bytes, "ranks");
	if (o->keep_step) {
		c->before = malloc(rt_kept_bytes(r->prog));
		if (!c->before)
			rt_fail_memory(r->status, rt_kept_bytes(r->prog),
				"the parameters before a step (-keep-step)");
	}
	return rt_agree(r->world, r->status);
}

void
rt_control_close(struct rt_control *c)
{
	free(c->all);
	free(c->before);
}

void
rt_control_before(struct rt_control *c, struct rt_rank *r)
{
	if (c->before)
		rt_kept_copy(r, c->before, true);
}

/* Records the first scalar output that is not finite, on the rank that owns it. */
static void
look_for_nan(struct rt_control *c, struct rt_rank *r, int64_t done)
{
	const struct rt_program *p = r->prog;
	for (int i = 0; i < p->ntensors && !c->mine.bad_step; i++) {
		const struct rt_tensor *t = &p->tensors[i];
		if (!rt_is_scalar_output(p, t) || !rt_tensor_owner(p, t, r->ctx.coord))
			continue;
		const double x = rt_value_get(t->dtype, rt_rank_view(r, t, 0), 0);
		if (isfinite(x))
			continue;
		c->mine.bad_step = done;
		c->mine.bad_tensor = i;
		c->mine.bad_value = x;
	}
}

/* Steps until the ranks confer again: as many as take CONFER_NS, but at most double the last
 * interval, as the first steps are not typical. */
static int64_t
next_interval(struct rt_control *c)
{
	const int64_t now = rt_now_ns(), took = now - c->since;
	const int64_t most = 2 * c->interval;
	const int64_t fit =
		took > 0 ? (int64_t)((double)CONFER_NS / (double)took * (double)c->interval) : most;
	return fit < 1 ? 1 : fit > most ? most : fit;
}

/* Merges one rank's knowledge into that of the ranks before it. */
static void
add_word(struct rt_word *all, const struct rt_word *w)
{
	all->save |= w->save;
	all->stop = w->stop ? w->stop : all->stop;
	if (!w->bad_step || (all->bad_step && all->bad_step <= w->bad_step))
		return;
	all->bad_step = w->bad_step;
	all->bad_tensor = w->bad_tensor;
	all->bad_value = w->bad_value;
}

/* The knowledge of all ranks together: the same on each. */
static struct rt_word
confer(struct rt_control *c, struct rt_rank *r, int64_t done)
{
	struct rt_signals got = {false, 0};
	if (r->options->save)
		got = rt_signals_take();
	c->mine.save = (got.save ? RT_SAVE_BY_SIGNAL : 0) |
		       (c->due && rt_now_ns() >= c->due ? RT_SAVE_BY_CLOCK : 0);
	c->mine.stop = got.stop;
	c->mine.interval = next_interval(c);
	r->world->ops->allgather(r->world, &c->mine, c->all, sizeof c->mine);
	struct rt_word all = {.interval = c->all[0].interval};
	for (int i = 0; i < r->world->nranks; i++)
		add_word(&all, &c->all[i]);
	c->interval = c->before ? 1 : all.interval;
	c->next = done + c->interval;
	return all;
}

static bool
fail_nan(struct rt_control *c, struct rt_rank *r, const struct rt_word *w)
{
	const char *value = isnan(w->bad_value) ? "nan" : w->bad_value > 0 ? "inf" : "-inf";
	const char *name = r->prog->tensors[w->bad_tensor].name, *file = r->options->keep_step;
	if (!c->before)
		return rt_fail(r->status, RT_EXIT_RUN,
			"-stop-on-nan: output '%s' is %s in step %" PRId64
			"; nothing was saved after it",
			name, value, w->bad_step);
	rt_kept_copy(r, c->before, false);
	return rt_step_keep(r, file, w->bad_step) &&
	       rt_fail(r->status, RT_EXIT_RUN,
		       "-keep-step: output '%s' is %s in step %" PRId64
		       "; repeat it with dopt -run -initial=%s",
		       name, value, w->bad_step, file);
}

/* SIGTERM, SIGINT: saves what the end of the run would write, and nothing else. */
static bool
stop(struct rt_rank *r, int64_t done, int number)
{
	const char *file = r->options->save;
	rt_params_save(r, file, done);
	return rt_agree(r->world, r->status) &&
	       rt_fail(r->status, RT_EXIT_STOPPED,
		       "stopped by %s after step %" PRId64 "; resume with -load %s",
		       number == SIGINT ? "SIGINT" : "SIGTERM", done, file);
}

bool
rt_control_after(struct rt_control *c, struct rt_rank *r, int64_t done)
{
	const int64_t every = r->options->save_every.steps;
	const bool last = done == r->start.step + r->steps, counted = every && done % every == 0;
	if (!c->confers)
		return true;
	if (r->options->stop_on_nan || c->before)
		look_for_nan(c, r, done);
	if (done != c->next && !last && !counted)
		return true;
	const struct rt_word all = confer(c, r, done);
	if (all.bad_step)
		return fail_nan(c, r, &all);
	if (all.stop)
		return stop(r, done, all.stop);
	/* After the last step -save FILE is written anyway. */
	if ((all.save || counted) && !last) {
		if (!rt_checkpoint_save(r, done, all.save & RT_SAVE_BY_SIGNAL))
			return false;
		c->due = c->due ? rt_now_ns() + r->options->save_every.ns : 0;
	}
	c->since = rt_now_ns();
	return true;
}
