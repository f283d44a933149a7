/* storage_create: order, sharing, live ranges, offsets. See storage.h. */
#include "ir/memory/build.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "ir/loops/pitch.h"
#include "ir/loops/scheme.h"
#include "ir/memory/op_class.h"
#include "ir/memory/place.h"
#include "ir/ops/while.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static struct storage_code
host_code(const struct storage_target *t, const struct ir_module *m, struct arena *a,
	const struct ir_op *op, bool in_place)
{
	(void)t;
	(void)in_place;
	struct scheme *s = scheme_of_host(NULL, m, a, op);
	const struct storage_code code = {.scratch = s ? (uint64_t)s->scratch_bytes : 0};

	talloc_free(s);
	return code;
}

int64_t
while_scratch(const struct ir_module *m, const struct ir_op *op)
{
	const struct ir_value **carried;
	struct ir_module *step = while_step(NULL, m, op, &carried);
	const struct storage *s =
		storage_create(step, step, ir_func_find(step, "main"), &storage_host, NULL);
	const int64_t bytes = (int64_t)s->arena_bytes;

	talloc_free(step);
	return bytes;
}

const struct storage_target storage_host = {
	.align = STORAGE_ALIGN, .code = host_code, .scheme = scheme_of_host, .stage_inside = true};

uint32_t
storage_number(const struct storage *s, const struct ir_value *v)
{
	return v->id < s->nids ? s->number[v->id] : STORAGE_NONE;
}

const struct storage_value *
storage_of(const struct storage *s, const struct ir_value *v)
{
	return &s->value[s->number[v->id]];
}

uint64_t
storage_value_bytes(
	const struct storage_target *t, const struct ir_module *m, const struct ir_value *v)
{
	return (uint64_t)(t->pitch ? pitch_bytes(m, v) : ir_type_local_bytes(m, v->type));
}

static uint64_t
rounded(uint64_t bytes, uint64_t align)
{
	return (bytes + align - 1) / align * align;
}

uint64_t
storage_bytes(const struct storage *s, const struct storage_buffer *b)
{
	return rounded(b->bytes * (uint64_t)b->slots, s->align);
}

int32_t
storage_add(struct storage_build *b, struct storage_buffer buffer)
{
	struct storage *s = b->s;

	buffer.first = buffer.last = -1;
	buffer.home = -1;
	VEC_PUSH(s, &b->buffer, buffer);
	VEC_PUSH(b, &b->newest, 0);
	VEC_PUSH(b, &b->loop, STORAGE_NO_LOOP);
	s->buffer = b->buffer.at;
	return (int32_t)s->nbuffers++;
}

static void
number_results(struct storage_build *b, const struct ir_op *op)
{
	struct storage *s = b->s;

	s->extra[op->id] = -1;
	for (int r = 0; r < op->nresults; r++) {
		s->number[op->result[r].id] = s->nvalues;
		s->value[s->nvalues++] =
			(struct storage_value){.value = &op->result[r], .buffer = -1};
	}
	if (op->code == OP_update)
		b->becomes[ir_operand(op, 1)->id] = true;
	for (int j = 0; j < op->noperands && op->code == OP_barrier; j++)
		b->becomes[ir_operand(op, j)->id] = true;
}

/* Numbers all values, still without buffers, in the order of the text. If ops are issued in that
 * order, walks their array: in the list, each op must be loaded to find the next. */
static void
number_values(struct storage_build *b, const struct ir_func *main)
{
	struct storage *s = b->s;

	s->nids = s->module->value_ids;
	s->number = ARRAY_NEW(s, uint32_t, s->nids);
	memset(s->number, 0xff, s->nids * sizeof *s->number);
	s->extra = ARRAY_NEW(s, int32_t, s->module->op_ids);
	if (s->target->bundles.blocks)
		s->code = ARRAY_ZERO(s, struct storage_code, s->module->op_ids);
	s->value = ARRAY_NEW(s, struct storage_value, s->nids + 1u);
	b->becomes = ARRAY_ZERO(b, bool, s->nids);
	if (issue_has_loops(s->module)) {
		IR_FOR_OPS (op, &main->body)
			number_results(b, op);
		return;
	}
	for (uint32_t i = 0; i < s->order->n; i++)
		number_results(b, s->order->op[i]);
}

