/*
 * Segments of several stages: one group of lanes (a warp, or a block) per outer iteration. The
 * lanes spread over the inner loops of each stage, followed by a barrier; values that a later stage
 * reads are in row buffers in shared memory, or in scratch if they do not fit.
 *
 *     softmax, a warp per row    for its row: lanes over c, m = warp_max(m)
 *                                             lanes over c, e[c] -> row buffer, s = warp_sum(s)
 *                                             lanes over c, y[r,c] = e[c] / s
 *
 * A maximum and the sums of exponentials that read it, of long rows, are made in one pass (running.c): a
 * lane goes over a few elements for the maximum, multiplies its sums by the change, and goes over them again.
 *
 * Where rows are contiguous, a lane handles neighbours: 16 bytes at a time (vector.c).
 *
 * Ops of a stage that reduce different loops get one pass each, which recomputes the pointwise ops.
 * A reduction over outer loops leaves one value per group (or per combination of the outer loops
 * that it keeps) in scratch, and another launch adds those up in order.
 */
#include "lower/cuda/text.h"

#include "ir/base/alloc.h"

#include <inttypes.h>

/* Groups of a warp in a block. One warp a block would leave most of a multiprocessor idle. */
enum { WARPS_MOST = 4, WARPS_LEAST = 2 };

struct rows {
	uint32_t outer;
	int lanes;         /* of a group */
	int per_block;     /* groups in a block */
	int64_t groups;    /* of the launch */
	int64_t row_bytes; /* row buffers of a group */
	bool shared;       /* the row buffers are in shared memory */
	struct cuda_space space;
};

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

/* Does the op reduce some outer loops and keep others? Then each outer iteration has its own
 * value. */
static bool
keeps_outer(const struct scheme_op *o, uint32_t outer)
{
	return o->red_set & outer && o->out_set & outer;
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

/* Computes the offsets of the row buffers in a group's room. */
static void
place_rows(struct cuda_text *t, struct rows *x)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		struct scheme_tensor *row = &t->s->tensor[o->out];
		if (row->where != SCHEME_ROW)
			continue;
		row->scratch = x->row_bytes;
		const int64_t n = cuda_space_of(t->g, o->out_set & ~x->outer).size;
		x->row_bytes +=
			(n * (int64_t)ir_dtype_bytes(row->dtype == IR_f16 || row->dtype == IR_bf16
							     ? IR_f32
							     : row->dtype) +
				CUDA_VECTOR - 1) /
			CUDA_VECTOR * CUDA_VECTOR;
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
		if (row->where == SCHEME_ROW)
			kernel_line(&t->w, "%s *const w%d = (%s *)(row + %" PRId64 ");", type,
				t->s->op[t->g->op[k]].out, type, row->scratch);
	}
}

/* The space of the results of op o, a reduction over outer loops. */
static struct cuda_space
kept_space(const struct cuda_text *t, const struct scheme_op *o)
{
	return cuda_space_of(t->g, o->out_set);
}

static int64_t
parts_of(const struct cuda_text *t, const struct rows *x, const struct scheme_op *o)
{
	return keeps_outer(o, x->outer) ? cuda_space_of(t->g, o->red_set & x->outer).size
					: x->groups;
}

/* The row-major number of the current iteration in a space. */
static char *
flat_text(struct cuda_text *t, const struct cuda_space *space)
{
	char *text = NULL;
	int64_t below = 1;

	for (int i = space->n - 1; i >= 0; i--) {
		text = cuda_printf(t, "%s%si%d * (uint64_t)%" PRId64, text ? text : "",
			text ? " + " : "", space->cls[i], below);
		below *= t->g->size[space->cls[i]];
	}
	return text ? text : cuda_printf(t, "0");
}

/* The address in its parts of the current value of op o, a reduction over outer loops. */
static char *
part_text(struct cuda_text *t, const struct rows *x, const struct scheme_op *o)
{
	const struct cuda_space kept = kept_space(t, o),
				over = cuda_space_of(t->g, o->red_set & x->outer);
	const char *number =
		keeps_outer(o, x->outer) ? cuda_printf(t, "(%s)", flat_text(t, &over)) : "group";

	return cuda_printf(t, "part%d[%s * (uint64_t)%" PRId64 " + %s]", o->out, number, kept.size,
		flat_text(t, &kept));
}

/* The type of a group's accumulator: double if it adds up many iterations. */
static const char *
part_type(const struct rows *x, const struct scheme_op *o)
{
	const bool is_long = x->space.size / x->groups > SCHEME_SUM_BLOCK && scheme_is_cut(o);

	return is_long && !keeps_outer(o, x->outer) ? "double" : cuda_type(o);
}

