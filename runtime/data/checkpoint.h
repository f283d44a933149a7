/* The files of a run that saves periodically: in addition to -save FILE, which is written when the
 * run ends, files named FILE with the number of steps inserted, of which the last few are kept.
 *
 *	-save out/w.safetensors    out/w.step-000001200.safetensors   after 1200 steps
 *	-save w                    w.step-000001200
 *	-save out/w/               out/w.step-000001200/
 *
 * If FILE is written in place (a device, a FIFO), each save writes FILE itself. */
#ifndef RUNTIME_CHECKPOINT_H
#define RUNTIME_CHECKPOINT_H

#include "runtime/rank.h"

/* Saves after `step` steps and removes files older than the last -keep. All ranks call it together
 * and agree on the result. With `tell`, rank 0 reports the save on stderr. */
bool rt_checkpoint_save(struct rt_rank *r, int64_t step, bool tell);

/* The newest of these files and FILE, for -resume: from malloc, NULL if there is none. Folders
 * without an index do not count. All ranks call it together and agree on the result. */
bool rt_checkpoint_newest(struct rt_rank *r, char **path);

#endif
