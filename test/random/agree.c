/*
 * agree [-emit | -mpi] FILE...: compiles the modules in the files as programs, all at once, runs
 * each on as many ranks as its mesh has devices, if these are few, and prints a line for each that
 * is refused, or whose results differ from the interpreter's; then the number that ran. Ranks are
 * threads; with -mpi they are processes of mpirun, and programs for one device are not run. With
 * -emit the sources are written, which proves that they have no races (lower/plan/check.h), and
 * neither compiled nor run. Exit status 0: all agree; 1: some do not.
 */
#include "test/file.h"
#include "test/lower/program.h"

/* The sources of programs for more devices are written only with -emit. */
static bool
is_run(const struct batch *b, const struct ir_module *m)
{
	const int64_t n = ir_devices(m);

	return b->launch ? n > 1 && n <= BATCH_PROCESSES : n <= BATCH_DEVICES;
}

static bool
add_file(struct batch *b, const char *path, bool emit)
{
	const struct parse_options o = {.inline_calls = true};
	const char *text = read_file(b, path, NULL);
	struct ir_module *m = text ? parse_module(b, b->ctx, path, text, strlen(text), &o) : NULL;
	if (m && !emit && !is_run(b, m))
		return true;
	b->message = m ? b->message : talloc_asprintf(b, "it is not read: %s", b->message);
	if (m && ir_verify(m) && batch_try_module(b, path, m))
		return true;
	printf("%s: %s\n", path, b->message);
	return false;
}

int
main(int argc, char **argv)
{
	const bool emit = argc > 1 && strcmp(argv[1], "-emit") == 0,
		   mpi = argc > 1 && strcmp(argv[1], "-mpi") == 0;
	if (argc > 1 && strcmp(argv[1], "-rank") == 0)
		return run_rank(argc, argv);
	struct batch *b = batch_create();
	b->launch = mpi ? talloc_asprintf(b, "/proc/%d/exe", (int)getpid()) : NULL;
	bool good = true;
	b->steps = 2;
	for (int i = 1 + (emit || mpi); i < argc; i++)
		good = add_file(b, argv[i], emit) && good;
	if (b->n && !emit && !batch_try_build(b, "-O0")) {
		printf("they do not compile together\n");
		good = false;
	}
	for (int i = 0; b->library && i < b->n; i++) {
		const char *wrong = program_difference(b, i);
		if (wrong)
			printf("%s: %s\n", b->program[i].what, wrong);
		good = good && !wrong;
	}
	if (!emit)
		printf("%d programs ran\n", b->library ? b->n : 0);
	batch_end(b);
	return good ? 0 : 1;
}