/* Declares the parts of all reductions over outer loops, and initializes those that several outer
 * iterations add to with the identity. Are there any of these? */
static bool
fill_parts(struct cuda_text *t, const struct rows *x)
{
	bool any = false;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (!(o->red_set & x->outer))
			continue;
		const struct cuda_space kept = kept_space(t, o);
		cuda_scratch(t, part_type(x, o), cuda_printf(t, "part%d", o->out),
			kept.size * parts_of(t, x, o) * 8);
		if (keeps_outer(o, x->outer))
			continue;
		cuda_block(
			t, "for (int64_t q = lane; q < %" PRId64 "; q += %d)", kept.size, x->lanes);
		kernel_line(&t->w, "part%d[group * (uint64_t)%" PRId64 " + q] = %s;", o->out,
			kept.size, kernel_identity(&t->w, o));
		cuda_end(t);
		any = true;
	}
	return any;
}

/* Stores the value v<out> of op o from the lane that has it. */
static void
put(struct cuda_text *t, const struct rows *x, const struct scheme_op *o)
{
	const char *v = cuda_printf(t, "v%d", o->out);

	if (!(o->red_set & x->outer))
		kernel_store(&t->w, o);
	else if (keeps_outer(o, x->outer))
		kernel_line(&t->w, "%s = %s;", part_text(t, x, o), v);
	else
		cuda_accumulate(t, o, part_text(t, x, o), v);
}

/* One pass over a stage: the ops that reduce `set` of its inner loops. */
struct pass {
	int stage;
	struct cuda_space all, kept, over;
	uint32_t set;
	bool store;  /* also stores pointwise results */
	bool serial; /* each lane computes a sum by itself */
};

static bool
in_pass(const struct pass *p, const struct rows *x, const struct scheme_op *o)
{
	return o->stage == p->stage && o->red_set && (o->red_set & ~x->outer) == p->set;
}

#define FOR_PASS(t, p, x, o)                                                                       \
	for (int k_ = 0; k_ < (t)->g->nops; k_++)                                                  \
		for (const struct scheme_op *o = &(t)->s->op[(t)->g->op[k_]]; o; o = NULL)         \
			if (in_pass(p, x, o))

static const bool *
needed(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	bool *need = cuda_need_none(t);

	for (int k = 0; k < t->g->nops; k++) {
		const int i = t->g->op[k];
		const struct scheme_op *o = &t->s->op[i];
		const bool scalar = !p->all.n && !o->red_set; /* later stages read it as a local */
		if (o->stage == p->stage &&
			(in_pass(p, x, o) ||
				(!o->red_set && ((p->store && cuda_is_stored(t, o)) || scalar))))
			cuda_need(t, need, i);
	}
	return need;
}

/* Does a stage store anything in memory or in rows? */
static bool
stage_writes(const struct cuda_text *t, int stage)
{
	bool any = false;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		any |= o->stage == stage && cuda_is_stored(t, o);
	}
	return any;
}

/* An outer iteration without inner loops: every lane computes it, the first one stores. */
static void
write_scalars(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	cuda_pointwise(t, p->stage, needed(t, x, p), false);
	FOR_PASS(t, p, x, o)
	{
		const char *value = kernel_value(&t->w, o);
		kernel_line(&t->w, "const %s v%d = %s;", cuda_type(o), o->out, value);
	}
	if (!stage_writes(t, p->stage))
		return;
	if (t->in_place) /* after the other lanes have read the operands */
		barrier(t, x);
	cuda_block(t, "if (lane == 0)");
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->stage == p->stage && cuda_is_stored(t, o))
			put(t, x, o);
	}
	cuda_end(t);
}

/* The vectors of a pass over one inner loop, by lanes that do not sum alone. */
static bool
find_vectors(
	const struct cuda_text *t, const struct pass *p, const bool *need, struct cuda_vectors *v)
{
	*v = (struct cuda_vectors){
		.cls = p->all.n == 1 ? p->all.cls[0] : -1, .need = need, .store = p->store};
	return (!p->set || !p->serial) && cuda_vectors_fit(t, v);
}

