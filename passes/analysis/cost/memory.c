/* Memory of a step: see memory.h. */
#include "passes/analysis/cost/memory.h"
#include "ir/base/sort.h"

#include "ir/names.h"
#include "ir/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

void
memory_report_of(const struct storage *s, struct memory_report *r)
{
	const uint32_t p = s->live_at / 2;

	*r = (struct memory_report){.peak = storage_allocated(s),
		.libraries = s->libraries,
		.persistent = s->persistent_bytes,
		.host = s->host_bytes,
		.live = storage_in_use(s),
		.at = p < s->order->n ? s->order->op[p] : NULL};
}

void
memory_evaluate(const struct ir_module *m, struct ir_func *main,
	const struct storage_target *target, struct memory_report *r)
{
	struct storage *s = storage_create(NULL, m, main, target, NULL);

	memory_report_of(s, r);
	talloc_free(s);
}

uint64_t
memory_needs(struct storage *s, uint64_t limit)
{
	storage_find_offsets(s, limit > s->outside_arena ? limit - s->outside_arena : 0);
	return storage_allocated(s);
}

uint64_t
memory_peak(const struct ir_module *m, const struct storage_target *target, uint64_t limit)
{
	struct storage *s = storage_create_unplaced(NULL, m, ir_func_find(m, "main"), target, NULL);
	const uint64_t needs = memory_needs(s, limit);

	talloc_free(s);
	return needs;
}

uint64_t
memory_room(const struct ir_module *m, const struct storage_target *target, uint64_t budget)
{
	const uint64_t needs = memory_peak(m, target, budget);

	return needs > budget ? needs : budget;
}

uint64_t
memory_live(const struct ir_module *m, struct ir_func *main, const struct storage_target *target,
	struct storage_known *known)
{
	struct storage *s = storage_create_unplaced(NULL, m, main, target, known);
	const uint64_t live = storage_in_use(s);

	talloc_free(s);
	return live;
}

/* A storage with the kinds of its buffers, for counting live bytes. */
struct counter {
	const struct storage *s;
	enum memory_kind *kind;
	uint64_t (*bytes)[MEMORY_NKINDS]; /* by moment */
	uint32_t moments;
};

/* Live bytes at every moment: changes first, then their sums. */
static void
count(struct counter *c)
{
	const struct storage *s = c->s;

	for (uint32_t i = 0; i < s->nbuffers; i++) {
		const struct storage_buffer *b = &s->buffer[i];
		if (b->first < 0 || b->memory == IR_HOST || !storage_counts(s, b))
			continue;
		c->bytes[b->first][c->kind[i]] += storage_bytes(s, b);
		c->bytes[b->last + 1][c->kind[i]] -= storage_bytes(s, b);
	}
	c->bytes[0][MEMORY_WORKSPACE] += s->outside_arena;
	for (uint32_t t = 1; t < c->moments; t++)
		for (int k = 0; k < MEMORY_NKINDS; k++)
			c->bytes[t][k] += c->bytes[t - 1][k];
}

static uint64_t
sum_at(const struct counter *c, uint32_t moment)
{
	uint64_t sum = 0;

	for (int k = 0; k < MEMORY_NKINDS; k++)
		sum += c->bytes[moment][k];
	return sum;
}

/* The moment of [first, last] with the most live bytes, the last of several. */
static uint32_t
most_of(const struct counter *c, uint32_t first, uint32_t last)
{
	uint32_t most = first;

	for (uint32_t t = first + 1; t <= last; t++)
		if (sum_at(c, t) >= sum_at(c, most))
			most = t;
	return most;
}

static char *
buffer_name(const void *owner, const struct names *names, const struct storage_buffer *b)
{
	switch (b->use) {
	case STORAGE_SCRATCH:
		return TEXT(owner, "scratch of %s", names_text(owner, names, &b->op->result[0]));
	case STORAGE_COPY: return TEXT(owner, "copy of %s", names_text(owner, names, b->value));
	case STORAGE_STAGE: return TEXT(owner, "staging buffers for communication");
	case STORAGE_VALUES: break;
	}
	return names_text(owner, names, b->value);
}

/* An op in two words. */
static char *
op_words(const void *owner, const struct names *names, const struct ir_op *op)
{
	if (!op)
		return TEXT(owner, "the end of the step");
	const char *code = op_name((enum op_code)op->code);
	if (op->nresults)
		return TEXT(owner, "%s %s", code, names_text(owner, names, &op->result[0]));
	return op->symbol ? TEXT(owner, "%s %s", code, op->symbol) : TEXT(owner, "%s", code);
}

