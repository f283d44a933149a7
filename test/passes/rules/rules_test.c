/*
 * Every shipped rule on random programs: its left side with random sizes, element types, attributes
 * and layouts, and other readers of its inner values. It has to be found there, and what the step computes stays the
 * same (interpreter).
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/interp/interp.h"
#include "ir/ops/row.h"
#include "parser/dir/parse.h"
#include "passes/rules/match.h"
#include "passes/rules/verify.h"
#include "test/unit.h"

#include <stdio.h>
#include <string.h>

extern const char dopt_rules[];

enum {
	TRIES = 400, /* of a rule: random sizes, of which not all have a type */
	ENOUGH = 25, /* applied and compared */
};

struct drawing {
	struct ir_context *ctx;
	struct ir_module *m;
	struct rule_match *match;
	uint64_t random;
	bool sizes;   /* names are drawn that are dims, else any integers */
	bool numbers; /* or numbers with fractions */
};

static int
draw(struct drawing *d, int n)
{
	return (int)mix64_below(&d->random, (uint32_t)n);
}

static void
bind(struct drawing *d, const char *name, bool is_type, struct ir_attr value)
{
	struct rule_match *match = d->match;

	for (int i = 0; i < match->nnames; i++)
		if (match->name[i].name == name && match->name[i].is_type == is_type)
			return;
	match->name[match->nnames++] = (struct rule_name){name, is_type, value};
}

static void
draw_name(void *data, const char *name)
{
	struct drawing *d = data;
	struct ir_attr a = {.kind = ATTR_INT, .i = d->sizes ? 1 + draw(d, 4) : draw(d, 6) - 1};

	if (d->numbers && draw(d, 2)) {
		a.kind = ATTR_FLOAT;
		a.f = 0.5 * draw(d, 5) - 0.5;
	}
	bind(d, name, false, a);
}

static void
draw_size(struct drawing *d, const struct ir_size *s)
{
	if (s->kind == SIZE_NAME)
		draw_name(d, s->name);
	for (int i = 0; i < 2; i++)
		if (s->arg[i])
			draw_size(d, s->arg[i]);
}

static void
draw_letter(struct drawing *d, const char *letter)
{
	static const enum ir_dtype types[] = {IR_f32, IR_i32, IR_bool, IR_f32, IR_f64, IR_u8};
	enum ir_dtype t = IR_f32;

	for (int i = 0; i < 8; i++) {
		const enum ir_dtype other = types[draw(d, sizeof types / sizeof *types)];
		if (row_letter_fits(*letter, other))
			t = other;
	}
	if (!row_letter_fits(*letter, t))
		t = IR_i32;
	bind(d, letter, true, (struct ir_attr){.kind = ATTR_DTYPE, .i = t});
}

static void
draw_type(struct drawing *d, const struct ir_type_text *t)
{
	if (t->letter)
		draw_letter(d, t->letter);
	d->sizes = true;
	for (int i = 0; i < t->rank; i++)
		draw_size(d, t->dim[i]);
	d->sizes = false;
}

/* A list of dims: all of a tensor of some rank, in any order. */
static struct ir_attr
draw_list(struct drawing *d)
{
	const int n = 1 + draw(d, 3);
	struct ir_attr *list = &d->match->item[d->match->nitems];

	for (int i = 0; i < n; i++) {
		const int at = draw(d, i + 1);
		list[i] = list[at];
		list[at] = (struct ir_attr){.kind = ATTR_INT, .i = i};
	}
	d->match->nitems += n;
	return (struct ir_attr){.kind = ATTR_LIST, .n = (uint16_t)n, .list = list};
}

