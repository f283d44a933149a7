/*
 * A warning about params that are trained from zeros because they have no `init`. The gradients of
 * all columns of a matrix of zeros are equal, so training silently keeps the columns equal. A bias
 * may start as zeros: dims of size 1 are not counted.
 */
#include "passes/tools/dopt/driver.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

enum { NAMES_SHOWN = 3 };

static bool
is_matrix(const struct ir_type *t)
{
	int dims = 0;

	for (int d = 0; d < t->rank; d++)
		dims += t->dim[d] > 1;
	return dims >= 2;
}

static bool
is_trained(const struct ir_value *v)
{
	IR_FOR_USES (u, v)
		if (u->op->code == OP_update && ir_operand(u->op, 0) == v)
			return true;
	return false;
}

/* Of StableHLO: arguments of a function have no `init`, and moments of optimizers are params, too. */
static bool
is_imported(const struct diag *d, struct ir_loc loc)
{
	const char *file = NULL, *suffix;
	unsigned line, column;

	return diag_place(d, loc, &file, &line, &column) && (suffix = strrchr(file, '.')) &&
	       strcmp(suffix, ".mlir") == 0;
}

void
driver_warn_zeros(struct driver *t, const struct ir_module *m)
{
	const struct ir_op *first = NULL;
	char *names = text_copy(NULL, "");
	int n = 0;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		if (op->code != OP_param || ir_attr_find(op, "init") ||
			!is_matrix(op->result[0].type) || !is_trained(&op->result[0]))
			continue;
		if (!n++)
			first = op;
		if (n <= NAMES_SHOWN)
			names = text_append(names, "%s%s", n > 1 ? ", " : "", op->symbol);
	}
	if (n && is_imported(t->ctx->diag, first->loc))
		diag_note(t->ctx->diag, LOC_NONE,
			"the text has no initial values: -load of the program, or -initial, reads those "
			"that from_jax.export has written; else all params start as zeros");
	else if (n)
		diag_report(t->ctx->diag, DIAG_WARNING, first->loc,
			"%d trained param%s without init start%s as zeros, and training cannot tell "
			"their elements apart: %s%s; give an init such as \"xavier\", or values with "
			"-load of the program",
			n, n > 1 ? "s" : "", n > 1 ? "" : "s", names,
			n > NAMES_SHOWN ? ", ..." : "");
	talloc_free(names);
}
