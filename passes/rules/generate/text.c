/* The text of a rule found on tensors of fixed sizes: gives names to sizes so that it applies to
 * all. */
#include "passes/rules/generate/generate.h"

#include "passes/rules/foreign/sizes.h"

#include <string.h>
#include <talloc.h>

enum { VALUES = 4 * GEN_MAX_SIZE + GEN_MAX_INPUTS }; /* two results on both sides */

struct value {
	int32_t term;
	char name[16];
	struct size dim[GEN_MAX_RANK];
	struct size at[GEN_MAX_RANK][GEN_MAX_UNITS]; /* where concats joined the dim, by units */
};

struct writer {
	struct gen *g;
	FILE *out; /* NULL: only sizes are computed */
	struct sizes sizes;
	struct value value[VALUES];
	int nvalues, ninputs, nlines;
};

static struct value *
value_of(struct writer *w, int32_t term)
{
	for (int i = 0; i < w->nvalues; i++)
		if (w->value[i].term == term)
			return &w->value[i];
	return NULL;
}

static void
see_inputs(struct writer *w, int32_t term)
{
	const struct gen_term *t = &w->g->term.at[term];

	if (t->op >= 0) {
		see_inputs(w, t->arg[0]);
		if (t->arg[1] >= 0)
			see_inputs(w, t->arg[1]);
		return;
	}
	if (value_of(w, term))
		return;
	struct value *v = &w->value[w->nvalues++];
	v->term = term;
	snprintf(v->name, sizeof v->name, "x%d", ++w->ninputs);
	for (int d = 0; d < w->g->rank; d++)
		v->dim[d] = sizes_symbol(&w->sizes);
}

/* A dim of a result, and where it was joined, are taken from an operand. */
static void
take_dim(struct value *to, int dim, const struct value *from, int of)
{
	to->dim[dim] = from->dim[of];
	memcpy(to->at[dim], from->at[of], sizeof to->at[dim]);
}

/* The same dim of both operands. */
static void
take_both(struct writer *w, struct value *to, int dim, const struct value *x, const struct value *y)
{
	const struct gen_type *ty = &w->g->type.at[w->g->term.at[y->term].type];

	sizes_equate(&w->sizes, &x->dim[dim], &y->dim[dim]);
	take_dim(to, dim, x, dim);
	for (int cut = 1; cut < GEN_MAX_UNITS; cut++)
		if (ty->joined[dim] >> cut & 1)
			to->at[dim][cut] = y->at[dim][cut];
}

static const char *
attributes(struct writer *w, const struct gen_op *op, const struct value *x, const struct value *y)
{
	static const char *const swapped[] = {"1,0", "0,2,1", "0,1,3,2"};
	struct sizes *z = &w->sizes;
	void *scratch = z->scratch;
	const char *axis = op->axis ? "q" : "p";

	switch (op->row->kind) {
	case GEN_UNARY:
	case GEN_BINARY:
	case GEN_MATMUL: break;
	case GEN_LINEAR: return " {spec = \"rmk,rnk->rmn\"}";
	case GEN_CONV: {
		const char *c = sizes_text(z, x->dim[1]), *k = sizes_text(z, y->dim[1]);
		if (!strcmp(c, k))
			return " {low = [1,1], high = [1,1]}";
		return TEXT(scratch, " {low = [1,1], high = [1,1], groups = (%s) / (%s)}", c, k);
	}
	case GEN_CONCAT: return TEXT(scratch, " {dim = %d}", op->dim);
	case GEN_SLICE: {
		const char *at = sizes_text(z, x->at[op->dim][op->cut]),
			   *start = op->part ? at : "0",
			   *limit = op->part ? sizes_text(z, x->dim[op->dim]) : at;
		return TEXT(scratch, " {start = [%s], limit = [%s], dims = [%d]}", start, limit,
			op->dim);
	}
	case GEN_TRANSPOSE: return TEXT(scratch, " {perm = [%s]}", swapped[w->g->rank - 2]);
	case GEN_SPLITTING: return TEXT(scratch, " {dim = %d, axis = %s}", op->dim, axis);
	case GEN_ON_AXIS: return TEXT(scratch, " {axis = %s}", axis);
	}
	return "";
}

/* Sizes of a result; solves the equations that the op requires. */
static void
work_out(struct writer *w, const struct gen_op *op, const struct value *x, const struct value *y,
	struct value *to)
{
	const int last = w->g->rank - 1, d = op->dim;
	const struct gen_type *tx = &w->g->type.at[w->g->term.at[x->term].type],
			      *ty = &w->g->type.at[w->g->term.at[y->term].type];

