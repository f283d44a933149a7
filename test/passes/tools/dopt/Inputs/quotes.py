"""Checks the code in a page: every block ```c FILE must stand, as it is, in that file of the tree."""
import re
import sys

root, page = sys.argv[1:]
text = open(page).read()
blocks = re.findall(r"^```c (\S+)\n(.*?)^```$", text, re.S | re.M)
if len(blocks) < 5:
    sys.exit("%s: only %d blocks of code: does the pattern still fit?" % (page, len(blocks)))
for name, code in blocks:
    if code not in open("%s/%s" % (root, name)).read():
        sys.exit("%s: this is not in %s:\n%s" % (page, name, code))
