/* See search.h. */
#include "passes/rules/search.h"

#include "ir/base/alloc.h"
#include "ir/base/clock.h"
#include "ir/base/mix.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "ir/digest.h"

#include <string.h>
#include <talloc.h>

enum {
	EVERYWHERE = UINT32_MAX, /* in place of an op id */
	MOST_CANDIDATES = 256, /* queue limit; more than are expanded before the evaluations end */
	/* Of moves that are alike, as those in the layers of a model, the rest are not tried after so
	 * many that did not make the step faster than all before: the first layer may differ from the
	 * others. */
	ALIKE_FAILURES = 2,
};

/* An application of a rule, at an op or wherever it matches, in order. */
struct move {
	int rule;
	uint32_t op; /* op id, as renumbered in the step and then as given by the preceding moves */
	uint64_t like; /* equal for the same rule at ops of equal code and types; 0: everywhere */
};

struct tried {
	struct move move;
	double cost; /* of the step with all moves up to and including this one */
};

struct moves VEC(struct move);

struct candidate {
	double cost;
	uint64_t number;    /* of equally good candidates the first is expanded first */
	struct tried *done; /* [ndone] */
	int ndone;
	struct moves open; /* moves to be tried next */
};

struct seen {
	char digest[IR_DIGEST_DIGITS + 1];
};

/* Moves that are alike. */
struct alike {
	int rule;
	uint64_t like; /* 0: the rule everywhere */
	double best;   /* cost of the best step after one of them; at first, before it */
	int failures;  /* how many did not make it better */
};

struct alikes VEC(struct alike);

struct searcher {
	const struct rule_search *s;
	const struct ir_module *m;
	struct VEC(struct candidate *) queue;
	struct VEC(struct seen) seen;
	struct alikes vain; /* moves that did not change the time, from any candidate */
	const struct candidate *best;
	uint64_t evaluations, number;
	double ends; /* clock time; 0: never */
	int depth;   /* of the deepest rule */
};

static struct ir_block *
main_of(const struct ir_module *m)
{
	return &ir_func_find(m, "main")->body;
}

/* --- moves ------------------------------------------------------------------------------------ */

static bool
apply_everywhere(const struct rule_set *set, struct ir_module *m, int rule)
{
	const uint32_t before = m->op_ids;
	bool changed = false;

	for (struct ir_op *op = main_of(m)->first, *next; op; op = next) {
		struct rule_match match;
		struct rule_built b;
		next = op->next;
		if (op->id >= before || !rule_match_one(set->index, m, op, rule, &match) ||
			!rule_build(m, &match, &b))
			continue;
		next = rule_next_op(&b, op);
		rule_commit(&b);
		changed = true;
	}
	return changed;
}

static struct ir_op *
op_of(const struct ir_module *m, uint32_t id)
{
	IR_FOR_OPS (op, main_of(m))
		if (op->id == id)
			return op;
	return NULL;
}

static bool
apply_move(const struct rule_set *set, struct ir_module *m, struct move move)
{
	struct rule_match match;
	struct rule_built b;

	if (move.op == EVERYWHERE)
		return apply_everywhere(set, m, move.rule);
	struct ir_op *op = op_of(m, move.op);
	if (!op || !rule_match_one(set->index, m, op, move.rule, &match) ||
		!rule_build(m, &match, &b))
		return false;
	rule_commit(&b);
	return true;
}

/* A clone of the step with the moves of a candidate applied. */
static struct ir_module *
step_of(const struct searcher *x, const struct candidate *c)
{
	struct ir_module *m = ir_module_clone(NULL, x->m);

	for (int i = 0; i < c->ndone; i++)
		apply_move(x->s->set, m, c->done[i].move);
	return m;
}

/* As above with one more move; the ops of that move have ids from *first on. NULL: it does not
 * fit. */
static struct ir_module *
changed_step(const struct searcher *x, const struct candidate *c, struct move more, uint32_t *first)
{
	struct ir_module *m = step_of(x, c);

	*first = m->op_ids;
	if (apply_move(x->s->set, m, more))
		return m;
	talloc_free(m);
	return NULL;
}

