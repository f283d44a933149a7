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
#include "ir/base/vec.h"

#include <inttypes.h>
#include <string.h>

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

	/* Where all passes over inner loops go over one, `cls`, in vectors of the same width: */
	int cls, width;   /* 0: they do not */
	bool odd;         /* rows do not start at multiples of it */
	int rounds;       /* vectors of a row that a lane has; 0: more than it can keep */
	const char *lead; /* the first element of a row that vectors are aligned by */
	struct kept *kept;
	int nkept;

	/* By tensor: where in a group's room the parts of a sum over outer loops are while it goes over
	 * its rows, -1: in scratch. A block adds up those of its groups. NULL: all in scratch. */
	int64_t *part;
};

/* An element that several passes access, which lanes keep in registers. */
struct kept {
	struct cuda_vector is;
	int first, last, count; /* passes that access it */
	bool keep, made;
};

static bool
is_kept(const struct rows *x, int tensor)
{
	for (int i = 0; i < x->nkept; i++)
		if (x->kept[i].keep && x->kept[i].is.row && x->kept[i].is.tensor == tensor)
			return true;
	return false;
}

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

/* Bytes of n values of the type as they are computed, in shared memory. */
static int64_t
padded(int64_t n, uint32_t dtype)
{
	const bool narrow = dtype == IR_f16 || dtype == IR_bf16;

	return cuda_divide_up(n * (int64_t)ir_dtype_bytes(narrow ? IR_f32 : (enum ir_dtype)dtype),
		       CUDA_VECTOR) *
	       CUDA_VECTOR;
}

/* Computes the offsets of the row buffers in a group's room. */
static void
place_rows(struct cuda_text *t, struct rows *x)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		struct scheme_tensor *row = &t->s->tensor[o->out];
		if (row->where != SCHEME_ROW || is_kept(x, o->out))
			continue;
		row->scratch = x->row_bytes;
		x->row_bytes +=
			padded(cuda_space_of(t->g, o->out_set & ~x->outer).size, row->dtype);
	}
	/* fewer warps a block rather than rows in main memory */
	while (x->per_block > WARPS_LEAST && x->row_bytes * x->per_block > CUDA_SHARED)
		x->per_block--;
	x->shared = x->row_bytes * x->per_block <= CUDA_SHARED;
	if (!x->shared && x->per_block > 1)
		x->per_block = WARPS_MOST;
}

/* Are the parts of op o in shared memory? */
static bool
is_near(const struct rows *x, const struct scheme_op *o)
{
	return x->part && x->part[o->out] >= 0;
}

static int64_t
blocks_of(const struct rows *x)
{
	return cuda_divide_up(x->groups, x->per_block);
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
		if (row->where == SCHEME_ROW && !is_kept(x, t->s->op[t->g->op[k]].out))
			kernel_line(&t->w, "%s *const w%d = (%s *)(row + %" PRId64 ");", type,
				t->s->op[t->g->op[k]].out, type, row->scratch);
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (is_near(x, o))
			kernel_line(&t->w, "%s *const s%d = (%s *)(row + %" PRId64 ");",
				cuda_type(o), o->out, cuda_type(o), x->part[o->out]);
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
	       : is_near(x, o)          ? blocks_of(x)
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

	if (is_near(x, o))
		return cuda_printf(t, "s%d[%s]", o->out, flat_text(t, &kept));
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
		kernel_line(&t->w, "%s = %s;",
			is_near(x, o) ? cuda_printf(t, "s%d[q]", o->out)
				      : cuda_printf(t, "part%d[group * (uint64_t)%" PRId64 " + q]",
						o->out, kept.size),
			kernel_identity(&t->w, o));
		cuda_end(t);
		any = true;
	}
	return any;
}

/* Moves the parts to shared memory, beside row buffers, if they fit and a block then has fewer parts
 * than it has rows. */
