"""Published training steps as commands of dopt: which model, sizes, passes and cluster a row of the table is."""
import collections
import math
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
TREE = os.path.normpath(os.path.join(HERE, *[".."] * 4))
MODELS, EXTERNAL = "test/models/", "test/bench/Inputs/external/"

# What all plans have in common: kernels are fused as dopt does it, whatever the source's framework did; attention is one
# kernel if it was there. Params are in 16 bits where they compute, and in f16 so are the sums of gradients over micro-batches.
GRAD = "grad,canonicalize,cse,dce"
OWN_GRAD = "grad{{accumulate=own}},canonicalize,cse,dce"
PLANS = {
    "FSDP": "{accumulate}amp{{params=low}},dp{{axis=dp}}," + GRAD + "{recompute},shard{{axis=dp}},adamw,{opfuse},prefetch{{policy=fsdp}},cse",
    "Megatron": "{accumulate}amp{{to=f16,params=low}},dp{{axis=dp}}," + OWN_GRAD + "{recompute}{scatter},adam,{opfuse},"
                "tensorfuse{{policy=size,bucket=1TB}}",
    "ZeRO-1": "{peeled}amp{{params=low}},dp{{axis=dp}}," + GRAD + "{recompute},adamw,shard{{axis=dp,stage=1}},{opfuse},"
              "tensorfuse{{policy=ddp}}",
    "DDP, LAMB": "{accumulate}amp{{to=f16,params=low}},dp{{axis=dp}}," + OWN_GRAD + "{recompute},lamb,{opfuse},tensorfuse{{policy=ddp}}",
    "DDP, SGD": "{accumulate}{amp}dp{{axis=dp}}," + GRAD + "{recompute},momentum,{opfuse},tensorfuse{{policy=ddp}}",
}

# With tensor parallelism: sequence parallelism (megatron_core.dir), params gathered during the forward pass.
PLANS["Megatron-Core"] = ("{peeled}amp{{params=low}},dp{{axis=copy}},dp{{axis=dp}}," + GRAD + "{recompute},adamw,"
                          "shard{{axis=dp,reshard_after_forward=false,gather=once,scatter=once}},{opfuse},prefetch,overlap")

# To which rows of a source numbers were fitted, none with stages of a pipeline; `number` counts the others.
def every_second(step, number):
    """Of those on one node without tensor parallelism."""
    return number % 2 == 0 and step.devices <= 8 and int(step.row["tp"] or 1) == 1


def one_device(step, number):
    return step.devices == 1


def every_other(step, number):
    """As these have tensor parallelism in all rows but one."""
    return number % 2 == 0


def none(step, number):
    return False


def all_of_them(step, number):
    return True


# A row belongs to the first of these whose pattern its source matches: vocabulary, plan, flash attention, -framework, which
# rows were fitted.
SOURCES = [
    ("llm-foundry", "llm-foundry, MPT", 50368, "FSDP", True, "fsdp", every_second),
    ("vTrain", "vTrain, GPT", 51200, "Megatron", False, "megatron", every_second),
    ("cases_april2021", "Megatron-LM 2021, GPT", 51200, "Megatron", False, "megatron_2021", every_other),
    ("Megatron-Core", "Megatron-Core r0.8.0, GPT", 131072, "Megatron-Core", True, "megatron_core", none),
    ("llm.c", "llm.c, GPT-2", 50304, "ZeRO-1", True, "fused", all_of_them),
    ("/BERT/", "DeepLearningExamples, BERT-large", None, "DDP, LAMB", False, "eager", every_second),
    ("/ConvNets/", "DeepLearningExamples, ResNet-50", None, "DDP, SGD", False, "fused", one_device),
]
CLUSTERS = [("DGX-2", "v100_dgx2", 16), ("DGX-1", "v100_dgx1", 8), ("A100", "a100", 8), ("H100", "h100", 8)]
MOST_STAGES = 8  # on a device, of interleaved schedules
# Values that Megatron-LM writes to memory: of its loss; of attention where softmax is not fused with what is before it.
LOSS = "entropy.shifted,entropy.e,d_entropy.shifted"
SCORES = {"megatron.dir": ",core.scores,core.masked,d_core.p,d_core.scores,d_core.dots",
          "gpt2.dir": ",scores,masked,d_scores,d_dots"}  # no d_p: other values are named p there
MASKED = {128: 20, 512: 80}  # words of a BERT sequence that are predicted, as the source has them
# Texts between two updates, of which the source has the rest (README, pre-training loss results: accumulation steps of phase 2).
ACCUMULATED = {"V100-32GB DGX-2H": 32768}
BATCHES = (16, 8, 4, 2, 1)  # micro-batches that are tried where none was published
PIPELINE_BATCHES = (4, 2, 1)  # where stages wait for the first micro-batch


