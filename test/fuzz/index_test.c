/* Indexes of safetensors files, damaged. */
#include "test/fuzz/mutate.h"

static const char *const token[] = {"{", "}", "[", "]", ",", ":", "\"", "", "\x01", "0", "-1",
	"1e3", "9223372036854775807", "18446744073709551615", "[]", "[0]", "[0,2]", "[[0],[0]]",
	"\"F64\"", "\"F8_E4M3\"", "\"cuts\": [[0]],", "\"shape\": [1,1,1,1,1,1,1,1,1]",
	"\"files\": [0],", "\"weight_map\": {},", "\"name\": \"..\",", "\"dopt\": {},", "\\u0000",
	"null", "\n"};

static void
add_seeds(struct fuzz *f)
{
	fuzz_add_folder(f, "fuzz/Inputs", ".index");
}

const struct fuzz_test fuzz_test = {.reader = "index",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.add_seeds = add_seeds,
	.least_seeds = 3,
	.mutations = 20000};
