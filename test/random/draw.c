/*
 * draw FIRST COUNT FOLDER [sharded]: for each seed from FIRST on, writes to FOLDER SEED.dir, a
 * random program, and SEED.pipeline, a random pipeline, which need not fit each other. Input of
 * pipelines.py. With `sharded`, pipelines of sharded training, and no programs.
 */
#include "test/random/check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

enum { STEPS = 22 };

/* Most have a loss, so that pipelines that train have something to train. */
static void
options(uint64_t seed, struct random_options *o)
{
	static const int devices[] = {1, 2, 4};
	o->devices = devices[seed % 3];
	o->parallel = seed % 4 != 0;
	o->loss = seed % 8 > 1;
	o->fuse = !o->loss && seed % 8 == 1;
	o->program = true;
	o->wide = seed % 5 != 0;
}

static bool
write_text(const void *owner, const char *folder, uint64_t seed, const char *suffix,
	const struct ir_module *m, const char *text)
{
	const char *path =
		talloc_asprintf(owner, "%s/%llu.%s", folder, (unsigned long long)seed, suffix);
	FILE *f = fopen(path, "w");
	if (!f) {
		perror(path);
		return false;
	}
	if (m)
		ir_print(f, m);
	else
		fprintf(f, "%s\n", text);
	return fclose(f) == 0;
}

int
main(int argc, char **argv)
{
	const bool sharded = argc == 5 && strcmp(argv[4], "sharded") == 0;
	if (argc != 4 && !sharded) {
		fputs("usage: draw FIRST COUNT FOLDER [sharded]\n", stderr);
		return 2;
	}
	const uint64_t first = strtoull(argv[1], NULL, 10), count = strtoull(argv[2], NULL, 10);
	const struct trial_test test = {.steps = STEPS, .options = options};
	const struct gen_table *table = gen_table_create(NULL);
	bool good = true;
	for (uint64_t seed = first; good && seed < first + count; seed++) {
		struct trial *t = trial_create(NULL, table);
		good = (sharded || write_text(t, argv[3], seed, "dir", trial_module(t, &test, seed),
					   NULL)) &&
		       write_text(t, argv[3], seed, "pipeline", NULL,
			       sharded ? trial_sharded_text(t, seed)
				       : trial_pipeline_text(t, seed));
		talloc_free(t);
	}
	talloc_free((void *)table);
	return good ? 0 : 1;
}
