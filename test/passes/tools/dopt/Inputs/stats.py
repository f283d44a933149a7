"""Reads -stats=json from standard input and checks what is known of it."""
import json
import sys

rows = json.load(sys.stdin)
assert [r["pass"] for r in rows] == ["input", "canonicalize", "dce"], rows
assert [r["cost"]["ops"] for r in rows] == [4, 2, 2], rows
assert rows[1]["counts"] == {"identities": 1}, rows
assert rows[1]["changed"] and not rows[2]["changed"], rows
assert not any(r["automatic"] or r["dropped"] for r in rows[1:]), rows
assert all(r["seconds"] >= 0 for r in rows[1:]), rows
