/* Other sources of clusters than text in the language, inside the parser. */
#ifndef PARSER_CLUSTER_SHIPPED_H
#define PARSER_CLUSTER_SHIPPED_H

#include "parser/cluster/cluster.h"

/* parser/cluster/shipped/NAME.cluster */
struct shipped_cluster {
	const char *name, *text; /* name NULL: the end */
};

extern const struct shipped_cluster shipped_clusters[];

/* The text of a cluster of this machine's cores, measured in a fraction of a second; talloc. */
char *this_machine_text(const void *owner);

/* Is the text one of FlexFlow's machine_config files, and no text in the language? */
bool is_machine_config(const char *text);

/* As cluster_parse, for such a text. */
struct cluster *machine_config_parse(const void *owner, struct ir_context *ctx,
	const char *file_name, const char *text, size_t n);

#endif
