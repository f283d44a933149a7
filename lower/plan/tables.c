/* struct rt_program as C tables. */
#include "lower/plan/tables.h"

#include "dopt_backend.h"
#include "ir/base/alloc.h"
#include "ir/digest.h"
#include "ir/memory/issue.h"
#include "ir/names.h"
#include "runtime/rt_program.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

char *
tables_op_text(const void *owner, const struct lower_plan *p, const struct ir_op *op)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = text_stream(&text, &size);

	ir_print_op_named(f, p->module, op, p->names);
	fclose(f);
	char *begin = text + strspn(text, " \t\n");
	begin[strcspn(begin, "\n")] = 0;
	for (char *end; (end = strstr(begin, "*/"));)
		*end = '+';
	char *copy = text_copy(owner, begin);
	free(text);
	return copy;
}

static void
write_string(FILE *out, const char *s)
{
	fputc('"', out);
	for (; *s; s++) {
		const unsigned char c = (unsigned char)*s;
		/* Octal escapes take three digits at most, so that a following digit is not part of
		 * them; ? because of trigraphs. */
		if (c < ' ' || c > '~' || strchr("\"\\?", c))
			fprintf(out, "\\%03o", c);
		else
			fputc(c, out);
	}
	fputc('"', out);
}

static void
write_axes(FILE *out, const struct ir_module *m, const char *prefix)
{
	fprintf(out, "static const struct rt_axis %saxes[] = {\n", prefix);
	for (int a = 0; a < m->naxes; a++)
		fprintf(out, "\t{\"%s\", %d, %s},\n", m->axis[a].name, m->axis[a].size,
			m->axis[a].time ? "true" : "false");
	fprintf(out, "\t{0}\n};\n\n");
}

/* The bytes that each rank allocates, by its coordinate on the axis of the stages. */
static void
write_homes(FILE *out, const struct lower_plan *p, const char *prefix)
{
	fprintf(out, "static const size_t %sarena_of[] = {", prefix);
	for (int h = 0; h < p->module->axis[p->storage->home_axis].size; h++)
		fprintf(out, "%s%" PRIu64, h ? ", " : "", p->home_bytes[h]);
	fprintf(out, "};\n\n");
}

static void
write_layout(FILE *out, const struct ir_module *m, const struct ir_type *t)
{
	fprintf(out, "\t\t.dtype = RT_%s, .rank = %d, .dims = {",
		ir_dtype_name((enum ir_dtype)t->dtype), t->rank);
	for (int d = 0; d < t->rank; d++)
		fprintf(out, "%s%" PRId64, d ? ", " : "", t->dim[d]);
	fprintf(out, "%s},\n", t->rank ? "" : "0");
	for (int d = 0; d < t->rank; d++) {
		int axis[IR_MAX_AXES];
		const int n = ir_type_split_axes(t, d, axis);
		if (!n)
			continue;
		fprintf(out, "\t\t.split[%d] = {%d, {", d, n);
		for (int i = 0; i < n; i++)
			fprintf(out, "%s%d", i ? ", " : "", axis[i]);
		fprintf(out, "}},\n");
	}
	for (int a = 0; a < m->naxes; a++)
		if (t->axis[a].kind == IR_SINGLE && !m->axis[a].time)
			fprintf(out, "\t\t.single[%d] = %d,\n", a,
				ir_axis_place(&m->axis[a], t->axis[a].order) + 1);
}

static uint64_t
value_offset(const struct lower_plan *p, int32_t value)
{
	return p->buffer[p->value[value].buffer].offset;
}

/* The location of an output: its value, or the copy that the plan has made of it. */
static uint64_t
output_offset(const struct lower_plan *p, const struct ir_op *op)
{
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == LOWER_COPY && p->action[i].op == op)
			return value_offset(p, p->action[i].dst);
	return p->buffer[lower_value_of(p, ir_operand(op, 0))->buffer].offset;
}

static void
write_file_shape(FILE *out, const struct ir_op *op, const struct ir_type *t)
{
	int64_t dim[IR_MAX_RANK];
	const int rank = ir_file_shape(op, t, dim);

	fprintf(out, "\t\t.file_rank = %d, .file_dims = {", rank);
	for (int d = 0; d < rank; d++)
		fprintf(out, "%s%" PRId64, d ? ", " : "", dim[d]);
	fprintf(out, "},\n");
}

