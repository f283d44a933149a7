/*
 * -expect: programs with check ops, whose outputs check.0, check.1 ... must be true
 * (parser/stablehlo/import/ops/check.c). A line for each program, and a line at the end:
 *
 *     abs_op_test_si64: passed
 *     add_op_test_f32: failed: abs.mlir:17: check 0, element [2]: found 3, expected 4
 *     fft_op: unsupported: abs.mlir:30: stablehlo.fft is not supported: ...
 *     1 passed, 1 failed, 1 unsupported
 *
 * A program without checks is unsupported.
 */
#ifndef PASSES_DRIVER_CHECKS_H
#define PASSES_DRIVER_CHECKS_H

#include "parser/stablehlo/import/import.h"
#include "passes/tools/dopt/driver.h"

struct driver_checks;

/* Counts programs; owned by `owner`. */
struct driver_checks *driver_checks_create(const void *owner);

/* Called before a program is read: keeps its messages for its line. */
void driver_checks_begin(struct driver_checks *c, struct diag *d, const char *text);

/* Where the import records its outcome. */
struct import_outcome *driver_checks_outcome(struct driver_checks *c);

/*
 * Runs a module by meaning, and if it has a mesh also place by place, and compares. Returns false,
 * after reporting, if it cannot be run.
 */
bool driver_checks_run(struct driver_checks *c, const struct ir_module *m);

/* The line of the program. `exit` is its exit status; returns DRIVER_INPUT if it failed. */
enum driver_exit driver_checks_end(struct driver_checks *c, FILE *out, enum driver_exit exit);

/* The line at the end. */
void driver_checks_sum(const struct driver_checks *c, FILE *out);

#endif
