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

#endif
