/*
 * scheme_create: the tensors and ops of a kernel, put into segments. An op joins the segment before
 * it if that keeps an outer nest to share and row buffers that fit the cache; else it starts one.
 * If whole tensors that are cheap to recompute are kept between segments, their readers recompute
 * them (repeat.c), provided that this needs less scratch.
 */
#include "ir/base/vec.h"
#include "ir/loops/build.h"
#include "ir/loops/pitch.h"
#include "ir/loops/stream.h"
#include "ir/ops/special.h"

#include <string.h>
#include <talloc.h>

static int
add_tensor(struct scheme *s, const struct ir_value *v, int op, int operand)
{
	struct scheme_tensor t = {.value = v,
		.dtype = (enum ir_dtype)v->type->dtype,
		.rank = v->type->rank,
		.row = s->pitch ? pitch_row(s->module, v) : 0,
		.op = op,
		.operand = operand,
		.result = -1,
		.alias = -1,
		.scratch = -1,
		.wide = -1,
		.deep = -1,
		.packed = -1};
	for (int d = 0; d < t.rank; d++)
		t.whole[d] = t.dim[d] = ir_type_local_dim(s->module, v->type, d);
	LIST_PUSH(s, s->tensor, s->ntensors, t);
	return s->ntensors - 1;
}

/* A value between the ops into which one op is split, of the same shape as its result. */
static int
add_part(struct scheme *s, const struct ir_value *result, enum ir_dtype t, int op)
{
	const int part = add_tensor(s, result, op, -1);

	s->tensor[part].value = NULL;
	s->tensor[part].dtype = t;
	return part;
}

static int
find_tensor(const struct scheme *s, const struct ir_value *v)
{
	for (int t = s->ntensors; t-- > 0;)
		if (s->tensor[t].value == v)
			return t;
	assert(!"an operand is defined before its use");
	return -1;
}

/* Loads of operands that exist only at one place, if the result is on other places too: a set. */
static uint32_t
absent_loads(const struct ir_module *m, const struct ir_op *op)
{
	uint32_t set = 0;
	for (int j = 0; j < op->noperands; j++)
		for (int a = 0; a < m->naxes; a++)
			if (ir_operand_type(op, j)->axis[a].kind == IR_SINGLE &&
				op->result[0].type->axis[a].kind != IR_SINGLE)
				set |= 1u << j;
	return set;
}

/* A constant that is the result of an op, rounded as its readers see it. */
static const struct expr *
rounded_constant(struct scheme *s, const struct expr *e)
{
	const enum ir_dtype t = (enum ir_dtype)e->dtype;

	if (ir_dtype_class(t) != IR_FLOAT || e->kind != EXPR_CONST)
		return e;
	return expr_const(s->arena, t, ir_dtype_round(t, e->value));
}

/* The expression of a constant; NULL if v is not one. */
static const struct expr *
constant_of(struct scheme *s, const struct ir_value *v)
{
	struct form f;

	v = ir_value_outside(v);
	if (!v->op || v->op->code != OP_constant ||
		!form_make(s->module, s->arena, v->op, v->type, &f))
		return NULL;
	return rounded_constant(s, f.body);
}

/* Replaces loads of constants by their value, unless a load may give another one: outside the
 * tensor, or on a place that does not have it. */
static void
hold_constants(struct scheme *s, struct scheme_op *o)
{
	const struct expr *with[FORM_MAX_INPUTS] = {0};
	int same[FORM_MAX_INDICES];
	bool any = false;
	for (int i = 0; i < FORM_MAX_INDICES; i++)
		same[i] = i;
	for (int j = 0; j < o->f.ninputs; j++) {
		if (!form_is_computed(&o->f, &o->f.in[j]) && !(o->absent >> j & 1))
			with[j] = s->tensor[o->in[j]].constant;
		any |= with[j] != NULL;
	}
	if (!any)
		return;
	o->f.body = expr_substitute(s->arena, o->f.body, with, same);
	for (int i = 0; i < o->f.nindices; i++)
		if (o->f.at[i])
			o->f.at[i] = expr_substitute(s->arena, o->f.at[i], with, same);
}

static void
push_op(struct scheme *s, const struct scheme_op *o)
{
	LIST_PUSH(s, s->op, s->nops, *o);
	hold_constants(s, &s->op[s->nops - 1]);
	scheme_classify(s, &s->op[s->nops - 1]);
}

