/*
 * Random numbers by position, as runtime/kernel/rng.h draws them: Philox4x32-10, ten rounds of
 * integer arithmetic, here on 64-bit integers that hold 32 bits each. Uniform numbers and bits
 * agree bit for bit.
 */
#include "lower/stablehlo/hlo.h"
#include "runtime/kernel/rng.h"

#include <assert.h>

struct philox {
	struct hlo_value v[4];
};

static struct hlo_value
low_bits(struct hlo *h, struct hlo_value x)
{
	return hlo_two(h, "stablehlo.and", x, hlo_integer(h, x, 0xFFFFFFFF));
}

static struct hlo_value
shifted(struct hlo *h, const char *name, struct hlo_value x, int by)
{
	return hlo_two(h, name, x, hlo_integer(h, x, by));
}

static struct hlo_value
high_bits(struct hlo *h, struct hlo_value x)
{
	return shifted(h, "stablehlo.shift_right_logical", x, 32);
}

static struct hlo_value
with_key(struct hlo *h, struct hlo_value x, struct hlo_value y, uint32_t key)
{
	x = hlo_two(h, "stablehlo.xor", x, y);
	return hlo_two(h, "stablehlo.xor", x, hlo_integer(h, x, key));
}

static struct philox
philox(struct hlo *h, struct philox c, uint64_t key)
{
	uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);

	for (int round = 0; round < 10; round++) {
		struct hlo_value p0 = hlo_integer(h, c.v[0], 0xD2511F53),
				 p1 = hlo_integer(h, c.v[2], 0xCD9E8D57);
		struct philox next;
		p0 = hlo_two(h, "stablehlo.multiply", c.v[0], p0);
		p1 = hlo_two(h, "stablehlo.multiply", c.v[2], p1);
		next.v[0] = with_key(h, high_bits(h, p1), c.v[1], k0);
		next.v[1] = low_bits(h, p1);
		next.v[2] = with_key(h, high_bits(h, p0), c.v[3], k1);
		next.v[3] = low_bits(h, p0);
		c = next;
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return c;
}

/* hi and lo put together: 64 bits. */
static struct hlo_value
joined(struct hlo *h, struct hlo_value hi, struct hlo_value lo)
{
	return hlo_two(h, "stablehlo.or", shifted(h, "stablehlo.shift_left", hi, 32), lo);
}

/* 53 bits as a double of [0,1). */
static struct hlo_value
unit_double(struct hlo *h, struct hlo_value hi, struct hlo_value lo)
{
	const struct hlo_value bits =
		shifted(h, "stablehlo.shift_right_logical", joined(h, hi, lo), 11);
	const struct hlo_value f = hlo_convert(h, IR_f64, bits);

	return hlo_two(h, "stablehlo.multiply", f, hlo_number(h, f, 0x1p-53));
}

/* sqrt(-2 log(1 - u)) cos(2 pi v) */
static struct hlo_value
normal(struct hlo *h, const struct philox *b)
{
	struct hlo_value u = unit_double(h, b->v[0], b->v[1]);
	struct hlo_value v = unit_double(h, b->v[2], b->v[3]);

	u = hlo_two(h, "stablehlo.subtract", hlo_number(h, u, 1), u);
	u = hlo_one(h, "stablehlo.log", u);
	u = hlo_two(h, "stablehlo.multiply", hlo_number(h, u, -2), u);
	u = hlo_one(h, "stablehlo.sqrt", u);
	v = hlo_two(h, "stablehlo.multiply", hlo_number(h, v, 6.283185307179586476925), v);
	return hlo_two(h, "stablehlo.multiply", u, hlo_one(h, "stablehlo.cosine", v));
}

/* 24 bits: exact in f32. */
static struct hlo_value
uniform24(struct hlo *h, const struct philox *b)
{
	struct hlo_value f = shifted(h, "stablehlo.shift_right_logical", b->v[0], 8);

	f = hlo_convert(h, IR_f32, f);
	return hlo_two(h, "stablehlo.multiply", f, hlo_number(h, f, 0x1p-24));
}

struct hlo_value
hlo_random(struct hlo *h, const struct expr *e, const struct hlo_value *arg)
{
	const bool keyed = fn_is_keyed(e->id);
	const struct hlo_value at = arg[keyed ? 2 : 1];
	const struct hlo_value zero = hlo_integer(h, at, 0);
	struct philox b = {.v = {[2] = zero, [3] = zero}};
	struct hlo_value r;

	b.v[0] = low_bits(h, at);
	b.v[1] = high_bits(h, at);
	assert(e->arg[0]->kind == EXPR_CONST);
	if (keyed) {
		b.v[2] = low_bits(h, arg[1]);
		b.v[3] = high_bits(h, arg[1]);
	}
	b = philox(h, b, rt_mix64((uint64_t)e->arg[0]->whole));
	switch ((enum scalar_fn)e->id) {
	case FN_uniform: r = unit_double(h, b.v[0], b.v[1]); break;
	case FN_draw_uniform: r = uniform24(h, &b); break;
	case FN_draw_bits: r = joined(h, b.v[1], b.v[0]); break;
	default: r = normal(h, &b); break;
	}
	return hlo_convert(h, (enum ir_dtype)e->dtype, r);
}
