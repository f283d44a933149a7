/* Declarations: module, let, mesh, steps, func. All except func come before the functions. */
#include "parser/dir/parser.h"

#include "ir/base/vec.h"

#include <inttypes.h>
#include <string.h>

void
declare_module(struct parser *p, struct named name)
{
	if (p->named)
		PARSE_ERROR(p, name.loc, "the module already has a name: @%s", p->m->name);
	else
		p->m->name = name.name;
	p->named = true;
}

/* Required for every declaration: the module has its name, and no function came before. */
static void
declare_check(struct parser *p, const char *what, struct ir_loc loc)
{
	if (!p->named && !p->in_prelude)
		PARSE_ERROR(p, loc, "the file must start with 'module @name'");
	p->named = true;
	if (*what && p->m->func)
		PARSE_ERROR(p, loc, "%s must come before the first function", what);
}

/* Lets and axes share a name space in types: each name is unique and not a reserved word. */
static bool
name_is_free(struct parser *p, struct named name)
{
	static const char *const word[] = {"true", "false", "inf", "nan", "dim"};
	const char *s = name.name;
	struct ir_loc before = LOC_NONE;
	bool taken = ir_dtype_find(s) >= 0;

	for (size_t i = 0; i < sizeof word / sizeof *word; i++)
		taken = taken || strcmp(s, word[i]) == 0;
	if (taken) {
		PARSE_ERROR(p, name.loc, "'%s' is a reserved word", s);
		return false;
	}
	const struct ir_let *let = ir_let_find(p->m, s);
	if (let)
		before = let->loc;
	for (int i = 0; i < p->m->naxes; i++)
		if (p->m->axis[i].name == s)
			before = p->m->axis[i].loc;
	if (!before.begin)
		return true;
	PARSE_ERROR(p, name.loc, "'%s' is already declared", s);
	diag_note(p->ctx->diag, before, "here");
	return false;
}

void
declare_let(struct parser *p, struct named name, struct size_value size, struct ir_loc loc)
{
	struct ir_module *m = p->m;
	int64_t value = 0;

	declare_check(p, "let", name.loc);
	if (!name_is_free(p, name))
		return;
	if (!size_number(p, size, loc, &value))
		value = 1; /* reported; uses of the name are not errors */
	for (int i = 0; p->o && i < p->o->ndefines; i++)
		if (strcmp(p->o->define[i].name, name.name) == 0) {
			value = p->o->define[i].value;
			p->defined[i] = true;
		}
	ir_let_add(m, (struct ir_let){name.name, value, name.loc});
}

void
declare_axes(struct parser *p, bool time, struct ir_loc loc)
{
	declare_check(p, time ? "steps" : "mesh", loc);
	p->time = time;
	p->first_axis = p->m->naxes;
}

void
declare_axis(struct parser *p, struct named name, struct size_value size, struct ir_loc loc)
{
	struct ir_module *m = p->m;
	int64_t n;

	if (!name_is_free(p, name) || !size_number(p, size, loc, &n))
		return;
	if (n < 1 || n > IR_MAX_AXIS) {
		PARSE_ERROR(p, loc, "the size of an axis must be 1 to %d, not %" PRId64,
			IR_MAX_AXIS, n);
		return;
	}
	if (m->naxes == IR_MAX_AXES) {
		PARSE_ERROR(p, name.loc, "a module has at most %d axes", IR_MAX_AXES);
		return;
	}
	if (ir_places(m) * n > IR_MAX_PLACES) {
		PARSE_ERROR(p, loc, "the product of the sizes of the axes is more than %d",
			IR_MAX_PLACES);
		return;
	}
	m->axis[m->naxes++] = (struct ir_axis){
		.name = name.name, .size = (int32_t)n, .time = p->time, .loc = name.loc};
}

/* {peel = true, schedule = "1f1b"}, of the axes of the line. */
static void
set_steps_attrs(struct parser *p)
{
	for (int i = p->first_axis; i < p->m->naxes; i++)
		for (int64_t k = 0; k < p->attr.n; k++)
			if (strcmp(p->attr.at[k].key, "peel") == 0)
				p->m->axis[i].peel = p->attr.at[k].i;
			else
				p->m->axis[i].schedule = p->attr.at[k].s;
	const struct ir_axis *first = &p->m->axis[p->first_axis];
	if (first->peel && first->schedule)
		PARSE_ERROR(p, p->attr.at->loc, "steps cannot have both peel and schedule");
	if (first->schedule && first->schedule[strspn(first->schedule, "0123456789BFIWbefgip,;")])
		PARSE_ERROR(p, p->attr.at->loc,
			"schedule: expected \"gpipe\", \"1f1b\" or cells \"0F0,0B0;1F0,1B0\"");
}

