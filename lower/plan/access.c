/* The buffers that actions read and write. */
#include "lower/plan/plan.h"

struct list {
	const struct lower_plan *p;
	struct lower_access *at;
	int n;
};

static void
touch_buffer(struct list *l, int32_t buffer, bool write)
{
	if (buffer < 0)
		return;
	l->at[l->n++] = (struct lower_access){buffer, write};
}

static void
touch(struct list *l, int32_t value, bool write)
{
	touch_buffer(l, l->p->value[value].buffer, write);
}

static void
touch_kernel(struct list *l, const struct lower_action *a)
{
	for (int j = 0; j < a->op->noperands; j++)
		touch_buffer(l, lower_value_of(l->p, ir_operand(a->op, j))->buffer, false);
	for (int r = 0; r < a->op->nresults; r++)
		touch_buffer(l, lower_value_of(l->p, &a->op->result[r])->buffer, true);
	touch_buffer(l, a->scratch, true);
}

int
lower_most_accesses(const struct lower_plan *p)
{
	int most = 2; /* of a copy */

	for (int i = 0; i < p->nactions; i++) {
		const struct lower_action *a = &p->action[i];
		int n = 0;
		if (a->kind == LOWER_KERNEL)
			n = a->op->noperands + a->op->nresults + 1;
		else if (a->kind == LOWER_POST)
			n = 2 * p->coll[a->coll].nbufs;
		most = n > most ? n : most;
	}
	return most;
}

int
lower_accesses(const struct lower_plan *p, const struct lower_action *a, struct lower_access *list)
{
	struct list l = {p, list, 0};

	switch (a->kind) {
	case LOWER_KERNEL: touch_kernel(&l, a); break;
	case LOWER_COPY:
	case LOWER_PACK:
	case LOWER_ADD:
		touch(&l, a->src, false);
		touch(&l, a->dst, true);
		break;
	case LOWER_POST:
		for (int i = 0; i < p->coll[a->coll].nbufs; i++) {
			touch(&l, p->coll[a->coll].buf[i].src, false);
			touch(&l, p->coll[a->coll].buf[i].dst, true);
		}
		break;
	case LOWER_WAIT:
	case LOWER_LOOP:
	case LOWER_END: break;
	}
	return l.n;
}
