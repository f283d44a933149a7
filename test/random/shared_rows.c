/*
 * Random programs: ops according to their rows in the table. Operands and attributes are guessed by
 * their types and names, and inference refuses those that do not fit; a new row needs nothing here
 * unless guesses of its kind never fit. See generate.h.
 */
#include "test/random/generate.h"
#include "ir/ops/form.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

static bool
is_float(const struct ir_value *v)
{
	return ir_dtype_class((enum ir_dtype)v->type->dtype) == IR_FLOAT;
}

/* No element may exceed this: a sum of such f64 keeps ten digits, of f32 five. */
static double
largest(const struct gen *g, const struct ir_value *v)
{
	return g->program && is_float(v) ? 100 : 1e6;
}

/* --- operands in a range ------------------------------------------------------------------------
 */

static struct pooled
constant_like(struct gen *g, const struct ir_value *v, double x)
{
	return (struct pooled){
		ir_build_scalar(&g->b, (enum ir_dtype)v->type->dtype, x), x, x, true};
}

/* The value of a scalar function of p: NULL if inference does not accept it. */
static struct pooled
mapped(struct gen *g, enum op_code code, struct pooled p, const double *with, double low,
	double high)
{
	struct ir_value *v[2] = {p.v, NULL};
	if (p.v && with)
		v[1] = constant_like(g, p.v, *with).v;
	return (struct pooled){gen_build(g, code, with ? 2 : 1, v, 0, NULL), high, low, p.exact};
}

struct pooled
gen_in_range(struct gen *g, struct pooled p, enum gen_range range)
{
	static const double half = 0.5, above = 1.5;
	if (!is_float(p.v) || range == GEN_ANY)
		return p;
	if (p.bound > 1 || p.low > 0)
		p = mapped(g, OP_tanh, p, NULL, 0, 1);
	if (range == GEN_HALF)
		return mapped(g, OP_mul, p, &half, 0, 0.5);
	if (range == GEN_UNIT)
		return p;
	p = mapped(g, OP_exp, p, NULL, 0.36, 2.72);
	return range == GEN_ABOVE ? mapped(g, OP_add, p, &above, 1.86, 4.22) : p;
}

/* --- results ------------------------------------------------------------------------------------
 */

static bool
all_exact(const struct pooled *in, int n)
{
	for (int i = 0; i < n; i++)
		if (!in[i].exact)
			return false;
	return true;
}

/* May the op have steps? On partial values inference must refuse it anyway. */
static bool
may_step(const struct gen *g, const struct pooled *in, int n)
{
	for (int i = 0; i < n; i++)
		if (gen_is_partial(g, in[i].v))
			return true;
	return all_exact(in, n);
}

/* Is an element of an operand in the expression? */
static bool
has_operand(const struct pattern *p, const struct term *e)
{
	for (int j = 0; j < p->ninputs && e->kind == TERM_NAME; j++)
		if (e->name == p->name[j])
			return true;
	for (int i = 0; i < e->nargs; i++)
		if (has_operand(p, e->arg[i]))
			return true;
	return false;
}

/* Are elements compared in any part of it? */
static bool
compares(const struct pattern *p, const struct term *e)
{
	static const enum scalar_fn list[] = {FN_eq, FN_ne, FN_lt, FN_le, FN_gt, FN_ge};
	for (size_t i = 0; i < sizeof list / sizeof *list && e->kind == TERM_CALL; i++)
		if (e->fn == (int)list[i] && has_operand(p, e))
			return true;
	for (int i = 0; i < e->nargs; i++)
		if (compares(p, e->arg[i]))
			return true;
	return false;
}

/* Does it turn floats into integers or bools, or jump otherwise? */
static bool
has_steps(const struct gen *g, const struct ir_op *op)
{
	const struct ir_row *row = &g->ctx->row[op->code];
	bool floats = false, others = g->table->domain[op->code].steps;
	if (!gen_is_pointwise(row) && row->pattern)
		others = others || compares(row->pattern, row->pattern->body);
	for (int j = 0; j < op->noperands; j++)
		floats = floats || is_float(ir_operand((struct ir_op *)op, j));
	for (int r = 0; r < op->nresults; r++)
		others = others || !is_float(&op->result[r]);
	return floats && others;
}

static bool
bends(const struct gen *g, const struct ir_op *op)
{
	return gen_is_pointwise(&g->ctx->row[op->code]) ? g->table->domain[op->code].bends
							: gen_has_kink(g->ctx, op);
}

