/*
 * Are two tensors, two modules, or a layout and its meaning equal? Comparisons are made in f64,
 * where only the order of sums differs, so the tolerance can be tight and a wrong plan cannot hide
 * in rounding. If the arithmetic must be the same, modules are compared bit for bit, by meaning and
 * in their own element types: only this comparison detects wrong rounding.
 */
#include "ir/interp/internal.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* Steps of a comparison: the second sees what the first's updates did. */
static const int64_t default_steps = 2;

/*
 * Tolerances relative to the largest element. A step is a chain of some hundred ops, each of which
 * adds rounding and may amplify errors of its operands, so we allow some hundred to a thousand
 * units in the last place.
 */
double
tensor_tolerance(enum ir_dtype t, bool f64)
{
	if (ir_dtype_class(t) != IR_FLOAT)
		return 0;
	if (f64 || t == IR_f64)
		return 1e-9;
	return t == IR_f32 ? 1e-4 : t == IR_f16 ? 0.02 : 0.1;
}

/*
 * Tensors without a larger element are compared as if they had one of this size. If terms of size
 * one cancel, the rest is only their rounding, which depends on the order of summation.
 */
static const double least_scale = 1e-3;

static double
element(const struct tensor *t, int64_t i)
{
	return ir_dtype_class(t->dtype) == IR_FLOAT ? t->data[i].f
						    : ir_dtype_double(t->dtype, t->data[i].i);
}

static double
largest(const struct tensor *t)
{
	const int64_t n = tensor_elements(t);
	double most = 0;
	for (int64_t i = 0; i < n; i++)
		if (isfinite(t->data[i].f) && fabs(t->data[i].f) > most)
			most = fabs(t->data[i].f);
	return most;
}

/* 0 if the elements are equal, else their distance; infinity if either is not finite. */
static double
distance(const struct tensor *a, const struct tensor *b, int64_t i)
{
	if (ir_dtype_class(a->dtype) != IR_FLOAT)
		return a->data[i].i == b->data[i].i ? 0 : fabs(element(a, i) - element(b, i)) + 1;
	const double x = a->data[i].f, y = b->data[i].f;
	if (x == y || (x != x && y != y))
		return 0;
	return isfinite(x) && isfinite(y) ? fabs(x - y) : INFINITY;
}

bool
tensor_compare(
	const struct tensor *a, const struct tensor *b, double tolerance, struct tensor_diff *diff)
{
	struct tensor_diff d = {.first = -1, .worst = -1};
	d.shape = a->dtype != b->dtype || a->rank != b->rank ||
		  memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank) != 0;
	const int64_t n = d.shape ? 0 : tensor_elements(a);
	/* the same bits: most tensors that are compared with a copy */
	if (!d.shape && memcmp(a->data, b->data, (size_t)n * sizeof *a->data) == 0) {
		if (diff)
			*diff = d;
		return true;
	}
	const bool isfloat = ir_dtype_class(a->dtype) == IR_FLOAT;
	const double limit = d.shape || !isfloat
				     ? 0
				     : tolerance * fmax(least_scale, fmax(largest(a), largest(b)));
	double most = limit;
	for (int64_t i = 0; i < n; i++) {
		if (a->data[i].i == b->data[i].i)
			continue;
		const double off = distance(a, b, i);
		if (off <= limit)
			continue;
		d.count++;
		if (d.first < 0)
			d.first = i;
		if (off <= most)
			continue;
		most = off;
		d.worst = i;
		d.a = element(a, i);
		d.b = element(b, i);
	}
	if (diff)
		*diff = d;
	return !d.shape && d.count == 0;
}

char *
tensor_index_text(const void *owner, const struct tensor *t, int64_t at)
{
	int64_t stride[IR_MAX_RANK];
	tensor_strides(t, stride);
	char *text = text_copy(owner, "[");
	for (int d = 0; d < t->rank; d++)
		text = text_append(text, "%s%" PRId64, d ? "," : "", at / stride[d] % t->dim[d]);
	text = text_append(text, "]");
	return text;
}

/* --- reports ------------------------------------------------------------------------------------
 */

