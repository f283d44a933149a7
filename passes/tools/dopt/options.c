/* The command line of dopt. */
#include "passes/tools/command_line.h"

#define AT(field) offsetof(struct driver_options, field)

static const struct flag flags[] = {
	{"Output", NULL, NULL, FLAG_GROUP, 0},
	{"o", "FILE", "write to FILE, under its name once it is whole; -: standard output",
		FLAG_TEXT, AT(output)},
	{"emit", "dir|program|timeline|report|none|measure|stablehlo",
		"write the module (default), build a program, write what a step is predicted to "
		"do as a Chrome trace, or as an HTML page, or nothing, or build a program that "
		"measures on another machine, or write the module as StableHLO text",
		FLAG_CHOICE, AT(emit)},
	{"target", "host|cuda", "what -emit=program and -measure build for (default: host)",
		FLAG_CHOICE, AT(target)},
	{"Input", NULL, NULL, FLAG_GROUP, 0},
	{"D", "NAME=N", "give `let NAME` of the module another value", FLAG_LIST, AT(define)},
	{"split-input-file", NULL, "treat the parts between lines `// -----` one by one", FLAG_BOOL,
		AT(split)},
	{"carry", "auto|none|0,2:1,4-6:2-4",
		"StableHLO: which results replace which arguments, argument:result (default: as "
		"aliases, donated buffers and names say)",
		FLAG_TEXT, AT(carry)},
	{"entry", "NAME", "StableHLO: the function that is the step (default: main)", FLAG_TEXT,
		AT(entry)},
	{"replicas", "N", "StableHLO: processes of a program that leaves their number open",
		FLAG_INT, AT(replicas)},
	{"Passes", NULL, NULL, FLAG_GROUP, 0},
	{"pass", "TEXT", "run these passes: 'grad,adam{lr=3e-4}'; repeated: one after another",
		FLAG_LIST, AT(pass)},
	{"load", "FILE", "load a plugin with more passes", FLAG_LIST, AT(load)},
	{"keep", "all|better",
		"better: undo a pass that makes the step slower, or too big for the device, unless "
		"it provides what other passes need",
		FLAG_CHOICE, AT(keep)},
	{"seed", "N", "of everything random (default: 0)", FLAG_INT, AT(seed)},
	{"cluster", "NAME|FILE",
		"devices and links that times are estimated for (default: generic); see "
		"-list-clusters",
		FLAG_TEXT, AT(cluster)},
	{"profile", "FILE", "measured times of ops, used before estimates", FLAG_TEXT, AT(profile)},
	{"estimator", "analytic|network|measure",
		"kernels of several ops that the profile lacks: by bytes and arithmetic (default), "
		"by a network that was trained on others, or measured for the plan that was found, "
		"which is then sought again",
		FLAG_CHOICE, AT(estimator)},
	{"estimator-weights", "FILE", "what dopt-profile train wrote; with network: required",
		FLAG_TEXT, AT(estimator_weights)},
	{"transport", "threads|mpi|nccl",
		"whose messages in the profile count (default: threads where there are some)",
		FLAG_TEXT, AT(transport)},
	{"algorithm", "auto|ring|tree|halving|hierarchical|ps",
		"how collectives move: one algorithm for all, or the fastest for each (default)",
		FLAG_CHOICE, AT(algorithm)},
	{"replay", "coarse|fine",
		"fine: the sends of collectives share links, and communication slows computation "
		"(default: coarse)",
		FLAG_CHOICE, AT(replay)},
	{"measure", "missing|all|again",
		"time the ops that the profile lacks (or all) and put them into it; again: all, "
		"and what the profile has counts as well; writes no module",
		FLAG_CHOICE_1, AT(measure)},
	{"budget", "SIZE",
		"memory that a step may take on each device: an error if it needs more (80GB)",
		FLAG_TEXT, AT(budget)},
	{"workspace", "SIZE|LEAST..SIZE",
		"cuda: memory for the workspace of a convolution at most (2GiB), and at least; "
		"within these it is what its shape needs",
		FLAG_TEXT, AT(workspace)},
	{"time-limit", "TIME", "time that a search may take; the best so far counts (10s)",
		FLAG_TEXT, AT(time_limit)},
	{"progress", "auto|always|never",
		"say how far a search is: on a terminal (default), always with a last line, or "
		"never",
		FLAG_CHOICE, AT(progress)},
	{"measure-buffers", "step|rotate",
		"time kernels on the memory of the step, in its order (default), or each alone on "
		"copies used in turn, larger than a core's own caches",
		FLAG_CHOICE, AT(measure_buffers)},
	{"measure-mpi", "COMMAND",
		"start the ranks that measure with this: 'mpirun -n 2' (default: threads)",
		FLAG_TEXT, AT(measure_mpi)},
	{"trial", "PASSES|FILE.dir",
		"build what -pass makes, what these passes make of that, and the module in this "
		"file; run all of them in turn, and go on with the fastest; repeated: one more "
		"each",
		FLAG_LIST, AT(trial)},
	{"trial-run", "COMMAND",
		"how programs of -trial are started, {} being the program: 'mpirun -n 2 {}' or "
		"'{} -bind -link 1GB/s,20us' (default: {})",
		FLAG_TEXT, AT(trial_run)},
	{"What passes do", NULL, NULL, FLAG_GROUP, 0},
	{"stats", "table|json",
		"a row a pass: step time, communication, memory; on standard output with "
		"-emit=none, else on standard error",
		FLAG_CHOICE_1, AT(stats)},
	{"whatif", "ITEMS",
		"what a step would take with other costs: 'net.bandwidth*2,matmul*0.5,op=%h=3us'; "
		"printed where -stats is; -emit=timeline and report show that step",
		FLAG_TEXT, AT(whatif)},
	{"time", NULL, "what each pass took, on standard error", FLAG_BOOL, AT(time)},
	{"remarks", "FILE", "what passes did and did not do, and why; with FILE: there, as YAML",
		FLAG_MAYBE, AT(remarks)},
	{"print-before", "NAME,..|all", "print the module before these passes, on standard error",
		FLAG_TEXT, AT(print_before)},
	{"print-after", "NAME,..|all|changed",
		"and after them; changed: after passes that changed it", FLAG_TEXT,
		AT(print_after)},
	{"Checks", NULL, NULL, FLAG_GROUP, 0},
	{"verify-each", "0|1", "verify the module after every pass (default: 1)", FLAG_BOOL,
		AT(verify_each)},
	{"check", NULL, "compare results before and after every pass, and layouts with meanings",
		FLAG_BOOL, AT(check)},
	{"run", NULL, "run the result in the interpreter and print its outputs; writes no module",
		FLAG_BOOL, AT(run)},
	{"steps", "N", "training steps of -run and -check", FLAG_INT, AT(steps)},
	{"data", "FILE", "inputs of -run, -check from a safetensors file (default: random)",
		FLAG_TEXT, AT(data)},
	{"save", "FILE", "-run: write params and states at the end, as a program's -save does",
		FLAG_TEXT, AT(save)},
	{"f64", NULL, "-run: compute floats in double precision, as -check does", FLAG_BOOL,
		AT(f64)},
	{"layout", NULL, "-run: place by place, as the layouts say (default: by meaning)",
		FLAG_BOOL, AT(layout)},
	{"reproducer", "FILE",
		"if a pass fails or crashes, write its input there, with the command "
		"that runs it",
		FLAG_TEXT, AT(reproducer)},
	{"verify-diagnostics", NULL, "check messages against comments `expected-error@+1 {{text}}`",
		FLAG_BOOL, AT(verify_diagnostics)},
	{"expect", NULL,
		"StableHLO: run each program once and say whether what its check ops expect holds; "
		"writes no module",
		FLAG_BOOL, AT(expect)},
	{"Help", NULL, NULL, FLAG_GROUP, 0},
	{"help", "PASS|OP", "this text; with a name: about that pass or op", FLAG_MAYBE, AT(help)},
	{"list-passes", "text|md", "list the passes with their options", FLAG_CHOICE_1,
		AT(list_passes)},
	{"list-ops", "text|md", "list the operations", FLAG_CHOICE_1, AT(list_ops)},
	{"list-clusters", "NAME|FILE", "list the clusters that are shipped; with a name: its text",
		FLAG_MAYBE, AT(list_clusters)},
	{"version", NULL, "print the version", FLAG_BOOL, AT(version)},
};

static const struct command_line line = {
	.head = "usage: dopt [options] FILE\n"
		"Transforms, checks, costs and compiles a training step. FILE -: standard input.\n"
		"Options may begin with - or --; -x=VALUE may be written -x VALUE where no [] "
		"stand.\n",
	.tail = "Exit status: 0 done; 1 the input is wrong, or a file cannot be read or written;\n"
		"2 the command line is wrong; 3 a pass or dopt is: it crashed, or broke the module or its "
		"meaning.\n",
	.flag = flags,
	.nflags = sizeof flags / sizeof *flags,
	.words = AT(files),
};

void
driver_options_help(FILE *out)
{
	command_line_help(out, &line);
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
	if (o->input || o->help || o->version || o->list_passes || o->list_ops || o->list_clusters)
		return true;
	driver_error("no input file; -help says how dopt is used");
	return false;
}
