/*
 * Memory: rooms against counting every byte at every moment; steps against values worked out by
 * hand; random steps against what the actions of the lowered program touch.
 */
#include "ir/memory/curve.h"
#include "ir/memory/place.h"
#include "lower/plan/plan.h"
#include "parser/dir/parse.h"
#include "passes/analysis/cost/memory.h"
#include "passes/manager/pipeline.h"
#include "test/file.h"
#include "test/unit.h"

#include <stdlib.h>
#include <string.h>

enum { KB = 1024 };

struct fixture {
	struct ir_context *ctx;
};

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	f->ctx = ir_context_create(f);
	*state = f;
	return 0;
}

static struct ir_module *
module(struct fixture *f, const char *text)
{
	const struct parse_options o = {.inline_calls = true};
	struct ir_module *m = parse_module(f, f->ctx, "test.dir", text, strlen(text), &o);
	assert_non_null(m);
	return m;
}

static struct memory_report
evaluate(struct ir_module *m)
{
	struct memory_report r;
	memory_evaluate(m, ir_func_find(m, "main"), NULL, &r);
	return r;
}

static unsigned
next(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (unsigned)(*state >> 33);
}

/* Rooms of a random trial: short and long lives, sizes of all magnitudes. */
static uint32_t
random_rooms(uint64_t *seed, struct storage_room *room, uint32_t most)
{
	uint32_t n = next(seed) % (most + 1), moments = 1 + next(seed) % (2 * most);
	for (uint32_t i = 0; i < n; i++) {
		uint32_t first = next(seed) % moments;
		uint32_t life = next(seed) % (next(seed) % 4 ? 6 : moments);
		room[i] = (struct storage_room){
			64 * (uint64_t)(1 + next(seed) % (1 << next(seed) % 8)), first,
			first + life, 0, 0, 0};
	}
	return n;
}

static uint64_t
live_by_counting(const struct storage_room *room, uint32_t n, uint32_t *at)
{
	uint64_t peak = 0;
	*at = 0;
	for (uint32_t p = 0; p < 200; p++) {
		uint64_t sum = 0;
		for (uint32_t i = 0; i < n; i++)
			sum += room[i].first <= p && p <= room[i].last ? room[i].bytes : 0;
		*at = sum > peak ? p : *at;
		peak = sum > peak ? sum : peak;
	}
	return peak;
}

static void
the_peak_is_that_of_counting(void **state)
{
	(void)state;
	uint64_t seed = 1;
	for (int trial = 0; trial < 3000; trial++) {
		struct storage_room room[40];
		uint32_t n = random_rooms(&seed, room, 40), where, at;
		uint64_t peak = live_by_counting(room, n, &where);
		assert_int_equal(storage_live(room, n, &at), peak);
		assert_int_equal(at, where);
	}
}

/* Rooms that are added to a curve one after another, some of which are taken away again. */
static void
the_most_of_a_curve_is_that_of_counting(void **state)
{
	(void)state;
	uint64_t seed = 7, none[200] = {0};
	for (int trial = 0; trial < 300; trial++) {
		struct storage_room room[40];
		uint32_t n = random_rooms(&seed, room, 40), at, kept = 0;
		struct live_curve *c = live_curve_create(NULL, none, 200);
		for (uint32_t i = 0; i < n; i++) {
			const struct storage_room r = room[i];
			live_curve_add(c, r.first, r.last, (int64_t)r.bytes);
			room[kept++] = r;
			assert_int_equal(live_curve_most(c), live_by_counting(room, kept, &at));
			if (next(&seed) % 3)
				continue;
			live_curve_add(c, r.first, r.last, -(int64_t)r.bytes);
			kept--;
			assert_int_equal(live_curve_most(c), live_by_counting(room, kept, &at));
		}
		live_curve_add(c, 5, 4, 1000);
		assert_int_equal(live_curve_most(c), live_by_counting(room, kept, &at));
		talloc_free(c);
	}
}

/* Some of the rooms become rows of two or more. */
static void
join_rooms(uint64_t *seed, struct storage_room *room, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (next(seed) % 4 == 0) {
			room[i - 1].row = room[i - 1].row ? room[i - 1].row : (int32_t)i;
			room[i].row = room[i - 1].row;
		}
}

/* No two rooms share a byte while both live; the end is the highest; rows lie one behind the other. */
static void
check_offsets(const struct storage_room *room, uint32_t n, uint64_t end)
{
	uint64_t highest = 0;

	for (uint32_t i = 0; i < n; i++) {
		const struct storage_room *a = &room[i];
		highest = a->offset + a->bytes > highest ? a->offset + a->bytes : highest;
		assert_int_equal(a->offset % 64, 0);
		if (i && a->row && a->row == room[i - 1].row)
			assert_int_equal(a->offset, room[i - 1].offset + room[i - 1].bytes);
		for (uint32_t k = 0; k < i; k++) {
			const struct storage_room *b = &room[k];
			bool both = a->first <= b->last && b->first <= a->last &&
				    (a->home < 0 || b->home < 0 || a->home == b->home);
			assert_false(both && a->offset < b->offset + b->bytes &&
				     b->offset < a->offset + a->bytes);
		}
	}
	assert_int_equal(end, highest);
}

