/* Cached answers of an estimator that are expensive to compute. */
#ifndef PASSES_ANALYSIS_ESTIMATE_MEMO_H
#define PASSES_ANALYSIS_ESTIMATE_MEMO_H

#include <stdbool.h>
#include <stdint.h>

enum estimate_source { ESTIMATE_MEASURED, ESTIMATE_NETWORK, ESTIMATE_ANALYTIC };

struct estimate_answer {
	double seconds;
	enum estimate_source source;
};

/* 128 bits of a hash: among 2^40 questions the probability of a collision is below 2^-48. */
struct estimate_question {
	uint64_t a, b;
};

struct estimate_memo;

struct estimate_memo *estimate_memo_create(const void *owner);

struct estimate_question estimate_question(const uint32_t *op, uint32_t n, const bool *out);

/* NULL: not known. Valid until the next put. */
const struct estimate_answer *estimate_memo_find(
	const struct estimate_memo *m, struct estimate_question q);

/* Stores an answer. When there are too many, all are dropped; answers do not depend on that. */
void estimate_memo_put(
	struct estimate_memo *m, struct estimate_question q, struct estimate_answer answer);

#endif
