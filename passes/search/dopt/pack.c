/*
 * Packing of messages of gradients. For messages in the order in which they are ready, packed only
 * with neighbours, the best packing is found exactly by dynamic programming over the number of
 * messages sent: message j can be the last of a bucket that begins after any i < j, and
 *
 *     sent(j)     = max(sent(i), ready(j)) + time(bytes of i+1 ... j)
 *     computed(j) = max(computed(i), sent(j)) + what reads i+1 ... j, in sum
 *
 * where computed(0) is the end of the kernels that read no gradient. Both values count, so state j
 * keeps all Pareto-optimal pairs (sent, computed). The time of a bucket is a curve sampled from the
 * plan: each message alone, and all of them packed one by one.
 *
 * This is exact for one kind of messages, alone on its stream; the replay judges the result.
 */
#include "passes/search/dopt/impl.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum pack_limit {
	PACK_PAIRS = 24,      /* (sent, computed) of a state; rarely more than five */
	PACK_MESSAGES = 2000, /* messages of one kind; the time grows with the square: 0.1 s */
	PACK_PARTS = 64,      /* more parts never help: each costs a latency */
};

struct gradient {
	uint32_t node;
	double bytes;
	replay_time ready, read; /* when it is ready; time of the kernels that read it */
	uint32_t kind;           /* the first in the list that it can be packed with */
};

struct sample {
	double bytes;
	replay_time time;
};

struct pair {
	replay_time sent, computed;
	uint32_t from, pair; /* the state after which the last bucket begins, and the pair there */
};

struct packer {
	struct dopt *d;
	struct gradient *gradient; /* [n], in the order in which they are ready */
	uint32_t n;
	replay_time computed; /* end of the kernels that read none of them */
	/* For the current kind: */
	uint32_t *member, nmembers; /* numbers of gradients in `gradient` */
	struct sample *sample;
	uint32_t nsamples;
	struct pair (*state)[PACK_PAIRS]; /* [nmembers + 1] */
	uint32_t *npairs;
	uint32_t *begin, nbuckets; /* first members of buckets */
};

/* --- the messages --- */

/* Marks nodes that lead to a message. A message that leads to another one cannot be packed with
 * messages that depend on it. */
static void
mark_leading(const struct dopt *d, bool *leads)
{
	memset(leads, 0, d->room * sizeof *leads);
	for (uint32_t i = plan_count(d->p); i-- > 0;) {
		uint32_t node = plan_at(d->p, i);
		struct plan_node k = plan_node(d->p, node);
		for (uint32_t e = 0; e < k.npreds; e++)
			leads[k.pred[e]] |= leads[node] || k.kind == PLAN_MESSAGE;
	}
}

/* Unpacks a message into its collectives. */
static void
take_apart(struct dopt *d, uint32_t node)
{
	struct plan_node k = plan_node(d->p, node);
	uint32_t n = k.nops, *op = d->list;

	for (uint32_t i = 0; i < n; i++)
		op[i] = PLAN_OP_OF(k.op[i]);
	for (uint32_t i = 1; i < n; i++)
		plan_unpack(d->p, node, &op[i], 1);
	if (dopt_may(d, SEARCH_PART))
		plan_part(d->p, node, 1);
}

static uint32_t
list_messages(const struct dopt *d, const bool *leads, uint32_t *list)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < plan_count(d->p); i++) {
		uint32_t node = plan_at(d->p, i);
		if (!leads[node] && plan_node(d->p, node).kind == PLAN_MESSAGE)
			list[n++] = node;
	}
	return n;
}

ORDER_BY(by_ready, struct gradient, UP(ready), UP(node))

static replay_time
ready_time(const struct dopt *d, uint32_t node)
{
	struct plan_node k = plan_node(d->p, node);
	replay_time t = 0;

	for (uint32_t e = 0; e < k.npreds; e++) {
		replay_time end = plan_node(d->p, k.pred[e]).end;
		t = end > t ? end : t;
	}
	return t;
}

static uint32_t
kind_of(const struct packer *k, uint32_t i)
{
	for (uint32_t j = 0; j < i; j++)
		if (k->gradient[j].kind == j &&
			plan_packs(k->d->p, k->gradient[j].node, k->gradient[i].node))
			return j;
	return i;
}

/* Assigns kernels that read gradients to the last gradient that they read; notes the end of the
 * other kernels. */
