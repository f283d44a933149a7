/* Data sets: see data.h. */
#include "runtime/data/data.h"
#include "runtime/data/batch.h"
#include "runtime/data/rows.h"
#include "runtime/data/value.h"
#include <inttypes.h>
#include <stdlib.h>

static const char *const part_names[] = {"train", "test"};

static bool
has_batch(const struct rt_program *p, const struct rt_tensor *t)
{
	return t->rank > 0 && t->dims[0] == p->batch;
}

/* "train.NAME" from malloc. */
static char *
tensor_name(enum rt_part part, const struct rt_tensor *t)
{
	const size_t size = strlen(t->name) + sizeof "train.";
	char *name = malloc(size);
	if (name)
		snprintf(name, size, "%s.%s", part_names[part], t->name);
	return name;
}

/* A part exists if the file has any of its tensors. */
static bool
part_exists(const struct rt_data *d, enum rt_part part)
{
	const size_t length = strlen(part_names[part]);
	for (int i = 0; i < d->file.count; i++) {
		const char *name = d->file.tensors[i].name;
		if (!strncmp(name, part_names[part], length) && name[length] == '.')
			return true;
	}
	return false;
}

/* Fails with the value of an element of a file: "value 7 in row 3 is outside 0..6". Returns
 * false. */
static bool
refuse(const struct rt_data *d, const struct rt_rank *r, const struct rt_tensor *t,
	const struct rt_st_tensor *from, double value, int64_t row)
{
	if (!t->range)
		return rt_fail(r->status, RT_EXIT_USAGE,
			"%s: tensor '%s': value %.17g in row %" PRId64
			" is not representable as %s",
			d->file.path, from->name, value, row, rt_dtype_info(t->dtype)->name);
	return rt_fail(r->status, RT_EXIT_USAGE,
		"%s: tensor '%s': value %.17g in row %" PRId64 " is outside 0..%" PRId64,
		d->file.path, from->name, value, row, t->range - 1);
}

/* Elements of a file, one after another: the first that does not fit the input. */
struct check {
	struct rt_conversion c;
	const struct rt_tensor *t;
	double value;
	int64_t bad; /* its number; -1: none yet */
};

static void
check_run(void *arg, int64_t from, int64_t to, int64_t n)
{
	struct check *k = arg;
	int64_t element;
	for (int64_t i = 0; i < n && k->bad < 0; i++) {
		bool fits = rt_value_convert(&k->c, from + i, &element, 0, 1, &k->value);
		if (fits && k->t->range) {
			k->value = rt_value_get(k->t->dtype, &element, 0);
			fits = k->value >= 0 && k->value < (double)k->t->range;
		}
		if (!fits)
			k->bad = to + i;
	}
}

static int64_t
row_elements(const struct rt_tensor *t, bool batched)
{
	int64_t n = 1;
	for (int d = batched ? 1 : 0; d < t->rank; d++)
		n *= t->dims[d];
	return n;
}

/* Every value of this rank's share of the rows must be in 0 .. range-1, or, if converted,
 * representable in the type of the input. */
static bool
check_range(const struct rt_data *d, const struct rt_rank *r, const struct rt_tensor *t,
	const struct rt_st_tensor *from)
{
	const int64_t rows = from->rank ? from->dims[0] : 1;
	const int ranks = r->world->nranks, me = r->world->rank;
	const int64_t begin = rows / ranks * me,
		      end = me + 1 == ranks ? rows : begin + rows / ranks;
	struct check k = {{rt_st_dtype(from), t->dtype, NULL}, t, 0, -1};
	struct rt_box box = {.start = {begin}, .extent = {end - begin}};
	int64_t per_row = 1;
	for (int i = 1; i < from->rank; i++)
		per_row *= box.extent[i] = from->dims[i];
	if (!rt_st_read(&d->file, from, &box, &k.c.data, check_run, &k, r->status))
		return false;
	const int64_t width = from->rank == 1 && t->rank == 2 ? t->dims[1] : per_row;
	return k.bad < 0 || refuse(d, r, t, from, k.value, (begin * per_row + k.bad) / width);
}

/* No value of a float is lost. */
static bool
needs_check(const struct rt_tensor *t, const struct rt_st_tensor *from)
{
	return t->range ||
	       (rt_st_dtype(from) != t->dtype && rt_dtype_info(t->dtype)->kind != RT_CLASS_FLOAT);
}

