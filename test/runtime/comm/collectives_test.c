/* Every collective on 1 to 4 places, alone and as one of several groups, in every element type,
 * with several buffers and strided ones, in one message and in several parts, against loops that
 * follow the definition in runtime/rt_program.h. */
#include <pthread.h>
#include <stdlib.h>
#include "passes/analysis/collective/collective.h"
#include "runtime/comm/engine.h"
#include "runtime/layout.h"
#include "runtime/comm/parts.h"
#include "runtime/comm/region.h"
#include "runtime/kernel/rng.h"
#include "runtime/data/value.h"
#include "test/unit.h"

enum { MAX_RANKS = 8, BUFS = 2, KINDS = RT_COLL_KINDS };

/* A program of one collective of every kind and number of buffers, on axis `axis`. */
struct fixture {
	struct rt_axis axes[3];
	struct rt_program prog;
	int places, ranks;
	struct rt_coll colls[3 * KINDS];
	struct rt_buf bufs[3 * KINDS][BUFS];
	struct rt_link link;
	unsigned char *before[MAX_RANKS], *after[MAX_RANKS];
	bool in_place; /* results of slices go where their sources are */
};

static int64_t
local_elements(const struct rt_coll *c, const struct rt_buf *b, int places, bool source)
{
	if (c->kind == RT_ALLTOALL)
		return b->outer * b->d1 * b->mid * b->d2 * b->inner / places;
	const bool whole = source ? c->kind == RT_SCATTER || c->kind == RT_REDUCESCATTER
				  : c->kind == RT_GATHER || c->kind == RT_ALLGATHER;
	return b->outer * b->n * b->inner * (whole ? places : 1);
}

/* Room in the arena for `bytes`, at an odd distance from the one before. */
static size_t
place_buffer(struct rt_program *prog, size_t bytes)
{
	const size_t at = (prog->arena_bytes + 63) / 64 * 64;
	prog->arena_bytes = at + bytes;
	return at;
}

static void
add_collective(struct fixture *f, enum rt_coll_kind kind, int nbufs, bool first_split, int axis,
	enum rt_dtype dtype)
{
	const int index = f->prog.ncolls++;
	struct rt_coll *c = &f->colls[index];
	*c = (struct rt_coll){.name = "c",
		.kind = kind,
		.axis = (uint8_t)axis,
		.dtype = dtype,
		.from = f->places - 1,
		.to = f->places / 2,
		.nbufs = nbufs,
		.bufs = f->bufs[index]};
	for (int b = 0; b < nbufs; b++) {
		struct rt_buf *buf = &f->bufs[index][b];
		*buf = (struct rt_buf){.outer = 3 - b,
			.n = 5 + 40 * b,
			.inner = 7,
			.d1 = 2 * f->places,
			.mid = 3 - b,
			.d2 = 3 * f->places,
			.first_split = first_split};
		const size_t bytes = rt_dtype_bytes(dtype);
		const int64_t from = local_elements(c, buf, f->places, true);
		const int64_t to = local_elements(c, buf, f->places, false);
		buf->src = place_buffer(&f->prog, (size_t)from * bytes);
		buf->dst = place_buffer(&f->prog, (size_t)to * bytes);
		const bool slices = kind == RT_ALLREDUCE || kind == RT_REDUCE ||
				    kind == RT_BROADCAST || kind == RT_SEND;
		if (f->in_place && slices)
			buf->dst = buf->src;
		c->bytes += (size_t)(from > to ? from : to) * bytes;
	}
}

/* Small numbers, so that no integer overflows and f16 sums are not infinite. */
static void
fill(struct fixture *f, int rank, enum rt_dtype dtype)
{
	unsigned char *arena = f->before[rank];
	const int64_t n = (int64_t)(f->prog.arena_bytes / rt_dtype_bytes(dtype));
	const bool exact = rt_dtype_info(dtype)->kind != RT_CLASS_FLOAT;
	for (int64_t i = 0; i < n; i++) {
		const double x = rt_normal((uint64_t)rank + 1, (uint64_t)i);
		rt_value_set(dtype, arena, i, exact ? (double)((int64_t)(x * 5) & 15) : x);
	}
	memcpy(f->after[rank], arena, f->prog.arena_bytes);
}

