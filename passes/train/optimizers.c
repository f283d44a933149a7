/*
 * The optimizers: a row each, OPTIMIZER(name, lr, summary, rule, check, options ...), with the default of the learning rate,
 * the rule that gives the direction of a param's step (rule.h), NULL or what checks the options, and the options that not all
 * optimizers have. Everything else is in optimizer.c. They require the gradients of grad and remove their outputs.
 */
#include "passes/train/rule.h"

typedef bool check_options(struct pass_run *run, const struct ir_module *m);

static bool
optimize(struct pass_run *run, struct ir_module *m, const char *rule, const char *told,
	check_options *check)
{
	return (!check || check(run, m)) && optimizer_run(run, m, rule, told);
}

/* clang-format off */
#define OPTIMIZER(id, rate, about, rule, check, ...)                                               \
	OPTIMIZER_TELLS(id, rate, about, rule, "rate", check, __VA_ARGS__)
/* The same for one whose rate is not that of its options: `told` in optimizer.h. */
#define OPTIMIZER_TELLS(id, rate, about, rule, told, check, ...)                                   \
	static const struct pass_option id##_options[] = {                                         \
		OPTIMIZER_OPTIONS(rate), __VA_ARGS__, {0}};                                        \
	static bool id##_run(struct pass_run *run, struct ir_module *m)                            \
	{                                                                                          \
		return optimize(run, m, rule, told, check);                                        \
	}                                                                                          \
	const struct pass pass_##id = {.name = #id, .family = "train", .summary = about,           \
		.options = id##_options, .needs = "grad", .provides = "optimizer,!grad",           \
		.conflicts = "optimizer", .run = id##_run, .keeps_bits = true};

/*
 * Weight decay is added to the gradient (the gradient of a term of the loss, L2), to the direction of the update, or to either.
 * The fallback is given as text.
 */
#define DECAY_OF(rate, what)                                                                       \
	{"weight_decay", PASS_FLOAT, rate, "fraction of a param that is added to its " what, NULL, 0, 1e9}, \
	{"decay_rank", PASS_INT, "0", "params of lower rank do not decay; 2 exempts biases and norm scales", NULL, 0, IR_MAX_RANK}
#define L2 DECAY_OF("0", "gradient")
#define DECAY(rate) DECAY_OF(rate, "update direction")
#define DECOUPLED L2, \
	{"decoupled", PASS_BOOL, "false", "add the decay to the update direction instead, as adamw does", NULL, 0, 0}
#define EPS(rate) {"eps", PASS_FLOAT, rate, "added to the denominator, against division by zero", NULL, 0, 1}
#define MOMENTUM(rate) {"momentum", PASS_FLOAT, rate, "momentum coefficient: decay rate of the velocity", NULL, 0, 1}
#define NESTEROV(on) {"nesterov", PASS_BOOL, on, "Nesterov momentum (look-ahead gradient)", NULL, 0, 0}

/* A mean with decay 1 stays 0, and its correction 1 - 1^t is 0: the largest decay is a bit less. */
#define MOST_DECAY 0.9999999
#define MOMENTS(eps)                                                                               \
	{"beta1", PASS_FLOAT, "0.9", "decay rate of the first moment, the mean of gradients", NULL, 0, MOST_DECAY}, \
	{"beta2", PASS_FLOAT, "0.999", "decay rate of the second moment, the mean of squared gradients", NULL, 0, MOST_DECAY}, \
	EPS(eps)

/*
 * Kingma and Ba, "Adam: A Method for Stochastic Optimization", algorithm 1. 1 - beta^t is -expm1(t log beta), which loses no
 * digits at the first steps. LARGEST is Reddi et al., "On the Convergence of Adam and Beyond", algorithm 2.
 */
#define FIX1 "once fix1 = cast(-expm1(t * log(beta1)));"
#define MEANS FIX1                                                                                 \
	"once fix2 = cast(-expm1(t * log(beta2)));"                                                \
	"m := mix(m, beta1, g);"                                                                   \
	"q = g * g; v := mix(v, beta2, q);"
