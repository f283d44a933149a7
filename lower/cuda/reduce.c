/*
 * Segments of one stage with reductions. A launch computes the ops that reduce the same loops:
 *
 *     lanes along the sum   the innermost loop is summed: a warp or a block per result
 *     a thread per result   another loop is innermost: neighbours read neighbouring elements,
 *                           and where vectors fit, a thread has several. Of 8 bytes: the
 *                           registers of 16 would leave it fewer loads in flight
 *
 * If there are too few results for a device, each sum is cut into chunks, and a second launch adds
 * up the chunks in order. The number of chunks depends on the sizes alone.
 */
#include "lower/cuda/text.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <string.h>

/* The distribution of results and their sums over threads. */
struct spread {
	struct cuda_space kept, over;
	int lanes;      /* 1, CUDA_LANES or CUDA_BLOCK: lanes of a group that computes one result */
	int64_t chunks; /* of each sum */
	int64_t length; /* of a chunk */
	int width;      /* neighbouring results of a thread */
};

enum { UNROLL = 8 }; /* loads that a thread has in flight */

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* `width`: that of the vectors along the last kept loop, if a thread has neighbouring results. */
static struct spread
choose(struct cuda_space kept, struct cuda_space over, bool inner, int width)
{
	struct spread x = {kept, over, 1, 1, over.size, 1};
	int64_t most = cuda_divide_up(over.size, CUDA_CHUNK_LEAST), want = CUDA_THREADS;

	if (over.size >= CUDA_LANES && (inner || kept.size < CUDA_LANES)) {
		x.lanes = over.size >= 8 * CUDA_BLOCK || kept.size < CUDA_GROUPS ? CUDA_BLOCK
										 : CUDA_LANES;
		if (over.size < CUDA_BLOCK)
			x.lanes = CUDA_LANES;
		most = cuda_divide_up(over.size, (int64_t)8 * x.lanes);
		want = CUDA_GROUPS;
	} else if (width > 1) {
		x.width = width;
		want = CUDA_THREADS / 2 * width;
	}
	x.chunks = least(least(cuda_divide_up(want, kept.size), most), CUDA_CHUNKS);
	if (x.chunks < 1 || kept.size >= want || (x.lanes == 1 && over.size <= CUDA_SUM_WHOLE))
		x.chunks = 1;
	x.length = cuda_divide_up(over.size, x.chunks);
	if (x.chunks > 1 && x.lanes == 1) /* no rest, whose loads would wait for each other */
		x.length = cuda_divide_up(x.length, UNROLL) * UNROLL;
	x.chunks = cuda_divide_up(over.size, x.length);
	return x;
}

/* The loop over (result, chunk): `unit`, `kept`, `chunk`, `lane`. */
static void
open_units(struct cuda_text *t, const struct spread *x)
{
	const int64_t own = x->kept.size / x->width, units = own * x->chunks;
	const int per_block = CUDA_BLOCK / x->lanes;
	const char *type = cuda_index_type(units * x->width + (int64_t)CUDA_GRID * CUDA_BLOCK);
	const char *mine = x->lanes == 1            ? " + threadIdx.x"
			   : x->lanes == CUDA_LANES ? " + threadIdx.x / 32"
						    : "";

	if (x->lanes > 1)
		kernel_line(&t->w, "const int lane = threadIdx.x %% %d;", x->lanes);
	if (x->lanes == CUDA_BLOCK)
		cuda_open_lanes(t);
	cuda_block(t,
		"for (%s unit = blockIdx.x * (%s)%d%s; unit < %" PRId64 "; unit += gridDim.x * %d)",
		type, type, per_block, mine, units, per_block);
	if (x->chunks > 1)
		kernel_line(&t->w,
			"const %s kept = unit %% %" PRId64 ", chunk = unit / %" PRId64 ";", type,
			own, own);
	const char *at = x->chunks > 1 ? "kept" : "unit";
	if (x->width > 1)
		kernel_line(&t->w, "const %s element = %s * %d;", type, at, x->width);
	cuda_unflatten(t, &x->kept, x->width > 1 ? "element" : at);
}

