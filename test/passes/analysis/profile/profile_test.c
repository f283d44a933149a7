/* The profile data base: what is put in comes out, wrong files are refused, processes share it. */
#include "passes/analysis/fit/alpha_beta.h"
#include "passes/analysis/profile/derive.h"
#include "passes/analysis/profile/text.h"
#include "test/unit.h"

#include <fcntl.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PROCESSES = 4, ROWS = 50 };

struct fixture {
	char folder[64], path[96], message[1024];
	struct diag *diag;
};

static void
keep_message(void *data, const struct diag_message *m)
{
	struct fixture *f = data;
	snprintf(f->message, sizeof f->message, "%s", m->text);
}

static int
setup(void **state)
{
	struct fixture *f = talloc_zero(NULL, struct fixture);
	const char *tmp = getenv("TMPDIR");
	snprintf(f->folder, sizeof f->folder, "%s/profileXXXXXX",
		tmp && strlen(tmp) < 40 ? tmp : "/tmp");
	if (!mkdtemp(f->folder))
		return 1;
	snprintf(f->path, sizeof f->path, "%s/p.db", f->folder);
	f->diag = diag_create(f);
	diag_set_handler(f->diag, keep_message, f);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;
	static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};
	for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
		char path[128];
		snprintf(path, sizeof path, "%s%s", f->path, suffix[i]);
		unlink(path);
	}
	rmdir(f->folder);
	talloc_free(f);
	return 0;
}

static void
write_file(const struct fixture *f, const void *bytes, size_t n)
{
	FILE *file = fopen(f->path, "wb");
	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, n, file), n);
	fclose(file);
}

