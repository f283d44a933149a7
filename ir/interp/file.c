/* Rows of the data set: a safetensors file, in the order that programs read it (runtime/data/batch.h).
 */
#include "ir/base/alloc.h"
#include "ir/interp/internal.h"
#include "runtime/data/batch.h"
#include "runtime/data/position.h"
#include "runtime/data/rows.h"
#include "runtime/data/value.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

struct interp_data {
	struct rt_st_file file;
};

static int
data_close(struct interp_data *d)
{
	rt_st_close(&d->file);
	return 0;
}

bool
interp_data_open(struct interp *it)
{
	struct rt_status st = {0};
	struct interp_data *d = NEW(it, struct interp_data);
	if (!rt_st_open_rows(&d->file, it->o.data, &st) || !rt_st_make_whole(&d->file, &st)) {
		rt_st_close(&d->file);
		diag_error(it->m->ctx->diag, LOC_NONE, "%s", st.text);
		talloc_free(d);
		return false;
	}
	talloc_set_destructor(d, data_close);
	it->data = d;
	return true;
}

/* Element i of a file, whose tensors need not be aligned, as type t. If it is not
 * representable, sets *lost and returns false. */
static bool
read_element(
	enum ir_dtype t, const struct rt_st_tensor *source, int64_t i, union cell *c, double *lost)
{
	const struct rt_conversion conversion = {
		rt_st_dtype(source), (enum rt_dtype)t, source->data};
	int64_t aligned = 0;
	if (!rt_value_convert(&conversion, i, &aligned, 0, 1, lost))
		return false;
	c->i = 0;
	if (t == IR_i64 || t == IR_u64)
		c->i = aligned;
	else if (ir_dtype_class(t) == IR_FLOAT)
		c->f = rt_value_get((enum rt_dtype)t, &aligned, 0);
	else
		c->i = (int64_t)rt_value_get((enum rt_dtype)t, &aligned, 0);
	return true;
}

/* The first input that has rows, or NULL. */
static const struct ir_op *
batch_input(const struct interp *it)
{
	IR_FOR_OPS (op, &it->main->body)
		if (op->code == OP_input && op->result[0].type->rank > 0)
			return op;
	return NULL;
}

/* Rows of a step: dim 0 of the first input that has one. */
static int64_t
batch_rows(const struct interp *it)
{
	const struct ir_op *input = batch_input(it);
	return input ? input->result[0].type->dim[0] : 0;
}

int64_t
interp_batch(const struct interp *it)
{
	int64_t batch = batch_rows(it);
	IR_FOR_OPS (op, &it->main->body)
		if (op->code == OP_input && !batch)
			batch = 1;
	return batch;
}

/* Rows of a tensor of the data set for a batched input. */
static int64_t
source_rows(const struct rt_st_tensor *source, const struct ir_type *type)
{
	int64_t width = 1;
	for (int d = 1; d < type->rank; d++)
		width *= type->dim[d];
	return rt_st_rows(source, type->rank, width);
}

int64_t
interp_data_rows(const struct interp *it)
{
	const struct ir_op *input = it->data ? batch_input(it) : NULL;
	if (!input)
		return 0;
	char *name = TEXT(NULL, "train.%s", input->symbol);
	const struct rt_st_tensor *source = rt_st_find(&it->data->file, name);
	talloc_free(name);
	return source && source->rank ? source_rows(source, input->result[0].type) : 0;
}

/* The tensor train.NAME, with any number of rows if the input is a batch. */
static const struct rt_st_tensor *
find_source(const struct interp *it, const struct ir_op *op, bool batched)
{
	struct rt_status st = {0};
	const struct rt_st_file *file = &it->data->file;
	const struct ir_type *type = op->result[0].type;
	int64_t dim[IR_MAX_RANK];
	memcpy(dim, type->dim, sizeof dim);
	if (batched)
		dim[0] = -1;
	char *name = TEXT(NULL, "train.%s", op->symbol);
	const struct rt_st_tensor *source = rt_st_find(file, name);
	if (!source)
		rt_fail(&st, RT_EXIT_USAGE, "%s: there is no tensor '%s'", file->path, name);
	else if (rt_st_check_converted(file, source, (enum rt_dtype)type->dtype,
			 batched && type->rank == 2 && source->rank == 1 ? 1 : type->rank, dim,
			 &st) &&
		 batched && source_rows(source, type) == 0)
		rt_fail(&st, RT_EXIT_USAGE, "%s: tensor '%s' has no rows", file->path, name);
	talloc_free(name);
	if (!st.code)
		return source;
	diag_error(it->m->ctx->diag, op->loc, "input: %s", st.text);
	return NULL;
}

