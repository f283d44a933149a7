/* Sections and tables of the page. */
#include "passes/tools/report/impl.h"

#include <stdarg.h>
#include <string.h>

void
html_section(FILE *out, const char *id, const char *title, const char *about)
{
	fprintf(out, "<section id=\"%s\" aria-labelledby=\"%s-h\"><h2 id=\"%s-h\">%s</h2>\n", id,
		id, id, title);
	if (about)
		fprintf(out, "<p>%s</p>\n", about);
}

void
html_table(FILE *out, const char *caption, const char *columns)
{
	/* It can be scrolled separately, with the keyboard too. */
	fprintf(out,
		"<div class=\"s\" role=\"region\" tabindex=\"0\" aria-label=\"%s\"><table>"
		"<caption>%s</caption><thead><tr>",
		caption, caption);
	while (*columns) {
		int n = (int)strcspn(columns, "|"), number = *columns == '>';
		fprintf(out, "<th scope=\"col\"%s>%.*s</th>", number ? " class=\"n\"" : "",
			n - number, columns + number);
		columns += n + (columns[n] == '|');
	}
	fputs("</tr></thead><tbody>", out);
}

void
html_table_end(FILE *out)
{
	fputs("</tbody></table></div>\n", out);
}

void
html_row(FILE *out)
{
	fputs("\n<tr>", out);
}

void
html_text(FILE *out, const char *s)
{
	fputs("<td>", out);
	text_html(out, s);
	fputs("</td>", out);
}

void
html_code(FILE *out, const char *s)
{
	fputs("<td><code>", out);
	text_html(out, s);
	fputs("</code></td>", out);
}

void
html_number(FILE *out, const char *format, ...)
{
	va_list args;

	fputs("<td class=\"n\">", out);
	va_start(args, format);
	vfprintf(out, format, args);
	va_end(args);
	fputs("</td>", out);
}

void
html_unit(FILE *out, const char *text)
{
	size_t n = strspn(text, "0123456789.+-e");

	fprintf(out, "%.*s%s%s", (int)n, text, text[n] ? "&nbsp;" : "", text + n);
}

static void
put_quantity(FILE *out, const char *text)
{
	fputs("<td class=\"n\">", out);
	html_unit(out, text);
	fputs("</td>", out);
}

void
html_seconds(FILE *out, double s)
{
	put_quantity(out, number_seconds((char[NUMBER_TEXT]){""}, s));
}

void
html_bytes(FILE *out, double bytes)
{
	put_quantity(out, number_bytes((char[NUMBER_TEXT]){""}, bytes));
}

void
html_share(FILE *out, double part, double whole)
{
	if (whole > 0)
		html_number(out, "%.1f&nbsp;%%", 100 * part / whole);
	else
		fputs("<td></td>", out);
}

void
html_cut(FILE *out, uint32_t shown, uint32_t all, const char *what)
{
	if (shown < all)
		fprintf(out, "<p class=\"q\">Showing %u of %u %s.</p>\n", shown, all, what);
}
