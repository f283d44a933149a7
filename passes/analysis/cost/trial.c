/* Trials of how a pass may use memory: see trial.h. */
#include "passes/analysis/cost/trial.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/memory/storage.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/cost/memory.h"

#include <stdlib.h>
#include <talloc.h>

enum {
	/* Maximum number of amounts that are tried, out of many evenly spaced ones. */
	GRID = 64,
	/* Of these, the amounts below `least`, each four times nearer to it than the previous one:
	 * a pass that may fill memory up to the live bytes at the peak causes gaps there. */
	BELOW = 5,
	/* Steps of at most this many ops are tried with all amounts: a tenth of a second. */
	TRIAL_EXHAUSTIVE_OPS = 2000,
	/* If the pass predicts the live bytes: each trial corrects the prediction. */
	EXPECTED_TRIALS = 8,
	/* Less memory to try is this fraction of the positions. */
	LESS = 4,
};

/* In larger steps, no improvement is sought once the step is within this share of the time with all
 * memory, or less than this share of the limit is left: predictions are not that exact. */
static const double little = 1e-3;

struct candidate {
	int at; /* its position in the grid */
	uint64_t allowed;
	uint64_t needs; /* as memory_needs; 0: not known */
	struct trial_result r;
	/* Of the last candidate and the fastest so far that may fit, as their peaks will probably
	 * be needed; else NULL. Usable only for offsets: its ops no longer exist. */
	struct storage *storage;
};

struct fitter {
	const struct trial *t;
	uint64_t limit;
	uint64_t gaps; /* between buffers, in a large step: expected in addition to the live
			  bytes */
	struct trial_result all; /* with TRIAL_ALL */
	struct candidate candidate[GRID + 1];
	int n;
	int fastest;          /* 1 + the candidate; 0: none */
	int places;           /* of the grid: 0 means nothing allowed, this means all */
	int number[GRID + 1]; /* of a small step: 1 + the candidate at a position; 0: none */
};

/* The base, but for what a replay of it says. */
static void
begin(struct trial_base *b)
{
	void *scratch = b->run->scratch;

	b->known = storage_known_create(scratch,
		b->step ? b->step->alike
			: storage_alike(scratch, b->m, &ir_func_find(b->m, "main")->body,
				  cost_model_storage(b->run->cost), NULL),
		NULL, cost_codes(b->run->cost));
	b->storage = NEW(scratch, struct storage *);
	b->saved = ir_saved_create(scratch, b->m);
}

bool
trial_begin(struct trial_base *b, const struct pass_run *run, struct ir_module *m)
{
	ir_module_renumber(m);
	*b = (struct trial_base){.run = run, .m = m};
	b->step = run->cost ? cost_step_create(run->scratch, run->cost, m) : NULL;
	if (run->cost && !b->step)
		return false;
	b->seconds = b->step ? replay_seconds(b->step->r.makespan) : 0;
	begin(b);
	return true;
}

void
trial_begin_memory(struct trial_base *b, const struct pass_run *run, struct ir_module *m)
{
	ir_module_renumber(m);
	*b = (struct trial_base){.run = run, .m = m};
	begin(b);
}

struct storage *
trial_before(const struct trial_base *b)
{
	if (!*b->storage)
		*b->storage = storage_create_unplaced(b->run->scratch, b->m,
			ir_func_find(b->m, "main"), cost_model_storage(b->run->cost), b->known);
	return *b->storage;
}

uint64_t
trial_live_before(const struct trial_base *b)
{
	return storage_in_use(trial_before(b));
}

struct storage_known *
trial_known(const void *owner, const struct trial_base *b, const struct ir_module *m)
{
	const struct ir_block *main = &ir_func_find(m, "main")->body;

	return storage_known_create(owner, alike_create_like(owner, m, main, b->known->alike),
		b->known, b->known->codes);
}

uint64_t
trial_peak(const struct pass_run *run, const struct ir_module *m)
{
	return memory_peak(m, cost_model_storage(run->cost), 0);
}

void
trial_apply(const struct trial *t, uint64_t allowed)
{
	ir_saved_change(t->base->saved);
	t->apply(t->data, t->base->m, allowed);
}

/*
 * The storage has no owner; NULL if the step is not faster than `beat` (0: any). False: reported.
 */
