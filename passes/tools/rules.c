/*
 * dopt-rules: graph substitutions.
 *
 *     dopt-rules show FILE             the rules as they are read
 *     dopt-rules verify FILE           which rules hold, for all sizes
 *     dopt-rules refute FILE           counterexamples to rules that do not hold
 *     dopt-rules generate              rules of all small terms over a set of ops
 *     dopt-rules convert FILE          rules of FlexFlow (JSON) or TASO (protobuf) as text, or back
 */
#include "ir/base/alloc.h"
#include "ir/base/number.h"
#include "ir/rule.h"
#include "parser/dir/parse.h"
#include "passes/rules/foreign/foreign.h"
#include "passes/rules/generate/generate.h"
#include "passes/rules/verify.h"
#include "passes/tools/command_line.h"
#include "passes/tools/input.h"
#include "passes/tools/output.h"
#include "passes/tools/tools.h"

#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <talloc.h>

enum { MAX_TRIES = 1000 * 1000 * 1000 }; /* days; counted in 31 bits */

struct tool {
	struct ir_context *ctx;
	const char *output;
	bool help;
	int64_t tries, seed;
	int to, reading;
	struct gen_options generate;
	struct driver_list file;
};

/* Converts rules of other tools to text. */
static enum driver_exit
convert_from(struct tool *t, const struct driver_input *in, bool json, FILE *out)
{
	struct foreign_rules rules = {0};
	struct diag *d = t->ctx->diag;

	if (!(json ? foreign_read_json : foreign_read_proto)(
		    t, d, in->name, in->text, in->length, &rules))
		return DRIVER_INPUT;
	for (int64_t i = 0; i < rules.n; i++) {
		fputs(i ? "\n" : "", out);
		foreign_write_text(out, &rules.at[i], (enum foreign_reading)t->reading);
	}
	return DRIVER_OK;
}

/* JSON begins with a brace, a message of protobuf with the tag of its first field, which is a line end,
 * and a length; a text of rules begins with a word or a comment. */
static char
first_of(const struct driver_input *in)
{
	return in->text[strspn(in->text, " \t\r\n")];
}

/* The rules of a file, which may be another tool's; NULL: reported. */
static struct ir_rules *
read_rules(struct tool *t, const char *path)
{
	struct driver_input in;
	char *text = NULL;
	size_t size = 0;

	if (!driver_input_read(t, &in, path))
		return NULL;
	const char first = first_of(&in);
	if (first != '{' && (!first || isprint((unsigned char)first)))
		return parse_rules(t, t->ctx, in.name, in.text, in.length);
	FILE *out = must_have(open_memstream(&text, &size));
	const bool good = convert_from(t, &in, first == '{', out) == DRIVER_OK;
	fclose(out);
	struct ir_rules *rules = good ? parse_rules(t, t->ctx, in.name, text, size) : NULL;
	free(text);
	return rules;
}

