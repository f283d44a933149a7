/*
 * Random numbers. rng_bit_generator is a function of its operand: THREE_FRY is Threefry-2x32 and
 * PHILOX Philox-4x32 with ten rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3",
 * SC 2011), both of a key and counters, with XLA's choice of which counter makes which element:
 *
 *     THREE_FRY  state [key, counter]; two words a counter. 32 bits: the words alternate along the
 *                first even dim, or the longest; 64 bits: the words are one element
 *     PHILOX     state [key, counter, its upper half] (if two numbers: the key is the upper half);
 *                four consecutive words a counter; 64 bits: pairs of them
 *
 * 8 and 16 bits are the lower ones of 32. DEFAULT is PHILOX, as on XLA's CPU and GPU.
 */
#include "parser/stablehlo/import/build/build.h"
#include "parser/stablehlo/import/ops.h"

#include <inttypes.h>
#include <string.h>

bool
import_rng(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	(void)in;
	(void)out;
	return import_unsupported(im, op,
		"its numbers come from a hidden state; use rng_bit_generator, "
		"whose numbers are a function of its operand");
}

static struct ir_value *
build_u32(struct import *im, uint32_t x)
{
	return build_int(im, IR_u32, x);
}

static struct ir_value *
build_u64(struct import *im, uint64_t x)
{
	return build_int(im, IR_u64, (int64_t)x);
}

/* The lower and the upper 32 bits. */
static void
split_word(struct import *im, struct ir_value *v, struct ir_value *out[2])
{
	out[0] = build_convert(im, v, IR_u32);
	out[1] =
		build_convert(im, build2(im, OP_shift_right_logical, v, build_u64(im, 32)), IR_u32);
}

static struct ir_value *
join_words(struct import *im, struct ir_value *low, struct ir_value *high)
{
	struct ir_value *up =
		build2(im, OP_shift_left, build_convert(im, high, IR_u64), build_u64(im, 32));

	return build2(im, OP_or, build_convert(im, low, IR_u64), up);
}

static struct ir_value *
build_rotated(struct import *im, struct ir_value *v, uint32_t by)
{
	return build2(im, OP_or, build2(im, OP_shift_left, v, build_u32(im, by)),
		build2(im, OP_shift_right_logical, v, build_u32(im, 32 - by)));
}

static void
threefry(struct import *im, struct ir_value *const key[2], struct ir_value *x[2])
{
	static const uint8_t by[8] = {13, 15, 26, 6, 17, 29, 16, 24};
	struct ir_value *k[3] = {key[0], key[1]};

	k[2] = build2(im, OP_xor, build2(im, OP_xor, build_u32(im, 0x1BD11BDA), key[0]), key[1]);
	for (int i = 0; i < 2; i++)
		x[i] = build2(im, OP_add, x[i], k[i]);
	for (int round = 0; round < 20; round++) {
		x[0] = build2(im, OP_add, x[0], x[1]);
		x[1] = build2(im, OP_xor, x[0], build_rotated(im, x[1], by[round % 8]));
		if (round % 4 != 3)
			continue;
		const int n = round / 4 + 1;
		x[0] = build2(im, OP_add, x[0], k[n % 3]);
		x[1] = build2(im, OP_add, build2(im, OP_add, x[1], k[(n + 1) % 3]),
			build_u32(im, (uint32_t)n));
	}
}

static void
philox(struct import *im, struct ir_value *key[2], struct ir_value *x[4])
{
	static const uint32_t factor[2] = {0xD2511F53, 0xCD9E8D57},
			      raise[2] = {0x9E3779B9, 0xBB67AE85};

	for (int round = 0; round < 10; round++) {
		struct ir_value *low[2], *high[2];
		for (int i = 0; i < 2; i++) {
			struct ir_value *half[2];
			split_word(im,
				build2(im, OP_mul, build_convert(im, x[2 * i], IR_u64),
					build_u64(im, factor[i])),
				half);
			low[i] = half[0];
			high[i] = half[1];
		}
		x[0] = build2(im, OP_xor, build2(im, OP_xor, high[1], x[1]), key[0]);
		x[2] = build2(im, OP_xor, build2(im, OP_xor, high[0], x[3]), key[1]);
		x[1] = low[1];
		x[3] = low[0];
		for (int i = 0; i < 2; i++)
			key[i] = build2(im, OP_add, key[i], build_u32(im, raise[i]));
	}
}

struct bits {
	struct import *im;
	const struct mlir_type *type; /* of the output */
	int64_t n;                    /* elements */
	bool wide;                    /* 64 bits */
	struct ir_value *state[3];    /* scalars */
	int nstate;
};

/* The dim along which the two words of a counter are adjacent. */
static int
pair_dim(const struct mlir_type *t)
{
	int longest = 0;

	for (int d = 0; d < t->rank; d++) {
		if (t->dim[d] % 2 == 0)
			return d;
		if (t->dim[d] > t->dim[longest])
			longest = d;
	}
	return longest;
}

