/* Params and states as a safetensors file, as a program's -save writes it. */
#include "ir/interp/internal.h"
#include "ir/base/alloc.h"
#include "runtime/data/position.h"
#include "runtime/data/value.h"

#include <string.h>
#include <talloc.h>

/* The bytes of a tensor in its element type; with f64, floats are rounded only here. */
static void *
packed(const void *owner, const struct tensor *t, size_t *bytes)
{
	const int64_t n = tensor_elements(t);
	const enum rt_dtype type = (enum rt_dtype)t->dtype;
	*bytes = (size_t)n * ir_dtype_bytes(t->dtype);
	char *data = array_create(owner, *bytes, 1, "a tensor to save");

	for (int64_t i = 0; i < n; i++)
		if (t->dtype == IR_i64 || t->dtype == IR_u64)
			memcpy(data + i * (int64_t)sizeof t->data[i].i, &t->data[i].i,
				sizeof t->data[i].i);
		else
			rt_value_set(type, data, i,
				ir_dtype_class(t->dtype) == IR_FLOAT ? t->data[i].f
								     : (double)t->data[i].i);
	return data;
}

static bool
append(struct rt_st_writer *w, const struct tensor *t, struct rt_status *st)
{
	size_t bytes;
	void *data = packed(NULL, t, &bytes);
	const bool ok = rt_st_append(w, data, bytes, st);

	array_free(data);
	return ok;
}

/* The position from which a program that loads the file continues. */
static void
write_progress(const struct interp *it, struct rt_position_text *text)
{
	const struct rt_position p = {.step = it->done,
		.seed = it->o.seed,
		.row = (uint64_t)it->done * (uint64_t)interp_batch(it),
		.rows = (uint64_t)interp_data_rows(it)};

	rt_position_write(&p, text);
}

bool
interp_save(const struct interp *it, const char *path)
{
	struct rt_status st = {0};
	struct rt_st_writer w;
	struct rt_position_text progress;
	struct rt_st_entry *entry = NEW_ARRAY(NULL, struct rt_st_entry, it->npersistents + 1);

	for (int i = 0; i < it->npersistents; i++) {
		const struct tensor *t = it->persistent[i].now;
		entry[i] = (struct rt_st_entry){
			it->persistent[i].name, (enum rt_dtype)t->dtype, t->rank, t->dim};
	}
	write_progress(it, &progress);
	bool ok = rt_st_create(
		&w, path, entry, it->npersistents, progress.pairs, RT_POSITION_PAIRS, &st);
	for (int i = 0; ok && i < it->npersistents; i++)
		ok = append(&w, it->persistent[i].now, &st);
	ok = rt_st_finish(&w, ok, &st);
	talloc_free(entry);
	if (!ok)
		diag_error(it->m->ctx->diag, LOC_NONE, "%s", st.text);
	return ok;
}
