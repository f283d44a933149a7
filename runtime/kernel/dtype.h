/* Element types as an enum with its table, expanded from dtype.def. */
#ifndef RUNTIME_DTYPE_H
#define RUNTIME_DTYPE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum rt_dtype {
#define DTYPE(name, bytes, ctype, kind, safetensors) RT_##name,
#include "runtime/kernel/dtype.def"
#undef DTYPE
	RT_DTYPES
};

enum rt_dtype_class { RT_CLASS_FLOAT, RT_CLASS_INT, RT_CLASS_UINT, RT_CLASS_BOOL };

struct rt_dtype_info {
	const char *name; /* as the language writes it: "f32" */
	size_t bytes;     /* of one element */
	enum rt_dtype_class kind;
	const char *safetensors; /* as a safetensors header writes it: "F32" */
};

/* The row of a type; never NULL for a valid enum value. */
static inline const struct rt_dtype_info *
rt_dtype_info(enum rt_dtype t)
{
	static const struct rt_dtype_info table[RT_DTYPES] = {
#define DTYPE(name, bytes, ctype, kind, safetensors) {#name, bytes, RT_CLASS_##kind, safetensors},
#include "runtime/kernel/dtype.def"
#undef DTYPE
	};
	return &table[t];
}

/* Bytes of one element. */
static inline size_t
rt_dtype_bytes(enum rt_dtype t)
{
	return rt_dtype_info(t)->bytes;
}

#endif
