/*
 * Software that runs a step instead of a program of dopt: its host issues one kernel after another,
 * and its kernels reach other shares of the peaks. The table is framework.def.
 */
#ifndef IR_FRAMEWORK_H
#define IR_FRAMEWORK_H

#include "ir/cluster/device.h"

enum framework {
	FRAMEWORK_NONE,
#define FRAMEWORK(name, ...) FRAMEWORK_##name,
#include "ir/cluster/framework.def"
#undef FRAMEWORK
};

/* The name in framework.def, or NULL. */
const char *framework_name(enum framework f);

/* Changes the rates of the device to those of the framework. FRAMEWORK_NONE changes nothing. */
void device_use_framework(struct device *d, enum framework f);

#endif
