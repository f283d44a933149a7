/* Schedules as text and their checks, compared with ranks that simply run them. */
#include "passes/pipeline/schedule.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

static void
ignore(void *data, const struct diag_message *m)
{
	char **first = data;

	if (first && !*first)
		*first = talloc_strdup(NULL, m->text);
}

static struct diag *
quiet(void *owner, char **first)
{
	struct diag *d = diag_create(owner);

	diag_set_handler(d, ignore, first);
	return d;
}

static struct schedule *
read_text(void *owner, const char *text)
{
	return schedule_read(owner, quiet(owner, NULL), "test.csv", text, strlen(text));
}

static char *
write_text(const struct schedule *s)
{
	char *text;
	size_t n;
	FILE *f = text_stream(&text, &n);

	schedule_write(f, s);
	text_stream_close(f);
	return text;
}

static void
texts_come_back(void **state)
{
	static const char *const texts[] = {
		"0F0,0B0\n", "0F0,,,0B0,\n,1F0,1B0\n",
		"0F0,2F0,(0F1;2B0)OVERLAP_F_B,2F1,2I1,0I0,2W1,0W0,0B1\n1F0\n",
		"0UNSHARD,0F0,0SEND_F0,0RECV_B0,0B0,0RESHARD,0REDUCE_GRAD\n1RECV_F0,1F0,1B0,1SEND_B0\n",
		"\n\n0F0\n", "0B0,0W0\n", /* the older names of I and W */
	};
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
		struct schedule *s = read_text(*state, texts[i]);
		assert_non_null(s);
		char *text = write_text(s);
		assert_string_equal(text, texts[i]);
		free(text);
	}
	struct schedule *s = read_text(*state, " 0F0 , 0B0\r\n1F0,\t(1B0)OVERLAP_F_B \r\n");
	char *text = write_text(s);
	assert_string_equal(text, "0F0,0B0\n1F0,(1B0)OVERLAP_F_B\n");
	free(text);
}

static void
bad_cells_are_refused(void **state)
{
	static const char *const texts[] = {"", "0F", "F0", "0Q0", "0F0 1", "0F0;0F1", "0UNSHARD0",
		"(0F0;1B0)", "(0F0;1B0OVERLAP_F_B", "(0F0;)OVERLAP_F_B", "()OVERLAP_F_B",
		"(0F0)OVERLAP_F_B1", "1048576F0", "0F99999999999999999999", "0f0", "-1F0", "0F-1"};

	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		assert_null(read_text(*state, texts[i]));
}

/* --- ranks that run a schedule without messages --- */

struct run {
	const struct schedule *s;
	bool *done; /* stage, step, and F, I, W */
};

static bool *
done(const struct run *r, int stage, int step, int what)
{
	return &r->done[(stage * r->s->nsteps + step) * 3 + what];
}

/* 1: ran, 0: has to wait, -1: wrong, whatever comes. */
static int
run_action(const struct run *r, const struct schedule_action *a)
{
	bool *own = done(r, a->stage, a->step, 0);

	switch (a->kind) {
	case SCHEDULE_FORWARD:
		if (own[0])
			return -1;
		if (a->stage && !*done(r, a->stage - 1, a->step, 0))
			return 0;
		own[0] = true;
		return 1;
	case SCHEDULE_INPUT:
	case SCHEDULE_BACKWARD:
		if (!own[0] || own[1])
			return -1;
		if (a->stage + 1 < r->s->nstages && !*done(r, a->stage + 1, a->step, 1))
			return 0;
		own[1] = true;
		own[2] = a->kind == SCHEDULE_BACKWARD;
		return 1;
	case SCHEDULE_WEIGHT:
		if (!own[1] || own[2])
			return -1;
		own[2] = true;
		return 1;
	default: return 1;
	}
}