	memcpy(to->dim, x->dim, sizeof to->dim);
	memcpy(to->at, x->at, sizeof to->at);
	switch (op->row->kind) {
	case GEN_UNARY:
	case GEN_ON_AXIS:
	case GEN_SPLITTING: break;
	case GEN_BINARY:
		for (int i = 0; i <= last; i++)
			take_both(w, to, i, x, y);
		break;
	case GEN_MATMUL:
		for (int i = 0; i < last - 1; i++)
			take_both(w, to, i, x, y);
		sizes_equate(&w->sizes, &x->dim[last], &y->dim[last - 1]);
		take_dim(to, last, y, last);
		break;
	case GEN_LINEAR:
		take_both(w, to, 0, x, y);
		sizes_equate(&w->sizes, &x->dim[2], &y->dim[2]);
		take_dim(to, 2, y, 1);
		break;
	case GEN_CONV:
		for (int i = 2; i < 4; i++) {
			const struct size kernel = size_constant(3);
			sizes_equate(&w->sizes, &y->dim[i], &kernel);
		}
		take_dim(to, 1, y, 0);
		break;
	case GEN_CONCAT: {
		const int at = tx->dim[d] / gen_unit(w->g, d);
		for (int i = 0; i <= last; i++)
			if (i != d)
				take_both(w, to, i, x, y);
		to->dim[d] = size_plus(x->dim[d], 1, &y->dim[d]);
		to->at[d][at] = x->dim[d];
		for (int cut = 1; at + cut < GEN_MAX_UNITS; cut++)
			if (ty->joined[d] >> cut & 1)
				to->at[d][at + cut] = size_plus(x->dim[d], 1, &y->at[d][cut]);
		break;
	}
	case GEN_SLICE: {
		const struct size at = x->at[d][op->cut];
		if (!op->part) {
			to->dim[d] = at;
			break;
		}
		to->dim[d] = size_plus(x->dim[d], -1, &at);
		for (int cut = 1; op->cut + cut < GEN_MAX_UNITS; cut++)
			to->at[d][cut] = size_plus(x->at[d][op->cut + cut], -1, &at);
		break;
	}
	case GEN_TRANSPOSE:
		take_dim(to, last, x, last - 1);
		take_dim(to, last - 1, x, last);
		break;
	}
}

static struct value *
write_term(struct writer *w, int32_t term)
{
	const struct gen_term *t = &w->g->term.at[term];
	struct value *to = value_of(w, term);

	if (to)
		return to;
	const struct gen_op *op = &w->g->op.at[t->op];
	const struct value *x = write_term(w, t->arg[0]),
			   *y = t->arg[1] < 0 ? x : write_term(w, t->arg[1]);
	to = &w->value[w->nvalues++];
	to->term = term;
	snprintf(to->name, sizeof to->name, "t%d", w->nlines++);
	work_out(w, op, x, y, to);
	if (w->out && t->arg[1] < 0)
		fprintf(w->out, "  %%%s = %s(%%%s)%s\n", to->name, op->row->name, x->name,
			attributes(w, op, x, y));
	else if (w->out)
		fprintf(w->out, "  %%%s = %s(%%%s, %%%s)%s\n", to->name, op->row->name, x->name,
			y->name, attributes(w, op, x, y));
	return to;
}

/* Computes both sides, given what is known about the inputs. */
static void
write_side(struct writer *w, const struct gen_sides *s, int side, const struct value **result)
{
	w->nvalues = w->ninputs;
	w->nlines = 0;
	for (int i = 0; i < s->nresults; i++)
		result[i] = write_term(w, s->result[side][i]);
	if (!w->out)
		return;
	for (int i = 0; i < s->nresults; i++)
		fprintf(w->out, "%s%%%s", i ? ", " : "  return(", result[i]->name);
	fputs(")\n", w->out);
}

/* Solves the requirements of the ops, and that the results of both sides have equal sizes. */
static void
solve(struct writer *w, const struct gen_sides *s)
{
	const struct value *left[2], *right[2];

	w->sizes.solving = true;
	for (int round = 0; round < 2; round++) {
		struct size dim[2][GEN_MAX_RANK];
		write_side(w, s, RULE_LEFT, left);
		for (int i = 0; i < s->nresults; i++)
			memcpy(dim[i], left[i]->dim, sizeof dim[i]);
		write_side(w, s, RULE_RIGHT, right);
		for (int i = 0; i < s->nresults; i++)
			for (int d = 0; d < w->g->rank; d++)
				sizes_equate(&w->sizes, &dim[i][d], &right[i]->dim[d]);
	}
	w->sizes.solving = false;
	sizes_name_anew(&w->sizes);
}

/* Do ops of the term depend on the number of dims? */
static bool
knows_dims(const struct gen *g, int32_t term)
{
	const struct gen_term *t = &g->term.at[term];

	if (t->op < 0)
		return false;
	const enum gen_kind kind = g->op.at[t->op].row->kind;
	return (kind != GEN_UNARY && kind != GEN_BINARY && kind != GEN_ON_AXIS) ||
	       knows_dims(g, t->arg[0]) || (t->arg[1] >= 0 && knows_dims(g, t->arg[1]));
}

void
gen_write(struct gen *g, FILE *out, const char *name, const struct gen_sides *s)
{
	struct writer *w = NEW(NULL, struct writer);
	const struct value *result[2];
	bool dims = false;

	w->g = g;
	w->sizes.scratch = alloc_scratch(w);
	for (int i = 0; i < 2 * s->nresults; i++)
		dims = dims || knows_dims(g, s->result[i / s->nresults][i % s->nresults]);
	for (int i = 0; i < 2 * s->nresults; i++)
		see_inputs(w, s->result[i / s->nresults][i % s->nresults]);
	solve(w, s);
	w->out = out;
	fprintf(out, "rule @%s(", name);
	for (int i = 0; i < w->ninputs; i++)
		fprintf(out, "%s%%%s : F%s", i ? ", " : "", w->value[i].name,
			dims ? sizes_shape(&w->sizes, g->rank, w->value[i].dim, -1, 0) : "[..]");
	fputs(") {\n", out);
	write_side(w, s, RULE_LEFT, result);
	fputs("} => {\n", out);
	write_side(w, s, RULE_RIGHT, result);
	fputs("}\n", out);
	talloc_free(w);
}
