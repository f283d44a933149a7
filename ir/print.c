/*
 * The printer. It writes the canonical text, which parses to an equal module; printing that gives
 * the same text. One op a line, indented by two, types always written, attributes in the order of
 * the op's row.
 */
#include "ir/ir.h"

#include "ir/base/alloc.h"
#include "ir/base/intern.h"
#include "ir/names.h"
#include "ir/base/out.h"
#include "ir/rule.h"
#include "ir/template.h"
#include "ir/base/unit.h"

#include <string.h>
#include <talloc.h>

enum { PRINT_TYPES = 256 }; /* a power of two: slots for the texts of types seen last */

struct printer {
	struct out out;
	const struct ir_module *m;
	const struct names *names; /* NULL: values keep their own names */
	struct {
		const struct ir_type *type;
		char *text;
		size_t n;
	} type[PRINT_TYPES];
	void *scratch; /* talloc */
};

static void
print_value(struct printer *p, const struct ir_value *v)
{
	uint32_t number = 0;
	const char *name = p->names ? names_find(p->names, v, &number) : v->name;

	out_char(&p->out, '%');
	if (name)
		out_bytes(&p->out, name, name_length(name));
	else
		out_int(&p->out, number);
}

static void
print_values(struct printer *p, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++) {
		if (i)
			out_bytes(&p->out, ", ", 2);
		if (op->code == OP_while && op->body) {
			print_value(p, &op->body->arg[i]);
			out_bytes(&p->out, " = ", 3);
		}
		print_value(p, ir_operand(op, i));
	}
}

/* Types repeat: the text of one is made once. */
static void
print_type(struct printer *p, const struct ir_type *t)
{
	size_t at = (((uintptr_t)t >> 4) ^ ((uintptr_t)t >> 12)) % PRINT_TYPES;

	if (!t) {
		out_text(&p->out, "<untyped>");
		return;
	}
	if (p->type[at].type != t) {
		talloc_free(p->type[at].text);
		p->type[at].type = t;
		p->type[at].text = ir_type_text(p->scratch, p->m, t);
		p->type[at].n = strlen(p->type[at].text);
	}
	out_bytes(&p->out, p->type[at].text, p->type[at].n);
}

enum { LEVEL_SUM, LEVEL_PRODUCT, LEVEL_UNARY };

static int
size_level(const struct ir_size *s)
{
	switch ((enum size_kind)s->kind) {
	case SIZE_ADD:
	case SIZE_SUB: return LEVEL_SUM;
	case SIZE_MUL:
	case SIZE_DIV: return LEVEL_PRODUCT;
	default: return LEVEL_UNARY;
	}
}

/* Puts an expression in parentheses if it binds less tightly than its context. */
static void
print_size(struct printer *p, const struct ir_size *s, int level)
{
	static const char sign[] = {
		[SIZE_ADD] = '+', [SIZE_SUB] = '-', [SIZE_MUL] = '*', [SIZE_DIV] = '/'};
	int own = size_level(s);

	if (own < level)
		out_char(&p->out, '(');
	switch ((enum size_kind)s->kind) {
	case SIZE_INT: out_int(&p->out, s->i); break;
	case SIZE_NAME: out_text(&p->out, s->name); break;
	case SIZE_DIM:
		out_text(&p->out, "dim(%");
		out_text(&p->out, s->name);
		out_bytes(&p->out, ", ", 2);
		print_size(p, s->arg[0], LEVEL_SUM);
		out_char(&p->out, ')');
		break;
	case SIZE_NEG:
		out_char(&p->out, '-');
		print_size(p, s->arg[0], LEVEL_UNARY);
		break;
	default:
		print_size(p, s->arg[0], own);
		out_char(&p->out, sign[s->kind]);
		print_size(p, s->arg[1], own + 1);
	}
	if (own < level)
		out_char(&p->out, ')');
}

