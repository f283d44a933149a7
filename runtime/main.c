/* A program from its command line to its exit code.
 *
 *	options -> ranks (threads here, or MPI) -> each rank: device, arena, engine -> first step
 *	-> data -> parameters -> training -> files -> evaluation -> traces
 *
 * At every arrow that can fail the ranks agree (rt_agree): if one cannot continue none does, rank 0
 * prints the single message "NAME: error: ..." on stderr, and all return the same exit code: 0, or
 * one of those of status.h. */
#include "runtime/bind.h"
#include "runtime/data/params.h"
#include "runtime/data/shards_save.h"
#include "runtime/watch/same.h"
#include "runtime/data/shrunk.h"
#include "runtime/signals.h"
#include "runtime/start.h"
#include "runtime/comm/threads.h"
#include "runtime/train.h"
#include "runtime/kernel/subnormal.h"
#include "runtime/watch/watchdog.h"
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The arguments of a rank's thread. */
struct job {
	const struct rt_program *prog;
	const struct rt_device *device;
	const struct rt_options *options;
	struct rt_world *world;
	struct rt_transport *transport; /* NULL under MPI */
	struct rt_status status;
	int print_error; /* errno of the first line that did not reach stdout */
	pthread_t thread;
};

/* Can a file of this name be written? Checked before hours of training rather than after them. */
static bool
check_writable(const char *path, struct rt_status *st)
{
	return rt_write_possible(path) ||
	       rt_fail(st, RT_EXIT_RUN, "%s: cannot write: %s", path, strerror(errno));
}

static bool
prepare_files(struct rt_rank *r)
{
	const char *dir = r->options->trace; /* may differ between ranks */
	if (dir && mkdir(dir, 0777) && errno != EEXIST)
		rt_fail(r->status, RT_EXIT_RUN, "-trace: cannot make the folder '%s': %s", dir,
			strerror(errno));
	const char *written[] = {r->options->dump, r->options->keep_step};
	const char *save = r->options->save;
	for (int i = 0; i < 2 && !r->world->rank; i++)
		if (written[i])
			check_writable(written[i], r->status);
	if (save && !r->world->rank)
		rt_shards_named(save) ? rt_shards_folder(save, r->status)
				      : check_writable(save, r->status);
	return rt_agree(r->world, r->status);
}

/* A program may have inputs without a batch dimension: scalars. */
static bool
has_inputs(const struct rt_program *p)
{
	for (int i = 0; i < p->ntensors; i++)
		if (p->tensors[i].role == RT_INPUT)
			return true;
	return false;
}

static bool
prepare_values(struct rt_rank *r, struct rt_data *d)
{
	rt_activity_stage(r->world->activity, RT_STAGE_VALUES);
	if (!rt_start_find(r))
		return false;
	rt_data_open(d, r);
	if (!rt_agree(r->world, r->status) || !rt_same_files(r, d))
		return false;
	rt_start_data(r, d);
	if (!r->options->data && has_inputs(r->prog)) {
		rt_data_random(r);
		if (!r->world->rank)
			fprintf(stderr, "%s: note: no -data: inputs are random numbers\n",
				r->prog->name);
	}
	if (r->load)
		rt_params_load(r, r->load);
	else
		rt_params_init(r);
	return rt_agree(r->world, r->status);
}

/* Files are written before the evaluation, which changes the outputs and may take long. */
static bool
run(struct rt_rank *r, const struct rt_data *d)
{
	const struct rt_options *o = r->options;
	if (!r->world->rank)
		rt_metrics_open(&r->metrics, o->metrics, r->status);
	if (!rt_agree(r->world, r->status) || !rt_train(r, d))
		return false;
	rt_activity_stage(r->world->activity, RT_STAGE_WRITE);
	if (o->dump)
		rt_outputs_dump(r, o->dump);
	if (o->save)
		rt_params_save(r, o->save, r->start.step + r->steps);
	if (!rt_agree(r->world, r->status))
		return false;
	rt_signals_end();
	if (!rt_evaluate(r, d, r->start.step + r->steps))
		return false;
	rt_activity_stage(r->world->activity, RT_STAGE_WRITE);
	if (r->trace)
		rt_trace_write(r->trace, o->trace, r->status);
	return rt_agree(r->world, r->status);
}

