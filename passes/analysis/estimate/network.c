/* The network, forward. See network.h. */
#include "passes/analysis/estimate/network.h"

#include "ir/base/mix.h"
#include "ir/base/alloc.h"
#include "passes/analysis/estimate/network_impl.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

/* Slope for attention scores below 0, from the paper on attention networks. */
static const float SLOPE = 0.2f;

/* Uniform in [-1, 1), the same on all machines. */
static float
network_uniform(struct network_random *r)
{
	return (float)((double)(mix64_next(&r->state) >> 11) * 0x1p-52 - 1);
}

/* --- a batch --- */

static float *
floats(struct network *w, float *old, size_t n)
{
	return RESIZE(w, old, float, n);
}

static void
grow_graphs(struct network *w, uint32_t n)
{
	struct network_batch *b = &w->b;

	if (n <= b->graphs_room)
		return;
	b->graphs_room = n;
	b->pooled = floats(w, b->pooled, (size_t)n * POOLED);
	b->gpooled = floats(w, b->gpooled, (size_t)n * POOLED);
	b->d1 = floats(w, b->d1, (size_t)n * DENSE);
	b->d2 = floats(w, b->d2, (size_t)n * DENSE);
	b->gd1 = floats(w, b->gd1, (size_t)n * DENSE);
	b->gd2 = floats(w, b->gd2, (size_t)n * DENSE);
	b->y = floats(w, b->y, n);
	b->gy = floats(w, b->gy, n);
}

static void
grow_nodes(struct network *w, uint32_t n)
{
	struct network_batch *b = &w->b;

	if (n <= b->nodes_room)
		return;
	b->nodes_room = n;
	b->graph = RESIZE(w, b->graph, uint32_t, n);
	b->code = RESIZE(w, b->code, uint16_t, n);
	b->first = RESIZE(w, b->first, uint32_t, n + 1);
	b->features = floats(w, b->features, (size_t)n * OP_FEATURES);
	b->score = floats(w, b->score, (size_t)n * 2 * HEADS);
	for (int l = 0; l <= LAYERS; l++)
		b->h[l] = floats(w, b->h[l], (size_t)n * WIDTH);
	for (int l = 0; l < LAYERS; l++) {
		b->z[l] = floats(w, b->z[l], (size_t)n * WIDTH);
		b->o[l] = floats(w, b->o[l], (size_t)n * WIDTH);
	}
	b->gh = floats(w, b->gh, (size_t)n * WIDTH);
	b->gz = floats(w, b->gz, (size_t)n * WIDTH);
}

static void
grow_edges(struct network *w, uint32_t n)
{
	struct network_batch *b = &w->b;

	if (n <= b->edges_room)
		return;
	b->edges_room = n;
	b->edge = RESIZE(w, b->edge, struct network_edge, n);
	for (int l = 0; l < LAYERS; l++) {
		b->alpha[l] = floats(w, b->alpha[l], (size_t)n * HEADS);
		b->logit[l] = floats(w, b->logit[l], (size_t)n * HEADS);
	}
}

static void
count_batch(struct network *w, const struct network_graph *const *g, uint32_t n)
{
	uint32_t nodes = 0, edges = 0;

	for (uint32_t i = 0; i < n; i++) {
		nodes += g[i]->n;
		edges += g[i]->n + 2 * g[i]->first[g[i]->n];
	}
	grow_graphs(w, n);
	grow_nodes(w, nodes);
	grow_edges(w, edges);
	w->b.ngraphs = n;
}

static void
add_edge(struct network_batch *b, uint32_t from, uint32_t direction)
{
	b->edge[b->nedges++] = (struct network_edge){from, direction};
}

/* Graphs are small: the readers of an op are found by scanning all ops. */
static void
add_readers(struct network_batch *b, const struct network_graph *g, uint32_t i, uint32_t base)
{
	for (uint32_t j = 0; j < g->n; j++)
		for (uint32_t k = g->first[j]; k < g->first[j + 1]; k++)
			if (g->read[k] == i)
				add_edge(b, base + j, READ_BY);
}

static float
normalized(struct network *w, float x, float shift, float scale)
{
	const float noise = w->noise > 0 ? w->noise * network_uniform(&w->random) : 0;

	return (x - shift) * scale + noise;
}

