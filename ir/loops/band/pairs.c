/* Bands as pairs of two dimensions or indices: see band.h. */
#include "ir/loops/band/internal.h"

/* The band of two dimensions or indices, in the order in which all bands are kept. */
struct band
band_make(int row, int col, int64_t low, int64_t high)
{
	if (row < col)
		return (struct band){row, col, low, high};
	return (struct band){col, row, -high, -low};
}

bool
band_same_pair(const struct band *a, const struct band *b)
{
	return a->row == b->row && a->col == b->col;
}

/* Is all of a inside of b? */
bool
band_within(const struct band *a, const struct band *b)
{
	return band_same_pair(a, b) && a->low >= b->low && a->high <= b->high;
}

/* The band of the indices with which an access reads the dimensions of a band; false if they are
 * not two loops. */
bool
band_of_indices(
	const struct form *f, const struct form_access *x, const struct band *b, struct band *to)
{
	const int row = x->index[b->row], col = x->index[b->col];

	if (row == col || !form_is_loop(f, row) || !form_is_loop(f, col))
		return false;
	*to = band_make(row, col, b->low, b->high);
	return true;
}

bool
band_of_dims(const struct form_access *x, const struct band *b, struct band *to)
{
	const int row = form_access_dim(x, b->row), col = form_access_dim(x, b->col);

	if (row < 0 || col < 0)
		return false;
	*to = band_make(row, col, b->low, b->high);
	return true;
}

/* The indices of a set of dimensions, and back. */
uint32_t
band_indices(const struct form_access *x, uint32_t dims)
{
	uint32_t set = 0;

	for (int d = 0; d < x->rank; d++)
		if (dims >> d & 1 && x->index[d] >= 0)
			set |= 1u << x->index[d];
	return set;
}

uint32_t
band_dims(const struct form_access *x, uint32_t indices)
{
	uint32_t set = 0;

	for (int d = 0; d < x->rank; d++)
		if (x->index[d] >= 0 && indices >> x->index[d] & 1)
			set |= 1u << d;
	return set;
}

/* The complement of a half-open band. */
struct band
band_rest(const struct band *b)
{
	if (b->low <= -BAND_FAR)
		return (struct band){b->row, b->col, b->high + 1, BAND_FAR};
	return (struct band){b->row, b->col, -BAND_FAR, b->low - 1};
}

/* The dimension of `to` that equals dimension d of `from`, and all after it do; -1: none.
 */
static int
reshaped_dim(const struct ir_type *from, const struct ir_type *to, int d)
{
	for (int i = 1; i <= from->rank - d; i++)
		if (i > to->rank || from->dim[from->rank - i] != to->dim[to->rank - i])
			return -1;
	return to->rank - (from->rank - d);
}

bool
band_reshaped(const struct ir_type *from, const struct ir_type *to, const struct band *b,
	struct band *out)
{
	const int row = reshaped_dim(from, to, b->row), col = reshaped_dim(from, to, b->col);

	*out = (struct band){row, col, b->low, b->high};
	return row >= 0 && col >= 0;
}

uint32_t
band_reshaped_dims(const struct ir_type *from, const struct ir_type *to, uint32_t dims)
{
	uint32_t set = 0;

	for (int d = 0; d < from->rank; d++) {
		const int at = reshaped_dim(from, to, d);
		if (dims >> d & 1 && at < 0) /* any of those that are not among the last ones */
			for (int i = 0; i < to->rank; i++)
				set |= reshaped_dim(to, from, i) < 0 ? 1u << i : 0;
		else if (dims >> d & 1)
			set |= 1u << at;
	}
	return set;
}

int
band_order(const struct band *a, const struct band *b)
{
	const int64_t x[] = {a->row, a->col, a->low, a->high},
		      y[] = {b->row, b->col, b->low, b->high};
	int i = 0;

	while (i < 3 && x[i] == y[i])
		i++;
	return (x[i] > y[i]) - (x[i] < y[i]);
}
