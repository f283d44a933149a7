/* Clusters from text, and those that are shipped. */
#include "parser/cluster/build.h"
#include "parser/cluster/shipped.h"

#include "ir/base/alloc.h"
#include "parser/dir/dir.tab.h"

#include "ir/base/suggest.h"

#include <errno.h>
#include <string.h>
#include <talloc.h>

static const struct cluster_tree *
parse_tree(struct parser *p)
{
	if (dir_parse(p) || !p->tree)
		return NULL;
	const struct named *word = &p->tree->word;
	if (!strcmp(word->name, "cluster"))
		return p->tree;
	PARSE_ERROR(p, word->loc, "expected 'cluster', found '%s'", word->name);
	return NULL;
}

static struct cluster *
parse(const void *owner, struct ir_context *ctx, const char *file_name, const char *text, size_t n,
	const struct parse_options *o)
{
	unsigned errors = diag_errors(ctx->diag);
	struct cluster *c = NULL;

	if (n > CLUSTER_BYTES_MAX) {
		diag_error(ctx->diag, LOC_NONE, "%s has more than %d bytes", file_name,
			CLUSTER_BYTES_MAX);
		return NULL;
	}
	struct ir_module *m = ir_module_create(NULL, ctx, "");
	struct parser *p = parser_create(m, m, o);
	uint32_t base = diag_add_source(ctx->diag, file_name, text, n);
	struct lexer lx;
	lexer_open(p, &lx, NULL, diag_source_text(ctx->diag, base), n, base, START_CLUSTER);
	const struct cluster_tree *tree = parse_tree(p);
	if (tree && !p->tree_lacks)
		c = cluster_build(p, p, tree, errors);
	if (c)
		c->text = cluster_tree_text(c, p, tree);
	if (c && diag_errors(ctx->diag) == errors)
		talloc_steal(owner, c);
	else
		c = NULL;
	for (int i = 0; o && o->used && i < o->ndefines; i++)
		o->used[i] |= p->defined[i];
	lexer_close(p);
	talloc_free(m);
	return c;
}

/* Copies the reach of kernels that a shipped cluster gives for devices measured under that name. */
static void
take_shipped(struct device *d, struct ir_context *ctx, const char *name)
{
	for (const struct shipped_cluster *s = shipped_clusters; s->name && !d->reached; s++) {
		if (!strstr(s->text, "kernel = ") || !strstr(s->text, name))
			continue;
		struct cluster *c = parse(d, ctx, s->name, s->text, strlen(s->text), NULL);
		for (uint32_t k = 0; k < c->nkinds && !d->reached; k++)
			if (c->kind[k]->measured && !strcmp(c->kind[k]->measured, name))
				device_take_reach(d, c->kind[k]);
		talloc_free(c);
	}
}

/* Fills in the reach of devices with `like`, from shipped devices; false: reported. */
static bool
complete(struct device *d, struct ir_context *ctx)
{
	if (d->reached || !(d->reach_like || d->measured))
		return true;
	take_shipped(d, ctx, d->reach_like ? d->reach_like : d->measured);
	if (d->reached || !d->reach_like)
		return true;
	diag_error(ctx->diag, d->reach_loc,
		"no shipped cluster says what kernels reach on '%s', which device %s is like",
		d->reach_like, d->name);
	return false;
}

static struct cluster *
parse_with(const void *owner, struct ir_context *ctx, const char *file_name, const char *text,
	size_t n, const struct parse_options *o)
{
	struct cluster *c = parse(owner, ctx, file_name, text, n, o);
	bool good = c != NULL;

	for (uint32_t k = 0; c && k < c->nkinds; k++)
		good = complete((struct device *)c->kind[k], ctx) && good;
	if (c && !good) {
		talloc_free(c);
		return NULL;
	}
	return c;
}

struct cluster *
cluster_parse(const void *owner, struct ir_context *ctx, const char *file_name, const char *text,
	size_t n)
{
	return parse_with(owner, ctx, file_name, text, n, NULL);
}

void
cluster_print(FILE *out, const struct cluster *c)
{
	fputs(c->text, out);
}

