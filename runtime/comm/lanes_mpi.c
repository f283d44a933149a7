/* One phase of a collective between MPI ranks: lanes in pieces, a few of which are in flight at a
 * time.
 *
 * Between machines, pieces are short enough for MPI to send them at once. It asks the receiver
 * before it sends longer messages, and over TCP the answer queues after what the receiver itself
 * sends: two ranks that do not begin at the same moment then send one after the other, at half of
 * the bandwidth. Nothing needs an answer in the middle of a lane here:
 *
 *	receiver   posts its window | ready ->             | posts another piece for each that came
 *	sender     one window ------------>  <- waits for ready, once  | the rest ---------------->
 *
 * So a receiver that is late has at most a window of pieces to keep for each sender, and a lane of
 * no more than a window does not wait for anything.
 *
 * While the rank computes, messages are polled every POLL_NS only; MPI makes no progress otherwise,
 * and the core belongs to the computation. */
#include "runtime/comm/lanes_mpi.h"

#include "runtime/layout.h"
#include "runtime/trace/clock.h"
#include <sched.h>
#include <stdlib.h>

/* Between two polls while the rank computes: seldom enough to cost it less than a few percent. */
#define POLL_NS 50000
/* Before the first such pause: short messages have arrived by then. In time, as one poll may move
 * much. Between machines, if the rank only waits, as long as 16 KB take at 1 Gbit/s. */
#define EAGER_NS 30000
#define EAGER_REMOTE_NS 200000
/* Between two polls of messages from other machines when the rank only waits: the system's network
 * code or another rank may need the core, and a thread that never sleeps delays it until the next
 * tick, 4 ms. Arming the timer takes up to 40 us on a virtual machine, and a shorter pause is over
 * before the core is given away. Transfers in flight last longer. */
#define REMOTE_POLL_NS 50000
/* Polls before the core is yielded to another thread at each further one, if there are more ranks
 * than cores. */
#define LOOKS 200
/* The rank that is waited for is recorded after this time, for the watchdog, and then again at this
 * interval. */
#define NOTE_NS 500000000
/* Bytes of a piece. On one machine the limit is that MPI counts in int. Between machines it is what
 * Open MPI sends eagerly over TCP, btl_tcp_eager_limit, 64 KiB with its header. */
#define PIECE_LOCAL ((size_t)1 << 30)
#define PIECE_REMOTE ((size_t)63 << 10)
/* Pieces of a lane in flight. Between machines enough to keep the link busy between two polls, 4 ms
 * at 1 Gbit/s or 40 us at 100 Gbit/s. */
#define WINDOW_LOCAL 1
#define WINDOW_REMOTE 8

enum { TAG_PIECE, TAG_READY };

/* The pieces of the first part, then of the second; piece number k has request k % window. */
struct lane {
	char *at[2];
	size_t bytes[2];
	int64_t pieces[2]; /* of either part */
	int64_t limit;     /* pieces that may be in flight or complete */
	int64_t next;      /* the first one that is not started */
	int64_t ended;     /* the first one that is not complete */
	int partner;
	bool sends;
	bool held;  /* its receiver has not said yet that it is ready */
	bool waits; /* its ready message is in flight */
};

struct rt_lanes {
	const struct rt_transport *owner;
	bool remote;
	size_t piece;
	int window;
	int slots; /* requests of a lane: a window, and the ready message of its receiver */
	int n;
	struct lane *lanes;    /* [2 * places] */
	MPI_Request *requests; /* [2 * places * slots] */
	int *ended;            /* [2 * places * slots]: numbers of requests that have */
};

struct rt_lanes *
rt_lanes_create(const struct rt_transport *owner, int places, bool remote)
{
	struct rt_lanes *l = calloc(1, sizeof *l);
	const size_t most = 2 * (size_t)places;
	if (!l)
		return NULL;
	l->owner = owner;
	l->remote = remote;
	l->piece = remote ? PIECE_REMOTE : PIECE_LOCAL;
	l->window = remote ? WINDOW_REMOTE : WINDOW_LOCAL;
	l->slots = l->window + 1;
	l->lanes = malloc(most * sizeof *l->lanes);
	l->requests = malloc(most * (size_t)l->slots * sizeof *l->requests);
	l->ended = malloc(most * (size_t)l->slots * sizeof *l->ended);
	if (l->lanes && l->requests && l->ended)
		return l;
	rt_lanes_free(l);
	return NULL;
}

void
rt_lanes_free(struct rt_lanes *l)
{
	if (!l)
		return;
	free(l->lanes);
	free(l->requests);
	free(l->ended);
	free(l);
}

static int64_t
pieces_of(const struct rt_lanes *l, size_t bytes)
{
	return (int64_t)((bytes + l->piece - 1) / l->piece);
}

