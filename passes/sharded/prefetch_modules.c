/*
 * The policies of prefetch that others ship: params are gathered by module of the model, as hooks
 * of the modules do it.
 *
 *     unit       A            B                   C
 *     gathers    a1 a2        b1 b2               c1
 *     readers    --------     ---------------     --------
 *                ^ begins     ^                   ^
 *
 * A unit is a run of gathers of one module, in order of their first readers; in the backward pass,
 * and where params are gathered again, the module has another one. A unit begins before the first
 * reader of its gathers. Where it begins, hooks issue collectives.
 *
 *  - zero3: DeepSpeed ZeRO-3 (deepspeed/runtime/zero/partitioned_param_coordinator.py; defaults of
 *    deepspeed/runtime/zero/config.py). Modules are those that own params: the name of a param up
 *    to its last dot. Where a module begins, its params that have not been gathered are gathered
 *    in one collective, and then params of the next modules in another one, until they have
 *    prefetch_bucket_size elements or max_live_parameters are in use. A param that is read again
 *    before max_reuse_distance elements of other params is kept until then. Params of less than
 *    param_persistence_threshold elements are gathered once, in one collective at the beginning
 *    of the step: DeepSpeed does that at the end of the step before. Gradients are scattered in
 *    buckets of reduce_bucket_size elements, and one bucket is filled while the one before is
 *    sent.
 *  - fsdp: PyTorch FSDP2 with fully_shard on each transformer block and on the model
 *    (torch/distributed/fsdp/_fully_shard). The params of a block are gathered in one collective,
 *    one block ahead: where the block before begins, in the forward and in the backward pass. All
 *    other params belong to the model: they are gathered at the beginning and kept for the
 *    backward pass. Gradients of a block are scattered in one collective at its end, while the
 *    block before is computed.
 *
 * Not modelled: what hooks and allocators take on the host, copies into and out of the buffers of
 * collectives beyond those of ir/memory/row.c, the streams of their own that both use for
 * reducescatters (here a device has one queue for all collectives), and the first iteration of
 * ZeRO-3, which records the order of modules. Params of different element types are in different
 * collectives. Neither policy considers the memory of the device.
 */
#include "passes/sharded/prefetch.h"
#include "ir/base/sort.h"
#include "passes/sharded/repeated.h"
#include "passes/sharded/scatters.h"

#include "ir/base/alloc.h"
#include "ir/block_names.h"
#include "ir/memory/issue.h"
#include "ir/numbering.h"
#include "passes/parallel/collectives.h"

#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* A gather and where it is read. */
struct member {
	struct gather *g;
	struct ir_op *reader;    /* the first one */
	uint32_t begin, end, at; /* numbers of the first reader, the last reader, the gather */
	uint64_t elements;       /* of all results on one device */
	const char *module;      /* its name has `length` characters */
	size_t length;
	uint32_t unit;
};

struct unit {
	uint32_t first, n; /* members */
	uint64_t elements;
};

/* Members in order of their first readers, and their units. */
struct modules {
	struct prefetch *p;
	void *scratch;
	struct gathers *all;
	struct ir_numbering *order;
	struct member *member; /* [n] */
	struct unit *unit;     /* [nunits] */
	uint32_t n, nunits;
};

/* Computes the name of the module that owns a param, a prefix of `param`; returns its length. */
typedef size_t module_of(void *data, const char *param);

ORDER_BY(by_reader, struct member, UP(begin), UP(at))

static struct member
member_create(const struct modules *w, struct gather *g)
{
	struct member x = {.g = g, .begin = UINT32_MAX, .at = ir_number(w->order, g->op)};

	for (int i = 0; i < g->op->nresults; i++) {
		x.elements += (uint64_t)ir_type_local_elements(w->p->m, g->op->result[i].type);
		IR_FOR_USES (u, &g->op->result[i]) {
			const uint32_t at = ir_number(w->order, u->op);
			x.end = at > x.end ? at : x.end;
			if (at < x.begin) {
				x.begin = at;
				x.reader = u->op;
			}
		}
	}
	x.module = gather_source(g->op, 0)->op->symbol;
	return x;
}

