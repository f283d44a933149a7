/* Kernels as sets of ops: joining, copying, and who reads what. See opfuse.h. */
#include "ir/base/alloc.h"
#include "ir/ops/form.h"
#include "passes/fusion/opfuse.h"

#include <assert.h>
#include <string.h>
#include <talloc.h>

/* Is it more than the cheap functions: sums, products, comparisons, and in f32 and f16 what a GPU
 * has an instruction for? */
static bool
is_heavy(const struct expr *e)
{
	static const bool cheap[FN_COUNT] = {[FN_add] = true,
		[FN_sub] = true,
		[FN_mul] = true,
		[FN_neg] = true,
		[FN_maximum] = true,
		[FN_minimum] = true,
		[FN_abs] = true,
		[FN_floor] = true,
		[FN_ceil] = true,
		[FN_round] = true,
		[FN_round_away] = true,
		[FN_trunc] = true,
		[FN_sign] = true,
		[FN_is_finite] = true,
		[FN_is_inf] = true,
		[FN_is_nan] = true,
		[FN_eq] = true,
		[FN_ne] = true,
		[FN_lt] = true,
		[FN_le] = true,
		[FN_gt] = true,
		[FN_ge] = true,
		[FN_and] = true,
		[FN_or] = true,
		[FN_xor] = true,
		[FN_not] = true,
		[FN_shift_left] = true,
		[FN_shift_right] = true,
		[FN_shift_right_logical] = true,
		[FN_select] = true,
		[FN_popcnt] = true,
		[FN_clz] = true,
		[FN_bitcast] = true,
		[FN_element] = true,
		[FN_convert] = true,
		[FN_stop] = true};

	if (e->kind != EXPR_CALL)
		return false;
	const bool short_float = e->dtype == IR_f32 || e->dtype == IR_f16;
	if (!cheap[e->id] && !(short_float && (e->id == FN_div || e->id == FN_rsqrt)))
		return true;
	for (int i = 0; i < e->nargs; i++)
		if (is_heavy(e->arg[i]))
			return true;
	return false;
}

static void
find_heavy(struct opfuse *u)
{
	struct arena *a = arena_create(u);

	for (uint32_t i = 0; i < u->nops; i++) {
		struct form f;
		u->heavy[i] = !fuse_may(u->table, i) ||
			      fuse_table_role(u->table, i)->kind != FUSE_MAP ||
			      fuse_table_role(u->table, i)->apart ||
			      !form_make(u->m, a, u->op[i], NULL, &f) || is_heavy(f.body);
		arena_reset(a);
	}
	talloc_free(a);
}

static bool
reads_before(const struct ir_op *op, int j)
{
	for (int i = 0; i < j; i++)
		if (ir_operand(op, i)->op == ir_operand(op, j)->op)
			return true;
	return false;
}

/* The op that makes operand j, in this block; NULL: none. */
static const struct ir_op *
maker_of(const struct opfuse *u, const struct ir_op *op, int j)
{
	const struct ir_op *maker = ir_operand(op, j)->op;

	return maker && maker->block == u->block && !reads_before(op, j) ? maker : NULL;
}

static void
find_readers(struct opfuse *u)
{
	uint32_t uses = 0;

	/* Counts stand two places further on, so that filling in leaves the ends behind. */
	u->first = ARRAY_ZERO(u, uint32_t, u->nops + 3u);
	for (uint32_t i = 0; i < u->nops; i++)
		for (int j = 0; j < u->op[i]->noperands; j++, uses++)
			if (maker_of(u, u->op[i], j))
				u->first[maker_of(u, u->op[i], j)->order + 2]++;
	for (uint32_t i = 2; i <= u->nops; i++)
		u->first[i] += u->first[i - 1];
	u->reader = ARRAY_NEW(u, uint32_t, uses);
	for (uint32_t i = 0; i < u->nops; i++)
		for (int j = 0; j < u->op[i]->noperands; j++)
			if (maker_of(u, u->op[i], j))
				u->reader[u->first[maker_of(u, u->op[i], j)->order + 1]++] = i;
}