static void
write_tensor(FILE *out, const struct lower_plan *p, const struct ir_op *op)
{
	const bool output = op->code == OP_output;
	const struct ir_type *t = output ? ir_operand_type(op, 0) : op->result[0].type;
	const uint64_t offset =
		output ? output_offset(p, op)
		       : p->buffer[lower_value_of(p, &op->result[0])->buffer].offset;

	fprintf(out, "\t{\n\t\t.name = ");
	write_string(out, op->symbol);
	fprintf(out, ", .role = RT_%s,\n",
		output                 ? "OUTPUT"
		: op->code == OP_input ? "INPUT"
		: op->code == OP_param ? "PARAM"
				       : "STATE");
	write_layout(out, p->module, t);
	if (ir_attr_find(op, "shape"))
		write_file_shape(out, op, t);
	if (op_is(op, TRAIT_PERSISTENT))
		fprintf(out,
			"\t\t.init = %s, .scale = %.17g, .mean = %.17g, .seed = %" PRId64 ",\n",
			rt_init_info(rt_init_find(ir_attr_string(op, "init", "zeros")))->code,
			ir_attr_float(op, "scale", 1), ir_attr_float(op, "value", 0),
			ir_attr_int(op, "seed", 0));
	if (ir_attr_find(op, "test"))
		fprintf(out, "\t\t.has_test = true, .test = %.17g,\n",
			ir_attr_float(op, "test", 0));
	if (op->code == OP_input)
		fprintf(out, "\t\t.range = %" PRId64 ",\n", ir_attr_int(op, "range", 0));
	if (t->memory == IR_HOST)
		fprintf(out, "\t\t.on_host = true,\n");
	fprintf(out, "\t\t.offset = %" PRIu64 ",\n\t},\n", offset);
}

static int
write_tensors(FILE *out, const struct lower_plan *p, const char *prefix)
{
	int n = 0;

	fprintf(out, "static const struct rt_tensor %stensors[] = {\n", prefix);
	IR_FOR_OPS (op, &p->main->body) {
		if (op->code != OP_output && op->code != OP_input && !op_is(op, TRAIT_PERSISTENT))
			continue;
		write_tensor(out, p, op);
		n++;
	}
	fprintf(out, "\t{0}\n};\n\n");
	return n;
}

static void
write_kernel(FILE *out, const struct lower_plan *p, const struct ir_op *op)
{
	const struct op_work w = op_work(p->module, op);
	const char *name = op->nresults ? op->result[0].name : NULL;
	char *text = tables_op_text(NULL, p, op);

	fprintf(out, "\t{\"%s%s%s\", ", op_name((enum op_code)op->code), name ? " " : "",
		name ? name : "");
	write_string(out, text);
	fprintf(out, ", %.17g, %.17g, %u},\n", w.flops, w.bytes, ir_number(p->ops, op));
	talloc_free(text);
}

/* Kernels, then the other timed actions: copies, and sums over time. */
static void
write_kernels(FILE *out, const struct lower_plan *p, const char *prefix)
{
	fprintf(out, "static const struct rt_kernel %skernels[] = {\n", prefix);
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].kind == LOWER_KERNEL)
			write_kernel(out, p, p->action[i].op);
	for (int i = 0; i < p->nactions; i++)
		if (p->action[i].op &&
			(p->action[i].kind == LOWER_COPY || p->action[i].kind == LOWER_ADD))
			write_kernel(out, p, p->action[i].op);
	fprintf(out, "\t{0}\n};\n\n");
}

/* Coordinates of slot number `slot` on the axes of a set. */
static void
slot_coord(const struct ir_module *m, uint32_t time, int64_t slot, int64_t coord[IR_MAX_AXES])
{
	for (int a = m->naxes; a-- > 0;) {
		coord[a] = 0;
		if (!(time >> a & 1))
			continue;
		coord[a] = slot % m->axis[a].size;
		slot /= m->axis[a].size;
	}
}

