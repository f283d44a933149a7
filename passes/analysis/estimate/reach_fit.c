/*
 * Fitting reached rates of kernels. See reach_fit.h.
 *
 * The unknowns are the fields of the items that the kernels determine: log(share), and for a
 * half-performance length the square root of its multiple of a usual one, so that it stays above 0.
 * A weak pull towards 0 decides what the kernels leave undetermined.
 */
#include "passes/analysis/estimate/reach_fit.h"

#include "ir/base/alloc.h"
#include "ir/base/out.h"
#include "passes/analysis/estimate/internal.h"
#include "passes/analysis/fit/least_squares.h"
#include "passes/analysis/profile/key_read.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <talloc.h>

enum { MAX_PRODUCTS = 4 }; /* of a kernel: those with more are ignored */

/* A kernel of this many seconds counts half as much as a long one: clocks are coarse, and steps do
 * not consist of short kernels. */
static const double SHORT = 10e-6;

/* A time whose runs have this spread counts half. */
static const double SPREAD = 0.1;

/* Strength of the pull, in residuals, for factors and for lengths. */
static const double PULL = 0.008, PULL_LENGTH = 0.08;

/* A kernel. */
struct sample {
	struct reach_sums rest; /* all but the seconds of its products */
	struct reach_op product[MAX_PRODUCTS];
	uint32_t profile;
	double seconds, weight;
};

enum field {
#define REACH_FIELD(name, unit, value, fits, whose, meaning) FIELD_##name,
#include "ir/cluster/reach.def"
#undef REACH_FIELD
	FIELDS
};

/* An unknown field of an item, and which parameter of the fit it is. */
struct unknown {
	uint8_t kernel, type, field;
	uint32_t parameter;
};

struct reach_data {
	struct device *device;
	bool tf32; /* for added samples: products of f32 are those of TF32 */
	struct sample *sample;
	uint32_t n;
	const char **profile;
	uint32_t nprofiles;
};

/* --- samples --- */

struct reach_data *
reach_data_create(const void *owner, const struct device *d)
{
	struct reach_data *data = NEW(owner, struct reach_data);

	data->device = COPY_ARRAY(data, struct device, d, 1);
	data->device->reached = true;
	return data;
}

static uint8_t
type_of(const struct reach_data *data, uint8_t type)
{
	return data->tf32 && type == REACH_OF_f32 ? REACH_OF_tf32 : type;
}

static void
add_op(struct sample *s, const struct reach_data *data, struct reach_op r, bool out)
{
	if (r.product) {
		r.seconds = r.inside = 0;
		if (s->rest.products < MAX_PRODUCTS)
			s->product[s->rest.products] = r;
	}
	reach_add(&s->rest, &r, out);
	if (r.product && s->rest.products <= MAX_PRODUCTS)
		s->product[s->rest.products - 1].type = type_of(data, r.type);
}

static void
add_fuse(struct sample *s, const struct reach_data *data, const struct cost_model *model,
	const struct ir_module *m, const struct ir_op *fuse)
{
	struct estimate_kernel *k = estimate_kernel_of(NULL, model, 0, m, fuse, false, NULL);

	for (uint32_t i = 0; i < k->n; i++)
		add_op(s, data, k->op[i]->reach, k->out[i]);
	for (int t = 0; t < REACH_TYPES; t++)
		s->rest.bytes[t] += k->bytes_of[t];
	talloc_free(k);
}

static void
add_alone(struct sample *s, const struct reach_data *data, const struct ir_module *m,
	const struct ir_op *op)
{
	struct reach_op r = reach_op_of(data->device, m, op, cost_kernel_work(m, op), REACH_DENSE);

	s->rest = reach_alone(&r);
	if (!r.product)
		return;
	s->rest.seconds = s->rest.inside = 0;
	r.type = type_of(data, r.type);
	s->product[0] = r;
}

static void
add_sample(struct reach_data *data, const struct cost_model *model, struct ir_context *ctx,
	const struct profile_op *entry)
{
	struct ir_op *op;
	struct ir_module *m = key_read(NULL, ctx, entry->key, &op);
	struct sample s = {.profile = data->nprofiles, .seconds = entry->median};

	if (!m)
		return;
	if (op->body)
		add_fuse(&s, data, model, m, op);
	else
		add_alone(&s, data, m, op);
	talloc_free(m);
	s.weight = sqrt(s.seconds / (s.seconds + SHORT) /
			(1 + entry->spread * entry->spread / (SPREAD * SPREAD)));
	if (s.rest.products <= MAX_PRODUCTS)
		data->sample[data->n++] = s;
}