/* What lives at one moment in the fullest home. */
static uint64_t
live_in_homes(const struct storage_room *room, uint32_t n, uint32_t homes)
{
	struct storage_room here[60];
	uint64_t most = 0;
	uint32_t at;

	for (uint32_t h = 0; h < homes; h++) {
		uint32_t m = 0;
		for (uint32_t i = 0; i < n; i++)
			if (room[i].home < 0 || room[i].home == (int32_t)h)
				here[m++] = room[i];
		const uint64_t live = live_by_counting(here, m, &at);
		most = live > most ? live : most;
	}
	return most;
}

/* Some rooms are in one of several homes alone: they share bytes with those of others, and with no more. */
static void
rooms_of_homes(void **state)
{
	enum { TRIALS = 300, HOMES = 3 };
	uint64_t seed = 7, all = 0, ends = 0, live = 0;
	(void)state;

	for (int trial = 0; trial < TRIALS; trial++) {
		struct storage_room room[60];
		const uint32_t n = random_rooms(&seed, room, 60);
		for (uint32_t i = 0; i < n; i++)
			room[i].home = -1;
		all += storage_place(room, n, HOMES, 0);
		for (uint32_t i = 0; i < n; i++)
			room[i].home = (int32_t)(next(&seed) % (HOMES + 1)) - 1;
		const uint64_t end = storage_place(room, n, HOMES, 0),
			       least = live_in_homes(room, n, HOMES);
		check_offsets(room, n, end);
		assert_true(end >= least);
		ends += end;
		live += least;
	}
	print_message("rooms of homes: %.2f %% over what lives, %.0f %% of one home\n",
		100 * ((double)ends / (double)live - 1), 100 * (double)ends / (double)all);
	assert_true((double)ends < 1.05 * (double)live && (double)ends < 0.9 * (double)all);
}

/* Places random rooms, in an order and by a sweep, also until the end is low enough; what lives fits. Returns the mean
 * of what the end is over what lives. */
static double
place_random(uint64_t seed, bool rows)
{
	double more = 0;
	enum { TRIALS = 1000 };
	for (int trial = 0; trial < TRIALS; trial++) {
		struct storage_room room[60], again[60];
		uint64_t swept[60];
		uint32_t n = random_rooms(&seed, room, 60), at;
		if (rows)
			join_rooms(&seed, room, n);
		memcpy(again, room, sizeof again);
		uint64_t end = storage_place(room, n, 1, 0);
		uint64_t live = live_by_counting(room, n, &at),
			 enough = live + next(&seed) % (live + 1);
		check_offsets(room, n, end);
		uint64_t soon = storage_place(again, n, 1, enough);
		check_offsets(again, n, soon);
		assert_true(end <= soon);
		assert_int_equal(soon <= enough, end <= enough);
		uint64_t quick = storage_place_swept(again, n, 1, enough);
		check_offsets(again, n, quick);
		assert_true(end <= quick);
		struct storage_sweep *sweeps = storage_sweep_create(NULL, room, n);
		for (int order = 0; order < SWEEPS; order++) {
			uint32_t from = at;
			uint64_t sweep =
				storage_sweep_run(sweeps, (enum storage_sweep_order)order, &from);
			storage_sweep_offsets(sweeps, swept);
			for (uint32_t i = 0; i < n; i++)
				again[i].offset = swept[i];
			check_offsets(again, n, sweep);
			assert_true(end <= sweep);
		}
		talloc_free(sweeps);
		assert_true(end >= live);
		more += live ? (double)(end - live) / (double)live : 0;
	}
	return more / TRIALS;
}

static void
rooms_that_live_at_one_time_share_no_byte(void **state)
{
	(void)state;
	const double more = place_random(2, false);
	print_message("random rooms: %.2f %% over what lives\n", 100 * more);
	assert_true(more < 0.01);
}

static void
rows_of_rooms_are_placed_as_one(void **state)
{
	(void)state;
	print_message("random rows: %.2f %% over what lives\n", 100 * place_random(3, true));
	/* A row is as long as its rooms are together, whenever they live; all else fits beside it.
	 */
	struct storage_room room[] = {{64, 4, 5, 0, 0, 0}, {128, 0, 1, 0, 1, 0},
		{64, 4, 5, 0, 1, 0}, {128, 2, 3, 0, 0, 0}};
	assert_int_equal(storage_place(room, 4, 1, 0), 192);
	assert_int_equal(room[2].offset, room[1].offset + 128);
}