static void
report_diff(struct diag *diag, struct ir_loc loc, const char *what, const struct tensor *a,
	const struct tensor_diff *d)
{
	if (d->shape) {
		diag_error(diag, loc, "%s: element types or shapes differ", what);
		return;
	}
	void *scratch = alloc_scratch(NULL);
	diag_error(diag, loc,
		"%s: %" PRId64 " of %" PRId64
		" elements differ, first at %s, largest difference at %s: %.17g and %.17g",
		what, d->count, tensor_elements(a), tensor_index_text(scratch, a, d->first),
		tensor_index_text(scratch, a, d->worst), d->a, d->b);
	talloc_free(scratch);
}

/*
 * A sum whose terms overflow to infinities of both signs is NaN, but if it adds before it
 * multiplies it overflows to one of them: (p + q) s is infinite and p s + q s is NaN. The order of
 * the sum decides which. If one of the two is infinite and the other is NaN, sets `want` to `have`;
 * returns the number of such elements.
 */
static int64_t
take_overflown_sums(struct tensor *want, const struct tensor *have)
{
	int64_t taken = 0;

	if (ir_dtype_class(want->dtype) != IR_FLOAT)
		return 0;
	for (int64_t i = tensor_elements(want) - 1; i >= 0; i--)
		if (isinf(want->data[i].f) ? isnan(have->data[i].f)
					   : isnan(want->data[i].f) && isinf(have->data[i].f)) {
			want->data[i] = have->data[i];
			taken++;
		}
	return taken;
}

/* --- two modules --------------------------------------------------------------------------------
 */

enum {
	/* with fewer, a sign that depends only on rounding may be the same in all */
	NOISE_RUNS = 8,
	/* some hundred ops, each a sum of some hundred terms in another order */
	NOISE_FACTOR = 10000,
};

struct pair {
	struct interp *before, *after;
	struct interp *noisy[NOISE_RUNS]; /* `before` in the same step, with noise; NULL: not run */
	struct diag *diag;
	bool f64;
	bool bits;  /* every element must be the same bit for bit, */
	bool zeros; /* of zeros the sign, too */
};

/* A pass may compute with constants, and rounds what it gets to their type: eight times that. */
static double
folding_tolerance(enum ir_dtype t)
{
	switch (t) {
	case IR_f32: return 0x1p-20;
	case IR_f16: return 0x1p-7;
	case IR_bf16: return 0x1p-4;
	default: return 0;
	}
}

/* Are the numbers equal? All NaNs are equal, and numbers that arithmetic flushes to 0 equal 0, so
 * that a pass may drop an op that only flushes, x * 1. */
static bool
same_bits(const struct pair *p, const struct tensor *t, union cell a, union cell b)
{
	if (a.i == b.i || ir_dtype_class(t->dtype) != IR_FLOAT)
		return a.i == b.i;
	union cell c[] = {a, b};
	scalar_flush(t->dtype, &p->before->o, c, 2);
	return (a.f != a.f && b.f != b.f) || c[0].i == c[1].i || (!p->zeros && c[0].f == c[1].f);
}

static bool
compare_bits(
	const struct pair *p, const struct tensor *a, const struct tensor *b, struct tensor_diff *d)
{
	int64_t first = -1, count = 0;

	const bool near = tensor_compare(a, b, 0, d);
	if (d->shape)
		return false;
	for (int64_t i = tensor_elements(a) - 1; i >= 0; i--)
		if (!same_bits(p, a, a->data[i], b->data[i])) {
			count++;
			first = i;
		}
	if (count && near) {
		d->worst = first;
		d->a = element(a, first);
		d->b = element(b, first);
	}
	d->first = first;
	d->count = count;
	return count == 0;
}

/*
 * Some gradients are only rounding errors: that of the scores of a softmax with values 1 and 0 is a
 * difference of equal numbers, which later ops may magnify, and whose sign optimizers may use. No
 * tolerance separates two orders of a sum from an error there. So differing values are computed
 * again by `before`, with each rounded result moved by a unit in the last place (Monte Carlo
 * arithmetic: Parker, 1997), and may differ by NOISE_FACTOR times the change that this causes.
 */