static void
place_parts(struct cuda_text *t, struct rows *x)
{
	int64_t *part = NEW_ARRAY(t->w.scratch, int64_t, (size_t)t->s->ntensors + 1),
		bytes = x->row_bytes;
	bool any = false;

	for (int i = 0; i < t->s->ntensors; i++)
		part[i] = -1;
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (!(o->red_set & x->outer) || keeps_outer(o, x->outer) ||
			part_type(x, o) != cuda_type(o))
			continue;
		part[o->out] = bytes;
		bytes += padded(kept_space(t, o).size, o->f.dtype);
		any = true;
	}
	if (!any || !x->shared || bytes * x->per_block > CUDA_SHARED ||
		(x->per_block == 1 && x->space.size <= x->groups))
		return;
	x->part = part;
	x->row_bytes = bytes;
}

/* The parts of a block: the sums of those of its groups, in order. */
static void
write_near_parts(struct cuda_text *t, const struct rows *x)
{
	if (x->part)
		kernel_line(&t->w, "__syncthreads();");
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		if (!is_near(x, o))
			continue;
		const int64_t size = kept_space(t, o).size;
		cuda_block(t, "for (uint32_t q = threadIdx.x; q < %" PRId64 "; q += %d)", size,
			x->lanes * x->per_block);
		kernel_line(&t->w, "%s v%d = %s;", cuda_type(o), o->out, kernel_identity(&t->w, o));
		cuda_block(t,
			"for (unsigned g = 0; g < %d && blockIdx.x * %d + g < %" PRId64 "; g++)",
			x->per_block, x->per_block, x->groups);
		cuda_accumulate(t, o, cuda_printf(t, "v%d", o->out),
			cuda_printf(t, "((%s *)(rows + g * %" PRId64 " + %" PRId64 "))[q]",
				cuda_type(o), x->row_bytes, x->part[o->out]));
		cuda_end(t);
		kernel_line(&t->w, "part%d[blockIdx.x * (uint64_t)%" PRId64 " + q] = v%d;", o->out,
			size, o->out);
		cuda_end(t);
	}
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
find_vectors(const struct cuda_text *t, const struct rows *x, const struct pass *p,
	const bool *need, struct cuda_vectors *v)
{
	*v = (struct cuda_vectors){
		.cls = p->all.n == 1 ? p->all.cls[0] : -1, .need = need, .store = p->store};
	if (x->width) {
		v->width = x->width;
		v->odd = x->odd;
		return true;
	}
	return (!p->set || !p->serial) && cuda_vectors_fit(t, v);
}

/* Opens the loop over a lane's vectors of a row, and loads them: `first` is the index of a vector's
 * first element. */
static void
open_vectors(struct cuda_text *t, struct rows *x, struct cuda_vectors *v)
{
	const int64_t n = t->g->size[v->cls];
	const char *end =
		x->odd ? cuda_printf(t, "(%" PRId64 " + shift) / %d", n + v->width - 1, v->width)
		       : cuda_printf(t, "%" PRId64, n / v->width);

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
		cuda_block(t, "for (uint32_t at = lane; at < %s; at += %d)", end, x->lanes);
	}
	kernel_line(&t->w, "const int64_t first = (int64_t)at * %d%s, i%d = first;", v->width,
		x->odd ? " - shift" : "", v->cls);
	cuda_vectors_load(t, v);
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
write_pointwise(struct cuda_text *t, struct rows *x, const struct pass *p)
{
	struct cuda_vectors v;
	const bool *need = needed(t, x, p);
	const bool vectors = find_vectors(t, x, p, need, &v) && have_vectors(t, x, p, v.cls);

	if (x->width) {
		open_vectors(t, x, &v);
	} else {
		cuda_block(t, "for (uint32_t q = lane; q < %" PRId64 "; q += %d)",
			p->all.size / (vectors ? v.width : 1), x->lanes);
		if (vectors)
			kernel_line(&t->w, "const uint32_t element = q * %d;", v.width);
		cuda_unflatten(t, &p->all, vectors ? "element" : "q");
	}
	if (vectors) {
		FOR_PASS(t, p, x, o)
		kernel_line(&t->w, "vec<%s, %d> y%d = %s;", cuda_type(o), v.width, o->out,
			cuda_vector_loaded(t, &v, part_text(t, x, o)));
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
			put(t, x, o);
	}
	if (p->store)
		cuda_store_pointwise(t, p->stage, need);
	if (vectors) {
		cuda_vectors_close(t, &v);
		FOR_PASS(t, p, x, o)
		cuda_vector_store(t, &v, part_text(t, x, o), cuda_printf(t, "y%d", o->out));
	}
	cuda_end(t);
}

