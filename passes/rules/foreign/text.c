/*
 * Rules of FlexFlow and TASO as text. Sizes are linear in names: a concat adds two, a replicate
 * doubles one. The requirements of the left side's ops on sizes are solved for a name (a = 2 b; c =
 * a); those of the right side are left for a proof to find.
 *
 * A split undoes a concat at the index where it joined its operands, so each tensor records that
 * index.
 */
#include "passes/rules/foreign/foreign.h"

#include "ir/base/sets.h"
#include "passes/rules/foreign/sizes.h"

#include <string.h>
#include <talloc.h>

enum {
	MAX_INPUTS = FOREIGN_MAX_USES + 1,
	MAX_DEGREE = 8, /* most axes that split a dim */
};

struct value {
	char name[16];
	struct size dim[FOREIGN_MAX_RANK];
	bool joined[FOREIGN_MAX_RANK]; /* joined by a concat at this index: */
	struct size at[FOREIGN_MAX_RANK];
	/* Degree and axes of a parallelization; are all rows of dim 0 equal? */
	int degree[FOREIGN_MAX_RANK], naxes[FOREIGN_MAX_RANK];
	int axis[FOREIGN_MAX_RANK][MAX_DEGREE];
	bool rows_equal;
};

struct writer {
	const struct foreign_rule *rule;
	enum foreign_reading reading;
	int rank;
	FILE *out; /* NULL: only sizes and axes are computed */
	struct sizes sizes;
	int naxis_names, nvalues;
	int input_id[MAX_INPUTS], ninputs;
	struct value input[MAX_INPUTS];
	struct value value[2][FOREIGN_MAX_OPS][2];
	uint32_t same_axis[2 * FOREIGN_MAX_OPS]; /* sets of the axes of parallelization ops */
	const char *axis_name[2 * FOREIGN_MAX_OPS];
};

/* --- axes ---------------------------------------------------------------------------------------
 */

/* The partitions of both dims are over the same axes. */
static void
join_axes(struct writer *w, const struct value *x, int dx, const struct value *y, int dy)
{
	for (int i = 0; i < x->naxes[dx] && i < y->naxes[dy]; i++)
		sets_join(w->same_axis, (uint32_t)x->axis[dx][i], (uint32_t)y->axis[dy][i]);
}

static const char *
axis_text(struct writer *w, int a)
{
	const uint32_t set = sets_root(w->same_axis, (uint32_t)a);

	if (!w->axis_name[set])
		w->axis_name[set] = sizes_name(&w->sizes, 'p', 11, w->naxis_names++);
	return w->axis_name[set];
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

/* The next name of a value, numbered by the lines of a side. */
static const char *
next_name(struct writer *w)
{
	return TEXT(w->sizes.scratch, "t%d", w->nvalues++);
}

static void
name_value(struct writer *w, struct value *v)
{
	snprintf(v->name, sizeof v->name, "%s", next_name(w));
}

/* An op that neither moves elements nor changes sizes. */
static void
pointwise(struct writer *w, const char *op, struct value *const *in, int n, struct value *to)
{
	for (int d = 0; n > 1 && d < w->rank; d++) {
		sizes_equate(&w->sizes, &in[0]->dim[d], &in[1]->dim[d]);
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
	char *list = text_copy(w->sizes.scratch, "");

	*to = *in[0];
	name_value(w, to);
	for (int i = 0; i < op->ninputs; i++) {
		list = text_append(list, "%s%%%s", i ? ", " : "", in[i]->name);
		for (int d = 0; i && d < w->rank; d++) {
			join_axes(w, in[0], d, in[i], d);
			if (d != dim)
				sizes_equate(&w->sizes, &in[0]->dim[d], &in[i]->dim[d]);
		}
		to->rows_equal = to->rows_equal && in[i]->rows_equal && dim;
		if (!i)
			continue;
		to->joined[dim] = true;
		to->at[dim] = to->dim[dim];
		to->dim[dim] = size_plus(to->dim[dim], 1, &in[i]->dim[dim]);
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
			to[i].dim[dim] = sizes_half(&w->sizes, x->dim[dim]);
			line(w, "%s = split(%%%s) {parts = 2, index = %d, dim = %d}", to[i].name,
				x->name, i, dim);
		} else if (!i) {
			to[i].dim[dim] = x->at[dim];
			line(w, "%s = slice(%%%s) {start = [0], limit = [%s], dims = [%d]}",
				to[i].name, x->name, sizes_text(&w->sizes, x->at[dim]), dim);
		} else {
			to[i].dim[dim] = size_plus(x->dim[dim], -1, &x->at[dim]);
			line(w, "%s = slice(%%%s) {start = [%s], limit = [%s], dims = [%d]}",
				to[i].name, x->name, sizes_text(&w->sizes, x->at[dim]),
				sizes_text(&w->sizes, x->dim[dim]), dim);
		}
	}
}

/* Dims of a product: from one operand or the other, including where they were joined. */
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

/* Writes a product with the given name, and the relu after it if the op has one. */
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
	sizes_equate(&w->sizes, &in[0]->dim[w->rank - 1], &in[1]->dim[w->rank - 2]);
	take_dim(to, w->rank - 2, in[0], w->rank - 2);
	take_dim(to, w->rank - 1, in[1], w->rank - 1);
	const char *product = next_name(w);
	line(w, "%s = matmul(%%%s, %%%s)", product, in[0]->name, in[1]->name);
	finish_product(w, op, product, to);
}

/* The result has the size of the image, so there is a border of zeros; groups follow from the
 * channels. */