struct opfuse *
opfuse_create(struct pass_run *run, struct ir_module *m)
{
	struct opfuse *u = NEW(run->scratch, struct opfuse);

	u->run = run;
	u->m = m;
	u->block = &ir_func_find(m, "main")->body;
	u->nops = ir_block_number(u->block);
	u->table = fuse_table_create(u, m, u->block);
	u->op = ARRAY_NEW(u, struct ir_op *, u->nops);
	u->kernel = ARRAY_NEW(u, struct opfuse_kernel, u->nops);
	u->home = ARRAY_NEW(u, uint32_t, u->nops);
	u->copies = ARRAY_ZERO(u, uint32_t *, u->nops);
	u->bytes = ARRAY_ZERO(u, double, u->nops);
	u->heavy = ARRAY_ZERO(u, bool, u->nops);
	u->stamp = ARRAY_ZERO(u, uint32_t, u->nops);
	IR_FOR_OPS (op, u->block) {
		const uint32_t i = op->order;
		u->op[i] = op;
		u->home[i] = i;
		u->kernel[i] = (struct opfuse_kernel){NEW(u, uint32_t), 1, i};
		u->kernel[i].op[0] = i;
		if (op->nresults)
			u->bytes[i] = (double)ir_type_local_bytes(m, op->result[0].type);
	}
	find_readers(u);
	find_heavy(u);
	return u;
}

static bool
is_in(const uint32_t *list, uint32_t n, uint32_t x)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t middle = (low + high) / 2;
		if (list[middle] < x)
			low = middle + 1;
		else
			high = middle;
	}
	return low < n && list[low] == x;
}

bool
opfuse_has(const struct opfuse *u, uint32_t kernel, uint32_t op)
{
	return is_in(u->kernel[kernel].op, u->kernel[kernel].n, op);
}

/* Notes the kernel where it has not been noted since u->now was raised. */
static bool
is_new(struct opfuse *u, uint32_t kernel)
{
	const bool fresh = u->stamp[kernel] != u->now;

	u->stamp[kernel] = u->now;
	return fresh;
}

uint32_t
opfuse_readers(struct opfuse *u, uint32_t op, uint32_t *out, uint32_t room)
{
	uint32_t n = 0;

	u->now++;
	for (uint32_t k = u->first[op]; k < u->first[op + 1]; k++) {
		const uint32_t reader = u->reader[k];
		const size_t copies =
			u->copies[reader] ? talloc_array_length(u->copies[reader]) : 0;
		for (size_t c = 0; c <= copies; c++) {
			const uint32_t in = c < copies ? u->copies[reader][c] : u->home[reader];
			if (opfuse_has(u, in, op) || !is_new(u, in))
				continue;
			if (n < room)
				out[n] = in;
			n++;
		}
	}
	return n;
}

static int
by_number(const void *a, const void *b)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return x < y ? -1 : x > y;
}

uint32_t *
opfuse_operands(struct opfuse *u, uint32_t kernel, uint32_t *n)
{
	const struct opfuse_kernel *k = &u->kernel[kernel];
	size_t most = 0;

	for (uint32_t i = 0; i < k->n; i++)
		most += u->op[k->op[i]]->noperands;
	uint32_t *list = alloc_zero(u, most + 1, sizeof *list, "kernels");
	*n = 0;
	for (uint32_t i = 0; i < k->n; i++)
		for (int j = 0; j < u->op[k->op[i]]->noperands; j++) {
			const struct ir_op *maker = maker_of(u, u->op[k->op[i]], j);
			if (maker && !fuse_is_scalar(maker) && !opfuse_has(u, kernel, maker->order))
				list[(*n)++] = maker->order;
		}
	qsort(list, *n, sizeof *list, by_number);
	uint32_t kept = 0;
	for (uint32_t i = 0; i < *n; i++)
		if (!i || list[i] != list[i - 1])
			list[kept++] = list[i];
	*n = kept;
	return list;
}

/* Both lists in order, each op once; talloc array. */
static uint32_t *
merge(struct opfuse *u, const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb, uint32_t *n)
{
	uint32_t *both = alloc_zero(u, na + nb + 1, sizeof *both, "kernels");
	uint32_t i = 0, j = 0;

	*n = 0;
	while (i < na || j < nb) {
		const uint32_t x = j == nb || (i < na && a[i] < b[j]) ? a[i++] : b[j++];
		if (!*n || both[*n - 1] != x)
			both[(*n)++] = x;
	}
	return both;
}

