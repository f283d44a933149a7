/* A tree as generic text. */
#include "test/fuzz/mlir_print.h"

#include "parser/stablehlo/mlir/number.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

static void
print_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else if ((unsigned char)*s < ' ' || *s == 127)
			fprintf(out, "\\%02X", (unsigned char)*s);
		else
			fputc(*s, out);
	fputc('"', out);
}

/* In attributes, whose names may be any text. */
static void
print_key(FILE *out, const char *s)
{
	bool bare = isalpha((unsigned char)*s) || *s == '_';

	for (const char *c = s; *c; c++)
		bare = bare && (isalnum((unsigned char)*c) || strchr("_$.", *c));
	if (bare)
		fputs(s, out);
	else
		print_string(out, s);
}

/* @a::@b */
static void
print_symbol(FILE *out, const char *s)
{
	for (;;) {
		const char *end = strstr(s, "::");
		size_t n = end ? (size_t)(end - s) : strlen(s);
		fprintf(out, "@\"%.*s\"", (int)n, s);
		if (!end)
			return;
		fputs("::", out);
		s = end + 2;
	}
}

/* Infinity and NaN are printed as bits of the type; the payload of a NaN is lost. */
static void
print_float(FILE *out, double f, const char *element)
{
	const struct mlir_element e = mlir_element_of(element);
	uint64_t bits = (((uint64_t)1 << e.exponent) - 1) << e.mantissa;

	if (isfinite(f)) {
		fprintf(out, "%.17e", f);
		return;
	}
	const uint64_t sign = (uint64_t)1 << (e.exponent + e.mantissa);
	if (isnan(f) && e.special == SPECIAL_FNUZ)
		bits = sign;
	else if (isnan(f))
		bits |= e.special == SPECIAL_FN ? ((uint64_t)1 << e.mantissa) - 1
			: e.mantissa            ? (uint64_t)1 << (e.mantissa - 1)
						: 0;
	else if (signbit(f))
		bits |= sign;
	fprintf(out, "0x%0*" PRIX64, (int)(e.bits / 4), bits);
}

static void
print_number(FILE *out, const struct mlir_dense *d, union mlir_number n)
{
	bool boolean = !strcmp(d->type->element, "i1");

	if (d->is_float)
		print_float(out, n.f,
			!d->complex                       ? d->type->element
			: strstr(d->type->element, "f64") ? "f64"
							  : "f32");
	else if (boolean)
		fputs(n.i ? "true" : "false", out);
	else if (d->type->element[0] == 'u')
		fprintf(out, "%" PRIu64, (uint64_t)n.i);
	else
		fprintf(out, "%" PRId64, n.i);
}

static void
print_element(FILE *out, const struct mlir_dense *d, int64_t i)
{
	if (!d->complex) {
		print_number(out, d, d->number[i]);
		return;
	}
	fputc('(', out);
	print_number(out, d, d->number[2 * i]);
	fputs(", ", out);
	print_number(out, d, d->number[2 * i + 1]);
	fputc(')', out);
}

static void
print_dense_dim(FILE *out, const struct mlir_dense *d, int dim, int64_t *at)
{
	if (dim == d->type->rank) {
		print_element(out, d, (*at)++);
		return;
	}
	fputc('[', out);
	for (int64_t i = 0; i < d->type->dim[dim]; i++) {
		fputs(i ? ", " : "", out);
		print_dense_dim(out, d, dim + 1, at);
	}
	fputc(']', out);
}

static void
print_dense(FILE *out, const struct mlir_dense *d)
{
	int64_t at = 0;

	fputs("dense<", out);
	if (d->splat)
		print_element(out, d, 0);
	else if (d->n)
		print_dense_dim(out, d, 0, &at);
	fprintf(out, "> : %s", d->type->text);
}

static void print_attr(FILE *out, const struct mlir_attr *a);

static void
print_entries(FILE *out, const struct mlir_attr *a, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", out);
		print_key(out, a[i].name ? a[i].name : "?");
		if (a[i].kind != MLIR_UNIT) {
			fputs(" = ", out);
			print_attr(out, &a[i]);
		}
	}
}

static void
print_attr(FILE *out, const struct mlir_attr *a)
{
	switch ((enum mlir_attr_kind)a->kind) {
	case MLIR_UNIT: fputs("unit", out); break;
	case MLIR_INT: fprintf(out, "%" PRId64, a->i); break;
	case MLIR_FLOAT:
		print_float(out, a->f, "f64");
		fputs(" : f64", out);
		break;
	case MLIR_BOOL: fputs(a->i ? "true" : "false", out); break;
	case MLIR_STRING: print_string(out, a->s); break;
	case MLIR_SYMBOL: print_symbol(out, a->s); break;
	case MLIR_WORD: /* `?` of a list of axes is one, too */
		fprintf(out, strcmp(a->s, "?") ? "#stablehlo<word %s>" : "%s", a->s);
		break;
	case MLIR_LIST:
		fputc('[', out);
		for (uint32_t i = 0; i < a->n; i++) {
			fputs(i ? ", " : "", out);
			print_attr(out, &a->item[i]);
		}
		fputc(']', out);
		break;
	case MLIR_DICT:
		fputc('{', out);
		print_entries(out, a->item, a->n);
		fputc('}', out);
		break;
	case MLIR_DENSE: print_dense(out, a->dense); break;
	case MLIR_TYPE: fputs(a->type->text, out); break;
	case MLIR_VALUE: break; /* none in a generic form */
	case MLIR_OPAQUE: fputs(a->s, out); break;
	}
}

