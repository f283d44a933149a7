/*
 * The cuda target: kernels.cu with the kernels of all ops (equal ops share theirs), step.c with
 * their launches, the step function, the tables and main. step.c is plain C and holds the compiled
 * kernels as bytes.
 */
#include "lower/cuda/cuda.h"

#include "dopt_config.h"
#include "ir/base/alloc.h"
#include "ir/loops/pitch.h"
#include "lower/build.h"
#include "lower/cuda/bundle.h"
#include "lower/cuda/kernel.h"
#include "lower/plan/step.h"
#include "lower/plan/tables.h"
#include "lower/cuda/text.h"
#include "runtime/cuda/args.h"
#include "runtime/cuda/rt_cuda.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* One launch function; `key` identifies equal ops: the text of the host's kernel, with those
 * arguments. */
struct function {
	char *key;
	struct kernel_args args, key_args;
};

struct cuda {
	const struct lower_plan *p;
	const char *prefix; /* of all names */
	struct cuda_sources *src;
	struct function *function;
	struct cuda_part *part; /* by function: its name, and whether it can be in a bundle */
	struct cuda_bundles *bundles;
	int nbundles; /* written so far */
	int nfunctions;
	int *function_of;         /* by kernel */
	struct kernel_args *args; /* by kernel: of its key, in the key's order */
};

const struct storage_target cuda_storage = {.align = CUDA_SCRATCH_START,
	.code = cuda_kernel_code,
	.scheme = scheme_create,
	.workspace = {0, CUDA_WORKSPACE_MOST},
	.threads = true,
	.online = true,
	.parts = true,
	.addresses = true,
	.joins = true,
	.vectors = true,
	.registers = true,
	.pitch = true,
	.rows = CUDA_SHARED,
	.batch = INT32_MAX, /* cuBLASLt counts them in 32 bits */
	.bundles = {DOPT_BUNDLE_MOST, DOPT_BUNDLE_WORDS, CUDA_GROUPS},
	.outside_arena = RT_CUDA_WORKSPACE + RT_CUDA_ADDRESSES,
	.for_collectives = RT_CUDA_ROOM};

static bool
is_aligned(const struct lower_plan *p, const struct ir_value *v)
{
	const struct lower_value *x = lower_value_of(p, v);

	return x->buffer < 0 || !x->time || x->stride % 16 == 0;
}

/* Do all operands and results start at multiples of 16 bytes, in every slot? */
static bool
all_aligned(const struct lower_plan *p, const struct ir_op *op)
{
	bool aligned = true;

	for (int j = 0; j < op->noperands; j++)
		aligned &= is_aligned(p, ir_operand(op, j));
	for (int r = 0; r < op->nresults; r++)
		aligned &= is_aligned(p, &op->result[r]);
	return aligned;
}

/* How operands and results lie in memory: "aligned", and the length of each padded row. */
static char *
layout_of(const struct cuda *c, const struct ir_op *op)
{
	char *text = text_copy(c->p, all_aligned(c->p, op) ? "aligned" : "any");

	for (int j = 0; j < op->noperands + op->nresults && c->p->target->pitch; j++) {
		const int64_t row = pitch_row(c->p->module, ir_op_value(op, j));
		if (row)
			text = text_append(text, " %d: %" PRId64, j, row);
	}
	return text;
}

static char *
key_of(const struct cuda *c, const struct lower_action *a)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = text_stream(&text, &size);

	kernel_write(f, NULL, a->scheme, layout_of(c, a->op), a->in_place, &c->args[a->kernel]);
	fclose(f);
	char *copy = text_copy(c->p, text);
	free(text);
	return copy;
}