/* Names of files and of clusters: "h100-x32" is h100_x32. */
static bool
same_name(const char *shipped, const char *name)
{
	for (; *shipped && *name; shipped++, name++)
		if (*shipped != *name && !(*shipped == '_' && *name == '-'))
			return false;
	return *shipped == *name;
}

/* The current machine, which no file describes. */
#define THIS_MACHINE "this_machine"

static struct cluster *
read_file(const void *owner, struct ir_context *ctx, const char *path, FILE *f,
	const struct parse_options *o)
{
	char *text = NEW_ARRAY(NULL, char, CLUSTER_BYTES_MAX + 2);
	struct cluster *c = NULL;

	size_t n = fread(text, 1, CLUSTER_BYTES_MAX + 1, f);
	text[n] = '\0';
	if (ferror(f))
		diag_error(ctx->diag, LOC_NONE, "cannot read the cluster '%s': %s", path,
			strerror(errno));
	else
		c = parse_with(owner, ctx, path, text, n, o);
	talloc_free(text);
	return c;
}

/* Is the name that of a cluster of any size, and a number of devices: "h100x8", "a100-16"? */
static bool
is_sized(const char *name, const struct shipped_cluster *s)
{
	const size_t n = strlen(s->name);

	if (strncmp(name, s->name, n) || !strstr(s->text, "let nodes"))
		return false;
	name += n;
	name += strspn(name, "_-");
	name += *name == 'x';
	return *name && strspn(name, "0123456789") == strlen(name);
}

/* Reports that there is neither a file nor a cluster of that name. */
static void
report_missing(struct ir_context *ctx, const char *name)
{
	int error = errno;
	struct suggestion near = suggestion_for(name);
	void *scratch = talloc_new(NULL);
	const char *sized = "";

	for (const struct shipped_cluster *s = shipped_clusters; s->name; s++) {
		suggestion_add(&near, s->name);
		if (is_sized(name, s))
			sized = TEXT(scratch, "; -cluster=%s -D nodes=N has N machines", s->name);
	}
	suggestion_add(&near, THIS_MACHINE);
	diag_error(ctx->diag, LOC_NONE,
		"'%s' is neither a shipped cluster (see -list-clusters) nor a readable file: %s%s%s",
		name, strerror(error), sized, suggestion_text(scratch, &near));
	talloc_free(scratch);
}

/* The text of the shipped cluster of that name, owned by `owner`, or NULL. */
static char *
shipped_text(const void *owner, const char *name)
{
	if (same_name(THIS_MACHINE, name))
		return this_machine_text(owner);
	for (const struct shipped_cluster *s = shipped_clusters; s->name; s++)
		if (same_name(s->name, name))
			return text_copy(owner, s->text);
	return NULL;
}

struct cluster *
cluster_open_with(
	const void *owner, struct ir_context *ctx, const char *name, const struct parse_options *o)
{
	void *scratch = alloc_scratch(NULL);
	const char *text = shipped_text(scratch, name);
	struct cluster *c = text ? parse_with(owner, ctx, name, text, strlen(text), o) : NULL;
	talloc_free(scratch);
	if (text)
		return c;
	FILE *f = fopen(name, "rb");
	if (!f) {
		report_missing(ctx, name);
		return NULL;
	}
	c = read_file(owner, ctx, name, f, o);
	fclose(f);
	return c;
}

struct cluster *
cluster_open(const void *owner, struct ir_context *ctx, const char *name)
{
	return cluster_open_with(owner, ctx, name, NULL);
}

enum { NAME_COLUMN = 18 }; /* column of the descriptions in the list */

void
cluster_list(FILE *out)
{
	struct ir_context *ctx = ir_context_create(NULL);

	for (const struct shipped_cluster *s = shipped_clusters; s->name; s++) {
		const struct cluster *c = cluster_open(ctx, ctx, s->name);
		fprintf(out, "%-*s%s%s%s\n", NAME_COLUMN, s->name,
			c && c->source ? c->source : "not given", c && c->lets ? "; let " : "",
			c && c->lets ? c->lets : "");
	}
	fprintf(out,
		"%-*scores of this machine, any number of them, "
		"measured when the cluster is used\n",
		NAME_COLUMN, THIS_MACHINE);
	talloc_free(ctx);
}
