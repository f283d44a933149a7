"""A machine configuration of FlexFlow (--machine-model-file) as a cluster for dopt.

    python3 -m dopt.machine_config machine_config > my.cluster
    dopt -list-clusters=my.cluster

The file, lines `name = value` with comments from # on, is read as FlexFlow's src/runtime/machine_model.cc does: latencies in
milliseconds, bandwidths in GB/s. GPUs of a socket share one PCIe to its host and one to the devices; upi and nic have half of
the latency on each side; a node without cards of its sockets has one; cards of a socket are one link with the sum of their
bandwidths. It does not describe GPUs: they are the default device. Links join parts, so a path of the file that is not the
shortest over them is told as a note, as is more than one card. Faults are reported at line and column.
"""
import difflib
import re
import sys

from dopt import script

DEVICES = 131072  # of a cluster, docs/clusters.md
COUNTS = {"num_nodes": 1, "num_sockets_per_node": 1, "num_cpus_per_socket": 0, "num_gpus_per_socket": 1, "nic_persocket": 0}
LINKS = ("membus", "upi", "nic", "pci", "nvlink")
STEPS = ("membus", "upi", "nic", "pci_to_host", "pci_to_dev", "nvlink", "null")
FAR, ENDS = ("intra_socket", "inter_socket", "inter_node"), ("sys_mem", "gpu_fb_mem")
GPU = "gpu_fb_mem_to_gpu_fb_mem"
# From one kind of memory to another on one socket, and what comes between for two sockets or nodes.
PATHS = {"sys_mem_to_sys_mem": (["membus"], ["membus"]), "sys_mem_to_gpu_fb_mem": (["membus"], ["pci_to_dev"]),
         "gpu_fb_mem_to_sys_mem": (["pci_to_host"], ["membus"]), GPU: (["pci_to_host"], ["pci_to_dev"])}
NAMES = {**dict.fromkeys(COUNTS, int), **{f"{link}_{what}": float for link in LINKS for what in ("latency", "bandwidth")},
         **{f"{far}_{ends}": list for far in FAR for ends in PATHS}}