/* Long lives inside of one another, short ones between them: packed without a gap. */
static void
nested_lives_leave_no_gap(void **state)
{
	(void)state;
	enum { LAYERS = 200, N = 3 * LAYERS };
	struct storage_room room[N];
	for (uint32_t i = 0; i < LAYERS; i++) {
		uint32_t back = 4 * LAYERS - 2 * i;
		room[3 * i] = (struct storage_room){64 * (1 + i % 7), 2 * i, back, 0, 0, 0};
		room[3 * i + 1] = (struct storage_room){6400, 2 * i, 2 * i + 1, 0, 0, 0};
		room[3 * i + 2] = (struct storage_room){3200, back, back + 1, 0, 0, 0};
	}
	uint64_t live = storage_live(room, N, NULL);
	assert_int_equal(storage_place(room, N, 1, 0), live);
}

/* The same with so many layers that only one order is tried, and few sizes: the first order has to be
 * good by itself for steps of layers that are alike. */
static void
deep_steps_are_placed_well_by_the_first_order(void **state)
{
	(void)state;
	enum { LAYERS = 50000, N = 4 * LAYERS };
	struct storage_room *room = talloc_array(NULL, struct storage_room, N);
	for (uint32_t i = 0; i < LAYERS; i++) {
		uint32_t there = 4 * i, back = 8 * LAYERS - 4 * i;
		room[4 * i] = (struct storage_room){640, there, back, 0, 0, 0};
		room[4 * i + 1] = (struct storage_room){640, there + 1, back - 1, 0, 0, 0};
		room[4 * i + 2] = (struct storage_room){64, there + 2, back - 2, 0, 0, 0};
		room[4 * i + 3] = (struct storage_room){1280, back, back + 2, 0, 0, 0};
	}
	const uint64_t live = storage_live(room, N, NULL);
	assert_int_equal(storage_place(room, N, 1, 0), live);
	talloc_free(room);
}

/* 100,000 rooms, each of which meets thousands, are placed in far less than quadratic time. */
static void
many_rooms(void **state)
{
	(void)state;
	enum { N = 100000 };
	struct storage_room *room = talloc_array(NULL, struct storage_room, N);
	for (uint32_t i = 0; i < N; i++)
		room[i] = (struct storage_room){64 * (1 + i % 5), i, 2 * N - i, 0, 0, 0};
	uint64_t live = storage_live(room, N, NULL);
	assert_int_equal(storage_place(room, N, 1, 0), live);
	talloc_free(room);
}

/* What is alive at each op of a step, in KB: every value here is 1 KB. */
static void
values_live_to_their_last_use(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256]\n"
					     "  %w = param(\"w\") : f32[256]\n"
					     "  %a = exp(%x)\n"     /* a */
					     "  %b = exp(%a)\n"     /* a b */
					     "  %c = add(%a, %b)\n" /* a b c: the peak */
					     "  %d = mul(%c, %c)\n" /* c d */
					     "  %e = add(%d, %w)\n" /* d e */
					     "  output(\"e\", %e)\n"
					     "}\n");
	struct memory_report r = evaluate(m);
	assert_int_equal(r.persistent, 2 * KB);
	assert_int_equal(r.peak, 5 * KB);
	assert_string_equal(r.at->result[0].name, "c");
}

static void
a_release_ends_nothing_early_and_a_late_one_extends(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256]\n"
					     "  %a = exp(%x)\n"
					     "  %b = exp(%a)\n"
					     "  %c = exp(%b)\n"
					     "  %d = exp(%c)\n"
					     "  release(%a)\n"
					     "  output(\"d\", %d)\n"
					     "}\n");
	/* x, a until its release, and two of b c d. */
	assert_int_equal(evaluate(m).peak, 4 * KB);
}

static void
a_collective_keeps_its_operands_until_its_result_is_used(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "mesh [dp = 2]\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256]\n"
					     "  %a = exp(%x)\n"
					     "  %p = partition(%a) {dim = 0, axis = dp}\n"
					     "  %g = allgather(%p) {axis = dp}\n"
					     "  %b = exp(%x)\n"
					     "  %c = exp(%b)\n"
					     "  %d = add(%c, %g)\n"
					     "  output(\"d\", %d)\n"
					     "}\n");
	struct memory_report r = evaluate(m);
	/* At %d: x, p (512), g, c, d; p's end is waited for here. */
	assert_int_equal(r.peak, 4 * KB + 512);
}

static void
views_and_params_made_in_place_take_nothing(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256]\n"
					     "  %w = param(\"w\") : f32[256]\n"
					     "  %r = reshape(%x) {shape = [16,16]}\n"
					     "  %s = reshape(%r) {shape = [256]}\n"
					     "  %n = sub(%w, %s)\n"
					     "  update(%w, %n)\n"
					     "}\n");
	assert_int_equal(evaluate(m).peak, 2 * KB);
	/* Whoever reads the old value later keeps both apart, to the end of the step. */
	m = module(*state, "module @m\n"
			   "func @main() {\n"
			   "  %x = input(\"x\") : f32[256]\n"
			   "  %w = param(\"w\") : f32[256]\n"
			   "  %n = sub(%w, %x)\n"
			   "  %o = exp(%w)\n"
			   "  update(%w, %n)\n"
			   "  output(\"o\", %o)\n"
			   "}\n");
	assert_int_equal(evaluate(m).peak, 4 * KB);
}

