/*
 * TASO's substitutions, a message of protobuf, which has a tag before each field: its number times
 * 8 and its kind; 0: a number in groups of 7 bits, the lowest first; 2: a length and that number of
 * bytes.
 *
 *     rules   {1: rule ...}                   op         {1: code, 2: tensor ..., 3: parameter ...}
 *     rule    {1: op of the left side ...,    tensor     {1: op, 2: result}
 *              2: op of the right side ...,   parameter  {1: key, 2: value}
 *              3: output ...}                 output     {1: op on the left, 2: op on the right,
 *                                                         3: result on the left, 4: on the right}
 */
#include "passes/rules/foreign/foreign.h"

#include <string.h>

enum { KIND_NUMBER = 0, KIND_BYTES = 2 };

struct reader {
	const void *owner;
	struct diag *diag;
	const char *file;
	const uint8_t *begin;
	struct foreign_rules *rules;
};

struct message {
	const uint8_t *at, *end;
};

static bool
fail(const struct reader *r, const uint8_t *at, const char *what)
{
	diag_error(r->diag, LOC_NONE, "%s: byte %td: %s", r->file, at - r->begin, what);
	return false;
}

static bool
read_varint(struct message *m, uint64_t *v)
{
	*v = 0;
	for (int shift = 0; m->at < m->end && shift < 64; shift += 7) {
		const uint8_t byte = *m->at++;
		*v |= (uint64_t)(byte & 127) << shift;
		if (byte < 128)
			return true;
	}
	return false;
}

/* A field: its number, and its value or its bytes. */
struct field {
	uint64_t number;
	int64_t value;
	struct message bytes; /* empty if the field is a number */
	const uint8_t *at;
};

/* Reads the next field; false: end of the message, or an error, for which *ok is set to false. */
static bool
next_field(const struct reader *r, struct message *m, struct field *f, bool *ok)
{
	uint64_t tag, v;

	if (m->at == m->end)
		return false;
	*f = (struct field){.at = m->at};
	*ok = read_varint(m, &tag) && read_varint(m, &v) &&
	      ((tag & 7) == KIND_NUMBER ||
		      ((tag & 7) == KIND_BYTES && v <= (uint64_t)(m->end - m->at)));
	if (!*ok)
		return fail(r, f->at, "not a field of a protobuf message");
	f->number = tag >> 3;
	f->value = (int32_t)v;
	if ((tag & 7) == KIND_BYTES) {
		f->bytes = (struct message){m->at, m->at + v};
		m->at += v;
	}
	return true;
}

/* Reads a message of up to 4 numbers; absent ones are 0. */
static bool
read_numbers(const struct reader *r, struct message m, int value[5])
{
	struct field f;
	bool ok = true;

	memset(value, 0, 5 * sizeof *value);
	while (next_field(r, &m, &f, &ok))
		if (f.number < 5)
			value[f.number] = (int)f.value;
	return ok;
}

static int
find_number(const struct foreign_name *list, int n, int64_t number)
{
	for (int i = 0; i < n; i++)
		if (list[i].taso == number)
			return i;
	return -1;
}

static bool
read_op(const struct reader *r, struct message m, struct foreign_op *op)
{
	struct field f;
	int v[5];
	bool ok = true;

	*op = foreign_op_none();
	op->code = -1;
	while (next_field(r, &m, &f, &ok)) {
		if (f.number == 1)
			op->code = find_number(foreign_ops, FOREIGN_NOPS, f.value);
		if (f.number != 2 && f.number != 3)
			continue;
		if (!read_numbers(r, f.bytes, v))
			return false;
		if (f.number == 2) {
			if (op->ninputs == FOREIGN_MAX_INPUTS)
				return fail(r, f.at, "an op has at most 8 inputs");
			op->input[op->ninputs++] = (struct foreign_tensor){v[1], v[2]};
			continue;
		}
		const int key = find_number(foreign_parameters, FOREIGN_NPARAMETERS, v[1]);
		if (key < 0)
			return fail(r, f.at, "an unknown parameter of an op");
		op->parameter[key] = v[2];
	}
	return ok && (op->code >= 0 || fail(r, m.end, "an unknown op"));
}