/* Finds and checks the tensor of one input. */
static bool
open_input(struct rt_data *d, const struct rt_rank *r, enum rt_part part, int index)
{
	const struct rt_tensor *t = &r->prog->tensors[index];
	char *name = tensor_name(part, t);
	if (!name)
		return rt_fail_memory(r->status, strlen(t->name), "a name");
	const struct rt_st_tensor *from = rt_st_find(&d->file, name);
	if (!from)
		rt_fail(r->status, RT_EXIT_USAGE, "%s: there is no tensor '%s'", d->file.path,
			name);
	free(name);
	if (!from)
		return false;
	const bool batched = has_batch(r->prog, t);
	int64_t dims[RT_MAX_RANK];
	memcpy(dims, t->dims, sizeof dims);
	if (batched)
		dims[0] = -1;
	/* A stream has one dimension. */
	const int rank = batched && t->rank == 2 && from->rank == 1 ? 1 : t->rank;
	if (!rt_st_check_converted(&d->file, from, t->dtype, rank, dims, r->status) ||
		!rt_st_check_parts(&d->file, from, r->status))
		return false;
	d->sources[part][index] = from;
	if (batched) {
		const int64_t rows = rt_st_rows(from, t->rank, row_elements(t, true));
		if (!rows)
			return rt_fail(r->status, RT_EXIT_USAGE,
				"%s: tensor '%s' has no whole row of %" PRId64 " elements",
				d->file.path, from->name, row_elements(t, true));
		if (d->rows[part] && d->rows[part] != rows)
			return rt_fail(r->status, RT_EXIT_USAGE,
				"%s: tensor '%s' has %" PRId64
				" rows, but the inputs before it have %" PRId64,
				d->file.path, from->name, rows, d->rows[part]);
		d->rows[part] = rows;
	}
	return !needs_check(t, from) || check_range(d, r, t, from);
}

static bool
open_part(struct rt_data *d, const struct rt_rank *r, enum rt_part part)
{
	const size_t n = (size_t)r->prog->ntensors + 1;
	d->sources[part] = calloc(n, sizeof *d->sources[part]);
	if (!d->sources[part])
		return rt_fail_memory(r->status, n * sizeof *d->sources[part], "the data set");
	for (int i = 0; i < r->prog->ntensors; i++)
		if (r->prog->tensors[i].role == RT_INPUT && !open_input(d, r, part, i))
			return false;
	return true;
}

bool
rt_data_open(struct rt_data *d, const struct rt_rank *r)
{
	*d = (struct rt_data){0};
	if (!r->options->data)
		return true;
	if (!rt_st_open_rows(&d->file, r->options->data, r->status))
		return false;
	if (r->steps && !open_part(d, r, RT_TRAIN))
		return false;
	return r->options->no_eval || !part_exists(d, RT_TEST) || open_part(d, r, RT_TEST);
}

void
rt_data_close(struct rt_data *d)
{
	for (int part = 0; part < RT_PARTS; part++)
		free(d->sources[part]);
	rt_st_close(&d->file);
}

/* The rows of the file that go into a batch. */
struct order {
	enum rt_part part;
	uint64_t seed;
	int64_t step, rows, batch;
	int64_t shift; /* rows in addition to `batch` that were read in each previous step */
	bool in_order; /* -no-shuffle */
};

/* The row of the file for row i of the batch; -1: padding. */
static int64_t
order_row(const struct order *o, int64_t i)
{
	if (o->in_order)
		return rt_batch_row_in_order(o->step, o->shift + i, o->rows, o->batch);
	if (o->part == RT_TRAIN)
		return rt_batch_row(o->seed, o->step, o->shift + i, o->rows, o->batch);
	const int64_t row = o->step * o->batch + i;
	return row < o->rows ? row : -1;
}

static bool
is_signed(enum rt_dtype t)
{
	return rt_dtype_info(t)->kind == RT_CLASS_INT;
}

/* Converts elements to the type of the input; rt_data_open has checked them. */
struct converter {
	struct rt_conversion c;
	int64_t to_at; /* of the box in the input */
	void *to;
};

static void
convert_run(void *arg, int64_t from, int64_t to, int64_t n)
{
	struct converter *c = arg;
	double lost;
	rt_value_convert(&c->c, from, c->to, c->to_at + to, n, &lost);
}

static void
fill_slice(const struct rt_data *d, struct rt_rank *r, const struct rt_tensor *t,
	const struct rt_box *box, const struct order *o, const struct rt_st_tensor *from, char *to)
{
	const size_t bytes = rt_dtype_bytes(t->dtype);
	int64_t local_row = 1;
	struct rt_box inner = {{0}, {0}};
	struct converter c = {{rt_st_dtype(from), t->dtype, NULL}, 0, to};
	for (int i = 1; i < t->rank; i++) {
		local_row *= inner.extent[i - 1] = box->extent[i];
		inner.start[i - 1] = box->start[i];
	}
	/* Whole rows of one file in the type of the input: the usual case. */
	const bool plain = from->data && c.c.from == t->dtype && local_row == row_elements(t, true);
	for (int64_t i = 0; i < box->extent[0]; i++) {
		const int64_t row = order_row(o, box->start[0] + i);
		struct rt_box part;
		if (plain && row >= 0) {
			const size_t n = (size_t)local_row * bytes;
			memcpy(to + (size_t)i * n, (const char *)from->data + (size_t)row * n, n);
			continue;
		}
		c.to_at = i * local_row;
		rt_st_rows_box(from, t->rank, t->dims, &inner, row, 1, &part);
		if (row < 0)
			memset(to + (size_t)c.to_at * bytes, is_signed(t->dtype) ? 0xFF : 0,
				(size_t)local_row * bytes);
		else
			rt_st_read(&d->file, from, &part, &c.c.data, convert_run, &c, r->status);
	}
}