#define LARGEST "v = amsgrad ? vmax := maximum(vmax, v) : v;"
#define ADAM "d = sqrt(v / fix2) + eps; u = m / fix1 / d;"
#define AMSGRAD {"amsgrad", PASS_BOOL, "false", "divide by the largest second moment of all steps", NULL, 0, 0}

OPTIMIZER(sgd, "0.1", "SGD: update every param by its gradient times the learning rate", "decay(g)", NULL, L2)

static bool
check_momentum(struct pass_run *run, const struct ir_module *m)
{
	(void)m;
	if (!pass_bool(run, "nesterov") || pass_float(run, "dampening") == 0)
		return true;
	diag_error(run->ctx->diag, pass_option_loc(run, "dampening"),
		"momentum: 'nesterov' needs dampening=0");
	return false;
}

/* Polyak, "Some methods of speeding up the convergence of iteration methods"; nesterov: Sutskever et al., "On the importance of
 * initialization and momentum in deep learning". At the first step v is g, whatever the dampening, as in PyTorch. */
OPTIMIZER(momentum, "0.1", "SGD with momentum",
	"g = decay(g); old = v;"
	"once part = dampening ? t == 1 ? 1 : 1 - dampening : 1;"
	"new = dampening ? g * part : g;"
	"v := old * momentum + new;"
	"nesterov ? g + v * momentum : v",
	check_momentum, MOMENTUM("0.9"), NESTEROV("false"),
	{"dampening", PASS_FLOAT, "0", "part of the gradient that the velocity does not take up", NULL, 0, 1}, L2)

OPTIMIZER(adam, "0.001", "Adam, with the two moments of each gradient as states",
	"g = decay(g);" MEANS LARGEST ADAM "u", NULL, MOMENTS("1e-8"), L2, AMSGRAD)

/* Loshchilov and Hutter, "Decoupled Weight Decay Regularization", algorithm 2. The decay does not enter the moments. It is
 * multiplied by the rate, as in common implementations, and so falls with it. */
OPTIMIZER(adamw, "0.001", "AdamW: Adam with decoupled weight decay",
	MEANS LARGEST ADAM "decay(u)", NULL, MOMENTS("1e-8"), DECAY("0.01"), AMSGRAD)

/* You et al., "Large Batch Optimization for Deep Learning: Training BERT in 76 minutes", algorithm 2. If a norm is 0, as for a
 * new bias, the ratio is 1. */
OPTIMIZER(lamb, "0.001", "LAMB: Adam with a per-parameter trust ratio",
	MEANS ADAM "u = decay(u);"
	"nw = sqrt(squares(w)); nu = sqrt(squares(u));"
	"zero = as(nw, 0); one = as(nw, 1);"
	"u * cast(nw > zero & nu > zero ? nw / nu : one)",
	NULL, MOMENTS("1e-6"), DECAY("0.01"))

/* Dozat, "Incorporating Nesterov Momentum into Adam", with the momentum mu that rises over time (algorithm 8). `rest` is
 * 1 - mu_1 mu_2 ... mu_t, which begins as 0 and loses no digits. */
OPTIMIZER(nadam, "0.002", "NAdam: Adam with Nesterov momentum",
	"g = decoupled ? g : decay(g);"
	"shared before = rest;"
	"shared mu = exp((t + 0) * (log(0.96) * momentum_decay)) * (-beta1 / 2) + beta1;"
	"shared next = exp((t + 1) * (log(0.96) * momentum_decay)) * (-beta1 / 2) + beta1;"
	"shared rest := { less = 1 - mu; before * mu + less };"
	MEANS
	"now = g * cast((1 - mu) / rest);"
	"less = 1 - next; past = m * cast(next / (rest * next + less));"
	"d = sqrt(v / fix2) + eps; u = (now + past) / d;"
	"decoupled ? decay(u) : u",
	NULL, MOMENTS("1e-8"),
	{"momentum_decay", PASS_FLOAT, "0.004", "how fast the momentum rises to beta1", NULL, 0, 1e9}, DECOUPLED)

