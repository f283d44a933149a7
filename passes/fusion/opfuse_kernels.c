/* Kernels as sets of ops: joining, copying, and which kernels read what. See opfuse.h. */
#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "passes/fusion/opfuse.h"

#include <assert.h>
#include <string.h>

/* Copies makers of operands into one array: following pointers to the ops would miss the cache. */
static void
find_makers(struct opfuse *u)
{
	uint32_t n = 0;

	u->operands = ARRAY_NEW(u, uint32_t, u->nops + 1u);
	for (uint32_t i = 0; i < u->nops; i++) {
		u->operands[i] = n;
		n += u->op[i]->noperands;
	}
	u->operands[u->nops] = n;
	u->maker = ARRAY_NEW(u, uint32_t, n);
	for (uint32_t i = 0; i < u->nops; i++)
		for (int j = 0; j < u->op[i]->noperands; j++) {
			const struct ir_op *maker = ir_operand(u->op[i], j)->op;
			u->maker[u->operands[i] + (uint32_t)j] =
				maker ? ir_number(u->ops, maker) : OPFUSE_NONE;
		}
}

/* Stamps `number`; returns false if it has been stamped since u->now was raised. */
static bool
is_new(struct opfuse *u, uint32_t number)
{
	const bool fresh = u->stamp[number] != u->now;

	u->stamp[number] = u->now;
	return fresh;
}

/* Counts the readers of every op in first[op + 2], or writes them from first[op + 1] on, which then
 * becomes the end of the list. Returns how many there are. */
static uint32_t
each_reader(struct opfuse *u, bool write)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < u->nops; i++) {
		u->now++;
		for (uint32_t j = 0; j < opfuse_noperands(u, i); j++) {
			const uint32_t maker = opfuse_maker(u, i, j);
			if (maker == OPFUSE_NONE || !is_new(u, maker))
				continue;
			if (write)
				u->reader[u->first[maker + 1]++] = i;
			else
				u->first[maker + 2]++;
			n++;
		}
	}
	return n;
}

static void
find_readers(struct opfuse *u)
{
	/* Counts are two positions ahead, so that filling in the readers leaves each start in
	 * first[op]. */
	u->first = ARRAY_ZERO(u, uint32_t, u->nops + 3u);
	u->reader = ARRAY_NEW(u, uint32_t, each_reader(u, false));
	for (uint32_t i = 2; i <= u->nops; i++)
		u->first[i] += u->first[i - 1];
	each_reader(u, true);
}

