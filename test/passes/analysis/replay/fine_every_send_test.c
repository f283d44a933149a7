/*
 * Fine replay against another simulation: one that holds every send of every rank, asks at every
 * moment all of them what they may do, and shares all links anew.
 */
#include "test/passes/analysis/replay/fine_step.h"

__extension__ typedef unsigned __int128 amount;

enum { IDLE, MOVES, OUT, RECEIVED };

struct ref_send {
	uint32_t from, to;
	struct cluster_route route;
	amount left;
	int64_t rate;
	replay_time latency, at;
	int state;
};

/* A collective that runs: part by part, chunk by chunk, round by round with repeats, all sends. */
struct ref_run {
	const struct collective_schedule *schedule;
	struct ref_send *send;
	uint32_t *position;      /* by chunk and device: the round that it is at */
	uint32_t rounds, *first; /* [rounds + 1] of a chunk's sends */
	uint32_t *stage;         /* [rounds] */
	uint32_t per_chunk, chunks, per_part, leader; /* chunks of all parts; of one */
	bool running;
};

struct ref {
	const struct step *s;
	struct ref_run run[MAX_N];
	uint32_t nruns;
	bool begun[MAX_N], ended[MAX_N];
	amount left[MAX_N];
	int64_t speed[MAX_N];
	replay_time now, start[MAX_N], end[MAX_N];
};

static void
ref_begin(struct ref *f, uint32_t leader)
{
	const struct fine_request *q = &f->s->requests[f->s->request[leader]];
	const struct collective_schedule *s = q->schedule;
	struct ref_run *run = &f->run[f->nruns++];
	uint32_t total = 0, rounds = 0;
	for (uint32_t r = 0; r < s->nrounds; r++) {
		total += s->round[r].n * s->round[r].repeat;
		rounds += s->round[r].repeat;
	}
	uint32_t chunks = s->chunks * (s->parts > 1 ? s->parts : 1);
	*run = (struct ref_run){s, calloc(total * chunks + 1, sizeof *run->send),
		calloc(chunks * MAX_DEVICES, sizeof *run->position), rounds,
		calloc(rounds + 1, sizeof *run->first), calloc(rounds + 1, sizeof *run->stage),
		total, chunks, s->chunks, leader, true};
	uint32_t n = 0;
	for (uint32_t c = 0; c < chunks; c++) {
		uint32_t at = 0;
		for (uint32_t r = 0; r < s->nrounds; r++)
			for (uint32_t i = 0; i < s->round[r].repeat; i++) {
				run->stage[at] = s->round[r].stage;
				run->first[at++] = n - c * total;
				for (uint32_t k = 0; k < s->round[r].n; k++) {
					struct ref_send *d = &run->send[n++];
					const struct collective_send *send =
						&s->send[s->round[r].first + k];
					*d = (struct ref_send){.from = send->from, .to = send->to};
					double bytes = send->bytes / chunks;
					d->left = (amount)(bytes / FINE_RATE_UNIT * 1e12);
					cluster_route(f->s->s.cluster, d->from, d->to, &d->route);
					d->latency = replay_from_seconds(d->route.latency);
				}
			}
		run->first[at] = total;
	}
}

/* Are the sends of that round out, or received, that leave or reach the device? */
static bool
ref_round_done(const struct ref_run *run, uint32_t chunk, uint32_t round, uint32_t device, bool in)
{
	for (uint32_t i = run->first[round]; i < run->first[round + 1]; i++) {
		const struct ref_send *d = &run->send[chunk * run->per_chunk + i];
		if ((d->from == device && d->state < OUT) ||
			(in && d->to == device && d->state < RECEIVED))
			return false;
	}
	return true;
}

/* Has all come that the device sends and gets in the stage of a round? */
static bool
ref_stage_done(const struct ref_run *run, uint32_t chunk, uint32_t round, uint32_t device)
{
	for (uint32_t r = 0; r < run->rounds; r++)
		for (uint32_t i = run->first[r];
			run->stage[r] == run->stage[round] && i < run->first[r + 1]; i++) {
			const struct ref_send *d = &run->send[chunk * run->per_chunk + i];
			if ((d->from == device || d->to == device) && d->state < RECEIVED)
				return false;
		}
	return true;
}