/* Liu et al., "On the Variance of the Adaptive Learning Rate and Beyond", algorithm 2. r, a difference of two large numbers, is
 * computed in f64; 2 t beta2^t / (1 - beta2^t) = 2 t / (1 - beta2^t) - 2 t. With r <= 5 the variance of the step is not bounded. */
OPTIMIZER(radam, "0.001",
	"RAdam: Adam whose first steps are those of momentum, until the second moment is known",
	"shared now = f64(t); shared fix = expm1(now * log(beta2)) * -1;"
	"shared r = (now / fix - now) * -2 + (2 / (1 - beta2) - 1);"
	"shared certain = r > 5;"
	"shared factor = {"
	"  r = maximum(r, 5); b = (r - 2) / r; most = 2 / (1 - beta2) - 1;"
	"  sqrt((r - 4) * b * fix * (most / ((most - 4) * (most - 2)))) };"
	"g = decoupled ? g : decay(g);"
	MEANS
	"mean = m / fix1; f = cast(factor); d = sqrt(v) + eps;"
	"u = certain ? mean * f / d : mean;"
	"decoupled ? decay(u) : u",
	NULL, MOMENTS("1e-8"), DECOUPLED)

/* Shazeer and Stern, "Adafactor: Adaptive Learning Rates with Sublinear Memory Cost", algorithms 4 and 5. In place of the second
 * moment of a matrix it keeps that of its rows and of its columns (of its last two dims, if there are more). 1 / sqrt(t) over
 * a rate of 0 is infinite, and then 1. */
OPTIMIZER_TELLS(adafactor, "0.01",
	"Adafactor: second moments of rows and columns in place of those of elements",
	"once now = t; once some = pow(now, beta2_decay); once rest = 1 - some;"
	"once lr_now = as(now, rate); once ratio = minimum(rsqrt(now) / lr_now, 1);"
	"once take = cast(some); once keep = cast(rest); once relative = cast(ratio);"
	"least = eps > 0 ? eps : epsilon(w); q = g * g;"
	"moment = rank(w) < 2 ? { q = q * take; v := v * keep + q; v } : {"
	"  x = mean(q, rank(w) - 1, 0); r of x := { y = x * take; r * keep + y };"
	"  x = mean(q, rank(w) - 2, 0); c of x := { y = x * take; c * keep + y };"
	"  outer(r / maximum(mean(r, rank(w) - 2, 1), least), c) };"
	"u = g * rsqrt(maximum(moment, least * least));"
	"scale = maximum(sqrt(squares(w) / size(w)), eps_scale);"
	"limit = maximum(sqrt(squares(u) / size(u)) / d, 1);"
	"decay(u * (cast(scale / limit) * relative))",
	"minimum(rate, rsqrt(t))", NULL,
	{"beta2_decay", PASS_FLOAT, "-0.8", "exponent of the step in what a new square counts", NULL, -1e9, 0},
	{"eps", PASS_FLOAT, "0", "lower bound of the root of the second moment; 0: the machine epsilon of the type", NULL, 0, 1},
	{"eps_scale", PASS_FLOAT, "0.001", "least size of a param, to which its step is relative", NULL, 0, 1e9},
	{"d", PASS_FLOAT, "1", "largest root of the mean square of an update direction", NULL, 1e-9, 1e9}, DECAY("0"))

/* Kingma and Ba, algorithm 2. */
OPTIMIZER(adamax, "0.002", "AdaMax: Adam with the largest of decayed gradients as the divisor",
	FIX1 "g = decay(g); m := mix(m, beta1, g);"
	"size = abs(g) + eps; u := maximum(u * beta2, size);"
	"m / fix1 / u",
	NULL, MOMENTS("1e-8"), L2)

