/* Joins two kernels where no path through others leads from one to the other:
 * passes/fuse/apart.h. */
#include "passes/fuse/apart.h"
#include "passes/fusion/opfuse.h"

/* The kernels that contain `reader` and do not contain op. */
static bool
visit_reader(struct opfuse *u, uint32_t op, uint32_t reader, apart_visit *visit, void *to)
{
	const size_t copies = opfuse_ncopies(u, reader);
	bool done = false;

	for (size_t c = 0; c <= copies && !done; c++) {
		const uint32_t in = c < copies ? opfuse_copy_at(u, reader, c) : u->home[reader];
		if (in != OPFUSE_NONE && !opfuse_has(u, in, op))
			done = visit(to, in);
	}
	return done;
}

static bool
visit_readers(void *data, uint32_t kernel, apart_visit *visit, void *to)
{
	struct opfuse *u = data;
	const struct opfuse_kernel *k = &u->kernel[kernel];

	for (uint32_t i = 0; i < k->n; i++) {
		const uint32_t op = k->op[i];
		if (u->home[op] != kernel)
			continue;
		for (uint32_t r = u->first[op]; r < u->first[op + 1]; r++)
			if (visit_reader(u, op, u->reader[r], visit, to))
				return true;
	}
	return false;
}

static bool
visit_operands(void *data, uint32_t kernel, apart_visit *visit, void *to)
{
	struct opfuse *u = data;
	uint32_t n;
	const uint32_t *operand = opfuse_operands(u, kernel, &n);

	for (uint32_t i = 0; i < n; i++)
		if (visit(to, u->home[operand[i]]))
			return true;
	return false;
}

bool
opfuse_join_apart(struct opfuse *u, uint32_t a, uint32_t b, uint32_t place)
{
	const struct apart_graph graph = {u, visit_readers, visit_operands, 0};

	if (!u->order)
		u->order = apart_create(u, u->nops, &graph);
	if (!apart_join(u->order, a, b))
		return false;
	opfuse_join(u, a, b, place);
	return true;
}