struct opfuse *
opfuse_create(struct pass_run *run, struct ir_module *m)
{
	struct opfuse *u = NEW(run->scratch, struct opfuse);

	u->run = run;
	u->m = m;
	u->block = &ir_func_find(m, "main")->body;
	u->ops = ir_numbering_create(u, m, u->block);
	u->nops = u->ops->n;
	u->op = u->ops->op;
	u->alike = alike_create(u, m, u->block);
	u->table = fuse_table_create(u, m, u->block, u->alike);
	u->kernel = ARRAY_NEW(u, struct opfuse_kernel, u->nops);
	u->home = ARRAY_NEW(u, uint32_t, u->nops);
	u->copies = ARRAY_ZERO(u, struct opfuse_list, u->nops);
	u->bytes = ARRAY_ZERO(u, double, u->nops);
	u->stamp = ARRAY_ZERO(u, uint32_t, u->nops);
	u->lists = arena_create(u);
	for (uint32_t i = 0; i < u->nops; i++) {
		const struct ir_op *op = u->op[i];
		u->home[i] = i;
		u->kernel[i] = (struct opfuse_kernel){
			.op = &u->kernel[i].alone, .n = 1, .place = i, .alone = i, .into = i};
		if (op->nresults)
			u->bytes[i] = (double)ir_type_local_bytes(m, op->result[0].type);
	}
	find_makers(u);
	find_readers(u);
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

bool
opfuse_heavy(const struct opfuse *u, uint32_t op)
{
	return fuse_table_role(u->table, op)->heavy;
}

bool
opfuse_reads(const struct opfuse *u, uint32_t reader, uint32_t op)
{
	for (uint32_t j = 0; j < opfuse_noperands(u, reader); j++)
		if (opfuse_maker(u, reader, j) == op)
			return true;
	return false;
}

/* The kernel that now has the ops of kernel k. */
static uint32_t
now_in(const struct opfuse *u, uint32_t k)
{
	while (u->kernel[k].into != k)
		k = u->kernel[k].into = u->kernel[u->kernel[k].into].into;
	return k;
}

uint32_t
opfuse_copy_at(const struct opfuse *u, uint32_t op, size_t i)
{
	const uint32_t k = now_in(u, u->copies[op].at[i]);

	return k == u->home[op] ? OPFUSE_NONE : k;
}

uint32_t
opfuse_readers(struct opfuse *u, uint32_t op, uint32_t *out, uint32_t room)
{
	uint32_t n = 0;

	u->now++;
	for (uint32_t r = u->first[op]; r < u->first[op + 1]; r++) {
		const uint32_t reader = u->reader[r];
		const size_t copies = opfuse_ncopies(u, reader);
		for (size_t c = 0; c <= copies; c++) {
			const uint32_t in =
				c < copies ? opfuse_copy_at(u, reader, c) : u->home[reader];
			if (in == OPFUSE_NONE || opfuse_has(u, in, op) || !is_new(u, in))
				continue;
			if (n == room)
				return n + 1;
			out[n++] = in;
		}
	}
	return n;
}

const uint32_t *
opfuse_operands(struct opfuse *u, uint32_t kernel, uint32_t *n)
{
	const struct opfuse_kernel *k = &u->kernel[kernel];
	struct opfuse_list *list = &u->operand;

	list->n = 0;
	for (uint32_t i = 0; i < k->n; i++)
		for (uint32_t j = 0; j < opfuse_noperands(u, k->op[i]); j++) {
			const uint32_t maker = opfuse_maker(u, k->op[i], j);
			if (maker != OPFUSE_NONE && !fuse_is_scalar(u->op[maker]) &&
				!opfuse_has(u, kernel, maker))
				VEC_PUSH(u, list, maker);
		}
	if (list->n > 1)
		sort_uint32(list->at, (size_t)list->n);
	*n = 0;
	for (int64_t i = 0; i < list->n; i++)
		if (!i || list->at[i] != list->at[i - 1])
			list->at[(*n)++] = list->at[i];
	return list->at;
}

/* The number of ops in the union of two ascending lists; the union is written to out[] unless
 * NULL. */
static uint32_t
merge(const uint32_t *a, uint32_t na, const uint32_t *b, uint32_t nb, uint32_t *out)
{
	uint32_t i = 0, j = 0, n = 0;

	for (; i < na || j < nb; n++) {
		const uint32_t x = j == nb || (i < na && a[i] < b[j]) ? a[i] : b[j];
		i += i < na && a[i] == x;
		j += j < nb && b[j] == x;
		if (out)
			out[n] = x;
	}
	return n;
}

static enum fuse_verdict
check_merged(const struct opfuse *u, uint32_t k, const uint32_t *op, uint32_t n, bool across)
{
	const struct opfuse_kernel *own = &u->kernel[k];
	uint32_t both[2 * FUSE_MAX_OPS];

	if (own->n > FUSE_MAX_OPS || n > FUSE_MAX_OPS)
		return FUSE_OPS;
	return fuse_check(u->table, both, merge(op, n, own->op, own->n, both), across);
}

enum fuse_verdict
opfuse_check_join(struct opfuse *u, uint32_t a, uint32_t b)
{
	return check_merged(u, b, u->kernel[a].op, u->kernel[a].n, false);
}

/* The copies read the operands of the ops at the place of k. */
bool
opfuse_may_copy(struct opfuse *u, const uint32_t *op, uint32_t n, uint32_t k, bool across)
{
	const uint32_t from = u->kernel[u->home[op[0]]].place, to = u->kernel[k].place;

	return !opfuse_marked(u, from + 1, to + 1) &&
	       check_merged(u, k, op, n, across) == FUSE_POSSIBLE;
}

static void
set_ops(struct opfuse *u, uint32_t k, const uint32_t *op, uint32_t n)
{
	struct opfuse_kernel *own = &u->kernel[k];
	const uint32_t nboth = merge(op, n, own->op, own->n, NULL);
	uint32_t *both = arena_alloc(u->lists, nboth * sizeof *both);

	own->n = merge(op, n, own->op, own->n, both);
	own->op = both;
}

void
opfuse_join(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place)
{
	struct opfuse_kernel *from = &u->kernel[a];

	assert(a != b && from->n && u->kernel[b].n);
	for (uint32_t i = 0; i < from->n; i++)
		if (u->home[from->op[i]] == a)
			u->home[from->op[i]] = b;
	set_ops(u, b, from->op, from->n);
	from->n = 0;
	from->into = b;
	u->kernel[b].place = place;
}

void
opfuse_copy(struct opfuse *u, uint32_t op, uint32_t k)
{
	assert(!opfuse_has(u, k, op));
	VEC_PUSH(u, &u->copies[op], k);
	set_ops(u, k, &op, 1);
}
