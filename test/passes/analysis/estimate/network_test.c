/*
 * The graph network: its gradient against differences of its loss, that it learns what can be
 * learned, that files keep it, and that it does not see how ops are numbered.
 */
#include "passes/analysis/estimate/network.h"
#include "test/unit.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRAPHS = 40, OPS = 6 };

/* Chains with a shortcut, of 1 to OPS ops, with features that look random. */
struct samples {
	struct network_graph graph[GRAPHS];
	const struct network_graph *pointer[GRAPHS];
	float op[GRAPHS][OPS * NETWORK_OP_FEATURES];
	uint16_t code[GRAPHS][OPS];
	uint32_t first[GRAPHS][OPS + 1], read[GRAPHS][2 * OPS];
	double target[GRAPHS];
};

static float
pattern(uint32_t i)
{
	return (float)sin(12.9898 * i) * 1.2f;
}

static void
make_graph(struct samples *s, uint32_t g)
{
	const uint32_t n = 1 + g % OPS;
	uint32_t nreads = 0;

	for (uint32_t i = 0; i < n; i++) {
		s->first[g][i] = nreads;
		if (i > 0)
			s->read[g][nreads++] = i - 1;
		if (i > 2)
			s->read[g][nreads++] = 0;
		s->code[g][i] = (uint16_t)((g + i) % 5);
		for (uint32_t f = 0; f < NETWORK_OP_FEATURES; f++)
			s->op[g][i * NETWORK_OP_FEATURES + f] = pattern(g * 977 + i * 31 + f);
	}
	s->first[g][n] = nreads;
	s->graph[g] = (struct network_graph){n, s->op[g], s->code[g], s->first[g], s->read[g], {0}};
	for (uint32_t f = 0; f < NETWORK_KERNEL_FEATURES; f++)
		s->graph[g].kernel[f] = pattern(g * 57 + f + 7);
	/* Something of an op, of how many there are, and of the whole. */
	s->target[g] = 0.5 * s->op[g][3] + 0.1 * n + 0.3 * s->graph[g].kernel[2];
	s->pointer[g] = &s->graph[g];
}

static int
setup(void **state)
{
	struct samples *s = talloc_zero(NULL, struct samples);

	for (uint32_t g = 0; g < GRAPHS; g++)
		make_graph(s, g);
	*state = s;
	return 0;
}

/* Samples count differently. */
static double
weight_of(int g)
{
	return g % 3 * 0.7 + 0.2;
}

static double
loss_of(struct network *w, const struct samples *s, enum network_loss kind)
{
	double loss = 0, answer[GRAPHS];

	network_evaluate(w, s->pointer, GRAPHS, answer);
	for (int g = 0; g < GRAPHS; g++) {
		const double d = answer[g] - s->target[g], c = NETWORK_LOGCOSH_SCALE;
		loss += weight_of(g) / GRAPHS *
			(kind == NETWORK_SQUARE ? d * d : 2 * c * c * log(cosh(d / c)));
	}
	return loss;
}

enum { BLOCK = 32 };

/* A direction of length 1 in a block, that has to do with nothing. */
static double
direction(size_t i, size_t n)
{
	return (i * 7919 % 13 < 6 ? 1 : -1) / sqrt((double)n);
}

/* The loss `step` away in weights [begin, begin + n). */
static double
loss_along(struct network *w, const struct samples *s, enum network_loss kind, size_t begin,
	size_t n, double step)
{
	float kept[BLOCK];

	for (size_t i = 0; i < n; i++) {
		float *x = network_weight(w, begin + i);
		kept[i] = *x;
		*x += (float)(step * direction(begin + i, n));
	}
	const double loss = loss_of(w, s, kind);
	for (size_t i = 0; i < n; i++)
		*network_weight(w, begin + i) = kept[i];
	return loss;
}

static struct network_training
training(uint32_t epochs)
{
	struct network_training t = network_training_defaults();

	t.epochs = epochs;
	t.batch = 8;
	t.noise = 0;
	t.loss = NETWORK_SQUARE;
	return t;
}

/* The slope of the loss along the weights [begin, begin + n), between points `step` away. */
static double
slope_along(struct network *w, const struct samples *s, enum network_loss kind, size_t begin,
	size_t n, double step)
{
	return (loss_along(w, s, kind, begin, n, step) - loss_along(w, s, kind, begin, n, -step)) /
	       (2 * step);
}

/*
 * In any direction the loss rises by the gradient times it. Looked at where the loss is small,
 * since floats leave an error in proportion to it; blocks are as long as the vectors of attention,
 * so that none hides behind a matrix. The loss bends where an activation does: if it does within a
 * step, a shorter one must agree.
 */
static void
check_gradient(const struct samples *s, enum network_loss kind)
{
	static const double step = 1e-3, shortest = 1e-4, error = 2e-4;
	struct network *w = network_create(s, 3);
	const struct network_training t = training(12);
	const size_t all = network_weights(w);
	double weight[GRAPHS];
	int blocks = 0;

	for (int g = 0; g < GRAPHS; g++)
		weight[g] = weight_of(g);

	network_train(w, s->pointer, s->target, NULL, GRAPHS, &t);
	network_set_loss(w, kind);
	const double loss = network_gradient(w, s->pointer, s->target, weight, GRAPHS);
	assert_true(fabs(loss - loss_of(w, s, kind)) < 1e-6 + 1e-6 * loss);
	for (size_t begin = 0; begin < all; begin += BLOCK) {
		const size_t n = all - begin < BLOCK ? all - begin : BLOCK;
		double is = 0;
		for (size_t i = begin; i < begin + n; i++)
			is += network_derivative(w, i) * direction(i, n);
		double should = 0;
		bool agree = false;
		for (double h = step; h >= shortest && !agree; h /= 3) {
			should = slope_along(w, s, kind, begin, n, h);
			agree = fabs(is - should) <= error + 0.05 * fabs(should);
		}
		if (!agree)
			fail_msg("weights from %zu: gradient %g, difference %g", begin, is, should);
		blocks += fabs(should) > 2 * error;
	}
	assert_true(blocks > 200);
}

