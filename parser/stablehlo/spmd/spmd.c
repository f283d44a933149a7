/*
 * The mesh of a program: the number of processes, and the axes that number them.
 *
 * Groups and shardings cut the process number at strides: the group {0,2} of 4 has members 2 apart,
 * so it cuts at 2 and 4. Cuts that divide each other in a chain become the axes between them; other
 * cuts are ignored, and an op with such groups takes the general route.
 */
#include "parser/stablehlo/spmd/spmd.h"

#include "ir/base/alloc.h"
#include "ir/base/sort.h"
#include "ir/base/vec.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <talloc.h>

enum { MAX_CUTS = IR_MAX_AXES + 1, NSHARDINGS = 5 };

/* Attributes that are shardings, or lists of them. */
static const char *const shardings[NSHARDINGS] = {
	"mhlo.sharding", "sdy.sharding", "in_shardings", "out_shardings", "sharding"};

/* Facts collected in a walk over the file. */
struct survey {
	struct import *im;
	struct spmd *s;
	const char *mesh_op, *sharding[NSHARDINGS]; /* interned names */
	struct VEC(const struct mlir_op *) collective;
	int64_t cut[MAX_CUTS];
	int ncuts;
	bool annotated; /* shardings of whole tensors */
	bool singles;   /* all groups have one member */
};

uint32_t
spmd_axes(const struct import *im)
{
	return im->spmd ? spmd_of(im)->axes : 0;
}

bool
spmd_digits(const struct import *im, int64_t low, int64_t high, uint32_t *axes)
{
	const struct spmd *s = spmd_of(im);
	int64_t covered = 1;

	*axes = 0;
	for (int a = 0; a < im->module->naxes; a++)
		if (s->stride[a] >= low && s->stride[a] < high) {
			*axes |= 1u << a;
			covered *= im->module->axis[a].size;
		}
	return covered * low == high;
}

const struct mlir_op *
spmd_top(const struct import *im)
{
	const struct mlir_op *op = im->file->module;

	while (op && !strcmp(op->name, "builtin.module") && !op->next)
		op = op->nregions ? op->region[0].first : NULL;
	return op;
}

/* Puts a cut into the chain if it divides what is above and is divided by what is below. */
static void
add_cut(void *data, int64_t cut)
{
	struct survey *v = data;
	int at = 0;

	while (at < v->ncuts && v->cut[at] < cut)
		at++;
	if (cut < 1 || v->ncuts == MAX_CUTS || (at < v->ncuts && v->cut[at] % cut) ||
		(at && cut % v->cut[at - 1]) || at == v->ncuts)
		return;
	if (v->cut[at] == cut)
		return;
	memmove(&v->cut[at + 1], &v->cut[at], sizeof *v->cut * (size_t)(v->ncuts - at));
	v->cut[at] = cut;
	v->ncuts++;
}

/* The cuts that a group has: runs of members at one distance, runs of such runs ... */
static void
cut_group(struct survey *v, const int64_t *member, int64_t n)
{
	int64_t step = 1; /* members in a run of those below */

	while (step < n) {
		const int64_t stride = member[step] - member[0];
		int64_t k = 1;
		while (k * step < n && member[k * step] - member[0] == k * stride)
			k++;
		if (stride < 1)
			return;
		add_cut(v, stride);
		add_cut(v, stride * k);
		step *= k;
	}
}

/* --- the way through the file ----------------------------------------------------------------- */

static bool
is_sharding(const struct survey *v, const char *name)
{
	for (int k = 0; k < NSHARDINGS; k++)
		if (v->sharding[k] == name)
			return true;
	return false;
}

static void
see_attrs(struct survey *v, const struct mlir_attr *attr, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (is_sharding(v, attr[i].name)) {
			v->annotated = true;
			spmd_sharding_cuts(v->im, &attr[i], add_cut, v);
		}
}

static void
see_block(struct survey *v, const struct mlir_block *b, bool cuts)
{
	for (uint32_t i = 0; cuts && i < b->nargs; i++)
		see_attrs(v, b->arg[i].attr, b->arg[i].nattrs);
	for (const struct mlir_op *op = b->first; op; op = op->next) {
		if (cuts)
			see_attrs(v, op->attr, op->nattrs);
		else if (spmd_is_collective(v->im, op))
			VEC_PUSH(v->s, &v->collective, op);
		for (uint32_t r = 0; r < op->nregions; r++)
			see_block(v, &op->region[r], cuts);
	}
}

