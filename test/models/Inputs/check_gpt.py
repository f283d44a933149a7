"""check_gpt.py BIGRAM LOG: is the loss on held-out text that a program of char_gpt.dir printed to LOG clearly below both
entropies of pairs that char_gpt.py printed to BIGRAM?"""
import re
import sys

CLEARLY = 0.2  # nats a character: what pairs tell beside single characters is 0.75

with open(sys.argv[1]) as bigram, open(sys.argv[2]) as log:
    entropy = [float(x) for x in re.findall(r"bigram \w+ ([\d.]+)", bigram.read())]
    losses = [float(x) for x in re.findall(r"^test loss (\S+)$", log.read(), re.M)]
print(f"held-out loss {losses[0]:.3f}, bigram {entropy}")
sys.exit(0 if len(entropy) == 2 and losses[0] < min(entropy) - CLEARLY else 1)
