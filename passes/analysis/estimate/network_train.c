/* The network, backward, and Adam. See network.h. */
#include "ir/base/alloc.h"
#include "ir/base/mix.h"
#include "passes/analysis/estimate/network_impl.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

static const float SLOPE = 0.2f; /* as in network.c */

/* --- backward --- */

/* For a dense layer: the gradients of its weights, bias and input from gy[n][DENSE]. */
static void
dense_back(const struct network *w, uint32_t in, const float *x, const float *weight,
	const float *y, float *gy, float *gweight, float *gbias, float *gx)
{
	const uint32_t n = w->b.ngraphs;

	for (uint32_t i = 0; i < n * DENSE; i++)
		gy[i] = y[i] > 0 ? gy[i] : 0;
	for (uint32_t i = 0; i < n; i++)
		for (int d = 0; d < DENSE; d++)
			gbias[d] += gy[i * DENSE + d];
	gemm(&w->library, true, false, in, DENSE, n, x, gy, 1, gweight);
	gemm(&w->library, false, true, n, in, DENSE, gy, weight, 0, gx);
}

static void
head_back(struct network *w)
{
	struct network_batch *b = &w->b;
	struct network_weights *g = w->gradient;

	for (uint32_t i = 0; i < b->ngraphs; i++) {
		g->bias3[0] += b->gy[i];
		for (int d = 0; d < DENSE; d++) {
			g->dense3[d] += b->gy[i] * b->d2[i * DENSE + d];
			b->gd2[i * DENSE + d] = b->gy[i] * w->w.dense3[d];
		}
	}
	dense_back(w, DENSE, b->d1, w->w.dense2[0], b->d2, b->gd2, g->dense2[0], g->bias2, b->gd1);
	dense_back(w, POOLED, b->pooled, w->w.dense1[0], b->d1, b->gd1, g->dense1[0], g->bias1,
		b->gpooled);
	for (uint32_t i = 0; i < b->nnodes; i++)
		memcpy(&b->gh[i * WIDTH], &b->gpooled[b->graph[i] * POOLED], WIDTH * sizeof(float));
}

/*
 * One head of one node: go[HEAD] is the gradient of sum_j alpha_j z_j. With g_j = go . z_j, that of
 * the score j is alpha_j (g_j - sum_k alpha_k g_k), times the slope of LeakyReLU.
 */
static void
attend_back(struct network *w, int layer, uint32_t i, int h, const float *go)
{
	struct network_batch *b = &w->b;
	const struct network_layer *l = &w->w.layer[layer];
	struct network_layer *g = &w->gradient->layer[layer];
	const float *z = b->z[layer], *alpha = b->alpha[layer], *logit = b->logit[layer];
	const int at = h * HEAD;
	float mean = 0, toward = 0;

	for (uint32_t e = b->first[i]; e < b->first[i + 1]; e++) {
		float dot = 0;
		for (int d = 0; d < HEAD; d++)
			dot += go[d] * z[b->edge[e].from * WIDTH + at + d];
		mean += alpha[e * HEADS + h] * dot;
	}
	for (uint32_t e = b->first[i]; e < b->first[i + 1]; e++) {
		const uint32_t j = b->edge[e].from;
		const float a = alpha[e * HEADS + h];
		float dot = 0;
		for (int d = 0; d < HEAD; d++) {
			dot += go[d] * z[j * WIDTH + at + d];
			b->gz[j * WIDTH + at + d] += a * go[d];
		}
		const float gs = a * (dot - mean) * (logit[e * HEADS + h] > 0 ? 1 : SLOPE);
		g->direction[h][b->edge[e].direction] += gs;
		toward += gs;
		for (int d = at; d < at + HEAD; d++) {
			g->from[d] += gs * z[j * WIDTH + d];
			b->gz[j * WIDTH + d] += gs * l->from[d];
		}
	}
	for (int d = at; d < at + HEAD; d++) {
		g->to[d] += toward * z[i * WIDTH + d];
		b->gz[i * WIDTH + d] += toward * l->to[d];
	}
}

