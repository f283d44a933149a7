/* Help on the operations: the list, a page of the manual, one row. */
#include "passes/tools/dopt/list.h"

#include "ir/base/alloc.h"
#include "ir/ops/error.h"
#include "ir/ops/form.h"
#include "passes/train/adjoint.h"

#include <ctype.h>
#include <string.h>
#include <talloc.h>

struct op_text {
	const char *name, *types, *notation, *layout, *attributes, *traits, *summary;
};

static const struct op_text op_texts[] = {
#define OP(name, types, notation, layout, attributes, traits, summary)                             \
	{#name, types, notation, layout, attributes, #traits, summary},
#include "ir/ops/ops.def"
#undef OP
};

enum { NOPS = sizeof op_texts / sizeof *op_texts };

/* The source of an op's gradient, and how programs run the op. */
struct op_way {
	const char *gradient, *host, *cuda;
};

static const char none[] = "none";

/* Ops that are not simply the loops of their notation, or have no notation. */
static const struct op_way ways[NOPS] = {
	[OP_matmul] = {"derived", "oneDNN, loops", "cuBLASLt, loops"},
	[OP_contract] = {"derived", "oneDNN, loops", "cuBLASLt, loops"},
	[OP_conv2d] = {"rule", "oneDNN, loops", "cuDNN, loops"},
	[OP_conv2d_data] = {"rule", "oneDNN, loops", "cuDNN, loops"},
	[OP_conv2d_filter] = {"rule", "oneDNN, loops", "cuDNN, loops"},
	[OP_bitcast] = {none, "loops", "loops"},
	[OP_reshape] = {"rule", "in place, copy", "in place, copy"},
	[OP_stop_gradient] = {"stops", "loops", "loops"},
	[OP_input] = {none, "runtime", "runtime"},
	[OP_param] = {"from grad", "runtime", "runtime"},
	[OP_state] = {none, "runtime", "runtime"},
	[OP_update] = {none, "in place, copy", "in place, copy"},
	[OP_output] = {none, "runtime", "runtime"},
	[OP_release] = {none, "memory plan", "memory plan"},
	[OP_barrier] = {"by result", "in place", "in place"},
	[OP_offload] = {"by result", "copy queue", "copy queue"},
	[OP_reload] = {"by result", "copy queue", "copy queue"},
	[OP_fuse] = {"run after grad", "loops", "loops"},
	[OP_while] = {"none", "loop", "loop on the host"},
	[OP_yield] = {"run after grad", "loops", "loops"},
	[OP_call] = {"removed by inline", "removed by inline", "removed by inline"},
	[OP_return] = {"removed by inline", "removed by inline", "removed by inline"},
};

/* Does it have float operands and a float result? */
static bool
is_differentiable(const struct op_text *op)
{
	const char *arrow = strstr(op->types, "->");
	bool in = false;

	for (const char *p = op->types; p < arrow; p++)
		in = in || strchr("NFT", *p);
	return in && (strchr("NFT", arrow[2]) || strcmp(arrow + 2, "to") == 0) && arrow[2];
}

static struct op_way
way_of(int code)
{
	struct op_way way = ways[code];

	if (way.host)
		return way;
	if (op_traits((enum op_code)code) & TRAIT_PARALLEL)
		return (struct op_way){"by layout", "collective, slice", "collective, slice"};
	if (op_traits((enum op_code)code) & TRAIT_OWN)
		return (struct op_way){"rule", "runtime call", "own kernel"};
	if (!form_exists((enum op_code)code))
		return (struct op_way){"?", "?", "?"}; /* the test of the page finds these */
	way.host = way.cuda = "loops";
	way.gradient = !is_differentiable(&op_texts[code])    ? none
		       : adjoint_has_rule((enum op_code)code) ? "rule"
							      : "derived";
	return way;
}

/* A notation without its conditions, which only errors need. */
static char *
meaning_alone(const char *notation)
{
	const char *where = strstr(notation, " where ");

	return text_copy_n(NULL, notation, where ? (size_t)(where - notation) : strlen(notation));
}

/* The permitted error of f32 and f64, "" if none is stated. */
static char *
error_text(int code)
{
	static const char *const of[] = {"", " by the exponent"};
	const struct op_error e = op_error((enum op_code)code);

	if (!e.stated)
		return text_copy(NULL, "");
	if (e.f32 == 0 && e.f64 == 0)
		return text_copy(NULL, "exact");
	return TEXT(NULL, "%g / %g%s", e.f32, e.f64, of[e.of]);
}

static void
op_md(FILE *out, int code)
{
	const struct op_text *op = &op_texts[code];
	const struct op_way way = way_of(code);
	char *meaning = meaning_alone(op->notation), *error = error_text(code);
	const char *const cell[] = {op->name, op->types, meaning},
			  *const words[] = {
				  *op->layout ? op->layout
				  : *op->notation == '@' && !form_exists((enum op_code)code)
					  ? "rule"
					  : "indices",
				  way.gradient, way.host, way.cuda, error};

	fputs("| ", out);
	for (size_t i = 0; i < sizeof cell / sizeof *cell; i++) {
		driver_md_code(out, cell[i]);
		fputs(" | ", out);
	}
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		driver_md_cell(out, words[i]);
		fputs(" | ", out);
	}
	driver_md_code(out, op->attributes);
	fputs(" | ", out);
	driver_md_cell(out, op->summary);
	fputs(" |\n", out);
	talloc_free(meaning);
	talloc_free(error);
}

