/*
 * Rules of FlexFlow and TASO as text. Sizes are linear in names: a concat adds two, a replicate
 * doubles one. What the ops of the left side ask of sizes is solved for a name (a = 2 b; c = a); what
 * the right side asks is left for a proof to find.
 *
 * A split takes apart what a concat joined, where it joined it, so a tensor knows where that was.
 */
#include "passes/rules/foreign/foreign.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	MAX_INPUTS = FOREIGN_MAX_USES + 1,
	MAX_SYMBOLS = 256, /* sizes of inputs; two halves of each op, whenever it is looked at */
	MAX_DEGREE = 8,    /* axes that a dim is split by */
};

/* constant + sum of coefficient * symbol */
struct size {
	int constant;
	int coefficient[MAX_SYMBOLS];
};

struct symbol {
	const char *name; /* NULL: none yet */
	bool bound, is_half;
	struct size is; /* bound: it is this; is_half: half of this */
};

struct value {
	char name[16];
	struct size dim[FOREIGN_MAX_RANK];
	bool joined[FOREIGN_MAX_RANK]; /* by a concat, at this index: */
	struct size at[FOREIGN_MAX_RANK];
	/* Degrees and axes of parallelization ops; are all rows of dim 0 equal? */
	int degree[FOREIGN_MAX_RANK], naxes[FOREIGN_MAX_RANK];
	int axis[FOREIGN_MAX_RANK][MAX_DEGREE];
	bool rows_equal;
};

struct writer {
	const struct foreign_rule *rule;
	enum foreign_reading reading;
	int rank;
	FILE *out;    /* NULL: only sizes and axes are worked out */
	bool solving; /* equations of sizes */
	struct symbol symbol[MAX_SYMBOLS];
	int nsymbols, nnames, naxis_names, nvalues;
	int input_id[MAX_INPUTS], ninputs;
	struct value input[MAX_INPUTS];
	struct value value[2][FOREIGN_MAX_OPS][2];
	int same_axis[2 * FOREIGN_MAX_OPS]; /* of each parallelization op: union-find */
	const char *axis_name[2 * FOREIGN_MAX_OPS];
	void *scratch; /* texts */
};

/* --- sizes --------------------------------------------------------------------------------------
 */

static struct size
constant(int c)
{
	struct size s = {.constant = c};

	return s;
}

static struct size
symbol(int i)
{
	struct size s = {0};

	s.coefficient[i] = 1;
	return s;
}

static int
new_symbol(struct writer *w)
{
	assert(w->nsymbols < MAX_SYMBOLS);
	return w->nsymbols++;
}

/* x + factor * y */
static struct size
plus(struct size x, int factor, const struct size *y)
{
	x.constant += factor * y->constant;
	for (int i = 0; i < MAX_SYMBOLS; i++)
		x.coefficient[i] += factor * y->coefficient[i];
	return x;
}

/* In symbols that are not bound. */
static struct size
resolve(const struct writer *w, struct size s)
{
	for (int i = 0; i < w->nsymbols; i++) {
		const int factor = s.coefficient[i];
		if (!factor || !w->symbol[i].bound)
			continue;
		s.coefficient[i] = 0;
		s = plus(s, factor, &w->symbol[i].is);
		i = -1;
	}
	return s;
}

static bool
is_constant(const struct writer *w, struct size s, int *value)
{
	s = resolve(w, s);
	*value = s.constant;
	for (int i = 0; i < w->nsymbols; i++)
		if (s.coefficient[i])
			return false;
	return true;
}

/* Makes s = 0 by a name that it has once; where there is none, nothing is known. */
static void
make_zero(struct writer *w, struct size s)
{
	s = resolve(w, s);
	for (int i = w->nsymbols - 1; i >= 0; i--) {
		const int factor = s.coefficient[i];
		if (factor != 1 && factor != -1)
			continue;
		s.coefficient[i] = 0;
		w->symbol[i].is = plus(constant(0), -factor, &s);
		w->symbol[i].bound = true;
		return;
	}
}

static void
make_equal(struct writer *w, const struct size *x, const struct size *y)
{
	if (w->solving)
		make_zero(w, plus(*x, -1, y));
}