/* Are the parts of the ops that sum over outer loops alone neighbours along the inner loop, too? */
static bool
have_vectors(const struct cuda_text *t, const struct rows *x, const struct pass *p, int cls)
{
	FOR_PASS(t, p, x, o)
	{
		const struct cuda_space kept = kept_space(t, o);
		if (!(o->red_set & x->outer) || keeps_outer(o, x->outer) || !kept.n ||
			kept.cls[kept.n - 1] != cls || part_type(x, o) != cuda_type(o))
			return false;
	}
	return true;
}

/* A pass that reduces no inner loop. y<out> are the parts of sums over outer loops. */
static void
write_pointwise(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	struct cuda_vectors v;
	const bool *need = needed(t, x, p);
	const bool vectors = find_vectors(t, p, need, &v) && have_vectors(t, x, p, v.cls);

	cuda_block(t, "for (uint32_t q = lane; q < %" PRId64 "; q += %d)",
		p->all.size / (vectors ? v.width : 1), x->lanes);
	if (vectors)
		kernel_line(&t->w, "const uint32_t element = q * %d;", v.width);
	cuda_unflatten(t, &p->all, vectors ? "element" : "q");
	if (vectors) {
		FOR_PASS(t, p, x, o)
		kernel_line(&t->w, "vec<%s, %d> y%d = vec_load<%d>(&%s);", cuda_type(o), v.width,
			o->out, v.width, part_text(t, x, o));
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
			put(t, x, o);
	}
	if (p->store)
		cuda_store_pointwise(t, p->stage, need);
	if (vectors) {
		cuda_vectors_close(t, &v);
		FOR_PASS(t, p, x, o)
		kernel_line(&t->w, "vec_store(&%s, y%d);", part_text(t, x, o), o->out);
	}
	cuda_end(t);
}

static void
write_sum(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	const struct scheme_op **op =
		NEW_ARRAY(t->w.scratch, const struct scheme_op *, (size_t)t->g->nops);
	const bool *need = needed(t, x, p);
	const int64_t count = p->over.size / (p->serial ? 1 : x->lanes);
	struct cuda_vectors v;
	const bool vectors = count <= SCHEME_SUM_BLOCK && find_vectors(t, p, need, &v);
	struct cuda_sum sum = {.op = op,
		.type = "uint32_t",
		.first = p->serial ? "0" : "lane",
		.end = cuda_printf(t, "%" PRId64, p->over.size / (vectors ? v.width : 1)),
		.step = p->serial ? 1 : x->lanes,
		.count = count};

	FOR_PASS(t, p, x, o)
	op[sum.nops++] = o;
	cuda_open_sum(t, &sum);
	if (vectors)
		kernel_line(&t->w, "const uint32_t element = at * %d;", v.width);
	cuda_unflatten(t, &p->over, vectors ? "element" : "at");
	if (vectors)
		cuda_vectors_open(t, &v);
	cuda_pointwise(t, p->stage, need, false);
	FOR_PASS(t, p, x, o)
	{
		const char *value = kernel_value(&t->w, o);
		cuda_accumulate(t, o, cuda_printf(t, "v%d", o->out), value);
	}
	if (p->store)
		cuda_store_pointwise(t, p->stage, need);
	if (vectors)
		cuda_vectors_close(t, &v);
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
write_sums(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	bool any = false;

	if (p->kept.n) {
		cuda_block(t, "for (uint32_t q = %s; q < %" PRId64 "; q += %d)",
			p->serial ? "lane" : "0", p->kept.size, p->serial ? x->lanes : 1);
		cuda_unflatten(t, &p->kept, "q");
	}
	write_sum(t, x, p);
	FOR_PASS(t, p, x, o)
	any |= cuda_is_stored(t, o);
	if (any && !p->serial)
		cuda_block(t, "if (lane == 0)");
	FOR_PASS(t, p, x, o)
	if (cuda_is_stored(t, o))
		put(t, x, o);
	if (any && !p->serial)
		cuda_end(t);
	if (p->kept.n)
		cuda_end(t);
}

static void
write_pass(struct cuda_text *t, const struct rows *x, struct pass p)
{
	p.over = cuda_space_of(t->g, p.set);
	uint32_t all = 0;
	for (int i = 0; i < p.all.n; i++)
		all |= 1u << p.all.cls[i];
	p.kept = cuda_space_of(t->g, all & ~p.set);
	p.serial = p.kept.n && p.kept.size >= CUDA_LANES;
	if (!p.all.n)
		write_scalars(t, x, &p);
	else if (!p.set)
		write_pointwise(t, x, &p);
	else
		write_sums(t, x, &p);
}

/*
 * The passes of a stage: one for each set of inner loops that its ops reduce, and one that reduces
 * nothing if there are such ops. The last one stores pointwise results: the others recompute them,
 * from operands that they may lie on.
 */
static void
write_stage(struct cuda_text *t, const struct rows *x, int stage)
{
	uint32_t *set = NEW_ARRAY(t->w.scratch, uint32_t, (size_t)t->g->nops + 1), space = 0;
	int n = 0;
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
	struct pass p = {.stage = stage, .all = cuda_space_of(t->g, space)};
	for (int i = 0; i < n; i++) {
		p.set = set[i];
		p.store = i + 1 == n;
		if (p.set || pointwise || store || !p.all.n)
			write_pass(t, x, p);
	}
}

/* ---- a maximum and sums that read it, in one pass over a long row ---- */

struct run {
	const struct scheme_op *top; /* the maximum, of stage 0 */
	bool *changing;              /* by op: true for it */
	struct pass sums;            /* of a later stage */
};

/* Is the stage one reduction, a maximum or minimum in f32 over all inner loops, and what it reads? */
static const struct scheme_op *
only_maximum(const struct cuda_text *t, const struct rows *x, int stage)
{
	const struct scheme_op *top = NULL;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->stage != stage)
			continue;
		if (o->red_set ? top || o->red_set & x->outer || o->out_set & ~x->outer
			       : cuda_is_stored(t, o))
			return NULL;
		top = o->red_set ? o : top;
	}
	return top && top->f.dtype == IR_f32 && !top->computed &&
			       (top->f.reduce == REDUCE_MAX || top->f.reduce == REDUCE_MIN)
		       ? top
		       : NULL;
}