static struct ir_value *
make_threefry(struct bits *b)
{
	struct import *im = b->im;
	const struct mlir_type *t = b->type;
	const int dim = pair_dim(t);
	const int64_t size = t->rank ? t->dim[dim] : 1;
	const int64_t half = (size + 1) / 2, counters = b->wide ? b->n : b->n / size * half;
	int64_t outer = 1, inner = 1;
	struct ir_value *key[2], *x[2];

	split_word(im, b->state[0], key);
	split_word(im, build2(im, OP_add, build_iota(im, IR_u64, 1, 0, counters), b->state[1]), x);
	threefry(im, key, x);
	b->state[1] = build2(im, OP_add, b->state[1], build_u64(im, (uint64_t)counters));
	if (b->wide)
		return join_words(im, x[0], x[1]);
	for (int d = 0; d < t->rank; d++)
		*(d < dim ? &outer : &inner) *= d == dim ? 1 : t->dim[d];
	for (int i = 0; i < 2; i++)
		x[i] = build_reshape(im, x[i], (int64_t[]){outer, half, 1, inner}, 4);
	struct ir_value *v = build_concat(im, x, 2, 2);
	v = build_reshape(im, v, (int64_t[]){outer, 2 * half, inner}, 3);
	return build_slice_dim(im, v, 1, 0, size, 1);
}

static struct ir_value *
make_philox(struct bits *b)
{
	struct import *im = b->im;
	const int64_t counters = (b->wide ? 2 * b->n + 3 : b->n + 3) / 4;
	struct ir_value *key[2], *x[4], *low, *high = b->state[b->nstate == 3 ? 2 : 0];
	struct ir_value *one = build_u64(im, 1);

	low = build2(im, OP_add, build_iota(im, IR_u64, 1, 0, counters), b->state[1]);
	struct ir_value *carried = build_select(
		im, build2(im, OP_lt, low, b->state[1]), build2(im, OP_add, high, one), high);
	split_word(im, low, x);
	split_word(im, carried, x + 2);
	split_word(im, b->state[0], key);
	philox(im, key, x);
	low = build2(im, OP_add, b->state[1], build_u64(im, (uint64_t)counters));
	if (b->nstate == 3)
		b->state[2] = build_select(im, build2(im, OP_lt, low, b->state[1]),
			build2(im, OP_add, high, one), high);
	b->state[1] = low;
	const int words = b->wide ? 2 : 4;
	for (int i = 0; i < words; i++) {
		struct ir_value *w = b->wide ? join_words(im, x[2 * i], x[2 * i + 1]) : x[i];
		x[i] = w ? build_reshape(im, w, (int64_t[]){counters, 1}, 2) : NULL;
		if (!x[i])
			return NULL;
	}
	struct ir_value *v = build_concat(im, x, words, 1);
	v = build_reshape(im, v, (int64_t[]){counters * words}, 1);
	return build_slice_dim(im, v, 0, 0, b->n, 1);
}

static bool
check_bits(struct import *im, const struct mlir_op *op, const struct import_value *in,
	bool is_threefry)
{
	const struct mlir_type *state = in[0].type, *t = op->result[1].type;

	if (state->rank != 1 || state->dtype != IR_u64)
		return import_error(im, op, "the state must be a vector of ui64, not %s",
			state->text ? state->text : "another");
	if (state->dim[0] != 2 && (is_threefry || state->dim[0] != 3))
		return import_error(im, op, "the state must have %s numbers, not %" PRId64,
			is_threefry ? "2" : "2 or 3", state->dim[0]);
	if (!import_is_static(t) || ir_dtype_class((enum ir_dtype)t->dtype) == IR_FLOAT ||
		t->dtype == IR_bool)
		return import_unsupported(
			im, op, "a result that is not a tensor of integers of known size");
	if (in[0].varies)
		return import_unsupported(im, op, "a state that differs between processes");
	return true;
}

bool
import_rng_bits(struct import *im, const struct mlir_op *op, const struct import_value *in,
	struct import_value *out)
{
	const struct mlir_attr *a = mlir_attr_find(op, "rng_algorithm");
	const char *name = a && a->kind == MLIR_WORD ? a->s : "";
	const bool is_threefry = !strcmp(name, "THREE_FRY");
	struct bits b = {.im = im, .type = op->result[1].type, .n = 1};

	if (!is_threefry && strcmp(name, "PHILOX") && strcmp(name, "DEFAULT"))
		return import_error(im, op,
			"rng_algorithm must be DEFAULT, THREE_FRY or PHILOX, not '%s'", name);
	if (!check_bits(im, op, in, is_threefry))
		return false;
	b.nstate = (int)in[0].type->dim[0];
	b.wide = ir_dtype_bytes((enum ir_dtype)b.type->dtype) == 8;
	for (int d = 0; d < b.type->rank; d++)
		b.n *= b.type->dim[d];
	for (int i = 0; i < b.nstate; i++)
		b.state[i] = build_element(im, in[0].value, 0, i);
	struct ir_value *v = is_threefry ? make_threefry(&b) : make_philox(&b);
	v = build_convert(im, v, (enum ir_dtype)b.type->dtype);
	out[1] = import_result(op, 1, build_reshape(im, v, b.type->dim, b.type->rank), 0);
	for (int i = 0; i < b.nstate && b.state[i]; i++)
		b.state[i] = build_unsqueeze(im, b.state[i], 0);
	out[0] = import_result(op, 0, build_concat(im, b.state, b.nstate, 0), 0);
	return out[0].value && out[1].value;
}
