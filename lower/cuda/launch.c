/*
 * Launches of an op's kernels. Those that do not use each other's values are parts of one launch:
 *
 *     kernels    p: parts of two sums    s0: completes one    s1: completes the other
 *     launches   p                       s0 and s1: blocks 0 to 95 and 96 to 191
 *
 * Only small kernels in blocks of the usual size are joined, which share no memory in a block:
 * fewer blocks than fill a large device. A kernel comes after all that use one of its results or
 * pieces of scratch; where results may lie on operands, after all with operands if it has some.
 * Results have the same bits.
 */
#include "lower/cuda/text.h"

#include "ir/base/alloc.h"
#include "ir/base/vec.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

bool
cuda_has_word(const char *text, const char *name)
{
	const size_t n = strlen(name);

	for (const char *p = text; (p = strstr(p, name)) != NULL; p += n) {
		const bool before = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
		if (!before && !isalnum((unsigned char)p[n]) && p[n] != '_')
			return true;
	}
	return false;
}

void
cuda_write_part(FILE *out, const char *text, const char *block, const char *blocks, bool inside)
{
	static const char index[] = "blockIdx.x", count[] = "gridDim.x";

	for (bool start = true; *text; text++) {
		if (start && inside)
			fputc('\t', out);
		start = *text == '\n';
		const bool is_index = !strncmp(text, index, strlen(index));
		if (is_index || !strncmp(text, count, strlen(count))) {
			fputs(is_index ? block : blocks, out);
			text += strlen(is_index ? index : count) - 1;
		} else {
			fputc(*text, out);
		}
	}
}

/* Does the text use operand, result or scratch pointer `number`? */
static bool
uses(struct cuda_text *t, const char *text, char kind, int number)
{
	return cuda_has_word(text, cuda_printf(t, "%c%d", kind, number));
}

static bool
uses_operands(struct cuda_text *t, const char *text)
{
	bool any = false;

	for (int j = 0; j < t->s->kernel->noperands && !any; j++)
		any = uses(t, text, 'a', j);
	return any;
}

/* Must the launches of two kernels keep their order? */
static bool
depend(struct cuda_text *t, const char *a, const char *b)
{
	for (int r = 0; r < t->s->kernel->nresults; r++)
		if (uses(t, a, 'r', r) && uses(t, b, 'r', r))
			return true;
	for (int i = 0; i < t->npointers; i++)
		if (cuda_has_word(a, t->pointer[i].name) && cuda_has_word(b, t->pointer[i].name))
			return true;
	return t->in_place && (uses_operands(t, a) || uses_operands(t, b));
}

static bool
can_join(const struct cuda_text *t, const struct cuda_body *x)
{
	return t->src->target->joins && x->threads == CUDA_BLOCK && x->grid < CUDA_GROUPS &&
	       !strstr(x->text, "__shared__");
}

static void
launch(struct cuda_text *t, struct cuda_body x)
{
	struct cuda_sources *src = t->src;

	char *name = TEXT(src, "%s_%d", t->name, t->nbodies);
	LIST_PUSH(src, src->launch, src->nlaunches, (struct cuda_launch){name, x.threads});
	LIST_PUSH(t->w.scratch, t->body, t->nbodies, x);
	t->grid = x.grid;
	fprintf(t->host, "\trt_cuda_launch(ctx, %d, %" PRId64 ", &args, sizeof args);\n",
		src->nlaunches - 1, x.grid);
}

/* The kernels, at least two, as one. */
static struct cuda_body
join(struct cuda_text *t, const struct cuda_body *const *part, int n)
{
	struct cuda_body all = {NULL, CUDA_BLOCK, 0};
	size_t size;
	FILE *out = text_stream(&all.text, &size);

	for (int i = 0; i < n; i++) {
		const int64_t first = all.grid;
		all.grid += part[i]->grid;
		if (i)
			fprintf(out, "\t} else ");
		if (i + 1 < n)
			fprintf(out, "%sif (blockIdx.x < %" PRId64 ") ", i ? "" : "\t", all.grid);
		fprintf(out, "{\n");
		cuda_write_part(out, part[i]->text,
			first ? cuda_printf(t, "(blockIdx.x - %" PRId64 ")", first) : "blockIdx.x",
			cuda_printf(t, "%" PRId64, part[i]->grid), true);
		free(part[i]->text);
	}
	fprintf(out, "\t}\n");
	fclose(out);
	return all;
}

/* The number of launches before that of kernel i. */
static int
level_of(struct cuda_text *t, const int *level, int i)
{
	int most = 0;

	for (int j = 0; j < i; j++)
		if (level[j] >= most && depend(t, t->waiting[j].text, t->waiting[i].text))
			most = level[j] + 1;
	return most;
}

void
cuda_launch(struct cuda_text *t)
{
	const int n = t->nwaiting;
	int *level = NEW_ARRAY(t->w.scratch, int, (size_t)n + 1), most = 0;
	const struct cuda_body **part =
		NEW_ARRAY(t->w.scratch, const struct cuda_body *, (size_t)n + 1);

	for (int i = 0; i < n; i++) {
		level[i] = level_of(t, level, i);
		most = level[i] > most ? level[i] : most;
	}
	for (int now = 0; now <= most && n; now++) {
		int nparts = 0;
		for (int i = 0; i < n; i++)
			if (level[i] == now && can_join(t, &t->waiting[i]))
				part[nparts++] = &t->waiting[i];
			else if (level[i] == now)
				launch(t, t->waiting[i]);
		if (nparts)
			launch(t, nparts > 1 ? join(t, part, nparts) : *part[0]);
	}
	t->nwaiting = 0;
}
