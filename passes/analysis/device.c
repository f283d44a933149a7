/*
 * Device descriptions and the time of collectives.
 *
 * Ring algorithms, as NCCL and MPI use for long messages (Thakur, Rabenseifner, Gropp 2005;
 * Patarasuk and Yuan 2009), P places, S bytes of the whole tensor, a message of n bytes taking
 * alpha + n / beta:
 *
 *     allreduce                         2 (P-1) (alpha + S/P / beta)
 *     allgather, reducescatter          (P-1) (alpha + S/P / beta)
 *     alltoall                          (P-1) (alpha + s/P / beta)       s: bytes at one place
 *     gather, scatter                   (P-1) (alpha + S/P / beta)       through the root's link
 *     broadcast, reduce                 (P-1) alpha + S / beta           pieces in a pipeline
 *     send                              alpha + S / beta
 */
#include "passes/analysis/device.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* A description is a few lines; more is another kind of file. */
#define DEVICE_FILE_MAX ((size_t)1 << 20)

static const struct field {
	const char *name, *unit;
	size_t offset;
} fields[] = {
#define DEVICE(name, unit, value, why) {#name, unit, offsetof(struct device, name)},
#include "passes/analysis/device.def"
#undef DEVICE
};

enum { NFIELDS = sizeof fields / sizeof *fields };

struct device *
device_generic(const void *owner)
{
	struct device *d = talloc_zero(owner, struct device);
	d->name = talloc_strdup(d, "generic");
#define DEVICE(name, unit, value, why) d->name = value;
#include "passes/analysis/device.def"
#undef DEVICE
	return d;
}

double *
device_field(struct device *d, const char *name)
{
	for (int i = 0; i < NFIELDS; i++)
		if (strcmp(fields[i].name, name) == 0)
			return (double *)((char *)d + fields[i].offset);
	return NULL;
}

/* A text being read: `base` is the place of its first byte. */
struct reader {
	struct diag *diag;
	const char *text;
	uint32_t base;
	struct device *device;
	bool given[NFIELDS + 1]; /* the last: the name */
};

static struct ir_loc
loc_of(const struct reader *r, const char *begin, const char *end)
{
	return (struct ir_loc){
		r->base + (uint32_t)(begin - r->text), r->base + (uint32_t)(end - r->text)};
}

/* The factor of a unit such as "GB/s" in base units, for a field in `base`; 0: none such. */
static double
unit_factor(const char *unit, size_t n, const char *base)
{
	if (n == 0 || (n == strlen(base) && memcmp(unit, base, n) == 0))
		return 1;
	static const struct {
		char prefix;
		double factor;
		bool of_seconds;
	} prefixes[] = {{'n', 1e-9, true}, {'u', 1e-6, true}, {'m', 1e-3, true}, {'K', 1e3, false},
		{'M', 1e6, false}, {'G', 1e9, false}, {'T', 1e12, false}, {'P', 1e15, false}};
	if (!*base || n != strlen(base) + 1 || memcmp(unit + 1, base, n - 1) != 0)
		return 0;
	for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes; i++)
		if (prefixes[i].prefix == *unit && prefixes[i].of_seconds == (base[0] == 's'))
			return prefixes[i].factor;
	return 0;
}

/* The number and unit in [p, end); NAN after reporting what is wrong. */
static double
read_value(struct reader *r, const struct field *f, const char *p, const char *end)
{
	char number[64]; /* longer than any number that makes sense */
	size_t n = strspn(p, "+-.0123456789");
	n = n < (size_t)(end - p) ? n : (size_t)(end - p);
	if (p + n + 1 < end && (p[n] == 'e' || p[n] == 'E') && strchr("+-0123456789", p[n + 1])) {
		n += 2;
		while (p + n < end && isdigit((unsigned char)p[n]))
			n++;
	}
	char *rest = number;
	double v = 0;
	if (n < sizeof number) {
		memcpy(number, p, n);
		number[n] = 0;
		v = strtod(number, &rest);
	}
	if (n == 0 || n >= sizeof number || *rest || !isfinite(v)) {
		diag_error(r->diag, loc_of(r, p, end), "%s: expected a number", f->name);
		return NAN;
	}
	const char *unit = p + n;
	while (unit < end && (*unit == ' ' || *unit == '\t'))
		unit++;
	double factor = unit_factor(unit, (size_t)(end - unit), f->unit);
	if (factor == 0) {
		diag_error(r->diag, loc_of(r, unit, end), "%s: expected the unit %s, found '%.*s'",
			f->name, *f->unit ? f->unit : "none", (int)(end - unit), unit);
		return NAN;
	}
	v *= factor;
	bool rate = strstr(f->unit, "/s") != NULL;
	if (v < 0 || (rate && v == 0) || !isfinite(v)) {
		diag_error(r->diag, loc_of(r, p, end), "%s: expected a number %s", f->name,
			rate ? "above 0" : "of at least 0");
		return NAN;
	}
	return v;
}

