"""Programs whose kernels sleep, so that ranks on few cores wait as on a device each."""
import os
import re
import subprocess

TOP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "..")
SECONDS = 300

# A kernel that slept too long is followed by one that sleeps less; short ones sleep together.
SLEEP = """#include <stdint.h>
#include <time.h>
static _Thread_local int64_t bench_left; /* ns */
static int64_t
bench_now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * INT64_C(1000000000) + t.tv_nsec;
}
static inline void
bench_sleep(int64_t ns)
{
	const int64_t begin = bench_now();
	bench_left += ns;
	if (bench_left < 500000)
		return;
	nanosleep(&(struct timespec){bench_left / 1000000000, bench_left % 1000000000}, 0);
	bench_left -= bench_now() - begin;
}
"""


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=SECONDS).stdout


def config(build, name):
    text = open(os.path.join(build, "gen", "dopt_config.h")).read()
    return re.search(rf'^#define DOPT_{name} "(.*)"', text, re.M)[1].split()


def kernels(step):
    """Of the source of a step the rows of its table of kernels: what they are, and the number of the op."""
    table = step[step.index("struct rt_kernel kernels[]"):]
    return re.findall(r'^\t\{"(\w+)[^"]*", ".*, (\d+)\},?$', table[:table.index("\n};")], re.M)


def rebuild(build, program, ns_of):
    """The program of `dopt -emit=program` again, in which each kernel sleeps for ns_of(what it is, op) more than it computes."""
    sources = program + ".src"
    path = os.path.join(sources, "step.c")
    step = open(path).read()
    ns = [int(ns_of(what, int(op))) for what, op in kernels(step)]

    def sleep(match):
        return f"{match[1]} bench_sleep({ns[int(match[2])]});" if ns[int(match[2])] else match[1]

    open(path, "w").write(SLEEP + re.sub(r"(rt_kernel_begin\(c, (\d+)\);)", sleep, step))
    files = [os.path.join(sources, f) for f in sorted(os.listdir(sources)) if f.endswith(".c")]
    run(*config(build, "CC"), *config(build, "CC_FLAGS"), *config(build, "CC_INCLUDES"), "-I", TOP, "-I", sources,
        "-o", program, *files, "-L", os.path.join(build, "lib"), "-ldopt_rt", *config(build, "RT_LIBS"))
