"""The training steps of DisCo's Table 1, on its clusters, and the policies that others ship."""
import dataclasses

import tool

# What makes a step of a model: an allreduce a gradient, and each op a kernel.
PASSES = "grad,{optimizer},dp{{axis=dp}},canonicalize,cse,dce"


@dataclasses.dataclass(frozen=True)
class Cluster:
    name: str
    letter: str  # in the paper
    devices: int


CLUSTERS = [Cluster("gtx1080ti_x12", "A", 12), Cluster("t4_x64", "B", 64)]


@dataclasses.dataclass(frozen=True)
class Model:
    name: str
    optimizer: str
    batch: dict  # on one device of the cluster with that letter
    sizes: tuple = ()  # other than in the file, as for -D; n: devices


# Models whose batch normalization can be of each device's part apart.
APART = {"resnet50": ("A={n}",)}

# The largest batches with which all plans of the page fit into the device's memory, of 1, 2, 3, 4, 6, 8, 12, 16, ...
# (powers of two, and one and a half times them); plans of searches may need half as much again as the step. The sequences of Reformer, of which one of full length is
# larger than any of these devices, are cut to 4096. ResNet normalizes the part of each device apart, as frameworks do.
MODELS = [
    Model("vgg19", "momentum", {"A": 64, "B": 96}),
    Model("resnet50", "momentum", {"A": 96, "B": 128}, APART["resnet50"]),
    Model("transformer", "adam", {"A": 96, "B": 128}),
    Model("rnnlm", "sgd", {"A": 768, "B": 1024}),
    Model("bert", "adam", {"A": 8, "B": 16}),
    Model("reformer", "adam", {"A": 1, "B": 2}, ("T=4096",)),
]

# What the paper compares itself with (section 6.1), by its names, and as passes behind the step.
BASELINES = {
    "no fusion": "",
    "op fusion": "opfuse{policy=xla}",
    "AllReduce fusion": "tensorfuse{policy=size}",
    "both": "opfuse{policy=xla},tensorfuse{policy=size}",
    "DDP": "tensorfuse{policy=ddp}",
}
# What else a user of dopt may take without a search.
OTHERS = {
    "Horovod": "tensorfuse{policy=horovod}",
    "greedy": "opfuse{policy=greedy}",
    "greedy, size": "opfuse{policy=greedy},tensorfuse{policy=size}",
    "greedy, ddp": "opfuse{policy=greedy},tensorfuse{policy=ddp}",
}


@dataclasses.dataclass(frozen=True)
class Step:
    model: Model
    cluster: Cluster

    @property
    def name(self):
        return f"{self.model.name}/{self.cluster.letter}"

    @property
    def file(self):
        return f"{self.model.name}_{self.cluster.letter}.dir"

    def alone(self):
        """The same work on one device of the cluster: its kernels without messages."""
        cluster = dataclasses.replace(self.cluster, letter=self.cluster.letter + "1", devices=1)
        return Step(dataclasses.replace(self.model, batch={cluster.letter: self.batch}), cluster)

    @property
    def batch(self):
        return self.model.batch[self.cluster.letter]

    def build(self, batch):
        """The words of dopt, without an output, for a step with that batch on each device."""
        n = self.cluster.devices
        sizes = [f"N={n}", f"B={n * batch}", *(size.format(n=n) for size in self.model.sizes)]
        passes = PASSES.format(optimizer=self.model.optimizer)
        return [*(w for s in sizes for w in ("-D", s)), f"-pass={passes}", tool.model(self.model.name)]

    def costs(self, passes):
        """The words of dopt that say what the step takes after some passes."""
        more = [f"-pass={passes}"] if passes else []
        return [f"-cluster={self.cluster.name}", *more, "-stats=json", "-emit=none", self.file]


ALL = [Step(model, cluster) for cluster in CLUSTERS for model in MODELS]


def policies(dopt, steps):
    """The part `policies`: what each step takes by each policy."""
    return dict(zip((s.name for s in steps), dopt.together(lambda step: of_step(dopt, step), steps)))


def of_step(dopt, step):
    dopt.make(step)
    times = {name: dopt.costs(step.costs(passes)) for name, passes in (BASELINES | OTHERS).items()}
    for name, cost in times.items():
        dopt.say(f"{step.name}: {name}: {cost['iteration'] * 1e3:.3f} ms")
    return {"times": times, "batch": step.batch}
