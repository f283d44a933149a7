/* The main of a tool: TOOL is what it does, a function of libdopt. */
#include "passes/tools/tools.h"

int
main(int argc, char **argv)
{
	return TOOL(argc, argv);
}
