/* Types: interning, layout arithmetic, text. */
#include "ir/type.h"

#include "ir/base/mix.h"
#include "ir/base/intern.h"
#include "ir/ir.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

static const struct {
	const char *name;
	unsigned bytes;
	enum ir_dclass class;
} dtype_row[] = {
#define DTYPE(name, bytes, ctype, class, tag) {#name, bytes, IR_##class},
#include "runtime/kernel/dtype.def"
#undef DTYPE
};

const char *
ir_dtype_name(enum ir_dtype t)
{
	return dtype_row[t].name;
}

unsigned
ir_dtype_bytes(enum ir_dtype t)
{
	return dtype_row[t].bytes;
}

unsigned
ir_dtype_bits(enum ir_dtype t)
{
	return t == IR_bool ? 1 : 8 * ir_dtype_bytes(t);
}

enum ir_dclass
ir_dtype_class(enum ir_dtype t)
{
	return dtype_row[t].class;
}

int
ir_dtype_find(const char *name)
{
	for (int i = 0; i < IR_NDTYPES; i++)
		if (strcmp(dtype_row[i].name, name) == 0)
			return i;
	return -1;
}

bool
ir_type_equal(const struct ir_type *a, const struct ir_type *b)
{
	return ir_type_same_meaning(a, b) && a->memory == b->memory &&
	       memcmp(a->axis, b->axis, sizeof a->axis) == 0;
}

MAP_SAME(same_type, struct ir_intern, struct ir_type, ir_type_equal(list->type.at[i], key))

const struct ir_type *
ir_type_intern(struct ir_context *ctx, const struct ir_type *t)
{
	struct ir_intern *types = ctx->intern;
	uint64_t hash = mix_word(t->dtype | (unsigned)t->memory << 8, t->rank);

	hash = mix_bytes(hash, t->dim, sizeof t->dim[0] * t->rank);
	hash = mix_bytes(hash, t->axis, sizeof t->axis);
	const uint32_t i = map_add(ctx, &types->type_map, hash, same_type, types, t);
	if (i == types->type.n) {
		struct ir_type *copy = ARENA_NEW(ctx->arena, struct ir_type);
		*copy = *t;
		VEC_PUSH(ctx, &types->type, copy);
	}
	return types->type.at[i];
}

const struct ir_type *
ir_type_in(struct ir_context *ctx, const struct ir_type *t, enum ir_memory memory)
{
	struct ir_type there = *t;

	there.memory = (uint8_t)memory;
	return ir_type_intern(ctx, &there);
}

const struct ir_type *
ir_type_meaning(struct ir_context *ctx, const struct ir_type *t)
{
	struct ir_type whole = *t;

	whole.memory = IR_DEVICE;
	memset(whole.axis, 0, sizeof whole.axis);
	return ir_type_intern(ctx, &whole);
}

bool
ir_type_same_devices(const struct ir_module *m, const struct ir_type *a, const struct ir_type *b)
{
	for (int x = 0; x < m->naxes; x++) {
		const bool one = a->axis[x].kind == IR_SINGLE, other = b->axis[x].kind == IR_SINGLE;
		if (!m->axis[x].time &&
			(one != other || (one && a->axis[x].order != b->axis[x].order)))
			return false;
	}
	return true;
}

bool
ir_type_same_dims(const struct ir_type *a, const struct ir_type *b)
{
	return a->rank == b->rank && memcmp(a->dim, b->dim, sizeof a->dim[0] * a->rank) == 0;
}

bool
ir_type_same_meaning(const struct ir_type *a, const struct ir_type *b)
{
	return a->dtype == b->dtype && ir_type_same_dims(a, b);
}

int
ir_type_split_axes(const struct ir_type *t, int dim, int list[IR_MAX_AXES])
{
	int n = 0;

	for (int i = 0; i < IR_MAX_AXES; i++)
		if (t->axis[i].kind == IR_SPLIT && t->axis[i].dim == dim) {
			list[t->axis[i].order] = i;
			n++;
		}
	return n;
}

void
ir_type_close_splits(struct ir_type *t)
{
	uint16_t next[IR_MAX_RANK] = {0};

	for (int order = 0; order < IR_MAX_AXES; order++)
		for (int i = 0; i < IR_MAX_AXES; i++)
			if (t->axis[i].kind == IR_SPLIT && t->axis[i].order == order)
				t->axis[i].order = next[t->axis[i].dim]++;
}

int
ir_type_split_depth(const struct ir_type *t, int dim)
{
	int list[IR_MAX_AXES];

	return ir_type_split_axes(t, dim, list);
}

int64_t
ir_type_split_factor(const struct ir_module *m, const struct ir_type *t, int dim)
{
	int64_t factor = 1;

	for (int i = 0; i < m->naxes; i++)
		if (t->axis[i].kind == IR_SPLIT && t->axis[i].dim == dim)
			factor *= m->axis[i].size;
	return factor;
}

int64_t
ir_type_local_dim(const struct ir_module *m, const struct ir_type *t, int dim)
{
	return t->dim[dim] / ir_type_split_factor(m, t, dim);
}

int64_t
ir_type_elements(const struct ir_type *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->rank; i++)
		n *= t->dim[i];
	return n;
}

int64_t
ir_type_local_elements(const struct ir_module *m, const struct ir_type *t)
{
	int64_t n = 1;

	for (int i = 0; i < t->rank; i++)
		n *= ir_type_local_dim(m, t, i);
	return n;
}

int64_t
ir_type_local_bytes(const struct ir_module *m, const struct ir_type *t)
{
	return ir_type_local_elements(m, t) * ir_dtype_bytes((enum ir_dtype)t->dtype);
}