static const struct interp *
noisy_step(struct pair *p, int run)
{
	struct interp **it = &p->noisy[run];
	const int64_t step = p->before->step;

	if (*it && (*it)->step == step)
		return *it;
	talloc_free(*it);
	*it = interp_create(p->before, p->before->m, &p->before->o);
	bool ok = *it;
	for (int64_t s = 0; s <= step && ok; s++) {
		(*it)->noise = s == step ? (uint64_t)run + 1 : 0;
		ok = interp_step(*it, s);
	}
	return ok ? *it : NULL;
}

/* The tensor of an output, or of a param or state. */
typedef const struct tensor *tensor_of(const struct interp *it, const char *name);

static double
largest_distance(const struct tensor *a, const struct tensor *b)
{
	double most = 0;
	for (int64_t i = tensor_elements(a) - 1; i >= 0; i--)
		most = fmax(most, distance(a, b, i));
	return most;
}

static bool
is_rounding(struct pair *p, const char *name, tensor_of *of)
{
	const struct tensor *a = of(p->before, name);
	const double off = largest_distance(a, of(p->after, name));

	for (int run = 0; run < NOISE_RUNS; run++) {
		const struct interp *noisy = noisy_step(p, run);
		if (!noisy)
			return false;
		if (off <= NOISE_FACTOR * largest_distance(a, of(noisy, name)))
			return true;
	}
	return false;
}

static bool
compare_named(struct pair *p, const char *kind, const char *name, struct ir_loc loc, tensor_of *of)
{
	const struct tensor *a = of(p->before, name), *b = of(p->after, name);
	struct tensor_diff d;
	if (!b) {
		diag_error(p->diag, loc, "%s \"%s\" is missing", kind, name);
		return false;
	}
	const double tolerance =
		fmax(tensor_tolerance(a->dtype, p->f64), folding_tolerance(a->dtype));
	if (p->bits ? compare_bits(p, a, b, &d) : tensor_compare(a, b, tolerance, &d))
		return true;
	char *what = TEXT(NULL, "%s \"%s\" in step %" PRId64, kind, name, p->before->step);
	struct tensor *want = tensor_copy(what, a);
	const bool overflows = !p->bits && !d.shape && take_overflown_sums(want, b) > 0 &&
			       tensor_compare(want, b, tolerance, NULL);
	const bool unknown =
		overflows || (p->f64 && !d.shape && ir_dtype_class(a->dtype) == IR_FLOAT &&
				     is_rounding(p, name, of));
	if (overflows)
		diag_report(p->diag, DIAG_WARNING, loc,
			"%s is infinite before or after the pass and NaN in the other: the terms of a "
			"sum overflow",
			what);
	else if (unknown)
		diag_report(p->diag, DIAG_WARNING, loc,
			"%s differs, but rounding alone changes it as much", what);
	else
		report_diff(p->diag, loc, what, a, &d);
	talloc_free(what);
	return unknown;
}

static bool
is_updated(const struct ir_op *op)
{
	IR_FOR_USES (u, &op->result[0])
		if (u->op->code == OP_update && ir_operand(u->op, 0) == &op->result[0])
			return true;
	return false;
}

static const struct ir_op *
persistent_op(const struct interp *it, const char *name)
{
	for (int i = 0; i < it->npersistents; i++)
		if (strcmp(it->persistent[i].name, name) == 0)
			return it->persistent[i].op;
	return NULL;
}

/* Does `after` update a tensor of `before` that `before` does not update? */
static bool
updates_more(const struct interp *before, const struct interp *after)
{
	for (int i = 0; i < before->npersistents; i++) {
		const struct ir_op *op = persistent_op(after, before->persistent[i].name);
		if (op && is_updated(op) && !is_updated(before->persistent[i].op))
			return true;
	}
	return false;
}

/* An optimizer takes the gradients that grad reports, and updates params instead. */
static bool
is_taken_gradient(const struct pair *p, const char *name)
{
	return strncmp(name, "grad.", 5) == 0 && !interp_output(p->after, name) &&
	       updates_more(p->before, p->after);
}

static bool
compare_step(struct pair *p)
{
	bool ok = true;
	for (int i = 0; i < p->before->noutputs; i++) {
		const struct named *n = &p->before->output[i];
		if (is_taken_gradient(p, n->name))
			continue;
		ok &= compare_named(p, "output", n->name, n->op->loc, interp_output);
	}
	for (int i = 0; i < p->before->npersistents; i++) {
		const struct named *n = &p->before->persistent[i];
		const struct ir_op *op = persistent_op(p->after, n->name);
		if (!is_updated(n->op) && (!op || is_updated(op)))
			continue;
		ok &= compare_named(p, op_name((enum op_code)n->op->code), n->name, n->op->loc,
			interp_persistent);
	}
	return ok;
}

