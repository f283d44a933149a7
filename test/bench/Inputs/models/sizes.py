"""The models of test/models, each with its file and sizes that a bench can afford."""

# Sizes at which the kernels of a step take microseconds to milliseconds.
MODEL = {
    "digits_mlp": ("digits_mlp.dir", ["B=64 N=1", "B=256 H=256 N=1", "B=32 H=1000 N=1"]),
    "digits_cnn": ("digits_cnn.dir", ["", "B=16 C=16 H=64", "B=24 C=48 H=256"]),
    "mlp_unity": ("mlp_unity.dir", ["B=64 D=128 H=256", "B=16 D=300 H=500"]),
    "bert": ("bert.dir", ["B=2 T=48 M=4 V=500 D=128 L=1 A=4", "B=4 T=64 M=8 V=1000 D=192 L=1 A=6"]),
    "transformer": ("transformer.dir", ["B=4 S=24 T=32 V=500 D=128 L=1 A=4", "B=8 S=40 T=32 V=800 D=64 L=1 A=2"]),
    "char_gpt": ("char_gpt.dir", ["B=8 L=1", "B=4 T=128 H=192 A=6 L=1", "B=16 T=32 H=64 L=1"]),
    "gpt2": ("gpt2.dir", ["B=4 T=64 V=512 D=192 L=1 A=4", "B=2 T=128 V=1000 D=256 L=1 A=8"]),
    "llama3": ("llama3.dir", ["B=4 T=32 V=256 D=128 L=1 A=4 G=2 F=256", "B=2 T=96 V=600 D=192 L=1 A=6 G=2 F=500"]),
    "rnnlm": ("rnnlm.dir", ["B=16 T=4 V=512 D=128", "B=32 T=3 V=1000 D=200"]),
    "reformer": ("reformer.dir", ["B=2 T=128 P=16 V=100 D=64 L=1 A=2 C=16", "B=4 T=96 P=12 V=258 D=96 L=1 A=4 C=24"]),
    "dlrm": ("dlrm.dir", ["B=64 U=128 " + " ".join(f"V{i}=200" for i in range(26)),
                          "B=256 U=256 E=24 " + " ".join(f"V{i}=500" for i in range(26))]),
    "xdl": ("xdl.dir", ["B=128 V=1000 E=32 H=128", "B=400 V=2000 E=48 H=256"]),
    "candle_uno": ("candle_uno.dir", ["B=64 H=256 C=94 D=527 F=204", "B=24 H=500 C=200 D=300 F=300"]),
    "vgg19": ("vgg19.dir", ["B=2 P=32 C=16 H=256 K=100", "B=1 P=64 C=12 H=300 K=50"]),
    "resnet50": ("resnet50.dir", ["B=2 P=32 C=16 K=50 R1=1 R2=1 R3=1 R4=1", "B=2 P=64 C=8 K=20 R1=1 R2=1 R3=1 R4=1"]),
    "inception_v3": ("inception_v3.dir", ["B=2 P=75 D=8 K=50", "B=1 P=107 D=8 K=100"]),
    "mixtral": ("mixtral.dir", ["B=4 T=32 V=256 D=128 L=1 A=4 G=2 F=256 E=4", "B=2 T=64 V=500 D=96 L=1 A=4 G=2 F=300 E=4"]),
}