static void
write_kernel(struct cuda *c, const struct lower_action *a)
{
	char *key = key_of(c, a);

	for (int i = 0; i < c->nfunctions; i++) {
		if (strcmp(c->function[i].key, key) == 0) {
			c->function_of[a->kernel] = i;
			return;
		}
	}
	const int n = c->nfunctions++;
	struct function *f = &c->function[n];
	c->function_of[a->kernel] = n;
	f->key = key;
	f->key_args = c->args[a->kernel];
	char *name = TEXT(c->p, "%sk_%s_%d", c->prefix, op_name((enum op_code)a->op->code), n);
	char *text = tables_op_text(NULL, c->p, a->op);
	fprintf(c->src->kernels, "\n/* %s */\n", text);
	fprintf(c->src->host, "/* %s */\n", text);
	talloc_free(text);
	/* A separate scheme, since this target places values differently. */
	struct scheme *s = cuda_scheme(c->src, c->p->module, c->p->arena, a->op);
	const uint64_t scratch =
		cuda_kernel_write(c->src, s, name, a->in_place, all_aligned(c->p, a->op), &f->args);
	c->part[n] = (struct cuda_part){name, c->src->single};
	assert(scratch <= (a->scratch >= 0 ? c->p->buffer[a->scratch].bytes : 0));
	(void)scratch;
}

/* Argument i of the function for a kernel: ops with equal keys have different arguments, in the
 * same order. */
static const struct kernel_arg *
arg_of(const struct cuda *c, const struct lower_action *a, int i)
{
	const struct function *f = &c->function[c->function_of[a->kernel]];
	int j = 0;

	while (j < f->key_args.n && !kernel_arg_equal(&f->key_args.at[j], &f->args.at[i]))
		j++;
	assert(j < f->key_args.n && c->args[a->kernel].n == f->key_args.n);
	return &c->args[a->kernel].at[j];
}

/* The operands, results and scratch of a kernel: "m, m + 4096, NULL". */
static char *
pointers(const void *owner, const struct lower_plan *p, const struct lower_action *a)
{
	char *text = text_copy(owner, "");

	for (int j = 0; j < a->op->noperands; j++) {
		const struct lower_value *v = lower_value_of(p, ir_operand(a->op, j));
		text = text_append(
			text, "%s, ", v->buffer < 0 ? "NULL" : step_address(owner, p, v));
	}
	for (int r = 0; r < a->op->nresults; r++)
		text = text_append(
			text, "%s, ", step_address(owner, p, lower_value_of(p, &a->op->result[r])));
	return a->scratch >= 0 ? text_append(text, "m + %" PRIu64, p->buffer[a->scratch].offset)
			       : text_append(text, "NULL");
}

/* The arguments of all kernels of a bundle, and their launch. In a trace its time is that of the
 * last one. */
static void
write_bundle(struct step_writer *w, const struct cuda_bundle *b)
{
	const struct cuda *c = w->data;
	void *owner = alloc_scratch(NULL);
	char *end = text_copy(owner, ""), *at = end, *which = end, *word = end;
	int64_t blocks = 0;
	int words = 0;

	for (int i = 0; i < b->n; i++) {
		const struct lower_action *a = &w->p->action[b->action[i]];
		const int part = c->function_of[a->kernel];
		const char *comma = i ? ", " : "";
		blocks += c->part[part].single.grid;
		end = TEXT(owner, "%s%s%" PRId64, end, comma, blocks);
		at = TEXT(owner, "%s%s%d", at, comma, words);
		which = TEXT(owner, "%s%s%d", which, comma, part);
		word = TEXT(owner, "%s%s%s", word, i ? ",\n\t\t\t" : "", pointers(owner, w->p, a));
		words += storage_pointers(a->op);
		step_line(w, "rt_cuda_kernel_begin(c, %d);", a->kernel);
		if (i + 1 < b->n)
			step_line(w, "rt_cuda_kernel_end(c, %d);", a->kernel);
	}
	step_line(w, "{");
	step_line(w, "\tconst struct dopt_bundle args = {%d, {%s}, {%s}, {%s},", b->n, end, at,
		which);
	step_line(w, "\t\t{%s}};", word);
	step_line(
		w, "\trt_cuda_launch(c, %d, %" PRId64 ", &args, sizeof args);", b->launch, blocks);
	step_line(w, "}");
	step_line(w, "rt_cuda_kernel_end(c, %d);", w->p->action[b->action[b->n - 1]].kernel);
	talloc_free(owner);
}

