/* What accumulate shares with passes that divide the batch into micro-batches. */
#ifndef PASSES_PARALLEL_ACCUMULATE_H
#define PASSES_PARALLEL_ACCUMULATE_H

#include "passes/pass.h"

#define ACCUMULATE_LOSSES(ROW) ROW(LOSS_BATCH, "batch") ROW(LOSS_MICROBATCH, "microbatch")

/* The options that accumulate_split reads. */
#define ACCUMULATE_OPTIONS(default_steps)                                                          \
	{"steps", PASS_INT, default_steps, "number of micro-batches; 1 changes nothing", NULL, 1,  \
		UINT16_MAX},                                                                       \
		{"name", PASS_STRING, "mb", "name of the time axis that is declared", NULL, 0, 0}, \
	{                                                                                          \
		"loss", PASS_ENUM, "batch",                                                        \
			"terms of the loss that are not linear in sums over the batch, as one "    \
			"that balances experts: of the whole batch; microbatch: computed by "      \
			"micro-batch and averaged, which is another loss, and needs no second "    \
			"loop over the micro-batches",                                             \
			CHOICE_LIST(ACCUMULATE_LOSSES), 0, 0                                       \
	}

/* Declares the time axis and splits the batch over it: see accumulate.c. False: reported. */
bool accumulate_split(struct pass_run *run, struct ir_module *m, bool peel);

/* Is the text of the option valid as the name of a new axis? False: reported. */
bool accumulate_check_name(struct pass_run *run, const struct ir_module *m, const char *option);

#endif
