/* FNV-1a of 64 bits over the printed text: see digest.h. */
#include "ir/digest.h"

#include "ir/base/arena.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t fnv_basis = 0xcbf29ce484222325, fnv_prime = 0x100000001b3;

void
ir_digest(const struct ir_module *m, char text[IR_DIGEST_DIGITS + 1])
{
	char *printed = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&printed, &size);

	if (!f)
		out_of_memory();
	ir_print(f, m);
	if (fclose(f))
		out_of_memory();
	uint64_t hash = fnv_basis;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)printed[i]) * fnv_prime;
	free(printed);
	snprintf(text, IR_DIGEST_DIGITS + 1, "%016" PRIx64, hash);
}
