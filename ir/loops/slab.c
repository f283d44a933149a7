/*
 * A kernel of several products loops over slabs, around all of its segments, so that values between
 * the products exist for only one slab at a time (attention: some rows of one head).
 *
 *     s[b,t,k] = q[b,t,d] k[b,k,d]        for b, for t by 128
 *     e = exp(s - max(k) s)                   s, e: [1,128,k] in scratch
 *     o[b,t,d] = e[b,t,k] v[b,k,d]            o: [1,128,d]
 *
 * Indices are one class if they belong to one dim of a tensor. A class is cut into slabs if all
 * results have it and no op reduces it; ops without it (a mask that all heads share) are repeated
 * for each slab. A class that both operands of every product have, a batch, is cut into single
 * elements. Of the others, the largest is cut into as many rows as make a block of the usual size,
 * and those of the same operand of the first product (grouped queries) into single elements. In the
 * segments these indices have the size of a slab. Operands and results whose slab is not contiguous
 * are copied, which takes little time compared with the products: segments see tensors in memory
 * that are one slab.
 */
#include "ir/loops/build.h"

#include "ir/base/alloc.h"

#include <string.h>
#include <talloc.h>

struct classes {
	struct scheme *s;
	int *parent; /* classes of indices */
};

static bool
is_product(const struct scheme *s, const struct scheme_op *o)
{
	struct scheme_gemm g;

	return o->f.ninputs == 2 && scheme_find_gemm(s, o, &g);
}

/* Can every op be computed for one slab? */
static bool
is_simple(const struct scheme *s)
{
	int products = 0;

	if (s->kernel->code != OP_fuse)
		return false;
	for (int t = 0; t < s->ntensors; t++)
		if (s->tensor[t].alias >= 0 || (s->tensor[t].result >= 0 && s->tensor[t].op < 0))
			return false;
	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		if (o->scatter || o->scan.found || o->absent)
			return false;
		products += is_product(s, o);
	}
	return products > 1;
}

/* Joins the indices of each dim of a tensor into one class. */
static void
join_classes(struct classes *c)
{
	struct scheme *s = c->s;
	int *first = NEW_ARRAY(s, int, s->ntensors *IR_MAX_RANK);

	memset(first, -1, sizeof *first * (size_t)s->ntensors * IR_MAX_RANK);
	for (int i = 0; i < s->nops; i++)
		for (int j = -1; j < s->op[i].f.ninputs; j++) {
			const struct scheme_op *o = &s->op[i];
			const struct form_access *x = j < 0 ? &o->f.out : &o->f.in[j];
			int *of = first + IR_MAX_RANK * (j < 0 ? o->out : o->in[j]);
			for (int d = 0; d < x->rank; d++) {
				if (x->index[d] < 0)
					continue;
				const int node = scheme_node(i, x->index[d]);
				if (of[d] < 0)
					of[d] = node;
				c->parent[scheme_class_of(c->parent, node)] =
					scheme_class_of(c->parent, of[d]);
			}
		}
	talloc_free(first);
}

/* The index of an op that is in the class; -1: none, -2: several. */
static int
index_in(const struct classes *c, int op, int root)
{
	int found = -1;

	for (int i = 0; i < c->s->op[op].f.nindices; i++)
		if (scheme_class_of(c->parent, scheme_node(op, i)) == root)
			found = found == -1 ? i : -2;
	return found;
}

/* Can the class be cut into slabs? *batch: both operands of all products have it. */
static bool
is_possible(const struct classes *c, int root, int64_t size, bool *batch)
{
	const struct scheme *s = c->s;

	*batch = true;
	for (int i = 0; i < s->nops; i++) {
		const struct scheme_op *o = &s->op[i];
		const int index = index_in(c, i, root);
		const bool is_result = s->tensor[o->out].result >= 0;
		if (index == -1 && !is_result && o->f.reduce == REDUCE_NONE)
			continue;
		if (index < 0 || o->computed || o->f.size[index] != size || o->f.at[index] ||
			o->f.reduced >> index & 1 || !form_access_has(&o->f.out, index))
			return false;
		if (is_product(s, o))
			*batch = *batch && form_access_has(&o->f.in[0], index) &&
				 form_access_has(&o->f.in[1], index);
	}
	return true;
}