/* Does it run to its end, with all that `nstages` and `nsteps` ask for? */
static bool
runs(const struct schedule *s)
{
	struct run r = {s, calloc((size_t)(s->nstages * s->nsteps * 3), 1)};
	int *at = calloc((size_t)s->nranks, sizeof *at);
	int moved = 1;
	bool good = true;

	while (moved > 0) {
		moved = 0;
		for (int rank = 0; rank < s->nranks && moved >= 0; rank++)
			while (at[rank] < s->rank[rank].n) {
				const int did = run_action(&r, &s->rank[rank].action[at[rank]]);
				if (did < 0)
					moved = -1;
				if (did <= 0)
					break;
				at[rank]++;
				moved++;
			}
	}
	for (int rank = 0; rank < s->nranks; rank++)
		good &= at[rank] == s->rank[rank].n && at[rank] > 0;
	for (int i = 0; i < s->nstages * s->nsteps * 3; i++)
		good &= r.done[i];
	free(at);
	free(r.done);
	return good && moved == 0;
}

/* --- random schedules --- */

struct draw {
	uint64_t seed;
	int nranks, nstages, nsteps;
	int rank_of[16];
};

static struct draw
draw_shape(uint64_t seed)
{
	struct draw d = {.seed = seed};

	d.nranks = 1 + (int)mix64_below(&d.seed, 4);
	d.nstages = d.nranks + (int)mix64_below(&d.seed, 4);
	d.nsteps = 1 + (int)mix64_below(&d.seed, 5);
	for (int i = 0; i < d.nstages; i++)
		d.rank_of[i] = i < d.nranks ? i : (int)mix64_below(&d.seed, (uint32_t)d.nranks);
	return d;
}

/* What is ready in any order: valid by construction. */
static struct schedule *
draw_schedule(void *owner, struct draw *d)
{
	struct schedule *s = schedule_create(owner, d->nranks);
	struct schedule all = {.nstages = d->nstages, .nsteps = d->nsteps};
	struct run r = {&all, calloc((size_t)(d->nstages * d->nsteps * 3), 1)};
	const bool split = mix64_below(&d->seed, 3) > 0;

	for (int left = d->nstages * d->nsteps * (split ? 3 : 2); left;) {
		static const uint8_t kinds[] = {SCHEDULE_FORWARD, SCHEDULE_INPUT, SCHEDULE_WEIGHT};
		struct schedule_action a = {
			.stage = (int)mix64_below(&d->seed, (uint32_t)d->nstages),
			.step = (int)mix64_below(&d->seed, (uint32_t)d->nsteps),
			.kind = kinds[mix64_below(&d->seed, split ? 3 : 2)]};
		if (!split && a.kind == SCHEDULE_INPUT)
			a.kind = SCHEDULE_BACKWARD;
		if (run_action(&r, &a) <= 0)
			continue;
		schedule_add(s, d->rank_of[a.stage], a.kind, a.stage, a.step);
		left--;
	}
	free(r.done);
	schedule_finish(s);
	return s;
}

static void
swap_cells(struct schedule *s, uint64_t *seed)
{
	struct schedule_rank *r = &s->rank[mix64_below(seed, (uint32_t)s->nranks)];
	struct schedule_action *a = &r->action[mix64_below(seed, (uint32_t)r->n)];
	struct schedule_action *b = &r->action[mix64_below(seed, (uint32_t)r->n)];
	const struct schedule_action kept = *a;

	*a = *b;
	*b = kept;
}

static void
drop_cell(struct schedule *s, uint64_t *seed)
{
	struct schedule_rank *r = &s->rank[mix64_below(seed, (uint32_t)s->nranks)];
	const int i = (int)mix64_below(seed, (uint32_t)r->n);

	memmove(&r->action[i], &r->action[i + 1], (size_t)(--r->n - i) * sizeof *r->action);
}