/* Sums round: if a float is summed over an axis, its bits depend on the layout. */
static bool
sums(struct gen *g, const struct ir_value *r)
{
	if (!is_float(r))
		return false;
	if (gen_is_partial(g, r))
		return true;
	const struct pattern *p = g->ctx->row[r->op->code].pattern;
	return !p ||
	       (p->reduce != REDUCE_NONE && p->reduce != REDUCE_MAX && p->reduce != REDUCE_MIN);
}

void
gen_finish(struct gen *g, struct ir_value *r, const struct pooled *in)
{
	if (!r)
		return;
	struct ir_op *op = r->op;
	const int n = op->noperands;
	const bool exact = all_exact(in, n);
	const double bound = gen_measure(g->ctx, op, in);
	if (!(bound <= largest(g, r)) || (has_steps(g, op) && !may_step(g, in, n)) ||
		(g->smooth && !exact && is_float(r) && bends(g, op))) {
		ir_op_erase(op);
		return;
	}
	for (int i = 0; i < op->nresults; i++)
		gen_add(g, (struct pooled){&op->result[i], bound, 0,
				   exact && !sums(g, &op->result[i]) &&
					   !(g->program && is_float(&op->result[i]))});
}

/* --- pointwise ops ------------------------------------------------------------------------------
 */

static bool
only_dots(const struct pattern_side *s)
{
	return s->nitems == 1 && s->item[0].name == '.' && !s->item[0].how && !s->item[0].at &&
	       !s->item[0].size;
}

bool
gen_is_pointwise(const struct ir_row *row)
{
	if (!row->pattern || (row->traits & TRAIT_PARALLEL) || row->noperands < 1 ||
		row->pattern->reduce || strchr(row->operand_types, 'I') ||
		strcmp(row->result_type, "to") == 0)
		return false;
	for (int j = 0; j < row->noperands; j++)
		if (!only_dots(&row->pattern->in[j]))
			return false;
	return only_dots(&row->pattern->out);
}

/* A shape that broadcasts with another: without some leading dims, some dims 1. */
static int
broadcasting_shape(struct gen *g, const struct ir_type *t, int64_t *dim)
{
	const int skip = gen_chance(g, 25) ? gen_below(g, t->rank + 1) : 0;
	for (int d = skip; d < t->rank; d++)
		dim[d - skip] = gen_chance(g, 10) ? 1 : t->dim[d];
	return t->rank - skip;
}

/* Another operand for a pointwise op: a pooled value of a shape that may fit, or a new source. */
static struct pooled
partner(struct gen *g, char letter, const struct ir_value *first)
{
	const int from = g->npool ? gen_below(g, g->npool) : 0, how = gen_below(g, 100);
	for (int i = 0; i < g->npool && how < 70 && letter != 'b'; i++) {
		const struct pooled p = g->pool[(from + i) % g->npool];
		if (how < 50 ? p.v->type == first->type
			     : p.v->type->dtype == first->type->dtype &&
					p.v->type->rank == first->type->rank)
			return p;
	}
	int64_t dim[IR_MAX_RANK];
	int of[IR_MAX_RANK];
	const int rank = broadcasting_shape(g, first->type, dim);
	for (int d = 0; d < rank; d++)
		of[d] = d + first->type->rank - rank;
	if (letter == 'b')
		return gen_source(g, IR_bool, rank, dim);
	if (first->type->dtype == IR_bool && strchr("NF", letter))
		return gen_source(g, IR_f32, rank, dim);
	return gen_matching(g, rank, dim, first->type, of);
}

/*
 * The first operand with the same letter has the same type: select's third operand has the type of
 * the second, not of the condition.
 */
static const struct ir_value *
model_of(const struct ir_row *row, const struct pooled *in, int j)
{
	for (int k = 0; k < j; k++)
		if (row->operand_types[k] == row->operand_types[j])
			return in[k].v;
	return in[j - 1].v;
}

/* Does its gradient differ from its slope? Finite differences see the slope. */
static bool
passes_through(enum op_code code)
{
	return code == OP_reduce_precision;
}

/* A constant of the type of `model` without its layout: ops with only such operands are folded. */
static struct pooled
folded_like(struct gen *g, const struct ir_value *model)
{
	const struct ir_type *t = model->type;
	const int rank = gen_chance(g, 50) ? 0 : t->rank;

	return gen_constant(g, (enum ir_dtype)t->dtype, rank, t->dim);
}

