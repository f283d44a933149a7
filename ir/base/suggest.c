/*
 * Edit distance with exchanges of neighbours (optimal string alignment: F. Damerau, "A technique
 * for computer detection and correction of spelling errors", CACM 7(3), 1964), three rows of the
 * table.
 */
#include "ir/base/suggest.h"

#include "ir/base/alloc.h"

#include <string.h>

enum {
	SUGGEST_MAX_WORD = 40,      /* known names are shorter; longer words get no suggestion */
	SUGGEST_LETTERS_A_SLIP = 3, /* letters for each tolerated typing error */
};

static int
least(int a, int b)
{
	return a < b ? a : b;
}

static int
edit_distance(const char *a, int na, const char *b, int nb)
{
	int table[3][SUGGEST_MAX_WORD + 1];
	int *before = table[0], *last = table[1], *row = table[2];

	for (int j = 0; j <= nb; j++)
		last[j] = j;
	for (int i = 1; i <= na; i++) {
		row[0] = i;
		for (int j = 1; j <= nb; j++) {
			row[j] = last[j - 1] + (a[i - 1] != b[j - 1]);
			row[j] = least(row[j], least(last[j], row[j - 1]) + 1);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
				row[j] = least(row[j], before[j - 2] + 1);
		}
		int *oldest = before;
		before = last;
		last = row;
		row = oldest;
	}
	return last[nb];
}

struct suggestion
suggestion_for(const char *wrong)
{
	return (struct suggestion){.wrong = wrong};
}

void
suggestion_add(struct suggestion *s, const char *known)
{
	size_t na = strlen(s->wrong), nb = strlen(known);

	if (na > SUGGEST_MAX_WORD || nb > SUGGEST_MAX_WORD)
		return;
	int distance = edit_distance(s->wrong, (int)na, known, (int)nb);
	if (distance > (int)(nb + SUGGEST_LETTERS_A_SLIP - 1) / SUGGEST_LETTERS_A_SLIP)
		return;
	if (!s->best || distance < s->distance) {
		s->best = known;
		s->distance = distance;
	}
}

char *
suggestion_text(const void *owner, const struct suggestion *s)
{
	char *text = s->best ? TEXT(owner, "; did you mean '%s'?", s->best) : text_copy(owner, "");

	return text;
}
