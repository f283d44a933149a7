/*
 * Which values to recompute so that a step fits a budget: the problem of Checkmate (Jain et al.,
 * MLSys 2020), where each value is recomputed at most once, and connected values together.
 *
 * A search over sets of candidates, each evaluated once by the cost model, on the step as it would
 * be (ir/saved.h):
 *
 *     1. grow    from nothing, the class with the most memory per time, until the step fits
 *     2. shrink  drop each class, the slowest first, if the step still fits; then reduce each class
 *                to the fewest of its first members with which it fits
 *
 * and the same from the blocks, in which everything except their inputs is recomputed. The faster
 * of the two is the result. A class is what blocks have in common: values of one name in each of
 * them. Recomputed members are those of the first blocks, because the last blocks are read first.
 * Cost: some evaluations of the cost model for each class and direction. They count live bytes. If
 * gaps between buffers make the arena of the result larger than the budget, all is repeated for a
 * budget that is lower by these gaps.
 *
 * If passes up to one that forms kernels follow, each choice is made on a copy on which these passes are then run,
 * and the copy is evaluated. Values that end in registers of kernels are chosen with others of their block, so that what they
 * are computed from can be: a kernel of the backward pass computes them again anyway. The choice for the step without the
 * passes is improved in the same way, since kernels may gain by several classes together where each alone gains
 * nothing.
 */
#include "passes/train/recompute.h"

#include "ir/base/alloc.h"
#include "ir/base/sets.h"
#include "ir/base/mix.h"
#include "ir/base/vec.h"
#include "ir/memory/storage.h"
#include "ir/numbering.h"
#include "passes/attempt/attempt.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

bool
recompute_may(const struct recompute *r, uint32_t i)
{
	const struct recompute_op *o = &r->step->op[i];

	return o->copyable && o->saved && o->bytes;
}

/* --- from a choice to groups ------------------------------------------------------------------ */

static uint32_t
maker_of(const struct recompute *r, const struct ir_op *op, int j)
{
	const struct ir_value *v = ir_operand(op, j);

	return v->op ? ir_number(r->step->ops, v->op) : IR_NO_NUMBER;
}

/* The chosen ops, the ops that they need that are not kept, and views of all of these. */
static void
find_members(const struct recompute *r, const bool *chosen, bool *member)
{
	const struct ir_numbering *ops = r->step->ops;

	for (uint32_t i = ops->n; i-- > 0;) {
		member[i] = member[i] || chosen[i];
		for (int j = 0; member[i] && j < ops->op[i]->noperands; j++) {
			const uint32_t maker = maker_of(r, ops->op[i], j);
			if (maker != IR_NO_NUMBER && r->step->op[maker].copyable &&
				(chosen[maker] || !recompute_may(r, maker)))
				member[maker] = true;
		}
	}
	for (uint32_t i = 0; i < ops->n; i++) {
		const uint32_t maker = ops->op[i]->noperands && storage_is_view(r->m, ops->op[i])
					       ? maker_of(r, ops->op[i], 0)
					       : IR_NO_NUMBER;
		if (maker != IR_NO_NUMBER && member[maker] && r->step->op[i].copyable)
			member[i] = true;
	}
}

int32_t
recompute_groups(const struct recompute *r, const bool *chosen, int32_t *group)
{
	const struct ir_numbering *ops = r->step->ops;
	bool *member = ARRAY_ZERO(NULL, bool, ops->n + 1u);
	int32_t n = 0;

	find_members(r, chosen, member);
	uint32_t *parent = ARRAY_NEW(NULL, uint32_t, ops->n + 1u);
	for (uint32_t i = 0; i < ops->n; i++) {
		parent[i] = i;
		for (int j = 0; member[i] && j < ops->op[i]->noperands; j++) {
			const uint32_t maker = maker_of(r, ops->op[i], j);
			if (maker != IR_NO_NUMBER && member[maker])
				sets_join(parent, i, maker);
		}
	}
	/* The root of a set need not be its first element. */
	int32_t *number = ARRAY_NEW(NULL, int32_t, ops->n + 1u);
	memset(number, 0xff, sizeof *number * ops->n);
	for (uint32_t i = 0; i < ops->n; i++) {
		int32_t *of = &number[sets_root(parent, i)];
		if (member[i] && *of < 0)
			*of = n++;
		group[i] = member[i] ? *of : RECOMPUTE_KEPT;
	}
	array_free(number);
	array_free(parent);
	array_free(member);
	return n;
}

