/* Scalar expressions and element accesses as C. */
#include "lower/text/text.h"

#include "ir/base/vec.h"
#include "ir/ops/literal.h"
#include "ir/loops/build.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

const char *
kernel_ctype(enum ir_dtype t)
{
	static const char *const name[] = {
#define DTYPE(name, bytes, ctype, class, tag) #ctype,
#include "runtime/kernel/dtype.def"
#undef DTYPE
	};

	return name[t];
}

const char *
kernel_compute_type(enum ir_dtype t)
{
	return t == IR_f16 || t == IR_bf16 ? "float" : kernel_ctype(t);
}

static bool
is_half(enum ir_dtype t)
{
	return t == IR_f16 || t == IR_bf16;
}

/* An integer as a literal of its type, or of the type that C computes with. The smallest integers
 * of 32 and 64 bits have no literal in C. */
static char *
int_text(struct kernel_text *w, enum ir_dtype t, int64_t v)
{
	const int64_t i = ir_dtype_wrap(t, v);

	if ((t == IR_i64 || t == IR_i32) && i == ir_dtype_lowest(t))
		return TEXT(w->scratch, "INT%d_MIN", 8 * (int)ir_dtype_bytes(t));
	switch (t) {
	case IR_i64: return TEXT(w->scratch, "INT64_C(%" PRId64 ")", i);
	case IR_u64: return TEXT(w->scratch, "UINT64_C(%" PRIu64 ")", (uint64_t)i);
	case IR_u32: return TEXT(w->scratch, "%" PRId64 "u", i);
	default: return TEXT(w->scratch, "%" PRId64, i);
	}
}

static char *
const_text(struct kernel_text *w, enum ir_dtype t, double v)
{
	const bool single = t == IR_f32 || is_half(t);

	if (ir_dtype_class(t) != IR_FLOAT)
		return int_text(
			w, t, ir_dtype_truncated(v > 0 && t == IR_u64 ? IR_u64 : IR_i64, v));
	v = ir_dtype_round(t, v); /* decimal digits would round a second time */
	if (isnan(v))
		return text_copy(w->scratch, single ? "NAN" : "(double)NAN");
	if (isinf(v))
		return TEXT(w->scratch, "%sHUGE_VAL%s", v < 0 ? "-" : "", single ? "F" : "");
	char *text = TEXT(w->scratch, "%.*g", single ? 9 : 17, v);
	if (!strpbrk(text, ".e"))
		text = text_append(text, ".0");
	return single ? text_append(text, "f") : text;
}

/* A minus sign must not follow another one. */
static char *
in_parentheses(struct kernel_text *w, char *text)
{
	return *text == '-' ? TEXT(w->scratch, "(%s)", text) : text;
}

char *
kernel_const(struct kernel_text *w, enum ir_dtype t, double v)
{
	return in_parentheses(w, const_text(w, t, v));
}

char *
kernel_const_expr(struct kernel_text *w, const struct expr *e)
{
	const enum ir_dtype t = (enum ir_dtype)e->dtype;

	return in_parentheses(w, ir_dtype_class(t) == IR_FLOAT ? const_text(w, t, e->value)
							       : int_text(w, t, e->whole));
}

char *
kernel_memory(struct kernel_text *w, int tensor)
{
	const struct scheme_tensor *t = &w->s->tensor[tensor];

	while (t->alias >= 0) {
		tensor = t->alias;
		t = &w->s->tensor[tensor];
	}
	if (t->operand >= 0)
		return TEXT(w->scratch, "a%d", t->operand);
	if (t->result >= 0)
		return TEXT(w->scratch, "r%d", t->result);
	return TEXT(w->scratch, "m%d", tensor);
}

/* Adds `stride * variable` to an index. */
static char *
add_term(char *text, int64_t stride, const char *variable)
{
	if (*text)
		text = text_append(text, " + ");
	return stride == 1 ? text_append(text, "%s", variable)
			   : text_append(text, "%s * %" PRId64, variable, stride);
}

/* The loop variable of a class; blocks of rows start at b0. */
static char *
class_variable(struct kernel_text *w, int cls, bool in_block)
{
	return TEXT(w->scratch, in_block ? "(i%d - b0)" : "i%d", cls);
}