static void
verdicts_are_those_of_running(void **state)
{
	int valid = 0, broken = 0, deadlocks = 0;

	for (uint64_t seed = 0; seed < 4000; seed++) {
		void *scratch = talloc_new(*state);
		struct draw d = draw_shape(seed);
		struct schedule *s = draw_schedule(scratch, &d);
		char *first = NULL;
		const uint32_t n = mix64_below(&d.seed, 4);
		for (uint32_t i = 0; i < n; i++)
			swap_cells(s, &d.seed);
		if (mix64_below(&d.seed, 8) == 0)
			drop_cell(s, &d.seed);
		const bool verdict = schedule_verify(s, quiet(scratch, &first), SCHEDULE_QUEUED);
		assert_int_equal(verdict, runs(s));
		assert_int_equal(verdict, first == NULL);
		valid += verdict;
		broken += !verdict;
		deadlocks += first && strncmp(first, "deadlock", 8) == 0;
		talloc_free(first);
		talloc_free(scratch);
	}
	assert_true(valid > 1000 && broken > 1000 && deadlocks > 150);
}

/* --- the same with sends and receives --- */

struct message {
	bool sent, received, here; /* here: both, and its turn has come */
};

struct queue {
	struct message *of[200]; /* as this rank has them */
	int n, done;
};

struct traffic {
	struct run r;
	const int *rank_of;
	enum schedule_waits how;
	struct message *message; /* stage, step, and F or B, of the sender */
	struct queue queue[4][4];
};

static struct message *
message_of(struct traffic *t, const struct schedule_action *a, int *peer)
{
	const bool forward = a->kind == SCHEDULE_SEND_F || a->kind == SCHEDULE_RECV_F ||
			     a->kind == SCHEDULE_FORWARD;
	const bool send = a->kind == SCHEDULE_SEND_F || a->kind == SCHEDULE_SEND_B;
	const int from = send ? a->stage : a->stage + (forward ? -1 : 1);
	const int to = from + (forward ? 1 : -1);
	const int last = t->r.s->nstages - 1;

	if (from < 0 || to < 0 || from > last || to > last || t->rank_of[from] == t->rank_of[to])
		return NULL;
	*peer = t->rank_of[send ? to : from];
	return &t->message[(from * t->r.s->nsteps + a->step) * 2 + !forward];
}

static void
advance(struct traffic *t, int a, int b)
{
	struct queue *x = &t->queue[a][b], *y = &t->queue[b][a];

	while (x->done < x->n && y->done < y->n && x->of[x->done] == y->of[y->done]) {
		x->of[x->done]->here = true;
		x->done++;
		y->done++;
	}
}

static int
run_message(struct traffic *t, const struct schedule_action *a, int rank, const int *at)
{
	const bool send = a->kind == SCHEDULE_SEND_F || a->kind == SCHEDULE_SEND_B;
	int peer;
	struct message *m = message_of(t, a, &peer);

	if (!m || (send ? m->sent : m->received) ||
		(send && !*done(&t->r, a->stage, a->step, a->kind == SCHEDULE_SEND_B)))
		return -1;
	if (t->how == SCHEDULE_BLOCKING && !(send ? m->received : m->sent)) {
		/* The other side has not gone first: it must be the other rank's next action. */
		const struct schedule_rank *other = &t->r.s->rank[peer];
		const struct schedule_action *b = &other->action[at[peer]];
		int same;
		if (at[peer] == other->n || schedule_computes(b->kind) ||
			message_of(t, b, &same) != m)
			return 0;
	}
	*(send ? &m->sent : &m->received) = true;
	if (t->how == SCHEDULE_QUEUED) {
		struct queue *q = &t->queue[rank][peer];
		q->of[q->n++] = m;
		advance(t, rank, peer);
	} else {
		m->here = m->sent && m->received;
	}
	return 1;
}

static int
run_any(struct traffic *t, const struct schedule_action *a, int rank, const int *at)
{
	int peer;

	if (!schedule_computes(a->kind))
		return run_message(t, a, rank, at);
	const struct message *m = a->kind == SCHEDULE_WEIGHT ? NULL : message_of(t, a, &peer);
	if (m && !m->received)
		return -1;
	return m && !m->here ? 0 : run_action(&t->r, a);
}

