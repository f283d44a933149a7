/* Sorting of rows: a merge sort of the whole row, or a heap of the first k. */
#include "runtime/kernel/order.h"

#include "runtime/kernel/half.h"

/* Unsigned numbers in the order of doubles: zeros are equal, NaN comes last. */
static uint64_t
key_of_double(double x)
{
	uint64_t bits;

	if (x != x)
		return UINT64_MAX;
	if (x == 0)
		x = 0; /* for -0 */
	memcpy(&bits, &x, sizeof bits);
	return bits >> 63 ? ~bits : bits | (uint64_t)1 << 63;
}

static uint64_t
key_of_int(int64_t x)
{
	return (uint64_t)x ^ (uint64_t)1 << 63;
}

static uint64_t
key_of(enum rt_dtype t, const void *in, int64_t i)
{
	switch (t) {
	case RT_f64: return key_of_double(((const double *)in)[i]);
	case RT_f32: return key_of_double(((const float *)in)[i]);
	case RT_f16: return key_of_double(rt_f16_to_f32(((const uint16_t *)in)[i]));
	case RT_bf16: return key_of_double(rt_bf16_to_f32(((const uint16_t *)in)[i]));
	case RT_i64: return key_of_int(((const int64_t *)in)[i]);
	case RT_i32: return key_of_int(((const int32_t *)in)[i]);
	case RT_i16: return key_of_int(((const int16_t *)in)[i]);
	case RT_i8: return key_of_int(((const int8_t *)in)[i]);
	case RT_u64: return ((const uint64_t *)in)[i];
	case RT_u32: return ((const uint32_t *)in)[i];
	case RT_u16: return ((const uint16_t *)in)[i];
	default: return key_of_int(((const uint8_t *)in)[i]);
	}
}

static bool
before(struct rt_order_entry a, struct rt_order_entry b)
{
	return a.key < b.key || (a.key == b.key && a.at < b.at);
}

/* Merges the runs [from, middle) and [middle, end) of a into b. */
static void
merge(const struct rt_order_entry *a, struct rt_order_entry *b, int64_t from, int64_t middle,
	int64_t end)
{
	int64_t x = from, y = middle;

	for (int64_t i = from; i < end; i++)
		b[i] = y == end || (x < middle && before(a[x], a[y])) ? a[x++] : a[y++];
}

/* Sorts the n entries of a with the n entries of b as room; returns the one with the result. */
static const struct rt_order_entry *
merge_sort(struct rt_order_entry *a, struct rt_order_entry *b, int64_t n)
{
	for (int64_t run = 1; run < n; run *= 2) {
		for (int64_t from = 0; from < n; from += 2 * run) {
			const int64_t middle = from + run < n ? from + run : n;
			const int64_t end = from + 2 * run < n ? from + 2 * run : n;
			merge(a, b, from, middle, end);
		}
		struct rt_order_entry *const other = a;
		a = b;
		b = other;
	}
	return a;
}

/* Inserts entry e at or below `at` into a heap whose top is the last entry. */
static void
sift(struct rt_order_entry *heap, int64_t size, int64_t at, struct rt_order_entry e)
{
	for (int64_t child; (child = 2 * at + 1) < size; at = child) {
		if (child + 1 < size && before(heap[child], heap[child + 1]))
			child++;
		if (!before(e, heap[child]))
			break;
		heap[at] = heap[child];
	}
	heap[at] = e;
}

/* The heap's entries in order. */
static void
unheap(struct rt_order_entry *heap, int64_t size)
{
	for (int64_t last = size - 1; last > 0; last--) {
		const struct rt_order_entry e = heap[last];
		heap[last] = heap[0];
		sift(heap, last, 0, e);
	}
}

struct rows {
	enum rt_dtype t;
	const void *in;
	int64_t n, inner, k;
	uint64_t flip; /* all ones if the largest comes first */
	struct rt_order_entry *scratch;
};

static struct rt_order_entry
entry_of(const struct rows *r, int64_t from, int64_t i)
{
	return (struct rt_order_entry){key_of(r->t, r->in, from + i * r->inner) ^ r->flip, i};
}

/* The first k of the row that starts at element `from`. */
static const struct rt_order_entry *
order_row(const struct rows *r, int64_t from)
{
	struct rt_order_entry *const e = r->scratch;

	for (int64_t i = 0; i < r->k; i++)
		e[i] = entry_of(r, from, i);
	if (r->k == r->n)
		return merge_sort(e, e + r->n, r->n);
	for (int64_t i = r->k / 2; i-- > 0;)
		sift(e, r->k, i, e[i]);
	for (int64_t i = r->k; i < r->n; i++) {
		const struct rt_order_entry next = entry_of(r, from, i);
		if (before(next, e[0]))
			sift(e, r->k, 0, next);
	}
	unheap(e, r->k);
	return e;
}

void
rt_order(enum rt_dtype t, const void *in, void *values, int32_t *positions, int64_t outer,
	int64_t n, int64_t inner, int64_t k, bool descending, void *scratch)
{
	const struct rows r = {t, in, n, inner, k, descending ? UINT64_MAX : 0, scratch};
	const size_t bytes = rt_dtype_bytes(t);

	for (int64_t row = 0; row < outer * inner; row++) {
		const int64_t from = row / inner * n * inner + row % inner,
			      to = row / inner * k * inner + row % inner;
		const struct rt_order_entry *e = order_row(&r, from);
		for (int64_t i = 0; i < k; i++) {
			positions[to + i * inner] = (int32_t)e[i].at;
			memcpy((char *)values + (size_t)(to + i * inner) * bytes,
				(const char *)in + (size_t)(from + e[i].at * inner) * bytes, bytes);
		}
	}
}
