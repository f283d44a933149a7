/* The command line of dopt. */
#include "passes/tools/dopt/driver.h"

#include "ir/cluster/framework.h"

#define FIELD(field) offsetof(struct driver_options, field)
#define AT(field) .at = FIELD(field)

static const struct choice algorithms[] = {
	CHOICE_ROW(COLLECTIVE_AUTO, "auto")
#define ALGORITHM(code, name, choice, kinds, needs, variants, form)                                \
	CHOICE_ROW(COLLECTIVE_##code, #name)
#include "passes/analysis/collective/algorithm.def"
#undef ALGORITHM
		{.name = NULL},
};

static const struct choice frameworks[] = {
#define FRAMEWORK(name, ...) CHOICE_ROW(FRAMEWORK_##name, #name)
#include "ir/cluster/framework.def"
#undef FRAMEWORK
	{.name = NULL},
};

static const struct flag flags[] = {
	{"Output", .kind = FLAG_GROUP},
	{"o", "FILE", "write to FILE atomically (temporary file, then rename); -: standard output",
		FLAG_TEXT, AT(output)},
	{"emit", NULL,
		"what to write: dir: the module (default without -stats); program: build a program; timeline, "
		"report: the predicted step as a Chrome trace or as an HTML page; none: "
		"nothing; measure: build a program that measures on another machine; "
		"stablehlo: the module as StableHLO text",
		FLAG_CHOICE, AT(emit), .choice = CHOICES(DRIVER_EMITS)},
	{"target", NULL,
		"target of programs and measurements, and whose memory -stats, -budget and "
		"-largest count (default: host)",
		FLAG_CHOICE, AT(target), .choice = CHOICES(DRIVER_TARGETS),
		.rule = {.needs = "emit=program,emit=measure,measure,stats,budget,largest"}},
	{"arch", "LIST",
		"-target=cuda: GPUs that kernels are compiled for, such as sm_80,sm_90 (default: "
		"DOPT_CUDA_ARCH of the environment, or sm_90)",
		FLAG_TEXT, AT(arch), .rule = {.needs = "target=cuda"}},
	{"cflags", "FLAGS",
		"further flags for the C compiler of -emit=program, such as -march=haswell for another "
		"machine",
		FLAG_TEXT, AT(cflags), .rule = {.needs = "emit=program"}},
	{"Input", .kind = FLAG_GROUP},
	{"D", "NAME=N", "override the value of `let NAME` in the module or the cluster", FLAG_LIST,
		AT(define)},
	{"largest", "NAME",
		"find the largest multiple of the value of `let NAME` with which the step fits "
		"into -budget, or into the memory of the cluster's device, and continue with it",
		FLAG_TEXT, AT(largest),
		.rule = {.excludes = "split-input-file,verify-diagnostics,trial,expect,measure"}},
	{"mesh", "NAME=N,...",
		"add these device axes to the module, for passes to distribute it over: 'dp=2,tp=4'",
		FLAG_TEXT, AT(mesh)},
	{"split-input-file", NULL, "process each chunk between `// -----` lines separately",
		FLAG_BOOL, AT(split)},
	{"carry", "auto|none|0,2:1,4-6:2-4",
		"StableHLO: which results become the next step's arguments, as argument:result "
		"(default: inferred from aliases, donated buffers and names)",
		FLAG_TEXT, AT(carry)},
	{"entry", "NAME", "StableHLO: the function that computes the step (default: main)",
		FLAG_TEXT, AT(entry)},
	{"replicas", "N", "StableHLO: number of replicas, for a program that does not state it",
		FLAG_INT, AT(replicas)},
	{"Passes", .kind = FLAG_GROUP},
	{"pass", "TEXT", "run these passes: 'grad,adam{lr=3e-4}'; repeatable, run in order",
		FLAG_LIST, AT(pass)},
	{"load", "FILE", "load a plugin with additional passes", FLAG_LIST, AT(load)},
	{"explain", "NAME,...",
		"print the layouts that parallelize could have given to these params or values instead, "
		"and what each would cost: 'up,%h' or 'block*.wq'",
		FLAG_TEXT, AT(explain), .rule = {.needs = "pass"}},
	{"keep", NULL,
		"better: undo a pass that makes the step slower or exceed device memory, unless "
		"other passes need what it provides",
		FLAG_CHOICE, AT(keep), .choice = CHOICES(DRIVER_KEEPS)},
	{"seed", "N", "seed for all random choices (default: 0)", FLAG_INT, AT(seed)},
	{"cluster", "NAME|FILE",
		"devices and links that times are predicted for "
		"(default: generic); see -list-clusters",
		FLAG_TEXT, AT(cluster)},
	{"tf32", NULL,
		"predict products of f32 as in a program that runs with -tf32, at the TF32 rates of "
		"the cluster's devices",
		FLAG_BOOL, AT(tf32), .rule = {.needs = "cluster"}},
	{"framework", NULL,
		"predict the step as this framework runs it: its host issues every kernel, and "
		"its kernels reach other rates (default: as a program of dopt)",
		FLAG_CHOICE, AT(framework), .choice = frameworks, .rule = {.needs = "cluster"}},
	{"profile", "FILE",
		"database or text file of measured times, used in preference to estimates",
		FLAG_TEXT, AT(profile)},
	{"estimator", NULL,
		"how to cost fused kernels that are not in the profile: analytic "
		"roofline (default), a trained network, or measure the kernels of "
		"the best plan and search again",
		FLAG_CHOICE, AT(estimator), .choice = CHOICES(DRIVER_ESTIMATES)},
	{"estimator-weights", "FILE",
		"weights written by `dopt-profile train`; required by -estimator=network",
		FLAG_TEXT, AT(estimator_weights)},
	{"transport", "threads|mpi|nccl",
		"transport whose collective timings are used (default: threads, if profiled)",
		FLAG_TEXT, AT(transport)},
	{"algorithm", NULL,
		"algorithm of collectives: one for all, or the fastest for each (default: auto)",
		FLAG_CHOICE, AT(algorithm), .choice = algorithms},
	{"replay", NULL,
		"fine: collectives share the bandwidth of links, and communication slows "
		"down computation (default: coarse)",
		FLAG_CHOICE, AT(replay), .choice = CHOICES(DRIVER_REPLAYS)},
	{"measure", NULL,
		"time the ops that are missing from the profile and add them to it; "
		"all: time all ops; again: time all ops and combine the results with "
		"those in the profile; these write no module. "
		"each: the same before the first pass and after every pass, so that the next one "
		"decides by measured times",
		FLAG_CHOICE_1, AT(measure), .choice = CHOICES(DRIVER_MEASURES),
		.rule = {.excludes = "run,whatif,emit=measure",
			.needs = "profile",
			.why = "the times are written to it"}},
	{"budget", "SIZE",
		"memory limit of the step on each device (80GB); it is an error to exceed it",
		FLAG_TEXT, AT(budget)},
	{"host-budget", "SIZE",
		"limit of the host memory that the step uses for each device (default: that of the "
		"cluster)",
		FLAG_TEXT, AT(host_budget)},
	{"workspace", "SIZE|LEAST..SIZE",
		"cuda: upper limit of a convolution's workspace (default: 2GiB), or lower and "
		"upper limit; between them the workspace has the size that the shape needs",
		FLAG_TEXT, AT(workspace),
		.rule = {.needs = "target=cuda",
			.why = "convolutions on the host use no workspace"}},
	{"without", "FORM,...",
		"cuda: forms of kernels that are not used, to compare or to avoid them. columns: "
		"sums in 16 bits along rows of memory; parts: sums of products as a batch; "
		"addresses: products over two loops as one call; online: several products as one "
		"kernel over tiles; rows: values of long rows computed again where they are read; "
		"vectors: 16 bytes of a thread at once; registers: rows in registers; joins: small kernels of one op as one launch; bundles: those of several ops; pitch: rows of matrices padded to 16 bytes",
		FLAG_TEXT, AT(without),
		.rule = {.needs = "target=cuda", .why = "they are forms of CUDA kernels"}},
	{"time-limit", "TIME", "time limit of a search (10s); the best plan found by then is used",
		FLAG_TEXT, AT(time_limit)},
	{"progress", NULL,
		"report the progress of searches, checks, measurements and compilers: if standard "
		"error is a terminal (default), of searches always (ending with a summary line), or "
		"never",
		FLAG_CHOICE, AT(progress), .choice = CHOICES(DRIVER_PROGRESSES)},
	{"measure-buffers", NULL,
		"time kernels on the buffers of the step, in step order (default), or each alone "
		"on several copies used in rotation, larger than a core's private caches",
		FLAG_CHOICE, AT(measure_buffers), .choice = CHOICES(DRIVER_BUFFERS),
		.rule = {.needs = "measure,emit=measure"}},
	{"measure-mpi", "COMMAND",
		"command that starts the measuring ranks: 'mpirun -n 2' (default: threads)",
		FLAG_TEXT, AT(measure_mpi), .rule = {.needs = "measure,emit=measure"}},
	{"measure-limit", "TIME",
		"time limit for measuring one kernel or one collective (default: 2s for kernels that "
		"run in turn, 1s for one alone, 400ms for a collective)",
		FLAG_TEXT, AT(measure_limit),
		.rule = {.needs = "measure,emit=measure,estimator=measure,emit=program"}},
	{"trial", "PASSES|FILE.dir",
		"autotune: build and run the -pass result and each candidate (passes applied to "
		"that result, or a module), keep the fastest; repeatable",
		FLAG_LIST, AT(trial), .rule = {.excludes = "split-input-file,verify-diagnostics"}},
	{"trial-run", "COMMAND",
		"command that starts a program of -trial, and what a search without a profile "
		"measures and is compared with, {} being the program: 'mpirun -n 2 {}' "
		"or '{} -bind -link 1GB/s,20us' (default: {})",
		FLAG_TEXT, AT(trial_run), .rule = {.needs = "trial,emit=program"}},
	{"trial-limit", "TIME",
		"how long each run of a plan lasts; each has 7 to 15 of them (default: 400ms)",
		FLAG_TEXT, AT(trial_limit), .rule = {.needs = "trial,emit=program"}},
	{"Statistics and remarks", .kind = FLAG_GROUP},
	{"stats", NULL,
		"print step time, communication and memory after each pass, and no module unless "
		"-o or -emit asks for one: the table is then on standard error",
		FLAG_CHOICE_1, AT(stats), .choice = CHOICES(DRIVER_STATS)},
	{"diff", "FILE",
		"compare the result with the module of this file: where the time goes in both, "
		"memory, and which layouts differ; writes no module",
		FLAG_TEXT, AT(diff),
		.rule = {.excludes = "run,measure,expect,emit=program,emit=measure,emit=timeline,"
				     "emit=report,emit=stablehlo,split-input-file"}},
	{"whatif", "ITEMS",
		"predict the step with other costs: 'net.bandwidth*2,matmul*0.5,op=%h=3us'; "
		"printed after -stats; -emit=timeline and -emit=report show that step",
		FLAG_TEXT, AT(whatif)},
	{"time", NULL, "print the run time of each pass on standard error", FLAG_BOOL, AT(time)},
	{"remarks", "FILE",
		"print what passes did and did not do, and why; with FILE: write it there as YAML",
		FLAG_MAYBE, AT(remarks)},
	{"print-before", "NAME,..|all", "print the module before these passes, on standard error",
		FLAG_TEXT, AT(print_before)},
	{"print-after", "NAME,..|all|changed",
		"print the module after these passes; changed: after each pass that changed it",
		FLAG_TEXT, AT(print_after)},
	{"Checks", .kind = FLAG_GROUP},
	{"verify-each", "0|1",
		"verify the module after every pass, not only the result (default: 1)", FLAG_BOOL,
		AT(verify_each)},
	{"check", NULL,
		"compare results before and after every pass, and "
		"results with layouts to those without; warn of 16-bit sums over micro-batches "
		"that rounding spoils",
		FLAG_BOOL, AT(check)},
	{"run", NULL, "run the result in the interpreter and print its outputs; writes no module",
		FLAG_BOOL, AT(run)},
	{"steps", "N", "number of training steps of -run and -check", FLAG_INT, AT(steps)},
	{"data", "FILE",
		"safetensors file with the inputs of -run and -check, or 'set-*.safetensors' (default: random "
		"inputs)",
		FLAG_TEXT, AT(data)},
	{"no-shuffle", NULL,
		"read the rows of train.NAME in their order, as programs do with -no-shuffle",
		FLAG_BOOL, AT(no_shuffle), .rule = {.needs = "data"}},
	{"initial", "FILE|DIR",
		"-run: params and states at the start, from a file or folder of -save (default: initial "
		"values); of -keep-step: the inputs, too",
		FLAG_TEXT, AT(initial)},
	{"save", "FILE", "-run: write params and states at the end, as a program's -save does",
		FLAG_TEXT, AT(save)},
	{"f64", NULL, "-run: compute floats in double precision, as -check does", FLAG_BOOL,
		AT(f64)},
	{"subnormals", NULL,
		"-run: compute with subnormal numbers, as programs do with -subnormals (default: "
		"arithmetic takes them as 0)",
		FLAG_BOOL, AT(subnormals)},
	{"layout", NULL,
		"-run: compute on each device separately, as the layouts "
		"say (default: on whole tensors)",
		FLAG_BOOL, AT(layout)},
	{"reproducer", "FILE",
		"if a pass fails or crashes, write its input to FILE, with the "
		"command that reproduces the failure",
		FLAG_TEXT, AT(reproducer)},
	{"verify-diagnostics", NULL,
		"check diagnostics against comments `expected-error@+1 {{text}}`", FLAG_BOOL,
		AT(verify_diagnostics)},
	{"expect", NULL,
		"StableHLO: run each program once and report whether its "
		"check ops pass; writes no module",
		FLAG_BOOL, AT(expect),
		.rule = {.excludes = "run,measure,emit=program,emit=measure,emit=timeline,"
				     "emit=report"}},
	{"Help", .kind = FLAG_GROUP},
	{"help", "NAME", "print this text, or help on one pass, op or function of the prelude",
		FLAG_MAYBE, AT(help)},
	{"list-passes", NULL, "list the passes; md: a page with their options", FLAG_CHOICE_1,
		AT(list_passes), .choice = CHOICES(DRIVER_LISTS)},
	{"list-facts", NULL, "list the facts that passes need, provide and conflict with",
		FLAG_BOOL, AT(list_facts)},
	{"list-ops", NULL, "list the operations", FLAG_CHOICE_1, AT(list_ops),
		.choice = CHOICES(DRIVER_LISTS)},
	{"list-clusters", "NAME|FILE", "list the shipped clusters, or print the named cluster",
		FLAG_MAYBE, AT(list_clusters)},
	{"version", NULL, "print the version", FLAG_BOOL, AT(version)},
};

static const struct command_line line = {
	.head = "usage: dopt [options] FILE\n"
		"Transforms, checks, costs and compiles a training step. FILE -: standard input.\n"
		"Options may begin with - or --. -x VALUE is accepted for -x=VALUE "
		"unless the value is optional\n([=...]).\n",
	.tail = "Exit status: 0 success; 1 invalid input, or a file cannot be read or written;\n"
		"2 invalid command line; 3 internal error: a pass crashed, produced an "
		"invalid module or changed its\nmeaning.\n",
	.flag = flags,
	.nflags = sizeof flags / sizeof *flags,
	.words = FIELD(files),
};

void
driver_options_help(FILE *out)
{
	command_line_help(out, &line);
}

bool
driver_options_agree(const struct driver_options *o)
{
	return command_line_agrees(&line, o);
}

bool
driver_options_read(const void *owner, struct driver_options *o, int argc, char **argv)
{
	*o = (struct driver_options){.verify_each = true};
	if (!command_line_read(owner, &line, o, argc, argv))
		return false;
	if (o->files.n > 1) {
		driver_error("more than one input file: '%s' and '%s'", o->files.item[0],
			o->files.item[1]);
		return false;
	}
	if (o->files.n)
		o->input = o->files.item[0];
	/* The table is the result, unless another output is requested as well. */
	if (o->stats && !o->emit && !o->output && !o->run && !o->expect && !driver_measures(o))
		o->emit = DRIVER_EMIT_NONE;
	if (o->input || o->help || o->version || o->list_passes || o->list_facts || o->list_ops ||
		o->list_clusters)
		return true;
	driver_error("no input file; see -help");
	return false;
}
