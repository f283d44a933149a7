/* A scheme as CUDA kernels: its segments one after the other. */
#include "ir/base/alloc.h"
#include "lower/cuda/text.h"
#include "lower/own.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/*
 * Places tensors for this target: values between launches are stored whole in scratch. Products are
 * never used block by block here, and row buffers are placed by the kernels that use them.
 */
static void
place_tensors(struct cuda_text *t)
{
	struct scheme *s = t->s;

	for (int i = 0; i < s->nsegments; i++)
		s->segment[i].block = 0;
	for (int i = 0; i < s->ntensors; i++) {
		struct scheme_tensor *x = &s->tensor[i];
		const bool whole = x->where == SCHEME_MEMORY && x->op >= 0 && x->alias < 0 &&
				   x->result < 0 && s->op[x->op].segment >= 0;
		x->scratch = whole ? t->scratch : -1;
		if (whole)
			cuda_scratch(t, kernel_ctype(x->dtype), cuda_printf(t, "m%d", i),
				scheme_room(x) * (int64_t)ir_dtype_bytes(x->dtype));
	}
}

char *
cuda_host_pointer(struct cuda_text *t, int tensor)
{
	const struct scheme_tensor *x = &t->s->tensor[scheme_root(t->s, tensor)];

	if (x->scratch >= 0 && x->where == SCHEME_MEMORY)
		return cuda_printf(t, "scratch + %" PRId64, x->scratch);
	return kernel_memory(&t->w, tensor);
}

static void
write_loops(struct cuda_text *t)
{
	const struct scheme_segment *g = t->g;
	bool reduces = false;

	for (int k = 0; k < g->nops; k++)
		reduces |= t->s->op[g->op[k]].red_set != 0;
	const struct scheme_op *first = &t->s->op[g->op[0]];
	if (first->scatter)
		cuda_scatter(t);
	else if (first->scan.found)
		cuda_scan(t);
	else if (!reduces)
		cuda_flat(t);
	else if (g->nstages == 1)
		cuda_reduce(t);
	else
		cuda_rows(t);
}

/* Results that share the memory of another result or of an operand. */
static void
copy_results(struct cuda_text *t)
{
	for (int r = 0; r < t->s->kernel->nresults; r++) {
		const int tensor = kernel_result(t->s, r);
		const struct scheme_tensor *x = &t->s->tensor[tensor];
		const char *from = cuda_host_pointer(t, tensor), *to = cuda_printf(t, "r%d", r);
		if (strcmp(from, to) != 0)
			fprintf(t->host, "\trt_cuda_copy(ctx, %s, %s, %" PRId64 ");\n", to, from,
				scheme_elements(x) * (int64_t)ir_dtype_bytes(x->dtype));
	}
}

/* Declares the pointers and numbers that a kernel uses, from its arguments. */
static void
write_names(struct cuda_text *t, FILE *out, const char *body)
{
	const struct ir_op *op = t->s->kernel;
	const char *restricted = t->in_place ? "" : "__restrict__ ";

	for (int j = 0; j < op->noperands; j++)
		if (cuda_has_word(body, cuda_printf(t, "a%d", j)))
			fprintf(out, "\tconst %s *const %sa%d = k.a%d;\n",
				kernel_ctype((enum ir_dtype)ir_operand_type(op, j)->dtype),
				restricted, j, j);
	for (int r = 0; r < op->nresults; r++)
		if (cuda_has_word(body, cuda_printf(t, "r%d", r)))
			fprintf(out, "\t%s *const %sr%d = k.r%d;\n",
				kernel_ctype((enum ir_dtype)op->result[r].type->dtype), restricted,
				r, r);
	for (int i = 0; i < t->npointers; i++)
		if (cuda_has_word(body, t->pointer[i].name))
			fprintf(out,
				"\t%s *const __restrict__ %s = (%s *)(k.scratch + %" PRId64 ");\n",
				t->pointer[i].type, t->pointer[i].name, t->pointer[i].type,
				t->pointer[i].offset);
	for (int i = 0; i < t->w.args->n; i++)
		if (cuda_has_word(body, cuda_printf(t, "s%d", i)))
			fprintf(out, "\tconst int64_t s%d = k.s%d;\n", i, i);
}