static void
set_up(struct fixture *f, int places, int others_before, int others_after, enum rt_dtype dtype,
	bool in_place)
{
	*f = (struct fixture){.places = places,
		.in_place = in_place,
		.axes = {{"before", others_before, false}, {"axis", places, false},
			{"after", others_after, false}}};
	f->ranks = others_before * places * others_after;
	f->prog = (struct rt_program){.naxes = 3, .axes = f->axes, .colls = f->colls};
	for (int kind = 0; kind < KINDS; kind++)
		for (int nbufs = 1; nbufs <= BUFS; nbufs++)
			add_collective(f, (enum rt_coll_kind)kind, nbufs, nbufs == 1, 1, dtype);
	add_collective(f, RT_ALLTOALL, 1, false, 1, dtype);
	for (int r = 0; r < f->ranks; r++) {
		f->before[r] = aligned_alloc(64, (f->prog.arena_bytes + 63) / 64 * 64);
		f->after[r] = aligned_alloc(64, (f->prog.arena_bytes + 63) / 64 * 64);
		fill(f, r, dtype);
	}
}

static void
tear_down(struct fixture *f)
{
	for (int r = 0; r < f->ranks; r++) {
		free(f->before[r]);
		free(f->after[r]);
	}
}

struct job {
	struct fixture *f;
	struct rt_world *world;
	struct rt_transport *transport;
	int repeats;
	pthread_t thread;
};

/* Posts everything, waits in another order, and posts the first again until the ring is full. */
static void *
run_rank(void *arg)
{
	struct job *j = arg;
	const struct rt_program *prog = &j->f->prog;
	int64_t coord[RT_MAX_AXES];
	rt_place_coords(prog, j->world->rank, coord);
	j->transport->arena = (char *)j->f->after[j->world->rank];
	struct rt_status st = {0};
	const struct rt_engine_setup setup = {.prog = prog,
		.world = j->world,
		.coord = coord,
		.arena = j->f->after[j->world->rank],
		.transport = j->transport};
	rt_agree(j->world, &st);
	struct rt_engine *e = rt_engine_host.create(&setup, &st);
	rt_agree(j->world, &st);
	for (int i = 0; i < prog->ncolls; i++)
		rt_engine_host.post(e, i);
	for (int i = prog->ncolls - 1; i >= 0; i -= 2)
		rt_engine_host.wait(e, i);
	for (int i = 0; i < j->repeats; i++)
		rt_engine_host.post(e, 0);
	rt_engine_host.wait(e, 0);
	rt_engine_host.drain(e);
	rt_engine_host.wait(e, 0);
	rt_agree(j->world, &st);
	rt_engine_host.destroy(e);
	j->transport->ops->free(j->transport);
	return NULL;
}

static void
run(struct fixture *f, int repeats)
{
	struct job jobs[MAX_RANKS];
	struct rt_world *worlds = rt_threads_world(f->ranks);
	struct rt_transport **transports = rt_threads_transports(&f->prog, f->ranks, f->link);
	assert_true(worlds && transports);
	for (int r = 0; r < f->ranks; r++) {
		jobs[r] = (struct job){.f = f,
			.world = &worlds[r],
			.transport = transports[r],
			.repeats = repeats};
		pthread_create(&jobs[r].thread, NULL, run_rank, &jobs[r]);
	}
	for (int r = 0; r < f->ranks; r++)
		pthread_join(jobs[r].thread, NULL);
	free(transports);
	rt_threads_world_free(worlds);
}

/* The arena of place p in the group of rank r. */
static unsigned char *
peer(struct fixture *f, int r, int p, bool before)
{
	const int stride = (int)rt_axis_stride(&f->prog, 1);
	const int me = r / stride % f->places;
	return (before ? f->before : f->after)[r + (p - me) * stride];
}

/* The sum of element i at `offset` over the places, rounded as the transports promise. */
static void
expect_sum(struct fixture *f, int r, enum rt_dtype t, size_t offset, int64_t i, void *out)
{
	const bool is_double = t == RT_f64;
	double sum = 0;
	for (int p = 0; p < f->places; p++) {
		const double x = rt_value_get(t, peer(f, r, p, true) + offset, i);
		sum = p ? (is_double ? sum + x : (double)((float)sum + (float)x)) : x;
	}
	rt_value_set(t, out, 0, sum);
}

