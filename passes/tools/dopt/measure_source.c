/* Generates the measuring program: kernels, and the tables for runtime/measure/measure.h. */
#include "passes/tools/dopt/measure_impl.h"

#include "ir/base/out.h"
#include "ir/ops/order.h"
#include "ir/ops/special.h"
#include "lower/build.h"
#include "lower/cuda/alone.h"
#include "ir/base/alloc.h"
#include "runtime/kernel/init.h"
#include "runtime/rt_program.h"

#include <inttypes.h>
#include <string.h>

enum {
	/* Per file: it compiles in seconds with some hundred megabytes; files compile in
	   parallel. */
	KERNELS_A_FILE = 40,
};

static int64_t
offset_of(const struct measure *s, const struct ir_value *v)
{
	const struct lower_value *place = lower_value_of(s->plan, v);
	/* Kernels and inputs use no host memory. */
	if (!place || place->buffer < 0 || v->type->memory == IR_HOST)
		return -1;
	return (int64_t)s->plan->buffer[place->buffer].offset;
}

/* Memory after the plan's arena. */
static int64_t
new_room(struct measure *s, uint64_t bytes)
{
	int64_t offset = (int64_t)s->arena;
	s->arena += (bytes + LOWER_ALIGN - 1) / LOWER_ALIGN * LOWER_ALIGN;
	return offset;
}

/*
 * A result that shares memory with an operand does so in training, too: separate memory would be
 * written through other cache lines, and many kernels of a step are updates in place. Only a kernel
 * that was compiled assuming no overlap gets separate memory.
 */
static int64_t
result_offset(struct measure *s, const struct key *key, const struct lower_action *a, int r)
{
	const struct ir_value *v = &a->op->result[r];
	if (a->in_place && !key->in_place)
		for (int j = 0; j < a->op->noperands; j++)
			if (offset_of(s, ir_operand(a->op, j)) == offset_of(s, v))
				return new_room(s, storage_value_bytes(s->plan->target, s->m, v));
	return offset_of(s, v);
}

/* Scratch at its offset in the step, shared with other kernels and so in the caches; -1: none. */
static int64_t
scratch_offset(struct measure *s, const struct key *key, const struct lower_action *a)
{
	if (!key->scratch)
		return -1;
	const struct storage_buffer *b = a->scratch < 0 ? NULL : &s->plan->buffer[a->scratch];
	return b && b->bytes >= key->scratch ? (int64_t)b->offset : new_room(s, key->scratch);
}

static bool
write_kernel(struct measure *s, FILE *out, int k)
{
	struct key *key = &s->key[k];
	if (lower_kernel_source(s->m, key->op, s->plan->target, TEXT(s, "kernel_%d", k),
		    key->in_place, out, &key->scratch))
		return true;
	diag_error(s->diag, key->op->loc, "%s cannot be measured as a separate kernel",
		op_name((enum op_code)key->op->code));
	return false;
}

/* The first kernel from number k on that is run; s->nkeys: none. */
static int
next_run(const struct measure *s, int k)
{
	while (k < s->nkeys && !s->key[k].runs)
		k++;
	return k;
}

/* Writes kernels_0.c ... */
static bool
write_kernel_files(struct measure *s, int *nfiles)
{
	bool good = true;
	int k = next_run(s, 0);
	for (; k < s->nkeys && good; *nfiles += 1) {
		char *name = TEXT(s, "kernels_%d.c", *nfiles);
		FILE *out = lower_open(s->diag, s->folder, name);
		if (!out)
			return false;
		for (int i = 0; i < KERNELS_A_FILE && k < s->nkeys && good; i++) {
			good = write_kernel(s, out, k);
			k = next_run(s, k + 1);
		}
		good = lower_close(s->diag, s->folder, name, out) && good;
	}
	return good;
}

/* Functions call_0 ... that runtime/measure/measure.h calls. */
static void
write_host_calls(const struct measure *s, FILE *out)
{
	for (int k = next_run(s, 0); k < s->nkeys; k = next_run(s, k + 1))
		fprintf(out,
			"void kernel_%d(void *const *, void *const *, void *, const int64_t *);\n"
			"static void\ncall_%d(struct rt_ctx *c, void *const *a, void *const *r, "
			"void *s)\n{\n\tkernel_%d(a, r, s, c->coord);\n}\n\n",
			k, k, k);
}

static bool
write_cuda_calls(struct measure *s, FILE *out)
{
	const struct ir_op **op = ARRAY_NEW(s, const struct ir_op *, s->nkeys);
	uint64_t *scratch = ARRAY_NEW(s, uint64_t, s->nkeys);
	for (int k = 0; k < s->nkeys; k++)
		op[k] = s->key[k].op;
	bool good = cuda_alone_write(s->plan, op, s->nkeys, s->folder, out, scratch, &s->convolves);
	for (int k = 0; k < s->nkeys && good; k++)
		s->key[k].scratch = scratch[k];
	return good;
}