/* sdy.mesh: the names of its axes, as digits of the partition. */
static bool
see_mesh(struct survey *v, const struct mlir_op *op)
{
	const struct mlir_attr *symbol = mlir_attr_find(op, "sym_name"),
			       *mesh = mlir_attr_find(op, "mesh");
	const struct mlir_attr *axes = mesh ? mlir_item_find(mesh, "axes") : NULL,
			       *ids = mesh ? mlir_item_find(mesh, "device_ids") : NULL;
	int64_t total = 1;

	if (!symbol || !axes || axes->kind != MLIR_LIST)
		return import_error(v->im, op, "a mesh must have a name and a list of axes");
	for (uint32_t i = 0; i < axes->n; i++) {
		const struct mlir_attr *size = mlir_item_find(&axes->item[i], "size");
		if (!size || size->i < 1 || size->i > SPMD_MAX_PROCESSES ||
			(total *= size->i) > SPMD_MAX_PROCESSES)
			return import_error(v->im, op,
				"the size of axis %u of the mesh must be 1 to %d", i + 1,
				SPMD_MAX_PROCESSES);
	}
	for (uint32_t i = 0; ids && ids->kind == MLIR_LIST && i < ids->n; i++)
		if (ids->item[i].i != i && axes->n)
			return import_unsupported(v->im, op, "device_ids that are not 0, 1, 2 ...");
	if (v->s->partitions > 1 && total > 1 && total != v->s->partitions)
		return import_error(v->im, op,
			"the mesh has %" PRId64 " devices, but another mesh has %" PRId64, total,
			v->s->partitions);
	if (total > 1)
		v->s->partitions = total;
	for (uint32_t i = 0; i < axes->n; i++) {
		const struct mlir_attr *name = mlir_item_find(&axes->item[i], "name");
		const int64_t low = total / mlir_item_find(&axes->item[i], "size")->i;
		if (!name || v->s->nnames == SPMD_MAX_NAMES)
			return import_error(
				v->im, op, "more than %d axes of meshes", SPMD_MAX_NAMES);
		v->s->name[v->s->nnames++] =
			(struct spmd_name){ir_name(v->im->file->ctx, symbol->s),
				ir_name(v->im->file->ctx, name->s), low, total};
		total = low;
	}
	return true;
}

/* Does an attribute name the symbol, or one in it? */
static bool
names_symbol(const struct mlir_attr *attr, uint32_t n, const char *symbol)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct mlir_attr *a = &attr[i];
		if (a->kind == MLIR_SYMBOL && !strcmp(a->s, symbol))
			return true;
		if ((a->kind == MLIR_LIST || a->kind == MLIR_DICT) &&
			names_symbol(a->item, a->n, symbol))
			return true;
	}
	return false;
}

static bool
block_names_symbol(const struct mlir_block *b, const char *symbol)
{
	for (uint32_t i = 0; i < b->nargs; i++)
		if (names_symbol(b->arg[i].attr, b->arg[i].nattrs, symbol))
			return true;
	for (const struct mlir_op *op = b->first; op; op = op->next) {
		if (names_symbol(op->attr, op->nattrs, symbol))
			return true;
		for (uint32_t r = 0; r < op->nregions; r++)
			if (block_names_symbol(&op->region[r], symbol))
				return true;
	}
	return false;
}

/* Of several meshes, only those that a sharding names are used: printers keep unused ones. */
static bool
see_meshes(struct survey *v)
{
	const struct mlir_op *top = spmd_top(v->im);
	int n = 0;

	for (const struct mlir_op *op = top; op; op = op->next)
		n += op->name == v->mesh_op;
	for (const struct mlir_op *op = top; op; op = op->next) {
		const struct mlir_attr *name =
			op->name == v->mesh_op ? mlir_attr_find(op, "sym_name") : NULL;
		if (op->name == v->mesh_op &&
			(n < 2 || !name || !top->block ||
				block_names_symbol(top->block, name->s)) &&
			!see_mesh(v, op))
			return false;
	}
	return true;
}

/* --- how many processes ----------------------------------------------------------------------- */

static int64_t
module_count(const struct import *im, const char *name)
{
	const struct mlir_op *top = spmd_top(im);
	const struct mlir_attr *a = top && top->block && top->block->parent
					    ? mlir_attr_find(top->block->parent, name)
					    : NULL;

	return a && a->kind == MLIR_INT && a->i > 0 ? a->i : 0;
}