static void
slices_of_a_loop_are_kept_for_the_next_loop(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "steps [mb = 4]\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[1024/mb]\n"
					     "  %a = exp(%x)\n"
					     "  %b = exp(%a)\n"
					     "  %s = sum(%b) {dims = [0]}\n"
					     "  %t = reduce(%s) {axis = mb}\n"
					     "  %c = replicate(%t) {axis = mb}\n"
					     "  %d = mul(%a, %c)\n"
					     "  %e = combine(%d) {axis = mb}\n"
					     "  output(\"e\", %e)\n"
					     "}\n");
	/* x 4 KB; a, read by the second loop, 4 KB; e 4 KB; d 1 KB; t 64 bytes. */
	assert_int_equal(evaluate(m).peak, 13 * KB + 64);
}

/* One point of a curve in bytes. */
struct expected {
	const char *op; /* its first result; NULL: an op without one, or the end */
	uint64_t param, gradient, state, activation, io, communication, workspace;
};

static void
check_curve(const struct memory_curve *c, const struct expected *e, uint32_t n)
{
	assert_int_equal(c->n + 1, n);
	for (uint32_t p = 0; p < n; p++) {
		const struct memory_point *x = &c->point[p];
		const uint64_t want[MEMORY_NKINDS] = {[MEMORY_PARAM] = e[p].param,
			[MEMORY_GRADIENT] = e[p].gradient,
			[MEMORY_STATE] = e[p].state,
			[MEMORY_ACTIVATION] = e[p].activation,
			[MEMORY_IO] = e[p].io,
			[MEMORY_COMMUNICATION] = e[p].communication,
			[MEMORY_WORKSPACE] = e[p].workspace};
		uint64_t sum = 0;
		if (e[p].op)
			assert_string_equal(x->op->result[0].name, e[p].op);
		for (int k = 0; k < MEMORY_NKINDS; k++) {
			if (x->bytes[k] != want[k])
				fail_msg("point %u: %llu bytes of %s, not %llu", p,
					(unsigned long long)x->bytes[k],
					memory_kind_name((enum memory_kind)k),
					(unsigned long long)want[k]);
			sum += want[k];
		}
		assert_int_equal(x->live, sum);
	}
}

/* Offsets that are found in several calls, for less and less memory, are in the end those of one. */
static void
find_offsets(struct fixture *f, struct ir_module *m)
{
	struct ir_func *main = ir_func_find(m, "main");
	const struct storage *all = storage_create(f, m, main, NULL, NULL);
	struct storage *s = storage_create_unplaced(f, m, main, NULL, NULL);
	const uint64_t most = storage_allocated(all);

	assert_int_equal(memory_needs(s, UINT64_MAX), storage_in_use(all));
	assert_true(storage_fits_swept(s, 2 * all->arena_bytes));
	assert_in_range(s->arena_bytes, all->arena_bytes, 2 * all->arena_bytes);
	if (all->live_bytes)
		assert_false(storage_fits_swept(s, all->live_bytes - 1));
	assert_in_range(memory_needs(s, most + most / 2), storage_in_use(all), most + most / 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(memory_needs(s, i ? most : 0), most);
		for (uint32_t k = 0; k < s->nbuffers; k++)
			assert_int_equal(s->buffer[k].offset, all->buffer[k].offset);
	}
}

/* The curve; the one without kinds has the same ops and bytes. */
static struct memory_curve *
curve_of(struct fixture *f, struct ir_module *m)
{
	struct ir_func *main = ir_func_find(m, "main");
	struct memory_curve *c = memory_curve_create(f, m, main, NULL),
			    *live = memory_curve_create_live(f, m, main, NULL, NULL);

	assert_int_equal(live->n, c->n);
	assert_int_equal(live->peak, c->peak);
	for (uint32_t p = 0; p <= c->n; p++) {
		assert_ptr_equal(live->point[p].op, c->point[p].op);
		assert_int_equal(live->point[p].live, c->point[p].live);
	}
	find_offsets(f, m);
	return c;
}

/* Logits by 64 rows of the product at a time, and no tensor as large as they are: what is left is 64 rows of them, and the
 * double of the loss. */
static void
logits_are_not_kept_for_their_loss(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[256,16]\n"
					     "  %w = param(\"w\") : f32[16,70000]\n"
					     "  %y = input(\"y\") {range = 70000} : i32[256]\n"
					     "  %r = fuse(%x, %w, %y) {\n"
					     "    %z = matmul(%x, %w)\n"
					     "    %m = max(%z) {dims = [1], keep = true}\n"
					     "    %d = sub(%z, %m)\n"
					     "    %e = exp(%d)\n"
					     "    %s = sum(%e) {dims = [1], keep = true}\n"
					     "    %l = log(%s)\n"
					     "    %q = sub(%d, %l)\n"
					     "    %p = pick(%q, %y)\n"
					     "    %r = mean(%p)\n"
					     "    yield(%r)\n"
					     "  }\n"
					     "  output(\"r\", %r)\n"
					     "}\n");
	const uint64_t x = 256 * 16 * 4, w = 16 * 70000 * 4, y = 256 * 4, r = 64;
	assert_int_equal(evaluate(m).peak, x + w + y + r + 64 * 70000 * 4 + 64);
}

