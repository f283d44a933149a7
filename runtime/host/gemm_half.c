/* Matrix products of f16 and bf16: see runtime/kernel/gemm.h. Blocks of both operands are widened
 * to f32 and multiplied there, so sums are in f32, and are rounded once at the end. A block is used
 * for hundreds of products per element, which hides the cost of widening. */
#include "runtime/kernel/gemm.h"
#include "runtime/host/half_rows.h"

#include <string.h>

enum { ROWS = RT_GEMM_HALF_ROWS, COLUMNS = RT_GEMM_HALF_COLUMNS, SUM = RT_GEMM_HALF_SUM };

struct half_product {
	bool bf16, trans_a, trans_b;
	int64_t m, n, k;
	const uint16_t *a, *b;
	uint16_t *c;
	int64_t lda, ldb, ldc;
	int nsums;
	const struct rt_gemm_sum *sum;
	float *room_a, *room_b, *room_c;
};

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static void
widen(bool bf16, const uint16_t *from, int64_t ld, int64_t rows, int64_t cols, float *restrict to)
{
	for (int64_t i = 0; i < rows; i++, from += ld, to += cols)
		rt_widen_row(bf16, from, cols, to);
}

static void
narrow(bool bf16, const float *from, int64_t rows, int64_t cols, uint16_t *restrict to, int64_t ld)
{
	for (int64_t i = 0; i < rows; i++, from += cols, to += ld)
		rt_narrow_row(bf16, from, cols, to);
}

/* room_c (+)= rows [i, i + m) and columns [j, j + n) of one op(A) op(B). */
static void
add_product(const struct half_product *p, const uint16_t *a, const uint16_t *b, int64_t i,
	int64_t m, int64_t j, int64_t n, bool first)
{
	for (int64_t l = 0; l < p->k; l += SUM) {
		const int64_t k = least(SUM, p->k - l);
		if (p->trans_a)
			widen(p->bf16, a + l * p->lda + i, p->lda, k, m, p->room_a);
		else
			widen(p->bf16, a + i * p->lda + l, p->lda, m, k, p->room_a);
		if (p->trans_b)
			widen(p->bf16, b + j * p->ldb + l, p->ldb, n, k, p->room_b);
		else
			widen(p->bf16, b + l * p->ldb + j, p->ldb, k, n, p->room_b);
		rt_gemm_f32(p->trans_a, p->trans_b, m, n, k, 1, p->room_a, p->trans_a ? m : k,
			p->room_b, p->trans_b ? k : n, first && l == 0 ? 0 : 1, p->room_c, n);
	}
}

static void
one_block(const struct half_product *p, int64_t i, int64_t j)
{
	const int64_t m = least(ROWS, p->m - i), n = least(COLUMNS, p->n - j);
	int64_t count = 1;

	for (int s = 0; s < p->nsums; s++)
		count *= p->sum[s].size;
	for (int64_t at = 0; at < count; at++) {
		const uint16_t *a = p->a, *b = p->b;
		int64_t rest = at;
		for (int s = 0; s < p->nsums; s++) {
			a += rest % p->sum[s].size * p->sum[s].a;
			b += rest % p->sum[s].size * p->sum[s].b;
			rest /= p->sum[s].size;
		}
		add_product(p, a, b, i, m, j, n, at == 0);
	}
	narrow(p->bf16, p->room_c, m, n, p->c + i * p->ldc + j, p->ldc);
}

static void
run(struct half_product *p, void *room)
{
	const int64_t m = least(ROWS, p->m), n = least(COLUMNS, p->n), k = least(SUM, p->k);

	p->room_a = room;
	p->room_b = p->room_a + m * k;
	p->room_c = p->room_b + k * n;
	for (int64_t j = 0; j < p->n; j += COLUMNS)
		for (int64_t i = 0; i < p->m; i += ROWS)
			one_block(p, i, j);
}

void
rt_gemm_bf16(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
	int64_t lda, const uint16_t *b, int64_t ldb, uint16_t *c, int64_t ldc, int nsums,
	const struct rt_gemm_sum *sums, void *room)
{
	run(&(struct half_product){true, trans_a, trans_b, m, n, k, a, b, c, lda, ldb, ldc, nsums,
		    sums, NULL, NULL, NULL},
		room);
}

void
rt_gemm_f16(bool trans_a, bool trans_b, int64_t m, int64_t n, int64_t k, const uint16_t *a,
	int64_t lda, const uint16_t *b, int64_t ldb, uint16_t *c, int64_t ldc, int nsums,
	const struct rt_gemm_sum *sums, void *room)
{
	run(&(struct half_product){false, trans_a, trans_b, m, n, k, a, b, c, lda, ldb, ldc, nsums,
		    sums, NULL, NULL, NULL},
		room);
}
