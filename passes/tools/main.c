/* The main function of a tool: TOOL is its implementation, a function of libdopt. */
#include "passes/tools/tools.h"

int
main(int argc, char **argv)
{
	return TOOL(argc, argv);
}