class Refused(Exception):
    """Why a row cannot be predicted."""


def positive(row, name, otherwise=None):
    """The whole number in a cell, which may be empty where there is another one to take."""
    if not row[name] and otherwise is not None:
        return otherwise
    if not re.fullmatch(r"[0-9]{1,9}", row[name]) or int(row[name]) < 1:
        raise Refused(f"{name} must be a whole number above 0, not '{row[name]}'")
    return int(row[name])


def real(name, text):
    """A number above 0, which may end in M, B or T as numbers of parameters do."""
    match = re.fullmatch(r"([0-9.]+(?:e[+]?[0-9]{1,2})?)([MBT]?)", text, re.I)
    try:
        number = float(match[1]) * {"": 1, "M": 1e6, "B": 1e9, "T": 1e12}[match[2].upper()] if match else 0
    except ValueError:
        number = 0
    if not 0 < number < 1e18:
        raise Refused(f"{name} must be a number above 0, not '{text}'")
    return number


class Step:
    """A row. `reason` says why dopt cannot run it, or is None; `commands` has one or, without a micro-batch, several.
    `fitted`: numbers of a framework or of a device were fitted to it. `line`: of the file."""

    def __init__(self, row, line=0):
        self.row = {name: (cell or "").strip() for name, cell in row.items() if name}
        self.line = line
        self.commands, self.fitted, self.reason, self.stages = [], False, None, 1
        source = next((s for s in SOURCES if s[0] in self.row["source"]), None)
        device = re.search(r"[A-Z]+\d+", self.row["device_type"].upper())
        self.group = (source[1] + " on " + (device[0] if device else "unknown devices")) if source else self.row["source"] or "no source"
        try:
            self.set(source)
        except Refused as why:
            self.reason, self.commands = str(why), []

    def set(self, source):
        row = self.row
        if not source:
            raise Refused("the source is not in test/bench/Inputs/external/rows.py")
        if not any(key.lower() in self.machine() for key, *_ in CLUSTERS):
            raise Refused("no cluster that is installed has such devices")
        batch = positive(row, "global_batch")
        self.batch = ACCUMULATED.get(row["device_type"], batch)
        self.measured = real("step_ms", row["step_ms"]) / 1e3 * (self.batch // batch)
        self.devices = positive(row, "devices")
        self.params = real("params", row["params"]) if row["params"] else None
        self.cluster, self.node = next(rest for key, *rest in CLUSTERS if key.lower() in self.machine())
        self.framework, self.fits_rule = source[5:]
        self.set_model(source[2])
        plan = "ZeRO-1" if source[3] == "Megatron-Core" and "P" not in self.sizes else source[3]
        self.commands = [self.command(plan, *source[4:6], micro) for micro in self.micro_batches()]
        if not self.commands:
            raise Refused("the batch is not a multiple of the replicas and the micro-batch")

    def machine(self):
        return (self.row["device_type"] + " " + self.row["interconnect"]).lower()

    def set_model(self, vocabulary):
        row, tensor, self.stages = self.row, positive(self.row, "tp", 1), positive(self.row, "pp", 1)
        if self.devices % (tensor * self.stages):
            raise Refused("devices are not a multiple of tp x pp")
        self.replicas = self.devices // tensor // self.stages
        if "ResNet" in row["model"]:
            self.model, self.sizes = MODELS + "resnet50.dir", {"N": self.replicas, "A": self.replicas}
            return
        for name in ("layers", "hidden", "heads", "seq"):
            positive(row, name)
        if int(row["hidden"]) % int(row["heads"]):
            raise Refused("hidden is not a multiple of heads")
        if int(row["layers"]) < self.stages:
            raise Refused("there are fewer layers than stages")
        self.model = MODELS + "gpt2.dir"
        self.sizes = {"L": row["layers"], "D": row["hidden"], "A": row["heads"], "T": row["seq"], "N": self.replicas}
        if "BERT" in row["model"]:
            self.model = MODELS + "bert.dir"
            if int(row["seq"]) not in MASKED:
                raise Refused("the masked words of such sequences are not in test/bench/Inputs/external/rows.py")
            self.sizes["M"] = MASKED[int(row["seq"])]
        else:
            self.sizes["V"] = vocabulary
        if tensor > 1:
            core = "Megatron-Core" in row["source"]
            self.model = EXTERNAL + ("megatron_core.dir" if core else "megatron.dir")
            self.sizes |= {"P": tensor, **({"S": self.stages} if self.stages > 1 else {})}
            if core:  # shards divide the dims of params: over as many devices as the largest power of two, and copies of these
                self.sizes["C"] = self.replicas // (self.replicas & -self.replicas)

    def micro_batches(self):
        each, rest = divmod(self.batch, self.replicas)
        given = [positive(self.row, "micro_batch")] if self.row["micro_batch"] else PIPELINE_BATCHES if self.stages > 1 else BATCHES
        return [each // micro for micro in given if not rest and each % micro == 0]

    def command(self, plan, flash, framework, steps):
        """The words after `dopt`, from the root of the tree."""
        # activation checkpointing repeats messages of tensor parallelism as it does all else
        recompute = ",recompute{collectives=true}" if plan == "Megatron" else ",recompute"
        recompute = recompute if self.row["recompute"].startswith("full") else ""
        if plan == "Megatron-Core" and self.stages > 1:  # what sequence parallelism gathers is gathered again in the backward pass
            recompute = ",recompute{policy=gathers}"
        accumulate, peeled = (f"accumulate{{steps={steps}{option}}}," if steps > 1 else "" for option in ("", ",peel=true"))
        if self.stages > 1:
            accumulate = peeled = self.pipeline(steps)
        # messages between stages are sent as slices, by Megatron-LM (arXiv 2104.04473, 4.1) and DeepSpeed (pipe_partitioned)
        scatter = ",scatter-sends{axis=tp}" if self.stages > 1 and "P" in self.sizes else ""
        tf32 = "TF32" in self.row["precision"]
        passes = PLANS[plan].format(accumulate=accumulate, peeled=peeled, recompute=recompute, scatter=scatter, amp="" if tf32 else "amp{to=f16,params=low},",
                                    opfuse=self.opfuse(flash, self.batch // self.replicas // steps))
        if "NHWC" in self.row["precision"]:
            passes = passes.replace("opfuse", "channels-last{policy=all},opfuse", 1)
        sizes = self.sizes | {"B": self.batch, "nodes": -(-self.devices // self.node)}
        return ["-cluster=" + self.cluster, *(["-framework=" + framework] if framework else []), *(["-tf32"] if tf32 else []), "-pass=inline," + passes, *(word for k, v in sizes.items() for word in ("-D", f"{k}={v}")), self.model]

    def opfuse(self, flash, texts):
        """Megatron-LM computes the loss in f32, an op at a time (mpu/cross_entropy.py); its kernel of scores, mask and softmax
        does heads of texts by fours, and others an op at a time (fused_softmax.py, is_kernel_available)."""
        options = ["online=true"] if flash else []
        if self.framework.startswith("megatron") and not flash:  # Megatron-Core has a fused loss
            heads = texts * int(self.row["heads"]) // int(self.row["tp"] or 1)
            scores = "" if heads % 4 == 0 else SCORES[os.path.basename(self.model)]
            options.append(f'unfused="{LOSS}{scores}"')
        return "opfuse" + (f"{{{','.join(options)}}}" if options else "")

    def pipeline(self, steps):
        """The pass that divides the step by blocks. Megatron-LM's tables are of interleaved schedules, but do not say how many
        stages a device has: as few as divide the blocks, if micro-batches fill the pipeline."""
        layers = int(self.row["layers"])
        several = [v for v in range(2, MOST_STAGES + 1) if layers % (v * self.stages) == 0]
        interleaved = "Megatron-LM" in self.row["source"] and several and steps % self.stages == 0
        stages = self.stages * several[0] if interleaved else self.stages
        cut = ",".join(f"block{layers // stages * k}" for k in range(1, stages))
        return f'pipeline{{axis=pp,stages={stages},schedule={"interleaved" if interleaved else "1f1b"},steps={steps},cut="{cut}"}},'

    def label(self, command):
        sizes = [word for before, word in zip(command, command[1:]) if before == "-D" and "nodes" not in word]
        steps = re.search(r"steps=(\d+)", " ".join(command))
        return " ".join(sizes) + (f", {steps[1]} micro-batches" if steps else "") + (
            ", recompute" if self.row["recompute"].startswith("full") else "") + (", TF32" if "-tf32" in command else "")


def mark_fitted(steps):
    count = collections.Counter()
    for step in steps:
        if not step.reason and step.stages == 1:
            step.fitted = step.fits_rule(step, count[step.group])
            count[step.group] += 1


def ranks(values):
    """From 1, the mean of its places for each of equal values."""
    order = sorted(values)
    return [order.index(v) + (order.count(v) + 1) / 2 for v in values]


def spearman(xs, ys):
    """The correlation of the ranks; NaN where one side is constant."""
    a, b = ranks(xs), ranks(ys)
    middle = (len(a) + 1) / 2
    spread = math.sqrt(sum((x - middle) ** 2 for x in a) * sum((y - middle) ** 2 for y in b))
    return sum((x - middle) * (y - middle) for x, y in zip(a, b)) / spread if spread else math.nan