static bool
read_rule(const struct reader *r, struct message m)
{
	struct foreign_rule rule = {.name = TEXT(r->owner, "taso_%td", (ptrdiff_t)r->rules->n)};
	struct field f;
	struct foreign_op op;
	int v[5];
	bool ok = true;

	while (next_field(r, &m, &f, &ok)) {
		if (f.number == 3) {
			if (!read_numbers(r, f.bytes, v))
				return false;
			VEC_PUSH(r->owner, &rule.output,
				(struct foreign_output){{{v[1], v[3]}, {v[2], v[4]}}});
		} else if (f.number == 1 || f.number == 2) {
			if (!read_op(r, f.bytes, &op))
				return false;
			VEC_PUSH(r->owner, &rule.side[f.number - 1], op);
		}
	}
	if (!ok || !foreign_check(r->diag, LOC_NONE, &rule))
		return false;
	VEC_PUSH(r->owner, r->rules, rule);
	return true;
}

bool
foreign_read_proto(const void *owner, struct diag *d, const char *file, const char *bytes, size_t n,
	struct foreign_rules *rules)
{
	const uint8_t *begin = (const uint8_t *)bytes;
	const struct reader r = {owner, d, file, begin, rules};
	struct message all = {begin, begin + n};
	struct field f;
	bool ok = true;

	while (next_field(&r, &all, &f, &ok))
		if (f.number == 1 && !read_rule(&r, f.bytes))
			return false;
	return ok && (rules->n || fail(&r, begin, "no rules"));
}

/* --- writing ------------------------------------------------------------------------------------
 */

struct writer VEC(uint8_t);

static void
put_varint(struct writer *w, uint64_t v)
{
	for (; v >= 128; v >>= 7)
		VEC_PUSH(NULL, w, (uint8_t)(v | 128));
	VEC_PUSH(NULL, w, (uint8_t)v);
}

static void
put_number(struct writer *w, int field, int value)
{
	put_varint(w, (uint64_t)field << 3 | KIND_NUMBER);
	put_varint(w, (uint64_t)(int64_t)value);
}

/* Writes a complete message as a field of another one, and empties it. */
static void
put_message(struct writer *w, int field, struct writer *inner)
{
	put_varint(w, (uint64_t)field << 3 | KIND_BYTES);
	put_varint(w, (uint64_t)inner->n);
	VEC_PUSH_ALL(NULL, w, inner->at, inner->n);
	inner->n = 0;
}

static void
put_op(struct writer *w, struct writer *part, const struct foreign_op *op)
{
	put_number(w, 1, foreign_ops[op->code].taso);
	for (int i = 0; i < op->ninputs; i++) {
		put_number(part, 1, op->input[i].op);
		put_number(part, 2, op->input[i].result);
		put_message(w, 2, part);
	}
	for (int i = 0; i < FOREIGN_NPARAMETERS; i++) {
		if (op->parameter[i] == FOREIGN_NONE)
			continue;
		put_number(part, 1, foreign_parameters[i].taso);
		put_number(part, 2, op->parameter[i]);
		put_message(w, 3, part);
	}
}

void
foreign_write_proto(FILE *out, const struct foreign_rules *rules)
{
	struct writer all = {0}, rule = {0}, op = {0}, part = {0};

	for (int64_t i = 0; i < rules->n; i++) {
		const struct foreign_rule *r = &rules->at[i];
		for (int side = 0; side < 2; side++)
			for (int64_t k = 0; k < r->side[side].n; k++) {
				put_op(&op, &part, &r->side[side].at[k]);
				put_message(&rule, 1 + side, &op);
			}
		for (int64_t k = 0; k < r->output.n; k++) {
			const struct foreign_tensor *t = r->output.at[k].side;
			put_number(&part, 1, t[RULE_LEFT].op);
			put_number(&part, 2, t[RULE_RIGHT].op);
			put_number(&part, 3, t[RULE_LEFT].result);
			put_number(&part, 4, t[RULE_RIGHT].result);
			put_message(&rule, 3, &part);
		}
		put_message(&all, 1, &rule);
	}
	fwrite(all.at, 1, (size_t)all.n, out);
	array_free(all.at);
	array_free(rule.at);
	array_free(op.at);
	array_free(part.at);
}
