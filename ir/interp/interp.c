/*
 * The interpreter: see interp.h. Ops are run one by one in the order of the text; a value's
 * tensors live in its slot from its op to its last use.
 */
#include "ir/base/vec.h"
#include "ir/interp/internal.h"
#include "ir/ops/special.h"
#include "ir/template.h"

#include <string.h>
#include <talloc.h>

/* --- creation -----------------------------------------------------------------------------------
 */

/* Does the tensor fit in memory, and is it not empty? */
static bool
check_size(struct interp *it, const struct ir_op *op, const struct ir_type *t)
{
	int64_t n = 1;
	for (int d = 0; d < t->rank; d++) {
		if (t->dim[d] >= 1 && t->dim[d] <= INTERP_MAX_ELEMENTS / n) {
			n *= t->dim[d];
			continue;
		}
		diag_error(it->m->ctx->diag, op->loc,
			"the interpreter supports tensors of 1 to %d elements; the "
			"result of %s is outside this range",
			INTERP_MAX_ELEMENTS, op_name((enum op_code)op->code));
		return false;
	}
	return true;
}

static bool
check_sizes(struct interp *it, const struct ir_block *b)
{
	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nresults; i++)
			if (!check_size(it, op, op->result[i].type))
				return false;
		if (op->body && !check_sizes(it, op->body))
			return false;
	}
	return true;
}

/* The outputs of @main (`output`), or its params and states, in order; *n: their number. */
static struct named *
collect_named(struct interp *it, bool output, int *n)
{
	int count = 0;
	IR_FOR_OPS (op, &it->main->body)
		count += output ? op->code == OP_output : op_is(op, TRAIT_PERSISTENT);
	struct named *list = ZERO_ARRAY(it, struct named, count);
	*n = 0;
	IR_FOR_OPS (op, &it->main->body)
		if (output ? op->code == OP_output : op_is(op, TRAIT_PERSISTENT))
			list[(*n)++] = (struct named){.name = op->symbol, .op = op};
	return list;
}

static bool
set_places(struct interp *it)
{
	it->nplaces = it->o.mode == INTERP_LAYOUT ? ir_places(it->m) : 1;
	if (it->nplaces > INTERP_MAX_PLACES) {
		diag_error(it->m->ctx->diag, LOC_NONE,
			"the axes have %lld positions in all; the interpreter supports at most %d",
			(long long)it->nplaces, INTERP_MAX_PLACES);
		return false;
	}
	it->coord = alloc_zero(it, (size_t)it->nplaces, sizeof *it->coord, "coordinates");
	for (int64_t p = 0; p < it->nplaces && it->o.mode == INTERP_LAYOUT; p++)
		ir_place_coord(it->m, p, it->coord[p]);
	return true;
}

static bool
set_up(struct interp *it)
{
	unsigned inlined = 0;

	it->main = ir_func_find(it->m, "main");
	if (!it->main) {
		diag_error(it->m->ctx->diag, LOC_NONE, "the module has no @main to run");
		return false;
	}
	if (!ir_inline_calls(it->m, it->main, &inlined))
		return false;
	ir_module_renumber(it->m); /* the calls are gone */
	if (!set_places(it) || (it->o.data && !interp_data_open(it)))
		return false;
	if (!check_sizes(it, &it->main->body))
		return false;
	it->slot = ARRAY_ZERO(it, struct slot, it->m->value_ids);
	it->plan = ARRAY_ZERO(it, struct form_plan *, it->m->op_ids);
	it->output = collect_named(it, true, &it->noutputs);
	it->persistent = collect_named(it, false, &it->npersistents);
	for (int i = 0; i < it->npersistents; i++) {
		it->persistent[i].now = interp_initial(it, it, it->persistent[i].op);
		if (!it->persistent[i].now)
			return false;
	}
	return !it->o.load || interp_load(it);
}

struct interp *
interp_create(const void *owner, const struct ir_module *m, const struct interp_options *options)
{
	struct interp *it = NEW(owner, struct interp);
	it->o = *options;
	it->arena = arena_create(it);
	it->m = ir_module_clone(it, m);
	if (set_up(it))
		return it;
	talloc_free(it);
	return NULL;
}

/* --- values -------------------------------------------------------------------------------------
 */

static struct slot *
slot_of(struct interp *it, const struct ir_value *v)
{
	return &it->slot[v->id];
}

