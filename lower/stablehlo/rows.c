/* Ops that StableHLO has as they are, or that no form describes: a function each. */
#include "lower/stablehlo/hlo.h"

#include "ir/base/alloc.h"
#include "ir/ops/literal.h"
#include "ir/ops/order.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum {
	SHORT_LITERAL = 16 /* elements: short enough to read; bytes are parsed faster */
};

/* --- shapes -------------------------------------------------------------------------------------
 */

static enum hlo_done
reshape(struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	const struct hlo_value type = hlo_local_type(h, op->result[0].type);

	*out = hlo_reshape(h, in[0], type.rank, type.dim);
	return HLO_DONE;
}

/* The attribute `dim` of an op, counted from the front. */
static int
dim_of(const struct ir_op *op)
{
	const int64_t d = ir_attr_int(op, "dim", 0);

	return (int)(d < 0 ? d + ir_operand_type(op, 0)->rank : d);
}

static bool
is_split(const struct hlo *h, const struct ir_op *op, int noperands, int dim)
{
	bool split = ir_type_split_factor(h->m, op->result[0].type, dim) > 1;

	for (int i = 0; i < noperands; i++)
		split = split || ir_type_split_factor(h->m, ir_operand_type(op, i), dim) > 1;
	return split;
}

static enum hlo_done
concat(struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	if (is_split(h, op, op->noperands, dim_of(op)))
		return HLO_OTHER;
	*out = hlo_concat(h, in, op->noperands, dim_of(op));
	return HLO_DONE;
}

static enum hlo_done
dynamic_update_slice(
	struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	struct hlo_value operand[2 + HLO_MAX_RANK] = {in[0], in[1]};
	const int dim = dim_of(op), rank = in[0].rank;

	if (is_split(h, op, 2, dim) ||
		memcmp(in[0].dim, in[1].dim, sizeof *in[0].dim * (size_t)dim))
		return HLO_OTHER;
	for (int d = 0; d < rank; d++) {
		if (d != dim && in[0].dim[d] != in[1].dim[d])
			return HLO_OTHER;
		operand[2 + d] = in[2];
	}
	for (int d = 0; d < rank; d++)
		if (d != dim)
			operand[2 + d] = hlo_integer(h, in[2], 0);
	*out = hlo_make(h, "stablehlo.dynamic_update_slice", operand, 2 + rank, NULL, in[0]);
	return HLO_DONE;
}

/* --- constants ----------------------------------------------------------------------------------
 */

/* The elements of a literal: as nested lists if that is short, else as bytes. */
static const char *
elements_text(struct hlo *h, const struct hlo_value *type, const unsigned char *bytes)
{
	const enum ir_dtype t = (enum ir_dtype)type->dtype;
	int64_t n = 1, inner[HLO_MAX_RANK + 1];

	inner[type->rank] = 1;
	for (int d = type->rank - 1; d >= 0; d--)
		inner[d] = n *= type->dim[d];
	if (t != IR_bool && n > SHORT_LITERAL) {
		const size_t size = (size_t)n * ir_dtype_bytes(t);
		char *s = ARRAY_NEW(h->scratch, char, 2 * size + 1);
		for (size_t i = 0; i < size; i++)
			sprintf(s + 2 * i, "%02X", bytes[i]);
		return hlo_text(h, "dense<\"0x%s\"> : %s", s, hlo_type_text(h, type));
	}
	char *s = text_copy(h->scratch, "");
	for (int64_t i = 0; i < n && s; i++) {
		const union ir_number v = literal_read(t, bytes, i);
		const union cell c = ir_dtype_class(t) == IR_FLOAT ? (union cell){.f = v.f}
								   : (union cell){.i = v.i};
		s = text_append_end(s, "%s", i ? ", " : "");
		for (int d = 0; d < type->rank && s; d++)
			if (i % inner[d] == 0)
				s = text_append_end(s, "[");
		s = s ? text_append_end(s, "%s", hlo_element(h, t, c)) : NULL;
		for (int d = 0; d < type->rank && s; d++)
			if ((i + 1) % inner[d] == 0)
				s = text_append_end(s, "]");
	}
	return hlo_text(h, "dense<%s> : %s", s, hlo_type_text(h, type));
}

/* Every replica has the whole constant, and takes its part. */
static enum hlo_done
literal(struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	const struct ir_type *t = op->result[0].type;
	const struct hlo_value part = hlo_local_type(h, t),
			       all = hlo_type((enum ir_dtype)t->dtype, t->rank, t->dim);
	struct hlo_value start[1 + HLO_MAX_RANK];
	bool whole = true;

	(void)in;
	const unsigned char *bytes = literal_bytes(h->scratch, op);
	*out = hlo_make(h, "stablehlo.constant", NULL, 0,
		hlo_text(h, "value = %s", elements_text(h, &all, bytes)), all);
	for (int d = 0; d < t->rank; d++)
		whole = whole && part.dim[d] == all.dim[d];
	if (whole)
		return HLO_DONE;
	start[0] = *out;
	for (int d = 0; d < t->rank; d++) {
		const struct hlo_value number = hlo_slice_number(h, t, d),
				       size = hlo_integer(h, number, part.dim[d]);
		start[1 + d] = hlo_two(h, "stablehlo.multiply", number, size);
	}
	*out = hlo_make(h, "stablehlo.dynamic_slice", start, 1 + t->rank,
		hlo_text(h, "slice_sizes = %s", hlo_array(h, part.dim, part.rank)), part);
	return HLO_DONE;
}

/* --- in order -----------------------------------------------------------------------------------
 */