/* The row of the data set that is row i of this step's batch. */
static int64_t
row_of(const struct interp *it, int64_t i, int64_t nrows, int64_t batch)
{
	return it->o.no_shuffle ? rt_batch_row_in_order(it->step, i, nrows, batch)
				: rt_batch_row(it->o.seed, it->step, i, nrows, batch);
}

/*
 * train.NAME for an input: where its first dimension is the batch, the rows of this step, else the
 * whole tensor, the same at every step.
 */
struct tensor *
interp_rows(const struct interp *it, const void *owner, const struct ir_op *op,
	const struct ir_type *type)
{
	const bool batched = type->rank > 0 && type->dim[0] == batch_rows(it);
	const struct rt_st_tensor *source = find_source(it, op, batched);
	if (!source)
		return NULL;
	struct tensor *t = tensor_create(owner, (enum ir_dtype)type->dtype, type->rank, type->dim);
	const int64_t rows = batched ? t->dim[0] : 1, width = tensor_elements(t) / rows;
	for (int64_t i = 0; i < rows; i++) {
		const int64_t row = batched ? row_of(it, i, source_rows(source, type), rows) : 0;
		for (int64_t k = 0; k < width; k++) {
			double lost;
			if (read_element(t->dtype, source, row * width + k, &t->data[i * width + k],
				    &lost))
				continue;
			diag_error(it->m->ctx->diag, op->loc,
				"input: %s: tensor '%s': value %.17g in row %" PRId64
				" is not representable as %s",
				it->data->file.path, source->name, lost,
				(row * width + k) / (t->rank ? tensor_elements(t) / t->dim[0] : 1),
				ir_dtype_name(t->dtype));
			talloc_free(t);
			return NULL;
		}
	}
	return t;
}

/* --- params and states ------------------------------------------------------------------------ */

static bool
load_tensor(struct interp *it, const struct rt_st_file *f, const struct rt_st_tensor *source,
	const struct ir_op *op, struct tensor *t)
{
	struct rt_status st = {0};
	double lost;

	if (!rt_st_check_converted(f, source, (enum rt_dtype)t->dtype, t->rank, t->dim, &st)) {
		diag_error(it->m->ctx->diag, op->loc, "%s: %s", op->symbol, st.text);
		return false;
	}
	for (int64_t i = 0; i < tensor_elements(t); i++)
		if (!read_element(t->dtype, source, i, &t->data[i], &lost)) {
			diag_error(it->m->ctx->diag, op->loc,
				"%s: tensor '%s': %.17g is not representable as %s", f->path,
				source->name, lost, ir_dtype_name(t->dtype));
			return false;
		}
	return true;
}

static bool
load_all(struct interp *it, const struct rt_st_file *f)
{
	for (int i = 0; i < it->npersistents; i++) {
		const struct named *n = &it->persistent[i];
		const struct rt_st_tensor *source = rt_st_find(f, n->name);
		if (source && !load_tensor(it, f, source, n->op, n->now))
			return false;
		if (!source && n->op->code == OP_param) {
			diag_error(it->m->ctx->diag, n->op->loc, "%s: there is no tensor '%s'",
				f->path, n->name);
			return false;
		}
	}
	return true;
}

/* The inputs of a step that a program kept. */
static bool
load_inputs(struct interp *it, const struct rt_st_file *f)
{
	IR_FOR_OPS (op, &it->main->body) {
		const struct ir_type *type = op->nresults ? op->result[0].type : NULL;
		char *name = op->code == OP_input ? TEXT(it, RT_STEP_INPUT "%s", op->symbol) : NULL;
		const struct rt_st_tensor *source = name ? rt_st_find(f, name) : NULL;
		talloc_free(name);
		if (!source)
			continue;
		struct tensor *t =
			tensor_create(it, (enum ir_dtype)type->dtype, type->rank, type->dim);
		const bool ok =
			load_tensor(it, f, source, op, t) && interp_set_input(it, op->symbol, t);
		talloc_free(t);
		if (!ok)
			return false;
		it->repeats = true;
	}
	return true;
}

bool
interp_load(struct interp *it)
{
	struct rt_status st = {0};
	struct rt_st_file f;

	bool ok = rt_st_open_any(&f, it->o.load, &st) && rt_st_make_whole(&f, &st);
	if (!ok)
		diag_error(it->m->ctx->diag, LOC_NONE, "%s", st.text);
	ok = ok && load_all(it, &f) && load_inputs(it, &f);
	rt_st_close(&f);
	return ok;
}