uint8_t
storage_classify(const struct storage_build *b, const struct ir_op *op)
{
	const struct ir_module *m = b->s->module;
	const bool view = storage_is_view(m, op),
		   kernel = op->nresults && !view &&
			    !op_is(op, TRAIT_EFFECT | TRAIT_TERMINATOR | TRAIT_NAMED |
					       TRAIT_PARALLEL | TRAIT_CALLS | TRAIT_COPY);

	return storage_kernel_of(b, op)->is =
		       (uint8_t)(STORAGE_IS_KNOWN | (view ? STORAGE_IS_VIEW : 0) |
				 (storage_is_message(m, op) ? STORAGE_IS_MESSAGE : 0) |
				 (storage_is_copy(op) ? STORAGE_IS_COPY : 0) |
				 (storage_is_row(m, op) ? STORAGE_IS_ROW : 0) |
				 (kernel ? STORAGE_IS_KERNEL : 0));
}

static bool
is_kernel(const struct storage_build *b, const struct ir_op *op)
{
	return storage_is(b, op, STORAGE_IS_KERNEL) &&
	       storage_of(b->s, &op->result[0])->buffer >= 0;
}

struct storage_codes {
	struct VEC(struct storage_kernel) kernel; /* by common number; of these, the code alone */
};

struct storage_codes *
storage_codes_create(const void *owner)
{
	return NEW(owner, struct storage_codes);
}

struct alike *
storage_alike(const void *owner, const struct ir_module *m, const struct ir_block *b,
	const struct storage_target *target, struct alike_memo *memo)
{
	return alike_create_common(owner, m, b, target && target->pitch ? pitch_word : NULL, memo);
}

/* Where the code of an op is kept: with that of all modules, if there is such a list. */
static struct storage_kernel *
with_code_of(const struct storage_build *b, const struct ir_op *op)
{
	struct storage_codes *codes = b->known->codes;

	if (!codes)
		return storage_kernel_of(b, op);
	const uint32_t i = b->known->alike->common[alike_number(b->known->alike, op)];
	while (codes->kernel.n <= i)
		VEC_PUSH(codes, &codes->kernel, (struct storage_kernel){0});
	return &codes->kernel.at[i];
}

static const struct storage_code *
code_of(struct storage_build *b, const struct ir_op *op, bool in_place)
{
	struct storage_kernel *k = with_code_of(b, op);

	if (!k->has_code[in_place]) {
		k->code[in_place] =
			b->target->code(b->target, b->s->module, b->arena, op, in_place);
		k->has_code[in_place] = true;
		arena_reset(b->arena);
	}
	return &k->code[in_place];
}

static bool
is_in_place(const struct storage *s, const struct ir_op *op)
{
	for (int r = 0; r < op->nresults; r++)
		for (int i = 0; i < op->noperands; i++)
			if (storage_of(s, &op->result[r])->buffer ==
				storage_of(s, ir_operand(op, i))->buffer)
				return true;
	return false;
}

/* Only devices that hold a result compute it. */
static int32_t
home_of_results(const struct storage *s, const struct ir_op *op)
{
	const int32_t home = storage_home(s, op->result[0].type);

	for (int r = 1; r < op->nresults; r++)
		if (storage_home(s, op->result[r].type) != home)
			return -1;
	return home;
}