/* An input without rows. */
static void
fill_whole(const struct rt_data *d, struct rt_rank *r, const struct rt_tensor *t,
	const struct rt_box *box, const struct rt_st_tensor *from, char *to)
{
	struct converter c = {{rt_st_dtype(from), t->dtype, NULL}, 0, to};
	rt_st_read(&d->file, from, box, &c.c.data, convert_run, &c, r->status);
}

static void
fill(const struct rt_data *d, struct rt_rank *r, const struct order *o)
{
	const struct rt_program *p = r->prog;
	for (int i = 0; i < p->ntensors; i++) {
		const struct rt_tensor *t = &p->tensors[i];
		if (t->role != RT_INPUT || !rt_tensor_here(p, t, r->ctx.coord))
			continue;
		const struct rt_st_tensor *from = d->sources[o->part][i];
		for (int64_t slice = 0; slice < rt_tensor_slices(p, t); slice++) {
			struct rt_box box;
			rt_tensor_box(p, t, r->ctx.coord, slice, &box);
			void *to = rt_rank_room(r, t, slice);
			if (has_batch(p, t))
				fill_slice(d, r, t, &box, o, from, to);
			else
				fill_whole(d, r, t, &box, from, to);
			rt_rank_put(r, t, slice);
		}
	}
}

/* Data read from a file that has become shorter may be zeros: see shrunk.h. */
static void
check_whole(const struct rt_data *d, const struct rt_rank *r)
{
	if (rt_st_is_whole(&d->file))
		return;
	fprintf(stderr, "%s%s: error: %s: the file was truncated while it was being read\n",
		rt_line_start(), r->prog->name, d->file.path);
	rt_abort(r->world, RT_EXIT_RUN);
}

void
rt_data_train(const struct rt_data *d, struct rt_rank *r, int64_t step)
{
	/* Not 0 if the previous steps had another batch size. */
	const uint64_t shift = r->start.row - (uint64_t)r->start.step * (uint64_t)r->prog->batch;
	const struct order o = {RT_TRAIN, r->start.seed, step, d->rows[RT_TRAIN], r->prog->batch,
		(int64_t)shift, r->options->no_shuffle};
	if (!d->sources[RT_TRAIN])
		return;
	fill(d, r, &o);
	check_whole(d, r);
}

void
rt_data_test(const struct rt_data *d, struct rt_rank *r, int64_t batch)
{
	const struct order o = {RT_TEST, 0, batch, d->rows[RT_TEST], r->prog->batch, 0, false};
	fill(d, r, &o);
	check_whole(d, r);
}

struct random {
	const struct rt_tensor *t;
	uint64_t key;
	void *to;
};

static void
random_run(void *arg, int64_t global, int64_t local, int64_t n)
{
	const struct random *f = arg;
	const bool is_float = rt_dtype_info(f->t->dtype)->kind == RT_CLASS_FLOAT;
	const double range = f->t->range ? (double)f->t->range : RT_RANDOM_RANGE;
	for (int64_t i = 0; i < n; i++) {
		const uint64_t index = (uint64_t)(global + i);
		const double x = is_float ? rt_normal(f->key, index)
					  : floor(rt_uniform(f->key, index) * range);
		rt_value_set(f->t->dtype, f->to, local + i, x);
	}
}

void
rt_data_random(struct rt_rank *r)
{
	const struct rt_program *p = r->prog;
	for (int i = 0; i < p->ntensors; i++) {
		const struct rt_tensor *t = &p->tensors[i];
		if (t->role != RT_INPUT || !rt_tensor_here(p, t, r->ctx.coord))
			continue;
		for (int64_t slice = 0; slice < rt_tensor_slices(p, t); slice++) {
			struct rt_box box;
			rt_tensor_box(p, t, r->ctx.coord, slice, &box);
			struct random f = {
				t, rt_key(r->start.seed, 0, t->name), rt_rank_room(r, t, slice)};
			rt_box_runs(t->rank, t->dims, &box, random_run, &f);
			rt_rank_put(r, t, slice);
		}
	}
}
