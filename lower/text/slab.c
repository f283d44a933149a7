/*
 * The loops over slabs around a kernel of several products (ir/loops/slab.c). The function of the
 * kernel calls that of a slab, which has the same arguments and where the slab starts:
 *
 *     for (int64_t slab1 = 0; slab1 < 8; slab1 += 1)
 *     for (int64_t slab2 = 0; slab2 < 1024; slab2 += 128) {
 *             ... copies slabs of operands that are not contiguous to scratch
 *             NAME_slab(a0 + slab1 * 65536, p1, q0, scratch, s0, slab1, slab2);
 *             ... and those of results back
 *     }
 */
#include "lower/text/text.h"

#include "ir/base/alloc.h"

#include <inttypes.h>

static int64_t
whole_stride(const struct scheme_tensor *t, int d)
{
	int64_t stride = 1;

	for (int i = d + 1; i < t->rank; i++)
		stride *= t->whole[i];
	return stride;
}

/* "a0 + slab1 * 65536": the tensor from the first element of its slab on. */
static char *
start_text(const struct scheme_tensor *t, char *text)
{
	for (int d = 0; d < t->rank; d++)
		if (t->slab[d])
			text = text_append(
				text, " + slab%d * %" PRId64, t->slab[d], whole_stride(t, d));
	return text;
}

/* Copies a slab to where it is contiguous, or back. */
static void
write_copy(struct kernel_text *w, const struct scheme_tensor *t, const char *memory,
	const char *packed, bool back)
{
	char *from = start_text(t, TEXT(w->scratch, "%s", memory)),
	     *to = text_copy(w->scratch, packed);
	const int before = w->indent, last = t->rank - 1;

	for (int d = 0; d < last; d++) {
		if (t->dim[d] == 1)
			continue;
		kernel_line(
			w, "for (int64_t d%d = 0; d%d < %" PRId64 "; d%d++) {", d, d, t->dim[d], d);
		w->indent++;
		from = text_append(from, " + d%d * %" PRId64, d, whole_stride(t, d));
		to = text_append(to, " + d%d * %" PRId64, d, scheme_dim_stride(t, d));
	}
	kernel_line(w, "memcpy(%s, %s, %" PRId64 ");", back ? from : to, back ? to : from,
		t->dim[last] * (int64_t)ir_dtype_bytes(t->dtype));
	while (w->indent > before)
		kernel_close(w);
}

/* An argument of the call for the slab of an operand or a result. */
static char *
slab_text(struct kernel_text *w, const struct scheme_tensor *t, const char *memory,
	const char *packed)
{
	return t->packed >= 0 ? text_copy(w->scratch, packed)
			      : start_text(t, text_copy(w->scratch, memory));
}

static const struct scheme_tensor *
tensor_of(const struct scheme *s, int operand, int result)
{
	if (result >= 0)
		return &s->tensor[kernel_result(s, result)];
	for (int t = 0; t < s->ntensors; t++)
		if (s->tensor[t].operand == operand)
			return &s->tensor[t];
	return NULL;
}

static void
declare_packed(struct kernel_text *w, const struct scheme_tensor *t, const char *name)
{
	const char *type = kernel_ctype(t->dtype);

	if (t->packed >= 0)
		kernel_line(w, "%s *restrict %s = (%s *)(scratch + %" PRId64 ");", type, name, type,
			t->packed);
}

void
kernel_slabs(struct kernel_text *w, const char *name)
{
	const struct scheme *s = w->s;
	const int noperands = s->kernel->noperands, nresults = s->kernel->nresults;
	char *call = TEXT(w->scratch, "%s_slab(", name);

	w->indent = 1;
	for (int j = 0; j < noperands; j++)
		declare_packed(w, tensor_of(s, j, -1), TEXT(w->scratch, "p%d", j));
	for (int r = 0; r < nresults; r++)
		declare_packed(w, tensor_of(s, -1, r), TEXT(w->scratch, "q%d", r));
	for (int i = 0; i < s->nslabs; i++) {
		kernel_line(w,
			"for (int64_t slab%d = 0; slab%d < %" PRId64 "; slab%d += %" PRId64 ") {",
			i + 1, i + 1, s->slab[i].size, i + 1, s->slab[i].step);
		w->indent++;
	}
	for (int j = 0; j < noperands; j++) {
		const struct scheme_tensor *t = tensor_of(s, j, -1);
		const char *a = TEXT(w->scratch, "a%d", j), *p = TEXT(w->scratch, "p%d", j);
		if (t->packed >= 0)
			write_copy(w, t, a, p, false);
		call = text_append(call, "%s, ", slab_text(w, t, a, p));
	}
	for (int r = 0; r < nresults; r++)
		call = text_append(call, "%s, ",
			slab_text(w, tensor_of(s, -1, r), TEXT(w->scratch, "r%d", r),
				TEXT(w->scratch, "q%d", r)));
	call = text_append(call, "scratch");
	for (int i = 0; i < w->args->n; i++)
		call = text_append(call, ", s%d", i);
	for (int i = 0; i < s->nslabs; i++)
		call = text_append(call, ", slab%d", i + 1);
	kernel_line(w, "%s);", call);
	for (int r = 0; r < nresults; r++) {
		const struct scheme_tensor *t = tensor_of(s, -1, r);
		if (t->packed >= 0)
			write_copy(
				w, t, TEXT(w->scratch, "r%d", r), TEXT(w->scratch, "q%d", r), true);
	}
	for (int i = 0; i < s->nslabs; i++)
		kernel_close(w);
}