static void
add_scratch(struct storage_build *b, const struct ir_op *op)
{
	const uint64_t bytes = code_of(b, op, false)->scratch;

	if (b->s->code)
		b->s->code[op->id] = *code_of(b, op, is_in_place(b->s, op));
	if (!bytes)
		return;
	const int32_t at = storage_add(
		b, (struct storage_buffer){
			   .use = STORAGE_SCRATCH, .op = op, .bytes = bytes, .slots = 1});
	b->s->extra[op->id] = at;
	b->s->buffer[at].home = home_of_results(b->s, op);
}

static void
add_copy(struct storage_build *b, const struct ir_op *op, const struct ir_value *v,
	enum storage_role role)
{
	const uint64_t bytes = (uint64_t)ir_type_local_bytes(b->s->module, v->type);

	b->s->extra[op->id] = storage_add(b, (struct storage_buffer){.role = role,
						     .use = STORAGE_COPY,
						     .value = v,
						     .op = op,
						     .memory = (enum ir_memory)v->type->memory,
						     .bytes = bytes,
						     .slots = 1});
	b->s->buffer[b->s->extra[op->id]].home = storage_home(b->s, v->type);
}

/* Does the param's buffer, which now holds v, hold another value at the end of the step? */
static bool
is_overwritten(const struct ir_value *param, const struct ir_value *v)
{
	IR_FOR_USES (u, param)
		if (storage_is_updated(u))
			return ir_operand(u->op, 1) != v;
	return false;
}

/* An output uses the buffer of its value, or, if that is a param that gets a new value, a copy. */
static void
add_output(struct storage_build *b, const struct ir_op *op)
{
	const struct ir_value *v = ir_operand(op, 0);
	struct storage_buffer *x = &b->s->buffer[storage_of(b->s, v)->buffer];

	if (x->role == STORAGE_TEMP)
		x->role = STORAGE_OUTPUT;
	if (x->role == STORAGE_PERSISTENT && is_overwritten(x->value, v))
		add_copy(b, op, v, STORAGE_OUTPUT);
}

/* A next value that is in another param's buffer goes through a buffer of its own, as that param
 * may get its own next value first. */
static void
add_update(struct storage_build *b, const struct ir_op *op)
{
	const int32_t to = storage_of(b->s, ir_operand(op, 0))->buffer,
		      from = storage_of(b->s, ir_operand(op, 1))->buffer;

	if (from != to && b->s->buffer[from].role == STORAGE_PERSISTENT)
		add_copy(b, op, ir_operand(op, 1), STORAGE_TEMP);
}

/* Adds the buffers of scratch and of copies. */
static void
storage_add_extras(struct storage_build *b)
{
	for (uint32_t p = 0; p < b->s->order->n; p++) {
		const struct ir_op *op = b->s->order->op[p];
		if (op->code == OP_output)
			add_output(b, op);
		else if (op->code == OP_update)
			add_update(b, op);
		else if (is_kernel(b, op))
			add_scratch(b, op);
	}
}

/* As large as the largest slice of a named tensor: ranks send their slices to the first rank. */
static void
add_stage(struct storage_build *b)
{
	const struct issue *o = b->s->order;
	int64_t most = 0;

	for (uint32_t p = 0; p < o->n; p++) {
		const struct ir_op *op = o->op[p];
		if (!op_is(op, TRAIT_NAMED))
			continue;
		const struct ir_type *t =
			op->nresults ? op->result[0].type : ir_operand_type(op, 0);
		const int64_t bytes = ir_type_local_bytes(b->s->module, t);
		most = bytes > most ? bytes : most;
	}
	b->s->stage = -1;
	if (b->target->stage_inside && most && ir_devices(b->s->module) > 1)
		b->s->stage = storage_add(
			b, (struct storage_buffer){
				   .use = STORAGE_STAGE, .bytes = (uint64_t)most, .slots = 1});
}

/* A buffer to place. */
struct placed {
	uint32_t buffer;
	int32_t row;
};

/* Buffers of a row are consecutive. */
ORDER_BY(by_row, struct placed, UP(row), UP(buffer))