int64_t
ir_type_slice(const struct ir_module *m, const struct ir_type *t, int dim, const int *coord)
{
	int list[IR_MAX_AXES];
	int n = ir_type_split_axes(t, dim, list);
	int64_t slice = 0;

	for (int i = 0; i < n; i++)
		slice = slice * m->axis[list[i]].size + coord[list[i]];
	return slice;
}

bool
ir_shape_fits(const int64_t *dim, int rank)
{
	int64_t room = (int64_t)1 << IR_MAX_ELEMENTS_LOG2;

	for (int d = 0; d < rank && room; d++)
		if (dim[d] > 1)
			room /= dim[d];
	return room > 0;
}

static bool
check_dim(const struct ir_module *m, const struct ir_type *t, int dim, struct ir_loc loc,
	const char *what)
{
	int list[IR_MAX_AXES], n = ir_type_split_axes(t, dim, list);
	int64_t size = t->dim[dim];

	if (size < 0) {
		diag_error(m->ctx->diag, loc, "%s: size %" PRId64 " of dim %d is negative", what,
			size, dim);
		return false;
	}
	for (int i = 0; i < n; i++) {
		const struct ir_axis *axis = &m->axis[list[i]];
		if (size % axis->size) {
			diag_error(m->ctx->diag, loc,
				"%s: axis %s of size %d does not divide the %" PRId64
				" elements of dim %d%s",
				what, axis->name, axis->size, size, dim,
				i ? " left by the axes before it" : "");
			return false;
		}
		size /= axis->size;
	}
	return true;
}

/* The same without a message, in one walk over the axes. */
static bool
type_fits(const struct ir_module *m, const struct ir_type *t)
{
	int64_t left[IR_MAX_RANK];

	if (!ir_shape_fits(t->dim, t->rank))
		return false;
	for (int d = 0; d < t->rank; d++) {
		left[d] = t->dim[d];
		if (left[d] < 0)
			return false;
	}
	for (int i = 0; i < m->naxes; i++) {
		struct ir_state s = t->axis[i];
		int32_t size = m->axis[i].size;
		if (s.kind == IR_COPIED)
			continue;
		if (s.kind == IR_SINGLE        ? s.order >= ir_axis_stages(&m->axis[i])
			: s.kind == IR_PARTIAL ? ir_dtype_class((enum ir_dtype)t->dtype) == IR_BOOL
					       : s.dim >= t->rank || left[s.dim] % size)
			return false;
		if (s.kind == IR_SPLIT)
			left[s.dim] /= size;
	}
	return true;
}

bool
ir_type_check(
	const struct ir_module *m, const struct ir_type *t, struct ir_loc loc, const char *what)
{
	bool ok = true;

	if (type_fits(m, t))
		return true;
	if (!ir_shape_fits(t->dim, t->rank)) {
		char *text = ir_type_text(NULL, m, t);
		diag_error(m->ctx->diag, loc, "%s: %s has more than 2^%d elements", what, text,
			IR_MAX_ELEMENTS_LOG2);
		talloc_free(text);
		return false;
	}
	for (int d = 0; d < t->rank; d++)
		ok = check_dim(m, t, d, loc, what) && ok;
	for (int i = 0; i < m->naxes; i++) {
		struct ir_state s = t->axis[i];
		if (s.kind == IR_SINGLE && s.order >= ir_axis_stages(&m->axis[i])) {
			diag_error(m->ctx->diag, loc,
				"%s: position %d is out of range on axis %s of size %d", what,
				s.order, m->axis[i].name, ir_axis_stages(&m->axis[i]));
			ok = false;
		}
		if (s.kind == IR_PARTIAL && ir_dtype_class((enum ir_dtype)t->dtype) == IR_BOOL) {
			diag_error(m->ctx->diag, loc,
				"%s: a bool cannot be partial: it cannot be summed", what);
			ok = false;
		}
	}
	return ok;
}

char *
ir_type_text(const void *owner, const struct ir_module *m, const struct ir_type *t)
{
	char *s = TEXT(owner, "%s[", ir_dtype_name((enum ir_dtype)t->dtype));
	int list[IR_MAX_AXES];

	for (int d = 0; d < t->rank; d++) {
		s = text_append(s, "%s%" PRId64, d ? "," : "", t->dim[d]);
		int n = ir_type_split_axes(t, d, list);
		for (int i = 0; i < n; i++)
			s = text_append(s, "/%s", m->axis[list[i]].name);
	}
	s = text_append(s, "]");
	for (int i = 0; i < m->naxes; i++)
		if (t->axis[i].kind == IR_PARTIAL)
			s = text_append(s, "+%s", m->axis[i].name);
	for (int i = 0; i < m->naxes; i++)
		if (t->axis[i].kind == IR_SINGLE)
			s = text_append(s, "@%s=%d", m->axis[i].name, t->axis[i].order);
	return t->memory == IR_HOST ? text_append(s, "@host") : s;
}

bool
ir_type_has(const struct ir_module *m, const struct ir_type *t, unsigned states)
{
	for (int a = 0; a < m->naxes; a++)
		if (states >> t->axis[a].kind & 1)
			return true;
	return false;
}

bool
ir_type_single(const struct ir_module *m, const struct ir_type *t)
{
	for (int a = 0; a < m->naxes; a++)
		if (!m->axis[a].time && t->axis[a].kind == IR_SINGLE)
			return true;
	return false;
}

char *
ir_state_text(const void *owner, struct ir_state s)
{
	switch ((enum ir_state_kind)s.kind) {
	case IR_COPIED: return text_copy(owner, "copied");
	case IR_SPLIT: return TEXT(owner, "split on dim %d", s.dim);
	case IR_PARTIAL: return text_copy(owner, "partial");
	case IR_SINGLE: return TEXT(owner, "single at %d", s.order);
	}
	return NULL;
}
