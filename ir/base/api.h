/*
 * Brackets the declarations of a header that plugins may include (passes/api/headers.cmake lists
 * them): those between DOPT_API_BEGIN and DOPT_API_END are exported by libdopt.so, with C linkage
 * in C++. Other symbols of libdopt are hidden, so a plugin may use any name for its functions.
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
