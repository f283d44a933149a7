/* "did you mean": the known word nearest to a wrong one. */
#ifndef IR_SUGGEST_H
#define IR_SUGGEST_H

struct suggestion {
	const char *wrong;
	const char *best; /* NULL: nothing near enough */
	int distance;     /* of the best */
};

/* Starts with the wrong word; it is not copied. */
struct suggestion suggestion_for(const char *wrong);

/* Considers a known word; of equally near ones the first is kept. */
void suggestion_add(struct suggestion *s, const char *known);

/* "; did you mean 'best'?" or "", in a buffer owned by `owner` (talloc). */
char *suggestion_text(const void *owner, const struct suggestion *s);

#endif