static bool
measure(const struct trial_base *b, const struct ir_module *m, double beat, struct trial_result *r,
	struct storage **storage)
{
	void *scratch = alloc_scratch(NULL);
	struct cost_step *step = b->step ? cost_step_create_like(scratch, b->step, m) : NULL;
	const bool good = step || !b->step;

	r->seconds = step ? replay_seconds(step->r.makespan) : 0;
	*storage = NULL;
	if (good && !(beat > 0 && r->seconds >= beat)) {
		struct storage_known *known = step && step->like
						      ? storage_known_create(scratch, step->alike,
								b->known, b->known->codes)
						      : trial_known(scratch, b, m);
		*storage = storage_create_unplaced(
			NULL, m, ir_func_find(m, "main"), cost_model_storage(b->run->cost), known);
		storage_known_learn(b->known, known);
	}
	r->live = *storage ? storage_in_use(*storage) : 0;
	talloc_free(scratch);
	return good;
}

bool
trial_measure(const struct trial_base *b, const struct ir_module *m, struct trial_result *r)
{
	struct storage *s;
	const bool good = measure(b, m, 0, r, &s);

	talloc_free(s);
	return good;
}

static uint64_t
amount(const struct fitter *f, int at)
{
	const struct trial *t = f->t;

	if (at == 0 || at == f->places)
		return at ? TRIAL_ALL : 0;
	if (t->amount)
		return t->amount[(uint64_t)at * (t->namounts + 1) / (uint64_t)f->places - 1];
	const uint64_t least = t->least ? t->least : trial_live_before(t->base);
	if (at <= BELOW)
		return least - (least >> 2 * at);
	return f->all.live > least ? least + (uint64_t)((double)(f->all.live - least) /
							(f->places - BELOW) * (at - BELOW - 1))
				   : least;
}

static bool
is_worth(const struct fitter *f, const struct candidate *c)
{
	return (c->needs ? c->needs : c->r.live + f->gaps) <= f->limit &&
	       !(f->t->all_first && c->r.seconds < f->all.seconds) &&
	       (!(f->t->beat > 0) || c->r.seconds < f->t->beat);
}

static bool
same_step(const struct candidate *a, const struct candidate *b)
{
	return a->r.seconds == b->r.seconds && a->r.live == b->r.live;
}

/* Is it worth placing? A step equal to one that did not fit will hardly fit either, unless it is
 * allowed much less: then it may leave smaller gaps. */
static bool
may_fit(const struct fitter *f, const struct candidate *c)
{
	for (int i = 0; i < f->n && !c->needs && c->r.seconds > 0; i++)
		if (f->candidate[i].needs > f->limit && 2 * c->at >= f->candidate[i].at &&
			same_step(&f->candidate[i], c))
			return false;
	return is_worth(f, c);
}

static void
drop(struct candidate *c)
{
	talloc_free(c->storage);
	c->storage = NULL;
}

/* Live bytes are not computed if the step is not faster than `beat` (0: any). The step stays
 * changed. False: reported. */
static bool
change(struct fitter *f, int at, double beat)
{
	const struct trial_base *base = f->t->base;
	struct candidate *c = &f->candidate[f->n++],
			 *fastest = f->fastest ? &f->candidate[f->fastest - 1] : NULL;

	if (f->n > 1 && c - 1 != fastest)
		drop(c - 1);
	*c = (struct candidate){.at = at, .allowed = amount(f, at)};
	if (f->places <= GRID)
		f->number[at] = f->n;
	trial_apply(f->t, c->allowed);
	if (!measure(base, base->m, beat, &c->r, &c->storage))
		return false;
	if (!c->storage || !is_worth(f, c)) {
		drop(c);
	} else if (!fastest || c->r.seconds < fastest->r.seconds) {
		if (fastest)
			drop(fastest);
		f->fastest = f->n;
	}
	return true;
}

static bool
try(struct fitter *f, int at, double beat)
{
	const bool good = change(f, at, beat);

	ir_saved_restore(f->t->base->saved);
	return good;
}

struct storage *
trial_storage(const struct trial *t, uint64_t allowed)
{
	void *scratch = alloc_scratch(NULL);
	const struct trial_base *b = t->base;

	trial_apply(t, allowed);
	struct storage *s = storage_create_unplaced(NULL, b->m, ir_func_find(b->m, "main"),
		cost_model_storage(b->run->cost), trial_known(scratch, b, b->m));
	ir_saved_restore(b->saved);
	talloc_free(scratch);
	return s;
}

