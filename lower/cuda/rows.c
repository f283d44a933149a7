/*
 * Segments of several stages: one group of lanes (a warp, or a block) per outer iteration. The
 * lanes spread over the inner loops of each stage; values that a later stage reads are in row buffers in
 * shared memory, or in scratch if they do not fit, with a barrier in between if other lanes read them.
 *
 *     softmax, a warp per row    for its row: lanes over c, m = warp_max(m)
 *                                             lanes over c, e[c] -> row buffer, s = warp_sum(s)
 *                                             lanes over c, y[r,c] = e[c] / s
 *
 * Where rows are contiguous, a lane handles neighbours, 16 bytes at a time (vector.c), and keeps what it
 * goes over several times in registers, in place of row buffers (rows_plan.c). A maximum and the sums
 * of exponentials that read it, of long rows, are made in one pass (rows_run.c).
 *
 * Ops of a stage that reduce different loops get one pass each, which recomputes the pointwise ops.
 * A reduction over outer loops leaves one value per block or group (or per combination of the outer
 * loops that it keeps) in scratch, and another launch adds those up in order (rows_parts.c).
 */
#include "lower/cuda/rows.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <string.h>

/* Groups of a warp in a block. One warp a block would leave most of a multiprocessor idle. */
enum { WARPS_MOST = 4, WARPS_LEAST = 2 };

/* The number of inner iterations of the largest stage. */
static int64_t
widest_stage(const struct cuda_text *t, uint32_t outer)
{
	int64_t most = 1;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		const int64_t n = cuda_space_of(t->g, (o->out_set | o->red_set) & ~outer).size;
		most = o->stage >= 0 && n > most ? n : most;
	}
	return most;
}

static struct rows
choose(const struct cuda_text *t)
{
	struct rows x = {
		.outer = scheme_outer_set(t->g), .lanes = CUDA_LANES, .per_block = WARPS_MOST};
	const int64_t widest = widest_stage(t, x.outer);

	x.space = cuda_space_of(t->g, x.outer);
	if (widest > 1024 || (widest >= 4 * CUDA_LANES && x.space.size < CUDA_GROUPS)) {
		x.per_block = 1;
		x.lanes = CUDA_BLOCK;
		while (x.lanes < CUDA_BLOCK_MOST && (int64_t)x.lanes * 8 < widest)
			x.lanes *= 2;
	}
	x.groups = (int64_t)CUDA_GROUPS * x.per_block;
	if (x.space.size < x.groups)
		x.groups = x.space.size;
	return x;
}

/* The barrier of the lanes of a group. */
static void
barrier(struct cuda_text *t, const struct rows *x)
{
	kernel_line(&t->w, x->lanes == CUDA_LANES ? "__syncwarp();" : "__syncthreads();");
}

/*
 * Does a later stage read values that lanes have stored in stages `first` to `last`, and other lanes than
 * that which has them? Values of an outer iteration are in all lanes' registers; where all passes go over
 * rows alike, each lane has its elements.
 */
static bool
exchanges(const struct cuda_text *t, const struct rows *x, int first, int last)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		for (int j = 0; j < o->f.ninputs && o->stage > last; j++) {
			const struct scheme_tensor *in = &t->s->tensor[o->in[j]];
			if (!(scheme_reads(o) >> j & 1) ||
				!scheme_made_in(t->s, o->in[j], o->segment) ||
				in->where == SCHEME_LOCAL)
				continue;
			const struct scheme_op *maker = &t->s->op[in->op];
			if (maker->stage >= first && maker->stage <= last &&
				maker->out_set & ~x->outer &&
				(!x->width || o->computed ||
					scheme_stride(t->s, o, j, x->cls) != 1))
				return true;
		}
	}
	return false;
}

/* Do stages `first` to `last` store anything in memory or in rows? */
static bool
stages_write(const struct cuda_text *t, int first, int last)
{
	bool any = false;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		any |= o->stage >= first && o->stage <= last && cuda_is_stored(t, o);
	}
	return any;
}