static void
apply_to(const struct recompute *r, struct ir_module *m, const bool *chosen)
{
	void *scratch = alloc_scratch(NULL);
	int32_t *group = ARRAY_NEW(scratch, int32_t, r->step->ops->n + 1u);
	const int32_t n = chosen ? recompute_groups(r, chosen, group) : r->nblocks;
	struct recompute_group *result = ARRAY_ZERO(scratch, struct recompute_group, (size_t)n + 1);

	recompute_copy(r->step, m, chosen ? group : r->block, result, n);
	talloc_free(scratch);
}

void
recompute_apply(const struct recompute *r, const bool *chosen)
{
	ir_saved_change(r->base->saved);
	apply_to(r, r->m, chosen);
}

/* --- with kernels ----------------------------------------------------------------------------- */

/* Seconds of the step after these passes; INFINITY: one refuses it. */
static double
finish(const struct recompute *r, struct ir_module *m, const struct cost_model *model)
{
	struct attempt_result result;

	attempt_on(r->manager, model, m, r->finish, &result);
	return result.seconds;
}

struct ir_module *
recompute_finished(const struct recompute *r, const bool *chosen, double *seconds)
{
	struct ir_module *m = ir_module_clone(NULL, r->m);

	apply_to(r, m, chosen);
	*seconds = finish(r, m, r->cost);
	return m;
}

/* Time and live bytes of a choice. False: reported. */
static bool
measure(struct recompute *r, const bool *chosen, struct recompute_cost *cost)
{
	struct trial_result step;

	r->evaluations++;
	if (!r->finish) {
		recompute_apply(r, chosen);
		const bool ok = trial_measure(r->base, r->m, &step);
		ir_saved_restore(r->base->saved);
		*cost = (struct recompute_cost){step.seconds, (double)step.live};
		return ok;
	}
	struct ir_module *m = recompute_finished(r, chosen, &cost->time);
	struct storage *s = storage_create_unplaced(
		NULL, m, ir_func_find(m, "main"), cost_model_storage(r->cost), NULL);
	cost->peak = (double)storage_in_use(s);
	talloc_free(s);
	talloc_free(m);
	return true;
}

/* The number n of the name vn; a number from `n` on: n. */
static uint32_t
number_of_name(const char *name, uint32_t n)
{
	const unsigned long i = name && *name == 'v' ? strtoul(name + 1, NULL, 10) : n;

	return i < n ? (uint32_t)i : n;
}

/* A kernel has the names of the values that it writes, so all values of a copy get their numbers as names. */
bool
recompute_find_inner(struct recompute *r)
{
	struct ir_module *m = ir_module_clone(NULL, r->m);
	const struct ir_block *main = &ir_func_find(m, "main")->body;
	uint32_t n = 0;

	r->inner = ARRAY_ZERO(r->scratch, bool, r->step->ops->n + 1u);
	IR_FOR_OPS (op, main) {
		for (int k = 0; k < op->nresults; k++)
			op->result[k].name = ir_name(m->ctx, TEXT(m, "v%u", n));
		r->inner[n] = recompute_may(r, n);
		n++;
	}
	const bool formed = finish(r, m, NULL) < INFINITY;
	IR_FOR_OPS (op, main)
		for (int k = 0; k < op->nresults; k++)
			r->inner[number_of_name(op->result[k].name, n)] = false;
	talloc_free(m);
	return formed;
}

/* Two independent hashes, so that different choices never have the same in practice. */
static struct recompute_key
key_of_choice(const struct recompute *r, const bool *chosen)
{
	struct recompute_key key = {0, 1};

	for (uint32_t i = 0; i < r->step->ops->n; i++)
		if (chosen[i]) {
			key.a = mix64(key.a ^ i);
			key.b = mix64(key.b + i);
		}
	return key;
}

MAP_SAME(same_key, struct recompute_known, struct recompute_key,
	list[i].key.a == key->a && list[i].key.b == key->b)