/*
 * The position of the maximum takes two reductions: the maximum, and the first position that holds
 * it. If the maximum is NaN, positions with a NaN hold it.
 */
static void
split_place(struct scheme *s, struct scheme_op *o)
{
	struct arena *a = s->arena;
	const struct expr *v = o->f.body, *place = form_place(a, &o->f);
	struct scheme_op best = *o;

	best.f.dtype = v->dtype;
	best.f.reduce = o->f.reduce == REDUCE_ARGMAX ? REDUCE_MAX : REDUCE_MIN;
	best.out = add_part(s, &o->op->result[0], (enum ir_dtype)v->dtype, s->nops);
	push_op(s, &best);
	const struct expr *top = expr_load(a, (enum ir_dtype)v->dtype, 1);
	const struct expr *hit = expr_call(a, FN_eq, v, top, NULL),
			  *nan = expr_call(a, FN_ne, v, v, NULL);
	if (ir_dtype_class((enum ir_dtype)v->dtype) == IR_FLOAT)
		hit = expr_call(a, FN_or, hit, nan, NULL);
	o->in[1] = best.out;
	o->f.in[1] = o->f.out;
	o->f.ninputs = 2;
	o->f.reduce = REDUCE_MIN;
	o->f.body = expr_call(a, FN_select, hit, expr_convert(a, IR_i32, place),
		expr_const(a, IR_i32, INT32_MAX));
}

/* Is there a loop to sum over? A place may have only one summand. */
static bool
sums_in_loops(const struct form *f)
{
	for (int i = 0; i < f->nindices; i++)
		if (f->reduced >> i & 1 && form_is_loop(f, i) && f->size[i] > 1)
			return true;
	return false;
}

/* Adds one op of the kernel; false if it has no form. Reshapes become tensors that share memory. */
static bool
add_op(struct scheme *s, const struct ir_op *op, bool single)
{
	if (op->code == OP_reshape) {
		const int from = single ? 0 : find_tensor(s, ir_operand(op, 0));
		const int t = add_tensor(s, &op->result[0], s->tensor[from].op, -1);
		s->tensor[t].alias = from;
		return true;
	}
	struct scheme_op o = {.op = op, .segment = -1, .cut = {.at = -1}};
	if (!form_make(s->module, s->arena, op, op->result[0].type, &o.f))
		return false;
	form_localize(s->module, op, &o.f, o.offset);
	o.scan = form_take_scan(s->arena, &o.f, o.offset);
	if (o.scan.found && o.f.size[o.scan.index] <= 1)
		o.scan.found = false;
	for (int j = 0; j < op->noperands; j++)
		o.in[j] = single ? j : find_tensor(s, ir_operand(op, j));
	o.absent = absent_loads(s->module, op);
	if (form_reduce_is_place((enum form_reduce)o.f.reduce))
		split_place(s, &o);
	if (sums_in_loops(&o.f)) /* sums of 16 bits are kept as floats until they are complete */
		o.divisor = form_take_divisor(&o.f);
	o.out = add_tensor(s, &op->result[0], s->nops, -1);
	if (o.f.ninputs == 0 && o.f.body->kind == EXPR_CONST && o.f.reduce == REDUCE_NONE)
		s->tensor[o.out].constant = rounded_constant(s, o.f.body);
	push_op(s, &o);
	return true;
}

static void
add_result(struct scheme *s, int t, int result)
{
	const int root = scheme_root(s, t);
	if (s->tensor[root].op >= 0 && s->tensor[root].result < 0)
		s->tensor[root].result = result;
	if (s->tensor[t].result < 0)
		s->tensor[t].result = result;
}

static bool
collect(struct scheme *s)
{
	const struct ir_op *kernel = s->kernel;
	if (kernel->code != OP_fuse) {
		for (int j = 0; j < kernel->noperands; j++) {
			add_tensor(s, ir_operand(kernel, j), -1, j);
			s->tensor[j].constant = constant_of(s, ir_operand(kernel, j));
		}
		if (!add_op(s, kernel, true))
			return false;
		add_result(s, s->ntensors - 1, 0);
		return true;
	}
	for (uint32_t j = 0; j < kernel->body->nargs; j++) {
		add_tensor(s, &kernel->body->arg[j], -1, (int)j);
		s->tensor[j].constant = constant_of(s, ir_operand(kernel, (int)j));
	}
	IR_FOR_OPS (op, kernel->body) {
		if (op->code == OP_yield) {
			for (int r = 0; r < op->noperands; r++)
				add_result(s, find_tensor(s, ir_operand(op, r)), r);
		} else if (!add_op(s, op, false)) {
			return false;
		}
	}
	return true;
}