/* "dp = 2, tp = 4" of the device axes. */
static void
mesh_text(const struct rt_program *p, char *text, size_t size)
{
	size_t at = 0;
	*text = 0;
	for (int a = 0; a < p->naxes && at < size; a++)
		if (!p->axes[a].is_time)
			at += (size_t)snprintf(text + at, size - at, "%s%s = %lld", at ? ", " : "",
				p->axes[a].name, (long long)p->axes[a].size);
}

static bool
check_ranks(const struct rt_program *p, const struct rt_options *o, const struct rt_world *world,
	struct rt_status *st)
{
	const int64_t places = rt_places(p);
	char mesh[200];
	mesh_text(p, mesh, sizeof mesh);
	if (o->ranks && o->ranks != places)
		return rt_fail(st, RT_EXIT_USAGE, "-ranks %lld: the program's mesh [%s] needs %lld",
			(long long)o->ranks, mesh, (long long)places);
	if (world && world->nranks != places)
		return rt_fail(st, RT_EXIT_USAGE,
			"started as %d processes: the program's mesh [%s] needs %lld",
			world->nranks, mesh, (long long)places);
	if (world && o->link.bytes_per_second > 0)
		return rt_fail(st, RT_EXIT_USAGE,
			"-link: links are only emulated between ranks of one "
			"process; start without mpirun");
	if (world && o->bind)
		return rt_fail(st, RT_EXIT_USAGE,
			"-bind: only for ranks of one process; use mpirun --bind-to core");
	return true;
}

/* Have all ranks been started with the same program and options, and is there something to do? */
static bool
may_start(struct rt_rank *r, bool under_mpi)
{
	const struct rt_options *o = r->options;
	if (!rt_same_start(r->prog, r->device, o, r->world, r->status))
		return false;
	if (o->help) {
		if (!r->world->rank)
			rt_options_help(r->prog->name);
		return false;
	}
	if (under_mpi && !check_ranks(r->prog, o, r->world, r->status))
		return false;
	if (o->bind)
		rt_bind(r->world->rank, r->world->nranks, r->status);
	return true;
}

static void
rank_main(struct job *job)
{
	struct rt_rank r = {.prog = job->prog,
		.device = job->device,
		.options = job->options,
		.world = job->world,
		.status = &job->status};
	struct rt_data d = {0};
	rt_single_threaded_libraries();
	if (may_start(&r, job->transport == NULL) && rt_rank_open(&r, job->transport) &&
		prepare_files(&r) && prepare_values(&r, &d))
		run(&r, &d);
	rt_metrics_close(&r.metrics, r.status);
	job->print_error = r.print_error;
	rt_activity_stage(r.world->activity, RT_STAGE_END);
	rt_data_close(&d);
	rt_rank_close(&r);
}

static void *
thread_main(void *arg)
{
	rank_main(arg);
	return NULL;
}

