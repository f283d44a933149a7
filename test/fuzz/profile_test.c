/* Profiles as text, damaged: those of the tests. */
#include "test/fuzz/mutate.h"

static const char *const token[] = {"dopt-profile 2\n", "device \"cpu\" backend \"b 1\"\n",
	"device ", "backend \"", "op ", "collective ", "link ", "field ", "ranks=", "ranks=2",
	"buffers=step", "buffers=rotate", "median=", "median=1e-05", "spread=0.5", "runs=3",
	"flops=4096", "bytes=256", "time=2026-11-20T23:55:01Z", "time=9999-99-99T99:99:99Z",
	"key=", "key=relu (f32[8]) -> f32[8]", "transport=threads", "transport=", "kind=allreduce",
	"places=2", "nodes=1", "alpha=2e-06", "beta=inf", "error=0", "name=step", "name=slowdown",
	"value=4e-06", "value=", "\n", " ", "=", "\"", "\\", "#", "\r", "", "\xff", "nan", "inf",
	"-1", "0", "1e999", "1e-320", "2147483648", "99999999999999999999", "0x1p3", "1 "};

const struct fuzz_test fuzz_test = {.reader = "profile",
	.suffix = ".profile",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.least_seeds = 3,
	.mutations = 6000};
