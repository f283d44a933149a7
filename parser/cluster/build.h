/* Makes a cluster from its tree, inside the parser. */
#ifndef PARSER_CLUSTER_BUILD_H
#define PARSER_CLUSTER_BUILD_H

#include "ir/cluster/device.h"
#include "parser/cluster/cluster.h"
#include "parser/cluster/tree.h"

/* What a number may be. */
enum fits {
	FITS_ABOVE_0,
	FITS_FROM_0,
	FITS_FROM_1,
	FITS_FLAG, /* 0 or 1 */
};

enum attr_type {
	TYPE_NUMBER, /* double, in base units */
	TYPE_BOOL,   /* bool */
	TYPE_WORD,   /* struct named */
	TYPE_TEXT,   /* const char *, which is not empty */
};

/* An attribute of an item, and the target of its value. */
struct attr_spec {
	const char *key;
	enum attr_type type;
	const char *unit; /* of a number: "B/s", ""; see device.def */
	enum fits fits;
	size_t offset;
	bool required;
};

/* attrs.c */
/* Stores the values of the item's attributes in the targets of the n specs. False: reported. */
bool cluster_attrs(struct parser *p, const struct cluster_item *item, const struct attr_spec *spec,
	int n, void *to);
/* The same for a device; sets its fields. */
bool cluster_device_attrs(struct parser *p, const struct cluster_item *item, struct device *device);

enum entry_kind { ENTRY_DEVICE, ENTRY_LINK, ENTRY_PARTS, ENTRY_PLACE };

/* The meaning of a name. */
struct entry {
	const char *name;
	struct ir_loc loc;
	enum entry_kind kind;
	uint32_t number; /* of the kind of device or link */
	uint32_t *vertex;
	uint32_t n;
	uint32_t reach[REACH_KERNELS]; /* for a kind of device: types with given rates */
};

struct link_kind {
	double bandwidth, latency;
	bool shared;
	bool connected, reached; /* such links exist; their reach is given */
	const char *name;
};

/* The inputs of an over-subscribed switch, and the link that represents the switch. */
struct port {
	uint32_t vertex, link;
	double ratio, inward;
};

struct builder {
	struct parser *p;
	struct cluster *c;
	struct arena *names;            /* lives as long as the cluster */
	struct VEC(struct entry) entry; /* the innermost last */
	struct VEC(struct link_kind) link;
	struct VEC(struct port) port;           /* by ascending vertex */
	struct VEC(struct ir_loc) device, host; /* where each was declared */
	const char *path;                       /* "n[3].": of the parts being made */
	uint32_t node;                          /* of the parts, or CLUSTER_NO_NODE */
	uint32_t nparts, nways;
	int depth;       /* of nodes and groups */
	bool full;       /* a limit was exceeded: reported once */
	unsigned errors; /* before it began */
};

/* No errors so far. */
static inline bool
is_fine(const struct builder *b)
{
	return diag_errors(b->p->ctx->diag) == b->errors;
}

/* names.c */
struct entry *entry_find(struct builder *b, const char *name); /* NULL: none */
/* The entry of that kind; NULL after an error. */
struct entry *entry_find_kind(struct builder *b, struct named name, enum entry_kind kind);
/* A new entry, valid until the next one; NULL after an error. */
struct entry *entry_define(struct builder *b, struct named name, enum entry_kind kind);
/* Parts of that name; their vertices are still to be filled in. NULL after an error. */
struct entry *entry_define_parts(struct builder *b, const struct cluster_end *end);
/* The number of parts of `g[8]`; 0 after an error. */
uint32_t builder_count(struct builder *b, const struct cluster_end *end);
/* Counts n more of something; false, after an error, if they are too many. */
bool builder_have_room(struct builder *b, uint32_t *used, uint64_t n, uint32_t most,
	const char *what, struct ir_loc loc);
/* "n[3].g[1]"; without a count "n[3].g". Lives as long as the cluster. */
const char *builder_name(struct builder *b, const struct cluster_end *end, uint32_t i);
/* Is it one of the words that items begin with? build.c */
bool is_cluster_word(const char *name);

/* reach.c */
void build_reach(struct builder *b, const struct cluster_item *item);
/* Fills in the rates of types that the text does not give. */
void finish_reach(struct builder *b);

/* connect.c */
void build_connect(struct builder *b, const struct cluster_item *item);
/* Switches that are over-subscribed get their bandwidth, once all is connected. */
void finish_ports(struct builder *b);

/* build.c. The cluster of a tree, owned by `owner`; NULL after an error. `errors`: the number of
 * errors before its text was parsed. */
struct cluster *cluster_build(
	const void *owner, struct parser *p, const struct cluster_tree *tree, unsigned errors);

#endif
