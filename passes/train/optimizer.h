/*
 * What the optimizer passes share. All of them are  w := w - rate * direction;  a rule (rule.h) is the
 * direction, this file the rest: the gradients made by grad, states, the step count, clipping, the
 * learning rate over time, and steps that are left out because a gradient is not finite (amp.h).
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
	struct ir_op *last_state;     /* the next state is inserted after it: the param, then its
				     states */
	struct ir_value *w, *g;       /* of one element type, shape and layout (time axes aside) */
	struct ir_value *count;       /* of steps, this one included; NULL: not made yet */
	struct ir_value *rate;        /* the learning rate in the element type of the last param */
	struct ir_value *rate_before; /* that of the step before, likewise */
	bool unscaled;           /* the direction is the step itself, without the learning rate */
	struct ir_value *finite; /* bool[]: are all gradients finite? NULL: not needed */
	struct ir_value *factor; /* for clipping gradients; NULL: no clipping */
	struct ir_value
		*constant[OPTIMIZER_CONSTANTS]; /* made so far; the latest replaces the oldest */
	unsigned nconstants;
};

static inline enum ir_dtype
dtype_of(const struct ir_value *v)
{
	return (enum ir_dtype)v->type->dtype;
}

/*
 * Takes every output("grad.w", %g), asks the rule (rule.h) for the direction of w and appends update(%w, %new). The ops are
 * appended after the whole step, so that the gradients of later layers are communicated while earlier ones are computed, and
 * nothing waits for them before the end. The pass must have OPTIMIZER_OPTIONS. `told` is the rule of the rate that the option
 * `report` outputs; NULL: there is none, and the option is an error.
 */
bool optimizer_run(struct pass_run *run, struct ir_module *m, const char *rule, const char *told);

/* Shapes of the learning rate schedule. */
#define SCHEDULES(ROW)                                                                             \
	ROW(SCHEDULE_CONSTANT, "constant")                                                         \
	ROW(SCHEDULE_LINEAR, "linear")                                                             \
	ROW(SCHEDULE_COSINE, "cosine") ROW(SCHEDULE_EXPONENTIAL, "exponential")

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
	{"factor", PASS_STRING, "",                                                                \
		"times the rate of step t = 1, 2 ...: \"t > 30 ? 0.1 : 1\"", NULL, 0, 0},          \
	{"clip", PASS_FLOAT, "0", "upper limit of the global gradient norm; 0: none", NULL, 0, 1e30}, \
	{"maximize", PASS_BOOL, "false", "ascend: the loss is to be large", NULL, 0, 0},           \
	{"report", PASS_BOOL, "false",                                                             \
		"output the learning rate of each step, where all elements have one, as learning_rate", NULL, 0, 0}
/* clang-format on */

/* A state named "pass.what.param" of the type and shape of `like`, initially zero, placed after the param. */
struct ir_value *optimizer_state(
	struct optimizer_step *s, const char *what, const struct ir_value *like);

/* The shape of v, or if v is computed from a param that is a row of elements, element by element, that of
 * the param. Returns the rank. */
int optimizer_shape(
	const struct optimizer_step *s, const struct ir_value *v, int64_t dim[IR_MAX_RANK]);

/* The same for all params: "pass.name", a scalar; f64 for an f64 param, else f32. */
struct ir_value *optimizer_shared_state(struct optimizer_step *s, const char *name);

/* The next value of a state or param: `fresh`, or its old value if the step is skipped. */
void optimizer_update(struct optimizer_step *s, struct ir_value *old, struct ir_value *fresh);

/*
 * The number of this step, from 1, as a scalar: f64 for an f64 param, else f32. Skipped steps do
 * not count.
 */
struct ir_value *optimizer_count(struct optimizer_step *s);

/* The learning rate of this step, by the pass's options, in the param's element type. */
struct ir_value *optimizer_rate(struct optimizer_step *s);

/* Does it change from step to step? If so, that of the step before, or in the first step of that one. */
bool optimizer_scheduled(const struct pass_run *run);
struct ir_value *optimizer_rate_before(struct optimizer_step *s);

/* A scalar constant; one op serves all params. */
struct ir_value *optimizer_constant(struct optimizer_step *s, enum ir_dtype t, double value);

/* x * constant, x + constant: constants of x's element type. */
struct ir_value *optimizer_scale(struct optimizer_step *s, struct ir_value *x, double factor);
struct ir_value *optimizer_shift(struct optimizer_step *s, struct ir_value *x, double summand);

#endif