/* Is each op of the stage a sum that can be made with the maximum, or elementwise and not stored? */
static bool
all_follow(struct cuda_text *t, const struct run *r, int stage)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->stage == stage &&
			(o->red_set ? o->f.dtype != IR_f32 || o->red_set != r->top->red_set ||
						o->picks || o->computed ||
						!cuda_change(t, o, r->changing)
				    : cuda_is_stored(t, o)))
			return false;
	}
	return true;
}

/* Are the values of the stage without inner loops? */
static bool
is_scalar(const struct cuda_text *t, const struct rows *x, int stage)
{
	uint32_t space = 0;

	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		space |= o->stage == stage ? (o->out_set & ~x->outer) | o->red_set : 0;
	}
	return !space;
}

/* Rows that are read again from the memory of the device: long ones. */
static bool
find_run(struct cuda_text *t, const struct rows *x, struct run *r)
{
	const int64_t most = t->src->target->rows;
	int last = 1;

	*r = (struct run){.top = only_maximum(t, x, 0),
		.changing = ZERO_ARRAY(t->w.scratch, bool, (size_t)t->s->nops + 1)};
	if (!r->top || !most)
		return false;
	r->changing[r->top - t->s->op] = true;
	while (last < t->g->nstages && is_scalar(t, x, last))
		last++;
	const struct cuda_space all = cuda_space_of(t->g, r->top->red_set);
	r->sums = (struct pass){.stage = last, .all = all, .over = all, .set = r->top->red_set};
	return last < t->g->nstages && all.size > most / (int64_t)sizeof(float) &&
	       all.size / x->lanes <= SCHEME_SUM_BLOCK && all_follow(t, r, last);
}

/* The loop over the elements of a lane in a chunk. */
static void
open_chunk(struct cuda_text *t, const struct rows *x, const struct pass *p)
{
	kernel_line(&t->w, "#pragma unroll %d", CUDA_RUN);
	cuda_block(t, "for (uint32_t at = from; at < to; at += %d)", x->lanes);
	cuda_unflatten(t, &p->over, "at");
	cuda_pointwise(t, p->stage, needed(t, x, p), false);
}

/* The reference of the maximum becomes `now`, or stays while there is none, and the sums change. */
static void
write_reference(struct cuda_text *t, const struct rows *x, const struct run *r, bool final)
{
	const int m = r->top->out;

	kernel_line(&t->w, "const float o%d = v%d;", m, m);
	if (final)
		kernel_line(&t->w, "v%d = m%d;", m, m);
	else
		kernel_line(&t->w, "v%d = m%d == %s ? o%d : m%d;", m, m,
			kernel_identity(&t->w, r->top), m, m);
	FOR_PASS(t, &r->sums, x, o)
	{
		const char *by = cuda_change(t, o, r->changing);
		if (*by)
			kernel_line(&t->w, final ? "v%d = v%d * %s;" : "v%d = dev_scaled(v%d, %s);",
				o->out, o->out, by);
	}
}