/*
 * The region of a sort by its first operand. For floats -0 counts as 0 and every NaN as the same
 * largest value; then the order is total.
 */
static const char *
comparator(struct hlo *h, enum ir_dtype t, bool descending)
{
	const struct hlo_value scalar = hlo_type(t, 0, NULL), place = hlo_type(IR_i32, 0, NULL);
	const char *s = hlo_type_text(h, &scalar), *i = hlo_type_text(h, &place), *keys = "",
		   *l = "%a", *r = "%b", *kind;

	if (ir_dtype_class(t) == IR_FLOAT) {
		const char *zero = hlo_splat(h, &scalar, (union cell){.f = 0}),
			   *nan = hlo_splat(h, &scalar, (union cell){.f = NAN});
		keys = hlo_text(h,
			"      %%zero = \"stablehlo.constant\"() <{value = %s}> : () -> %s\n"
			"      %%nan = \"stablehlo.constant\"() <{value = %s}> : () -> %s\n",
			zero, s, nan, s);
		for (int side = 0; side < 2; side++)
			keys = hlo_text(h,
				"%s      %%%c0 = \"stablehlo.compare\"(%%%c, %%zero) "
				"<{comparison_direction = #stablehlo<comparison_direction "
				"EQ>, compare_type = #stablehlo<comparison_type FLOAT>}> : "
				"(%s, %s) -> tensor<i1>\n"
				"      %%%c1 = \"stablehlo.select\"(%%%c0, %%zero, %%%c) "
				": (tensor<i1>, %s, %s) -> %s\n"
				"      %%%c2 = \"stablehlo.compare\"(%%%c, %%%c) "
				"<{comparison_direction = #stablehlo<comparison_direction NE>, "
				"compare_type = #stablehlo<comparison_type FLOAT>}> : (%s, %s) "
				"-> tensor<i1>\n"
				"      %%%c3 = \"stablehlo.select\"(%%%c2, %%nan, %%%c1) "
				": (tensor<i1>, %s, %s) -> %s\n",
				keys, 'a' + side, 'a' + side, s, s, 'a' + side, 'a' + side,
				'a' + side, s, s, s, 'a' + side, 'a' + side, 'a' + side, s, s,
				'a' + side, 'a' + side, 'a' + side, s, s, s);
		l = "%a3", r = "%b3", kind = "TOTALORDER";
	} else {
		kind = ir_dtype_class(t) == IR_INT ? "SIGNED" : "UNSIGNED";
	}
	return hlo_text(h,
		" ({\n    ^bb0(%%a: %s, %%b: %s, %%i: %s, %%j: %s):\n%s      %%c = "
		"\"stablehlo.compare\"(%s, %s) <{comparison_direction = "
		"#stablehlo<comparison_direction %s>, compare_type = #stablehlo<comparison_type "
		"%s>}> : (%s, %s) -> tensor<i1>\n"
		"      \"stablehlo.return\"(%%c) : (tensor<i1>) -> ()\n    })",
		s, s, i, i, keys, l, r, descending ? "GT" : "LT", kind, s, s);
}

/* sort and topk: sorts the elements with their positions; a stable sort leaves equal ones in
 * order. */
static enum hlo_done
order(struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	const struct order o = order_local(h->m, op);
	const struct hlo_value type = hlo_like(in[0], IR_i32),
			       at = hlo_make(h, "stablehlo.iota", NULL, 0,
				       hlo_text(h, "iota_dimension = %d : i64", o.dim), type);
	const struct hlo_value both[] = {in[0], at};
	struct hlo_value sorted[2] = {in[0], at};
	int64_t from[HLO_MAX_RANK] = {0}, step[HLO_MAX_RANK];

	hlo_write(h, &(struct hlo_op){.name = "stablehlo.sort",
			     .in = both,
			     .nin = 2,
			     .attrs = hlo_text(h, "dimension = %d : i64, is_stable = true", o.dim),
			     .region = comparator(h, (enum ir_dtype)in[0].dtype, o.descending),
			     .out = sorted,
			     .nout = 2});
	for (int d = 0; d < in[0].rank; d++)
		step[d] = 1;
	for (int i = 0; i < 2; i++) {
		int64_t to[HLO_MAX_RANK];
		memcpy(to, sorted[i].dim, sizeof to);
		to[o.dim] = o.k;
		out[i] = o.k == o.n ? sorted[i] : hlo_slice(h, sorted[i], from, to, step);
	}
	return HLO_DONE;
}

static enum hlo_done
barrier(struct hlo *h, const struct ir_op *op, const struct hlo_value *in, struct hlo_value *out)
{
	hlo_write(h, &(struct hlo_op){.name = "stablehlo.optimization_barrier",
			     .in = in,
			     .nin = op->noperands,
			     .out = out,
			     .nout = op->nresults});
	return HLO_DONE;
}

hlo_row *
hlo_find_row(enum op_code code)
{
	static hlo_row *const table[OP_NCODES] = {
		[OP_reshape] = reshape,
		[OP_literal] = literal,
		[OP_concat] = concat,
		[OP_dynamic_update_slice] = dynamic_update_slice,
		[OP_barrier] = barrier,
		[OP_sort] = order,
		[OP_topk] = order,
		[OP_conv2d] = hlo_conv2d,
		[OP_conv2d_data] = hlo_conv2d_data,
		[OP_conv2d_filter] = hlo_conv2d_filter,
		[OP_max_pool] = hlo_max_pool,
		[OP_avg_pool] = hlo_avg_pool,
		[OP_window] = hlo_window,
	};

	return table[code];
}