void
gen_pointwise(struct gen *g, enum op_code code)
{
	const struct ir_row *row = &g->ctx->row[code];
	const struct gen_domain *domain = &g->table->domain[code];
	struct pooled in[ROW_MAX_OPERANDS];
	struct ir_value *v[ROW_MAX_OPERANDS];
	struct ir_attr attr[ROW_MAX_ATTRS];
	if (!domain->defined || (g->smooth && passes_through(code)))
		return;
	const bool fold = gen_chance(g, 12);
	for (int j = 0; j < row->noperands; j++) {
		const char letter = row->operand_types[j];
		const struct ir_value *model = j ? model_of(row, in, j) : NULL;
		if (!model)
			in[j] = gen_operand(g, letter);
		if (fold)
			in[j] = folded_like(g, model ? model : in[j].v);
		else if (model)
			in[j] = partner(g, letter, model);
		in[j] = gen_in_range(g, in[j], domain->range[j]);
		if (!(v[j] = in[j].v))
			return;
	}
	const int nattrs = gen_attrs(g, row, v[0]->type, attr);
	if (nattrs >= 0)
		gen_finish(g, gen_build(g, code, row->noperands, v, nattrs, attr), in);
}

/* --- attributes ---------------------------------------------------------------------------------
 */

static bool
is_key(const struct row_attr *a, const char *key)
{
	return strcmp(a->key, key) == 0;
}

static bool
has_attr(const struct ir_row *row, const char *key)
{
	return row_attr_find(row, key);
}

/* A dim of the operand, at times counted from the end. */
static int64_t
random_dim(struct gen *g, const struct ir_type *t)
{
	if (!t || !t->rank)
		return 0;
	const int d = gen_below(g, t->rank);
	return gen_chance(g, 25) ? d - t->rank : d;
}

static int64_t
random_int(struct gen *g, const struct row_attr *a, const struct ir_type *t)
{
	if (is_key(a, "dim") || is_key(a, "axis"))
		return random_dim(g, t);
	if (is_key(a, "height") || is_key(a, "width"))
		return 1 + gen_below(g, 6);
	if (is_key(a, "groups") && gen_chance(g, 70))
		return 1; /* others divide few numbers of channels */
	if (is_key(a, "size") || is_key(a, "k") || is_key(a, "parts") || is_key(a, "groups"))
		return 1 + gen_below(g, 4);
	return gen_below(g, 4);
}

/* Lists of one op are about the same dims. */
struct dims {
	int n;
	int64_t dim[IR_MAX_RANK];
};

/* Windows and strides of images are about the last two dims. */
static bool
is_spatial(const struct ir_row *row)
{
	return has_attr(row, "stride") || has_attr(row, "window");
}

static struct dims
random_dims(struct gen *g, const struct ir_row *row, const struct ir_type *t)
{
	struct dims s = {0};
	const int rank = t ? t->rank : 0;
	for (int d = is_spatial(row) && rank > 2 ? rank - 2 : 0; d < rank; d++)
		if (is_spatial(row) || gen_chance(g, 60))
			s.dim[s.n++] = d;
	return s;
}

static int64_t
random_item(struct gen *g, const struct row_attr *a, const struct ir_type *t, int64_t dim)
{
	const int size = t && dim < t->rank ? (int)t->dim[dim] : 1;
	if (is_key(a, "limit"))
		return gen_chance(g, 60) ? size : 1 + gen_below(g, size);
	if (is_key(a, "start"))
		return gen_chance(g, 50) ? 0 : gen_below(g, size);
	if (is_key(a, "low") || is_key(a, "high"))
		return gen_below(g, 4) - 1;
	if (is_key(a, "interior"))
		return gen_chance(g, 60) ? 0 : gen_below(g, 3);
	return 1 + gen_below(g, 3); /* step, stride, dilation, window */
}

