"""Writes rows of other sizes and rows that are wrong, and says whether each is predicted soundly or refused for its own reason.

    other_rows.py EXTERNAL BUILD FILE.tsv
"""
import json
import os
import subprocess
import sys

COLUMNS = ("micro_batch source model params layers hidden heads seq global_batch tp pp dp_fsdp precision recompute devices device_type "
           "interconnect measured unit mfu_or_tflops step_ms notes").split()  # not in the order of steps.tsv
PEAK = {"A100": 312e12, "H100": 989e12}  # FLOP/s in 16 bits of the data sheets
USUAL = {"source": "VIA-Research/vTrain", "model": "m", "layers": 2, "hidden": 1024, "heads": 16, "seq": 512, "global_batch": 8,
         "micro_batch": 1, "tp": 1, "pp": 1, "precision": "fp16", "recompute": "none", "devices": 8, "device_type": "A100-80GB", "step_ms": 9}
MPT = {"source": "mosaicml/llm-foundry", "device_type": "h100_80gb", "dp_fsdp": "fsdp"}
CORE = {"source": "Megatron-Core", "device_type": "H100-80GB", "micro_batch": ""}
GOOD = [
    {}, {"tp": ""}, {"hidden": 768, "heads": 12}, {"hidden": 1600, "heads": 25}, {"hidden": 5120, "heads": 40}, {"hidden": 12288, "heads": 96},
    {"devices": 4, "global_batch": 4}, {"devices": 1}, {"devices": 8, "tp": 8}, {"tp": 4, "pp": 2}, {"tp": 2, "pp": 2, "layers": 4},
    {"pp": 8, "layers": 8, "micro_batch": 4}, {"layers": 7, "pp": 2}, {"devices": 64, "global_batch": 64},
    {"devices": 512, "tp": 8, "pp": 8, "layers": 8, "global_batch": 64}, {"devices": 4096, "tp": 8, "global_batch": 1024, "micro_batch": 2},
    {"devices": 16, "tp": 16}, {"recompute": "full"}, {"micro_batch": ""}, {"params": "35M", "layers": 1, "hidden": 512, "heads": 8},
    MPT, MPT | {"seq": 8192}, MPT | {"seq": 65536, "recompute": "full"}, MPT | {"devices": 256, "global_batch": 512}, MPT | {"layers": 1},
    CORE | {"tp": 2}, CORE | {"tp": 8, "pp": 2, "devices": 96, "global_batch": 96, "layers": 8}, CORE | {"tp": 4, "devices": 192, "global_batch": 96},
    CORE, {"source": "karpathy/llm.c", "dp_fsdp": "zero 1"}, {"source": "/BERT/", "model": "BERT", "seq": 128, "layers": 24},
    {"source": "cases_april2021", "pp": 2, "tp": 2, "layers": 12, "micro_batch": "", "global_batch": 64},
]
REASONS = [
    ("the source is not in", {"source": ""}), ("the source is not in", {"source": "someone/else"}),
    ("no cluster that is installed", {"device_type": "MI300X"}), ("no cluster that is installed", {"device_type": ""}),
    ("layers must be", {"layers": ""}), ("layers must be", {"layers": "0"}), ("hidden must be", {"hidden": "wide"}),
    ("heads must be", {"heads": "-4"}), ("seq must be", {"seq": "1e3"}), ("global_batch must be", {"global_batch": ""}),
    ("micro_batch must be", {"micro_batch": "two"}), ("tp must be", {"tp": "0"}), ("pp must be", {"pp": "1.5"}),
    ("devices must be", {"devices": "many"}), ("step_ms must be", {"step_ms": ""}), ("step_ms must be", {"step_ms": "nan"}),
    ("params must be", {"params": "about 1B"}), ("parameters, but", {"params": "70B"}), ("hidden is not a multiple", {"heads": 15}),
    ("devices are not a multiple", {"tp": 3}), ("devices are not a multiple", {"tp": 16}), ("not a multiple of the replicas", {"micro_batch": 3}),
    ("not a multiple of the replicas", {"global_batch": 9}), ("fewer layers than stages", {"pp": 4}),
    ("masked words", {"source": "/BERT/", "model": "BERT", "seq": 384}), ("", {"tp": 8, "heads": 4}), ("", {"devices": 999999999, "global_batch": 999999999}),
]


def write(path):
    with open(path, "w", newline="") as out:
        out.write("\ufeff" + "\t".join(COLUMNS) + "\r\n")
        for row in GOOD + [row for _, row in REASONS]:
            row = USUAL | row
            out.write("\t".join(str(row.get(name, "")) for name in COLUMNS) + "\r\n")
        out.write("VIA-Research/vTrain\tshort row\r\n")


def run(external, build, path, *options):
    done = subprocess.run([sys.executable, external, build, path, *options], text=True, capture_output=True, timeout=900)
    assert done.returncode == 0 and not done.stderr, done.stderr[-2000:]
    return done.stdout


def main():
    external, build, path = sys.argv[1:]
    write(path)
    kept = path + ".json"
    if os.path.exists(kept):
        os.remove(kept)
    page = run(external, build, path, "-keep", kept)
    print(page[page.find("Rows that are not"):page.find("What differs")])
    for number, (reason, row) in enumerate(REASONS, 2 + len(GOOD)):
        line = next((line for line in page.splitlines() if f"tsv:{number} " in line + " " or f"tsv:{number}," in line), None)
        assert line and reason in line, (number, row, line)
    total = next(line for line in page.splitlines() if line.startswith("| all |"))
    assert f" of {len(GOOD)} |" in total, total
    for words, cost in json.load(open(kept)).items():
        step = dict(word.split("=") for word in words.split() if word[0].isupper() and "=" in word)
        devices = int(step.get("N", 1)) * int(step.get("P", 1)) * int(step.get("S", 1))
        peak = next(f for name, f in PEAK.items() if f"cluster={name.lower()}" in words)
        assert cost["iteration"] * devices * peak >= cost["flops"], words
        assert cost["flops"] >= 6 * 12 * int(step["L"]) * int(step["D"]) ** 2 * int(step["B"]) * int(step["T"]), words
        assert cost["peak_bytes"] >= cost["persistent_bytes"] and cost["peak_bytes"] * devices >= 4 * cost["parameters"], words
    print("right")


main()
