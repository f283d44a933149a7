/* Random programs: numbers, sources, and the program as a whole. See generate.h. */
#include "test/random/generate.h"
#include "ir/ops/form.h"
#include "ir/ops/literal.h"
#include "runtime/kernel/rng.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

int
gen_below(struct gen *g, int n)
{
	g->state++;
	return (int)(rt_mix64(g->state) % (uint64_t)n);
}

bool
gen_chance(struct gen *g, int percent)
{
	return gen_below(g, 100) < percent;
}

int
gen_shape(struct gen *g, int64_t *dim)
{
	static const int64_t sizes[] = {1, 2, 3, 4, 4, 6, 8, 8, 12};
	const int rank = gen_chance(g, 8) ? 0 : 1 + gen_below(g, 3);
	int64_t elements = 1;
	for (int d = 0; d < rank; d++) {
		dim[d] = sizes[gen_below(g, 9)];
		if (elements * dim[d] > GEN_MAX_ELEMENTS)
			dim[d] = 1;
		elements *= dim[d];
	}
	return rank;
}

/* A split of a dim that the axis still divides, or nothing. */
static struct ir_state
random_split(struct gen *g, const struct ir_type *t, int axis)
{
	if (!t->rank)
		return (struct ir_state){0};
	const int d = gen_below(g, t->rank);
	int list[IR_MAX_AXES];
	if (t->dim[d] % (ir_type_split_factor(g->m, t, d) * g->m->axis[axis].size))
		return (struct ir_state){0};
	return (struct ir_state){IR_SPLIT, (uint8_t)d, (uint16_t)ir_type_split_axes(t, d, list)};
}

static void
random_layout(struct gen *g, struct ir_type *t, bool persistent)
{
	int order[IR_MAX_AXES];
	for (int x = 0; x < g->m->naxes; x++) {
		const int at = gen_below(g, x + 1);
		order[x] = order[at];
		order[at] = x;
	}
	for (int i = 0; i < g->m->naxes; i++) {
		const int x = order[i], how = gen_below(g, 100);
		if (!g->parallel || (persistent && g->m->axis[x].time))
			continue;
		if (how < 35)
			t->axis[x] = random_split(g, t, x);
		else if (how < 45)
			t->axis[x] = (struct ir_state){.kind = IR_SINGLE,
				.order = (uint16_t)gen_below(g, g->m->axis[x].size)};
	}
}

static const char *
new_name(struct gen *g, const char *what)
{
	char text[32];
	snprintf(text, sizeof text, "%s%d", what, g->nnames++);
	return ir_name(g->ctx, text);
}

static double
largest_dim(const struct ir_type *t)
{
	double most = 1;
	for (int d = 0; d < t->rank; d++)
		most = (double)t->dim[d] > most ? (double)t->dim[d] : most;
	return most;
}

/* Numbers or bytes for a literal of that type, 0 to 3 and halves. */
static struct ir_attr
literal_values(struct gen *g, const struct ir_type *t)
{
	const bool isfloat = ir_dtype_class(t->dtype) == IR_FLOAT;
	const int64_t n = ir_type_elements(t);
	struct ir_attr *list = ARENA_ARRAY(g->m->arena, struct ir_attr, n);

	if (gen_chance(g, 50)) {
		char *hex = ARENA_ARRAY(g->m->arena, char, 2 + 2 * 8 * n + 1);
		char *at = stpcpy(hex, "0x");
		for (int64_t i = 0; i < n; i++) {
			unsigned char bytes[8];
			const int half = gen_below(g, 7);
			literal_write(t->dtype, bytes, 0,
				isfloat ? (union ir_number){.f = 0.5 * half}
					: (union ir_number){.i = half / 2});
			for (unsigned k = 0; k < ir_dtype_bytes(t->dtype); k++)
				at += sprintf(at, "%02x", bytes[k]);
		}
		return ir_make_string(g->ctx, "hex", hex);
	}
	for (int64_t i = 0; i < n; i++) {
		const int half = gen_below(g, 7);
		list[i] = isfloat ? ir_make_float(g->ctx, "values", 0.5 * half)
				  : ir_make_int(g->ctx, "values", half / 2);
		list[i].key = NULL;
	}
	return (struct ir_attr){.key = ir_name(g->ctx, "values"),
		.kind = ATTR_LIST,
		.n = (uint16_t)n,
		.list = list};
}

