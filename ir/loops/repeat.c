/*
 * Values that are recomputed by each op that reads them, instead of being kept whole in scratch
 * from one segment of loops to the next. Rows of logits are longer than a row buffer may be:
 *
 *     z = product                            kept: d, as large as z, in f32
 *     for r:  top = max(c) z[r,c]
 *             d[r,c] = z[r,c] - top;  e = exp(d);  s += e
 *     for r:  p = sum(c) (c == y[r]) (d[r,c] - log s)
 *
 *     for r:  ...  e = exp(z[r,c] - top)     again: z is in memory anyway, and all is one segment
 *             p = sum(c) (c == y[r]) ((z[r,c] - top) - log s)
 *
 * Only for cheap functions, or by the only op that reads the value, in loops of the same size; and if
 * it reads no more than keeping the value would write and read. The same for values in row buffers
 * that are larger than a device has memory near its threads, so that they would be kept in its main
 * memory.
 */
#include "ir/loops/build.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"

#include <string.h>
#include <talloc.h>

enum { REPEAT_MAX_OPS = 200 }; /* more would be several segments anyway (segment.c) */

static double
iterations(const struct scheme_op *o)
{
	double n = 1;

	for (int i = 0; i < o->f.nindices; i++)
		n *= scheme_is_loop(o, i) ? (double)o->f.size[i] : 1;
	return n;
}

/* Is t read by one op, once for each element? Then that may compute it without more arithmetic. */
static bool
is_read_once(const struct scheme *s, int t)
{
	int n = 0;

	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		bool reads = false;
		for (int j = 0; j < o->f.ninputs; j++)
			reads |= !o->unused && o->in[j] == t && scheme_reads(o) >> j & 1;
		if (reads && iterations(o) > iterations(&s->op[s->tensor[t].op]))
			return false;
		n += reads;
	}
	return n == 1;
}

/* Is t a cheap elementwise function of tensors of the kernel? */
static bool
is_cheap(const struct scheme *s, int t)
{
	const struct scheme_tensor *x = &s->tensor[t];

	if (x->op < 0 || x->alias >= 0 || x->result >= 0 || x->constant)
		return false;
	const struct scheme_op *o = &s->op[x->op];
	return o->out == t && o->f.reduce == REDUCE_NONE && !o->computed && !o->absent &&
	       !scheme_is_alone(o) && o->divisor == 0 &&
	       (expr_is_cheap(o->f.body) || is_read_once(s, t));
}

/* Adds to set[] the tensors that recomputing t reads, and those recomputed for it. */
static void
add_read(const struct scheme *s, int t, bool *set)
{
	const struct scheme_op *o = &s->op[s->tensor[t].op];

	for (int j = 0; j < o->f.ninputs; j++) {
		if (!(scheme_reads(o) >> j & 1) || set[o->in[j]])
			continue;
		set[o->in[j]] = true;
		if (is_cheap(s, o->in[j]))
			add_read(s, o->in[j], set);
	}
}

static int64_t
bytes_of(const struct scheme_tensor *x)
{
	return scheme_elements(x) * (int64_t)ir_dtype_bytes(x->dtype);
}

static bool
reads_little(const struct scheme *s, int t)
{
	bool *set = ZERO_ARRAY(NULL, bool, (size_t)s->ntensors + 1);
	int64_t bytes = 0;

	add_read(s, t, set);
	for (int i = 0; i < s->ntensors; i++)
		bytes += set[i] && !is_cheap(s, i) ? bytes_of(&s->tensor[i]) : 0;
	talloc_free(set);
	return bytes <= 2 * bytes_of(&s->tensor[t]);
}

/* Can an op read a value that it computes itself: in loops, at its own indices? */
static bool
may_compute(const struct scheme *s, const struct scheme_op *o)
{
	if (o->segment < 0)
		return true;
	const struct scheme_segment *g = &s->segment[o->segment];
	return g->kind == SCHEME_LOOPS && !g->library && !o->computed && !scheme_is_alone(o);
}