static bool
fits(struct fitter *f, struct candidate *c)
{
	if (!c->needs && !c->storage)
		c->storage = trial_storage(f->t, c->allowed);
	if (!c->needs)
		c->needs = memory_needs(c->storage, f->limit);
	return c->needs <= f->limit;
}

/* The same by sweeps alone: false if that is not enough to know. */
static bool
fits_swept(struct fitter *f, struct candidate *c)
{
	const uint64_t outside = c->storage ? c->storage->outside_arena : 0;

	if (!c->storage || f->limit < outside ||
		!storage_fits_swept(c->storage, f->limit - outside))
		return false;
	c->needs = storage_allocated(c->storage);
	return true;
}

/* The same, but a step that sweeps place a little above the limit does not fit: a little less memory
 * is as good, and full placement takes longer than a trial. */
static bool
fits_nearly(struct fitter *f, struct candidate *c)
{
	if (fits_swept(f, c))
		return true;
	const uint64_t swept = c->storage ? storage_allocated(c->storage) : 0;
	if (swept <= f->limit || (double)(swept - f->limit) > little * (double)f->limit)
		return fits(f, c);
	c->needs = swept;
	return false;
}

/* Between two amounts that give different steps, by bisection. False: reported. */
static bool
try_between(struct fitter *f, int low, int high)
{
	const int middle = (low + high) / 2;

	if (high - low < 2 ||
		same_step(&f->candidate[f->number[low] - 1], &f->candidate[f->number[high] - 1]))
		return true;
	return try(f, middle, 0) && try_between(f, low, middle) && try_between(f, middle, high);
}

/* The last position of the grid, between two, that allows at most `allowed` bytes. */
static int
place_between(const struct fitter *f, int low, int high, int64_t allowed)
{
	int at = low + 1;

	while (at + 1 < high && (int64_t)amount(f, at + 1) <= allowed)
		at++;
	return at;
}

/* Do the two positions allow nearly the same? */
static bool
is_close(const struct fitter *f, int low, int high)
{
	return high < f->places &&
	       (double)(amount(f, high) - amount(f, low)) < little * (double)f->limit;
}

/* Bytes by which the step, with gaps between buffers if they are known, exceeds the limit. */
static int64_t
off_limit(const struct fitter *f, const struct candidate *c)
{
	return (int64_t)(c->needs ? c->needs : c->r.live + f->gaps) - (int64_t)f->limit;
}

/* The candidate at the last position before `high` that may fit; NULL: none. */
static struct candidate *
last_before(struct fitter *f, int high)
{
	struct candidate *last = NULL;

	for (int i = 0; i < f->n; i++) {
		struct candidate *c = &f->candidate[i];
		if (c->at < high && may_fit(f, c) && (!last || c->at > last->at))
			last = c;
	}
	return last;
}

/* The bytes to allow so that the step is within the limit, if all that is allowed is live. */
static int64_t
guess_of(const struct fitter *f)
{
	const struct trial *t = f->t;
	const int64_t room = (int64_t)f->limit - (int64_t)f->gaps;

	return t->amount && t->namounts
		       ? room + (int64_t)t->amount[t->namounts - 1] - (int64_t)f->all.live
		       : room;
}

/* The first position, after that with nothing allowed, whose step does not fit. */
static int
first_unfit(const struct fitter *f)
{
	int first = f->places;

	for (int i = 0; i < f->n; i++)
		if (f->candidate[i].at && f->candidate[i].at < first &&
			!may_fit(f, &f->candidate[i]))
			first = f->candidate[i].at;
	return first;
}

/* Has the step with nothing allowed been tried? */
static bool
tried_none(const struct fitter *f)
{
	for (int i = 0; i < f->n; i++)
		if (f->candidate[i].at == 0)
			return true;
	return false;
}

/*
 * Finds the last position whose step may fit: bytes that are allowed in addition are live in
 * addition, or nearly so, and each trial corrects the guess. Bisection is next if that led neither
 * to half of the positions nor twice as close to the limit. If less brings it no closer, nothing
 * allowed is next, and the last one if that is too much. Ends early if little can be gained. False:
 * reported.
 */