/* The values of the ops of a pass that sums, in the accumulators v<out>. */
static void
write_summands(struct cuda_text *t, const struct rows *x, const struct pass *p)
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
	const bool *need = needed(t, x, p);
	const int64_t count = p->over.size / (p->serial ? 1 : x->lanes);
	struct cuda_vectors v;
	const bool vectors = count <= SCHEME_SUM_BLOCK && find_vectors(t, x, p, need, &v);
	struct cuda_sum sum = {.op = op,
		.type = "uint32_t",
		.first = p->serial ? "0" : "lane",
		.end = cuda_printf(t, "%" PRId64, p->over.size / (vectors ? v.width : 1)),
		.step = p->serial ? 1 : x->lanes,
		.count = count};

	FOR_PASS(t, p, x, o)
	op[sum.nops++] = o;
	if (x->width) {
		FOR_PASS(t, p, x, o)
		kernel_line(&t->w, "%s v%d = %s;", cuda_type(o), o->out, kernel_identity(&t->w, o));
		open_vectors(t, x, &v);
		cuda_vectors_each(t, &v);
	} else {
		cuda_open_sum(t, &sum);
		if (vectors)
			kernel_line(&t->w, "const uint32_t element = at * %d;", v.width);
		cuda_unflatten(t, &p->over, vectors ? "element" : "at");
		if (vectors)
			cuda_vectors_open(t, &v);
	}
	cuda_pointwise(t, p->stage, need, false);
	write_summands(t, x, p);
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
write_pass(struct cuda_text *t, struct rows *x, const struct pass *p)
{
	if (!p->all.n)
		write_scalars(t, x, p);
	else if (!p->set)
		write_pointwise(t, x, p);
	else
		write_sums(t, x, p);
}

static struct pass
make_pass(const struct cuda_text *t, int stage, struct cuda_space space, uint32_t set, bool store)
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
static int
list_passes(const struct cuda_text *t, const struct rows *x, int stage, struct pass *pass)
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
			pass[npasses++] = make_pass(t, stage, all, set[i], i + 1 == n);
	return npasses;
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
	r->sums = make_pass(t, last, all, r->top->red_set, false);
	return last < t->g->nstages && all.size > most / (int64_t)sizeof(float) &&
	       all.size / x->lanes <= SCHEME_SUM_BLOCK && all_follow(t, r, last);
}

/* A chunk of a lane: by vectors, one of them, which the maximum and the sums go over. */
static struct cuda_vectors
open_chunks(struct cuda_text *t, struct rows *x, const struct pass *tops, const struct pass *sums)
{
	bool *need = cuda_need_none(t);
	const bool *first = needed(t, x, tops), *then = needed(t, x, sums);

	for (int i = 0; i < t->s->nops; i++)
		need[i] = first[i] || then[i];
	struct cuda_vectors v = {
		.cls = sums->all.cls[0], .need = need, .width = x->width, .odd = x->odd};
	if (x->width) {
		open_vectors(t, x, &v);
		return v;
	}
	cuda_block(t, "for (uint32_t from = lane; from < %" PRId64 "; from += %d)", sums->over.size,
		CUDA_RUN * x->lanes);
	kernel_line(&t->w, "const uint32_t rest = %" PRId64 " - from;", sums->over.size);
	kernel_line(&t->w, "const uint32_t to = from + (rest < %d ? rest : %d);",
		CUDA_RUN * x->lanes, CUDA_RUN * x->lanes);
	return v;
}

