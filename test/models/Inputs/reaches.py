"""reaches.py LOG ACCURACY: does the program's log end with at least that accuracy on the held-out rows?"""
import sys

lines = [line.split() for line in open(sys.argv[1])]
found = [float(word[2]) for word in lines if word[:2] == ["test", "accuracy"]]
print(f"accuracy {found}")
sys.exit(len(found) != 1 or not found[0] >= float(sys.argv[2]))
