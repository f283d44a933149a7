/* The files of a run that saves periodically: see checkpoint.h. */
#include "runtime/data/checkpoint.h"
#include "runtime/data/params.h"
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The file's extension, which stays at the end of the name. */
#define EXTENSION ".safetensors"
/* Digits of a step's number, so that `ls` lists as many files in the order of the steps. */
#define DIGITS 9

/* "out/w.step-" and ".safetensors": the text around a step's number. */
struct names {
	char *folder;      /* "out/" or "", from malloc */
	char *before;      /* "w.step-", from malloc */
	const char *after; /* points into FILE */
};

static bool
make_names(struct names *n, const char *file, struct rt_status *st)
{
	const char *slash = strrchr(file, '/'), *name = slash ? slash + 1 : file;
	const size_t length = strlen(name), tail = strlen(EXTENSION);
	const bool extended = length > tail && !strcmp(name + length - tail, EXTENSION);
	n->after = name + length - (extended ? tail : 0);
	n->folder = slash ? strndup(file, (size_t)(name - file)) : strdup("");
	if (asprintf(&n->before, "%.*s.step-", (int)(n->after - name), name) < 0)
		n->before = NULL;
	return (n->folder && n->before) || rt_fail_memory(st, length, "a file name");
}

static void
free_names(struct names *n)
{
	free(n->folder);
	free(n->before);
}

/* The step of a file in the folder, or -1 if it is not one of these files. */
static int64_t
step_of(const struct names *n, const char *name)
{
	const size_t head = strlen(n->before);
	if (strncmp(name, n->before, head))
		return -1;
	const char *digits = name + head;
	const size_t length = strspn(digits, "0123456789");
	if (length < DIGITS || strcmp(digits + length, n->after))
		return -1;
	errno = 0;
	const long long step = strtoll(digits, NULL, 10);
	return errno ? -1 : step;
}

/* The oldest file, and the number of files, up to `step`: later ones belong to another run. */
static int64_t
oldest(const struct names *n, int64_t step, int64_t *count)
{
	DIR *folder = opendir(*n->folder ? n->folder : ".");
	int64_t first = step;
	*count = 0;
	for (struct dirent *e; folder && (e = readdir(folder));) {
		const int64_t its = step_of(n, e->d_name);
		if (its < 0 || its > step)
			continue;
		++*count;
		first = its < first ? its : first;
	}
	if (folder)
		closedir(folder);
	return first;
}

/* "out/w.step-000001200.safetensors", from malloc; NULL without memory. */
static char *
name_of(const struct names *n, int64_t step)
{
	char *path = NULL;
	return asprintf(&path, "%s%s%0*" PRId64 "%s", n->folder, n->before, DIGITS, step,
		       n->after) < 0
		       ? NULL
		       : path;
}

static void
remove_old(const struct names *n, int64_t step, int64_t keep)
{
	int64_t count, first;
	while ((first = oldest(n, step, &count)) < step && count > keep) {
		char *path = name_of(n, first);
		const bool gone = path && !unlink(path);
		free(path);
		if (!gone)
			return; /* One file too many is no reason to stop training. */
	}
}

bool
rt_checkpoint_save(struct rt_rank *r, int64_t step, bool tell)
{
	const char *file = r->options->save;
	struct names n;
	char *path = NULL;
	if (make_names(&n, file, r->status)) {
		path = rt_write_in_place(file) ? strdup(file) : name_of(&n, step);
		if (!path)
			rt_fail_memory(r->status, strlen(file), "a file name");
	}
	bool ok = rt_agree(r->world, r->status);
	if (ok) {
		rt_params_save(r, path, step);
		ok = rt_agree(r->world, r->status);
	}
	if (ok && !r->world->rank) {
		remove_old(&n, step, r->options->keep);
		if (tell)
			fprintf(stderr, "%s: note: saved %s after step %" PRId64 "\n",
				r->prog->name, path, step);
	}
	free(path);
	free_names(&n);
	return ok;
}
