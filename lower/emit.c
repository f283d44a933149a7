/* lower_emit_program: plan, check, sources, compiler. And single kernels, for the op profiler. */
#include "ir/base/alloc.h"
#include "lower/build.h"
#include "lower/cuda/cuda.h"
#include "lower/host/host.h"
#include "lower/job.h"
#include "lower/text/kernel.h"
#include "lower/lower.h"

#include <inttypes.h>
#include <talloc.h>

/*
 * Compiles kernels_0.c ... in parallel, then links. The step function is long and only contains
 * calls: optimizing it takes time and gains nothing.
 */
static bool
build_host(struct job *j, const struct lower_options *o, int nfiles)
{
	void *scratch = alloc_scratch(NULL);
	const char *cc = lower_compile_command(scratch), *flags = o->cflags ? o->cflags : "";
	char *command = TEXT(scratch, "{ %s -O0 %s -c step.c & p=$!; ok=0", cc, flags);

	if (nfiles)
		command = text_append(command,
			"; seq 0 %d | xargs -P \"$(nproc)\" -I{} %s %s -c kernels_{}.c || ok=1",
			nfiles - 1, cc, flags);
	command = text_append(command, "; wait $p || ok=1; test $ok = 0; }");
	bool ok = job_run(j, command, o->verbose);
	command = TEXT(scratch, "%s -o " LOWER_PROGRAM " step.o", cc);
	for (int i = 0; i < nfiles; i++)
		command = text_append(command, " kernels_%d.o", i);
	command = text_append(command, " %s", lower_link_flags(scratch));
	ok = ok && job_run(j, command, o->verbose);
	talloc_free(scratch);
	return ok;
}

/* The files that a target writes into a folder: sources, and the properties that their build
 * needs. */
struct sources {
	int nfiles;     /* of the host's kernels */
	bool convolves; /* cuda: uses cuDNN */
};

static bool
write_sources(const struct lower_plan *p, const struct lower_options *o, const char *folder,
	struct sources *s)
{
	return o->target == LOWER_CUDA ? cuda_write(p, o, folder, &s->convolves)
				       : host_write(p, o, folder, &s->nfiles);
}

static bool
build(struct job *j, struct diag *d, const struct lower_options *o, const struct sources *s)
{
	return o->target == LOWER_CUDA ? cuda_build(j, d, o, s->convolves)
				       : build_host(j, o, s->nfiles);
}

/* Publishes sources alone: the caller builds them there. */
static bool
emit_sources(const struct lower_plan *p, const struct lower_options *o)
{
	char *folder = TEXT(p, "%s.src", o->output);
	struct sources s = {0};

	return lower_make_dir(p->module->ctx->diag, folder) && write_sources(p, o, folder, &s);
}

/* Keeps sources that do not compile, so that the user can see why. */
static bool
emit_program(const struct lower_plan *p, const struct lower_options *o)
{
	struct diag *d = p->module->ctx->diag;
	struct sources s = {0};
	struct job *j =
		job_can_publish(d, o->output) ? job_create(p, d, job_sources(p, o->output)) : NULL;

	if (!j || !write_sources(p, o, job_folder(j), &s))
		return false;
	const bool built = build(j, d, o, &s);
	return job_publish(j, d, built ? LOWER_PROGRAM : NULL, o->output) && built;
}

const struct storage_target *
lower_storage_target(enum lower_target t)
{
	return t == LOWER_CUDA ? &cuda_storage : &storage_host;
}

struct storage_libraries
lower_libraries(enum lower_target t, const struct cluster *c)
{
	return t == LOWER_CUDA && c ? cuda_libraries(c) : (struct storage_libraries){0};
}

bool
lower_emit_program(const struct ir_module *m, const struct lower_options *o)
{
	struct lower_plan *p = lower_plan_create_for(
		NULL, m, o->storage ? o->storage : lower_storage_target(o->target));

	if (!p)
		return false;
	bool ok = lower_check(p);
	if (ok)
		ok = o->sources_only || o->entry ? emit_sources(p, o) : emit_program(p, o);
	talloc_free(p);
	return ok;
}

/* The wrapper around a kernel that takes arrays of pointers. */
static void
write_wrapper(FILE *out, const struct ir_module *m, const struct ir_op *op, const char *name,
	const struct kernel_args *args)
{
	fprintf(out,
		"\nvoid\n%s(void *const *operand, void *const *result, void "
		"*scratch, const int64_t *coord)\n{\n",
		name);
	fprintf(out, "\t(void)operand, (void)coord;\n\t%s_kernel(", name);
	for (int j = 0; j < op->noperands; j++)
		fprintf(out, "(const %s *)operand[%d], ",
			kernel_ctype((enum ir_dtype)ir_operand_type(op, j)->dtype), j);
	for (int r = 0; r < op->nresults; r++)
		fprintf(out, "(%s *)result[%d], ",
			kernel_ctype((enum ir_dtype)op->result[r].type->dtype), r);
	fprintf(out, "(unsigned char *)scratch");
	void *owner = alloc_scratch(NULL);
	for (int i = 0; i < args->n; i++)
		fprintf(out, ", %s", kernel_arg_text(owner, m, &args->at[i], "coord"));
	talloc_free(owner);
	fprintf(out, ");\n}\n");
}

bool
lower_kernel_source(const struct ir_module *m, const struct ir_op *op,
	const struct storage_target *target, const char *name, bool in_place, FILE *out,
	uint64_t *scratch_bytes)
{
	if (op_is(op,
		    TRAIT_EFFECT | TRAIT_TERMINATOR | TRAIT_NAMED | TRAIT_PARALLEL | TRAIT_COPY) ||
		op->code == OP_reshape || op->code == OP_barrier)
		return false;
	void *owner = alloc_scratch(NULL);
	struct scheme *s = target->scheme(owner, m, arena_create(owner), op);
	if (s) {
		struct kernel_args args;
		char *inner = TEXT(owner, "%s_kernel", name);
		fprintf(out, "#include \"runtime/kernel/kernel.h\"\n\n");
		kernel_write(out, NULL, s, inner, in_place, &args);
		write_wrapper(out, m, op, name, &args);
		*scratch_bytes = (uint64_t)s->scratch_bytes;
	}
	talloc_free(owner);
	return s != NULL;
}
