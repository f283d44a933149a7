/* Collectives between MPI processes, with point-to-point messages and our own sums, because a sum
 * must be computed in the order of the places, however many there are.
 *
 *	moves: every place sends each other place its part
 *	sums:  the message is cut into one part per place; each place gets its part from
 *	       all others, adds it up, and sends the result to all that need it
 *
 * Every place begins with the place after it and ends with the one before: if all began with place
 * 0, its link would carry all of the first parts while the others had nothing to receive.
 *
 * With rt_program.library an allreduce, an allgather or a reducescatter of a type that MPI knows is
 * the library's own instead, in whose order it adds.
 *
 * Parts go straight from and to the arena where they lie in one piece there, else through staging
 * memory, which is allocated once, for the largest collective. How bytes get from one rank to
 * another is in lanes_mpi.c. */
#include "runtime/comm/lanes_mpi.h"
#include "runtime/layout.h"
#include "runtime/comm/region.h"
#include "runtime/comm/sum.h"
#include "runtime/comm/transport.h"
#include <limits.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct mpi {
	struct rt_transport base;
	MPI_Comm comms[RT_MAX_AXES]; /* MPI_COMM_NULL for time axes */
	int places[RT_MAX_AXES], place[RT_MAX_AXES];
	char *out, *in; /* staging: data to send; one slot per place for received data */
	struct rt_lanes *lanes;
	const void **sources; /* [most places of an axis] */
};

/* One collective in flight. */
struct job {
	struct mpi *m;
	const struct rt_coll *c;
	MPI_Comm comm;
	int places, me;
	size_t bytes;         /* of an element */
	int64_t total, share; /* of a sum: all elements, and those that one place adds */
};

/* The k-th place that this one sends to; k = 0: itself. */
static int
receiver(const struct job *j, int k)
{
	return (j->me + k) % j->places;
}

/* The place that has this one as its k-th receiver. */
static int
sender(const struct job *j, int k)
{
	return (j->me - k + j->places) % j->places;
}

/* A region that lies in one piece. */
static bool
solid(const struct rt_region *r)
{
	return r->counts[0] == 1 && r->counts[1] == 1 &&
	       (r->counts[2] == 1 || r->strides[2] == r->run);
}

/* The data that this place sends to q, contiguous: in the arena, or packed into `room`. */
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

/* The contiguous memory that receives p's data: in the arena, or `room`, to be unpacked. */
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
	for (int k = 1; k < j->places; k++) {
		const int p = sender(j, k);
		if (rt_coll_moves(c, p, j->me))
			rt_lanes_receive(
				m->lanes, landing(j, p, m->in + (size_t)p * part), part, p);
	}
	const char *packed = NULL;
	for (int k = 0; k < j->places; k++) {
		const int q = receiver(j, k);
		if (!rt_coll_moves(c, j->me, q))
			continue;
		if (!same || !packed)
			packed = pack(j, q, m->out + (same ? 0 : (size_t)q * part));
		if (q != j->me)
			rt_lanes_send(m->lanes, packed, part, q);
		else
			unpack(j, q, packed);
	}
	rt_lanes_run(m->lanes, j->c, j->comm, NULL, NULL);
	for (int p = 0; p < j->places; p++)
		if (p != j->me && rt_coll_moves(c, p, j->me))
			unpack(j, p, landing(j, p, m->in + (size_t)p * part));
}

/* Are all buffers contiguous in order, as sources and as results? */
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

/* Adds up the parts of the others, as far as they have arrived. */
struct addition {
	struct job *j;
	const char *own; /* this place's part */
	char *result;
	size_t bytes, done; /* of the part; completed bytes of the result */
};

