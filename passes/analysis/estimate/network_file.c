/*
 * Weights as a safetensors file. In addition to the tensors it holds, as bytes, `device`, the names
 * of the ops whose codes have weights, and the version of the features' meaning. If several
 * networks are averaged, the tensors of the second are called member1.in and so on.
 */
#include "ir/base/alloc.h"
#include "passes/analysis/estimate/network_impl.h"
#include "runtime/data/safetensors.h"

#include <string.h>
#include <talloc.h>

/* Incremented when a feature changes its meaning. */
static const char version[] = "2";

enum { NTENSORS = NETWORK_MEMBERS * (5 * LAYERS + 16) };

/* The contents of the file, in order; rt_st_entry has no field for the address of the bytes. */
struct layout {
	struct rt_st_entry entry[NTENSORS];
	int64_t dims[NTENSORS][2];
	const void *data[NTENSORS];
	const char *prefix; /* of the names of a member; "" of the first one's */
	int n;
};

static void
add(struct layout *l, const char *name, enum rt_dtype dtype, int rank, int64_t rows,
	int64_t columns, const void *data)
{
	const int i = l->n++;

	if (*l->prefix)
		name = TEXT(l, "%s%s", l->prefix, name);
	l->dims[i][0] = rows;
	l->dims[i][1] = columns;
	l->entry[i] = (struct rt_st_entry){name, dtype, rank, l->dims[i]};
	l->data[i] = data;
}

static void
add_floats(struct layout *l, const char *name, int64_t rows, int64_t columns, const float *data)
{
	add(l, name, RT_f32, columns ? 2 : 1, rows, columns, data);
}

/* All weights of member `number`, except those of codes. */
static void
add_weights(const void *owner, struct layout *l, const struct network *w, int number)
{
	const struct network_weights *x = &w->w;

	l->prefix = number ? TEXT(owner, "member%d.", number) : "";
	add_floats(l, "op_shift", OP_FEATURES, 0, w->norm.op_shift);
	add_floats(l, "op_scale", OP_FEATURES, 0, w->norm.op_scale);
	add_floats(l, "kernel_shift", KERNEL_FEATURES, 0, w->norm.kernel_shift);
	add_floats(l, "kernel_scale", KERNEL_FEATURES, 0, w->norm.kernel_scale);
	add_floats(l, "in", OP_FEATURES, WIDTH, x->in[0]);
	add_floats(l, "in_bias", WIDTH, 0, x->in_bias);
	for (int i = 0; i < LAYERS; i++) {
		const struct network_layer *y = &x->layer[i];
		add_floats(l, TEXT(owner, "layer%d.weight", i), WIDTH, WIDTH, y->weight[0]);
		add_floats(l, TEXT(owner, "layer%d.bias", i), WIDTH, 0, y->bias);
		add_floats(l, TEXT(owner, "layer%d.to", i), WIDTH, 0, y->to);
		add_floats(l, TEXT(owner, "layer%d.from", i), WIDTH, 0, y->from);
		add_floats(l, TEXT(owner, "layer%d.direction", i), HEADS, NDIRECTIONS,
			y->direction[0]);
	}
	add_floats(l, "dense1", POOLED, DENSE, x->dense1[0]);
	add_floats(l, "bias1", DENSE, 0, x->bias1);
	add_floats(l, "dense2", DENSE, DENSE, x->dense2[0]);
	add_floats(l, "bias2", DENSE, 0, x->bias2);
	add_floats(l, "dense3", DENSE, 0, x->dense3);
	add_floats(l, "bias3", 1, 0, x->bias3);
}

static void
add_text(struct layout *l, const char *name, const char *text)
{
	add(l, name, RT_u8, 1, (int64_t)strlen(text), 0, text);
}

static bool
has_weights(const struct network *w, int code)
{
	for (int d = 0; d < WIDTH; d++)
		if (w->w.code[code][d] != 0)
			return true;
	return false;
}

/* The codes that some sample contained, by name: numbers change between versions. */
static void
add_codes(const void *owner, struct layout *l, const struct network *w)
{
	float *rows = NEW_ARRAY(owner, float, OP_NCODES *WIDTH);
	char *names = TEXT(owner, "%s", "");
	int n = 0;

	for (int c = 0; c < OP_NCODES; c++) {
		if (!has_weights(w, c))
			continue;
		names = text_append_end(names, "%s%s", n ? "," : "", op_name((enum op_code)c));
		memcpy(&rows[n++ * WIDTH], w->w.code[c], sizeof w->w.code[c]);
	}
	add_text(l, "ops", names);
	add_floats(l, "code", n, WIDTH, rows);
}

static bool
write_all(struct rt_st_writer *f, const struct layout *l, struct rt_status *st)
{
	bool good = true;

	for (int i = 0; i < l->n && good; i++) {
		const struct rt_st_entry *e = &l->entry[i];
		size_t bytes = rt_dtype_bytes(e->dtype);
		for (int d = 0; d < e->rank; d++)
			bytes *= (size_t)e->dims[d];
		good = rt_st_append(f, l->data[i], bytes, st);
	}
	return good;
}