static void
the_gradient_is_that_of_the_loss(void **state)
{
	check_gradient(*state, NETWORK_SQUARE);
	check_gradient(*state, NETWORK_LOGCOSH);
}

/* The answer of several is the mean of theirs; copies answer alike. */
static void
several_answer_together(void **state)
{
	struct samples *s = *state;
	double first[GRAPHS], second[GRAPHS], both[GRAPHS], copied[GRAPHS];
	struct network *w = network_create(s, 3), *other = network_create(s, 4);

	network_evaluate(w, s->pointer, GRAPHS, first);
	network_evaluate(other, s->pointer, GRAPHS, second);
	network_join(w, other);
	network_evaluate(w, s->pointer, GRAPHS, both);
	network_evaluate(network_clone(s, w), s->pointer, GRAPHS, copied);
	for (int g = 0; g < GRAPHS; g++) {
		assert_true(fabs(both[g] - (first[g] + second[g]) / 2) < 1e-12);
		assert_true(both[g] == copied[g]);
		assert_true(g || first[g] != second[g]);
	}
}

/* The targets vary by about 1: predicting their mean has a loss of 0.2. */
static void
it_learns(void **state)
{
	struct samples *s = *state;
	struct network *w = network_create(s, 1), *again = network_create(s, 1);
	const struct network_training t = training(150);

	const double before = network_gradient(w, s->pointer, s->target, NULL, GRAPHS);
	network_train(w, s->pointer, s->target, NULL, GRAPHS, &t);
	const double after = network_gradient(w, s->pointer, s->target, NULL, GRAPHS);
	if (!(after < 0.02 && after < before / 5))
		fail_msg("loss %g before, %g after", before, after);
	network_train(again, s->pointer, s->target, NULL, GRAPHS, &t);
	assert_memory_equal(
		network_weight(w, 0), network_weight(again, 0), network_weights(w) * sizeof(float));
}

static void
the_order_of_the_ops_does_not_matter(void **state)
{
	struct samples *s = *state;
	struct network *w = network_create(s, 5);
	/* Of a chain of three the last comes first. */
	const uint32_t old_of[] = {2, 0, 1}, first[] = {0, 1, 1, 2}, read[] = {2, 1};
	const struct network_graph *from = &s->graph[2];
	struct network_graph to = *from;
	float op[3 * NETWORK_OP_FEATURES];
	uint16_t code[3];
	double a, b;

	assert_int_equal(from->n, 3);
	for (int i = 0; i < 3; i++) {
		memcpy(op + i * NETWORK_OP_FEATURES, from->op + old_of[i] * NETWORK_OP_FEATURES,
			sizeof *op * NETWORK_OP_FEATURES);
		code[i] = from->code[old_of[i]];
	}
	to.op = op, to.code = code, to.first = first, to.read = read;
	network_evaluate(w, &from, 1, &a);
	network_evaluate(w, &(const struct network_graph *){&to}, 1, &b);
	assert_true(fabs(a - b) < 1e-4 * (1 + fabs(a)));
	/* But who reads whom does. */
	to.read = (const uint32_t[]){1, 2};
	network_evaluate(w, &(const struct network_graph *){&to}, 1, &b);
	assert_true(fabs(a - b) > 1e-3);
}

static void
count_message(void *data, const struct diag_message *m)
{
	(void)m;
	++*(int *)data;
}

static void
files_keep_it(void **state)
{
	struct samples *s = *state;
	struct network *w = network_create(s, 1);
	struct diag *d = diag_create(s);
	const struct network_training t = training(3);
	char *path = talloc_asprintf(s, "/tmp/network%d.safetensors", (int)getpid());
	double a[GRAPHS], b[GRAPHS];
	int messages = 0;

	network_normalize(w, s->pointer, GRAPHS);
	network_train(w, s->pointer, s->target, NULL, GRAPHS, &t);
	struct network *other = network_create(s, 2);
	network_train(other, s->pointer, s->target, NULL, GRAPHS, &t);
	network_join(w, other);
	assert_true(network_save(w, d, path, "a device"));
	struct network *back = network_load(s, d, path);
	assert_non_null(back);
	assert_string_equal(network_device(back), "a device");
	network_evaluate(w, s->pointer, GRAPHS, a);
	network_evaluate(back, s->pointer, GRAPHS, b);
	assert_memory_equal(a, b, sizeof a);
	assert_int_equal(truncate(path, 5000), 0);
	diag_set_handler(d, count_message, &messages);
	assert_null(network_load(s, d, path));
	unlink(path);
	assert_null(network_load(s, d, path));
	assert_int_equal(messages, 2);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, free_scratch)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(the_gradient_is_that_of_the_loss),
		TEST(several_answer_together),
		TEST(it_learns),
		TEST(the_order_of_the_ops_does_not_matter),
		TEST(files_keep_it),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