bool
recompute_evaluate(struct recompute *r, const bool *chosen, struct recompute_cost *cost)
{
	const struct recompute_key key = key_of_choice(r, chosen);
	const uint32_t at = map_add(r->scratch, &r->known_map, key.a, same_key, r->known.at, &key);
	struct recompute_known new = {.key = key};
	bool ok = true;

	if (at == r->known.n) {
		ok = measure(r, chosen, &new.cost);
		VEC_PUSH(r->scratch, &r->known, new);
	}
	*cost = r->known.at[at].cost;
	return ok;
}

/* --- classes ---------------------------------------------------------------------------------- */

/* Values that together are less than this share of all candidates are kept: they would cost an
 * evaluation for each step of the search and change little. */
static const double least_share = 0.002;

/* The name without the numbers that tell it from others of that name where it is printed: "h_1" is "h". */
static const char *
without_numbers(const void *owner, const char *name)
{
	size_t length = strlen(name);

	for (size_t end = length; end > 1; end--)
		if (name[end - 1] == '_' && end < length)
			length = end - 1;
		else if (!isdigit((unsigned char)name[end - 1]))
			break;
	return talloc_strndup(owner, name, length);
}

/* Values of one name in several blocks are alike; one without a name is like others of its op. */
static const char *
key_of(const struct recompute *r, uint32_t i)
{
	const struct ir_op *op = r->step->ops->op[i];
	const char *name = op->result[0].name;

	if (r->block[i] == RECOMPUTE_KEPT)
		return NULL;
	const char *dot = name ? strchr(name, '.') : NULL;
	return dot ? without_numbers(r->scratch, dot) : op_name((enum op_code)op->code);
}

static struct recompute_class *
class_of(struct recompute_search *s, uint32_t i)
{
	const struct ir_op *op = s->r->step->ops->op[i];
	const char *key = key_of(s->r, i);

	for (int64_t k = 0; key && k < s->class.n; k++) {
		struct recompute_class *c = &s->class.at[k];
		if (c->key && c->type == op->result[0].type && strcmp(c->key, key) == 0)
			return c;
	}
	VEC_PUSH(s->r->scratch, &s->class,
		(struct recompute_class){.key = key, .type = op->result[0].type, .first = op});
	return &VEC_LAST(&s->class);
}

static void
drop_small(struct recompute_search *s)
{
	double all = 0;
	int64_t n = 0;

	for (int64_t k = 0; k < s->class.n; k++)
		all += s->class.at[k].bytes;
	for (int64_t k = 0; k < s->class.n; k++)
		if (s->class.at[k].bytes >= least_share * all)
			s->class.at[n++] = s->class.at[k];
	s->class.n = n;
}

static void
find_classes(struct recompute_search *s)
{
	const struct recompute_ops *a = s->r->step;

	for (uint32_t i = 0; i < a->ops->n; i++)
		if (recompute_may(s->r, i) && !(s->r->inner && s->r->inner[i])) {
			struct recompute_class *c = class_of(s, i);
			VEC_PUSH(s->r->scratch, &c->member, i);
			c->bytes += (double)a->op[i].bytes;
		}
	drop_small(s);
}

static void
take_inner(struct recompute_search *s)
{
	const struct recompute *r = s->r;
	const uint32_t n = r->step->ops->n;

	if (!s->inner)
		return;
	bool *has = ARRAY_ZERO(NULL, bool, (size_t)r->nblocks + 1);

	for (uint32_t i = 0; i < n; i++)
		if (s->chosen[i] && !r->inner[i] && r->block[i] != RECOMPUTE_KEPT)
			has[r->block[i]] = true;
	for (uint32_t i = 0; i < n; i++)
		if (r->inner[i])
			s->chosen[i] = r->block[i] != RECOMPUTE_KEPT && has[r->block[i]];
	array_free(has);
}

/* Without what follows from it for r->inner, which depends on all classes. */
static void
take_members(struct recompute_search *s, struct recompute_class *c, uint32_t taken)
{
	c->taken = taken;
	for (int64_t k = 0; k < c->member.n; k++)
		s->chosen[c->member.at[k]] = k < taken;
}

void
recompute_take(struct recompute_search *s, struct recompute_class *c, uint32_t taken)
{
	take_members(s, c, taken);
	take_inner(s);
}