static int64_t
grid_of(const struct spread *x)
{
	return cuda_divide_up(x->kept.size / x->width * x->chunks * x->lanes, CUDA_BLOCK);
}

/* The loop over a chunk of a sum, `at`. */
static struct cuda_sum
open_sum(struct cuda_text *t, const struct spread *x, const struct scheme_op *const *op, int nops)
{
	const char *type =
		cuda_index_type(x->over.size + x->length + (int64_t)SCHEME_SUM_BLOCK * CUDA_BLOCK);
	struct cuda_sum sum = {.op = op,
		.nops = nops,
		.type = type,
		.first = x->lanes > 1 ? "lane" : "0",
		.end = cuda_printf(t, "%" PRId64, x->over.size),
		.step = x->lanes,
		.width = x->width,
		.unroll = x->lanes > 1                                                     ? 0
			  : x->chunks == 1 && x->length <= CUDA_SUM_WHOLE && x->width == 1 ? 16
											   : UNROLL,
		.count = cuda_divide_up(x->length, x->lanes)};

	if (x->chunks > 1) {
		kernel_line(&t->w,
			"const %s begin = chunk * (%s)%" PRId64 ", past = begin + %" PRId64 ";",
			type, type, x->length, x->length);
		kernel_line(&t->w, "const %s end = past < %" PRId64 " ? past : %" PRId64 ";", type,
			x->over.size, x->over.size);
		sum.first = x->lanes > 1 ? "begin + lane" : "begin";
		sum.end = "end";
	}
	cuda_open_sum(t, &sum);
	cuda_unflatten(t, &x->over, "at");
	return sum;
}

/* Reduces v<out> of all ops over the group, and stores the results, or leaves that to the second
 * launch. */
static void
finish(struct cuda_text *t, const struct spread *x, const struct scheme_op *const *op, int nops)
{
	if (x->width > 1) {
		const int last = x->kept.cls[x->kept.n - 1];
		kernel_line(&t->w, "const int64_t first = i%d;", last);
		kernel_line(&t->w, "#pragma unroll");
		cuda_block(t, "for (int u = 0; u < %d; u++)", x->width);
		kernel_line(&t->w, "const int64_t i%d = first + u;", last);
		for (int i = 0; i < nops; i++)
			kernel_line(&t->w, "%s v%d = w%d[u];", cuda_type(op[i]), op[i]->out,
				op[i]->out);
	}
	for (int i = 0; i < nops && x->lanes > 1; i++)
		cuda_reduce_lanes(t, op[i], 'v', x->lanes);
	for (int i = 0; i < nops && x->chunks == 1; i++)
		kernel_settle(&t->w, op[i]);
	if (x->lanes > 1)
		cuda_block(t, "if (lane == 0)");
	for (int i = 0; i < nops; i++) {
		if (x->chunks > 1 && x->width > 1)
			kernel_line(&t->w, "part%d[unit * %d + u] = v%d;", op[i]->out, x->width,
				op[i]->out);
		else if (x->chunks > 1)
			kernel_line(&t->w, "part%d[unit] = v%d;", op[i]->out, op[i]->out);
		else
			kernel_store(&t->w, op[i]);
	}
	if (x->lanes > 1 || x->width > 1)
		cuda_end(t);
}

void
cuda_reduce_parts(struct cuda_text *t, const struct cuda_parts *p)
{
	struct spread x = {.kept = p->kept,
		.over = {.size = p->count},
		.lanes = 1,
		.chunks = 1,
		.length = p->count,
		.width = 1};

	if (p->count >= CUDA_LANES && p->kept.size < CUDA_GROUPS * CUDA_LANES)
		x.lanes = CUDA_LANES;
	cuda_open(t);
	open_units(t, &x);
	const struct cuda_sum sum = open_sum(t, &x, p->op, p->nops);
	for (int i = 0; i < p->nops; i++) {
		const char *part = cuda_printf(t, "part%d[at * (uint64_t)%" PRId64 " + unit]",
			p->op[i]->out, p->kept.size);
		cuda_accumulate(t, p->op[i], cuda_printf(t, "v%d", p->op[i]->out), part);
	}
	cuda_close_sum(t, &sum);
	finish(t, &x, p->op, p->nops);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, grid_of(&x));
}