static bool
all_may_compute(const struct scheme *s, int t)
{
	for (int i = 0; i < s->ntensors; i++)
		if (s->tensor[i].alias == t)
			return false;
	for (int i = 0; i < s->nops; i++)
		for (int j = 0; j < s->op[i].f.ninputs; j++)
			if (s->op[i].in[j] == t && !may_compute(s, &s->op[i]))
				return false;
	return true;
}

/* Bytes of the row buffers of a segment. */
static int64_t
row_bytes(const struct scheme *s, int segment)
{
	int64_t bytes = 0;

	for (int t = 0; t < s->ntensors; t++)
		if (s->tensor[t].where == SCHEME_ROW && s->op[s->tensor[t].op].segment == segment)
			bytes += scheme_bytes_in_scratch(s, t);
	return bytes;
}

/* Is t kept in main memory, whole or as a row buffer? rows: bytes of those that are not; 0: all. */
static bool
is_far(const struct scheme *s, int t, int64_t rows)
{
	const struct scheme_tensor *x = &s->tensor[t];
	const int segment = s->op[x->op].segment;

	return segment >= 0 && (x->where == SCHEME_MEMORY || (x->where == SCHEME_ROW && rows &&
								     row_bytes(s, segment) > rows));
}

bool
scheme_find_kept(const struct scheme *s, int64_t rows, bool *kept)
{
	bool any = false;

	for (int t = 0; t < s->ntensors && !s->nslabs; t++) {
		kept[t] = is_cheap(s, t) && is_far(s, t, rows) && all_may_compute(s, t) &&
			  reads_little(s, t);
		any |= kept[t];
	}
	return any;
}

struct repeat {
	struct scheme *s;            /* ops are added to it */
	const struct scheme_op *was; /* its ops before */
	const bool *cheap;           /* [tensors before] */
	int *copy; /* [tensors before] copy that the current reader has; -1: none */
};

/* Tensor t, computed for one reader. */
static int
compute_again(struct repeat *r, int t)
{
	struct scheme *s = r->s;

	if (r->copy[t] >= 0)
		return r->copy[t];
	struct scheme_op o = r->was[s->tensor[t].op];
	const uint32_t reads = scheme_reads(&o);
	for (int j = 0; j < o.f.ninputs; j++)
		if (reads >> j & 1 && r->cheap[o.in[j]])
			o.in[j] = compute_again(r, o.in[j]);
	struct scheme_tensor x = s->tensor[t];
	x.value = NULL;
	x.op = s->nops;
	r->copy[t] = o.out = s->ntensors;
	LIST_PUSH(s, s->tensor, s->ntensors, x);
	LIST_PUSH(s, s->op, s->nops, o);
	return o.out;
}

void
scheme_repeat(struct scheme *s, const bool *kept)
{
	const int nops = s->nops, ntensors = s->ntensors;
	bool *cheap = ZERO_ARRAY(s, bool, (size_t)ntensors + 1);
	int *now = NEW_ARRAY(s, int, (size_t)nops + 1); /* number of an op */
	struct repeat r = {s, s->op, cheap, NEW_ARRAY(s, int, (size_t)ntensors + 1)};

	for (int t = 0; t < ntensors; t++)
		cheap[t] = is_cheap(s, t);
	s->op = NULL;
	s->nops = 0;
	for (int i = 0; i < nops; i++) {
		struct scheme_op o = r.was[i];
		const uint32_t reads = scheme_reads(&o);
		memset(r.copy, 0xff, (size_t)ntensors * sizeof *r.copy);
		for (int j = 0; j < o.f.ninputs; j++)
			if (reads >> j & 1 && kept[o.in[j]] && s->nops < REPEAT_MAX_OPS)
				o.in[j] = compute_again(&r, o.in[j]);
		now[i] = s->nops;
		LIST_PUSH(s, s->op, s->nops, o);
	}
	for (int t = 0; t < ntensors; t++)
		if (s->tensor[t].op >= 0)
			s->tensor[t].op = now[s->tensor[t].op];
}
