/* The memory of known.c; for import.c. */
#ifndef PARSER_STABLEHLO_IMPORT_STATE_KNOWN_H
#define PARSER_STABLEHLO_IMPORT_STATE_KNOWN_H

#include "parser/stablehlo/import/state/state.h"

struct import_known *import_known_create(const void *owner);

#endif
