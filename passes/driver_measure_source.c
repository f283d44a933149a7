/* The program that measures: kernels and tables for runtime/measure.h. */
#include "passes/driver_measure_impl.h"

#include "lower/plan.h"
#include "passes/analysis/alloc.h"
#include "passes/analysis/cost.h"

#include <inttypes.h>
#include <string.h>

int
measure_key(const struct measure *s, const char *text)
{
	for (int i = 0; i < s->nkeys; i++)
		if (strcmp(s->key[i].text, text) == 0)
			return i;
	return -1;
}

static int64_t
offset_of(const struct measure *s, const struct ir_value *v)
{
	const struct lower_value *place = lower_value_of(s->plan, v);
	if (!place || place->buffer < 0)
		return -1;
	return (int64_t)s->plan->buffer[place->buffer].offset;
}

/* Room behind the plan's arena. */
static int64_t
new_room(struct measure *s, uint64_t bytes)
{
	int64_t offset = (int64_t)s->arena;
	s->arena += (bytes + LOWER_ALIGN - 1) / LOWER_ALIGN * LOWER_ALIGN;
	return offset;
}

/*
 * A result that lies on an operand gets room of its own: kernels that are compiled alone assume
 * that they do not overlap.
 */
static int64_t
result_offset(struct measure *s, const struct lower_action *a, int r)
{
	const struct ir_value *v = &a->op->result[r];
	if (a->in_place)
		for (int j = 0; j < a->op->noperands; j++)
			if (offset_of(s, ir_operand(a->op, j)) == offset_of(s, v))
				return new_room(s, (uint64_t)ir_type_local_bytes(s->m, v->type));
	return offset_of(s, v);
}

static bool
write_kernels(struct measure *s, FILE *out, uint64_t *scratch)
{
	for (int k = 0; k < s->nkeys; k++) {
		char *name = TEXT(s, "kernel_%d", k);
		fprintf(out, "rt_measure_fn %s;\n", name);
		if (!lower_kernel_source(s->m, s->key[k].op, name, out, &scratch[k])) {
			diag_error(s->diag, s->key[k].op->loc, "%s cannot be measured alone",
				op_name((enum op_code)s->key[k].op->code));
			return false;
		}
	}
	return true;
}

/* Offsets and calls, in the order of the step; returns the number of calls. */
static int
write_calls(struct measure *s, FILE *out, const uint64_t *scratch)
{
	int n = 0;
	char *calls = TEXT(s, "static const struct rt_measure_call calls[] = {\n");
	for (int i = 0; i < s->plan->nactions; i++) {
		const struct lower_action *a = &s->plan->action[i];
		char *text = a->kind == LOWER_KERNEL ? cost_op_key(s, s->m, a->op) : NULL;
		int k = text ? measure_key(s, text) : -1;
		if (k < 0)
			continue;
		fprintf(out, "static const int64_t offsets_%d[] = {", n);
		for (int j = 0; j < a->op->noperands; j++)
			fprintf(out, "%" PRId64 ", ", offset_of(s, ir_operand(a->op, j)));
		for (int r = 0; r < a->op->nresults; r++)
			fprintf(out, "%" PRId64 ", ", result_offset(s, a, r));
		fprintf(out, "};\n");
		calls = talloc_asprintf_append_buffer(calls,
			"\t{kernel_%d, %d, %d, %d, offsets_%d, %" PRId64 "},\n", k, k,
			a->op->noperands, a->op->nresults, n,
			scratch[k] ? new_room(s, scratch[k]) : (int64_t)-1);
		n++;
	}
	fprintf(out, "%s\t{0, 0, 0, 0, 0, 0}};\n", (char *)must_have(calls));
	return n;
}

static int
write_fills(const struct measure *s, FILE *out)
{
	int n = 0;
	fprintf(out, "static const struct rt_measure_fill fills[] = {\n");
	IR_FOR_OPS (op, &s->plan->main->body) {
		const struct ir_value *v = op->nresults ? &op->result[0] : NULL;
		if (!op_is(op, NAMED) || !v || offset_of(s, v) < 0 ||
			(v->type->dtype != IR_f32 && v->type->dtype != IR_f64))
			continue;
		fprintf(out, "\t{%" PRId64 ", %" PRId64 ", RT_%s},\n", offset_of(s, v),
			ir_type_local_elements(s->m, v->type),
			ir_dtype_name((enum ir_dtype)v->type->dtype));
		n++;
	}
	fprintf(out, "\t{0, 0, RT_f32}};\n");
	return n;
}

static const char *
kind_text(enum collective c)
{
	static const char *const name[] = {"RT_ALLREDUCE", "RT_REDUCE", "RT_BROADCAST",
		"RT_ALLGATHER", "RT_GATHER", "RT_SCATTER", "RT_REDUCESCATTER", "RT_ALLTOALL",
		"RT_SEND"};
	return name[c];
}

static int
write_messages(const struct measure *s, FILE *out, int places)
{
	int n = 0;
	fprintf(out, "static const struct rt_measure_coll colls[] = {\n");
	for (int i = 0; i < s->nmessages; i++)
		if (s->message[i].places == places) {
			/* Of elements, as many for every place. */
			int64_t unit = 4 * (int64_t)places;
			int64_t bytes = (s->message[i].bytes + unit - 1) / unit * unit;
			fprintf(out, "\t{%s, %" PRId64 "},\n", kind_text(s->message[i].kind),
				bytes);
			n++;
		}
	fprintf(out, "\t{RT_ALLREDUCE, 0}};\n");
	return n;
}

bool
measure_write(struct measure *s, FILE *out, int places, bool kernels)
{
	uint64_t *scratch = NEW_ARRAY(s, uint64_t, s->nkeys);
	int ncalls = 0, nfills = 0;
	s->arena = s->plan->arena_bytes;
	fprintf(out, "#include \"runtime/measure.h\"\n\n");
	if (kernels) {
		if (!write_kernels(s, out, scratch))
			return false;
		ncalls = write_calls(s, out, scratch);
		nfills = write_fills(s, out);
	}
	int ncolls = write_messages(s, out, places);
	fprintf(out,
		"\nint\nmain(void)\n{\n\tconst struct rt_measure m = {%d, %d, %d, %d, %d, %d,\n",
		s->ranks, places, ncalls ? s->nkeys : 0, ncalls, nfills, ncolls);
	fprintf(out, "\t\t%s, %s, colls, %" PRIu64 ", \"result\"};\n", ncalls ? "calls" : "0",
		ncalls ? "fills" : "0", ncalls ? s->arena : 0);
	fprintf(out, "\treturn rt_measure_main(&m);\n}\n");
	return true;
}
