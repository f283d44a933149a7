"""What nvidia-smi topo -m or lstopo --of xml prints, as a cluster for dopt.

    nvidia-smi topo -m > topo.txt
    python3 -m dopt.topology --device h100 --network 400Gbit/s topo.txt > my.cluster
    dopt -list-clusters=my.cluster

The device and the latencies of its links are those of an installed cluster, which dopt prints. Parts below a common
PCIe switch (PIX, PXB) are connected to it, switches and single parts to the host of their NUMA node (PHB, NODE or the
same CPU affinity), hosts to each other. NV# is a number of NVLinks: direct ones, or to an NVSwitch where a GPU does not
have as many as its row adds up to. Texts after source say what is assumed. Faults are reported at line and column.
"""
import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET

from dopt import script

# NVLinks of a GPU and GB/s of one in each direction, by NVIDIA's data sheets.
NVLINKS = {"v100": (6, 25), "a100": (12, 25), "h100": (18, 25), "h200": (18, 25), "b200": (18, 50)}
SMP = "64GB/s"  # between processors: that of Summit's X-Bus
INSTALLED = "that of the installed cluster"
SWITCH, HOST = {"PIX", "PXB"}, {"PIX", "PXB", "PHB", "NODE"}  # ways below a common PCIe switch, a common processor
OPENFABRICS = "3"  # osdev_type of hwloc 1 and 2