/* Marks ops without a used reader and without a result of the kernel. */
static void
mark_unused(struct scheme *s)
{
	for (int k = 0; k < s->nops; k++)
		s->op[k].unused = true;
	for (int t = 0; t < s->ntensors; t++)
		if (s->tensor[t].op >= 0 && s->tensor[t].result >= 0)
			s->op[s->tensor[t].op].unused = false;
	for (int k = s->nops; k-- > 0;) {
		const struct scheme_op *o = &s->op[k];
		const uint32_t reads = o->unused ? 0 : scheme_reads(o);
		for (int j = 0; j < o->f.ninputs; j++)
			if (reads >> j & 1 && s->tensor[o->in[j]].op >= 0)
				s->op[s->tensor[o->in[j]].op].unused = false;
	}
}

static struct scheme_segment *
new_segment(struct scheme *s, enum scheme_kind kind)
{
	LIST_PUSH(s, s->segment, s->nsegments, (struct scheme_segment){.kind = kind, .tile = -1});
	return &s->segment[s->nsegments - 1];
}

static int64_t
outer_product(const struct scheme_segment *g)
{
	int64_t n = 1;
	for (int i = 0; i < g->nouter; i++)
		n *= g->size[g->order[i]];
	return n;
}

/* Adds these ops to the last segment if they can share it; returns whether they do. */
static bool
try_join(struct scheme *s, struct scheme_build *b, const int *op, int n)
{
	if (s->nsegments == 0)
		return false;
	struct scheme_segment *g = &s->segment[s->nsegments - 1];
	if (g->kind != SCHEME_LOOPS || scheme_is_alone(&s->op[g->op[0]]) || g->library)
		return false;
	const struct scheme_segment before = *g;
	bool alone = false;
	for (int i = 0; i < n; i++) {
		alone |= scheme_is_alone(&s->op[op[i]]);
		scheme_append(s, g, op[i]);
	}
	if (!alone && scheme_analyse(s, b, g) &&
		(g->nclasses == before.nclasses || outer_product(g) >= outer_product(&before)))
		return true;
	int *list = g->op;
	*g = before;
	g->op = list;
	for (int i = 0; i < n; i++)
		s->op[op[i]].segment = -1;
	if (!scheme_analyse(s, b, g))
		assert(!"a segment stays possible");
	return false;
}

/* A segment of its own for op i. */
static void
start_segment(struct scheme *s, struct scheme_build *b, int i)
{
	struct scheme_gemm gemm;
	const bool product = scheme_find_gemm(s, &s->op[i], &gemm);
	struct scheme_segment *g = new_segment(s, product ? SCHEME_GEMM : SCHEME_LOOPS);

	scheme_append(s, g, i);
	if (product)
		g->gemm = gemm;
	else if (!scheme_analyse(s, b, g))
		assert(!"every op has a segment of its own");
	g->library = scheme_find_conv(s, &s->op[i], &g->conv);
}

/* Is the op placed before all loops of its segment? */
static bool
is_placed_scalar(const struct scheme_op *o)
{
	return !o->waits && o->segment >= 0 && !(o->out_set | o->red_set) && o->stage < 0;
}

/* Can op i wait for its first reader: is it elementwise on operands of the kernel, on what waits
 * itself, and on values without loops? */
static bool
can_wait(const struct scheme *s, int i)
{
	const struct scheme_op *o = &s->op[i];

	if (s->nsegments == 0 || o->f.reduce != REDUCE_NONE || scheme_is_alone(o))
		return false;
	for (int j = 0; j < o->f.ninputs; j++) {
		const int maker = s->tensor[o->in[j]].op;
		if (scheme_reads(o) >> j & 1 && maker >= 0 && !s->op[maker].waits &&
			!is_placed_scalar(&s->op[maker]))
			return false;
	}
	return true;
}

/* Appends the ops that op i waits for, and then op i, to list[]; returns the new length. */
static int
gather_waiting(struct scheme *s, int i, int *list, int n)
{
	struct scheme_op *o = &s->op[i];

	for (int j = 0; j < o->f.ninputs; j++) {
		const int maker = s->tensor[o->in[j]].op;
		if (scheme_reads(o) >> j & 1 && maker >= 0 && s->op[maker].waits)
			n = gather_waiting(s, maker, list, n);
	}
	o->waits = false;
	list[n++] = i;
	return n;
}

