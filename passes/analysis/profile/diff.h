/* Comparing two profiles. */
#ifndef PASSES_ANALYSIS_PROFILE_DIFF_H
#define PASSES_ANALYSIS_PROFILE_DIFF_H

#include "passes/analysis/profile/profile.h"

#include <stdio.h>

struct profile_difference {
	int changed, added, removed, same;
};

/*
 * Writes a table of the differences between the selected entries of two profiles (profile_select):
 * entries that changed by more than `tolerance` of the first value and more than the spreads of
 * both, added entries, removed entries. Two profiles of one device each are compared even if the
 * devices differ, with a line that says so. False: reported.
 */
bool profile_diff(FILE *out, struct profile *a, struct profile *b, double tolerance,
	struct profile_difference *found);

#endif
