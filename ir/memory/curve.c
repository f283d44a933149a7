/* Live bytes while decisions change them: see curve.h. */
#include "ir/memory/curve.h"

#include "ir/base/alloc.h"

static void
update(struct live_curve *c, uint32_t i)
{
	const int64_t left = c->most[2 * i], right = c->most[2 * i + 1];

	c->most[i] = (left > right ? left : right) + c->more[i];
}

struct live_curve *
live_curve_create(const void *owner, const uint64_t *live, uint32_t n)
{
	struct live_curve *c = NEW(owner, struct live_curve);

	for (c->leaves = 2; c->leaves < n; c->leaves *= 2)
		;
	c->most = ARRAY_ZERO(c, int64_t, 2 * (size_t)c->leaves);
	c->more = ARRAY_ZERO(c, int64_t, c->leaves);
	for (uint32_t t = 0; t < n; t++)
		c->most[c->leaves + t] = (int64_t)live[t];
	for (uint32_t i = c->leaves; i-- > 1;)
		update(c, i);
	return c;
}

static void
add_to(struct live_curve *c, uint32_t i, int64_t bytes)
{
	c->most[i] += bytes;
	if (i < c->leaves)
		c->more[i] += bytes;
}

static void
update_above(struct live_curve *c, uint32_t i)
{
	while (i /= 2)
		update(c, i);
}

void
live_curve_add(struct live_curve *c, uint32_t first, uint32_t last, int64_t bytes)
{
	if (last < first)
		return;
	for (uint32_t i = c->leaves + first, end = c->leaves + last + 1; i < end;
		i /= 2, end /= 2) {
		if (i % 2)
			add_to(c, i++, bytes);
		if (end % 2)
			add_to(c, --end, bytes);
	}
	update_above(c, c->leaves + first);
	update_above(c, c->leaves + last);
}
