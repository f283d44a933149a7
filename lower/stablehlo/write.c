/* The text of StableHLO in generic form: types, attributes, constants, ops. */
#include "lower/stablehlo/hlo.h"

#include "ir/base/alloc.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_START = 1 << 16 };

/* --- text ---------------------------------------------------------------------------------------
 */

static void
make_room(struct hlo *h, size_t n)
{
	const size_t has = h->text ? array_bytes(h->text) : 0;

	if (h->used + n < has)
		return;
	h->text = array_resize(h, h->text,
		h->used + n < TEXT_START ? TEXT_START : 2 * (h->used + n), 1, "a StableHLO text");
}

static void
put(struct hlo *h, const char *s, size_t n)
{
	make_room(h, n);
	memcpy(h->text + h->used, s, n);
	h->used += n;
	h->text[h->used] = '\0';
}

static void
put_text(struct hlo *h, const char *s)
{
	put(h, s, strlen(s));
}

void
hlo_print(struct hlo *h, const char *format, ...)
{
	va_list args, again;

	va_start(args, format);
	va_copy(again, args);
	const int n = vsnprintf(NULL, 0, format, args);
	va_end(args);
	make_room(h, (size_t)n + 1);
	vsnprintf(h->text + h->used, (size_t)n + 1, format, again);
	va_end(again);
	h->used += (size_t)n;
}

/* A text of any length: one constant may be larger than talloc's limit. */
static char *
text_create(const void *owner, const char *format, va_list args)
{
	va_list again;

	va_copy(again, args);
	const size_t n = (size_t)vsnprintf(NULL, 0, format, args) + 1;
	char *s = array_create(owner, n, 1, "a StableHLO text");
	vsnprintf(s, n, format, again);
	va_end(again);
	return s;
}

const char *
hlo_text(struct hlo *h, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	char *s = text_create(h->scratch, format, args);
	va_end(args);
	return s;
}

void
hlo_print_string(struct hlo *h, const char *s)
{
	put_text(h, "\"");
	for (; *s; s++)
		if (*s == '"' || *s == '\\' || (unsigned char)*s < ' ' || *s == 127)
			hlo_print(h, "\\%02X", (unsigned char)*s);
		else
			put(h, s, 1);
	put_text(h, "\"");
}

/* --- types and attributes -----------------------------------------------------------------------
 */

/* "f32", "ui8", "i1" */
static void
element_text(enum ir_dtype t, char text[8])
{
	if (t == IR_bool)
		strcpy(text, "i1");
	else if (ir_dtype_class(t) == IR_UINT)
		snprintf(text, 8, "ui%u", 8 * ir_dtype_bytes(t));
	else
		snprintf(text, 8, "%s", ir_dtype_name(t));
}

const char *
hlo_type_text(struct hlo *h, const struct hlo_value *type)
{
	char text[8 + HLO_MAX_RANK * 21 + 10], element[8];
	size_t n = (size_t)sprintf(text, "tensor<");

	for (int d = 0; d < type->rank; d++)
		n += (size_t)sprintf(text + n, "%" PRId64 "x", type->dim[d]);
	element_text((enum ir_dtype)type->dtype, element);
	sprintf(text + n, "%s>", element);
	return hlo_text(h, "%s", text);
}

static const char *
numbers(struct hlo *h, const char *before, const int64_t *v, int n, const char *after)
{
	char *s = text_copy(h->scratch, before);

	for (int i = 0; i < n; i++)
		s = text_append_end(s, "%s%" PRId64, i ? ", " : "", v[i]);
	s = text_append_end(s, "%s", after);
	return s;
}

const char *
hlo_array(struct hlo *h, const int64_t *v, int n)
{
	return numbers(h, n ? "array<i64: " : "array<i64", v, n, ">");
}

const char *
hlo_list(struct hlo *h, const int64_t *v, int n)
{
	return numbers(h, "[", v, n, "]");
}

const char *
hlo_matrix(struct hlo *h, const int64_t *v, int64_t rows, int64_t columns)
{
	char *s = text_copy(h->scratch, "dense<[");

	for (int64_t r = 0; r < rows && s; r++)
		s = text_append_end(
			s, "%s%s", r ? ", " : "", hlo_list(h, v + r * columns, (int)columns));
	s = text_append_end(s, "]> : tensor<%" PRId64 "x%" PRId64 "xi64>", rows, columns);
	return s;
}