static void
draw_attr(struct drawing *d, const struct row_attr *r, const struct ir_attr *a)
{
	d->numbers = r->type == ROW_FLOAT || r->type == ROW_SCALAR;
	if (a->kind == ATTR_SIZE)
		draw_size(d, a->size);
	for (int i = 0; a->kind == ATTR_LIST && i < a->n; i++)
		if (a->list[i].kind == ATTR_SIZE)
			draw_size(d, a->list[i].size);
	d->numbers = false;
	if (a->kind != ATTR_NAME)
		return;
	if (r->type == ROW_DTYPE)
		draw_letter(d, a->s);
	else if (r->type == ROW_AXIS)
		bind(d, a->s, false,
			(struct ir_attr){.kind = ATTR_AXIS, .i = draw(d, d->m->naxes)});
	else
		bind(d, a->s, false, draw_list(d));
}

/* Sizes, types and attributes of the rule. */
static void
draw_names(struct drawing *d, const struct ir_rule *r)
{
	const struct ir_block *left = &r->side[RULE_LEFT]->body;

	for (uint32_t i = 0; i < left->nargs; i++)
		draw_type(d, r->param[i]);
	IR_FOR_OPS (op, left) {
		for (const struct ir_type_text *t = op->written; t; t = t->next)
			draw_type(d, t);
		for (int i = 0; i < op->nattrs; i++)
			draw_attr(d, row_attr_find(op_row(d->ctx, op), op->attr[i].key),
				&op->attr[i]);
	}
	d->match->ndots = draw(d, 3);
	for (int i = 0; i < d->match->ndots; i++)
		d->match->dots[i] = 1 + draw(d, 3);
}

static const struct ir_type *
type_of(struct drawing *d, const struct ir_type_text *text, bool layout)
{
	struct ir_type t;
	int lead = text->dots ? d->match->ndots : 0;

	memset(&t, 0, sizeof t);
	t.rank = (uint8_t)(lead + text->rank);
	t.dtype = (uint8_t)text->dtype;
	for (int i = 0; text->letter && i < d->match->nnames; i++)
		if (d->match->name[i].name == text->letter && d->match->name[i].is_type)
			t.dtype = (uint8_t)d->match->name[i].value.i;
	for (int i = 0; i < t.rank; i++) {
		struct rule_number n = {.i = i < lead ? d->match->dots[i] : 0};
		if (i >= lead && !rule_number(d->match, text->dim[i - lead], &n))
			return NULL;
		if (n.fraction || n.i < 1)
			return NULL;
		t.dim[i] = n.i;
	}
	for (int a = 0; layout && a < d->m->naxes; a++) {
		const int dim = draw(d, t.rank + 1);
		if (dim < t.rank && t.dim[dim] % d->m->axis[a].size == 0 &&
			!ir_type_split_depth(&t, dim))
			t.axis[a] = (struct ir_state){IR_SPLIT, (uint8_t)dim, 0};
	}
	return ir_type_intern(d->ctx, &t);
}

/* The axis on which an op takes what is computed of a value as partial; -1: there is none. */
static int
partial_axis(const struct drawing *d, const struct ir_value *v)
{
	IR_FOR_USES (u, v) {
		const struct ir_attr *axis = ir_attr_find(u->op, "axis");
		const bool partial = op_row(d->ctx, u->op)->from >> IR_PARTIAL & 1;
		for (int i = 0; partial && axis && i < d->match->nnames; i++)
			if (d->match->name[i].name == axis->s)
				return (int)d->match->name[i].value.i;
		const int after = u->op->nresults ? partial_axis(d, &u->op->result[0]) : -1;
		if (after >= 0)
			return after;
	}
	return -1;
}

/* Makes an input what has that type and is partial on an axis: its sum over a dim more. */
static struct ir_value *
make_partial(struct drawing *d, struct ir_op *input, int axis)
{
	const int64_t first = 0;
	const struct ir_attr dims = ir_make_ints(d->m, "dims", &first, 1);
	struct ir_builder b = {.m = d->m, .block = input->block};
	struct ir_value *v = &input->result[0];
	struct ir_type t = *ir_type_meaning(d->ctx, v->type);

	memmove(t.dim + 1, t.dim, t.rank * sizeof *t.dim);
	t.dim[0] = d->m->axis[axis].size;
	t.rank++;
	t.axis[axis] = (struct ir_state){.kind = IR_SPLIT};
	v->type = ir_type_intern(d->ctx, &t);
	return ir_build(&b, OP_sum, &v, 1, &dims, 1);
}

