/* The products of kernels of several products: operands of rows in shared memory, tiles of columns
 * streamed past them. */
#include "lower/cuda/stream.h"

#include <inttypes.h>

static const char *
reader_of(const struct scheme_op *o)
{
	return ir_dtype_name((enum ir_dtype)o->f.dtype);
}

/* Can 16 bytes of load j be read at a time along class `inner`? */
static bool
is_vector(const struct stream *m, const struct scheme_op *o, int j, int inner)
{
	const struct scheme_tensor *x = &m->t->s->tensor[o->in[j]];
	const int64_t group = CUDA_VECTOR / (int64_t)ir_dtype_bytes(x->dtype);
	bool whole = m->t->aligned && scheme_stride(m->t->s, o, j, inner) == 1 &&
		     stream_size(m, inner) % group == 0;

	for (int d = 0; d < x->rank; d++) {
		const int index = o->f.in[j].index[d];
		if (index >= 0 && o->cls[index] >= 0 && o->cls[index] != inner)
			whole = whole && scheme_dim_stride(x, d) % group == 0;
	}
	return whole;
}

/* ", true": the argument of a template for load j; "" if there is none. */
static const char *
vector_text(const struct stream *m, const struct scheme_op *o, int j, int inner)
{
	return !m->unit->cores ? "" : is_vector(m, o, j, inner) ? ", true" : ", false";
}

/* Does what is streamed besides columns leave the operand of rows as it is? */
static bool
is_fixed(const struct stream *m, int i)
{
	for (int k = 0; k < m->x->nover; k++)
		if (scheme_stride(m->t->s, stream_at(m, i), m->x->op[i].of_rows, m->x->over[k]))
			return false;
	return true;
}

/* Can the operands of rows stay in shared memory? */
bool
stream_can_keep(const struct stream *m)
{
	int64_t kept = 0;

	for (int i = 0; i < m->t->s->nops; i++) {
		if (m->x->op[i].kind != STREAM_TILE_OF)
			continue;
		if (!is_fixed(m, i))
			return false;
		kept += stream_chunks(m, i);
	}
	return kept <= m->unit->kept;
}

void
stream_declare_shared(const struct stream *m)
{
	struct cuda_text *t = m->t;

	kernel_line(&t->w, "alignas(16) __shared__ tile::shared room[%d * tile::ROOM];",
		m->kept ? 1 : 2);
	for (int i = 0; i < t->s->nops && m->kept; i++)
		if (m->x->op[i].kind == STREAM_TILE_OF)
			kernel_line(&t->w,
				"alignas(16) __shared__ tile::shared keep%d[%" PRId64
				" * tile::ROOM];",
				stream_at(m, i)->out, stream_chunks(m, i));
}

/* Reads the operands of rows that stay. */
void
stream_write_kept(const struct stream *m)
{
	struct cuda_text *t = m->t;

	kernel_line(&t->w, "__syncthreads();");
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		const struct stream_op *k = &m->x->op[i];
		if (k->kind != STREAM_TILE_OF)
			continue;
		cuda_block(t, "%s", "");
		kernel_line(&t->w, "const int64_t i%d = row0, i%d = 0;", m->x->rows, k->inner);
		kernel_line(&t->w,
			"tile::keep<%" PRId64 "%s>(keep%d, &%s, %" PRId64 ", %" PRId64 ", rows);",
			stream_size(m, k->inner), vector_text(m, o, k->of_rows, k->inner), o->out,
			kernel_element(&t->w, o, k->of_rows),
			scheme_stride(t->s, o, k->of_rows, m->x->rows),
			scheme_stride(t->s, o, k->of_rows, k->inner));
		cuda_end(t);
	}
}

/* seen: is there an element in the current tile that the mask keeps? */
static void
write_seen(const struct stream *m, struct stream_mask mask)
{
	struct cuda_text *t = m->t;
	bool *need = cuda_need_none(t);

	need[mask.op] = true;
	stream_mark(m, need, mask.op, (struct stream_mask){.op = -1});
	kernel_line(&t->w, "bool any = false;");
	stream_open_elements(m, need);
	kernel_line(&t->w, "any = any || (in && %sv%d);", mask.keeps ? "" : "!",
		stream_at(m, mask.op)->out);
	cuda_end(t);
	cuda_end(t);
	kernel_line(&t->w, "const bool seen = __syncthreads_or(any);");
}