/* Launches the bundle that must be complete before the action. The kernels of bundles are not
 * written where they are in the plan. */
static bool
before(struct step_writer *w, const struct lower_action *a)
{
	struct cuda *c = w->data;
	const int at = a ? (int)(a - w->p->action) : w->p->nactions;
	const struct cuda_bundle *next = &c->bundles->bundle[c->nbundles];

	if (c->nbundles < c->bundles->n && next->at == at) {
		fputc('\n', w->out);
		write_bundle(w, next);
		c->nbundles++;
	}
	return at == w->p->nactions || c->bundles->of[at] < 0;
}

static void
write_call(struct step_writer *w, const struct lower_action *a)
{
	const struct cuda *c = w->data;
	const int number = c->function_of[a->kernel];
	const struct function *f = &c->function[number];
	void *owner = alloc_scratch(NULL);
	char *call = TEXT(owner, "%s(c, %s", c->part[number].name, pointers(owner, w->p, a));

	for (int i = 0; i < f->args.n; i++)
		call = text_append(call, ", %s",
			kernel_arg_text(owner, w->p->module, arg_of(c, a, i), "c->coord"));
	step_line(w, "%s);", call);
	talloc_free(owner);
}

static void
write_copy(struct step_writer *w, const struct lower_action *a)
{
	void *owner = alloc_scratch(NULL);
	char *src, *dst;

	step_copy_sides(owner, w->p, a, &src, &dst);
	step_line(w,
		"rt_cuda_copy_blocks(c, %s, %" PRIu64 ", %s, %" PRIu64 ", %" PRIu64 ", %" PRId64
		");",
		dst, a->copy.dst_stride, src, a->copy.src_stride, a->copy.bytes, a->copy.outer);
	talloc_free(owner);
}

static void
write_add(struct step_writer *w, const struct lower_action *a)
{
	void *owner = alloc_scratch(NULL);
	const struct ir_type *t = w->p->value[a->src].value->type;

	step_line(w, "rt_cuda_add(c, RT_%s, %s, %s, %" PRId64 ", %s);",
		ir_dtype_name((enum ir_dtype)t->dtype),
		step_address(owner, w->p, &w->p->value[a->dst]),
		step_address(owner, w->p, &w->p->value[a->src]),
		ir_type_local_elements(w->p->module, t), step_is_first(owner, w->p, a));
	talloc_free(owner);
}

void
cuda_write_tables(FILE *out, const struct cuda_sources *src, const char *prefix)
{
	fprintf(out, "static const struct rt_cuda_kernel %slaunches[] = {\n", prefix);
	for (int i = 0; i < src->nlaunches; i++)
		fprintf(out, "\t{\"%s\", %d},\n", src->launch[i].name, src->launch[i].threads);
	fprintf(out, "\t{0}\n};\n\n");
	for (int i = 0; i < src->ngemms; i++)
		if (src->gemm[i].loops)
			fprintf(out, "static const struct rt_cuda_gemm_loop %sloops_%d[] = {%s};\n",
				prefix, i, src->gemm[i].loops);
	fprintf(out, "static const struct rt_cuda_gemm %sproducts[] = {\n", prefix);
	for (int i = 0; i < src->ngemms; i++) {
		if (src->gemm[i].loops)
			fprintf(out, "\t{%s, %sloops_%d", src->gemm[i].text, prefix, i);
		else
			fprintf(out, "\t{%s, NULL", src->gemm[i].text);
		if (src->gemm[i].candidate[0] || src->gemm[i].candidate[1])
			fprintf(out, ", {%d, %d}", src->gemm[i].candidate[0],
				src->gemm[i].candidate[1]);
		fprintf(out, "},\n");
	}
	fprintf(out, "\t{0}\n};\n\n");
	if (!src->nconvs)
		return;
	fprintf(out, "static const struct rt_cuda_conv %sconvs[] = {\n", prefix);
	for (int i = 0; i < src->nconvs; i++)
		fprintf(out, "\t{%s},\n", src->conv[i]);
	fprintf(out, "};\n\n");
}

