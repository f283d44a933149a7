/* Values derived from measured entries. */
#include "passes/analysis/profile/derive.h"

#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "passes/analysis/fit/alpha_beta.h"
#include "passes/analysis/profile/internal.h"

#include <string.h>
#include <talloc.h>

static bool
is_same_link(const struct profile_collective *a, const struct profile_collective *b)
{
	return a->kind == b->kind && a->places == b->places && a->nodes == b->nodes &&
	       strcmp(a->transport, b->transport) == 0;
}

/* The link of the group of list[first], which is the first of its group. */
static bool
put_link(const void *scratch, struct profile *p, const char *device,
	const struct profile_collective *list, int n, int first)
{
	const struct profile_collective *c = &list[first];
	double *bytes = NEW_ARRAY(scratch, double, n), *seconds = NEW_ARRAY(scratch, double, n);
	struct profile_link l = {c->transport, c->kind, c->places, 0, 0, 0, c->nodes, 0};
	int count = 0;
	for (int i = first; i < n; i++)
		if (is_same_link(c, &list[i])) {
			bytes[count] = list[i].bytes;
			seconds[count++] = list[i].median;
		}
	l.error = alpha_beta_fit(bytes, seconds, count, &l.alpha, &l.beta);
	return profile_put_link(p, device, &l);
}

static bool
derive_links(const void *scratch, struct profile *p, const char *device, bool anew)
{
	struct profile_collective *c;
	struct profile_link *l;
	int n = profile_collectives(scratch, p, device, &c);
	int nlinks = profile_links(scratch, p, device, &l);
	bool good = n >= 0 && nlinks >= 0;
	for (int i = 0; i < n && good; i++) {
		bool done = false;
		for (int k = i - 1; k >= 0 && !done; k--)
			done = is_same_link(&c[k], &c[i]);
		for (int k = 0; k < nlinks && !done && !anew; k++)
			done = l[k].kind == c[i].kind && l[k].places == c[i].places &&
			       l[k].nodes == c[i].nodes &&
			       strcmp(l[k].transport, c[i].transport) == 0;
		if (!done)
			good = put_link(scratch, p, device, c, n, i);
	}
	return good;
}

/* Stores the median of n rates, unless one is stored. */
static bool
put_rate(const void *scratch, struct profile *p, const char *device, const char *name, double *rate,
	int n, bool anew)
{
	struct profile_field *field;
	int nfields = profile_fields(scratch, p, device, &field);
	bool known = n == 0;
	for (int i = 0; i < nfields && !anew; i++)
		known |= strcmp(field[i].name, name) == 0 && !*field[i].transport;
	if (known || nfields < 0)
		return nfields >= 0;
	sort_double(rate, (size_t)n);
	const struct profile_field f = {name, rate[n / 2], NULL, 0};
	return profile_put_field(p, device, &f);
}

/* "matmul (f32[...": a product of that element type? */
static bool
is_product(const char *key, const char *dtype)
{
	static const char *const names[] = {"matmul (", "contract ("};
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		size_t n = strlen(names[i]);
		if (strncmp(key, names[i], n) != 0)
			continue;
		key += n;
		return !dtype ||
		       (strncmp(key, dtype, strlen(dtype)) == 0 && key[strlen(dtype)] == '[');
	}
	return false;
}

static bool
derive_rates(const void *scratch, struct profile *p, const char *device, bool anew)
{
	static const char *const dtypes[] = {"f32", "f64", "bf16", "f16"};
	struct profile_op *op;
	int n = profile_ops(scratch, p, device, &op), ranks = 0, nrates = 0;
	double *rate = NEW_ARRAY(scratch, double, n > 0 ? n : 0);
	bool good = n >= 0;
	for (int i = 0; i < n; i++)
		ranks = op[i].ranks > ranks ? op[i].ranks : ranks;
	for (int i = 0; i < n; i++)
		if (op[i].ranks == ranks && op[i].bytes > 0 && !is_product(op[i].key, NULL))
			rate[nrates++] = op[i].bytes / op[i].median;
	good = good && put_rate(scratch, p, device, "bandwidth", rate, nrates, anew);
	for (size_t t = 0; t < sizeof dtypes / sizeof *dtypes && good; t++) {
		nrates = 0;
		for (int i = 0; i < n; i++)
			if (op[i].ranks == ranks && op[i].flops > 0 &&
				is_product(op[i].key, dtypes[t]))
				rate[nrates++] = op[i].flops / op[i].median;
		good = put_rate(scratch, p, device, dtypes[t], rate, nrates, anew);
	}
	return good;
}

bool
profile_derive(struct profile *p, const char *device, bool anew)
{
	void *scratch = alloc_scratch(NULL);
	const char *backend = p->backend ? TEXT(scratch, "%s", p->backend) : NULL;
	bool good = profile_savepoint(p);
	profile_select(p, backend, PROFILE_ALL);
	if (good) {
		good = derive_links(scratch, p, device, anew) &&
		       derive_rates(scratch, p, device, anew);
		good = profile_release(p, good) && good;
	}
	profile_select(p, backend, NULL);
	talloc_free(scratch);
	return good;
}