static uint64_t
likeness(const struct ir_op *op, int rule)
{
	uint64_t h = mix64((uint64_t)rule << 32 | op->code);

	for (int i = 0; i < op->noperands; i++)
		h = mix64(h ^ (uintptr_t)ir_operand(op, i)->type);
	for (int i = 0; i < op->nresults; i++)
		h = mix64(h ^ (uintptr_t)op->result[i].type);
	return h | 1;
}

/* Lists rules that match at an op and can be built there. */
static void
list_at(const struct searcher *x, struct ir_module *m, struct ir_op *op, const void *owner,
	struct moves *to)
{
	struct rule_next next = {0};
	struct rule_match match;
	struct rule_built b;

	while (op->nresults && rule_match_next(x->s->set->index, m, op, &next, &match)) {
		if (!rule_build(m, &match, &b))
			continue;
		rule_undo(&b);
		VEC_PUSH(owner, to,
			(struct move){match.pattern->number, op->id,
				likeness(op, match.pattern->number)});
	}
}

/* All moves of the step; moves that apply a rule everywhere come first. */
static void
list_all(const struct searcher *x, const void *owner, struct moves *to)
{
	struct ir_module *m = ir_module_clone(NULL, x->m);
	struct moves single = {0};
	int *places = ZERO_ARRAY(m, int, x->s->set->n + 1);

	IR_FOR_OPS (op, main_of(m))
		if (op->id < x->m->op_ids)
			list_at(x, m, op, m, &single);
	for (int64_t i = 0; i < single.n; i++)
		if (++places[single.at[i].rule] == 2)
			VEC_PUSH(owner, to, (struct move){single.at[i].rule, EVERYWHERE, 0});
	for (int64_t i = 0; i < single.n; i++)
		VEC_PUSH(owner, to, single.at[i]);
	talloc_free(m);
}

struct near VEC(struct ir_op *);

static void
add_near(const void *owner, struct near *near, bool *listed, struct ir_op *op)
{
	if (listed[op->id])
		return;
	listed[op->id] = true;
	VEC_PUSH(owner, near, op);
}

/* Lists moves at ops with ids from `first` on, at their readers up to the depth of a rule, and at
 * ops that read the same values. */
static void
list_near(const struct searcher *x, struct ir_module *m, uint32_t first, const void *owner,
	struct moves *to)
{
	void *scratch = alloc_scratch(NULL);
	const uint32_t nids = m->op_ids;
	bool *listed = ZERO_ARRAY(scratch, bool, nids + 1);
	struct near near = {0};
	int64_t begin = 0;

	IR_FOR_OPS (op, main_of(m))
		if (op->id >= first)
			add_near(scratch, &near, listed, op);
	for (int64_t i = 0, n = near.n; i < n; i++)
		for (int k = 0; k < near.at[i]->noperands; k++) {
			int left = RULE_MAX_USES;
			IR_FOR_USES (u, ir_operand(near.at[i], k))
				if (left-- > 0)
					add_near(scratch, &near, listed, u->op);
		}
	for (int level = 0; level < x->depth; level++) {
		const int64_t end = near.n;
		for (int64_t i = begin; i < end; i++) {
			int left = RULE_MAX_USES;
			struct ir_op *op = near.at[i];
			for (int k = 0; k < op->nresults; k++)
				IR_FOR_USES (u, &op->result[k])
					if (left-- > 0)
						add_near(scratch, &near, listed, u->op);
		}
		begin = end;
	}
	for (int64_t i = 0; i < near.n; i++)
		list_at(x, m, near.at[i], owner, to);
	talloc_free(scratch);
}

/* --- candidates ------------------------------------------------------------------------------- */

static bool
is_new(struct searcher *x, const struct ir_module *m)
{
	struct seen now;

	ir_digest(m, now.digest);
	for (int64_t i = 0; i < x->seen.n; i++)
		if (strcmp(x->seen.at[i].digest, now.digest) == 0)
			return false;
	VEC_PUSH(x->s->run->scratch, &x->seen, now);
	return true;
}

static bool
may_go_on(const struct searcher *x)
{
	return x->evaluations < x->s->evaluations && !(x->ends > 0 && clock_seconds() >= x->ends);
}

static bool
is_better(const struct candidate *a, const struct candidate *b)
{
	return a->cost != b->cost ? a->cost < b->cost : a->number < b->number;
}

