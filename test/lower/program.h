/*
 * Programs of many modules in one compile: each module becomes sources with an entry of its own,
 * all in one translation unit or a few, linked as a library, loaded, and run with rt_main in a
 * child process. The values that a program dumps and saves are compared with the interpreter.
 */
#ifndef TEST_LOWER_PROGRAM_H
#define TEST_LOWER_PROGRAM_H

#include "ir/interp/interp.h"
#include "ir/ops/form.h"
#include "lower/lower.h"
#include "lower/plan/plan.h"
#include "parser/dir/parse.h"
#include "passes/analysis/cost/memory.h"
#include "runtime/kernel/half.h"
#include "runtime/kernel/rng.h"
#include "runtime/rt_program.h"
#include "runtime/data/safetensors.h"
#include "test/unit.h"

#include <signal.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Tests of another target include the test of the host after a definition of this: lower/cuda/. */
#ifndef BATCH_TARGET
#define BATCH_TARGET LOWER_HOST
#endif

enum {
	PROGRAM_SECONDS =
		60, /* a program of a test runs for milliseconds; a deadlock would last for ever */
	PROGRAM_FILES = 2,   /* translation units of a batch: one compiler each, on two cores */
	BATCH_DEVICES = 16,  /* a pass may ask for hundreds, too many threads for a test machine */
	BATCH_PROCESSES = 4, /* ranks under mpirun, which take a second to start on two cores */
};

struct program {
	const char *what; /* for messages */
	struct ir_module *m;
};

struct batch {
	char *folder;
	struct ir_context *ctx;
	struct program *program;
	int n, steps; /* programs; steps of each: 3, so that states and params change */
	const struct storage_target *storage; /* of programs that are added; NULL: the target's */
	char *message;                        /* the last error, "" before one */
	void *library;
	const char
		*launch; /* mpirun runs `LAUNCH -rank LIBRARY PROGRAM [option ...]`; NULL: ranks are
			 * threads of a child of this process */
};

static inline void
keep_message(void *data, const struct diag_message *m)
{
	struct batch *b = data;
	if (m->level == DIAG_ERROR)
		b->message = talloc_asprintf(b, "%u:%u: %s", m->line, m->column, m->text);
}

/* An empty batch; its files are in a new folder under the working directory. */
static inline struct batch *
batch_create(void)
{
	struct batch *b = talloc_zero(NULL, struct batch);
	b->ctx = ir_context_create(b);
	b->message = talloc_strdup(b, "");
	b->steps = 3;
	diag_set_handler(b->ctx->diag, keep_message, b);
	char *here = realpath(".", NULL);
	assert_non_null(here);
	b->folder = talloc_asprintf(b, "%s/lower-test-XXXXXX", here);
	free(here);
	assert_non_null(mkdtemp(b->folder));
	return b;
}

static inline struct ir_module *
module_of(struct batch *b, const char *what, const char *text)
{
	const struct parse_options o = {.inline_calls = true};
	struct ir_module *m = parse_module(b, b->ctx, what, text, strlen(text), &o);
	if (!m || !ir_verify(m))
		fail_msg("%s: %s\n%s", what, b->message, text);
	return m;
}

/* Adds a module; its sources are written at once. False, with b->message, if it cannot be
 * lowered. */
static inline bool
batch_try_module(struct batch *b, const char *what, struct ir_module *m)
{
	char *output = talloc_asprintf(b, "%s/p%d", b->folder, b->n),
	     *entry = talloc_asprintf(b, "p%d", b->n);
	const struct storage_target *storage =
		b->storage ? b->storage : lower_storage_target(BATCH_TARGET);
	struct memory_report memory;
	memory_evaluate(m, ir_func_find(m, "main"), storage, &memory);
	const struct lower_options o = {.target = BATCH_TARGET,
		.storage = storage,
		.output = output,
		.entry = entry,
		.predicted_bytes = memory.peak};
	if (!lower_emit_program(m, &o))
		return false;
	b->program = talloc_realloc(b, b->program, struct program, (size_t)b->n + 1);
	b->program[b->n++] = (struct program){talloc_strdup(b, what), m};
	return true;
}