static uint64_t
slot_offset(const struct lower_plan *p, int32_t value, const int64_t *coord)
{
	const struct lower_value *v = &p->value[value];
	uint64_t slot = 0;

	for (int a = 0; a < p->module->naxes; a++)
		if (v->time >> a & 1)
			slot = slot * (uint64_t)p->module->axis[a].size + (uint64_t)coord[a];
	slot = v->ring ? slot % v->ring : slot;
	return p->buffer[v->buffer].offset + slot * v->stride;
}

static void
write_bufs(FILE *out, const struct lower_plan *p, const char *prefix, const struct lower_coll *c,
	int64_t slot)
{
	int64_t coord[IR_MAX_AXES];

	if (c->in_row) {
		const struct lower_row row = lower_row_of(p, c);
		fprintf(out,
			"static const struct rt_buf %sbufs_%" PRId64 "[] = {\n\t{.src = %" PRIu64
			", .dst = %" PRIu64 ", .outer = 1, .n = %" PRIu64 ", .inner = 1},\n};\n\n",
			prefix, c->row + slot, row.offset, row.offset,
			row.bytes / ir_dtype_bytes(c->dtype));
		return;
	}
	slot_coord(p->module, c->time, slot, coord);
	fprintf(out, "static const struct rt_buf %sbufs_%" PRId64 "[] = {\n", prefix,
		c->row + slot);
	for (int b = 0; b < c->nbufs; b++) {
		const struct lower_coll_buf *x = &c->buf[b];
		fprintf(out,
			"\t{.src = %" PRIu64 ", .dst = %" PRIu64 ", .outer = %" PRId64
			", .n = %" PRId64 ", .inner = %" PRId64,
			slot_offset(p, x->src, coord), slot_offset(p, x->dst, coord), x->outer,
			x->n, x->inner);
		if (c->kind == RT_ALLTOALL)
			fprintf(out,
				", .d1 = %" PRId64 ", .mid = %" PRId64 ", .d2 = %" PRId64
				", .first_split = %s",
				x->d1, x->mid, x->d2, x->first_split ? "true" : "false");
		fprintf(out, "},\n");
	}
	fprintf(out, "};\n\n");
}

static void
write_coll(FILE *out, const struct lower_plan *p, const char *prefix, const struct lower_coll *c)
{
	const char *name = c->op->result[0].name;
	char *text = tables_op_text(NULL, p, c->op);

	for (int64_t slot = 0; slot < issue_iterations(p->module, c->time); slot++) {
		fprintf(out,
			"\t{\"%s%s%s\", %s, %d, RT_%s, %d, %d, %d, %sbufs_%" PRId64 ", %" PRIu64
			", %u, %u, ",
			op_name((enum op_code)c->op->code), name ? " " : "", name ? name : "",
			rt_coll_info((enum rt_coll_kind)c->kind)->code, c->axis,
			ir_dtype_name(c->dtype), c->from, c->to, c->in_row ? 1 : c->nbufs, prefix,
			c->row + slot, c->bytes, ir_number(p->ops, c->op), ir_parts(c->op));
		write_string(out, text);
		fputs("},\n", out);
	}
	talloc_free(text);
}

static void
write_colls(FILE *out, const struct lower_plan *p, const char *prefix)
{
	for (int i = 0; i < p->ncolls; i++)
		for (int64_t slot = 0;
			!p->coll[i].transfer && slot < issue_iterations(p->module, p->coll[i].time);
			slot++)
			write_bufs(out, p, prefix, &p->coll[i], slot);
	fprintf(out, "static const struct rt_coll %scolls[] = {\n", prefix);
	for (int i = 0; i < p->ncolls; i++)
		if (!p->coll[i].transfer)
			write_coll(out, p, prefix, &p->coll[i]);
	fprintf(out, "\t{0}\n};\n\n");
}

/* A row for each slot and buffer. */
static void
write_transfer(FILE *out, const struct lower_plan *p, const struct lower_coll *c)
{
	const bool to_host = c->op->code == OP_offload;
	int64_t coord[IR_MAX_AXES];
	char *text = tables_op_text(NULL, p, c->op);

	for (int64_t slot = 0; slot < issue_iterations(p->module, c->time); slot++) {
		slot_coord(p->module, c->time, slot, coord);
		for (int k = 0; k < c->nbufs; k++) {
			const char *name = c->op->result[k].name;
			const uint64_t src = slot_offset(p, c->buf[k].src, coord),
				       dst = slot_offset(p, c->buf[k].dst, coord);
			fprintf(out,
				"\t{\"%s%s%s\", %s, %" PRIu64 ", %" PRIu64 ", %" PRIu64 ", %u, ",
				op_name((enum op_code)c->op->code), name ? " " : "",
				name ? name : "", to_host ? "true" : "false", to_host ? src : dst,
				to_host ? dst : src,
				(uint64_t)ir_type_local_bytes(p->module, c->op->result[k].type),
				ir_number(p->ops, c->op));
			write_string(out, text);
			fputs("},\n", out);
		}
	}
	talloc_free(text);
}

