/* Comparing two profiles: their entries as sorted lists of named values, merged. */
#include "passes/analysis/profile/diff.h"
#include "ir/base/sort.h"

#include "ir/base/alloc.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* Links are compared by the time of a message of this size, where latency and bandwidth both
 * matter.
 */
#define LINK_BYTES 65536.0

struct record {
	char *name;
	double value, noise; /* noise: half the distance of the quartiles */
	bool seconds;
};

struct records {
	struct record *list; /* talloc array */
	int n;
};

static void
add(struct records *r, char *name, double value, double spread, bool seconds)
{
	r->list[r->n++] = (struct record){name, value, spread * value / 2, seconds};
}

ORDER_BY(by_name, struct record, strcmp(x->name, y->name))

/* All entries of a device; false: reported. */
static bool
read_records(const void *owner, struct profile *p, const char *device, struct records *r)
{
	struct profile_op *op;
	struct profile_collective *c;
	struct profile_link *l;
	struct profile_field *f;
	/* The selected backend, but all transports. */
	profile_select(p, NULL, PROFILE_ALL);
	int nops = profile_ops(owner, p, device, &op);
	int ncollectives = profile_collectives(owner, p, device, &c);
	int nlinks = profile_links(owner, p, device, &l);
	int nfields = profile_fields(owner, p, device, &f);
	profile_select(p, NULL, NULL);
	if (nops < 0 || ncollectives < 0 || nlinks < 0 || nfields < 0)
		return false;
	r->list = NEW_ARRAY(owner, struct record, nops + ncollectives + nlinks + nfields);
	for (int i = 0; i < nops; i++)
		add(r,
			TEXT(owner, "%s; %s, ranks %d", op[i].key,
				profile_buffers_name(op[i].buffers), op[i].ranks),
			op[i].median, op[i].spread, true);
	for (int i = 0; i < ncollectives; i++)
		add(r,
			TEXT(owner, "%s %d x %.0f; %s, nodes %d", rt_coll_name(c[i].kind),
				c[i].places, c[i].bytes, c[i].transport, c[i].nodes),
			c[i].median, c[i].spread, true);
	for (int i = 0; i < nlinks; i++)
		add(r,
			TEXT(owner, "link %s %d x %.0f; %s, nodes %d", rt_coll_name(l[i].kind),
				l[i].places, LINK_BYTES, l[i].transport, l[i].nodes),
			l[i].alpha + LINK_BYTES / l[i].beta, l[i].error, true);
	for (int i = 0; i < nfields; i++)
		add(r, TEXT(owner, "field %s %s", f[i].name, f[i].transport), f[i].value, 0, false);
	qsort(r->list, (size_t)r->n, sizeof *r->list, by_name);
	return true;
}

static char *
value_text(const void *owner, const struct record *r)
{
	static const char *const unit[] = {"s", "ms", "us", "ns"};
	double x = r->value;
	int u = 0;
	if (!r->seconds)
		return TEXT(owner, "%.4g", x);
	while (u < 3 && x < 1) {
		x *= 1000;
		u++;
	}
	return TEXT(owner, "%.4g%s", x, unit[u]);
}

static void
put_row(FILE *out, const char *what, const struct record *a, const struct record *b)
{
	void *scratch = alloc_scratch(NULL);
	const char *ratio = a && b ? TEXT(scratch, "%.3f", b->value / a->value) : "";
	fprintf(out, "%-8s %10s %10s %8s  %s\n", what, a ? value_text(scratch, a) : "",
		b ? value_text(scratch, b) : "", ratio, a ? a->name : b->name);
	talloc_free(scratch);
}

static void
compare_one(FILE *out, const struct record *a, const struct record *b, double tolerance,
	struct profile_difference *found)
{
	double difference = fabs(b->value - a->value);
	bool same = difference <= tolerance * a->value || difference <= a->noise + b->noise;
	found->same += same;
	found->changed += !same;
	if (!same)
		put_row(out, "changed", a, b);
}

static void
merge(FILE *out, const struct records *a, const struct records *b, double tolerance,
	struct profile_difference *found)
{
	for (int i = 0, k = 0; i < a->n || k < b->n;) {
		int order = i == a->n   ? 1
			    : k == b->n ? -1
					: strcmp(a->list[i].name, b->list[k].name);
		if (order < 0) {
			put_row(out, "removed", &a->list[i++], NULL);
			found->removed++;
		} else if (order > 0) {
			put_row(out, "added", NULL, &b->list[k++]);
			found->added++;
		} else {
			compare_one(out, &a->list[i++], &b->list[k++], tolerance, found);
		}
	}
}

static bool
diff_device(FILE *out, struct profile *a, const char *in_a, struct profile *b, const char *in_b,
	double tolerance, struct profile_difference *found)
{
	void *scratch = alloc_scratch(NULL);
	struct records before = {NULL, 0}, after = {NULL, 0};
	bool good = (!in_a || read_records(scratch, a, in_a, &before)) &&
		    (!in_b || read_records(scratch, b, in_b, &after));
	if (good)
		merge(out, &before, &after, tolerance, found);
	talloc_free(scratch);
	return good;
}

bool
profile_diff(FILE *out, struct profile *a, struct profile *b, double tolerance,
	struct profile_difference *found)
{
	void *scratch = alloc_scratch(NULL);
	char **in_a, **in_b;
	int na = profile_devices(scratch, a, &in_a), nb = profile_devices(scratch, b, &in_b);
	bool good = na >= 0 && nb >= 0;
	*found = (struct profile_difference){0};
	fprintf(out, "%-8s %10s %10s %8s  %s\n", "what", "before", "after", "ratio", "entry");
	if (na == 1 && nb == 1) {
		if (strcmp(in_a[0], in_b[0]) != 0)
			fprintf(out, "device %s before, %s after\n", in_a[0], in_b[0]);
		good = diff_device(out, a, in_a[0], b, in_b[0], tolerance, found);
		na = nb = 0;
	}
	for (int i = 0, k = 0; good && (i < na || k < nb);) {
		int order = i == na ? 1 : k == nb ? -1 : strcmp(in_a[i], in_b[k]);
		const char *before = order <= 0 ? in_a[i++] : NULL;
		const char *after = order >= 0 ? in_b[k++] : NULL;
		fprintf(out, "device %s\n", before ? before : after);
		good = diff_device(out, a, before, b, after, tolerance, found);
	}
	talloc_free(scratch);
	return good;
}
