/* Constants with elements of their own: see literal.h. */
#include "ir/ops/literal.h"

#include "ir/base/alloc.h"
#include "ir/base/hex.h"
#include "ir/base/number.h"
#include "runtime/data/value.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static bool
is_float(enum ir_dtype t)
{
	return ir_dtype_class(t) == IR_FLOAT;
}

union ir_number
literal_read(enum ir_dtype t, const unsigned char *bytes, int64_t i)
{
	const size_t size = ir_dtype_bytes(t);
	uint64_t raw = 0;

	memcpy(&raw, bytes + (size_t)i * size,
		size); /* machines that dopt runs on are little-endian */
	if (is_float(t))
		return (union ir_number){.f = rt_value_get((enum rt_dtype)t, &raw, 0)};
	return (union ir_number){.i = ir_dtype_wrap(t, (int64_t)raw)};
}

void
literal_write(enum ir_dtype t, unsigned char *bytes, int64_t i, union ir_number v)
{
	const size_t size = ir_dtype_bytes(t);
	uint64_t raw = 0;

	if (is_float(t))
		rt_value_set((enum rt_dtype)t, &raw, 0, v.f);
	else
		raw = (uint64_t)ir_dtype_wrap(t, v.i);
	memcpy(bytes + (size_t)i * size, &raw, size);
}

/* --- what the attributes say --------------------------------------------------------------------
 */

static bool
fail_at(const struct ir_module *m, const struct ir_op *op, const struct ir_attr *a,
	const char *text)
{
	diag_error(m->ctx->diag, a && a->loc.begin ? a->loc : op->loc, "literal: %s", text);
	return false;
}

static bool
check_hex(const struct ir_module *m, const struct ir_op *op, const struct ir_attr *hex,
	const struct ir_type *t)
{
	const size_t digits = strlen(hex->s), each = 2 * ir_dtype_bytes((enum ir_dtype)t->dtype),
		     want = (size_t)ir_type_elements(t) * each;
	char text[200];

	if (digits < 2 || hex->s[0] != '0' || (hex->s[1] | 32) != 'x')
		return fail_at(m, op, hex, "hex must start with 0x");
	for (size_t i = 2; i < digits; i++)
		if (hex_digit(hex->s[i]) < 0) {
			snprintf(text, sizeof text,
				"character %zu of hex is not a hexadecimal digit", i);
			return fail_at(m, op, hex, text);
		}
	if (digits - 2 == want)
		return true;
	snprintf(text, sizeof text, "%" PRId64 " elements of %s need %zu digits, hex has %zu",
		ir_type_elements(t), ir_dtype_name((enum ir_dtype)t->dtype), want, digits - 2);
	return fail_at(m, op, hex, text);
}

/* Is the number representable in the element type? Floats are rounded; integers must be exact. */
static bool
fits(enum ir_dtype t, const struct ir_attr *a)
{
	if (is_float(t))
		return true;
	if (a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY) {
		const double back = ir_dtype_double(t, ir_dtype_truncated(t, a->f));
		/* The end of a 64-bit range is rounded up to a float that is outside the range. */
		return back == a->f && a->f < (t == IR_i64 ? 0x1p63 : 0x1p64);
	}
	return ir_dtype_class(t) == IR_UINT
		       ? a->i >= 0 && (t == IR_u64 || ir_dtype_wrap(t, a->i) == a->i)
		       : ir_dtype_wrap(t, a->i) == a->i;
}

static bool
check_values(const struct ir_module *m, const struct ir_op *op, const struct ir_attr *values,
	const struct ir_type *t)
{
	const enum ir_dtype dtype = (enum ir_dtype)t->dtype;
	const int64_t want = ir_type_elements(t);
	char text[200];

	for (int i = 0; i < values->n; i++) {
		const struct ir_attr *a = &values->list[i];
		if (fits(dtype, a))
			continue;
		const double v =
			a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY ? a->f : (double)a->i;
		snprintf(text, sizeof text, "%.17g is not representable as %s", v,
			ir_dtype_name(dtype));
		return fail_at(m, op, a->loc.begin ? a : values, text);
	}
	if (values->n == want)
		return true;
	snprintf(text, sizeof text, "the type has %" PRId64 " element%s, but values has %d", want,
		number_plural(want), values->n);
	return fail_at(m, op, values, text);
}

bool
literal_check(const struct ir_module *m, const struct ir_op *op, const struct ir_type *t)
{
	const struct ir_attr *values = ir_attr_find(op, "values"), *hex = ir_attr_find(op, "hex");

	if (!values == !hex)
		return fail_at(m, op, NULL, "either values or hex must be given");
	return hex ? check_hex(m, op, hex, t) : check_values(m, op, values, t);
}

union ir_number
literal_number(enum ir_dtype t, const struct ir_attr *a)
{
	const bool real = a->kind == ATTR_FLOAT || a->kind == ATTR_QUANTITY;

	if (is_float(t))
		return (union ir_number){.f = ir_dtype_round(t, real ? a->f : (double)a->i)};
	return (union ir_number){.i = real ? ir_dtype_truncated(t, a->f) : a->i};
}

union ir_number
literal_of_constant(const struct ir_op *op)
{
	return literal_number((enum ir_dtype)op->result[0].type->dtype, ir_attr_find(op, "value"));
}

