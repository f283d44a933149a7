/* Values derived from measured entries: fits of links, and rates for unmeasured kernels. */
#ifndef PASSES_ANALYSIS_PROFILE_DERIVE_H
#define PASSES_ANALYSIS_PROFILE_DERIVE_H

#include "passes/analysis/profile/profile.h"

/*
 * For the selected backend of a device: fits alpha and beta to the collectives of each transport,
 * kind, places and nodes; and the median rates of matrix products by element type, and of bytes in
 * other kernels, from the ops with most ranks. `anew`: also replaces existing values. One
 * transaction. False: reported.
 */
bool profile_derive(struct profile *p, const char *device, bool anew);

#endif