static struct size
half(struct writer *w, struct size s)
{
	bool odd = false;

	s = resolve(w, s);
	odd = s.constant % 2;
	for (int i = 0; i < w->nsymbols; i++)
		odd = odd || s.coefficient[i] % 2;
	if (odd) {
		const int k = new_symbol(w);
		const struct size made = symbol(k);
		int rest;
		if (w->solving)
			make_zero(w, plus(s, -2, &made));
		if (!is_constant(w, plus(s, -2, &made), &rest) || rest)
			w->symbol[k] = (struct symbol){.is_half = true, .is = s};
		return made;
	}
	s.constant /= 2;
	for (int i = 0; i < w->nsymbols; i++)
		s.coefficient[i] /= 2;
	return s;
}

static const char *size_text(struct writer *w, struct size s);

/* The k-th of names of `letters` letters: a, b ... o, a1 ... */
static const char *
name_text(struct writer *w, char first, int letters, int k)
{
	const char letter = (char)(first + k % letters);

	return k < letters ? TEXT(w->scratch, "%c", letter)
			   : TEXT(w->scratch, "%c%d", letter, k / letters);
}

static const char *
symbol_text(struct writer *w, int i)
{
	struct symbol *s = &w->symbol[i];

	if (s->is_half)
		return TEXT(w->scratch, "(%s) / 2", size_text(w, s->is));
	if (!s->name)
		s->name = name_text(w, 'a', 'p' - 'a', w->nnames++);
	return s->name;
}

static const char *
size_text(struct writer *w, struct size s)
{
	char *text = text_copy(w->scratch, "");

	s = resolve(w, s);
	for (int i = 0; i < w->nsymbols; i++) {
		const int c = s.coefficient[i];
		if (!c)
			continue;
		text = text_append(text, "%s", c < 0 ? (*text ? " - " : "-") : *text ? " + " : "");
		if (abs(c) != 1)
			text = text_append(text, "%d * ", abs(c));
		text = text_append(text, "%s", symbol_text(w, i));
	}
	if (!*text)
		return text_append(text, "%d", s.constant);
	if (s.constant)
		text = text_append(text, s.constant < 0 ? " - %d" : " + %d", abs(s.constant));
	return text;
}

/* "[1,a,b]", with one more dim in front of dim `at`; at < 0: none. */
static const char *
shape_text(struct writer *w, const struct size *dim, int at, int more)
{
	char *text = text_copy(w->scratch, "[");

	for (int i = 0; i <= w->rank; i++) {
		if (i == at)
			text = text_append(text, "%s%d", i ? "," : "", more);
		if (i < w->rank)
			text = text_append(
				text, "%s%s", i || at == 0 ? "," : "", size_text(w, dim[i]));
	}
	return text_append(text, "]");
}

/* --- axes ---------------------------------------------------------------------------------------
 */

static int
find_axis(const struct writer *w, int a)
{
	while (w->same_axis[a] != a)
		a = w->same_axis[a];
	return a;
}

/* The partitions of two dims are the same ones. */
static void
join_axes(struct writer *w, const struct value *x, int dx, const struct value *y, int dy)
{
	for (int i = 0; i < x->naxes[dx] && i < y->naxes[dy]; i++) {
		const int a = find_axis(w, x->axis[dx][i]), b = find_axis(w, y->axis[dy][i]);
		w->same_axis[a > b ? a : b] = a > b ? b : a;
	}
}

static const char *
axis_text(struct writer *w, int a)
{
	a = find_axis(w, a);
	if (!w->axis_name[a])
		w->axis_name[a] = name_text(w, 'p', 11, w->naxis_names++);
	return w->axis_name[a];
}

/* --- ops ----------------------------------------------------------------------------------------
 */