static void
write_kernels(struct cuda_text *t)
{
	const struct ir_op *op = t->s->kernel;
	FILE *out = t->src->kernels;

	fprintf(out, "struct %s_args {\n", t->name);
	for (int j = 0; j < op->noperands; j++)
		fprintf(out, "\tconst %s *a%d;\n",
			kernel_ctype((enum ir_dtype)ir_operand_type(op, j)->dtype), j);
	for (int r = 0; r < op->nresults; r++)
		fprintf(out, "\t%s *r%d;\n", kernel_ctype((enum ir_dtype)op->result[r].type->dtype),
			r);
	fprintf(out, "\tunsigned char *scratch;\n");
	for (int i = 0; i < t->w.args->n; i++)
		fprintf(out, "\tint64_t s%d;\n", i);
	fprintf(out, "};\n");
	for (int i = 0; i < t->nbodies; i++) {
		fprintf(out, "\nDOPT_KERNEL(%s_%d, %s_args, %d)\n{\n", t->name, i, t->name,
			t->body[i].threads);
		write_names(t, out, t->body[i].text);
		fputs(t->body[i].text, out);
		fputs("}\n", out);
		free(t->body[i].text);
	}
}

/* Keeps the kernel as part of a bundle, if the function's statements are its launch alone, in
 * blocks of the usual size that share no memory. */
static void
keep_single(struct cuda_text *t, const char *statements)
{
	static const char launch[] = "\trt_cuda_launch(";
	char *body = NULL;
	size_t size;

	t->src->single = (struct cuda_single){0};
	t->src->bodies = t->nbodies;
	if (t->nbodies != 1 || t->w.args->n || t->body[0].threads != CUDA_BLOCK ||
		strncmp(statements, launch, strlen(launch)) != 0 ||
		strcmp(strchr(statements, '\n'), "\n") != 0 ||
		strstr(t->body[0].text, "__shared__"))
		return;
	FILE *out = text_stream(&body, &size);
	write_names(t, out, t->body[0].text);
	cuda_write_part(out, t->body[0].text, "block", "blocks", false);
	fclose(out);
	t->src->single = (struct cuda_single){text_copy(t->src, body), t->grid};
	free(body);
}

/* The values of a member of the arguments: "{a0, a1}, ". */
static void
write_values(FILE *out, char which, int n, const char *behind)
{
	for (int i = 0; i < n; i++)
		fprintf(out, "%s%c%d", i ? ", " : "{", which, i);
	if (n)
		fprintf(out, "}%s", behind);
}

static void
write_args(struct cuda_text *t)
{
	const int nin = t->s->kernel->noperands, nout = t->s->kernel->nresults, n = t->w.args->n;
	FILE *out = t->src->host;

	fprintf(out, "\tconst struct {\n");
	if (nin)
		fprintf(out, "\t\tconst void *in[%d];\n", nin);
	fprintf(out, "\t\tvoid *out[%d];\n\t\tunsigned char *scratch;\n", nout);
	if (n)
		fprintf(out, "\t\tint64_t s[%d];\n", n);
	fprintf(out, "\t} args = {");
	write_values(out, 'a', nin, ", ");
	write_values(out, 'r', nout, ", ");
	fprintf(out, "scratch%s", n ? ", " : "");
	write_values(out, 's', n, "");
	fprintf(out, "};\n\n");
}

/* The function's head and the structure of arguments that its launches share. */
static void
write_host(struct cuda_text *t, const char *statements)
{
	const struct ir_op *op = t->s->kernel;
	FILE *out = t->src->host;

	fprintf(out, "static void\n%s(struct rt_ctx *ctx, ", t->name);
	for (int j = 0; j < op->noperands; j++)
		fprintf(out, "const void *a%d, ", j);
	for (int r = 0; r < op->nresults; r++)
		fprintf(out, "void *r%d, ", r);
	fprintf(out, "unsigned char *scratch");
	for (int i = 0; i < t->w.args->n; i++)
		fprintf(out, ", int64_t s%d", i);
	fprintf(out, ")\n{\n");
	if (t->nbodies) {
		write_args(t);
	} else if (!strstr(statements, "scratch")) {
		fprintf(out, "\t(void)scratch;\n");
	}
	fputs(statements, out);
	fprintf(out, "}\n\n");
}

