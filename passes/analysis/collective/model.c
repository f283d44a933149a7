/*
 * Times of collectives on one cluster, cached: a step uses the same groups with hundreds of sizes.
 * The cache holds for each request a function of its bytes for each algorithm (time.c), found by
 * hashing the devices.
 *
 * For N devices in all, a ring, a tree or halving takes O(N log N) sends once, alltoall and
 * parameter servers O(N P); every further size takes no more than the lines of a few phases.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "passes/analysis/collective/build.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/*
 * Chunks of a pipeline: enough that filling the pipeline with one takes no longer than a send's
 * latency or a fiftieth of the time of the bytes. More chunks only add events to a replay, so there
 * is a bound: at 256 even a ring of 1,024 places is filled in a few times the time of its bytes.
 */
enum { CHUNKS_MAX = 256 };
#define FILL_SHARE 0.02

struct collective_cost {
	struct collective_cost *next; /* with the same hash */
	struct cluster *cluster;
	struct collective_request request; /* its devices are a copy */
	struct collective_request timed;   /* of one byte, with the groups that count */
	struct placement *at; /* of `timed`; NULL: the cluster lacks some of the devices */
	bool known[COLLECTIVE_NALGORITHMS];
	struct collective_time *time[COLLECTIVE_NALGORITHMS][COLLECTIVE_NVARIANTS];
};

struct collective_model {
	struct cluster *cluster;
	struct collective_cost **slot;
	uint32_t nslots, n; /* slots: a power of two */
};

struct collective_model *
collective_model_create(const void *owner, struct cluster *c)
{
	struct collective_model *m = NEW(owner, struct collective_model);
	m->cluster = c;
	m->nslots = 64;
	m->slot = NEW_ARRAY(m, struct collective_cost *, m->nslots);
	memset(m->slot, 0, m->nslots * sizeof *m->slot);
	return m;
}

static uint64_t
hash_request(const struct collective_request *q)
{
	uint64_t h = mix_word(mix_word(q->kind, q->ngroups), q->places);
	h = mix_word(mix_word(h, q->from), q->to);
	size_t n = (size_t)q->ngroups * q->places;
	for (size_t i = 0; i < n; i++)
		h = mix_word(h, q->device[i]);
	return h;
}

static bool
same_request(const struct collective_request *a, const struct collective_request *b)
{
	return a->kind == b->kind && a->ngroups == b->ngroups && a->places == b->places &&
	       a->from == b->from && a->to == b->to &&
	       memcmp(a->device, b->device, (size_t)a->ngroups * a->places * sizeof *a->device) ==
		       0;
}

static struct collective_cost *
cost_create(const void *owner, struct cluster *c, const struct collective_request *q)
{
	struct collective_cost *k = NEW(owner, struct collective_cost);
	size_t n = (size_t)q->ngroups * q->places;
	uint32_t *device = NEW_ARRAY(k, uint32_t, n);
	memcpy(device, q->device, n * sizeof *device);
	k->cluster = c;
	k->request = *q;
	k->request.device = device;
	k->timed = request_distinct(k, c, &k->request);
	k->timed.bytes = 1;
	k->at = placement_of(k, c, &k->timed);
	return k;
}

static void
rehash(struct collective_model *m)
{
	uint32_t nslots = 2 * m->nslots;
	struct collective_cost **slot = NEW_ARRAY(m, struct collective_cost *, nslots);
	memset(slot, 0, nslots * sizeof *slot);
	for (uint32_t i = 0; i < m->nslots; i++)
		for (struct collective_cost *k = m->slot[i], *next; k; k = next) {
			next = k->next;
			uint32_t h = (uint32_t)hash_request(&k->request) & (nslots - 1);
			k->next = slot[h];
			slot[h] = k;
		}
	talloc_free(m->slot);
	m->slot = slot;
	m->nslots = nslots;
}

struct collective_cost *
collective_model_cost(struct collective_model *m, const struct collective_request *q)
{
	uint64_t h = hash_request(q);
	struct collective_cost *k = m->slot[h & (m->nslots - 1)];
	while (k && !same_request(&k->request, q))
		k = k->next;
	if (k)
		return k;
	if (m->n++ == m->nslots)
		rehash(m);
	struct collective_cost **slot = &m->slot[h & (m->nslots - 1)];
	k = cost_create(m, m->cluster, q);
	k->next = *slot;
	return *slot = k;
}

