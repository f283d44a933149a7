/* Terms as text, for messages about undecided rules. */
#include "passes/rules/terms.h"

#include <inttypes.h>

static void print_poly(FILE *out, const struct terms *t, term_id p);

static void
print_var(FILE *out, const struct terms *t, int32_t v)
{
	static const char letter[] = "szrrikbdpq";
	const struct var *var = &t->var.at[v];

	if (var->name)
		fputs(var->name, out);
	else if (var->kind == VAR_NAMED)
		fprintf(out, "k%d.%d", var->key[0], var->key[1]);
	else if (var->kind == VAR_PRODUCT)
		for (int i = 0; i < var->nkeys; i++) {
			fputs(i ? "*" : "", out);
			print_var(out, t, var->key[i]);
		}
	else if (var->kind == VAR_DATA)
		print_poly(out, t, var->key[0]);
	else if (var->kind == VAR_QUOTIENT) {
		fputc('(', out);
		linear_print(out, t, var->key[0]);
		fputs(")/(", out);
		linear_print(out, t, var->key[1]);
		fputc(')', out);
	} else
		fprintf(out, "%c%d", letter[var->kind], v);
}

void
linear_print(FILE *out, const struct terms *t, term_id a)
{
	const char *between = "";

	for (int i = 0; i < linear_nvars(t, a); i++) {
		int64_t k;
		const int32_t v = linear_var_at(t, a, i, &k);
		fputs(k < 0 ? "-" : between, out);
		if (k != 1 && k != -1)
			fprintf(out, "%" PRId64 "*", k < 0 ? -k : k);
		print_var(out, t, v);
		between = "+";
	}
	if (linear_rest(t, a) || !linear_nvars(t, a))
		fprintf(out, "%s%" PRId64, linear_rest(t, a) < 0 ? "" : between, linear_rest(t, a));
}

static void
print_factor(FILE *out, const struct terms *t, term_id f)
{
	const struct node *node = &t->node.at[f];
	const int64_t *w = term_words(t, f);
	const char *between = "";

	switch ((enum term_node)node->kind) {
	case NODE_VALUE: print_var(out, t, (int32_t)w[0]); break;
	case NODE_ACCESS:
		fprintf(out, "x%" PRId64 "[", w[0] + 1);
		for (int i = 1; i < node->n; i++, between = ",") {
			fputs(between, out);
			linear_print(out, t, (term_id)w[i]);
		}
		fputc(']', out);
		break;
	case NODE_AT_LEAST:
		fputc('[', out);
		linear_print(out, t, (term_id)w[0]);
		fputs(">=0]", out);
		break;
	case NODE_APPLY:
		fputs(w[0] < FN_COUNT              ? fn_name((enum scalar_fn)w[0])
			: w[0] == APPLY_RECIPROCAL ? "1/"
			: w[0] == APPLY_IN_RANGE   ? "in_range"
			: w[0] == APPLY_OPAQUE     ? "constant"
			: w[0] == APPLY_MOVED      ? "moved"
						   : "convert",
			out);
		fputc('(', out);
		for (int i = 1; i < node->n && w[0] != APPLY_OPAQUE; i++, between = ",") {
			fputs(between, out);
			print_poly(out, t, (term_id)w[i]);
		}
		fputc(')', out);
		break;
	case NODE_REDUCE:
		fprintf(out, "reduce%" PRId64 "(", w[0]);
		print_var(out, t, (int32_t)w[1]);
		fputs("<", out);
		linear_print(out, t, (term_id)w[2]);
		fputs(") (", out);
		print_poly(out, t, (term_id)w[3]);
		fputc(')', out);
		break;
	default: break;
	}
}

static void
print_poly(FILE *out, const struct terms *t, term_id p)
{
	if (!t->node.at[p].n)
		fputc('0', out);
	for (int i = 0; i < t->node.at[p].n; i += 3) {
		const int64_t *w = term_words(t, p) + i, *m = term_words(t, (term_id)w[0]);
		const int n = t->node.at[w[0]].n;
		fputs(w[1] < 0 ? " - " : i ? " + " : "", out);
		const int64_t k = w[1] < 0 ? -w[1] : w[1];
		if (k != 1 || w[2] != 1 || n == 1)
			fprintf(out, "%" PRId64, k);
		if (w[2] != 1)
			fprintf(out, "/%" PRId64, w[2]);
		for (int b = 0; b < m[0]; b++) {
			fputs(" sum(", out);
			print_var(out, t, (int32_t)m[1 + 2 * b]);
			fputc('<', out);
			linear_print(out, t, (term_id)m[2 + 2 * b]);
			fputs(")", out);
		}
		for (int f = 1 + 2 * (int)m[0]; f < n; f++) {
			fputc(' ', out);
			print_factor(out, t, (term_id)m[f]);
		}
	}
}

void
poly_print(FILE *out, const struct terms *t, term_id p)
{
	print_poly(out, t, p);
}