static void
run_sql(const struct fixture *f, const char *sql)
{
	sqlite3 *db;
	assert_int_equal(sqlite3_open(f->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

/* Opening fails, with a message that has the words. */
static void
refused(struct fixture *f, enum profile_mode mode, const char *words)
{
	f->message[0] = 0;
	assert_null(profile_open(f, f->diag, f->path, mode));
	if (!strstr(f->message, words) || !strstr(f->message, f->path))
		fail_msg("expected '%s' in the message '%s'", words, f->message);
}

static void
what_is_put_in_comes_out(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	assert_non_null(p);
	const struct profile_op ops[] = {{"matmul z", 1, 2e-6, 0.5, 11, 100, 200, PROFILE_STEP, 5},
		{"add a", 2, 1e-6, 0.25, 7, 10, 20, PROFILE_STEP, 6},
		{"add a", 1, 4e-6, 0, 9, 10, 20, PROFILE_ROTATE, 7},
		{"add a", 1, 3e-6, 0.125, 9, 10, 20, PROFILE_STEP, 8}};
	assert_true(profile_begin(p));
	for (int i = 0; i < 4; i++)
		assert_true(profile_put_op(p, "cpu", &ops[i]));
	assert_true(profile_commit(p));
	const struct profile_op other = {"add a", 1, 9, 0, 1, 0, 0, PROFILE_STEP, 0};
	assert_true(profile_put_op(p, "gpu", &other));
	struct profile_collective c = {"inprocess", RT_ALLTOALL, 4, 4096, 5e-6, 0.1, 3, 2, 9};
	struct profile_link l = {"inprocess", RT_SEND, 2, 1e-6, INFINITY, 0.01, 0, 0};
	struct profile_field field = {"launch", 2e-7, NULL, 0};
	assert_true(profile_put_collective(p, "cpu", &c));
	assert_true(profile_put_link(p, "cpu", &l));
	assert_true(profile_put_field(p, "cpu", &field));
	talloc_free(p);

	p = profile_open(f, f->diag, f->path, PROFILE_READ);
	assert_non_null(p);
	struct profile_op *op;
	assert_int_equal(profile_ops(f, p, "cpu", &op), 4);
	const int order[] = {3, 2, 1, 0}; /* by key, then ranks, the step first */
	for (int i = 0; i < 4; i++) {
		const struct profile_op *want = &ops[order[i]];
		assert_string_equal(op[i].key, want->key);
		assert_int_equal(op[i].ranks, want->ranks);
		assert_true(op[i].median == want->median && op[i].spread == want->spread);
		assert_true(op[i].runs == want->runs && op[i].flops == want->flops);
		assert_true(op[i].bytes == want->bytes && op[i].buffers == want->buffers);
		assert_true(op[i].time == want->time);
	}
	struct profile_collective *cs;
	struct profile_link *ls;
	struct profile_field *fs;
	char **devices;
	assert_int_equal(profile_collectives(f, p, "cpu", &cs), 1);
	assert_true(cs->kind == RT_ALLTOALL && cs->places == 4 && cs->bytes == 4096);
	assert_true(cs->median == 5e-6 && cs->spread == 0.1 && cs->runs == 3);
	assert_true(cs->nodes == 2 && cs->time == 9);
	assert_int_equal(profile_links(f, p, "cpu", &ls), 1);
	assert_true(ls->kind == RT_SEND && ls->places == 2 && ls->alpha == 1e-6);
	assert_true(isinf(ls->beta) && ls->error == 0.01 && ls->nodes == 1);
	assert_int_equal(profile_fields(f, p, "cpu", &fs), 1);
	assert_string_equal(fs->name, "launch");
	assert_true(fs->value == 2e-7);
	assert_int_equal(profile_devices(f, p, &devices), 2);
	assert_string_equal(devices[0], "cpu");
	assert_string_equal(devices[1], "gpu");
	assert_int_equal(profile_ops(f, p, "nobody", &op), 0);
	talloc_free(p);
}

static void
a_newer_value_takes_the_place_of_the_old(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	struct profile_op op = {"add", 1, 1e-6, 0, 1, 0, 0, PROFILE_STEP, 0}, *list;
	assert_true(profile_put_op(p, "cpu", &op));
	op.median = 2e-6;
	assert_true(profile_put_op(p, "cpu", &op));
	assert_int_equal(profile_ops(f, p, "cpu", &list), 1);
	assert_true(list->median == 2e-6);
	talloc_free(p);
}

static void
a_missing_file_is_no_profile_to_read(void **state)
{
	refused(*state, PROFILE_READ, "cannot open it");
	assert_int_equal(access(((struct fixture *)*state)->path, F_OK), -1);
}

static void
an_empty_file_is_no_profile_to_read(void **state)
{
	write_file(*state, "", 0);
	refused(*state, PROFILE_READ, "another program");
}

static void
another_format_is_refused_and_kept(void **state)
{
	struct fixture *f = *state;
	char text[4096];
	memset(text, 'x', sizeof text);
	write_file(f, text, sizeof text);
	refused(f, PROFILE_READ, "not a database");
	refused(f, PROFILE_WRITE, "not a database");
	char now[4097];
	FILE *file = fopen(f->path, "rb");
	assert_int_equal(fread(now, 1, sizeof now, file), sizeof text);
	fclose(file);
	assert_memory_equal(now, text, sizeof text);
}

static void
another_programs_data_base_is_refused(void **state)
{
	run_sql(*state, "CREATE TABLE t(x); PRAGMA application_id = 77");
	refused(*state, PROFILE_READ, "another program");
	refused(*state, PROFILE_WRITE, "another program");
}

static void
another_schema_is_refused(void **state)
{
	struct fixture *f = *state;
	talloc_free(profile_open(f, f->diag, f->path, PROFILE_WRITE));
	run_sql(f, "PRAGMA user_version = 99");
	refused(f, PROFILE_READ, "schema 99; expected schema 2");
	refused(f, PROFILE_WRITE, "schema 99; expected schema 2");
}

/* Wherever a file is cut off or damaged: a message or good data, never a crash. */
static void
damaged_files_give_messages(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	assert_true(profile_begin(p));
	for (int i = 0; i < 300; i++) {
		char key[32];
		snprintf(key, sizeof key, "key %d", i);
		struct profile_op op = {key, 1, i + 1, 0, 1, 0, 0, PROFILE_STEP, 0};
		assert_true(profile_put_op(p, "cpu", &op));
	}
	assert_true(profile_commit(p));
	talloc_free(p);
	FILE *file = fopen(f->path, "rb");
	static char bytes[1 << 17];
	size_t n = fread(bytes, 1, sizeof bytes, file);
	fclose(file);
	assert_true(n > 8192 && n < sizeof bytes);
	int failures = 0;
	for (size_t cut = 1; cut < n; cut += 517) {
		write_file(f, bytes, cut);
		f->message[0] = 0;
		struct profile_op *list;
		p = profile_open(f, f->diag, f->path, PROFILE_READ);
		bool good = p && profile_ops(f, p, "cpu", &list) == 300;
		assert_true(good || f->message[0] || cut < 100);
		failures += !good;
		talloc_free(p);
	}
	assert_true(failures > 0);
}

/* Puts ROWS entries in, one transaction each, and each time the rate of all: that is read, and then
 * written, while others write. Returns the exit code of the process. */
static int
write_rows(struct fixture *f, int process)
{
	/* All start at once on a file that is not there yet. */
	struct profile *p = profile_open(NULL, f->diag, f->path, PROFILE_WRITE);
	bool good = p != NULL;
	for (int i = 0; good && i < ROWS; i++) {
		char key[32];
		snprintf(key, sizeof key, "%d of %d", i, process);
		struct profile_op op = {
			key, 1, (process + 1) * 1e-6, 0, 1, 0, 1e3, PROFILE_STEP, 0};
		good = profile_put_op(p, "cpu", &op) && profile_derive(p, "cpu", true);
	}
	if (!good)
		fprintf(stderr, "%s\n", f->message);
	talloc_free(p);
	return good ? 0 : 1;
}

/* Reads until all entries are there: never fewer than before, each as it was written. */
static int
read_rows(struct fixture *f)
{
	int before = 0;
	while (access(f->path, F_OK))
		usleep(100);
	for (int tries = 0; before < PROCESSES * ROWS && tries < 100000; tries++) {
		void *scratch = talloc_new(NULL);
		f->message[0] = 0;
		struct profile *p = profile_open(scratch, f->diag, f->path, PROFILE_READ);
		struct profile_op *list;
		int n = p ? profile_ops(scratch, p, "cpu", &list) : -1;
		for (int i = 0; i < n; i++)
			if (list[i].median != (atoi(strstr(list[i].key, "of ") + 3) + 1) * 1e-6)
				return 2;
		talloc_free(scratch);
		if (n < before) {
			fprintf(stderr, "%d entries, then %d: %s\n", before, n, f->message);
			return 1;
		}
		before = n > 0 ? n : before;
	}
	return before == PROCESSES * ROWS ? 0 : 3;
}

static void
processes_share_a_file(void **state)
{
	struct fixture *f = *state;
	pid_t child[2 * PROCESSES];
	for (int c = 0; c < 2 * PROCESSES; c++) {
		child[c] = fork();
		assert_true(child[c] >= 0);
		if (child[c] == 0)
			_exit(c < PROCESSES ? write_rows(f, c) : read_rows(f));
	}
	for (int c = 0; c < 2 * PROCESSES; c++) {
		int status;
		assert_int_equal(waitpid(child[c], &status, 0), child[c]);
		assert_int_equal(status, 0);
	}
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_READ);
	struct profile_op *list;
	assert_int_equal(profile_ops(f, p, "cpu", &list), PROCESSES * ROWS);
	talloc_free(p);
}

/* Values that no measurement gives are told by file, table and key, and nothing is read. */
static void
impossible_values_are_found(void **state)
{
	struct fixture *f = *state;
	static const struct {
		const char *sql, *words;
	} cases[] = {
		{"UPDATE op SET median = -1e-6", "table op, device cpu, add: the median is not"},
		{"UPDATE op SET median = 0", "add: the median is not a time above 0"},
		{"UPDATE op SET median = 'fast'", "add: the median is not a time above 0"},
		{"UPDATE op SET median = 9e999", "add: the median is not a time above 0"},
		{"UPDATE op SET median = NULL", "add: the median is not a time above 0"},
		{"UPDATE op SET runs = 0", "add: runs is not at least 1"},
		{"UPDATE op SET ranks = -2", "add: ranks is not at least 1"},
		{"UPDATE op SET spread = -1", "add: the spread is not"},
		{"UPDATE op SET bytes = -1", "add: flops and bytes are not"},
		{"UPDATE op SET buffers = 'heap'", "add: buffers is not step or rotate"},
		{"UPDATE collective SET median = -1",
			"table collective, device cpu, mpi allreduce, 2 ranks, 64 bytes: the med"},
		{"UPDATE collective SET kind = 'shout'",
			"mpi shout, 2 ranks, 64 bytes: this is not a kind"},
		{"UPDATE collective SET nodes = 3", "at least one rank on every node"},
		{"UPDATE link SET beta = 0",
			"table link, device cpu, mpi allreduce, 2 ranks: beta"},
		{"UPDATE link SET alpha = -1", "alpha is not a time"},
		{"UPDATE field SET value = -1", "table field, device cpu, step: the value is not"},
		{"UPDATE field SET name = 'f32', value = 0", "f32: the value is not above 0"},
		{"UPDATE field SET name = 'slowdown', value = 0.9",
			"slowdown: the value is not at least 1"},
		{"UPDATE field SET name = 'async', value = 2", "async: the value is neither 0"}};
	const struct profile_op op = {"add", 1, 1e-6, 0, 1, 0, 0, PROFILE_STEP, 0};
	const struct profile_collective c = {"mpi", RT_ALLREDUCE, 2, 64, 1e-6, 0, 1, 1, 0};
	const struct profile_link l = {"mpi", RT_ALLREDUCE, 2, 1e-6, 1e9, 0, 1, 0};
	const struct profile_field field = {"step", 1e-6, NULL, 0};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		void *list;
		struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
		run_sql(f, "DELETE FROM op; DELETE FROM collective; DELETE FROM link; "
			   "DELETE FROM field");
		assert_true(profile_put_op(p, "cpu", &op) && profile_put_collective(p, "cpu", &c) &&
			    profile_put_link(p, "cpu", &l) && profile_put_field(p, "cpu", &field));
		run_sql(f, cases[i].sql);
		f->message[0] = 0;
		assert_true(
			profile_ops(f, p, "cpu", (struct profile_op **)&list) < 0 ||
			profile_collectives(f, p, "cpu", (struct profile_collective **)&list) < 0 ||
			profile_links(f, p, "cpu", (struct profile_link **)&list) < 0 ||
			profile_fields(f, p, "cpu", (struct profile_field **)&list) < 0);
		if (!strstr(f->message, cases[i].words) || !strstr(f->message, f->path))
			fail_msg("expected '%s' in '%s'", cases[i].words, f->message);
		talloc_free(p);
	}
}

static void
impossible_values_are_not_put_in(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	struct profile_op op = {"add", 1, NAN, 0, 1, 0, 0, PROFILE_STEP, 0}, *list;
	assert_false(profile_put_op(p, "cpu", &op));
	assert_non_null(strstr(f->message, "table op, add: the median is not a time above 0"));
	op.median = 0;
	assert_false(profile_put_op(p, "cpu", &op));
	assert_int_equal(profile_ops(f, p, "cpu", &list), 0);
	talloc_free(p);
}

/* Of another backend: used, but with a warning; once there are some of this one, those alone. */
static void
other_backends_are_not_used_silently(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	const struct profile_op old = {"add", 1, 1e-6, 0, 1, 0, 0, PROFILE_STEP, 100},
				newer = {"add", 1, 2e-6, 0, 1, 0, 0, PROFILE_STEP, 200},
				present = {"mul", 1, 3e-6, 0, 1, 0, 0, PROFILE_STEP, 50};
	struct profile_op *list;
	profile_select(p, "host 0.0.1, code 0", NULL);
	assert_true(profile_put_op(p, "cpu", &old));
	profile_select(p, "host 0.0.2, code 1", NULL);
	assert_true(profile_put_op(p, "cpu", &newer));
	profile_select(p, NULL, NULL);
	f->message[0] = 0;
	assert_int_equal(profile_ops(f, p, "cpu", &list), 1);
	assert_true(list->median == 2e-6);
	assert_non_null(strstr(f->message, "this is host 0."));
	assert_true(profile_put_op(p, "cpu", &present));
	f->message[0] = 0;
	assert_int_equal(profile_ops(f, p, "cpu", &list), 1);
	assert_string_equal(list->key, "mul");
	assert_string_equal(f->message, "");
	char **backends;
	assert_int_equal(profile_backends(f, p, "cpu", &backends), 3);
	/* What another program measured is not of an older dopt. */
	profile_select(p, "nccl-tests", NULL);
	assert_true(profile_put_op(p, "gpu", &old));
	profile_select(p, NULL, NULL);
	assert_int_equal(profile_ops(f, p, "gpu", &list), 1);
	assert_string_equal(f->message, "");
	talloc_free(p);
}

static void
the_transport_is_threads_unless_said(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	struct profile_collective c = {"mpi", RT_ALLREDUCE, 2, 64, 1e-6, 0, 1, 1, 0}, *list;
	const struct profile_field fields[] = {
		{"post", 1e-6, "mpi", 0}, {"post", 2e-6, "threads", 0}, {"step", 3e-6, NULL, 0}};
	struct profile_field *got;
	assert_true(profile_put_collective(p, "cpu", &c));
	for (int i = 0; i < 3; i++)
		assert_true(profile_put_field(p, "cpu", &fields[i]));
	assert_int_equal(profile_collectives(f, p, "cpu", &list), 1); /* there is no other */
	c.transport = "threads", c.median = 2e-6;
	assert_true(profile_put_collective(p, "cpu", &c));
	assert_int_equal(profile_collectives(f, p, "cpu", &list), 1);
	assert_string_equal(list->transport, "threads");
	assert_int_equal(profile_fields(f, p, "cpu", &got), 2);
	assert_true(strcmp(got[0].name, "step") == 0 && got[1].value == 2e-6);
	profile_select(p, NULL, "mpi");
	assert_int_equal(profile_collectives(f, p, "cpu", &list), 1);
	assert_string_equal(list->transport, "mpi");
	profile_select(p, NULL, PROFILE_ALL);
	assert_int_equal(profile_collectives(f, p, "cpu", &list), 2);
	assert_int_equal(profile_fields(f, p, "cpu", &got), 3);
	talloc_free(p);
}

/* Against a search through the whole list. */
static void
entries_are_found_in_sorted_lists(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	assert_true(profile_begin(p));
	for (int i = 0; i < 200; i++) {
		char key[32];
		snprintf(key, sizeof key, "op %d", i * 37 % 50);
		const struct profile_op op = {key, 1 + i % 7, i + 1, 0, 1, 0, 0,
			i % 3 ? PROFILE_STEP : PROFILE_ROTATE, 0};
		const struct profile_collective c = {"threads",
			(enum rt_coll_kind)(i % RT_COLL_KINDS), 2 + i % 4, 64 << i % 9, i + 1, 0, 1,
			1 + i % 2, 0};
		assert_true(profile_put_op(p, "cpu", &op) && profile_put_collective(p, "cpu", &c));
	}
	assert_true(profile_commit(p));
	struct profile_op *op;
	struct profile_collective *c;
	int nops = profile_ops(f, p, "cpu", &op), n = profile_collectives(f, p, "cpu", &c);
	for (int i = 0; i < 60; i++) {
		char key[32];
		snprintf(key, sizeof key, "op %d", i);
		const struct profile_op *found = profile_find_op(op, nops, key, 4);
		assert_true(!found == (i >= 50));
		for (int k = 0; k < nops; k++)
			if (strcmp(op[k].key, key) == 0) {
				assert_string_equal(found->key, key);
				assert_true(found->buffers <= op[k].buffers);
				assert_true(found->buffers < op[k].buffers ||
					    abs(found->ranks - 4) <= abs(op[k].ranks - 4));
			}
	}
	for (int i = 0; i < n; i++) {
		const struct profile_collective *found =
			profile_find_collective(c, n, c[i].kind, c[i].places, c[i].bytes);
		assert_true(found && found->kind == c[i].kind && found->bytes == c[i].bytes &&
			    found->places == c[i].places && found->nodes <= c[i].nodes);
	}
	assert_null(profile_find_collective(c, n, RT_SEND, 2, 65));
	assert_null(profile_find_op(op, 0, "op 1", 1));
	talloc_free(p);
}

/* What a file in memory holds after being written as text. */
static char *
text_of(struct fixture *f, struct profile *p)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	assert_true(profile_text_write(p, out));
	fclose(out);
	char *copy = talloc_strdup(f, text);
	free(text);
	return copy;
}

