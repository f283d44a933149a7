/* Parameters, states and outputs: see params.h. */
#include "runtime/data/params.h"
#include "runtime/kernel/init.h"
#include "runtime/data/shards.h"
#include "runtime/data/shards_save.h"
#include "runtime/data/value.h"
#include <stdlib.h>
#include <string.h>

struct filler {
	struct rt_initer init;
	enum rt_dtype dtype;
	void *to;
};

static void
init_run(void *arg, int64_t global, int64_t local, int64_t n)
{
	const struct filler *f = arg;
	for (int64_t i = 0; i < n; i++)
		rt_value_set(f->dtype, f->to, local + i,
			rt_init_value(&f->init, (uint64_t)(global + i)));
}

/* The initial value of a parameter or state on this rank. */
static void
init_tensor(struct rt_rank *r, const struct rt_tensor *t)
{
	struct rt_box box;
	rt_tensor_box(r->prog, t, r->ctx.coord, 0, &box);
	struct filler f = {rt_initer_of(t, r->start.seed), t->dtype, rt_rank_room(r, t, 0)};
	rt_box_runs(t->rank, t->dims, &box, init_run, &f);
	rt_rank_put(r, t, 0);
}

void
rt_params_init(struct rt_rank *r)
{
	const struct rt_program *p = r->prog;
	for (int i = 0; i < p->ntensors; i++)
		if (rt_is_kept(&p->tensors[i]) && rt_tensor_here(p, &p->tensors[i], r->ctx.coord))
			init_tensor(r, &p->tensors[i]);
}

/* Converts elements of a file that have another type than the tensor. */
struct converter {
	struct rt_conversion c;
	void *room;
	bool lost; /* an integer did not fit: */
	double lost_value;
};

static void
convert_run(void *arg, int64_t global, int64_t local, int64_t n)
{
	struct converter *c = arg;
	c->lost = !rt_value_convert(&c->c, global, c->room, local, n, &c->lost_value) || c->lost;
}

static bool
load_tensor(struct rt_rank *r, struct rt_st_file *file, const struct rt_tensor *t,
	const struct rt_st_tensor *from)
{
	const enum rt_dtype type = rt_st_dtype(from);
	const struct rt_st_entry want = rt_st_whole_entry(t, t->name);
	if (!rt_st_check_converted(file, from, t->dtype, want.rank, want.dims, r->status))
		return false;
	if (!rt_tensor_here(r->prog, t, r->ctx.coord))
		return true;
	struct rt_box box;
	struct converter c = {{type, t->dtype, NULL}, rt_rank_room(r, t, 0), false, 0};
	const int64_t n = rt_tensor_box(r->prog, t, r->ctx.coord, 0, &box);
	if (!(t->file_rank ? rt_st_read_flat(file, from, box.start[0], n, &c.c.data, convert_run,
				     &c, r->status)
			   : rt_st_read(file, from, &box, &c.c.data, convert_run, &c, r->status)))
		return false;
	if (c.lost)
		return rt_fail(r->status, RT_EXIT_USAGE,
			"%s: tensor '%s': %.17g is not representable as %s", file->path, t->name,
			c.lost_value, rt_dtype_info(t->dtype)->name);
	rt_rank_put(r, t, 0);
	return true;
}