/* The step if `taken` members of the class were recomputed; the class is restored afterwards. */
static bool
what_if(struct recompute_search *s, struct recompute_class *c, uint32_t taken,
	struct recompute_cost *cost)
{
	const uint32_t before = c->taken;

	recompute_take(s, c, taken);
	const bool ok = recompute_evaluate(s->r, s->chosen, cost);
	recompute_take(s, c, before);
	return ok;
}

/* --- the search ------------------------------------------------------------------------------- */

static bool
is_more(struct recompute_merit a, struct recompute_merit b)
{
	return a.rank != b.rank ? a.rank > b.rank : a.value > b.value;
}

/* A class that makes the finished step faster by this share, as kernels then read less, is taken first. */
static const double faster = 1e-3;

/* First classes that make the step fit, by time; then those that lower the peak, by time; else
 * values that are large and quick, which matter once the peak is elsewhere. */
static struct recompute_merit
merit_of(const struct recompute_search *s, const struct recompute_class *c,
	const struct recompute_cost *then)
{
	const double least = 1e-9, /* seconds: avoids infinite merit of values that take no time */
		time = then->time - s->cost.time > least ? then->time - s->cost.time : least;

	if (s->r->finish && then->time < (1 - faster) * s->cost.time)
		return (struct recompute_merit){3, -then->time};
	if (then->peak <= s->budget)
		return (struct recompute_merit){2, -time};
	if (then->peak < s->cost.peak)
		return (struct recompute_merit){1, (s->cost.peak - then->peak) / time};
	return (struct recompute_merit){0, c->bytes / time};
}

static void
note_least(struct recompute_search *s)
{
	if (s->cost.peak >= s->least_cost.peak)
		return;
	memcpy(s->least, s->chosen, sizeof *s->least * s->r->step->ops->n);
	s->least_cost = s->cost;
}

/* The class with the most merit at its last evaluation, among those that are not recomputed yet. */
static struct recompute_class *
most_promising(struct recompute_search *s)
{
	struct recompute_class *best = NULL;

	for (int64_t k = 0; k < s->class.n; k++) {
		struct recompute_class *c = &s->class.at[k];
		if (!c->taken && (!best || is_more(c->merit, best->merit)))
			best = c;
	}
	return best;
}

/*
 * Merits are those of earlier rounds until a class comes to the top; it is taken if it stays there
 * after another evaluation (M. Minoux, "Accelerated greedy algorithms", 1978).
 */
static bool
grow(struct recompute_search *s)
{
	for (int64_t k = 0; k < s->class.n; k++)
		s->class.at[k].merit = (struct recompute_merit){4, 0};
	for (int64_t round = 1; s->r->finish || s->cost.peak > s->budget; round++) {
		struct recompute_class *c;
		while ((c = most_promising(s)) && c->round != round) {
			if (!what_if(s, c, (uint32_t)c->member.n, &c->then))
				return false;
			c->merit = merit_of(s, c, &c->then);
			c->round = round;
		}
		if (!c || (s->cost.peak <= s->budget && c->merit.rank < 3))
			break;
		recompute_take(s, c, (uint32_t)c->member.n);
		c->time = c->then.time - s->cost.time;
		c->saved = s->cost.peak - c->then.peak;
		s->cost = c->then;
		note_least(s);
	}
	return true;
}

/*
 * The fewest members of the class with which the step fits: more hardly ever need more memory. The
 * next number to try is that at which the budget is reached if each member takes the same memory,
 * as members of blocks do; after two such tries in a row, the middle.
 */
static bool
take_fewest(struct recompute_search *s, struct recompute_class *c)
{
	uint32_t low = 0;
	double each = (s->r->finish && c->saved > 0 ? c->saved : c->bytes) / (double)c->member.n;
	struct recompute_cost then;

	for (int tries = 1; low < c->taken; tries++) {
		const double spare = (s->budget - s->cost.peak) / each;
		const uint32_t left = c->taken - low,
			       fewer = spare < 1      ? 1
				       : spare < left ? (uint32_t)spare
						      : left,
			       at = tries % 3 ? c->taken - fewer : low + left / 2;
		if (spare < 1 && (c->saved > 0 || tries > 1) && s->r->finish)
			break;
		if (!what_if(s, c, at, &then))
			return false;
		if (then.peak > s->cost.peak)
			each = (then.peak - s->cost.peak) / (c->taken - at);
		if (then.peak <= s->budget && then.time <= s->cost.time) {
			s->cost = then;
			recompute_take(s, c, at);
		} else {
			low = at + 1;
		}
	}
	return true;
}