/* A step with momentum: what the op of each line leaves alive, worked out by hand. */
static void
a_curve_by_kind(void **state)
{
	struct ir_module *m =
		module(*state, "module @m\n"
			       "func @main() {\n"
			       "  %x = input(\"x\") : f32[32,16]\n" /* 2 KB, always */
			       "  %w = param(\"w\") : f32[16,16]\n" /* 1 KB, always */
			       "  %m = state(\"m\") : f32[16,16]\n" /* 1 KB, always */
			       "  %h = matmul(%x, %w)\n"            /* h */
			       "  %e = exp(%h)\n"                   /* h e: the peak */
			       "  %l = sum(%e)\n"                   /* e l */
			       "  output(\"l\", %l)\n"              /* e l: to the end */
			       "  %g = contract(%x, %e) {spec = \"bi,bj->ij\"}\n" /* e g l */
			       "  %n = add(%m, %g)\n" /* g l; n lies at m */
			       "  %v = sub(%w, %n)\n" /* l; v lies at w */
			       "  update(%m, %n)\n"
			       "  update(%w, %v)\n"
			       "}\n");
	static const struct expected want[] = {
		{"x", KB, 0, KB, 0, 2 * KB, 0, 0},
		{"w", KB, 0, KB, 0, 2 * KB, 0, 0},
		{"m", KB, 0, KB, 0, 2 * KB, 0, 0},
		{"h", KB, 0, KB, 2 * KB, 2 * KB, 0, 0},
		{"e", KB, 0, KB, 4 * KB, 2 * KB, 0, 0},
		{"l", KB, 0, KB, 2 * KB, 2 * KB + 64, 0, 0},
		{NULL, KB, 0, KB, 2 * KB, 2 * KB + 64, 0, 0},
		{"g", KB, KB, KB, 2 * KB, 2 * KB + 64, 0, 0},
		{"n", KB, KB, KB, 0, 2 * KB + 64, 0, 0},
		{"v", KB, 0, KB, 0, 2 * KB + 64, 0, 0},
		{NULL, KB, 0, KB, 0, 2 * KB + 64, 0, 0},
		{NULL, KB, 0, KB, 0, 2 * KB + 64, 0, 0},
		{NULL, KB, 0, KB, 0, 2 * KB + 64, 0, 0},
	};
	struct memory_curve *c = curve_of(*state, m);
	check_curve(c, want, sizeof want / sizeof *want);
	assert_int_equal(c->peak, 4);
	assert_string_equal(c->peak_name, "exp %e");
	assert_int_equal(c->allocated, 8 * KB);
	/* The largest first, of equals the older. */
	static const struct {
		const char *name;
		enum memory_kind kind;
		uint32_t first, last;
	} held[] = {{"%x", MEMORY_IO, 0, 12}, {"%h", MEMORY_ACTIVATION, 3, 4},
		{"%e", MEMORY_ACTIVATION, 4, 7}, {"%m", MEMORY_STATE, 0, 12},
		{"%w", MEMORY_PARAM, 0, 12}};
	assert_int_equal(c->nheld, 5);
	for (uint32_t i = 0; i < 5; i++) {
		assert_string_equal(c->held[i].name, held[i].name);
		assert_int_equal(c->held[i].kind, held[i].kind);
		assert_int_equal(c->held[i].first, held[i].first);
		assert_int_equal(c->held[i].last, held[i].last);
		assert_int_equal(c->held[i].bytes, i < 3 ? 2 * KB : KB);
	}
}

/* Fully sharded over two devices: a gathered param, a gradient that is summed and scattered. */
static void
a_curve_of_messages(void **state)
{
	struct ir_module *m = module(*state,
		"module @m\n"
		"mesh [dp = 2]\n"
		"func @main() {\n"
		"  %x = input(\"x\") : f32[32/dp,16]\n"            /* 1 KB */
		"  %w = param(\"w\") : f32[16/dp,16]\n"            /* 512 */
		"  %f = allgather(%w) {axis = dp}\n"               /* f */
		"  %h = matmul(%x, %f)\n"                          /* f h */
		"  %g = contract(%x, %h) {spec = \"bi,bj->ij\"}\n" /* h g */
		"  %r = reducescatter(%g) {dim = 0, axis = dp}\n"  /* g r */
		"  %v = sub(%w, %r)\n" /* g r: the end of the sum is waited for here */
		"  update(%w, %v)\n"
		"}\n"); /* and then 1 KB for what other ranks send */
	static const struct expected want[] = {
		{"x", 512, 0, 0, 0, KB, 0, 0},
		{"w", 512, 0, 0, 0, KB, 0, 0},
		{"f", 512, 0, 0, 0, KB, KB, 0},
		{"h", 512, 0, 0, KB, KB, KB, 0},
		{"g", 512, KB, 0, KB, KB, 0, 0},
		{"r", 512, KB + 512, 0, 0, KB, 0, 0},
		{"v", 512, KB + 512, 0, 0, KB, 0, 0},
		{NULL, 512, 0, 0, 0, KB, 0, 0},
		{NULL, 512, 0, 0, 0, KB, 0, KB},
	};
	check_curve(curve_of(*state, m), want, sizeof want / sizeof *want);
}