/* {stages = [...]}: the coordinate of each stage of a pipeline, on the axis of the line. */
static void
set_stages(struct parser *p, const struct ir_attr *list)
{
	struct ir_module *m = p->m;
	struct ir_axis *axis = &m->axis[p->first_axis];
	uint16_t *stage = ARENA_ARRAY(p->ctx->arena, uint16_t, (size_t)list->n);
	bool ok = true;

	if (m->naxes - p->first_axis != 1) {
		PARSE_ERROR(p, list->loc,
			"stages are of one axis: expected a mesh line for that axis alone");
		return;
	}
	if (list->n <= axis->size) {
		PARSE_ERROR(p, list->loc,
			"%d stages on axis %s of size %d: expected more than there are devices",
			list->n, axis->name, axis->size);
		return;
	}
	for (int i = 0; i < list->n; i++) {
		const int64_t at = list->list[i].i;
		if (at < 0 || at >= axis->size) {
			PARSE_ERROR(p, list->list[i].loc,
				"axis %s has positions 0 to %d, not %" PRId64, axis->name,
				axis->size - 1, at);
			ok = false;
			continue;
		}
		stage[i] = (uint16_t)at;
	}
	if (!ok)
		return;
	axis->nstages = list->n;
	axis->stage = stage;
}

/* {devices = [...]}: numbers of the cluster's devices, one for each place of the device axes. */
static void
set_devices(struct parser *p, const struct ir_attr *devices)
{
	struct ir_module *m = p->m;

	for (int i = 0; i < devices->n; i++) {
		const struct ir_attr *a = &devices->list[i];
		bool twice = false;
		for (int j = 0; j < i; j++)
			twice = twice || devices->list[j].i == a->i;
		if (a->i < 0 || a->i > INT32_MAX || twice)
			PARSE_ERROR(p, a->loc,
				twice ? "device %" PRId64 " appears twice in the list"
				      : "there is no device %" PRId64,
				a->i);
	}
	struct ir_attr *copy = ARENA_NEW(m->arena, struct ir_attr);
	*copy = *devices;
	m->mesh_attr = copy;
	m->nmesh_attrs = 1;
}

void
declare_axes_attrs(struct parser *p, struct ir_loc loc)
{
	static const struct ir_row
		mesh = {.name = "mesh",
			.attr = {{.key = "devices", .type = ROW_INTS, .optional = true},
				{.key = "stages", .type = ROW_INTS, .optional = true}},
			.nattrs = 2},
		steps = {.name = "steps",
			.attr = {{.key = "peel", .type = ROW_BOOL, .optional = true},
				{.key = "schedule", .type = ROW_STRING, .optional = true}},
			.nattrs = 2};
	const bool ok = attrs_resolve(p, p->time ? &steps : &mesh);

	if (ok && p->time)
		set_steps_attrs(p);
	for (int64_t i = 0; ok && !p->time && i < p->attr.n; i++)
		if (strcmp(p->attr.at[i].key, "stages") == 0)
			set_stages(p, &p->attr.at[i]);
		else if (p->m->nmesh_attrs)
			PARSE_ERROR(p, loc, "the devices are already given");
		else
			set_devices(p, &p->attr.at[i]);
	p->attr.n = p->key.n = 0;
}

void
func_begin(struct parser *p, struct named name)
{
	struct ir_module *m = p->m;
	const char *s = name.name;
	const struct ir_func *before = ir_func_find(m, s);
	int n = p->result.n;

	declare_check(p, "", name.loc);
	p->func_bad = before != NULL;
	if (before) {
		PARSE_ERROR(p, name.loc, "@%s is already defined", s);
		diag_note(p->ctx->diag, before->loc, "here");
	}
	struct ir_func *f = ir_func_create(m, s, name.loc);
	f->prelude = p->in_prelude;
	p->func = f;
	p->block = &f->body;
	p->template = ir_func_is_template(f);
	if (!p->template && n)
		PARSE_ERROR(p, p->result.at[0].loc,
			"@main cannot have parameters; use input(\"name\")");
	p->scope = m->value_ids;
	f->body.arg = ir_block_args(m, &f->body, (uint32_t)n);
	f->body.nargs = (uint32_t)n;
	for (int i = 0; i < n; i++) {
		struct named arg = p->result.at[i];
		f->body.arg[i].name = arg.name;
		f->body.arg[i].id = m->value_ids++;
		symbol_define(p, arg, &f->body.arg[i]);
	}
	p->result.n = 0;
}

static void
func_close(struct parser *p)
{
	p->func = NULL;
	p->block = NULL;
	p->template = false;
	p->meanings.undo.n = 0;
}

void
func_end(struct parser *p, struct ir_loc loc)
{
	struct ir_func *f = p->func;
	const struct ir_op *last = f->body.last;

	if (p->template && !p->func_bad && !(last && last->code == OP_return)) {
		loc.begin = loc.end - 1;
		PARSE_ERROR(p, loc, "@%s must end in return(...)", f->name);
		p->func_bad = true;
	}
	if (p->func_bad && p->template)
		ir_template_poison(p->m, f);
	func_close(p);
}

void
func_abandon(struct parser *p, struct named name)
{
	struct ir_func *f = p->func;

	stmt_reset(p); /* the last statement may be half read */
	p->named = true;
	if (!f)
		f = ir_func_create(p->m, name.name, name.loc);
	ir_template_poison(p->m, f);
	func_close(p);
}