static inline void
batch_add_module(struct batch *b, const char *what, struct ir_module *m)
{
	if (!batch_try_module(b, what, m))
		fail_msg("%s: %s", what, b->message);
}

static inline void
batch_add(struct batch *b, const char *what, const char *text)
{
	batch_add_module(b, what, module_of(b, what, text));
}

/* Every PROGRAM_FILES-th program, from `first` on. */
static inline void
write_unit(struct batch *b, int first)
{
	char *path = talloc_asprintf(b, "%s/unit%d.c", b->folder, first);
	FILE *f = fopen(path, "w");
	assert_non_null(f);
	for (int i = first; i < b->n; i += PROGRAM_FILES) {
		struct stat st;
		for (int k = 0;; k++) {
			char *name = talloc_asprintf(b, "%s/p%d.src/kernels_%d.c", b->folder, i, k);
			if (stat(name, &st) != 0)
				break;
			fprintf(f, "#include \"p%d.src/kernels_%d.c\"\n", i, k);
		}
		fprintf(f, "#include \"p%d.src/step.c\"\n", i);
	}
	if (first == 0 && BATCH_TARGET == LOWER_HOST)
		fputs("int batch_run(const struct rt_program *p, int argc, char **argv);\n"
		      "int batch_run(const struct rt_program *p, int argc, char **argv)\n"
		      "{\n\treturn rt_main(p, &rt_device_host, argc, argv);\n}\n",
			f);
	fclose(f);
}

/* Compiles and loads all programs. False: the compiler failed; its messages are on stderr. */
static inline bool
batch_try_build(struct batch *b, const char *level)
{
	char *cc = lower_compile_command(b), *command = talloc_asprintf(b, "cd %s && {", b->folder);
	const char *more = "";
#ifdef BATCH_MORE
	more = BATCH_MORE(b, level);
#endif
	for (int i = 0; i < PROGRAM_FILES; i++) {
		write_unit(b, i);
		command = talloc_asprintf_append(
			command, " %s %s -fPIC -c unit%d.c & p%d=$!;", cc, level, i, i);
	}
	for (int i = 0; i < PROGRAM_FILES; i++)
		command = talloc_asprintf_append(command, " wait $p%d || exit 1;", i);
	command = talloc_asprintf_append(command, " %s -shared -o all.so", cc);
	for (int i = 0; i < PROGRAM_FILES; i++)
		command = talloc_asprintf_append(command, " unit%d.o", i);
	command = talloc_asprintf_append(command, " %s %s; }", more, lower_link_flags(b));
	if (system(command) != 0) {
		fprintf(stderr, "the compiler failed: %s\n", command);
		return false;
	}
	b->library = dlopen(talloc_asprintf(b, "%s/all.so", b->folder), RTLD_NOW | RTLD_LOCAL);
	if (!b->library)
		fail_msg("%s", dlerror());
	return true;
}

/* Does the output of a program say that it has allocated what was predicted? A prediction of 0
 * prints nothing. */
static inline void
check_memory(const char *path, const struct rt_program *p)
{
	char line[256];
	size_t allocated = 0, predicted = 1;
	if (!p->predicted_bytes)
		return;
	FILE *f = fopen(path, "r");
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		if (sscanf(line, "memory: %zu bytes per rank (predicted %zu)", &allocated,
			    &predicted) == 2)
			break;
	fclose(f);
	if (allocated != predicted)
		fail_msg("a program has allocated %zu bytes, predicted were %zu", allocated,
			predicted);
}

/* Runs program i of a loaded library in this process; returns its status. */
static inline int
run_loaded(void *library, const char *i, int argc, char **argv)
{
	const struct rt_program *p = dlsym(library, talloc_asprintf(NULL, "p%s", i));
	int (*run)(const struct rt_program *, int, char **) =
		(int (*)(const struct rt_program *, int, char **))dlsym(library, "batch_run");
	int (*own)(int, char **) =
		(int (*)(int, char **))dlsym(library, talloc_asprintf(NULL, "p%s_main", i));
	return own ? own(argc, argv) : p && run ? run(p, argc, argv) : 1;
}