/* The barrier after stage `last`, if one is needed since stage `first`; returns the first stage after
 * the last barrier. Where results may lie on operands, other lanes may still read these. */
static int
order(struct cuda_text *t, const struct rows *x, int first, int last)
{
	const bool in_place = t->in_place && stages_write(t, first, last);

	if (!in_place && !exchanges(t, x, first, last))
		return first;
	barrier(t, x);
	return last + 1;
}

/* Computes the offsets of the row buffers in a group's room. */
static void
place_rows(struct cuda_text *t, struct rows *x)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		struct scheme_tensor *row = &t->s->tensor[o->out];
		if (row->where != SCHEME_ROW || rows_is_kept(x, o->out))
			continue;
		row->scratch = x->row_bytes;
		int64_t n = cuda_space_of(t->g, o->out_set & ~x->outer).size;
		if (x->tail) /* its last vector is stored whole */
			n = cuda_divide_up(n, x->width) * x->width;
		x->row_bytes += rows_padded(n, row->dtype);
	}
	/* fewer warps a block rather than rows in main memory */
	while (x->per_block > WARPS_LEAST && x->row_bytes * x->per_block > CUDA_SHARED)
		x->per_block--;
	x->shared = x->row_bytes * x->per_block <= CUDA_SHARED;
	if (!x->shared && x->per_block > 1)
		x->per_block = WARPS_MOST;
}

static void
declare_rows(struct cuda_text *t, const struct rows *x)
{
	if (!x->row_bytes)
		return;
	if (x->shared) {
		kernel_line(&t->w, "alignas(%d) __shared__ unsigned char rows[%" PRId64 "];",
			CUDA_VECTOR, x->row_bytes * x->per_block);
		kernel_line(&t->w, "unsigned char *const row = rows%s;",
			x->per_block == 1
				? ""
				: cuda_printf(t, " + threadIdx.x / 32 * %" PRId64, x->row_bytes));
	} else {
		const char *name = cuda_printf(t, "rows%d", (int)(t->g - t->s->segment));
		cuda_scratch(t, "unsigned char", name, x->groups * x->row_bytes);
		kernel_line(&t->w, "unsigned char *const row = %s + group * (uint64_t)%" PRId64 ";",
			name, x->row_bytes);
	}
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_tensor *row = &t->s->tensor[t->s->op[t->g->op[k]].out];
		const char *type = kernel_compute_type(row->dtype);
		if (row->where == SCHEME_ROW && !rows_is_kept(x, t->s->op[t->g->op[k]].out))
			kernel_line(&t->w, "%s *const w%d = (%s *)(row + %" PRId64 ");", type,
				t->s->op[t->g->op[k]].out, type, row->scratch);
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (rows_is_near(x, o))
			kernel_line(&t->w, "%s *const s%d = (%s *)(row + %" PRId64 ");",
				cuda_type(o), o->out, cuda_type(o), x->part[o->out]);
	}
}

const bool *
rows_needed(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	bool *need = cuda_need_none(t);

	for (int k = 0; k < t->g->nops; k++) {
		const int i = t->g->op[k];
		const struct scheme_op *o = &t->s->op[i];
		const bool scalar = !p->all.n && !o->red_set; /* later stages read it as a local */
		if (o->stage == p->stage &&
			(rows_in_pass(p, x, o) ||
				(!o->red_set && ((p->store && cuda_is_stored(t, o)) || scalar))))
			cuda_need(t, need, i);
	}
	return need;
}

/* An outer iteration without inner loops: every lane computes it, the first one stores. */
static void
write_scalars(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	cuda_pointwise(t, p->stage, rows_needed(t, x, p), false);
	FOR_PASS(t, p, x, o)
	{
		const char *value = kernel_value(&t->w, o);
		kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
	}
	if (!stages_write(t, p->stage, p->stage))
		return;
	if (t->in_place) /* after the other lanes have read the operands */
		barrier(t, x);
	cuda_block(t, "if (lane == 0)");
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->stage == p->stage && cuda_is_stored(t, o))
			rows_put(t, x, o);
	}
	cuda_end(t);
}