/* Any double survives: text -> data base -> text is the same text, and the same bits. */
static void
text_keeps_every_bit(void **state)
{
	struct fixture *f = *state;
	struct profile *p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	uint64_t seed = 11;
	for (int i = 0; i < 300; i++) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		uint64_t bits = (seed >> 2) % 0x7fe0000000000000u + 1;
		double x;
		memcpy(&x, &bits, sizeof x);
		char key[32], text[32];
		profile_number(x, text);
		assert_true(strtod(text, NULL) == x);
		snprintf(key, sizeof key, "op %d = a", i);
		const struct profile_op op = {key, 1, x, x, 1, x, x, PROFILE_ROTATE, 1 + i};
		assert_true(profile_put_op(p, "a \"quoted\" \\ device", &op));
	}
	const struct profile_link l = {"mpi", RT_GATHER, 3, 1e-6, INFINITY, 0, 3, 77};
	const struct profile_collective c = {"mpi", RT_GATHER, 3, 640, 0.1, 0.2, 5, 2, 78};
	const struct profile_field field = {"post", 0.3, "mpi", 79}, other = {"step", 0, NULL, 80};
	assert_true(profile_put_link(p, "cpu", &l) && profile_put_collective(p, "cpu", &c));
	assert_true(profile_put_field(p, "cpu", &field) && profile_put_field(p, "cpu", &other));
	char *before = text_of(f, p);
	talloc_free(p);
	unlink(f->path);
	p = profile_open(f, f->diag, f->path, PROFILE_WRITE);
	assert_true(profile_text_load(p, f->diag, "text", before, strlen(before)));
	assert_string_equal(text_of(f, p), before);
	talloc_free(p);
	/* And read directly. */
	for (int i = 0; i < 3; i++) {
		static const char *const suffix[] = {"", "-wal", "-shm"};
		char path[128];
		snprintf(path, sizeof path, "%s%s", f->path, suffix[i]);
		unlink(path);
	}
	write_file(f, before, strlen(before));
	p = profile_open(f, f->diag, f->path, PROFILE_READ);
	assert_string_equal(text_of(f, p), before);
	talloc_free(p);
	refused(f, PROFILE_WRITE, "is text, which is read-only");
}