static struct ir_attr
random_list(struct gen *g, const struct row_attr *a, const struct ir_type *t, const struct dims *s)
{
	int64_t v[IR_MAX_RANK];
	int n = s->n;
	if (is_key(a, "perm")) {
		n = t ? t->rank : 0;
		for (int d = 0; d < n; d++) {
			const int at = gen_below(g, d + 1);
			v[d] = v[at];
			v[at] = d;
		}
		return ir_make_ints(g->m, a->key, v, n);
	}
	for (int i = 0; i < n; i++)
		v[i] = is_key(a, "dims") ? s->dim[i] - (gen_chance(g, 20) ? t->rank : 0)
					 : random_item(g, a, t, s->dim[i]);
	return ir_make_ints(g->m, a->key, v, n);
}

static double
random_float(struct gen *g)
{
	/* quarters: gen_probe looks for bends there */
	static const double list[] = {-0.5, 0.25, 0.5, 1, 1, 2};
	return list[gen_below(g, 6)];
}

/* Floats named low and high are in this order. */
static double
random_bound(struct gen *g, const struct row_attr *a)
{
	const double x = random_float(g);
	return is_key(a, "low") ? -1 - fabs(x) : is_key(a, "high") ? fabs(x) : x;
}

static struct ir_attr
random_sizes(struct gen *g, const struct row_attr *a)
{
	const int64_t v[] = {2 + gen_below(g, 5), 2 + gen_below(g, 3)};
	return ir_make_ints(g->m, a->key, v, gen_chance(g, 70) ? 1 : 2);
}

/* How a scatter_nd combines values for one position. */
static const char *
random_word(struct gen *g)
{
	static const char *const list[] = {"add", "max", "min", "mul"};
	return list[gen_below(g, 4)];
}

int
gen_attrs(struct gen *g, const struct ir_row *row, const struct ir_type *t,
	struct ir_attr attr[ROW_MAX_ATTRS])
{
	struct dims s = random_dims(g, row, t);
	const bool all = !has_attr(row, "dims") || !s.n || gen_chance(g, 20);
	int n = 0;
	if (all && !is_spatial(row)) {
		s.n = t ? t->rank : 0;
		for (int d = 0; d < s.n; d++)
			s.dim[d] = d;
	}
	for (int i = 0; i < row->nattrs; i++) {
		const struct row_attr *a = &row->attr[i];
		const bool dims = is_key(a, "dims");
		/* lists of fewer dims make no sense without them */
		if (dims ? all : (a->optional || a->has_default) && gen_chance(g, 40))
			continue;
		switch (a->type) {
		case ROW_INT: attr[n] = ir_make_int(g->ctx, a->key, random_int(g, a, t)); break;
		case ROW_FLOAT: attr[n] = ir_make_float(g->ctx, a->key, random_bound(g, a)); break;
		case ROW_SCALAR: attr[n] = ir_make_int(g->ctx, a->key, gen_below(g, 3)); break;
		case ROW_BOOL: attr[n] = ir_make_bool(g->ctx, a->key, gen_chance(g, 70)); break;
		case ROW_DTYPE:
			attr[n] = ir_make_dtype(g->ctx, a->key,
				gen_chance(g, 60) ? IR_f32
						  : (enum ir_dtype)gen_below(g, IR_NDTYPES));
			break;
		case ROW_INTS: attr[n] = random_list(g, a, t, &s); break;
		case ROW_SIZES: attr[n] = random_sizes(g, a); break;
		case ROW_STRING:
			if (!is_key(a, "how"))
				continue;
			attr[n] = ir_make_string(g->ctx, a->key, random_word(g));
			break;
		default:
			if (!a->optional && !a->has_default)
				return -1;
			continue;
		}
		n++;
	}
	return n;
}

/* --- ops of any shape ---------------------------------------------------------------------------
 */

enum { MOST_VARIADIC = 4 };

/* --- operands whose shapes the notation gives */

/* The item that stands for any number of dims; -1: none. */
static int
group_of(const struct pattern_side *s)
{
	for (int i = 0; i < s->nitems; i++)
		if (s->item[i].name == '.' || s->item[i].name == '*')
			return i;
	return -1;
}

/* The dim that item i of an operand of that rank is, or begins with. */
static int
dim_of_item(const struct pattern_side *s, int rank, int i)
{
	const int group = group_of(s);
	return group >= 0 && i > group ? rank - (s->nitems - i) : i;
}

/* The size of an index in the operands before j; 0: it is in none. */
static int64_t
bound_size(const struct pattern *p, const struct pooled *in, int j, char letter)
{
	for (int k = 0; k < j; k++)
		for (int i = 0; i < p->in[k].nitems; i++) {
			const struct pattern_item *item = &p->in[k].item[i];
			if (item->name != letter || item->at || !letter)
				continue;
			const struct ir_type *t = in[k].v->type;
			return t->dim[dim_of_item(&p->in[k], t->rank, i)];
		}
	return 0;
}

