/*
 * Kernels made in a copy. See copy.h. To look a kernel up in the profile by its key, it must be
 * made; that is worth while only if the profile has one with the same ops, which sums of hashes of
 * their names tell.
 */
#include "passes/analysis/estimate/copy.h"

#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "ir/base/sort.h"
#include "ir/numbering.h"
#include "passes/analysis/cost/internal.h"
#include "passes/fuse/fuse.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

struct estimate_copy {
	struct ir_module *m; /* a copy of its own */
	const char *func;
	struct ir_numbering *ops; /* of the copy */
	uint32_t nsums;
	uint64_t *sum; /* [nsums] ascending */
};

/* The sum for the ops in the body of a key, without constants: "3 = relu(2);" */
static uint64_t
sum_of_key(const char *key)
{
	static const char constant[] = "constant(";
	uint64_t sum = 0;

	for (const char *s = strchr(key, '{'); s && (s = strstr(s, " = "));) {
		s += strlen(" = ");
		if (strncmp(s, constant, strlen(constant)) != 0)
			sum += mix64(mix_text(s, strcspn(s, "(")));
	}
	return sum;
}

static void
load_sums(struct estimate_copy *x, const struct cost_kind_model *k)
{
	x->sum = NEW_ARRAY(x, uint64_t, (size_t)k->nops);
	for (int i = 0; i < k->nops; i++)
		if (profile_op_is_fuse(&k->op[i]))
			x->sum[x->nsums++] = sum_of_key(k->op[i].key);
	sort_uint64(x->sum, x->nsums);
}

static void
copy_module(struct estimate_copy *x, const struct ir_module *m, const char *func)
{
	x->m = ir_module_clone(x, m);
	x->func = TEXT(x, "%s", func);
	x->ops = ir_numbering_create(x, x->m, &ir_func_find(x->m, func)->body);
}

struct estimate_copy *
estimate_copy_create(const void *owner, const struct cost_model *model, uint32_t kind,
	const struct ir_module *m, const struct ir_block *b)
{
	struct estimate_copy *x = NEW(owner, struct estimate_copy);

	load_sums(x, &model->kind[kind]);
	copy_module(x, m, b->func->name);
	return x;
}

struct estimate_copy *
estimate_copy_clone(const void *owner, const struct estimate_copy *x)
{
	struct estimate_copy *c = NEW(owner, struct estimate_copy);

	c->nsums = x->nsums;
	c->sum = alloc_copy(c, x->sum, talloc_get_size(x->sum), 1, "sums");
	copy_module(c, x->m, x->func);
	return c;
}

bool
estimate_copy_may_know(const struct estimate_copy *x, const uint32_t *op, uint32_t n)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < n; i++) {
		const char *name = op_name((enum op_code)x->ops->op[op[i]]->code);
		sum += mix64(mix_text(name, strlen(name)));
	}
	return bsearch(&sum, x->sum, x->nsums, sizeof sum, order_uint64) != NULL;
}

struct ir_module *
estimate_copy_module(struct estimate_copy *x)
{
	return x->m;
}

struct ir_op *
estimate_copy_make(struct estimate_copy *x, const uint32_t *op, uint32_t n, const bool *out)
{
	struct ir_op **from = NEW_ARRAY(x, struct ir_op *, n);

	for (uint32_t i = 0; i < n; i++)
		from[i] = x->ops->op[op[i]];
	struct ir_op *fuse = fuse_make(x->m, from, n, out, FUSE_LOOK);
	talloc_free(from);
	return fuse;
}