/* May a device send, as far as the chunk before is concerned? */
static bool
ref_is_free(const struct ref_run *run, uint32_t chunk, uint32_t round, uint32_t device)
{
	if (!chunk)
		return true;
	if (chunk % run->per_part == 0)
		return ref_stage_done(run, chunk - 1, round, device);
	return run->position[(chunk - 1) * MAX_DEVICES + device] >= round &&
	       ref_round_done(run, chunk - 1, round, device, false);
}

static bool
ref_send_moves(
	struct ref *f, struct ref_run *run, uint32_t chunk, uint32_t round, struct ref_send *d)
{
	if (d->state == IDLE) {
		if (run->position[chunk * MAX_DEVICES + d->from] != round ||
			!ref_is_free(run, chunk, round, d->from))
			return false;
		d->state = MOVES;
		d->at = f->now;
		return true;
	}
	if (d->state == MOVES && (!d->left || !d->route.nlinks)) {
		d->state = OUT;
		d->at = f->now + d->latency;
		return true;
	}
	if (d->state == OUT && d->at <= f->now) {
		d->state = RECEIVED;
		return true;
	}
	return false;
}

/* What can happen in a collective at this moment happens; false: nothing. */
static bool
ref_run_moves(struct ref *f, struct ref_run *run)
{
	bool moved = false, over = true;
	for (uint32_t c = 0; c < run->chunks; c++) {
		for (uint32_t r = 0; r < run->rounds; r++)
			for (uint32_t i = run->first[r]; i < run->first[r + 1]; i++)
				moved |= ref_send_moves(
					f, run, c, r, &run->send[c * run->per_chunk + i]);
		for (uint32_t d = 0; d < MAX_DEVICES; d++) {
			uint32_t *at = &run->position[c * MAX_DEVICES + d];
			if (*at < run->rounds && ref_round_done(run, c, *at, d, true))
				++*at, moved = true;
			over &= *at == run->rounds;
		}
	}
	if (!over)
		return moved;
	run->running = false;
	for (uint32_t e = 0; e < f->s->g.n; e++)
		if (f->s->request[e] != FINE_NO_REQUEST && f->s->leader[e] == run->leader) {
			f->ended[e] = true;
			f->end[e] = f->now;
		}
	return true;
}

static bool
ref_may_start(const struct ref *f, uint32_t e)
{
	for (uint32_t k = f->s->dep_first[e]; k < f->s->dep_first[e + 1]; k++)
		if (!f->ended[f->s->dep[k]])
			return false;
	for (uint32_t k = 0; k < e; k++)
		if (f->s->stream[k] == f->s->stream[e] && !f->ended[k])
			return false;
	return !f->begun[e];
}

static bool
ref_event_moves(struct ref *f, uint32_t e)
{
	const struct step *s = f->s;
	if (s->request[e] == FINE_NO_REQUEST) {
		if (ref_may_start(f, e)) {
			f->begun[e] = true;
			f->start[e] = f->now;
			f->left[e] = (amount)s->duration[e] << 30;
			return true;
		}
		if (!f->begun[e] || f->ended[e] || f->left[e])
			return false;
		f->ended[e] = true;
		f->end[e] = f->now;
		return true;
	}
	if (s->leader[e] != e)
		return false;
	for (uint32_t k = 0; k < s->g.n; k++)
		if (s->request[k] != FINE_NO_REQUEST && s->leader[k] == e && !ref_may_start(f, k))
			return false;
	for (uint32_t k = 0; k < s->g.n; k++)
		if (s->request[k] != FINE_NO_REQUEST && s->leader[k] == e) {
			f->begun[k] = true;
			f->start[k] = f->now;
		}
	ref_begin(f, e);
	return true;
}

static bool
ref_shares(const struct ref_send *d)
{
	return d->state == MOVES && d->rate == 0;
}