static char *
memory_index(struct kernel_text *w, const struct scheme_op *o, int j)
{
	const struct form_access *x = j < 0 ? &o->f.out : &o->f.in[j];
	const int tensor = j < 0 ? o->out : o->in[j];
	const struct scheme_segment *g = &w->s->segment[o->segment];
	const bool block = g->block && j >= 0 && scheme_is_block(w->s, tensor);
	char *text = text_copy(w->scratch, "");

	for (int d = 0; d < x->rank; d++) {
		const int index = x->index[d];
		const int64_t stride = scheme_dim_stride(&w->s->tensor[tensor], d);
		if (index >= 0 && o->f.at[index])
			text = add_term(text, stride, kernel_position_name(w, o, index));
		else if (index >= 0 && o->cls[index] >= 0)
			text = add_term(text, stride,
				class_variable(
					w, o->cls[index], block && o->cls[index] == g->order[0]));
	}
	return *text ? text : text_copy(w->scratch, "0");
}

/* A row holds the inner classes of the op that makes it, in the order of the loops. */
static char *
row_index(struct kernel_text *w, const struct scheme_op *maker)
{
	const struct scheme_segment *g = &w->s->segment[maker->segment];
	int64_t stride = 1;
	char *text = text_copy(w->scratch, "");

	for (int i = g->norder - 1; i >= g->nouter; i--) {
		const int c = g->order[i];
		if (!(maker->out_set >> c & 1))
			continue;
		text = add_term(text, stride, class_variable(w, c, false));
		stride *= g->size[c];
	}
	return *text ? text : text_copy(w->scratch, "0");
}

char *
kernel_element(struct kernel_text *w, const struct scheme_op *o, int j)
{
	const int tensor = j < 0 ? o->out : o->in[j];
	const struct scheme_tensor *t = &w->s->tensor[tensor];
	char *other = w->element ? w->element(w, o, j) : NULL;

	if (other)
		return other;
	if (t->where == SCHEME_ROW)
		return TEXT(w->scratch, "w%d[%s]", tensor, row_index(w, &w->s->op[t->op]));
	return TEXT(w->scratch, "%s[%s]", kernel_memory(w, tensor), memory_index(w, o, j));
}

/* Is the value of tensor t a local at op o? */
static bool
is_local(const struct kernel_text *w, const struct scheme_op *o, int tensor)
{
	const struct scheme_tensor *t = &w->s->tensor[tensor];

	if (t->op < 0 || t->alias >= 0 || w->s->op[t->op].segment != o->segment)
		return false;
	const struct scheme_op *maker = &w->s->op[t->op];
	const struct scheme_segment *g = &w->s->segment[o->segment];
	uint32_t outer = 0;
	for (int i = 0; i < g->nouter; i++)
		outer |= 1u << g->order[i];
	if (t->where == SCHEME_LOCAL || w->all_local)
		return true;
	if (maker->red_set & outer || maker->scatter)
		return false;
	return maker->stage == o->stage ||
	       (!(maker->out_set & ~outer) && (!maker->red_set || w->sums_local));
}

char *
kernel_position_name(struct kernel_text *w, const struct scheme_op *o, int index)
{
	return TEXT(w->scratch, "p%d_%d", (int)(o - w->s->op), index);
}

/*
 * Declares the position of a computed index: p<op>_<index>. A position given by data is clamped, so
 * that a read there is safe whether it is used or not, and can become a vector load. Returns the
 * condition under which it is inside, NULL if it always is.
 */
static char *
declare_position(struct kernel_text *w, const struct scheme_op *o, int index)
{
	const char *name = kernel_position_name(w, o, index), *start = "";
	char *ranged = NULL;
	const bool inside = kernel_is_ranged(w, index, &ranged) || scheme_is_inside(o, index);
	const char *value = ranged ? ranged : kernel_expr(w, o, o->f.at[index]);

	if (o->offset[index].type) {
		const struct kernel_arg arg = {
			KERNEL_START, o->offset[index].type, o->offset[index].dim, NULL, 0};
		start = TEXT(w->scratch, " - s%d", kernel_arg(w, &arg));
	}
	if (inside || !scheme_loads(o->f.at[index]) || o->scatter) {
		kernel_line(w, "const int64_t %s = (int64_t)%s%s;", name, value, start);
		return inside ? NULL
			      : TEXT(w->scratch, "(uint64_t)%s < %" PRId64, name, o->f.size[index]);
	}
	char *test = TEXT(w->scratch, "(uint64_t)n%s < %" PRId64, name, o->f.size[index]);
	kernel_line(w, "const int64_t n%s = (int64_t)%s%s;", name, value, start);
	kernel_line(w, "const int64_t %s = %s ? n%s : 0;", name, test, name);
	return test;
}

char *
kernel_positions(struct kernel_text *w, const struct scheme_op *o, const struct form_access *x)
{
	char *all = NULL;

	for (int d = 0; d < x->rank; d++) {
		const int index = x->index[d];
		if (index < 0 || !o->f.at[index])
			continue;
		const char *test = declare_position(w, o, index);
		if (test)
			all = all ? TEXT(w->scratch, "%s && %s", all, test)
				  : text_copy(w->scratch, test);
	}
	return all;
}