/* Does the name say that products of f32 were computed in TF32? */
static bool
is_tf32(const char *device)
{
	const size_t n = strlen(device), end = strlen(REACH_TF32_DEVICE);

	return n >= end && strcmp(device + n - end, REACH_TF32_DEVICE) == 0;
}

/* False: reported. */
static bool
add_device(struct reach_data *data, struct diag *d, struct profile *p, const char *name)
{
	struct cluster *c = cluster_of_device(p, COPY_ARRAY(p, struct device, data->device, 1));
	struct cost_model *model = cost_model_create(p, d, &(struct cost_options){.cluster = c});
	struct ir_context *ctx = ir_context_create(p);
	struct profile_op *list = NULL;
	const int n = profile_ops(p, p, name, &list);

	if (n < 0 || !model)
		return false;
	data->tf32 = is_tf32(name);
	data->sample = RESIZE(data, data->sample, struct sample, data->n + (uint32_t)n + 1);
	for (int i = 0; i < n; i++)
		add_sample(data, model, ctx, &list[i]);
	return true;
}

bool
reach_data_add(struct reach_data *data, struct diag *d, const char *profile)
{
	struct profile *p = profile_open(data, d, profile, PROFILE_READ);
	char **names;
	const int devices = p ? profile_devices(p, p, &names) : -1;
	bool any = false, good = devices >= 0;

	data->profile = RESIZE(data, data->profile, const char *, data->nprofiles + 1);
	for (int i = 0; i < devices && good; i++) {
		if (!device_stands_for(data->device, names[i]))
			continue;
		any = true;
		good = add_device(data, d, p, names[i]);
	}
	if (good && !any)
		diag_error(d, LOC_NONE, "profile %s has no entries for device %s", profile,
			data->device->measured ? data->device->measured : data->device->name);
	data->profile[data->nprofiles++] = profile;
	talloc_free(p);
	return good && any;
}

/* --- the unknowns --- */

/* Usual lengths, so that unknowns are of the order of 1. */
static double
unit_of(uint8_t field)
{
	return field == FIELD_half ? 1e6 : field == FIELD_start ? 1e-6 : 64;
}

static bool
is_factor(uint8_t field)
{
	return field == FIELD_share || field == FIELD_unaligned;
}

/* Initial value of an unknown: three quarters, 5 us, a quarter of a usual length. */
static double
first_guess(uint8_t field)
{
	return is_factor(field) ? -0.3 : field == FIELD_start ? 2.2 : 0.5;
}

static double *
field_of(struct reach *r, uint8_t field)
{
	static const size_t offset[] = {
#define REACH_FIELD(name, unit, value, fits, whose, meaning) offsetof(struct reach, name),
#include "ir/cluster/reach.def"
#undef REACH_FIELD
	};

	return (double *)((char *)r + offset[field]);
}

/* Used fields of each item: bit f: its field f. */
typedef uint32_t used_fields[REACH_KERNELS][REACH_TYPES];

static void
use_product(used_fields used, const struct sample *s, const struct reach_op *p)
{
	const bool attention = s->rest.products > 1 && reach_is_attention(&s->rest);
	uint32_t *u = &used[attention ? REACH_attention : p->kernel][p->type];

	*u |= 1u << FIELD_share | 1u << FIELD_half_m | 1u << FIELD_half_n | 1u << FIELD_half_k |
	      1u << FIELD_start;
	*u |= p->size.unaligned ? 1u << FIELD_unaligned : 0;
}

static void
use_sample(used_fields used, const struct sample *s)
{
	for (uint32_t p = 0; p < s->rest.products; p++)
		use_product(used, s, &s->product[p]);
	for (int t = 0; t < REACH_TYPES; t++)
		if (reach_loop_bytes(&s->rest, t) > 0)
			used[reach_loops(&s->rest)][t] |= 1u << FIELD_share | 1u << FIELD_half;
}

/* Types for which libraries use similar kernels. */
static uint8_t
like(uint8_t type)
{
	return type == REACH_OF_tf32 ? REACH_OF_f32 : type == REACH_OF_f16 ? REACH_OF_bf16 : type;
}

/*
 * The parameter of the last of n unknowns: calling a library takes the same for types that are
 * alike, and for single and batched products.
 */