static void
print_type_text(struct printer *p, const struct ir_type_text *t)
{
	out_text(&p->out, t->letter ? t->letter : ir_dtype_name(t->dtype));
	out_text(&p->out, t->dots ? "[.." : "[");
	for (int i = 0; i < t->rank; i++) {
		if (i || t->dots)
			out_char(&p->out, ',');
		print_size(p, t->dim[i], LEVEL_SUM);
	}
	out_char(&p->out, ']');
	for (int i = 0; i < t->nsuffixes; i++) {
		const struct ir_type_suffix *suffix = &t->suffix[i];
		out_char(&p->out, suffix->place ? '@' : '+');
		out_text(&p->out, suffix->axis);
		if (!suffix->place)
			continue;
		out_char(&p->out, '=');
		print_size(p, suffix->place, LEVEL_UNARY);
	}
	if (t->memory == IR_HOST)
		out_text(&p->out, "@host");
	if (t->param)
		out_text(&p->out, "@param");
}

static void
print_attr_value(struct printer *p, const struct ir_attr *a)
{
	switch ((enum attr_kind)a->kind) {
	case ATTR_INT: out_int(&p->out, a->i); break;
	case ATTR_FLOAT: out_float(&p->out, a->f); break;
	case ATTR_STRING: out_string(&p->out, a->s); break;
	case ATTR_NAME: out_text(&p->out, a->s); break;
	case ATTR_AXIS: out_text(&p->out, p->m->axis[a->i].name); break;
	case ATTR_DTYPE: out_text(&p->out, ir_dtype_name((enum ir_dtype)a->i)); break;
	case ATTR_BOOL: out_text(&p->out, a->i ? "true" : "false"); break;
	case ATTR_QUANTITY: out_quantity(&p->out, a->f, (enum ir_unit)a->n); break;
	case ATTR_SIZE: print_size(p, a->size, LEVEL_SUM); break;
	case ATTR_LIST:
		out_char(&p->out, '[');
		for (int i = 0; i < a->n; i++) {
			if (i)
				out_bytes(&p->out, ", ", 2);
			print_attr_value(p, &a->list[i]);
		}
		out_char(&p->out, ']');
	}
}

static void
print_attrs(struct printer *p, const struct ir_attr *attr, int n)
{
	if (!n)
		return;
	out_bytes(&p->out, " {", 2);
	for (int i = 0; i < n; i++) {
		if (i)
			out_bytes(&p->out, ", ", 2);
		out_bytes(&p->out, attr[i].key, name_length(attr[i].key));
		out_bytes(&p->out, " = ", 3);
		print_attr_value(p, &attr[i]);
	}
	out_char(&p->out, '}');
}

static void
print_types(struct printer *p, const struct ir_op *op)
{
	if (!p->names) { /* a template: what the text says */
		for (const struct ir_type_text *t = op->written; t; t = t->next) {
			out_text(&p->out, t == op->written ? " : " : ", ");
			print_type_text(p, t);
		}
		return;
	}
	for (int i = 0; i < op->nresults; i++) {
		out_text(&p->out, i ? ", " : " : ");
		print_type(p, op->result[i].type);
	}
}

static void
print_indent(struct printer *p, int depth)
{
	for (int i = 0; i < depth; i++)
		out_bytes(&p->out, "  ", 2);
}

/* Everything up to the attributes. */
static void
print_head(struct printer *p, const struct ir_op *op)
{
	for (int i = 0; i < op->nresults; i++) {
		print_value(p, &op->result[i]);
		out_text(&p->out, i + 1 < op->nresults ? ", " : " = ");
	}
	out_text(&p->out, op_name((enum op_code)op->code));
	if (op_is(op, TRAIT_CALLS)) {
		out_bytes(&p->out, " @", 2);
		out_text(&p->out, op->symbol);
	}
	out_char(&p->out, '(');
	if (op_is(op, TRAIT_NAMED | TRAIT_KEYED) && !op_is(op, TRAIT_CALLS)) {
		out_string(&p->out, op->symbol ? op->symbol : "");
		if (op->noperands)
			out_bytes(&p->out, ", ", 2);
	}
	print_values(p, op);
	out_char(&p->out, ')');
	print_attrs(p, op->attr, op->nattrs);
}

static void
print_block(struct printer *p, const struct ir_block *b, int depth)
{
	IR_FOR_OPS (op, b) {
		print_indent(p, depth);
		print_head(p, op);
		if (op->body) {
			out_bytes(&p->out, " {\n", 3);
			print_block(p, op->body, depth + 1);
			print_indent(p, depth);
			out_char(&p->out, '}');
		}
		print_types(p, op);
		out_char(&p->out, '\n');
	}
}