static bool
narrow_to(struct fitter *f, int low, int high, int64_t guess, bool trusted)
{
	const double enough = f->all.seconds * (1 + little);
	int64_t off = INT64_MAX;

	while (high - low > 1 && f->n < GRID && !is_close(f, low, high)) {
		const int left = high - low,
			  at = trusted ? place_between(f, low, high, guess) : (low + high) / 2;
		if (!try(f, at, 0))
			return false;
		const struct candidate *c = &f->candidate[f->n - 1];
		const int64_t was = off, allowed = (int64_t)c->allowed;
		*(may_fit(f, c) ? &low : &high) = at;
		off = off_limit(f, c);
		if (off > 0 && off == was && !tried_none(f)) {
			if (!try(f, 0, 0))
				return false;
			if (!is_worth(f, &f->candidate[f->n - 1]))
				return true;
		}
		trusted = 2 * (high - low) <= left || 2 * llabs(off) <= llabs(was);
		guess = allowed - off;
		if (low == at && enough > 0 && c->r.seconds <= enough)
			return true;
	}
	return true;
}

/*
 * Where gaps between buffers decide, less memory often gives a step that is as fast and leaves
 * smaller gaps: from the last position whose step may fit, a fraction of the memory is tried while
 * the step is almost as fast as with all of it, until sweeps show that it fits. If they never do,
 * the least of these is placed in full. *fitting is the one that fits, else NULL. False: reported.
 */
static bool
try_less(struct fitter *f, struct candidate **fitting)
{
	const double enough = f->all.seconds * (1 + little);
	struct candidate *least = NULL;
	uint64_t live = UINT64_MAX;
	int at = f->places / LESS;

	if (f->all.live > f->limit)
		at = place_between(f, 0, f->places, guess_of(f));
	for (; at > 0 && at < f->places && f->n < GRID && enough > 0; at /= LESS) {
		if (!try(f, at, 0))
			return false;
		struct candidate *c = &f->candidate[f->n - 1];
		if (c->r.seconds > enough || (!is_worth(f, c) && c->r.live >= live))
			break;
		live = c->r.live;
		least = is_worth(f, c) ? c : least;
		if (is_worth(f, c) && fits_swept(f, c))
			break;
	}
	*fitting = least && fits(f, least) ? least : NULL;
	return true;
}

/*
 * Offsets are computed for the last position only, and again if they leave more gaps than expected.
 * False: reported.
 */
static bool
narrow(struct fitter *f)
{
	int64_t guess = guess_of(f);
	bool trusted = true;

	/* Less memory brought it no closer. */
	if (f->n > 1 && f->candidate[f->n - 1].r.live == f->candidate[f->n - 2].r.live &&
		!last_before(f, f->places)) {
		if (!tried_none(f) && !try(f, 0, 0))
			return false;
		if (!last_before(f, f->places))
			return true;
	}
	while (f->n < GRID) {
		const int high = first_unfit(f);
		struct candidate *c = last_before(f, high);
		guess = c ? (int64_t)c->allowed - off_limit(f, c) : guess;
		if (!narrow_to(f, c ? c->at : 0, high, guess, trusted))
			return false;
		c = last_before(f, first_unfit(f));
		if (!c || fits(f, c))
			break;
		trusted = false;
	}
	return f->n == GRID || last_before(f, first_unfit(f)) || tried_none(f) || try(f, 0, 0);
}

/* The last position between two whose step is expected to be within the limit; `low`: none. */
static int
last_expected(const struct fitter *f, int low, int high, int64_t wrong)
{
	const int64_t most = (int64_t)f->limit - (int64_t)f->gaps - wrong;

	while (high - low > 1) {
		const int middle = low + (high - low) / 2;
		*((int64_t)f->t->expected[middle - 1] <= most ? &low : &high) = middle;
	}
	return low;
}

/* Finds the last position whose step fits if the pass predicts live bytes. False: reported. */
static bool
narrow_expected(struct fitter *f)
{
	int low = 0, high = f->places;
	int64_t wrong = 0;

	while (f->n < EXPECTED_TRIALS && !is_close(f, low, high)) {
		const int at = last_expected(f, low, high, wrong);
		if (at == low)
			break;
		if (!try(f, at, 0))
			return false;
		struct candidate *c = &f->candidate[f->n - 1];
		wrong = (int64_t)c->r.live - (int64_t)f->t->expected[at - 1];
		if (is_worth(f, c) && fits_nearly(f, c)) {
			low = at;
		} else {
			f->gaps = c->needs > c->r.live + f->gaps ? c->needs - c->r.live : f->gaps;
			high = at;
		}
	}
	return true;
}

