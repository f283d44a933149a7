"""The steps that are predicted, and the plans that they are predicted of."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
TEST = os.path.join(HERE, "..", "..", "..")
CLUSTER = os.path.join(TEST, "..", "parser", "cluster", "shipped", "h100x32.cluster")
DEVICES = 32
SLOW = 4  # the network of a slow cell has this part of the bandwidth

# What all plans start with: 16 bits with states in f32, blocks computed again as a block, kernels fused.
BEFORE = "amp,dp{axis=dp},grad,canonicalize,cse,dce,recompute,shard{axis=dp},adam,opfuse"
PLANS = {
    "shard": "",
    "zero3": "prefetch{policy=zero3}",
    "fsdp": "prefetch{policy=fsdp}",
    "P": "prefetch",
    "S": "unshard",
    "P+S": "prefetch,unshard",
    "search": "prefetch{policy=search},unshard{policy=search}",
}
# These are also predicted as a framework runs them. There are no numbers of DeepSpeed: its kernels are those of PyTorch.
AS_RUN = ("zero3", "fsdp", "P+S")
FRAMEWORK = "fsdp"
AMP_AS_RUN = "amp{params=low}"  # FSDP gathers params in 16 bits, and so are sums of embeddings


class Cell:
    """One step: so many sequences of so many tokens on each device, in each of so many micro-batches."""

    def __init__(self, model, sequences, tokens, micro=1, slow=False):
        self.model, self.sequences, self.tokens, self.micro, self.slow = model, sequences, tokens, micro, slow
        self.name = f"{model}/{sequences}x{tokens}/{micro}" + ("/slow" if slow else "")

    def options(self, folder):
        sizes = [f"N={DEVICES}", f"B={DEVICES * self.sequences * self.micro}", f"T={self.tokens}"]
        model = os.path.join(TEST, "models", self.model + ".dir")
        return ["-cluster=" + (slow_cluster(folder) if self.slow else "h100x32"), *(w for s in sizes for w in ("-D", s)), model]

    def passes(self, plan, as_run=False):
        before = BEFORE.replace("amp,", AMP_AS_RUN + ",") if as_run else BEFORE
        return "inline," + (f"accumulate{{steps={self.micro}}}," if self.micro > 1 else "") + before + (
            "," + PLANS[plan] if PLANS[plan] else "")


def slow_cluster(folder):
    """h100x32 with a slower network, as a file."""
    path = os.path.join(folder, "slow.cluster")
    with open(CLUSTER) as text, open(path, "w") as out:
        def slower(found):
            return f"{found[1]}{float(found[2]) / SLOW:g}GB/s"
        out.write(re.sub(r"(link infiniband\s*\{bandwidth = )([\d.]+)GB/s", slower, text.read()))
    return path


MODELS = {"llama3": "Llama 3 70B", "mixtral": "Mixtral 8x7B"}
ALL = [Cell(model, *more) for model in MODELS for more in (
    *((sequences, tokens) for sequences in (1, 2, 4) for tokens in (512, 1024, 2048)),
    *((1, 1024, micro) for micro in (4, 16)),
    (1, 512, 1, True), (1, 2048, 1, True), (1, 1024, 16, True),
)]

# What DeepCompile's section 5.2 says of its P+S: the least and the most speedup over a baseline, by the cells that it is
# about. It gives ranges, not cells, but for two.
PAPER = {
    ("llama3", "zero3"): {"llama3/1x512/1": "1.11", "llama3/1x1024/16": "1.28", "": "1.14 to 1.18"},
    ("llama3", "fsdp"): {"": "1.16 to 1.26"},
    ("mixtral", "zero3"): {"mixtral/1x1024/16": "1.54", "": "1.07 to 1.35"},
    ("mixtral", "fsdp"): {"": "1.06 to 1.14"},
}
# Section 5.3: about so many GB without and with unsharding.
PAPER_MEMORY = {"llama3": (40, 65), "mixtral": (30, 65)}


def paper(cell, baseline):
    """Speedups over micro-batches are published for 16 only, and over FSDP for none."""
    about = PAPER[cell.model, baseline]
    between = cell.slow or cell.micro not in (1, 16) or (cell.micro > 1 and baseline == "fsdp")
    return "" if between else about.get(cell.name, about[""])
