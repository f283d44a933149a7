"""How a peer takes its turns: it reads a number of seconds a line, trains for so long, and answers with a median."""
import statistics
import sys
import time

WARM_UP = 3  # steps in which memory is allocated and code is compiled
LEAST = 5  # steps of a turn, however long they take


def take(version, step):
    """Says what it is, then answers each line with the median of a step's times in microseconds."""
    for _ in range(WARM_UP):
        step()
    print(version, flush=True)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while len(times) < LEAST or time.perf_counter() < end:
            begin = time.perf_counter()
            step()
            times.append(time.perf_counter() - begin)
        print(statistics.median(times) * 1e6, flush=True)
