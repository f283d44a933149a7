/* safetensors files, damaged. */
#include "test/fuzz/mutate.h"

static const char *const token[] = {"{", "}", "[", "]", ",", ":", "\"", "", "\x01", "\xff",
	"\x40\0\0\0\0\0\0\0", "0", "-1", "1e3", "18446744073709551615", "9223372036854775807",
	"\"dtype\":\"F32\"", "\"shape\":[2,3]", "\"data_offsets\":[0,24]", "[0,0]", "\"F8_E4M3\"",
	"\"__metadata__\":{}", "\\u0000", "\\u00fc", "\\", " ", "\n", "null",
	"\"w\":{\"dtype\":\"U8\",\"shape\":[],\"data_offsets\":[0,1]},"};

static void
add_seeds(struct fuzz *f)
{
	fuzz_add_folder(f, "fuzz/Inputs", ".safetensors");
}

const struct fuzz_test fuzz_test = {.reader = "safetensors",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.add_seeds = add_seeds,
	.least_seeds = 3,
	.mutations = 20000};