/* What element i of the result of buffer b must be at rank r; false: what it was before. */
static bool
expect(struct fixture *f, int r, const struct rt_coll *c, const struct rt_buf *b, int64_t i,
	void *out)
{
	const int P = f->places;
	const int me = r / (int)rt_axis_stride(&f->prog, 1) % P;
	const size_t bytes = rt_dtype_bytes(c->dtype);
	int p = me;
	int64_t at = i;
	const int64_t inner = i % b->inner, rest = i / b->inner;
	switch (c->kind) {
	case RT_COLL_KINDS: return false;
	case RT_REDUCE:
		if (me != c->to)
			return false;
		/* fallthrough */
	case RT_ALLREDUCE: expect_sum(f, r, c->dtype, b->src, i, out); return true;
	case RT_REDUCESCATTER:
		at = ((rest / b->n * P + me) * b->n + rest % b->n) * b->inner + inner;
		expect_sum(f, r, c->dtype, b->src, at, out);
		return true;
	case RT_BROADCAST: p = c->from; break;
	case RT_SEND:
		if (me != c->to)
			return false;
		p = c->from;
		break;
	case RT_GATHER:
		if (me != c->to)
			return false;
		/* fallthrough */
	case RT_ALLGATHER:
		p = (int)(rest / b->n % P);
		at = (rest / (b->n * P) * b->n + rest % b->n) * b->inner + inner;
		break;
	case RT_SCATTER:
		p = c->from;
		at = ((rest / b->n * P + me) * b->n + rest % b->n) * b->inner + inner;
		break;
	case RT_ALLTOALL: {
		/* The index in the result, then in the global tensor, then in the source. */
		const int64_t y_local = b->first_split ? b->d2 / P : b->d2;
		const int64_t x_local = b->first_split ? b->d1 : b->d1 / P;
		int64_t y = rest % y_local, m = rest / y_local % b->mid;
		int64_t x = rest / (y_local * b->mid) % x_local;
		const int64_t o = rest / (y_local * b->mid * x_local);
		y += b->first_split ? me * y_local : 0;
		x += b->first_split ? 0 : me * x_local;
		const int64_t xs = b->first_split ? b->d1 / P : b->d1;
		const int64_t ys = b->first_split ? b->d2 : b->d2 / P;
		p = (int)(b->first_split ? x / xs : y / ys);
		at = (((o * xs + x % xs) * b->mid + m) * ys + y % ys) * b->inner + inner;
		break;
	}
	}
	memcpy(out, peer(f, r, p, true) + b->src + (size_t)at * bytes, bytes);
	return true;
}

static void
check_buffer(struct fixture *f, int r, const struct rt_coll *c, const struct rt_buf *b)
{
	const size_t bytes = rt_dtype_bytes(c->dtype);
	const int64_t n = local_elements(c, b, f->places, false);
	if (b->dst != b->src)
		assert_memory_equal(f->after[r] + b->src, f->before[r] + b->src,
			(size_t)local_elements(c, b, f->places, true) * bytes);
	for (int64_t i = 0; i < n; i++) {
		unsigned char want[8];
		const unsigned char *got = f->after[r] + b->dst + (size_t)i * bytes;
		if (!expect(f, r, c, b, i, want))
			memcpy(want, f->before[r] + b->dst + (size_t)i * bytes, bytes);
		if (memcmp(got, want, bytes))
			fail_msg("kind %d, %d buffers, type %s, rank %d of %d, element %lld: %g, "
				 "expected %g",
				c->kind, c->nbufs, rt_dtype_info(c->dtype)->name, r, f->ranks,
				(long long)i, rt_value_get(c->dtype, got, 0),
				rt_value_get(c->dtype, want, 0));
	}
}

static void
check(struct fixture *f)
{
	for (int r = 0; r < f->ranks; r++)
		for (int i = 0; i < f->prog.ncolls; i++)
			for (int b = 0; b < f->colls[i].nbufs; b++)
				check_buffer(f, r, &f->colls[i], &f->bufs[i][b]);
}

static bool
has_parts(const struct rt_coll *c)
{
	return c->kind == RT_ALLREDUCE || c->kind == RT_ALLGATHER || c->kind == RT_REDUCESCATTER;
}

static void
all_kinds_on_1_to_4_places(void **state)
{
	(void)state;
	for (int places = 1; places <= 4; places++) {
		struct fixture f;
		set_up(&f, places, 1, 1, RT_f32, false);
		run(&f, 0);
		check(&f);
		tear_down(&f);
	}
}

static void
all_kinds_in_place(void **state)
{
	(void)state;
	for (int places = 1; places <= 4; places++) {
		struct fixture f;
		set_up(&f, places, 1, 1, RT_f32, true);
		run(&f, 0);
		check(&f);
		tear_down(&f);
	}
}

