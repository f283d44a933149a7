/* Sets of ranks: see ranks_text.h. */
#include "runtime/watch/ranks_text.h"
#include <stdio.h>
#include <string.h>

/* Longest text of one more run: " and 2147483646-2147483647", and " ...". */
#define RUN_TEXT 32
/* Least members that are written as "0-2". */
#define SHORTEST_RUN 3

/* The end of the run of members that starts at r: shorter runs are written one by one. */
static int
run_end(const bool *in, int n, int r)
{
	int end = r;
	while (end < n && in[end])
		end++;
	return end - r >= SHORTEST_RUN ? end : r + 1;
}

int
rt_ranks_text(char text[RT_RANKS_TEXT], const bool *in, int n)
{
	int count = 0, last = -1;
	for (int r = 0; r < n; r++) {
		count += in[r];
		last = in[r] ? r : last;
	}
	size_t at = (size_t)sprintf(text, count == 1 ? "rank" : "ranks");
	for (int r = 0; r < n; r++) {
		if (!in[r])
			continue;
		const int end = run_end(in, n, r);
		if (at + RUN_TEXT > RT_RANKS_TEXT) {
			strcpy(text + at, " ...");
			break;
		}
		const char *join = at <= strlen("ranks") ? " " : end > last ? " and " : ", ";
		at += (size_t)sprintf(text + at, "%s%d", join, r);
		if (end - r > 1)
			at += (size_t)sprintf(text + at, "-%d", end - 1);
		r = end - 1;
	}
	return count;
}