bool
network_save(const struct network *w, struct diag *d, const char *path, const char *device)
{
	void *scratch = alloc_scratch(NULL);
	struct layout *l = NEW(scratch, struct layout);
	struct rt_st_writer f;
	struct rt_status st = {0};

	int number = 0;

	l->prefix = "";
	add_text(l, "version", version);
	add_text(l, "device", device);
	for (; w; w = w->next) {
		add_weights(scratch, l, w, number++);
		add_codes(scratch, l, w);
	}
	if (rt_st_create(&f, path, l->entry, l->n, NULL, 0, &st))
		rt_st_finish(&f, write_all(&f, l, &st), &st);
	if (st.code)
		diag_error(d, LOC_NONE, "%s", st.text);
	talloc_free(scratch);
	return st.code == 0;
}

static const struct rt_st_tensor *
find(const struct rt_st_file *f, const struct rt_st_entry *e, struct rt_status *st)
{
	const struct rt_st_tensor *t = rt_st_find(f, e->name);

	if (!t) {
		rt_fail(st, RT_EXIT_USAGE,
			"%s: no tensor '%s': this is not a file of weights from dopt-profile train",
			f->path, e->name);
		return NULL;
	}
	return rt_st_check(f, t, e->dtype, e->rank, e->dims, st) ? t : NULL;
}

static char *
text_of(const void *owner, const struct rt_st_file *f, const char *name, struct rt_status *st)
{
	const int64_t any = -1;
	const struct rt_st_entry e = {name, RT_u8, 1, &any};
	const struct rt_st_tensor *t = find(f, &e, st);

	return t ? text_copy_n(owner, t->data ? t->data : "", t->end - t->begin) : NULL;
}

static void
load_codes(struct network *w, const struct rt_st_file *f, const char *prefix, char *names,
	struct rt_status *st)
{
	const int64_t dims[] = {-1, WIDTH};
	const struct rt_st_entry e = {TEXT(names, "%scode", prefix), RT_f32, 2, dims};
	const struct rt_st_tensor *t = find(f, &e, st);
	char *rest = NULL;
	int64_t n = 0;

	if (!t)
		return;
	for (char *s = strtok_r(names, ",", &rest); s; s = strtok_r(NULL, ",", &rest), n++) {
		const int code = op_find(s);
		if (code >= 0 && n < t->dims[0])
			memcpy(w->w.code[code], (const char *)t->data + n * WIDTH * 4, WIDTH * 4);
	}
	if (n != t->dims[0])
		rt_fail(st, RT_EXIT_USAGE, "%s: %lld names of ops, weights for %lld", f->path,
			(long long)n, (long long)t->dims[0]);
}

/* The weights of one member. */
static void
load_member(struct network *w, const struct rt_st_file *f, int number, struct rt_status *st)
{
	void *scratch = alloc_scratch(NULL);
	struct layout *l = NEW(scratch, struct layout);

	add_weights(scratch, l, w, number);
	for (int i = 0; i < l->n && !st->code; i++) {
		const struct rt_st_tensor *t = find(f, &l->entry[i], st);
		if (t)
			memcpy((void *)l->data[i], t->data, t->end - t->begin);
	}
	char *names = st->code ? NULL : text_of(scratch, f, TEXT(l, "%sops", l->prefix), st);
	if (names)
		load_codes(w, f, l->prefix, names, st);
	talloc_free(scratch);
}

static void
load_all(struct network *w, const struct rt_st_file *f, struct rt_status *st)
{
	void *scratch = alloc_scratch(NULL);
	const char *of = text_of(scratch, f, "version", st);
	char *device = text_of(w, f, "device", st);

	if (of && strcmp(of, version) != 0)
		rt_fail(st, RT_EXIT_USAGE,
			"%s: the weights have version %s, but this dopt "
			"has version %s: train them again",
			f->path, of, version);
	if (device)
		w->device = device;
	for (int i = 0; !st->code && i < NETWORK_MEMBERS; i++) {
		if (i && !rt_st_find(f, TEXT(scratch, "member%d.in", i)))
			break;
		struct network *member = i ? NEW(scratch, struct network) : w;
		load_member(member, f, i, st);
		if (i)
			network_join(w, member);
	}
	talloc_free(scratch);
}

struct network *
network_load(const void *owner, struct diag *d, const char *path)
{
	struct network *w = NEW(owner, struct network);
	struct rt_st_file f;
	struct rt_status st = {0};

	if (rt_st_open(&f, path, &st)) {
		load_all(w, &f, &st);
		rt_st_close(&f);
	}
	if (!st.code)
		return w;
	diag_error(d, LOC_NONE, "%s", st.text);
	talloc_free(w);
	return NULL;
}