/* The slowest class that is still to be tried; NULL: none is left. */
static struct recompute_class *
slowest(struct recompute_search *s)
{
	struct recompute_class *best = NULL;

	for (int64_t k = 0; k < s->class.n; k++) {
		struct recompute_class *c = &s->class.at[k];
		if (c->taken && !c->tried && (!best || c->time > best->time))
			best = c;
	}
	return best;
}

/* A finished step, which takes long to evaluate, is not tried without a class if this share of what the class saved
 * when it was taken would be too much. */
static const double needed = 0.8;

/* Leaves out classes without which the step fits. */
static bool
shrink(struct recompute_search *s)
{
	struct recompute_cost then;
	struct recompute_class *c;

	for (int64_t k = 0; k < s->class.n; k++)
		s->class.at[k].tried = false;
	while ((c = slowest(s))) {
		c->tried = true;
		if (s->r->finish && s->cost.peak + needed * c->saved > s->budget)
			continue;
		if (!what_if(s, c, 0, &then))
			return false;
		if (then.peak > s->budget || then.time > s->cost.time)
			continue;
		recompute_take(s, c, 0);
		s->cost = then;
	}
	for (int64_t k = 0; k < s->class.n; k++)
		if (!take_fewest(s, &s->class.at[k]))
			return false;
	return true;
}

/* Does the forward pass of another block read it? */
static bool
leaves_block(const struct recompute *r, uint32_t i)
{
	const struct ir_op *op = r->step->ops->op[i];

	for (int k = 0; k < op->nresults; k++)
		IR_FOR_USES (u, &op->result[k]) {
			const uint32_t reader = ir_number(r->step->ops, u->op);
			if (r->step->op[reader].side == RECOMPUTE_FORWARD &&
				r->block[reader] != r->block[i])
				return true;
		}
	return false;
}

/* Starts from all values of the blocks except those passed to the next block, or from nothing. */
static void
start_from(struct recompute_search *s, bool blocks)
{
	for (int64_t k = 0; k < s->class.n; k++) {
		struct recompute_class *c = &s->class.at[k];
		const bool take = blocks && c->key && !leaves_block(s->r, c->member.at[0]);
		take_members(s, c, take ? (uint32_t)c->member.n : 0);
		c->time = c->bytes; /* unknown: the largest first */
		c->saved = 0;
		c->round = 0;
	}
	take_inner(s);
}

/* The fewest blocks, from the first on, that make the step fit if they are computed again as a whole. */
static bool
search_first(struct recompute_search *s)
{
	const int64_t blocks = s->r->nblocks;
	struct recompute_cost then = {0};

	start_from(s, true);
	for (int64_t k = 0; k < s->class.n; k++)
		s->class.at[k].round = s->class.at[k].taken; /* of all blocks */
	for (int64_t low = 0, high = blocks, n = blocks / 2; low <= high; n = (low + high) / 2) {
		for (int64_t k = 0; k < s->class.n; k++)
			take_members(
				s, &s->class.at[k], (uint32_t)(s->class.at[k].round * n / blocks));
		take_inner(s);
		if (!recompute_evaluate(s->r, s->chosen, &then))
			return false;
		if (low == high)
			break;
		if (then.peak <= s->budget)
			high = n;
		else
			low = n + 1;
	}
	s->cost = then;
	return true;
}

static bool
search_from(struct recompute_search *s, bool blocks)
{
	start_from(s, blocks);
	if (!recompute_evaluate(s->r, s->chosen, &s->cost))
		return false;
	s->least_cost.peak = INFINITY;
	note_least(s);
	if (!grow(s))
		return false;
	if (s->cost.peak <= s->budget)
		return shrink(s);
	memcpy(s->chosen, s->least, sizeof *s->chosen * s->r->step->ops->n);
	s->cost = s->least_cost;
	return true;
}