/* Where the upper bound of the integers of a value is stored. */
static int64_t *
range_at(const struct measure *s, const struct ir_value *v)
{
	return &s->range[lower_value_of(s->plan, v) - s->plan->value];
}

static bool
is_integer(const struct ir_value *v)
{
	return ir_dtype_class((enum ir_dtype)v->type->dtype) != IR_FLOAT;
}

/*
 * An input's integers are drawn below its range, as in training. Values computed from integers are
 * assumed to have the largest range of those; positions in sorted rows are below the row length.
 */
static int64_t
range_of(const struct measure *s, const struct ir_op *op, const struct ir_value *v)
{
	int64_t range = 0;

	if (!is_integer(v))
		return 0;
	if (ir_dtype_class((enum ir_dtype)v->type->dtype) == IR_BOOL)
		return RT_RANDOM_RANGE;
	if (op->code == OP_input)
		return ir_attr_int(op, "range", RT_RANDOM_RANGE);
	if ((op->code == OP_sort || op->code == OP_topk) && v->index == 1)
		return order_local(s->m, op).n;
	for (int j = 0; j < op->noperands; j++)
		if (is_integer(ir_operand(op, j)) && *range_at(s, ir_operand(op, j)) > range)
			range = *range_at(s, ir_operand(op, j));
	return range;
}

static void
find_ranges(struct measure *s)
{
	s->range = ARRAY_NEW(s, int64_t, s->plan->nvalues);
	IR_FOR_OPS (op, &s->plan->main->body)
		for (int r = 0; r < op->nresults; r++)
			*range_at(s, &op->result[r]) = range_of(s, op, &op->result[r]);
}

static void
write_tensor(const struct measure *s, FILE *out, const struct ir_value *v)
{
	fprintf(out, "{%" PRId64 ", RT_%s, %" PRId64 "}, ",
		offset_of(s, v) < 0 ? 0 : ir_type_local_elements(s->m, v->type),
		ir_dtype_name((enum ir_dtype)v->type->dtype), *range_at(s, v));
}

static void
write_kernel_table(const struct measure *s, FILE *out)
{
	for (int k = 0; k < s->nkeys; k++) {
		const struct ir_op *op = s->key[k].op;
		fprintf(out, "static const struct rt_measure_tensor tensors_%d[] = {", k);
		for (int j = 0; j < op->noperands; j++)
			write_tensor(s, out, ir_operand(op, j));
		for (int r = 0; r < op->nresults; r++)
			write_tensor(s, out, &op->result[r]);
		fprintf(out, "};\n");
	}
	fprintf(out, "static const struct rt_measure_kernel kernels[] = {\n");
	for (int k = 0; k < s->nkeys; k++) {
		const struct key *key = &s->key[k];
		if (key->runs)
			fprintf(out, "\t{call_%d, %s, ", k, key->known ? "true" : "false");
		else
			fprintf(out, "\t{0, true, ");
		fput_quoted(out, key->text);
		fprintf(out, ", %.17g, %.17g, %d, %d, tensors_%d, %" PRIu64 "},\n", key->work.flops,
			key->work.bytes, key->op->noperands, key->op->nresults, k, key->scratch);
	}
	fprintf(out, "\t{0}};\n");
}

/* The calls, in the order of the step; returns their number. */
static int
write_calls(struct measure *s, FILE *out)
{
	int n = 0;
	char *calls = TEXT(s, "static const struct rt_measure_call calls[] = {\n");
	for (int i = 0; i < s->plan->nactions; i++) {
		const struct lower_action *a = &s->plan->action[i];
		int k = s->key_of[i];
		if (k < 0)
			continue;
		fprintf(out, "static const int64_t offsets_%d[] = {", n);
		for (int j = 0; j < a->op->noperands; j++)
			fprintf(out, "%" PRId64 ", ", offset_of(s, ir_operand(a->op, j)));
		for (int r = 0; r < a->op->nresults; r++)
			fprintf(out, "%" PRId64 ", ",
				s->key[k].runs ? result_offset(s, &s->key[k], a, r)
					       : offset_of(s, &a->op->result[r]));
		fprintf(out, "};\n");
		calls = text_append_end(calls, "\t{%d, offsets_%d, %" PRId64 "},\n", k, n,
			scratch_offset(s, &s->key[k], a));
		n++;
	}
	fprintf(out, "%s\t{0}};\n", calls);
	return n;
}

