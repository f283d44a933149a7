/* Traces of one rank, damaged. test/passes/analysis/trace/fuzz_test.c has those of several. */
#include "test/fuzz/mutate.h"

static const char *const token[] = {"{", "}", "[", "]", ",", ":", "\"", "-1", "0", "1", "2",
	"1e308", "1e-320", "99999999999999999999", "9007199254740993", "0.0005", "null", "true",
	"\"ph\":\"X\"", "\"cat\":\"kernel\"", "\"cat\":\"step\"", "\"dur\":0", "\\u0000", "\\",
	"\"from\":1", "\"to\":1", "\"size\":2147483648", "\"place\":0", "\"step\":4294967295",
	"\"sequence\":1", "\"collective\":1", "\"group\":2", "\xff", "\"dropped\":3", "\"ranks\":1",
	"\"time\":true", ""};

static void
add_seeds(struct fuzz *f)
{
	fuzz_add_folder(f, "fuzz/Inputs", ".json");
}

const struct fuzz_test fuzz_test = {.reader = "trace",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.add_seeds = add_seeds,
	.least_seeds = 2,
	.mutations = 4000};
