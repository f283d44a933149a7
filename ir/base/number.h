/* Numbers for human readers: with a suitable unit, and counts with their noun. */
#ifndef IR_BASE_NUMBER_H
#define IR_BASE_NUMBER_H

#include <stdint.h>

enum { NUMBER_TEXT = 32 }; /* room for each of the texts below, with its terminating zero */

/*
 * A number of at least 0 in the largest unit that leaves digits before the point, with three
 * significant digits: "1.24ms", "1.2MB"; 0 is "0". Written to `text`, which is returned.
 */
const char *number_seconds(char text[NUMBER_TEXT], double seconds);
const char *number_bytes(char text[NUMBER_TEXT], double bytes);
const char *number_flops(char text[NUMBER_TEXT], double rate); /* FLOP/s */
const char *number_large(char text[NUMBER_TEXT], double n);    /* "16.2k", "3.4M" */

/* A time with or without a sign, always three digits, for columns: "1.20ms", "-20.0us", "inf". */
const char *number_seconds_column(char text[NUMBER_TEXT], double seconds);

/* "s" for any number but 1: printf("%d device%s", n, number_plural(n)). */
const char *number_plural(int64_t n);

/*
 * The noun of a count: "(s)" stands for "s" and "(y/ies)" for "ies" unless n is 1. "op(s) fused"
 * is "op fused" or "ops fused". A text without parentheses is unchanged. Owned by `owner`
 * (talloc).
 */
char *number_noun(const void *owner, int64_t n, const char *noun);

/* The number and its noun: "1 op fused", "2 ops fused". Owned by `owner`. */
char *number_count(const void *owner, int64_t n, const char *noun);

#endif
