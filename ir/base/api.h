/*
 * Brackets the declarations of a header that plugins may include (passes/api/headers.cmake lists those headers): what
 * stands between DOPT_API_BEGIN and DOPT_API_END is exported by libdopt.so, and has C linkage in C++. All else that
 * libdopt defines is hidden, so that a plugin may use any name for functions of its own.
 */
#ifndef IR_API_H
#define IR_API_H

#ifdef __cplusplus
#define DOPT_API_BEGIN                                                                             \
	extern "C" {                                                                               \
	_Pragma("GCC visibility push(default)")
#define DOPT_API_END                                                                               \
	_Pragma("GCC visibility pop")                                                              \
	}
#else
#define DOPT_API_BEGIN _Pragma("GCC visibility push(default)")
#define DOPT_API_END _Pragma("GCC visibility pop")
#endif

#endif
