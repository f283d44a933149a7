/*
 * Instances of templates: temporary ones for types (ir_infer_call, kept by argument types and
 * sizes) and permanent ones (ir_inline_calls). A chain of calls is typed with one instance for each
 * function and set of arguments, so nesting and repeating cost nothing until they are inlined.
 */
#include "ir/template.h"

#include "ir/base/mix.h"
#include "ir/base/number.h"
#include "ir/base/vec.h"
#include "ir/instance.h"
#include "ir/ops/row.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

enum {
	MEMO_BUCKETS = 64, /* a model calls some dozens of functions with different types */
	TEMPLATE_MANY_OPS = TEMPLATE_MAX_OPS + 1,
};

/* Facts of a function called with arguments of these types and sizes. */
struct memo {
	struct memo *next;
	const struct ir_func *func;
	const struct ir_type **arg;
	int nargs;
	const struct ir_attr *size; /* the sizes that the call sets */
	int nsizes;
	bool running; /* its instance is being made */
	bool ok;      /* false: its fault was reported */
	int64_t ops;  /* of an instance with the calls in it inlined; at most TEMPLATE_MANY_OPS */
	const struct ir_type **result;
};

struct ir_templates {
	struct memo *bucket[MEMO_BUCKETS];
	const struct ir_func *active[TEMPLATE_MAX_DEPTH]; /* whose instance is being made */
	int nactive;
	const struct ir_func **poisoned;
	int npoisoned;
};

#define CALL_FAIL(m, op, ...) (diag_error((m)->ctx->diag, (op)->loc, __VA_ARGS__), false)

static struct ir_templates *
templates_of(struct ir_module *m)
{
	if (!m->templates)
		m->templates = NEW(m, struct ir_templates);
	return m->templates;
}

void
ir_template_poison(struct ir_module *m, const struct ir_func *f)
{
	struct ir_templates *t = templates_of(m);

	LIST_PUSH(t, t->poisoned, t->npoisoned, f);
}

static bool
template_poisoned(const struct ir_templates *t, const struct ir_func *f)
{
	for (int i = 0; i < t->npoisoned; i++)
		if (t->poisoned[i] == f)
			return true;
	return false;
}

/* Does the call's attribute set a size? The others are those of the row. */
static bool
sets_size(const struct ir_module *m, const struct ir_op *call, const struct ir_attr *a)
{
	return !row_attr_find(op_row(m->ctx, call), a->key);
}

struct name_search {
	const char *name;
	bool found;
};

static void
name_seen(void *data, const char *name)
{
	struct name_search *search = data;

	search->found = search->found || name == search->name;
}

static bool
check_sizes(struct ir_module *m, const struct ir_op *call, const struct ir_func *f)
{
	bool ok = true;

	for (int i = 0; i < call->nattrs; i++) {
		const struct ir_attr *a = &call->attr[i];
		struct name_search search = {a->key, false};
		if (!sets_size(m, call, a))
			continue;
		ir_template_names(f, name_seen, &search);
		if (search.found)
			continue;
		diag_error(m->ctx->diag, a->loc.begin ? a->loc : call->loc, "@%s has no size '%s'",
			f->name, a->key);
		ok = false;
	}
	return ok;
}

/* Checks that do not depend on types. Returns the function, or NULL after an error. */
static const struct ir_func *
call_check(struct ir_module *m, const struct ir_op *call)
{
	struct diag *diag = m->ctx->diag;
	const struct ir_func *f = ir_func_find(m, call->symbol);
	int64_t repeat = ir_attr_int(call, "repeat", 1);

	if (!f) {
		diag_error(diag, call->loc, "there is no function @%s", call->symbol);
		return NULL;
	}
	const struct ir_op *ret = template_return(f);
	if (!ret) {
		diag_error(diag, call->loc, "@%s is not a template: it does not end in return",
			f->name);
		diag_note(diag, f->loc, "@%s is defined here", f->name);
		return NULL;
	}
	if (call->noperands != (int)f->body.nargs || call->nresults != ret->noperands) {
		bool args = call->noperands != (int)f->body.nargs;
		int want = args ? (int)f->body.nargs : ret->noperands,
		    have = args ? call->noperands : call->nresults;
		diag_error(diag, call->loc, "@%s %s %d value%s, %s %d", f->name,
			args ? "takes" : "returns", want, number_plural(want),
			args ? "the call passes" : "the call names", have);
		diag_note(diag, f->loc, "@%s is defined here", f->name);
		return NULL;
	}
	if (repeat < 1 || repeat > TEMPLATE_MAX_REPEAT) {
		diag_error(diag, call->loc, "call: repeat must be 1 to %d, not %" PRId64,
			TEMPLATE_MAX_REPEAT, repeat);
		return NULL;
	}
	if (repeat > 1 && call->nresults > call->noperands) {
		diag_error(diag, call->loc,
			"repeat: @%s returns %d values but takes %d argument%s; a repeated "
			"function returns new values of its first arguments",
			f->name, call->nresults, call->noperands, number_plural(call->noperands));
		return NULL;
	}
	return check_sizes(m, call, f) ? f : NULL;
}