/* The vectors of a pass over one inner loop, by lanes that do not sum alone. */
static bool
find_vectors(const struct cuda_text *t, const struct rows *x, const struct pass *p,
	const bool *need, struct cuda_vectors *v)
{
	*v = (struct cuda_vectors){
		.cls = p->all.n == 1 ? p->all.cls[0] : -1, .need = need, .store = p->store};
	if (x->width) {
		v->width = x->width;
		v->odd = x->odd;
		v->tail = x->tail;
		return true;
	}
	return (!p->set || !p->serial) && cuda_vectors_fit(t, v);
}

void
rows_open_vectors(struct cuda_text *t, struct rows *x, struct cuda_vectors *v)
{
	const int64_t n = t->g->size[v->cls];
	const char *end =
		x->odd ? cuda_printf(t, "(%" PRId64 " + shift) / %d", n + v->width - 1, v->width)
		       : cuda_printf(t, "%" PRId64, cuda_divide_up(n, v->width));

	cuda_vectors_list(t, v);
	for (int i = 0; i < v->n; i++)
		for (int k = 0; k < x->nkept; k++) {
			struct kept *q = &x->kept[k];
			if (!q->keep || strcmp(q->is.element, v->at[i].element) != 0)
				continue;
			v->at[i].name = cuda_printf(t, "q%d[mine]", k);
			v->at[i].kept = true;
			v->at[i].made = q->made;
			if (!q->made)
				kernel_line(&t->w, "vec<%s, %d> q%d[%d];", q->is.type, v->width, k,
					x->rounds);
			q->made = true;
		}
	if (x->rounds) {
		kernel_line(&t->w, "#pragma unroll");
		cuda_block(t, "for (int mine = 0; mine < %d; mine++)", x->rounds);
		kernel_line(&t->w, "const uint32_t at = lane + mine * %d;", x->lanes);
		if (x->odd || n != (int64_t)x->rounds * x->lanes * v->width) {
			kernel_line(&t->w, "if (at >= %s)", end);
			kernel_line(&t->w, "\tcontinue;");
		}
	} else {
		cuda_block(t, "for (%s at = lane; at < %s; at += %d)", rows_index_type(x, n), end,
			x->lanes);
	}
	kernel_line(&t->w, "const int64_t first = (int64_t)at * %d%s, i%d = first;", v->width,
		x->odd ? " - shift" : "", v->cls);
	cuda_vectors_load(t, v);
}

/* A pass that reduces no inner loop. y<out> are the parts of sums over outer loops. */
static void
write_pointwise(struct cuda_text *t, struct rows *x, const struct pass *p)
{
	struct cuda_vectors v;
	const bool *need = rows_needed(t, x, p);
	const bool vectors = find_vectors(t, x, p, need, &v) && rows_have_vectors(t, x, p, v.cls);

	if (x->width) {
		rows_open_vectors(t, x, &v);
	} else {
		const char *type = rows_index_type(x, p->all.size);
		cuda_block(t, "for (%s q = lane; q < %" PRId64 "; q += %d)", type,
			p->all.size / (vectors ? v.width : 1), x->lanes);
		if (vectors)
			kernel_line(&t->w, "const %s element = q * %d;", type, v.width);
		cuda_unflatten(t, &p->all, vectors ? "element" : "q");
	}
	if (vectors) {
		FOR_PASS(t, p, x, o)
		kernel_line(&t->w, "vec<%s, %d> y%d = %s;", cuda_type(o), v.width, o->out,
			cuda_vector_loaded(t, &v, rows_part_text(t, x, o)));
		if (x->width)
			cuda_vectors_each(t, &v);
		else
			cuda_vectors_open(t, &v);
	}
	cuda_pointwise(t, p->stage, need, false);
	FOR_PASS(t, p, x, o)
	{
		const char *value = kernel_value(&t->w, o);
		kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
		if (vectors)
			cuda_accumulate(t, o, cuda_printf(t, "y%d.at[u]", o->out),
				cuda_printf(t, "v%d", o->out));
		else
			rows_put(t, x, o);
	}
	if (p->store)
		cuda_store_pointwise(t, p->stage, need);
	if (vectors) {
		cuda_vectors_close(t, &v);
		FOR_PASS(t, p, x, o)
		cuda_vector_store(t, &v, rows_part_text(t, x, o), cuda_printf(t, "y%d", o->out));
	}
	cuda_end(t);
}