static void
add(struct rt_lanes *l, char *at, size_t bytes, int partner, bool sends)
{
	const int64_t pieces = pieces_of(l, bytes);
	l->lanes[l->n++] = (struct lane){.at = {at},
		.bytes = {bytes},
		.pieces = {pieces},
		.limit = pieces,
		.partner = partner,
		.sends = sends};
}

static void
then(struct rt_lanes *l, char *at, size_t bytes)
{
	struct lane *lane = &l->lanes[l->n - 1];
	lane->at[1] = at;
	lane->bytes[1] = bytes;
	lane->pieces[1] = pieces_of(l, bytes);
}

void
rt_lanes_send(struct rt_lanes *l, const char *from, size_t bytes, int to)
{
	add(l, (char *)(uintptr_t)from, bytes, to, true);
}

void
rt_lanes_receive(struct rt_lanes *l, char *to, size_t bytes, int from)
{
	add(l, to, bytes, from, false);
}

void
rt_lanes_then_send(struct rt_lanes *l, const char *from, size_t bytes)
{
	then(l, (char *)(uintptr_t)from, bytes);
}

void
rt_lanes_then_receive(struct rt_lanes *l, char *to, size_t bytes)
{
	then(l, to, bytes);
}

static int64_t
all_pieces(const struct lane *lane)
{
	return lane->pieces[0] + lane->pieces[1];
}

static bool
has_ended(const struct lane *lane)
{
	return !lane->waits && lane->ended == all_pieces(lane);
}

/* Sends or receives piece number `next`. */
static void
start_piece(struct rt_lanes *l, struct lane *lane, MPI_Request *request, MPI_Comm comm)
{
	const int part = lane->next >= lane->pieces[0];
	const size_t begin = (size_t)(lane->next - (part ? lane->pieces[0] : 0)) * l->piece;
	const size_t left = lane->bytes[part] - begin;
	const int n = (int)(left < l->piece ? left : l->piece);
	char *at = lane->at[part] + begin;
	if (lane->sends)
		MPI_Isend(at, n, MPI_BYTE, lane->partner, TAG_PIECE, comm, request);
	else
		MPI_Irecv(at, n, MPI_BYTE, lane->partner, TAG_PIECE, comm, request);
	lane->next++;
}

/* Records completed pieces, and starts as many as may be in flight. */
static void
advance(struct rt_lanes *l, struct lane *lane, MPI_Comm comm)
{
	MPI_Request *request = &l->requests[(lane - l->lanes) * l->slots];
	if (lane->waits && request[l->window] == MPI_REQUEST_NULL)
		lane->waits = lane->held = false;
	while (lane->ended < lane->next && request[lane->ended % l->window] == MPI_REQUEST_NULL)
		lane->ended++;
	const int64_t limit = lane->held && lane->limit > l->window ? l->window : lane->limit;
	while (lane->next < limit && lane->next < lane->ended + l->window)
		start_piece(l, lane, &request[lane->next % l->window], comm);
}

/* Starts a lane, and its ready message if it has more than a window. */
static void
open_lane(struct rt_lanes *l, struct lane *lane, MPI_Comm comm)
{
	MPI_Request *request = &l->requests[(lane - l->lanes) * l->slots];
	MPI_Request *ready = &request[l->window];
	for (int i = 0; i < l->slots; i++)
		request[i] = MPI_REQUEST_NULL;
	lane->held = lane->sends && all_pieces(lane) > l->window;
	if (lane->held)
		MPI_Irecv(NULL, 0, MPI_BYTE, lane->partner, TAG_READY, comm, ready);
	lane->waits = lane->held;
	advance(l, lane, comm);
	if (lane->sends || all_pieces(lane) <= l->window)
		return;
	MPI_Isend(NULL, 0, MPI_BYTE, lane->partner, TAG_READY, comm, ready);
	lane->waits = true;
}

static struct lane *
find_lane(const struct rt_lanes *l, int partner, bool sends)
{
	for (int i = 0; i < l->n; i++)
		if (l->lanes[i].partner == partner && l->lanes[i].sends == sends)
			return &l->lanes[i];
	return NULL;
}

/* Bytes of the first parts that have come from all places; 0 if nothing is received. */
static int64_t
common_pieces(const struct rt_lanes *l)
{
	int64_t common = -1;
	for (int i = 0; i < l->n; i++) {
		const struct lane *lane = &l->lanes[i];
		const int64_t first = lane->pieces[0];
		const int64_t came = lane->ended < first ? lane->ended : first;
		if (!lane->sends && (common < 0 || came < common))
			common = came;
	}
	return common < 0 ? 0 : common;
}

/* The same once all first parts have come. */
static int64_t
first_pieces(const struct rt_lanes *l)
{
	for (int i = 0; i < l->n; i++)
		if (!l->lanes[i].sends)
			return l->lanes[i].pieces[0];
	return 0;
}

/* Lets second parts continue: sends as far as the data has been made, receives as far as their
 * memory is no longer sent from. */