void
cuda_write_image(FILE *out)
{
	fprintf(out, "/* The compiled kernels. */\n"
		     "__asm__(\".pushsection .rodata\\n\\t.balign "
		     "64\\ndopt_image:\\n\\t.incbin \\\"kernels.fatbin\\\"\\n"
		     "\\t.popsection\");\nextern const unsigned char dopt_image[];\n\n");
}

void
cuda_write_program(FILE *out, const struct cuda_sources *src, const char *prefix)
{
	fprintf(out,
		"\t\t.image = dopt_image,\n\t\t.nkernels = %d, .kernels = %slaunches,\n"
		"\t\t.ngemms = %d, .gemms = %sproducts,\n",
		src->nlaunches, prefix, src->ngemms, prefix);
	if (src->nconvs)
		fprintf(out,
			"\t\t.nconvs = %d, .convs = %sconvs, .conv_again = rt_cuda_conv_again,\n"
			"\t\t.close_convs = rt_cuda_close_convs,\n",
			src->nconvs, prefix);
}

/* main with the compiled kernels; with an entry, ENTRY_main without them: the caller that links it
 * provides dopt_image. */
static void
write_main(FILE *out, const struct cuda *c, const char *entry)
{
	if (entry) {
		fprintf(out,
			"extern const unsigned char dopt_image[] "
			"__attribute__((weak));\nint %s_main(int argc, char **argv);\n\n"
			"int\n%s_main(int argc, char **argv)\n",
			entry, entry);
	} else {
		cuda_write_image(out);
		fprintf(out, "int\nmain(int argc, char **argv)\n");
	}
	fprintf(out, "{\n\tconst struct rt_cuda_program cuda = {\n");
	cuda_write_program(out, c->src, c->prefix);
	fprintf(out, "\t};\n\n\treturn rt_cuda_main(&%s, &cuda, argc, argv);\n}\n",
		entry ? entry : "dopt_program");
}

static bool
write_step(struct cuda *c, const struct lower_options *o, const char *folder, const char *functions)
{
	FILE *out = lower_open(c->p->module->ctx->diag, folder, "step.c");

	if (!out)
		return false;
	fprintf(out,
		"/* One training step of module @%s on a CUDA device, and the "
		"tables that the runtime needs. */\n",
		c->p->module->name ? c->p->module->name : "main");
	fprintf(out, "#include \"runtime/cuda/args.h\"\n#include \"runtime/cuda/rt_cuda.h\"\n\n");
	fputs(functions, out);
	cuda_write_tables(out, c->src, c->prefix);
	struct step_writer w = {.out = out,
		.p = c->p,
		.prefix = c->prefix,
		.timer = "rt_cuda_kernel",
		.before = before,
		.kernel = write_call,
		.copy = write_copy,
		.add = write_add,
		.data = c};
	step_write(&w);
	if (o->entry)
		fprintf(out, "extern const struct rt_program %s;\n", o->entry);
	tables_write(out, c->p, o->entry ? o->entry : "dopt_program", c->prefix, o);
	fputc('\n', out);
	write_main(out, c, o->entry);
	return lower_close(c->p->module->ctx->diag, folder, "step.c", out);
}

void
cuda_write_head(FILE *kernels, const struct ir_module *m)
{
	fprintf(kernels,
		"/* Kernels of module @%s. a: operands, r: results, s: "
		"values that depend on the rank. */\n"
		"#include \"runtime/cuda/device.h\"\n#include \"runtime/cuda/order.h\"\n#include "
		"\"runtime/cuda/scatter.h\"\n#include \"runtime/cuda/support.h\"\n#include \"runtime/cuda/tile.h\"\n",
		m->name ? m->name : "main");
}

