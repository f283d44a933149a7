/* Size expressions and types, as trees; in @main they are evaluated at once. */
#include "parser/dir/parser.h"

#include "ir/base/suggest.h"

#include <inttypes.h>
#include <string.h>
#include <talloc.h>

/* Trees of templates live as long as the context; others are temporary. */
static struct arena *
size_arena(const struct parser *p)
{
	return (p->func || p->rule) && p->template ? p->ctx->arena : p->scratch;
}

static struct ir_size *
size_node(struct parser *p, enum size_kind kind, struct ir_loc loc)
{
	struct ir_size *s = ARENA_NEW(size_arena(p), struct ir_size);

	s->kind = (uint8_t)kind;
	s->loc = loc;
	return s;
}

const struct ir_size *
size_tree(struct parser *p, struct size_value v, struct ir_loc loc)
{
	if (v.tree)
		return v.tree;
	struct ir_size *s = size_node(p, SIZE_INT, loc);
	s->i = v.i;
	return s;
}

struct size_value
size_name(struct parser *p, const char *name, struct ir_loc loc)
{
	struct ir_size *s = size_node(p, SIZE_NAME, loc);

	s->name = name;
	return (struct size_value){.tree = s};
}

bool
size_dim(struct parser *p, struct named value, struct size_value dim, struct ir_loc loc,
	struct size_value *to)
{
	if (!p->func || !p->template) {
		PARSE_ERROR(p, loc, "dim is only allowed in templates; here the sizes are known");
		return false;
	}
	if (!symbol_value(p, value))
		return false;
	struct ir_size *s = size_node(p, SIZE_DIM, loc);
	s->name = value.name;
	s->arg[0] = size_tree(p, dim, loc);
	s->depth = s->arg[0]->depth + 1;
	*to = (struct size_value){.tree = s};
	return true;
}

bool
size_join(struct parser *p, enum size_kind kind, struct size_value x, struct ir_loc xloc,
	struct size_value y, struct ir_loc yloc, struct size_value *to)
{
	struct size_value folded = {0};

	/* Folds constants at once if that succeeds; else evaluation will report the error. */
	if (!x.tree && !y.tree && !x.minimum && !y.minimum &&
		ir_size_join(kind, x.i, y.i, &folded.i)) {
		*to = folded;
		return true;
	}
	struct ir_size *s = size_node(p, kind, loc_join(xloc, yloc));
	s->arg[0] = size_tree(p, x, xloc);
	s->depth = s->arg[0]->depth;
	if (kind != SIZE_NEG) {
		s->arg[1] = size_tree(p, y, yloc);
		if (s->arg[1]->depth > s->depth)
			s->depth = s->arg[1]->depth;
	}
	if (++s->depth > SIZE_MAX_DEPTH) {
		PARSE_ERROR(
			p, s->loc, "the expression is nested more than %d deep", SIZE_MAX_DEPTH);
		return false;
	}
	*to = (struct size_value){.tree = s};
	return true;
}

bool
size_negate(struct parser *p, struct size_value x, struct ir_loc xloc, struct ir_loc loc,
	struct size_value *to)
{
	if (!x.minimum)
		return size_join(p, SIZE_NEG, x, loc_join(loc, xloc), x, loc, to);
	*to = (struct size_value){.i = x.i};
	return true;
}

void
type_suffix(struct parser *p, struct named axis, const struct ir_size *place)
{
	VEC_PUSH(p, &p->suffix, (struct ir_type_suffix){axis.name, place, axis.loc});
}

bool
type_dots(struct parser *p, struct ir_loc loc)
{
	p->dots = true;
	if (!p->rules)
		PARSE_ERROR(p, loc, "'..' stands for dims in rules only");
	return p->rules != NULL;
}

bool
type_memory(struct parser *p, struct named memory)
{
	if (p->rules && strcmp(memory.name, "param") == 0) {
		p->is_param = true;
		return true;
	}
	if (strcmp(memory.name, "host") != 0) {
		PARSE_ERROR(p, memory.loc,
			"'@%s' is not a memory; expected '@host', or '@%s=' and a position on an "
			"axis",
			memory.name, memory.name);
		return false;
	}
	if (p->memory == IR_HOST) {
		PARSE_ERROR(p, memory.loc, "'@host' appears twice in one type");
		return false;
	}
	p->memory = IR_HOST;
	return true;
}

bool
size_number(struct parser *p, struct size_value s, struct ir_loc loc, int64_t *value)
{
	const struct ir_size_scope scope = {.m = p->m};

	if (s.minimum) {
		PARSE_ERROR(p, loc, "the number does not fit in 64 bits");
		return false;
	}
	*value = s.i;
	return !s.tree || ir_size_eval(&scope, s.tree, value);
}

static int
find_dtype(struct parser *p, const char *name, struct ir_loc loc)
{
	int t = ir_dtype_find(name);

	if (t >= 0)
		return t;
	struct suggestion near = suggestion_for(name);
	for (int i = 0; i < IR_NDTYPES; i++)
		suggestion_add(&near, ir_dtype_name((enum ir_dtype)i));
	char *text = suggestion_text(NULL, &near);
	PARSE_ERROR(p, loc, "'%s' is not an element type%s", name, text);
	talloc_free(text);
	return -1;
}

bool
type_letter(const char *name)
{
	return strchr("TNFZLI", *name) && !name[1 + strspn(name + 1, "0123456789")];
}

void
type_begin(struct parser *p)
{
	p->dim.n = p->suffix.n = 0;
	p->memory = IR_DEVICE;
	p->dots = p->is_param = false;
}

/* The dims and suffixes read so far are those of a type: the result of parsing a type. */
bool
type_finish(struct parser *p, const char *dtype, struct ir_loc dtype_loc, struct ir_loc loc)
{
	struct arena *arena = size_arena(p);
	const bool letter = p->rules && type_letter(dtype);
	int t = letter ? 0 : find_dtype(p, dtype, dtype_loc), rank = p->dim.n, n = p->suffix.n;
	const enum ir_memory memory = p->memory;
	const bool dots = p->dots, is_param = p->is_param;

	type_begin(p);
	if (t < 0)
		return false;
	if (rank > IR_MAX_RANK) {
		PARSE_ERROR(
			p, loc, "the type has rank %d; the largest rank is %d", rank, IR_MAX_RANK);
		return false;
	}
	struct ir_type_text *text = ARENA_NEW(arena, struct ir_type_text);
	const struct ir_size **dim = ARENA_ARRAY(arena, const struct ir_size *, rank);
	struct ir_type_suffix *suffix = ARENA_ARRAY(arena, struct ir_type_suffix, n);
	for (int i = 0; i < rank; i++)
		dim[i] = p->dim.at[i];
	for (int i = 0; i < n; i++)
		suffix[i] = p->suffix.at[i];
	*text = (struct ir_type_text){.dtype = (enum ir_dtype)t,
		.memory = memory,
		.letter = letter ? dtype : NULL,
		.dots = dots,
		.param = is_param,
		.rank = rank,
		.nsuffixes = n,
		.loc = loc,
		.dim = dim,
		.suffix = suffix};
	p->written = text;
	return true;
}