unsigned char *
literal_bytes(const void *owner, const struct ir_op *op)
{
	const struct ir_attr *values = ir_attr_find(op, "values"), *hex = ir_attr_find(op, "hex");
	const struct ir_type *type = op->result[0].type;
	const enum ir_dtype t = (enum ir_dtype)type->dtype;
	const size_t bytes = (size_t)ir_type_elements(type) * ir_dtype_bytes(t);
	unsigned char *to = array_create(owner, bytes + 1, 1, "the elements of a literal");

	if (values)
		for (int i = 0; i < values->n; i++)
			literal_write(t, to, i, literal_number(t, &values->list[i]));
	for (size_t i = 0; hex && i < bytes; i++) {
		const char *at = hex->s + 2 + 2 * i;
		to[i] = (unsigned char)(hex_digit(at[0]) << 4 | hex_digit(at[1]));
	}
	for (size_t i = 0; hex && t == IR_bool && i < bytes; i++)
		to[i] = to[i] != 0;
	return to;
}

/* --- making one
 * ----------------------------------------------------------------------------------- */

/* Can a number in the text represent element i exactly? Not a NaN with a payload or a large u64.
 */
static bool
has_number(enum ir_dtype t, const unsigned char *bytes, int64_t i)
{
	const union ir_number v = literal_read(t, bytes, i);
	const size_t size = ir_dtype_bytes(t);
	unsigned char again[sizeof(uint64_t)];

	if (t == IR_u64)
		return v.i >= 0;
	if (!is_float(t) || v.f == v.f)
		return true;
	literal_write(t, again, 0, (union ir_number){.f = (double)NAN});
	return memcmp(again, bytes + (size_t)i * size, size) == 0;
}

static struct ir_attr
number_attr(struct ir_context *ctx, enum ir_dtype t, const unsigned char *bytes, int64_t i)
{
	const union ir_number v = literal_read(t, bytes, i);

	return is_float(t) ? ir_make_float(ctx, "value", v.f) : ir_make_int(ctx, "value", v.i);
}

static bool
all_equal(const unsigned char *bytes, int64_t n, size_t size)
{
	for (int64_t i = 1; i < n; i++)
		if (memcmp(bytes, bytes + (size_t)i * size, size) != 0)
			return false;
	return n > 0;
}

static struct ir_attr
listed(const struct ir_module *m, enum ir_dtype t, const unsigned char *bytes, int n)
{
	struct ir_attr *list = ARENA_ARRAY(m->arena, struct ir_attr, n);

	for (int i = 0; i < n; i++) {
		list[i] = number_attr(m->ctx, t, bytes, i);
		list[i].key = NULL;
	}
	return (struct ir_attr){.key = ir_name(m->ctx, "values"),
		.kind = ATTR_LIST,
		.n = (uint16_t)n,
		.list = list};
}

static struct ir_attr
spelled(const struct ir_module *m, const unsigned char *bytes, size_t n)
{
	static const char digit[] = "0123456789abcdef";
	char *text = array_create(NULL, 2 * n + 3, 1, "the digits of a literal");

	memcpy(text, "0x", 2);
	for (size_t i = 0; i < n; i++) {
		text[2 + 2 * i] = digit[bytes[i] >> 4];
		text[3 + 2 * i] = digit[bytes[i] & 15];
	}
	text[2 + 2 * n] = '\0';
	const struct ir_attr hex = ir_make_string(m->ctx, "hex", text);
	array_free(text);
	return hex;
}

struct ir_value *
ir_build_bytes(struct ir_builder *b, const struct ir_type *type, const void *data)
{
	const enum ir_dtype t = (enum ir_dtype)type->dtype;
	const size_t size = ir_dtype_bytes(t);
	const int64_t n = ir_type_elements(type);
	const unsigned char *bytes = data;
	bool numbers = n <= LITERAL_LISTED;

	for (int64_t i = 0; i < n && numbers; i++)
		numbers = has_number(t, bytes, i);
	if (all_equal(bytes, n, size) && has_number(t, bytes, 0)) {
		const struct ir_attr value = number_attr(b->m->ctx, t, bytes, 0);
		return ir_build_typed(b, OP_constant, NULL, NULL, 0, &value, 1, type);
	}
	const struct ir_attr attr =
		numbers ? listed(b->m, t, bytes, (int)n) : spelled(b->m, bytes, (size_t)n * size);
	return ir_build_typed(b, OP_literal, NULL, NULL, 0, &attr, 1, type);
}

struct ir_value *
ir_build_numbers(struct ir_builder *b, const struct ir_type *type, const union ir_number *v)
{
	const enum ir_dtype t = (enum ir_dtype)type->dtype;
	const int64_t n = ir_type_elements(type);
	unsigned char *bytes = array_create(
		NULL, (size_t)n * ir_dtype_bytes(t) + 1, 1, "the elements of a literal");

	for (int64_t i = 0; i < n; i++)
		literal_write(t, bytes, i, v[i]);
	struct ir_value *made = ir_build_bytes(b, type, bytes);
	array_free(bytes);
	return made;
}

bool
literal_is_constant(const struct ir_module *m, const struct ir_op *op, struct ir_attr *value)
{
	const struct ir_type *type = op->result[0].type;
	const enum ir_dtype t = (enum ir_dtype)type->dtype;
	unsigned char *bytes = literal_bytes(NULL, op);
	const bool equal = all_equal(bytes, ir_type_elements(type), ir_dtype_bytes(t)) &&
			   has_number(t, bytes, 0);

	if (equal)
		*value = number_attr(m->ctx, t, bytes, 0);
	array_free(bytes);
	return equal;
}