/* The bits of a float that is infinite or NaN, as MLIR writes them. */
static const char *
special_text(struct hlo *h, enum ir_dtype t, double v)
{
	static const struct {
		uint64_t infinity, nan, sign;
	} bits[] = {
		[IR_f64] = {0x7FF0000000000000, 0x7FF8000000000000, 0x8000000000000000},
		[IR_f32] = {0x7F800000, 0x7FC00000, 0x80000000},
		[IR_f16] = {0x7C00, 0x7E00, 0x8000},
		[IR_bf16] = {0x7F80, 0x7FC0, 0x8000},
	};
	const uint64_t b = (v != v ? bits[t].nan : bits[t].infinity) | (v < 0 ? bits[t].sign : 0);

	return hlo_text(h, "0x%0*" PRIX64, (int)(2 * ir_dtype_bytes(t)), b);
}

/* With a decimal point, which MLIR requires, and all digits: a consumer that computes in a wider
 * type than the element's gets the number unrounded. */
static const char *
float_text(struct hlo *h, enum ir_dtype t, double v)
{
	char text[40];

	if (!isfinite(ir_dtype_round(t, v)))
		return special_text(h, t, ir_dtype_round(t, v));
	for (int digits = 6; digits <= 17; digits++) {
		snprintf(text, sizeof text, "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	if (strchr(text, '.'))
		return hlo_text(h, "%s", text);
	const size_t whole = strcspn(text, "e");
	return hlo_text(h, "%.*s.0%s", (int)whole, text, text + whole);
}

const char *
hlo_element(struct hlo *h, enum ir_dtype t, union cell v)
{
	if (t == IR_bool)
		return v.i ? "true" : "false";
	if (ir_dtype_class(t) == IR_FLOAT)
		return float_text(h, t, v.f);
	if (ir_dtype_class(t) == IR_UINT)
		return hlo_text(h, "%" PRIu64, (uint64_t)v.i);
	return hlo_text(h, "%" PRId64, v.i);
}

const char *
hlo_splat(struct hlo *h, const struct hlo_value *type, union cell v)
{
	return hlo_text(h, "dense<%s> : %s", hlo_element(h, (enum ir_dtype)type->dtype, v),
		hlo_type_text(h, type));
}

/* --- ops ----------------------------------------------------------------------------------------
 */

struct hlo_value
hlo_type(enum ir_dtype t, int rank, const int64_t *dim)
{
	struct hlo_value v = {.dtype = (uint8_t)t, .rank = (uint8_t)rank, .part = -1};

	assert(rank <= HLO_MAX_RANK);
	if (rank)
		memcpy(v.dim, dim, sizeof *dim * (size_t)rank);
	return v;
}

static void
put_value(struct hlo *h, const struct hlo_value *v)
{
	hlo_print(h, v->argument ? "%%arg%" PRIu32 : "%%%" PRIu32, v->id);
	if (v->part >= 0)
		hlo_print(h, "#%d", v->part);
}

static void
put_types(struct hlo *h, const struct hlo_value *v, int n)
{
	put_text(h, "(");
	for (int i = 0; i < n; i++) {
		put_text(h, i ? ", " : "");
		put_text(h, hlo_type_text(h, &v[i]));
	}
	put_text(h, ")");
}

void
hlo_open_block(struct hlo *h, struct hlo_value *arg, int n)
{
	put_text(h, "    ^bb0(");
	for (int i = 0; i < n; i++) {
		arg[i].id = h->next++;
		arg[i].part = -1;
		arg[i].argument = false;
		put_text(h, i ? ", " : "");
		put_value(h, &arg[i]);
		hlo_print(h, ": %s", hlo_type_text(h, &arg[i]));
	}
	put_text(h, "):\n");
}

static void
name_results(struct hlo *h, const struct hlo_op *o)
{
	const uint32_t id = h->next;

	if (!o->nout)
		return;
	h->next++;
	for (int i = 0; i < o->nout; i++) {
		o->out[i].id = id;
		o->out[i].part = o->nout > 1 ? i : -1;
		o->out[i].argument = false;
	}
	h->last_id = id;
	hlo_print(h, "%%%" PRIu32, id);
	if (o->nout > 1)
		hlo_print(h, ":%d", o->nout);
	put_text(h, " = ");
}

void
hlo_open(struct hlo *h, const struct hlo_op *o)
{
	put_text(h, "    ");
	name_results(h, o);
	hlo_print(h, "\"%s\"(", o->name);
	for (int i = 0; i < o->nin; i++) {
		put_text(h, i ? ", " : "");
		put_value(h, &o->in[i]);
	}
	put_text(h, ")");
	if (o->attrs && *o->attrs) {
		put_text(h, " <{");
		put_text(h, o->attrs);
		put_text(h, "}>");
	}
}

void
hlo_close(struct hlo *h, const struct hlo_op *o)
{
	put_text(h, " : ");
	put_types(h, o->in, o->nin);
	put_text(h, " -> ");
	if (o->nout == 1)
		put_text(h, hlo_type_text(h, o->out));
	else
		put_types(h, o->out, o->nout);
	put_text(h, "\n");
	h->last = h->used;
}

void
hlo_write(struct hlo *h, const struct hlo_op *o)
{
	hlo_open(h, o);
	if (o->region)
		put_text(h, o->region);
	hlo_close(h, o);
}

struct hlo_value
hlo_make(struct hlo *h, const char *name, const struct hlo_value *in, int n, const char *attrs,
	struct hlo_value type)
{
	hlo_write(h,
		&(struct hlo_op){
			.name = name, .in = in, .nin = n, .attrs = attrs, .out = &type, .nout = 1});
	return type;
}

struct hlo_value
hlo_one(struct hlo *h, const char *name, struct hlo_value x)
{
	return hlo_make(h, name, &x, 1, NULL, x);
}

struct hlo_value
hlo_two(struct hlo *h, const char *name, struct hlo_value x, struct hlo_value y)
{
	return hlo_make(h, name, (struct hlo_value[]){x, y}, 2, NULL, x);
}

struct hlo_value
hlo_compare(struct hlo *h, const char *direction, struct hlo_value x, struct hlo_value y)
{
	static const char *const kind[] = {
		[IR_FLOAT] = "FLOAT",
		[IR_INT] = "SIGNED",
		[IR_UINT] = "UNSIGNED",
		[IR_BOOL] = "UNSIGNED",
	};
	const char *attrs = hlo_text(h,
		"comparison_direction = #stablehlo<comparison_direction %s>, "
		"compare_type = #stablehlo<comparison_type %s>",
		direction, kind[ir_dtype_class((enum ir_dtype)x.dtype)]);

	return hlo_make(
		h, "stablehlo.compare", (struct hlo_value[]){x, y}, 2, attrs, hlo_like(x, IR_bool));
}

struct hlo_value
hlo_select(struct hlo *h, struct hlo_value c, struct hlo_value a, struct hlo_value b)
{
	return hlo_make(h, "stablehlo.select", (struct hlo_value[]){c, a, b}, 3, NULL, a);
}

struct hlo_value
hlo_convert(struct hlo *h, enum ir_dtype t, struct hlo_value x)
{
	return x.dtype == t ? x : hlo_make(h, "stablehlo.convert", &x, 1, NULL, hlo_like(x, t));
}

/* --- constants ----------------------------------------------------------------------------------
 */

struct hlo_value
hlo_constant(struct hlo *h, struct hlo_value type, union cell v)
{
	return hlo_make(h, "stablehlo.constant", NULL, 0,
		hlo_text(h, "value = %s", hlo_splat(h, &type, v)), type);
}

struct hlo_value
hlo_number(struct hlo *h, struct hlo_value type, double v)
{
	union cell c = {.f = v};

	if (ir_dtype_class((enum ir_dtype)type.dtype) != IR_FLOAT)
		c.i = ir_dtype_wrap((enum ir_dtype)type.dtype, (int64_t)v);
	return hlo_constant(h, type, c);
}

struct hlo_value
hlo_integer(struct hlo *h, struct hlo_value type, int64_t v)
{
	return hlo_constant(h, type, (union cell){.i = v});
}

/* --- shapes -------------------------------------------------------------------------------------
 */

struct hlo_value
hlo_reshape(struct hlo *h, struct hlo_value x, int rank, const int64_t *dim)
{
	if (x.rank == rank && (!rank || !memcmp(x.dim, dim, sizeof *dim * (size_t)rank)))
		return x;
	return hlo_make(
		h, "stablehlo.reshape", &x, 1, NULL, hlo_type((enum ir_dtype)x.dtype, rank, dim));
}

struct hlo_value
hlo_transpose(struct hlo *h, struct hlo_value x, const int64_t *perm)
{
	struct hlo_value type = x;
	bool same = true;

	for (int d = 0; d < x.rank; d++) {
		type.dim[d] = x.dim[perm[d]];
		same = same && perm[d] == d;
	}
	if (same)
		return x;
	return hlo_make(h, "stablehlo.transpose", &x, 1,
		hlo_text(h, "permutation = %s", hlo_array(h, perm, x.rank)), type);
}

struct hlo_value
hlo_slice(struct hlo *h, struct hlo_value x, const int64_t *start, const int64_t *limit,
	const int64_t *stride)
{
	struct hlo_value type = x;

	for (int d = 0; d < x.rank; d++)
		type.dim[d] = (limit[d] - start[d] + stride[d] - 1) / stride[d];
	return hlo_make(h, "stablehlo.slice", &x, 1,
		hlo_text(h, "start_indices = %s, limit_indices = %s, strides = %s",
			hlo_array(h, start, x.rank), hlo_array(h, limit, x.rank),
			hlo_array(h, stride, x.rank)),
		type);
}

struct hlo_value
hlo_pad(struct hlo *h, struct hlo_value x, struct hlo_value fill, const int64_t *low,
	const int64_t *high, const int64_t *interior)
{
	struct hlo_value type = x;

	for (int d = 0; d < x.rank; d++)
		type.dim[d] += low[d] + high[d] + (x.dim[d] > 0 ? (x.dim[d] - 1) * interior[d] : 0);
	return hlo_make(h, "stablehlo.pad", (struct hlo_value[]){x, fill}, 2,
		hlo_text(h, "edge_padding_low = %s, edge_padding_high = %s, interior_padding = %s",
			hlo_array(h, low, x.rank), hlo_array(h, high, x.rank),
			hlo_array(h, interior, x.rank)),
		type);
}

struct hlo_value
hlo_concat(struct hlo *h, const struct hlo_value *x, int n, int dim)
{
	struct hlo_value type = x[0];

	if (n == 1)
		return x[0];
	for (int i = 1; i < n; i++)
		type.dim[dim] += x[i].dim[dim];
	return hlo_make(
		h, "stablehlo.concatenate", x, n, hlo_text(h, "dimension = %d : i64", dim), type);
}

/* --- reductions ---------------------------------------------------------------------------------
 */

const char *
hlo_monoid(enum form_reduce how, enum ir_dtype t)
{
	const bool b = t == IR_bool;

	switch (how) {
	case REDUCE_SUM: return b ? "stablehlo.or" : "stablehlo.add";
	case REDUCE_PROD: return b ? "stablehlo.and" : "stablehlo.multiply";
	case REDUCE_MAX: return b ? "stablehlo.or" : "stablehlo.maximum";
	case REDUCE_MIN: return b ? "stablehlo.and" : "stablehlo.minimum";
	case REDUCE_NONE:
	case REDUCE_ARGMAX:
	case REDUCE_ARGMIN: break;
	}
	return NULL;
}

const char *
hlo_region(struct hlo *h, const char *monoid, enum ir_dtype t)
{
	const struct hlo_value scalar = hlo_type(t, 0, NULL);
	const char *s = hlo_type_text(h, &scalar);

	if (!monoid)
		return hlo_text(h,
			" ({\n    ^bb0(%%a: %s, %%b: %s):\n"
			"      \"stablehlo.return\"(%%b) : (%s) -> ()\n    })",
			s, s, s);
	return hlo_text(h,
		" ({\n    ^bb0(%%a: %s, %%b: %s):\n"
		"      %%c = \"%s\"(%%a, %%b) : (%s, %s) -> %s\n"
		"      \"stablehlo.return\"(%%c) : (%s) -> ()\n    })",
		s, s, monoid, s, s, s, s);
}

union cell
hlo_identity(enum form_reduce how, enum ir_dtype t)
{
	const bool isfloat = ir_dtype_class(t) == IR_FLOAT;
	const int64_t low = t == IR_bool ? 0 : ir_dtype_lowest(t);

	switch (how) {
	case REDUCE_MAX: return isfloat ? (union cell){.f = -INFINITY} : (union cell){.i = low};
	case REDUCE_MIN:
		return isfloat        ? (union cell){.f = INFINITY}
		       : t == IR_bool ? (union cell){.i = 1}
				      : (union cell){.i = ir_dtype_wrap(t, ~low)};
	case REDUCE_PROD: return isfloat ? (union cell){.f = 1} : (union cell){.i = 1};
	case REDUCE_NONE:
	case REDUCE_SUM:
	case REDUCE_ARGMAX:
	case REDUCE_ARGMIN: break;
	}
	return isfloat ? (union cell){.f = 0} : (union cell){.i = 0};
}

struct hlo_value
hlo_reduce(struct hlo *h, struct hlo_value x, const int64_t *dims, int n, enum form_reduce how)
{
	const enum ir_dtype t = (enum ir_dtype)x.dtype;
	struct hlo_value type = hlo_type(t, 0, NULL);

	if (!n)
		return x;
	const struct hlo_value in[] = {x, hlo_constant(h, type, hlo_identity(how, t))};
	for (int d = 0, k = 0; d < x.rank; d++)
		if (k < n && dims[k] == d)
			k++;
		else
			type.dim[type.rank++] = x.dim[d];
	hlo_write(h, &(struct hlo_op){.name = "stablehlo.reduce",
			     .in = in,
			     .nin = 2,
			     .attrs = hlo_text(h, "dimensions = %s", hlo_array(h, dims, n)),
			     .region = hlo_region(h, hlo_monoid(how, t), t),
			     .out = &type,
			     .nout = 1});
	return type;
}