/* Enters a function, unless this is a recursion or too deep. */
static bool
template_enter(struct ir_module *m, const struct ir_op *call, const struct ir_func *f)
{
	struct ir_templates *t = templates_of(m);

	for (int i = 0; i < t->nactive; i++)
		if (t->active[i] == f)
			return CALL_FAIL(m, call,
				"recursion: @%s calls itself; functions are expanded in place",
				f->name);
	if (t->nactive == TEMPLATE_MAX_DEPTH)
		return CALL_FAIL(m, call, "calls are nested more than %d deep", TEMPLATE_MAX_DEPTH);
	t->active[t->nactive++] = f;
	return true;
}

static bool
memo_fits(const struct ir_module *m, const struct memo *memo, const struct ir_op *call)
{
	int n = 0;

	for (int i = 0; i < memo->nargs; i++)
		if (memo->arg[i] != ir_operand_type(call, i))
			return false;
	for (int i = 0; i < call->nattrs; i++) {
		if (!sets_size(m, call, &call->attr[i]))
			continue;
		if (n == memo->nsizes || !ir_attr_equal(&memo->size[n], &call->attr[i]))
			return false;
		n++;
	}
	return n == memo->nsizes;
}

static unsigned
memo_bucket(const struct ir_func *f, const struct ir_op *call)
{
	uint64_t hash = (uintptr_t)f;

	for (int i = 0; i < call->noperands; i++)
		hash = mix_word(hash, (uintptr_t)ir_operand_type(call, i));
	return (unsigned)(mix_word(hash, 0) % MEMO_BUCKETS);
}

static struct memo *
memo_create(struct ir_module *m, const struct ir_func *f, const struct ir_op *call)
{
	struct ir_templates *t = templates_of(m);
	struct memo *memo = NEW(t, struct memo), **bucket = &t->bucket[memo_bucket(f, call)];

	memo->arg = NEW_ARRAY(memo, const struct ir_type *, (size_t)call->noperands + 1);
	memo->result = NEW_ARRAY(memo, const struct ir_type *, (size_t)call->nresults + 1);
	struct ir_attr *size = NEW_ARRAY(memo, struct ir_attr, (size_t)call->nattrs + 1);
	memo->func = f;
	memo->nargs = call->noperands;
	for (int i = 0; i < call->noperands; i++)
		memo->arg[i] = ir_operand_type(call, i);
	for (int i = 0; i < call->nattrs; i++)
		if (sets_size(m, call, &call->attr[i]))
			size[memo->nsizes++] = call->attr[i];
	memo->size = size;
	memo->next = *bucket;
	*bucket = memo;
	return memo;
}

static struct memo *
memo_find(struct ir_module *m, const struct ir_func *f, const struct ir_op *call)
{
	struct memo *memo = templates_of(m)->bucket[memo_bucket(f, call)];

	while (memo && !(memo->func == f && memo_fits(m, memo, call)))
		memo = memo->next;
	return memo;
}

/* The number of ops of a block after inlining its calls, which are typed; at most
 * TEMPLATE_MANY_OPS. *last is the op at which that limit is reached. */
static int64_t
ops_inlined(struct ir_module *m, const struct ir_block *b, const struct ir_op **last)
{
	int64_t n = 0;

	for (const struct ir_op *op = b->first; op && n < TEMPLATE_MANY_OPS; op = op->next) {
		const struct memo *callee =
			op->code == OP_call ? memo_find(m, ir_func_find(m, op->symbol), op) : NULL;
		n += callee ? ir_attr_int(op, "repeat", 1) * callee->ops : 1;
		*last = op;
	}
	return n < TEMPLATE_MANY_OPS ? n : TEMPLATE_MANY_OPS;
}

int64_t
ir_ops_inlined(struct ir_module *m, const struct ir_func *f)
{
	const struct ir_op *last;

	return ops_inlined(m, &f->body, &last);
}

/* Types the results with a temporary instance. */
static bool
memo_fill(struct ir_module *m, struct memo *memo, const struct ir_op *call)
{
	struct ir_module side = *m;
	struct ir_block block = {0};

	side.arena = arena_create(NULL);
	struct ir_value **arg = ARENA_ARRAY(side.arena, struct ir_value *, memo->nargs + 1);
	struct ir_value **result = ARENA_ARRAY(side.arena, struct ir_value *, call->nresults + 1);
	for (int i = 0; i < memo->nargs; i++) {
		arg[i] = ARENA_NEW(side.arena, struct ir_value);
		arg[i]->type = memo->arg[i];
	}
	struct instance_place place = {.block = &block, .prefix = ""};
	const struct ir_op *last;
	if (instance_make(&side, &place, call, memo->func, arg, result)) {
		for (int i = 0; i < call->nresults; i++)
			memo->result[i] = result[i]->type;
		memo->ops = ops_inlined(&side, &block, &last);
		memo->ok = true;
	}
	talloc_free(side.arena);
	return memo->ok;
}

