/* Whole profiles as text: all entries of a database, sorted, and back, all of them or none. */
#include "passes/analysis/profile/internal.h"
#include "passes/analysis/profile/text.h"

#include "ir/base/out.h"
#include "ir/base/vec.h"

#include <errno.h>
#include <string.h>
#include <talloc.h>

/* Room for a hundred thousand kernels; a larger file is not a profile. */
#define TEXT_MAX ((size_t)256 << 20)

enum { READ_CHUNK = 1 << 16 };

static bool
write_entries(const void *scratch, struct profile *p, const char *device, FILE *out)
{
	bool good = true;

	for (int kind = 0; kind < PROFILE_NENTRIES; kind++) {
		void *list;
		const int n = profile_entries(scratch, p, device, (enum profile_kind)kind, &list);
		const size_t size = profile_table((enum profile_kind)kind)->size;
		for (int i = 0; i < n; i++)
			profile_text_entry(
				out, (enum profile_kind)kind, (char *)list + size * (size_t)i);
		good = good && n >= 0;
	}
	return good;
}

static bool
write_device(const void *scratch, struct profile *p, const char *device, FILE *out)
{
	char **backend;
	int n = profile_backends(scratch, p, device, &backend);
	bool good = n >= 0;
	for (int i = 0; i < n && good; i++) {
		fputs("\ndevice ", out);
		fput_quoted(out, device);
		fputs(" backend ", out);
		fput_quoted(out, backend[i]);
		fputc('\n', out);
		profile_select(p, backend[i], PROFILE_ALL);
		good = write_entries(scratch, p, device, out);
	}
	profile_select(p, NULL, NULL);
	return good;
}

bool
profile_text_write(struct profile *p, FILE *out)
{
	void *scratch = alloc_scratch(NULL);
	char **device;
	int n = profile_devices(scratch, p, &device);
	bool good = n >= 0;
	fprintf(out, PROFILE_TEXT_MARK "%d\n", PROFILE_SCHEMA);
	for (int i = 0; i < n && good; i++)
		good = write_device(scratch, p, device[i], out);
	talloc_free(scratch);
	return good;
}

/* Loads one line of a text; false: nothing can be stored any more. */
static bool
load_line(struct profile *p, struct diag *d, struct ir_loc at, const char *line, size_t n,
	char **device)
{
	void *scratch = alloc_scratch(NULL);
	struct profile_line entry = profile_text_line(scratch, d, at, line, n);
	bool good = true;
	if (entry.kind == PROFILE_DEVICE) {
		talloc_free(*device);
		*device = TEXT(NULL, "%s", entry.device);
		if (p)
			profile_select(p, entry.backend, NULL);
	} else if (entry.kind != PROFILE_NOTHING && entry.kind != PROFILE_WRONG) {
		at.end = at.begin + (uint32_t)n;
		if (*device)
			good = !p || profile_text_store(p, *device, &entry);
		else
			diag_error(d, at, "there is an entry before the first line `device`");
	}
	talloc_free(scratch);
	return good;
}

static bool
check_first_line(struct diag *d, uint32_t base, const char *text)
{
	bool good = strncmp(text, PROFILE_TEXT_MARK, strlen(PROFILE_TEXT_MARK)) == 0;
	struct ir_loc line = {base, base + (uint32_t)strcspn(text, "\n")};
	if (!good)
		diag_error(d, line,
			"not a profile as text: expected it to begin with `" PROFILE_TEXT_MARK
			"%d`",
			PROFILE_SCHEMA);
	return good;
}

/* Loads all lines; nothing is stored if p is NULL. */
static bool
load_lines(struct profile *p, struct diag *d, uint32_t base, const char *text, size_t length)
{
	char *device = NULL;
	bool good = true;
	for (size_t at = 0; at < length && good;) {
		const char *newline = memchr(text + at, '\n', length - at);
		size_t n = newline ? (size_t)(newline - text) - at : length - at;
		struct ir_loc loc = {base + (uint32_t)at, base + (uint32_t)at};
		good = load_line(p, d, loc, text + at, n, &device);
		at += n + 1;
	}
	talloc_free(device);
	return good;
}

bool
profile_text_load(
	struct profile *p, struct diag *d, const char *name, const char *text, size_t length)
{
	uint32_t base = diag_add_source(d, name, text, length);
	unsigned errors = diag_errors(d);
	bool good = check_first_line(d, base, text);
	if (!p)
		return good && load_lines(NULL, d, base, text, length) && diag_errors(d) == errors;
	if (!good || !profile_savepoint(p))
		return false;
	good = load_lines(p, d, base, text, length) && diag_errors(d) == errors;
	profile_select(p, NULL, NULL);
	return profile_release(p, good) && good;
}

bool
profile_text_read_file(const void *owner, struct diag *d, const char *path, char **text)
{
	FILE *f = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
	size_t n = 0, got;
	if (!f) {
		diag_error(d, LOC_NONE, "cannot read %s: %s", path, strerror(errno));
		return false;
	}
	*text = NULL;
	do {
		LIST_ROOM(owner, *text, n + READ_CHUNK + 1);
		got = fread(*text + n, 1, READ_CHUNK, f);
		n += got;
	} while (got && n < TEXT_MAX);
	(*text)[n] = 0;
	bool good = !ferror(f) && n < TEXT_MAX;
	if (!good)
		diag_error(d, LOC_NONE, "cannot read %s: %s", path,
			ferror(f) ? strerror(errno) : "the file is larger than 256 MB");
	else if (strlen(*text) != n)
		diag_error(d, LOC_NONE, "%s is not a text file (NUL byte)", path), good = false;
	if (f != stdin)
		fclose(f);
	return good;
}