/* A process of mpirun, started by run_with: `LAUNCH -rank LIBRARY PROGRAM [option ...]`. */
static inline int
run_rank(int argc, char **argv)
{
	void *library = argc > 3 ? dlopen(argv[2], RTLD_NOW | RTLD_LOCAL) : NULL;

	return library ? run_loaded(library, argv[3], argc - 3, argv + 3) : 1;
}

/* In the child of run_with. */
static inline void
start_processes(const struct batch *b, int i, int argc, char **argv)
{
	char *ranks = talloc_asprintf(NULL, "%d", (int)ir_devices(b->program[i].m)),
	     *library = talloc_asprintf(NULL, "%s/all.so", b->folder),
	     *number = talloc_asprintf(NULL, "%d", i);
	char *limit = talloc_asprintf(NULL, "%d", PROGRAM_SECONDS);
	char *command[24] = {"mpirun", "--timeout", limit, "-n", ranks, (char *)b->launch, "-rank",
		library, number};

	for (int k = 1; k < argc; k++)
		command[8 + k] = argv[k];
	alarm(2 * PROGRAM_SECONDS); /* mpirun's own limit ends the ranks as well */
	execvp(*command, command);
}

/* Runs program i in a child process that dumps the outputs of the last step, with a further option.
 * Returns its status, 0 on success. */
static inline int
run_with(struct batch *b, int i, const char *dump, const char *option, const char *file)
{
	char steps[16], *log = talloc_asprintf(b, "%s/log", b->folder),
			*number = talloc_asprintf(b, "%d", i);
	const struct rt_program *p = dlsym(b->library, talloc_asprintf(b, "p%d", i));

	assert_non_null(p);
	snprintf(steps, sizeof steps, "%d", b->steps);
	char *argv[] = {"test", "-steps", steps, "-no-eval", "-dump", (char *)dump, (char *)option,
		(char *)file, NULL};
	fflush(NULL);
	const pid_t child = fork();
	if (child == 0) {
		alarm(PROGRAM_SECONDS);
		signal(SIGSEGV, SIG_DFL); /* the test runner's handlers are not for the child */
		signal(SIGABRT, SIG_DFL);
		dup2(open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600), 1);
		dup2(open("/dev/null", O_WRONLY), 2);
		if (!b->launch)
			_exit(run_loaded(b->library, number, 8, argv));
		start_processes(b, i, 8, argv);
		_exit(1);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (status == 0)
		check_memory(log, p);
	return status;
}

/* Afterwards its dump and its params are in files. */
static inline int
run_program(struct batch *b, int i, const char *dump, const char *save)
{
	return run_with(b, i, dump, "-save", save);
}

static inline double
element(const struct rt_st_tensor *t, enum ir_dtype type, int64_t i)
{
	const unsigned char *at = (const unsigned char *)t->data + (size_t)i * ir_dtype_bytes(type);
	union {
		double f64;
		float f32;
		int64_t i64;
		int32_t i32;
		int16_t i16;
		int8_t i8;
		uint64_t u64;
		uint32_t u32;
		uint16_t u16;
		uint8_t u8;
	} v;
	memcpy(&v, at, ir_dtype_bytes(type));
	switch (type) {
	case IR_f64: return v.f64;
	case IR_f32: return v.f32;
	case IR_f16: return rt_f16_to_f32(v.u16);
	case IR_bf16: return rt_bf16_to_f32(v.u16);
	case IR_i64: return (double)v.i64;
	case IR_i32: return v.i32;
	case IR_i16: return v.i16;
	case IR_i8: return v.i8;
	case IR_u64: return (double)v.u64;
	case IR_u32: return v.u32;
	case IR_u16: return v.u16;
	default: return v.u8;
	}
}

