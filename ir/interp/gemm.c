/*
 * out += sum of a * b in double, as a batched matrix product [m,k] x [k,n]: for any strides, the
 * operands are first packed into dense panels, so that the inner loop runs over contiguous cells.
 * Order of summation: k ascending, one accumulator an element. The interpreter spends nearly all
 * its time here, so this is its only code that is optimized for speed.
 */
#include "ir/interp/internal.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

/* Functions that have a version for wider vectors, which is chosen when the library is loaded. */
#if defined __x86_64__ && !defined __clang__
#define TILE_VERSIONS __attribute__((target_clones("default", "avx2")))
#else
#define TILE_VERSIONS
#endif

enum {
	TILE_M = 4,
	TILE_N = 8, /* accumulators of the inner loop: they fit 16 vector registers of 2 doubles */
	BLOCK_K = 256, /* rows of a panel: a panel of 256 x 8 doubles stays in the first-level cache
			*/
};

enum role { BATCH, ROW, COLUMN, INNER, NROLES };

/* The indices of one role, as one index in mixed radix. */
struct role_index {
	struct product_index index[FORM_MAX_INDICES];
	int n;
	int64_t size;
};

static bool
role_of(const struct product_index *i, enum role *role)
{
	if (i->a && i->b)
		*role = i->out ? BATCH : INNER;
	else if (i->out && (i->a || i->b))
		*role = i->a ? ROW : COLUMN;
	else
		return false;
	return true;
}

enum which { IN_A, IN_B, IN_OUT };

/* Element offsets of every position of a role's index in one of the tensors. */
static int64_t *
role_offsets(const void *owner, const struct role_index *r, enum which which)
{
	int64_t *offset = ZERO_ARRAY(owner, int64_t, (size_t)r->size);
	int64_t done = 1;
	for (int i = r->n; i-- > 0;) {
		const struct product_index *x = &r->index[i];
		const int64_t stride = which == IN_A ? x->a : which == IN_B ? x->b : x->out;
		for (int64_t k = x->size; k-- > 0;)
			for (int64_t j = 0; j < done; j++)
				offset[k * done + j] = offset[j] + k * stride;
		done *= x->size;
	}
	return offset;
}

/* A panel of TILE_M rows or TILE_N columns of k: panel[k][width], zeros beyond `have`. */
static void
pack(double *panel, int width, const union cell *src, const int64_t *across, int have,
	const int64_t *along, int64_t n)
{
	for (int64_t k = 0; k < n; k++)
		for (int j = 0; j < width; j++)
			panel[k * width + j] = j < have ? src[across[j] + along[k]].f : 0;
}

/* Half a row of a tile: the widest vector that every version of tile() has in a register. */
typedef double half __attribute__((
	vector_size(TILE_N / 2 * sizeof(double)), aligned(sizeof(double)), may_alias));

/*
 * gcc keeps accumulators in registers if they are moved one by one and the loops over them are
 * unrolled. Products and sums are not contracted, so all versions compute the same bits.
 */
TILE_VERSIONS static void
tile(const double *a, const double *b, int64_t n, double *restrict result)
{
	half acc[TILE_M][2], *out = (half *)result;
#pragma GCC unroll 4
	for (int i = 0; i < TILE_M; i++) {
		acc[i][0] = out[2 * i];
		acc[i][1] = out[2 * i + 1];
	}
	for (int64_t k = 0; k < n; k++, a += TILE_M, b += TILE_N) {
		const half left = ((const half *)b)[0], right = ((const half *)b)[1];
#pragma GCC unroll 4
		for (int i = 0; i < TILE_M; i++) {
			acc[i][0] += a[i] * left;
			acc[i][1] += a[i] * right;
		}
	}
#pragma GCC unroll 4
	for (int i = 0; i < TILE_M; i++) {
		out[2 * i] = acc[i][0];
		out[2 * i + 1] = acc[i][1];
	}
}