/* Buffers of an arena that are not always live, and the size of those that are. */
struct arena_plan {
	struct storage_room *room; /* [n] of: */
	struct placed *rest;       /* [n] */
	uint32_t n;
	uint64_t persistent;
};

static bool
lives_always(const struct storage_buffer *b)
{
	return b->role == STORAGE_PERSISTENT || b->role == STORAGE_INPUT;
}

/* Params, states and inputs in that memory are always live: they come first, in the order of the
 * text. Those with a home are ordinary rooms, live from the begin of the step to its end. */
static struct arena_plan
plan_arena(const void *owner, struct storage *s, enum ir_memory memory)
{
	struct arena_plan p = {.rest = ARRAY_NEW(owner, struct placed, s->nbuffers + 1)};

	for (uint32_t i = 0; i < s->nbuffers; i++) {
		struct storage_buffer *b = &s->buffer[i];
		if (b->memory != memory)
			continue;
		if (lives_always(b) && b->home < 0) {
			b->offset = p.persistent;
			p.persistent += storage_bytes(s, b);
		} else if (b->first >= 0) {
			p.rest[p.n++] = (struct placed){i, b->row};
		}
	}
	if (s->nrows)
		qsort(p.rest, p.n, sizeof *p.rest, by_row);
	p.room = ARRAY_NEW(owner, struct storage_room, p.n + 1);
	for (uint32_t i = 0; i < p.n; i++) {
		const struct storage_buffer *b = &s->buffer[p.rest[i].buffer];
		p.room[i] = (struct storage_room){storage_bytes(s, b), (uint32_t)b->first,
			(uint32_t)b->last, 0, b->row, b->home};
	}
	return p;
}

static uint32_t
homes(const struct storage *s)
{
	return s->home_axis < 0 ? 1 : (uint32_t)s->module->axis[s->home_axis].size;
}

/* storage_place or storage_place_swept. */
typedef uint64_t placer(struct storage_room *room, uint32_t n, uint32_t homes, uint64_t enough);

/* Homes are placed apart if that costs at most 1 / APART_COSTS of the arena. */
enum { APART_COSTS = 200, NO_HOME = -2 };

/* Places the rooms of one home by themselves, from `begin` on; returns where they end. */
static uint64_t
place_home(const void *scratch, struct storage_room *room, uint32_t n, int32_t home, uint64_t begin,
	uint64_t enough, placer *how)
{
	struct storage_room *own = ARRAY_NEW(scratch, struct storage_room, n + 1);
	uint32_t nown = 0;

	for (uint32_t i = 0; i < n; i++)
		if (room[i].home == home) {
			own[nown] = room[i];
			own[nown++].home = -1;
		}
	const uint64_t end = how(own, nown, 1, enough > begin ? enough - begin : 0);
	for (uint32_t i = 0, k = 0; i < n; i++)
		if (room[i].home == home)
			room[i].offset = begin + own[k++].offset;
	return begin + end;
}

ORDER_POINTERS_BY(by_offset, struct storage_room, UP(offset))

/* Places room `stage` in the lowest gap common to all homes; returns where it ends. */
static uint64_t
place_stage(const void *scratch, struct storage_room *room, uint32_t n, uint32_t stage)
{
	const struct storage_room **overlapping =
		ARRAY_NEW(scratch, const struct storage_room *, n);
	struct storage_room *x = &room[stage];
	uint32_t noverlapping = 0;

	for (uint32_t i = 0; i < n; i++)
		if (i != stage && room[i].first <= x->last && room[i].last >= x->first)
			overlapping[noverlapping++] = &room[i];
	qsort(overlapping, noverlapping, sizeof *overlapping, by_offset);
	x->offset = 0;
	for (uint32_t i = 0; i < noverlapping && overlapping[i]->offset < x->offset + x->bytes; i++)
		if (overlapping[i]->offset + overlapping[i]->bytes > x->offset)
			x->offset = overlapping[i]->offset + overlapping[i]->bytes;
	return x->offset + x->bytes;
}