ORDER_BY(by_bytes, struct memory_held, DOWN(bytes), UP(first), strcmp(x->name, y->name))

/* The buffers that live at a moment. */
static void
list_held(struct memory_curve *curve, const struct counter *c, const struct names *names,
	int32_t moment)
{
	const struct storage *s = c->s;
	const uint32_t n = s->order->n;

	curve->held = ARRAY_NEW(curve, struct memory_held, s->nbuffers + 2);
	for (uint32_t i = 0; i < s->nbuffers; i++) {
		const struct storage_buffer *b = &s->buffer[i];
		if (b->first < 0 || b->memory == IR_HOST || !storage_counts(s, b) ||
			moment < b->first || moment > b->last)
			continue;
		const uint32_t first = (uint32_t)b->first / 2, last = (uint32_t)b->last / 2;
		curve->held[curve->nheld++] =
			(struct memory_held){buffer_name(curve, names, b), c->kind[i],
				storage_bytes(s, b), b->value, b->op, first, last < n ? last : n};
	}
	const struct {
		const char *name;
		uint64_t bytes;
	} outside[] = {{"workspace of libraries", s->outside_arena - s->libraries},
		{"the driver and buffers of NCCL", s->libraries}};
	for (size_t i = 0; i < sizeof outside / sizeof *outside; i++)
		if (outside[i].bytes)
			curve->held[curve->nheld++] = (struct memory_held){outside[i].name,
				MEMORY_WORKSPACE, outside[i].bytes, NULL, NULL, 0, n};
	qsort(curve->held, curve->nheld, sizeof *curve->held, by_bytes);
}

static void
fill_points(struct memory_curve *curve, const struct counter *c, struct ir_func *main)
{
	const struct issue *o = c->s->order;
	uint32_t peak_moment = 0;

	for (uint32_t p = 0; p <= o->n; p++) {
		const uint32_t t = most_of(c, 2 * p, p < o->n ? 2 * p + 1 : 2 * p + 2);
		struct memory_point *x = &curve->point[p];
		x->op = p < o->n ? o->op[p] : NULL;
		x->live = sum_at(c, t);
		memcpy(x->bytes, c->bytes[t], sizeof x->bytes);
		if (p == 0 || x->live > curve->point[curve->peak].live) {
			curve->peak = p;
			peak_moment = t;
		}
	}
	const struct names *names = names_create(c->s, main);
	list_held(curve, c, names, (int32_t)peak_moment);
	curve->peak_name = op_words(curve, names, curve->point[curve->peak].op);
}

/* The curve of a storage, which it frees. */
static struct memory_curve *
curve_of(const void *owner, struct ir_func *main, struct storage *s)
{
	struct memory_curve *curve = NEW(owner, struct memory_curve);
	/* Moments 0 ... 2n + 2, and the end of the last live ranges. */
	struct counter c = {.s = s, .kind = memory_kinds(s, s), .moments = 2 * s->order->n + 4};

	c.bytes = array_create_zero(s, c.moments, sizeof *c.bytes, "what lives in a step");
	count(&c);
	curve->n = s->order->n;
	curve->point = ARRAY_NEW(curve, struct memory_point, curve->n + 1);
	curve->allocated = storage_allocated(s);
	fill_points(curve, &c, main);
	talloc_free(s);
	return curve;
}

struct memory_curve *
memory_curve_create(const void *owner, const struct ir_module *m, struct ir_func *main,
	const struct storage_target *target)
{
	return curve_of(owner, main, storage_create(NULL, m, main, target, NULL));
}

struct memory_curve *
memory_curve_create_live(const void *owner, const struct ir_module *m, struct ir_func *main,
	const struct storage_target *target, struct storage_known *known)
{
	struct memory_curve *curve = NEW(owner, struct memory_curve);
	struct storage *s = storage_create_unplaced(NULL, m, main, target, known);
	const struct issue *o = s->order;

	curve->n = o->n;
	curve->point = ARRAY_ZERO(curve, struct memory_point, curve->n + 1);
	for (uint32_t p = 0; p <= o->n; p++) {
		struct memory_point *x = &curve->point[p];
		x->op = p < o->n ? o->op[p] : NULL;
		for (uint32_t t = 2 * p; t <= (p < o->n ? 2 * p + 1 : 2 * p + 2); t++) {
			const uint64_t live = s->live[t] + s->outside_arena;
			x->live = live > x->live ? live : x->live;
		}
		curve->peak = x->live > curve->point[curve->peak].live ? p : curve->peak;
	}
	curve->allocated = storage_allocated(s);
	talloc_free(s);
	return curve;
}
