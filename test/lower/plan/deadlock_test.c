/*
 * Tests the argument that no set of ranks waits for ever, on a machine that is independent of it:
 * every rank of a small mesh executes the plan, guards of POSTs included, with a communication
 * queue of its own, until no rank can continue. Plans that the checker accepts end on every rank;
 * plans in which some ranks post something else, or in another order, hang there, and the checker
 * refuses them.
 */
#include "test/lower/plan/fixture.h"

enum {
	MOST_RANKS = 8,
	QUEUE = 256, /* posted and not complete, as in runtime/comm/engine_host.c */
};

struct rank {
	int coord[IR_MAX_AXES];
	int next;             /* index of the next action */
	int iteration;        /* of the current loop */
	int queue[4 * QUEUE]; /* collectives in the order of their POSTs */
	int posted, complete; /* so far */
	int last[QUEUE];      /* by collective: `posted` after its last POST, 0: none */
};

struct machine {
	const struct lower_plan *p;
	struct rank rank[MOST_RANKS];
	int nranks;
	bool mismatch; /* ranks of a group posted different collectives */
};

static bool
meets_guard(const struct rank *r, const struct lower_guard *g)
{
	for (int i = 0; i < g->n; i++)
		if (r->coord[g->axis[i]] != g->place[i])
			return false;
	return true;
}

/* The begin of the loop that ends at action `end`. */
static int
loop_begin(const struct lower_plan *p, int end)
{
	while (p->action[end].kind != LOWER_LOOP)
		end--;
	return end;
}

/* Runs one action of the compute queue; false: it is blocked, or the step is over. */
static bool
compute(const struct machine *m, struct rank *r)
{
	if (r->next == m->p->nactions)
		return false;
	const struct lower_action *a = &m->p->action[r->next];
	const bool does = meets_guard(r, &a->guard);
	if (a->kind == LOWER_POST && does) {
		if (r->posted - r->complete == QUEUE)
			return false;
		r->queue[r->posted++] = a->coll;
		r->last[a->coll] = r->posted;
	}
	if (a->kind == LOWER_WAIT && does && r->last[a->coll] > r->complete)
		return false;
	if (a->kind == LOWER_END && ++r->iteration < issue_iterations(m->p->module, a->over))
		r->next = loop_begin(m->p, r->next);
	else if (a->kind == LOWER_END)
		r->iteration = 0;
	r->next++;
	return true;
}

static bool
same_group(const struct machine *m, const struct rank *x, const struct rank *y, int axis)
{
	for (int a = 0; a < m->p->module->naxes; a++)
		if (a != axis && x->coord[a] != y->coord[a])
			return false;
	return true;
}

/* The collective at the head of the queue completes once all of its group have it at the head,
 * too. */
static bool
communicate(struct machine *m, const struct rank *r)
{
	if (r->complete == r->posted)
		return false;
	const int coll = r->queue[r->complete], axis = m->p->coll[coll].axis;
	for (int i = 0; i < m->nranks; i++) {
		const struct rank *x = &m->rank[i];
		if (!same_group(m, r, x, axis))
			continue;
		if (x->complete == x->posted || m->p->coll[x->queue[x->complete]].axis != axis)
			return false;
		m->mismatch |= x->queue[x->complete] != coll;
	}
	for (int i = 0; i < m->nranks; i++)
		if (same_group(m, r, &m->rank[i], axis) && &m->rank[i] != r)
			m->rank[i].complete++;
	m->rank[r - m->rank].complete++;
	return true;
}

/* Does every rank reach the end of the step? */
static bool
ends(const struct lower_plan *p)
{
	struct machine *m = talloc_zero(NULL, struct machine);
	bool moves = true, all = true;
	m->p = p;
	m->nranks = (int)ir_devices(p->module);
	assert_true(m->nranks <= MOST_RANKS && p->ncolls <= QUEUE);
	for (int i = 0, place = 0; i < m->nranks; i++, place = i)
		for (int a = p->module->naxes; a-- > 0;)
			if (!p->module->axis[a].time) {
				m->rank[i].coord[a] = place % p->module->axis[a].size;
				place /= p->module->axis[a].size;
			}
	while (moves && !m->mismatch) {
		moves = false;
		for (int i = 0; i < m->nranks; i++)
			while (compute(m, &m->rank[i]) || communicate(m, &m->rank[i]))
				moves = true;
	}
	for (int i = 0; i < m->nranks; i++)
		all &= m->rank[i].next == p->nactions && m->rank[i].complete == m->rank[i].posted;
	all &= !m->mismatch;
	talloc_free(m);
	return all;
}

