/* Saving into a folder, a file for each rank: the format is in shards.h. The work is divided over
 * the ranks: each writes the parts that it alone holds, and of what several ranks hold a share of
 * nearly the same number of bytes. */
#ifndef RUNTIME_SHARDS_SAVE_H
#define RUNTIME_SHARDS_SAVE_H

#include "runtime/rank.h"

/* Does this -save name a folder? Its last character is a slash. */
bool rt_shards_named(const char *path);

/* Makes the folder, if it does not exist, and checks that files can be made in it. */
bool rt_shards_folder(const char *path, struct rt_status *st);

/* Is there an index, and so a complete checkpoint? */
bool rt_shards_complete(const char *path);

/* Writes all parameters and states; all ranks call it together and agree. The index, of rank 0,
 * comes last; what was in the folder before remains valid until then, and is removed afterwards. */
bool rt_shards_save(struct rt_rank *r, const char *path, const struct rt_position *where);

/* Removes a folder of rt_shards_save: its index first, then its files. Other files, and then the
 * folder, stay. */
void rt_shards_remove(const char *path);

#endif