/* Tieleman and Hinton, "Lecture 6.5 - RMSProp"; centered as in Graves, "Generating Sequences With Recurrent Neural Networks",
 * equations 38 to 45: rounding can make the difference negative. */
OPTIMIZER(rmsprop, "0.01", "RMSProp: gradients divided by the root of a mean of their squares",
	"g = decay(g); q = g * g; v := mix(v, alpha, q);"
	"spread = centered ? { m := mix(m, alpha, g); maximum(v - m * m, 0) } : v;"
	"d = g / (sqrt(spread) + eps);"
	"momentum ? { u := u * momentum + d; u } : d",
	NULL, {"alpha", PASS_FLOAT, "0.99", "decay rate of the mean of squared gradients", NULL, 0, 1},
	EPS("1e-8"), MOMENTUM("0"),
	{"centered", PASS_BOOL, "false", "divide by the standard deviation of gradients", NULL, 0, 0}, L2)

/* Duchi, Hazan and Singer, "Adaptive Subgradient Methods for Online Learning and Stochastic Optimization", diagonal form. */
OPTIMIZER(adagrad, "0.01", "Adagrad: gradients divided by the root of the sum of their squares",
	"g = decay(g); v := v + g * g; g / (sqrt(v) + eps)", NULL, EPS("1e-10"), L2)

/* Zeiler, "ADADELTA: An Adaptive Learning Rate Method", algorithm 1. */
OPTIMIZER(adadelta, "1", "Adadelta: steps in proportion to the root of a mean of their squares",
	"g = decay(g); q = g * g; v := mix(v, rho, q);"
	"d = sqrt(u + eps) / sqrt(v + eps) * g;"
	"q = d * d; u := mix(u, rho, q); d",
	NULL, {"rho", PASS_FLOAT, "0.9", "decay rate of the means of squares", NULL, 0, 1},
	{"eps", PASS_FLOAT, "1e-6", "added to both means before their roots", NULL, 0, 1}, L2)

/* Riedmiller and Braun, "A Direct Adaptive Method for Faster Backpropagation Learning: The RPROP Algorithm", without steps back:
 * where the sign of a gradient changes, the param rests for a step. The learning rate is the size of the first step alone. */
OPTIMIZER_TELLS(rprop, "0.01", "Rprop: steps by the signs of gradients, longer while these stay the same",
	"turn = g * old; back = turn < 0; past = t == 1 ? rate : size;"
	"factor = turn > 0 ? grow : back ? shrink : 1;"
	"size := minimum(maximum(past * factor, least), most);"
	"g = back ? 0 : g; old := g;"
	"unscaled(sign(g) * size)",
	NULL, NULL, {"grow", PASS_FLOAT, "1.2", "factor of steps while the sign stays the same", NULL, 1, 1e9},
	{"shrink", PASS_FLOAT, "0.5", "factor of steps when the sign changes", NULL, 1e-9, 1},
	{"least", PASS_FLOAT, "1e-6", "shortest step", NULL, 0, 1e9}, {"most", PASS_FLOAT, "50", "longest step", NULL, 0, 1e9})

/* Polyak and Juditsky, "Acceleration of Stochastic Approximation by Averaging", with the rate of Bottou's SGD: the mean of a
 * param since step t0 is the state asgd.mean.w. PyTorch's ASGD computes the rate of a step at the end of the one before, so
 * under a schedule it is that step's; the first step has its own. */
