/* Reading the input, and splitting it for -split-input-file. */
#include "passes/tools/input.h"

#include "ir/base/vec.h"
#include "passes/tools/command_line.h"

#include <errno.h>
#include <string.h>

/* Offsets in messages are 32 bits wide, and the texts of all parts share them. */
static const size_t max_input = (size_t)1 << 30;

enum { READ_CHUNK = 1 << 16 };

static bool
read_all(const void *owner, struct driver_input *in, FILE *f)
{
	char *text = NULL;
	size_t n = 0, got;

	do {
		ARRAY_ROOM(owner, text, n + READ_CHUNK + 2);
		got = fread(text + n, 1, READ_CHUNK, f);
		n += got;
	} while (got && n <= max_input);
	text[n] = text[n + 1] = '\0'; /* two: parsers read it in place */
	in->text = text;
	in->length = n;
	if (ferror(f)) {
		driver_error("cannot read '%s': %s", in->name, strerror(errno));
		return false;
	}
	if (n > max_input)
		driver_error("'%s' is larger than %zu bytes", in->name, max_input);
	return n <= max_input;
}

bool
driver_input_read(const void *owner, struct driver_input *in, const char *path)
{
	if (!strcmp(path, "-")) {
		in->name = "<stdin>";
		return read_all(owner, in, stdin);
	}
	in->name = path;
	FILE *f = fopen(path, "r");
	if (!f) {
		driver_error("cannot read '%s': %s", path, strerror(errno));
		return false;
	}
	bool ok = read_all(owner, in, f);
	fclose(f);
	return ok;
}

const char *
driver_input_binary(const struct driver_input *in)
{
	/* A safetensors file begins with 8 bytes, the length of the JSON object that follows; text
	 * contains no zero bytes there. */
	static const struct {
		size_t at;
		const char *bytes, *what;
	} kinds[] = {
		{0, "\177ELF", "an executable or library (ELF)"},
		{8, "{", "a safetensors file"},
	};
	const size_t n = in->length < 8 ? in->length : 8;

	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
		const size_t length = strlen(kinds[i].bytes);
		if (in->length >= kinds[i].at + length && memchr(in->text, 0, n) &&
			!memcmp(in->text + kinds[i].at, kinds[i].bytes, length))
			return kinds[i].what;
	}
	return NULL;
}

static bool
is_separator(const char *line, const char *end)
{
	static const char mark[] = "// -----";
	size_t n = sizeof mark - 1;

	if ((size_t)(end - line) < n || memcmp(line, mark, n) != 0)
		return false;
	line += n;
	while (line < end && strchr(" \t\r", *line))
		line++;
	return line == end;
}

bool
driver_input_part(
	const void *owner, const struct driver_input *in, size_t *at, struct driver_input *part)
{
	const char *begin = in->text + *at, *line = begin, *end = in->text + in->length;
	size_t lines = 0;

	if (*at > in->length)
		return false;
	*at = in->length + 1;
	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next : end;
		if (is_separator(line, next)) {
			*at = (size_t)(next - in->text);
			end = line;
			break;
		}
		line = next < end ? next + 1 : end;
	}
	for (const char *s = in->text; s < begin; s++)
		lines += *s == '\n';
	/* Empty lines in place of earlier parts preserve the line numbers. */
	size_t n = (size_t)(end - begin);
	char *text = array_create_zero(owner, lines + n + 2, 1, "a chunk of the input");
	memset(text, '\n', lines);
	memcpy(text + lines, begin, n);
	*part = (struct driver_input){.name = in->name, .text = text, .length = lines + n};
	return true;
}