static uint32_t
parameter_of(const struct unknown *list, uint32_t n, const struct unknown *u, uint32_t *nparameters)
{
	for (uint32_t i = 0; i < n && u->field == FIELD_start; i++) {
		const bool both = u->kernel <= REACH_batched && list[i].kernel <= REACH_batched;
		if (list[i].field == FIELD_start && like(list[i].type) == like(u->type) &&
			(both || list[i].kernel == u->kernel))
			return list[i].parameter;
	}
	return (*nparameters)++;
}

static uint32_t
find_unknowns(const struct reach_data *data, uint32_t left_out, struct unknown *list,
	uint32_t *nparameters)
{
	used_fields used = {{0}};
	uint32_t n = 0;

	*nparameters = 0;

	for (uint32_t i = 0; i < data->n; i++) {
		if (data->sample[i].profile != left_out)
			use_sample(used, &data->sample[i]);
	}
	for (uint8_t k = 0; k < REACH_KERNELS; k++)
		for (uint8_t t = 0; t < REACH_TYPES; t++)
			for (uint8_t f = 0; f < FIELDS; f++)
				if (used[k][t] >> f & 1) {
					struct unknown *u = &list[n];
					*u = (struct unknown){k, t, f, 0};
					u->parameter = parameter_of(list, n++, u, nparameters);
				}
	return n;
}

static void
set_unknowns(struct device *d, const struct unknown *u, uint32_t n, const double *v)
{
	for (uint32_t i = 0; i < n; i++) {
		const double p = v[u[i].parameter];
		*field_of(&d->reach[u[i].kernel][u[i].type], u[i].field) =
			is_factor(u[i].field) ? exp(p) : p * p * unit_of(u[i].field);
	}
}

/* --- the fit --- */

struct fit {
	const struct reach_data *data;
	uint32_t left_out; /* a profile; UINT32_MAX: none */
	struct unknown *unknown;
	uint32_t nunknowns, nparameters;
	bool *matters; /* [nparameters][n] to which kernels */
};

/* By items, of which a kernel reads some fields; a product takes at least as long as reading its operands. */
static void
find_what_matters(struct fit *f, const void *owner)
{
	const uint32_t n = f->data->n;

	f->matters = ZERO_ARRAY(owner, bool, (size_t)f->nparameters *n + 1);
	for (uint32_t i = 0; i < n; i++) {
		used_fields used = {{0}};
		const struct sample *s = &f->data->sample[i];
		use_sample(used, s);
		for (uint32_t p = 0; p < s->rest.products; p++)
			used[REACH_flat][s->product[p].reads] |=
				1u << FIELD_share | 1u << FIELD_half;
		for (const struct unknown *u = f->unknown; u < f->unknown + f->nunknowns; u++)
			if (used[u->kernel][u->type])
				f->matters[(size_t)u->parameter * n + i] = true;
	}
}

static double
predict(const struct sample *s, const struct device *d)
{
	struct reach_sums sums = s->rest;

	for (uint32_t p = 0; p < s->rest.products; p++) {
		struct reach_op r = s->product[p];
		reach_price(&r, d);
		sums.seconds += r.seconds;
		sums.inside += r.inside;
	}
	return reach_kernel_seconds(&sums, d);
}

/* The residuals of the kernels, then the pull of each unknown. */
static void
residuals(void *data, const double *v, int moved, double *residual)
{
	const struct fit *f = data;
	struct device *d = f->data->device;

	set_unknowns(d, f->unknown, f->nunknowns, v);
	for (uint32_t i = 0; i < f->data->n; i++) {
		const struct sample *s = &f->data->sample[i];
		if (moved != MOVED_ALL && !f->matters[(size_t)moved * f->data->n + i])
			continue;
		residual[i] =
			s->profile == f->left_out ? 0 : s->weight * log(predict(s, d) / s->seconds);
	}
	for (uint32_t i = 0; i < f->nunknowns; i++) {
		const struct unknown *u = &f->unknown[i];
		residual[f->data->n + u->parameter] =
			(is_factor(u->field) ? PULL : PULL_LENGTH) * v[u->parameter];
	}
}