/* Both start each step from the values of `before`: a pass may have changed an element type or an
 * initial value's name, and a step may amplify the rounding that the one before it left. */
static void
share_values(const struct pair *p)
{
	for (int i = 0; i < p->before->npersistents; i++)
		interp_set_persistent(
			p->after, p->before->persistent[i].name, p->before->persistent[i].now);
}

static struct interp_options
check_options(const struct interp_options *options)
{
	struct interp_options o = {.f64 = true, .perturb = true};
	if (options)
		o = *options;
	if (o.steps == 0)
		o.steps = default_steps;
	return o;
}

static bool
run_pair(struct pair *p, int64_t steps)
{
	if (updates_more(p->before, p->after))
		steps = 1;
	for (int64_t s = 0; s < steps; s++) {
		share_values(p);
		if (!interp_step(p->before, s) || !interp_step(p->after, s) || !compare_step(p))
			return false;
	}
	return true;
}

/* `before` by meaning, `after` in o.mode. */
static bool
check_pair(struct pair p, const struct ir_module *before, const struct ir_module *after,
	struct interp_options o)
{
	void *scratch = alloc_scratch(NULL);
	const enum interp_mode mode = o.mode;
	p.diag = after->ctx->diag;
	p.f64 = o.f64;
	o.mode = INTERP_MEANING;
	p.before = interp_create(scratch, before, &o);
	o.mode = mode;
	p.after = p.before ? interp_create(scratch, after, &o) : NULL;
	const bool ok = p.after && run_pair(&p, o.steps);
	talloc_free(scratch);
	return ok;
}

bool
interp_check_modules(const struct ir_module *before, const struct ir_module *after,
	const struct interp_options *options)
{
	struct interp_options o = check_options(options);

	o.mode = ir_places(after) <= INTERP_MAX_PLACES ? INTERP_LAYOUT : INTERP_MEANING;
	return check_pair((struct pair){.bits = false}, before, after, o);
}

/* The number of summing collectives in a block, whose results are never -0. */
static int
count_sums(const struct ir_block *b)
{
	int n = 0;

	IR_FOR_OPS (op, b) {
		n += op_is(op, TRAIT_SUMS);
		if (op->body)
			n += count_sums(op->body);
	}
	return n;
}

bool
interp_check_bits(const struct ir_module *before, const struct ir_module *after, bool reordered,
	const struct interp_options *options)
{
	struct interp_options o = check_options(options);
	const bool zeros = count_sums(&ir_func_find(before, "main")->body) ==
			   count_sums(&ir_func_find(after, "main")->body);

	o.mode = INTERP_MEANING;
	o.f64 = false;
	return check_pair((struct pair){.bits = !reordered, .zeros = zeros}, before, after, o);
}

/* --- a layout -----------------------------------------------------------------------------------
 */

/* The op as printed, without the newline; owned by `owner`. */
static char *
op_text(const void *owner, const struct ir_module *m, const struct ir_op *op)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = text_stream(&text, &size);
	ir_print_op(out, m, op);
	fclose(out);
	char *copy = text_copy_n(
		owner, text + strspn(text, " "), strcspn(text + strspn(text, " "), "\n"));
	free(text);
	return copy;
}

/* An integer is exact, and ops that truncate or compare would make much of its move. */
static void
keep_integers(struct tensor *t, const struct tensor *was)
{
	static const double exact = 0x1p31;

	for (int64_t i = tensor_elements(t) - 1; i >= 0; i--)
		if (was->data[i].f == rint(was->data[i].f) && fabs(was->data[i].f) < exact)
			t->data[i] = was->data[i];
}