static struct candidate *
take_best(struct searcher *x)
{
	int64_t best = 0;

	for (int64_t i = 1; i < x->queue.n; i++)
		if (is_better(x->queue.at[i], x->queue.at[best]))
			best = i;
	struct candidate *c = x->queue.at[best];
	x->queue.at[best] = VEC_POP(&x->queue);
	return c;
}

static void
push(struct searcher *x, struct candidate *c)
{
	int64_t worst = 0;

	VEC_PUSH(x->s->run->scratch, &x->queue, c);
	if (x->queue.n <= MOST_CANDIDATES)
		return;
	for (int64_t i = 1; i < x->queue.n; i++)
		if (is_better(x->queue.at[worst], x->queue.at[i]))
			worst = i;
	x->queue.at[worst] = VEC_POP(&x->queue);
}

/* A candidate that was good enough, and its move. */
struct next {
	struct candidate *c;
	int64_t at; /* index of the move among the moves of the parent */
};

/* The cost of the changed step, with diagnostics muted; negative: it is not a candidate. */
static double
cost_of(const struct searcher *x, double (*cost)(void *data, struct ir_module *m),
	struct ir_module *m)
{
	const bool before = diag_mute(m->ctx->diag, true);
	const double seconds = cost(x->s->data, m);

	diag_mute(m->ctx->diag, before);
	return seconds;
}

static double
evaluate(struct searcher *x, struct ir_module *m)
{
	x->evaluations++;
	return cost_of(x, x->s->cost, m);
}

/* Tries a move from a candidate; NULL: the result is not good enough to continue from. */
static struct candidate *
try_move(struct searcher *x, const struct candidate *from, struct move move)
{
	uint32_t first;
	struct ir_module *m = changed_step(x, from, move, &first);
	const double cost = m && is_new(x, m) ? evaluate(x, m) : -1;

	talloc_free(m);
	if (cost < 0 || cost > x->s->alpha * x->best->cost)
		return NULL;
	struct candidate *c = NEW(x->s->run->scratch, struct candidate);
	*c = (struct candidate){.cost = cost, .number = x->number++, .ndone = from->ndone + 1};
	c->done = NEW_ARRAY(c, struct tried, c->ndone);
	for (int i = 0; i < from->ndone; i++)
		c->done[i] = from->done[i];
	c->done[from->ndone] = (struct tried){move, cost};
	m = changed_step(x, from, move, &first); /* evaluating has changed the other one */
	list_near(x, m, first, c, &c->open);
	talloc_free(m);
	return c;
}

static bool
has_move(const struct moves *moves, struct move move)
{
	for (int64_t i = 0; i < moves->n; i++)
		if (moves->at[i].rule == move.rule && moves->at[i].op == move.op)
			return true;
	return false;
}

/* Does the candidate have moves that the one that it was made of has not? */
static bool
opens_moves(const struct candidate *c, const struct candidate *from)
{
	for (int64_t i = 0; i < c->open.n; i++)
		if (!has_move(&from->open, c->open.at[i]))
			return true;
	return false;
}

static struct alike *
alike_of(void *owner, struct alikes *all, struct move move, double cost)
{
	for (int64_t i = 0; i < all->n; i++)
		if (all->at[i].rule == move.rule && all->at[i].like == move.like)
			return &all->at[i];
	VEC_PUSH(owner, all, (struct alike){move.rule, move.like, cost, 0});
	return &all->at[all->n - 1];
}

/* Have enough moves like that one, or the rule everywhere, not led further? */
static bool
is_hopeless(const struct alikes *all, struct move move)
{
	int failures = 0;

	for (int64_t i = 0; move.like && i < all->n; i++)
		if (all->at[i].rule == move.rule &&
			(!all->at[i].like || all->at[i].like == move.like))
			failures += all->at[i].failures;
	return failures >= ALIKE_FAILURES;
}

/* Notes the cost after a move, negative if it is too high; returns whether alike ones were not as good. */
static bool
note_alike(struct searcher *x, struct alikes *alikes, const struct candidate *from,
	struct move move, double cost)
{
	void *owner = x->s->run->scratch;
	struct alike *alike = alike_of(owner, alikes, move, from->cost);
	const bool better = cost >= 0 && cost < alike->best;

	if (better)
		alike->best = cost;
	else
		alike->failures++;
	if (cost == from->cost) /* without effect everywhere, it has none at one op */
		alike_of(owner, &x->vain, move, cost)->failures += move.like ? 1 : ALIKE_FAILURES;
	return better;
}

