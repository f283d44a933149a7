/*
 * What the optimizer passes share. All of them are  w := w - rate * direction;  a pass defines the
 * direction, this file the rest: the gradients made by grad, states, the step count, the learning
 * rate over time, and steps that are left out because a gradient is not finite (amp.h).
 */
#ifndef PASSES_OPTIMIZER_H
#define PASSES_OPTIMIZER_H

#include "passes/pass.h"

enum {
	OPTIMIZER_CONSTANTS = 24, /* of one update: muon with a schedule needs 20 */
};

/* One param with its gradient; the builder stands at the end of the step. */
struct optimizer_step {
	struct pass_run *run;
	struct ir_builder b;
	struct ir_op *param;
	struct ir_op *last_state; /* the next state is inserted after it: the param, then its
				     states */
	struct ir_value *w, *g;   /* of one element type, shape and layout (time axes aside) */
	struct ir_value *count;   /* of steps, this one included; NULL: not made yet */
	struct ir_value *rate;    /* the learning rate in the element type of the last param */
	struct ir_value *finite;  /* bool[]: are all gradients finite? NULL: not needed */
	struct ir_value *factor;  /* for clipping gradients; NULL: no clipping */
	struct ir_value
		*constant[OPTIMIZER_CONSTANTS]; /* made so far; the latest replaces the oldest */
	unsigned nconstants;
};

/* The direction of this param's step, of w's type; NULL after an error. `data` is the pass's own.
 */
typedef struct ir_value *optimizer_rule(struct optimizer_step *s, void *data);

/*
 * Takes every output("grad.w", %g), asks the rule for the direction of w and appends update(%w,
 * %new). The ops are appended after the whole step, so that the gradients of later layers are
 * communicated while earlier ones are computed, and nothing waits for them before the end. The pass
 * must have OPTIMIZER_OPTIONS.
 */
bool optimizer_run(struct pass_run *run, struct ir_module *m, optimizer_rule *rule, void *data);

/* Shapes of the learning rate schedule: schedule.h. */
#define SCHEDULES(ROW)                                                                             \
	ROW(SCHEDULE_CONSTANT, "constant")                                                         \
	ROW(SCHEDULE_LINEAR, "linear") ROW(SCHEDULE_COSINE, "cosine")

enum schedule { SCHEDULES(CHOICE_CODE) };

/* clang-format off */
/* Options of all optimizers: learning rate over time, clipping. `lr` is the default, as text. */
#define OPTIMIZER_OPTIONS(lr)                                                                      \
	{"lr", PASS_FLOAT, lr, "learning rate", NULL, 0, 1e9},                                     \
	{"warmup", PASS_INT, "0", "steps of linear warmup to lr", NULL, 0, 1e15},                  \
	{"schedule", PASS_ENUM, "constant",                                                        \
		"learning rate schedule from lr to its end, between `warmup` and `steps`",         \
		CHOICE_LIST(SCHEDULES), 0, 0},                                                     \
	{"steps", PASS_INT, "0", "step at which the learning rate reaches its end", NULL, 0,       \
		1e15},                                                                             \
	{"end", PASS_FLOAT, "0", "final learning rate, as a fraction of lr", NULL, 0, 1},          \
	{"clip", PASS_FLOAT, "0", "upper limit of the global gradient norm; 0: none", NULL, 0, 1e30}, \
	{"maximize", PASS_BOOL, "false", "ascend: the loss is to be large", NULL, 0, 0}

/* Common part of the description of every optimizer. */
#define OPTIMIZER_FACTS                                                                            \
	.family = "train", .needs = "grad", .provides = "optimizer,!grad",                         \
	.conflicts = "optimizer", .keeps_bits = true

/*
 * Options of optimizers with weight decay, which is added to the gradient (the gradient of a term
 * of the loss, L2), to the direction of the update, or to either. `rate` is the default, as text.
 */
#define OPTIMIZER_L2(rate) OPTIMIZER_DECAY_OF(rate, "gradient")
#define OPTIMIZER_DECAY(rate) OPTIMIZER_DECAY_OF(rate, "update direction")
#define OPTIMIZER_DECOUPLED(rate)                                                                  \
	OPTIMIZER_L2(rate),                                                                        \
	{"decoupled", PASS_BOOL, "false",                                                          \
		"add the decay to the update direction instead, as adamw does", NULL, 0, 0}
#define OPTIMIZER_DECAY_OF(rate, what)                                                             \
	{"weight_decay", PASS_FLOAT, rate, "fraction of a param that is added to its " what,       \
		NULL, 0, 1e9},                                                                     \
	{"decay_rank", PASS_INT, "0",                                                              \
		"params of lower rank do not decay; 2 exempts biases and norm scales", NULL,       \
		0, IR_MAX_RANK}
/* clang-format on */

/* x + weight_decay * w for params with weight decay, else x. */
struct ir_value *optimizer_decay(struct optimizer_step *s, struct ir_value *x);

/* A state named "pass.what.param", initially zero, placed after the param: of the param's type, or
 * of `type`. */
struct ir_value *optimizer_state(struct optimizer_step *s, const char *what);
struct ir_value *optimizer_state_of(
	struct optimizer_step *s, const char *what, const struct ir_type *type);

/* The same for all params: "pass.name", a scalar; f64 for an f64 param, else f32. */
struct ir_value *optimizer_shared_state(struct optimizer_step *s, const char *name);

/* The next value of a state or param: `fresh`, or its old value if the step is skipped. */
void optimizer_update(struct optimizer_step *s, struct ir_value *old, struct ir_value *fresh);

/* beta x + (1 - beta) y. */
struct ir_value *optimizer_mix(
	struct optimizer_step *s, struct ir_value *x, double beta, struct ir_value *y);

/* sqrt(v) + eps, by the pass's option. */
struct ir_value *optimizer_root(struct optimizer_step *s, struct ir_value *v);

/* optimizer_mix for the state x = optimizer_state(s, what), whose next value it is. */
struct ir_value *optimizer_average(
	struct optimizer_step *s, const char *what, double beta, struct ir_value *y);

/*
 * The number of this step, from 1, as a scalar: f64 for an f64 param, else f32. Skipped steps do
 * not count.
 */
struct ir_value *optimizer_count(struct optimizer_step *s);

/* The learning rate of this step, by the pass's options, in the param's element type. */
struct ir_value *optimizer_rate(struct optimizer_step *s);

/* A scalar constant; one op serves all params. */
struct ir_value *optimizer_constant(struct optimizer_step *s, enum ir_dtype t, double value);

/* x * constant, x + constant: constants of x's element type. */
struct ir_value *optimizer_scale(struct optimizer_step *s, struct ir_value *x, double factor);
struct ir_value *optimizer_shift(struct optimizer_step *s, struct ir_value *x, double summand);

/* The learning rate at the step of that number (a scalar, from 1), by the pass's options, in the
 * number's element type; NULL if it is the same at all steps. */
struct ir_value *schedule_rate(struct optimizer_step *s, struct ir_value *count);

/* clip / max(norm, clip) for the norm of all n gradients together, in f64 if one of them is f64,
 * else in f32: clip.c. NULL after an error. */
struct ir_value *clip_factor(struct optimizer_step *s, struct ir_value *const *gradient, int n);

/* Are the options of the schedule consistent? Reports. */
bool schedule_check(const struct pass_run *run);
bool schedule_is_constant(const struct pass_run *run);

#endif