static void
slot_free(struct slot *s)
{
	if (!s->borrowed)
		talloc_free(s->place);
	s->place = NULL;
	s->borrowed = false;
}

/* An array for the tensors of a result, which must be owned by it. */
static struct tensor **
slot_new(struct interp *it, const struct ir_value *v)
{
	struct slot *s = slot_of(it, v);
	slot_free(s);
	s->place = ZERO_ARRAY(it, struct tensor *, (size_t)it->nplaces);
	s->released = false;
	s->uses = 0;
	IR_FOR_USES (u, v)
		s->uses++;
	return s->place;
}

static bool
all_readable(struct interp *it, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		const struct slot *s = slot_of(it, ir_operand(op, i));
		if (s->place && !s->released)
			continue;
		diag_error(it->m->ctx->diag, op->loc, "%s reads %%%s, %s",
			op_name((enum op_code)op->code),
			ir_operand(op, i)->name ? ir_operand(op, i)->name : "(unnamed)",
			s->released ? "which was already released" : "which has no value yet");
		return false;
	}
	return true;
}

/* --- one op -------------------------------------------------------------------------------------
 */

/* May an operand be absent at a place that has the result? If it is single on an axis on which the
 * result is partial, it counts as zero at the other places. */
static bool
counts_as_zero(const struct interp *it, const struct ir_type *operand, const struct ir_type *result,
	int64_t place)
{
	for (int x = 0; x < it->m->naxes; x++)
		if (operand->axis[x].kind == IR_SINGLE &&
			it->coord[place][x] !=
				ir_axis_place(&it->m->axis[x], operand->axis[x].order) &&
			result->axis[x].kind != IR_PARTIAL)
			return false;
	return true;
}

static struct tensor *
operand_at(struct interp *it, const struct ir_op *op, int i, const void *owner, int64_t place)
{
	struct tensor *t = interp_places(it, ir_operand(op, i))[place];
	if (t)
		return t;
	const struct ir_type *type = ir_operand_type(op, i);
	if (!counts_as_zero(it, type, op->result[0].type, place)) {
		diag_error(it->m->ctx->diag, op->loc,
			"%s reads operand %d at position %lld of the axes, which does not hold it",
			op_name((enum op_code)op->code), i + 1, (long long)place);
		return NULL;
	}
	int64_t dim[IR_MAX_RANK];
	interp_local_shape(it, type, dim);
	return tensor_create(owner, (enum ir_dtype)type->dtype, type->rank, dim);
}

static bool
run_form(struct interp *it, struct ir_op *op)
{
	struct form_plan **plan = &it->plan[op->id];
	if (!*plan && !(*plan = form_plan_make(it, op)))
		return false;
	const struct ir_type *type = op->result[0].type;
	struct tensor **place = slot_new(it, &op->result[0]);
	void *scratch = alloc_scratch(NULL);
	bool ok = true;
	for (int64_t p = 0; p < it->nplaces && ok; p++) {
		struct tensor *in[FORM_MAX_INPUTS];
		if (!interp_holds(it, type, p))
			continue;
		for (int i = 0; i < op->noperands && ok; i++)
			ok = (in[i] = operand_at(it, op, i, scratch, p)) != NULL;
		if (ok)
			place[p] = form_plan_run(it, *plan, place, in, type, p);
	}
	talloc_free(scratch);
	return ok;
}

/* An op with functions of its own. */
static bool
run_own(struct interp *it, struct ir_op *op)
{
	struct tensor **place[OWN_MAX_RESULTS];
	for (int r = 0; r < op->nresults; r++)
		place[r] = slot_new(it, &op->result[r]);
	void *scratch = alloc_scratch(NULL);
	bool ok = true;
	for (int64_t p = 0; p < it->nplaces && ok; p++) {
		struct tensor *in[FORM_MAX_INPUTS], *out[OWN_MAX_RESULTS];
		if (!interp_holds(it, op->result[0].type, p))
			continue;
		for (int i = 0; i < op->noperands && ok; i++)
			ok = (in[i] = operand_at(it, op, i, scratch, p)) != NULL;
		for (int r = 0; r < op->nresults && ok; r++) {
			const struct ir_type *t = op->result[r].type;
			int64_t dim[IR_MAX_RANK];
			interp_local_shape(it, t, dim);
			out[r] = place[r][p] =
				tensor_create(place[r], (enum ir_dtype)t->dtype, t->rank, dim);
		}
		if (ok)
			special_op((enum op_code)op->code)->run(op, in, out);
	}
	talloc_free(scratch);
	return ok;
}

