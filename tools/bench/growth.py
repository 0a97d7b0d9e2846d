"""How costs grow: with the length of a sequence, and with the width of a model."""

from typing import Any

import torch
from torch import Tensor, nn

from bench.measure import Step, growth
from unrolled.layers.attention import MultiHeadAttention, attention_weights
from unrolled.layers.stacks import LSTM
from unrolled.losses import cross_entropy
from unrolled.models.gpt import GPT, GPTConfig
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig

D, H, V = 128, 4, 65
LENGTHS = (64, 128, 256, 512, 1024, 2048)
WIDTHS = (32, 64, 128, 256, 512)


class Explicit(MultiHeadAttention):
    """The same layer with its weights written out."""

    def mix(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool
    ) -> Tensor:
        """Attend by softmax and product, with all T x T weights at hand."""
        y = attention_weights(q, k, mask, causal=causal) @ v
        return self.W_o(y.transpose(1, 2).flatten(start_dim=2))


def layer_step(layer: nn.Module, n_steps: int, **options: Any) -> Step:
    """Return a forward and a backward pass over one sequence."""
    x = torch.randn(1, n_steps, D)

    def run() -> None:
        layer.zero_grad()
        y = layer(x, **options)
        (y if isinstance(y, Tensor) else y[0]).square().sum().backward()

    return run


def token_step(model: GPT | RNNLM, n_read: int) -> Step:
    """Return the writing of one token after ``n_read`` that were read."""
    with torch.inference_mode():
        _, state = model.eval().start(torch.zeros(1, n_read, dtype=torch.long))

    @torch.inference_mode()
    def run() -> None:
        for _ in range(10):
            model.step(torch.zeros(1, dtype=torch.long), state)

    return run


def recomputed_step(model: GPT, n_read: int) -> Step:
    """Return the writing of one token by a model that reads all again."""
    ids = torch.zeros(1, n_read + 1, dtype=torch.long)

    @torch.inference_mode()
    def run() -> None:
        for _ in range(10):
            model(ids)

    return run


def training_step(model: nn.Module) -> Step:
    """Return a step of AdamW on 12 windows of 64 tokens."""
    ids = torch.randint(0, V, (12, 65))
    adam = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def run() -> None:
        adam.zero_grad()
        cross_entropy(model(ids[:, :-1]), ids[:, 1:]).backward()
        adam.step()

    return run


def gpt(d_model: int = D, n_positions: int = 64) -> GPT:
    """Return a GPT of four layers."""
    sizes = {"d_model": d_model, "n_heads": H, "n_layers": 4}
    return GPT(GPTConfig(n_tokens=V, n_positions=n_positions, **sizes))


def lstm(d_model: int = D) -> RNNLM:
    """Return an LSTM of two layers."""
    return RNNLM(RNNLMConfig(n_tokens=V, d_model=d_model, n_layers=2, cell="lstm"))


def growths() -> dict[str, Any]:
    """Measure all families of curves."""
    far, layers = gpt(n_positions=LENGTHS[-1] + 1), {
        "attention, fused": (MultiHeadAttention(D, H), {"causal": True}),
        "attention, weights held": (Explicit(D, H), {"causal": True}),
        "LSTM": (LSTM(D, D), {}),
    }  # fmt: skip
    return {
        "A layer, there and back": {
            "size": "steps in the sequence",
            "curves": {
                name: growth({n: layer_step(layer, n, **opts) for n in LENGTHS})
                for name, (layer, opts) in layers.items()
            },
        },
        "Ten more tokens": {
            "size": "tokens read before",
            "curves": {
                "GPT, reading all again": growth(
                    {n: recomputed_step(far, n) for n in LENGTHS}
                ),
                "GPT, with a cache": growth({n: token_step(far, n) for n in LENGTHS}),
                "LSTM, with its state": growth(
                    {n: token_step(lstm(), n) for n in LENGTHS}
                ),
            },
        },
        "A training step": {
            "size": "width of the model",
            "curves": {
                "GPT, 4 layers": growth({d: training_step(gpt(d)) for d in WIDTHS}),
                "LSTM, 2 layers": growth({d: training_step(lstm(d)) for d in WIDTHS}),
            },
        },
    }
