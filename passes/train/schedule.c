/*
 * The learning rate over time, as ordinary ops on the count of steps t = 1, 2, 3 ...:
 *
 *     rate = lr * min(1, t / warmup) * (end + (1 - end) * f(p))
 *     p = (t - 1 - warmup) / (steps - warmup), between 0 and 1
 *     f = 1 (constant), 1 - p (linear), (1 + cos(pi p)) / 2 (cosine; Loshchilov and Hutter, "SGDR")
 *
 * So the rate of the first step is not 0, step `warmup` and the next one have the full rate, and
 * from step `steps` + 1 on the rate is lr * end.
 */
#include "passes/train/optimizer.h"

bool
schedule_is_constant(const struct pass_run *run)
{
	return pass_enum(run, "schedule") == SCHEDULE_CONSTANT && pass_int(run, "warmup") == 0;
}

bool
schedule_check(const struct pass_run *run)
{
	const int64_t warmup = pass_int(run, "warmup"), steps = pass_int(run, "steps");

	if (pass_enum(run, "schedule") == SCHEDULE_CONSTANT || steps > warmup)
		return true;
	diag_error(run->ctx->diag,
		pass_option_loc(run, pass_given(run, "steps") ? "steps" : "schedule"),
		"%s: the learning rate decays from the end of the warmup, step %lld, so "
		"its end must be later: steps=%lld",
		run->pass->name, (long long)warmup, (long long)steps);
	return false;
}

static struct ir_value *
bounded(struct optimizer_step *s, enum op_code which, struct ir_value *x, double bound)
{
	struct ir_value *limit =
		x ? optimizer_constant(s, (enum ir_dtype)x->type->dtype, bound) : NULL;

	return ir_build2(&s->b, which, x, limit);
}

/* The factor after the warmup. */
static struct ir_value *
fall(struct optimizer_step *s, struct ir_value *count)
{
	static const double pi = 3.14159265358979323846;
	const double warmup = (double)pass_int(s->run, "warmup"),
		     steps = (double)pass_int(s->run, "steps"), end = pass_float(s->run, "end");
	struct ir_value *past = optimizer_shift(s, count, -1 - warmup);
	struct ir_value *p = optimizer_scale(s, past, 1 / (steps - warmup));

	p = bounded(s, OP_maximum, p, 0);
	p = bounded(s, OP_minimum, p, 1);
	if (pass_enum(s->run, "schedule") == SCHEDULE_LINEAR)
		return optimizer_shift(s, optimizer_scale(s, p, end - 1), 1);
	struct ir_value *wave = ir_build1(&s->b, OP_cos, optimizer_scale(s, p, pi));
	return optimizer_shift(s, optimizer_scale(s, wave, (1 - end) / 2), (1 + end) / 2);
}

struct ir_value *
schedule_rate(struct optimizer_step *s, struct ir_value *count)
{
	const double lr = pass_float(s->run, "lr");
	const int64_t warmup = pass_int(s->run, "warmup");
	struct ir_value *rise = NULL, *rate = NULL;

	if (warmup > 0) {
		rise = optimizer_scale(s, count, 1 / (double)warmup);
		rate = rise = bounded(s, OP_minimum, rise, 1);
	}
	if (pass_enum(s->run, "schedule") != SCHEDULE_CONSTANT) {
		rate = fall(s, count);
		if (rise)
			rate = ir_build2(&s->b, OP_mul, rise, rate);
	}
	return rate ? optimizer_scale(s, rate, lr) : NULL;
}