/* In a kernel with the product and the update together, what comes out of the product is no longer
 * a tensor: nothing is a gradient, and nothing else is taken for one. */
static void
kinds_see_through_fusions(void **state)
{
	struct ir_module *m = module(*state, "module @m\n"
					     "func @main() {\n"
					     "  %x = input(\"x\") : f32[32,16]\n"
					     "  %w = param(\"w\") : f32[16,16]\n"
					     "  %h = matmul(%x, %w)\n"
					     "  %g = contract(%x, %h) {spec = \"bi,bj->ij\"}\n"
					     "  %v = fuse(%w, %g) {\n"
					     "    %s = add(%g, %g)\n"
					     "    %d = sub(%w, %s)\n"
					     "    yield(%d)\n"
					     "  }\n"
					     "  update(%w, %v)\n"
					     "}\n");
	struct memory_curve *c = curve_of(*state, m);
	/* At %g: h is an activation, g leads to the param through the kernel. */
	assert_int_equal(c->point[3].bytes[MEMORY_ACTIVATION], 2 * KB);
	assert_int_equal(c->point[3].bytes[MEMORY_GRADIENT], KB);
	m = module(*state, "module @m\n"
			   "func @main() {\n"
			   "  %x = input(\"x\") : f32[16,16]\n"
			   "  %w = param(\"w\") : f32[16,16]\n"
			   "  %h = matmul(%x, %w)\n"
			   "  %v = fuse(%w, %x, %h) {\n"
			   "    %g = contract(%x, %h) {spec = \"bi,bj->ij\"}\n"
			   "    %d = sub(%w, %g)\n"
			   "    yield(%d)\n"
			   "  }\n"
			   "  update(%w, %v)\n"
			   "}\n");
	c = curve_of(*state, m);
	assert_int_equal(c->point[2].bytes[MEMORY_ACTIVATION], KB);
	assert_int_equal(c->point[2].bytes[MEMORY_GRADIENT], 0);
}

/* The action that waits for the post at `at`. */
static int
wait_of(const struct lower_plan *p, int at)
{
	for (int i = at + 1; i < p->nactions; i++)
		if (p->action[i].kind == LOWER_WAIT && p->action[i].coll == p->action[at].coll)
			return i;
	return p->nactions - 1;
}

struct life {
	int first, last; /* actions; first -1: none */
};

static void
touch(struct life *l, int at)
{
	l->first = l->first < 0 || at < l->first ? at : l->first;
	l->last = at > l->last ? at : l->last;
}

/* Lives by what the program's actions touch, without loops: nothing shorter would do. */
static struct life *
lives_of_actions(const struct lower_plan *p)
{
	struct life *l = talloc_array(p, struct life, p->nbuffers + 1);
	struct lower_access *list = talloc_array(l, struct lower_access, lower_most_accesses(p));
	for (int i = 0; i < p->nbuffers; i++) {
		enum storage_role role = p->buffer[i].role;
		bool always = role == STORAGE_INPUT || role == STORAGE_PERSISTENT;
		l[i] = always ? (struct life){0, p->nactions} : (struct life){-1, -1};
	}
	for (int i = 0; i < p->nactions; i++) {
		int n = lower_accesses(p, &p->action[i], list);
		for (int k = 0; k < n; k++) {
			touch(&l[list[k].buffer], i);
			if (p->action[i].kind == LOWER_POST)
				touch(&l[list[k].buffer], wait_of(p, i));
			if (p->buffer[list[k].buffer].role == STORAGE_OUTPUT)
				touch(&l[list[k].buffer], p->nactions);
		}
	}
	return l;
}

/* Most bytes of the plan's buffers that live at one time by its actions. */
static uint64_t
peak_of_actions(const struct lower_plan *p)
{
	uint64_t peak = 0;
	const struct life *l = lives_of_actions(p);
	for (int at = 0; at <= p->nactions; at++) {
		uint64_t sum = 0;
		for (int i = 0; i < p->nbuffers; i++)
			if (l[i].first >= 0 && l[i].first <= at && at <= l[i].last)
				sum += storage_bytes(p->storage, &p->buffer[i]);
		peak = sum > peak ? sum : peak;
	}
	return peak;
}