static void
conv(struct writer *w, const struct foreign_op *op, struct value *const *in, struct value *to)
{
	const int k[2] = {op->parameter[FOREIGN_PM_KERNEL_H], op->parameter[FOREIGN_PM_KERNEL_W]};
	const char *groups = "";

	*to = *in[0];
	memset(to->joined, 0, sizeof to->joined);
	for (int i = 0; i < 2; i++) {
		const struct size size = size_constant(k[i]);
		sizes_equate(&w->sizes, &in[1]->dim[2 + i], &size);
	}
	take_dim(to, 0, in[0], 0);
	take_dim(to, 1, in[1], 0);
	const char *c = sizes_text(&w->sizes, in[0]->dim[1]),
		   *f = sizes_text(&w->sizes, in[1]->dim[1]);
	if (strcmp(c, f) != 0)
		groups = TEXT(w->sizes.scratch, ", groups = (%s) / (%s)", c, f);
	const char *product = next_name(w);
	line(w, "%s = conv2d(%%%s, %%%s) {low = [%d,%d], high = [%d,%d]%s}", product, in[0]->name,
		in[1]->name, (k[0] - 1) / 2, (k[1] - 1) / 2, k[0] / 2, k[1] / 2, groups);
	finish_product(w, op, product, to);
}

/* The number of rows of an operand that a linear layer reads. */
static int
linear_rows(const struct writer *w, const struct value *x, int needed)
{
	int n;

	if (!sizes_constant(&w->sizes, x->dim[0], &n) || w->reading == FOREIGN_DOPT)
		return 0; /* all of them */
	if (w->reading == FOREIGN_LINEAR0)
		return 1;
	return n > 1 && n == x->degree[0] && n == needed && x->rows_equal ? 1 : n;
}

/* y[r,m,n] = sum(k) x[r,m,k] w[r,n,k]; an operand may have one row for all r. */
static void
linear(struct writer *w, const struct foreign_op *op, struct value *const *in, struct value *to)
{
	const int needed[2] = {in[1]->degree[1], in[0]->degree[1]};
	const char *name[2];
	int rows[2];

	*to = *in[0];
	memset(to->joined, 0, sizeof to->joined);
	sizes_equate(&w->sizes, &in[0]->dim[2], &in[1]->dim[2]);
	for (int i = 0; i < 2; i++) {
		int n = 0;
		rows[i] = linear_rows(w, in[i], needed[i]);
		name[i] = in[i]->name;
		if (rows[i] == 1 && !(sizes_constant(&w->sizes, in[i]->dim[0], &n) && n == 1)) {
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
	to->dim[0] = rows[0] == 1 && rows[1] == 1 ? size_constant(1) : in[one[0] ? 1 : 0]->dim[0];
	to->rows_equal = in[0]->rows_equal && in[1]->rows_equal;
	const char *product = next_name(w);
	line(w, "%s = contract(%%%s, %%%s) {spec = \"%smk,%snk->rmn\"}", product, name[0], name[1],
		one[0] ? "s" : "r", one[1] ? "s" : "r");
	finish_product(w, op, product, to);
}

/* Repeats each index of a dim twice. */
static void
repeat(struct writer *w, const struct value *x, int dim, struct value *to)
{
	char *dims = text_copy(w->sizes.scratch, "");

	for (int d = 0; d < w->rank; d++)
		dims = text_append(dims, "%s%d", d ? "," : "", d > dim ? d + 1 : d);
	const char *twice = next_name(w);
	line(w, "%s = broadcast(%%%s) {shape = %s, dims = [%s]}", twice, x->name,
		sizes_shape(&w->sizes, w->rank, x->dim, dim + 1, 2), dims);
	to->dim[dim] = size_plus(x->dim[dim], 1, &x->dim[dim]);
	to->joined[dim] = false;
	name_value(w, to);
	line(w, "%s = reshape(%%%s) {shape = %s}", to->name, twice,
		sizes_shape(&w->sizes, w->rank, to->dim, -1, 0));
}

/* Adds neighbours along a dim. */
static void
add_neighbours(struct writer *w, const struct value *x, int dim, struct value *to)
{
	to->dim[dim] = sizes_half(&w->sizes, x->dim[dim]);
	if (to->joined[dim])
		to->at[dim] = sizes_half(&w->sizes, to->at[dim]);
	const char *pairs = next_name(w);
	line(w, "%s = reshape(%%%s) {shape = %s}", pairs, x->name,
		sizes_shape(&w->sizes, w->rank, to->dim, dim + 1, 2));
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
			/* dim 0 of FlexFlow's rules is the dim of replicas */
			v->dim[d] = w->rank == 3 && !d ? size_constant(1) : sizes_symbol(&w->sizes);
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
	w->sizes.solving = true;
	for (int i = 0; i < 2; i++)
		write_ops(w, RULE_LEFT);
	w->sizes.solving = false;
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
	w->sizes.scratch = alloc_scratch(w);
	for (int i = 0; i < 2 * FOREIGN_MAX_OPS; i++)
		w->same_axis[i] = i;
	create_inputs(w);
	work_out(w);
	sizes_name_anew(&w->sizes); /* in the order of the text */
	w->out = out;
	fprintf(out, "rule @%s(", r->name);
	for (int i = 0; i < w->ninputs; i++)
		fprintf(out, "%s%%%s : F%s", i ? ", " : "", w->input[i].name,
			w->rank ? sizes_shape(&w->sizes, w->rank, w->input[i].dim, -1, 0) : "[..]");
	fputs(") {\n", out);
	write_ops(w, RULE_LEFT);
	write_return(w, RULE_LEFT);
	fputs("} => {\n", out);
	write_ops(w, RULE_RIGHT);
	write_return(w, RULE_RIGHT);
	fputs("}\n", out);
	talloc_free(w);
}