OPTIMIZER_TELLS(asgd, "0.01", "Averaged SGD: the mean of each param over the steps is a state",
	"once past = t - 1; once slow = schedule + warmup > 0 ? as(past, before) : before;"
	"once fall = cast(pow(past * (lambd * slow) + 1, -alpha)); once part = cast(1 / maximum(past - t0, 1));"
	"g = decay(g); d = (g + w * lambd) * fall * before;"
	"mean := mean + (w - d - mean) * part; unscaled(d)",
	"past = t - 1; pow(past * (lambd * before) + 1, -alpha) * before", NULL,
	{"lambd", PASS_FLOAT, "0.0001", "decay term", NULL, 0, 1e9},
	{"alpha", PASS_FLOAT, "0.75", "exponent of the fall of the learning rate", NULL, 0, 1e9},
	{"t0", PASS_FLOAT, "1e6", "step at which the averaging starts", NULL, 0, 1e15}, L2)

/* Chen et al., "Symbolic Discovery of Optimization Algorithms", program 1. */
OPTIMIZER(lion, "0.0001", "Lion: the sign of a momentum, with half of Adam's states",
	"x = mix(m, beta1, g); m := mix(m, beta2, g); decay(sign(x))", NULL,
	{"beta1", PASS_FLOAT, "0.9", "weight of the momentum in the sign", NULL, 0, 1},
	{"beta2", PASS_FLOAT, "0.99", "decay rate of the momentum, the mean of gradients", NULL, 0, 1}, DECAY("0"))

/* A misspelt name would leave its matrix to Muon. */
static bool
check_muon(struct pass_run *run, const struct ir_module *m)
{
	rule_listed(run, NULL, m);
	return true;
}

#define PRODUCTS(ROW) ROW(PRODUCTS_F32, "f32") ROW(PRODUCTS_BF16, "bf16")
#define ADJUST(ROW)                                                                                \
	ROW(ADJUST_ORIGINAL, "original") ROW(ADJUST_ADAMW, "match_rms_adamw") ROW(ADJUST_NONE, "none")

/* Jordan et al., "Muon: An optimizer for hidden layers in neural networks", for matrices, and AdamW for others: its direction is
 * a multiple of lr, and nothing moves if that is 0. */
OPTIMIZER(muon, "0.001",
	"Muon: update matrices by the orthogonal matrix nearest to their momentum, others by AdamW",
	"rank(w) == 2 & listed() == 0 ? {"
	"  m := mix(m, momentum, g);"
	"  x = orthogonal(nesterov ? mix(m, momentum, g) : m, iterations, products);"
	"  long = dim(w, 0); wide = dim(w, 1);"
	"  decay(x * (adjust == 0 ? long > wide ? sqrt(long / wide) : 1"
	"           : adjust == 1 ? 0.2 * sqrt(long > wide ? long : wide) : 1)) }"
	": {" MEANS ADAM
	"  u = adam_weight_decay & rank(w) + 1 > decay_rank ? u + w * adam_weight_decay : u;"
	"  u * (lr > 0 ? adam_lr / lr : 0) }",
	check_muon, {"momentum", PASS_FLOAT, "0.95", "decay rate of the mean of gradients of a matrix", NULL, 0, MOST_DECAY},
	NESTEROV("true"), {"iterations", PASS_INT, "5", "iterations of Newton-Schulz", NULL, 0, 99},
	{"products", PASS_ENUM, "f32", "element type of the iteration; f32: that of the param", CHOICE_LIST(PRODUCTS), 0, 0},
	{"adjust", PASS_ENUM, "original", "size of a step: sqrt(max(1, rows / columns)), 0.2 sqrt(max(rows, columns)), or 1",
		CHOICE_LIST(ADJUST), 0, 0},
	DECAY("0.1"),
	{"others", PASS_STRING, "",
		"matrices that AdamW updates, such as embeddings and heads: names or patterns, separated by commas", NULL, 0, 0},
	{"adam_lr", PASS_FLOAT, "0.001", "learning rate of AdamW", NULL, 0, 1e9},
	{"adam_weight_decay", PASS_FLOAT, "0.01", "fraction of a param that is added to AdamW's update direction", NULL, 0, 1e9},
	MOMENTS("1e-8"))
/* clang-format on */
