/* What-if: applies the items. See whatif.h. */
#include "passes/analysis/cost/whatif_impl.h"

#include "ir/cluster/cluster.h"
#include "ir/ops/form.h"
#include "ir/names.h"
#include "ir/base/suggest.h"
#include "ir/base/alloc.h"
#include "passes/analysis/cost/cost.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

int
whatif_count(const struct whatif *w)
{
	return w->n;
}

const char *
whatif_item_text(const struct whatif *w, int i)
{
	return w->item[i].text;
}

static bool
is_field(const struct whatif_item *it)
{
	return it->kind == TARGET_LATENCY || it->kind == TARGET_BANDWIDTH ||
	       it->kind == TARGET_FIELD || it->kind == TARGET_FLOPS;
}

/* --- devices and links ------------------------------------------------------------------------ */

static double
changed(const struct whatif_item *it, double x)
{
	return it->set ? it->x : x * it->x;
}

/* Changes the latency (s) and bandwidth (B/s) of one link by net.*. */
static void
whatif_link(const struct whatif *w, double *latency, double *bandwidth)
{
	for (const struct whatif_item *it = w->item; it < w->item + w->n; it++) {
		if (it->kind == TARGET_LATENCY)
			*latency = changed(it, *latency);
		else if (it->kind == TARGET_BANDWIDTH)
			*bandwidth = changed(it, *bandwidth);
	}
}

static void
change_flops(const struct whatif_item *it, struct device *d)
{
	double *const rate[] = {&d->f64, &d->f32, &d->f16, &d->bf16, &d->i8};

	/* 0: not given; the rate of another type is used. */
	for (size_t i = 0; i < sizeof rate / sizeof *rate; i++)
		if (*rate[i] > 0)
			*rate[i] = changed(it, *rate[i]);
}

void
whatif_device(const struct whatif *w, struct device *d)
{
	for (const struct whatif_item *it = w->item; it < w->item + w->n; it++) {
		double *field = it->kind == TARGET_FIELD ? device_field(d, it->field) : NULL;
		if (field)
			*field = fmax(changed(it, *field), it->least);
		if (it->kind == TARGET_FLOPS)
			change_flops(it, d);
	}
	whatif_link(w, &d->link_latency, &d->link_bandwidth);
}

void
whatif_cluster(const struct whatif *w, struct cluster *c)
{
	for (uint32_t i = 0; i < c->nkinds; i++) {
		struct device *copy = COPY_ARRAY(c, struct device, c->kind[i], 1);
		copy->name = TEXT(copy, "%s", c->kind[i]->name);
		whatif_device(w, copy);
		c->kind[i] = copy;
	}
	for (uint32_t i = 0; i < c->nlinks; i++)
		whatif_link(w, &c->link[i].latency, &c->link[i].bandwidth);
}

/* --- ops -------------------------------------------------------------------------------------- */

enum op_code
whatif_code(const struct ir_module *m, const struct ir_op *op)
{
	enum op_code best = (enum op_code)op->code;
	double most = -1;

	if (!ir_fuse_body(op))
		return best;
	IR_FOR_OPS (inner, op->body) {
		double flops = op_is(inner, TRAIT_TERMINATOR) ? -1 : op_work(m, inner).flops;
		if (flops > most) {
			most = flops;
			best = (enum op_code)inner->code;
		}
	}
	return best;
}

static bool
is_for(const struct whatif_item *it, const struct ir_module *m, const struct ir_op *op)
{
	struct cost_collective c;

	switch (it->kind) {
	case TARGET_CODE:
		return it->number == op->code ||
		       (ir_fuse_body(op) && it->number == (int)whatif_code(m, op));
	case TARGET_VALUE: return it->op == op;
	case TARGET_KERNELS: return cost_op_kind(m, op) == COST_COMPUTE;
	case TARGET_COLLECTIVES: return cost_op_kind(m, op) == COST_COLLECTIVE;
	case TARGET_COLLECTIVE: return cost_op_collective(m, op, &c) && (int)c.kind == it->number;
	default: return false;
	}
}

double
whatif_seconds(
	const struct whatif *w, const struct ir_module *m, const struct ir_op *op, double seconds)
{
	for (const struct whatif_item *it = w->item; it < w->item + w->n; it++)
		if (is_for(it, m, op))
			seconds = changed(it, seconds);
	return seconds;
}