/* A tensor of a file in the interpreter's representation. */
static inline struct tensor *
from_file(const void *owner, const struct rt_st_tensor *t, const struct tensor *like)
{
	struct tensor *r = tensor_create(owner, like->dtype, like->rank, like->dim);
	for (int64_t i = 0; i < tensor_elements(r); i++)
		if (ir_dtype_class(like->dtype) == IR_FLOAT)
			r->data[i].f = element(t, like->dtype, i);
		else if (like->dtype == IR_i64 || like->dtype == IR_u64)
			memcpy(&r->data[i].i, (const char *)t->data + i * 8, 8);
		else
			r->data[i].i = (int64_t)element(t, like->dtype, i);
	return r;
}

/* The differences due to another order of sums and polynomials of another degree that a program may
 * have in addition to the interpreter's own. */
#define PROGRAM_TOLERANCE 8

/* The narrowest floats in the module: their rounding affects everything that is computed from
 * them. */
static inline enum ir_dtype
narrowest_float(const struct ir_module *m)
{
	enum ir_dtype narrowest = IR_f32;
	IR_FOR_OPS (op, &ir_func_find(m, "main")->body)
		for (int r = 0; r < op->nresults; r++) {
			const enum ir_dtype t = (enum ir_dtype)op->result[r].type->dtype;
			if (ir_dtype_class(t) == IR_FLOAT &&
				tensor_tolerance(t, false) > tensor_tolerance(narrowest, false))
				narrowest = t;
		}
	return narrowest;
}

static inline double
tolerance_of(const struct ir_module *m)
{
	return tensor_tolerance(narrowest_float(m), false) * PROGRAM_TOLERANCE;
}

/* Number of times that a step is computed from perturbed values, if the first comparison fails. */
#define SHAKEN 6
/* In roundings of the narrowest type: a param's own, and those of some ops that follow it. */
#define SHAKEN_BY 4

/* The results of a program according to the interpreter. */
struct reference {
	struct interp *it;   /* in the element types of the module */
	struct interp *fine; /* in double precision: its difference from `it` is rounding */
	struct interp *laid; /* as `it`, by layout; NULL: not requested, or one place */
	struct interp *shaken
		[SHAKEN]; /* as `it`, from params perturbed by some roundings; NULL: not requested.
			   * Their differences are what rounding may cause. */
};

/* A tensor of an interpreter by its name: interp_output or interp_persistent. */
typedef const struct tensor *(*tensor_named)(const struct interp *, const char *);

/* The largest difference of an element. */
static inline double
most_off(const struct tensor *want, const struct tensor *other)
{
	double most = 0;
	if (ir_dtype_class(want->dtype) != IR_FLOAT)
		return 0;
	for (int64_t i = 0; i < tensor_elements(want); i++) {
		const double off = want->data[i].f - other->data[i].f;
		most = isfinite(off) ? fmax(most, fabs(off)) : most;
	}
	return most;
}

/* The largest rounding error of the interpreter in an element. */
static inline double
rounding_of(const struct reference *r, tensor_named find, const char *name)
{
	const struct tensor *want = find(r->it, name);
	double most = most_off(want, find(r->fine, name));

	for (int k = 0; k < SHAKEN && r->shaken[k]; k++)
		most = fmax(most, most_off(want, find(r->shaken[k], name)));
	return most;
}

/*
 * Perturbs params and states by a few roundings, up or down at random: relative to each element,
 * `unit`. The effect on a step shows how much it magnifies roundings in other places: an optimizer
 * that divides by the size of the gradient takes a whole step for a gradient that is only rounding
 * error.
 */
static inline void
shake(struct interp *it, double unit, uint64_t seed)
{
	const char *name;

	for (int k = 0; (name = interp_persistent_name(it, k, NULL)); k++) {
		struct tensor *t = (struct tensor *)interp_persistent(it, name);
		for (int64_t i = 0; ir_dtype_class(t->dtype) == IR_FLOAT && i < tensor_elements(t);
			i++) {
			const double off =
				2 * rt_uniform(rt_mix64(seed + (uint64_t)k), (uint64_t)i) - 1;
			t->data[i].f *= 1 + unit * off;
		}
	}
}