static bool
run_reshape(struct interp *it, struct ir_op *op)
{
	const struct ir_type *type = op->result[0].type;
	struct tensor **place = slot_new(it, &op->result[0]);
	int64_t dim[IR_MAX_RANK];
	interp_local_shape(it, type, dim);
	for (int64_t p = 0; p < it->nplaces; p++) {
		if (!interp_holds(it, type, p))
			continue;
		struct tensor *t = operand_at(it, op, 0, place, p);
		if (!t)
			return false;
		place[p] = tensor_reshape(place, t, type->rank, dim);
	}
	return true;
}

static bool
run_move(struct interp *it, struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		struct tensor **place = slot_new(it, &op->result[i]);
		interp_move(it, place, op, i, place);
	}
	return true;
}

static struct named *
find_named(struct named *list, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

/* Values that come from outside are whole; each place gets its part. */
static bool
run_source(struct interp *it, struct ir_op *op)
{
	struct tensor **place = slot_new(it, &op->result[0]);
	const struct named *n = find_named(it->persistent, it->npersistents, op->symbol);
	const struct tensor *whole =
		op_is(op, TRAIT_PERSISTENT) ? n->now : interp_input(it, place, op);
	if (!whole)
		return false;
	struct tensor value = *whole;
	value.rank = op->result[0].type->rank;
	memcpy(value.dim, op->result[0].type->dim, sizeof value.dim);
	for (int64_t p = 0; p < it->nplaces; p++)
		place[p] = interp_cut(it, place, op->result[0].type, &value, p);
	return true;
}

/* Operand i of an op, whole, in the shape in which files have the tensor of `of`. */
static struct tensor *
assemble(struct interp *it, const struct ir_op *op, int i, const struct ir_op *of)
{
	const struct ir_type *t = ir_operand_type(op, i);
	struct tensor *whole = interp_assemble(it, it, t, interp_places(it, ir_operand(op, i)));

	whole->rank = ir_file_shape(of, t, whole->dim);
	return whole;
}

static bool
run_update(struct interp *it, struct ir_op *op)
{
	const struct ir_op *of = ir_operand(op, 0)->op;
	struct named *n = of && op_is(of, TRAIT_PERSISTENT)
				  ? find_named(it->persistent, it->npersistents, of->symbol)
				  : NULL;
	if (!n || n->next) {
		diag_error(it->m->ctx->diag, op->loc, "update: the first operand %s",
			n ? "is updated twice in a step" : "is not a param or state");
		return false;
	}
	n->next = assemble(it, op, 1, of);
	return true;
}

static bool
run_output(struct interp *it, struct ir_op *op)
{
	struct named *n = find_named(it->output, it->noutputs, op->symbol);
	talloc_free(n->now);
	n->now = assemble(it, op, 0, op);
	return true;
}

static bool run_block(struct interp *it, struct ir_block *b);

static bool
run_fuse(struct interp *it, struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		struct tensor **place = interp_places(it, ir_operand(op, i));
		*slot_of(it, &op->body->arg[i]) =
			(struct slot){.place = place, .uses = 1, .borrowed = true};
	}
	if (!run_block(it, op->body))
		return false;
	const struct ir_op *yield = op->body->last;
	for (int i = 0; i < op->nresults; i++) {
		struct tensor **place = slot_new(it, &op->result[i]);
		for (int64_t p = 0; p < it->nplaces; p++) {
			const struct tensor *t = interp_places(it, ir_operand(yield, i))[p];
			place[p] = t ? tensor_copy(place, t) : NULL;
		}
	}
	IR_FOR_OPS (inner, op->body)
		for (int i = 0; i < inner->nresults; i++)
			slot_free(slot_of(it, &inner->result[i]));
	return true;
}

/* Copies of the tensors of all places, owned by the array. */
static struct tensor **
copies_of(struct interp *it, struct tensor *const *from)
{
	struct tensor **to = ZERO_ARRAY(it, struct tensor *, (size_t)it->nplaces);

	for (int64_t p = 0; p < it->nplaces; p++)
		to[p] = from[p] ? tensor_copy(to, from[p]) : NULL;
	return to;
}

