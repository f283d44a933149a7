/* What the optimizer passes share: the gradients that grad left, and building at the end of the
 * step. */
#ifndef PASSES_OPTIMIZER_H
#define PASSES_OPTIMIZER_H

#include "passes/pass.h"

/* One param with its gradient; the builder stands at the end of the step. */
struct optimizer_step {
	struct pass_run *run;
	struct ir_builder b;
	struct ir_op *param;
	struct ir_op *last_state; /* behind which the next state goes: the param, then its states */
	struct ir_value *w, *g;   /* of one element type, shape and layout (time axes aside) */
};

/* The new value of the param; NULL after an error. `data` is the pass's own. */
typedef struct ir_value *optimizer_rule(struct optimizer_step *s, void *data);

/*
 * Takes every output("grad.w", %g), asks the rule for the new value of w and appends
 * update(%w, %new). The ops go behind the whole step: the gradients of later layers are then
 * communicated while earlier ones are computed, and nothing waits for them before the end.
 */
bool optimizer_run(struct pass_run *run, struct ir_module *m, optimizer_rule *rule, void *data);

/* A state of the param's type, or a scalar one, named "pass.what.param", initially zero; put behind
 * the param and its other states. */
struct ir_value *optimizer_state(struct optimizer_step *s, const char *what, bool scalar);

/* x * constant, x + constant: constants of x's element type. */
struct ir_value *optimizer_scale(struct optimizer_step *s, struct ir_value *x, double factor);
struct ir_value *optimizer_shift(struct optimizer_step *s, struct ir_value *x, double summand);

#endif
