/*
 * Copies the ops of a template with sizes, types and names evaluated. A table by id has the value
 * that replaces each value of the template.
 */
#include "ir/instance.h"

#include "ir/base/alloc.h"
#include "ir/ops/row.h"

#include <string.h>
#include <talloc.h>

/* An instance in the making. */
struct instance {
	struct ir_module *m;     /* that its ops belong to */
	const char *prefix;      /* of names of persistent tensors: "" or "h3." */
	struct ir_value **value; /* by id of the template's values minus first_id; NULL: none yet */
	uint32_t first_id;
	const struct ir_block *from; /* block of the template at work */
	struct ir_loc text;          /* of the template's ops */
	uint32_t shift;              /* of their locations: diag_add_call */
	struct ir_size_scope scope;
	struct arena *scratch;
};

/* The return op of a function, or NULL. */
const struct ir_op *
template_return(const struct ir_func *f)
{
	return f->body.last && f->body.last->code == OP_return ? f->body.last : NULL;
}

/* Ids, from the first one up to before the last. */
struct ids {
	uint32_t first, end;
};

static void
include_id(struct ids *ids, const struct ir_value *v)
{
	ids->first = v->id < ids->first ? v->id : ids->first;
	ids->end = v->id >= ids->end ? v->id + 1 : ids->end;
}

/* The ids of all values of a block, bodies included. */
static void
include_block(struct ids *ids, const struct ir_block *b)
{
	for (uint32_t i = 0; i < b->nargs; i++)
		include_id(ids, &b->arg[i]);
	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nresults; i++)
			include_id(ids, &op->result[i]);
		if (op->body)
			include_block(ids, op->body);
	}
}

/* The table, without an entry yet. */
static void
create_table(struct instance *inst)
{
	struct ids ids = {UINT32_MAX, 0};

	include_block(&ids, inst->from);
	inst->first_id = ids.first;
	if (ids.end)
		inst->value =
			ARENA_ARRAY(inst->scratch, struct ir_value *, (size_t)ids.end - ids.first);
}

/* The value that replaces a value of the template. */
static struct ir_value **
instead_of(const struct instance *inst, const struct ir_value *v)
{
	return &inst->value[v->id - inst->first_id];
}

static const struct ir_type *
instance_type_of(const void *data, const char *name)
{
	const struct instance *inst = data;
	const struct ir_value *v = NULL;

	for (uint32_t i = 0; i < inst->from->nargs && !v; i++)
		if (inst->from->arg[i].name == name)
			v = &inst->from->arg[i];
	for (const struct ir_op *op = inst->from->first; op && !v; op = op->next)
		for (int i = 0; i < op->nresults; i++)
			if (op->result[i].name == name)
				v = &op->result[i];
	return v && *instead_of(inst, v) ? (*instead_of(inst, v))->type : NULL;
}

static const char *
prefixed(const struct instance *inst, const char *name)
{
	if (!name || !*inst->prefix)
		return name;
	char *text = TEXT(NULL, "%s%s", inst->prefix, name);
	name = ir_name(inst->m->ctx, text);
	talloc_free(text);
	return name;
}

/* Values without a name are written as numbers. */
static const char *
value_name(const struct instance *inst, const char *name)
{
	if (!name || (name[0] >= '0' && name[0] <= '9'))
		return NULL;
	return prefixed(inst, name);
}

/* The type of an attribute of the op; those of a call are sizes or numbers of its function. */
enum wanted { WANT_INT, WANT_FLOAT, WANT_NUMBER };

static bool
instance_number(
	struct instance *inst, const struct ir_size *size, bool as_float, struct ir_attr *to)
{
	double value;
	bool fraction;

	if (!ir_size_number(&inst->scope, size, &value, &fraction))
		return false;
	if (!fraction && !as_float) {
		to->kind = ATTR_INT;
		return ir_size_eval(&inst->scope, size, &to->i);
	}
	to->kind = ATTR_FLOAT;
	to->f = value;
	return true;
}

static bool
instance_attr(
	struct instance *inst, const struct ir_attr *from, enum wanted want, struct ir_attr *to)
{
	const struct ir_attr *given =
		from->kind == ATTR_NAME ? ir_attr_find(inst->scope.call, from->s) : NULL;

	*to = *from;
	if (given) { /* in a rule: a list, an axis or an element type */
		*to = *given;
		to->key = from->key;
		return true;
	}
	if (from->kind == ATTR_SIZE && want != WANT_INT)
		return instance_number(inst, from->size, want == WANT_FLOAT, to);
	if (from->kind == ATTR_SIZE) {
		to->kind = ATTR_INT;
		return ir_size_eval(&inst->scope, from->size, &to->i);
	}
	if (from->kind == ATTR_LIST) {
		struct ir_attr *list = ARENA_ARRAY(inst->m->arena, struct ir_attr, from->n);
		for (int i = 0; i < from->n; i++)
			if (!instance_attr(inst, &from->list[i], want, &list[i]))
				return false;
		to->list = list;
	}
	return true;
}

static enum wanted
wanted_of(const struct row_attr *row)
{
	if (!row || row->type == ROW_SCALAR || row->type == ROW_NUMBERS)
		return WANT_NUMBER;
	return row->type == ROW_FLOAT ? WANT_FLOAT : WANT_INT;
}