/* A result has the written type, and in a chain that of the next block's argument. */
static bool
set_result(struct ir_module *m, struct ir_op *call, int i, const struct ir_type *t,
	const struct ir_type *written)
{
	const struct ir_type *want = written;
	const char *why = "as written";

	if (ir_attr_int(call, "repeat", 1) > 1 && t != ir_operand_type(call, i)) {
		want = ir_operand_type(call, i);
		why = "like the argument, which it becomes in the next repetition";
	}
	call->result[i].type = t;
	if (!want || want == t)
		return true;
	char *a = ir_type_text(NULL, m, t), *b = ir_type_text(NULL, m, want);
	diag_error(m->ctx->diag, call->loc, "call: result %d of @%s is %s, not %s %s", i + 1,
		call->symbol, a, b, why);
	talloc_free(a);
	talloc_free(b);
	return false;
}

bool
ir_infer_call(struct ir_module *m, struct ir_op *call, const struct ir_type *const *written)
{
	struct ir_templates *t = templates_of(m);
	const struct ir_func *f = ir_func_find(m, call->symbol);

	if (f && template_poisoned(t, f))
		return false;
	struct memo *memo = f ? memo_find(m, f, call) : NULL;
	f = call_check(m, call);
	if (!f || (memo && !memo->ok && !memo->running))
		return false;
	if (!memo || memo->running) {
		if (!template_enter(m, call, f))
			return false;
		memo = memo_create(m, f, call);
		memo->running = true;
		bool ok = memo_fill(m, memo, call);
		memo->running = false;
		t->nactive--;
		if (!ok)
			return false;
	}
	for (int i = 0; i < call->nresults; i++)
		if (!set_result(m, call, i, memo->result[i], written ? written[i] : NULL))
			return false;
	return true;
}

/* Prefix of block k of a call: "as." or, in a chain, "as" and the number. */
static char *
call_prefix(const void *owner, const struct ir_op *call, int64_t k)
{
	const char *as = ir_attr_string(call, "as", "");
	char *s;

	if (!*as)
		s = text_copy(owner, "");
	else if (ir_attr_find(call, "repeat"))
		s = TEXT(owner, "%s%" PRId64 ".", as, k);
	else
		s = TEXT(owner, "%s.", as);
	return s;
}

/* Results get the names that the caller gives them, unless they are the caller's own values. */
static void
name_results(struct ir_op *call, struct ir_value *const *result)
{
	for (int i = 0; i < call->nresults; i++) {
		bool own = false;
		for (int j = 0; j < call->noperands; j++)
			own = own || result[i] == ir_operand(call, j);
		if (!own && call->result[i].name)
			result[i]->name = call->result[i].name;
	}
}

/* Drops the ops between `first` (NULL: the start of the block) and the call. */
static void
drop_ops(struct ir_op *first, struct ir_op *call)
{
	while (call->prev != first)
		ir_op_erase(call->prev);
}

/*
 * Replaces a typed call by the ops of its function; calls among them stay calls. Returns false
 * after an error, with the call unchanged.
 */
static bool
inline_call(struct ir_module *m, struct ir_op *call)
{
	const struct ir_func *f = call_check(m, call);
	struct ir_op *prev = call->prev;
	int64_t repeat = ir_attr_int(call, "repeat", 1);
	bool ok = true;

	if (!f)
		return false;
	struct ir_value **v =
		NEW_ARRAY(NULL, struct ir_value *, (size_t)call->noperands + call->nresults + 1);
	for (int i = 0; i < call->noperands; i++)
		v[i] = ir_operand(call, i);
	for (int64_t k = 0; ok && k < repeat; k++) {
		char *prefix = call_prefix(v, call, k);
		struct instance_place place = {call->block, call, prefix};
		ok = instance_make(m, &place, call, f, v, v);
		talloc_free(prefix);
	}
	if (ok) {
		name_results(call, v);
		for (int i = 0; i < call->nresults; i++)
			ir_replace_uses(&call->result[i], v[i]);
		ir_op_erase(call);
	} else {
		drop_ops(prev, call);
	}
	talloc_free(v);
	return ok;
}

/* Types the calls, as the module may be a clone without instances, and counts their ops. */
static bool
inlining_fits(struct ir_module *m, struct ir_func *f)
{
	const struct ir_op *last = NULL;

	IR_FOR_OPS (op, &f->body)
		if (op->code == OP_call && !ir_infer_call(m, op, NULL))
			return false;
	return ops_inlined(m, &f->body, &last) <= TEMPLATE_MAX_OPS ||
	       CALL_FAIL(m, last, "with its calls inlined, the module would have more than %d ops",
		       TEMPLATE_MAX_OPS);
}

bool
ir_inline_calls(struct ir_module *m, struct ir_func *f, unsigned *inlined)
{
	if (!inlining_fits(m, f))
		return false;
	for (struct ir_op *op = f->body.first, *next; op; op = next) {
		struct ir_op *prev = op->prev;
		next = op->next;
		if (op->code != OP_call)
			continue;
		if (!inline_call(m, op))
			return false;
		*inlined += 1;
		next = prev ? prev->next : f->body.first; /* calls among what came in */
	}
	return !*inlined || ir_verify_structure(m); /* names may collide only now */
}