static void
add_up(void *arg, size_t came)
{
	struct addition *a = arg;
	struct mpi *m = a->j->m;
	const size_t end = came < a->bytes ? came : a->bytes;
	for (int p = 0; p < a->j->places; p++)
		m->sources[p] = (p == a->j->me ? a->own : m->in + (size_t)p * a->bytes) + a->done;
	rt_sum(a->j->c->dtype, a->result + a->done, m->sources, a->j->places,
		(int64_t)((end - a->done) / a->j->bytes));
	a->done = end;
}

static void
run_addition(struct addition *a)
{
	rt_lanes_run(a->j->m->lanes, a->j->c, a->j->comm, add_up, a);
	if (a->done < a->bytes) /* this is the only place */
		add_up(a, a->bytes);
}

static void
run_reducescatter(struct job *j)
{
	struct mpi *m = j->m;
	const size_t part = (size_t)rt_coll_part(j->c, j->places) * j->bytes;
	struct addition a = {.j = j, .bytes = part};
	for (int k = 1; k < j->places; k++) {
		const int p = sender(j, k);
		rt_lanes_receive(m->lanes, m->in + (size_t)p * part, part, p);
	}
	for (int k = 0; k < j->places; k++) {
		const int q = receiver(j, k);
		const char *packed = pack(j, q, m->out + (size_t)q * part);
		if (q == j->me)
			a.own = packed;
		else
			rt_lanes_send(m->lanes, packed, part, q);
	}
	a.result = landing(j, 0, m->in + (size_t)j->me * part);
	run_addition(&a);
	unpack(j, 0, a.result);
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

/* A sum whose parts are all in `sum` at the end, where it is wanted: lanes of this place's data for
 * another place and then its own result; its own part from every place and then their results. */
static void
add_sum_lanes(struct job *j, const char *row, char *sum, const struct addition *a)
{
	struct mpi *m = j->m;
	const bool gets = rt_coll_moves(j->c, 0, j->me);
	for (int k = 1; k < j->places; k++) {
		const int p = sender(j, k), q = receiver(j, k);
		const size_t from = (size_t)part_begin(j, p) * j->bytes,
			     to = (size_t)part_begin(j, q) * j->bytes;
		rt_lanes_receive(m->lanes, m->in + (size_t)p * a->bytes, a->bytes, p);
		if (gets)
			rt_lanes_then_receive(m->lanes, sum + from, part_bytes(j, p));
		rt_lanes_send(m->lanes, row + to, part_bytes(j, q), q);
		if (rt_coll_moves(j->c, 0, q))
			rt_lanes_then_send(m->lanes, a->result, a->bytes);
	}
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
	const size_t mine = (size_t)part_begin(j, j->me) * j->bytes;
	struct addition a = {j, row + mine, sum + mine, part_bytes(j, j->me), 0};
	add_sum_lanes(j, row, sum, &a);
	run_addition(&a);
	if (!direct && gets)
		unpack(j, 0, sum);
}

/* --- collectives of the library --- */

/* MPI's type of elements that it can add; it has none for 16-bit floats. */
static MPI_Datatype
library_type(enum rt_dtype dtype)
{
	switch (dtype) {
	case RT_f64: return MPI_DOUBLE;
	case RT_f32: return MPI_FLOAT;
	case RT_i64: return MPI_INT64_T;
	case RT_i32: return MPI_INT32_T;
	default: return MPI_DATATYPE_NULL;
	}
}

static void
library_allreduce(struct job *j, MPI_Datatype type)
{
	struct mpi *m = j->m;
	const struct rt_coll *c = j->c;
	const bool direct = adjacent(j);
	const int n = (int)rt_coll_part(c, j->places);
	const char *row = direct ? m->base.arena + c->bufs->src : pack(j, 0, m->out);
	char *sum = direct ? m->base.arena + c->bufs->dst : m->out;
	MPI_Request request;
	MPI_Iallreduce(row == sum ? MPI_IN_PLACE : row, sum, n, type, MPI_SUM, j->comm, &request);
	rt_lanes_wait(m->lanes, &request);
	if (!direct)
		unpack(j, 0, sum);
}

static void
library_allgather(struct job *j, MPI_Datatype type)
{
	struct mpi *m = j->m;
	const int n = (int)rt_coll_part(j->c, j->places);
	const size_t part = (size_t)n * j->bytes;
	MPI_Request request;
	MPI_Iallgather(pack(j, 0, m->out), n, type, m->in, n, type, j->comm, &request);
	rt_lanes_wait(m->lanes, &request);
	for (int p = 0; p < j->places; p++)
		unpack(j, p, m->in + (size_t)p * part);
}

static void
library_reducescatter(struct job *j, MPI_Datatype type)
{
	struct mpi *m = j->m;
	const int n = (int)rt_coll_part(j->c, j->places);
	const size_t part = (size_t)n * j->bytes;
	MPI_Request request;
	for (int q = 0; q < j->places; q++) {
		char *at = m->out + (size_t)q * part;
		const char *packed = pack(j, q, at);
		if (packed != at)
			memcpy(at, packed, part);
	}
	char *sum = landing(j, 0, m->in);
	MPI_Ireduce_scatter_block(m->out, sum, n, type, MPI_SUM, j->comm, &request);
	rt_lanes_wait(m->lanes, &request);
	unpack(j, 0, sum);
}

/* False, and nothing is done: the library lacks this kind or type, or its counts are too small. */
static bool
run_library(struct job *j)
{
	const MPI_Datatype type = library_type(j->c->dtype);
	if (type == MPI_DATATYPE_NULL || rt_coll_part(j->c, j->places) > INT_MAX)
		return false;
	switch (j->c->kind) {
	case RT_ALLREDUCE: library_allreduce(j, type); return true;
	case RT_ALLGATHER: library_allgather(j, type); return true;
	case RT_REDUCESCATTER: library_reducescatter(j, type); return true;
	default: return false;
	}
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
	if (m->base.prog->library && run_library(&j))
		return;
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
	rt_lanes_free(m->lanes);
	free(m->sources);
	free(m);
}

static const struct rt_transport_ops mpi_ops = {mpi_run, mpi_free};

/* Memory for the largest collective. A slot is a part, or the share of a sum, rounded up. */
static bool
allocate(struct mpi *m, bool remote)
{
	const struct rt_program *p = m->base.prog;
	size_t out = 1, in = 1, places = 1;
	for (int i = 0; i < p->ncolls; i++) {
		const struct rt_coll *c = &p->colls[i];
		const size_t n = (size_t)m->places[c->axis];
		const size_t part = (size_t)rt_coll_part(c, (int)n) * rt_dtype_bytes(c->dtype);
		const bool sums = c->kind == RT_ALLREDUCE || c->kind == RT_REDUCE;
		const size_t all = sums ? part + n * rt_dtype_bytes(c->dtype) : n * part;
		out = all > out ? all : out;
		in = all > in ? all : in;
		places = n > places ? n : places;
	}
	m->base.bytes = out + in;
	m->out = malloc(out);
	m->in = malloc(in);
	m->lanes = rt_lanes_create(&m->base, (int)places, remote);
	m->sources = malloc(places * sizeof *m->sources);
	return m->out && m->in && m->lanes && m->sources;
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
	m->base.haste.processors = (int)sysconf(_SC_NPROCESSORS_ONLN);
	m->base.haste.crowded = w->nlocal > m->base.haste.processors;
	for (int a = 0; a < prog->naxes; a++) {
		m->comms[a] = MPI_COMM_NULL;
		if (prog->axes[a].is_time)
			continue;
		m->places[a] = (int)prog->axes[a].size;
		m->place[a] = (int)coord[a];
		const int group = w->rank - m->place[a] * (int)rt_axis_stride(prog, a);
		MPI_Comm_split(MPI_COMM_WORLD, group, m->place[a], &m->comms[a]);
	}
	if (allocate(m, w->nlocal < w->nranks))
		return &m->base;
	mpi_free(&m->base);
	return NULL;
}
