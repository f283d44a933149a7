/* safetensors files: what is written is read, and every kind of broken file gets its message. */
#include <glob.h>
#include <stdlib.h>
#include <unistd.h>
#include "runtime/kernel/rng.h"
#include "runtime/data/safetensors.h"
#include "test/unit.h"

/* A new temporary file's name, from malloc. */
static char *
temporary(void)
{
	const char *dir = getenv("TMPDIR");
	char *path = malloc(4096);
	snprintf(path, 4096, "%s/safetensors_test.XXXXXX", dir ? dir : "/tmp");
	const int fd = mkstemp(path);
	assert_true(fd >= 0);
	close(fd);
	return path;
}

static void
write_bytes(const char *path, const void *bytes, size_t n)
{
	FILE *out = fopen(path, "wb");
	assert_non_null(out);
	assert_int_equal(fwrite(bytes, 1, n, out), n);
	fclose(out);
}

/* Files whose paths begin so. */
static size_t
with_prefix(const char *path)
{
	char pattern[4096];
	glob_t found;
	snprintf(pattern, sizeof pattern, "%s*", path);
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	const size_t n = found.gl_pathc;
	globfree(&found);
	return n;
}

/* A file of that header and `data` bytes of zeros. */
static void
write_header(const char *path, const char *header, size_t data)
{
	const size_t length = strlen(header);
	char *bytes = calloc(1, 8 + length + data);
	for (int i = 0; i < 8; i++)
		bytes[i] = (char)((uint64_t)length >> 8 * i);
	memcpy(bytes + 8, header, length);
	write_bytes(path, bytes, 8 + length + data);
	free(bytes);
}

static void
what_is_written_is_read(void **state)
{
	(void)state;
	char *path = temporary();
	static const int64_t shape_a[] = {2, 3}, shape_c[] = {0, 4};
	static const float a[] = {1, 2, 3, 4, 5, 6};
	static const int32_t b = -7;
	const struct rt_st_entry entries[] = {{"a \"quoted\"\n", RT_f32, 2, shape_a},
		{"b", RT_i32, 0, NULL}, {"empty", RT_u8, 2, shape_c}};
	struct rt_status st = {0};
	struct rt_st_writer w;
	assert_true(rt_st_create(&w, path, entries, 3, NULL, 0, &st));
	assert_true(rt_st_append(&w, a, sizeof a, &st) && rt_st_append(&w, &b, sizeof b, &st));
	assert_true(rt_st_finish(&w, true, &st));
	struct rt_st_file f;
	if (!rt_st_open(&f, path, &st))
		fail_msg("%s", st.text);
	assert_int_equal(f.count, 3);
	const struct rt_st_tensor *t = rt_st_find(&f, "a \"quoted\"\n");
	assert_non_null(t);
	assert_true(rt_st_check(&f, t, RT_f32, 2, shape_a, &st));
	assert_memory_equal(t->data, a, sizeof a);
	t = rt_st_find(&f, "b");
	assert_true(t && rt_st_check(&f, t, RT_i32, 0, NULL, &st));
	assert_memory_equal(t->data, &b, sizeof b);
	assert_true(rt_st_find(&f, "empty") && !rt_st_find(&f, "c"));
	rt_st_close(&f);
	unlink(path);
	free(path);
}

static void
a_writer_that_gives_up_leaves_no_file_and_the_old_one_alone(void **state)
{
	(void)state;
	char *path = temporary();
	write_bytes(path, "old", 3);
	struct rt_status st = {0};
	struct rt_st_writer w;
	assert_true(rt_st_create(&w, path, NULL, 0, NULL, 0, &st));
	assert_false(rt_st_finish(&w, false, &st));
	assert_int_equal(with_prefix(path), 1);
	char text[4] = "";
	FILE *in = fopen(path, "rb");
	assert_true(in && fread(text, 1, sizeof text, in) == 3);
	assert_string_equal(text, "old");
	fclose(in);
	unlink(path);
	free(path);
}

#define ONE(text) "{\"a\":{" text "}}"
#define GOOD "\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]"

static void
escapes_spaces_and_metadata_are_understood(void **state)
{
	(void)state;
	char *path = temporary();
	static const char *const good[] = {
		"{}  ",
		" { \"__metadata__\" : { \"x\" : \"y\", \"z\":\"\" } , \"a\" : { \"shape\" : [ 2 ] "
		","
		"\"data_offsets\":[0,8] ,\t\"dtype\":\"F32\" } }\n",
		"{\"\\u0061\\/\\u00e9\\ud83d\\ude00\":{" GOOD "}}",
	};
	static const char *const names[] = {NULL, "a", "a/\xc3\xa9\xf0\x9f\x98\x80"};
	for (size_t i = 0; i < 3; i++) {
		write_header(path, good[i], names[i] ? 8 : 0);
		struct rt_status st = {0};
		struct rt_st_file f;
		if (!rt_st_open(&f, path, &st))
			fail_msg("%s", st.text);
		assert_true(!names[i] || rt_st_find(&f, names[i]));
		rt_st_close(&f);
	}
	unlink(path);
	free(path);
}