static void
go_on(struct searcher *x, const struct candidate *from)
{
	struct VEC(struct next) good = {0};
	struct alikes alikes = {0};

	for (int64_t i = 0; i < from->open.n && may_go_on(x); i++) {
		const struct move move = from->open.at[i];
		if (is_hopeless(&alikes, move) || is_hopeless(&x->vain, move))
			continue;
		struct candidate *c = try_move(x, from, move);
		const bool better = note_alike(x, &alikes, from, move, c ? c->cost : -1);
		if (!c || (!better && !opens_moves(c, from)))
			continue;
		VEC_PUSH(x->s->run->scratch, &good, (struct next){c, i});
		if (is_better(c, x->best))
			x->best = c;
	}
	for (int64_t k = 0; k < good.n; k++) {
		struct candidate *c = good.at[k].c;
		for (int64_t j = k + 1; j < good.n; j++)
			if (!has_move(&c->open, from->open.at[good.at[j].at]))
				VEC_PUSH(c, &c->open, from->open.at[good.at[j].at]);
		push(x, c);
	}
}

/* --- the result ------------------------------------------------------------------------------- */

static void
tell(const struct searcher *x, double before)
{
	const double ms = 1e3;

	pass_remark(x->s->run, NULL, x->best->ndone ? PASS_APPLIED : PASS_MISSED,
		"rules: the step takes %.6g ms, %.6g ms before; %llu evaluations",
		x->best->cost * ms, before * ms, (unsigned long long)x->evaluations);
}

static double
final_cost(const struct searcher *x, const struct candidate *c)
{
	struct ir_module *m = step_of(x, c);
	const double cost = cost_of(x, x->s->final, m);

	talloc_free(m);
	return cost;
}

/* Is the best candidate better than the first by s->final? */
static bool
pays_finally(const struct searcher *x, const struct candidate *first)
{
	const double ms = 1e3;

	if (!x->s->final || x->best == first)
		return true;
	const double before = final_cost(x, first), after = final_cost(x, x->best);
	if (after >= 0 && (before < 0 || after < before))
		return true;
	pass_remark(x->s->run, NULL, PASS_MISSED,
		"rules: undone; after the passes that follow, the step takes %.6g ms with them and %.6g ms without",
		after * ms, before * ms);
	return false;
}

static void
make_best(const struct searcher *x, struct ir_module *m, double before)
{
	const struct rule_set *set = x->s->set;
	char text[NUMBER_TEXT];

	for (int i = 0; i < x->best->ndone; i++) {
		const struct tried *t = &x->best->done[i];
		const struct ir_op *at = t->move.op == EVERYWHERE ? NULL : op_of(m, t->move.op);
		const double gain = before - t->cost;
		pass_remark(x->s->run, at, PASS_APPLIED, "rule %s%s: %s %s",
			rule_index_pattern(set->index, t->move.rule)->rule->name,
			at ? "" : " wherever it matches", gain < 0 ? "costs" : "saves",
			number_seconds(text, gain < 0 ? -gain : gain));
		pass_count(x->s->run, "rule(s) applied", 1);
		before = t->cost;
		apply_move(set, m, t->move);
	}
}

void
rule_search_run(const struct rule_search *s, struct ir_module *m)
{
	struct searcher x = {.s = s, .m = m};
	struct candidate *first = NEW(s->run->scratch, struct candidate);
	struct ir_module *copy;

	ir_module_renumber(m);
	if (pass_time_limit(s->run) > 0)
		x.ends = clock_seconds() + pass_time_limit(s->run);
	x.depth = rule_index_depth(s->set->index);
	copy = ir_module_clone(NULL, m);
	is_new(&x, copy);
	first->cost = evaluate(&x, copy);
	talloc_free(copy);
	if (first->cost < 0)
		return;
	list_all(&x, first, &first->open);
	x.best = first;
	push(&x, first);
	while (x.queue.n && may_go_on(&x)) {
		const struct candidate *c = take_best(&x);
		if (c->cost <= s->alpha * x.best->cost)
			go_on(&x, c);
	}
	tell(&x, first->cost);
	if (!pays_finally(&x, first))
		return;
	make_best(&x, m, first->cost);
}