/*
 * Places rooms that all homes share below those of single homes, so that homes do not leave gaps
 * for each other. The stage comes last, in bytes that are free between steps. The result is kept if
 * it costs little: together, homes end at `end`, and it must not lose a fit within `enough`.
 */
static uint64_t
place_apart(const void *scratch, const struct storage *s, struct arena_plan *p, uint64_t end,
	uint64_t enough, placer *how)
{
	struct storage_room *room = COPY_ARRAY(scratch, struct storage_room, p->room, p->n);
	uint32_t stage = 0;

	while (stage < p->n && (int32_t)p->rest[stage].buffer != s->stage)
		stage++;
	if (stage < p->n)
		room[stage].home = NO_HOME;
	const uint64_t begin = place_home(scratch, room, p->n, -1, 0, end, how);
	uint64_t most = begin;
	for (uint32_t h = 0; h < homes(s); h++) {
		const uint64_t last = place_home(scratch, room, p->n, (int32_t)h, begin, end, how);
		most = last > most ? last : most;
	}
	if (stage < p->n) {
		const uint64_t last = place_stage(scratch, room, p->n, stage);
		most = last > most ? last : most;
	}
	if (most > end && (most - end > end / APART_COSTS || (end <= enough && most > enough)))
		return end;
	p->room = room;
	return most;
}

static uint64_t
place(struct storage *s, enum ir_memory memory, uint64_t enough, placer *how)
{
	void *scratch = alloc_scratch(NULL);
	struct arena_plan p = plan_arena(scratch, s, memory);
	const uint64_t left = enough > p.persistent ? enough - p.persistent : 0;
	uint64_t end = how(p.room, p.n, homes(s), left);

	if (homes(s) > 1)
		end = place_apart(scratch, s, &p, end, left, how);
	for (uint32_t i = 0; i < p.n; i++)
		s->buffer[p.rest[i].buffer].offset = p.persistent + p.room[i].offset;
	talloc_free(scratch);
	return p.persistent + end;
}

/* Where the last buffer of each home ends. */
static void
measure_homes(struct storage *s)
{
	if (s->home_axis < 0)
		return;
	array_free(s->home_bytes);
	s->home_bytes = ARRAY_ZERO(s, uint64_t, homes(s));
	for (uint32_t i = 0; i < s->nbuffers; i++) {
		const struct storage_buffer *b = &s->buffer[i];
		const uint64_t end = b->offset + storage_bytes(s, b);
		if (b->memory != IR_DEVICE || (b->first < 0 && !lives_always(b)))
			continue;
		for (uint32_t h = 0; h < homes(s); h++)
			if ((b->home < 0 || (uint32_t)b->home == h) && end > s->home_bytes[h])
				s->home_bytes[h] = end;
	}
}

/* Have offsets been found with which the arenas fit in `enough` bytes? */
static bool
found(const struct storage *s, uint64_t enough)
{
	return s->sought < UINT64_MAX && s->arena_bytes <= enough && s->host_bytes <= enough;
}

static void
place_both(struct storage *s, uint64_t enough, placer *how)
{
	s->sought = enough;
	s->arena_bytes = place(s, IR_DEVICE, enough, how);
	s->host_bytes = place(s, IR_HOST, enough, how);
	measure_homes(s);
}

void
storage_find_offsets(struct storage *s, uint64_t enough)
{
	if (!found(s, enough) && s->sought > enough && !s->target->rough)
		place_both(s, enough, storage_place);
}

bool
storage_fits_swept(struct storage *s, uint64_t enough)
{
	if (s->target->rough)
		return s->arena_bytes <= enough && s->host_bytes <= enough;
	if (s->sought == UINT64_MAX)
		place_both(s, enough, storage_place_swept);
	if (found(s, enough))
		return true;
	s->sought = UINT64_MAX;
	return false;
}