static void line(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void
line(struct writer *w, const char *format, ...)
{
	va_list ap;

	if (!w->out)
		return;
	fputs("  %", w->out);
	va_start(ap, format);
	vfprintf(w->out, format, ap);
	va_end(ap);
	fputc('\n', w->out);
}

/* The next name of a value: they count the lines of a side. */
static const char *
next_name(struct writer *w)
{
	return TEXT(w->scratch, "t%d", w->nvalues++);
}

static void
name_value(struct writer *w, struct value *v)
{
	snprintf(v->name, sizeof v->name, "%s", next_name(w));
}

/* An op that neither moves elements nor knows sizes. */
static void
pointwise(struct writer *w, const char *op, struct value *const *in, int n, struct value *to)
{
	for (int d = 0; n > 1 && d < w->rank; d++) {
		make_equal(w, &in[0]->dim[d], &in[1]->dim[d]);
		join_axes(w, in[0], d, in[1], d);
	}
	*to = *in[0];
	name_value(w, to);
	to->rows_equal = in[0]->rows_equal && in[n - 1]->rows_equal;
	if (n > 1)
		line(w, "%s = %s(%%%s, %%%s)", to->name, op, in[0]->name, in[1]->name);
	else
		line(w, "%s = %s(%%%s)", to->name, op, in[0]->name);
}

static void
concat(struct writer *w, const struct foreign_op *op, struct value *const *in, struct value *to)
{
	const int dim = op->parameter[FOREIGN_PM_AXIS];
	char *list = text_copy(w->scratch, "");

	*to = *in[0];
	name_value(w, to);
	for (int i = 0; i < op->ninputs; i++) {
		list = text_append(list, "%s%%%s", i ? ", " : "", in[i]->name);
		for (int d = 0; i && d < w->rank; d++) {
			join_axes(w, in[0], d, in[i], d);
			if (d != dim)
				make_equal(w, &in[0]->dim[d], &in[i]->dim[d]);
		}
		to->rows_equal = to->rows_equal && in[i]->rows_equal && dim;
		if (!i)
			continue;
		to->joined[dim] = true;
		to->at[dim] = to->dim[dim];
		to->dim[dim] = plus(to->dim[dim], 1, &in[i]->dim[dim]);
	}
	line(w, "%s = concat(%s) {dim = %d}", to->name, list, dim);
}

static void
split(struct writer *w, const struct foreign_op *op, const struct value *x, struct value *to)
{
	const int dim = op->parameter[FOREIGN_PM_AXIS];

	for (int i = 0; i < 2; i++) {
		to[i] = *x;
		name_value(w, &to[i]);
		if (!x->joined[dim]) {
			to[i].dim[dim] = half(w, x->dim[dim]);
			line(w, "%s = split(%%%s) {parts = 2, index = %d, dim = %d}", to[i].name,
				x->name, i, dim);
		} else if (!i) {
			to[i].dim[dim] = x->at[dim];
			line(w, "%s = slice(%%%s) {start = [0], limit = [%s], dims = [%d]}",
				to[i].name, x->name, size_text(w, x->at[dim]), dim);
		} else {
			to[i].dim[dim] = plus(x->dim[dim], -1, &x->at[dim]);
			line(w, "%s = slice(%%%s) {start = [%s], limit = [%s], dims = [%d]}",
				to[i].name, x->name, size_text(w, x->at[dim]),
				size_text(w, x->dim[dim]), dim);
		}
	}
}

/* Dims of a product: those of one operand or the other, and where they were joined. */
static void
take_dim(struct value *to, int dim, const struct value *from, int of)
{
	to->dim[dim] = from->dim[of];
	to->joined[dim] = from->joined[of];
	to->at[dim] = from->at[of];
	to->naxes[dim] = from->naxes[of];
	to->degree[dim] = from->degree[of];
	memcpy(to->axis[dim], from->axis[of], sizeof to->axis[dim]);
}

/* A product, by its name, and the relu after it where the op has one. */
static void
finish_product(struct writer *w, const struct foreign_op *op, const char *product, struct value *to)
{
	snprintf(to->name, sizeof to->name, "%s", product);
	if (op->parameter[FOREIGN_PM_ACTI] != FOREIGN_WITH_RELU)
		return;
	name_value(w, to);
	line(w, "%s = relu(%%%s)", to->name, product);
}

static void
matmul(struct writer *w, const struct foreign_op *op, struct value *const *in, struct value *to)
{
	*to = *in[0];
	memset(to->joined, 0, sizeof to->joined);
	make_equal(w, &in[0]->dim[w->rank - 1], &in[1]->dim[w->rank - 2]);
	take_dim(to, w->rank - 2, in[0], w->rank - 2);
	take_dim(to, w->rank - 1, in[1], w->rank - 1);
	const char *product = next_name(w);
	line(w, "%s = matmul(%%%s, %%%s)", product, in[0]->name, in[1]->name);
	finish_product(w, op, product, to);
}

/* Images of the same size, so zeros around them; groups follow from the channels. */
static void
conv(struct writer *w, const struct foreign_op *op, struct value *const *in, struct value *to)
{
	const int k[2] = {op->parameter[FOREIGN_PM_KERNEL_H], op->parameter[FOREIGN_PM_KERNEL_W]};
	const char *groups = "";

	*to = *in[0];
	memset(to->joined, 0, sizeof to->joined);
	for (int i = 0; i < 2; i++) {
		const struct size size = constant(k[i]);
		make_equal(w, &in[1]->dim[2 + i], &size);
	}
	take_dim(to, 0, in[0], 0);
	take_dim(to, 1, in[1], 0);
	const char *c = size_text(w, in[0]->dim[1]), *f = size_text(w, in[1]->dim[1]);
	if (strcmp(c, f) != 0)
		groups = TEXT(w->scratch, ", groups = (%s) / (%s)", c, f);
	const char *product = next_name(w);
	line(w, "%s = conv2d(%%%s, %%%s) {low = [%d,%d], high = [%d,%d]%s}", product, in[0]->name,
		in[1]->name, (k[0] - 1) / 2, (k[1] - 1) / 2, k[0] / 2, k[1] / 2, groups);
	finish_product(w, op, product, to);
}

/* How many rows of an operand a linear layer reads. */
static int
linear_rows(const struct writer *w, const struct value *x, int needed)
{
	int n;

	if (!is_constant(w, x->dim[0], &n) || w->reading == FOREIGN_DOPT)
		return 0; /* all of them */
	if (w->reading == FOREIGN_LINEAR0)
		return 1;
	return n > 1 && n == x->degree[0] && n == needed && x->rows_equal ? 1 : n;
}

/* y[r,m,n] = sum(k) x[r,m,k] w[r,n,k], in which an operand may have one row instead of all. */
static void
linear(struct writer *w, const struct foreign_op *op, struct value *const *in, struct value *to)
{
	const int needed[2] = {in[1]->degree[1], in[0]->degree[1]};
	const char *name[2];
	int rows[2];

	*to = *in[0];
	memset(to->joined, 0, sizeof to->joined);
	make_equal(w, &in[0]->dim[2], &in[1]->dim[2]);
	for (int i = 0; i < 2; i++) {
		int n = 0;
		rows[i] = linear_rows(w, in[i], needed[i]);
		name[i] = in[i]->name;
		if (rows[i] == 1 && !(is_constant(w, in[i]->dim[0], &n) && n == 1)) {
			name[i] = next_name(w);
			line(w, "%s = slice(%%%s) {start = [0], limit = [1], dims = [0]}", name[i],
				in[i]->name);
		}
	}
	const bool one[2] = {rows[0] == 1 && rows[1] != 1, rows[1] == 1 && rows[0] != 1};
	join_axes(w, in[0], 0, in[1], 1);
	join_axes(w, in[1], 0, in[0], 1);
	join_axes(w, in[0], 2, in[1], 2);
	take_dim(to, 0, in[0], 2);
	take_dim(to, 1, in[0], 1);
	take_dim(to, 2, in[1], 1);
	to->joined[0] = false;
	to->dim[0] = rows[0] == 1 && rows[1] == 1 ? constant(1) : in[one[0] ? 1 : 0]->dim[0];
	to->rows_equal = in[0]->rows_equal && in[1]->rows_equal;
	const char *product = next_name(w);
	line(w, "%s = contract(%%%s, %%%s) {spec = \"%smk,%snk->rmn\"}", product, name[0], name[1],
		one[0] ? "s" : "r", one[1] ? "s" : "r");
	finish_product(w, op, product, to);
}

/* Each index of a dim twice. */
static void
repeat(struct writer *w, const struct value *x, int dim, struct value *to)
{
	char *dims = text_copy(w->scratch, "");

	for (int d = 0; d < w->rank; d++)
		dims = text_append(dims, "%s%d", d ? "," : "", d > dim ? d + 1 : d);
	const char *twice = next_name(w);
	line(w, "%s = broadcast(%%%s) {shape = %s, dims = [%s]}", twice, x->name,
		shape_text(w, x->dim, dim + 1, 2), dims);
	to->dim[dim] = plus(x->dim[dim], 1, &x->dim[dim]);
	to->joined[dim] = false;
	name_value(w, to);
	line(w, "%s = reshape(%%%s) {shape = %s}", to->name, twice, shape_text(w, to->dim, -1, 0));
}

/* Neighbours along a dim added. */
static void
add_neighbours(struct writer *w, const struct value *x, int dim, struct value *to)
{
	to->dim[dim] = half(w, x->dim[dim]);
	if (to->joined[dim])
		to->at[dim] = half(w, to->at[dim]);
	const char *pairs = next_name(w);
	line(w, "%s = reshape(%%%s) {shape = %s}", pairs, x->name,
		shape_text(w, to->dim, dim + 1, 2));
	name_value(w, to);
	line(w, "%s = sum(%%%s) {dims = [%d]}", to->name, pairs, dim + 1);
}

static void
parallel(struct writer *w, const struct foreign_op *op, int id, const struct value *x,
	struct value *to)
{
	const int dim = op->parameter[FOREIGN_PM_PARALLEL_DIM];
	const bool more = op->code == FOREIGN_PARTITION || op->code == FOREIGN_REPLICATE;
	int axis = id;

	*to = *x;
	if (more && to->naxes[dim] < MAX_DEGREE)
		to->axis[dim][to->naxes[dim]++] = axis;
	else if (!more && to->naxes[dim])
		axis = to->axis[dim][--to->naxes[dim]];
	to->degree[dim] = more ? 2 * x->degree[dim] : (x->degree[dim] + 1) / 2;
	if (w->reading == FOREIGN_DOPT) {
		static const char *const name[] = {"partition", "combine", "replicate", "reduce"};
		const char *word = name[op->code - FOREIGN_PARTITION];
		char attr[32] = "";
		if (op->code == FOREIGN_PARTITION)
			snprintf(attr, sizeof attr, "dim = %d, ", dim);
		name_value(w, to);
		if (w->out)
			line(w, "%s = %s(%%%s) {%saxis = %s}", to->name, word, x->name, attr,
				axis_text(w, axis));
	} else if (op->code == FOREIGN_REPLICATE) {
		repeat(w, x, dim, to);
	} else if (op->code == FOREIGN_REDUCE) {
		add_neighbours(w, x, dim, to);
	} /* else the same tensor */
}

static struct value *
tensor(struct writer *w, int side, struct foreign_tensor t)
{
	if (t.op >= 0)
		return &w->value[side][t.op][t.result];
	for (int i = 0; i < w->ninputs; i++)
		if (w->input_id[i] == t.op)
			return &w->input[i];
	return NULL;
}

static void
write_op(struct writer *w, int side, int k)
{
	const struct foreign_op *op = &w->rule->side[side].at[k];
	struct value *in[FOREIGN_MAX_INPUTS], *to = w->value[side][k];

	for (int i = 0; i < op->ninputs; i++)
		in[i] = tensor(w, side, op->input[i]);
	switch ((enum foreign_op_code)op->code) {
	case FOREIGN_RELU: pointwise(w, "relu", in, 1, to); break;
	case FOREIGN_EW_ADD: pointwise(w, "add", in, 2, to); break;
	case FOREIGN_EW_MUL: pointwise(w, "mul", in, 2, to); break;
	case FOREIGN_CONCAT: concat(w, op, in, to); break;
	case FOREIGN_SPLIT: split(w, op, in[0], to); break;
	case FOREIGN_MATMUL: matmul(w, op, in, to); break;
	case FOREIGN_CONV2D: conv(w, op, in, to); break;
	case FOREIGN_LINEAR: linear(w, op, in, to); break;
	default: parallel(w, op, side * FOREIGN_MAX_OPS + k, in[0], to);
	}
}

static void
write_ops(struct writer *w, int side)
{
	w->nvalues = 0;
	for (int k = 0; k < (int)w->rule->side[side].n; k++)
		write_op(w, side, k);
}

/* --- a rule -------------------------------------------------------------------------------------
 */

static void
see_input(struct writer *w, int id)
{
	int at = w->ninputs;

	while (at && w->input_id[at - 1] < id)
		at--;
	if (id >= 0 || (at && w->input_id[at - 1] == id))
		return;
	memmove(&w->input_id[at + 1], &w->input_id[at],
		sizeof *w->input_id * (size_t)(w->ninputs - at));
	w->input_id[at] = id;
	w->ninputs++;
}

static void
create_inputs(struct writer *w)
{
	for (int side = 0; side < 2; side++) {
		for (int64_t k = 0; k < w->rule->side[side].n; k++)
			for (int i = 0; i < w->rule->side[side].at[k].ninputs; i++)
				see_input(w, w->rule->side[side].at[k].input[i].op);
		for (int64_t k = 0; k < w->rule->output.n; k++)
			see_input(w, w->rule->output.at[k].side[side].op);
	}
	for (int i = 0; i < w->ninputs; i++) {
		struct value *v = &w->input[i];
		*v = (struct value){.rows_equal = true};
		snprintf(v->name, sizeof v->name, "x%d", -w->input_id[i]);
		for (int d = 0; d < w->rank; d++) {
			/* dim 0 of FlexFlow's is that of replicas */
			v->dim[d] = w->rank == 3 && !d ? constant(1) : symbol(new_symbol(w));
			v->degree[d] = 1;
		}
	}
}

static void
write_return(struct writer *w, int side)
{
	fputs("  return(", w->out);
	for (int64_t i = 0; i < w->rule->output.n; i++)
		fprintf(w->out, "%s%%%s", i ? ", " : "",
			tensor(w, side, w->rule->output.at[i].side[side])->name);
	fputs(")\n", w->out);
}

static void
work_out(struct writer *w)
{
	w->solving = true;
	for (int i = 0; i < 2; i++)
		write_ops(w, RULE_LEFT);
	w->solving = false;
	write_ops(w, RULE_RIGHT);
	for (int64_t i = 0; i < w->rule->output.n; i++)
		for (int d = 0; d < w->rank; d++)
			join_axes(w, tensor(w, RULE_LEFT, w->rule->output.at[i].side[RULE_LEFT]), d,
				tensor(w, RULE_RIGHT, w->rule->output.at[i].side[RULE_RIGHT]), d);
}

void
foreign_write_text(FILE *out, const struct foreign_rule *r, enum foreign_reading reading)
{
	struct writer *w = NEW(NULL, struct writer);

	w->rule = r;
	w->reading = reading;
	w->rank = foreign_rank(r);
	w->scratch = alloc_scratch(w);
	for (int i = 0; i < 2 * FOREIGN_MAX_OPS; i++)
		w->same_axis[i] = i;
	create_inputs(w);
	work_out(w);
	for (int i = 0; i < w->nsymbols; i++) /* names in the order of the text */
		w->symbol[i].name = NULL;
	w->nnames = 0;
	w->out = out;
	fprintf(out, "rule @%s(", r->name);
	for (int i = 0; i < w->ninputs; i++)
		fprintf(out, "%s%%%s : F%s", i ? ", " : "", w->input[i].name,
			w->rank ? shape_text(w, w->input[i].dim, -1, 0) : "[..]");
	fputs(") {\n", out);
	write_ops(w, RULE_LEFT);
	write_return(w, RULE_LEFT);
	fputs("} => {\n", out);
	write_ops(w, RULE_RIGHT);
	write_return(w, RULE_RIGHT);
	fputs("}\n", out);
	talloc_free(w);
}
