/* Passes and levels of the ends of a kernel of several products: stream.c says what they are. */
#include "lower/cuda/stream.h"

#include "ir/base/alloc.h"

char *
stream_scale(const struct stream *m, int i, uint32_t changing)
{
	const struct scheme *s = m->t->s;
	bool *set = ZERO_ARRAY(m->t->w.scratch, bool, (size_t)s->nops + 1);

	for (int k = 0; k < s->nops; k++)
		set[k] = m->plan[k].end >= 0 && changing >> m->plan[k].end & 1;
	return cuda_change(m->t, stream_at(m, i), set);
}

/* The pass and the level of end i. */
static void
place(struct stream *m, int i)
{
	struct stream_plan *p = &m->plan[i];
	uint32_t running = 0;

	for (int k = 0; k < i; k++)
		if (stream_is_end(m, k) && p->of >> m->plan[k].end & 1 && m->plan[k].pass > p->pass)
			p->pass = m->plan[k].pass;
	for (int k = 0; k < i; k++)
		if (stream_is_end(m, k) && p->of >> m->plan[k].end & 1 &&
			m->plan[k].pass == p->pass)
			running |= 1u << m->plan[k].end;
	if (running && !stream_scale(m, i, running)) {
		p->pass++;
		running = 0;
	}
	for (int k = 0; k < i; k++)
		if (stream_is_end(m, k) && running >> m->plan[k].end & 1 &&
			stream_is_running(stream_at(m, k)) && m->plan[k].level >= p->level)
			p->level = m->plan[k].level + 1;
	m->npasses = p->pass >= m->npasses ? p->pass + 1 : m->npasses;
	if (p->level >= m->nlevels[p->pass])
		m->nlevels[p->pass] = p->level + 1;
}

void
stream_make_plan(struct stream *m)
{
	const struct scheme *s = m->t->s;

	m->plan = ZERO_ARRAY(m->t->w.scratch, struct stream_plan, (size_t)s->nops + 1);
	for (int i = 0; i < s->nops; i++) {
		struct stream_plan *p = &m->plan[i];
		p->end = -1;
		for (int j = 0; j < s->op[i].f.ninputs; j++) {
			const int maker = stream_maker(m, i, j);
			p->of |= maker >= 0 ? stream_bits(m, maker) : 0;
		}
		if (!stream_is_end(m, i))
			continue;
		place(m, i);
		p->end = m->nends++;
	}
}
