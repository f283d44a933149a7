/*
 * What ranks compare, away from programs: digests against published ones, sets of ranks as text,
 * and the message that names the differences.
 */
#include "runtime/data/digest.h"
#include "runtime/watch/ranks_text.h"
#include "runtime/watch/same.h"
#include "test/unit.h"

#include <pthread.h>
#include <string.h>

enum { RANKS = 5 };

static void
digests_are_those_of_xxh64(void **state)
{
	static const char text[] = "Nobody inspects the spammish repetition";
	(void)state;
	assert_true(rt_digest("", 0, 0) == 0xEF46DB3751D8E999);
	assert_true(rt_digest("a", 1, 0) == 0xD24EC4F1A98C6E5B);
	assert_true(rt_digest("abc", 3, 0) == 0x44BC2CF5AD770999);
	assert_true(rt_digest(text, strlen(text), 0) == 0xFBCEA83C8A378BF1);
}

static void
a_digest_goes_on_from_another(void **state)
{
	(void)state;
	assert_true(
		rt_digest("b", 1, rt_digest("a", 1, 0)) != rt_digest("a", 1, rt_digest("b", 1, 0)));
	assert_true(rt_digest("", 0, 1) != rt_digest("", 0, 2));
}

static void
sets_of_ranks_are_words(void **state)
{
	static const struct {
		const char *members, *text; /* members: a character a rank */
	} rows[] = {
		{".x..", "rank 1"},
		{"xx..", "ranks 0 and 1"},
		{"x.xx", "ranks 0, 2 and 3"},
		{"xxxx", "ranks 0-3"},
		{"xxx.x", "ranks 0-2 and 4"},
		{"x.xxx.xx", "ranks 0, 2-4, 6 and 7"},
		{"x.xxxx", "ranks 0 and 2-5"},
	};
	(void)state;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		bool in[16] = {false};
		int count = 0;
		const int n = (int)strlen(rows[i].members);
		for (int r = 0; r < n; r++)
			count += in[r] = rows[i].members[r] == 'x';
		char text[RT_RANKS_TEXT];
		assert_int_equal(rt_ranks_text(text, in, n), count);
		assert_string_equal(text, rows[i].text);
	}
}

static void
long_sets_are_cut(void **state)
{
	bool in[1000];
	char text[RT_RANKS_TEXT];
	(void)state;
	for (int r = 0; r < 1000; r++)
		in[r] = r % 2;
	assert_int_equal(rt_ranks_text(text, in, 1000), 500);
	assert_string_equal(text + strlen(text) - 4, " ...");
}

/* Ranks as threads that say things; `values[thing][rank]`. */
struct job {
	struct rt_world *world;
	const char *const (*values)[RANKS];
	int things;
	bool same;
	struct rt_status status;
	pthread_t thread;
};

static void *
compare(void *arg)
{
	struct job *j = arg;
	struct rt_facts f = {0};
	for (int i = 0; i < j->things; i++)
		fprintf(rt_fact(&f, (const char *[]){"first", "second", "third"}[i]), "%s",
			j->values[i][j->world->rank]);
	j->same = rt_facts_same(&f, j->world, "they differ", &j->status);
	return NULL;
}

/* All ranks come to one result, which is returned. */
static struct job
run(int things, const char *const values[][RANKS])
{
	struct job jobs[RANKS];
	struct rt_world *worlds = rt_threads_world(RANKS);
	for (int r = 0; r < RANKS; r++) {
		jobs[r] = (struct job){.world = &worlds[r], .values = values, .things = things};
		pthread_create(&jobs[r].thread, NULL, compare, &jobs[r]);
	}
	for (int r = 0; r < RANKS; r++)
		pthread_join(jobs[r].thread, NULL);
	for (int r = 1; r < RANKS; r++) {
		assert_int_equal(jobs[r].same, jobs[0].same);
		assert_string_equal(jobs[r].status.text, jobs[0].status.text);
	}
	rt_threads_world_free(worlds);
	return jobs[0];
}

static void
ranks_that_say_the_same_agree(void **state)
{
	const char *const values[][RANKS] = {{"a", "a", "a", "a", "a"}, {"", "", "", "", ""}};
	const struct job j = run(2, values);
	(void)state;
	assert_true(j.same);
	assert_int_equal(j.status.code, 0);
}

static void
every_difference_is_named_with_its_ranks(void **state)
{
	const char *const values[][RANKS] = {
		{"a", "b", "a", "a", "a"}, {"x", "x", "x", "x", "x"}, {"1", "1", "2", "3", "3"}};
	const struct job j = run(3, values);
	(void)state;
	assert_false(j.same);
	assert_int_equal(j.status.code, RT_EXIT_USAGE);
	assert_string_equal(j.status.text,
		"they differ:\n  first: a at ranks 0 and 2-4; b at rank 1\n"
		"  third: 1 at ranks 0 and 1; 2 at rank 2; 3 at ranks 3 and 4");
}

static void
many_values_are_cut(void **state)
{
	const char *const values[][RANKS] = {{"a", "b", "c", "d", "e"}};
	const struct job j = run(1, values);
	(void)state;
	assert_string_equal(
		j.status.text, "they differ:\n  first: a at rank 0; b at rank 1; c at rank 2; ...");
}

/* Long texts are shown from a little before where they differ. */
static void
long_values_are_shown_where_they_differ(void **state)
{
	char one[600], other[600], wanted[600];
	(void)state;
	memset(one, 'a', sizeof one);
	one[sizeof one - 1] = 0;
	memcpy(other, one, sizeof one);
	other[550] = 'b';
	const char *const values[][RANKS] = {{one, other, one, one, one}};
	const struct job j = run(1, values);
	snprintf(wanted, sizeof wanted,
		"they differ:\n  first: ...%s at ranks 0 and 2-4; ...%s at rank 1", one + 510,
		other + 510);
	assert_string_equal(j.status.text, wanted);
}

/* A text that is the beginning of another one, or that moves between things, is told apart. */
static void
texts_do_not_run_together(void **state)
{
	const char *const values[][RANKS] = {{"ab", "a", "ab", "ab", "ab"}, {"", "b", "", "", ""}};
	const struct job j = run(2, values);
	(void)state;
	assert_string_equal(j.status.text,
		"they differ:\n  first: ab at ranks 0 and 2-4; a at rank 1\n"
		"  second:  at ranks 0 and 2-4; b at rank 1");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digests_are_those_of_xxh64),
		cmocka_unit_test(a_digest_goes_on_from_another),
		cmocka_unit_test(sets_of_ranks_are_words),
		cmocka_unit_test(long_sets_are_cut),
		cmocka_unit_test(ranks_that_say_the_same_agree),
		cmocka_unit_test(every_difference_is_named_with_its_ranks),
		cmocka_unit_test(many_values_are_cut),
		cmocka_unit_test(long_values_are_shown_where_they_differ),
		cmocka_unit_test(texts_do_not_run_together),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