static enum fuse_verdict
check_merged(struct opfuse *u, uint32_t k, const uint32_t *op, uint32_t n)
{
	const struct opfuse_kernel *own = &u->kernel[k];
	uint32_t nboth;

	if (own->n > FUSE_MAX_OPS || n > FUSE_MAX_OPS)
		return FUSE_OPS;
	uint32_t *both = merge(u, op, n, own->op, own->n, &nboth);
	const enum fuse_verdict v = fuse_check(u->table, both, nboth);
	talloc_free(both);
	return v;
}

enum fuse_verdict
opfuse_check_join(struct opfuse *u, uint32_t a, uint32_t b)
{
	return check_merged(u, b, u->kernel[a].op, u->kernel[a].n);
}

enum fuse_verdict
opfuse_check_copy(struct opfuse *u, uint32_t op, uint32_t k)
{
	return check_merged(u, k, &op, 1);
}

static void
set_ops(struct opfuse *u, uint32_t k, const uint32_t *op, uint32_t n)
{
	struct opfuse_kernel *own = &u->kernel[k];
	uint32_t nboth, *both = merge(u, op, n, own->op, own->n, &nboth);

	talloc_free(own->op);
	own->op = both;
	own->n = nboth;
}

/* Kernel b has taken up a: it has op once, as a copy where it is not its home. */
static void
settle_copies(struct opfuse *u, uint32_t op, uint32_t a, uint32_t b)
{
	const size_t n = u->copies[op] ? talloc_array_length(u->copies[op]) : 0;
	bool has = u->home[op] == b;
	size_t kept = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t in = u->copies[op][i] == a ? b : u->copies[op][i];
		if (in == b && has)
			continue;
		has |= in == b;
		u->copies[op][kept++] = in;
	}
	if (kept < n)
		u->copies[op] = RESIZE(u, u->copies[op], uint32_t, kept);
}

void
opfuse_join(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place)
{
	struct opfuse_kernel *from = &u->kernel[a];

	assert(a != b && from->n && u->kernel[b].n);
	for (uint32_t i = 0; i < from->n; i++) {
		if (u->home[from->op[i]] == a)
			u->home[from->op[i]] = b;
		settle_copies(u, from->op[i], a, b);
	}
	set_ops(u, b, from->op, from->n);
	talloc_free(from->op);
	*from = (struct opfuse_kernel){0};
	u->kernel[b].place = place;
}

void
opfuse_copy(struct opfuse *u, uint32_t op, uint32_t k)
{
	const size_t n = u->copies[op] ? talloc_array_length(u->copies[op]) : 0;

	assert(!opfuse_has(u, k, op));
	u->copies[op] = RESIZE(u, u->copies[op], uint32_t, n + 1);
	u->copies[op][n] = k;
	set_ops(u, k, &op, 1);
}

/* Adds the kernels that read from k and have not been met to list[n ...]; returns the new length.
 */
static uint32_t
add_readers(struct opfuse *u, uint32_t k, uint32_t **list, uint32_t n)
{
	const struct opfuse_kernel *own = &u->kernel[k];

	for (uint32_t i = 0; i < own->n; i++) {
		const uint32_t op = own->op[i];
		if (u->home[op] != k)
			continue;
		for (uint32_t r = u->first[op]; r < u->first[op + 1]; r++) {
			const uint32_t reader = u->reader[r];
			const size_t copies =
				u->copies[reader] ? talloc_array_length(u->copies[reader]) : 0;
			for (size_t c = 0; c <= copies; c++) {
				const uint32_t in =
					c < copies ? u->copies[reader][c] : u->home[reader];
				if (!opfuse_has(u, in, op) && is_new(u, in))
					(*list)[n++] = in;
			}
		}
	}
	return n;
}

bool
opfuse_path(struct opfuse *u, uint32_t a, uint32_t b)
{
	uint32_t *list = ARRAY_NEW(u, uint32_t, u->nops + 1u);
	bool found = false;

	u->now++;
	is_new(u, a);
	uint32_t n = add_readers(u, a, &list, 0);
	/* A direct step from a to b is no path through others; b may still be met by another way.
	 */
	for (uint32_t i = 0; i < n && !found; i++) {
		if (list[i] == b)
			continue;
		const uint32_t before = n;
		u->stamp[b] = u->now - 1;
		n = add_readers(u, list[i], &list, n);
		for (uint32_t j = before; j < n; j++)
			found |= list[j] == b;
	}
	array_free(list);
	return found;
}
