/* Trials of what a pass may do with memory: see trial.h. */
#include "passes/analysis/cost/trial.h"

#include "ir/base/alloc.h"
#include "passes/analysis/cost/internal.h"
#include "passes/analysis/cost/memory.h"

#include <stdlib.h>
#include <talloc.h>

enum {
	/* Amounts that are tried at most, of many evenly spread ones. */
	GRID = 64,
	/* Steps of at most so many ops are tried with all amounts: a tenth of a second. */
	TRIAL_EXHAUSTIVE_OPS = 2000,
};

struct candidate {
	uint64_t allowed;
	struct trial_result r;
};

struct fitter {
	const struct trial *t;
	uint64_t limit, all; /* all: live at once where all is allowed */
	struct candidate candidate[GRID + 1];
	int n;
	int places;           /* of the grid: 0 stands for nothing, this for all */
	int number[GRID + 1]; /* 1 + the candidate at a place of the grid; 0: none */
	struct ir_module *kept; /* the fastest copy so far that may fit, or NULL */
	uint64_t kept_allowed;
	double kept_seconds;
};

uint64_t
trial_peak(const struct pass_run *run, const struct ir_module *m)
{
	struct memory_report r;

	memory_evaluate(m, ir_func_find(m, "main"), cost_model_storage(run->cost), NULL, &r);
	return r.peak;
}

/* The copy that the pass makes; NULL: reported. */
static struct ir_module *
applied(const struct trial *t, uint64_t allowed)
{
	struct ir_module *copy = ir_module_clone(NULL, t->m);

	if (t->apply(t->data, copy, allowed))
		return copy;
	talloc_free(copy);
	return NULL;
}

bool
trial_step(const struct cost_model *model, const struct ir_module *m, struct trial_result *r)
{
	struct cost_step *step = model ? cost_step_create(NULL, model, m) : NULL;

	if (model && !step)
		return false;
	r->seconds = step ? replay_seconds(step->r.makespan) : 0;
	r->live = memory_live(
		m, ir_func_find(m, "main"), cost_model_storage(model), step ? step->alike : NULL);
	talloc_free(step);
	return true;
}

bool
trial_measure(const struct trial *t, uint64_t allowed, struct trial_result *r)
{
	struct ir_module *copy = applied(t, allowed);
	const bool good = copy && trial_step(t->run->cost, copy, r);

	talloc_free(copy);
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
	return f->all > t->least
		       ? t->least + (uint64_t)((double)(f->all - t->least) / f->places * at)
		       : t->least;
}

static bool
is_worth(const struct fitter *f, const struct candidate *c)
{
	return c->r.live <= f->limit && (!(f->t->beat > 0) || c->r.seconds < f->t->beat);
}

/* Keeps the copy where it is the fastest so far, as it is likely to be asked for its peak. */
static bool
try(struct fitter *f, int at)
{
	struct candidate *c = &f->candidate[f->n++];

	*c = (struct candidate){.allowed = amount(f, at)};
	f->number[at] = f->n;
	struct ir_module *copy = applied(f->t, c->allowed);
	bool good = copy && trial_step(f->t->run->cost, copy, &c->r);
	if (good && is_worth(f, c) && (!f->kept || c->r.seconds < f->kept_seconds)) {
		talloc_free(f->kept);
		f->kept = copy;
		f->kept_allowed = c->allowed;
		f->kept_seconds = c->r.seconds;
	} else {
		talloc_free(copy);
	}
	return good;
}

/* The peak of a candidate; false: reported. */
static bool
find_peak(struct fitter *f, const struct candidate *c, uint64_t *peak)
{
	const bool is_kept = f->kept && f->kept_allowed == c->allowed;
	struct ir_module *copy = is_kept ? f->kept : applied(f->t, c->allowed);

	if (copy)
		*peak = trial_peak(f->t->run, copy);
	if (!is_kept)
		talloc_free(copy);
	return copy != NULL;
}

static bool
same_step(const struct candidate *a, const struct candidate *b)
{
	return a->r.seconds == b->r.seconds && a->r.live == b->r.live;
}

/* Between two amounts that make different steps, by halves: only where the step may fit, if not all are to be tried. False: reported. */
static bool
try_between(struct fitter *f, int low, int high, bool all)
{
	const int middle = (low + high) / 2;

	if (high - low < 2 || same_step(&f->candidate[f->number[low] - 1],
				      &f->candidate[f->number[high] - 1]))
		return true;
	if (!try(f, middle))
		return false;
	const bool fits = f->candidate[f->n - 1].r.live <= f->limit;
	return (!(all || !fits) || try_between(f, low, middle, all)) &&
	       (!(all || fits) || try_between(f, middle, high, all));
}

static int
by_time(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;

	if (x->r.seconds != y->r.seconds)
		return x->r.seconds < y->r.seconds ? -1 : 1;
	return x->allowed > y->allowed ? -1 : x->allowed < y->allowed;
}

/* The fastest one whose peak, with gaps, is within the limit. False: reported. */
static bool
choose(struct fitter *f, const struct candidate **best)
{
	const struct candidate *before = NULL;

	qsort(f->candidate, (size_t)f->n, sizeof *f->candidate, by_time);
	for (int i = 0; i < f->n; before = &f->candidate[i++]) {
		const struct candidate *c = &f->candidate[i];
		uint64_t peak;
		if (!is_worth(f, c) || (before && c->r.seconds > 0 && same_step(c, before)))
			continue;
		if (!find_peak(f, c, &peak))
			return false;
		if (peak <= f->limit) {
			*best = c;
			return true;
		}
	}
	return true;
}

static bool
is_small(const struct ir_module *m)
{
	int n = 0;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		if (++n > TRIAL_EXHAUSTIVE_OPS)
			return false;
	return true;
}

/* Measures the candidates and finds the best one, NULL if there is none; false: reported. */
static bool
search(struct fitter *f, const struct candidate **best)
{
	const bool all = is_small(f->t->m);

	if (!try(f, f->places))
		return false;
	f->all = f->candidate[0].r.live;
	const bool roomy = f->all <= f->limit;
	/* A large step that is not fast enough with all memory will not be with less. */
	if (!all && f->t->beat > 0 && f->candidate[0].r.seconds >= f->t->beat)
		return true;
	if (!all && roomy && (!choose(f, best) || *best))
		return *best != NULL;
	/* With all it does not fit, or only without gaps between buffers. */
	return try(f, 0) && try_between(f, 0, f->places, all) && choose(f, best);
}

bool
trial_fit(const struct trial *t, uint64_t limit, uint64_t *allowed, struct trial_result *r,
	bool *fits)
{
	struct fitter f = {.t = t, .limit = limit, .places = GRID};
	const struct candidate *best = NULL;

	if (t->amount && t->namounts + 1 < GRID)
		f.places = (int)t->namounts + 1;
	const bool good = search(&f, &best);
	talloc_free(f.kept);
	if (!good)
		return false;
	*fits = best != NULL;
	*allowed = best ? best->allowed : 0;
	if (best)
		*r = best->r;
	return best || trial_measure(t, 0, r);
}