static void
charge_readers(struct packer *k)
{
	const struct dopt *d = k->d;
	uint32_t *last = d->list; /* by node: 1 + the gradient that it waits for; 0: none */
	replay_time others = 0, between = 0;

	memset(last, 0, d->room * sizeof *last);
	for (uint32_t i = 0; i < k->n; i++)
		last[k->gradient[i].node] = i + 1;
	for (uint32_t i = 0; i < plan_count(d->p); i++) {
		uint32_t node = plan_at(d->p, i);
		struct plan_node s = plan_node(d->p, node);
		if (s.kind == PLAN_MESSAGE)
			continue;
		for (uint32_t e = 0; e < s.npreds; e++)
			if (last[s.pred[e]] > last[node])
				last[node] = last[s.pred[e]];
		if (last[node]) {
			k->gradient[last[node] - 1].read += s.duration;
			between += s.duration;
		} else {
			others = s.end;
			k->computed = others - between;
		}
	}
}

static void
collect(struct packer *k, uint32_t n)
{
	struct dopt *d = k->d;

	k->n = n;
	k->gradient = ARRAY_NEW(k, struct gradient, n);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t node = d->list[i];
		k->gradient[i] = (struct gradient){
			node, plan_node(d->p, node).bytes, ready_time(d, node), 0, 0};
	}
	qsort(k->gradient, n, sizeof *k->gradient, by_ready);
	for (uint32_t i = 0; i < n; i++)
		k->gradient[i].kind = kind_of(k, i);
	charge_readers(k);
}

/* --- the time of a bucket --- */

static bool
fewer_seconds(struct dopt *d, uint32_t node, uint32_t k, uint32_t *parts, replay_time *best)
{
	const replay_time t = plan_message_time(d->p, node, k);

	if (t >= *best)
		return false;
	*best = t;
	*parts = k;
	return true;
}

/*
 * The best number of parts of a message, and its time: first a power of two, then a search around
 * it with smaller and smaller steps. More parts add latencies but overlap stages, so there is a
 * single minimum.
 */
static replay_time
best_parts(struct dopt *d, uint32_t node, uint32_t *parts)
{
	*parts = 1;
	replay_time best = plan_message_time(d->p, node, 1);
	for (uint32_t k = 2; k <= PACK_PARTS && dopt_may(d, SEARCH_PART); k *= 2)
		if (!fewer_seconds(d, node, k, parts, &best))
			break;
	for (uint32_t step = *parts / 2; step; step /= 2)
		if (!fewer_seconds(d, node, *parts + step, parts, &best))
			fewer_seconds(d, node, *parts - step, parts, &best);
	return best;
}

ORDER_BY(by_bytes, struct sample, UP(bytes), UP(time))

static void
add_sample(struct packer *k, uint32_t node)
{
	uint32_t parts;

	k->sample[k->nsamples++] =
		(struct sample){plan_node(k->d->p, node).bytes, best_parts(k->d, node, &parts)};
}

static void
sample_curve(struct packer *k)
{
	struct plan *p = k->d->p;
	uint32_t mark = plan_mark(p), whole = k->gradient[k->member[k->nmembers - 1]].node;

	k->nsamples = 0;
	for (uint32_t i = 0; i < k->nmembers; i++)
		add_sample(k, k->gradient[k->member[i]].node);
	for (uint32_t i = k->nmembers - 1; i-- > 0;)
		if (plan_pack(p, k->gradient[k->member[i]].node, whole))
			add_sample(k, whole);
	plan_undo(p, mark);
	qsort(k->sample, k->nsamples, sizeof *k->sample, by_bytes);
}

/* Linear interpolation between samples. */
static replay_time
bucket_time(const struct packer *k, double bytes)
{
	uint32_t low = 0, high = k->nsamples - 1;

	while (low + 1 < high) {
		uint32_t middle = (low + high) / 2;
		if (k->sample[middle].bytes <= bytes)
			low = middle;
		else
			high = middle;
	}
	const struct sample *a = &k->sample[low], *b = &k->sample[high];
	if (!(b->bytes > a->bytes))
		return a->time;
	double part = (bytes - a->bytes) / (b->bytes - a->bytes);
	replay_time t = a->time + (replay_time)(part * (double)(b->time - a->time));
	return t > 0 ? t : 0;
}

/* --- dynamic programming --- */

/* Adds a pair to those of a state, in the order of `sent`, unless another pair is as good in
 * both. */
static void
add_pair(struct packer *k, uint32_t j, struct pair new)
{
	struct pair *pair = k->state[j];
	uint32_t n = 0, at = 0;

	for (uint32_t i = 0; i < k->npairs[j]; i++)
		if (pair[i].sent <= new.sent && pair[i].computed <= new.computed)
			return;
	for (uint32_t i = 0; i < k->npairs[j]; i++)
		if (pair[i].sent < new.sent || pair[i].computed < new.computed)
			pair[n++] = pair[i];
	while (at < n && pair[at].sent < new.sent)
		at++;
	/* If the list is full, the pair with the largest `sent` is dropped. */
	if (n == PACK_PAIRS)
		n--;
	if (at <= n && at < PACK_PAIRS) {
		memmove(&pair[at + 1], &pair[at], (n - at) * sizeof *pair);
		pair[at] = new;
		n++;
	}
	k->npairs[j] = n;
}

