/* The files of a run that saves periodically: see checkpoint.h. */
#include "runtime/data/checkpoint.h"
#include "runtime/data/params.h"
#include "runtime/data/shards.h"
#include "runtime/data/shards_save.h"
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
	bool is_folder;    /* FILE is a folder, and so are they: shards_save.h */
};

static bool
make_names(struct names *n, const char *file, struct rt_status *st)
{
	n->is_folder = rt_shards_named(file);
	size_t end = strlen(file);
	while (end && file[end - 1] == '/')
		end--;
	size_t begin = end;
	while (begin && file[begin - 1] != '/')
		begin--;
	const char *name = file + begin;
	const size_t length = end - begin, tail = strlen(EXTENSION);
	const bool extended =
		!n->is_folder && length > tail && !strcmp(name + length - tail, EXTENSION);
	n->after = n->is_folder ? "" : name + length - (extended ? tail : 0);
	n->folder = strndup(file, begin);
	if (asprintf(&n->before, "%.*s.step-", (int)(length - (extended ? tail : 0)), name) < 0)
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

/* "out/w.step-000001200.safetensors", from malloc; NULL without memory. */
static char *
name_of(const struct names *n, int64_t step)
{
	char *path = NULL;
	return asprintf(&path, "%s%s%0*" PRId64 "%s%s", n->folder, n->before, DIGITS, step,
		       n->after, n->is_folder ? "/" : "") < 0
		       ? NULL
		       : path;
}

/* A folder without an index is what a run left that was killed while it saved. */
static bool
is_complete(const struct names *n, int64_t step)
{
	char *path = n->is_folder ? name_of(n, step) : NULL;
	const bool complete = !n->is_folder || (path && rt_shards_complete(path));
	free(path);
	return complete;
}

/* The files up to a step: later ones belong to another run. */
struct found {
	int64_t oldest, newest; /* -1: none */
	int64_t incomplete;     /* the last such folder before the step; -1: none */
	int64_t count;          /* of complete ones */
};

static struct found
find_files(const struct names *n, int64_t step)
{
	DIR *folder = opendir(*n->folder ? n->folder : ".");
	struct found f = {-1, -1, -1, 0};
	for (struct dirent *e; folder && (e = readdir(folder));) {
		const int64_t its = step_of(n, e->d_name);
		if (its < 0 || its > step)
			continue;
		if (!is_complete(n, its)) {
			f.incomplete = its < step ? its : f.incomplete;
			continue;
		}
		f.count++;
		f.oldest = f.oldest < 0 || its < f.oldest ? its : f.oldest;
		f.newest = its > f.newest ? its : f.newest;
	}
	if (folder)
		closedir(folder);
	return f;
}

/* Removes the file, or the folder, of a step; false if it is still there. */
static bool
remove_one(const struct names *n, int64_t step)
{
	char *path = name_of(n, step);
	bool gone = path && !n->is_folder && !unlink(path);
	if (path && n->is_folder) {
		rt_shards_remove(path);
		gone = access(path, F_OK) != 0;
	}
	free(path);
	return gone;
}

/* If an old file cannot be removed, training goes on. */
static void
remove_old(const struct names *n, int64_t step, int64_t keep)
{
	struct found f = find_files(n, step);
	while (f.incomplete >= 0 || (f.oldest < step && f.count > keep)) {
		if (!remove_one(n, f.incomplete >= 0 ? f.incomplete : f.oldest))
			return;
		f = find_files(n, step);
	}
}

bool
rt_checkpoint_save(struct rt_rank *r, int64_t step, bool tell)
{
	const char *file = r->options->save;
	struct names n;
	char *path = NULL;
	if (make_names(&n, file, r->status)) {
		path = !n.is_folder && rt_write_in_place(file) ? strdup(file) : name_of(&n, step);
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
			fprintf(stderr, "%s%s: note: saved %s after step %" PRId64 "\n",
				rt_line_start(), r->prog->name, path, step);
	}
	free(path);
	free_names(&n);
	return ok;
}

/* The step of FILE itself; -1 if it is not there. */
static bool
step_of_file(const char *file, int64_t *step, struct rt_status *st)
{
	struct rt_st_file f;
	struct rt_position p = {0};
	*step = -1;
	if (rt_shards_named(file) ? !rt_shards_complete(file)
				  : access(file, F_OK) || rt_write_in_place(file))
		return true;
	if (!rt_st_open_any(&f, file, st))
		return false;
	const bool ok = rt_position_read(&p, &f, st);
	rt_st_close(&f);
	*step = p.step;
	return ok;
}

/* What rank 0 has found: the name follows from it, without the folder being read by all. */
struct choice {
	int64_t step;  /* of a numbered file; -1: none */
	int32_t whole; /* FILE itself is as new */
};

static void
choose(const struct names *n, const char *file, struct choice *c, struct rt_status *st)
{
	int64_t whole;
	c->step = find_files(n, INT64_MAX).newest;
	if (step_of_file(file, &whole, st))
		c->whole = whole >= 0 && whole >= c->step;
}

bool
rt_checkpoint_newest(struct rt_rank *r, char **path)
{
	const char *file = r->options->save;
	struct names n = {0};
	struct choice mine = {-1, 0};
	struct choice *all = malloc((size_t)r->world->nranks * sizeof *all);
	*path = NULL;
	if (!all)
		rt_fail_memory(r->status, (size_t)r->world->nranks * sizeof *all, "file names");
	if (all && make_names(&n, file, r->status) && !r->world->rank)
		choose(&n, file, &mine, r->status);
	bool ok = rt_agree(r->world, r->status);
	if (ok) {
		r->world->ops->allgather(r->world, &mine, all, sizeof mine);
		if (all[0].whole || all[0].step >= 0) {
			*path = all[0].whole ? strdup(file) : name_of(&n, all[0].step);
			ok = *path || rt_fail_memory(r->status, strlen(file), "a file name");
		}
	}
	free(all);
	free_names(&n);
	return ok;
}