/* The time of a variant as a function of the bytes; NULL if it does not apply. */
static struct collective_time *
make_time(struct collective_cost *k, enum collective_algorithm a, uint32_t variant)
{
	bool pipelined;
	struct collective_schedule *s =
		collective_build(NULL, k->cluster, &k->timed, k->at, a, variant, &pipelined);
	struct collective_time *t = s ? collective_time_of(k, k->cluster, s, pipelined) : NULL;
	talloc_free(s);
	return t;
}

static void
know(struct collective_cost *k, enum collective_algorithm a)
{
	if (k->known[a] || !k->at)
		return;
	k->known[a] = true;
	for (uint32_t v = 0; v < COLLECTIVE_NVARIANTS && (!v || k->time[a][0]); v++)
		k->time[a][v] = make_time(k, a, v);
}

/* Bytes of a message, and the parts in which they go. */
struct load {
	double bytes;
	uint32_t parts;
};

static struct load
load_of(const struct collective_request *q)
{
	return (struct load){q->bytes, q->parts ? q->parts : 1};
}

/* The fastest variant for these bytes; infinite if none applies. */
static double
best_variant(struct collective_cost *k, struct load x, enum collective_algorithm a, uint32_t *best)
{
	double seconds = INFINITY;
	know(k, a);
	for (uint32_t v = 0; v < COLLECTIVE_NVARIANTS; v++) {
		const struct collective_time *of = k->time[a][v];
		double t = of ? collective_time_parts(of, x.bytes, x.parts) : INFINITY;
		if (t < seconds) {
			seconds = t;
			*best = v;
		}
	}
	return seconds;
}

/* Resolves COLLECTIVE_AUTO as well; the first of equally fast ones. */
static double
best_of(struct collective_cost *k, struct load x, enum collective_algorithm *a, uint32_t *variant)
{
	enum collective_algorithm best = COLLECTIVE_RING; /* also if there is no route */
	double seconds = INFINITY;

	*variant = 0;
	if (*a != COLLECTIVE_AUTO)
		return best_variant(k, x, *a, variant);
	for (int i = 0; i < COLLECTIVE_NALGORITHMS; i++) {
		uint32_t v = 0;
		double t = collective_automatic((enum collective_algorithm)i)
				   ? best_variant(k, x, (enum collective_algorithm)i, &v)
				   : INFINITY;
		if (t < seconds) {
			seconds = t;
			best = (enum collective_algorithm)i;
			*variant = v;
		}
	}
	*a = best;
	return seconds;
}

double
collective_cost_seconds(struct collective_cost *k, double bytes, uint32_t parts,
	enum collective_algorithm a, enum collective_algorithm *chosen)
{
	uint32_t variant;
	double seconds = best_of(k, (struct load){bytes, parts}, &a, &variant);
	if (chosen)
		*chosen = a;
	return seconds;
}

double
collective_seconds(struct cluster *c, const struct collective_request *q,
	enum collective_algorithm a, enum collective_algorithm *chosen)
{
	struct collective_cost *k = cost_create(NULL, c, q);
	double seconds = collective_cost_seconds(k, q->bytes, load_of(q).parts, a, chosen);
	talloc_free(k);
	return seconds;
}

static uint32_t
chunks_of(const struct collective_time *t, double bytes)
{
	double pause = fmax(t->fill.alpha, FILL_SHARE * t->base.gamma * bytes);
	double chunks = pause > 0 ? ceil(t->fill.gamma * bytes / pause) : 1;
	return chunks < 1 ? 1 : chunks > CHUNKS_MAX ? CHUNKS_MAX : (uint32_t)chunks;
}

struct collective_schedule *
collective_schedule(const void *owner, struct cluster *c, const struct collective_request *q,
	enum collective_algorithm a, enum collective_algorithm *chosen)
{
	struct collective_cost *k = cost_create(NULL, c, q);
	struct collective_schedule *s = NULL;
	uint32_t variant;
	bool pipelined;

	if (!isinf(best_of(k, load_of(q), &a, &variant))) {
		k->request.bytes = 1;
		s = collective_build(owner, c, &k->request, placement_of(k, c, &k->request), a,
			variant, &pipelined);
	}
	for (uint32_t i = 0; s && i < s->nsends; i++)
		s->send[i].bytes *= q->bytes;
	if (s)
		s->parts = load_of(q).parts;
	if (s && pipelined)
		s->chunks = chunks_of(k->time[a][variant], q->bytes / s->parts);
	if (chosen)
		*chosen = a;
	talloc_free(k);
	return s;
}