void
rows_write_summands(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	FOR_PASS(t, p, x, o)
	{
		const char *value = kernel_value(&t->w, o);
		cuda_accumulate(t, o, cuda_printf(t, "v%d", o->out), value);
	}
}

static void
write_sum(struct cuda_text *t, struct rows *x, const struct pass *p)
{
	const struct scheme_op **op =
		NEW_ARRAY(t->w.scratch, const struct scheme_op *, (size_t)t->g->nops);
	const bool *need = rows_needed(t, x, p);
	const int64_t count = p->over.size / (p->serial ? 1 : x->lanes);
	struct cuda_vectors v;
	const bool vectors = count <= SCHEME_SUM_BLOCK && find_vectors(t, x, p, need, &v);
	struct cuda_sum sum = {.op = op,
		.type = rows_index_type(x, p->over.size),
		.first = p->serial ? "0" : "lane",
		.end = cuda_printf(t, "%" PRId64, p->over.size / (vectors ? v.width : 1)),
		.step = p->serial ? 1 : x->lanes,
		.count = count};

	FOR_PASS(t, p, x, o)
	op[sum.nops++] = o;
	if (x->width) {
		FOR_PASS(t, p, x, o)
		kernel_line(&t->w, "%s v%d = %s;", cuda_type(o), o->out, kernel_identity(&t->w, o));
		rows_open_vectors(t, x, &v);
		cuda_vectors_each(t, &v);
	} else {
		cuda_open_sum(t, &sum);
		if (vectors)
			kernel_line(&t->w, "const %s element = at * %d;", sum.type, v.width);
		cuda_unflatten(t, &p->over, vectors ? "element" : "at");
		if (vectors)
			cuda_vectors_open(t, &v);
	}
	cuda_pointwise(t, p->stage, need, false);
	rows_write_summands(t, x, p);
	if (p->store)
		cuda_store_pointwise(t, p->stage, need);
	if (vectors)
		cuda_vectors_close(t, &v);
	if (x->width)
		cuda_end(t);
	else
		cuda_close_sum(t, &sum);
	FOR_PASS(t, p, x, o)
	{
		if (!p->serial)
			cuda_reduce_lanes(t, o, 'v', x->lanes);
		if (!(o->red_set & x->outer))
			kernel_settle(&t->w, o);
	}
}

static void
write_sums(struct cuda_text *t, struct rows *x, const struct pass *p)
{
	bool any = false;

	if (p->kept.n) {
		cuda_block(t, "for (%s q = %s; q < %" PRId64 "; q += %d)",
			rows_index_type(x, p->kept.size), p->serial ? "lane" : "0", p->kept.size,
			p->serial ? x->lanes : 1);
		cuda_unflatten(t, &p->kept, "q");
	}
	write_sum(t, x, p);
	FOR_PASS(t, p, x, o)
	any |= cuda_is_stored(t, o);
	if (any && !p->serial)
		cuda_block(t, "if (lane == 0)");
	FOR_PASS(t, p, x, o)
	if (cuda_is_stored(t, o))
		rows_put(t, x, o);
	if (any && !p->serial)
		cuda_end(t);
	if (p->kept.n)
		cuda_end(t);
}

static void
write_pass(struct cuda_text *t, struct rows *x, const struct pass *p)
{
	if (!p->all.n)
		write_scalars(t, x, p);
	else if (!p->set)
		write_pointwise(t, x, p);
	else
		write_sums(t, x, p);
}

struct pass
rows_make_pass(
	const struct cuda_text *t, int stage, struct cuda_space space, uint32_t set, bool store)
{
	struct pass p = {.stage = stage, .all = space, .set = set, .store = store};
	uint32_t all = 0;

	for (int i = 0; i < space.n; i++)
		all |= 1u << space.cls[i];
	p.over = cuda_space_of(t->g, set);
	p.kept = cuda_space_of(t->g, all & ~set);
	p.serial = p.kept.n && p.kept.size >= CUDA_LANES;
	return p;
}