static void
attention_back(struct network *w, int layer)
{
	struct network_batch *b = &w->b;
	struct network_layer *g = &w->gradient->layer[layer];

	memset(b->gz, 0, (size_t)b->nnodes * WIDTH * sizeof(float));
	for (uint32_t i = 0; i < b->nnodes; i++) {
		float go[WIDTH];
		for (int d = 0; d < WIDTH; d++) {
			go[d] = b->o[layer][i * WIDTH + d] > 0 ? b->gh[i * WIDTH + d] : 0;
			g->bias[d] += go[d];
		}
		for (int h = 0; h < HEADS; h++)
			attend_back(w, layer, i, h, go + h * HEAD);
	}
	gemm(&w->library, true, false, WIDTH, WIDTH, b->nnodes, b->h[layer], b->gz, 1,
		g->weight[0]);
	gemm(&w->library, false, true, b->nnodes, WIDTH, WIDTH, b->gz, w->w.layer[layer].weight[0],
		1, b->gh);
}

static void
embed_back(struct network *w)
{
	struct network_batch *b = &w->b;
	struct network_weights *g = w->gradient;

	gemm(&w->library, true, false, OP_FEATURES, WIDTH, b->nnodes, b->features, b->gh, 1,
		g->in[0]);
	for (uint32_t i = 0; i < b->nnodes; i++)
		for (int d = 0; d < WIDTH; d++) {
			g->in_bias[d] += b->gh[i * WIDTH + d];
			g->code[b->code[i]][d] += b->gh[i * WIDTH + d];
		}
}

static void
prepare(struct network *w)
{
	if (w->gradient)
		return;
	w->gradient = NEW(w, struct network_weights);
	w->m = NEW(w, struct network_weights);
	w->v = NEW(w, struct network_weights);
}

/* The loss of a difference; *slope receives its derivative. */
static double
loss_of(enum network_loss kind, double d, double *slope)
{
	const double s = NETWORK_LOGCOSH_SCALE, x = fabs(d) / s;

	if (kind == NETWORK_SQUARE) {
		*slope = 2 * d;
		return d * d;
	}
	*slope = 2 * s * tanh(d / s);
	return 2 * s * s * (x + log1p(exp(-2 * x)) - M_LN2);
}

void
network_set_loss(struct network *w, enum network_loss loss)
{
	w->loss = loss;
}

double
network_gradient(struct network *w, const struct network_graph *const *g, const double *target,
	const double *weight, uint32_t n)
{
	double loss = 0;

	prepare(w);
	memset(w->gradient, 0, sizeof *w->gradient);
	if (!n)
		return 0;
	network_forward(w, g, n);
	for (uint32_t i = 0; i < n; i++) {
		const double share = (weight ? weight[i] : 1) / n;
		double slope;
		loss += share * loss_of(w->loss, w->b.y[i] - target[i], &slope);
		w->b.gy[i] = (float)(share * slope);
	}
	head_back(w);
	for (int l = LAYERS - 1; l >= 0; l--)
		attention_back(w, l);
	embed_back(w);
	return loss;
}

/* --- Adam --- */

/* The usual constants; and weights decay, so that weights with few samples stay small.
 * docs/estimator.md compares other decays, and other noise and epochs below. */
static const float BETA1 = 0.9f, BETA2 = 0.999f, EPSILON = 1e-8f, DECAY = 0.3f;

static void
network_step(struct network *w, double rate)
{
	float *x = (float *)&w->w, *m = (float *)w->m, *v = (float *)w->v;
	const float *g = (const float *)w->gradient;

	w->steps++;
	const float c1 = (float)(1 - pow(BETA1, (double)w->steps));
	const float c2 = (float)(1 - pow(BETA2, (double)w->steps));
	for (size_t i = 0; i < NWEIGHTS; i++) {
		m[i] = BETA1 * m[i] + (1 - BETA1) * g[i];
		v[i] = BETA2 * v[i] + (1 - BETA2) * g[i] * g[i];
		x[i] -= (float)rate * (m[i] / c1 / (sqrtf(v[i] / c2) + EPSILON) + DECAY * x[i]);
	}
}

/* --- training --- */

struct network_training
network_training_defaults(void)
{
	return (struct network_training){.seed = 1,
		.epochs = 60,
		.batch = 32,
		.loss = NETWORK_LOGCOSH,
		.rate = 2e-3,
		.noise = 0.1};
}

