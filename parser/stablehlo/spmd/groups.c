/*
 * The process groups of a collective (StableHLO, "Process groups"): replica_groups has numbers of
 * replicas, partitions or processes, depending on the op's channel and use_global_device_ids.
 */
#include "parser/stablehlo/spmd/spmd.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

static bool
flag(const struct mlir_op *op, const char *name)
{
	const struct mlir_attr *a = mlir_attr_find(op, name);

	return a && (a->kind != MLIR_BOOL || a->i);
}

static int64_t
channel_of(const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_find(op, "channel_handle");

	if (a && a->kind == MLIR_DICT)
		a = mlir_item_find(a, "handle");
	else
		a = mlir_attr_find(op, "channel_id");
	return a && a->kind == MLIR_INT ? a->i : 0;
}

/* How the last part of "stablehlo.all_reduce" forms groups: by its row. */
static const struct collective {
	const char *name;
	bool partitions; /* a channel makes cross_partition of it, not cross_replica_and_partition
			  */
} collectives[] = {
	{"stablehlo.all_reduce", false},
	{"stablehlo.all_gather", false},
	{"stablehlo.reduce_scatter", false},
	{"stablehlo.all_to_all", true},
	{"stablehlo.collective_permute", true},
	{"stablehlo.collective_broadcast", true},
	{"stablehlo.collective_reduce", true},
	{"stablehlo.cross-replica-sum", false},
};

static const struct collective *
find_collective(const char *name)
{
	/* Few ops pass the test of the first letters. */
	if (strncmp(name, "stablehlo.", 10) || !strchr("acr", name[10]))
		return NULL;
	for (size_t i = 0; i < sizeof collectives / sizeof *collectives; i++)
		if (!strcmp(name, collectives[i].name))
			return &collectives[i];
	return NULL;
}

bool
spmd_is_collective(const struct import *im, const struct mlir_op *op)
{
	(void)im;
	return find_collective(op->name) != NULL;
}

enum spmd_mode
spmd_mode_of(const struct mlir_op *op)
{
	const struct collective *c = find_collective(op->name);

	if (c && c->partitions)
		return channel_of(op) > 0 ? SPMD_PARTITION : SPMD_REPLICA;
	if (flag(op, "use_global_device_ids"))
		return SPMD_FLAT;
	return channel_of(op) > 0 ? SPMD_BOTH : SPMD_REPLICA;
}

/* Lists of numbers as written: n x size, from a dense attribute or nothing (all replicas). */
struct written {
	int64_t n, size;
	const struct mlir_dense *dense; /* NULL: 0, 1, 2 ... */
};

static int64_t
written_number(const struct written *w, int64_t group, int64_t k)
{
	if (!w->dense)
		return k;
	return w->dense->number[w->dense->splat ? 0 : group * w->size + k].i;
}

static bool
read_written(struct import *im, const struct mlir_op *op, int64_t all, struct written *w)
{
	const struct mlir_attr *a = mlir_attr_find(op, "replica_groups");

	*w = (struct written){1, all, NULL};
	if (!a)
		return true;
	if (flag(op, "use_global_device_ids") && channel_of(op) <= 0)
		return import_error(
			im, op, "use_global_device_ids requires a channel id that is positive");
	if (a->kind != MLIR_DENSE || a->dense->is_float || a->dense->type->rank != 2)
		return import_error(im, op, "replica_groups must be a tensor of groups x members");
	const int64_t n = a->dense->type->dim[0], size = a->dense->type->dim[1];
	if (!n || !size)
		return true; /* none given: one group of all */
	if (n > SPMD_MAX_PROCESSES || size > SPMD_MAX_PROCESSES ||
		n * size > 2 * SPMD_MAX_PROCESSES)
		return import_error(
			im, op, "replica_groups have more than %d members", 2 * SPMD_MAX_PROCESSES);
	if (n == 1 && size == 1 && spmd_of(im)->one_means_all)
		return true;
	*w = (struct written){n, size, a->dense};
	return true;
}

/* The process of member k of group g, among the groups that `mode` makes of the list. */
static int64_t
member(const struct spmd *s, enum spmd_mode mode, const struct written *w, int64_t g, int64_t k)
{
	const int64_t none = s->replicas * s->partitions; /* which check_members complains of */
	int64_t x;

	switch (mode) {
	case SPMD_REPLICA: /* one group a partition */
		x = written_number(w, g / s->partitions, k);
		return x < 0 ? -1 : x < s->replicas ? x * s->partitions + g % s->partitions : none;
	case SPMD_PARTITION: /* one group a replica */
		x = written_number(w, g / s->replicas, k);
		return x < 0 ? -1 : x < s->partitions ? g % s->replicas * s->partitions + x : none;
	case SPMD_BOTH: /* the replicas of partition 0, of partition 1 ... */
		x = written_number(w, g, k % w->size);
		return x < 0 ? -1 : x < s->replicas ? x * s->partitions + k / w->size : none;
	case SPMD_FLAT: return written_number(w, g, k);
	}
	return -1;
}

