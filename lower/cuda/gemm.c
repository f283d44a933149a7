/*
 * Matrix products by the library. Ops after a product that only add a bias along its rows, apply a
 * relu or both become its epilogue. A sum of products over loops, such as that of a 1x1
 * convolution's filter over images, would be one call after the other: it is cut into parts that
 * form one batch, and a kernel adds up the parts. So is one in 16 bits, which the library would
 * round each time: its parts are in f32.
 */
#include "lower/cuda/text.h"

#include "ir/base/vec.h"
#include "runtime/cuda/candidate.h"

#include <inttypes.h>
#include <string.h>

/* The epilogue of a product: its result and the tensor of the bias (-1: none). */
struct epilogue {
	int result, bias;
	bool relu;
};

/* Is tensor t read by segment `segment` alone, and not a result? */
static bool
is_inner(const struct scheme *s, int t, int segment)
{
	if (s->tensor[t].result >= 0)
		return false;
	for (int i = 0; i < s->ntensors; i++)
		if (s->tensor[i].alias == t)
			return false;
	for (int i = 0; i < s->nops; i++)
		for (int j = 0; j < s->op[i].f.ninputs; j++)
			if (s->op[i].in[j] == t && s->op[i].segment != segment &&
				s->op[i].segment >= 0)
				return false;
	return true;
}

/* Does load j of op o have the same dims, one to one, as the op's result? */
static bool
is_same(const struct scheme_op *o, int j)
{
	const struct form_access *x = &o->f.in[j], *out = &o->f.out;

	if (x->rank != out->rank)
		return false;
	for (int d = 0; d < x->rank; d++)
		if (x->index[d] != out->index[d])
			return false;
	return true;
}

/* Is load j of op o a vector along the last dim of the result? */
static bool
is_bias(const struct scheme *s, const struct scheme_op *o, int j)
{
	const struct form_access *x = &o->f.in[j], *out = &o->f.out;
	const struct scheme_tensor *t = &s->tensor[o->in[j]];

	if (t->op >= 0 || t->operand < 0 || out->rank == 0 || x->rank == 0)
		return false;
	for (int d = 0; d + 1 < x->rank; d++)
		if (t->dim[d] != 1)
			return false;
	return x->index[x->rank - 1] == out->index[out->rank - 1] && t->dim[x->rank - 1] > 1;
}

/* Does op o add a bias to the current value of the product (e->result), or clip it at 0? If so,
 * adds it to e. */
static bool
join(const struct scheme *s, const struct scheme_op *o, struct epilogue *e)
{
	const struct expr *b = o->f.body;

	if (o->f.reduce != REDUCE_NONE || o->computed || o->absent || b->kind != EXPR_CALL ||
		b->nargs != 2 || b->arg[0]->dtype != b->dtype || e->relu)
		return false;
	for (int i = 0; i < 2; i++) {
		const struct expr *x = b->arg[i], *y = b->arg[1 - i];
		if (x->kind != EXPR_LOAD || o->in[x->id] != e->result || !is_same(o, x->id))
			continue;
		if (b->id == FN_maximum && y->kind == EXPR_CONST && y->value == 0)
			e->relu = true;
		else if (b->id == FN_add && e->bias < 0 && y->kind == EXPR_LOAD &&
			 is_bias(s, o, y->id))
			e->bias = o->in[y->id];
		else
			continue;
		e->result = o->out;
		return true;
	}
	return false;
}

/* Is segment i + 1 an epilogue of the product in segment i? */
static bool
find_epilogue(const struct cuda_text *t, int i, struct epilogue *e)
{
	const struct scheme *s = t->s;
	const struct scheme_segment *product = &s->segment[i];
	const int out = s->op[product->op[0]].out;

	*e = (struct epilogue){out, -1, false};
	if (s->tensor[out].dtype != IR_f32) /* the only type for which the library has epilogues */
		return false;
	if (i + 1 >= s->nsegments || s->segment[i + 1].kind != SCHEME_LOOPS ||
		product->gemm.nloops ||
		product->gemm.ldc != (s->tensor[out].row ? s->tensor[out].row : product->gemm.n) ||
		!is_inner(s, out, i + 1) ||
		product->gemm.m * product->gemm.n != scheme_elements(&s->tensor[out]))
		return false;
	const struct scheme_segment *g = &s->segment[i + 1];
	for (int k = 0; k < g->nops; k++) {
		const bool last = k + 1 == g->nops;
		if (!join(s, &s->op[g->op[k]], e) || s->op[g->op[k]].out != e->result)
			return false;
		const bool inner = s->tensor[e->result].where == SCHEME_LOCAL;
		if (last ? s->tensor[e->result].where != SCHEME_MEMORY : !inner)
			return false;
	}
	return e->bias < 0 ||
	       s->tensor[e->bias].dim[s->tensor[e->bias].rank - 1] == product->gemm.n;
}