/* Units of consecutive members of one module, each gathered at most once in a unit. */
static void
find_units(struct modules *w)
{
	uint32_t *last = ARRAY_ZERO(w->scratch, uint32_t, w->p->m->op_ids); /* unit of a source */

	w->unit = ARRAY_ZERO(w->scratch, struct unit, w->n + 1u);
	w->nunits = 0;
	for (uint32_t i = 0; i < w->n; i++) {
		struct member *x = &w->member[i], *y = i ? x - 1 : NULL;
		uint32_t *unit = &last[gather_source(x->g->op, 0)->op->id];
		if (!y || *unit == w->nunits || x->length != y->length ||
			memcmp(x->module, y->module, x->length) != 0)
			w->unit[w->nunits++].first = i;
		x->unit = w->nunits - 1;
		*unit = w->nunits;
		w->unit[x->unit].n++;
		w->unit[x->unit].elements += x->elements;
	}
}

/* Lists the gathers that have readers now. */
static void
find_modules(struct modules *w, module_of *module, void *data)
{
	struct ir_module *m = w->p->m;

	w->n = 0;
	w->all = gathers_create(w->scratch, NULL, m);
	gathers_hoist_sources(w->all);
	w->order = ir_numbering_create(w->scratch, m, &ir_func_find(m, "main")->body);
	w->member = ARRAY_NEW(w->scratch, struct member, w->all->n + 1u);
	for (uint32_t g = 0; g < w->all->n; g++) {
		struct member x = member_create(w, &w->all->gather[g]);
		x.length = module(data, x.module);
		if (x.reader)
			w->member[w->n++] = x;
	}
	qsort(w->member, w->n, sizeof *w->member, by_reader);
	find_units(w);
}

static struct ir_op *
begin_of(const struct modules *w, uint32_t unit)
{
	return w->member[w->unit[unit].first].reader;
}

/* Moves n members before op `at`. */
static void
move_members(struct modules *w, const struct member *member, uint32_t n, struct ir_op *at)
{
	for (uint32_t i = 0; i < n; i++) {
		const struct gather *g = member[i].g;
		w->p->moved += member[i].begin > ir_number(w->order, at);
		for (int k = 0; k < g->nfeed; k++) {
			ir_op_unlink(g->feed[k]);
			ir_insert_before(at, g->feed[k]);
		}
		ir_op_unlink(g->op);
		ir_insert_before(at, g->op);
	}
}

/* Fuses n adjacent members, into one collective of each kind. */
static void
fuse_members(struct modules *w, const struct member *member, uint32_t n)
{
	struct ir_op **op = ARRAY_NEW(w->scratch, struct ir_op *, n + 1u);

	for (uint32_t i = 0; i < n; i++)
		op[i] = member[i].g->op;
	w->p->fused += collectives_fuse_kinds(w->p->m, op, n);
}

static void
issue_members(struct modules *w, uint32_t first, uint32_t n, struct ir_op *at)
{
	move_members(w, w->member + first, n, at);
	fuse_members(w, w->member + first, n);
}

/* Moves the members selected by `is` to the front, and makes w->member the others; the selected
 * ones precede them in the array. */
static void
gather_front(
	struct modules *w, bool (*is)(const struct member *x, const void *data), const void *data)
{
	struct member *sorted = ARRAY_NEW(w->scratch, struct member, w->n + 1u);
	struct ir_op *front = begin_of(w, 0);
	uint32_t n = 0, left = 0;

	for (uint32_t i = 0; i < w->n; i++)
		if (is(&w->member[i], data))
			sorted[n++] = w->member[i];
		else
			w->member[left++] = w->member[i];
	memcpy(sorted + n, w->member, left * sizeof *sorted);
	memcpy(w->member, sorted, w->n * sizeof *sorted);
	move_members(w, w->member, n, front);
	w->member += n;
	w->n = left;
	find_units(w);
}

/* --- gathers that need not be repeated -------------------------------------------------------- */

static bool
may_keep(const struct ir_module *m, const struct repeated *r)
{
	const uint32_t over = issue_op_axes(m, r->first);

	return !over || over == issue_op_axes(m, r->op);
}

/* May the first gather of a param be kept, so that the policy does not gather it again? */
typedef bool keeps(const struct modules *w, const struct member *first, const struct member *again,
	void *data);

static void
keep_some(struct modules *w, keeps *keep, void *data)
{
	uint32_t n, *of = ARRAY_ZERO(w->scratch, uint32_t, w->p->m->op_ids), kept = 0;
	const struct repeated *r = repeated_list(w->all, w->scratch, &n);

	for (uint32_t i = 0; i < w->n; i++)
		of[w->member[i].g->op->id] = i + 1;
	for (uint32_t i = 0; i < n; i++) {
		const uint32_t first = of[r[i].first->id], again = of[r[i].op->id];
		if (!first || !again || !may_keep(w->p->m, &r[i]) ||
			!keep(w, &w->member[first - 1], &w->member[again - 1], data))
			continue;
		repeated_keep(&r[i]);
		kept++;
	}
	w->p->dropped += kept;
	if (kept)
		repeated_drop_unread(w->all);
}