/* Numbers in range, each process at most once; -1 goes to the end of its group. */
static bool
check_members(struct import *im, const struct mlir_op *op, int64_t *m, const struct spmd_groups *g,
	int64_t processes, int64_t *in_groups)
{
	bool *seen = ZERO_ARRAY(m, bool, processes);

	*in_groups = 0;
	for (int64_t i = 0; i < g->n; i++) {
		int64_t n = 0, *group = m + i * g->size;
		for (int64_t k = 0; k < g->size; k++) {
			const int64_t p = group[k];
			if (p < 0)
				continue;
			if (p >= processes)
				return import_error(im, op,
					"a group has an index beyond the %" PRId64
					" replicas x %" PRId64 " partitions",
					spmd_of(im)->replicas, spmd_of(im)->partitions);
			if (seen[p])
				return import_error(
					im, op, "process %" PRId64 " is in two groups", p);
			seen[p] = true;
			++*in_groups;
			group[n++] = p;
		}
		while (n < g->size)
			group[n++] = -1;
	}
	return true;
}

/* The axes that members of the first group differ on. */
static uint32_t
axes_of_group(const struct import *im, const int64_t *m, int64_t n)
{
	uint32_t axes = 0;

	for (int a = 0; a < im->module->naxes; a++)
		for (int64_t k = 1; k < n && !(axes >> a & 1); k++)
			if (spmd_coordinate(im, m[k], a) != spmd_coordinate(im, m[0], a))
				axes |= 1u << a;
	return axes;
}

/* Is each group all processes that differ only on the axes on which the first group differs? Then
 * its size is the product of their sizes, and other coordinates are those of its first member. */
static bool
is_regular(const struct import *im, struct spmd_groups *g)
{
	int64_t places = 1;

	if (g->member[g->size - 1] < 0)
		return false;
	g->axes = axes_of_group(im, g->member, g->size);
	for (int a = 0; a < im->module->naxes; a++)
		if (g->axes >> a & 1)
			places *= im->module->axis[a].size;
	if (places != g->size)
		return false;
	g->ordered = true;
	for (int64_t i = 0; i < g->n; i++) {
		const int64_t *m = g->member + i * g->size;
		if (m[g->size - 1] < 0 || (axes_of_group(im, m, g->size) & ~g->axes))
			return false;
		for (int64_t k = 1; k < g->size; k++)
			g->ordered = g->ordered && m[k] > m[k - 1];
	}
	return true;
}

bool
spmd_groups_of(struct import *im, const struct mlir_op *op, struct spmd_groups *g)
{
	struct spmd *s = spmd_of(im);
	const enum spmd_mode mode = spmd_mode_of(op);
	const int64_t processes = spmd_processes(im);
	struct written w;
	int64_t in_groups;

	*g = (struct spmd_groups){0};
	if (!read_written(im, op,
		    mode == SPMD_PARTITION ? s->partitions
		    : mode == SPMD_FLAT    ? processes
					   : s->replicas,
		    &w))
		return false;
	g->n = mode == SPMD_REPLICA     ? w.n * s->partitions
	       : mode == SPMD_PARTITION ? w.n * s->replicas
					: w.n;
	g->size = mode == SPMD_BOTH ? w.size * s->partitions : w.size;
	if (g->n > SPMD_MAX_PROCESSES || g->n * g->size > 4 * (int64_t)SPMD_MAX_PROCESSES)
		return import_error(
			im, op, "the groups have more than %d members", 4 * SPMD_MAX_PROCESSES);
	talloc_free(s->scratch);
	int64_t *m = NEW_ARRAY(s, int64_t, g->n * g->size);
	s->scratch = m;
	for (int64_t i = 0; i < g->n; i++)
		for (int64_t k = 0; k < g->size; k++)
			m[i * g->size + k] = member(s, mode, &w, i, k);
	if (!check_members(im, op, m, g, processes, &in_groups))
		return false;
	g->member = m;
	if (s->alone >= 0 && g->size > 1)
		return import_unsupported(im, op, "among processes that run different functions");
	if (in_groups == processes)
		g->regular = is_regular(im, g);
	return true;
}

int64_t
spmd_group_find(const struct spmd_groups *g, int64_t process, int64_t *place)
{
	for (int64_t i = 0; i < g->n * g->size; i++)
		if (g->member[i] == process) {
			*place = i % g->size;
			return i / g->size;
		}
	return -1;
}
