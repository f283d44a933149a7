/*
 * Buffers and values: each buffer is as large as each value in it, has the role and the use that
 * follow from its references, lies in the arena, and shares no byte with another one while both are
 * live.
 */
#include "lower/plan/check.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"
#include "lower/plan/byte_map.h"

#include <inttypes.h>
#include <stdlib.h>
#include <talloc.h>

/* The references to a buffer. */
struct user {
	enum storage_role role;
	enum storage_use use;
	const struct ir_op *op;       /* of a scratch or a copy: the op that makes it */
	const struct ir_value *value; /* of a copy: what is copied */
	bool used;
};

static void
use_buffer(struct check *c, struct user *user, int32_t buffer, struct user by)
{
	struct user *u = &user[buffer];

	if (u->used && (by.use != STORAGE_VALUES || u->use != STORAGE_VALUES))
		FAULT(c, by.op, "buffer %d is used for two purposes", buffer);
	*u = by;
	u->used = true;
}

static uint64_t
size_of(const struct storage_buffer *b)
{
	return b->bytes * (uint64_t)b->slots;
}

static uint64_t
end_of(const struct storage_buffer *b)
{
	return b->offset + size_of(b);
}

/* Do all ranks that hold a tensor of that type have the buffer? */
static bool
fits_home(const struct lower_plan *p, const struct storage_buffer *b, const struct ir_type *t)
{
	const int axis = p->storage->home_axis;

	return b->home == -1 ||
	       (axis >= 0 && t->axis[axis].kind == IR_SINGLE &&
		       ir_axis_place(&p->module->axis[axis], t->axis[axis].order) == b->home);
}

/* Do all ranks that use the buffer have it, if its user is a copy, scratch or the stage? */
static bool
fits_user(const struct lower_plan *p, const struct storage_buffer *b, const struct user *u)
{
	bool fits = b->home == -1 || u->use != STORAGE_STAGE;

	if (u->use == STORAGE_COPY && u->value)
		fits &= fits_home(p, b, u->value->type);
	for (int r = 0; u->use == STORAGE_SCRATCH && r < u->op->nresults; r++)
		fits &= fits_home(p, b, u->op->result[r].type);
	return fits;
}

/* An entry for a value. */
static void
check_value(struct check *c, const struct lower_value *v)
{
	const struct ir_module *m = c->p->module;
	const struct ir_op *op = v->value->op;
	const uint32_t axes = issue_axes(m, v->value->type);
	const uint64_t bytes = storage_value_bytes(c->p->target, m, v->value);

	if (v->buffer < 0) {
		if (v->time || v->stride || v->ring)
			FAULT(c, op, "a value without a buffer has slots");
		return;
	}
	const struct storage_buffer *b = &c->p->buffer[v->buffer];
	if (b->bytes != bytes)
		FAULT(c, op,
			"buffer %d (%%%s) has %" PRIu64 " bytes, but a value in it has %" PRIu64,
			v->buffer, check_buffer_name(c->p, v->buffer), b->bytes, bytes);
	if (!fits_home(c->p, b, v->value->type))
		FAULT(c, op,
			"buffer %d (%%%s) is not in memory of all ranks that hold a value in it",
			v->buffer, check_buffer_name(c->p, v->buffer));
	if (b->memory != v->value->type->memory)
		FAULT(c, op, "buffer %d (%%%s) is in another memory than a value in it", v->buffer,
			check_buffer_name(c->p, v->buffer));
	const uint32_t time = check_long_axes(m, v->time);
	const int64_t slots = v->ring ? v->ring : issue_iterations(m, v->time);
	if (v->ring && (!v->time || !issue_loop_of(c->p->storage->order, op)->cells))
		FAULT(c, op, "slots of %%%s are used in turn without a schedule",
			check_buffer_name(c->p, v->buffer));
	if ((time && time != check_long_axes(m, axes)) || b->slots != slots)
		FAULT(c, op,
			"buffer %d (%%%s) has %" PRId64
			" slots, not one for each iteration that computes a value in it",
			v->buffer, check_buffer_name(c->p, v->buffer), b->slots);
	if (v->stride != (v->time ? bytes : 0))
		FAULT(c, op, "slots of %" PRIu64 " bytes are %" PRIu64 " bytes apart", bytes,
			v->stride);
}

static enum storage_role
role_of(const struct ir_op *op)
{
	return op->code == OP_input          ? STORAGE_INPUT
	       : op_is(op, TRAIT_PERSISTENT) ? STORAGE_PERSISTENT
					     : STORAGE_TEMP;
}

/* Every entry is for a value, or the target of a copy. */
static void
check_entries(struct check *c)
{
	const struct lower_plan *p = c->p;
	int n = 0;

	IR_FOR_OPS (op, &p->main->body)
		n += op->nresults;
	for (int i = 0; i < p->nactions; i++)
		n += p->action[i].kind == LOWER_COPY && !p->value[p->action[i].dst].value;
	if (n != p->nvalues)
		FAULT(c, NULL, "found %d values and copies, but the plan counts %d", n, p->nvalues);
}

