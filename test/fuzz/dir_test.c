/*
 * The parser against damaged texts: the .dir files of the tests and the prelude, mutated.
 */
#include "test/fuzz/mutate.h"

#include <string.h>

extern const char dopt_prelude[];

static const char *const token[] = {"(", ")", "{", "}", "[", "]", "%x", "%", "@f", "@", "=", ":",
	",", "+", "-", "*", "/", "\n", " ", "//", "\"", "\\", "\0", "\xff", "func @g(%a) {", "func",
	"let N = 3", "mesh [q = 2]", "steps [r = 2]", "module @m", "call @softmax(%x)",
	"call @f(%x) {repeat = 3}", "fuse(%x) {", "yield(%x)", "return(%x)", "input(\"i\")",
	"f32[2]", ": f32[B/dp,4]+dp@tp=1", "dim(%x, 0)", "9223372036854775807",
	"99999999999999999999", "-1", "0", "1e999", "nan", "inf", "25MB", "{axis = dp}",
	"{dims = [0, -1], keep = true}", "{spec = \"ab,bc->ac\"}",
	"{as = \"h\", repeat = 2, N = 3}", "matmul(%x, %x)", "reshape(%x) {shape = [-1]}",
	"slice(%x) {start = [1], limit = [3], step = [2]}",
	"pad(%x) {low = [-1], high = [9], interior = [1], value = 2}",
	"conv2d(%x, %x) {stride = [2,1], low = [1,1], groups = 3}", "max_pool(%x) {window = [3,3]}",
	"concat(%x, %x) {dim = -1}", "topk(%x) {k = 2}", "random_uniform(\"k\", %n, %x)",
	"dynamic_slice(%x, %n) {size = 4}", "{stride = [0,-1]}", "{value = inf}",
	"output(\"o\", %x)", "update(%x, %x)", "param(\"w\") : f32[2]"};

static void
add_prelude(struct fuzz *f)
{
	fuzz_add_seed(f, dopt_prelude, strlen(dopt_prelude));
}

const struct fuzz_test fuzz_test = {.reader = "dir",
	.suffix = ".dir",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.add_seeds = add_prelude,
	.least_seeds = 6,
	.mutations = 20000};
