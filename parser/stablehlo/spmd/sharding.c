/*
 * Shardings: which axes split which dims of a whole tensor.
 *
 *     #sdy.sharding<@mesh, [{"x","y"}, {}]>         named axes (Shardy, "Sharding representation")
 *     {devices=[2,1,4]<=[2,4]T(1,0) last_tile_dim_replicate}
 *                                                   tiles of device numbers (XLA, HloSharding):
 *                                                   0, 1, 2 ... as a tensor [2,4], transposed, as
 *                                                   a tensor [2,1,4], whose element [i,j,..] is
 *                                                   the device that has tile i, j
 *     {replicated}  {manual}  {maximal device=0}    no splits
 *
 * Both become digits of the process number, and those are axes of the module (spmd.c).
 */
#include "parser/stablehlo/spmd/spmd.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DIGITS = 32 };

/* size places at that stride of the process number. */
struct digit {
	int64_t size, stride;
};

/* The digits that split each dim, outermost first: n[d] of them from first[d] on. */
struct digits {
	int rank;
	int n[IR_MAX_RANK + 1];
	struct digit digit[IR_MAX_RANK + 1][MAX_DIGITS];
	bool manual;
};

/* --- text: {devices=[..]<=[..]T(..)} ---------------------------------------------------------- */

struct scan {
	const char *p;
};

static bool
word(struct scan *s, const char *w)
{
	while (*s->p == ' ')
		s->p++;
	if (strncmp(s->p, w, strlen(w)))
		return false;
	s->p += strlen(w);
	return true;
}

/* Reads numbers with commas up to `end`; returns their number, -1: not a list of numbers. */
static int
numbers(struct scan *s, char end, int64_t *out, int max)
{
	int n = 0;

	while (*s->p != end) {
		char *rest;
		if (n == max)
			return -1;
		out[n++] = strtoll(s->p, &rest, 10);
		if (rest == s->p || out[n - 1] < 0 || out[n - 1] > SPMD_MAX_PROCESSES)
			return -1;
		s->p = rest;
		if (*s->p == ',')
			s->p++;
		else if (*s->p != end)
			return -1;
	}
	s->p++;
	return n;
}

/* The digits of device numbers in the order of the tiles: those of the tensor after <=. */
static int
device_digits(struct scan *s, int64_t total, struct digit *out)
{
	int64_t size[MAX_DIGITS], perm[MAX_DIGITS], stride[MAX_DIGITS], product = 1;
	int n;

	if (!word(s, "<=[")) { /* a list of all devices: only 0, 1, 2 ... is supported */
		for (int64_t i = 0; i < total; i++) {
			char *rest;
			if (strtoll(s->p, &rest, 10) != i || rest == s->p)
				return -1;
			s->p = rest + (*rest == ',');
		}
		out[0] = (struct digit){total, 1};
		return 1;
	}
	if ((n = numbers(s, ']', size, MAX_DIGITS)) < 1)
		return -1;
	for (int i = 0; i < n; i++)
		perm[i] = i;
	if (word(s, "T(") && numbers(s, ')', perm, MAX_DIGITS) != n)
		return -1;
	for (int i = n; i-- > 0; product *= size[i]) {
		stride[i] = product;
		if (size[i] < 1 || product > SPMD_MAX_PROCESSES)
			return -1;
	}
	for (int i = 0; i < n; i++) {
		if (perm[i] >= n)
			return -1;
		out[i] = (struct digit){size[perm[i]], stride[perm[i]]};
	}
	return product == total ? n : -1;
}

/* The tiles of each dim take digits from the front; one that is larger is cut. */
static bool
share_digits(struct digits *d, const int64_t *tile, struct digit *have, int nhave)
{
	int at = 0;

	for (int k = 0; k < d->rank; k++)
		for (int64_t need = tile[k]; need > 1;) {
			while (at < nhave && have[at].size == 1)
				at++;
			if (at == nhave || d->n[k] == MAX_DIGITS)
				return false;
			struct digit *h = &have[at];
			const int64_t take = need % h->size == 0 ? h->size : need;
			if (h->size % take)
				return false;
			d->digit[k][d->n[k]++] = (struct digit){take, h->stride * (h->size / take)};
			h->size /= take;
			need /= take;
		}
	return true;
}

/* The first `rank` tile dims are those of the tensor; rank < 0: all. */
static bool
read_text(const char *text, int rank, struct digits *d)
{
	struct scan s = {text};
	int64_t tile[MAX_DIGITS], total = 1;
	struct digit have[MAX_DIGITS];

	*d = (struct digits){.rank = 0};
	if (!word(&s, "{"))
		return false;
	if (word(&s, "replicated") || word(&s, "maximal") || word(&s, "unknown") || word(&s, "}"))
		return true;
	if (word(&s, "manual")) {
		d->manual = true;
		return true;
	}
	if (!word(&s, "devices=["))
		return false;
	const int ntiles = numbers(&s, ']', tile, MAX_DIGITS);
	if (ntiles < 1)
		return false;
	for (int k = 0; k < ntiles; k++)
		if (tile[k] < 1 || (total *= tile[k]) > SPMD_MAX_PROCESSES)
			return false;
	const int nhave = device_digits(&s, total, have);
	if (nhave < 0)
		return false;
	d->rank = rank < 0 || rank > ntiles ? ntiles : rank;
	if (strstr(s.p, "last_tile_dim") && rank < 0)
		d->rank--;
	if (d->rank > IR_MAX_RANK)
		d->rank = IR_MAX_RANK;
	return share_digits(d, tile, have, nhave);
}

