/* Finding attributes in the tree. */
#include "parser/stablehlo/mlir/mlir.h"

#include <string.h>

static const struct mlir_attr *
find(const struct mlir_attr *a, uint32_t n, const char *name)
{
	for (uint32_t i = 0; i < n; i++)
		if (a[i].name && (a[i].name == name || !strcmp(a[i].name, name)))
			return &a[i];
	return NULL;
}

const struct mlir_attr *
mlir_attr_find(const struct mlir_op *op, const char *name)
{
	return find(op->attr, op->nattrs, name);
}

const struct mlir_attr *
mlir_item_find(const struct mlir_attr *dict, const char *name)
{
	return dict->kind == MLIR_DICT ? find(dict->item, dict->n, name) : NULL;
}

static int
list_ints(const struct mlir_attr *a, int64_t *out, int max)
{
	if (a->n > (uint32_t)max)
		return -1;
	for (uint32_t i = 0; i < a->n; i++) {
		if (a->item[i].kind != MLIR_INT && a->item[i].kind != MLIR_BOOL)
			return -1;
		out[i] = a->item[i].i;
	}
	return (int)a->n;
}

static int
dense_ints(const struct mlir_dense *d, int64_t *out, int max)
{
	int64_t n = 1;

	if (d->is_float || d->complex || d->type->kind != MLIR_TENSOR)
		return -1;
	for (int i = 0; i < d->type->rank; i++)
		n = n > max || d->type->dim[i] < 0 ? INT32_MAX : n * d->type->dim[i];
	if (n > max || (!d->splat && d->n != n))
		return -1;
	for (int64_t i = 0; i < n; i++)
		out[i] = d->number[d->splat ? 0 : i].i;
	return (int)n;
}

int
mlir_attr_ints(const struct mlir_attr *a, int64_t *out, int max)
{
	if (a->kind == MLIR_LIST)
		return list_ints(a, out, max);
	return a->kind == MLIR_DENSE ? dense_ints(a->dense, out, max) : -1;
}
