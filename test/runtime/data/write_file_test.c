/* Files that are written whole or not at all. rename and fsync are ours here, to see in which order
 * they are called, and access, to do without /proc. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "runtime/data/write_file.h"
#include "test/unit.h"

struct fixture {
	char *folder;
	bool no_proc;
	char calls[64]; /* "f" fsync of a file, "d" of a folder, "r" rename */
};

static struct fixture fixture;

static void
note(char call)
{
	const size_t n = strlen(fixture.calls);
	if (n + 1 < sizeof fixture.calls)
		fixture.calls[n] = call;
}

int
fsync(int fd)
{
	struct stat s;
	note(fstat(fd, &s) ? '?' : S_ISDIR(s.st_mode) ? 'd' : 'f');
	return (int)syscall(SYS_fsync, fd);
}

int
rename(const char *from, const char *to)
{
	note('r');
	return (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

int
access(const char *path, int mode)
{
	if (fixture.no_proc && strcmp(path, "/proc/self/fd") == 0) {
		errno = ENOENT;
		return -1;
	}
	return (int)syscall(SYS_faccessat, AT_FDCWD, path, mode);
}

static int
setup(void **state)
{
	const char *dir = getenv("TMPDIR");
	fixture = (struct fixture){0};
	assert_true(asprintf(&fixture.folder, "%s/write_file_test.XXXXXX", dir ? dir : "/tmp") > 0);
	assert_non_null(mkdtemp(fixture.folder));
	assert_int_equal(chdir(fixture.folder), 0);
	*state = NULL;
	return 0;
}

static int
teardown(void **state)
{
	char *command;
	(void)state;
	assert_int_equal(chdir("/"), 0);
	assert_true(asprintf(&command, "rm -rf '%s'", fixture.folder) > 0);
	assert_int_equal(system(command), 0);
	free(command);
	free(fixture.folder);
	return 0;
}

static void
put(const char *path, const char *text)
{
	FILE *out = fopen(path, "w");
	assert_non_null(out);
	fputs(text, out);
	fclose(out);
}

static void
assert_holds(const char *path, const char *text)
{
	char found[64] = "";
	FILE *in = fopen(path, "r");
	assert_non_null(in);
	assert_true(fread(found, 1, sizeof found - 1, in) == strlen(text));
	fclose(in);
	assert_string_equal(found, text);
}

static int
files_here(void)
{
	DIR *d = opendir(".");
	int n = 0;
	for (struct dirent *e; (e = readdir(d));)
		n += *e->d_name != '.';
	closedir(d);
	return n;
}

static void
write_text(const char *path, const char *text)
{
	struct rt_write w;
	assert_true(rt_write_open(&w, path));
	fputs(text, w.file);
	assert_true(rt_write_close(&w, true));
}

static mode_t
mode_of(const char *path)
{
	struct stat s;
	assert_int_equal(stat(path, &s), 0);
	return s.st_mode & 07777;
}

static void
a_file_is_synced_then_renamed_then_its_folder_is_synced(void **state)
{
	(void)state;
	put("a", "old");
	write_text("a", "new");
	assert_string_equal(fixture.calls, "frd");
	assert_holds("a", "new");
	assert_int_equal(files_here(), 1);
}

static void
a_reader_meets_the_old_file_until_the_new_one_is_whole(void **state)
{
	struct rt_write w;
	(void)state;
	put("a", "old");
	assert_true(rt_write_open(&w, "a"));
	fputs("new", w.file);
	fflush(w.file);
	assert_holds("a", "old");
	assert_false(rt_write_close(&w, false));
	assert_holds("a", "old");
	assert_int_equal(files_here(), 1);
	assert_string_equal(fixture.calls, "");
}

/* Where a file cannot be without a name, as on NFS. */
static void
a_temporary_file_goes_in_any_case(void **state)
{
	struct rt_write w;
	(void)state;
	fixture.no_proc = true;
	assert_true(rt_write_open(&w, "a"));
	assert_int_equal(files_here(), 1);
	assert_int_not_equal(access("a", F_OK), 0);
	assert_true(rt_write_close(&w, true));
	assert_int_equal(files_here(), 1);
	assert_int_equal(access("a", F_OK), 0);
	assert_string_equal(fixture.calls, "frd");
	assert_true(rt_write_open(&w, "a"));
	assert_int_equal(files_here(), 2);
	assert_false(rt_write_close(&w, false));
	assert_int_equal(files_here(), 1);
}

static void
the_mode_is_that_of_the_file_before_or_of_a_new_one(void **state)
{
	const mode_t mask = umask(027);
	(void)state;
	write_text("new", "x");
	assert_int_equal(mode_of("new"), 0640);
	assert_int_equal(chmod("new", 0604), 0);
	write_text("new", "y");
	assert_int_equal(mode_of("new"), 0604);
	umask(mask);
}

static void
a_link_stays_and_its_target_is_replaced_in_its_folder(void **state)
{
	struct stat s;
	(void)state;
	assert_int_equal(mkdir("far", 0777), 0);
	put("far/a", "old");
	assert_int_equal(symlink("a", "far/b"), 0);
	assert_int_equal(symlink("far/b", "c"), 0);
	write_text("c", "new");
	assert_holds("far/a", "new");
	assert_true(!lstat("c", &s) && S_ISLNK(s.st_mode));
	assert_true(!lstat("far/b", &s) && S_ISLNK(s.st_mode));
	/* One that names nothing yet. */
	assert_int_equal(symlink("far/none", "d"), 0);
	write_text("d", "made");
	assert_holds("far/none", "made");
	/* One that names itself. */
	struct rt_write w;
	assert_int_equal(symlink("e", "e"), 0);
	assert_false(rt_write_open(&w, "e"));
	assert_int_equal(errno, ELOOP);
	assert_false(rt_write_possible("e"));
}

static void
a_fifo_stays_and_is_written(void **state)
{
	struct stat s;
	char found[8] = "";
	(void)state;
	assert_int_equal(mkfifo("f", 0666), 0);
	const int in = open("f", O_RDONLY | O_NONBLOCK);
	assert_true(rt_write_possible("f") && rt_write_in_place("f"));
	write_text("f", "new");
	assert_int_equal(read(in, found, sizeof found), 3);
	assert_string_equal(found, "new");
	close(in);
	assert_true(!lstat("f", &s) && S_ISFIFO(s.st_mode));
	assert_string_equal(fixture.calls, "");
}

/* As /dev/stdout where that is a file: what is there stays, and the file is the same. */
static void
what_is_open_is_written_in_place_behind_what_is_there(void **state)
{
	char path[40];
	struct stat before, after;
	(void)state;
	const int fd = open("log", O_WRONLY | O_CREAT, 0666);
	assert_int_equal(write(fd, "one ", 4), 4);
	snprintf(path, sizeof path, "/dev/fd/%d", fd);
	write_text(path, "two");
	assert_holds("log", "one two");
	assert_true(!fstat(fd, &before) && !stat("log", &after) && before.st_ino == after.st_ino);
	close(fd);
}

static void
what_cannot_be_written_is_told(void **state)
{
	struct rt_write w;
	(void)state;
	assert_false(rt_write_possible("no/such/file"));
	assert_int_equal(errno, ENOENT);
	assert_false(rt_write_open(&w, "no/such/file"));
	assert_int_equal(errno, ENOENT);
	assert_false(rt_write_possible("."));
	assert_int_equal(errno, EISDIR);
	assert_false(rt_write_open(&w, "."));
	assert_int_equal(errno, EISDIR);
	assert_true(rt_write_open(&w, "/dev/full"));
	fputs("x", w.file);
	assert_false(rt_write_close(&w, true));
	assert_int_equal(errno, ENOSPC);
	/* The name was taken by a folder meanwhile: nothing is left behind. */
	assert_true(rt_write_open(&w, "a"));
	assert_int_equal(mkdir("a", 0777), 0);
	assert_false(rt_write_close(&w, true));
	assert_int_equal(errno, EISDIR);
	assert_int_equal(files_here(), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_file_is_synced_then_renamed_then_its_folder_is_synced),
		TEST(a_reader_meets_the_old_file_until_the_new_one_is_whole),
		TEST(a_temporary_file_goes_in_any_case),
		TEST(the_mode_is_that_of_the_file_before_or_of_a_new_one),
		TEST(a_link_stays_and_its_target_is_replaced_in_its_folder),
		TEST(a_fifo_stays_and_is_written),
		TEST(what_is_open_is_written_in_place_behind_what_is_there),
		TEST(what_cannot_be_written_is_told),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
