/*
 * The axes over which parallelize splits a step. Those of the mesh, at most PARALLEL_MOST_AXES at
 * once; or those that it makes itself for a number of devices: its prime factors in the order of
 * the devices, level by level of the cluster, grouped into axes by cuts between them.
 *
 *     32 servers of 6 cards       2 2 2 2 2 | 2 3          | ends a level: links inside are faster
 *     [node = 32, card = 6]        . . . . | .
 *     [node0 = 4, node1 = 8, card = 6]  . | . . | .
 *
 * Which cuts are best depends on the step: two axes of one level can split different indices, but a
 * message along one of them reaches fewer devices. parallelize.c moves the cuts.
 */
#include "ir/base/alloc.h"
#include "ir/cluster/cluster.h"
#include "passes/parallel/parallelize/parallelize.h"

#include <inttypes.h>
#include <string.h>

/* --- axes of the mesh ------------------------------------------------------------------------- */

uint32_t
parallel_axes_in_use(const struct ir_module *m)
{
	uint32_t used = 0;

	IR_FOR_OPS (op, &ir_func_find(m, "main")->body) {
		if (op_is(op, TRAIT_PARALLEL))
			used |= 1u << ir_attr_int(op, "axis", 0);
		for (int r = 0; r < op->nresults; r++)
			for (int a = 0; a < m->naxes; a++)
				used |= op->result[r].type->axis[a].kind == IR_COPIED ? 0 : 1u << a;
	}
	return used;
}

bool
parallel_axes_wanted(struct pass_run *run, const struct ir_module *m, uint32_t *wanted)
{
	const uint32_t used = parallel_axes_in_use(m);
	int given[IR_MAX_AXES];
	const int n = pass_axes(run, "axes", given);
	uint32_t asked = 0;

	for (int i = 0; i < n; i++) {
		if (m->axis[given[i]].time) {
			diag_error(run->ctx->diag, pass_option_loc(run, "axes"),
				"parallelize: %s is a time axis; expected device axes",
				m->axis[given[i]].name);
			return false;
		}
		asked |= 1u << given[i];
	}
	*wanted = 0;
	for (int a = 0; a < m->naxes; a++) {
		if (m->axis[a].time || m->axis[a].size == 1 || (n && !(asked >> a & 1)))
			continue;
		if (used >> a & 1)
			pass_remark(run, NULL, PASS_MISSED,
				"axis %s is not used: some values already have layouts on it",
				m->axis[a].name);
		else
			*wanted |= 1u << a;
	}
	return true;
}

/* --- levels of a cluster ---------------------------------------------------------------------- */

struct level {
	int64_t size, stride; /* devices of the cluster between two of its groups */
};

/* More than the number of prime factors of CLUSTER_DEVICES_MAX. */
enum { MOST_FACTORS = 20 };

struct parallel_meshes {
	int n; /* factors, outermost first */
	int32_t factor[MOST_FACTORS];
	int level[MOST_FACTORS]; /* 0: innermost */
	int levels;
	bool boundless;
	struct ir_attr *devices;    /* of the mesh; NULL: the first devices */
	int first;                  /* axes that the module already has */
	int nown, own[IR_MAX_AXES]; /* of these, device axes of size 1, which are used first */
};

static double
bandwidth_to(struct cluster *c, uint32_t device)
{
	struct cluster_route r;

	return cluster_route(c, 0, device, &r) ? r.bandwidth : 0;
}

/* Devices before this position are reached from the first no slower than device `from` is. */
static uint32_t
level_end(struct cluster *c, uint32_t from)
{
	const double bandwidth = bandwidth_to(c, from);
	uint32_t end = from + 1;

	while (end < c->ndevices && bandwidth_to(c, end) >= bandwidth)
		end++;
	return end;
}

static int64_t
largest_divisor(int64_t n, int64_t most)
{
	while (n % most)
		most--;
	return most;
}

/* Levels, innermost first; returns how many. If n does not divide evenly, the first n devices are
 * one level. */
static int
find_levels(struct cluster *c, int64_t n, struct level level[MOST_FACTORS])
{
	int64_t left = n;
	int levels = 0;

	for (uint32_t stride = 1, end; left > 1 && stride < c->ndevices; stride = end) {
		end = level_end(c, stride);
		const int64_t room = end / stride;
		const int64_t size = largest_divisor(left, room < left ? room : left);
		if (size > 1)
			level[levels++] = (struct level){size, stride};
		left /= size;
	}
	if (left == 1)
		return levels;
	level[0] = (struct level){n, 1};
	return 1;
}

static void
add_factors(struct parallel_meshes *s, const struct level *level, int number)
{
	int64_t left = level->size;

	for (int32_t f = 2; left > 1; f++)
		for (; left % f == 0; left /= f) {
			s->factor[s->n] = f;
			s->level[s->n++] = number;
		}
}

/* Does every level continue where the groups inside it end? If so, the mesh consists of the first
 * devices. */
static struct ir_attr *
list_devices(const struct ir_module *m, const struct level *level, int levels, int64_t n)
{
	int64_t inside = 1;
	bool first = true;

	for (int l = 0; l < levels; l++) {
		first = first && level[l].stride == inside;
		inside *= level[l].size;
	}
	if (first || n > UINT16_MAX)
		return NULL;
	struct ir_attr *list = ARENA_ARRAY(m->arena, struct ir_attr, n);
	for (int64_t i = 0; i < n; i++) {
		int64_t device = 0, place = i;
		for (int l = 0; l < levels; l++) {
			device += place % level[l].size * level[l].stride;
			place /= level[l].size;
		}
		list[i] = (struct ir_attr){.kind = ATTR_INT, .i = device, .loc = LOC_NONE};
	}
	struct ir_attr *devices = ARENA_NEW(m->arena, struct ir_attr);
	*devices = (struct ir_attr){.key = ir_name(m->ctx, "devices"),
		.kind = ATTR_LIST,
		.n = (uint16_t)n,
		.loc = LOC_NONE,
		.list = list};
	return devices;
}