static enum driver_exit
show(struct tool *t)
{
	struct ir_rules *rules = read_rules(t, t->file.item[0]);
	struct driver_output out;
	const char *between = "";

	if (!rules || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	IR_FOR_RULES (r, rules) {
		fputs(between, out.file);
		ir_print_rule(out.file, rules->m, r);
		between = "\n";
	}
	return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
}

/* One line per rule. False: it was refuted, or never tried. */
static bool
refute_rule(struct tool *t, FILE *out, const struct ir_rules *rules, const struct ir_rule *r)
{
	int typed;
	char *text =
		rule_refute(t, rules, r, NULL, (int)t->tries, INT_MAX, (uint64_t)t->seed, &typed);

	if (text)
		fprintf(out, "%s: refuted: %s\n", r->name, text);
	else if (typed)
		fprintf(out, "%s: no counterexample in %d cases\n", r->name, typed);
	else
		fprintf(out, "%s: not tried: no sizes and layouts were found that fit\n", r->name);
	const bool ok = !text && typed;
	talloc_free(text);
	return ok;
}

static enum driver_exit
refute(struct tool *t)
{
	struct ir_rules *rules = read_rules(t, t->file.item[0]);
	struct driver_output out;
	bool ok = true;

	if (!rules || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	if (t->tries > MAX_TRIES) {
		driver_error("-tries is at most %d", MAX_TRIES);
		return DRIVER_USAGE;
	}
	IR_FOR_RULES (r, rules)
		ok = refute_rule(t, out.file, rules, r) && ok;
	return driver_output_close(&out) && ok ? DRIVER_OK : DRIVER_INPUT;
}

enum rules_format { FORMAT_TEXT, FORMAT_FLEXFLOW, FORMAT_TASO };
#define FORMATS(X)                                                                                 \
	X(FORMAT_TEXT, "text")                                                                     \
	X(FORMAT_FLEXFLOW, "flexflow")                                                             \
	X(FORMAT_TASO, "taso")

/* Converts text to rules of other tools. */
static enum driver_exit
convert_to(struct tool *t, const struct driver_input *in, FILE *out)
{
	struct foreign_rules to = {0};
	const struct ir_rules *rules = parse_rules(t, t->ctx, in->name, in->text, in->length);

	if (!rules)
		return DRIVER_INPUT;
	IR_FOR_RULES (r, rules) {
		struct foreign_rule rule;
		if (foreign_from_rule(t, rules, r, t->to == FORMAT_TASO, &rule))
			VEC_PUSH(t, &to, rule);
	}
	if (t->to == FORMAT_TASO)
		foreign_write_proto(out, &to);
	else
		foreign_write_json(out, &to);
	return DRIVER_OK;
}

static enum driver_exit
convert(struct tool *t)
{
	struct driver_input in;
	struct driver_output out;

	if (!driver_input_read(t, &in, t->file.item[0]))
		return DRIVER_INPUT;
	const bool json = first_of(&in) == '{';
	if (!driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	const enum driver_exit exit = t->to == FORMAT_TEXT ? convert_from(t, &in, json, out.file)
							   : convert_to(t, &in, out.file);
	if (exit == DRIVER_OK)
		return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
	driver_output_discard(&out);
	return exit;
}

/* "within rounding, of finite elements" */
static void
print_kind(FILE *out, const struct rule_proof *p)
{
	const char *between = "; elements assumed ";

	fputs(p->bitwise ? "bitwise" : "within rounding", out);
	for (int i = 0; i < RULE_NASSUMES; i++)
		if (p->assumes >> i & 1) {
			fprintf(out, "%s%s", between, ir_rule_assumption[i]);
			between = ", ";
		}
}

static enum driver_exit
verify(struct tool *t)
{
#define VERDICT_NAME(code, name) name,
	static const char *const verdict[] = {RULE_VERDICTS(VERDICT_NAME)};
	struct ir_rules *rules = read_rules(t, t->file.item[0]);
	struct rule_prover *prover = rule_prover_create(t);
	struct driver_output out;
	int n[RULE_NVERDICTS] = {0}, no_rule = 0; /* of all ops, those that have no type there */

	if (!rules || !driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	IR_FOR_RULES (r, rules) {
		void *scratch = alloc_scratch(t);
		struct rule_proof p;
		rule_verify(scratch, prover, rules, r, &p);
		n[p.verdict]++;
		no_rule += p.verdict == RULE_UNUSABLE && r->any_op;
		fprintf(out.file, "%s: ", r->name);
		if (p.verdict == RULE_PROVEN) {
			fputs("proven, ", out.file);
			print_kind(out.file, &p);
			if (p.nwhere)
				fputc(';', out.file);
			ir_print_conditions(out.file, rules->m, p.where, p.nwhere);
			fputc('\n', out.file);
		} else {
			fprintf(out.file, "%s: %s\n", verdict[p.verdict], p.why);
		}
		talloc_free(scratch);
	}
	fprintf(out.file, "%d rule%s: %d proven, %d refuted, %d unknown", rules->n,
		number_plural(rules->n), n[RULE_PROVEN], n[RULE_REFUTED], n[RULE_UNKNOWN]);
	if (n[RULE_UNUSABLE])
		fprintf(out.file, ", %d unusable", n[RULE_UNUSABLE]);
	fputc('\n', out.file);
	if (!driver_output_close(&out))
		return DRIVER_INPUT;
	return n[RULE_PROVEN] + no_rule == rules->n ? DRIVER_OK : DRIVER_INPUT;
}

static enum driver_exit
generate(struct tool *t)
{
	struct driver_output out;

	if (!driver_output_open(&out, t->output))
		return DRIVER_INPUT;
	const char *fault = rules_generate(t, t->ctx, &t->generate, out.file);
	if (!fault)
		return driver_output_close(&out) ? DRIVER_OK : DRIVER_INPUT;
	driver_output_discard(&out);
	driver_error("%s", fault);
	return DRIVER_USAGE;
}

#define FIELD(field) offsetof(struct tool, field)
#define AT(field) .at = FIELD(field)

static const struct flag flags[] = {
	{"Options", .kind = FLAG_GROUP},
	{"o", "FILE", "write to FILE atomically (temporary file, then rename); -: standard output",
		FLAG_TEXT, AT(output)},
	{"tries", "N", "refute: random cases a rule (default: 1000)", FLAG_INT, AT(tries)},
	{"seed", "N", "refute: seed for all random choices (default: 0)", FLAG_INT, AT(seed)},
	{"to", NULL, "convert: what to write (default: text)", FLAG_CHOICE, AT(to),
		CHOICES(FORMATS)},
	{"reading", NULL,
		"what FlexFlow's parallelization ops mean: dopt's own (default), or rows "
		"of replicas",
		FLAG_CHOICE, AT(reading), CHOICES(FOREIGN_READINGS)},
	{"ops", "LIST",
		"generate: ops of the terms (default: relu,add,mul,matmul,concat,slice,transpose)",
		FLAG_TEXT, AT(generate.ops)},
	{"size", "N", "generate: most ops of a term (default: 3)", FLAG_INT, AT(generate.size)},
	{"inputs", "N", "generate: inputs of a term (default: 3)", FLAG_INT, AT(generate.inputs)},
	{"axes", "N", "generate: axes of parallelization ops, 1 or 2 (default: 1)", FLAG_INT,
		AT(generate.axes)},
	{"help", NULL, "print this text", FLAG_BOOL, AT(help)},
};

static const struct command commands[] = {
	{"show", "FILE", "write the rules of a file as they are read", 1, 1, show},
	{"convert", "FILE", "write rules of FlexFlow (JSON) or TASO (protobuf) as text, or back", 1,
		1, convert},
	{"verify", "FILE",
		"prove each rule for all sizes, or refute it with a counterexample; conditions on "
		"sizes that it needs are found",
		1, 1, verify},
	{"generate", "",
		"write the rules of all terms up to a size over a set of ops, proven; counts as "
		"remarks on standard error",
		0, 0, generate},
	{"refute", "FILE", "look for counterexamples at random small sizes", 1, 1, refute},
};

static const struct command_line line = {
	.head = "usage: dopt-rules COMMAND [options] [FILE]\n"
		"Rules are substitutions of small graphs that hold for any sizes. FILE is a text of "
		"rules, or those of FlexFlow (JSON) or TASO (protobuf); -: standard input.\n",
	.tail = "Exit status: 0 success; 1 invalid rules, a rule that is refuted or was not tried, or a\n"
		"file that cannot be read or written; 2 invalid command line.\n",
	.flag = flags,
	.nflags = sizeof flags / sizeof *flags,
	.command = commands,
	.ncommands = sizeof commands / sizeof *commands,
	.words = FIELD(file),
};

int
tool_rules(int argc, char **argv)
{
	struct tool *t = NEW(NULL, struct tool);

	t->ctx = ir_context_create(t);
	t->tries = 1000;
	t->generate = (struct gen_options){
		"relu,add,mul,matmul,concat,slice,transpose", .size = 3, .inputs = 3, .axes = 1};
	return command_line_main(&line, t, argc, argv);
}