/* Copies of a value that is whole where it is, at all places, as the body has them. */
static struct tensor **
everywhere(struct interp *it, struct tensor *const *from)
{
	struct tensor **to = copies_of(it, from);
	int64_t has = 0;

	while (!from[has])
		has++;
	for (int64_t p = 0; p < it->nplaces; p++)
		if (!to[p])
			to[p] = tensor_copy(to, from[has]);
	return to;
}

/* The condition is the same everywhere. */
static bool
goes_on(struct tensor **condition)
{
	return condition[0]->data[0].i != 0;
}

/* The tensors that value i of the next iteration gets: taken from the slot of the op that made them,
 * unless they are needed twice. */
static struct tensor **
next_carried(struct interp *it, const struct ir_op *yield, int i, struct tensor **const *next)
{
	const struct ir_value *v = ir_operand(yield, i);

	for (int j = 0; j < i; j++)
		if (ir_operand(yield, j) == v)
			return copies_of(it, next[j]);
	struct slot *s = slot_of(it, v);
	if (s->borrowed)
		return copies_of(it, s->place);
	struct tensor **place = s->place;
	s->place = NULL;
	return place;
}

/* Iterations of one loop, as a loop that never ends must be an error: a thousand times as many as
 * a long scan has. */
enum { INTERP_MAX_TRIPS = 10 * 1000 * 1000 };

/* Each iteration owns what it yields; what it reads is kept until then. */
static bool
run_while(struct interp *it, struct ir_op *op)
{
	const struct ir_op *yield = op->body->last;
	const int n = op->noperands;
	struct tensor ***carried = NEW_ARRAY(NULL, struct tensor **, (size_t)n),
		      ***next = NEW_ARRAY(carried, struct tensor **, (size_t)n);
	bool ok = true;

	for (int i = 0; i < n; i++)
		carried[i] = everywhere(it, interp_places(it, ir_operand(op, i)));
	for (int64_t trips = 0; ok && goes_on(carried[0]); trips++) {
		if (trips == INTERP_MAX_TRIPS) {
			diag_error(it->m->ctx->diag, op->loc,
				"while: the interpreter stops after %d iterations",
				INTERP_MAX_TRIPS);
			ok = false;
			break;
		}
		for (int i = 0; i < n; i++)
			*slot_of(it, &op->body->arg[i]) =
				(struct slot){.place = carried[i], .uses = 1, .borrowed = true};
		ok = run_block(it, op->body);
		for (int i = 0; i < n && ok; i++)
			next[i] = ir_operand(yield, i) == &op->body->arg[i]
					  ? carried[i]
					  : next_carried(it, yield, i, next);
		for (int i = 0; i < n && ok; i++) {
			if (carried[i] != next[i])
				talloc_free(carried[i]);
			carried[i] = next[i];
		}
		IR_FOR_OPS (inner, op->body)
			for (int i = 0; i < inner->nresults; i++)
				slot_free(slot_of(it, &inner->result[i]));
	}
	for (int i = 0; i < n; i++) {
		struct tensor **place = slot_new(it, &op->result[i]);
		for (int64_t p = 0; p < it->nplaces; p++)
			place[p] = interp_holds(it, op->result[i].type, p)
					   ? talloc_steal(place, carried[i][p])
					   : NULL;
		talloc_free(carried[i]);
	}
	talloc_free(carried);
	return ok;
}

/* Results that are their operands: those of a barrier, and copies from memory to memory. */
static bool
run_identity(struct interp *it, struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++) {
		struct tensor **from = interp_places(it, ir_operand(op, i)),
			      **place = slot_new(it, &op->result[i]);
		for (int64_t p = 0; p < it->nplaces; p++)
			place[p] = from[p] ? tensor_copy(place, from[p]) : NULL;
	}
	return true;
}

static bool
run_op(struct interp *it, struct ir_op *op)
{
	switch (op->code) {
	case OP_input:
	case OP_param:
	case OP_state: return run_source(it, op);
	case OP_update: return run_update(it, op);
	case OP_output: return run_output(it, op);
	case OP_release: return slot_of(it, ir_operand(op, 0))->released = true;
	case OP_reshape: return run_reshape(it, op);
	case OP_fuse: return run_fuse(it, op);
	case OP_while: return run_while(it, op);
	case OP_barrier:
	case OP_offload:
	case OP_reload: return run_identity(it, op);
	case OP_yield:
	case OP_return: return true;
	default:
		if (op_is(op, TRAIT_OWN))
			return run_own(it, op);
		return op_is(op, TRAIT_PARALLEL) ? run_move(it, op) : run_form(it, op);
	}
}