/*
 * m<top> is the maximum so far, v<top> the last one that was finite or NaN, with which sums are
 * made. In the end 0 times infinity is NaN, as for a row of minus infinity.
 */
static void
write_run(struct cuda_text *t, const struct rows *x, const struct run *r)
{
	const struct scheme_op *top = r->top;
	struct pass tops = r->sums;
	const int m = top->out;

	tops.stage = 0;
	t->w.all_local = true; /* what is in between follows the maximum, too */
	kernel_line(&t->w, "float m%d = %s, v%d = 0.0f;", m, kernel_identity(&t->w, top), m);
	FOR_PASS(t, &r->sums, x, o)
	kernel_line(&t->w, "float v%d = 0.0f;", o->out);
	cuda_block(t, "for (uint32_t from = lane; from < %" PRId64 "; from += %d)", tops.over.size,
		CUDA_RUN * x->lanes);
	kernel_line(&t->w, "const uint32_t rest = %" PRId64 " - from;", tops.over.size);
	kernel_line(&t->w, "const uint32_t to = from + (rest < %d ? rest : %d);",
		CUDA_RUN * x->lanes, CUDA_RUN * x->lanes);
	open_chunk(t, x, &tops);
	cuda_accumulate(t, top, cuda_printf(t, "m%d", m), kernel_value(&t->w, top));
	cuda_end(t);
	write_reference(t, x, r, false);
	open_chunk(t, x, &r->sums);
	FOR_PASS(t, &r->sums, x, o)
	{
		const char *value = kernel_value(&t->w, o);
		cuda_accumulate(t, o, cuda_printf(t, "v%d", o->out), value);
	}
	cuda_end(t);
	cuda_end(t);
	t->w.all_local = false;
	cuda_reduce_lanes(t, top, 'm', x->lanes);
	cuda_block(t, "%s", "");
	write_reference(t, x, r, false);
	cuda_end(t);
	FOR_PASS(t, &r->sums, x, o)
	cuda_reduce_lanes(t, o, 'v', x->lanes);
	write_reference(t, x, r, true);
	FOR_PASS(t, &r->sums, x, o)
	kernel_settle(&t->w, o);
	cuda_block(t, "if (lane == 0)");
	if (cuda_is_stored(t, top))
		put(t, x, top);
	FOR_PASS(t, &r->sums, x, o)
	if (cuda_is_stored(t, o))
		put(t, x, o);
	cuda_end(t);
}

static void
write_parts(struct cuda_text *t, const struct rows *x)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (o->red_set & x->outer)
			cuda_reduce_parts(t,
				&(struct cuda_parts){&o, 1, kept_space(t, o), parts_of(t, x, o)});
	}
}

void
cuda_rows(struct cuda_text *t)
{
	struct rows x = choose(t);

	place_rows(t, &x);
	const int threads = x.lanes * x.per_block;
	cuda_open(t);
	kernel_line(&t->w, "const uint32_t lane = threadIdx.x %% %d;", x.lanes);
	kernel_line(&t->w, "const uint32_t group = blockIdx.x%s;",
		x.per_block == 1 ? "" : cuda_printf(t, " * %d + threadIdx.x / 32", x.per_block));
	if (x.lanes > CUDA_LANES)
		kernel_line(&t->w, "alignas(8) __shared__ unsigned char room[DEV_ROOM];");
	declare_rows(t, &x);
	cuda_prologue(t);
	cuda_block(t, "if (group < %" PRId64 ")", x.groups);
	if (fill_parts(t, &x))
		barrier(t, &x);
	cuda_block(t, "for (%s outer = group; outer < %" PRId64 "; outer += %" PRId64 ")",
		cuda_index_type(x.space.size + x.groups), x.space.size, x.groups);
	cuda_unflatten(t, &x.space, "outer");
	struct run run;
	const bool runs = find_run(t, &x, &run);
	if (runs) {
		write_run(t, &x, &run);
		barrier(t, &x);
	}
	for (int stage = runs; stage < t->g->nstages; stage++) {
		if (runs && stage == run.sums.stage)
			continue;
		write_stage(t, &x, stage);
		/* The last pass also prevents the next iteration from overwriting rows that are
		 * still read. */
		if (stage_writes(t, stage) || stage + 1 == t->g->nstages)
			barrier(t, &x);
	}
	cuda_end(t);
	cuda_end(t);
	cuda_close(t, threads, (x.groups + x.per_block - 1) / x.per_block);
	write_parts(t, &x);
	cuda_prologue_results(t);
}