static int64_t
item_size(struct gen *g, const struct ir_type *first, int dim, int groups)
{
	const int64_t size = dim < first->rank ? first->dim[dim] : 0;
	if (dim == 1 && size && gen_chance(g, 75))
		return size % groups ? size : size / groups;
	return (dim == 0 ? groups : 1) * (1 + gen_below(g, 3));
}

/* The shape of operand j > 0 according to the notation; -1 if that does not say. */
static int
noted_shape(struct gen *g, const struct pattern *p, const struct pooled *in, int j, int groups,
	int64_t *dim, int *of)
{
	const struct ir_type *first = in[0].v->type;
	const struct pattern_side *s = &p->in[j], *model = &p->in[0];
	int rank = 0;
	for (int i = 0; i < s->nitems; i++) {
		const struct pattern_item *item = &s->item[i];
		const int group = group_of(model);
		if (item->name != '.' && item->name != '*') {
			const int64_t size = item->at ? 0 : bound_size(p, in, j, item->name);
			of[rank] = rank < first->rank && size == first->dim[rank] ? rank : -1;
			dim[rank] = size ? size : item_size(g, first, rank, groups);
			rank++;
			continue;
		}
		if (group < 0 || model->item[group].name != item->name)
			return -1;
		for (int n = first->rank - model->nitems + 1; n > 0; n--) {
			of[rank] = group + rank < first->rank ? group + rank : -1;
			dim[rank] = first->dim[of[rank] < 0 ? 0 : of[rank]];
			if (item->at && gen_chance(g, 30)) {
				dim[rank] = 1 + gen_below(g, (int)dim[rank]);
				of[rank] = -1;
			}
			rank++;
		}
	}
	return rank;
}

/* An operand of at least, or of exactly, this many dims. */
static struct pooled
ranked(struct gen *g, char letter, int rank, bool just)
{
	int64_t dim[IR_MAX_RANK];
	for (int i = 0; i < 6; i++) {
		const struct pooled p = gen_operand(g, letter);
		if (just ? p.v->type->rank == rank : p.v->type->rank >= rank)
			return p;
	}
	for (int d = 0; d < rank; d++)
		dim[d] = d < rank - 2 ? 1 + gen_below(g, 4) : 2 + gen_below(g, 5);
	return gen_source(g, gen_chance(g, 70) ? IR_f32 : IR_f64, rank, dim);
}

static struct pooled
first_operand(struct gen *g, const struct ir_row *row, char letter)
{
	int64_t dim[IR_MAX_RANK];
	if (letter == 'I') {
		const int rank = gen_chance(g, 50) ? 0 : gen_shape(g, dim);
		return gen_indices(g, rank, dim, 5);
	}
	if (!row->pattern || !strchr("NFT", letter))
		return gen_operand(g, letter);
	const struct pattern_side *s = &row->pattern->in[0];
	const bool just = group_of(s) < 0;
	return ranked(g, letter, s->nitems - (just ? 0 : 1), just);
}

/* A shape for another operand, from that of the first. */
static int
guessed_shape(struct gen *g, const struct ir_type *t, int64_t *dim, int *of)
{
	const int how = gen_below(g, 8);
	int rank = 0;
	for (int d = 0; d < t->rank; d++) {
		if ((how == 0 && d == t->rank - 1) || (how == 1 && d == 0) || how == 2)
			continue; /* without the last, without the first, a scalar */
		of[rank] = d;
		dim[rank++] = t->dim[d];
	}
	if (rank && how < 6 && how > 2) { /* one dim of another size */
		const int d = gen_below(g, rank);
		dim[d] = how == 3 ? 1 + gen_below(g, (int)dim[d]) : 1 + gen_below(g, 6);
		of[d] = -1;
	}
	return rank;
}

static char
letter_of(const struct ir_row *row, int j)
{
	const int last = (int)strlen(row->operand_types) - 1;
	return row->operand_types[j < last ? j : last];
}