/* Does the prediction say that the step does not fit with all memory? */
static bool
expects_less(const struct fitter *f)
{
	const struct trial *t = f->t;

	return t->expected && t->namounts && !t->all_first &&
	       t->expected[t->namounts - 1] > f->limit;
}

ORDER_BY(by_time, struct candidate, UP(r.seconds), DOWN(allowed))

/* The fastest candidate whose peak, with gaps, is within the limit; NULL: none. */
static const struct candidate *
choose(struct fitter *f)
{
	qsort(f->candidate, (size_t)f->n, sizeof *f->candidate, by_time);
	for (int i = 0; i < f->n; i++) {
		struct candidate *c = &f->candidate[i];
		if (may_fit(f, c) && fits(f, c))
			return c;
	}
	return NULL;
}

static bool
is_small(const struct trial_base *b)
{
	const struct storage_target *target = cost_model_storage(b->run->cost);
	int n = 0;

	if (target && target->rough)
		return false;
	IR_FOR_OPS (op, &ir_func_find(b->m, "main")->body)
		if (++n > TRIAL_EXHAUSTIVE_OPS)
			return false;
	return true;
}

/* A step that needs no more than before fits: checked only if the limit does not suffice. Its gaps
 * are those expected of trials of a large step. */
static void
raise_limit(struct fitter *f, bool all)
{
	if (!f->t->or_as_before)
		return;
	const struct trial_base *b = f->t->base;
	const uint64_t before = memory_needs(trial_before(b), f->limit);

	f->gaps = all ? 0 : before - trial_live_before(b);
	f->limit = before > f->limit ? before : f->limit;
}

/* The best one of a large step if that with all memory does not fit; false: reported. */
static bool
search_large(struct fitter *f, const struct candidate **best)
{
	struct candidate *less = NULL;

	raise_limit(f, false);
	if (!try_less(f, &less))
		return false;
	if ((*best = less))
		return true;
	if (!narrow(f))
		return false;
	*best = choose(f);
	return true;
}

/* Measures the candidates and finds the best one, NULL if there is none; false: reported. */
static bool
search(struct fitter *f, const struct candidate **best)
{
	const bool all = is_small(f->t->base);

	if (!all && expects_less(f)) {
		raise_limit(f, all);
		if (!narrow_expected(f))
			return false;
		*best = choose(f);
		return true;
	}
	const bool good = change(f, f->places, all ? 0 : f->t->beat);
	struct candidate *first = &f->candidate[0];
	f->all = first->r;
	if (good && !all && !f->t->all_first && f->all.live <= f->limit && is_worth(f, first) &&
		fits_swept(f, first))
		*best = first;
	if (*best && f->t->changed)
		*f->t->changed = true;
	else
		ir_saved_restore(f->t->base->saved);
	if (!good || *best)
		return good;
	/* Unless the pass says otherwise, a large step that is not fast enough with all memory is
	 * not with less. */
	if (!all && f->t->beat > 0 && f->all.seconds >= f->t->beat && !f->t->less_is_faster)
		return true;
	if (!all && !f->t->all_first)
		return search_large(f, best);
	if (f->t->all_first && f->all.live <= f->limit && (*best = choose(f)))
		return true;
	/* With all memory it does not fit, or only without gaps between buffers. */
	const uint64_t given = f->limit;
	raise_limit(f, all);
	if (f->t->all_first && f->limit > given && f->all.live <= f->limit && (*best = choose(f)))
		return true;
	if (!(all ? try(f, 0, 0) && try_between(f, 0, f->places) : narrow(f)))
		return false;
	*best = choose(f);
	return true;
}

bool
trial_fit(const struct trial *t, uint64_t limit, uint64_t *allowed, struct trial_result *r,
	bool *fits)
{
	struct fitter f = {.t = t, .limit = limit, .places = GRID};
	const struct candidate *best = NULL;

	if (t->changed)
		*t->changed = false;
	if (t->amount && (t->namounts + 1 < GRID || !is_small(t->base)))
		f.places = (int)t->namounts + 1;
	const bool good = search(&f, &best);
	for (int i = 0; i < f.n; i++)
		drop(&f.candidate[i]);
	if (!good)
		return false;
	*fits = best != NULL;
	*allowed = best ? best->allowed : 0;
	*r = best ? best->r : (struct trial_result){0};
	return true;
}