static void
report_end(struct ir_module *m, struct ir_block *b, struct ir_value *v, int number)
{
	struct ir_op *op = ir_op_create(m, OP_output, (struct ir_loc){0}, &v, 1, NULL, 0, 0);

	op->symbol = ir_name(m->ctx, TEXT(m, "o%d", number));
	ir_block_append(b, op);
}

/* The left side as a step, some of its inner values reported, too; NULL: it has no type. */
static struct ir_module *
draw_step(struct drawing *d, const struct rule_pattern *p, struct rule_match *match)
{
	const struct ir_block *left = &p->rule->side[RULE_LEFT]->body;
	const bool layout = draw(d, 2), used = draw(d, 3) == 0;
	struct ir_value *root[RULE_MAX_RESULTS];
	static const struct ir_axis axis[] = {{.size = 2}, {.size = 2}};
	int n = 0;

	d->m = ir_module_create(d->ctx, d->ctx, "step");
	d->match = match;
	for (int a = 0; a < 2; a++) {
		d->m->axis[a] = axis[a];
		d->m->axis[a].name = ir_name(d->ctx, a ? "tp" : "dp");
	}
	d->m->naxes = 2;
	struct ir_block *b = &ir_func_create(d->m, "main", (struct ir_loc){0})->body;
	memset(match, 0, sizeof *match);
	match->pattern = p;
	draw_names(d, p->rule);
	for (uint32_t i = 0; i < left->nargs; i++) {
		const struct ir_type_text *text = p->rule->param[i];
		const struct ir_type *t = type_of(d, text, layout);
		if (!t)
			return NULL;
		struct ir_op *op = ir_op_create(d->m, text->param ? OP_param : OP_input,
			(struct ir_loc){0}, NULL, 0, NULL, 0, 1);
		op->symbol = ir_name(d->ctx, TEXT(d->m, "x%u", i));
		op->result[0].type = t;
		ir_block_append(b, op);
		const int on = partial_axis(d, &left->arg[i]);
		struct ir_value *v = on < 0 ? &op->result[0] : make_partial(d, op, on);
		if (!v)
			return NULL;
		match->value[left->arg[i].id - p->value_base] = v;
	}
	struct ir_value *none = b->first ? &b->first->result[0] : NULL;
	if (!none)
		return NULL;
	report_end(d->m, b, none, n++);
	struct ir_op *end = b->last;
	if (!rule_instance(d->m, match, RULE_LEFT, end, NULL, root))
		return NULL;
	for (int i = 0; i < ir_rule_return(p->rule, RULE_LEFT)->noperands; i++)
		report_end(d->m, b, root[i], n++);
	for (struct ir_op *op = b->first; used && op != end; op = op->next)
		if (op->noperands && draw(d, 2))
			report_end(d->m, b, &op->result[0], n++);
	return ir_verify(d->m) ? d->m : NULL;
}

static bool
conditions_hold(const struct rule_match *match)
{
	const struct ir_rule *r = match->pattern->rule;

	for (int i = 0; i < r->nwhere; i++) {
		struct rule_number a, b;
		if (!rule_number(match, r->where[i].arg[0], &a) ||
			!rule_number(match, r->where[i].arg[1], &b))
			return false;
		const double less = a.f - b.f;
		switch (r->where[i].compare) {
		case RULE_EQ:
			if (less == 0)
				continue;
			return false;
		case RULE_NE:
			if (less != 0)
				continue;
			return false;
		case RULE_LT:
			if (less < 0)
				continue;
			return false;
		case RULE_LE:
			if (less <= 0)
				continue;
			return false;
		case RULE_GT:
			if (less > 0)
				continue;
			return false;
		case RULE_GE:
			if (less >= 0)
				continue;
			return false;
		}
	}
	return true;
}

/* Finds the rule somewhere in the step. */
static bool
find(const struct rule_index *index, struct ir_module *m, struct rule_match *match)
{
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		struct rule_next next = {0};
		if (op->nresults && rule_match_next(index, m, op, &next, match))
			return true;
	}
	return false;
}

