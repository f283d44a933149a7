/* What a search says of itself on the terminal while it runs. */
#ifndef PASSES_SEARCH_SEARCH_PROGRESS_H
#define PASSES_SEARCH_SEARCH_PROGRESS_H

#include "passes/search/search.h"

/* Seconds between two lines: as often as the eye follows. */
#define SEARCH_TELL_SECONDS 0.2

/* Best so far, evaluations a second, time left: one line, which the next one replaces. */
void search_tell(const struct search *s);

/* The search has ended: a last line, which stays. */
void search_told(const struct search *s);

#endif
