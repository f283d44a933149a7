"""Training steps as other systems write them, read as StableHLO: what policies and searches make of them."""
import dataclasses
import os

import searches
import steps
import tool

# What makes an imported step look like one of ours.
PASSES = "merge-replica-dim,canonicalize,cse,dce"


def stablehlo(name):
    return os.path.join(tool.ROOT, "test", "parser", "stablehlo", "Inputs", "steps", name + ".mlir")


@dataclasses.dataclass(frozen=True)
class Imported:
    title: str
    source: str
    cluster: steps.Cluster
    batch: int  # on one device, as the text has it
    words: tuple = ()  # of dopt: what the text leaves open

    @property
    def name(self):
        return f"{self.title}/{self.cluster.letter}"

    @property
    def file(self):
        return self.name.replace("/", "_") + ".dir"

    def build(self, batch):
        return [*self.words, f"-pass={PASSES}", stablehlo(self.source)]

    costs = steps.Step.costs


# JAX and flax, pmap over four devices: they are four of the cluster's.
RESNET = "hespas_resnet_50_train_step_4_devices_1024_batch"
ALL = [Imported("jax_resnet50", RESNET, cluster, 256) for cluster in steps.CLUSTERS]


def imported(dopt, limit):
    """The part `imported`: policies and engines on each step."""
    found = {}
    for step in ALL:
        found[step.name] = steps.of_step(dopt, step)
    jobs = [((s.name, e), s, {"engine": e, "time": f"{limit:g}s"}) for s in ALL for e in searches.ENGINES]
    for name, engines in searches.nested(searches.each(dopt, jobs)).items():
        found[name]["engines"] = engines
    return found