/* Is op i a library call, in its own segment? */
static bool
is_product(const struct scheme *s, int i)
{
	struct scheme_gemm gemm;
	struct rt_conv_shape conv;

	return scheme_find_gemm(s, &s->op[i], &gemm) || scheme_find_conv(s, &s->op[i], &conv);
}

/* Puts op i, and the ops it has waited for, into the last segment together, or one by one. */
static void
place_op(struct scheme *s, struct scheme_build *b, int i)
{
	const bool product = is_product(s, i);
	const int n = gather_waiting(s, i, b->list, 0);

	if (!product && try_join(s, b, b->list, n))
		return;
	for (int k = 0; k < n; k++) {
		const int op = b->list[k];
		if ((product && op == i) || !try_join(s, b, &op, 1))
			start_segment(s, b, op);
	}
}

/* Adds op i, and the ops it waits for, to the last segment, or lets it wait as well. */
static void
join_or_wait(struct scheme *s, struct scheme_build *b, int i)
{
	const int n = gather_waiting(s, i, b->list, 0);

	if (try_join(s, b, b->list, n))
		return;
	for (int k = 0; k < n; k++)
		s->op[b->list[k]].waits = true;
}

static void
place_or_wait(struct scheme *s, struct scheme_build *b, int i)
{
	if (!is_product(s, i) && can_wait(s, i))
		join_or_wait(s, b, i);
	else
		place_op(s, b, i);
}

/* Operands, results, and one segment. */
static void
fill_own(struct scheme *s)
{
	const struct ir_op *op = s->kernel;

	for (int j = 0; j < op->noperands; j++)
		add_tensor(s, ir_operand(op, j), -1, j);
	for (int r = 0; r < op->nresults; r++)
		add_result(s, add_tensor(s, &op->result[r], -1, -1), r);
	new_segment(s, SCHEME_OWN);
	s->scratch_bytes = special_op((enum op_code)op->code)->scratch(s->module, op);
}

/* The scheme of a kernel that is not an op with its own functions; NULL: a form cannot be made.
 * `kept`: tensors that their readers recompute, by number without recomputation; NULL: none. */
static struct scheme *
build(const struct scheme *kernel, const void *owner, bool slabs, bool streams, const bool *kept)
{
	struct scheme *s = NEW(owner, struct scheme);

	*s = *kernel;
	if (!collect(s)) {
		talloc_free(s);
		return NULL;
	}
	if (slabs)
		scheme_cut_slabs(s);
	mark_unused(s);
	if (kept) {
		scheme_repeat(s, kept);
		mark_unused(s);
	}
	const size_t nodes = (size_t)(s->nops + 1) * FORM_MAX_INDICES;
	struct scheme_build b = {
		NEW_ARRAY(s, int, nodes), NEW_ARRAY(s, int, nodes), NEW_ARRAY(s, int, nodes)};
	if (streams && scheme_make_stream(s))
		return s;
	for (int i = 0; i < s->nops; i++) {
		const struct scheme_tensor *t = &s->tensor[s->op[i].out];
		const bool held = t->constant && t->result < 0;
		if (held || s->op[i].unused)
			s->op[i].segment = -1;
		else
			place_or_wait(s, &b, i);
	}
	for (int i = 0; i < s->nops; i++)
		if (s->op[i].waits)
			place_op(s, &b, i);
	scheme_finish(s);
	return s;
}

static struct scheme *
create(const void *owner, const struct ir_module *m, struct arena *a, const struct ir_op *kernel,
	bool slabs, struct scheme_device device)
{
	const struct scheme of = {.module = m,
		.arena = a,
		.kernel = kernel,
		.threads = device.threads,
		.pitch = device.pitch};

	if (kernel->code != OP_fuse && kernel->code != OP_reshape && !op_is(kernel, TRAIT_OWN) &&
		!form_exists((enum op_code)kernel->code))
		return NULL;
	if (op_is(kernel, TRAIT_OWN)) {
		struct scheme *s = NEW(owner, struct scheme);
		*s = of;
		fill_own(s);
		return s;
	}
	struct scheme *s = build(&of, owner, slabs, device.streams, NULL);
	bool *kept = s ? ZERO_ARRAY(s, bool, (size_t)s->ntensors + 1) : NULL;
	if (!s || (s->nsegments && s->segment[0].kind == SCHEME_STREAM) ||
		!scheme_find_kept(s, device.rows, kept))
		return s;
	struct scheme *again = build(&of, owner, slabs, false, kept);
	const bool less = again->scratch_bytes < s->scratch_bytes;
	talloc_free(less ? s : again);
	return less ? again : s;
}

