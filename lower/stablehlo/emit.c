/*
 * A module as StableHLO: @main with its arguments and results, and its ops one by one.
 *
 *     func.func public @main(%arg0: tensor<8x4xf32> loc("x"),
 *                            %arg1: tensor<4xf32> {tf.aliasing_output = 1 : i32} loc("b"))
 *         -> (tensor<f32> {jax.result_info = "loss"}, tensor<4xf32> {jax.result_info = "b"})
 *
 * Arguments are inputs, params and states in the order of the text; results are outputs, and then
 * the next value of each param and state that is updated, aliased with its argument. The kind of an
 * argument and its initial value are its attributes dopt.input, dopt.param or dopt.state; the shape
 * of an output in files is in dopt.output. On a mesh dopt.mesh and dopt.type describe how the
 * replicas share the tensors.
 */
#include "ir/base/vec.h"
#include "lower/stablehlo/hlo.h"
#include "lower/stablehlo/stablehlo.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* --- unsupported modules ------------------------------------------------------------------------
 */

struct hlo_missing {
	const char *op, *why;
	struct ir_loc first;
	int count;
};

bool
hlo_unsupported(struct hlo *h, const struct ir_op *op, const char *why)
{
	const char *name = op_name((enum op_code)op->code);

	for (int i = 0; i < h->nmissing; i++)
		if (!strcmp(h->missing[i].op, name) && !strcmp(h->missing[i].why, why)) {
			h->missing[i].count++;
			return false;
		}
	LIST_PUSH(h, h->missing, h->nmissing, (struct hlo_missing){name, why, op->loc, 1});
	return false;
}

static void
report_missing(const struct hlo *h)
{
	for (int i = 0; i < h->nmissing; i++) {
		const struct hlo_missing *x = &h->missing[i];
		if (x->count > 1)
			diag_error(h->m->ctx->diag, x->first,
				"%s cannot be written as StableHLO: %s (%d times)", x->op, x->why,
				x->count);
		else
			diag_error(h->m->ctx->diag, x->first,
				"%s cannot be written as StableHLO: %s", x->op, x->why);
	}
}

/* --- ops ----------------------------------------------------------------------------------------
 */

struct hlo_value
hlo_local_type(struct hlo *h, const struct ir_type *t)
{
	struct hlo_value v = hlo_type((enum ir_dtype)t->dtype, 0, NULL);

	v.rank = t->rank;
	for (int d = 0; d < t->rank; d++)
		v.dim[d] = ir_type_local_dim(h->m, t, d);
	return v;
}

static bool write_block(struct hlo *h, const struct ir_block *b);

static bool
write_fuse(struct hlo *h, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++)
		*hlo_of(h, &op->body->arg[i]) = *hlo_of(h, ir_operand(op, i));
	if (!write_block(h, op->body))
		return false;
	for (int i = 0; i < op->nresults; i++)
		*hlo_of(h, &op->result[i]) = *hlo_of(h, ir_operand(op->body->last, i));
	return true;
}

/* The block of the condition, which the loop carries as its first value, or of the body. */
static bool
write_loop_block(struct hlo *h, const struct ir_op *op, struct hlo_value *carried, bool body)
{
	bool ok = true;

	hlo_open_block(h, carried, op->noperands);
	for (int i = 0; i < op->noperands && body; i++)
		*hlo_of(h, &op->body->arg[i]) = carried[i];
	if (body)
		ok = write_block(h, op->body);
	for (int i = 0; i < op->noperands && body; i++)
		carried[i] = *hlo_of(h, ir_operand(op->body->last, i));
	hlo_write(h, &(struct hlo_op){.name = "stablehlo.return",
			     .in = carried,
			     .nin = body ? op->noperands : 1});
	return ok;
}