static void
expect_open_failure(const char *path, const char *message)
{
	struct rt_status st = {0};
	struct rt_st_file f;
	assert_false(rt_st_open(&f, path, &st));
	assert_int_equal(st.code, RT_EXIT_USAGE);
	assert_string_equal(st.text, message);
}

/* '^' marks the byte where the reader must stop; it is not in the file. */
static void
broken_headers_are_refused_with_their_place(void **state)
{
	(void)state;
	static const struct {
		const char *header;
		const char *message;
	} cases[] = {
		{"^", "the header is not a JSON object"},
		{"^[]", "the header is not a JSON object"},
		{"{\"a\"^}", "expected a name and ':'"},
		{"{\"^a", "expected a name and ':'"},
		{"{\"^a\\", "expected a name and ':'"},
		{"{\"\\ud800^\":1}", "expected a name and ':'"},
		{"{\"\\q^\":1}", "expected a name and ':'"},
		{"{\"a\":^1}", "expected the object that describes a tensor"},
		{"{\"a\":{" GOOD "},^}", "expected a name and ':'"},
		{"{\"a\":{" GOOD "}} ^x", "text after the header's object"},
		{"{\"a\":{" GOOD "}^", "expected ',' or '}' after a tensor"},
		{"{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}^}",
			"expected dtype, shape and data_offsets, each once"},
		{ONE(GOOD ",\"dtype\"^:\"F32\""),
			"expected dtype, shape and data_offsets, each once"},
		{ONE("\"dtype\":^7"), "expected an element type such as \"F32\""},
		{ONE("\"shape\":[2,^]"), "expected a dimension"},
		{ONE("\"shape\":[^-2]"), "expected a dimension"},
		{ONE("\"shape\":[02^]"), "expected a dimension"},
		{ONE("\"shape\":[1,1,1,1,1,1,1,1,^1]"), "expected a shape of at most 8 dimensions"},
		{ONE("\"shape\":[922337203685477580^8]"), "expected a dimension"},
		{ONE("\"data_offsets\":[0^]"), "expected data_offsets such as [0,24]"},
		{"{\"__metadata__\":{\"a\":^1}}", "expected a pair of strings in __metadata__"},
	};
	char *path = temporary();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char header[200], want[RT_STATUS_TEXT];
		const size_t place = strcspn(cases[i].header, "^");
		snprintf(header, sizeof header, "%.*s%s", (int)place, cases[i].header,
			cases[i].header + place + 1);
		snprintf(want, sizeof want,
			"%s: not a safetensors file: %s (byte %zu of the header)", path,
			cases[i].message, place);
		write_header(path, header, 8);
		expect_open_failure(path, want);
	}
	unlink(path);
	free(path);
}

static void
tensors_that_do_not_fit_the_file_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *header;
		size_t data;
		const char *message; /* behind the path */
	} cases[] = {
		{ONE(GOOD), 7,
			"tensor 'a': its offsets 0 to 8 are outside the file's 7 bytes of data"},
		{ONE("\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[8,0]"), 8,
			"tensor 'a': its offsets 8 to 0 are outside the file's 8 bytes of data"},
		{ONE("\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,8]"), 8,
			"tensor 'a': its offsets span 8 bytes, but its shape needs 12"},
		{ONE("\"dtype\":\"F32\",\"shape\":[4611686018427387904,4],\"data_offsets\":[0,0]"),
			0, "tensor 'a': its shape is too large"},
		{ONE(GOOD), 9, "the tensors end at byte 8 of 9 bytes of data"},
		{"{\"a\":{" GOOD "},\"a\":{" GOOD "}}", 8, "tensor 'a' appears twice"},
		{"{\"a\":{" GOOD
		 "},\"b\":{\"dtype\":\"U8\",\"shape\":[8],\"data_offsets\":[4,12]}}",
			12, "tensor 'b' begins at byte 4, but the one before it ends at 8"},
		{"{\"a\":{" GOOD
		 "},\"b\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[9,10]}}",
			10, "tensor 'b' begins at byte 9, but the one before it ends at 8"},
	};
	char *path = temporary();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		char want[RT_STATUS_TEXT];
		snprintf(want, sizeof want, "%s: %s", path, cases[i].message);
		write_header(path, cases[i].header, cases[i].data);
		expect_open_failure(path, want);
	}
	unlink(path);
	free(path);
}