struct parallel_meshes *
parallel_meshes_create(const void *owner, const struct ir_module *m, struct cluster *c, int64_t n)
{
	struct parallel_meshes *s = NEW(owner, struct parallel_meshes);
	struct level level[MOST_FACTORS];

	s->levels = find_levels(c, n, level);
	s->boundless = c->boundless;
	s->devices = list_devices(m, level, s->levels, n);
	s->first = m->naxes;
	const uint32_t used = parallel_axes_in_use(m);
	for (int a = 0; a < m->naxes; a++)
		if (!m->axis[a].time && m->axis[a].size == 1 && !(used >> a & 1))
			s->own[s->nown++] = a;
	for (int l = s->levels - 1; l >= 0; l--)
		add_factors(s, &level[l], l);
	return s;
}

/* --- cuts ------------------------------------------------------------------------------------- */

static bool
cut(uint32_t cuts, int factor)
{
	return cuts >> factor & 1;
}

uint32_t
parallel_meshes_start(const struct parallel_meshes *s)
{
	uint32_t cuts = 0;
	int axes = 1;

	for (int i = s->n - 2; i >= 0; i--)
		if (s->level[i] != s->level[i + 1] && axes++ < PARALLEL_MOST_AXES)
			cuts |= 1u << i;
	return cuts;
}

/* If two adjacent axes have the same factors and links, the outer one must not be larger: the
 * exchanged mesh is equivalent. */
static bool
is_canonical(const struct parallel_meshes *s, uint32_t cuts)
{
	int before = -1, last = -1; /* factors before the previous axis, and before this one */

	for (int i = 0; i < s->n; i++) {
		if (i < s->n - 1 && !cut(cuts, i))
			continue;
		bool same = true;
		for (int j = before + 1; j < i; j++)
			same = same && s->factor[j] == s->factor[i] && s->level[j] == s->level[i];
		if (last >= 0 && same && last - before > i - last)
			return false;
		before = last;
		last = i;
	}
	return true;
}

static void
add_cuts(const struct parallel_meshes *s, struct parallel_cuts *list, uint32_t cuts, int most)
{
	bool known = __builtin_popcount(cuts) >= most || !is_canonical(s, cuts);

	for (int i = 0; i < list->n; i++)
		known = known || list->at[i] == cuts;
	if (!known && list->n < PARALLEL_MOST_CUTS)
		list->at[list->n++] = cuts;
}

void
parallel_meshes_near(
	const struct parallel_meshes *s, uint32_t cuts, int most, struct parallel_cuts *list)
{
	for (int i = 0; i < s->n - 1; i++)
		add_cuts(s, list, cuts ^ 1u << i, most);
	for (int i = 0; i < s->n - 1; i++)
		for (int j = 0; j < s->n - 1; j++)
			if (cut(cuts, i) && !cut(cuts, j))
				add_cuts(s, list, cuts ^ 1u << i ^ 1u << j, most);
}

/* "node", "card"; numbered if several axes have that name; never a name that the module uses. */
static const char *
axis_name(const struct parallel_meshes *s, const struct ir_module *m, const char *word, bool many,
	int number)
{
	char *name = many ? TEXT(s, "%s%d", word, number) : text_copy(s, word);

	while (ir_axis_find(m, name) >= 0 || ir_let_find(m, ir_name(m->ctx, name)))
		name = text_append(name, "_");
	return ir_name(m->ctx, name);
}

static const char *
level_word(const struct parallel_meshes *s, int level)
{
	return s->boundless ? "device" : level == 0 ? "card" : "node";
}

void
parallel_meshes_set(const struct parallel_meshes *s, uint32_t cuts, struct ir_module *m,
	struct parallel_axes *axes)
{
	int32_t size[PARALLEL_MOST_AXES] = {1}, n = 0;
	const char *word[PARALLEL_MOST_AXES] = {level_word(s, s->level[0])};

	for (int i = 0; i < s->n; i++) {
		size[n] *= s->factor[i];
		if (i < s->n - 1 && cut(cuts, i)) {
			size[++n] = 1;
			word[n] = level_word(s, s->level[i + 1]);
		}
	}
	m->naxes = s->first;
	m->mesh_attr = s->devices;
	m->nmesh_attrs = s->devices != NULL;
	*axes = (struct parallel_axes){0};
	for (int i = 0; i < s->nown; i++)
		m->axis[s->own[i]].size = i <= n ? size[i] : 1;
	for (int i = 0; i <= n; i++) {
		if (i < s->nown) {
			axes->axis[axes->n++] = s->own[i];
			continue;
		}
		int same = 0, number = 0;
		for (int j = s->nown; j <= n; j++) {
			same += !strcmp(word[i], word[j]);
			number += j < i && !strcmp(word[i], word[j]);
		}
		m->axis[m->naxes] =
			(struct ir_axis){.name = axis_name(s, m, word[i], same > 1, number),
				.size = size[i],
				.loc = LOC_NONE};
		axes->axis[axes->n++] = m->naxes++;
	}
}
