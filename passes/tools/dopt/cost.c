/* The cost model that the options ask for. */
#include "passes/tools/dopt/driver.h"

#include "ir/cluster/framework.h"
#include "lower/lower.h"
#include "parser/cluster/cluster.h"
#include "passes/analysis/profile/profile.h"

#include <sys/stat.h>
#include <talloc.h>

/*
 * Is the profile missing or empty? Errors in it are reported elsewhere. Another process may create
 * it meanwhile, so existence is tested first.
 */
static bool
is_empty(struct driver *t, const char *path)
{
	struct stat st;
	char **names;
	if (stat(path, &st) != 0 || st.st_size == 0)
		return true;
	bool muted = diag_mute(t->ctx->diag, true);
	struct profile *p = profile_open(t->manager, t->ctx->diag, path, PROFILE_READ);
	bool empty = p && profile_devices(p, p, &names) == 0;

	talloc_free(p);
	diag_mute(t->ctx->diag, muted);
	return empty;
}

/* Are the options of the estimator compatible? */
static bool
estimator_fits(struct driver *t)
{
	const struct driver_options *o = t->o;

	if (o->estimator == DRIVER_ESTIMATE_NETWORK && !o->estimator_weights)
		diag_error(t->ctx->diag, LOC_NONE,
			"-estimator=network needs weights written by "
			"`dopt-profile train`: -estimator-weights=FILE");
	else if (o->estimator == DRIVER_ESTIMATE_ANALYTIC && o->estimator_weights)
		diag_error(t->ctx->diag, LOC_NONE,
			"-estimator-weights requires -estimator=network: "
			"the analytic estimator uses no weights");
	else if (o->estimator == DRIVER_ESTIMATE_MEASURE && !o->profile)
		diag_error(t->ctx->diag, LOC_NONE,
			"-estimator=measure needs a profile to write the times to: -profile=FILE");
	else
		return true;
	return false;
}

/* Computes f32 products in TF32 on devices that support it. False: none does. */
static bool
use_tf32(struct driver *t, struct cluster *c)
{
	bool any = false;

	for (uint32_t k = 0; k < c->nkinds; k++)
		any |= device_use_tf32((struct device *)c->kind[k]);
	if (!any)
		diag_error(t->ctx->diag, LOC_NONE,
			"-tf32: no device of cluster %s has a TF32 rate (tf32 = ...)", c->name);
	return any;
}

bool
driver_cost_create(struct driver *t)
{
	const struct driver_options *o = t->o;
	struct cost_options co = {.profile = o->profile,
		.transport = o->transport,
		.algorithm = (enum collective_algorithm)o->algorithm,
		.fine = o->replay == DRIVER_REPLAY_FINE,
		.storage = t->storage};

	/* A measurement may create the first entry of its profile. */
	if ((o->measure || o->emit == DRIVER_EMIT_MEASURE ||
		    o->estimator == DRIVER_ESTIMATE_MEASURE) &&
		o->profile && is_empty(t, o->profile))
		co.profile = NULL;
	if (!estimator_fits(t))
		return false;
	co.network = o->estimator_weights;
	if (o->cluster) {
		co.cluster = cluster_open_with(t->manager, t->ctx, o->cluster, &t->reads);
		if (!co.cluster)
			return false;
		t->reads.lets = co.cluster->lets;
	}
	if (o->tf32 && !use_tf32(t, co.cluster))
		return false;
	for (uint32_t k = 0; co.cluster && k < co.cluster->nkinds; k++)
		device_use_framework(
			(struct device *)co.cluster->kind[k], (enum framework)o->framework);
	t->storage->libraries = lower_libraries(
		o->target == DRIVER_TARGET_CUDA ? LOWER_CUDA : LOWER_HOST, co.cluster);
	t->cost = cost_model_create(t->manager, t->ctx->diag, &co);
	t->manager->cost = t->cost;
	return t->cost != NULL;
}