bool
cuda_write(const struct lower_plan *p, const struct lower_options *o, const char *folder,
	bool *convolves)
{
	struct cuda c = {.p = p, .src = NEW(p, struct cuda_sources)};
	char *functions = NULL;
	size_t size = 0;

	c.prefix = o->entry ? TEXT(p, "%s_", o->entry) : "";
	c.function = ARRAY_NEW(p, struct function, (size_t)p->nkernels + 1);
	c.part = ARRAY_NEW(p, struct cuda_part, (size_t)p->nkernels + 1);
	c.function_of = ARRAY_NEW(p, int, (size_t)p->nkernels + 1);
	c.args = ARRAY_NEW(p, struct kernel_args, (size_t)p->nkernels + 1);
	c.src->kernels = lower_open(p->module->ctx->diag, folder, "kernels.cu");
	if (!c.src->kernels)
		return false;
	c.src->target = p->storage->target;
	c.src->options = o;
	c.src->host = text_stream(&functions, &size);
	cuda_write_head(c.src->kernels, p->module);
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == LOWER_KERNEL)
			write_kernel(&c, &p->action[i]);
	fclose(c.src->host);
	c.bundles = cuda_bundles_create(p, p);
	cuda_bundles_write(c.bundles, c.src, p, c.part, c.nfunctions, c.function_of, c.prefix);
	const bool ok = lower_close(p->module->ctx->diag, folder, "kernels.cu", c.src->kernels) &&
			write_step(&c, o, folder, functions);
	free(functions);
	*convolves = c.src->nconvs > 0;
	return ok;
}

/* nvcc's options for "sm_90", or for several, of which the last is there for newer devices, too. */
static char *
arch_flags(const void *owner, const char *list)
{
	char *text = text_copy(owner, ""), *last = NULL;

	if (!strchr(list, ','))
		return TEXT(owner, "-arch=%s", lower_quote(owner, list));
	for (const char *at = list; *at;) {
		const size_t n = strcspn(at, ",");
		const char *number = !strncmp(at, "sm_", 3) ? at + 3 : at;
		last = lower_quote(owner, text_copy_n(owner, number, n - (size_t)(number - at)));
		text = text_append(text, " -gencode=arch=compute_%s,code=sm_%s", last, last);
		at += n + (at[n] == ',');
	}
	return last ? text_append(text, " -gencode=arch=compute_%s,code=compute_%s", last, last)
		    : text;
}

bool
cuda_build(struct job *j, struct diag *d, const struct lower_options *o, bool convolves)
{
	if (!*DOPT_NVCC) {
		diag_error(d, LOC_NONE,
			"this build of dopt has no CUDA runtime: nvcc with "
			"cuBLASLt and NCCL was not found");
		return false;
	}
	void *owner = alloc_scratch(NULL);
	const char *given = getenv("DOPT_CUDA_ARCH"), *flags = o->cflags ? o->cflags : "";
	const char *arch = o->arch ? o->arch : given && *given ? given : CUDA_ARCH;
	const char *cc = lower_compile_command(owner);
	char *command = TEXT(owner, "%s -O3 %s -I%s -fatbin -o kernels.fatbin kernels.cu",
		lower_quote(owner, DOPT_NVCC), arch_flags(owner, arch),
		lower_quote(owner, lower_include_dir(owner)));
	bool ok = job_run(j, command, o->verbose);

	/* Sums and scalar functions are in the kernels; this file only launches them, in functions of
	 * tens of thousands of calls, which compilers take minutes to optimize. */
	command = TEXT(owner, "%s -O0 %s -c step.c", cc, flags);
	ok = ok && job_run(j, command, o->verbose);
	command =
		TEXT(owner, "%s -o " LOWER_PROGRAM " step.o -L%s -ldopt_rt_cuda -ldopt_rt %s %s %s",
			cc, lower_quote(owner, lower_lib_dir(owner)),
			convolves ? DOPT_CUDNN_LIBS : "", DOPT_CUDA_LIBS, DOPT_RT_LIBS);
	ok = ok && job_run(j, command, o->verbose);
	talloc_free(owner);
	return ok;
}
