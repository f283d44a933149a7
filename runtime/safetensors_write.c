/* Writing safetensors: see runtime/safetensors.h. */
#include "runtime/safetensors.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Tensors begin at multiples of this many bytes in the file, so that a reader may map them. */
#define HEADER_ALIGN 64

static bool
cannot_write(struct rt_st_writer *w, struct rt_status *st)
{
	return rt_fail(st, RT_EXIT_RUN, "%s: cannot write: %s", w->path, strerror(errno));
}

static void
put_string(FILE *out, const char *text)
{
	fputc('"', out);
	for (const unsigned char *s = (const unsigned char *)text; *s; s++) {
		if (*s < 0x20)
			fprintf(out, "\\u%04x", *s);
		else
			fprintf(out, *s == '"' || *s == '\\' ? "\\%c" : "%c", *s);
	}
	fputc('"', out);
}

static void
put_header(FILE *out, const struct rt_st_entry *entries, int count)
{
	uint64_t at = 0;
	fputc('{', out);
	for (int i = 0; i < count; i++) {
		const struct rt_st_entry *e = &entries[i];
		uint64_t bytes = rt_dtype_bytes(e->dtype);
		fputs(i ? "," : "", out);
		put_string(out, e->name);
		fprintf(out, ":{\"dtype\":\"%s\",\"shape\":[",
			rt_dtype_info(e->dtype)->safetensors);
		for (int d = 0; d < e->rank; d++) {
			fprintf(out, "%s%" PRId64, d ? "," : "", e->dims[d]);
			bytes *= (uint64_t)e->dims[d];
		}
		fprintf(out, "],\"data_offsets\":[%" PRIu64 ",%" PRIu64 "]}", at, at + bytes);
		at += bytes;
	}
	fputc('}', out);
}

/* Length and header, padded with spaces as the format allows. */
static bool
write_header(
	struct rt_st_writer *w, const struct rt_st_entry *entries, int count, struct rt_status *st)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return rt_fail_memory(st, 1, "a header");
	put_header(out, entries, count);
	fflush(out);
	while ((length + 8) % HEADER_ALIGN) {
		fputc(' ', out);
		fflush(out);
	}
	bool ok = !ferror(out);
	ok = !fclose(out) && ok;
	unsigned char size[8];
	for (int i = 0; i < 8; i++)
		size[i] = (unsigned char)((uint64_t)length >> 8 * i);
	if (!ok)
		rt_fail_memory(st, length, "a header");
	else
		ok = rt_st_append(w, size, sizeof size, st) && rt_st_append(w, text, length, st);
	free(text);
	return ok;
}

/* A new file beside the final one, with the rights that a new file usually gets. */
static bool
open_temporary(struct rt_st_writer *w, struct rt_status *st)
{
	const size_t length = strlen(w->path) + sizeof ".XXXXXX";
	w->temporary = malloc(length);
	if (!w->temporary)
		return rt_fail_memory(st, length, "a file name");
	snprintf(w->temporary, length, "%s.XXXXXX", w->path);
	const int fd = mkstemp(w->temporary);
	if (fd < 0) {
		cannot_write(w, st);
		free(w->temporary);
		w->temporary = NULL;
		return false;
	}
	const mode_t mask = umask(0);
	umask(mask);
	fchmod(fd, 0666 & ~mask);
	w->file = fdopen(fd, "wb");
	if (w->file)
		return true;
	close(fd);
	return cannot_write(w, st);
}

bool
rt_st_create(struct rt_st_writer *w, const char *path, const struct rt_st_entry *entries, int count,
	struct rt_status *st)
{
	*w = (struct rt_st_writer){.path = path};
	if (open_temporary(w, st) && write_header(w, entries, count, st))
		return true;
	rt_st_finish(w, false, st);
	return false;
}

bool
rt_st_append(struct rt_st_writer *w, const void *bytes, size_t n, struct rt_status *st)
{
	return fwrite(bytes, 1, n, w->file) == n || cannot_write(w, st);
}

bool
rt_st_finish(struct rt_st_writer *w, bool ok, struct rt_status *st)
{
	if (w->file && fclose(w->file) && ok)
		ok = cannot_write(w, st);
	if (ok && rename(w->temporary, w->path))
		ok = cannot_write(w, st);
	if (!ok && w->temporary)
		unlink(w->temporary);
	free(w->temporary);
	*w = (struct rt_st_writer){0};
	return ok;
}