static bool
write_while(struct hlo *h, const struct ir_op *op)
{
	const int n = op->noperands;
	struct hlo_value *in = NEW_ARRAY(h->scratch, struct hlo_value, (size_t)n),
			 *carried = NEW_ARRAY(h->scratch, struct hlo_value, (size_t)n),
			 *out = NEW_ARRAY(h->scratch, struct hlo_value, (size_t)n);
	const struct hlo_op o = {
		.name = "stablehlo.while", .in = in, .nin = n, .out = out, .nout = n};
	const uint32_t coords = h->coords;

	/* The others would run it, too, on values that need not end it. */
	if (ir_type_single(h->m, op->result[0].type))
		return hlo_unsupported(h, op, "it runs on some of the replicas alone");
	for (int i = 0; i < n; i++) {
		in[i] = *hlo_of(h, ir_operand(op, i));
		carried[i] = out[i] = hlo_local_type(h, op->result[i].type);
	}
	hlo_open(h, &o);
	hlo_print(h, " ({\n");
	write_loop_block(h, op, carried, false);
	hlo_print(h, "    }, {\n");
	const bool ok = write_loop_block(h, op, carried, true);
	hlo_print(h, "    })");
	hlo_close(h, &o);
	h->last = 0;
	h->coords = coords; /* what the body has written is not visible after it */
	for (int i = 0; i < n; i++)
		*hlo_of(h, &op->result[i]) = out[i];
	return ok;
}

/* Is an operand held by some replicas alone, while others hold the result, too? It counts as 0
 * there, and the form contains that. */
static bool
reads_absent(const struct ir_module *m, const struct ir_op *op)
{
	for (int i = 0; i < op->noperands; i++)
		for (int a = 0; a < m->naxes; a++)
			if (ir_operand_type(op, i)->axis[a].kind == IR_SINGLE &&
				op->result[0].type->axis[a].kind != IR_SINGLE)
				return true;
	return false;
}

static bool
write_computation(struct hlo *h, const struct ir_op *op)
{
	hlo_row *row = hlo_find_row((enum op_code)op->code);
	struct hlo_value *in = NEW_ARRAY(h->scratch, struct hlo_value, (size_t)op->noperands + 1);
	enum hlo_done done = HLO_OTHER;

	for (int i = 0; i < op->noperands; i++)
		in[i] = *hlo_of(h, ir_operand(op, i));
	if (row && !(form_exists((enum op_code)op->code) && reads_absent(h->m, op)))
		done = row(h, op, in, hlo_of(h, &op->result[0]));
	if (done == HLO_OTHER && form_exists((enum op_code)op->code))
		done = hlo_form(h, op, in, hlo_of(h, &op->result[0]));
	if (done == HLO_OTHER)
		return hlo_unsupported(h, op, "it has no StableHLO form");
	return done == HLO_DONE;
}

static bool
write_op(struct hlo *h, const struct ir_op *op)
{
	switch (op->code) {
	case OP_input:
	case OP_param:
	case OP_state:
	case OP_update:
	case OP_output:
	case OP_release:
	case OP_yield: return true; /* arguments and results, or ops only for programs */
	case OP_fuse: return write_fuse(h, op);
	case OP_while: return write_while(h, op);
	default: return op_is(op, TRAIT_PARALLEL) ? hlo_parallel(h, op) : write_computation(h, op);
	}
}

/* Names the op that was written last after the value that it makes. */
static void
name_value(struct hlo *h, const struct ir_value *v)
{
	const struct hlo_value *made = hlo_of(h, v);

	if (!v->name || h->used != h->last || made->argument || made->id != h->last_id)
		return;
	h->text[--h->used] = '\0';
	hlo_print(h, " loc(");
	hlo_print_string(h, v->name);
	hlo_print(h, ")\n");
	h->last = 0;
}