/* The schedule runs to its end, and every message arrives. */
static bool
runs_with_messages(const struct schedule *s, const int *rank_of, enum schedule_waits how)
{
	const size_t n = (size_t)(s->nstages * s->nsteps);
	struct traffic *t = calloc(1, sizeof *t);
	int at[4] = {0};
	int moved = 1;

	t->r = (struct run){s, calloc(n * 3, 1)};
	t->message = calloc(n * 2, sizeof *t->message);
	t->rank_of = rank_of;
	t->how = how;
	while (moved > 0) {
		moved = 0;
		for (int rank = 0; rank < s->nranks && moved >= 0; rank++)
			while (at[rank] < s->rank[rank].n) {
				const int did =
					run_any(t, &s->rank[rank].action[at[rank]], rank, at);
				if (did < 0)
					moved = -1;
				if (did <= 0)
					break;
				at[rank]++;
				moved++;
			}
	}
	bool good = moved == 0;
	for (int rank = 0; rank < s->nranks; rank++)
		good &= at[rank] == s->rank[rank].n && at[rank] > 0;
	for (size_t i = 0; i < n * 3; i++)
		good &= t->r.done[i];
	for (size_t i = 0; i < n * 2; i++)
		good &= t->message[i].sent == t->message[i].here;
	free(t->message);
	free(t->r.done);
	free(t);
	return good;
}

static void
verdicts_of_messages_are_those_of_running(void **state)
{
	int valid[3] = {0}, deadlocks[3] = {0};

	for (uint64_t seed = 0; seed < 3000; seed++) {
		void *scratch = talloc_new(*state);
		struct draw d = draw_shape(seed);
		struct schedule *s = draw_schedule(scratch, &d);
		struct schedule *with = schedule_lower(scratch, s, quiet(scratch, NULL), seed % 2);
		const uint32_t n = mix64_below(&d.seed, 3);
		assert_non_null(with);
		for (uint32_t i = 0; i < n; i++)
			swap_cells(with, &d.seed);
		for (int how = SCHEDULE_QUEUED; how <= SCHEDULE_BLOCKING; how++) {
			char *first = NULL;
			const bool verdict = schedule_verify(
				with, quiet(scratch, &first), (enum schedule_waits)how);
			/* Of one rank nothing is sent: it is verified as a schedule without messages. */
			const bool run = schedule_has_messages(with)
						 ? runs_with_messages(with, d.rank_of,
							   (enum schedule_waits)how)
						 : runs(with);
			assert_int_equal(verdict, run);
			assert_true(n || verdict);
			valid[how] += verdict;
			deadlocks[how] += first && strncmp(first, "deadlock", 8) == 0;
			talloc_free(first);
		}
		talloc_free(scratch);
	}
	for (int how = 0; how < 3; how++)
		assert_true(valid[how] > 1000 && deadlocks[how] > 50);
	/* Each is stricter than the next: a queue than tags, and to wait than not to. */
	assert_true(valid[SCHEDULE_QUEUED] < valid[SCHEDULE_TAGGED]);
	assert_true(valid[SCHEDULE_BLOCKING] < valid[SCHEDULE_QUEUED]);
}

/* Where messages take no time, sends and receives change no time. */
static void
messages_keep_the_makespan(void **state)
{
	for (uint64_t seed = 0; seed < 300; seed++) {
		void *scratch = talloc_new(*state);
		struct diag *diag = quiet(scratch, NULL);
		struct draw d = draw_shape(seed);
		struct schedule *s = draw_schedule(scratch, &d);
		struct schedule_stage *stage = NEW_ARRAY(scratch, struct schedule_stage, d.nstages);
		for (int i = 0; i < d.nstages; i++)
			stage[i] = (struct schedule_stage){1 + mix64_below(&d.seed, 9),
				1 + mix64_below(&d.seed, 9), mix64_below(&d.seed, 9), 0, 1, 1};
		struct schedule *with = schedule_lower(scratch, s, diag, false);
		struct schedule *joined = schedule_lower(scratch, s, diag, true);
		struct schedule_cost *a = schedule_cost(scratch, s, diag, SCHEDULE_QUEUED, stage);
		struct schedule_cost *b =
			schedule_cost(scratch, with, diag, SCHEDULE_TAGGED, stage);
		struct schedule_cost *c =
			schedule_cost(scratch, joined, diag, SCHEDULE_TAGGED, stage);
		assert_true(a->makespan == b->makespan);
		assert_true(a->peak == b->peak);
		/* Joining I and W to B lets the stage before wait for W, too. */
		assert_true(c->makespan >= a->makespan);
		assert_true(c->peak == a->peak);
		talloc_free(scratch);
	}
}

