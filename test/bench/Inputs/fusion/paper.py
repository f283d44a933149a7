"""What the papers published: DisCo (tables 1, 3, 4; figures 9, 10), dPRO (table 5)."""

# Table 1: speed-ups in % over the best baseline, (T_base - T) / T, of DisCo and of full overlap.
DISCO = {
    "vgg19/A": (8.6, 18.9),
    "resnet50/A": (12.5, 28.5),
    "transformer/A": (26.7, 34.7),
    "rnnlm/A": (5.1, 10.9),
    "bert/A": (18.5, 27.6),
    "reformer/A": (13.4, 25.4),
    "vgg19/B": (10.1, 12.5),
    "resnet50/B": (9.6, 16.8),
    "transformer/B": (20.6, 25.9),
    "rnnlm/B": (8.6, 12.3),
    "bert/B": (13.7, 19.5),
    "reformer/B": (14.5, 21.8),
}

# Tables 3 and 4, cluster A: s an iteration, and minutes of search.
ALPHA = {
    "vgg19": {1: (2.01, 11), 1.05: (1.85, 17), 1.1: (1.83, 36)},
    "resnet50": {1: (0.18, 15), 1.05: (0.16, 22), 1.1: (0.16, 48)},
    "transformer": {1: (1.18, 54), 1.05: (1.01, 74), 1.1: (1.02, 143)},
    "rnnlm": {1: (0.74, 6), 1.05: (0.58, 9), 1.1: (0.57, 16)},
    "bert": {1: (1.26, 69), 1.05: (1.13, 89), 1.1: (1.10, 158)},
    "reformer": {1: (1.44, 53), 1.05: (1.26, 78), 1.1: (1.21, 161)},
}
BETA = {
    "vgg19": {1: (1.83, 66), 5: (1.87, 29), 10: (1.85, 17), 30: (2.09, 14)},
    "resnet50": {1: (0.12, 84), 5: (0.15, 41), 10: (0.16, 22), 30: (0.21, 15)},
    "transformer": {1: (1.00, 195), 5: (1.02, 98), 10: (1.01, 74), 30: (1.14, 54)},
    "rnnlm": {1: (0.53, 64), 5: (0.54, 17), 10: (0.58, 9), 30: (0.76, 7)},
    "bert": {1: (1.12, 258), 5: (1.14, 114), 10: (1.13, 89), 30: (1.26, 71)},
    "reformer": {1: (1.19, 239), 5: (1.24, 101), 10: (1.26, 78), 30: (1.38, 59)},
}

# dPRO, table 5: hours of search without its three speed-ups, and with one more of them after another.
SPEEDUPS = {
    "resnet50": (14.60, 5.35, 0.91, 0.29),
    "vgg16": (11.97, 3.74, 0.71, 0.04),
    "inception_v3": (16.75, 6.13, 1.04, 0.47),
    "bert": (None, 22.01, 3.25, 0.49),  # without: more than 24
}


def speedup(base, time):
    """As Table 1 has it: (T_base - T) / T."""
    return (base - time) / time


def share(base, time, bound):
    """Of the way from the best baseline to full overlap."""
    return (base - time) / (base - bound)


def disco_share(name):
    """The paper's own: a speed-up s is a time of T_base / (1 + s)."""
    found, bound = (1 / (1 + s / 100) for s in DISCO[name])
    return share(1, found, bound)