bool
recompute_is_better(const struct recompute_cost *a, const struct recompute_cost *b, double budget)
{
	const bool fits = a->peak <= budget, other = b->peak <= budget;

	if (fits != other)
		return fits;
	return fits ? a->time < b->time : a->peak < b->peak;
}

static void
keep_if_better(struct recompute_search *s, bool *chosen, struct recompute_cost *cost)
{
	if (!recompute_is_better(&s->cost, cost, s->budget))
		return;
	memcpy(chosen, s->chosen, sizeof *chosen * s->r->step->ops->n);
	*cost = s->cost;
}

/* The members of a class that are recomputed are its first ones. */
static void
load(struct recompute_search *s, const bool *chosen)
{
	memcpy(s->chosen, chosen, sizeof *chosen * s->r->step->ops->n);
	for (int64_t k = 0; k < s->class.n; k++) {
		struct recompute_class *c = &s->class.at[k];
		c->taken = 0;
		for (int64_t i = 0; i < c->member.n; i++)
			c->taken += chosen[c->member.at[i]];
	}
}

/* Continues from an earlier choice. */
static bool
improve(struct recompute_search *s, bool *chosen, struct recompute_cost *cost)
{
	load(s, chosen);
	s->cost = *cost;
	if (!recompute_improve(s))
		return false;
	keep_if_better(s, chosen, cost);
	return true;
}

static struct recompute_search
create_search(struct recompute *r, double budget)
{
	const uint32_t n = r->step->ops->n;
	struct recompute_search s = {.r = r,
		.budget = budget,
		.chosen = ARRAY_ZERO(r->scratch, bool, n + 1u),
		.least = ARRAY_ZERO(r->scratch, bool, n + 1u)};

	s.inner = r->inner != NULL;
	find_classes(&s);
	return s;
}

bool
recompute_tell(
	struct recompute *r, double budget, const bool *chosen, recompute_teller *tell, void *data)
{
	struct recompute_search s = create_search(r, budget);
	const uint32_t evaluations = r->evaluations;
	struct recompute_cost kept;

	load(&s, chosen);
	for (int64_t k = 0; k < s.class.n; k++) {
		struct recompute_class *c = &s.class.at[k];
		const struct ir_op *first = r->step->ops->op[c->member.at[0]];
		if (!c->taken)
			continue;
		if (!what_if(&s, c, 0, &kept))
			return false;
		if (kept.peak > budget)
			tell(data, first, c->taken, kept.peak - budget);
	}
	r->evaluations = evaluations;
	return true;
}

/* Goes on from the choice for the step as it is, without what follows: kernels can be faster with what one class
 * after the other does not find. */
static bool
search_finished(struct recompute_search *s, bool *chosen, struct recompute_cost *cost)
{
	const struct recompute *r = s->r;
	struct recompute bare = {.scratch = r->scratch,
		.cost = r->cost,
		.base = r->base,
		.m = r->m,
		.step = r->step,
		.block = r->block,
		.nblocks = r->nblocks};
	struct recompute_cost then;

	if (!recompute_choose(&bare, s->budget, r->bare, &then))
		return false;
	s->inner = false;
	start_from(s, false);
	load(s, r->bare);
	if (!recompute_evaluate(s->r, s->chosen, &s->cost) ||
		(s->cost.peak <= s->budget && !shrink(s)))
		return false;
	s->inner = true;
	keep_if_better(s, chosen, cost);
	return true;
}

bool
recompute_choose(struct recompute *r, double budget, bool *chosen, struct recompute_cost *cost)
{
	struct recompute_search s = create_search(r, budget);

	memset(chosen, 0, sizeof *chosen * r->step->ops->n);
	if (!recompute_evaluate(r, chosen, cost) || !search_from(&s, false))
		return false;
	keep_if_better(&s, chosen, cost);
	if (r->finish && !search_finished(&s, chosen, cost))
		return false;
	if (r->finish && r->nblocks) {
		if (!search_first(&s))
			return false;
		keep_if_better(&s, chosen, cost);
	}
	if (r->nblocks && !(r->finish && cost->peak <= budget)) {
		if (!search_from(&s, true))
			return false;
		keep_if_better(&s, chosen, cost);
	}
	return !r->most || improve(&s, chosen, cost);
}