static void
a_line_is_fitted_exactly(void **state)
{
	(void)state;
	double x[] = {0, 1e3, 1e6, 1e9}, y[4], alpha, beta;
	for (int i = 0; i < 4; i++)
		y[i] = 20e-6 + x[i] / 5e9;
	double error = alpha_beta_fit(x, y, 4, &alpha, &beta);
	assert_true(fabs(alpha / 20e-6 - 1) < 1e-6 && fabs(beta / 5e9 - 1) < 1e-6 && error < 1e-6);
	/* One size is all latency; nothing is nothing. */
	error = alpha_beta_fit(x + 2, y + 2, 1, &alpha, &beta);
	assert_true(fabs(alpha / y[2] - 1) < 1e-12 && isinf(beta) && error < 1e-9);
	alpha_beta_fit(x, y, 0, &alpha, &beta);
	assert_true(alpha == 0 && isinf(beta));
}

/* No point nearby is better: the fit is the minimum, also at the border where one of them is 0. */
static double
error_of(const double *x, const double *y, int n, double alpha, double gamma)
{
	double sum = 0;
	for (int i = 0; i < n; i++)
		sum += pow((alpha + gamma * x[i]) / y[i] - 1, 2);
	return sqrt(sum / n);
}

static void
the_fit_is_the_minimum(void **state)
{
	(void)state;
	uint64_t seed = 7;
	int at_zero = 0;
	for (int trial = 0; trial < 2000; trial++) {
		double x[6], y[6], alpha, beta;
		for (int i = 0; i < 6; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			x[i] = (double)(1 << (i * 3));
			y[i] = 1e-6 * (1 + (double)(seed >> 40) / (1 << 20));
			if (trial % 3 == 0)
				y[i] = y[i] * 0.2 + x[i] * 1e-9;
			if (trial % 3 == 1)
				y[i] *= x[i]; /* almost no latency */
		}
		double error = alpha_beta_fit(x, y, 6, &alpha, &beta), gamma = 1 / beta;
		assert_true(alpha >= 0 && beta > 0);
		assert_true(fabs(error - error_of(x, y, 6, alpha, gamma)) < 1e-9);
		at_zero += alpha == 0 || gamma == 0;
		const double steps[] = {0.98, 1, 1.02};
		for (int i = 0; i < 9; i++) {
			double a = alpha ? alpha * steps[i / 3] : (i / 3) * 1e-10;
			double g = gamma ? gamma * steps[i % 3] : (i % 3) * 1e-16;
			assert_true(error_of(x, y, 6, a, g) >= error - 1e-12);
		}
	}
	assert_true(at_zero > 0);
}

int
main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		TEST(what_is_put_in_comes_out),
		TEST(a_newer_value_takes_the_place_of_the_old),
		TEST(a_missing_file_is_no_profile_to_read),
		TEST(an_empty_file_is_no_profile_to_read),
		TEST(another_format_is_refused_and_kept),
		TEST(another_programs_data_base_is_refused),
		TEST(another_schema_is_refused),
		TEST(damaged_files_give_messages),
		TEST(processes_share_a_file),
		TEST(impossible_values_are_found),
		TEST(impossible_values_are_not_put_in),
		TEST(other_backends_are_not_used_silently),
		TEST(the_transport_is_threads_unless_said),
		TEST(entries_are_found_in_sorted_lists),
		TEST(text_keeps_every_bit),
		cmocka_unit_test(a_line_is_fitted_exactly),
		cmocka_unit_test(the_fit_is_the_minimum),
	};
	return cmocka_run_group_tests_name("profile", tests, NULL, NULL);
}