/* A random step over dp = 2: pointwise ops, products, collectives, views, updates, outputs. */
static char *
random_text(void *owner, uint64_t *seed)
{
	char *t = talloc_strdup(owner, "module @r\n"
				       "mesh [dp = 2]\n"
				       "func @main() {\n"
				       "  %v0 = input(\"x\") : f32[64/dp,64]\n"
				       "  %v1 = input(\"y\") : f32[64/dp,64]\n"
				       "  %w0 = param(\"a\") : f32[64,64]\n"
				       "  %w1 = param(\"b\") : f32[64,64]\n");
	unsigned n = 2, nw = 2;
	for (int i = 0; i < 20; i++) {
		unsigned a = next(seed) % n, b = next(seed) % n, w = next(seed) % nw;
		switch (next(seed) % 7) {
		case 6: /* one message of two, of which the second is copied in every other one */
			t = talloc_asprintf_append(t,
				"  %%g%u = contract(%%v%u, %%v%u) {spec = \"bi,bj->ij\"}\n"
				"  %%k%u = contract(%%v%u, %%v%u) {spec = \"bi,bj->ij\"}\n"
				"  %%w%u, %%w%u = allreduce(%%g%u, %%%s%u) {axis = dp}\n",
				nw, a, b, nw, b, b, nw, nw + 1, nw, i % 2 ? "k" : "g", nw);
			nw += 2;
			break;
		case 0:
			t = talloc_asprintf_append(t, "  %%v%u = add(%%v%u, %%v%u)\n", n++, a, b);
			break;
		case 1:
			t = talloc_asprintf_append(
				t, "  %%v%u = matmul(%%v%u, %%w%u)\n", n++, a, w);
			break;
		case 2:
			t = talloc_asprintf_append(t,
				"  %%g%u = contract(%%v%u, %%v%u) {spec = \"bi,bj->ij\"}\n"
				"  %%w%u = allreduce(%%g%u) {axis = dp}\n",
				nw, a, b, nw, nw);
			nw++;
			break;
		case 3: t = talloc_asprintf_append(t, "  %%w%u = exp(%%w%u)\n", nw++, w); break;
		case 4:
			t = talloc_asprintf_append(t,
				"  %%h%u = allgather(%%v%u) {axis = dp}\n"
				"  %%v%u = partition(%%h%u) {dim = 0, axis = dp}\n",
				n, a, n, n);
			n++;
			break;
		default:
			t = talloc_asprintf_append(t,
				"  %%r%u = reshape(%%v%u) {shape = [64,8,8]}\n"
				"  %%v%u = reshape(%%r%u) {shape = [64,64]}\n",
				n, a, n, n);
			n++;
		}
	}
	t = talloc_asprintf_append(t, "  %%n = sub(%%w0, %%w%u)\n  update(%%w0, %%n)\n", nw - 1);
	return talloc_asprintf_append(t, "  output(\"o\", %%v%u)\n}\n", n - 1);
}

/* Ops that nobody uses are no part of a program: what dce takes out. */
static void
remove_dead(struct ir_module *m)
{
	struct ir_block *b = &ir_func_find(m, "main")->body;
	for (struct ir_op *op = b->last, *before; op; op = before) {
		before = op->prev;
		bool used = op->nresults == 0 || op->code == OP_input || op->code == OP_param;
		for (int r = 0; r < op->nresults; r++)
			used |= op->result[r].uses != NULL;
		if (!used)
			ir_op_erase(op);
	}
}

/* Slices over four micro-batches and two devices: sums over time, loops that read one another's
 * slices. */
static char *
random_loops(void *owner, uint64_t *seed)
{
	char *t = talloc_strdup(owner, "module @r\n"
				       "mesh [dp = 2]\n"
				       "steps [mb = 4]\n"
				       "func @main() {\n"
				       "  %v0 = input(\"x\") : f32[64/dp/mb,64]\n"
				       "  %v1 = input(\"y\") : f32[64/dp/mb,64]\n"
				       "  %w0 = param(\"a\") : f32[64,64]\n");
	unsigned n = 2, nw = 1;
	for (int i = 0; i < 14; i++) {
		unsigned a = next(seed) % n, b = next(seed) % n, w = next(seed) % nw;
		switch (next(seed) % 5) {
		case 0:
			t = talloc_asprintf_append(t, "  %%v%u = add(%%v%u, %%v%u)\n", n++, a, b);
			break;
		case 1:
			t = talloc_asprintf_append(
				t, "  %%v%u = matmul(%%v%u, %%w%u)\n", n++, a, w);
			break;
		case 2:
			t = talloc_asprintf_append(t,
				"  %%g%u = contract(%%v%u, %%v%u) {spec = \"bi,bj->ij\"}\n"
				"  %%s%u = reduce(%%g%u) {axis = mb}\n"
				"  %%p%u = allreduce(%%s%u) {axis = dp}\n"
				"  %%w%u = replicate(%%p%u) {axis = mb}\n",
				nw, a, b, nw, nw, nw, nw, nw, nw);
			nw++;
			break;
		case 3: t = talloc_asprintf_append(t, "  %%w%u = exp(%%w%u)\n", nw++, w); break;
		default: t = talloc_asprintf_append(t, "  %%v%u = exp(%%v%u)\n", n++, a);
		}
	}
	return talloc_asprintf_append(t,
		"  %%o = combine(%%v%u) {axis = mb}\n  output(\"o\", %%o)\n"
		"  output(\"w\", %%w%u)\n}\n",
		n - 1, nw - 1);
}