static void
extend(struct packer *k, uint32_t i, uint32_t j, double bytes, replay_time read)
{
	replay_time ready = k->gradient[k->member[j - 1]].ready, time = bucket_time(k, bytes);

	for (uint32_t e = 0; e < k->npairs[i]; e++) {
		const struct pair *s = &k->state[i][e];
		struct pair next = {.from = i, .pair = e};
		next.sent = (s->sent > ready ? s->sent : ready) + time;
		next.computed = (s->computed > next.sent ? s->computed : next.sent) + read;
		add_pair(k, j, next);
	}
}

static void
solve(struct packer *k)
{
	k->state[0][0] = (struct pair){.sent = 0, .computed = k->computed};
	k->npairs[0] = 1;
	for (uint32_t j = 1; j <= k->nmembers; j++) {
		double bytes = 0;
		replay_time read = 0;
		k->npairs[j] = 0;
		for (uint32_t i = j; i-- > 0;) {
			bytes += k->gradient[k->member[i]].bytes;
			read += k->gradient[k->member[i]].read;
			extend(k, i, j, bytes, read);
		}
	}
	/* Goes back from the pair with the least `computed`; writes where buckets begin, the last
	 * one first. */
	uint32_t j = k->nmembers, best = 0;
	for (uint32_t e = 1; e < k->npairs[j]; e++)
		if (k->state[j][e].computed < k->state[j][best].computed)
			best = e;
	for (k->nbuckets = 0; j;) {
		const struct pair *s = &k->state[j][best];
		k->begin[k->nbuckets++] = j = s->from;
		best = s->pair;
	}
}

static void
apply(struct packer *k)
{
	struct dopt *d = k->d;
	uint32_t end = k->nmembers;

	for (uint32_t b = 0; b < k->nbuckets; end = k->begin[b++]) {
		uint32_t last = k->gradient[k->member[end - 1]].node, parts;
		for (uint32_t i = end - 1; i-- > k->begin[b];)
			plan_pack(d->p, k->gradient[k->member[i]].node, last);
		best_parts(d, last, &parts);
		plan_part(d->p, last, parts);
	}
}

static void
pack_kind(struct packer *k, uint32_t kind)
{
	k->nmembers = 0;
	for (uint32_t i = 0; i < k->n; i++)
		if (k->gradient[i].kind == kind)
			k->member[k->nmembers++] = i;
	if (k->nmembers < 2 || k->nmembers > PACK_MESSAGES)
		return;
	sample_curve(k);
	solve(k);
	apply(k);
}

static void
pack_kinds(struct packer *k)
{
	uint32_t n = k->n;

	k->member = ARRAY_NEW(k, uint32_t, n);
	k->sample = ARRAY_NEW(k, struct sample, 2 * (size_t)n);
	k->state = array_create(k, n + 1, sizeof *k->state, "states of a packing");
	k->npairs = ARRAY_NEW(k, uint32_t, n + 1);
	k->begin = ARRAY_NEW(k, uint32_t, n + 1);
	for (uint32_t i = 0; i < n; i++)
		if (k->gradient[i].kind == i)
			pack_kind(k, i);
}

bool
dopt_pack_all(struct dopt *d)
{
	if (!dopt_may(d, SEARCH_PACK) || !dopt_more(d) || d->quota - dopt_evaluations(d) < 2)
		return false;
	struct packer *k = NEW(NULL, struct packer);
	bool *leads = ARRAY_NEW(k, bool, d->room);
	uint32_t *message = ARRAY_NEW(k, uint32_t, d->room);
	uint32_t mark = plan_mark(d->p);
	replay_time now = d->now, score = d->score;

	k->d = d;
	mark_leading(d, leads);
	uint32_t n = list_messages(d, leads, message);
	for (uint32_t i = 0; i < n; i++)
		take_apart(d, message[i]);
	dopt_evaluate(d);
	mark_leading(d, leads);
	n = list_messages(d, leads, d->list);
	collect(k, n);
	pack_kinds(k);
	talloc_free(k);
	if (dopt_keep(d, mark, score - 1))
		return true;
	d->now = now;
	d->score = score;
	return false;
}

void
dopt_part_all(struct dopt *d)
{
	if (!dopt_may(d, SEARCH_PART))
		return;
	uint32_t mark = plan_mark(d->p), parts;
	for (uint32_t i = 0; i < plan_count(d->p); i++) {
		uint32_t node = plan_at(d->p, i);
		if (plan_node(d->p, node).kind != PLAN_MESSAGE)
			continue;
		best_parts(d, node, &parts);
		plan_part(d->p, node, parts);
	}
	if (dopt_more(d))
		dopt_keep(d, mark, d->score);
	else
		plan_undo(d->p, mark);
}