/* All ops, to report all errors; values of failed ops only have a type. */
static bool
write_block(struct hlo *h, const struct ir_block *b)
{
	bool ok = true;

	IR_FOR_OPS (op, b) {
		for (int i = 0; i < op->nresults; i++)
			if (op->result[i].type && !hlo_of(h, &op->result[i])->argument)
				*hlo_of(h, &op->result[i]) = hlo_local_type(h, op->result[i].type);
		ok &= write_op(h, op);
		for (int i = 0; i < op->nresults; i++)
			name_value(h, &op->result[i]);
		if (!b->parent)
			talloc_free_children(h->scratch);
	}
	return ok;
}

/* --- arguments and results ----------------------------------------------------------------------
 */

struct result {
	const struct ir_value *value;
	const struct ir_op *op; /* the output or update */
	const struct ir_op *of; /* the param or state whose next value it is; NULL: an output */
};

/* Outputs, then updates. */
static struct result *
collect_results(const struct ir_func *f, const void *owner, int *n)
{
	int count = 0;

	IR_FOR_OPS (op, &f->body)
		count += op->code == OP_output || op->code == OP_update;
	struct result *r = ARRAY_NEW(owner, struct result, (size_t)count + 1);
	*n = 0;
	IR_FOR_OPS (op, &f->body)
		if (op->code == OP_output)
			r[(*n)++] = (struct result){ir_operand(op, 0), op, NULL};
	IR_FOR_OPS (op, &f->body)
		if (op->code == OP_update)
			r[(*n)++] = (struct result){ir_operand(op, 1), op, ir_operand(op, 0)->op};
	return r;
}

static void
write_attr_value(struct hlo *h, const struct ir_attr *a)
{
	switch (a->kind) {
	case ATTR_INT: hlo_print(h, "%" PRId64 " : i64", a->i); break;
	case ATTR_BOOL: hlo_print(h, "%s", a->i ? "true" : "false"); break;
	case ATTR_STRING: hlo_print_string(h, a->s); break;
	case ATTR_LIST: {
		int64_t v[IR_MAX_RANK];
		for (int i = 0; i < a->n && i < IR_MAX_RANK; i++)
			v[i] = a->list[i].i;
		hlo_print(h, "%s", hlo_array(h, v, a->n));
		break;
	}
	default: hlo_print(h, "%s : f64", hlo_element(h, IR_f64, (union cell){.f = a->f})); break;
	}
}

/* dopt.type = "f32[8/dp,4]": the whole tensor, and how the replicas share it. */
static void
write_layout(struct hlo *h, const struct ir_type *t)
{
	char *text = ir_type_text(h->scratch, h->m, t);

	hlo_print(h, ", dopt.type = ");
	hlo_print_string(h, text);
}

/* dopt.param = {init = "he", seed = 3 : i64} */
static void
write_kind(struct hlo *h, const struct ir_op *op)
{
	hlo_print(h, "dopt.%s = {", op_name((enum op_code)op->code));
	for (int i = 0; i < op->nattrs; i++) {
		hlo_print(h, "%s%s = ", i ? ", " : "", op->attr[i].key);
		write_attr_value(h, &op->attr[i]);
	}
	hlo_print(h, "}");
}

static bool
is_copied(const struct ir_module *m, const struct ir_type *t)
{
	for (int a = 0; a < m->naxes; a++)
		if (t->axis[a].kind != IR_COPIED && m->axis[a].size > 1)
			return false;
	return true;
}

static void
write_argument(
	struct hlo *h, const struct ir_op *op, uint32_t number, const struct result *r, int n)
{
	struct hlo_value *v = hlo_of(h, &op->result[0]);

	*v = hlo_local_type(h, op->result[0].type);
	v->argument = true;
	v->id = number;
	hlo_print(h, "%s%%arg%" PRIu32 ": %s {", number ? ",\n      " : "", number,
		hlo_type_text(h, v));
	write_kind(h, op);
	if (ir_devices(h->m) > 1)
		write_layout(h, op->result[0].type);
	if (ir_devices(h->m) > 1 && is_copied(h->m, op->result[0].type))
		hlo_print(h, ", mhlo.is_same_data_across_replicas = true");
	for (int i = 0; i < n; i++)
		if (r[i].of == op)
			hlo_print(h, ", tf.aliasing_output = %d : i32", i);
	hlo_print(h, "} loc(");
	hlo_print_string(h, op->symbol);
	hlo_print(h, ")");
}