static void
shuffle(uint64_t *state, uint32_t *order, uint32_t n)
{
	for (uint32_t i = n; i > 1; i--) {
		const uint32_t j = mix64_below(state, i), kept = order[i - 1];
		order[i - 1] = order[j];
		order[j] = kept;
	}
}

struct batch {
	const struct network_graph **g;
	double *target, *weight;
};

/* Training data of a network. */
struct lesson {
	const struct network_graph *const *g;
	const double *target, *weight;
	uint32_t n;
};

static double
run_epoch(struct network *w, const struct lesson *x, const uint32_t *order,
	const struct network_training *t, double rate, struct batch *b)
{
	const uint32_t n = x->n;
	double loss = 0;

	for (uint32_t begin = 0; begin < n; begin += t->batch) {
		const uint32_t count = n - begin < t->batch ? n - begin : t->batch;
		for (uint32_t i = 0; i < count; i++) {
			const uint32_t k = order[begin + i];
			b->g[i] = x->g[k];
			b->target[i] = x->target[k];
			b->weight[i] = x->weight ? x->weight[k] : 1;
		}
		loss += network_gradient(w, b->g, b->target, b->weight, count) * count;
		network_step(w, rate);
	}
	return n ? loss / n : 0;
}

void
network_train(struct network *w, const struct network_graph *const *g, const double *target,
	const double *weight, uint32_t n, const struct network_training *t)
{
	const struct lesson x = {g, target, weight, n};
	void *scratch = alloc_scratch(NULL);
	uint32_t *order = NEW_ARRAY(scratch, uint32_t, n);
	struct batch b = {NEW_ARRAY(scratch, const struct network_graph *, t->batch),
		NEW_ARRAY(scratch, double, t->batch), NEW_ARRAY(scratch, double, t->batch)};
	uint64_t state = t->seed;

	w->noise = (float)t->noise;
	w->loss = t->loss;
	w->random.state = t->seed;
	for (uint32_t i = 0; i < n; i++)
		order[i] = i;
	for (uint32_t epoch = 0; epoch < t->epochs; epoch++) {
		const double done = (double)epoch / t->epochs;
		shuffle(&state, order, n);
		const double loss =
			run_epoch(w, &x, order, t, t->rate * 0.5 * (1 + cos(M_PI * done)), &b);
		if (t->progress)
			t->progress(t->data, epoch, loss);
	}
	w->noise = 0;
	talloc_free(scratch);
}

/* --- features --- */

struct moments {
	double sum, squares;
};

static void
set_norm(const struct moments *m, double n, float *shift, float *scale)
{
	const double mean = n > 0 ? m->sum / n : 0;
	const double variance = n > 0 ? m->squares / n - mean * mean : 0;

	*shift = (float)mean;
	/* A feature that is constant in all samples says nothing about other kernels. */
	*scale = variance > 1e-6 ? (float)(1 / sqrt(variance)) : 0;
}

void
network_normalize(struct network *w, const struct network_graph *const *g, uint32_t n)
{
	struct moments op[OP_FEATURES] = {{0}}, kernel[KERNEL_FEATURES] = {{0}};
	double nodes = 0;

	for (uint32_t i = 0; i < n; i++) {
		for (uint32_t k = 0; k < g[i]->n; k++, nodes++)
			for (int f = 0; f < OP_FEATURES; f++) {
				const double x = g[i]->op[k * OP_FEATURES + f];
				op[f].sum += x;
				op[f].squares += x * x;
			}
		for (int f = 0; f < KERNEL_FEATURES; f++) {
			kernel[f].sum += g[i]->kernel[f];
			kernel[f].squares += (double)g[i]->kernel[f] * g[i]->kernel[f];
		}
	}
	for (int f = 0; f < OP_FEATURES; f++)
		set_norm(&op[f], nodes, &w->norm.op_shift[f], &w->norm.op_scale[f]);
	for (int f = 0; f < KERNEL_FEATURES; f++)
		set_norm(&kernel[f], n, &w->norm.kernel_shift[f], &w->norm.kernel_scale[f]);
}