/* The value of a read outside. */
static char *
fill_text(struct kernel_text *w, const struct scheme_op *o, int j)
{
	const enum ir_dtype t = w->s->tensor[o->in[j]].dtype;

	return kernel_const_expr(w, &(struct expr){.dtype = (uint8_t)t,
					    .value = o->f.fill[j],
					    .whole = ir_dtype_fill(t, o->f.fill[j])});
}

/* Load j as it is in memory, whether this rank holds it or not. */
static char *
load_text(struct kernel_text *w, const struct scheme_op *o, int j)
{
	const int tensor = o->in[j];
	const struct scheme_tensor *t = &w->s->tensor[tensor];

	if (is_local(w, o, tensor))
		return TEXT(w->scratch, "v%d", tensor);
	const char *inside =
		form_is_computed(&o->f, &o->f.in[j]) ? kernel_positions(w, o, &o->f.in[j]) : NULL;
	char *text = t->constant ? kernel_const_expr(w, t->constant) : kernel_element(w, o, j);
	if (is_half(t->dtype) && t->where != SCHEME_ROW && !t->constant)
		text = TEXT(w->scratch, "rt_%s_to_f32(%s)", ir_dtype_name(t->dtype), text);
	return inside ? TEXT(w->scratch, "(%s ? %s : %s)", inside, text, fill_text(w, o, j)) : text;
}

char *
kernel_load(struct kernel_text *w, const struct scheme_op *o, int j)
{
	char *text = load_text(w, o, j);

	if (!(o->absent >> j & 1))
		return text;
	const struct kernel_arg held = {
		KERNEL_HELD, ir_operand_type(o->op, j), 0, o->op->result[0].type, 0};
	return TEXT(w->scratch, "(s%d ? %s : 0)", kernel_arg(w, &held), text);
}

char *
kernel_stored(struct kernel_text *w, enum ir_dtype t, const char *value)
{
	if (is_half(t))
		return TEXT(w->scratch, "rt_f32_to_%s(%s)", ir_dtype_name(t), value);
	return text_copy(w->scratch, value);
}

/* Replaces x, y, z of a row's C text by the arguments, w by the bits of the result; `_Generic`
 * macros may use one twice. */
static char *
fill_in(struct kernel_text *w, const char *text, char *const *arg, enum ir_dtype t)
{
	char *out = text_copy(w->scratch, "");

	for (const char *p = text; *p;) {
		size_t n = 1;
		if (isalpha((unsigned char)*p) || *p == '_')
			for (n = 0; isalnum((unsigned char)p[n]) || p[n] == '_';)
				n++;
		if (n == 1 && *p >= 'x' && *p <= 'z')
			out = text_append(out, "%s", arg[*p - 'x']);
		else if (n == 1 && *p == 'w')
			out = text_append(out, "%d", 8 * (int)ir_dtype_bytes(t));
		else
			out = text_append(out, "%.*s", (int)n, p);
		p += n;
	}
	return out;
}

static char *
convert_text(struct kernel_text *w, enum ir_dtype to, enum ir_dtype from, const char *x)
{
	const bool from_float = ir_dtype_class(from) == IR_FLOAT;

	if (to == IR_bool)
		return TEXT(w->scratch, "(%s != 0)", x);
	/* A number of an unpredictable condition: it would become a branch, unless it is computed
	 * on bits. */
	if (from == IR_bool && to == IR_f32)
		return TEXT(w->scratch, "m_select_f32(%s, 1.0f, 0.0f)", x);
	if (from_float && ir_dtype_class(to) == IR_FLOAT && from != to)
		x = TEXT(w->scratch, "M_taken(%s)", x);
	if (is_half(to) && from != to)
		return TEXT(w->scratch, "m_round_%s(%s)", ir_dtype_name(to), x);
	if (ir_dtype_class(to) != IR_FLOAT && from_float)
		return TEXT(w->scratch, "m_to_%s(%s)", ir_dtype_name(to), x);
	return TEXT(w->scratch, "(%s)%s", kernel_compute_type(to), x);
}

struct node {
	const struct expr *e;
	int uses;   /* number of uses */
	char *name; /* of the local that holds it; NULL: none yet */
};

/* The nodes of an expression. */
struct node_list VEC(struct node);

static struct node *
find_node(const struct node_list *l, const struct expr *e)
{
	for (int64_t i = 0; i < l->n; i++)
		if (l->at[i].e == e)
			return &l->at[i];
	return NULL;
}

