/* The cost model: a cluster, and the measurements on its devices. See cost.h. */
#include "passes/analysis/cost/internal.h"

#include "ir/base/alloc.h"
#include "ir/memory/storage.h"
#include "passes/analysis/collective/fit.h"
#include "passes/analysis/estimate/internal.h"
#include "passes/analysis/estimate/network.h"
#include "passes/analysis/cost/whatif.h"

#include <math.h>
#include <string.h>
#include <talloc.h>

static const char *
name_of(const struct cost_model *model, uint32_t kind)
{
	return model->cluster->kind[kind]->name;
}

static bool
is_among(const char *name, char **names, int n)
{
	for (int i = 0; i < n; i++)
		if (!strcmp(names[i], name))
			return true;
	return false;
}

static void
list_devices(struct diag *d, char **names, int n)
{
	for (int i = 0; i < n; i++)
		diag_note(d, LOC_NONE, "it has entries for device %s", names[i]);
}

/* The fields of device.def that were measured, except those given in the text. */
static bool
load_fields(struct device *device, struct profile *p, const char *name)
{
	struct profile_field *fields;
	int n = profile_fields(p, p, name, &fields);
	for (int i = 0; i < n; i++) {
		int field = device_field_number(fields[i].name);
		if (field >= 0 && !(device->given >> field & 1))
			*device_field(device, fields[i].name) = fields[i].value;
	}
	return n >= 0;
}

/*
 * A kind of device of a described cluster: its times, measured on the device of that name, and
 * fields that its text omits.
 */
static bool
load_kind(struct cost_model *model, uint32_t kind, struct profile *p, const char *measured)
{
	struct cost_kind_model *k = &model->kind[kind];
	struct device *device = COPY_ARRAY(model, struct device, model->cluster->kind[kind], 1);

	model->cluster->kind[kind] = device;
	k->nops = profile_ops(model, p, measured, &k->op);
	return k->nops >= 0 && load_fields(device, p, measured);
}

/* The device of a profile that a kind represents: that of its name, or the only one. */
static const char *
find_measured(const struct device *kind, char **names, int n, bool *several)
{
	const char *found = NULL;

	if (is_among(kind->name, names, n))
		return kind->name;
	for (int i = 0; i < n; i++)
		if (device_stands_for(kind, names[i])) {
			*several |= found != NULL;
			found = names[i];
		}
	return found;
}

/* Links are the cluster's; other values are measured ones if available. */
static bool
load_kinds(struct cost_model *model, struct diag *d, const char *path, struct profile *p)
{
	char **names;
	int n = profile_devices(p, p, &names);
	bool any = false, several = false, good = n >= 0;

	for (uint32_t k = 0; k < model->cluster->nkinds && good; k++) {
		const char *measured = find_measured(model->cluster->kind[k], names, n, &several);
		if (several) {
			diag_error(d, LOC_NONE,
				"profile %s has entries for several devices that match %s; name the device of "
				"the cluster after one of them",
				path, name_of(model, k));
			list_devices(d, names, n);
			return false;
		}
		if (!measured)
			continue;
		any = true;
		good = load_kind(model, k, p, measured);
	}
	if (good && !any) {
		diag_error(d, LOC_NONE, "profile %s has no entries for device %s", path,
			name_of(model, 0));
		list_devices(d, names, n);
	}
	return good && any;
}

/* The machine that was measured: this one, or the only one in the profile. NULL after reporting. */
static struct device *
measured_device(const void *owner, struct diag *d, const char *path, struct profile *p)
{
	char **names;
	int n = profile_devices(p, p, &names);

	if (n < 0)
		return NULL;
	char *here = profile_this_device(p);
	if (n > 1 && is_among(here, names, n)) {
		names[0] = here;
		n = 1;
	}
	if (n != 1) {
		diag_error(d, LOC_NONE,
			n ? "profile %s has entries for several devices; select one with -cluster"
			  : "profile %s has no entries",
			path);
		list_devices(d, names, n);
		return NULL;
	}
	struct device *device = device_generic(owner);
	talloc_free(device->name);
	device->name = TEXT(device, "%s", names[0]);
	return load_fields(device, p, names[0]) ? device : NULL;
}