/* The attributes of a template's op; a call gets the prefix in front of its own. */
static struct ir_attr *
instance_attrs(struct instance *inst, const struct ir_op *op, int *n)
{
	struct ir_attr *attr = ARENA_ARRAY(inst->scratch, struct ir_attr, op->nattrs + 1);
	bool prefix = op->code == OP_call && *inst->prefix;

	*n = op->nattrs;
	for (int i = 0; i < op->nattrs; i++) {
		const struct row_attr *row =
			row_attr_find(op_row(inst->m->ctx, op), op->attr[i].key);
		if (!instance_attr(inst, &op->attr[i], wanted_of(row), &attr[i]))
			return NULL;
		if (prefix && strcmp(attr[i].key, "as") == 0) {
			attr[i].s = prefixed(inst, attr[i].s);
			prefix = false;
		}
	}
	if (prefix) {
		const char *as = ir_name_n(inst->m->ctx, inst->prefix, strlen(inst->prefix) - 1);
		attr[(*n)++] = ir_make_string(inst->m->ctx, "as", as);
	}
	return attr;
}

static bool instance_block(struct instance *inst, const struct ir_block *from, struct ir_block *to,
	struct ir_op *before);

/* Body of a fuse: its arguments have the types of the operands. */
static bool
instance_body(struct instance *inst, const struct ir_op *from, struct ir_op *to)
{
	const struct ir_block *outer = inst->from;
	struct ir_block *body = ir_op_make_body(inst->m, to);

	for (uint32_t i = 0; i < body->nargs; i++) {
		body->arg[i].name = value_name(inst, from->body->arg[i].name);
		*instead_of(inst, &from->body->arg[i]) = &body->arg[i];
	}
	inst->from = from->body;
	bool ok = instance_block(inst, from->body, body, NULL);
	inst->from = outer;
	return ok;
}

/* The written types of an op, evaluated; entries without a written type are NULL. */
static bool
instance_written(struct instance *inst, const struct ir_op *op, const struct ir_type **written)
{
	const struct ir_type_text *t = op->written;

	for (int i = 0; i < op->nresults && t; i++, t = t->next) {
		written[i] = ir_type_resolve(&inst->scope, t);
		if (!written[i])
			return false;
	}
	return true;
}

/* What is at a location of the template is, in the instance, also at the call. */
static struct ir_loc
loc_in(const struct instance *inst, struct ir_loc loc)
{
	if (loc.begin >= inst->text.begin && loc.end <= inst->text.end) {
		loc.begin += inst->shift;
		loc.end += inst->shift;
	}
	return loc;
}

/* An op of the instance, typed, outside any block; NULL after an error. */
static struct ir_op *
instance_op(struct instance *inst, const struct ir_op *from)
{
	struct ir_value **operands =
		ARENA_ARRAY(inst->scratch, struct ir_value *, from->noperands + 1);
	const struct ir_type **written =
		ARENA_ARRAY(inst->scratch, const struct ir_type *, from->nresults + 1);
	int nattrs;
	struct ir_attr *attr = instance_attrs(inst, from, &nattrs);

	if (!attr || !instance_written(inst, from, written))
		return NULL;
	for (int i = 0; i < from->noperands; i++)
		operands[i] = *instead_of(inst, ir_operand(from, i));
	struct ir_op *op = ir_op_create(inst->m, (enum op_code)from->code, loc_in(inst, from->loc),
		operands, from->noperands, attr, nattrs, from->nresults);
	op->symbol = op_is(op, TRAIT_PERSISTENT | TRAIT_KEYED) ? prefixed(inst, from->symbol)
							       : from->symbol;
	for (int i = 0; i < op->nresults; i++) {
		op->result[i].name = value_name(inst, from->result[i].name);
		*instead_of(inst, &from->result[i]) = &op->result[i];
	}
	bool ok = !from->body || instance_body(inst, from, op);
	if (ok && ir_infer(inst->m, op, from->written ? written : NULL))
		return op;
	ir_op_erase(op);
	return NULL;
}

static bool
instance_block(struct instance *inst, const struct ir_block *from, struct ir_block *to,
	struct ir_op *before)
{
	IR_FOR_OPS (op, from) {
		if (op->code == OP_return)
			break;
		struct ir_op *copy = instance_op(inst, op);
		if (!copy)
			return false;
		if (before)
			ir_insert_before(before, copy);
		else
			ir_block_append(to, copy);
	}
	return true;
}

bool
instance_make(struct ir_module *m, const struct instance_place *place, const struct ir_op *call,
	const struct ir_func *f, struct ir_value *const *operands, struct ir_value **result)
{
	struct arena *scratch = arena_create(NULL);
	struct instance inst = {
		.m = m, .prefix = place->prefix, .from = &f->body, .scratch = scratch};

	/* An instance that only types the call has a note about it instead. */
	if (f->body.first && place->before) {
		inst.text = loc_join(f->body.first->loc, template_return(f)->loc);
		inst.shift = diag_add_call(m->ctx->diag, inst.text, f->name, call->loc);
	}
	create_table(&inst);
	inst.scope = (struct ir_size_scope){m, call, instance_type_of, &inst};
	for (uint32_t i = 0; i < f->body.nargs; i++)
		*instead_of(&inst, &f->body.arg[i]) = operands[i];
	bool ok = instance_block(&inst, &f->body, place->block, place->before);
	const struct ir_op *ret = template_return(f);
	for (int i = 0; ok && i < ret->noperands; i++)
		result[i] = *instead_of(&inst, ir_operand(ret, i));
	if (!ok)
		diag_note(m->ctx->diag, call->loc, "in this call of @%s", f->name);
	talloc_free(scratch);
	return ok;
}
