/* FNV-1a of 64 bits over the printed text: see digest.h. */
#include "ir/digest.h"

#include "ir/base/alloc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const uint64_t fnv_basis = 0xcbf29ce484222325, fnv_prime = 0x100000001b3;

void
ir_digest(const struct ir_module *m, char text[IR_DIGEST_DIGITS + 1])
{
	char *printed = NULL;
	size_t size = 0;
	FILE *f = text_stream(&printed, &size);

	ir_print(f, m);
	text_stream_close(f);
	uint64_t hash = fnv_basis;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ (unsigned char)printed[i]) * fnv_prime;
	free(printed);
	snprintf(text, IR_DIGEST_DIGITS + 1, "%016" PRIx64, hash);
}