static void
find_values(struct check *c, struct user *user)
{
	const struct lower_plan *p = c->p;

	for (int i = 0; i < p->nvalues; i++) {
		const struct lower_value *v = &p->value[i];
		if (!v->value || v->buffer < 0)
			continue;
		struct user *u = &user[v->buffer];
		const enum storage_role role = role_of(v->value->op);
		if (u->used && u->role != STORAGE_TEMP && role != STORAGE_TEMP)
			FAULT(c, v->value->op, "two tensors that outlive the step are in buffer %d",
				v->buffer);
		u->role = role != STORAGE_TEMP ? role : u->role;
		u->used = true;
	}
}

/* The scratch of kernels, and copies of next values and outputs that another value overwrites. */
static void
find_extras(struct check *c, struct user *user)
{
	const struct lower_plan *p = c->p;

	for (int i = 0; i < p->nactions; i++) {
		const struct lower_action *a = &p->action[i];
		if (a->scratch >= 0)
			use_buffer(c, user, a->scratch,
				(struct user){.use = STORAGE_SCRATCH, .op = a->op});
		if (a->kind != LOWER_COPY || p->value[a->dst].value)
			continue;
		const int operand = a->op->code == OP_output ? 0 : 1;
		use_buffer(c, user, p->value[a->dst].buffer,
			(struct user){.role = operand ? STORAGE_TEMP : STORAGE_OUTPUT,
				.use = STORAGE_COPY,
				.op = a->op,
				.value = a->op->noperands > operand ? ir_operand(a->op, operand)
								    : NULL});
	}
	if (p->storage->stage >= 0)
		use_buffer(c, user, p->storage->stage, (struct user){.use = STORAGE_STAGE});
}

/* A value that is reported, and kept by nothing else, is an output's. */
static void
find_outputs(struct check *c, struct user *user)
{
	const struct lower_plan *p = c->p;

	IR_FOR_OPS (op, &p->main->body) {
		const int32_t b = op->code == OP_output
					  ? p->value[check_number(p, ir_operand(op, 0))].buffer
					  : -1;
		if (b >= 0 && user[b].role == STORAGE_TEMP)
			user[b].role = STORAGE_OUTPUT;
	}
}

/* Between steps the runtime moves the slices of tensors with names through the stage. */
static uint64_t
stage_bytes(const struct lower_plan *p)
{
	uint64_t most = 0;

	IR_FOR_OPS (op, &p->main->body) {
		if (!op_is(op, TRAIT_NAMED))
			continue;
		const struct ir_type *t =
			op->nresults ? op->result[0].type : ir_operand_type(op, 0);
		const uint64_t bytes = (uint64_t)ir_type_local_bytes(p->module, t);
		most = bytes > most ? bytes : most;
	}
	return most;
}

/* Does the buffer match its references? */
static void
check_user(struct check *c, int32_t i, const struct user *u)
{
	const struct storage_buffer *b = &c->p->buffer[i];
	const struct ir_value *v = b->value;
	bool fits = b->role == u->role && b->use == u->use;

	if (u->use == STORAGE_VALUES)
		fits &= v && v->op == b->op && check_number(c->p, v) >= 0 &&
			check_number(c->p, v) < c->p->nvalues &&
			c->p->value[check_number(c->p, v)].value == v &&
			c->p->value[check_number(c->p, v)].buffer == i;
	else
		fits &= fits_user(c->p, b, u) && v == u->value && b->op == u->op && b->slots == 1 &&
			b->memory == (v ? (enum ir_memory)v->type->memory : IR_DEVICE);
	if (!fits)
		FAULT(c, u->op, "the role of buffer %d does not match its users", i);
	if (u->use == STORAGE_COPY && v &&
		b->bytes != (uint64_t)ir_type_local_bytes(c->p->module, v->type))
		FAULT(c, u->op, "the copy of %%%s has %" PRIu64 " bytes",
			check_buffer_name(c->p, i), b->bytes);
	if (u->use == STORAGE_STAGE && b->bytes != stage_bytes(c->p))
		FAULT(c, NULL, "the stage between steps has %" PRIu64 " bytes", b->bytes);
}

/* Kernels have exactly the scratch that the target computes. */
static void
check_scratch(struct check *c)
{
	const struct lower_plan *p = c->p;

	for (int i = 0; i < p->nactions; i++) {
		const struct lower_action *a = &p->action[i];
		if (a->kind != LOWER_KERNEL)
			continue;
		const uint64_t needs = p->target == &storage_host
					       ? (uint64_t)a->scheme->scratch_bytes
					       : p->target
							 ->code(p->target, p->module, p->arena,
								 a->op, false)
							 .scratch,
			       has = a->scratch >= 0 ? p->buffer[a->scratch].bytes : 0;
		if (needs != has)
			FAULT(c, a->op, "%s has %" PRIu64 " bytes of scratch and needs %" PRIu64,
				check_op_name(a->op), has, needs);
	}
}