static void
count_uses(struct kernel_text *w, struct node_list *l, const struct expr *e)
{
	struct node *known = find_node(l, e);

	if (known) {
		known->uses++;
		return;
	}
	VEC_PUSH(w->scratch, l, (struct node){e, 1, NULL});
	for (int i = 0; i < e->nargs; i++)
		count_uses(w, l, e->arg[i]);
}

static char *
index_text(struct kernel_text *w, const struct scheme_op *o, int index)
{
	char *text = text_copy(w->scratch, "0");

	if (o->cls[index] >= 0)
		text = TEXT(w->scratch, "i%d", o->cls[index]);
	if (o->slab[index])
		text = TEXT(w->scratch, "(slab%d + %s)", o->slab[index], text);
	if (o->offset[index].type) {
		const struct kernel_arg start = {
			KERNEL_START, o->offset[index].type, o->offset[index].dim, NULL, 0};
		text = TEXT(w->scratch, "(s%d + %s)", kernel_arg(w, &start), text);
	}
	return text;
}

static char *node_text(struct kernel_text *w, const struct scheme_op *o, struct node_list *l,
	const struct expr *e);

/* The key of random numbers is an argument, unless there are too many. */
static char *
key_text(struct kernel_text *w, const struct expr *key)
{
	const struct kernel_arg arg = {.kind = KERNEL_KEY, .key = (int64_t)key->value};

	if (w->args->n >= KERNEL_MAX_KEYS)
		return kernel_const(w, IR_i64, key->value);
	return TEXT(w->scratch, "s%d", kernel_arg(w, &arg));
}

/* A value as the bits of its type, an unsigned integer of its width; for an integer its value. */
static char *
bits_text(struct kernel_text *w, enum ir_dtype t, const char *x)
{
	switch (t) {
	case IR_f64: return TEXT(w->scratch, "rt_double_bits(%s)", x);
	case IR_f32: return TEXT(w->scratch, "rt_float_bits(%s)", x);
	case IR_f16:
	case IR_bf16: return TEXT(w->scratch, "rt_f32_to_%s(%s)", ir_dtype_name(t), x);
	default: return text_copy(w->scratch, x);
	}
}

/* The value of type t that has these bits. */
static char *
value_text(struct kernel_text *w, enum ir_dtype t, const char *bits)
{
	if (is_half(t))
		return TEXT(w->scratch, "rt_%s_to_f32((uint16_t)%s)", ir_dtype_name(t), bits);
	if (ir_dtype_class(t) == IR_FLOAT)
		return TEXT(w->scratch, "rt_bits_%s((uint%u_t)%s)", kernel_ctype(t),
			ir_dtype_bits(t), bits);
	return TEXT(w->scratch, "(%s)%s", kernel_ctype(t), bits);
}

static char *
reduce_precision_text(struct kernel_text *w, const struct expr *e, const char *x)
{
	const enum ir_dtype t = (enum ir_dtype)e->dtype;
	const int m = fn_mantissa_bits(t);

	return value_text(w, t,
		TEXT(w->scratch, "rt_reduce_precision(%s, %d, %d, %d, %d)", bits_text(w, t, x),
			(int)ir_dtype_bits(t) - 1 - m, m, (int)e->arg[1]->value,
			(int)e->arg[2]->value));
}

/* Element `at` of the literal of op o, from the bits that kernel_literals declares. */
static char *
element_text(struct kernel_text *w, const struct scheme_op *o, enum ir_dtype t, const char *at)
{
	return value_text(w, t, TEXT(w->scratch, "d%d[%s]", (int)(o - w->s->op), at));
}

static void
write_literal(struct kernel_text *w, int number, const struct ir_op *literal)
{
	enum { A_LINE = 8 };
	const struct ir_type *t = literal->result[0].type;
	const size_t size = ir_dtype_bytes((enum ir_dtype)t->dtype);
	const int64_t n = ir_type_elements(t);
	unsigned char *bytes = literal_bytes(NULL, literal);

	fprintf(w->out, "\tstatic const uint%zu_t d%d[] = {", 8 * size, number);
	for (int64_t i = 0; i < n; i++) {
		uint64_t bits = 0;
		memcpy(&bits, bytes + (size_t)i * size, size);
		fprintf(w->out, "%s0x%" PRIx64 "%s,", i % A_LINE ? " " : "\n\t\t", bits,
			size == 8 ? "u" : "");
	}
	fprintf(w->out, "\n\t};\n");
	array_free(bytes);
}