static void
add_graph(struct network *w, const struct network_graph *g, uint32_t number)
{
	struct network_batch *b = &w->b;
	const uint32_t base = b->nnodes;

	for (uint32_t i = 0; i < g->n; i++) {
		const uint32_t node = base + i;
		b->graph[node] = number;
		b->code[node] = g->code[i];
		for (int f = 0; f < OP_FEATURES; f++)
			b->features[node * OP_FEATURES + f] =
				normalized(w, g->op[i * OP_FEATURES + f], w->norm.op_shift[f],
					w->norm.op_scale[f]);
		b->first[node] = b->nedges;
		add_edge(b, node, SELF);
		for (uint32_t k = g->first[i]; k < g->first[i + 1]; k++)
			add_edge(b, base + g->read[k], READS);
		add_readers(b, g, i, base);
	}
	b->nnodes += g->n;
	b->first[b->nnodes] = b->nedges;
	for (int f = 0; f < KERNEL_FEATURES; f++)
		b->pooled[number * POOLED + WIDTH + f] = normalized(
			w, g->kernel[f], w->norm.kernel_shift[f], w->norm.kernel_scale[f]);
}

static void
make_batch(struct network *w, const struct network_graph *const *g, uint32_t n)
{
	count_batch(w, g, n);
	w->b.nnodes = w->b.nedges = 0;
	for (uint32_t i = 0; i < n; i++)
		add_graph(w, g[i], i);
}

/* --- layers --- */

static void
embed(struct network *w)
{
	struct network_batch *b = &w->b;

	for (uint32_t i = 0; i < b->nnodes; i++)
		for (int d = 0; d < WIDTH; d++)
			b->h[0][i * WIDTH + d] = w->w.in_bias[d] + w->w.code[b->code[i]][d];
	gemm(&w->library, false, false, b->nnodes, WIDTH, OP_FEATURES, b->features, w->w.in[0], 1,
		b->h[0]);
}

/* The scores of a node for each head, as the attending node and as the attended one. */
static void
scores(const struct network_layer *l, const float *z, uint32_t n, float *score)
{
	for (uint32_t i = 0; i < n; i++)
		for (int h = 0; h < HEADS; h++) {
			float to = 0, from = 0;
			for (int d = h * HEAD; d < (h + 1) * HEAD; d++) {
				to += z[i * WIDTH + d] * l->to[d];
				from += z[i * WIDTH + d] * l->from[d];
			}
			score[i * 2 * HEADS + h] = to;
			score[i * 2 * HEADS + HEADS + h] = from;
		}
}

/* alpha = softmax over the neighbours of LeakyReLU(to . z_i + from . z_j + direction) */
static void
attend(const struct network_layer *l, const struct network_batch *b, uint32_t i, int h,
	float *logit, float *alpha)
{
	float most = -INFINITY, sum = 0;

	for (uint32_t e = b->first[i]; e < b->first[i + 1]; e++) {
		const float x = b->score[i * 2 * HEADS + h] +
				b->score[b->edge[e].from * 2 * HEADS + HEADS + h] +
				l->direction[h][b->edge[e].direction];
		logit[e * HEADS + h] = x;
		alpha[e * HEADS + h] = x > 0 ? x : SLOPE * x;
		most = fmaxf(most, alpha[e * HEADS + h]);
	}
	for (uint32_t e = b->first[i]; e < b->first[i + 1]; e++)
		sum += alpha[e * HEADS + h] = expf(alpha[e * HEADS + h] - most);
	for (uint32_t e = b->first[i]; e < b->first[i + 1]; e++)
		alpha[e * HEADS + h] /= sum;
}

/* h' = h + ReLU(sum of alpha z + bias) */
static void
attention(struct network *w, int layer)
{
	struct network_batch *b = &w->b;
	const struct network_layer *l = &w->w.layer[layer];
	const float *z = b->z[layer], *alpha = b->alpha[layer];

	gemm(&w->library, false, false, b->nnodes, WIDTH, WIDTH, b->h[layer], l->weight[0], 0,
		b->z[layer]);
	scores(l, z, b->nnodes, b->score);
	for (uint32_t i = 0; i < b->nnodes; i++) {
		float *o = &b->o[layer][i * WIDTH];
		memcpy(o, l->bias, sizeof l->bias);
		for (int h = 0; h < HEADS; h++)
			attend(l, b, i, h, b->logit[layer], b->alpha[layer]);
		for (uint32_t e = b->first[i]; e < b->first[i + 1]; e++)
			for (int d = 0; d < WIDTH; d++)
				o[d] += alpha[e * HEADS + d / HEAD] *
					z[b->edge[e].from * WIDTH + d];
		for (int d = 0; d < WIDTH; d++)
			b->h[layer + 1][i * WIDTH + d] =
				b->h[layer][i * WIDTH + d] + fmaxf(o[d], 0);
	}
}