static const char page[] =
	"# Operations\n\n"
	"This page is written by `dopt -list-ops=md` from `ir/ops/ops.def`. A "
	"meaning `@name` is implemented in\n"
	"code; [architecture.md](architecture.md) says how to read the "
	"others. Conditions on sizes are\n"
	"left out: `dopt -help OP` shows them. [language.md](language.md#operations) "
	"describes the ops by family.\n\n"
	"- layout: `indices`: derived from the meaning; `from -> to`: "
	"how the op changes the layout.\n"
	"- gradient: `derived` from the meaning; `rule`: a row of "
	"`passes/train/adjoint_rules.c`; `by layout`: the\n"
	"  op that converts the gradient from the layout in which it "
	"arrives to the layout it must have.\n"
	"- host, CUDA: what a program runs; a library is used if it supports "
	"the element types and sizes.\n"
	"- error: what is permitted of `f32` / `f64`, in units in the last place of the "
	"result, on hosts and on CUDA; 0.5 is correct\n"
	"  rounding. By the exponent: times 1 + abs(log(result / operand)), since the operand "
	"times a power of e has the error of\n"
	"  its exponent times the exponent. `f16` and `bf16` are computed as `f32` and rounded "
	"once more.\n"
	"  `test/lower/host/exact_test.c` and `test/lower/cuda/exact_test.c` compare with "
	"MPFR. Comparisons, selections and\n"
	"  integers are exact (`test/lower/host/limits_test.c`). For sums, see\n"
	"  [Long sums](language.md#long-sums).\n"
	"- tests: `test/lower/host/ops_test.c` and `test/lower/cuda/ops_test.c` compare "
	"every op on both targets with the\n"
	"  interpreter, `test/passes/train/grad_test.c` compares every gradient with "
	"finite differences, and the random\n"
	"  programs of `test/random/` combine all ops. Each of these tests fails "
	"if it does not cover a row.\n\n"
	"| op | types | meaning | layout | gradient | host | CUDA | error | attributes | |\n"
	"| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";

void
driver_list_ops(FILE *out, bool markdown)
{
	if (markdown)
		fputs(page, out);
	for (int i = 0; i < NOPS; i++) {
		if (markdown)
			op_md(out, i);
		else
			fprintf(out, "  %-*s %s\n", NAME_COLUMN, op_texts[i].name,
				op_texts[i].summary);
	}
}

/* Prints TRAIT_PURE | TRAIT_COMMUTES as "pure, commutes". */
static void
print_traits(FILE *out, const char *s)
{
	static const char prefix[] = "TRAIT_", between[] = " | ";

	while (*s) {
		if (!strncmp(s, prefix, strlen(prefix))) {
			s += strlen(prefix);
		} else if (!strncmp(s, between, strlen(between))) {
			fputs(", ", out);
			s += strlen(between);
		} else {
			fputc(tolower((unsigned char)*s++), out);
		}
	}
}

void
driver_help_op(FILE *out, int code)
{
	const struct op_text *op = &op_texts[code];
	const struct op_way way = way_of(code);
	const char *const line[][2] = {{"types", op->types}, {"meaning", op->notation},
		{"layout", op->layout}, {"gradient", way.gradient}, {"host", way.host},
		{"CUDA", way.cuda}, {"attributes", op->attributes}};

	fprintf(out, "%s: %s\n", op->name, op->summary);
	for (size_t i = 0; i < sizeof line / sizeof *line; i++)
		if (*line[i][1])
			fprintf(out, "  %-11s %s\n", line[i][0], line[i][1]);
	if (*op->traits) {
		fprintf(out, "  %-11s ", "traits");
		print_traits(out, op->traits);
		fputc('\n', out);
	}
}