static void
check_place(struct check *c, int i)
{
	const struct lower_plan *p = c->p;
	const struct storage_buffer *b = &p->buffer[i];
	uint64_t bytes = b->memory == IR_HOST ? p->host_bytes : p->arena_bytes;

	for (int32_t h = 0; p->home_bytes && b->memory == IR_DEVICE && h < check_homes(p); h++)
		if (check_here(b, h) && (b->first >= 0 || b->role != STORAGE_TEMP) &&
			p->home_bytes[h] < bytes)
			bytes = p->home_bytes[h];
	if (b->offset % p->storage->align || b->offset > bytes || end_of(b) > bytes ||
		end_of(b) < b->offset)
		FAULT(c, NULL,
			"buffer %d (%%%s) is placed at %" PRIu64
			", outside the arena or not aligned",
			i, check_buffer_name(p, i), b->offset);
}

ORDER_POINTERS_BY(by_first, struct storage_buffer, UP(first), ORDER_UP(x, y))

/* Buffers in the order in which their live ranges begin: at that moment no live buffer may share
 * their bytes. For the ranks of one home. */
static void
check_lives(struct check *c, int32_t home)
{
	const struct lower_plan *p = c->p;
	const size_t room = 2 * (size_t)p->nbuffers + 1;
	void *scratch = alloc_scratch(NULL);
	const struct storage_buffer **list =
		ARRAY_NEW(scratch, const struct storage_buffer *, room);
	uint64_t *offset = ARRAY_NEW(scratch, uint64_t, room);
	int n = 0;

	for (int i = 0; i < p->nbuffers; i++) {
		const struct storage_buffer *b = &p->buffer[i];
		if (b->first < 0 || !check_here(b, home))
			continue;
		check_place(c, i);
		offset[2 * n] = check_address(b);
		offset[2 * n + 1] = check_address(b) + size_of(b);
		list[n++] = b;
	}
	qsort(list, (size_t)n, sizeof *list, by_first);
	struct byte_map *map = byte_map_create(scratch, offset, 2 * (uint32_t)n);
	for (int i = 0; i < n; i++) {
		const int at = (int)(list[i] - p->buffer);
		const uint64_t from = check_address(list[i]);
		const struct byte_range r = byte_map_range(map, from, from + size_of(list[i]));
		for (uint32_t k = r.begin; k < r.end;) {
			const int other = byte_map_next(map, r, &k);
			if (other >= 0 && p->buffer[other].last >= list[i]->first)
				FAULT(c, NULL,
					"buffers %d (%%%s) and %d (%%%s) share bytes "
					"while both are live",
					other, check_buffer_name(p, other), at,
					check_buffer_name(p, at));
		}
		byte_map_set(map, r, at);
	}
	talloc_free(scratch);
}

static void
check_arena(struct check *c, enum ir_memory memory, uint64_t bytes, const char *name)
{
	const struct lower_plan *p = c->p;
	uint64_t end = 0;

	for (int i = 0; i < p->nbuffers; i++) {
		const struct storage_buffer *b = &p->buffer[i];
		const uint64_t mine = b->offset + storage_bytes(p->storage, b);
		end = b->memory == memory && b->first >= 0 && mine > end ? mine : end;
	}
	if (bytes != end)
		FAULT(c, NULL, "%s has %" PRIu64 " bytes, but its buffers end at %" PRIu64, name,
			bytes, end);
}

void
check_values(struct check *c)
{
	const struct lower_plan *p = c->p;
	struct user *user = ARRAY_ZERO(NULL, struct user, (size_t)p->nbuffers + 1);

	for (int i = 0; i < p->nvalues; i++) {
		const struct lower_value *v = &p->value[i];
		if (v->value)
			check_value(c, v);
		else if (v->time || v->stride || v->ring || p->buffer[v->buffer].slots != 1)
			FAULT(c, NULL, "the copy in buffer %d has slots", v->buffer);
	}
	check_entries(c);
	find_values(c, user);
	find_extras(c, user);
	find_outputs(c, user);
	for (int i = 0; i < p->nbuffers; i++)
		if (user[i].used)
			check_user(c, i, &user[i]);
		else
			FAULT(c, NULL, "buffer %d is unused", i);
	check_scratch(c);
	for (int32_t home = 0; home < check_homes(c->p); home++)
		check_lives(c, home);
	check_arena(c, IR_DEVICE, p->arena_bytes, "the arena");
	check_arena(c, IR_HOST, p->host_bytes, "host memory");
	for (int32_t h = 0; p->home_bytes && h < check_homes(p); h++)
		if (p->home_bytes[h] > p->arena_bytes)
			FAULT(c, NULL, "home %d has more bytes than the largest arena", h);
	array_free(user);
}
