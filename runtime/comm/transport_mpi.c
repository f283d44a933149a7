/* Collectives between MPI processes, on point-to-point messages and sums of our own, because a sum
 * must run in the order of the places whatever their number is.
 *
 *	moves: every place sends each other one its part
 *	sums:  the message is cut into one part a place; everybody sends each place that place's
 *	       part, adds up its own, and sends the result to all that get it
 *
 * Parts go straight from and to the arena where they lie in one piece there, else through staging
 * memory, which is allocated once, for the largest collective. While the rank computes, messages
 * are looked after every POLL_NS only; MPI makes no progress otherwise, and the core is the
 * computation's. */
#include "runtime/trace/clock.h"
#include "runtime/layout.h"
#include "runtime/comm/region.h"
#include "runtime/comm/sum.h"
#include "runtime/comm/transport.h"
#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

/* Between two looks while the rank computes: seldom enough to cost it less than a few percent. */
#define POLL_NS 50000
/* Before the first such pause: short messages are through by then. In time, as a look may move
 * much. */
#define EAGER_NS 30000
/* Between two looks at messages from other machines when the rank only waits: the system's network
 * code may need the core, and who never sleeps lets it wait for the next tick. */
#define REMOTE_POLL_NS 5000
/* Looks at messages before the core is offered to another thread at each further one, where there
 * are more ranks than cores. */
#define LOOKS 200
/* Who is waited for is noted after so long, for the watchdog, and then at each such distance. */
#define NOTE_NS 500000000
/* MPI counts in int: longer parts go in pieces of this many bytes. */
#define PIECE ((size_t)1 << 30)

struct mpi {
	struct rt_transport base;
	MPI_Comm comms[RT_MAX_AXES]; /* MPI_COMM_NULL for time axes */
	int places[RT_MAX_AXES], place[RT_MAX_AXES];
	char *out, *in;        /* staging: what is sent, a slot a place of what is received */
	MPI_Request *requests; /* [2 * most pieces of a collective] */
	bool remote;           /* some ranks are on other machines */
	int *partners;         /* of each request: its place on the axis, -1 for what is sent */
	int started;           /* requests that are on their way */
	const void **sources;  /* [most places of an axis] */
};

/* One collective on its way. */
struct job {
	struct mpi *m;
	const struct rt_coll *c;
	MPI_Comm comm;
	int places, me;
	size_t bytes;         /* of an element */
	int64_t total, share; /* of a sum: elements, and how many a place adds */
};

static MPI_Request *
add_request(struct mpi *m, int partner)
{
	m->partners[m->started] = partner;
	return &m->requests[m->started++];
}

static void
start_send(struct job *j, const char *from, size_t bytes, int to)
{
	struct mpi *m = j->m;
	for (size_t at = 0; at < bytes; at += PIECE)
		MPI_Isend(from + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, to,
			0, j->comm, add_request(m, -1));
}

static void
start_receive(struct job *j, char *to, size_t bytes, int from)
{
	struct mpi *m = j->m;
	for (size_t at = 0; at < bytes; at += PIECE)
		MPI_Irecv(to + at, (int)(bytes - at < PIECE ? bytes - at : PIECE), MPI_BYTE, from,
			0, j->comm, add_request(m, from));
}

/* Notes the first rank whose part has not come. */
static void
note_missing(struct job *j)
{
	struct mpi *m = j->m;
	int done = 1;
	for (int i = 0; i < m->started; i++) {
		if (m->partners[i] >= 0)
			MPI_Request_get_status(m->requests[i], &done, MPI_STATUS_IGNORE);
		if (done)
			continue;
		const int64_t stride = rt_axis_stride(m->base.prog, j->c->axis);
		const int64_t rank = RT_GET(m->base.activity->rank);
		RT_PUT(m->base.activity->from,
			(int32_t)(rank + (m->partners[i] - j->me) * stride + 1));
		return;
	}
}

/* Until everything that was started is complete. */
static void
finish_all(struct job *j)
{
	struct mpi *m = j->m;
	int done = 0;
	const int64_t eager = rt_now_ns() + EAGER_NS;
	int64_t note = eager + NOTE_NS;
	for (unsigned looks = 0; m->started; looks++) {
		MPI_Testall(m->started, m->requests, &done, MPI_STATUSES_IGNORE);
		if (done)
			break;
		const int64_t now = rt_now_ns();
		if (now > note && m->base.activity) {
			note_missing(j);
			note = now + NOTE_NS;
		}
		if (rt_activity_ended(m->base.activity))
			MPI_Abort(MPI_COMM_WORLD, RT_EXIT_RUN);
		if (!rt_is_urgent(&m->base.haste) && now > eager)
			rt_sleep_until_ns(now + POLL_NS);
		else if (m->remote && now > eager)
			rt_sleep_until_ns(now + REMOTE_POLL_NS);
		else if (looks > LOOKS && m->base.haste.crowded)
			sched_yield();
	}
	m->started = 0;
}