static void
print_func(struct printer *p, const struct ir_func *f)
{
	bool typed = !ir_func_is_template(f);

	if (typed)
		p->names = names_create(p->scratch, f);
	out_text(&p->out, "\nfunc @");
	out_text(&p->out, f->name);
	out_char(&p->out, '(');
	for (uint32_t i = 0; i < f->body.nargs; i++) {
		if (i)
			out_bytes(&p->out, ", ", 2);
		print_value(p, &f->body.arg[i]);
	}
	out_text(&p->out, ") {\n");
	print_block(p, &f->body, 1);
	out_text(&p->out, "}\n");
	p->names = NULL;
}

/* Which lets and functions the text must hold. */
struct needed {
	const struct ir_module *m;
	bool *let;
};

static void
need_let(void *data, const char *name)
{
	struct needed *needed = data;
	const struct ir_let *let = ir_let_find(needed->m, name);

	if (let)
		needed->let[let - needed->m->let] = true;
}

static bool
block_calls(const struct ir_block *b, const char *name)
{
	IR_FOR_OPS (op, b)
		if (op_is(op, TRAIT_CALLS) && op->symbol == name)
			return true;
	return false;
}

/* A function of the prelude is printed if a printed function calls it. */
static bool
func_needed(const struct ir_module *m, const struct ir_func *f)
{
	if (!f->prelude)
		return true;
	for (const struct ir_func *g = m->func; g; g = g->next)
		if (g != f && block_calls(&g->body, f->name) && func_needed(m, g))
			return true;
	return false;
}

static void
print_lets(struct printer *p)
{
	struct needed needed = {p->m, ZERO_ARRAY(p->scratch, bool, (size_t)p->m->nlets + 1)};

	for (const struct ir_func *f = p->m->func; f; f = f->next)
		if (ir_func_is_template(f) && func_needed(p->m, f))
			ir_template_names(f, need_let, &needed);
	for (int i = 0; i < p->m->nlets; i++) {
		if (!needed.let[i])
			continue;
		out_text(&p->out, "let ");
		out_text(&p->out, p->m->let[i].name);
		out_text(&p->out, " = ");
		out_int(&p->out, p->m->let[i].value);
		out_char(&p->out, '\n');
	}
}

static bool
same_line(const struct ir_axis *a, const struct ir_axis *b)
{
	return a->time == b->time && a->peel == b->peel && a->schedule == b->schedule &&
	       !a->stage && !b->stage;
}

/* {stages = [...], devices = [...]} */
static void
print_mesh_attrs(struct printer *p, const struct ir_axis *a, bool devices)
{
	for (int i = 0; a->stage && i < a->nstages; i++) {
		out_text(&p->out, i ? ", " : " {stages = [");
		out_int(&p->out, a->stage[i]);
	}
	if (!a->stage) {
		print_attrs(p, p->m->mesh_attr, devices ? p->m->nmesh_attrs : 0);
		return;
	}
	out_char(&p->out, ']');
	for (int i = 0; devices && p->m->nmesh_attrs && i < p->m->mesh_attr->n; i++) {
		out_text(&p->out, i ? ", " : ", devices = [");
		out_int(&p->out, p->m->mesh_attr->list[i].i);
	}
	out_text(&p->out, devices && p->m->nmesh_attrs ? "]}" : "}");
}

/* Axes in their order, a line for every run of device axes or time axes. */
static void
print_axes(struct printer *p)
{
	const struct ir_module *m = p->m;
	int last_mesh = -1;

	for (int i = 0; i < m->naxes; i++)
		if (!m->axis[i].time)
			last_mesh = i;
	for (int i = 0; i < m->naxes; i++) {
		const struct ir_axis *a = &m->axis[i];
		bool first = i == 0 || !same_line(&m->axis[i - 1], a);
		bool last = i + 1 == m->naxes || !same_line(a, &m->axis[i + 1]);
		out_text(&p->out, !first ? ", " : a->time ? "steps [" : "mesh [");
		out_text(&p->out, a->name);
		out_text(&p->out, " = ");
		out_int(&p->out, a->size);
		if (!last)
			continue;
		out_char(&p->out, ']');
		print_mesh_attrs(p, a, i == last_mesh);
		if (a->peel)
			out_text(&p->out, " {peel = true}");
		if (a->schedule) {
			out_text(&p->out, " {schedule = \"");
			out_text(&p->out, a->schedule);
			out_text(&p->out, "\"}");
		}
		out_char(&p->out, '\n');
	}
}

