/* Reads the op table: element types, attributes, layout transitions; notation is notation.c. */
#include "ir/ops/row.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *name, *types, *notation, *layout, *attrs, *summary;
} table[] = {
#define OP(name, types, notation, layout, attrs, traits, summary)                                  \
	{#name, types, notation, layout, attrs, summary},
#include "ir/ops/ops.def"
#undef OP
};

/* A separate table: every pass reads it a dozen times for each op. */
const unsigned op_trait_table[] = {
#define OP(name, types, notation, layout, attrs, traits, summary) traits,
#include "ir/ops/ops.def"
#undef OP
};

const char *
op_name(enum op_code c)
{
	return table[c].name;
}

int
op_find(const char *name)
{
	for (int i = 0; i < OP_NCODES; i++)
		if (strcmp(table[i].name, name) == 0)
			return i;
	return -1;
}

static const struct {
	const char *name;  /* in the table */
	const char *words; /* in messages */
} attr_type[] = {
	[ROW_INT] = {"int", "an integer"},
	[ROW_FLOAT] = {"float", "a number"},
	[ROW_STRING] = {"string", "a string"},
	[ROW_BOOL] = {"bool", "true or false"},
	[ROW_AXIS] = {"axis", "an axis"},
	[ROW_DTYPE] = {"dtype", "an element type"},
	[ROW_SCALAR] = {"scalar", "a number, true or false"},
	[ROW_INTS] = {"ints", "a list of integers"},
	[ROW_SIZES] = {"sizes", "a list of sizes"},
	[ROW_NUMBERS] = {"numbers", "a list of numbers"},
};

const char *
row_attr_type_name(enum row_attr_type t)
{
	return attr_type[t].words;
}

int
row_side_letters(const struct pattern_side *s)
{
	int n = 0;

	for (int i = 0; i < s->nitems; i++)
		n += s->item[i].name != '.' && s->item[i].name != '*';
	return n;
}

const struct pattern_item *
row_side_group(const struct pattern_side *s, char name)
{
	for (int i = 0; i < s->nitems; i++)
		if (s->item[i].name == name)
			return &s->item[i];
	return NULL;
}

static bool
is_all_dims(const struct pattern_side *s)
{
	const struct pattern_item *item = s->item;

	return s->nitems == 1 && item->name == '.' && !item->how && !item->size && !item->at;
}

bool
row_is_pointwise(const struct ir_row *row)
{
	const struct pattern *p = row->pattern;
	bool all = p && is_all_dims(&p->out) && !p->over.nitems;

	for (int i = 0; all && i < p->ninputs; i++)
		all = is_all_dims(&p->in[i]);
	return all;
}

int
row_image_dim(const struct ir_op *op, int dim)
{
	static const int filter[] = {0, 3, 1, 2}, image[] = {-2, -3, -1};

	if (!ir_attr_int(op, "channels_last", 0))
		return dim;
	return dim < 0 ? image[-dim - 1] : filter[dim];
}

const struct row_attr *
row_attr_find(const struct ir_row *row, const char *key)
{
	for (int i = 0; i < row->nattrs; i++) /* mostly it is interned */
		if (row->attr[i].key == key)
			return &row->attr[i];
	for (int i = 0; i < row->nattrs; i++)
		if (strcmp(row->attr[i].key, key) == 0)
			return &row->attr[i];
	return NULL;
}

static enum row_attr_type
attr_type_find(const char *s, size_t n)
{
	for (size_t i = 0; i < sizeof attr_type / sizeof *attr_type; i++)
		if (strlen(attr_type[i].name) == n && strncmp(attr_type[i].name, s, n) == 0)
			return (enum row_attr_type)i;
	abort();
}

static struct ir_attr
attr_default(struct ir_context *ctx, enum row_attr_type type, const char *key, const char *text,
	size_t n)
{
	switch (type) {
	case ROW_INTS:
	case ROW_INT: return ir_make_int(ctx, key, strtoll(text, NULL, 10));
	case ROW_SCALAR:
	case ROW_FLOAT: return ir_make_float(ctx, key, strtod(text, NULL));
	case ROW_BOOL: return ir_make_bool(ctx, key, *text == 't');
	case ROW_STRING: return ir_make_string(ctx, key, ir_name_n(ctx, text + 1, n - 2));
	case ROW_DTYPE:
		return ir_make_dtype(
			ctx, key, (enum ir_dtype)ir_dtype_find(ir_name_n(ctx, text, n)));
	default: abort();
	}
}

/* "key:type", "key:type?" or "key:type=default", separated by ", "; "..." for any other integers.
 */
static void
parse_attrs(struct ir_context *ctx, struct ir_row *row, const char *s)
{
	while (*s) {
		size_t n = strcspn(s, ",");
		if (strncmp(s, "...", 3) == 0) {
			row->more_attrs = true;
		} else {
			struct row_attr *a = &row->attr[row->nattrs++];
			size_t colon = strcspn(s, ":"), end = strcspn(s, "=?,");
			assert(row->nattrs <= ROW_MAX_ATTRS && colon < end);
			a->key = ir_name_n(ctx, s, colon);
			a->type = attr_type_find(s + colon + 1, end - colon - 1);
			a->has_default = s[end] == '=';
			a->optional = a->has_default || s[end] == '?';
			if (a->has_default)
				a->otherwise = attr_default(
					ctx, a->type, a->key, s + end + 1, n - end - 1);
		}
		s += n;
		s += strspn(s, ", ");
	}
}

static void
parse_types(struct ir_context *ctx, struct ir_row *row, const char *s)
{
	const char *arrow = strstr(s, "->");
	char letters[8];
	int n = 0;

	row->result_type = ir_name(ctx, arrow + 2);
	row->nresults = !arrow[2]                                           ? 0
			: arrow[2] == '*' || (row->traits & TRAIT_VARIADIC) ? ROW_ANY
									    : 1;
	for (const char *p = arrow; row->nresults > 0 && (p = strchr(p, ',')); p++)
		row->nresults++;
	for (; s < arrow; s++)
		if (*s != ',' && *s != '.')
			letters[n++] = *s;
	letters[n] = '\0';
	row->operand_types = ir_name(ctx, letters);
	bool any = n && (arrow[-1] == '.' || arrow[-1] == '*');
	row->noperands = any || (row->traits & TRAIT_VARIADIC) ? ROW_ANY : n;
}

static void
parse_layout(struct ir_row *row, const char *s)
{
	static const char *const state[] = {"copied", "split", "partial", "single"};
	const char *arrow = strstr(s, "->");

	row->to = -1;
	for (int i = 0; arrow && i < 4; i++) {
		const char *at = strstr(s, state[i]);
		if (at && at < arrow)
			row->from |= 1u << i;
		if (strstr(arrow, state[i]))
			row->to = i;
	}
}

const struct ir_row *
ir_rows_parse(struct ir_context *ctx)
{
	struct ir_row *rows = ARENA_ARRAY(ctx->arena, struct ir_row, OP_NCODES);

	for (int i = 0; i < OP_NCODES; i++) {
		struct ir_row *row = &rows[i];
		row->name = table[i].name;
		row->types = table[i].types;
		row->notation = table[i].notation;
		row->layout = table[i].layout;
		row->summary = table[i].summary;
		row->traits = op_trait_table[i];
		parse_attrs(ctx, row, table[i].attrs);
		parse_types(ctx, row, table[i].types);
		parse_layout(row, table[i].layout);
		if (row->notation[0] != '@')
			row->pattern = notation_parse(ctx, row->notation);
		if (row_attr_find(row, "channels_last"))
			row->last = notation_channels_last(ctx, row->pattern);
	}
	return rows;
}