struct product {
	struct role_index role[NROLES];
	int64_t *a_row, *a_inner, *b_inner, *b_column, *out_row, *out_column;
	double *panel; /* rows of a: [rows / TILE_M][BLOCK_K][TILE_M] */
};

static void
tile_add(const struct product *p, union cell *out, const double *a, const double *b, int64_t k,
	int64_t row, int64_t column)
{
	double result[TILE_M * TILE_N] = {0};
	const int64_t rows = p->role[ROW].size - row, columns = p->role[COLUMN].size - column;
	for (int i = 0; i < TILE_M && i < rows; i++)
		for (int j = 0; j < TILE_N && j < columns; j++)
			result[i * TILE_N + j] =
				out[p->out_row[row + i] + p->out_column[column + j]].f;
	tile(a, b, k, result);
	for (int i = 0; i < TILE_M && i < rows; i++)
		for (int j = 0; j < TILE_N && j < columns; j++)
			out[p->out_row[row + i] + p->out_column[column + j]].f =
				result[i * TILE_N + j];
}

static int
at_most(int64_t n, int limit)
{
	return n < limit ? (int)n : limit;
}

static void
matrix_product(const struct product *p, const union cell *a, const union cell *b, union cell *out)
{
	const int64_t rows = p->role[ROW].size, columns = p->role[COLUMN].size;
	double b_panel[BLOCK_K * TILE_N];
	for (int64_t k0 = 0; k0 < p->role[INNER].size; k0 += BLOCK_K) {
		const int64_t k = at_most(p->role[INNER].size - k0, BLOCK_K);
		for (int64_t i = 0; i < rows; i += TILE_M)
			pack(p->panel + i * BLOCK_K, TILE_M, a, p->a_row + i,
				at_most(rows - i, TILE_M), p->a_inner + k0, k);
		for (int64_t j = 0; j < columns; j += TILE_N) {
			pack(b_panel, TILE_N, b, p->b_column + j, at_most(columns - j, TILE_N),
				p->b_inner + k0, k);
			for (int64_t i = 0; i < rows; i += TILE_M)
				tile_add(p, out, p->panel + i * BLOCK_K, b_panel, k, i, j);
		}
	}
}

static void
batched(struct product *p, const union cell *a, const union cell *b, union cell *out)
{
	p->a_row = role_offsets(p, &p->role[ROW], IN_A);
	p->a_inner = role_offsets(p, &p->role[INNER], IN_A);
	p->b_inner = role_offsets(p, &p->role[INNER], IN_B);
	p->b_column = role_offsets(p, &p->role[COLUMN], IN_B);
	p->out_row = role_offsets(p, &p->role[ROW], IN_OUT);
	p->out_column = role_offsets(p, &p->role[COLUMN], IN_OUT);
	const int64_t panels = (p->role[ROW].size + TILE_M - 1) / TILE_M;
	p->panel = NEW_ARRAY(p, double, (size_t)(panels * TILE_M * BLOCK_K));
	const int64_t *at_a = role_offsets(p, &p->role[BATCH], IN_A);
	const int64_t *at_b = role_offsets(p, &p->role[BATCH], IN_B);
	const int64_t *at_out = role_offsets(p, &p->role[BATCH], IN_OUT);
	for (int64_t i = 0; i < p->role[BATCH].size; i++)
		matrix_product(p, a + at_a[i], b + at_b[i], out + at_out[i]);
}

bool
product_run(const struct product_index *index, int n, const union cell *a, const union cell *b,
	union cell *out)
{
	struct product *p = NEW(NULL, struct product);
	for (int r = 0; r < NROLES; r++)
		p->role[r].size = 1;
	bool fits = true;
	for (int i = 0; i < n && fits; i++) {
		enum role role = BATCH;
		if (index[i].size == 1)
			continue;
		fits = role_of(&index[i], &role);
		struct role_index *r = &p->role[role];
		r->index[r->n++] = index[i];
		r->size *= index[i].size;
	}
	if (fits)
		batched(p, a, b, out);
	talloc_free(p);
	return fits;
}
