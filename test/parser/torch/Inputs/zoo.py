"""zoo.py check DOPT FOLDER [NAME ...]: small models of transformers and torchvision, as steps.py has its own, for a few steps.

Networks with batch norms over few elements magnify rounding: they are compared in f64.
"""
import steps
import torch
import torch.nn.functional as F
import torchvision.models as vision
import transformers as hf
from torchvision.ops import roi_align

SIZES = {"num_hidden_layers": 2, "num_attention_heads": 4, "hidden_size": 32, "intermediate_size": 48, "vocab_size": 61}
GROUPS = {**SIZES, "num_key_value_heads": 2}
STILL = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
SGD = ("sgd{lr=0.01}", lambda p: torch.optim.SGD(p, 0.01))


def language(model, x):
    return model(input_ids=x, labels=x).loss


def classes(model, x, y):
    return model(input_ids=x, labels=y).loss


def images(model, x, y):
    return F.cross_entropy(model(x), y)


def patches(model, x, y):
    return F.cross_entropy(model(pixel_values=x).logits, y)


def sounds(model, x, y):
    return model(input_features=x, labels=y).loss


def regions(model, x, y):
    boxes = torch.cat([torch.arange(len(x)).to(x.dtype)[:, None], y.abs() * 4, y.abs() * 4 + 9], 1)
    return roi_align(model(x), boxes, (2, 3), 0.5, 2).square().mean()


def text(make, step=language, **inputs):
    inputs = {"x": steps.numbers((2, 16), 61, 1), **inputs}
    return make, step, inputs, SGD, 1e-5


def picture(make, size=64, wide=False):
    def images_(g):
        x = torch.randn(8, 3, size, size, generator=g)
        return x.double() if wide else x
    return (lambda: make().double() if wide else make(), images, {"x": images_, "y": steps.numbers((8,), 4)}, SGD,
            1e-7 if wide else 1e-5)


steps.STEPS, steps.BATCHES = 5, 1
steps.STEP = {
    "gpt2": text(lambda: hf.GPT2LMHeadModel(hf.GPT2Config(
        n_layer=2, n_embd=32, n_head=2, vocab_size=61, n_positions=32, resid_pdrop=0, embd_pdrop=0, attn_pdrop=0))),
    "llama": text(lambda: hf.LlamaForCausalLM(hf.LlamaConfig(**GROUPS))),
    "qwen3": text(lambda: hf.Qwen3ForCausalLM(hf.Qwen3Config(**GROUPS, head_dim=8))),
    "mistral": text(lambda: hf.MistralForCausalLM(hf.MistralConfig(**GROUPS, head_dim=8, sliding_window=8))),
    "mixtral": text(lambda: hf.MixtralForCausalLM(hf.MixtralConfig(**GROUPS, num_local_experts=4))),
    "gemma2": text(lambda: hf.Gemma2ForCausalLM(hf.Gemma2Config(**GROUPS, head_dim=8, attn_implementation="eager"))),
    "mamba": text(lambda: hf.MambaForCausalLM(hf.MambaConfig(
        hidden_size=16, state_size=4, num_hidden_layers=1, vocab_size=61))),
    "bert": text(lambda: hf.BertForMaskedLM(hf.BertConfig(**SIZES, **STILL))),
    "bert_classes": text(lambda: hf.BertForSequenceClassification(hf.BertConfig(**SIZES, **STILL, num_labels=3)), classes,
                         y=steps.numbers((2,), 3)),
    "t5": text(lambda: hf.T5ForConditionalGeneration(hf.T5Config(
        d_model=32, d_ff=48, d_kv=8, num_layers=2, num_heads=4, vocab_size=61, dropout_rate=0, decoder_start_token_id=0))),
    "whisper": (lambda: hf.WhisperForConditionalGeneration(hf.WhisperConfig(
        d_model=32, encoder_layers=1, decoder_layers=1, encoder_attention_heads=2, decoder_attention_heads=2,
        encoder_ffn_dim=48, decoder_ffn_dim=48, vocab_size=61, num_mel_bins=8, max_source_positions=16,
        max_target_positions=16, pad_token_id=0, bos_token_id=1, eos_token_id=2, decoder_start_token_id=1, dropout=0)),
        sounds, {"x": steps.numbers((2, 8, 32)), "y": steps.numbers((2, 16), 61, 3)}, SGD, 1e-5),
    "vit": (lambda: hf.ViTForImageClassification(hf.ViTConfig(
        **{k: v for k, v in SIZES.items() if k != "vocab_size"}, **STILL, image_size=16, patch_size=8, num_labels=3)),
        patches, {"x": steps.numbers((2, 3, 16, 16)), "y": steps.numbers((2,), 3)}, SGD, 1e-5),
    "resnet18": picture(lambda: vision.resnet18(num_classes=4), wide=True),
    "vgg11_bn": picture(lambda: vision.vgg11_bn(num_classes=4, dropout=0.0), 32, wide=True),
    "mobilenet_v2": picture(lambda: vision.mobilenet_v2(num_classes=4, dropout=0.0), wide=True),
    "efficientnet_b0": picture(lambda: vision.efficientnet_b0(num_classes=4, dropout=0.0, stochastic_depth_prob=0.0),
                               wide=True),
    "densenet": picture(lambda: vision.DenseNet(8, (2, 2), 16, num_classes=4)),
    "convnext_tiny": picture(lambda: vision.convnext_tiny(num_classes=4, stochastic_depth_prob=0.0), 32),
    "swin": picture(lambda: vision.SwinTransformer([4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=4,
                                                   stochastic_depth_prob=0.0)),
    "googlenet": picture(lambda: vision.googlenet(num_classes=4, aux_logits=False, init_weights=False, dropout=0.0),
                         wide=True),
    "regions": (lambda: torch.nn.Conv2d(3, 4, 3, padding=1), regions,
                {"x": steps.numbers((2, 3, 8, 8)), "y": steps.numbers((2, 2))}, SGD, 1e-5),
    "shufflenet": picture(lambda: vision.shufflenet_v2_x0_5(num_classes=4), wide=True),
}

if __name__ == "__main__":
    steps.main()