class Reader:
    def __init__(self, name):
        self.name, self.line, self.faults = name, 1, []
        self.gpus, self.nics, self.ways, self.affinity, self.speed, self.xml = [], [], {}, {}, 0, False

    def fault(self, column, text):
        self.faults.append(f"{self.name}:{self.line}:{column + 1}: error: {text}")

    def read(self, text):
        self.xml = text.lstrip().startswith("<")
        (self.read_xml if self.xml else self.read_matrix)(text)
        if not self.gpus and not self.faults:
            self.line = 1
            self.fault(0, "there is no GPU: expected the output of `nvidia-smi topo -m` or `lstopo --of xml`")

    def read_matrix(self, text):
        names, seen = [], set()
        for self.line, line in enumerate(text.split("\n"), 1):
            line = re.sub(r"\x1b\[\d*m", lambda m: " " * len(m[0]), line)  # the header is underlined
            words = [(m[0], m.start()) for m in re.finditer(r"\S+", line)]
            if not names and words and words[0][0] == "GPU0" and words[1:] and words[1][0] != "X":
                names = [word for word, _ in itertools.takewhile(lambda word: word[0] != "CPU", words)]
                self.gpus, self.nics = ([n for n in names if n.startswith("GPU") == gpu] for gpu in (True, False))
            elif words and words[0][0] in names and not words[0][0] in seen:
                seen.add(words[0][0])
                self.see_row(names, words, len(line))
        missing = [gpu for gpu in self.gpus if gpu not in seen]
        if missing and not self.faults:
            self.fault(0, f"the matrix is cut off: there is no row {missing[0]}")

    def see_row(self, names, words, end):
        row, cells = words[0][0], words[1:len(names) + 1]
        if len(cells) < len(names):
            self.fault(end, f"the row is cut off: found {len(cells)} columns, expected {len(names)}")
            return
        for name, (way, column) in zip(names, cells):
            if not re.fullmatch(r"X|PIX|PXB|PHB|NODE|SYS|NV\d+", way) or (way == "X") != (name == row):
                self.fault(column, f"expected how {row} and {name} are connected, such as PIX or NV18, found '{way}'")
            elif self.ways.setdefault((name, row), way) != way:
                self.fault(column, f"{row} to {name} is {way}, but {name} to {row} is {self.ways[name, row]}")
            self.ways[row, name] = way
        if row in self.gpus and len(words) > len(names) + 1:
            self.affinity[row] = words[len(names) + 1][0]

    def read_xml(self, text):
        try:
            root = ET.fromstring(text)
        except ET.ParseError as error:
            self.line = error.position[0]
            self.fault(error.position[1], f"XML: {str(error).split(':')[0]}")
            return
        packages, paths = sum(o.get("type") in ("Package", "Socket") for o in root.iter("object")), {}

        def visit(o, path):
            if o.get("type") == "PCIDev":
                names = {c.get("name") or "": c.get("osdev_type") for c in o.iter("object") if c.get("type") == "OSDev"}
                gpu = next((n for n in names if re.fullmatch(r"(cuda|nvml)\d+", n)), None)
                if re.match(r"03\d\d \[10de:", o.get("pci_type") or ""):  # lstopo without CUDA, class and vendor
                    gpu = gpu or o.get("pci_busid")
                nic = next((n for n, kind in names.items() if kind == OPENFABRICS or n.startswith("mlx")), None)
                if gpu or nic:
                    paths[gpu or nic] = path
                    (self.gpus if gpu else self.nics).append(gpu or nic)
                    speed = re.fullmatch(r"\d+([.]\d+)?", o.get("pci_link_speed") or "") if gpu else None
                    self.speed = max(self.speed, float(speed[0]) if speed else 0)
            for child in o.findall("object"):
                visit(child, path + [o])

        visit(root, [root])
        self.gpus.sort(key=lambda n: int(n[4:]) if n.startswith(("cuda", "nvml")) else 0)
        for a, ours in paths.items():
            for b, theirs in paths.items():
                last = [x for x, y in zip(ours, theirs) if x is y][-1]
                bridge = last.get("type") == "Bridge"
                switch, one = bridge and last.get("bridge_type") == "1-1", packages < 2 or last.get("type") != "Machine"
                self.ways[a, b] = "PIX" if switch else "PHB" if bridge else "NODE" if one else "SYS"

    def groups(self, near):
        """Lists of parts that are near each other, directly or through others of the list."""
        groups = []
        for part in self.gpus + self.nics:
            joined = [g for g in groups if any(near(part, other) for other in g)]
            groups = [g for g in groups if g not in joined] + [sum(joined, []) + [part]]
        return sorted(groups, key=lambda g: min((self.gpus + self.nics).index(part) for part in g))

    def nvlinks(self, device, per_pair):
        """By number of NVLinks, the pairs of GPUs that have as many; (GPU, None) is a GPU and an NVSwitch."""
        pairs = {(a, b): int(way[2:]) for i, a in enumerate(self.gpus) for b in self.gpus[i + 1:]
                 if (way := f"NV{per_pair}" if per_pair else self.ways.get((a, b), "")).startswith("NV")}
        if pairs and device not in NVLINKS:
            sys.exit(f"{self.name}: error: NVLinks of '{device}' are not known; expected {', '.join(NVLINKS)}")
        most = max((sum(n for pair, n in pairs.items() if gpu in pair) for gpu in self.gpus), default=0)
        if pairs and most > NVLINKS[device][0]:
            return {min(pairs.values()): [(gpu, None) for gpu in self.gpus if any(gpu in pair for pair in pairs)]}
        return {n: [pair for pair, m in pairs.items() if m == n] for n in sorted(set(pairs.values()))}

    def write(self, text, network, per_pair, out):
        def say(line):
            print(line, file=out)

        def at(parts):
            name = "g" if parts[0] in self.gpus else "nic"
            return f"{name}[{','.join(str((self.gpus if name == 'g' else self.nics).index(part)) for part in parts)}]"

        items = re.split(r"\n(?=  \S|})", text)
        device = next(item.split()[1] for item in items if item.startswith("  device "))
        links = {item.split()[1]: item for item in items if item.startswith("  link ")}
        latency = {name: re.search(r"latency = (\w+)", item)[1] for name, item in links.items()}
        nvlinks, named = self.nvlinks(device, per_pair), "nvidia-smi topo -m" if not self.xml else "lstopo"
        through = any(b is None for pairs in nvlinks.values() for _, b in pairs)
        say(f'cluster @topology {{\n  source "{len(self.gpus)} GPUs, {len(self.nics)} network cards a node: {named}"')
        say("  let nodes = 1" if self.nics else "  // no network card: one node")
        say("\n".join(item for item in items if item.startswith(("  let gbits", "  device", f"  reach {device} "))))
        for n in nvlinks:
            say(f"  link nvlink{n}\n    {{bandwidth = {n} * {NVLINKS[device][1]}GB/s, source = \"{n} NVLinks, each of "
                f'{NVLINKS[device][1]} GB/s each way"}}\n    {{latency = {"" if through else "2 * "}'
                f'{latency["nvlink"]}, source = "{INSTALLED}"}}')
        pcie = re.search(r"bandwidth = (\S+?)[,}]", links["pcie"])[1]
        if self.speed:
            pcie = f"{self.speed:g}GB/s"
        origin = "lstopo: pci_link_speed of a GPU; too low if all were idle" if self.speed else INSTALLED
        say(f'  link pcie\n    {{bandwidth = {pcie}, source = "{origin}"}}\n    {{latency = {latency["pcie"]}, '
            f'source = "{INSTALLED}"}}')
        say(f'  link uplink {{bandwidth = {pcie}, source = "assumed: as pcie, which has all latency of PCIe"}}')
        say(f'  link smp {{bandwidth = {SMP}, source = "assumed: between processors, as the X-Bus of Summit"}}')
        if self.nics:
            say(f'  link network\n    {{bandwidth = {network}, source = "--network, for each card"}}\n    {{latency = '
                f'{latency["network"]}, source = "{INSTALLED}"}}' if network else links["network"])
            say('  switch fabric {source = "assumed: never the limit"}')
        say(f"  node server{'[nodes]' if self.nics else ''} {{\n    {device} g[{len(self.gpus)}]")
        if through:
            say("    switch nvswitch")
        for n, pairs in nvlinks.items():
            for a, b in pairs:
                say(f"    connect {at([a])}, {at([b]) if b else 'nvswitch'} {{link = nvlink{n}}}")
        switches = self.groups(lambda a, b: self.ways.get((a, b)) in SWITCH)
        hosts = self.groups(lambda a, b: self.ways.get((a, b)) in HOST or
                            self.affinity.get(a, a) == self.affinity.get(b, b))
        say(f"    host cpu[{len(hosts)}]")
        if self.nics:
            say(f"    switch nic[{len(self.nics)}]\n    connect nic, fabric {{link = network}}")
        for i, parts in enumerate(switches):
            host = f"cpu[{next(h for h, group in enumerate(hosts) if parts[0] in group)}]"
            if len(parts) > 1:
                say(f"    switch pci{i}\n    connect pci{i}, {host} {{link = uplink}}")
            for names, link in ((self.gpus, "pcie"), (self.nics, "uplink")):
                if here := [part for part in parts if part in names]:
                    say(f"    connect {at(here)}, {f'pci{i}' if len(parts) > 1 else host} {{link = {link}}}")
        if len(hosts) > 1:
            say("    connect cpu, cpu {link = smp}")
        say("  }\n}")


