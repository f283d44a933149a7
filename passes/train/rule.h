/*
 * Rules of optimizers, as text in the notation of papers: from a param and its gradient to the direction of its step.
 *
 *     once fix = cast(-expm1(t * log(beta2)));     one op for all params of an element type
 *     v := mix(v, beta2, g * g);                   a state of the param, at first 0; afterwards v is its new value
 *     g / (sqrt(v / fix) + eps)                    the direction
 *
 *     body   = { [ [ "once" | "shared" ] name ( "=" | ":=" ) ] choice ";" } choice
 *     choice = operation [ "?" choice ":" choice ]    operators: & below == < > below + - below * /
 *     primary = number | name | name "(" choice, ... ")" | name [ "of" name ] ":=" choice
 *             | "-" primary | "(" choice ")" | "{" body "}"
 *
 * Names are w, g, the count of steps t, the learning rate `rate`, that of the step before, `before`, options of the pass, and what a statement has named. Options
 * are numbers: false is 0, the first choice of several is 0. What depends on numbers alone is computed here, and of a choice by
 * a number only one side is evaluated; other choices are `select`. A function is a row of rule_call.c or any op with a value of
 * each operand. Ops appear in the order of the text. "once" values are made again for params of another element type,
 * "shared" ones are made once, and a "shared" state is one scalar. A state has the type of w, or that of the value after "of".
 */
#ifndef PASSES_RULE_H
#define PASSES_RULE_H

#include "passes/train/optimizer.h"

enum {
	RULE_NAMES = 48,    /* of one rule: adafactor has 20 */
	RULE_ARGUMENTS = 4, /* of a function */
};

/* The number c if v is NULL. */
struct rule_term {
	struct ir_value *v;
	double c;
};

static inline struct rule_term
rule_number(double c)
{
	return (struct rule_term){.c = c};
}

static inline struct rule_term
rule_is(struct ir_value *v)
{
	return (struct rule_term){.v = v};
}

struct rule_name {
	const char *name;  /* in the text */
	int length, dtype; /* of the params that it is for; -1: of all */
	bool kept;         /* for the next params */
	struct rule_term is;
	struct ir_value *old; /* of a state: the value before this step */
};

struct rule {
	struct optimizer_step *s;
	const char *text, *at;
	const char *
		option; /* whose value the text is: a formula of t and the numbers of options; NULL: a rule of ours */
	const char *fault; /* NULL: none */
	unsigned muted;    /* > 0: in the side of a choice that is not taken; no ops are made */
	bool shared;       /* in a statement of that kind */
	struct rule_name name[RULE_NAMES];
	int nnames;
};

/* The direction of the step of s->param; NULL after an error, which is reported. */
struct ir_value *rule_direction(struct rule *r);

/* x as a value: a number becomes a constant of that element type. */
struct ir_value *rule_value(struct rule *r, struct rule_term x, enum ir_dtype t);

/* The function of that name: a row of the table in rule_call.c, or an op. False: there is none for so many arguments. */
bool rule_call(struct rule *r, const char *name, const struct rule_term *x, int n,
	struct rule_term *result);

/* Is the param one of the names of the option `others`? With a module, warns of those that are not names of matrices in it. */
bool rule_listed(struct pass_run *run, const char *param, const struct ir_module *m);

#endif