/*
 * Fits the links that the messages of a machine suggest, where no times were measured: for other
 * numbers of places, or another kind.
 */
static void
fit_links(struct device *device, struct profile *p)
{
	struct profile_collective *list;
	int n = profile_collectives(p, p, device->name, &list);
	struct collective_sample *sample = NEW_ARRAY(p, struct collective_sample, n > 0 ? n : 1);
	struct collective_links links;

	for (int i = 0; i < n; i++)
		sample[i] = (struct collective_sample){
			list[i].kind, list[i].places, list[i].bytes, list[i].median};
	if (n <= 0 || !collective_fit_links(sample, (uint32_t)n, COLLECTIVE_AUTO, &links))
		return;
	device->link_latency = links.latency;
	if (isfinite(links.bandwidth))
		device->link_bandwidth = links.bandwidth;
}

/* A curve for each measured kind and number of places; entries are sorted by these. */
static bool
load_messages(struct cost_model *model, struct profile *p, const char *name)
{
	struct profile_collective *list;
	int n = profile_collectives(p, p, name, &list);
	double *bytes = NEW_ARRAY(p, double, n > 0 ? n : 1);
	double *seconds = NEW_ARRAY(p, double, n > 0 ? n : 1);
	uint32_t count = 0;

	model->curve = NEW_ARRAY(model, struct cost_curve, n > 0 ? n : 1);
	for (int i = 0; i < n; i++) {
		/* On the fewest machines: those come first. */
		if (count == 0 || bytes[count - 1] != list[i].bytes) {
			bytes[count] = list[i].bytes;
			seconds[count++] = list[i].median;
		}
		if (i + 1 < n && list[i + 1].kind == list[i].kind &&
			list[i + 1].places == list[i].places)
			continue;
		model->curve[model->ncurves++] = (struct cost_curve){list[i].kind, list[i].places,
			collective_curve_create(model, bytes, seconds, count)};
		count = 0;
	}
	model->nlinks = profile_links(model, p, name, &model->link);
	return n >= 0 && model->nlinks >= 0;
}

/* A model of the machine in the profile, with its links as they were measured. */
static bool
load_machine(struct cost_model *model, struct diag *d, const char *path, struct profile *p)
{
	struct device *device = measured_device(p, d, path, p);

	if (!device)
		return false;
	struct cost_kind_model *k = model->kind = NEW(model, struct cost_kind_model);
	fit_links(device, p);
	model->cluster = cluster_of_device(model, device);
	const char *name = name_of(model, 0);
	k->nops = profile_ops(model, p, name, &k->op);
	return k->nops >= 0 && load_messages(model, p, name);
}

/* Those of MPI's own collectives if they were measured. */
static void
select_transport(struct profile *p, const struct cost_options *o)
{
	const char *transport = o->transport;
	struct profile_collective *list;
	char **names;

	if (!transport && o->algorithm == COLLECTIVE_MPI && profile_devices(p, p, &names) == 1) {
		profile_select(p, NULL, PROFILE_LIBRARY);
		if (profile_collectives(p, p, names[0], &list) > 0)
			return;
		profile_select(p, NULL, NULL);
	}
	if (transport)
		profile_select(p, NULL, transport);
}

static bool
load(struct cost_model *model, struct diag *d, const struct cost_options *o)
{
	struct profile *p = NULL;
	bool good = true;

	if (o->profile && !(p = profile_open(model, d, o->profile, PROFILE_READ)))
		return false;
	if (p)
		select_transport(p, o);
	if (p && !o->cluster)
		good = load_machine(model, d, o->profile, p);
	else if (!model->cluster) {
		model->cluster = cluster_of_device(model, device_generic(model));
		model->stated = cluster_clone(model, model->cluster);
	}
	if (good && !model->kind)
		model->kind = ZERO_ARRAY(model, struct cost_kind_model, model->cluster->nkinds);
	if (good && p && o->cluster)
		good = load_kinds(model, d, o->profile, p);
	talloc_free(p);
	return good;
}