/* A region that lies in one piece. */
static bool
solid(const struct rt_region *r)
{
	return r->counts[0] == 1 && r->counts[1] == 1 &&
	       (r->counts[2] == 1 || r->strides[2] == r->run);
}

/* What this place gives to q, in one piece: in the arena, or packed into `room`. */
static const char *
pack(struct job *j, int q, char *room)
{
	const struct rt_coll *c = j->c;
	const char *arena = j->m->base.arena;
	char *to = room;
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_region from = rt_coll_source(c, &c->bufs[b], j->places, q);
		if (c->nbufs == 1 && solid(&from))
			return arena + from.base;
		const int64_t n = rt_region_elements(&from);
		const struct rt_region row = {0, {1, 1, 1}, {0, 0, 0}, n};
		rt_region_copy(to, &row, arena, &from, j->bytes);
		to += (size_t)n * j->bytes;
	}
	return room;
}

/* Where what p gives may be received in one piece: in the arena, or `room`, to be unpacked. */
static char *
landing(struct job *j, int p, char *room)
{
	const struct rt_region to = rt_coll_target(j->c, j->c->bufs, j->places, p);
	return j->c->nbufs == 1 && solid(&to) ? j->m->base.arena + to.base : room;
}

static void
unpack(struct job *j, int p, const char *from)
{
	const struct rt_coll *c = j->c;
	for (int b = 0; b < c->nbufs; b++) {
		const struct rt_region to = rt_coll_target(c, &c->bufs[b], j->places, p);
		const int64_t n = rt_region_elements(&to);
		const struct rt_region row = {0, {1, 1, 1}, {0, 0, 0}, n};
		if (j->m->base.arena + to.base != from)
			rt_region_copy(j->m->base.arena, &to, from, &row, j->bytes);
		from += (size_t)n * j->bytes;
	}
}

static void
run_moves(struct job *j)
{
	struct mpi *m = j->m;
	const struct rt_coll *c = j->c;
	const size_t part = (size_t)rt_coll_part(c, j->places) * j->bytes;
	const bool same = c->kind != RT_SCATTER && c->kind != RT_ALLTOALL; /* for every receiver */
	for (int p = 0; p < j->places; p++)
		if (p != j->me && rt_coll_moves(c, p, j->me))
			start_receive(j, landing(j, p, m->in + (size_t)p * part), part, p);
	const char *packed = NULL;
	for (int q = 0; q < j->places; q++) {
		if (!rt_coll_moves(c, j->me, q))
			continue;
		if (!same || !packed)
			packed = pack(j, q, m->out + (same ? 0 : (size_t)q * part));
		if (q != j->me)
			start_send(j, packed, part, q);
		else
			unpack(j, q, packed);
	}
	finish_all(j);
	for (int p = 0; p < j->places; p++)
		if (p != j->me && rt_coll_moves(c, p, j->me))
			unpack(j, p, landing(j, p, m->in + (size_t)p * part));
}

/* Do all buffers lie one behind the other, as sources and as results? */
static bool
adjacent(const struct job *j)
{
	size_t length = 0;
	for (int b = 0; b < j->c->nbufs; b++) {
		const struct rt_buf *buf = &j->c->bufs[b];
		if (buf->src != j->c->bufs->src + length || buf->dst != j->c->bufs->dst + length)
			return false;
		length += (size_t)(buf->outer * buf->n * buf->inner) * j->bytes;
	}
	return true;
}

/* Adds what has been received and `own` into `result`, n elements. */
static void
sum_parts(struct job *j, const char *own, char *result, int64_t n)
{
	struct mpi *m = j->m;
	for (int p = 0; p < j->places; p++)
		m->sources[p] = p == j->me ? own : m->in + (size_t)p * (size_t)n * j->bytes;
	rt_sum(j->c->dtype, result, m->sources, j->places, n);
}

static void
run_reducescatter(struct job *j)
{
	struct mpi *m = j->m;
	const int64_t n = rt_coll_part(j->c, j->places);
	const size_t part = (size_t)n * j->bytes;
	for (int p = 0; p < j->places; p++)
		if (p != j->me)
			start_receive(j, m->in + (size_t)p * part, part, p);
	const char *own = NULL;
	for (int q = 0; q < j->places; q++) {
		const char *packed = pack(j, q, m->out + (size_t)q * part);
		if (q == j->me)
			own = packed;
		else
			start_send(j, packed, part, q);
	}
	finish_all(j);
	char *result = landing(j, 0, m->in + (size_t)j->me * part);
	sum_parts(j, own, result, n);
	unpack(j, 0, result);
}

/* Where part p of a sum begins; the last parts may be shorter or empty. */
static int64_t
part_begin(const struct job *j, int p)
{
	return p * j->share < j->total ? p * j->share : j->total;
}

static size_t
part_bytes(const struct job *j, int p)
{
	return (size_t)(part_begin(j, p + 1) - part_begin(j, p)) * j->bytes;
}

