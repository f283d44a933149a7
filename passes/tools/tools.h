/* The tools, as functions of libdopt.so: they use all of it; plugins only its public headers. */
#ifndef PASSES_TOOLS_H
#define PASSES_TOOLS_H

#include "ir/base/api.h"

DOPT_API_BEGIN

/*
 * The tools dopt, dopt-profile, dopt-reduce, dopt-rules, dopt-schedule and dopt-trace; return the exit status.
 */
int tool_dopt(int argc, char **argv);
int tool_profile(int argc, char **argv);
int tool_reduce(int argc, char **argv);
int tool_rules(int argc, char **argv);
int tool_schedule(int argc, char **argv);
int tool_trace(int argc, char **argv);

DOPT_API_END

#endif