/* The network that the options name; its estimates are for the device that it was trained on. */
static bool
load_network(struct cost_model *model, struct diag *d, const char *path)
{
	struct network *w = network_load(model, d, path);

	if (w && !device_stands_for(model->cluster->kind[0], network_device(w)))
		diag_report(d, DIAG_WARNING, LOC_NONE,
			"%s: these weights were trained on %s, but times are predicted for %s",
			path, network_device(w), name_of(model, 0));
	model->network = w;
	return w != NULL;
}

struct cost_model *
cost_model_create(const void *owner, struct diag *d, const struct cost_options *o)
{
	struct cost_model *model = NEW(NULL, struct cost_model);

	model->cluster = o->cluster ? cluster_clone(model, o->cluster) : NULL;
	model->stated = o->cluster ? cluster_clone(model, o->cluster) : NULL;
	model->algorithm = o->algorithm;
	model->fine = o->fine;
	model->described = o->cluster || o->profile;
	model->given = o->cluster != NULL;
	model->storage = o->storage;
	bool good = load(model, d, o);
	if (good && o->network)
		good = load_network(model, d, o->network);
	if (!good) {
		talloc_free(model);
		return NULL;
	}
	estimate_careful_load(model);
	model->collectives = collective_model_create(model, model->cluster);
	return talloc_steal(owner, model);
}

struct cost_model *
cost_model_remember(const void *owner, const struct cost_model *base)
{
	struct cost_model *model = NEW(owner, struct cost_model);

	*model = *base;
	model->memo = NEW(model, struct cost_memo);
	model->memo->ops = alike_memo_create(model->memo);
	model->memo->codes = storage_codes_create(model->memo);
	return model;
}

struct cost_model *
cost_model_rough(const void *owner, const struct cost_model *base)
{
	struct cost_model *model = NEW(owner, struct cost_model);
	struct storage_target *target = NEW(model, struct storage_target);

	*model = *base;
	*target = base->storage ? *base->storage : storage_host;
	target->rough = true;
	model->storage = target;
	return model;
}

struct cost_model *
cost_model_whatif(const void *owner, const struct cost_model *base, const struct whatif *w)
{
	struct cost_model *model = NEW(owner, struct cost_model);

	*model = *base;
	model->memo = NULL;
	model->base = base;
	model->whatif = w;
	model->cluster = cluster_clone(model, base->cluster);
	whatif_cluster(w, model->cluster);
	model->stated = base->stated ? cluster_clone(model, base->stated) : NULL;
	if (model->stated)
		whatif_cluster(w, model->stated);
	model->collectives = collective_model_create(model, model->cluster);
	return model;
}

bool
cost_model_is_described(const struct cost_model *model)
{
	return model->described;
}

const struct device *
cost_model_device(const struct cost_model *model)
{
	return model->cluster->kind[0];
}

const struct storage_target *
cost_model_storage(const struct cost_model *model)
{
	return model ? model->storage : NULL;
}

double
cost_model_host_memory(const struct cost_model *model)
{
	double least = INFINITY;

	for (uint32_t k = 0; model->given && k < model->cluster->nkinds; k++)
		least = fmin(least, model->cluster->kind[k]->host_memory);
	return least;
}

/* Does the text of the device give a rate of products, so that it is not the default? */
static bool
states_rate(const struct device *d)
{
	static const char *const rate[] = {"f64", "f32", "bf16", "f16", "i8"};

	for (size_t i = 0; i < sizeof rate / sizeof *rate; i++)
		if (d->given >> device_field_number(rate[i]) & 1)
			return true;
	return false;
}

double
cost_model_peak(const struct cost_model *model, uint32_t kind, enum ir_dtype t)
{
	const struct device *d = model->stated ? model->stated->kind[kind] : NULL;

	return d && (!model->kind[kind].nops || states_rate(d)) ? device_flops(d, t) : 0;
}

struct cluster *
cost_model_cluster(const struct cost_model *model)
{
	return model->cluster;
}