static const struct ir_op *
literal_in(const struct expr *e)
{
	const struct ir_op *found = NULL;

	if (e->kind != EXPR_CALL)
		return NULL;
	if (e->id == FN_element)
		return e->literal;
	for (int i = 0; i < e->nargs && !found; i++)
		found = literal_in(e->arg[i]);
	return found;
}

void
kernel_literals(struct kernel_text *w)
{
	for (int i = 0; i < w->s->nops; i++) {
		const struct expr *body = w->s->op[i].f.body;
		const struct ir_op *literal = body ? literal_in(body) : NULL;
		if (literal)
			write_literal(w, i, literal);
	}
}

static char *
call_text(
	struct kernel_text *w, const struct scheme_op *o, struct node_list *l, const struct expr *e)
{
	const enum ir_dtype t = (enum ir_dtype)e->dtype;
	char *arg[3] = {NULL, NULL, NULL};

	for (int i = 0; i < e->nargs; i++)
		arg[i] = i == 0 && fn_is_keyed(e->id) ? key_text(w, e->arg[i])
						      : node_text(w, o, l, e->arg[i]);
	if (e->id == FN_bitcast)
		return value_text(w, t, bits_text(w, (enum ir_dtype)e->arg[0]->dtype, arg[0]));
	if (e->id == FN_reduce_precision)
		return reduce_precision_text(w, e, arg[0]);
	if (e->id == FN_element)
		return element_text(w, o, t, arg[0]);
	if (e->id == FN_convert)
		return convert_text(w, t, (enum ir_dtype)e->arg[0]->dtype, arg[0]);
	if (e->id == FN_select)
		return kernel_select(w, o, e, arg);
	char *text = TEXT(w->scratch, "(%s)", fill_in(w, fn_c_text((enum scalar_fn)e->id), arg, t));
	if (ir_dtype_class(t) != IR_FLOAT && t != IR_bool && ir_dtype_bytes(t) < 4)
		text = TEXT(w->scratch, "(%s)%s", kernel_ctype(t), text);
	return text;
}

/* A constant of an expression, in the type of the computation. */
static char *
computed_const(struct kernel_text *w, const struct scheme_op *o, const struct expr *e)
{
	struct expr computed = *e;

	computed.dtype = (uint8_t)expr_const_dtype(e, o->f.body);
	return kernel_const_expr(w, &computed);
}

static char *
node_text(
	struct kernel_text *w, const struct scheme_op *o, struct node_list *l, const struct expr *e)
{
	switch ((enum expr_kind)e->kind) {
	case EXPR_LOAD: return kernel_load(w, o, e->id);
	case EXPR_INDEX: return index_text(w, o, e->id);
	case EXPR_CONST: return computed_const(w, o, e);
	case EXPR_CALL: break;
	}
	struct node *node = find_node(l, e);
	if (node->name)
		return node->name;
	char *text = call_text(w, o, l, e);
	if (node->uses == 1)
		return text;
	node->name = TEXT(w->scratch, "t%d", w->ntemps++);
	kernel_line(w, "const %s %s = %s;", kernel_compute_type((enum ir_dtype)e->dtype),
		node->name, text);
	return node->name;
}

/* Is the value of an expression, computed in f32, one of its own 16-bit type without rounding? */
static bool
is_rounded(const struct expr *e, const struct expr *body)
{
	const enum ir_dtype t = (enum ir_dtype)e->dtype;
	int first = 0;

	if (e->kind == EXPR_CONST)
		return e == body || ir_dtype_round(t, e->value) == e->value;
	if (e->kind != EXPR_CALL)
		return true;
	switch ((enum scalar_fn)e->id) {
	case FN_bitcast:
	case FN_reduce_precision:
	case FN_element: return true;
	case FN_convert: return e->arg[0]->dtype != e->dtype || is_rounded(e->arg[0], body);
	case FN_select: first = 1; break;
	case FN_neg:
	case FN_abs:
	case FN_stop:
	case FN_maximum:
	case FN_minimum: break;
	default: return false;
	}
	for (int i = first; i < e->nargs; i++)
		if (!is_rounded(e->arg[i], body))
			return false;
	return true;
}

char *
kernel_rounded(struct kernel_text *w, const struct expr *body, char *value)
{
	if (!is_half((enum ir_dtype)body->dtype) || is_rounded(body, body))
		return value;
	return TEXT(w->scratch, "m_round_%s(%s)", ir_dtype_name((enum ir_dtype)body->dtype), value);
}

char *
kernel_expr(struct kernel_text *w, const struct scheme_op *o, const struct expr *e)
{
	struct node_list l = {0};

	count_uses(w, &l, e);
	return node_text(w, o, &l, e);
}