/* Mean and spread of a param's or a state's initial values, or of an input. */
static void
write_spread(const struct measure *s, FILE *out, const struct ir_op *op)
{
	const struct ir_type *type = op->result[0].type;
	struct rt_tensor t = {
		.name = op->symbol, .rank = type->rank, .init = special_init(s->m, op)};

	memcpy(t.dims, type->dim, sizeof(int64_t) * type->rank);
	t.scale = ir_attr_float(op, "scale", 1);
	t.mean = ir_attr_float(op, "value", 0);
	const struct rt_initer in = rt_initer_of(&t, 0);
	if (op->code == OP_input || t.init == RT_INITS)
		fprintf(out, "0, 1");
	else if (in.kind == RT_INIT_ZEROS || in.kind == RT_INIT_ONES)
		fprintf(out, "%d, 0", in.kind == RT_INIT_ONES);
	else
		fprintf(out, "%.17g, %.17g", in.mean, in.kind == RT_INIT_CONSTANT ? 0 : in.scale);
}

static int
write_fills(const struct measure *s, FILE *out)
{
	int n = 0;
	fprintf(out, "static const struct rt_measure_fill fills[] = {\n");
	IR_FOR_OPS (op, &s->plan->main->body) {
		const struct ir_value *v = op->nresults ? &op->result[0] : NULL;
		if (!op_is(op, TRAIT_NAMED) || !v || offset_of(s, v) < 0)
			continue;
		fprintf(out, "\t{%" PRId64 ", ", offset_of(s, v));
		write_tensor(s, out, v);
		write_spread(s, out, op);
		fprintf(out, "},\n");
		n++;
	}
	fprintf(out, "\t{0}};\n");
	return n;
}

static void
write_messages(const struct measure *s, FILE *out)
{
	fprintf(out, "static const struct rt_measure_coll colls[] = {\n");
	for (int i = 0; i < s->nmessages; i++) {
		const struct message *x = &s->message[i];
		fprintf(out, "\t{%s, \"%s\", %d, %" PRId64 "},\n", rt_coll_info(x->kind)->code,
			rt_coll_name(x->kind), x->axis, x->bytes);
	}
	fprintf(out, "\t{0}};\n");
}

/* The axes of the module: ranks have the same coordinates as in training. */
static void
write_axes(const struct measure *s, FILE *out)
{
	bool all = s->ranks == ir_devices(s->m);
	fprintf(out, "static const struct rt_axis axes[] = {\n");
	for (int a = 0; a < s->m->naxes; a++) {
		bool time = s->m->axis[a].time;
		fprintf(out, "\t{\"%s\", %" PRId64 ", %s},\n", s->m->axis[a].name,
			all || time ? (int64_t)s->m->axis[a].size : (int64_t)1,
			time ? "true" : "false");
	}
	fprintf(out, "\t{\"\", 1, false}};\n");
}

static void
write_main(const struct measure *s, FILE *out, int ncalls, int nfills)
{
	fprintf(out,
		"\nint\nmain(int argc, char **argv)\n{\n\tconst struct rt_measure m = {\n\t\t");
	fput_quoted(out, s->backend);
	fprintf(out,
		", %s, %s, %d, axes,\n\t\t%d, %d, %d, %d, kernels, calls, fills, colls, %" PRIu64
		", %" PRId64 ", %s};\n",
		s->o->rotate ? "true" : "false", s->o->library ? "true" : "false", s->m->naxes,
		s->nkeys, ncalls, nfills, s->nmessages, s->arena, (int64_t)(1e9 * s->o->limit),
		s->transfers ? "true" : "false");
	fprintf(out, "\treturn rt_%smeasure_main(&m, %sargc, argv);\n}\n",
		s->o->cuda ? "cuda_" : "", s->o->cuda ? "&cuda, " : "");
}

/* measure.c, or step.c of a CUDA program. */
static bool
write_tables(struct measure *s)
{
	const char *name = s->o->cuda ? "step.c" : "measure.c";
	FILE *out = lower_open(s->diag, s->folder, name);
	if (!out)
		return false;
	bool good = true;
	fprintf(out, "/* The kernels and collectives of module @%s, to be timed. */\n",
		s->m->name ? s->m->name : "main");
	fprintf(out, "#include \"runtime/%smeasure.h\"\n\n", s->o->cuda ? "cuda/" : "measure/");
	if (s->o->cuda)
		good = write_cuda_calls(s, out);
	else
		write_host_calls(s, out);
	s->arena = s->plan->arena_bytes;
	find_ranges(s);
	write_kernel_table(s, out);
	int ncalls = write_calls(s, out);
	int nfills = write_fills(s, out);
	write_messages(s, out);
	write_axes(s, out);
	write_main(s, out, ncalls, nfills);
	return lower_close(s->diag, s->folder, name, out) && good;
}

bool
measure_write(struct measure *s, int *nfiles)
{
	return (s->o->cuda || write_kernel_files(s, nfiles)) && write_tables(s);
}