/* The ops of the segment that reduce exactly `set`; returns their number. */
static int
ops_over(const struct cuda_text *t, uint32_t set, const struct scheme_op **op)
{
	int n = 0;

	for (int k = 0; k < t->g->nops; k++)
		if (t->s->op[t->g->op[k]].red_set == set)
			op[n++] = &t->s->op[t->g->op[k]];
	return n;
}

/* The ops that a launch over `set` needs; `store`: also all pointwise results. */
static const bool *
needed(struct cuda_text *t, uint32_t set, bool store)
{
	bool *need = cuda_need_none(t);

	for (int k = 0; k < t->g->nops; k++) {
		const int i = t->g->op[k];
		const struct scheme_op *o = &t->s->op[i];
		if (o->red_set ? o->red_set == set : store && cuda_is_stored(t, o))
			cuda_need(t, need, i);
	}
	return need;
}

static void
write_launch(struct cuda_text *t, uint32_t set, bool store)
{
	const uint32_t all = cuda_all(t->g);
	const bool inner = set >> t->g->order[t->g->norder - 1] & 1;
	const struct cuda_space kept = cuda_space_of(t->g, all & ~set);
	const bool *need = needed(t, set, store);
	struct cuda_vectors v = {
		.cls = kept.n ? kept.cls[kept.n - 1] : -1, .need = need, .store = store};
	if (!inner && cuda_vectors_fit(t, &v))
		v.width /= 2;
	else
		v.width = 1;
	const struct cuda_space over = cuda_space_of(t->g, set);
	struct spread x = choose(kept, over, inner, v.width);
	if (x.length > SCHEME_SUM_BLOCK) /* sums that are cut have one accumulator */
		x = choose(kept, over, inner, 1);
	const struct scheme_op **op =
		NEW_ARRAY(t->w.scratch, const struct scheme_op *, (size_t)t->g->nops);
	const int nops = ops_over(t, set, op);

	for (int i = 0; i < nops && x.chunks > 1; i++)
		cuda_scratch(t, cuda_type(op[i]), cuda_printf(t, "part%d", op[i]->out),
			x.kept.size * x.chunks * 8);
	cuda_open(t);
	cuda_prologue(t);
	open_units(t, &x);
	const struct cuda_sum sum = open_sum(t, &x, op, nops);
	if (x.width > 1)
		cuda_vectors_open(t, &v);
	cuda_pointwise(t, 0, need, false);
	for (int i = 0; i < nops; i++) {
		const char *value = kernel_value(&t->w, op[i]);
		cuda_accumulate(t, op[i],
			cuda_printf(t, x.width > 1 ? "w%d[u]" : "v%d", op[i]->out), value);
	}
	if (store)
		cuda_store_pointwise(t, 0, need);
	if (x.width > 1)
		cuda_vectors_close(t, &v);
	cuda_close_sum(t, &sum);
	finish(t, &x, op, nops);
	cuda_end(t);
	cuda_close(t, CUDA_BLOCK, grid_of(&x));
	if (x.chunks > 1)
		cuda_reduce_parts(t, &(struct cuda_parts){op, nops, x.kept, x.chunks});
}

/* Pointwise results are written by the last launch: the others compute them from operands that they
 * may lie on. */
void
cuda_reduce(struct cuda_text *t)
{
	uint32_t *set = NEW_ARRAY(t->w.scratch, uint32_t, (size_t)t->g->nops + 1);
	int n = 0;

	for (int k = 0; k < t->g->nops; k++) {
		const uint32_t mine = t->s->op[t->g->op[k]].red_set;
		bool known = mine == 0;
		for (int i = 0; i < n; i++)
			known |= set[i] == mine;
		if (!known)
			set[n++] = mine;
	}
	for (int i = 0; i < n; i++)
		write_launch(t, set[i], i + 1 == n);
	cuda_prologue_results(t);
}