/* First half of a sum: this place's part from everybody, added into `result`. */
static void
exchange_and_add(struct job *j, const char *row, char *result)
{
	struct mpi *m = j->m;
	const size_t mine = part_bytes(j, j->me);
	for (int p = 0; p < j->places; p++)
		if (p != j->me)
			start_receive(j, m->in + (size_t)p * mine, mine, p);
	for (int q = 0; q < j->places; q++)
		if (q != j->me)
			start_send(
				j, row + (size_t)part_begin(j, q) * j->bytes, part_bytes(j, q), q);
	finish_all(j);
	sum_parts(j, row + (size_t)part_begin(j, j->me) * j->bytes, result,
		part_begin(j, j->me + 1) - part_begin(j, j->me));
}

/* Allreduce and reduce. */
static void
run_sums(struct job *j)
{
	struct mpi *m = j->m;
	const struct rt_coll *c = j->c;
	const bool direct = adjacent(j), gets = rt_coll_moves(c, 0, j->me);
	j->total = rt_coll_part(c, j->places);
	j->share = (j->total + j->places - 1) / j->places;
	const char *row = direct ? m->base.arena + c->bufs->src : pack(j, 0, m->out);
	/* A place that does not get the sum must not touch its result. */
	char *sum = direct && gets ? m->base.arena + c->bufs->dst : m->out;
	char *result = sum + (size_t)part_begin(j, j->me) * j->bytes;
	exchange_and_add(j, row, result);
	for (int p = 0; p < j->places && gets; p++)
		if (p != j->me)
			start_receive(
				j, sum + (size_t)part_begin(j, p) * j->bytes, part_bytes(j, p), p);
	for (int q = 0; q < j->places; q++)
		if (q != j->me && rt_coll_moves(c, 0, q))
			start_send(j, result, part_bytes(j, j->me), q);
	finish_all(j);
	if (!direct && gets)
		unpack(j, 0, sum);
}

static void
mpi_run(struct rt_transport *base, const struct rt_coll *c, int64_t posted_ns)
{
	(void)posted_ns;
	struct mpi *m = (struct mpi *)base;
	struct job j = {.m = m,
		.c = c,
		.comm = m->comms[c->axis],
		.places = m->places[c->axis],
		.me = m->place[c->axis],
		.bytes = rt_dtype_bytes(c->dtype)};
	if (c->kind == RT_REDUCESCATTER)
		run_reducescatter(&j);
	else if (c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE)
		run_sums(&j);
	else
		run_moves(&j);
}

static void
mpi_free(struct rt_transport *base)
{
	struct mpi *m = (struct mpi *)base;
	for (int a = 0; a < base->prog->naxes; a++)
		if (m->comms[a] != MPI_COMM_NULL)
			MPI_Comm_free(&m->comms[a]);
	free(m->out);
	free(m->in);
	free(m->requests);
	free(m->partners);
	free(m->sources);
	free(m);
}

static const struct rt_transport_ops mpi_ops = {mpi_run, mpi_free};

/* Memory for the largest collective. A slot is a part, or the share of a sum, rounded up. */
static bool
allocate(struct mpi *m)
{
	const struct rt_program *p = m->base.prog;
	size_t out = 1, in = 1, pieces = 1, places = 1;
	for (int i = 0; i < p->ncolls; i++) {
		const struct rt_coll *c = &p->colls[i];
		const size_t n = (size_t)m->places[c->axis];
		const size_t part = (size_t)rt_coll_part(c, (int)n) * rt_dtype_bytes(c->dtype);
		const bool sums = c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE;
		const size_t all = sums ? part + n * rt_dtype_bytes(c->dtype) : n * part;
		const size_t cuts = 2 * n * (part / PIECE + 1);
		out = all > out ? all : out;
		in = all > in ? all : in;
		pieces = cuts > pieces ? cuts : pieces;
		places = n > places ? n : places;
	}
	m->base.bytes = out + in;
	m->out = malloc(out);
	m->in = malloc(in);
	m->requests = malloc(pieces * sizeof *m->requests);
	m->partners = malloc(pieces * sizeof *m->partners);
	m->sources = malloc(places * sizeof *m->sources);
	return m->out && m->in && m->requests && m->partners && m->sources;
}

struct rt_transport *
rt_mpi_transport(const struct rt_program *prog, const struct rt_world *w, const int64_t *coord)
{
	struct mpi *m = calloc(1, sizeof *m);
	if (!m)
		return NULL;
	m->base.ops = &mpi_ops;
	m->base.prog = prog;
	memcpy(m->base.coord, coord, sizeof m->base.coord);
	m->remote = w->nlocal < w->nranks;
	m->base.haste.crowded = w->nlocal > sysconf(_SC_NPROCESSORS_ONLN);
	for (int a = 0; a < prog->naxes; a++) {
		m->comms[a] = MPI_COMM_NULL;
		if (prog->axes[a].is_time)
			continue;
		m->places[a] = (int)prog->axes[a].size;
		m->place[a] = (int)coord[a];
		const int group = w->rank - m->place[a] * (int)rt_axis_stride(prog, a);
		MPI_Comm_split(MPI_COMM_WORLD, group, m->place[a], &m->comms[a]);
	}
	if (allocate(m))
		return &m->base;
	mpi_free(&m->base);
	return NULL;
}