/* All rates, from nothing. */
static void
ref_share(struct ref *f)
{
	const struct cluster *c = f->s->s.cluster;
	struct ref_send *moving[4096];
	uint32_t n = 0;
	for (uint32_t i = 0; i < f->nruns; i++)
		for (uint32_t k = 0; k < f->run[i].per_chunk * f->run[i].chunks; k++)
			if (f->run[i].running && f->run[i].send[k].state == MOVES)
				moving[n++] = &f->run[i].send[k];
	int64_t left[64];
	for (uint32_t l = 0; l < c->nlinks; l++)
		left[l] = isinf(c->link[l].bandwidth)
				  ? INT64_MAX
				  : llrint(c->link[l].bandwidth / FINE_RATE_UNIT);
	for (uint32_t i = 0; i < n; i++)
		moving[i]->rate = 0;
	for (;;) {
		int64_t wanted[64] = {0}, least = INT64_MAX;
		bool full[64] = {false};
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; ref_shares(moving[i]) && k < moving[i]->route.nlinks;
				k++)
				wanted[moving[i]->route.link[k]]++;
		for (uint32_t l = 0; l < c->nlinks; l++)
			if (wanted[l] && left[l] / wanted[l] < least)
				least = left[l] / wanted[l];
		if (least == INT64_MAX)
			return;
		for (uint32_t l = 0; l < c->nlinks; l++)
			full[l] = wanted[l] && left[l] / wanted[l] == least;
		for (uint32_t i = 0; i < n; i++) {
			bool gets = false;
			for (uint32_t k = 0; k < moving[i]->route.nlinks; k++)
				gets |= full[moving[i]->route.link[k]];
			if (!gets || !ref_shares(moving[i]))
				continue;
			moving[i]->rate = least;
			for (uint32_t k = 0; k < moving[i]->route.nlinks; k++)
				left[moving[i]->route.link[k]] -= least;
		}
	}
}

static bool
ref_communicates(const struct ref *f, uint32_t device)
{
	for (uint32_t e = 0; e < f->s->g.n; e++)
		if (f->s->stream[e] == 2 * device + 1 && f->begun[e] && !f->ended[e])
			return true;
	return false;
}

static void
ref_speeds(struct ref *f)
{
	for (uint32_t e = 0; e < f->s->g.n; e++) {
		uint32_t device = f->s->stream[e] / 2;
		bool slow =
			f->s->s.slowdown && f->s->stream[e] % 2 == 0 && ref_communicates(f, device);
		f->speed[e] = slow ? llrint((1 << 30) / f->s->slowdown[device]) : 1 << 30;
	}
}

static void
earlier(replay_time *until, replay_time now, amount left, int64_t speed)
{
	replay_time t = now + (replay_time)((left + (amount)speed - 1) / (amount)speed);
	*until = t < *until ? t : *until;
}

/* The time goes on to the next thing that happens. */
static bool
ref_wait(struct ref *f)
{
	replay_time until = INT64_MAX;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t e = 0; e < f->s->g.n; e++) {
			if (f->s->request[e] != FINE_NO_REQUEST || !f->begun[e] || f->ended[e])
				continue;
			amount done = (amount)f->speed[e] * (amount)(until - f->now);
			if (pass)
				f->left[e] -= done < f->left[e] ? done : f->left[e];
			else
				earlier(&until, f->now, f->left[e], f->speed[e]);
		}
		for (uint32_t i = 0; i < f->nruns; i++)
			for (uint32_t k = 0; k < f->run[i].per_chunk * f->run[i].chunks; k++) {
				struct ref_send *d = &f->run[i].send[k];
				if (!f->run[i].running || (d->state != MOVES && d->state != OUT))
					continue;
				amount done = (amount)d->rate * (amount)(until - f->now);
				if (pass && d->state == MOVES)
					d->left -= done < d->left ? done : d->left;
				else if (!pass && d->state == MOVES)
					earlier(&until, f->now, d->left, d->rate);
				else if (!pass && d->at < until)
					until = d->at;
			}
		if (until == INT64_MAX)
			return false;
	}
	f->now = until;
	return true;
}