typedef char *make_text(void *owner, uint64_t *seed);

struct excess {
	double gaps,
		lives; /* arena over what lives; that over what the actions touch; relatively */
};

/* Exactly what is predicted is allocated; the checker agrees; lives are those of the actions. */
static struct excess
compare_with_plan(struct fixture *f, struct ir_module *m, const char *text, bool loops)
{
	struct lower_plan *p = lower_plan_create(f, m);
	assert_non_null(p);
	uint64_t want = peak_of_actions(p), arena = p->arena_bytes;
	struct memory_report r = evaluate(m);
	assert_true(lower_check(p));
	assert_int_equal(r.peak, arena);
	assert_true(arena >= r.live);
	struct memory_curve *c = curve_of(f, m);
	assert_int_equal(c->allocated, arena);
	assert_int_equal(c->point[c->peak].live, r.live);
	assert_ptr_equal(c->point[c->peak].op, r.at);
	talloc_free(c);
	if (r.live < want || (!loops && r.live > want))
		fail_msg("live %llu, by actions %llu\n%s", (unsigned long long)r.live,
			(unsigned long long)want, text);
	talloc_free(p);
	return (struct excess){
		(double)(arena - r.live) / (double)r.live, (double)(r.live - want) / (double)want};
}

static void
compare_many(struct fixture *f, make_text *make, const char *what, bool loops)
{
	enum { TRIALS = 400 };
	uint64_t seed = 5;
	struct excess sum = {0, 0};
	for (int trial = 0; trial < TRIALS; trial++) {
		char *text = make(f, &seed);
		struct ir_module *m = module(f, text);
		remove_dead(m);
		struct excess e = compare_with_plan(f, m, text, loops);
		sum.gaps += e.gaps;
		sum.lives += e.lives;
	}
	print_message(
		"%s: arena %.2f %% over what lives on average, that %.2f %% over what actions "
		"touch\n",
		what, 100 * sum.gaps / TRIALS, 100 * sum.lives / TRIALS);
}

static void
the_lowered_program_needs_the_same(void **state)
{
	compare_many(*state, random_text, "without loops", false);
}

static void
the_lowered_program_with_loops_needs_the_same(void **state)
{
	compare_many(*state, random_loops, "with loops", true);
}

/* The digits model as it is trained, on one and two devices. */
static void
training_steps_need_the_same(void **state)
{
	struct fixture *f = *state;
	static const char *const pipelines[] = {"grad,sgd", "grad,adam", "grad,sgd,dp{axis=dp}",
		"grad,adam,dp{axis=dp},opfuse,tensorfuse"};
	const char *text = read_file(f, TEST_SOURCE_DIR "/models/digits_plain.dir", NULL);
	assert_non_null(text);
	for (size_t i = 0; i < sizeof pipelines / sizeof *pipelines; i++) {
		struct ir_module *m = module(f, text);
		struct pass_manager *manager = pass_manager_create(f, f->ctx);
		struct pass_pipeline *p = pass_pipeline_create(f);
		assert_true(pass_pipeline_parse(p, manager, "pipeline", pipelines[i]));
		assert_true(pass_pipeline_check(p, manager, m));
		assert_int_equal(pass_pipeline_run(p, manager, &m, NULL), PASS_DONE);
		struct excess e = compare_with_plan(f, m, pipelines[i], false);
		print_message("%s: arena over what lives %.2f %%\n", pipelines[i], 100 * e.gaps);
	}
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)
	const struct CMUnitTest tests[] = {
		TEST(the_peak_is_that_of_counting),
		TEST(the_most_of_a_curve_is_that_of_counting),
		TEST(rooms_that_live_at_one_time_share_no_byte),
		TEST(rooms_of_homes),
		TEST(rows_of_rooms_are_placed_as_one),
		TEST(nested_lives_leave_no_gap),
		TEST(deep_steps_are_placed_well_by_the_first_order),
		TEST(many_rooms),
		TEST(values_live_to_their_last_use),
		TEST(a_release_ends_nothing_early_and_a_late_one_extends),
		TEST(a_collective_keeps_its_operands_until_its_result_is_used),
		TEST(views_and_params_made_in_place_take_nothing),
		TEST(slices_of_a_loop_are_kept_for_the_next_loop),
		TEST(logits_are_not_kept_for_their_loss),
		TEST(a_curve_by_kind),
		TEST(a_curve_of_messages),
		TEST(kinds_see_through_fusions),
		TEST(the_lowered_program_needs_the_same),
		TEST(the_lowered_program_with_loops_needs_the_same),
		TEST(training_steps_need_the_same),
	};
	return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
