/*
 * apply FILE [SEED]: every proven rule of a file on programs that are drawn from it. A
 * program is the left side with random sizes, element types, attributes and layouts; operands are
 * results of drawn ops, and drawn ops read the results and some inner values. Where the conditions
 * of the rule and of its proof hold, it has to be found; where they do not (a near miss), what is
 * found has to fulfil them. What the step computes stays the same (interpreter).
 *
 * Prints totals, and rules that could be applied and were not in any program; exit status 1 if there are
 * some, or something is wrong.
 */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/interp/interp.h"
#include "ir/ops/row.h"
#include "parser/dir/parse.h"
#include "passes/rules/match.h"
#include "passes/rules/verify.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	AXES = 3,           /* of the published rules, of two devices each */
	STEPS = 1200,       /* programs of a file, at least, in which a rule is applied */
	FEWEST = 6,         /* of a rule */
	TRIES = 2000,       /* for each of them: random sizes, of which not all have a type ... */
	MOST_TRIES = 50000, /* ... and more as long as it is applied in none */
};

struct drawing {
	struct ir_context *ctx;
	struct ir_module *m;
	struct rule_match *match;
	uint64_t random;
	bool sizes;       /* names are drawn that are dims, else any integers */
	bool numbers;     /* or numbers with fractions */
	bool parallel;    /* the rule has parallelization ops: sizes are even */
	unsigned assumes; /* of elements: set of enum rule_assumes */
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
	struct ir_attr a = {.kind = ATTR_INT,
		.i = !d->sizes                   ? draw(d, 6) - 1
		     : d->parallel && draw(d, 4) ? 2 + 2 * draw(d, 2)
						 : 1 + draw(d, 4)};

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

/* A list of dims: all of a tensor of some rank, in any order; or of any positions, or sizes. */
static struct ir_attr
draw_list(struct drawing *d, bool sizes)
{
	const int n = 1 + draw(d, 3);
	const bool any = sizes || !draw(d, 3);
	struct ir_attr *list = &d->match->item[d->match->nitems];

	for (int i = 0; i < n; i++) {
		const int at = any ? i : draw(d, i + 1);
		list[i] = list[at];
		list[at] = (struct ir_attr){.kind = ATTR_INT, .i = any ? sizes + draw(d, 3) : i};
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
		bind(d, a->s, false, draw_list(d, r->type == ROW_SIZES));
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

/* The states of a parameter, or of what is computed of it, that the first op on the axis takes: set of
 * 1 << enum ir_state_kind; 0: any. */
static unsigned
wanted_states(const struct drawing *d, const struct ir_value *v, int axis)
{
	IR_FOR_USES (u, v) {
		const struct ir_attr *a = ir_attr_find(u->op, "axis");
		for (int i = 0; a && i < d->match->nnames; i++)
			if (d->match->name[i].name == a->s && d->match->name[i].value.i == axis)
				return op_row(d->ctx, u->op)->from;
		const unsigned after =
			u->op->nresults ? wanted_states(d, &u->op->result[0], axis) : 0;
		if (after)
			return after;
	}
	return 0;
}

/* The state on an axis, of a parameter of the rule; one that is partial is made by an op. */
static void
draw_state(struct drawing *d, const struct ir_value *v, int axis, struct ir_type *t)
{
	const unsigned wanted = wanted_states(d, v, axis);
	const int dim = draw(d, t->rank + 1);
	int list[IR_MAX_AXES];

	if (wanted == 1u << IR_PARTIAL)
		return;
	if (wanted ? wanted >> IR_SINGLE & 1 && draw(d, 2) : !draw(d, 16))
		t->axis[axis] = (struct ir_state){.kind = IR_SINGLE, .order = (uint16_t)draw(d, 2)};
	else if ((!wanted || wanted >> IR_SPLIT & 1 || !draw(d, 8)) && dim < t->rank &&
		 t->dim[dim] % (ir_type_split_factor(d->m, t, dim) * d->m->axis[axis].size) == 0)
		t->axis[axis] = (struct ir_state){
			IR_SPLIT, (uint8_t)dim, (uint16_t)ir_type_split_axes(t, dim, list)};
}

static const struct ir_type *
type_of(struct drawing *d, const struct ir_type_text *text, const struct ir_value *v, bool layout)
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
	for (int a = 0; layout && a < d->m->naxes; a++)
		draw_state(d, v, a, &t);
	return ir_type_intern(d->ctx, &t);
}

/* Makes an input what has that type and is partial on the axes on which the rule wants that: its sum over
 * a dim more for each of them. NULL: it has no type. */
static struct ir_value *
make_partial(struct drawing *d, struct ir_value *v, const struct ir_value *param)
{
	static const int64_t first[AXES] = {0, 1, 2};
	struct ir_builder b = {.m = d->m, .block = v->op->block};
	struct ir_type t = *v->type;
	int n = 0;

	for (int x = 0; x < d->m->naxes; x++) {
		if (wanted_states(d, param, x) != 1u << IR_PARTIAL)
			continue;
		for (int a = 0; a < d->m->naxes; a++)
			t.axis[a].dim += t.axis[a].kind == IR_SPLIT;
		memmove(t.dim + 1, t.dim, t.rank * sizeof *t.dim);
		t.dim[0] = d->m->axis[x].size;
		t.rank++;
		t.axis[x] = (struct ir_state){.kind = IR_SPLIT};
		n++;
	}
	const struct ir_attr dims = ir_make_ints(d->m, "dims", first, n);
	v->type = ir_type_intern(d->ctx, &t);
	return n ? ir_build(&b, OP_sum, &v, 1, &dims, 1) : v;
}

/* An op of one operand and the same type, drawn from those that keep small numbers small. */
static struct ir_value *
draw_op(struct drawing *d, struct ir_block *b, struct ir_value *v)
{
	struct ir_builder build = {.m = d->m, .block = b};
	const enum ir_dclass c = ir_dtype_class((enum ir_dtype)v->type->dtype);

	switch (draw(d, 4)) {
	case 0: return v;
	case 1: return c == IR_BOOL ? ir_build1(&build, OP_not, v) : ir_build1(&build, OP_abs, v);
	case 2:
		return c == IR_FLOAT ? ir_build1(&build, OP_sin, v)
				     : ir_build2(&build, OP_maximum, v, v);
	default: return ir_build2(&build, OP_minimum, v, v);
	}
}

/* Numbers from 1 on. */
static struct ir_value *
make_positive(struct drawing *d, struct ir_block *b, struct ir_value *v)
{
	struct ir_builder build = {.m = d->m, .block = b};
	const enum ir_dtype t = (enum ir_dtype)v->type->dtype;

	if (ir_dtype_class(t) == IR_BOOL)
		return v;
	return ir_build2(
		&build, OP_add, ir_build1(&build, OP_abs, v), ir_build_scalar(&build, t, 1));
}

static void
report_end(struct ir_module *m, struct ir_block *b, struct ir_value *v, int number)
{
	struct ir_op *op = ir_op_create(m, OP_output, (struct ir_loc){0}, &v, 1, NULL, 0, 0);

	op->symbol = ir_name(m->ctx, TEXT(m, "o%d", number));
	ir_block_append(b, op);
}

static struct ir_value *
draw_input(
	struct drawing *d, struct ir_block *b, bool param, uint32_t number, const struct ir_type *t)
{
	struct ir_op *op = ir_op_create(
		d->m, param ? OP_param : OP_input, (struct ir_loc){0}, NULL, 0, NULL, 0, 1);

	op->symbol = ir_name(d->ctx, TEXT(d->m, "x%u", number));
	op->result[0].type = t;
	ir_block_append(b, op);
	return &op->result[0];
}

/* The left side as a step, some of its inner values reported, too; NULL: it has no type. */
static struct ir_module *
draw_step(struct drawing *d, const struct rule_pattern *p, struct rule_match *match)
{
	const struct ir_block *left = &p->rule->side[RULE_LEFT]->body;
	const bool layout = d->parallel || draw(d, 2), used = draw(d, 3) == 0;
	struct ir_value *root[RULE_MAX_RESULTS];
	static const char *const axis[AXES] = {"dp", "tp", "pp"};
	int n = 0;

	d->m = ir_module_create(d->ctx, d->ctx, "step");
	d->match = match;
	for (int a = 0; a < AXES; a++)
		d->m->axis[d->m->naxes++] =
			(struct ir_axis){.name = ir_name(d->ctx, axis[a]), .size = 2};
	struct ir_block *b = &ir_func_create(d->m, "main", (struct ir_loc){0})->body;
	memset(match, 0, sizeof *match);
	match->pattern = p;
	draw_names(d, p->rule);
	for (uint32_t i = 0; i < left->nargs; i++) {
		const struct ir_type_text *text = p->rule->param[i];
		const struct ir_type *t = type_of(d, text, &left->arg[i], layout);
		if (!t)
			return NULL;
		struct ir_value *v = draw_input(d, b, text->param, i, t);
		if (layout)
			v = make_partial(d, v, &left->arg[i]);
		if (v && v->op->code != OP_sum)
			v = draw_op(d, b, v);
		if (v && v->op->code != OP_sum && d->assumes & (RULE_POSITIVE | RULE_NONZERO))
			v = make_positive(d, b, v);
		if (!v)
			return NULL;
		match->value[left->arg[i].id - p->value_base] = v;
	}
	report_end(d->m, b,
		draw_input(d, b, false, left->nargs,
			ir_type_intern(d->ctx, &(struct ir_type){.dtype = IR_f32})),
		n++);
	struct ir_op *end = b->last;
	if (!rule_instance(d->m, match, RULE_LEFT, end, NULL, root))
		return NULL;
	for (int i = 0; i < ir_rule_return(p->rule, RULE_LEFT)->noperands; i++) {
		struct ir_value *after = draw_op(d, b, root[i]);
		report_end(d->m, b, after ? after : root[i], n++);
	}
	for (struct ir_op *op = b->first; used && op != end; op = op->next)
		if (op->noperands && draw(d, 2))
			report_end(d->m, b, &op->result[0], n++);
	return ir_verify(d->m) ? d->m : NULL;
}

static bool
holds(const struct rule_match *match, const struct ir_rule_condition *c)
{
	struct rule_number a, b;

	if (!rule_number(match, c->arg[0], &a) || !rule_number(match, c->arg[1], &b))
		return false;
	switch (c->compare) {
	case RULE_EQ: return a.f == b.f;
	case RULE_NE: return a.f != b.f;
	case RULE_LT: return a.f < b.f;
	case RULE_LE: return a.f <= b.f;
	case RULE_GT: return a.f > b.f;
	default: return a.f >= b.f;
	}
}

/* The conditions of the rule and of its proof. */
static bool
all_hold(const struct rule_match *match)
{
	const struct rule_pattern *p = match->pattern;
	bool all = true;

	for (int i = 0; i < p->rule->nwhere; i++)
		all = all && holds(match, &p->rule->where[i]);
	for (int i = 0; i < p->nwhere; i++)
		all = all && holds(match, &p->where[i]);
	return all;
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

/* What became of a program. */
enum outcome {
	NO_TYPE, /* the left side has none with these sizes */
	NO_FIT,  /* found, and the right side does not fit the layouts */
	MISSED,  /* a near miss: not found */
	APPLIED,
	WRONG
};

static enum outcome
wrong(const char *what, const struct rule_pattern *p, const struct ir_module *m)
{
	printf("%s: %s\n", p->rule->name, what);
	ir_print(stdout, m);
	return WRONG;
}

static enum outcome
try_step(struct drawing *d, const struct rule_index *index, struct ir_module *m, bool fulfilled)
{
	const struct rule_pattern *p = rule_index_pattern(index, 0);
	struct rule_match match;
	struct rule_built built;

	if (!find(index, m, &match))
		return fulfilled ? wrong("is not found", p, m) : MISSED;
	if (!all_hold(&match))
		return wrong("is found although its conditions do not hold", p, m);
	struct ir_module *old = ir_module_clone(d->m, m);
	if (!rule_build(m, &match, &built))
		return NO_FIT;
	rule_commit(&built);
	if (!ir_verify(m))
		return wrong("makes an invalid step", p, old);
	return interp_check_modules(old, m, NULL) ? APPLIED : wrong("changes the results", p, old);
}

/* Programs of a rule: [outcome] of them. */
static const char *
try_rule(struct ir_context *ctx, const struct rule_pattern *one, uint64_t seed, int most,
	int count[WRONG + 1])
{
	struct rule_index *index = rule_index_create(ctx, one, 1);
	const struct rule_pattern *p = rule_index_pattern(index, 0);
	struct drawing d = {.ctx = ctx, .assumes = p->assumes};

	IR_FOR_OPS (op, &p->rule->side[RULE_LEFT]->body)
		d.parallel = d.parallel || op_is(op, TRAIT_PARALLEL);

	for (int k = 0; k < (count[APPLIED] ? TRIES : MOST_TRIES) && count[APPLIED] < most &&
			!count[WRONG] && !p->why_not;
		k++) {
		struct rule_match drawn;
		d.random = mix_word(seed, (uint64_t)k);
		const bool before = diag_mute(ctx->diag, true);
		struct ir_module *m = draw_step(&d, p, &drawn);
		diag_mute(ctx->diag, before);
		count[m ? try_step(&d, index, m, all_hold(&drawn)) : NO_TYPE]++;
		talloc_free(d.m);
	}
	const char *why = p->why_not;
	talloc_free(index);
	return why;
}

static struct ir_rules *
read_rules(struct ir_context *ctx, const char *path)
{
	char *text = NULL;
	size_t n = 0;
	FILE *f = fopen(path, "r");
	const bool read = f && getdelim(&text, &n, '\0', f) > 0;

	if (!read)
		perror(path);
	if (f)
		fclose(f);
	struct ir_rules *rules = read ? parse_rules(ctx, ctx, path, text, strlen(text)) : NULL;
	free(text);
	return rules;
}

int
main(int argc, char **argv)
{
	struct ir_context *ctx = ir_context_create(NULL);
	struct rule_prover *prover = rule_prover_create(ctx);
	const uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
	struct ir_rules *rules = argc > 1 ? read_rules(ctx, argv[1]) : NULL;
	int64_t total[WRONG + 1] = {0};
	int proven = 0, impossible = 0, applied = 0, k = 0;

	if (!rules)
		return 2;
	const int most = STEPS / rules->n + 1 > FEWEST ? STEPS / rules->n + 1 : FEWEST;
	IR_FOR_RULES (r, rules) {
		struct rule_proof proof;
		int count[WRONG + 1] = {0};
		k++;
		rule_verify(ctx, prover, rules, r, &proof);
		if (proof.verdict != RULE_PROVEN)
			continue;
		const struct rule_pattern one = {.rule = r,
			.where = proof.where,
			.nwhere = proof.nwhere,
			.assumes = proof.assumes};
		const char *why = try_rule(ctx, &one, mix_word(seed, (uint64_t)k), most, count);
		proven++;
		for (int i = 0; i <= WRONG; i++)
			total[i] += count[i];
		if (why)
			impossible++;
		else if (count[APPLIED])
			applied++;
		else
			printf("%s: applied in no program: %d without a type, %d without fit, %d missed\n",
				r->name, count[NO_TYPE], count[NO_FIT], count[MISSED]);
	}
	printf("%d proven rules, %d that apply nowhere, %d applied: %lld programs, %lld near misses, %lld wrong\n",
		proven, impossible, applied, (long long)total[APPLIED], (long long)total[MISSED],
		(long long)total[WRONG]);
	talloc_free(ctx);
	return total[WRONG] || applied + impossible < proven ? 1 : 0;
}