/* Rows of a slab: a divisor of all rows that makes the largest tensor of the kernel one block. */
static int64_t
rows_of(const struct scheme *s, int64_t size)
{
	int64_t most = 1;

	for (int t = 0; t < s->ntensors; t++)
		if (s->tensor[t].op >= 0 && s->tensor[t].result < 0 && !s->tensor[t].constant) {
			const int64_t bytes =
				scheme_elements(&s->tensor[t]) * ir_dtype_bytes(s->tensor[t].dtype);
			most = bytes > most ? bytes : most;
		}
	int64_t rows = SCHEME_BLOCK_BYTES / (most / size + 1);
	rows = rows < SCHEME_BLOCK_ROWS ? SCHEME_BLOCK_ROWS : rows > size ? size : rows;
	while (size % rows)
		rows--;
	return rows < SCHEME_SLAB_ROWS ? size : rows;
}

/* Reduces the indices of the class to the size of a slab. */
static void
cut(const struct classes *c, int root, int64_t step)
{
	struct scheme *s = c->s;
	const int number = s->nslabs;

	for (int i = 0; i < s->nops; i++) {
		struct scheme_op *o = &s->op[i];
		const int index = index_in(c, i, root);
		if (index < 0)
			continue;
		o->slab[index] = (int8_t)(number + 1);
		s->slab[number].size = o->f.size[index];
		o->f.size[index] = step;
		for (int j = -1; j < o->f.ninputs; j++) {
			const struct form_access *x = j < 0 ? &o->f.out : &o->f.in[j];
			struct scheme_tensor *t = &s->tensor[j < 0 ? o->out : o->in[j]];
			const int d = form_access_dim(x, index);
			if (d < 0)
				continue;
			t->slab[d] = (int8_t)(number + 1);
			t->dim[d] = step;
		}
	}
	s->slab[s->nslabs++].step = step;
}

struct candidate {
	int root;
	int64_t size;
	bool batch;
	bool first; /* the first operand of the first product has it */
};

static int
find_candidates(const struct classes *c, struct candidate *list)
{
	const struct scheme *s = c->s;
	int n = 0, result = 0, product = 0;

	while (s->tensor[s->op[result].out].result < 0)
		result++;
	while (!is_product(s, &s->op[product]))
		product++;
	const struct form *f = &s->op[result].f;
	for (int i = 0; i < f->nindices && n < IR_MAX_RANK; i++) {
		struct candidate x = {scheme_class_of(c->parent, scheme_node(result, i)),
			f->size[i], false, false};
		if (x.size == 1 || !is_possible(c, x.root, x.size, &x.batch))
			continue;
		x.first = form_access_has(&s->op[product].f.in[0], index_in(c, product, x.root));
		list[n++] = x;
	}
	return n;
}

void
scheme_cut_slabs(struct scheme *s)
{
	struct candidate list[IR_MAX_RANK];
	struct classes c = {.s = s};
	int rows = -1;

	if (!is_simple(s))
		return;
	c.parent = scheme_start_classes(s, NEW_ARRAY(s, int, (s->nops + 1) * FORM_MAX_INDICES));
	join_classes(&c);
	const int n = find_candidates(&c, list);
	for (int i = 0; i < n; i++)
		if (!list[i].batch && (rows < 0 || list[i].size > list[rows].size))
			rows = i;
	for (int i = 0; i < n; i++)
		if (i != rows && (list[i].batch || list[i].first == list[rows].first))
			cut(&c, list[i].root, 1);
	const int64_t step = rows < 0 ? 0 : rows_of(s, list[rows].size);
	if (rows >= 0 && step < list[rows].size)
		cut(&c, list[rows].root, step);
	talloc_free(c.parent);
}

/* Is the slab of an operand or a result one contiguous range of it? */
static bool
scheme_slab_is_contiguous(const struct scheme_tensor *t)
{
	bool outer = true; /* all dims so far have one element in the slab */

	for (int d = 0; d < t->rank; d++) {
		if (!outer && t->slab[d] && t->dim[d] != t->whole[d])
			return false;
		outer = outer && t->dim[d] == 1;
	}
	return true;
}

void
scheme_place_slabs(struct scheme *s)
{
	for (int t = 0; t < s->ntensors && s->nslabs; t++) {
		struct scheme_tensor *x = &s->tensor[t];
		const bool outside = x->operand >= 0 || x->result >= 0;
		if (outside && !x->constant && !scheme_slab_is_contiguous(x))
			x->packed = scheme_take_scratch(
				s, scheme_elements(x) * (int64_t)ir_dtype_bytes(x->dtype));
	}
}
