/* Writing safetensors: see safetensors.h. */
#include "runtime/data/safetensors.h"
#include "runtime/data/json.h"
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

/* Tensors begin at multiples of this many bytes in the file, so that a reader may map them. */
#define HEADER_ALIGN 64

static bool
cannot_write(struct rt_st_writer *w, struct rt_status *st)
{
	return rt_fail(st, RT_EXIT_RUN, "%s: cannot write: %s", w->path, strerror(errno));
}

static void
put_metadata(FILE *out, const struct rt_st_pair *pairs, int npairs)
{
	fputs("\"__metadata__\":{", out);
	for (int i = 0; i < npairs; i++) {
		fputs(i ? "," : "", out);
		rt_json_put(out, pairs[i].key);
		fputc(':', out);
		rt_json_put(out, pairs[i].value);
	}
	fputc('}', out);
}

/* The content of the header. */
struct header {
	const struct rt_st_entry *entries;
	int count;
	const struct rt_st_pair *pairs;
	int npairs;
};

static void
put_header(FILE *out, const struct header *h)
{
	uint64_t at = 0;
	fputc('{', out);
	if (h->npairs)
		put_metadata(out, h->pairs, h->npairs);
	for (int i = 0; i < h->count; i++) {
		const struct rt_st_entry *e = &h->entries[i];
		uint64_t bytes = rt_dtype_bytes(e->dtype);
		fputs(i || h->npairs ? "," : "", out);
		rt_json_put(out, e->name);
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
write_header(struct rt_st_writer *w, const struct header *h, struct rt_status *st)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);
	if (!out)
		return rt_fail_memory(st, 1, "a header");
	put_header(out, h);
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

bool
rt_st_create(struct rt_st_writer *w, const char *path, const struct rt_st_entry *entries, int count,
	const struct rt_st_pair *pairs, int npairs, struct rt_status *st)
{
	const struct header h = {entries, count, pairs, npairs};
	*w = (struct rt_st_writer){.path = path};
	if (!rt_write_open(&w->out, path))
		return cannot_write(w, st);
	if (write_header(w, &h, st))
		return true;
	rt_st_finish(w, false, st);
	return false;
}

bool
rt_st_append(struct rt_st_writer *w, const void *bytes, size_t n, struct rt_status *st)
{
	return fwrite(bytes, 1, n, w->out.file) == n || cannot_write(w, st);
}

bool
rt_st_finish(struct rt_st_writer *w, bool ok, struct rt_status *st)
{
	if (w->out.file && !rt_write_close(&w->out, ok) && ok)
		ok = cannot_write(w, st);
	*w = (struct rt_st_writer){0};
	return ok;
}