/* Live bytes at each time in an arena, on devices of s->home. */
static uint64_t *
live_in(const void *owner, const struct storage *s, enum ir_memory memory, uint64_t *persistent)
{
	const uint32_t moments = 2 * s->order->n + 3;
	/* At first the bytes that begin at a time minus those that ended just before it. */
	uint64_t *live = ARRAY_ZERO(owner, uint64_t, (size_t)moments + 1);

	*persistent = 0;
	for (uint32_t i = 0; i < s->nbuffers; i++) {
		const struct storage_buffer *b = &s->buffer[i];
		if (b->memory != memory || (b->first < 0 && !lives_always(b)) ||
			!storage_counts(s, b))
			continue;
		const uint64_t bytes = storage_bytes(s, b);
		live[lives_always(b) ? 0 : b->first] += bytes;
		live[lives_always(b) ? moments : (uint32_t)b->last + 1] -= bytes;
		*persistent += lives_always(b) ? bytes : 0;
	}
	for (uint32_t t = 1; t < moments; t++)
		live[t] += live[t - 1];
	return live;
}

/* The first time of the peak of live bytes. */
static uint32_t
peak_of(const struct storage *s, const uint64_t *live)
{
	uint32_t at = 0;

	for (uint32_t t = 1; t < 2 * s->order->n + 3; t++)
		at = live[t] > live[at] ? t : at;
	return at;
}

static bool
has_host(const struct storage *s)
{
	for (uint32_t i = 0; i < s->nbuffers; i++)
		if (s->buffer[i].memory == IR_HOST)
			return true;
	return false;
}

/* The first home with the highest peak of live bytes in device memory. */
static int32_t
fullest_home(struct storage *s)
{
	uint64_t most = 0, persistent;
	int32_t full = 0;

	for (s->home = 0; s->home < (int32_t)homes(s); s->home++) {
		uint64_t *live = live_in(NULL, s, IR_DEVICE, &persistent);
		const uint64_t peak = live[peak_of(s, live)];
		full = peak > most ? s->home : full;
		most = peak > most ? peak : most;
		array_free(live);
	}
	return full;
}

static void
find_live(struct storage *s)
{
	s->home = s->home_axis < 0 ? -1 : fullest_home(s);
	s->live = live_in(s, s, IR_DEVICE, &s->persistent_bytes);
	s->live_at = peak_of(s, s->live);
	s->live_bytes = s->live[s->live_at];
	if (has_host(s)) {
		uint64_t *live = live_in(NULL, s, IR_HOST, &s->host_persistent_bytes);
		s->host_live_bytes = live[peak_of(s, live)];
		array_free(live);
	}
	s->arena_bytes = s->live_bytes;
	s->host_bytes = s->host_live_bytes;
}

/* The first device axis on which a value exists only at one place (IR_SINGLE); -1: none. */
static int
find_home_axis(const struct ir_module *m, const struct issue *o)
{
	for (int a = 0; a < m->naxes; a++) {
		if (m->axis[a].time || m->axis[a].size == 1)
			continue;
		for (uint32_t i = 0; i < o->n; i++)
			for (int r = 0; r < o->op[i]->nresults; r++)
				if (o->op[i]->result[r].type->axis[a].kind == IR_SINGLE)
					return a;
	}
	return -1;
}

/* Which devices of a communicator a device is connected to by its collectives. */
enum connected { CONNECTED_NEIGHBOUR = 1, CONNECTED_RING = 2, CONNECTED_ALL = 4 };