/* The loop over the elements of a chunk. */
static void
open_chunk(struct cuda_text *t, const struct rows *x, struct cuda_vectors *v, const struct pass *p)
{
	if (x->width) {
		cuda_vectors_each(t, v);
	} else {
		kernel_line(&t->w, "#pragma unroll %d", CUDA_RUN);
		cuda_block(t, "for (uint32_t at = from; at < to; at += %d)", x->lanes);
		cuda_unflatten(t, &p->over, "at");
	}
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
write_run(struct cuda_text *t, struct rows *x, const struct run *r)
{
	const struct scheme_op *top = r->top;
	struct pass tops = r->sums;
	const int m = top->out;

	tops.stage = 0;
	t->w.all_local = true; /* what is in between follows the maximum, too */
	kernel_line(&t->w, "float m%d = %s, v%d = 0.0f;", m, kernel_identity(&t->w, top), m);
	FOR_PASS(t, &r->sums, x, o)
	kernel_line(&t->w, "float v%d = 0.0f;", o->out);
	struct cuda_vectors v = open_chunks(t, x, &tops, &r->sums);
	open_chunk(t, x, &v, &tops);
	cuda_accumulate(t, top, cuda_printf(t, "m%d", m), kernel_value(&t->w, top));
	cuda_vectors_each_end(t);
	write_reference(t, x, r, false);
	open_chunk(t, x, &v, &r->sums);
	write_summands(t, x, &r->sums);
	cuda_vectors_each_end(t);
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

/* ---- rows in vectors, and in registers ---- */

struct planner {
	struct cuda_text *t;
	struct rows *x;
	int npasses;
	bool fits;
};

/* The next pass over inner loops: its width, or the elements that it accesses. */
static void
visit(struct planner *l, struct cuda_vectors v)
{
	struct rows *x = l->x;

	if (!x->width) {
		const int64_t *size = l->t->g->size;
		const int width = v.cls < 0 || (x->cls >= 0 && size[v.cls] != size[x->cls])
					  ? 0
					  : cuda_vectors_width(l->t, &v);
		l->fits &= width > 0;
		x->rounds = width > x->rounds ? width : x->rounds; /* so far the width */
		x->cls = v.cls;
		return;
	}
	cuda_vectors_list(l->t, &v);
	for (int i = 0; i < v.n; i++) {
		int k = 0;
		while (k < x->nkept && strcmp(x->kept[k].is.element, v.at[i].element) != 0)
			k++;
		if (k == x->nkept)
			LIST_PUSH(l->t->w.scratch, x->kept, x->nkept,
				((struct kept){.is = v.at[i], .first = l->npasses}));
		x->kept[k].last = l->npasses;
		x->kept[k].count += v.at[i].when ? 0 : 1;
		if (!x->lead && !v.at[i].row) {
			x->lead = v.at[i].element;
			x->cls = v.cls;
		}
	}
	l->npasses++;
}

static void
visit_all(struct planner *l, const struct run *r)
{
	struct cuda_text *t = l->t;
	struct pass *pass = NEW_ARRAY(t->w.scratch, struct pass, (size_t)t->g->nops + 1);

	for (int stage = 0; stage < t->g->nstages; stage++) {
		if (r && (!stage || stage == r->sums.stage)) {
			struct pass p = r->sums;
			p.stage = stage;
			t->w.all_local = true;
			visit(l, (struct cuda_vectors){.cls = p.all.n == 1 ? p.all.cls[0] : -1,
					 .need = needed(t, l->x, &p)});
			t->w.all_local = false;
			continue;
		}
		const int n = list_passes(t, l->x, stage, pass);
		for (int i = 0; i < n; i++) {
			const struct pass *p = &pass[i];
			const int cls = p->all.n == 1 ? p->all.cls[0] : -1;
			if (!p->all.n)
				continue;
			l->fits &= p->set || have_vectors(t, l->x, p, cls);
			visit(l,
				(struct cuda_vectors){
					.cls = cls, .need = needed(t, l->x, p), .store = p->store});
		}
	}
}

/* The most 32-bit registers that what is kept takes in a pass. */
static int
registers(const struct planner *l)
{
	const struct rows *x = l->x;
	int most = 0;

	for (int pass = 0; pass < l->npasses; pass++) {
		int words = 0;
		for (int k = 0; k < x->nkept; k++)
			if (x->kept[k].keep && x->kept[k].first <= pass && pass <= x->kept[k].last)
				words += x->rounds * x->width *
					 (x->kept[k].is.row ? 4 : x->kept[k].is.bytes) / 4;
		most = words > most ? words : most;
	}
	return most;
}

/* Keeps row buffers, and what else several passes access, as long as lanes have the registers: of
 * 65536 in a multiprocessor, besides 40 for other values. Returns whether row buffers are kept. */
static bool
keep(const struct planner *l)
{
	struct rows *x = l->x;
	const int most = x->lanes > 512 ? 24 : x->lanes > 256 ? 64 : 96;

	for (int k = 0; k < x->nkept; k++)
		x->kept[k].keep = x->kept[k].is.row;
	if (registers(l) > most)
		return false;
	for (int k = 0; k < x->nkept; k++) {
		x->kept[k].keep |= x->kept[k].count > 1;
		if (registers(l) > most)
			x->kept[k].keep = false;
	}
	return true;
}

/* Does an op read a row by number? */
static bool
reads_by_number(const struct cuda_text *t)
{
	for (int k = 0; k < t->g->nops; k++) {
		const struct scheme_op *o = &t->s->op[t->g->op[k]];
		for (int j = 0; o->computed && j < o->f.ninputs; j++)
			if (t->s->tensor[o->in[j]].where == SCHEME_ROW)
				return true;
	}
	return false;
}

/*
 * Decides whether all passes go over rows in vectors of one width, and what lanes keep. Rows that
 * are not aligned and shorter than a vector for each lane are handled element by element.
 */
static void
plan_lanes(struct cuda_text *t, struct rows *x, const struct run *r)
{
	struct planner l = {t, x, 0, true};

	x->cls = -1;
	visit_all(&l, r);
	int width = r && x->rounds > 1 ? CUDA_VECTOR_ELEMENTS : x->rounds;
	x->rounds = 0;
	const int64_t n = x->cls < 0 ? 0 : t->g->size[x->cls];
	if (!l.fits || !n || n / x->lanes > SCHEME_SUM_BLOCK || reads_by_number(t))
		return;
	if (n % width && n < (int64_t)width * x->lanes)
		width = 1;
	x->width = width;
	x->odd = n % width;
	visit_all(&l, r);
	const int64_t rounds =
		cuda_divide_up(n + (x->odd ? width - 1 : 0), (int64_t)width * x->lanes);
	x->rounds =
		!r && t->src->target->registers && rounds * width <= CUDA_KEPT ? (int)rounds : 0;
	if (!x->rounds || !keep(&l)) {
		x->rounds = 0;
		for (int k = 0; k < x->nkept; k++)
			x->kept[k].keep = false;
	}
	if ((width == 1 && !x->rounds) || (x->odd && !x->lead))
		*x = (struct rows){.outer = x->outer,
			.lanes = x->lanes,
			.per_block = x->per_block,
			.groups = x->groups,
			.space = x->space};
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
	struct pass *pass = NEW_ARRAY(t->w.scratch, struct pass, (size_t)t->g->nops + 1);
	struct run run;
	const bool runs = find_run(t, &x, &run);

	plan_lanes(t, &x, runs ? &run : NULL);
	place_rows(t, &x);
	place_parts(t, &x);
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
	if (x.odd) {
		kernel_line(&t->w, "unsigned shift;");
		cuda_block(t, "%s", "");
		kernel_line(&t->w, "const int64_t i%d = 0;", x.cls);
		kernel_line(&t->w, "shift = vec_shift<%d>(&%s);", x.width, x.lead);
		cuda_end(t);
	}
	if (runs) {
		write_run(t, &x, &run);
		barrier(t, &x);
	}
	for (int stage = runs; stage < t->g->nstages; stage++) {
		if (runs && stage == run.sums.stage)
			continue;
		const int n = list_passes(t, &x, stage, pass);
		for (int i = 0; i < n; i++)
			write_pass(t, &x, &pass[i]);
		/* The last pass also prevents the next iteration from overwriting rows that are
		 * still read. */
		if (stage_writes(t, stage) || stage + 1 == t->g->nstages)
			barrier(t, &x);
	}
	cuda_end(t);
	cuda_end(t);
	write_near_parts(t, &x);
	cuda_close(t, threads, blocks_of(&x));
	write_parts(t, &x);
	cuda_prologue_results(t);
}