/* Operand j > 0. */
static struct pooled
other_operand(struct gen *g, const struct ir_row *row, const struct pooled *in, int j, int groups)
{
	const char letter = letter_of(row, j), model = letter_of(row, 0);
	const struct ir_value *first = in[0].v;
	int64_t dim[IR_MAX_RANK];
	int of[IR_MAX_RANK];
	const struct ir_type *t = first->type;
	if (letter != 'I' && letter != 'b' && letter != model)
		return gen_operand(g, letter);
	int rank = -1;
	if (row->pattern && j < row->pattern->ninputs && gen_chance(g, 80))
		rank = noted_shape(g, row->pattern, in, j, groups, dim, of);
	if (rank < 0 && gen_chance(g, 30) && letter != 'I')
		return partner(g, letter, first);
	if (rank < 0)
		rank = guessed_shape(g, t, dim, of);
	if (letter == 'I')
		return gen_indices(g, rank, dim, t->rank ? (int)t->dim[gen_below(g, t->rank)] : 3);
	if (letter == 'b')
		return gen_source(g, IR_bool, rank, dim);
	return gen_matching(g, rank, dim, t, of);
}

static struct ir_value *
build_many(struct gen *g, enum op_code code, int n, struct ir_value *const *v, int nattrs,
	const struct ir_attr *attr)
{
	const struct ir_row *row = &g->ctx->row[code];
	if (row->nresults == 1)
		return gen_build(g, code, n, v, nattrs, attr);
	if (row->nresults < 1)
		return NULL;
	struct ir_op *op = ir_op_create(g->m, code, LOC_NONE, v, n, attr, nattrs, row->nresults);
	bool right = ir_infer(g->m, op, NULL);
	for (int r = 0; right && r < op->nresults; r++)
		right = ir_type_elements(op->result[r].type) <= GEN_MAX_ELEMENTS;
	if (right) {
		ir_block_append(g->b.block, op);
		return &op->result[0];
	}
	ir_op_erase(op);
	return NULL;
}

void
gen_row(struct gen *g, enum op_code code)
{
	const struct ir_row *row = &g->ctx->row[code];
	const int n = row->noperands == ROW_ANY ? 1 + gen_below(g, MOST_VARIADIC) : row->noperands;
	struct pooled in[MOST_VARIADIC + ROW_MAX_OPERANDS];
	struct ir_value *v[MOST_VARIADIC + ROW_MAX_OPERANDS];
	struct ir_attr attr[ROW_MAX_ATTRS];
	if (n < 1 || !(row->traits & TRAIT_PURE) || (row->traits & (TRAIT_PARALLEL | TRAIT_NAMED)))
		return;
	in[0] = first_operand(g, row, letter_of(row, 0));
	if (gen_chance(g, 30))
		in[0] = gen_in_range(g, in[0], GEN_UNIT);
	if (!(v[0] = in[0].v))
		return;
	const int nattrs = gen_attrs(g, row, v[0]->type, attr);
	int groups = 1;
	for (int i = 0; i < nattrs; i++)
		if (strcmp(attr[i].key, "groups") == 0)
			groups = (int)attr[i].i;
	for (int j = 1; j < n; j++)
		if (!(v[j] = (in[j] = other_operand(g, row, in, j, groups)).v))
			return;
	if (nattrs >= 0)
		gen_finish(g, build_many(g, code, n, v, nattrs, attr), in);
}

/* --- the table ----------------------------------------------------------------------------------
 */

const struct gen_table *
gen_table_create(const void *owner)
{
	enum { DRAWS = 3 }; /* of attributes */
	struct gen_table *table = talloc_zero(owner, struct gen_table);
	struct ir_context *ctx = ir_context_create(table);
	struct gen g = {.ctx = ctx, .m = ir_module_create(table, ctx, "table")};
	for (int code = 0; code < OP_NCODES; code++) {
		const struct ir_row *row = &ctx->row[code];
		struct gen_domain *d = &table->domain[code];
		if (!gen_is_pointwise(row))
			continue;
		for (int i = 0; i < (row->nattrs ? DRAWS : 1); i++) {
			struct ir_attr attr[ROW_MAX_ATTRS];
			const int n = gen_attrs(&g, row, NULL, attr);
			const struct gen_domain one = gen_probe(ctx, (enum op_code)code, attr, n);
			const bool steps = d->steps || one.steps, bends = d->bends || one.bends;
			const bool steep = d->steep || one.steep;
			*d = one;
			d->steep = steep;
			d->steps = steps;
			d->bends = bends;
		}
	}
	return table;
}