static char *
loops_text(const struct cuda_sources *src, const struct scheme_gemm *g)
{
	char *text = text_copy(src, "");

	for (int i = 0; i < g->nloops; i++)
		text = text_append(text, "%s{%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64 "}",
			i ? ", " : "", g->loop[i].size, g->loop[i].a, g->loop[i].b, g->loop[i].c);
	return text;
}

/* Cuts a loop that adds into parts, which become the last of the loops before those that add;
 * returns the number of parts. It divides the loop: the smallest number that fills a device, or the
 * largest that memory allows. */
static int64_t
cut_sum(struct scheme_gemm *g, int64_t elements, int64_t bytes)
{
	const int64_t tiles = cuda_divide_up(g->m, CUDA_TILE) * cuda_divide_up(g->n, CUDA_TILE);
	const int first = g->nloops - g->nsum;
	int largest = first;
	int64_t parts = 1;

	for (int i = first; i < g->nloops; i++)
		largest = g->loop[i].size > g->loop[largest].size ? i : largest;
	struct scheme_gemm_loop *const l = &g->loop[largest];
	for (int64_t p = 2; p <= l->size && p * elements * bytes <= CUDA_PARTS_MOST &&
			    parts * tiles < CUDA_TILES;
		p++)
		parts = l->size % p == 0 ? p : parts;
	const int64_t rest = l->size / parts;
	if (parts == 1 || (rest > 1 && g->nloops == FORM_MAX_INDICES))
		return 1;
	const struct scheme_gemm_loop batch = {parts, l->a * rest, l->b * rest, elements};
	l->size = rest;
	/* its old position, or that of the first loop that adds, which moves up */
	const int end = rest > 1 ? g->nloops++ : largest;
	memmove(&g->loop[first + 1], &g->loop[first], (size_t)(end - first) * sizeof batch);
	g->nsum -= rest == 1;
	g->loop[first] = batch;
	return parts;
}

/* Cuts a batch of more than `most` products, those of the last loop that does not add, into calls of
 * equal size. There is room for a loop: m, n and k are none. If the last call is shorter, it is *rest,
 * and the result is the number of products before it; else 0. */
static int64_t
cut_batch(struct scheme_gemm *g, int64_t most, struct scheme_gemm *rest)
{
	const int last = g->nloops - g->nsum - 1;
	const struct scheme_gemm_loop l = last < 0 ? (struct scheme_gemm_loop){0} : g->loop[last];
	const int64_t calls = cuda_divide_up(l.size, most);

	if (calls <= 1)
		return 0;
	const int64_t size = cuda_divide_up(l.size, calls), whole = l.size / size;
	*rest = *g;
	rest->loop[last].size = l.size % size;
	g->loop[last].size = size;
	if (whole > 1) {
		memmove(&g->loop[last + 1], &g->loop[last],
			(size_t)(g->nloops++ - last) * sizeof g->loop[0]);
		g->loop[last] =
			(struct scheme_gemm_loop){whole, l.a * size, l.b * size, l.c * size};
	}
	return rest->loop[last].size ? whole * size : 0;
}

/* The products of all loops that do not add. */
static double
batch_of(const struct scheme_gemm *g)
{
	double n = 1;

	for (int i = 0; i < g->nloops - g->nsum; i++)
		n *= (double)g->loop[i].size;
	return n;
}

int
cuda_candidate(const struct cuda_sources *src, const char *key)
{
	return src->options && src->options->candidate
		       ? src->options->candidate(src->options->candidate_data, key)
		       : 0;
}

static int
candidate_of(const struct cuda_sources *src, const struct scheme_gemm *g, enum rt_dtype dtype,
	bool relu, bool wide, bool addresses, bool tf32)
{
	struct rt_cuda_gemm_loop loop[FORM_MAX_INDICES];
	const struct rt_cuda_gemm product = {dtype, g->trans_a, g->trans_b, relu, wide, addresses,
		g->m, g->n, g->k, g->lda, g->ldb, g->ldc, g->nloops, g->nsum, loop, {0}};

	for (int i = 0; i < g->nloops; i++)
		loop[i] = (struct rt_cuda_gemm_loop){
			g->loop[i].size, g->loop[i].a, g->loop[i].b, g->loop[i].c};
	char key[RT_CUDA_KEY];
	rt_cuda_gemm_key(key, &product, tf32);
	return cuda_candidate(src, key);
}

