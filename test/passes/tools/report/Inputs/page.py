"""Reads a report as a browser without scripts does and prints its title, figures and tables as lines.

Sees to it that elements are closed in order, that a table's rows have as many cells as its head, that ids are
unique and what aria attributes refer to is there, and that nothing on the page is outside of it.
"""
import html.parser
import json
import re
import sys

VOID = {"meta", "link", "br", "input"}


class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.open, self.ids, self.refers, self.text = [], set(), [], ""
        self.row, self.head, self.tags = None, 0, set()

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        self.tags.add(tag)
        for key, value in attributes.items():
            assert key not in ("src", "srcset", "action", "ping", "onerror", "onclick"), (tag, key)
            assert key != "href" or value == "data:,", value
            if key == "id":
                assert value not in self.ids, value
                self.ids.add(value)
            if key in ("aria-labelledby", "aria-describedby"):
                self.refers.append(value)
        if tag not in VOID:
            self.open.append(tag)
        if tag == "tr":
            self.row = []
        if tag in ("td", "th", "caption", "title", "h1", "h2", "dt", "dd", "script"):
            self.text = ""

    handle_startendtag = handle_starttag

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open)
        self.open.pop()
        text = " ".join(self.text.split())
        if tag in ("td", "th"):
            self.row.append(text)
        elif tag == "tr":
            if self.open[-1] == "thead":
                self.head = len(self.row)
            assert len(self.row) == self.head, (self.row, self.head)
            print("| " + " | ".join(self.row))
        elif tag in ("title", "h1", "h2", "caption"):
            print("%s: %s" % (tag, text))
        elif tag == "dt":
            self.name = text
        elif tag == "dd":
            print("%s = %s" % (self.name, text))
        elif tag == "script" and self.text.startswith("{"):
            self.data = json.loads(self.text)

    def handle_data(self, data):
        self.text += data


with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
assert not re.search(r"https?:|url\(|@import|//[a-z]", text), "something is outside"
page = Page()
page.feed(text)
page.close()
assert not page.open and set(page.refers) <= page.ids, (page.open, page.refers)
data = page.data
for d, device in enumerate(data["devices"]):
    for lane in device["lanes"]:
        assert all(len(lane[key]) == lane["n"] for key in "gdokbsxtc"), lane
        assert min(lane["g"] + lane["d"] + [0]) >= 0, "bars overlap"
        assert sum(lane["g"]) + sum(lane["d"]) <= data["end"]
    print("data of device %d: %d kernels, %d collectives, %d exposed" % (
        d, sum(device["lanes"][0]["k"]), sum(device["lanes"][1]["k"]), len(device["e"]) // 2))
print("tags:", " ".join(sorted(page.tags)))
print("size: %d bytes" % len(text))
