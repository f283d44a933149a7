/* Text for sets of ranks in messages: "rank 3", "ranks 0-2 and 7". */
#ifndef RUNTIME_WATCH_RANKS_TEXT_H
#define RUNTIME_WATCH_RANKS_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Size of the text of a set; a longer one ends with "...". */
#define RT_RANKS_TEXT 120

/* Writes the ranks r of 0 .. n-1 with in[r]. Returns their number. */
int rt_ranks_text(char text[RT_RANKS_TEXT], const bool *in, int n);

#endif