class Reader:
    def __init__(self, name):
        self.name, self.line, self.faults, self.value, self.lines = name, 1, [], {}, {}

    def fault(self, column, text):
        self.faults.append(f"{self.name}:{self.line}:{column + 1}: error: {text}")

    def read(self, text):
        for self.line, line in enumerate(text.split("\n"), 1):
            words = [(m[0], m.start()) for m in re.finditer(r"=|[^\s=]+", line.partition("#")[0])]
            if words:
                self.see(*words[0], words[1:])
        self.line = 1
        missing = [n for n in NAMES if n not in self.lines and (NAMES[n] is not list or self.uses(n))]
        for name in missing if not self.faults else ():
            self.fault(0, f"{name} is not set")
        v = self.value
        if not self.faults and v["num_nodes"] * v["num_sockets_per_node"] * v["num_gpus_per_socket"] > DEVICES:
            self.fault(0, f"the machine has more than {DEVICES} GPUs")

    def see(self, name, column, rest):
        if name not in NAMES:
            near = difflib.get_close_matches(name, NAMES, 1)
            self.fault(column, f"unknown name '{name}'" + (f"; did you mean '{near[0]}'?" if near else ""))
        elif len(rest) < 2 or rest[0][0] != "=":
            self.fault(column, f"expected '{name} =' and a value")
        elif name in self.lines:
            self.fault(column, f"'{name}' is given twice")
        elif NAMES[name] is not list and len(rest) > 2:
            self.fault(rest[2][1], f"{name} takes one value; found '{rest[2][0]}' after it")
        else:
            self.value[name] = self.see_path(rest[1:]) if NAMES[name] is list else self.see_number(name, *rest[1])
        self.lines.setdefault(name, self.line)

    def see_number(self, name, word, column):
        latency, count = name.endswith("_latency"), name in COUNTS
        try:
            number = NAMES[name](word)
        except ValueError:
            number = -1
        most = DEVICES if count else 3600e3 if latency else 1e12
        if not (COUNTS[name] if count else 0) <= number <= most or not (number or count or latency):
            what = f"a whole number from {COUNTS[name]} to {DEVICES}" if count else \
                "a number of milliseconds, at least 0" if latency else "a number of GB/s, above 0"
            self.fault(column, f"{name} must be {what}, not {word}")
        return number

    def see_path(self, words):
        for word, column in words:
            if word not in STEPS:
                self.fault(column, f"'{word}' is not a link; expected {', '.join(STEPS[:-1])}, or null for none")
        return [word for word, _ in words if word != "null"]

    def uses(self, name):
        """Is there a pair of memories that the path is for?"""
        v = self.value
        far = next(i for i, far in enumerate(FAR) if name.startswith(far))
        if far:
            return v.get(("num_sockets_per_node", "num_nodes")[far - 1], 1) > 1
        return not name.endswith("sys_mem_to_sys_mem") and (not name.endswith(GPU) or v.get("num_gpus_per_socket", 1) > 1)

    def nvlink(self, far):
        return far != "inter_node" and self.value.get(f"{far}_{GPU}") == ["nvlink"]

    def notes(self):
        """What is other in the cluster than in the file."""
        if self.value["nic_persocket"] > 1:
            yield (f"{self.name}:{self.lines['nic_persocket']}:1: note: nic_persocket: the cluster has one link of a socket "
                   "with the sum of the bandwidths, where FlexFlow sends messages over the cards in turn")
        for far, between in zip(FAR, ([], ["upi"], ["nic"])):
            for ends, (out, into) in PATHS.items():
                name, path = f"{far}_{ends}", out + between + into
                path = ["nvlink"] if ends == GPU and self.nvlink(far) else path
                if self.uses(name) and self.value[name] != path:
                    yield f"{self.name}:{self.lines[name]}:1: note: {name}: the cluster has {' '.join(path)}"

    def write(self):
        v, number = self.value, lambda x: f"{x:.15g}"
        nodes, sockets, gpus, cards = (v[n] for n in ("num_nodes", "num_sockets_per_node", "num_gpus_per_socket", "nic_persocket"))
        # A membus is one for both ways, unless the file has it on one of them only.
        shared = ", shared = true" if "membus" in v["intra_socket_gpu_fb_mem_to_sys_mem"] else ""
        yield 'cluster @machine_config {\n  source "a FlexFlow machine configuration"\n  device gpu'
        for link in LINKS:
            halves, many = 2 if link in ("upi", "nic") else 1, max(1, cards) if link == "nic" else 1
            yield (f"  link {link} {{bandwidth = {number(v[link + '_bandwidth'] * many)}GB/s, "
                   f"latency = {number(v[link + '_latency'] * 1e6 / halves)}ns{shared if link == 'membus' else ''}}}")
        yield "  link inside {bandwidth = 1000TB/s} // never the limit\n  switch fabric"
        yield f"  node server[{nodes}] {{\n    switch sockets" + ("" if cards else ", card\n    connect card, fabric {link = nic}")
        for s in range(sockets):
            # The switch before the card makes the way over upi the one with fewer links.
            yield (f"    gpu g{s}[{gpus}]\n    host sys_mem{s}\n    switch root{s}, port{s}\n"
                   f"    connect g{s}, root{s} {{link = pci, common = true}}\n"
                   f"    connect sys_mem{s}, root{s} {{link = membus}}\n    connect root{s}, sockets {{link = upi}}\n"
                   f"    connect root{s}, port{s} {{link = inside}}\n    connect port{s}, "
                   + ("fabric {link = nic}" if cards else "card {link = inside}"))
            if self.nvlink(FAR[0]) and gpus > 1:
                yield f"    connect g{s}, g{s} {{link = nvlink}}"
            for t in range(s if self.nvlink(FAR[1]) else 0):
                yield f"    connect g{t}, g{s} {{link = nvlink}}"
        yield "  }\n}"


def main():
    parser = script.arguments("machine_config", __doc__)
    parser.add_argument("file", help="a machine configuration of FlexFlow")
    o = parser.parse_args()
    reader = Reader(o.file)
    script.read(reader, o.file)
    for note in reader.notes():
        print(note, file=sys.stderr)
    print("\n".join(reader.write()))


if __name__ == "__main__":
    script.run(main)