/* --- in lockstep --- */

/* Runs cell after cell; what an action waits for was done before its cell. */
static bool
runs_in_lockstep(const struct schedule *s)
{
	struct run r = {s, calloc((size_t)(s->nstages * s->nsteps * 3), 1)};
	struct run before = {s, calloc((size_t)(s->nstages * s->nsteps * 3), 1)};
	bool good = runs(s);
	int longest = 0;

	for (int rank = 0; rank < s->nranks; rank++)
		if (s->rank[rank].n > longest)
			longest = s->rank[rank].n;
	for (int cell = 0; cell < longest && good; cell++) {
		memcpy(before.done, r.done, (size_t)(s->nstages * s->nsteps * 3));
		for (int rank = 0; rank < s->nranks; rank++)
			if (cell < s->rank[rank].n)
				good &= run_action(&before, &s->rank[rank].action[cell]) == 1;
		/* Not seen by other ranks in this cell: done one by one on a copy, then all at once. */
		for (int rank = 0; rank < s->nranks; rank++)
			if (cell < s->rank[rank].n) {
				struct run alone = {
					s, calloc((size_t)(s->nstages * s->nsteps * 3), 1)};
				memcpy(alone.done, r.done, (size_t)(s->nstages * s->nsteps * 3));
				good &= run_action(&alone, &s->rank[rank].action[cell]) == 1;
				free(alone.done);
			}
		memcpy(r.done, before.done, (size_t)(s->nstages * s->nsteps * 3));
	}
	free(r.done);
	free(before.done);
	return good;
}

static void
lockstep_is_what_running_says(void **state)
{
	int valid = 0, broken = 0;

	for (uint64_t seed = 0; seed < 1500; seed++) {
		void *scratch = talloc_new(*state);
		struct diag *diag = quiet(scratch, NULL);
		struct draw d = draw_shape(seed);
		struct schedule *s = draw_schedule(scratch, &d);
		struct schedule *aligned = schedule_align(scratch, s, diag);
		assert_non_null(aligned);
		assert_true(schedule_verify(aligned, diag, SCHEDULE_LOCKSTEP));
		assert_true(runs_in_lockstep(aligned));
		/* It has as many cells as the longest way takes with all times 1. */
		struct schedule_stage *one = NEW_ARRAY(scratch, struct schedule_stage, d.nstages);
		for (int i = 0; i < d.nstages; i++)
			one[i] = (struct schedule_stage){1, 1, 1, 0, 1, 1};
		bool whole = false;
		for (int r = 0; r < s->nranks; r++)
			for (int i = 0; i < s->rank[r].n; i++)
				whole |= s->rank[r].action[i].kind == SCHEDULE_BACKWARD;
		int cells = 0;
		for (int r = 0; r < aligned->nranks; r++)
			if (aligned->rank[r].n > cells)
				cells = aligned->rank[r].n;
		if (!whole)
			assert_true(
				cells ==
				schedule_cost(scratch, s, diag, SCHEDULE_TAGGED, one)->makespan);
		if (mix64_below(&d.seed, 2))
			swap_cells(aligned, &d.seed);
		for (int r = 0; r < aligned->nranks; r++)
			for (int i = 0; i < aligned->rank[r].n; i++)
				aligned->rank[r].action[i].cell = i;
		const bool verdict = schedule_verify(aligned, diag, SCHEDULE_LOCKSTEP);
		assert_int_equal(verdict, runs_in_lockstep(aligned));
		valid += verdict;
		broken += !verdict;
		talloc_free(scratch);
	}
	assert_true(valid > 500 && broken > 300);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(texts_come_back, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(bad_cells_are_refused, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			verdicts_are_those_of_running, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			verdicts_of_messages_are_those_of_running, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			messages_keep_the_makespan, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			lockstep_is_what_running_says, make_scratch, free_scratch),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