struct scheme *
scheme_create(
	const void *owner, const struct ir_module *m, struct arena *a, const struct ir_op *kernel)
{
	return create(owner, m, a, kernel, false, (struct scheme_device){0});
}

struct scheme *
scheme_of_device(const void *owner, const struct ir_module *m, struct arena *a,
	const struct ir_op *kernel, struct scheme_device device)
{
	return create(owner, m, a, kernel, false, device);
}

struct scheme *
scheme_of_host(
	const void *owner, const struct ir_module *m, struct arena *a, const struct ir_op *kernel)
{
	return create(owner, m, a, kernel, true, (struct scheme_device){0});
}

static bool
same_place(const struct scheme_op *reader, int j, const struct scheme_op *writer)
{
	const struct form_access *in = &reader->f.in[j], *out = &writer->f.out;
	if (in->rank != out->rank)
		return false;
	for (int d = 0; d < in->rank; d++) {
		const int a = in->index[d] < 0 ? -1 : reader->cls[in->index[d]];
		const int b = out->index[d] < 0 ? -1 : writer->cls[out->index[d]];
		if (a != b)
			return false;
	}
	return true;
}

/* Position of an op in its segment. */
static int
position(const struct scheme *s, int op)
{
	const struct scheme_segment *g = &s->segment[s->op[op].segment];
	int at = 0;

	while (g->op[at] != op)
		at++;
	return at;
}

bool
scheme_in_place(const struct scheme *s, int j, int r)
{
	struct scheme_slice slice;
	int out = -1;

	if (scheme_slice(s, &slice))
		return j == 0;
	for (int t = 0; t < s->ntensors; t++) {
		if (s->tensor[t].result == r && s->tensor[t].op >= 0)
			out = t;
		if (s->tensor[t].alias >= 0 && s->tensor[scheme_root(s, t)].operand == j)
			return false;
	}
	if (out < 0 || s->tensor[out].alias >= 0 || s->tensor[j].result >= 0 ||
		s->tensor[out].dtype != s->tensor[j].dtype)
		return false;
	const int writer = s->tensor[out].op;
	const struct scheme_op *w = &s->op[writer];
	if (w->segment < 0 || s->segment[w->segment].kind != SCHEME_LOOPS || w->red_set ||
		s->segment[w->segment].library || w->scatter)
		return false;
	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		for (int k = 0; k < o->f.ninputs; k++) {
			if (o->in[k] != j || o->segment < 0 || !(scheme_reads(o) >> k & 1))
				continue;
			if (o->segment != w->segment || position(s, i) > position(s, writer) ||
				o->stage != w->stage || !same_place(o, k, w) || o->computed)
				return false;
		}
	}
	return true;
}

/* Is a tensor of that type complete wherever the kernel's result is? */
static bool
is_held_whole(const struct ir_module *m, const struct ir_type *t, const struct ir_type *result)
{
	for (int a = 0; a < m->naxes; a++)
		if (t->axis[a].kind != result->axis[a].kind ||
			(t->axis[a].kind != IR_COPIED && t->axis[a].kind != IR_SINGLE))
			return false;
	return true;
}

bool
scheme_slice(const struct scheme *s, struct scheme_slice *x)
{
	const struct ir_op *op = s->kernel;

	if (op->code != OP_dynamic_update_slice)
		return false;
	const struct ir_type *a = ir_operand_type(op, 0), *u = ir_operand_type(op, 1);
	const int dim = (int)ir_attr_int(op, "dim", 0);
	*x = (struct scheme_slice){1, a->dim[dim], u->dim[dim], 1};
	for (int j = 0; j < op->noperands; j++) {
		const struct ir_op *from = ir_operand(op, j)->op;
		if (!is_held_whole(s->module, ir_operand_type(op, j), op->result[0].type) ||
			(j && from &&
				from->code == OP_constant)) /* part of the code, not in memory */
			return false;
	}
	for (int d = 0; d < a->rank; d++) {
		*(d < dim ? &x->outer : &x->inner) *= d == dim ? 1 : a->dim[d];
		if (d != dim && u->dim[d] != a->dim[d])
			return false;
	}
	return true;
}
