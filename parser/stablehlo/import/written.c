/*
 * Arguments and results of a text that -emit=stablehlo wrote have attributes with their origin:
 *
 *     %arg2: tensor<6x3xf32> {dopt.param = {init = "he", seed = 2 : i64}, ...}
 *
 * dopt.input, dopt.param, dopt.state or dopt.output, with the attributes of that op. So reading it
 * again gives the same names, initial values and shapes of files.
 */
#include "ir/ops/row.h"
#include "parser/stablehlo/import/block.h"

#include <string.h>

/* A list of integers. */
static struct ir_attr
read_sizes(struct import *im, const char *key, const struct mlir_attr *list)
{
	int64_t size[IR_MAX_RANK];
	int n = 0;

	for (uint32_t i = 0; i < list->n && n < IR_MAX_RANK; i++)
		if (list->item[i].kind == MLIR_INT)
			size[n++] = list->item[i].i;
	return ir_make_ints(im->module, key, size, n);
}

/* Attributes that the op has and that are of its type; others are left out, as is the shape of a
 * value of that type if replicas hold parts of it, which have a dim of their own now. */
static int
read_attrs(struct import *im, enum op_code code, const struct mlir_attr *dict,
	const struct ir_type *type, struct ir_attr *attr)
{
	struct ir_context *ctx = im->module->ctx;
	int n = 0;

	for (uint32_t i = 0; i < dict->n && n < ROW_MAX_ATTRS; i++) {
		const struct mlir_attr *a = &dict->item[i];
		const struct row_attr *row =
			a->name ? row_attr_find(&ctx->row[code], a->name) : NULL;
		if (!row)
			continue;
		if (row->type == ROW_INT && a->kind == MLIR_INT)
			attr[n++] = ir_make_int(ctx, row->key, a->i);
		else if (row->type == ROW_FLOAT && a->kind == MLIR_FLOAT)
			attr[n++] = ir_make_float(ctx, row->key, a->f);
		else if (row->type == ROW_STRING && a->kind == MLIR_STRING)
			attr[n++] = ir_make_string(ctx, row->key, a->s);
		else if (row->type == ROW_SIZES && a->kind == MLIR_LIST && type && type->rank == 1)
			attr[n++] = read_sizes(im, row->key, a);
	}
	return n;
}

int
import_written(struct import *im, const struct mlir_attr *of, uint32_t n,
	const struct ir_type *type, struct ir_attr *attr, int *nattrs)
{
	static const struct {
		const char *key;
		enum op_code code;
	} kinds[] = {{"dopt.input", OP_input}, {"dopt.param", OP_param}, {"dopt.state", OP_state},
		{"dopt.output", OP_output}};

	*nattrs = 0;
	for (uint32_t i = 0; i < n; i++) {
		const struct mlir_attr *a = &of[i];
		for (size_t k = 0; a->name && k < sizeof kinds / sizeof *kinds; k++) {
			if (strcmp(a->name, kinds[k].key) != 0 || a->kind != MLIR_DICT)
				continue;
			*nattrs = read_attrs(im, kinds[k].code, a, type, attr);
			return kinds[k].code;
		}
	}
	return -1;
}