/* The result in the block that is printed under that name. */
static const struct ir_value *
find_value(const struct names *names, const struct ir_block *b, const char *name)
{
	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nresults; i++) {
			uint32_t number;
			char digits[16];
			const char *called = names_find(names, &op->result[i], &number);
			if (!called) {
				snprintf(digits, sizeof digits, "%u", number);
				called = digits;
			}
			if (strcmp(called, name) == 0)
				return &op->result[i];
		}
		const struct ir_value *inner = op->body ? find_value(names, op->body, name) : NULL;
		if (inner)
			return inner;
	}
	return NULL;
}

static void
suggest_value(const struct names *names, const struct ir_block *b, struct suggestion *near)
{
	uint32_t number;

	IR_FOR_OPS (op, b)
		for (int i = 0; i < op->nresults; i++) {
			const char *called = names_find(names, &op->result[i], &number);
			if (called)
				suggestion_add(near, called);
		}
}

static bool
bind_value(struct whatif *w, struct whatif_item *it, const struct names *names,
	const struct ir_block *b)
{
	const struct ir_value *v = find_value(names, b, it->name);

	if (!v) {
		struct suggestion near = suggestion_for(it->name);
		suggest_value(names, b, &near);
		diag_error(w->diag, it->loc, "@main has no value %%%s%s", it->name,
			suggestion_text(w, &near));
		return false;
	}
	it->op = v->op;
	if (v->op->block == b)
		return true;
	const struct ir_op *fuse = v->op->block->parent;
	uint32_t number = 0;
	const char *called = names_find(names, &fuse->result[0], &number);
	diag_error(w->diag, it->loc,
		"%%%s is inside a kernel of several ops, whose cost changes as a whole: use op=%%%s",
		it->name, called ? called : TEXT(w, "%u", number));
	return false;
}

/* "%7 (matmul)": a result as printed, and what the op counts as. */
static char *
op_text(const void *owner, const struct names *names, const struct ir_module *m,
	const struct ir_op *op)
{
	const char *code = op_name(whatif_code(m, op));

	return op->nresults ? TEXT(owner, "%s (%s%s)", names_text(owner, names, &op->result[0]),
				      ir_fuse_body(op) ? "fused " : "", code)
			    : TEXT(owner, "%s", code);
}

/* Number of ops of an item that are named; further ones are only counted. */
enum { NAMED_OPS = 4 };

char *
whatif_effect(const void *owner, const struct whatif *w, int i, const struct ir_module *m)
{
	const struct whatif_item *it = &w->item[i];
	struct ir_func *main = ir_func_find(m, "main");
	int n = 0;

	if (is_field(it) || !main)
		return NULL;
	struct names *names = names_create(NULL, main);
	char *list = text_copy(owner, "");
	IR_FOR_OPS (op, &main->body) {
		if (!is_for(it, m, op) || cost_op_kind(m, op) == COST_NONE)
			continue;
		if (n++ < NAMED_OPS)
			list = TEXT(owner, "%s%s%s", list, n > 1 ? ", " : "",
				op_text(names, names, m, op));
	}
	talloc_free(names);
	if (n > NAMED_OPS)
		list = TEXT(owner, "%s and %d more", list, n - NAMED_OPS);
	return n ? list : NULL;
}

static void
warn_of_nothing(const struct whatif *w, const struct whatif_item *it, const struct ir_module *m,
	struct ir_block *b)
{
	IR_FOR_OPS (op, b)
		if (is_for(it, m, op) && cost_op_kind(m, op) != COST_NONE)
			return;
	diag_report(w->diag, DIAG_WARNING, it->loc,
		it->kind == TARGET_VALUE
			? "this op takes no time: nothing changes"
			: "no op of @main that takes time matches: nothing changes");
}

bool
whatif_bind(struct whatif *w, const struct ir_module *m)
{
	struct ir_func *main = ir_func_find(m, "main");
	bool ok = true;

	if (!main)
		return true; /* nothing to evaluate: reported elsewhere */
	struct names *names = names_create(NULL, main);
	for (struct whatif_item *it = w->item; it < w->item + w->n; it++) {
		it->op = NULL;
		if (it->kind == TARGET_VALUE && !bind_value(w, it, names, &main->body))
			ok = false;
		else if (!is_field(it))
			warn_of_nothing(w, it, m, &main->body);
	}
	talloc_free(names);
	return ok;
}
