/* The JSON that safetensors headers, indexes and traces need: writing a string, and reading: a cursor over text and strict functions that
 * each consume one token. If one fails, the cursor is at the error or a little before it. */
#ifndef RUNTIME_JSON_H
#define RUNTIME_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct rt_json {
	const char *begin, *at, *end;
};

/* Writes a string with its quotes; NULL is empty. */
void rt_json_put(FILE *out, const char *text);

/* Skips white space, then `c` if it is next. */
bool rt_json_take(struct rt_json *j, char c);

/* Is `c` the next character after white space? */
bool rt_json_next(struct rt_json *j, char c);

/* A string, its escapes resolved to UTF-8, zero-terminated and from malloc; NULL if there is no
 * valid one (also: one that contains a zero character) or no memory. */
char *rt_json_string(struct rt_json *j);

/* A whole number without sign or exponent, below 2^63. */
bool rt_json_count(struct rt_json *j, int64_t *out);

/* A string in place, if it has no escapes: most have none. Otherwise false, with the cursor at the
 * escape, at the error or at the end. */
bool rt_json_span(struct rt_json *j, const char **text, size_t *length);

/* A number, finite as a double. */
bool rt_json_number(struct rt_json *j, double *out);

/* A number times 10^digits, exact if it has no more than `digits` digits after the decimal point,
 * else rounded; its magnitude is below 9e17. */
bool rt_json_fixed(struct rt_json *j, int digits, int64_t *out);

bool rt_json_bool(struct rt_json *j, bool *out);

/* Any value, nested no deeper than 64. */
bool rt_json_skip(struct rt_json *j);

#endif