def main():
    parser = script.arguments("topology", __doc__)
    parser.add_argument("text", help="what nvidia-smi topo -m or lstopo --of xml printed")
    parser.add_argument("--device", required=True, help="an installed cluster with the device, such as h100")
    parser.add_argument("--network", help="bandwidth of each network card, such as 400Gbit/s")
    parser.add_argument("--nvlinks", type=int, default=0, help="NVLinks between any two GPUs, not told by lstopo")
    o = parser.parse_args()
    if o.nvlinks < 0:
        parser.error("--nvlinks: expected a number of NVLinks")
    if o.network and not re.fullmatch(r"[0-9.]+([KMGT]B|B|[MG]bit)/s", o.network):
        parser.error(f"--network: expected a bandwidth such as 400Gbit/s, found '{o.network}'")
    reader = Reader(o.text)
    script.read(reader, o.text)
    shipped = subprocess.run(["dopt", f"-list-clusters={o.device}"], capture_output=True, text=True, check=False)
    if shipped.returncode:
        sys.exit(shipped.stderr.rstrip())
    for link in ("pcie", "network") if reader.nics else ("pcie",):
        if f"\n  link {link}" not in shipped.stdout:
            parser.error(f"--device: cluster {o.device} has no link {link}")
    reader.write(shipped.stdout, o.network, o.nvlinks, sys.stdout)


if __name__ == "__main__":
    script.run(main)