/* A dynamic_update_slice in place: the slice alone. */
static bool
write_slice(struct cuda_text *t)
{
	struct scheme_slice x;

	if (!scheme_slice(t->s, &x))
		return false;
	const int64_t block = x.size * x.inner, n = x.outer * block;
	cuda_open(t);
	kernel_line(&t->w,
		"const int64_t from = a2[0] < 0 ? 0 : a2[0] > %" PRId64 " ? %" PRId64
		" : (int64_t)a2[0];",
		x.n - x.size, x.n - x.size);
	cuda_open_threads(t, n);
	kernel_line(&t->w,
		"r0[((int64_t)(at / %" PRId64 ") * %" PRId64 " + from) * %" PRId64
		" + at %% %" PRId64 "] = a1[at];",
		block, x.n, x.inner, block);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK,
		cuda_divide_up(n, CUDA_BLOCK) < CUDA_GRID ? cuda_divide_up(n, CUDA_BLOCK)
							  : CUDA_GRID);
	return true;
}

uint64_t
cuda_kernel_write(struct cuda_sources *src, struct scheme *s, const char *name, bool in_place,
	bool aligned, struct kernel_args *args)
{
	struct cuda_text t = {.w = {.s = s, .args = args, .scratch = alloc_scratch(src)},
		.src = src,
		.s = s,
		.name = name,
		.in_place = in_place,
		.aligned = aligned};
	char *statements = NULL;
	size_t size = 0;

	*args = (struct kernel_args){0};
	t.host = text_stream(&statements, &size);
	place_tensors(&t);
	const bool slice = in_place && write_slice(&t);
	for (int i = 0; i < s->nsegments && !slice;) {
		t.g = &s->segment[i];
		t.waits = t.g->kind == SCHEME_LOOPS && !t.g->library && !s->op[t.g->op[0]].scatter;
		if (!t.waits)
			cuda_launch(&t);
		if (t.g->kind == SCHEME_GEMM) {
			i += cuda_gemm(&t, i);
			continue;
		}
		if (t.g->kind == SCHEME_OWN)
			own_cuda(&t);
		else if (t.g->kind == SCHEME_STREAM)
			cuda_stream(&t);
		else if (!cuda_conv(&t))
			write_loops(&t);
		i++;
	}
	cuda_launch(&t);
	if (!slice)
		copy_results(&t);
	fclose(t.host);
	keep_single(&t, statements);
	write_kernels(&t);
	write_host(&t, statements);
	free(statements);
	talloc_free(t.w.scratch);
	return (uint64_t)t.scratch;
}

struct scheme *
cuda_scheme(struct cuda_sources *src, const struct ir_module *m, struct arena *a,
	const struct ir_op *op)
{
	return scheme_of_device(src, m, a, op,
		(struct scheme_device){src->target->threads, src->target->online, src->target->rows,
			src->target->pitch});
}

/* By writing the kernels to a discarded stream: scratch and launches are decided while a kernel is
 * written. */
struct storage_code
cuda_kernel_code(const struct storage_target *t, const struct ir_module *m, struct arena *a,
	const struct ir_op *op, bool in_place)
{
	struct cuda_sources *src = NEW(NULL, struct cuda_sources);
	struct kernel_args args;
	char *text[2] = {NULL, NULL};
	size_t size[2];
	struct storage_code code = {0};

	src->target = t;
	struct scheme *s = cuda_scheme(src, m, a, op);
	src->kernels = text_stream(&text[0], &size[0]);
	src->host = text_stream(&text[1], &size[1]);
	if (s) {
		code.scratch = cuda_kernel_write(src, s, "k", in_place, true, &args);
		code.launches = src->bodies;
		if (src->single.body && src->single.grid <= INT32_MAX)
			code.blocks = (int32_t)src->single.grid;
	}
	fclose(src->kernels);
	fclose(src->host);
	free(text[0]);
	free(text[1]);
	talloc_free(src);
	return code;
}