static void
pool(struct network *w)
{
	struct network_batch *b = &w->b;

	for (uint32_t g = 0; g < b->ngraphs; g++)
		memset(&b->pooled[g * POOLED], 0, WIDTH * sizeof(float));
	for (uint32_t i = 0; i < b->nnodes; i++)
		for (int d = 0; d < WIDTH; d++)
			b->pooled[b->graph[i] * POOLED + d] += b->h[LAYERS][i * WIDTH + d];
}

static void
dense(const struct network *w, uint32_t in, const float *x, const float *weight, const float *bias,
	float *y)
{
	gemm(&w->library, false, false, w->b.ngraphs, DENSE, in, x, weight, 0, y);
	for (uint32_t g = 0; g < w->b.ngraphs; g++)
		for (int d = 0; d < DENSE; d++)
			y[g * DENSE + d] = fmaxf(y[g * DENSE + d] + bias[d], 0);
}

void
network_forward(struct network *w, const struct network_graph *const *g, uint32_t n)
{
	struct network_batch *b = &w->b;

	gemm_open(&w->library);
	make_batch(w, g, n);
	embed(w);
	for (int l = 0; l < LAYERS; l++)
		attention(w, l);
	pool(w);
	dense(w, POOLED, b->pooled, w->w.dense1[0], w->w.bias1, b->d1);
	dense(w, DENSE, b->d1, w->w.dense2[0], w->w.bias2, b->d2);
	for (uint32_t i = 0; i < n; i++) {
		float y = w->w.bias3[0];
		for (int d = 0; d < DENSE; d++)
			y += b->d2[i * DENSE + d] * w->w.dense3[d];
		b->y[i] = y;
	}
}

void
network_evaluate(
	struct network *w, const struct network_graph *const *g, uint32_t n, double *answer)
{
	if (!n)
		return;
	double members = 0;
	for (uint32_t i = 0; i < n; i++)
		answer[i] = 0;
	for (; w; w = w->next, members++) {
		network_forward(w, g, n);
		for (uint32_t i = 0; i < n; i++)
			answer[i] += w->b.y[i];
	}
	for (uint32_t i = 0; i < n; i++)
		answer[i] /= members;
}

/* --- making one --- */

/* He: variance 2 / inputs. */
static void
fill(struct network_random *r, float *w, size_t n, int inputs)
{
	const float bound = sqrtf(6.0f / (float)inputs);

	for (size_t i = 0; i < n; i++)
		w[i] = bound * network_uniform(r);
}

/* An op that no sample contains keeps 0 for its code. */
struct network *
network_create(const void *owner, uint64_t seed)
{
	struct network *n = NEW(owner, struct network);
	struct network_weights *w = &n->w;
	struct network_random r = {seed};

	fill(&r, w->in[0], OP_FEATURES * WIDTH, OP_FEATURES);
	for (int l = 0; l < LAYERS; l++) {
		/* Half of that: each layer adds to its input. */
		fill(&r, w->layer[l].weight[0], WIDTH * WIDTH, 4 * WIDTH);
		fill(&r, w->layer[l].to, WIDTH, 2 * HEAD);
		fill(&r, w->layer[l].from, WIDTH, 2 * HEAD);
	}
	fill(&r, w->dense1[0], POOLED * DENSE, POOLED);
	fill(&r, w->dense2[0], DENSE * DENSE, DENSE);
	fill(&r, w->dense3, DENSE, 8 * DENSE);
	for (int f = 0; f < OP_FEATURES; f++)
		n->norm.op_scale[f] = 1;
	for (int f = 0; f < KERNEL_FEATURES; f++)
		n->norm.kernel_scale[f] = 1;
	n->device = TEXT(n, "%s", "");
	return n;
}

struct network *
network_clone(const void *owner, const struct network *w)
{
	struct network *n = NEW(owner, struct network);

	n->w = w->w;
	n->norm = w->norm;
	n->device = TEXT(n, "%s", w->device);
	n->next = w->next ? network_clone(n, w->next) : NULL;
	return n;
}

void
network_join(struct network *w, struct network *other)
{
	while (w->next)
		w = w->next;
	w->next = talloc_steal(w, other);
}

const char *
network_device(const struct network *w)
{
	return w->device;
}

size_t
network_weights(const struct network *w)
{
	(void)w;
	return NWEIGHTS;
}

float *
network_weight(struct network *w, size_t i)
{
	return (float *)&w->w + i;
}

float
network_derivative(const struct network *w, size_t i)
{
	return ((const float *)w->gradient)[i];
}
