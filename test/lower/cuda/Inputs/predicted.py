"""predicted.py FOUND STATS FOUND STATS: does each comparison predict the iteration of the statistics after it, and the second
pair a longer one than the first?"""
import json
import sys

predicted = [json.load(open(path))["totals"]["iteration"]["predicted"] for path in sys.argv[1::2]]
expected = [json.load(open(path))[-1]["cost"]["iteration"] for path in sys.argv[2::2]]
if any(abs(a - b) > 1e-9 * b for a, b in zip(predicted, expected)) or expected[0] >= expected[1]:
    sys.exit(f"predicted {predicted}, expected {expected}")