/* The largest number in the groups or pairs of an op, and whether all groups have one member. */
static int64_t
largest_number(struct survey *v, const struct mlir_op *op)
{
	static const char *const names[] = {"replica_groups", "source_target_pairs"};
	int64_t largest = -1;

	for (int k = 0; k < 2; k++) {
		const struct mlir_attr *a = mlir_attr_find(op, names[k]);
		if (!a || a->kind != MLIR_DENSE || a->dense->is_float)
			continue;
		for (int64_t i = 0; i < a->dense->n; i++)
			if (a->dense->number[i].i > largest)
				largest = a->dense->number[i].i;
		const struct mlir_type *t = a->dense->type;
		if (k || (t->rank == 2 && t->dim[1] > 1))
			v->singles = false;
	}
	return largest;
}

/* The number of processes that the groups imply, if nothing else gives it. */
static void
count_by_groups(struct survey *v, bool open)
{
	struct spmd *s = v->s;

	for (int64_t i = 0; i < v->collective.n; i++) {
		const int64_t n = largest_number(v, v->collective.at[i]) + 1;
		const enum spmd_mode mode = spmd_mode_of(v->collective.at[i]);
		if (!open || n > SPMD_MAX_PROCESSES)
			continue;
		if (mode == SPMD_PARTITION)
			s->partitions = n > s->partitions ? n : s->partitions;
		else if (mode == SPMD_FLAT)
			s->replicas = (n + s->partitions - 1) / s->partitions > s->replicas
					      ? (n + s->partitions - 1) / s->partitions
					      : s->replicas;
		else
			s->replicas = n > s->replicas ? n : s->replicas;
	}
}

static const struct mlir_op *
find_parallel(const struct import *im, const struct mlir_op *func)
{
	const char *name = ir_name(im->file->ctx, "interpreter.run_parallel");

	for (const struct mlir_op *op = func->nregions ? func->region[0].first : NULL; op;
		op = op->next)
		if (op->name == name)
			return op;
	return NULL;
}

/* The grid of run_parallel: programs = [[partition 0 of replica 0, ...], ...]. */
static bool
count_by_grid(struct survey *v, const struct mlir_op *op)
{
	const struct mlir_attr *a = mlir_attr_find(op, "programs");

	if (!a || a->kind != MLIR_LIST || !a->n || a->item[0].kind != MLIR_LIST || !a->item[0].n)
		return import_error(v->im, op, "programs must be a list of lists of functions");
	for (uint32_t i = 0; i < a->n; i++)
		if (a->item[i].kind != MLIR_LIST || a->item[i].n != a->item[0].n)
			return import_error(
				v->im, op, "replica %u has a different number of partitions", i);
	v->s->replicas = a->n;
	v->s->partitions = a->item[0].n;
	return true;
}

static bool
count_processes(struct survey *v, const struct mlir_op *func)
{
	const int64_t wanted = v->im->options ? v->im->options->replicas : 0;
	const int64_t replicas = module_count(v->im, "mhlo.num_replicas"),
		      partitions = module_count(v->im, "mhlo.num_partitions");
	const struct mlir_op *parallel = find_parallel(v->im, func);
	struct spmd *s = v->s;

	if (parallel)
		return count_by_grid(v, parallel);
	s->explicit = true;
	if (!see_meshes(v))
		return false;
	if (s->partitions == 1 && partitions)
		s->partitions = partitions;
	if (replicas)
		s->replicas = replicas;
	v->singles = true;
	count_by_groups(v, !replicas && !partitions && !s->nnames);
	if (wanted > 1 && !v->collective.n)
		diag_report(v->im->diag, DIAG_WARNING, func->loc,
			"-replicas=%" PRId64
			" of a program without collectives: the replicas do not "
			"exchange anything, each trains on its own; to split the batch of one "
			"program, use -mesh and a pass such as dp",
			wanted);
	if (wanted > 1 && s->replicas == 1 && s->partitions == 1 && v->singles) {
		s->replicas = wanted;
		s->one_means_all = true;
	} else if (wanted > 0 && wanted != s->replicas) {
		diag_error(v->im->diag, func->loc,
			"the program is one of %" PRId64 " replicas, not of %" PRId64, s->replicas,
			wanted);
		return false;
	}
	return true;
}

/* --- the axes --------------------------------------------------------------------------------- */

/* Is the name a keyword of .dir, an element type or already an axis? */
static bool
name_taken(const struct ir_module *m, const char *name)
{
	static const char *const words[] = {
		"module", "let", "mesh", "steps", "func", "true", "false"};

	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		if (!strcmp(words[i], name))
			return true;
	return ir_dtype_find(name) >= 0 || ir_axis_find(m, name) >= 0;
}