static void
read_entry(struct reader *r, const char *name, const char *name_end, const char *p, const char *end)
{
	size_t n = (size_t)(name_end - name);
	int i = 0;
	bool is_name = n == 6 && memcmp(name, "device", 6) == 0;
	while (i < NFIELDS && (strlen(fields[i].name) != n || memcmp(fields[i].name, name, n) != 0))
		i++;
	if (i == NFIELDS && !is_name) {
		diag_error(
			r->diag, loc_of(r, name, name_end), "a device has no '%.*s'", (int)n, name);
		return;
	}
	if (r->given[i])
		diag_error(
			r->diag, loc_of(r, name, name_end), "'%.*s' is given twice", (int)n, name);
	r->given[i] = true;
	if (is_name) {
		talloc_free(r->device->name);
		r->device->name = talloc_strndup(r->device, p, (size_t)(end - p));
		return;
	}
	double v = read_value(r, &fields[i], p, end);
	if (!isnan(v))
		*device_field(r->device, fields[i].name) = v;
}

static const char *
skip_space(const char *p, const char *end)
{
	while (p < end && isspace((unsigned char)*p))
		p++;
	return p;
}

static const char *
trim_space(const char *begin, const char *end)
{
	while (end > begin && isspace((unsigned char)end[-1]))
		end--;
	return end;
}

/* One line, without its newline: empty, a comment, or `name = value`. */
static void
read_line(struct reader *r, const char *p, const char *end)
{
	const char *comment = memchr(p, '#', (size_t)(end - p));
	end = comment ? comment : end;
	p = skip_space(p, end);
	end = trim_space(p, end);
	if (p == end)
		return;
	const char *equals = memchr(p, '=', (size_t)(end - p));
	if (!equals) {
		diag_error(r->diag, loc_of(r, p, end), "expected `name = value`");
		return;
	}
	const char *value = skip_space(equals + 1, end);
	if (value == end)
		diag_error(r->diag, loc_of(r, p, end), "expected a value behind '='");
	else
		read_entry(r, p, trim_space(p, equals), value, end);
}

static struct device *
parse(const void *owner, struct diag *d, const char *name, const char *text, size_t length)
{
	struct reader r = {.diag = d,
		.text = text,
		.base = diag_add_source(d, name, text, length),
		.device = device_generic(NULL)};
	unsigned errors = diag_errors(d);
	const char *end = text + length;
	for (const char *p = text; p < end;) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *line_end = newline ? newline : end;
		read_line(&r, p, line_end);
		p = line_end + (newline != NULL);
	}
	if (diag_errors(d) != errors) {
		talloc_free(r.device);
		return NULL;
	}
	return talloc_steal(owner, r.device);
}

struct device *
device_parse(const void *owner, struct diag *d, const char *name, const char *text)
{
	return parse(owner, d, name, text, strlen(text));
}

struct device *
device_read(const void *owner, struct diag *d, const char *path)
{
	FILE *f = fopen(path, "rb");
	char *text = f ? talloc_array(NULL, char, DEVICE_FILE_MAX) : NULL;
	size_t n = f ? fread(text, 1, DEVICE_FILE_MAX, f) : 0;
	struct device *device = NULL;
	if (!f || ferror(f))
		diag_error(
			d, LOC_NONE, "cannot read the device file %s: %s", path, strerror(errno));
	else if (n == DEVICE_FILE_MAX)
		diag_error(d, LOC_NONE, "the device file %s is longer than 1 MB", path);
	else
		device = parse(owner, d, path, text, n);
	talloc_free(text);
	if (f)
		fclose(f);
	return device;
}

const char *
collective_name(enum collective c)
{
	static const char *const names[] = {"allreduce", "reduce", "broadcast", "allgather",
		"gather", "scatter", "reducescatter", "alltoall", "send"};
	return names[c];
}

double
collective_seconds(enum collective c, int places, double bytes, double alpha, double beta)
{
	if (places < 2)
		return 0;
	double hops = places - 1;
	double piece = hops * (alpha + bytes / places / beta);
	switch (c) {
	case COLL_ALLREDUCE: return 2 * piece;
	case COLL_ALLGATHER:
	case COLL_REDUCESCATTER:
	case COLL_ALLTOALL:
	case COLL_GATHER:
	case COLL_SCATTER: return piece;
	case COLL_BROADCAST:
	case COLL_REDUCE: return hops * alpha + bytes / beta;
	case COLL_SEND:
	case COLL_NKINDS: break;
	}
	return alpha + bytes / beta;
}
