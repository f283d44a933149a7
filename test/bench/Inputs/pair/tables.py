"""Pieces of a page of Markdown."""
import os
import re
import textwrap

WIDTH = 118  # of lines of text


def machine():
    with open("/proc/cpuinfo") as text:
        model = re.search(r"model name\s*: (.*)", text.read())
    return f"{model[1] if model else 'unknown'}, {os.cpu_count()} processors, Linux {os.uname().release}"


def filled(text):
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def number(x):
    return f"{x:,.0f}"


def table(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(cell) for cell in line) + " |" for line in lines) + "\n"
