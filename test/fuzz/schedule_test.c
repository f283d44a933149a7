/* Schedules of pipelines, damaged: those of PyTorch's tests, and some that show all of the text. */
#include "test/fuzz/mutate.h"

#include <string.h>

static const char messages[] =
	"0UNSHARD,0F0,0SEND_F0,0F1,0SEND_F1,0RECV_B0,0B0,0RECV_B1,0I1,0W1,0RESHARD,0REDUCE_GRAD\n"
	"1RECV_F0,1F0,1RECV_F1,1B0,1SEND_B0,1F1,1I1,1SEND_B1,1W1\n";
static const char overlapped[] = "0F0,3F0,3B0,0F1,(3F1;0B0)OVERLAP_F_B,3B1,0B1\n"
				 "1F0,2F0,,2B0,(1F1;1B0)OVERLAP_F_B,2F1,2B1,1B1,,\r\n";

static const char *const token[] = {"0F0", "1F0", "0B0", "0I0", "0W0", "1B1", "2F3", "0SEND_F0",
	"1RECV_F0", "1SEND_B0", "0RECV_B0", "0UNSHARD", "0RESHARD", "0REDUCE_GRAD", "OVERLAP_F_B",
	"(0F0;1B0)OVERLAP_F_B", "(", ")", ";", ",", ",,", "\n", "\r\n", " ", "\t", "-", "1048575",
	"1048576", "99999999999999999999", "F", "B", "SEND_", "\xff"};

static void
add_seeds(struct fuzz *f)
{
	fuzz_add_folder(f, "passes/pipeline/Inputs", ".csv");
	for (int i = 0; i < 8; i++) { /* small ones are read oftener */
		fuzz_add_seed(f, messages, strlen(messages));
		fuzz_add_seed(f, overlapped, strlen(overlapped));
	}
}

const struct fuzz_test fuzz_test = {.reader = "schedule",
	.token = token,
	.ntokens = sizeof token / sizeof *token,
	.add_seeds = add_seeds,
	.least_seeds = 19,
	.mutations = 20000};
