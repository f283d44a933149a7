/* One loop for each scalar function. */
#include "runtime/kernel/scalar_math.h"

#define LOOP(name)                                                                                 \
	void loop_##name(float *restrict to, const float *restrict from);                          \
	void loop_##name(float *restrict to, const float *restrict from)                           \
	{                                                                                          \
		for (int i = 0; i < 4096; i++)                                                     \
			to[i] = M_##name(from[i]);                                                 \
	}

LOOP(exp)
LOOP(log)
LOOP(tanh)
LOOP(erf)
LOOP(erfc)
LOOP(sigmoid)
LOOP(sqrt)
LOOP(rsqrt)
LOOP(abs)

void loop_max(float *restrict to, const float *restrict from);
void
loop_max(float *restrict to, const float *restrict from)
{
	for (int i = 0; i < 4096; i++)
		to[i] = M_max(to[i], from[i]);
}
