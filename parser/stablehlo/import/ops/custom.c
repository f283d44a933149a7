/* custom_call: targets with a known meaning. */
#include "ir/base/number.h"
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"
#include "parser/stablehlo/import/sum/lapack.h"
#include "parser/stablehlo/spmd/spmd.h"

#include <string.h>

/* A callback into Python that only prints: the step does not depend on it. */
static bool
import_callback(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	for (uint32_t i = 0; i < op->nresults; i++)
		if (op->result[i].type->kind != MLIR_OTHER)
			return import_unsupported(im, op,
				"a callback into Python that returns numbers (jax.pure_callback, "
				"io_callback)");
	for (uint32_t i = 0; i < op->nresults; i++)
		out[i] = (struct import_value){.type = op->result[i].type};
	diag_report(im->diag, DIAG_WARNING, op->loc,
		"this callback into Python (jax.debug.print, jax.debug.callback) is left out");
	(void)in;
	return true;
}

/* Checks of sizes in an export are already made when it is read. */
static bool
import_shape_assertion(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *message = mlir_attr_find(op, "error_message");
	int64_t holds;

	(void)out;
	if (import_known_ints(im, &in[0], &holds, 1) != 1)
		return import_unsupported(im, op, "a condition that depends on data");
	return holds || import_error(im, op, "the sizes do not fit: %s",
				message && message->kind == MLIR_STRING ? message->s : "");
}

static const struct target {
	const char *name;
	import_function *function;
	int operands, results; /* -1: any number */
} targets[] = {
	{"check.expect_eq", import_expect_eq, 2, 0},
	{"check.expect_almost_eq", import_expect_almost, 2, 0},
	{"check.expect_close", import_expect_close, 2, 0},
	{"shape_assertion", import_shape_assertion, -1, 0},
	{"ApproxTopK", import_approx_top_k, 4, 2},
	{"TopK", import_top_k, 1, 2},
	{"mhlo.topk", import_top_k, 1, 2},
	{"xla_python_cpu_callback", import_callback, -1, -1},
	{"xla_ffi_python_cpu_callback", import_callback, -1, -1},
	{"xla_python_gpu_callback", import_callback, -1, -1},
	{"xla_ffi_python_gpu_callback", import_callback, -1, -1},
	{"xla_ffi_partitioned_python_cpu_callback", import_callback, -1, -1},
	{"xla_ffi_partitioned_python_gpu_callback", import_callback, -1, -1},
	{"lapack_?potrf_ffi", import_lapack_cholesky, 1, 2},
	{"lapack_?trsm_ffi", import_lapack_solve, 2, 1},
	{"lapack_?getrf_ffi", import_lapack_lu, 1, 3},
	{"lapack_?geqrf_ffi", import_lapack_qr, 1, 2},
	{"lapack_?orgqr_ffi", import_lapack_q, 2, 1},
	{"lapack_?syevd_ffi", import_lapack_eigh, 1, 3},
	{"lapack_?gesdd_ffi", import_lapack_svd, 1, 5},
};

/* Targets that are not translated, and what to write instead. */
static const struct {
	const char *name, *way_out;
} refused[] = {
	{"lapack_?gees_ffi", "a Schur decomposition (jax.scipy.linalg.schur, sqrtm); for a "
			     "symmetric matrix use jnp.linalg.eigh"},
	{"lapack_?geqp3_ffi", "a QR factorization with pivots; jnp.linalg.qr has none"},
	{"lapack_?gehrd_ffi", "a Hessenberg form (jax.scipy.linalg.hessenberg)"},
	{"lapack_?sytrd_ffi", "a tridiagonal form (lax.linalg.tridiagonal); jnp.linalg.eigh "
			      "gives eigenvalues"},
	{"lapack_?gtsv_ffi", "a tridiagonal system (lax.linalg.tridiagonal_solve); a matrix of "
			     "jnp.diag and jnp.linalg.solve is translated, and so is a lax.scan"},
};

/* `?` in a target stands for LAPACK's letter of the element type. */
static bool
is_target(const char *name, const char *text)
{
	while (*name && *text && (*name == *text || (*name == '?' && strchr("sd", *text))))
		name++, text++;
	return !*name && !*text;
}

bool
import_custom_call(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, "call_target_name");

	if (!a || (a->kind != MLIR_STRING && a->kind != MLIR_SYMBOL))
		return import_error(im, op, "call_target_name must name the target");
	bool ok = false;
	if (spmd_custom_call(im, op, in, out, &ok))
		return ok;
	for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
		const struct target *t = &targets[i];
		if (!is_target(t->name, a->s))
			continue;
		if ((t->operands >= 0 && (int)op->noperands != t->operands) ||
			(t->results >= 0 && (int)op->nresults != t->results))
			return import_error(im, op, "@%s takes %d operand%s and has %d result%s",
				a->s, t->operands, number_plural(t->operands), t->results,
				number_plural(t->results));
		for (uint32_t k = 0; t->operands >= 0 && k < op->noperands; k++)
			if (in[k].type->kind != MLIR_TENSOR || !in[k].value)
				return import_error(im, op,
					"operand %u must be a tensor with elements, not %s", k + 1,
					in[k].type->text);
		return t->function(im, op, in, out);
	}
	for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
		if (is_target(refused[i].name, a->s))
			return import_unsupported(im, op, refused[i].way_out);
	return import_unsupported_form(im, op, "the target @%s is unknown", a->s);
}