/* Moves the numbers of all operands, or takes that back. */
static void
move_operands(struct interp *it, const struct ir_op *op, struct tensor **kept, uint64_t seed)
{
	for (int j = 0; j < op->noperands; j++)
		for (int64_t p = 0; p < it->nplaces; p++) {
			struct tensor *t = interp_places(it, ir_operand(op, j))[p],
				      **was = &kept[j * it->nplaces + p];
			bool done = !t;
			for (int k = 0; k < j && !done; k++)
				done = ir_operand(op, k) == ir_operand(op, j);
			if (done)
				continue;
			if (seed) {
				*was = tensor_copy(kept, t);
				tensor_add_noise(t, seed);
				if (ir_dtype_class(t->dtype) == IR_FLOAT)
					keep_integers(t, *was);
			} else {
				memcpy(t->data, (*was)->data,
					sizeof *t->data * (size_t)tensor_elements(t));
			}
		}
}

/*
 * Is the difference of result i of an op, by meaning and by layout, only rounding? Gradients of
 * biases before a softmax are 0 but for what is left of terms that cancel, which no tolerance
 * relative to the result allows for: so it may be NOISE_FACTOR times the change of the result by
 * the layout if all operands are moved by a unit in the last place, integers excepted. Runs the op
 * again.
 */
static bool
is_op_rounding(struct interp *layout, struct ir_op *op, int i, double off)
{
	void *scratch = alloc_scratch(NULL);
	const struct ir_value *v = &op->result[i];
	struct tensor **kept =
		ZERO_ARRAY(scratch, struct tensor *, (size_t)(op->noperands * layout->nplaces));
	const struct tensor *have =
		interp_assemble(layout, scratch, v->type, interp_places(layout, v));
	bool rounding = false, ok = layout->o.f64 && !op_is(op, TRAIT_EFFECT | TRAIT_NAMED) &&
				    ir_dtype_class(have->dtype) == IR_FLOAT;

	for (int run = 0; run < NOISE_RUNS && ok && !rounding; run++) {
		move_operands(layout, op, kept, (uint64_t)run + 1);
		ok = interp_op(layout, op);
		const struct tensor *noisy =
			ok ? interp_assemble(layout, scratch, v->type, interp_places(layout, v))
			   : have;
		rounding = off <= NOISE_FACTOR * largest_distance(have, noisy);
		move_operands(layout, op, kept, 0);
	}
	ok = interp_op(layout, op);
	talloc_free(scratch);
	return ok && rounding;
}

/*
 * Later ops of the meaning continue with the values of the layout. So each op is compared for the
 * same operands, and a step of some hundred ops that amplifies rounding a million times, as in deep
 * networks with batch normalization, does not make two orders of a sum look like different results.
 */
static bool
check_value(struct interp *meaning, struct interp *layout, const struct ir_op *a, struct ir_op *b,
	int i)
{
	void *scratch = alloc_scratch(NULL);
	const struct ir_value *v = &b->result[i];
	struct tensor *want = interp_places(meaning, &a->result[i])[0];
	const struct tensor *have =
		interp_assemble(layout, scratch, v->type, interp_places(layout, v));
	struct tensor_diff d;

	if (ir_type_has(layout->m, v->type, 1 << IR_PARTIAL))
		take_overflown_sums(want, have);
	bool ok = tensor_compare(want, have, tensor_tolerance(want->dtype, layout->o.f64), &d);
	if (!ok && !d.shape && is_op_rounding(layout, b, i, largest_distance(want, have))) {
		ok = true;
		diag_report(layout->m->ctx->diag, DIAG_WARNING, b->loc,
			"result %d of `%s` differs by meaning and by layout, but rounding alone changes it "
			"as much",
			i + 1, op_text(scratch, layout->m, b));
	}
	if (!ok)
		report_diff(layout->m->ctx->diag, b->loc,
			TEXT(scratch, "result %d of `%s`, by meaning and by layout", i + 1,
				op_text(scratch, layout->m, b)),
			want, &d);
	else if (!(ok = interp_copies_agree(layout, v->type, interp_places(layout, v))))
		diag_error(layout->m->ctx->diag, b->loc,
			"devices that hold copies of result %d of `%s` disagree", i + 1,
			op_text(scratch, layout->m, b));
	else
		memcpy(want->data, have->data, sizeof(union cell) * (size_t)tensor_elements(want));
	talloc_free(scratch);
	return ok;
}

