/* libFuzzer on one reader, READER: any bytes, and what must hold of them (readers.h). */
#include "test/fuzz/readers.h"

#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct fuzz_session *session;

	if (!session)
		session = fuzz_session_create(READER);
	fuzz_read(session, (const char *)data, size);
	return 0;
}