/*
 * The tolerance of an element: `tolerance` relative to the largest, plus a multiple of the
 * interpreter's own rounding error. A chain of ops or a long sum that magnifies a rounding does so
 * here, too.
 */
static inline double
allowed_error(const struct tensor *want, double rounding, double tolerance)
{
	double most = 1e-3;
	if (ir_dtype_class(want->dtype) != IR_FLOAT)
		return tolerance;
	for (int64_t i = 0; i < tensor_elements(want); i++)
		most = isfinite(want->data[i].f) ? fmax(most, fabs(want->data[i].f)) : most;
	return tolerance + PROGRAM_TOLERANCE * rounding / most;
}

/* Is a float narrower than f64 computed on the way to a value? Inputs are the same everywhere. */
static inline bool
is_from_narrow(const struct ir_value *v)
{
	const enum ir_dtype t = (enum ir_dtype)v->type->dtype;
	if (ir_dtype_class(t) == IR_FLOAT && t != IR_f64 && v->op->noperands)
		return true;
	bool any = false;
	for (int j = 0; j < v->op->noperands; j++) {
		const struct ir_value *from = ir_operand(v->op, j);
		any |= is_from_narrow(from) ||
		       (v->op->code == OP_fuse && from->type->dtype != IR_f64);
	}
	return any;
}

/* For test/gpu/compare, which has no interpreter: writes the interpreter's rounding error of each
 * tensor of program i, in addition to its dump and its params. */
static inline void
keep_roundings(const struct batch *b, int i, const struct reference *r)
{
	FILE *f = fopen(talloc_asprintf(b, "%s/rounding%d", b->folder, i), "w");
	const struct ir_op *op;
	const char *name;

	assert_non_null(f);
	for (int k = 0; (name = interp_output_name(r->it, k, &op)); k++) {
		if (is_from_narrow(ir_operand(op, 0)))
			fprintf(f, "dump %.3g %s\n", rounding_of(r, interp_output, name), name);
	}
	for (int k = 0; (name = interp_persistent_name(r->it, k, NULL)); k++)
		fprintf(f, "save %.3g %s\n", rounding_of(r, interp_persistent, name), name);
	fclose(f);
}

/*
 * The first zero with a different sign; -1: none. If the interpreter's own rounding determines the
 * zero, or its sign, the sign may depend on the order of sums as well, and is not compared.
 */
static inline int64_t
wrong_sign(const struct tensor *want, const struct tensor *fine, const struct tensor *have)
{
	if (ir_dtype_class(want->dtype) != IR_FLOAT)
		return -1;
	for (int64_t i = 0; i < tensor_elements(want); i++) {
		const double w = want->data[i].f, f = fine->data[i].f, h = have->data[i].f;
		const bool certain = w == 0 && f == 0 && !signbit(w) == !signbit(f);
		if (certain && h == 0 && !signbit(w) != !signbit(h))
			return i;
	}
	return -1;
}

/*
 * A value that has overflowed a narrow type and become NaN has an unbounded rounding error: whether
 * an infinite element meets the zeros of a padding, and in which order it is added to others,
 * depends on the library. Such elements of `have` are replaced by those of `want`.
 */
static inline void
excuse_overflows(const struct tensor *want, const struct tensor *fine, struct tensor *have)
{
	if (ir_dtype_class(want->dtype) != IR_FLOAT)
		return;
	for (int64_t i = 0; i < tensor_elements(want); i++)
		if (isnan(want->data[i].f) && isfinite(fine->data[i].f))
			have->data[i] = want->data[i];
}