static void
all_kinds_in_all_types(void **state)
{
	(void)state;
	for (int t = 0; t < RT_DTYPES; t++) {
		struct fixture f;
		set_up(&f, 3, 1, 1, (enum rt_dtype)t, false);
		run(&f, 0);
		check(&f);
		tear_down(&f);
	}
}

/* In parts: of one element, of a few in several runs and buffers, more parts than elements. */
static void
parts_change_no_result(void **state)
{
	(void)state;
	static const int parts[] = {2, 3, 7, 64, 945, 4096};
	for (int places = 1; places <= 4; places++)
		for (size_t i = 0; i < 2 * sizeof parts / sizeof *parts; i++) {
			struct fixture f;
			set_up(&f, places, 1, 1, i % 2 ? RT_f32 : RT_bf16, i % 2);
			for (int k = 0; k < f.prog.ncolls; k++)
				if (has_parts(&f.colls[k]))
					f.colls[k].parts = parts[i / 2];
			run(&f, 0);
			check(&f);
			tear_down(&f);
		}
}

/* Parts are all of the message, and as equal as elements let them be. */
static void
parts_are_nearly_equal(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f, 3, 1, 1, RT_f32, false);
	struct rt_buf room[3 * BUFS];
	for (int k = 0; k < f.prog.ncolls; k++)
		for (int n = 1; n < 50 && has_parts(&f.colls[k]); n++) {
			struct rt_coll c = f.colls[k];
			c.parts = n;
			const struct rt_program one = {.ncolls = 1, .colls = &c};
			assert_int_equal(rt_parts_room(&one), n > 1 ? 3 * c.nbufs : 0);
			size_t sum = 0, least = SIZE_MAX, most = 0;
			for (int i = 0; i < n; i++) {
				const struct rt_coll part = rt_part(&c, f.places, i, room);
				assert_true(part.nbufs <= (n > 1 ? 3 : 1) * c.nbufs);
				sum += part.bytes;
				least = part.bytes < least ? part.bytes : least;
				most = part.bytes > most ? part.bytes : most;
			}
			const size_t unit = c.kind == RT_ALLREDUCE ? 4 : 12;
			assert_int_equal(sum, c.bytes);
			assert_true(most - least <= unit);
		}
	tear_down(&f);
}

static void
groups_on_inner_and_outer_axes_stay_apart(void **state)
{
	(void)state;
	static const int shapes[][3] = {{2, 2, 1}, {2, 1, 2}, {4, 1, 2}, {2, 2, 2}};
	for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
		struct fixture f;
		set_up(&f, shapes[i][0], shapes[i][1], shapes[i][2], RT_f32, false);
		run(&f, 0);
		check(&f);
		tear_down(&f);
	}
}

static void
more_posts_than_the_ring_holds(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f, 2, 1, 1, RT_f32, false);
	run(&f, 1000);
	check(&f);
	tear_down(&f);
}

static void
an_emulated_link_changes_no_result(void **state)
{
	(void)state;
	struct fixture f;
	set_up(&f, 2, 2, 1, RT_f32, false);
	f.link = (struct rt_link){1e9, 20e-6};
	run(&f, 0);
	check(&f);
	tear_down(&f);
}

/* What a description of the link says of a ring is what the emulated link takes. */
static void
an_emulated_link_takes_as_long_as_the_cost_model_says(void **state)
{
	(void)state;
	const double alpha = 3e-5, beta = 2e9;
	for (int kind = 0; kind < KINDS; kind++)
		for (int places = 1; places <= MAX_RANKS; places++) {
			const struct rt_coll c = {.kind = (enum rt_coll_kind)kind, .bytes = 840000};
			const double emulated = rt_coll_wire_turns(&c, places) * alpha +
						rt_coll_wire_bytes(&c, places) / beta;
			const double model = collective_ring_seconds(
				c.kind, places, (double)c.bytes, alpha, beta);
			assert_float_equal(emulated, model, 1e-12);
		}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_kinds_on_1_to_4_places),
		cmocka_unit_test(all_kinds_in_place),
		cmocka_unit_test(all_kinds_in_all_types),
		cmocka_unit_test(parts_change_no_result),
		cmocka_unit_test(parts_are_nearly_equal),
		cmocka_unit_test(groups_on_inner_and_outer_axes_stay_apart),
		cmocka_unit_test(more_posts_than_the_ring_holds),
		cmocka_unit_test(an_emulated_link_changes_no_result),
		cmocka_unit_test(an_emulated_link_takes_as_long_as_the_cost_model_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