static void
ref_replay(struct ref *f, const struct step *s)
{
	memset(f, 0, sizeof *f);
	f->s = s;
	do {
		for (bool moved = true; moved;) {
			moved = false;
			for (uint32_t e = 0; e < s->g.n; e++)
				moved |= ref_event_moves(f, e);
			for (uint32_t i = 0; i < f->nruns; i++)
				moved |= f->run[i].running && ref_run_moves(f, &f->run[i]);
		}
		ref_share(f);
		ref_speeds(f);
	} while (ref_wait(f));
	for (uint32_t i = 0; i < f->nruns; i++) {
		free(f->run[i].send);
		free(f->run[i].position);
		free(f->run[i].first);
		free(f->run[i].stage);
	}
}

/* --- random steps --- */

static struct cluster *
cluster_random(const void *owner, uint64_t *seed)
{
	static const double bandwidth[] = {1e9, 2e9, 3e9, 0.7e9}, latency[] = {0, 0, 1e-6, 2.5e-6};
	const struct cluster_link inside = {
		"inside", bandwidth[next(seed) % 4], latency[next(seed) % 4]};
	const struct cluster_link card = {
		"card", bandwidth[next(seed) % 4], latency[next(seed) % 4]};
	double spine = next(seed) % 2 ? INFINITY : 1.5e9;
	uint32_t per = 1 + (uint32_t)(next(seed) % 3), n = 2 + (uint32_t)(next(seed) % 2);
	struct cluster *c = next(seed) % 3 ? nodes(owner, n, per, inside, card, spine)
					   : star(owner, n * per, inside.bandwidth, inside.latency);
	/* Now and then one link is slower than its like. */
	if (next(seed) % 3 == 0)
		c->link[next(seed) % c->nlinks].bandwidth = 0.4e9;
	return c;
}

static void
request_random(struct step *s, uint32_t i, uint32_t ndevices, uint64_t *seed)
{
	double bytes = 1000.0 * (double)(next(seed) % 40);
	if (next(seed) % 2) {
		uint32_t places = 2 + (uint32_t)(next(seed) % (ndevices - 1));
		ring(s, i, places, 0, 1, 1 + (uint32_t)(next(seed) % 4), bytes);
	} else {
		struct collective_schedule *schedule = &s->schedule[i];
		schedule->nrounds = 1 + (uint32_t)(next(seed) % ROUNDS);
		schedule->nsends = 0;
		uint32_t stage = 0;
		for (uint32_t r = 0; r < schedule->nrounds; r++) {
			uint32_t n = 1 + (uint32_t)(next(seed) % (MAX_SENDS / ROUNDS));
			s->round[i][r] = (struct collective_round){
				schedule->nsends, n, (uint32_t)(next(seed) % 4), stage};
			stage += next(seed) % 2;
			for (uint32_t k = 0; k < n; k++) {
				uint32_t from = (uint32_t)(next(seed) % ndevices);
				uint32_t to = (uint32_t)(next(seed) % ndevices);
				s->send[i][schedule->nsends++] = (struct collective_send){
					from, to, next(seed) % 3 ? bytes : bytes / 3};
			}
		}
	}
	s->schedule[i].chunks = 1 + (uint32_t)(next(seed) % 3);
	s->schedule[i].parts = 1 + (uint32_t)(next(seed) % 8 == 0) + (next(seed) % 8 == 0);
}

