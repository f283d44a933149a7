/* contract {spec = "bshd,bthd->bhst"}: the form of a sum of products, read from the spec. */
#include "ir/ops/form.h"

#include <ctype.h>
#include <inttypes.h>
#include <string.h>

struct spec {
	const struct ir_module *m;
	const struct ir_op *op;
	const char *text, *p;
	struct ir_loc loc;
	int8_t index[26]; /* of each letter, -1: not seen yet */
	struct form *f;
};

#define FAIL(s, ...) (diag_error((s)->m->ctx->diag, (s)->loc, __VA_ARGS__), false)

/* One letter a dimension, up to a comma, the arrow or the end. */
static bool
read_operand(struct spec *s, int j)
{
	const struct ir_type *t = ir_operand_type(s->op, j);
	struct form_access *access = &s->f->in[j];

	for (; islower((unsigned char)*s->p); s->p++) {
		int8_t *index = &s->index[*s->p - 'a'];
		if (access->rank == t->rank)
			return FAIL(s,
				"contract: operand %d has rank %d, less than its "
				"number of letters in \"%s\"",
				j + 1, t->rank, s->text);
		if (*index < 0) {
			if (s->f->nindices == FORM_MAX_INDICES)
				return FAIL(s, "contract: more than %d letters in \"%s\"",
					FORM_MAX_INDICES, s->text);
			*index = (int8_t)s->f->nindices++;
			s->f->size[*index] = t->dim[access->rank];
		}
		if (memchr(access->index, *index, access->rank))
			return FAIL(s, "contract: letter %c appears twice in operand %d of \"%s\"",
				*s->p, j + 1, s->text);
		if (s->f->size[*index] != t->dim[access->rank])
			return form_sizes_differ(s->m, s->op, s->loc, *s->p, s->f->size[*index],
				t->dim[access->rank]);
		access->index[access->rank++] = *index;
	}
	if (access->rank != t->rank)
		return FAIL(s,
			"contract: operand %d has rank %d, more than its "
			"number of letters in \"%s\"",
			j + 1, t->rank, s->text);
	return true;
}

static bool
read_result(struct spec *s)
{
	struct form_access *out = &s->f->out;

	for (; islower((unsigned char)*s->p); s->p++) {
		int8_t index = s->index[*s->p - 'a'];
		if (index < 0)
			return FAIL(s,
				"contract: letter %c of the result does not appear "
				"in any operand of \"%s\"",
				*s->p, s->text);
		if (out->rank == IR_MAX_RANK)
			return FAIL(s, "contract: the result of \"%s\" has more than %d dims",
				s->text, IR_MAX_RANK);
		if (memchr(out->index, index, out->rank))
			return FAIL(s, "contract: letter %c appears twice in the result of \"%s\"",
				*s->p, s->text);
		out->index[out->rank++] = index;
	}
	return *s->p == '\0' || FAIL(s, "contract: \"%s\" has text after the result", s->text);
}

bool
form_contract(const struct ir_module *m, const struct ir_op *op, struct form *f, struct arena *a)
{
	const struct ir_attr *attr = ir_attr_find(op, "spec");
	struct spec s = {.m = m, .op = op, .text = attr->s, .p = attr->s, .f = f};

	s.loc = attr->loc.begin ? attr->loc : op->loc;
	memset(s.index, -1, sizeof s.index);
	if (op->noperands < 1 || op->noperands > FORM_MAX_INPUTS)
		return FAIL(&s, "contract: expected 1 to %d operands, found %d", FORM_MAX_INPUTS,
			op->noperands);
	f->ninputs = (uint8_t)op->noperands;
	for (int j = 0; j < op->noperands; j++) {
		if (j > 0 && *s.p++ != ',')
			return FAIL(&s, "contract: \"%s\" has fewer operands than the %d given",
				s.text, op->noperands);
		if (!read_operand(&s, j))
			return false;
	}
	if (strncmp(s.p, "->", 2) != 0)
		return FAIL(&s, "contract: \"%s\": expected \"->\" after operand %d", s.text,
			op->noperands);
	s.p += 2;
	if (!read_result(&s))
		return false;
	for (int i = 0; i < f->nindices; i++)
		if (!memchr(f->out.index, i, f->out.rank))
			f->reduced |= 1u << i;
	f->reduce = f->reduced ? REDUCE_SUM : REDUCE_NONE;
	for (int j = 0; a && j < op->noperands; j++) {
		const struct expr *load =
			expr_load(a, (enum ir_dtype)ir_operand_type(op, j)->dtype, j);
		f->body = j ? expr_call(a, FN_mul, f->body, load, NULL) : load;
	}
	return true;
}