bool
interp_op(struct interp *it, struct ir_op *op)
{
	if (!all_readable(it, op) || !run_op(it, op))
		return false;
	if (it->repeats)
		interp_look(it, op);
	return true;
}

void
interp_op_done(struct interp *it, struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		struct slot *s = slot_of(it, ir_operand(op, i));
		if (!s->borrowed && --s->uses == 0)
			slot_free(s);
	}
	for (int i = 0; i < op->nresults; i++)
		if (slot_of(it, &op->result[i])->uses == 0)
			slot_free(slot_of(it, &op->result[i]));
}

/* In a body, values are live to its end, where yield reads them. */
static bool
run_block(struct interp *it, struct ir_block *b)
{
	IR_FOR_OPS (op, b)
		if (!interp_op(it, op))
			return false;
	return true;
}

/* --- steps --------------------------------------------------------------------------------------
 */

void
interp_begin(struct interp *it, int64_t step)
{
	it->step = step;
	for (uint32_t i = 0; i < it->m->value_ids; i++) {
		slot_free(&it->slot[i]);
		it->slot[i].released = false;
	}
	for (int i = 0; i < it->noutputs; i++)
		TALLOC_FREE(it->output[i].now);
	for (int i = 0; i < it->npersistents; i++)
		TALLOC_FREE(it->persistent[i].next);
}

void
interp_end(struct interp *it)
{
	it->done = it->step + 1;
	for (int i = 0; i < it->npersistents; i++) {
		struct named *n = &it->persistent[i];
		if (!n->next)
			continue;
		talloc_free(n->now);
		n->now = n->next;
		n->next = NULL;
	}
}

bool
interp_step(struct interp *it, int64_t step)
{
	interp_begin(it, step);
	IR_FOR_OPS (op, &it->main->body) {
		if (!interp_op(it, op))
			return false;
		interp_op_done(it, op);
	}
	interp_end(it);
	return true;
}

/* --- tensors by name ----------------------------------------------------------------------------
 */

const struct tensor *
interp_output(const struct interp *it, const char *name)
{
	const struct named *n = find_named(it->output, it->noutputs, name);
	return n ? n->now : NULL;
}

const struct tensor *
interp_persistent(const struct interp *it, const char *name)
{
	const struct named *n = find_named(it->persistent, it->npersistents, name);
	return n ? n->now : NULL;
}

static const char *
name_at(const struct named *list, int n, int i, const struct ir_op **op)
{
	if (i >= n)
		return NULL;
	if (op)
		*op = list[i].op;
	return list[i].name;
}

const char *
interp_output_name(const struct interp *it, int i, const struct ir_op **op)
{
	return name_at(it->output, it->noutputs, i, op);
}

const char *
interp_persistent_name(const struct interp *it, int i, const struct ir_op **op)
{
	return name_at(it->persistent, it->npersistents, i, op);
}

static bool
fits(const struct tensor *t, const struct ir_op *op)
{
	const struct ir_type *type = op->result[0].type;
	int64_t dim[IR_MAX_RANK];
	const int rank = ir_file_shape(op, type, dim);

	return t->dtype == (enum ir_dtype)type->dtype && t->rank == rank &&
	       memcmp(t->dim, dim, sizeof(int64_t) * (size_t)rank) == 0;
}

bool
interp_set_persistent(struct interp *it, const char *name, const struct tensor *value)
{
	struct named *n = find_named(it->persistent, it->npersistents, name);
	if (!n || !fits(value, n->op))
		return false;
	talloc_free(n->now);
	n->now = tensor_copy(it, value);
	return true;
}

static const struct ir_op *
find_input(const struct interp *it, const char *name)
{
	IR_FOR_OPS (op, &it->main->body)
		if (op->code == OP_input && strcmp(op->symbol, name) == 0)
			return op;
	return NULL;
}

bool
interp_set_input(struct interp *it, const char *name, const struct tensor *value)
{
	const struct ir_op *op = find_input(it, name);
	if (!op || !fits(value, op))
		return false;
	struct named *n = find_named(it->input, it->ninputs, name);
	if (!n) {
		LIST_PUSH(it, it->input, it->ninputs, (struct named){.name = op->symbol});
		n = &it->input[it->ninputs - 1];
	}
	talloc_free(n->now);
	n->now = tensor_copy(it, value);
	return true;
}
