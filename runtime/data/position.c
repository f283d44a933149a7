/* The progress of a training run: see position.h. */
#include "runtime/data/position.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* The order of the lines in the file, and the largest value of each. */
static const struct line {
	char *key;
	uint64_t max;
} lines[RT_POSITION_PAIRS] = {{"dopt.step", RT_MAX_STEPS}, {"dopt.seed", UINT64_MAX},
	{"dopt.row", UINT64_MAX}, {"dopt.rows", INT64_MAX}};

void
rt_position_write(const struct rt_position *p, struct rt_position_text *text)
{
	const uint64_t values[RT_POSITION_PAIRS] = {(uint64_t)p->step, p->seed, p->row, p->rows};
	for (int i = 0; i < RT_POSITION_PAIRS; i++) {
		snprintf(text->values[i], sizeof text->values[i], "%" PRIu64, values[i]);
		text->pairs[i] = (struct rt_st_pair){lines[i].key, text->values[i]};
	}
}

static bool
read_line(const struct line *line, uint64_t *out, const struct rt_st_file *f, struct rt_status *st)
{
	const char *text = rt_st_metadata(f, line->key);
	if (!text)
		return rt_fail(st, RT_EXIT_USAGE, "%s: there is 'dopt.step', but no '%s'", f->path,
			line->key);
	char *end;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return (*text >= '0' && *text <= '9' && !*end && !errno && *out <= line->max) ||
	       rt_fail(st, RT_EXIT_USAGE,
		       "%s: '%s': expected a whole number from 0 to %" PRIu64 ", found '%s'",
		       f->path, line->key, line->max, text);
}

bool
rt_position_is_in(const struct rt_st_file *f)
{
	return rt_st_metadata(f, lines[0].key) != NULL;
}

bool
rt_position_read(struct rt_position *p, const struct rt_st_file *f, struct rt_status *st)
{
	uint64_t values[RT_POSITION_PAIRS];
	if (!rt_position_is_in(f))
		return true;
	for (int i = 0; i < RT_POSITION_PAIRS; i++)
		if (!read_line(&lines[i], &values[i], f, st))
			return false;
	*p = (struct rt_position){(int64_t)values[0], values[1], values[2], values[3]};
	return true;
}