/* `from` with only letters, digits and _, and a number after it if there are several. */
static const char *
axis_name(struct import *im, const char *from, int number)
{
	char text[64];
	size_t n = 0;

	if (!isalpha((unsigned char)*from) && *from != '_')
		text[n++] = '_';
	for (; *from && n < 40; from++)
		text[n++] = isalnum((unsigned char)*from) ? *from : '_';
	text[n] = '\0';
	if (number >= 0)
		n += (size_t)snprintf(text + n, sizeof text - n, "%d", number);
	while (name_taken(im->module, text) && n + 1 < sizeof text) {
		text[n++] = '_';
		text[n] = '\0';
	}
	return ir_name(im->module->ctx, text);
}

/* The name for the digits [low, high): that of a mesh, else dp for replicas and p for partitions.
 */
static const char *
name_for(struct survey *v, int64_t low, int64_t high, const int count[2], int seen[2])
{
	const int kind = low < v->s->partitions;

	for (int i = 0; i < v->s->nnames; i++) {
		const struct spmd_name *n = &v->s->name[i];
		if (n->low > low || n->high < high || n->low == n->high)
			continue;
		if (n->low == low && n->high == high)
			return axis_name(v->im, n->axis, -1);
		return axis_name(v->im, n->axis, seen[kind]++);
	}
	return axis_name(v->im, kind ? "p" : "dp", count[kind] > 1 ? seen[kind]++ : -1);
}

static bool
make_axes(struct survey *v, struct ir_loc loc)
{
	struct ir_module *m = v->im->module;
	int count[2] = {0}, seen[2] = {0};

	if (m->naxes + v->ncuts - 1 > IR_MAX_AXES) {
		diag_error(v->im->diag, loc, "the mesh has more than %d axes", IR_MAX_AXES);
		return false;
	}
	for (int i = 0; i + 1 < v->ncuts; i++)
		count[v->cut[i] < v->s->partitions]++;
	for (int i = v->ncuts - 1; i > 0; i--) {
		const int64_t low = v->cut[i - 1], high = v->cut[i];
		v->s->stride[m->naxes] = low;
		v->s->axes |= 1u << m->naxes;
		m->axis[m->naxes] = (struct ir_axis){.name = name_for(v, low, high, count, seen),
			.size = (int32_t)(high / low),
			.loc = loc};
		m->naxes++;
	}
	return true;
}

/* All that cuts, the coarsest first: the chain's ends, named axes, groups, shardings. */
static void
find_cuts(struct survey *v)
{
	struct spmd *s = v->s;

	v->cut[v->ncuts++] = s->replicas * s->partitions;
	add_cut(v, 1);
	add_cut(v, s->partitions);
	for (int i = 0; i < s->nnames; i++) {
		add_cut(v, s->name[i].low);
		add_cut(v, s->name[i].high);
	}
	for (int64_t i = 0; i < v->collective.n; i++) {
		struct spmd_groups g;
		const bool before = diag_mute(v->im->diag, true);
		const bool ok = spmd_groups_of(v->im, v->collective.at[i], &g);
		diag_mute(v->im->diag, before);
		if (!ok || !g.n)
			continue;
		int64_t *member = COPY_ARRAY(s, int64_t, g.member, g.size);
		int64_t n = g.size;
		while (n && member[n - 1] < 0)
			n--;
		sort_int64(member, (size_t)n);
		cut_group(v, member, n);
		talloc_free(member);
	}
	if (v->im->file->module->nregions)
		see_block(v, &v->im->file->module->region[0], true);
}

bool
spmd_begin(struct import *im, const struct mlir_op *func)
{
	struct ir_context *ctx = im->file->ctx;
	struct spmd *s = NEW(im->module, struct spmd);
	struct survey v = {.im = im, .s = s, .mesh_op = ir_name(ctx, "sdy.mesh")};

	im->spmd = s;
	for (int k = 0; k < NSHARDINGS; k++)
		v.sharding[k] = ir_name(ctx, shardings[k]);
	s->replicas = s->partitions = 1;
	s->alone = -1;
	if (im->file->module->nregions)
		see_block(&v, &im->file->module->region[0], false);
	if (!count_processes(&v, func))
		return false;
	if (s->replicas > SPMD_MAX_PROCESSES / s->partitions) {
		diag_error(im->diag, func->loc,
			"%" PRId64 " replicas of %" PRId64 " partitions are more than %d processes",
			s->replicas, s->partitions, SPMD_MAX_PROCESSES);
		return false;
	}
	find_cuts(&v);
	/* Arguments are whole tensors if shardings say how they are split, or if partitions do not
	 * communicate. */
	if (v.annotated || s->nnames || (s->replicas == 1 && !v.collective.n))
		s->explicit = false;
	VEC_FREE(&v.collective);
	return make_axes(&v, func->loc);
}