static void
raise_limits(struct rt_lanes *l, int64_t made)
{
	for (int i = 0; i < l->n; i++) {
		struct lane *lane = &l->lanes[i];
		const struct lane *other = lane->sends ? NULL : find_lane(l, lane->partner, true);
		const int64_t free = lane->sends ? made : other ? other->ended : INT64_MAX;
		const int64_t most = free < lane->pieces[1] ? free : lane->pieces[1];
		lane->limit = lane->pieces[0] + most;
	}
}

/* Records the first rank whose part has not arrived, or that is not ready to receive. */
static void
note_missing(const struct rt_lanes *l, const struct rt_coll *c)
{
	const struct rt_transport *t = l->owner;
	const struct lane *missing = NULL;
	for (int i = 0; i < l->n && (!missing || missing->sends); i++)
		if (!has_ended(&l->lanes[i]) && (!missing || !l->lanes[i].sends))
			missing = &l->lanes[i];
	if (!missing)
		return;
	const int64_t stride = rt_axis_stride(t->prog, c->axis);
	const int64_t steps = missing->partner - t->coord[c->axis];
	RT_PUT(t->activity->from, (int32_t)(RT_GET(t->activity->rank) + steps * stride + 1));
}

/* Between two polls: the last one found nothing. Pauses begin now, not before that poll: over TCP a
 * poll takes longer than a pause, and a rank that never sleeps keeps another one off its core until
 * the next tick. */
static void
pause_looking(const struct rt_lanes *l, unsigned looks, bool eager)
{
	const struct rt_haste *haste = &l->owner->haste;
	if (!rt_is_urgent(haste) && !eager)
		rt_sleep_until_ns(rt_now_ns() + POLL_NS);
	else if (l->remote && !eager)
		rt_sleep_until_ns(rt_now_ns() + REMOTE_POLL_NS);
	else if (looks > LOOKS && haste->crowded)
		sched_yield();
}

/* How long to poll without a pause at first. */
static int64_t
eager_ns(const struct rt_lanes *l)
{
	return l->remote && rt_is_urgent(&l->owner->haste) ? EAGER_REMOTE_NS : EAGER_NS;
}

/* Continues the lanes after a poll; returns whether all have ended. */
static bool
advance_all(struct rt_lanes *l, MPI_Comm comm)
{
	bool all = true;
	for (int i = 0; i < l->n; i++) {
		advance(l, &l->lanes[i], comm);
		all &= has_ended(&l->lanes[i]);
	}
	return all;
}

/* Hands over the bytes that have come from all places, and continues second parts. Returns whether
 * the first parts are complete. */
static bool
hand_over(struct rt_lanes *l, int64_t *made, void (*came)(void *arg, size_t bytes), void *arg)
{
	const int64_t common = common_pieces(l);
	const bool more = came && common > *made;
	if (more) {
		came(arg, (size_t)common * l->piece);
		*made = common;
	}
	raise_limits(l, *made);
	return more && common == first_pieces(l);
}

void
rt_lanes_wait(struct rt_lanes *l, MPI_Request *request)
{
	const struct rt_transport *t = l->owner;
	const int64_t eager = rt_now_ns() + eager_ns(l);
	int ended = 0;
	for (unsigned looks = 0;; looks++) {
		MPI_Test(request, &ended, MPI_STATUS_IGNORE);
		if (ended)
			return;
		if (rt_activity_ended(t->activity))
			MPI_Abort(MPI_COMM_WORLD, RT_EXIT_RUN);
		pause_looking(l, looks, rt_now_ns() <= eager);
	}
}

void
rt_lanes_run(struct rt_lanes *l, const struct rt_coll *c, MPI_Comm comm,
	void (*came)(void *arg, size_t bytes), void *arg)
{
	const struct rt_transport *t = l->owner;
	int64_t made = 0;
	for (int i = 0; i < l->n; i++)
		open_lane(l, &l->lanes[i], comm);
	hand_over(l, &made, came, arg);
	bool all = advance_all(l, comm);
	int64_t eager = rt_now_ns() + eager_ns(l), note = eager + NOTE_NS;
	for (unsigned looks = 0; !all; looks++) {
		int ended = 0;
		MPI_Testsome(l->n * l->slots, l->requests, &ended, l->ended, MPI_STATUSES_IGNORE);
		const int64_t now = rt_now_ns();
		if (now > note && t->activity) {
			note_missing(l, c);
			note = now + NOTE_NS;
		}
		if (rt_activity_ended(t->activity))
			MPI_Abort(MPI_COMM_WORLD, RT_EXIT_RUN);
		if (ended <= 0) {
			pause_looking(l, looks, now <= eager);
			continue;
		}
		advance_all(l, comm);
		if (hand_over(l, &made, came, arg))
			eager = rt_now_ns() + EAGER_NS;
		all = advance_all(l, comm);
	}
	l->n = 0;
}