/*
 * The passes of a stage: one for each set of inner loops that its ops reduce, and one that reduces
 * nothing if there are such ops. The last one stores pointwise results: the others recompute them,
 * from operands that they may lie on. `pass` has room for one more than ops; returns their number.
 */
int
rows_list_passes(const struct cuda_text *t, const struct rows *x, int stage, struct pass *pass)
{
	uint32_t *set = NEW_ARRAY(t->w.scratch, uint32_t, (size_t)t->g->nops + 1), space = 0;
	int n = 0, npasses = 0;
	bool store = false, pointwise = false;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->stage != stage)
			continue;
		const uint32_t mine = o->red_set & ~x->outer;
		space |= (o->out_set | o->red_set) & ~x->outer;
		store |= !o->red_set && cuda_is_stored(t, o);
		pointwise |= o->red_set && !mine;
		bool known = !mine;
		for (int i = 0; i < n; i++)
			known |= set[i] == mine;
		if (!known)
			set[n++] = mine;
	}
	if (!n || pointwise)
		set[n++] = 0;
	const struct cuda_space all = cuda_space_of(t->g, space);
	for (int i = 0; i < n; i++)
		if (set[i] || pointwise || store || !all.n)
			pass[npasses++] = rows_make_pass(t, stage, all, set[i], i + 1 == n);
	return npasses;
}

void
cuda_rows(struct cuda_text *t)
{
	struct rows x = choose(t);
	struct pass *pass = NEW_ARRAY(t->w.scratch, struct pass, (size_t)t->g->nops + 1);
	struct run run;
	const bool runs = rows_find_run(t, &x, &run);

	rows_plan_lanes(t, &x, runs ? &run : NULL);
	place_rows(t, &x);
	rows_place_parts(t, &x);
	const int threads = x.lanes * x.per_block;
	cuda_open(t);
	kernel_line(&t->w, "const uint32_t lane = threadIdx.x %% %d;", x.lanes);
	kernel_line(&t->w, "const uint32_t group = blockIdx.x%s;",
		x.per_block == 1 ? "" : cuda_printf(t, " * %d + threadIdx.x / 32", x.per_block));
	if (x.lanes > CUDA_LANES)
		cuda_open_lanes(t);
	declare_rows(t, &x);
	cuda_prologue(t);
	cuda_block(t, "if (group < %" PRId64 ")", x.groups);
	if (rows_fill_parts(t, &x))
		barrier(t, &x);
	cuda_block(t, "for (%s outer = group; outer < %" PRId64 "; outer += %" PRId64 ")",
		cuda_index_type(x.space.size + x.groups), x.space.size, x.groups);
	cuda_unflatten(t, &x.space, "outer");
	if (x.odd) {
		kernel_line(&t->w, "unsigned shift;");
		cuda_block(t, "%s", "");
		kernel_line(&t->w, "const int64_t i%d = 0;", x.cls);
		kernel_line(&t->w, "shift = vec_shift<%d>(&%s);", x.width, x.lead);
		cuda_end(t);
	}
	t->w.sums_local = true;
	int since = 0;
	if (runs) {
		rows_write_run(t, &x, &run);
		since = order(t, &x, since, run.sums.stage);
	}
	for (int stage = runs; stage < t->g->nstages; stage++) {
		if (runs && stage == run.sums.stage)
			continue;
		const int n = rows_list_passes(t, &x, stage, pass);
		for (int i = 0; i < n; i++)
			write_pass(t, &x, &pass[i]);
		since = order(t, &x, since, stage);
	}
	t->w.sums_local = false;
	/* the next iteration overwrites rows that are still read */
	if (since || t->in_place)
		barrier(t, &x);
	cuda_end(t);
	cuda_end(t);
	rows_write_near_parts(t, &x);
	cuda_close(t, threads, rows_blocks(&x));
	rows_write_parts(t, &x);
	cuda_prologue_results(t);
}