/* The products of operands that the ends of a pass need. Returns whether a mask leaves out some. */
bool
stream_write_tiles(const struct stream *m, int pass)
{
	struct cuda_text *t = m->t;
	const struct scheme_stream *x = m->x;
	bool *need = cuda_need_none(t), *outside = cuda_need_none(t);
	const struct stream_mask mask = stream_find_mask(m, pass, outside);

	if (mask.op >= 0)
		write_seen(m, mask);
	stream_mark_pass(m, need, pass, STREAM_FINAL, (struct stream_mask){.op = -1});
	for (int i = 0; i < t->s->nops; i++) {
		const struct scheme_op *o = stream_at(m, i);
		const struct stream_op *k = &x->op[i];
		if (k->kind != STREAM_TILE_OF || !need[i])
			continue;
		kernel_line(&t->w, "float tile%d[tile::Y][tile::X]%s;", o->out,
			outside[i] ? "" : " = {}");
		cuda_block(t, "%s", outside[i] ? "" : "if (seen)");
		kernel_line(&t->w, "const int64_t i%d = row0, i%d = column0, i%d = 0;", x->rows,
			x->columns, k->inner);
		const char *kept = !m->unit->cores ? ""
				   : m->kept       ? cuda_printf(t, "keep%d, ", o->out)
						   : "nullptr, ";
		kernel_line(&t->w,
			"tile::wide<%" PRId64 ", tile_%s%s%s>(tile%d, room, %s&%s, %" PRId64
			", %" PRId64 ", rows, &%s, %" PRId64 ", %" PRId64 ", columns);",
			stream_size(m, k->inner), reader_of(o),
			vector_text(m, o, k->of_rows, k->inner),
			vector_text(m, o, k->of_columns, k->inner), o->out, kept,
			kernel_element(&t->w, o, k->of_rows),
			scheme_stride(t->s, o, k->of_rows, x->rows),
			scheme_stride(t->s, o, k->of_rows, k->inner),
			kernel_element(&t->w, o, k->of_columns),
			scheme_stride(t->s, o, k->of_columns, x->columns),
			scheme_stride(t->s, o, k->of_columns, k->inner));
		cuda_end(t);
	}
	return mask.op >= 0;
}

/* The condition of a product of whose operand a mask may have left nothing but 0. As on hosts, what
 * it leaves out adds nothing, not even NaN. */
static void
write_nonzero(const struct stream *m, const struct scheme_op *o)
{
	struct kernel_text *w = &m->t->w;

	kernel_line(w, "bool any = false;");
	kernel_line(w, "#pragma unroll");
	kernel_line(w, "for (int at = 0; at < tile::Y * tile::X; at++)");
	kernel_line(w, "\tany = any || put%d[at / tile::X][at %% tile::X] != 0.0f;", o->out);
	kernel_line(w, "if (__syncthreads_or(any))");
}

void
stream_write_product(const struct stream *m, int i, bool masked)
{
	struct cuda_text *t = m->t;
	const struct scheme_op *o = stream_at(m, i);
	const struct stream_op *k = &m->x->op[i];

	cuda_block(t, "%s", "");
	kernel_line(&t->w, "const int64_t i%d = column0, i%d = 0;", m->x->columns, k->inner);
	if (masked)
		write_nonzero(m, o);
	kernel_line(&t->w,
		"tile::narrow<%" PRId64 ", tile_%s%s>(sum%d, put%d, room, &%s, %" PRId64
		", %" PRId64 ", columns);",
		stream_size(m, k->inner), reader_of(o), vector_text(m, o, k->of_columns, k->inner),
		o->out, o->out, kernel_element(&t->w, o, k->of_columns),
		scheme_stride(t->s, o, k->of_columns, m->x->columns),
		scheme_stride(t->s, o, k->of_columns, k->inner));
	cuda_end(t);
}
