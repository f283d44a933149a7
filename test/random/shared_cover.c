/* Random programs: statistics of their content. See check.h. */
#include "test/random/check.h"

#include <stdio.h>

static void
count_type(struct trial_cover *c, const struct ir_module *m, const struct ir_type *t)
{
	c->dtype[t->dtype]++;
	c->rank[t->rank]++;
	for (int d = 0; d < t->rank; d++) {
		c->ones += t->dim[d] == 1;
		c->odd += t->dim[d] > 1 && t->dim[d] % 2;
	}
	for (int x = 0; x < m->naxes; x++)
		c->state[m->axis[x].time][t->axis[x].kind]++;
}

static void
count_block(struct trial_cover *c, const struct ir_module *m, const struct ir_block *b)
{
	IR_FOR_OPS (op, b) {
		c->op[op->code]++;
		for (int r = 0; r < op->nresults; r++) {
			int uses = 0;
			IR_FOR_USES (u, &op->result[r])
				uses++;
			c->shared += uses > 1;
			count_type(c, m, op->result[r].type);
		}
		if (op->body)
			count_block(c, m, op->body);
	}
}

void
trial_count(struct trial_cover *c, const struct ir_module *m)
{
	c->programs++;
	count_block(c, m, &ir_func_find(m, "main")->body);
}

/* Ops that the generator does not create. */
static const struct {
	enum op_code code;
	const char *why;
} excused[] = {
	{OP_call, "templates are put in place before a program has layouts"},
	{OP_return, "as call"},
	{OP_offload, "layouts and fusion are drawn; test/lower/offload has copies to host memory"},
	{OP_reload, "as offload"},
	{OP_release, "it changes no value; lowering decides on its own where buffers end"},
};

static const char *
excuse(int code)
{
	for (size_t i = 0; i < sizeof excused / sizeof *excused; i++)
		if (excused[i].code == (enum op_code)code)
			return excused[i].why;
	return NULL;
}

static void
print_states(const char *what, const int64_t *n)
{
	printf("%s: copied %lld, split %lld, partial %lld, single %lld\n", what,
		(long long)n[IR_COPIED], (long long)n[IR_SPLIT], (long long)n[IR_PARTIAL],
		(long long)n[IR_SINGLE]);
}

int
trial_uncovered(const struct trial_cover *c)
{
	int missing = 0;
	printf("%lld programs; values of ranks", (long long)c->programs);
	for (int r = 0; r <= IR_MAX_RANK; r++)
		printf(" %lld", (long long)c->rank[r]);
	printf("; dims of 1: %lld, odd: %lld; values used twice: %lld\ntypes:", (long long)c->ones,
		(long long)c->odd, (long long)c->shared);
	for (int t = 0; t < IR_NDTYPES; t++)
		printf(" %s %lld", ir_dtype_name((enum ir_dtype)t), (long long)c->dtype[t]);
	printf("\n");
	print_states("device axes", c->state[0]);
	print_states("time axes", c->state[1]);
	printf("ops:");
	for (int code = 0; code < OP_NCODES; code++)
		if (c->op[code])
			printf(" %s %lld", op_name((enum op_code)code), (long long)c->op[code]);
	printf("\n");
	for (int code = 0; code < OP_NCODES; code++) {
		if (c->op[code] || excuse(code))
			continue;
		printf("%s%s", missing++ ? ", " : "in no program: ", op_name((enum op_code)code));
	}
	if (missing)
		printf("\n");
	return missing;
}