/* --- zero3 ------------------------------------------------------------------------------------ */

struct zero3 {
	uint64_t bucket, live, reuse, persistent, reduce; /* elements */
	uint64_t *before; /* [nunits] elements of the units before */
	uint64_t filled;  /* elements in the bucket of gradients */
	uint32_t nbuckets;
	uint64_t waiting; /* bytes of the largest bucket */
	uint64_t bytes;   /* bytes of the current bucket */
	const struct ir_module *m;
};

static size_t
owner_of(void *data, const char *param)
{
	const char *dot = strrchr(param, '.');

	(void)data;
	return dot ? (size_t)(dot - param) : 0;
}

/* Persistent, or read again soon. */
static bool
keeps_zero3(
	const struct modules *w, const struct member *first, const struct member *again, void *data)
{
	const struct zero3 *z = data;

	(void)w;
	if (first->elements < z->persistent || again->unit == first->unit)
		return true;
	return z->before[again->unit] - z->before[first->unit + 1] < z->reuse;
}

static bool
is_persistent(const struct member *x, const void *data)
{
	const struct zero3 *z = data;

	return x->elements < z->persistent;
}

static void
gather_persistent(struct modules *w, const struct zero3 *z)
{
	const uint32_t n = w->n;
	struct member *member = w->member;

	gather_front(w, is_persistent, z);
	for (uint32_t i = 0; i < n - w->n; i++)
		ir_attr_remove(member[i].g->op, "each");
	fuse_members(w, member, n - w->n);
}

/* Elements of gathered params in use where unit u begins: of members before `fetched` that will
 * still be read. Writes those members to inuse[], and their number to *n. */
static uint64_t
in_use(const struct modules *w, uint32_t u, uint32_t *inuse, uint32_t *n)
{
	const uint32_t now = w->member[w->unit[u].first].begin;
	uint64_t elements = 0;
	uint32_t left = 0;

	for (uint32_t i = 0; i < *n; i++)
		if (w->member[inuse[i]].end >= now) {
			elements += w->member[inuse[i]].elements;
			inuse[left++] = inuse[i];
		}
	*n = left;
	return elements;
}

static void
gather_modules(struct modules *w, const struct zero3 *z)
{
	uint32_t *inuse = ARRAY_NEW(w->scratch, uint32_t, w->n + 1u), n = 0, fetched = 0;

	for (uint32_t u = 0; u < w->nunits; u++) {
		const uint32_t end = w->unit[u].first + w->unit[u].n;
		struct ir_op *at = begin_of(w, u);
		uint64_t used = in_use(w, u, inuse, &n), more = 0;
		uint32_t from = fetched;
		for (; fetched < end; fetched++) {
			used += w->member[fetched].elements;
			inuse[n++] = fetched;
		}
		issue_members(w, from, fetched - from, at);
		const uint64_t room = used < z->live ? z->live - used : 0;
		for (from = fetched; fetched < w->n && more < room && more < z->bucket; fetched++) {
			more += w->member[fetched].elements;
			inuse[n++] = fetched;
		}
		issue_members(w, from, fetched - from, at);
	}
}

/* A bucket is sent before it would exceed its limit of elements. */
static uint32_t
zero3_bucket(void *data, const struct ir_op *op)
{
	struct zero3 *z = data;
	uint64_t elements = 0, bytes = 0;

	for (int i = 0; i < op->noperands; i++) {
		elements += (uint64_t)ir_type_local_elements(z->m, ir_operand_type(op, i));
		bytes += (uint64_t)ir_type_local_bytes(z->m, ir_operand_type(op, i));
	}
	if (z->filled + elements > z->reduce) {
		z->nbuckets++;
		z->filled = z->bytes = 0;
	}
	z->filled += elements;
	z->bytes += bytes;
	z->waiting = z->bytes > z->waiting ? z->bytes : z->waiting;
	return z->nbuckets;
}

