/*
 * The host target: kernels.h and kernels_N.c with one C function per kernel (equal kernels share
 * one), step.c with the step function, the tables and main.
 */
#include "lower/host/host.h"

#include "ir/base/alloc.h"
#include "lower/build.h"
#include "lower/plan/step.h"
#include "lower/plan/tables.h"
#include "lower/text/kernel.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum {
	HOST_KERNELS_A_FILE = 40
}; /* a file compiles in about a second; files compile side by side */

/* One function; `text` is its body with a fixed name, which identifies equal functions. */
struct function {
	char *text, *name;
};

struct host {
	const struct lower_plan *p;
	const char *folder, *prefix;
	struct function *function;
	int nfunctions, nfiles;
	int *function_of;         /* by kernel */
	struct kernel_args *args; /* by kernel */
	FILE *header, *kernels, *step;
};

/* The function with the fixed name "K", to compare it with others. */
static char *
nameless(const struct host *h, const struct lower_action *a, struct kernel_args *args)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = text_stream(&text, &size);

	kernel_write(f, NULL, a->scheme, "K", a->in_place, args);
	fclose(f);
	char *copy = text_copy(h->p, text);
	free(text);
	return copy;
}

static char *
kernels_name(int file)
{
	return TEXT(NULL, "kernels_%d.c", file);
}

static bool
close_kernels(struct host *h)
{
	if (!h->kernels)
		return true;
	char *name = kernels_name(h->nfiles - 1);
	const bool ok = lower_close(h->p->module->ctx->diag, h->folder, name, h->kernels);
	talloc_free(name);
	h->kernels = NULL;
	return ok;
}

static bool
open_kernels(struct host *h)
{
	if (!close_kernels(h))
		return false;
	char *name = kernels_name(h->nfiles++);
	h->kernels = lower_open(h->p->module->ctx->diag, h->folder, name);
	talloc_free(name);
	if (!h->kernels)
		return false;
	fprintf(h->kernels, "#include \"kernels.h\"\n");
	return true;
}

/* Writes the kernel of an action unless an equal one exists. */
static bool
write_kernel(struct host *h, const struct lower_action *a)
{
	struct kernel_args *args = &h->args[a->kernel];
	char *text = nameless(h, a, args);

	for (int i = 0; i < h->nfunctions; i++) {
		if (strcmp(h->function[i].text, text) == 0) {
			h->function_of[a->kernel] = i;
			return true;
		}
	}
	const bool full = h->nfunctions > 0 && h->nfunctions % HOST_KERNELS_A_FILE == 0;
	if ((!h->kernels || full) && !open_kernels(h))
		return false;
	h->function_of[a->kernel] = h->nfunctions;
	struct function *f = &h->function[h->nfunctions];
	f->text = text;
	f->name = TEXT(
		h->p, "%sk_%s_%d", h->prefix, op_name((enum op_code)a->op->code), h->nfunctions++);
	char *op = tables_op_text(NULL, h->p, a->op);
	fprintf(h->kernels, "\n/* %s */\n", op);
	talloc_free(op);
	kernel_write(h->kernels, h->header, a->scheme, f->name, a->in_place, args);
	return true;
}

/* The function that adds up slices of element type t. */
static void
write_sum(struct host *h, enum ir_dtype t)
{
	const char *name = ir_dtype_name(t), *type = kernel_ctype(t);
	char *head = TEXT(NULL,
		"void\n%sadd_%s(%s *restrict sum, const %s *restrict x, int64_t n, bool first)",
		h->prefix, name, type, type);

	fprintf(h->header, "%s;\n", head);
	fprintf(h->kernels, "\n%s\n{\n\tfor (int64_t i = 0; i < n; i++)\n", head);
	if (t == IR_f16 || t == IR_bf16)
		fprintf(h->kernels,
			"\t\tsum[i] = first ? x[i] : rt_f32_to_%s(0 + "
			"rt_%s_to_f32(sum[i]) + rt_%s_to_f32(x[i]));\n}\n",
			name, name, name);
	else
		fprintf(h->kernels, "\t\tsum[i] = first ? x[i] : 0 + sum[i] + x[i];\n}\n");
	talloc_free(head);
}

/* The functions for sums over time: one for each element type. */
static bool
write_sums(struct host *h)
{
	bool needed[IR_NDTYPES] = {false};

	for (int i = 0; i < h->p->nactions; i++)
		if (h->p->action[i].kind == LOWER_ADD)
			needed[h->p->value[h->p->action[i].src].value->type->dtype] = true;
	for (int t = 0; t < IR_NDTYPES; t++) {
		if (!needed[t])
			continue;
		if (!h->kernels && !open_kernels(h))
			return false;
		write_sum(h, (enum ir_dtype)t);
	}
	return true;
}

static bool
write_kernels(struct host *h)
{
	struct diag *d = h->p->module->ctx->diag;

	h->header = lower_open(d, h->folder, "kernels.h");
	if (!h->header)
		return false;
	fprintf(h->header,
		"/* Kernels of module @%s. a: operands, r: results, s: "
		"values that depend on the rank. */\n",
		h->p->module->name ? h->p->module->name : "main");
	fprintf(h->header,
		"#include \"runtime/kernel/kernel.h\"\n#include \"runtime/rt_program.h\"\n\n");
	bool ok = write_sums(h);
	for (int i = 0; i < h->p->nactions && ok; i++)
		if (h->p->action[i].kind == LOWER_KERNEL)
			ok = write_kernel(h, &h->p->action[i]);
	ok = lower_close(d, h->folder, "kernels.h", h->header) && ok;
	return close_kernels(h) && ok;
}