static void
step_random(struct step *s, const void *owner, uint64_t *seed)
{
	memset(s, 0, sizeof *s);
	struct cluster *c = cluster_random(owner, seed);
	uint32_t n = 0, ndevices = 1 + (uint32_t)(next(seed) % (MAX_STREAMS / 2));
	uint32_t nrequests = 1 + (uint32_t)(next(seed) % MAX_REQUESTS);
	for (uint32_t i = 0; i < nrequests; i++)
		request_random(s, i, c->ndevices, seed);
	while (n < MAX_N - MAX_STREAMS / 2) {
		uint32_t device = (uint32_t)(next(seed) % ndevices), leader = n;
		bool communicates = next(seed) % 2;
		uint32_t request = (uint32_t)(next(seed) % nrequests);
		replay_time duration = (replay_time)(next(seed) % 5 ? next(seed) % 40000000 : 0);
		uint32_t parties = communicates ? 1 + (uint32_t)(next(seed) % ndevices) : 1;
		for (uint32_t k = 0; k < parties; k++) {
			uint32_t stream = 2 * ((device + k) % ndevices) +
					  (communicates ? next(seed) % 8 > 0 : next(seed) % 8 == 0);
			event(s, n, stream, duration, communicates ? request : FINE_NO_REQUEST);
			for (uint32_t d = (uint32_t)(next(seed) % 3); d && leader; d--)
				s->dep[s->dep_first[n + 1]++] = (uint32_t)(next(seed) % leader);
			s->leader[n++] = leader;
		}
	}
	for (uint32_t d = 0; d < ndevices; d++)
		s->slowdown[d] = 1 + (double)(next(seed) % 3) / 4;
	bind(s, c, n, 2 * ndevices, nrequests);
	s->s.slowdown = next(seed) % 2 ? s->slowdown : NULL;
}

/* The same step with other numbers for its events, in the same order: e becomes name[e]. */
static void
renumber(const struct step *s, struct step *to, uint32_t *name, uint64_t *seed)
{
	uint32_t n = s->g.n, old[MAX_N];
	*to = *s;
	for (uint32_t e = 0; e < n; e++) {
		uint32_t k = (uint32_t)(next(seed) % (e + 1));
		name[e] = name[k];
		name[k] = e;
	}
	for (uint32_t e = 0; e < n; e++)
		old[name[e]] = e;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t e = old[i];
		event(to, i, s->stream[e], s->duration[e], s->request[e]);
		to->leader[i] = name[s->leader[e]];
		for (uint32_t k = s->dep_first[e]; k < s->dep_first[e + 1]; k++)
			to->dep[to->dep_first[i + 1]++] = name[s->dep[k]];
	}
	bind(to, s->s.cluster, n, s->g.nstreams, s->s.nrequests);
	to->g.order = name;
	to->s.slowdown = s->s.slowdown ? to->slowdown : NULL;
}

static void
equals_a_simulation_of_every_send(void **state)
{
	uint64_t seed = 1, alone = 0, contended = 0;
	for (int trial = 0; trial < 3000; trial++) {
		void *scratch = talloc_new(*state);
		struct step s;
		struct times plain, fast;
		struct ref ref;
		step_random(&s, scratch, &seed);
		assert_true(replay_check(&s.g));
		ref_replay(&ref, &s);
		s.s.plainly = true;
		assert_int_equal(replay(&s, &plain), FINE_OK);
		assert_memory_equal(plain.start, ref.start, s.g.n * sizeof *ref.start);
		assert_memory_equal(plain.end, ref.end, s.g.n * sizeof *ref.end);
		s.s.plainly = false;
		assert_int_equal(replay(&s, &fast), FINE_OK);
		assert_memory_equal(fast.start, ref.start, s.g.n * sizeof *ref.start);
		assert_memory_equal(fast.end, ref.end, s.g.n * sizeof *ref.end);
		assert_int_equal(fast.r.makespan, plain.r.makespan);
		struct step other;
		uint32_t name[MAX_N];
		renumber(&s, &other, name, &seed);
		assert_true(replay_check(&other.g));
		assert_int_equal(replay(&other, &plain), FINE_OK);
		for (uint32_t e = 0; e < s.g.n; e++)
			assert_int_equal(plain.end[name[e]], ref.end[e]);
		alone += fast.r.alone;
		contended += fast.r.contended;
		talloc_free(scratch);
	}
	/* Both ways to replay a collective have been met. */
	assert_true(alone > 1000 && contended > 1000);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equals_a_simulation_of_every_send),
	};
	return cmocka_run_group_tests(tests, make_scratch, free_scratch);
}
