/* Which actions wait for which in a schedule: see graph.h. */
#include "passes/pipeline/graph.h"

#include "ir/base/alloc.h"

struct schedule_graph *
graph_create(const void *owner, const struct schedule *s)
{
	struct schedule_graph *g = NEW(owner, struct schedule_graph);
	int most = 0;

	g->s = s;
	for (int r = 0; r < s->nranks; r++)
		most += s->rank[r].n;
	g->action = NEW_ARRAY(g, const struct schedule_action *, most);
	g->rank = NEW_ARRAY(g, int, most);
	g->node = NEW_ARRAY(g, int, most);
	g->receive = NEW_ARRAY(g, int, most);
	for (int r = 0; r < s->nranks; r++)
		for (int i = 0; i < s->rank[r].n; i++) {
			if (s->rank[r].action[i].kind == SCHEDULE_IDLE)
				continue;
			g->action[g->n] = &s->rank[r].action[i];
			g->rank[g->n] = r;
			g->node[g->n] = g->n;
			g->receive[g->n] = -1;
			g->n++;
		}
	return g;
}

char *
graph_text(const struct schedule_graph *g, int i)
{
	return schedule_action_text(g, g->action[i]);
}

char *
graph_where(const struct schedule_graph *g, int i)
{
	return text_print(
		g, "rank %d, cell %d: '%s'", g->rank[i], g->action[i]->cell, graph_text(g, i));
}

/* Are messages nodes, with a send and a receive each? */
static bool
is_message(enum schedule_kind k)
{
	return k >= SCHEDULE_SEND_F && k <= SCHEDULE_RECV_B;
}

static bool
is_send(enum schedule_kind k)
{
	return k == SCHEDULE_SEND_F || k == SCHEDULE_SEND_B;
}

static void
join_messages(struct schedule_graph *g)
{
	for (int i = 0; i < g->n; i++) {
		const struct schedule_action *a = g->action[i];
		if (!is_send(a->kind))
			continue;
		const int receive = a->kind == SCHEDULE_SEND_F
					    ? graph_at(g, SCHEDULE_RECV_F, a->stage + 1, a->step)
					    : graph_at(g, SCHEDULE_RECV_B, a->stage - 1, a->step);
		g->receive[i] = receive;
		g->node[receive] = i;
	}
}

int
graph_value(const struct schedule_graph *g, int i)
{
	const struct schedule_action *a = g->action[i];
	const bool backward = a->kind == SCHEDULE_INPUT || a->kind == SCHEDULE_BACKWARD;

	if (a->kind == SCHEDULE_FORWARD && a->stage > 0) {
		const int receive = graph_at(g, SCHEDULE_RECV_F, a->stage, a->step);
		return receive < 0 ? graph_at(g, SCHEDULE_FORWARD, a->stage - 1, a->step)
				   : g->node[receive];
	}
	if (backward && a->stage + 1 < g->s->nstages) {
		const int receive = graph_at(g, SCHEDULE_RECV_B, a->stage, a->step);
		return receive < 0 ? graph_backward(g, a->stage + 1, a->step) : g->node[receive];
	}
	return -1;
}

static void
find_waits(struct schedule_graph *g, enum schedule_waits how)
{
	int *last = NEW_ARRAY(g, int, g->s->nranks); /* by rank: last message from this rank */
	int before = -1;

	g->wait = NEW_ARRAY(g, struct schedule_node, g->n);
	for (int i = 0; i < g->n; i++)
		g->wait[i] = (struct schedule_node){{-1, -1, -1, -1}};
	for (int i = 0; i < g->n; i++) {
		if (!i || g->rank[i] != g->rank[i - 1]) {
			before = -1;
			for (int r = 0; r < g->s->nranks; r++)
				last[r] = -1;
		}
		const int node = g->node[i];
		struct schedule_node *w = &g->wait[node];
		if (!is_message(g->action[i]->kind)) {
			w->wait[WAIT_ORDER] = before;
			w->wait[WAIT_VALUE] = graph_value(g, i);
			before = node;
			continue;
		}
		const bool send = is_send(g->action[i]->kind);
		int *queue = &last[g->rank[send ? g->receive[i] : node]];
		w->wait[send ? WAIT_ORDER : WAIT_RECEIVER] = before;
		if (how == SCHEDULE_QUEUED)
			w->wait[send ? WAIT_QUEUE : WAIT_RECEIVER_QUEUE] = *queue;
		*queue = node;
		if (how == SCHEDULE_BLOCKING)
			before = node;
	}
}

/* Depth-first search from each node, along its waits. */
static bool
find_order(struct schedule_graph *g)
{
	enum { NEW_NODE, OPEN, DONE };
	char *state = ZERO_ARRAY(g, char, g->n);
	int *stack = NEW_ARRAY(g, int, g->n), *next = ZERO_ARRAY(g, int, g->n);

	g->order = NEW_ARRAY(g, int, g->n);
	for (int root = 0; root < g->n; root++) {
		int depth = 0;
		if (g->node[root] != root || state[root] == DONE)
			continue;
		stack[depth++] = root;
		state[root] = OPEN;
		while (depth) {
			const int i = stack[depth - 1];
			if (next[i] == WAITS) {
				state[i] = DONE;
				g->order[g->norder++] = i;
				depth--;
				continue;
			}
			const int j = g->wait[i].wait[next[i]++];
			if (j < 0 || state[j] == DONE)
				continue;
			if (state[j] == OPEN) {
				int first = depth - 1;
				while (stack[first] != j)
					first--;
				g->cycle = COPY_ARRAY(g, int, stack + first, depth - first);
				g->ncycle = depth - first;
				return false;
			}
			state[j] = OPEN;
			stack[depth++] = j;
		}
	}
	return true;
}

bool
graph_finish(struct schedule_graph *g, enum schedule_waits how)
{
	join_messages(g);
	find_waits(g, how);
	return find_order(g);
}