/*
 * Numbers for which folding fails if it does not round like the element type: 0, decimals, numbers
 * close to 1, and numbers halfway between two numbers of the type or slightly off.
 */
static double
float_constant(struct gen *g, enum ir_dtype t)
{
	static const double decimal[] = {0.1, 0.3, 1.1, 3.7, 0.99999994, 1e-3, 7.0 / 3};
	const double ulp = ldexp(1, -fn_mantissa_bits(t)), sign = gen_chance(g, 30) ? -1 : 1;

	switch (gen_below(g, 8)) {
	case 0: return 0;
	case 1: return sign * 1;
	case 2: return sign * (1 - ulp / 2);
	case 3: return sign * (1 + (0.5 + gen_below(g, 4)) * ulp);
	case 4: return sign * (1 + 1.5 * ulp) * (1 + ldexp(gen_below(g, 3) - 1, -45));
	case 5:
	case 6: return sign * decimal[gen_below(g, 7)];
	default: return sign * 0.5 * (1 << gen_below(g, 4));
	}
}

/* Small numbers, sometimes the limit of the type: adding to it wraps around. */
static int64_t
int_constant(struct gen *g, enum ir_dtype t)
{
	const int64_t low = ir_dtype_lowest(t);

	if (t == IR_bool)
		return gen_below(g, 2);
	if (!g->program && gen_chance(g, 10))
		return gen_chance(g, 50) || t == IR_u64 ? low : ir_dtype_wrap(t, ~low);
	return gen_below(g, 7) - (ir_dtype_class(t) == IR_UINT ? 0 : 3);
}

static struct ir_attr
constant_value(struct gen *g, enum ir_dtype t, double *bound)
{
	if (ir_dtype_class(t) == IR_FLOAT)
		return ir_make_float(g->ctx, "value", float_constant(g, t));
	const struct ir_attr value = ir_make_int(g->ctx, "value", int_constant(g, t));
	*bound = fmax(*bound, fabs((double)value.i));
	return value;
}

/* The op of the source, its attributes, and the bound of its elements. */
static enum op_code
choose_source(struct gen *g, struct ir_type *t, struct ir_attr *attr, int *nattrs, double *bound)
{
	const bool isfloat = ir_dtype_class(t->dtype) == IR_FLOAT, isbool = t->dtype == IR_bool;
	const bool trained = g->smooth && isfloat && gen_chance(g, 40);
	int how = trained ? 50 : gen_below(g, 100); /* a loss without a param has no gradient */
	*bound = 8;                                 /* of a normal number: eight sigma */
	if (g->body)                                /* nothing with a name */
		how = isbool ? 85 : 70 + how % 30;
	else if (isbool || how < 40 || (!isfloat && how < 70)) {
		if (!isfloat && !isbool)
			attr[(*nattrs)++] = ir_make_int(g->ctx, "range", 5);
		return OP_input;
	}
	if (how < 70) {
		attr[(*nattrs)++] =
			ir_make_string(g->ctx, "init", gen_chance(g, 50) ? "normal" : "xavier");
		return how < 60 ? OP_param : OP_state;
	}
	if (how < 80 && t->rank) {
		attr[(*nattrs)++] = ir_make_int(g->ctx, "dim", gen_below(g, t->rank));
		*bound = largest_dim(t);
		return OP_iota;
	}
	if (how < 84 && ir_type_elements(t) <= GEN_MAX_ELEMENTS) {
		*nattrs = 1;
		attr[0] = literal_values(g, t);
		return OP_literal;
	}
	if (how < 90 || !isfloat) {
		attr[(*nattrs)++] = constant_value(g, (enum ir_dtype)t->dtype, bound);
		return OP_constant;
	}
	attr[(*nattrs)++] = ir_make_int(g->ctx, "seed", gen_below(g, 100));
	return gen_chance(g, 50) ? OP_uniform : OP_normal;
}