/* NULL if they agree, else the difference. */
static inline const char *
difference_from_file(const char *name, const struct rt_st_file *f, const struct reference *r,
	tensor_named find, double tolerance)
{
	const struct tensor *want = find(r->it, name), *fine = find(r->fine, name);
	const struct rt_st_tensor *t = rt_st_find(f, name);
	struct tensor_diff diff;
	if (!t)
		return talloc_asprintf(want, "the program has no %s", name);
	struct tensor *have = from_file(want, t, want);
	excuse_overflows(want, fine, have);
	const int64_t zero = wrong_sign(want, fine, have);
	if (zero >= 0)
		return talloc_asprintf(want,
			"%s%s is a zero of the wrong sign: the interpreter has %g", name,
			tensor_index_text(want, want, zero), want->data[zero].f);
	if (tensor_compare(
		    want, have, allowed_error(want, rounding_of(r, find, name), tolerance), &diff))
		return NULL;
	return talloc_asprintf(want, "%s%s differs from the interpreter: %.9g and %.9g", name,
		tensor_index_text(want, want, diff.worst), diff.a, diff.b);
}

static inline const char *
difference_of_outputs(
	const struct batch *b, const struct reference *r, const char *dump, double tolerance)
{
	struct rt_status st = {0};
	struct rt_st_file file;
	const char *name, *wrong = NULL;

	if (!interp_output_name(r->it, 0, NULL))
		return NULL;
	if (!rt_st_open(&file, dump, &st))
		return talloc_asprintf(b, "the outputs: %s", st.text);
	for (int k = 0; !wrong && (name = interp_output_name(r->it, k, NULL)); k++)
		wrong = difference_from_file(name, &file, r, interp_output, tolerance);
	rt_st_close(&file);
	return wrong;
}

static inline const char *
difference_of_params(
	const struct batch *b, const struct reference *r, const char *save, double tolerance)
{
	struct rt_status st = {0};
	struct rt_st_file file;
	const char *name, *wrong = NULL;

	if (!interp_persistent_name(r->it, 0, NULL))
		return NULL;
	if (!rt_st_open(&file, save, &st))
		return talloc_asprintf(b, "the params: %s", st.text);
	for (int k = 0; !wrong && (name = interp_persistent_name(r->it, k, NULL)); k++)
		wrong = difference_from_file(name, &file, r, interp_persistent, tolerance);
	rt_st_close(&file);
	return wrong;
}

/* Describes how a failed program ended. */
static inline const char *
ending(const struct batch *b, int status)
{
	if (!WIFSIGNALED(status))
		return talloc_asprintf(b, "the program returned %d", WEXITSTATUS(status));
	if (WTERMSIG(status) == SIGALRM)
		return talloc_asprintf(b, "the program did not end within %d s", PROGRAM_SECONDS);
	return talloc_asprintf(b, "the program was ended by signal %d, %s", WTERMSIG(status),
		strsignal(WTERMSIG(status)));
}

/* The differences between the files of a run and the interpreter; NULL if they agree. */
static inline const char *
difference_of_files(const struct batch *b, const struct reference *r, const char *dump,
	const char *save, double tolerance)
{
	const char *wrong = difference_of_outputs(b, r, dump, tolerance);

	return wrong ? wrong : difference_of_params(b, r, save, tolerance);
}

/* Runs the steps; false after an error, which is reported. */
static inline bool
run_interpreter(struct interp *it, int steps)
{
	for (int s = 0; it && s < steps; s++)
		if (!interp_step(it, s))
			return false;
	return it != NULL;
}

/* Runs the missing interpreters of `r`: the same steps by layout, and from values perturbed by some
 * roundings of the module's narrowest type. */
static inline bool
run_shaken(struct batch *b, int i, struct reference *r)
{
	const struct interp_options o = {.mode = INTERP_MEANING};
	const double unit =
		SHAKEN_BY * ldexp(1, -1 - fn_mantissa_bits(narrowest_float(b->program[i].m)));

	for (int k = 0; k < SHAKEN; k++) {
		r->shaken[k] = interp_create(r->it, b->program[i].m, &o);
		if (r->shaken[k])
			shake(r->shaken[k], unit, (uint64_t)k);
		if (!run_interpreter(r->shaken[k], b->steps))
			return false;
	}
	if (ir_places(b->program[i].m) == 1)
		return true;
	const struct interp_options by_layout = {.mode = INTERP_LAYOUT};
	r->laid = interp_create(r->it, b->program[i].m, &by_layout);
	return run_interpreter(r->laid, b->steps);
}