static void
files_that_are_none_are_refused(void **state)
{
	(void)state;
	static const struct {
		const char *bytes;
		size_t size;
		const char *message; /* behind the path */
	} cases[] = {
		{"", 0,
			"not a safetensors file: it has 0 bytes, fewer than the 8 of the header's "
			"length"},
		{"\x10\0\0\0\0\0\0\0{}", 10,
			"not a safetensors file, or truncated: a header of 16 bytes in a file of "
			"10"},
		{"\xff\xff\xff\xff\xff\xff\xff\xff{}", 10,
			"not a safetensors file, or truncated: a header of 18446744073709551615 "
			"bytes in a "
			"file of 10"},
	};
	char *path = temporary(), want[RT_STATUS_TEXT];
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		write_bytes(path, cases[i].bytes, cases[i].size);
		snprintf(want, sizeof want, "%s: %s", path, cases[i].message);
		expect_open_failure(path, want);
	}
	unlink(path);
	snprintf(want, sizeof want, "%s: cannot open: No such file or directory", path);
	expect_open_failure(path, want);
	expect_open_failure("/", "/: not a file");
	free(path);
}

static void
types_and_shapes_are_compared(void **state)
{
	(void)state;
	char *path = temporary();
	write_header(path, ONE("\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]"), 24);
	struct rt_status st = {0};
	struct rt_st_file f;
	assert_true(rt_st_open(&f, path, &st));
	static const int64_t any[] = {-1, 3}, other[] = {-1, 4};
	assert_true(rt_st_check(&f, f.tensors, RT_f32, 2, any, &st));
	char want[RT_STATUS_TEXT];
	assert_false(rt_st_check(&f, f.tensors, RT_i32, 2, any, &st));
	snprintf(want, sizeof want, "%s: tensor 'a': expected elements of type I32, found F32",
		path);
	assert_string_equal(st.text, want);
	st.code = 0;
	assert_false(rt_st_check(&f, f.tensors, RT_f32, 2, other, &st));
	snprintf(want, sizeof want, "%s: tensor 'a': expected the shape [N,4], found [2,3]", path);
	assert_string_equal(st.text, want);
	st.code = 0;
	assert_false(rt_st_check(&f, f.tensors, RT_f32, 1, any, &st));
	rt_st_close(&f);
	unlink(path);
	free(path);
}

/* Bytes of a good file are changed, cut off and repeated at random: the reader says yes or no and
 * reads nothing that is not there (AddressSanitizer watches). */
static void
damaged_files_do_no_harm(void **state)
{
	(void)state;
	enum { DATA = 16, TRIES = 5000 };
	static const char good[] =
		"{\"__metadata__\":{\"x\":\"\\u00e9\"},\"a\":{" GOOD "},"
		"\"b\":{\"dtype\":\"I32\",\"shape\":[1,2],\"data_offsets\":[8,16]}}";
	char *path = temporary();
	int opened = 0;
	for (uint64_t i = 0; i < TRIES; i++) {
		char bytes[8 + sizeof good + DATA] = {(char)(sizeof good - 1)};
		size_t size = 8 + sizeof good - 1 + DATA;
		memcpy(bytes + 8, good, sizeof good - 1);
		for (uint64_t change = 0; change < 1 + i % 3; change++) {
			const struct rt_philox r = rt_random_block(i, change);
			const size_t at = r.v[0] % size, from = r.v[1] % size;
			bytes[at] = r.v[2] % 4 ? bytes[from] : (char)r.v[3];
		}
		if (i % 7 == 0)
			size = (size_t)rt_mix64(i) % size;
		write_bytes(path, bytes, size);
		struct rt_status st = {0};
		struct rt_st_file f;
		if (rt_st_open(&f, path, &st)) {
			opened++;
			rt_st_close(&f);
		} else
			assert_true(st.code == RT_EXIT_USAGE && strstr(st.text, path));
	}
	assert_true(opened > 0 && opened < TRIES);
	unlink(path);
	free(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(a_writer_that_gives_up_leaves_no_file_and_the_old_one_alone),
		cmocka_unit_test(escapes_spaces_and_metadata_are_understood),
		cmocka_unit_test(broken_headers_are_refused_with_their_place),
		cmocka_unit_test(tensors_that_do_not_fit_the_file_are_refused),
		cmocka_unit_test(files_that_are_none_are_refused),
		cmocka_unit_test(types_and_shapes_are_compared),
		cmocka_unit_test(damaged_files_do_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