static const char *const programs[] = {
	/* On two axes, with sends in between. */
	"mesh [dp = 2, tp = 2]\nfunc @main() {\n%x = input(\"x\") : f32[8/dp,4]\n"
	"%y = input(\"y\") : f32[8/tp,4]\n%s = sum(%x)\n%t = sum(%y)\n"
	"%a = allreduce(%s) {axis = dp}\n%b = allreduce(%t) {axis = tp}\n"
	"%r = reduce(%s) {axis = dp, to = 1}\n%u = reduce(%t) {axis = tp}\n%q = mul(%r, %r)\n"
	"%v = send(%q) {axis = dp, from = 1, to = 0}\n%w = replicate(%v) {axis = dp}\n"
	"output(\"a\", %a)\noutput(\"b\", %b)\noutput(\"q\", %w)\n}\n",
	/* A slice that one row of ranks holds; groups without data. */
	"mesh [dp = 2, tp = 4]\nfunc @main() {\n%x = input(\"x\") : f32[8/dp,4]\n"
	"%s = sum(%x) {dims = [0]}\n%r = reduce(%s) {axis = dp, to = 1}\n"
	"%p = partition(%r) {axis = tp, dim = 0}\n%z = sum(%p)\n%w = allreduce(%z) {axis = tp}\n"
	"output(\"w\", %w)\n%m = input(\"m\") : f32[8/dp,4]@tp=1\n%k = sum(%m)\n"
	"%n = allreduce(%k) {axis = dp}\n%b = replicate(%n) {axis = tp}\noutput(\"b\", %b)\n}\n",
	/* In loops. */
	"mesh [dp = 2, tp = 2]\nsteps [mb = 4]\nfunc @main() {\n"
	"%x = input(\"x\") : f32[16/mb/dp,4]\n%w = param(\"w\") : f32[4,4/tp]\n"
	"%y = matmul(%x, %w)\n%s = sum(%y) {dims = [0]}\n%a = allreduce(%s) {axis = dp}\n"
	"%g = allgather(%a) {axis = tp}\n%r = reduce(%g) {axis = mb}\n%l = sum(%r)\n"
	"output(\"l\", %l)\n}\n",
};

enum { NPROGRAMS = sizeof programs / sizeof *programs };

static struct lower_plan *
plan_of(const void *owner, int i)
{
	return talloc_steal(owner, fixture_of(talloc_asprintf(owner, "module @t\n%s", programs[i])))
		->plan;
}

static void
plans_end_on_every_rank(void **state)
{
	(void)state;
	for (int i = 0; i < NPROGRAMS; i++) {
		void *owner = talloc_new(NULL);
		assert_true(ends(plan_of(owner, i)));
		talloc_free(owner);
	}
}

/* Along the axis of a collective other ranks wait for ever. Along another axis whole groups are
 * absent, which is harmless for waits; but these hold the result, so it is refused, too. */
static void
guards_of_posts(void **state)
{
	(void)state;
	int hang = 0, end = 0;
	for (int i = 0; i < NPROGRAMS; i++) {
		void *owner = talloc_new(NULL);
		struct lower_plan *p = plan_of(owner, i);
		for (int k = 0; k < p->nactions; k++)
			for (uint8_t a = 0; a < p->module->naxes; a++) {
				struct lower_action *post = &p->action[k];
				if (post->kind != LOWER_POST || p->module->axis[a].time)
					continue;
				const bool own = p->coll[post->coll].axis == a;
				const struct lower_guard right = post->guard;
				post->guard = (struct lower_guard){1, {a}, {0}};
				assert_false(lower_check(p));
				assert_int_equal(ends(p), !own);
				hang += own;
				end += !own;
				post->guard = right;
			}
		assert_true(lower_check(p));
		talloc_free(owner);
	}
	assert_true(hang && end);
}

/*
 * Two collectives on two axes, each valid by itself: ranks on the diagonal of the mesh post one
 * first, the others the other.
 *
 *     (0,0) dp, tp   waits along dp for (1,0) tp, dp, which waits along tp for (1,1) dp, tp,
 *                    which waits along dp for (0,1) tp, dp, which waits along tp for (0,0)
 */
static void
a_cycle_of_two_axes(void **state)
{
	(void)state;
	void *owner = talloc_new(NULL);
	struct lower_plan *p = plan_of(owner, 0);
	struct lower_action *list = talloc_zero_array(owner, struct lower_action, 8);
	int post[2], n = 0;
	for (int i = 0; i < p->nactions && n < 2; i++)
		if (p->action[i].kind == LOWER_POST)
			post[n++] = i;
	assert_int_equal(n, 2);
	assert_int_not_equal(
		p->coll[p->action[post[0]].coll].axis, p->coll[p->action[post[1]].coll].axis);
	for (int r = 0; r < 4; r++)
		for (int k = 0; k < 2; k++) {
			const int diagonal = r / 2 == r % 2;
			list[2 * r + k] = p->action[post[diagonal ? k : 1 - k]];
			list[2 * r + k].guard = (struct lower_guard){
				2, {0, 1}, {(uint16_t)(r / 2), (uint16_t)(r % 2)}};
		}
	p->action = list;
	p->nactions = 8;
	assert_false(lower_check(p));
	assert_false(ends(p));
	/* In one order they end. */
	for (int r = 0; r < 4; r++)
		if (list[2 * r].coll != list[0].coll) {
			const struct lower_guard g = list[2 * r].guard;
			list[2 * r] = list[0];
			list[2 * r + 1] = list[1];
			list[2 * r].guard = list[2 * r + 1].guard = g;
		}
	assert_true(ends(p));
	talloc_free(owner);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(plans_end_on_every_rank),
		cmocka_unit_test(guards_of_posts), cmocka_unit_test(a_cycle_of_two_axes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