static bool
check_layout_step(struct interp *meaning, struct interp *layout, int64_t step)
{
	interp_begin(meaning, step);
	interp_begin(layout, step);
	struct ir_op *b = layout->main->body.first;
	for (struct ir_op *a = meaning->main->body.first; a; a = a->next, b = b->next) {
		if (!interp_op(meaning, a) || !interp_op(layout, b))
			return false;
		for (int i = 0; i < a->nresults; i++)
			if (!check_value(meaning, layout, a, b, i))
				return false;
		interp_op_done(meaning, a);
		interp_op_done(layout, b);
	}
	interp_end(meaning);
	interp_end(layout);
	return true;
}

bool
interp_check_layout(const struct ir_module *m, const struct interp_options *options)
{
	if (ir_places(m) == 1)
		return true; /* the local tensor of a value is the value */
	void *scratch = alloc_scratch(NULL);
	struct interp_options o = check_options(options);
	o.mode = INTERP_MEANING;
	struct interp *meaning = interp_create(scratch, m, &o);
	o.mode = INTERP_LAYOUT;
	struct interp *layout = meaning ? interp_create(scratch, m, &o) : NULL;
	bool ok = layout != NULL;
	for (int64_t s = 0; ok && s < o.steps; s++)
		ok = check_layout_step(meaning, layout, s);
	talloc_free(scratch);
	return ok;
}

/* --- sums over micro-batches --------------------------------------------------------------------
 */

/* Permitted loss of sums in 16-bit types: a unit in the last place of the largest element, which a
 * sum of a few micro-batches does not exceed. */
static double
sum_tolerance(enum ir_dtype t)
{
	return t == IR_bf16 ? 0x1p-7 : 0x1p-10;
}

/* Does it sum result i over micro-batches in 16 bits? */
static bool
sums_narrowly(const struct ir_module *m, const struct ir_op *op, int i)
{
	const int axis = (int)ir_attr_int(op, "axis", -1);
	const enum ir_dtype t = (enum ir_dtype)op->result[i].type->dtype;

	return op_is(op, TRAIT_SUMS) && axis >= 0 && m->axis[axis].time &&
	       (t == IR_f16 || t == IR_bf16);
}

/* Result i, computed in doubles, against the sum of the same operands as programs make it. */
static void
warn_of_sum(const struct interp *layout, const struct ir_op *op, int i)
{
	void *scratch = alloc_scratch(NULL);
	const struct ir_value *v = &op->result[i];
	const enum ir_dtype t = (enum ir_dtype)v->type->dtype;
	const int axis = (int)ir_attr_int(op, "axis", -1);
	struct tensor **place = ZERO_ARRAY(scratch, struct tensor *, (size_t)layout->nplaces);
	struct interp rounding = *layout;
	struct tensor_diff d;

	rounding.o.f64 = false;
	interp_move(&rounding, scratch, op, i, place);
	const struct tensor *have = interp_assemble(&rounding, scratch, v->type, place);
	const struct tensor *sum =
		interp_assemble(layout, scratch, v->type, interp_places(layout, v));
	if (!tensor_compare(sum, have, sum_tolerance(t), &d))
		diag_report(layout->m->ctx->diag, DIAG_WARNING, op->loc,
			"%s rounds its sum to %s in each of the %d iterations of %s, so it is off by "
			"%.2g %% of the largest element; grad{accumulate=f32} sums in f32",
			op_name((enum op_code)op->code), ir_dtype_name(t),
			layout->m->axis[axis].size, layout->m->axis[axis].name,
			100 * fabs(d.a - d.b) / fmax(least_scale, largest(sum)));
	talloc_free(scratch);
}

void
interp_warn_sums(const struct ir_module *m, const struct interp_options *options)
{
	struct interp_options o = check_options(options);
	o.mode = INTERP_LAYOUT;
	o.f64 = true;
	struct interp *it = interp_create(NULL, m, &o);
	bool ok = it != NULL;

	if (it)
		interp_begin(it, 0);
	for (struct ir_op *op = ok ? it->main->body.first : NULL; op && ok; op = op->next) {
		ok = interp_op(it, op);
		for (int i = 0; ok && i < op->nresults; i++)
			if (sums_narrowly(it->m, op, i))
				warn_of_sum(it, op, i);
		if (ok)
			interp_op_done(it, op);
	}
	talloc_free(it);
}