/*
 * As difference_of_files; if the files differ from the step by meaning in narrow floats, compares
 * all of them with the step by layout. By meaning a sum is rounded, by layout each of its terms, so
 * that one of them may overflow when the other does not: a gradient, and with it whether an
 * optimizer with a dynamic loss scale skips the step.
 */
static inline const char *
difference_by_layout(
	struct batch *b, int i, const struct reference *r, const char *dump, const char *save)
{
	const double tolerance = tolerance_of(b->program[i].m);
	const char *wrong = difference_of_files(b, r, dump, save, tolerance);
	struct reference by_layout = *r;

	if (!wrong || !r->laid || narrowest_float(b->program[i].m) == IR_f32)
		return wrong;
	by_layout.it = r->laid;
	return difference_of_files(b, &by_layout, dump, save, tolerance) ? wrong : NULL;
}

/*
 * Runs program i and the interpreter, by meaning, on the same random inputs, and compares all their
 * results. Returns NULL if all agree, else the difference.
 */
static inline const char *
program_difference(struct batch *b, int i)
{
	const struct program *p = &b->program[i];
	char *dump = talloc_asprintf(b, "%s/dump%d", b->folder, i),
	     *save = talloc_asprintf(b, "%s/save%d", b->folder, i);
	const struct interp_options o = {.mode = INTERP_MEANING},
				    fine = {.mode = INTERP_MEANING, .f64 = true};
	struct reference r = {
		interp_create(b, p->m, &o), interp_create(b, p->m, &fine), NULL, {NULL}};
	const double tolerance = tolerance_of(p->m);

	if (!run_interpreter(r.it, b->steps) || !run_interpreter(r.fine, b->steps))
		return talloc_asprintf(b, "the interpreter: %s", b->message);
	const int status = run_program(b, i, dump, save);
	if (status != 0)
		return ending(b, status);
	const char *wrong = difference_of_files(b, &r, dump, save, tolerance);
	if (wrong || getenv("BATCH_KEEP")) {
		if (!run_shaken(b, i, &r))
			return talloc_asprintf(b, "the interpreter: %s", b->message);
		wrong = difference_by_layout(b, i, &r, dump, save);
	}
	wrong = wrong ? talloc_strdup(b, wrong) : NULL;
	if (getenv("BATCH_KEEP"))
		keep_roundings(b, i, &r);
	talloc_free(r.it);
	talloc_free(r.fine);
	return wrong;
}

/* Removes the batch and its files; or moves them to the folder BATCH_KEEP, with underscores
 * appended if that exists, for machines that test/gpu/run is for. */
static inline void
batch_end(struct batch *b)
{
	if (b->library)
		dlclose(b->library);
	char *command = talloc_asprintf(b, "rm -rf %s", b->folder);
	if (getenv("BATCH_KEEP")) {
		FILE *names = fopen(talloc_asprintf(b, "%s/names", b->folder), "w");
		for (int i = 0; names && i < b->n; i++) { /* one line each */
			for (const char *c = b->program[i].what; *c; c++)
				fputc(*c == '\n' ? ' ' : *c, names);
			fputc('\n', names);
		}
		if (names)
			fclose(names);
		command = talloc_asprintf(b,
			"echo %d >%s/steps && to='%s' && while [ -e \"$to\" ]; do to=${to}_; done "
			"&& "
			"mv %s \"$to\"",
			b->steps, b->folder, getenv("BATCH_KEEP"), b->folder);
	}
	assert_int_equal(system(command), 0);
	talloc_free(b);
}

/* Compiles, runs and compares everything. -O1, since only values are tested; the same loops are
 * vectorized at -O3 elsewhere. */
static inline void
batch_check(struct batch *b, const char *level)
{
	assert_true(batch_try_build(b, level));
	for (int i = 0; i < b->n; i++) {
		const char *wrong = program_difference(b, i);
		if (wrong)
			fail_msg("%s: %s", b->program[i].what, wrong);
	}
	batch_end(b);
}

#endif