static int
try_rule(struct ir_context *ctx, const struct ir_rule *r, uint64_t seed)
{
	const struct rule_pattern one = {.rule = r};
	struct rule_index *index = rule_index_create(ctx, &one, 1);
	const struct rule_pattern *p = rule_index_pattern(index, 0);
	struct drawing d = {.ctx = ctx};
	int applied = 0;

	if (p->why_not)
		printf("%s: %s\n", r->name, p->why_not);
	assert_null(p->why_not);
	for (int k = 0; k < TRIES && applied < ENOUGH; k++) {
		struct rule_match drawn, match;
		struct rule_built built;
		d.random = mix_word(seed, (uint64_t)k);
		const bool before = diag_mute(ctx->diag, true);
		struct ir_module *m = draw_step(&d, p, &drawn);
		diag_mute(ctx->diag, before);
		if (m && conditions_hold(&drawn)) {
			struct ir_module *old = ir_module_clone(ctx, m);
			if (!find(index, m, &match))
				ir_print(stdout, m);
			assert_true(find(index, m, &match));
			if (rule_build(m, &match, &built)) {
				rule_commit(&built);
				assert_true(ir_verify(m));
				if (!interp_check_modules(old, m, NULL))
					ir_print(stdout, old), ir_print(stdout, m);
				assert_true(interp_check_modules(old, m, NULL));
				applied++;
			}
			talloc_free(old);
		}
		talloc_free(d.m);
	}
	return applied;
}

static void
shipped_rules_keep_the_meaning(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);
	struct ir_rules *rules =
		parse_rules(ctx, ctx, "shipped.rules", dopt_rules, strlen(dopt_rules));
	struct rule_prover *prover = rule_prover_create(ctx);
	uint64_t seed = 1;

	assert_non_null(rules);
	IR_FOR_RULES (r, rules) {
		struct rule_proof proof;
		rule_verify(ctx, prover, rules, r, &proof);
		if (proof.assumes & (RULE_POSITIVE | RULE_NONZERO))
			continue; /* random elements are not */
		const int applied = try_rule(ctx, r, seed++);
		printf("%s: applied %d times\n", r->name, applied);
		assert_true(applied > 0);
	}
}

/* The cases in which a sum of convolutions with a filter of those sizes is proven. */
static int
cases_of_convolutions(struct ir_context *ctx, const char *sizes)
{
	char *text = TEXT(ctx,
		"rule @r(%%x : F[a,b,h,w], %%f : F[c,b,%s], %%g : F[c,b,%s]) {\n"
		"  %%s = add(%%f, %%g)\n"
		"  %%y = conv2d(%%x, %%s) {low = [1,1], high = [1,1]}\n  return(%%y)\n} => {\n"
		"  %%p = conv2d(%%x, %%f) {low = [1,1], high = [1,1]}\n"
		"  %%q = conv2d(%%x, %%g) {low = [1,1], high = [1,1]}\n"
		"  %%y = add(%%p, %%q)\n  return(%%y)\n}\n",
		sizes, sizes);
	struct ir_rules *rules = parse_rules(ctx, ctx, "r", text, strlen(text));
	struct rule_proof proof;

	assert_non_null(rules);
	rule_verify(ctx, rule_prover_create(ctx), rules, rules->first, &proof);
	assert_int_equal(proof.verdict, RULE_PROVEN);
	return proof.branches;
}

/* A constant range is not expanded if the proof does not need that: each of the nine elements of a
 * filter would ask which rows are outside of the image. */
static void
filters_of_known_sizes_take_no_more_cases(void **state)
{
	struct ir_context *ctx = ir_context_create(*state);

	assert_true(cases_of_convolutions(ctx, "3,3") <= cases_of_convolutions(ctx, "k,l"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			shipped_rules_keep_the_meaning, make_scratch, free_scratch),
		cmocka_unit_test_setup_teardown(
			filters_of_known_sizes_take_no_more_cases, make_scratch, free_scratch),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