static struct printer *
printer_create(FILE *out, const struct ir_module *m)
{
	struct printer *p = NEW(NULL, struct printer);

	p->out.file = out;
	p->out.used = 0;
	p->m = m;
	p->names = NULL;
	memset(p->type, 0, sizeof p->type);
	p->scratch = p;
	return p;
}

void
ir_print(FILE *out, const struct ir_module *m)
{
	struct printer *p = printer_create(out, m);

	out_text(&p->out, "module @");
	out_text(&p->out, m->name);
	out_char(&p->out, '\n');
	print_lets(p);
	print_axes(p);
	for (const struct ir_func *f = m->func; f; f = f->next)
		if (func_needed(m, f))
			print_func(p, f);
	out_flush(&p->out);
	talloc_free(p);
}

const char *const ir_rule_assumption[RULE_NASSUMES] = {"finite", "positive", "nonzero"};

static void
print_conditions(struct printer *p, unsigned assumes, const struct ir_rule_condition *where, int n)
{
	static const char *const sign[] = {" == ", " != ", " < ", " <= ", " > ", " >= "};
	const char *between = " where ";

	for (int i = 0; i < RULE_NASSUMES; i++)
		if (assumes >> i & 1) {
			out_text(&p->out, between);
			out_text(&p->out, ir_rule_assumption[i]);
			between = ", ";
		}
	for (int i = 0; i < n; i++) {
		out_text(&p->out, i ? ", " : between);
		print_size(p, where[i].arg[0], LEVEL_SUM);
		out_text(&p->out, sign[where[i].compare]);
		print_size(p, where[i].arg[1], LEVEL_SUM);
	}
}

void
ir_print_conditions(
	FILE *out, const struct ir_module *m, const struct ir_rule_condition *where, int n)
{
	struct printer *p = printer_create(out, m);

	print_conditions(p, 0, where, n);
	out_flush(&p->out);
	talloc_free(p);
}

void
ir_print_rule(FILE *out, const struct ir_module *m, const struct ir_rule *r)
{
	struct printer *p = printer_create(out, m);

	out_text(&p->out, "rule @");
	out_text(&p->out, r->name);
	out_char(&p->out, '(');
	for (uint32_t i = 0; i < r->side[RULE_LEFT]->body.nargs; i++) {
		if (i)
			out_bytes(&p->out, ", ", 2);
		print_value(p, &r->side[RULE_LEFT]->body.arg[i]);
		out_bytes(&p->out, " : ", 3);
		print_type_text(p, r->param[i]);
	}
	out_char(&p->out, ')');
	print_conditions(p, r->assumes, r->where, r->nwhere);
	out_bytes(&p->out, " {\n", 3);
	print_block(p, &r->side[RULE_LEFT]->body, 1);
	out_text(&p->out, "} => {\n");
	print_block(p, &r->side[RULE_RIGHT]->body, 1);
	out_bytes(&p->out, "}\n", 2);
	out_flush(&p->out);
	talloc_free(p);
}

void
ir_print_op_named(FILE *out, const struct ir_module *m, const struct ir_op *op, struct names *names)
{
	struct printer *p = printer_create(out, m);

	p->names = names;
	print_head(p, op);
	if (op->body)
		out_text(&p->out, " { ... }");
	print_types(p, op);
	out_char(&p->out, '\n');
	out_flush(&p->out);
	talloc_free(p);
}

void
ir_print_op(FILE *out, const struct ir_module *m, const struct ir_op *op)
{
	struct names *names =
		op->block && op->block->func ? names_create(NULL, op->block->func) : NULL;

	ir_print_op_named(out, m, op, names);
	talloc_free(names);
}