/* Ranks as threads; rank 0 is this one. */
static bool
run_threads(struct job *common, int nranks, struct rt_status *st)
{
	struct job *jobs = calloc((size_t)nranks, sizeof *jobs);
	struct rt_world *worlds = rt_threads_world(nranks);
	struct rt_transport **transports =
		worlds ? rt_threads_transports(common->prog, nranks, common->options->link) : NULL;
	if (!jobs || !transports) {
		free(jobs);
		if (worlds)
			rt_threads_world_free(worlds);
		return rt_fail_memory(st, (unsigned long long)nranks * sizeof *jobs, "ranks");
	}
	struct rt_watchdog *dog =
		rt_watchdog_start(common->prog, worlds, common->options->timeout, st);
	for (int i = 0; i < nranks; i++) {
		worlds[i].watchdog = dog;
		jobs[i] = *common;
		jobs[i].status = *st;
		jobs[i].world = &worlds[i];
		jobs[i].transport = transports[i];
	}
	for (int i = 1; i < nranks; i++)
		if (pthread_create(&jobs[i].thread, NULL, thread_main, &jobs[i])) {
			/* Threads that run wait for this one: only exit ends them. */
			fprintf(stderr, "%s: error: cannot start thread %d of %d ranks\n",
				common->prog->name, i, nranks);
			_Exit(RT_EXIT_RUN);
		}
	rank_main(&jobs[0]);
	for (int i = 1; i < nranks; i++)
		pthread_join(jobs[i].thread, NULL);
	rt_watchdog_stop(dog);
	*st = jobs[0].status;
	common->print_error = jobs[0].print_error;
	free(transports);
	rt_threads_world_free(worlds);
	free(jobs);
	return !st->code;
}

/* Checks that the output was written: a full disk behind stdout is a failure. */
static bool
check_stdout(int error, struct rt_status *st)
{
	if (fflush(stdout) && !error)
		error = errno;
	if (ferror(stdout) && !error)
		error = EIO; /* the reason was not kept */
	return !error ||
	       rt_fail(st, RT_EXIT_RUN, "standard output: cannot write: %s", strerror(error));
}

/* The ranks of this process. `world` is NULL without MPI. */
static void
run_ranks(struct job *job, struct rt_world *world, struct rt_status *st)
{
	const struct rt_options *o = job->options;
	if (world) {
		struct rt_watchdog *dog = rt_watchdog_start(job->prog, world, o->timeout, st);
		world->watchdog = dog;
		job->world = world;
		job->status = *st;
		rank_main(job);
		*st = job->status;
		if (!world->rank)
			check_stdout(job->print_error, st);
		/* No rank may end MPI before all can. */
		rt_agree(world, st);
		rt_watchdog_stop(dog);
	} else {
		if (!st->code && o->help)
			rt_options_help(job->prog->name);
		else if (!st->code && check_ranks(job->prog, o, NULL, st))
			run_threads(job, (int)rt_places(job->prog), st);
		check_stdout(job->print_error, st);
	}
}

/* A real link needs no emulation. */
static bool
check_host_link(const struct rt_device *device, const struct rt_options *o, struct rt_status *st)
{
	return device->is_host || o->host_link.bytes_per_second <= 0 ||
	       rt_fail(st, RT_EXIT_USAGE,
		       "-hostlink: the link to host memory is only emulated on hosts, not on %s",
		       device->name);
}

int
rt_main(const struct rt_program *prog, const struct rt_device *device, int argc, char **argv)
{
	struct rt_status st = {0};
	struct rt_options options = {0};
	struct rt_world world;
	struct job job = {.prog = prog, .device = device, .options = &options};
	rt_signals_block();
	rt_shrunk_guard();
	const bool processes = rt_mpi_started();
	if (prog->abi != RT_ABI_VERSION)
		rt_fail(&st, RT_EXIT_USAGE,
			"compiled for version %u of the runtime, but linked with version %u",
			prog->abi, RT_ABI_VERSION);
	else if (rt_machine_runs(prog->extensions, &st) &&
		 rt_options_parse(&options, argc, argv, &st) &&
		 check_host_link(device, &options, &st))
		options.save ? rt_signals_catch(&st) : rt_signals_unblock();
	if (processes && !rt_mpi_world(&world, options.timeout, &st) && !world.ops)
		return st.code;
	const bool speaks = !processes || !world.rank;
	rt_float_keep_subnormals(options.subnormals); /* new threads inherit it */
	run_ranks(&job, processes ? &world : NULL, &st);
	if (st.code && speaks)
		fprintf(stderr, "%s%s: %s: %s\n", rt_line_start(), prog->name,
			st.code == RT_EXIT_STOPPED ? "note" : "error", st.text);
	if (processes)
		rt_mpi_finish(&world, options.timeout);
	return st.code;
}