static void
write_head(struct hlo *h, const struct ir_func *f, const struct result *r, int n)
{
	uint32_t narguments = 0;

	hlo_print(h, "module @%s attributes {", h->m->name ? h->m->name : "module");
	for (int a = 0; a < h->m->naxes && ir_devices(h->m) > 1; a++)
		hlo_print(h, "%s%s = %d%s", a ? ", " : "dopt.mesh = \"", h->m->axis[a].name,
			h->m->axis[a].size, a + 1 == h->m->naxes ? "\", " : "");
	hlo_print(h,
		"mhlo.num_partitions = 1 : i32, mhlo.num_replicas = %" PRId64
		" : i32} {\n  func.func public @main(",
		ir_devices(h->m));
	IR_FOR_OPS (op, &f->body)
		if (op->code == OP_input || op_is(op, TRAIT_PERSISTENT))
			write_argument(h, op, narguments++, r, n);
	hlo_print(h, ")");
	for (int i = 0; i < n; i++) {
		const struct hlo_value type = hlo_local_type(h, r[i].value->type);
		hlo_print(h, "%s%s {jax.result_info = ", i ? ",\n      " : "\n      -> (",
			hlo_type_text(h, &type));
		hlo_print_string(h, (r[i].of ? r[i].of : r[i].op)->symbol);
		if (r[i].op->nattrs) {
			hlo_print(h, ", ");
			write_kind(h, r[i].op);
		}
		if (ir_devices(h->m) > 1)
			write_layout(h, r[i].value->type);
		hlo_print(h, "}");
	}
	hlo_print(h, "%s {\n", n ? ")" : "");
}

static void
write_return(struct hlo *h, const struct result *r, int n)
{
	struct hlo_value *in = ARRAY_NEW(h->scratch, struct hlo_value, (size_t)n + 1);

	for (int i = 0; i < n; i++)
		in[i] = *hlo_of(h, r[i].value);
	hlo_write(h, &(struct hlo_op){.name = "func.return", .in = in, .nin = n});
}

/* --- the module ---------------------------------------------------------------------------------
 */

static bool
check_axes(const struct ir_module *m)
{
	bool ok = true;

	for (int a = 0; a < m->naxes; a++) {
		if (!m->axis[a].time || m->axis[a].size == 1)
			continue;
		diag_error(m->ctx->diag, m->axis[a].loc,
			"axis %s is a time axis, but a StableHLO program runs the whole step at "
			"once; write it before the batch is split over %s, or with %s = 1",
			m->axis[a].name, m->axis[a].name, m->axis[a].name);
		ok = false;
	}
	return ok;
}

static bool
write_module(struct hlo *h, struct ir_func *f)
{
	int n;
	struct result *r = collect_results(f, h, &n);

	h->value = ARRAY_ZERO(h, struct hlo_value, h->m->value_ids);
	write_head(h, f, r, n);
	const bool ok = write_block(h, &f->body);
	write_return(h, r, n);
	hlo_print(h, "  }\n}\n");
	report_missing(h);
	return ok;
}

bool
stablehlo_write(FILE *out, const struct ir_module *m)
{
	struct ir_func *f = ir_func_find(m, "main");

	if (!f) {
		diag_error(m->ctx->diag, LOC_NONE, "the module has no @main to write");
		return false;
	}
	if (!check_axes(m))
		return false;
	struct hlo *h = NEW(NULL, struct hlo);
	h->m = m;
	h->arena = arena_create(h);
	h->scratch = alloc_scratch(h);
	const bool ok = write_module(h, f);
	if (ok)
		fwrite(h->text, 1, h->used, out);
	talloc_free(h);
	return ok;
}