/* Leaves the fitted items in the device of the data. */
static void
fit(const struct reach_data *data, uint32_t left_out, struct fit *f, const void *owner)
{
	*f = (struct fit){.data = data, .left_out = left_out};
	f->unknown = NEW_ARRAY(owner, struct unknown, REACH_KERNELS * REACH_TYPES * FIELDS);
	f->nunknowns = find_unknowns(data, left_out, f->unknown, &f->nparameters);
	find_what_matters(f, owner);
	double *v = NEW_ARRAY(owner, double, f->nunknowns + 1);
	for (int k = 0; k < REACH_KERNELS; k++)
		for (int t = 0; t < REACH_TYPES; t++)
			data->device->reach[k][t] = reach_default();
	for (uint32_t i = 0; i < f->nunknowns; i++)
		v[f->unknown[i].parameter] = first_guess(f->unknown[i].field);
	least_squares(residuals, f, v, f->nparameters, data->n + f->nparameters);
	set_unknowns(data->device, f->unknown, f->nunknowns, v);
}

/* The errors of a profile; UINT32_MAX: of all. */
static struct reach_error
error_of(const struct reach_data *data, uint32_t profile)
{
	struct reach_error e = {.n = 0};
	double seconds = 0, predicted = 0;

	for (uint32_t i = 0; i < data->n; i++) {
		const struct sample *s = &data->sample[i];
		if (profile != UINT32_MAX && s->profile != profile)
			continue;
		const double t = predict(s, data->device), off = fabs(t / s->seconds - 1);
		e.n++;
		e.mean += s->seconds * off;
		e.worst = fmax(e.worst, off);
		seconds += s->seconds;
		predicted += t;
	}
	e.mean = seconds > 0 ? e.mean / seconds : 0;
	e.sum = seconds > 0 ? predicted / seconds - 1 : 0;
	return e;
}

/* --- the text --- */

static void
write_error(FILE *out, const char *what, struct reach_error e)
{
	fprintf(out,
		"  // %s: %" PRIu32
		" kernels, mean error %.1f %%, worst %.0f %%; sum of their times %+.1f %%\n",
		what, e.n, 100 * e.mean, 100 * e.worst, 100 * e.sum);
}

/* To three digits, more than is known. */
static double
rounded(double v)
{
	const double digit = pow(10, floor(log10(v)) - 2);

	return v > 0 ? round(v / digit) * digit : v;
}

static void
write_value(FILE *out, uint8_t field, double v)
{
	static const char *const name[] = {
#define REACH_FIELD(name, unit, value, fits, whose, meaning) #name,
#include "ir/cluster/reach.def"
#undef REACH_FIELD
	};

	if (field == FIELD_half)
		fprintf(out, ", %s = %gMB", name[field], rounded(v / 1e6));
	else if (field == FIELD_start)
		fprintf(out, ", %s = %gus", name[field], rounded(v * 1e6));
	else
		fprintf(out, ", %s = %g", name[field], rounded(v));
}

/* Lengths far below a usual one are written as 0, the default. */
static bool
is_worth_writing(uint8_t field, double v)
{
	return is_factor(field) || v >= unit_of(field) / 100;
}

static void
write_items(FILE *out, const struct fit *f)
{
	const struct device *d = f->data->device;
	const struct unknown *last = NULL;

	for (uint32_t i = 0; i < f->nunknowns; i++) {
		const struct unknown *u = &f->unknown[i];
		struct reach r = d->reach[u->kernel][u->type];
		const double v = *field_of(&r, u->field);
		if (!last || last->kernel != u->kernel || last->type != u->type)
			fprintf(out, "%s  reach %s {kernel = %s, type = %s", last ? "}\n" : "",
				d->name, reach_kernel_name((enum reach_kernel)u->kernel),
				reach_type_name((enum reach_type)u->type));
		if (is_worth_writing(u->field, v))
			write_value(out, u->field, v);
		last = u;
	}
	if (last)
		fputs("}\n", out);
}

bool
reach_data_fit(struct reach_data *data, struct diag *d, FILE *out)
{
	void *scratch = alloc_scratch(NULL);
	struct fit f;

	if (!data->n) {
		diag_error(d, LOC_NONE, "these profiles have no kernels that can be read");
		return false;
	}
	for (uint32_t p = 0; p < data->nprofiles && data->nprofiles > 1; p++) {
		const char *slash = strrchr(data->profile[p], '/');
		char *what =
			TEXT(scratch, "%s by the others", slash ? slash + 1 : data->profile[p]);
		fit(data, p, &f, scratch);
		write_error(out, what, error_of(data, p));
	}
	fit(data, UINT32_MAX, &f, scratch);
	write_error(out, "all", error_of(data, UINT32_MAX));
	write_items(out, &f);
	talloc_free(scratch);
	return true;
}
