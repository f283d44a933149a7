/* Where a run starts: see start.h. */
#include "runtime/start.h"
#include "runtime/data/checkpoint.h"
#include "runtime/data/shards.h"
#include <inttypes.h>

/* The file to start from: that of -resume, or of -load. */
static bool
find_file(struct rt_rank *r)
{
	const struct rt_options *o = r->options;
	if (o->resume && !rt_checkpoint_newest(r, &r->resumed))
		return false;
	r->load = r->resumed ? r->resumed : o->load;
	if (o->resume && !r->world->rank)
		fprintf(stderr, "%s: note: -resume: %s%s\n", r->prog->name,
			r->resumed ? "continues from " : "there is nothing to continue from in ",
			r->resumed ? r->resumed : o->save);
	return true;
}

/* The position in a file, unless options override it. */
static bool
read_start(struct rt_rank *r)
{
	const struct rt_options *o = r->options;
	struct rt_st_file file;
	r->start = (struct rt_position){.seed = o->seed};
	if (!find_file(r))
		return false;
	if (r->load) {
		if (!rt_st_open_any(&file, r->load, r->status))
			return false;
		const bool ok = rt_position_read(&r->start, &file, r->status);
		rt_st_close(&file);
		if (!ok)
			return false;
	}
	if (o->seed_given)
		r->start.seed = o->seed;
	if (o->start_step >= 0) {
		r->start.step = o->start_step;
		r->start.row = (uint64_t)o->start_step * (uint64_t)r->prog->batch;
	}
	r->ctx.seed = r->start.seed;
	return true;
}

/* The number of steps of this run. */
static bool
count_steps(struct rt_rank *r)
{
	const struct rt_options *o = r->options;
	r->steps = o->steps;
	if (o->until >= 0)
		r->steps = o->until > r->start.step ? o->until - r->start.step : 0;
	if (r->steps > RT_MAX_STEPS - r->start.step)
		return rt_fail(r->status, RT_EXIT_USAGE,
			"-steps %" PRId64 ": after step %" PRId64 " there can be at most %" PRId64,
			r->steps, r->start.step, RT_MAX_STEPS - r->start.step);
	if (o->dump && !r->steps)
		return rt_fail(r->status, RT_EXIT_USAGE, "-dump: no step is run with -%s %" PRId64,
			o->until >= 0 ? "until" : "steps", o->until >= 0 ? o->until : 0);
	return true;
}

bool
rt_start_find(struct rt_rank *r)
{
	if (read_start(r))
		count_steps(r);
	return rt_agree(r->world, r->status);
}

void
rt_start_data(struct rt_rank *r, const struct rt_data *d)
{
	const uint64_t was = r->start.rows, now = (uint64_t)d->rows[RT_TRAIN];
	if (was && now && was != now && !r->world->rank)
		fprintf(stderr,
			"%s: note: %s has %" PRIu64 " rows, but the run that wrote %s had %" PRIu64
			": the order of the rows differs\n",
			r->prog->name, r->options->data, now, r->load, was);
	if (r->steps) /* else no file was opened */
		r->start.rows = now;
}