/* What the calls of an op's products have in common. */
struct product {
	const struct scheme_op *o;
	const struct epilogue *e;
	const char *result; /* its address */
	bool wide;
};

/* The address `elements` after another one. */
static const char *
moved(struct cuda_text *t, const char *address, int64_t elements, enum ir_dtype dtype)
{
	return elements ? cuda_printf(t, "(char *)(%s) + %" PRId64, address,
				  elements * (int64_t)ir_dtype_bytes(dtype))
			: address;
}

/* A row of the table of products, and its call; `at`: where its operands and its result start, in
 * elements. */
static void
write_call(struct cuda_text *t, const struct product *p, const struct scheme_gemm *g,
	struct scheme_gemm_loop at)
{
	static const char *const truth[] = {"false", "true"};
	struct cuda_sources *src = t->src;
	const struct epilogue *e = p->e;
	const struct scheme_op *o = p->o;
	const enum ir_dtype dtype = (enum ir_dtype)o->f.dtype;
	const bool addresses = src->target->addresses && g->nloops - g->nsum > 1 &&
			       batch_of(g) <= (double)src->target->batch;
	const struct cuda_gemm_row row = {g->nloops ? loops_text(src, g) : NULL,
		TEXT(src,
			"RT_%s, %s, %s, %s, %s, %s, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
			", %" PRId64 ", %" PRId64 ", %d, %d",
			ir_dtype_name(dtype), truth[g->trans_a], truth[g->trans_b], truth[e->relu],
			truth[p->wide], truth[addresses], g->m, g->n, g->k, g->lda, g->ldb, g->ldc,
			g->nloops, g->nsum),
		{candidate_of(src, g, (enum rt_dtype)dtype, e->relu, p->wide, addresses, false),
			candidate_of(
				src, g, (enum rt_dtype)dtype, e->relu, p->wide, addresses, true)}};

	LIST_PUSH(src, src->gemm, src->ngemms, row);
	fprintf(t->host, "\trt_cuda_gemm(ctx, %d, %s, %s, %s, %s);\n", src->ngemms - 1,
		moved(t, cuda_host_pointer(t, o->in[g->first]), at.a, dtype),
		moved(t, cuda_host_pointer(t, o->in[g->second]), at.b, dtype),
		e->bias < 0 ? "NULL" : cuda_host_pointer(t, e->bias),
		moved(t, p->result, at.c, p->wide ? IR_f32 : dtype));
}

int
cuda_gemm(struct cuda_text *t, int i)
{
	const struct scheme_op *o = &t->s->op[t->s->segment[i].op[0]];
	struct scheme_gemm g = t->s->segment[i].gemm, rest;
	struct epilogue e;
	const bool joined = find_epilogue(t, i, &e);
	const bool wide = g.nsum > 0 && (o->f.dtype == IR_f16 || o->f.dtype == IR_bf16);
	const int64_t parts =
		g.nsum && t->src->target->parts
			? cut_sum(&g, scheme_elements(&t->s->tensor[o->out]),
				  o->f.dtype == IR_f64 ? sizeof(double) : sizeof(float))
			: 1;
	const int64_t before = cut_batch(&g, t->src->target->batch, &rest);

	if (!joined)
		e = (struct epilogue){o->out, -1, false};
	else /* of the same rows, padded or not */
		g.ldc = t->s->tensor[e.result].row ? t->s->tensor[e.result].row : g.n;
	const bool opens = wide || parts > 1;
	const struct product p = {
		o, &e, opens ? cuda_open_wide(t, o, parts) : cuda_host_pointer(t, e.result), wide};
	write_call(t, &p, &g, (struct scheme_gemm_loop){0});
	if (before) {
		const struct scheme_gemm_loop l = rest.loop[rest.nloops - rest.nsum - 1];
		write_call(t, &p, &rest,
			(struct scheme_gemm_loop){0, before * l.a, before * l.b, before * l.c});
	}
	if (opens)
		cuda_close_wide(t, o, parts);
	return joined ? 2 : 1;
}
