/* Rows of the data set. This build has no reader of data files. */
#include "ir/interp_internal.h"

bool
interp_data_open(struct interp *it)
{
	diag_error(it->m->ctx->diag, LOC_NONE, "%s: data files cannot be read in this build", it->o.data);
	return false;
}

struct tensor *
interp_rows(const struct interp *it, const void *owner, const struct ir_op *op, const struct ir_type *type)
{
	(void)it, (void)owner, (void)op, (void)type;
	return NULL;
}
