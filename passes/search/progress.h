/* Progress of a search on the terminal. */
#ifndef PASSES_SEARCH_SEARCH_PROGRESS_H
#define PASSES_SEARCH_SEARCH_PROGRESS_H

#include "passes/search/search.h"

/* Seconds between two updates: as often as the eye can follow. */
#define SEARCH_TELL_SECONDS 0.2

/* Prints best so far, evaluations per second and time left: one line, which the next one
 * replaces. */
void search_tell(const struct search *s);

/* At the end of a search, prints a last line, which stays. */
void search_told(const struct search *s);

#endif
