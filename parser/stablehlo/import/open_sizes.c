/*
 * Sizes that a text leaves open: arguments of type tensor<?x64xf32>. JAX exports them for symbolic
 * dimensions and names these in its first check,
 *
 *     shape_assertion ... "Using the following polymorphic shapes specifications: args[1].shape = (b, 64), ..."
 *
 * where each dim that is not a number stands for one `?`, in order. Without it they are d0, d1 ...
 */
#include "ir/base/alloc.h"
#include "ir/base/suggest.h"
#include "parser/stablehlo/import/import.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

static int
count_open(const struct mlir_type *t)
{
	int n = 0;

	for (int d = 0; d < t->rank && t->kind == MLIR_TENSOR; d++)
		n += t->dim[d] == MLIR_DYNAMIC;
	return n;
}

/* The text after "specifications: " in the first check, or NULL. */
static const char *
find_specification(const struct import *im, const struct mlir_block *b)
{
	static const char before[] = "polymorphic shapes specifications: ";
	const char *custom = ir_name(im->file->ctx, "stablehlo.custom_call");

	for (const struct mlir_op *op = b->first; op; op = op->next) {
		const struct mlir_attr *a =
			op->name == custom ? mlir_attr_find(op, "error_message") : NULL;
		const char *found = a && a->kind == MLIR_STRING ? strstr(a->s, before) : NULL;
		if (found)
			return found + strlen(before);
	}
	return NULL;
}

/* Appends the dims of "args[1].shape = (b, 64), args[2].shape = (b,). ..." that are not numbers. */
static void
read_specification(struct import *im, const char *s)
{
	while (s && !strncmp(s, "args", 4) && (s = strchr(s, '(')) != NULL) {
		while (*s && *s != ')') {
			s += 1 + strspn(s + 1, " ");
			const size_t n = strcspn(s, ",)");
			if (n && strspn(s, "0123456789") < n)
				VEC_PUSH(im->missing, &im->open_name,
					ir_name_n(im->module->ctx, s, n));
			s += n;
		}
		s += *s == ')';
		s += strspn(s, ", ");
	}
}

void
import_open_sizes(struct import *im, const struct mlir_block *b)
{
	int n = 0;

	for (uint32_t i = 0; i < b->nargs; i++)
		n += count_open(b->arg[i].type);
	if (!n)
		return;
	read_specification(im, find_specification(im, b));
	bool alike = im->open_name.n > 0;
	for (int64_t i = 1; i < im->open_name.n; i++)
		alike = alike && im->open_name.at[i] == im->open_name.at[0];
	if (im->open_name.n != n && !alike) /* unused arguments may have been removed */
		im->open_name.n = 0;
	for (int i = (int)im->open_name.n; i < n; i++) {
		char *name = TEXT(NULL, "d%d", i);
		VEC_PUSH(im->missing, &im->open_name,
			alike ? im->open_name.at[0] : ir_name(im->module->ctx, name));
		talloc_free(name);
	}
}

/* The value of "b" or "2*b"; 0 after an error. */
static int64_t
value_of(struct import *im, const struct mlir_op *func, uint32_t argument, const char *size)
{
	char *end;
	const int64_t times = isdigit((unsigned char)*size) ? strtoll(size, &end, 10) : 1;
	const char *name = isdigit((unsigned char)*size) ? end + strspn(end, "* ") : size;

	for (int i = 0; i < im->options->nsizes; i++) {
		const struct import_size *s = &im->options->size[i];
		if (strcmp(s->name, name))
			continue;
		im->options->used[i] = true;
		if (s->value > 0)
			return times * s->value;
	}
	const char *text = func->region[0].arg[argument].type->text;
	if (name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789")])
		import_unsupported_form(
			im, func, "the size %s of argument %" PRIu32, size, argument);
	else
		import_error(im, func,
			"argument %" PRIu32 ", %s, has an open size; set it with -D %s=64",
			argument, text, name);
	return 0;
}

const struct mlir_type *
import_sized(struct import *im, const struct mlir_op *func, uint32_t argument)
{
	const struct mlir_type *t = func->region[0].arg[argument].type;
	int64_t dim[IR_MAX_RANK];
	int64_t at = 0;

	if (!count_open(t) || t->rank > IR_MAX_RANK || t->dtype < 0)
		return t;
	for (uint32_t i = 0; i < argument; i++)
		at += count_open(func->region[0].arg[i].type);
	for (int d = 0; d < t->rank; d++) {
		dim[d] = t->dim[d];
		if (dim[d] == MLIR_DYNAMIC)
			dim[d] = value_of(im, func, argument, im->open_name.at[at++]);
		if (!dim[d] && t->dim[d])
			return NULL;
	}
	return import_local_type(im, (enum ir_dtype)t->dtype, t->rank, dim);
}