static void
indent(FILE *out, int depth)
{
	for (int i = 0; i < depth; i++)
		fputs("  ", out);
}

static void
print_use(FILE *out, const struct mlir_value *v)
{
	uint32_t first = v->index;

	fprintf(out, "%%%s", v->name);
	if (!v->op)
		return;
	while (first && v->op->result[first - 1].name == v->name)
		first--;
	if (v->index > first)
		fprintf(out, "#%u", v->index - first);
}

/* `%a, %b:2 = `: neighbours of one name are a group. */
static void
print_results(FILE *out, const struct mlir_op *op)
{
	uint32_t i = 0;

	if (!op->nresults || !*op->result[0].name)
		return;
	while (i < op->nresults) {
		uint32_t end = i + 1;
		while (end < op->nresults && op->result[end].name == op->result[i].name)
			end++;
		fprintf(out, "%s%%%s", i ? ", " : "", op->result[i].name);
		if (end - i > 1)
			fprintf(out, ":%u", end - i);
		i = end;
	}
	fputs(" = ", out);
}

static void
print_debug_name(FILE *out, const char *name)
{
	if (!name)
		return;
	fputs(" loc(", out);
	print_string(out, name);
	fputc(')', out);
}

static void print_op(FILE *out, const struct mlir_op *op, int depth);

/* Attributes of arguments are in the function's arg_attrs. */
static void
print_block(FILE *out, const struct mlir_block *b, int depth)
{
	fputs("{\n", out);
	if (b->nargs) {
		indent(out, depth);
		fputs("^bb0(", out);
		for (uint32_t i = 0; i < b->nargs; i++) {
			const struct mlir_value *v = &b->arg[i];
			fprintf(out, "%s%%%s: %s", i ? ", " : "", v->name, v->type->text);
			print_debug_name(out, v->debug_name);
		}
		fputs("):\n", out);
	}
	if (!b->nargs && !b->first) {
		indent(out, depth);
		fputs("^bb0:\n", out);
	}
	for (const struct mlir_op *op = b->first; op; op = op->next)
		print_op(out, op, depth + 1);
	indent(out, depth);
	fputc('}', out);
}

static void
print_arg_attrs(FILE *out, const struct mlir_op *op)
{
	bool any = false;

	for (uint32_t i = 0; op->nregions && i < op->region[0].nargs; i++)
		any = any || op->region[0].arg[i].nattrs;
	if (!any)
		return;
	fputs(op->nattrs ? ", arg_attrs = [" : "arg_attrs = [", out);
	for (uint32_t i = 0; i < op->region[0].nargs; i++) {
		fputs(i ? ", {" : "{", out);
		print_entries(out, op->region[0].arg[i].attr, op->region[0].arg[i].nattrs);
		fputc('}', out);
	}
	fputc(']', out);
}

static void
print_op(FILE *out, const struct mlir_op *op, int depth)
{
	indent(out, depth);
	print_results(out, op);
	fprintf(out, "\"%s\"(", op->name);
	for (uint32_t i = 0; i < op->noperands; i++) {
		fputs(i ? ", " : "", out);
		print_use(out, op->operand[i]);
	}
	fputc(')', out);
	if (!op->nregions && !strcmp(op->name, "func.func")) {
		fputs(" ({})", out);
	} else if (op->nregions) {
		fputs(" (", out);
		for (uint32_t i = 0; i < op->nregions; i++) {
			fputs(i ? ", " : "", out);
			print_block(out, &op->region[i], depth);
		}
		fputc(')', out);
	}
	if (op->nattrs || op->nregions) {
		fputs(" {", out);
		print_entries(out, op->attr, op->nattrs);
		print_arg_attrs(out, op);
		fputc('}', out);
	}
	fputs(" : (", out);
	for (uint32_t i = 0; i < op->noperands; i++)
		fprintf(out, "%s%s", i ? ", " : "", op->operand[i]->type->text);
	fputs(") -> (", out);
	for (uint32_t i = 0; i < op->nresults; i++)
		fprintf(out, "%s%s", i ? ", " : "", op->result[i].type->text);
	fputc(')', out);
	print_debug_name(out, op->debug_name);
	fputc('\n', out);
}

void
mlir_print(FILE *out, const struct mlir_file *file)
{
	print_op(out, file->module, 0);
}