static void
write_transfers(FILE *out, const struct lower_plan *p, const char *prefix)
{
	if (!p->ntransfers)
		return;
	fprintf(out, "static const struct rt_transfer %stransfers[] = {\n", prefix);
	for (int i = 0; i < p->ncolls; i++)
		if (p->coll[i].transfer)
			write_transfer(out, p, &p->coll[i]);
	fprintf(out, "};\n\n");
}

/* Rows of a step: the first dimension of the inputs; 1 if all are scalars. */
static int64_t
batch_of(const struct lower_plan *p)
{
	int64_t batch = 0;

	IR_FOR_OPS (op, &p->main->body) {
		if (op->code != OP_input)
			continue;
		batch = 1;
		if (op->result[0].type->rank)
			return op->result[0].type->dim[0];
	}
	return batch;
}

void
tables_write(FILE *out, const struct lower_plan *p, const char *name, const char *prefix,
	const struct lower_options *o)
{
	const struct storage *s = p->storage;
	const struct storage_buffer *stage = s->stage >= 0 ? &s->buffer[s->stage] : NULL;

	const char *generator = o->target == LOWER_CUDA ? DOPT_BACKEND_CUDA : DOPT_BACKEND_HOST;
	char build[IR_DIGEST_DIGITS + 1];

	ir_digest(p->module, build);
	write_axes(out, p->module, prefix);
	const int ntensors = write_tensors(out, p, prefix);
	write_kernels(out, p, prefix);
	write_colls(out, p, prefix);
	write_transfers(out, p, prefix);
	if (p->home_bytes)
		write_homes(out, p, prefix);
	fprintf(out,
		"const struct rt_program %s = {\n\t.abi = RT_ABI_VERSION, .extensions = RT_EXTENSIONS_USED,\n\t.name = "
		"\"%s\", .build = \"%s\",\n\t.generator = \"%s\",\n",
		name, p->module->name ? p->module->name : "main", build, generator);
	if (o->target == LOWER_CUDA)
		fprintf(out, "\t.without = \"%s\",\n", o->without ? o->without : "");
	fprintf(out, "\t.naxes = %d, .axes = %saxes,\n\t.ntensors = %d, .tensors = %stensors,\n",
		p->module->naxes, prefix, ntensors, prefix);
	fprintf(out, "\t.nkernels = %d, .kernels = %skernels,\n\t.ncolls = %d, .colls = %scolls,\n",
		p->nkernels + p->nmoves, prefix, p->nrows, prefix);
	if (p->ntransfers)
		fprintf(out, "\t.ntransfers = %d, .transfers = %stransfers,\n", p->ntransfers,
			prefix);
	if (p->home_bytes)
		fprintf(out, "\t.stage_axis = %d, .arena_of = %sarena_of,\n", p->storage->home_axis,
			prefix);
	if (p->host_bytes)
		fprintf(out, "\t.host_bytes = %" PRIu64 ", .predicted_host_bytes = %" PRIu64 ",\n",
			p->host_bytes, o->predicted_host_bytes);
	fprintf(out,
		"\t.arena_bytes = %" PRIu64 ",\n\t.batch = %" PRId64
		",\n\t.predicted = %.17g, .predicted_bytes = %" PRIu64
		", .predicted_generic = %s,\n\t.stage = %" PRIu64 ", .stage_bytes = %" PRIu64
		",\n\t.library = %s,\n\t.step = %sstep,\n};\n",
		p->arena_bytes, batch_of(p), o->predicted, o->predicted_bytes,
		o->predicted_generic ? "true" : "false", stage ? stage->offset : 0,
		stage ? stage->bytes : 0, o->library ? "true" : "false", prefix);
}