static struct pooled
source(struct gen *g, struct ir_type *t, bool choose_layout)
{
	struct ir_attr attr[2];
	int nattrs = 0;
	struct pooled p = {.exact = true};
	enum op_code code = choose_source(g, t, attr, &nattrs, &p.bound);
	if (choose_layout && gen_chance(g, 70))
		random_layout(g, t, op_traits(code) & TRAIT_PERSISTENT);
	for (int x = 0; x < g->m->naxes; x++)
		if (g->m->axis[x].time && t->axis[x].kind != IR_COPIED &&
			(op_traits(code) & TRAIT_PERSISTENT)) {
			code = OP_input;
			nattrs = 0;
		}
	const char *name = op_traits(code) & TRAIT_NAMED ? new_name(g, op_name(code)) : NULL;
	p.v = ir_build_typed(&g->b, code, name, NULL, 0, attr, nattrs, ir_type_intern(g->ctx, t));
	gen_add(g, p);
	return p;
}

struct pooled
gen_source(struct gen *g, enum ir_dtype dtype, int rank, const int64_t *dim)
{
	struct ir_type t = {.dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
	memcpy(t.dim, dim, sizeof *dim * (size_t)rank);
	return source(g, &t, true);
}

struct pooled
gen_constant(struct gen *g, enum ir_dtype dtype, int rank, const int64_t *dim)
{
	struct ir_type t = {.dtype = (uint8_t)dtype, .rank = (uint8_t)rank};
	struct pooled p = {.bound = 8, .exact = true};
	memcpy(t.dim, dim, sizeof *dim * (size_t)rank);
	const struct ir_attr value = constant_value(g, dtype, &p.bound);
	p.v = ir_build_typed(
		&g->b, OP_constant, NULL, NULL, 0, &value, 1, ir_type_intern(g->ctx, &t));
	return p;
}

struct pooled
gen_matching(struct gen *g, int rank, const int64_t *dim, const struct ir_type *with, const int *of)
{
	struct ir_type t = {.dtype = with->dtype, .rank = (uint8_t)rank};
	memcpy(t.dim, dim, sizeof *dim * (size_t)rank);
	const bool match = gen_chance(g, 75);
	for (int x = 0; x < g->m->naxes && match; x++)
		for (int d = 0; d < rank; d++)
			if (with->axis[x].kind == IR_SPLIT && of[d] == with->axis[x].dim &&
				dim[d] == with->dim[of[d]])
				t.axis[x] = (struct ir_state){
					IR_SPLIT, (uint8_t)d, with->axis[x].order};
	return source(g, &t, !match);
}

struct pooled
gen_indices(struct gen *g, int rank, const int64_t *dim, int range)
{
	static const enum ir_dtype types[] = {IR_i8, IR_i16, IR_i64, IR_u8, IR_u16, IR_u32, IR_u64};
	struct ir_type t = {.dtype = gen_chance(g, 70) ? IR_i32 : types[gen_below(g, 7)],
		.rank = (uint8_t)rank};
	const struct ir_attr attr = ir_make_int(g->ctx, "range", range + gen_below(g, 3));
	memcpy(t.dim, dim, sizeof *dim * (size_t)rank);
	random_layout(g, &t, false);
	struct pooled p = {.bound = range + 2, .exact = true};
	if (g->body) {
		const struct ir_attr values = literal_values(g, &t);
		p.v = ir_build_typed(
			&g->b, OP_literal, NULL, NULL, 0, &values, 1, ir_type_intern(g->ctx, &t));
		return p;
	}
	p.v = ir_build_typed(&g->b, OP_input, new_name(g, "index"), NULL, 0, &attr, 1,
		ir_type_intern(g->ctx, &t));
	return p;
}

static bool
letter_fits(char letter, enum ir_dtype t)
{
	const enum ir_dclass c = ir_dtype_class(t);
	switch (letter) {
	case 'N': return c != IR_BOOL;
	case 'F': return c == IR_FLOAT;
	case 'Z':
	case 'I': return c == IR_INT || c == IR_UINT;
	case 'L': return c != IR_FLOAT;
	case 'b': return c == IR_BOOL;
	default: return true;
	}
}

bool
gen_is_partial(const struct gen *g, const struct ir_value *v)
{
	for (int x = 0; x < g->m->naxes; x++)
		if (v->type->axis[x].kind == IR_PARTIAL)
			return true;
	return false;
}

struct pooled
gen_operand(struct gen *g, char letter)
{
	const bool partial = gen_chance(g, 25); /* the state that the fewest ops accept */
	for (int i = g->npool - 1; i >= 0 && partial; i--)
		if (gen_is_partial(g, g->pool[i].v) &&
			letter_fits(letter, (enum ir_dtype)g->pool[i].v->type->dtype) &&
			gen_chance(g, 60))
			return g->pool[i];
	const bool late = gen_chance(g, 50); /* builds chains */
	for (int i = 0; i < 12 && g->npool; i++) {
		const int recent = g->npool < 6 || !late ? g->npool : 6;
		const struct pooled p = g->pool[g->npool - 1 - gen_below(g, recent)];
		if (letter_fits(letter, (enum ir_dtype)p.v->type->dtype))
			return p;
	}
	static const enum ir_dtype floats[] = {IR_f32, IR_f32, IR_f64, IR_bf16, IR_f16},
				   ints[] = {IR_i32, IR_i32, IR_i64, IR_i8, IR_u8, IR_i16, IR_u16,
					   IR_u32, IR_u64};
	int64_t dim[IR_MAX_RANK];
	const int rank = gen_shape(g, dim);
	if (strchr("NTLZ", letter) && (letter == 'L' || letter == 'Z' || gen_chance(g, 35)))
		letter = (letter == 'T' || letter == 'L') && gen_chance(g, 30) ? 'b' : 'I';
	const enum ir_dtype t = letter == 'b'   ? IR_bool
				: letter == 'I' ? ints[gen_below(g, 9)]
						: floats[gen_below(g, g->wide ? 2 : 5)];
	return gen_source(g, t, rank, dim);
}

void
gen_add(struct gen *g, struct pooled p)
{
	static const char *const names[] = {"h", "h_1", "x", "grad.w", "r"};
	if (!p.v)
		return;
	if (gen_chance(g, 30)) /* the printer makes them unique */
		p.v->name = ir_name(g->ctx, names[gen_below(g, 5)]);
	g->pool = talloc_realloc(g->m, g->pool, struct pooled, (size_t)g->npool + 1);
	g->pool[g->npool++] = p;
}

struct ir_value *
gen_build(struct gen *g, enum op_code code, int n, struct ir_value *const *v, int nattrs,
	const struct ir_attr *attr)
{
	for (int i = 0; i < n; i++)
		if (!v[i])
			return NULL;
	struct ir_value *r = ir_build(&g->b, code, v, n, attr, nattrs);
	if (r && op_is(r->op, TRAIT_KEYED))
		r->op->symbol = new_name(g, "key");
	if (!r || ir_type_elements(r->type) <= GEN_MAX_ELEMENTS)
		return r;
	ir_op_erase(r->op);
	return NULL;
}

static void
effect(struct gen *g, enum op_code code, const char *symbol, int n, struct ir_value *const *v)
{
	struct ir_op *op = ir_op_create(g->m, code, LOC_NONE, v, n, NULL, 0, 0);
	op->symbol = symbol;
	if (ir_infer(g->m, op, NULL))
		ir_block_append(g->b.block, op);
	else
		ir_op_erase(op);
}

static bool
has_single(const struct ir_module *m, const struct ir_type *t)
{
	for (int x = 0; x < m->naxes; x++)
		if (t->axis[x].kind == IR_SINGLE)
			return true;
	return false;
}

/* Some params get a next value: another value of the same element type and shape. */
static void
add_updates(struct gen *g, int n)
{
	for (int i = 0; i < n; i++) {
		struct ir_value *w = g->pool[i].v;
		const struct pooled *from = &g->pool[gen_below(g, n)];
		if (!op_is(w->op, TRAIT_PERSISTENT) || has_single(g->m, w->type) ||
			!ir_type_same_meaning(w->type, from->v->type) || from->bound > 100)
			continue;
		struct ir_value *next = gen_relayout(g, from->v, w->type);
		if (next)
			effect(g, OP_update, NULL, 2, (struct ir_value *[]){w, next});
	}
}

static void
add_outputs(struct gen *g, int n)
{
	for (int i = 0; i < n; i++) {
		struct ir_value *v = g->pool[i].v;
		if (!v->uses && (v = gen_settle(g, v)))
			effect(g, OP_output, new_name(g, "out"), 1, &v);
	}
}

/* The mean of a value as a copied f32, or NULL. */
static struct ir_value *
copied_mean(struct gen *g, const struct pooled *p)
{
	const struct ir_attr to = ir_make_dtype(g->ctx, "to", IR_f32);
	struct ir_value *v = p->v;
	if (ir_dtype_class((enum ir_dtype)v->type->dtype) != IR_FLOAT || p->bound > 100)
		return NULL;
	/* Ops that depend on sums over all micro-batches have a gradient only when these are
	 * complete. */
	if (gen_chance(g, 50) && (v = gen_settle(g, v)))
		v = gen_build(g, OP_tanh, 1, &v, 0, NULL);
	if (!v)
		return NULL;
	v = gen_relayout(g, v, ir_type_meaning(g->ctx, v->type));
	v = gen_build(g, OP_mean, 1, &v, 0, NULL);
	return gen_build(g, OP_convert, 1, &v, 1, &to);
}

static void
add_loss(struct gen *g, int n)
{
	struct ir_value *loss = ir_build_scalar(&g->b, IR_f32, 0);
	for (int i = 0; i < n; i++) {
		struct ir_value *v = !g->pool[i].v->uses && gen_chance(g, 60)
					     ? copied_mean(g, &g->pool[i])
					     : NULL;
		if (v)
			loss = ir_build2(&g->b, OP_add, loss, v);
	}
	effect(g, OP_output, "loss", 1, &loss);
}

/* The step at which the program gets a loop; -1: one program in LOOPS_EVERY does. */
static int
loop_step(uint64_t seed)
{
	enum { LOOPS_EVERY = 6, FIRST = 4, STEPS = 6 /* of the ten of the smallest programs */ };
	const uint64_t random = rt_mix64(seed ^ 0x7768696c65);

	return random % LOOPS_EVERY ? -1 : FIRST + (int)(random / LOOPS_EVERY % STEPS);
}

struct ir_module *
random_module(
	const void *owner, struct ir_context *ctx, uint64_t seed, const struct random_options *o)
{
	struct gen g = {
		.ctx = ctx, .m = ir_module_create(owner, ctx, "random"), .parallel = o->parallel};
	g.table = o->table;
	g.smooth = o->loss;
	g.wide = o->wide;
	g.program = o->program;
	g.fuse = o->fuse;
	g.state = rt_mix64(seed);
	g.favourite = (enum op_code)(seed % OP_NCODES);
	int sizes[] = {o->devices ? o->devices : 2, gen_chance(&g, 70) ? 2 : 3, 2};
	if (o->devices == 1 && gen_chance(&g, 70))
		sizes[1] = 1;
	static const char *const names[] = {"dp", "tp", "mb"};
	for (int x = 0; x < 3; x++)
		g.m->axis[g.m->naxes++] = (struct ir_axis){.name = ir_name(ctx, names[x]),
			.size = sizes[x],
			.time = x == 2,
			.peel = x == 2 && rt_mix64(seed ^ 0x70656c) % 2};
	g.b = (struct ir_builder){.m = g.m, .block = &ir_func_create(g.m, "main", LOC_NONE)->body};
	const int loop = loop_step(seed);
	for (int i = 0; i < o->steps; i++)
		if (i == loop)
			gen_loop(&g);
		else if (gen_chance(&g, 12))
			gen_operand(&g, "FNTIb"[gen_below(&g, 5)]);
		else if (o->parallel && gen_chance(&g, 35))
			gen_parallel(&g);
		else
			gen_op(&g);
	if (o->padded)
		gen_padded(&g);
	const int n = g.npool;
	if (o->loss)
		add_loss(&g, n);
	else
		add_updates(&g, n);
	add_outputs(&g, n);
	if (o->fuse)
		gen_fuse(&g);
	return g.m;
}
