/* Single kernels of the cuda target, outside a step. */
#include "lower/cuda/alone.h"

#include "ir/base/alloc.h"
#include "lower/build.h"
#include "lower/cuda/cuda.h"
#include "lower/cuda/kernel.h"

#include <inttypes.h>
#include <talloc.h>

/* The function that takes operands and results as arrays. */
static void
write_call(FILE *out, const struct lower_plan *p, const struct ir_op *op, int k,
	const struct kernel_args *args)
{
	fprintf(out,
		"static void\ncall_%d(struct rt_ctx *c, void *const *operand, void "
		"*const *result, void *scratch)\n{\n\tk_%s_%d(c, ",
		k, op_name((enum op_code)op->code), k);
	for (int j = 0; j < op->noperands; j++)
		fprintf(out, "operand[%d], ", j);
	for (int r = 0; r < op->nresults; r++)
		fprintf(out, "result[%d], ", r);
	fprintf(out, "scratch");
	void *owner = alloc_scratch(NULL);
	for (int i = 0; i < args->n; i++)
		fprintf(out, ", %s", kernel_arg_text(owner, p->module, &args->at[i], "c->coord"));
	talloc_free(owner);
	fprintf(out, ");\n}\n\n");
}

bool
cuda_alone_write(const struct lower_plan *p, const struct ir_op *const *op, int n,
	const char *folder, FILE *out, uint64_t *scratch, bool *convolves)
{
	struct diag *d = p->module->ctx->diag;
	struct cuda_sources *src = NEW(p, struct cuda_sources);

	src->host = out;
	src->kernels = lower_open(d, folder, "kernels.cu");
	if (!src->kernels)
		return false;
	cuda_write_head(src->kernels, p->module);
	src->target = p->storage->target;
	for (int k = 0; k < n; k++) {
		struct kernel_args args;
		struct scheme *s = cuda_scheme(src, p->module, p->arena, op[k]);
		char *name = TEXT(src, "k_%s_%d", op_name((enum op_code)op[k]->code), k);
		scratch[k] = cuda_kernel_write(src, s, name, false, true, &args);
		write_call(out, p, op[k], k, &args);
	}
	cuda_write_tables(out, src, "");
	cuda_write_image(out);
	fprintf(out, "static const struct rt_cuda_program cuda = {\n");
	cuda_write_program(out, src, "");
	fprintf(out, "};\n\n");
	*convolves = src->nconvs > 0;
	return lower_close(d, folder, "kernels.cu", src->kernels);
}
