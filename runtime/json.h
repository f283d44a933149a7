/* As much JSON as a safetensors header needs: a cursor over text and strict steps over tokens. */
#ifndef RUNTIME_JSON_H
#define RUNTIME_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_json {
	const char *begin, *at, *end;
};

/* Skips white space, then `c` if it is next. */
bool rt_json_take(struct rt_json *j, char c);

/* Is `c` next, behind white space? */
bool rt_json_next(struct rt_json *j, char c);

/* A string, its escapes resolved to UTF-8, zero-terminated and from malloc; NULL if there is no
 * valid one (also: one that contains a zero character) or no memory. */
char *rt_json_string(struct rt_json *j);

/* A whole number without sign or exponent, below 2^63. */
bool rt_json_count(struct rt_json *j, int64_t *out);

#endif
