/*
 * How much larger than what lives at one moment is the arena of a step, and how long does finding
 * places take?
 *
 *     storage NAME FILE PIPELINE [SIZE=N ...]
 *
 * prints a row: name, ops, buffers, MB that live at most, arena over that in percent, milliseconds
 * of storage_create, of storage_place alone.
 */
#include "ir/base/clock.h"
#include "ir/memory/place.h"
#include "ir/memory/storage.h"
#include "parser/dir/parse.h"
#include "passes/manager/pipeline.h"
#include "test/file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <talloc.h>

/* Reads the module and runs the pipeline on it; NULL after a message. */
static struct ir_module *
make_module(const void *owner, char **argv, int ndefines)
{
	struct ir_context *ctx = ir_context_create(owner);
	struct parse_define *define = talloc_zero_array(owner, struct parse_define, 64);
	struct parse_options o = {.define = define, .inline_calls = true};
	struct pass_manager *manager = pass_manager_create(owner, ctx);
	struct pass_pipeline *p = pass_pipeline_create(owner);
	size_t length;
	char *text = read_file(owner, argv[2], &length);

	for (int i = 0; i < ndefines && i < 64; i++) {
		char *equals = strchr(argv[4 + i], '=');
		if (!equals)
			return NULL;
		*equals = '\0';
		define[o.ndefines].name = argv[4 + i];
		define[o.ndefines++].value = strtoll(equals + 1, NULL, 10);
	}
	struct ir_module *m = text ? parse_module(owner, ctx, argv[2], text, length, &o) : NULL;
	manager->verify_each = false;
	if (!m || !pass_pipeline_parse(p, manager, "pipeline", argv[3]) ||
		!pass_pipeline_check(p, manager, m) ||
		pass_pipeline_run(p, manager, &m, NULL) != PASS_DONE)
		return NULL;
	return m;
}

/* The rooms that storage_create has placed, again. */
static double
time_place(const struct storage *s)
{
	struct storage_room *room = talloc_array(s, struct storage_room, s->nbuffers + 1);
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->nbuffers; i++) {
		const struct storage_buffer *b = &s->buffer[i];
		const bool always = b->role == STORAGE_INPUT || b->role == STORAGE_PERSISTENT;
		if (b->first >= 0 && !always)
			room[n++] = (struct storage_room){storage_bytes(s, b), (uint32_t)b->first,
				(uint32_t)b->last, 0, b->row, b->home};
	}
	const double start = clock_seconds();
	storage_place(
		room, n, s->home_axis < 0 ? 1 : (uint32_t)s->module->axis[s->home_axis].size, 0);
	return 1e3 * (clock_seconds() - start);
}

int
main(int argc, char **argv)
{
	void *owner = talloc_new(NULL);

	if (argc < 4) {
		fprintf(stderr, "usage: storage NAME FILE PIPELINE [SIZE=N ...]\n");
		return 2;
	}
	struct ir_module *m = make_module(owner, argv, argc - 4);
	if (!m)
		return 1;
	const double start = clock_seconds();
	const struct storage *s =
		storage_create(owner, m, ir_func_find(m, "main"), &storage_host, NULL);
	const double all = 1e3 * (clock_seconds() - start);
	printf("| %s | %u | %u | %.1f | %.2f | %.1f | %.1f |\n", argv[1], s->order->n, s->nbuffers,
		(double)s->live_bytes / 1e6,
		100 * ((double)s->arena_bytes / (double)s->live_bytes - 1), all, time_place(s));
	talloc_free(owner);
	return 0;
}