/* --- sdy ---------------------------------------------------------------------------------------
 */

/* A STRING, or a DICT {name, pre_size, size} for a part of an axis. */
static bool
named_digit(const struct import *im, const char *mesh, const struct mlir_attr *a, struct digit *out)
{
	const struct spmd *s = spmd_of(im);
	const struct mlir_attr *name = a->kind == MLIR_DICT ? mlir_item_find(a, "name") : a,
			       *pre = a->kind == MLIR_DICT ? mlir_item_find(a, "pre_size") : NULL,
			       *size = a->kind == MLIR_DICT ? mlir_item_find(a, "size") : NULL;

	if (!name || (name->kind != MLIR_STRING && name->kind != MLIR_WORD))
		return false;
	for (int i = 0; i < s->nnames; i++) {
		const struct spmd_name *n = &s->name[i];
		if (strcmp(n->axis, name->s) || (mesh && strcmp(n->mesh, mesh)))
			continue;
		const int64_t whole = n->high / n->low;
		*out = (struct digit){whole, n->low};
		if (!pre || !size)
			return true;
		if (pre->i < 1 || size->i < 1 || pre->i > whole || size->i > whole ||
			whole % (pre->i * size->i))
			return false;
		*out = (struct digit){size->i, n->high / (pre->i * size->i)};
		return true;
	}
	return false;
}

static bool
read_sdy(const struct import *im, const struct mlir_attr *a, struct digits *d)
{
	const struct mlir_attr *mesh = mlir_item_find(a, "mesh"), *dims = mlir_item_find(a, "dims");
	const bool named = mesh && (mesh->kind == MLIR_SYMBOL || mesh->kind == MLIR_STRING);

	*d = (struct digits){.rank = 0};
	if (!dims || dims->kind != MLIR_LIST || dims->n > IR_MAX_RANK)
		return false;
	d->rank = (int)dims->n;
	for (uint32_t k = 0; k < dims->n; k++) {
		const struct mlir_attr *axes = &dims->item[k];
		if (axes->kind == MLIR_DICT)
			axes = mlir_item_find(axes, "axes");
		for (uint32_t i = 0; axes && axes->kind == MLIR_LIST && i < axes->n; i++) {
			if (d->n[k] == MAX_DIGITS || !named_digit(im, named ? mesh->s : NULL,
							     &axes->item[i], &d->digit[k][d->n[k]]))
				return false;
			d->n[k]++;
		}
	}
	return true;
}

bool
spmd_axis_list(const struct import *im, const struct mlir_attr *list, uint32_t *axes)
{
	*axes = 0;
	for (uint32_t i = 0; list && list->kind == MLIR_LIST && i < list->n; i++) {
		struct digit d;
		uint32_t more;
		if (!named_digit(im, NULL, &list->item[i], &d) ||
			!spmd_digits(im, d.stride, d.stride * d.size, &more))
			return false;
		*axes |= more;
	}
	return true;
}

void
spmd_sharding_cuts(const struct import *im, const struct mlir_attr *a,
	void (*add)(void *data, int64_t cut), void *data)
{
	struct digits d;

	if (a->kind == MLIR_LIST) {
		for (uint32_t i = 0; i < a->n; i++)
			spmd_sharding_cuts(im, &a->item[i], add, data);
		return;
	}
	if (!(a->kind == MLIR_STRING ? read_text(a->s, -1, &d)
				     : a->kind == MLIR_DICT && read_sdy(im, a, &d)))
		return;
	for (int k = 0; k < d.rank; k++)
		for (int i = 0; i < d.n[k]; i++) {
			add(data, d.digit[k][i].stride);
			add(data, d.digit[k][i].stride * d.digit[k][i].size);
		}
}

bool
spmd_sharding_read(struct import *im, const struct mlir_op *where, const struct mlir_attr *a,
	int rank, struct spmd_sharding *s)
{
	struct digits d;

	*s = (struct spmd_sharding){0};
	if (!(a->kind == MLIR_STRING ? read_text(a->s, rank, &d)
				     : a->kind == MLIR_DICT && read_sdy(im, a, &d)))
		return import_unsupported_form(im, where, "the sharding %s",
			a->kind == MLIR_STRING ? a->s : "that is written");
	s->manual = d.manual;
	for (int k = 0; k < d.rank && k < rank; k++)
		for (int i = 0; i < d.n[k]; i++) {
			uint32_t axes;
			const struct digit *g = &d.digit[k][i];
			if (!spmd_digits(im, g->stride, g->stride * g->size, &axes))
				return import_unsupported(im, where,
					"a sharding that does not match the axes of the mesh");
			if (axes & s->axes)
				return import_error(im, where, "an axis splits two dims");
			s->axes |= axes;
			for (int x = 0; x < im->module->naxes; x++)
				if (axes >> x & 1)
					s->axis[k][s->n[k]++] = x;
		}
	return true;
}

const struct ir_type *
spmd_sharding_type(
	const struct import *im, const struct ir_type *shape, const struct spmd_sharding *s)
{
	struct ir_type t = *shape;

	for (int d = 0; d < t.rank; d++) {
		int64_t factor = 1;
		for (int i = 0; i < s->n[d]; i++) {
			factor *= im->module->axis[s->axis[d][i]].size;
			t.axis[s->axis[d][i]] =
				(struct ir_state){IR_SPLIT, (uint8_t)d, (uint16_t)i};
		}
		if (t.dim[d] % factor)
			return NULL;
	}
	return ir_type_intern(im->module->ctx, &t);
}
