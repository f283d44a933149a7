"""The training steps that dopt and its peers all have: sizes by the names of the model's `let`s."""
import dataclasses
import os

TEST = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", ".."))


@dataclasses.dataclass(frozen=True, eq=False)
class Case:
    name: str
    about: str
    file: str  # below test/
    kind: str  # of the models in peer_torch.py and peer_jax.py
    sizes: dict  # all that those need
    set: tuple = ()  # the sizes that the file has otherwise


CASES = [
    Case("digits_cnn", "two convolutions on 60 images of 8x8", "models/digits_cnn.dir", "cnn", {"B": 60, "C": 32, "H": 128}),
    Case("char_gpt", "GPT, 4 layers of 128, 32 times 64 characters", "models/char_gpt.dir", "gpt",
         {"B": 32, "T": 64, "V": 76, "H": 128, "A": 4, "L": 4}),
    Case("gpt_512", "GPT, 4 layers of 512, 8 times 256 characters", "models/char_gpt.dir", "gpt",
         {"B": 8, "T": 256, "V": 76, "H": 512, "A": 8, "L": 4}, ("B", "T", "H", "A")),
    Case("wide_mlp", "9 dense layers of 1024, 256 rows", "bench/Inputs/fusion/wide_mlp.dir", "mlp",
         {"B": 256, "I": 1024, "H": 1024, "K": 16, "L": 9}, ("L",)),
    Case("bert", "BERT-base, 12 layers of 768, 2 times 128 word pieces", "models/bert.dir", "bert",
         {"B": 2, "T": 128, "M": 20, "V": 30522, "D": 768, "L": 12, "A": 12}, ("B", "T", "M")),
    Case("resnet50", "ResNet-50, 4 images of 224x224", "models/resnet50.dir", "resnet50",
         {"B": 4, "P": 224, "K": 1000}, ("B",)),
]  # fmt: skip


def find(name):
    return next(case for case in CASES if case.name == name)
