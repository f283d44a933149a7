/* Ops that are not supported, counted; for import.c. */
#ifndef PARSER_STABLEHLO_IMPORT_STATE_MISSING_H
#define PARSER_STABLEHLO_IMPORT_STATE_MISSING_H

#include "parser/stablehlo/import/state/state.h"

struct import_missing *import_missing_create(const void *owner);

/* Reports them all, at the end. */
void import_missing_report(struct import *im);

#endif