static bool
load_all(struct rt_rank *r, struct rt_st_file *file)
{
	const struct rt_program *p = r->prog;
	const char *first = NULL, *part = rt_st_metadata(file, RT_ST_PART_OF);
	int nnew = 0;
	if (part)
		return rt_fail(r->status, RT_EXIT_USAGE,
			"%s: file %s of a checkpoint: expected its folder", file->path, part);
	for (int i = 0; i < p->ntensors; i++) {
		const struct rt_tensor *t = &p->tensors[i];
		if (!rt_is_kept(t))
			continue;
		const struct rt_st_tensor *from = rt_st_find(file, t->name);
		if (!from && (t->role == RT_PARAM || rt_position_is_in(file)))
			return rt_fail(r->status, RT_EXIT_USAGE, "%s: there is no tensor '%s'",
				file->path, t->name);
		if (from && !load_tensor(r, file, t, from))
			return false;
		if (from)
			continue;
		first = first ? first : t->name;
		nnew++;
		if (rt_tensor_here(p, t, r->ctx.coord))
			init_tensor(r, t);
	}
	if (nnew && !r->world->rank)
		fprintf(stderr,
			"%s: note: %s lacks %d of the states, such as '%s', which start with initial "
			"values\n",
			p->name, file->path, nnew, first);
	return true;
}

/* Together the ranks read every file of an index once; each opens only those that it needs. */
static bool
check_shards(struct rt_rank *r, struct rt_st_file *file)
{
	for (int i = r->world->rank; i < file->nshards; i += r->world->nranks)
		if (!rt_st_check_shard(file, i, r->status))
			return false;
	return true;
}

bool
rt_params_load(struct rt_rank *r, const char *path)
{
	struct rt_st_file file;
	if (!rt_st_open_any(&file, path, r->status))
		return false;
	const bool ok = check_shards(r, &file) && load_all(r, &file);
	rt_st_close(&file);
	return ok;
}

void
rt_collect(struct rt_rank *r, const struct rt_tensor *t, void *global)
{
	const struct rt_program *p = r->prog;
	const size_t bytes = rt_slice_bytes(p, t);
	const int me = r->world->rank;
	for (int owner = 0; owner < r->world->nranks; owner++) {
		int64_t coord[RT_MAX_AXES];
		rt_place_coords(p, owner, coord);
		if ((me && me != owner) || !rt_tensor_owner(p, t, coord))
			continue;
		for (int64_t slice = 0; slice < rt_tensor_slices(p, t); slice++) {
			const void *local = r->stage;
			if (me == owner)
				local = rt_rank_view(r, t, slice);
			if (me)
				r->world->ops->send(r->world, local, bytes, 0);
			else if (owner)
				r->world->ops->receive(r->world, r->stage, bytes, owner);
			struct rt_box box;
			rt_tensor_box(p, t, coord, slice, &box);
			if (!me)
				rt_box_store(t->rank, t->dims, &box, rt_dtype_bytes(t->dtype),
					local, global);
		}
	}
}

/* What a file is for. */
enum purpose { FOR_RUN, FOR_OUTPUTS, FOR_STEP };

/* The content of a file: its tensors, and memory for the largest whole one. */
struct output {
	int count;
	const struct rt_tensor **tensors; /* [count] */
	struct rt_st_entry *entries;      /* [count] */
	char **names;                     /* [count], from malloc: of inputs; else NULL */
	void *global;
};

static size_t
whole_bytes(const struct rt_tensor *t)
{
	return (size_t)rt_tensor_elements(t) * rt_dtype_bytes(t->dtype);
}

static bool
is_written(const struct rt_tensor *t, enum purpose purpose)
{
	switch (purpose) {
	case FOR_OUTPUTS: return t->role == RT_OUTPUT;
	case FOR_STEP: return rt_is_kept(t) || t->role == RT_INPUT;
	case FOR_RUN: break;
	}
	return rt_is_kept(t);
}