/* As runtime/cuda/rounds.c executes a collective: sums of floats as sends to all others. */
static unsigned
connected_by(const struct ir_op *op)
{
	const bool floats =
		ir_dtype_class((enum ir_dtype)ir_operand_type(op, 0)->dtype) == IR_FLOAT;

	switch (op_collective(op)) {
	case RT_SEND: return CONNECTED_NEIGHBOUR;
	case RT_BROADCAST:
	case RT_ALLGATHER: return CONNECTED_RING;
	case RT_ALLREDUCE: return CONNECTED_RING | (floats ? CONNECTED_ALL : 0);
	case RT_REDUCE:
	case RT_REDUCESCATTER: return floats ? CONNECTED_ALL : CONNECTED_RING;
	default: return CONNECTED_ALL;
	}
}

/* Connections of a communicator of `size` devices. A device of a pipeline has two neighbours. */
static uint64_t
connections(unsigned connected, int64_t size)
{
	const uint64_t others = (uint64_t)size - 1, neighbours = others < 2 ? others : 2;

	return (connected & CONNECTED_ALL                ? others
		       : connected & CONNECTED_NEIGHBOUR ? neighbours
							 : 0) +
	       (connected & CONNECTED_RING ? 1 : 0);
}

/* Bytes of the communicators, one for each axis with collectives. Devices are taken to be in the
 * order of the mesh, as they are without {devices = ...}. */
static uint64_t
communicators(const struct storage *s, const unsigned *connected)
{
	const struct storage_libraries *l = &s->target->libraries;
	uint64_t bytes = 0;
	int64_t span = 1; /* consecutive devices that a communicator extends over */

	for (int a = s->module->naxes - 1; a >= 0; a--) {
		const struct ir_axis *axis = &s->module->axis[a];
		if (axis->time)
			continue;
		span *= axis->size;
		bytes += connections(connected[a], axis->size) *
			 (span <= l->node_devices ? l->near : l->far);
	}
	return bytes;
}

/* Finds bytes that the runtime and libraries allocate outside the arena. */
static void
find_outside(struct storage *s)
{
	unsigned connected[IR_MAX_AXES] = {0};
	bool communicates = false;

	for (uint32_t i = 0; i < s->order->n; i++) {
		const struct ir_op *op = s->order->op[i];
		if (!storage_is_message(s->module, op))
			continue;
		communicates = true;
		connected[ir_attr_int(op, "axis", 0)] |= connected_by(op);
	}
	s->libraries = s->target->libraries.context + communicators(s, connected);
	s->outside_arena = s->target->outside_arena + s->libraries +
			   (communicates ? s->target->for_collectives : 0);
}

struct storage *
storage_create_unplaced(const void *owner, const struct ir_module *m, struct ir_func *main,
	const struct storage_target *target, struct storage_known *known)
{
	struct storage *s = NEW(owner, struct storage);
	struct storage_build *b = NEW(NULL, struct storage_build);

	target = target ? target : &storage_host;
	s->module = m;
	s->target = target;
	s->align = target->align;
	s->sought = UINT64_MAX;
	s->order = issue_create(s, m, &main->body);
	find_outside(s);
	s->home_axis = find_home_axis(m, s->order);
	b->s = s;
	b->target = target;
	b->known = known ? known
			 : storage_known_create(
				   b, storage_alike(b, m, &main->body, target, NULL), NULL, NULL);
	b->arena = arena_create(b);
	b->n = s->order->n;
	number_values(b, main);
	VEC_ROOM(s, &b->buffer, s->nvalues + 1);
	VEC_ROOM(b, &b->newest, s->nvalues + 1);
	VEC_ROOM(b, &b->loop, s->nvalues + 1);
	storage_share(b);
	storage_add_extras(b);
	add_stage(b);
	storage_live_all(b);
	find_live(s);
	talloc_free(b);
	return s;
}

struct storage *
storage_create(const void *owner, const struct ir_module *m, struct ir_func *main,
	const struct storage_target *target, struct storage_known *known)
{
	struct storage *s = storage_create_unplaced(owner, m, main, target, known);

	storage_find_offsets(s, 0);
	return s;
}