void
prefetch_zero3(struct prefetch *p)
{
	struct modules w = {.p = p, .scratch = alloc_scratch(p->run->scratch)};
	struct zero3 z = {.m = p->m,
		.bucket = (uint64_t)pass_int(p->run, "prefetch_bucket_size"),
		.live = (uint64_t)pass_int(p->run, "max_live_parameters"),
		.reuse = (uint64_t)pass_int(p->run, "max_reuse_distance"),
		.persistent = (uint64_t)pass_int(p->run, "param_persistence_threshold"),
		.reduce = (uint64_t)pass_int(p->run, "reduce_bucket_size")};

	find_modules(&w, owner_of, NULL);
	if (w.n) {
		z.before = ARRAY_ZERO(w.scratch, uint64_t, w.nunits + 1u);
		for (uint32_t u = 0; u < w.nunits; u++)
			z.before[u + 1] = z.before[u] + w.unit[u].elements;
		keep_some(&w, keeps_zero3, &z);
		find_modules(&w, owner_of, NULL);
	}
	if (w.n) {
		gather_persistent(&w, &z);
		gather_modules(&w, &z);
	}
	p->fused_scatters = scatters_fuse(p->m, zero3_bucket, &z);
	p->delayed = scatters_delay(p->m, z.waiting, p->early);
	talloc_free(w.scratch);
}

/* --- fsdp ------------------------------------------------------------------------------------- */

struct fsdp {
	void *scratch;
	struct block_names names;
	const struct ir_numbering *order;
	const uint32_t *begin;   /* [nunits] numbers at which units begin */
	uint32_t nunits, at;     /* the unit of the last reducescatter */
	uint64_t waiting, bytes; /* bytes of gradients: of the largest unit; of the current one */
	const struct ir_module *m;
};

/* The length of the name of a param's block; 0, the model, if its block is not one of several. */
static size_t
block_of(void *data, const char *param)
{
	struct fsdp *f = data;
	const int32_t b = block_names_add(f->scratch, &f->names, param);

	return b >= 0 && f->names.at[b].repeats ? f->names.at[b].length : 0;
}

static bool
keeps_fsdp(
	const struct modules *w, const struct member *first, const struct member *again, void *data)
{
	(void)w, (void)again, (void)data;
	return !first->length;
}

static bool
is_of_model(const struct member *x, const void *data)
{
	(void)data;
	return !x->length;
}

/* Gathers params of the model, and then each block where the previous one begins. */
static void
gather_blocks(struct modules *w)
{
	struct ir_op *at = begin_of(w, 0);
	const struct member *model = w->member;
	const uint32_t n = w->n;

	gather_front(w, is_of_model, NULL);
	fuse_members(w, model, n - w->n);
	for (uint32_t u = 0; u < w->nunits; u++) {
		issue_members(w, w->unit[u].first, w->unit[u].n, at);
		at = begin_of(w, u);
	}
}

/* The bucket of a reducescatter: the unit that begins before it. */
static uint32_t
fsdp_bucket(void *data, const struct ir_op *op)
{
	struct fsdp *f = data;
	const uint32_t before = f->at;

	while (f->at < f->nunits && f->begin[f->at] < ir_number(f->order, op))
		f->at++;
	if (f->at != before)
		f->bytes = 0;
	for (int i = 0; i < op->noperands; i++)
		f->bytes += (uint64_t)ir_type_local_bytes(f->m, ir_operand_type(op, i));
	f->waiting = f->bytes > f->waiting ? f->bytes : f->waiting;
	return f->at;
}

static void
find_names(struct fsdp *f)
{
	IR_FOR_OPS (op, &ir_func_find(f->m, "main")->body)
		if (op->code == OP_param)
			block_names_add(f->scratch, &f->names, op->symbol);
	block_names_find_repeats(&f->names);
}

static const uint32_t *
begins_of(const struct modules *w)
{
	uint32_t *begin = ARRAY_NEW(w->scratch, uint32_t, w->nunits + 1u);

	for (uint32_t u = 0; u < w->nunits; u++)
		begin[u] = w->member[w->unit[u].first].begin;
	return begin;
}

void
prefetch_fsdp(struct prefetch *p)
{
	struct modules w = {.p = p, .scratch = alloc_scratch(p->run->scratch)};
	struct fsdp f = {.scratch = w.scratch, .m = p->m};

	find_names(&f);
	find_modules(&w, block_of, &f);
	if (w.n) {
		keep_some(&w, keeps_fsdp, NULL);
		find_modules(&w, block_of, &f);
	}
	if (w.n) {
		gather_blocks(&w);
		f.order = w.order;
		f.begin = begins_of(&w);
		f.nunits = w.nunits;
		p->fused_scatters = scatters_fuse(p->m, fsdp_bucket, &f);
		p->delayed = scatters_delay(p->m, f.waiting, p->early);
	}
	talloc_free(w.scratch);
}