static bool
prepare(struct output *out, struct rt_rank *r, enum purpose purpose)
{
	const size_t n = (size_t)r->prog->ntensors + 1;
	size_t largest = 1;
	out->tensors = calloc(n, sizeof *out->tensors);
	out->entries = calloc(n, sizeof *out->entries);
	out->names = calloc(n, sizeof *out->names);
	if (!out->tensors || !out->entries || !out->names)
		return rt_fail_memory(r->status, n, "a file's header");
	for (int i = 0; i < r->prog->ntensors; i++) {
		const struct rt_tensor *t = &r->prog->tensors[i];
		if (!is_written(t, purpose))
			continue;
		char **name = &out->names[out->count];
		if (t->role == RT_INPUT && asprintf(name, RT_STEP_INPUT "%s", t->name) < 0)
			return rt_fail_memory(r->status, strlen(t->name), "a name");
		out->tensors[out->count] = t;
		out->entries[out->count++] = rt_st_whole_entry(t, *name ? *name : t->name);
		largest = whole_bytes(t) > largest ? whole_bytes(t) : largest;
	}
	if (!r->world->rank)
		out->global = malloc(largest);
	return r->world->rank || out->global ||
	       rt_fail_memory(r->status, largest, "a tensor to save");
}

/* The position of the run after this many steps. */
static struct rt_position
position_at(const struct rt_rank *r, int64_t step)
{
	struct rt_position p = r->start;
	p.step = step;
	p.row += (uint64_t)(step - r->start.step) * (uint64_t)r->prog->batch;
	return p;
}

/* Every rank sends its slices, even when rank 0 can no longer write. */
static bool
write_all(struct output *out, struct rt_rank *r, const char *path, const struct rt_position *where)
{
	struct rt_position_text text;
	struct rt_st_writer w = {0};
	bool ok = true;
	if (where)
		rt_position_write(where, &text);
	if (!r->world->rank)
		ok = rt_st_create(&w, path, out->entries, out->count, text.pairs,
			where ? RT_POSITION_PAIRS : 0, r->status);
	for (int i = 0; i < out->count; i++) {
		rt_collect(r, out->tensors[i], out->global);
		if (!r->world->rank && ok)
			ok = rt_st_append(&w, out->global, whole_bytes(out->tensors[i]), r->status);
		/* The time that waiting ranks count is that of a tensor, not of the file. */
		rt_meet(r->world);
	}
	if (!r->world->rank)
		ok = rt_st_finish(&w, ok, r->status);
	return ok;
}

/* With the position `where`, or without. */
static bool
write_file(
	struct rt_rank *r, const char *path, const struct rt_position *where, enum purpose purpose)
{
	struct output out = {0};
	prepare(&out, r, purpose);
	const bool ok = rt_agree(r->world, r->status) && write_all(&out, r, path, where);
	for (int i = 0; out.names && i < out.count; i++)
		free(out.names[i]);
	free(out.names);
	free(out.tensors);
	free(out.entries);
	free(out.global);
	return ok;
}

bool
rt_params_save(struct rt_rank *r, const char *path, int64_t step)
{
	const struct rt_position where = position_at(r, step);
	return rt_shards_named(path) ? rt_shards_save(r, path, &where)
				     : write_file(r, path, &where, FOR_RUN);
}

bool
rt_outputs_dump(struct rt_rank *r, const char *path)
{
	return write_file(r, path, NULL, FOR_OUTPUTS);
}

bool
rt_step_keep(struct rt_rank *r, const char *path, int64_t step)
{
	const struct rt_position where = position_at(r, step - 1);
	write_file(r, path, &where, FOR_STEP);
	return rt_agree(r->world, r->status);
}

size_t
rt_kept_bytes(const struct rt_program *p)
{
	size_t bytes = 1;
	for (int i = 0; i < p->ntensors; i++)
		if (rt_is_kept(&p->tensors[i]))
			bytes += rt_slice_bytes(p, &p->tensors[i]);
	return bytes;
}

void
rt_kept_copy(struct rt_rank *r, char *memory, bool out)
{
	const struct rt_program *p = r->prog;
	for (int i = 0; i < p->ntensors; i++) {
		const struct rt_tensor *t = &p->tensors[i];
		if (!rt_is_kept(t))
			continue;
		if (out)
			rt_rank_keep(r, t, memory);
		else
			rt_rank_restore(r, t, memory);
		memory += rt_slice_bytes(p, t);
	}
}