static void
write_call(struct step_writer *w, const struct lower_action *a)
{
	const struct host *h = w->data;
	const struct lower_plan *p = h->p;
	void *scratch = alloc_scratch(NULL);
	char *call = TEXT(scratch, "%s(", h->function[h->function_of[a->kernel]].name);

	for (int j = 0; j < a->op->noperands; j++) {
		const struct lower_value *v = lower_value_of(p, ir_operand(a->op, j));
		const char *type = kernel_ctype((enum ir_dtype)ir_operand_type(a->op, j)->dtype);
		if (v->buffer < 0)
			call = text_append(call, "NULL, ");
		else
			call = text_append(
				call, "(const %s *)(%s), ", type, step_address(scratch, p, v));
	}
	for (int r = 0; r < a->op->nresults; r++)
		call = text_append(call, "(%s *)(%s), ",
			kernel_ctype((enum ir_dtype)a->op->result[r].type->dtype),
			step_address(scratch, p, lower_value_of(p, &a->op->result[r])));
	if (a->scratch >= 0)
		call = text_append(call, "m + %" PRIu64, p->buffer[a->scratch].offset);
	else
		call = text_append(call, "NULL");
	for (int i = 0; i < h->args[a->kernel].n; i++)
		call = text_append(call, ", %s",
			kernel_arg_text(scratch, p->module, &h->args[a->kernel].at[i], "c->coord"));
	step_line(w, "%s);", call);
	talloc_free(scratch);
}

static void
write_copy(struct step_writer *w, const struct lower_action *a)
{
	void *scratch = alloc_scratch(NULL);
	const char *tab = "";
	char *src, *dst;

	step_copy_sides(scratch, w->p, a, &src, &dst);
	if (a->copy.outer > 1) {
		step_line(w, "for (int64_t i = 0; i < %" PRId64 "; i++)", a->copy.outer);
		tab = "\t";
		src = text_append(src, " + i * %" PRIu64, a->copy.src_stride);
		dst = text_append(dst, " + i * %" PRIu64, a->copy.dst_stride);
	}
	step_line(w, "%smemcpy(%s, %s, %" PRIu64 ");", tab, dst, src, a->copy.bytes);
	talloc_free(scratch);
}

/* Sums over time: the first iteration writes, the others add. */
static void
write_add(struct step_writer *w, const struct lower_action *a)
{
	const struct host *h = w->data;
	const struct lower_plan *p = w->p;
	void *scratch = alloc_scratch(NULL);
	const struct ir_type *t = p->value[a->src].value->type;
	const char *type = kernel_ctype((enum ir_dtype)t->dtype),
		   *name = ir_dtype_name((enum ir_dtype)t->dtype);

	step_line(w, "%sadd_%s((%s *)(%s), (const %s *)(%s), %" PRId64 ", %s);", h->prefix, name,
		type, step_address(scratch, p, &p->value[a->dst]), type,
		step_address(scratch, p, &p->value[a->src]), ir_type_local_elements(p->module, t),
		step_is_first(scratch, p, a));
	talloc_free(scratch);
}

static bool
write_step(struct host *h, const struct lower_options *o)
{
	h->step = lower_open(h->p->module->ctx->diag, h->folder, "step.c");
	if (!h->step)
		return false;
	fprintf(h->step,
		"/* One training step of module @%s, and the tables that the runtime needs. */\n",
		h->p->module->name ? h->p->module->name : "main");
	fprintf(h->step, "#include \"kernels.h\"\n\n");
	struct step_writer w = {.out = h->step,
		.p = h->p,
		.prefix = h->prefix,
		.timer = "rt_kernel",
		.kernel = write_call,
		.copy = write_copy,
		.add = write_add,
		.data = h};
	step_write(&w);
	if (o->entry)
		fprintf(h->step, "extern const struct rt_program %s;\n", o->entry);
	tables_write(h->step, h->p, o->entry ? o->entry : "dopt_program", h->prefix, o);
	if (!o->entry)
		fprintf(h->step, "\nint\nmain(int argc, char **argv)\n{\n\treturn "
				 "rt_main(&dopt_program, &rt_device_host, argc, argv);\n}\n");
	return lower_close(h->p->module->ctx->diag, h->folder, "step.c", h->step);
}

bool
host_write(
	const struct lower_plan *p, const struct lower_options *o, const char *folder, int *nfiles)
{
	struct host h = {.p = p, .folder = folder};

	h.prefix = o->entry ? TEXT(p, "%s_", o->entry) : "";
	h.function = ARRAY_NEW(p, struct function, (size_t)p->nkernels + 1);
	h.function_of = ARRAY_NEW(p, int, (size_t)p->nkernels + 1);
	h.args = ARRAY_NEW(p, struct kernel_args, (size_t)p->nkernels + 1);
	const bool ok = write_kernels(&h) && write_step(&h, o);
	*nfiles = h.nfiles;
	return ok;
}
