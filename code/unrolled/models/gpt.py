r"""GPT: a decoder of causal blocks that foretells the next token.

What it computes is in ``unrolled.models.decoder``; here is what it is made of.
A :class:`GPTConfig` of sizes alone is GPT-2. ``GPTConfig.modern`` has other parts:
rotary positions, RMSNorm, squared ReLU, queries and keys of one length, no biases, and
blocks that add nothing at first. ``dataclasses.replace`` takes the recipe apart.

Axes: B batch, T position, V vocabulary, D model width, H heads, L layers.
"""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import nn

from unrolled.layers.attention import MultiHeadAttention
from unrolled.layers.blocks import PreNormBlock
from unrolled.layers.feed_forward import FeedForward, gelu_tanh, squared_relu
from unrolled.layers.heads import NormedAttention
from unrolled.layers.norms import LayerNorm, UnitRMSNorm
from unrolled.layers.positions import LearnedPositions, RotaryPositions
from unrolled.models import hf_gpt
from unrolled.models.decoder import Decoder
from unrolled.models.encoders import start_small
from unrolled.models.hf_names import (
    hugging_face,
    read_weights,
    settings_of,
    write_weights,
)
from unrolled.shapes import at_least, check_choice, check_rates

NORMS = {"layer": LayerNorm, "rms": UnitRMSNorm}
ACTIVATIONS = {"gelu": gelu_tanh, "relu2": squared_relu}
POSITIONS = ("learned", "rotary")
SPREAD = 0.02  # the standard deviation of weights at the start


@dataclass(frozen=True, kw_only=True, slots=True)
class GPTConfig:
    """The sizes and the parts of a :class:`GPT`.

    Attributes:
        n_positions: the longest text it can read.
        d_inner: the width inside the feed-forward networks; None is 4 D.
        p_drop: what is dropped in training of embeddings, attention and additions.
        eps: what the norms add to a variance.
        positions: "learned", a table that is added, or "rotary".
        norm: "layer" or "rms", which has no gain.
        activation: "gelu" or "relu2".
        qk_norm: whether queries and keys are brought to one length.
        bias: whether the products have biases.
        zero_init: whether what blocks add starts at zero.
        tied: whether the embeddings are the read-out too.
    """

    n_tokens: int
    n_positions: int
    d_model: int
    n_heads: int
    n_layers: int
    d_inner: int | None = None
    p_drop: float = 0.0
    eps: float = 1e-5
    positions: str = "learned"
    norm: str = "layer"
    activation: str = "gelu"
    qk_norm: bool = False
    bias: bool = True
    zero_init: bool = False
    tied: bool = True

    def __post_init__(self) -> None:
        at_least(1, n_tokens=self.n_tokens, n_positions=self.n_positions)
        at_least(1, d_model=self.d_model, n_heads=self.n_heads, n_layers=self.n_layers)
        if self.d_inner is not None:
            at_least(1, d_inner=self.d_inner)
        check_rates(p_drop=self.p_drop)
        check_choice("positions", self.positions, POSITIONS)
        check_choice("norm", self.norm, NORMS)
        check_choice("activation", self.activation, ACTIVATIONS)

    @classmethod
    def modern(cls, **options: Any) -> "GPTConfig":
        """Return a config of sizes, and of the modern parts where none is named."""
        parts = {"positions": "rotary", "norm": "rms", "activation": "relu2"}
        switches = {"qk_norm": True, "bias": False, "zero_init": True}
        return cls(**(parts | switches | options))


GPT2_SMALL = GPTConfig(
    n_tokens=50_257, n_positions=1024, d_model=768, n_heads=12, n_layers=12, p_drop=0.1
)


class GPT(Decoder):
    """A decoder of the parts that its config names."""

    def __init__(self, config: GPTConfig) -> None:
        n, d = config.n_positions, config.d_model
        positions: LearnedPositions | RotaryPositions = LearnedPositions(n, d)
        if config.positions == "rotary":
            positions = RotaryPositions(n, d // config.n_heads)
        super().__init__(
            embed=nn.Embedding(config.n_tokens, d),
            positions=positions,
            blocks=(_block(config) for _ in range(config.n_layers)),
            norm=NORMS[config.norm](d, eps=config.eps),
            read=None if config.tied else nn.Linear(d, config.n_tokens, bias=False),
            p_drop=config.p_drop,
        )
        self.config = config
        self.reset()

    def reset(self) -> None:
        """Draw the matrices anew, as GPT-2 does: the deeper, the less a block adds."""
        start_small(self, scale=SPREAD)
        less = SPREAD / (2 * self.config.n_layers) ** 0.5
        for name, weight in self.blocks.named_parameters():
            if name.endswith(("W_o.weight", "W_2.weight")):
                nn.init.normal_(weight, std=0.0 if self.config.zero_init else less)

    @classmethod
    def from_hf(cls, module: nn.Module) -> "GPT":
        """Return the same model as Hugging Face's ``GPT2LMHeadModel`` or ``GPT2Model``.

        Weights are copied, with their type and device. A ``GPT2Model`` has no read-out:
        then it is the embeddings.
        """
        sizes, weights = hf_gpt.gpt2_sizes(settings_of(module)), module.state_dict()
        if "lm_head.weight" not in weights:
            weights = {f"transformer.{name}": w for name, w in weights.items()}
            sizes["tied"] = True
        with torch.device("meta"):  # nothing is drawn to be thrown away
            model = cls(GPTConfig(**sizes))
        table = hf_gpt.gpt2_table(model.config.n_layers)
        read_weights(model, table, weights, turned=hf_gpt.turned(table))
        return model.train(module.training)

    def to_hf(self) -> Any:
        """Return this model as Hugging Face's ``GPT2LMHeadModel``; it must be GPT-2."""
        hf, settings = hugging_face(), hf_gpt.gpt2_settings(asdict(self.config))
        twin = hf.GPT2LMHeadModel(hf.GPT2Config(**settings))
        table = hf_gpt.gpt2_table(self.config.n_layers)
        return write_weights(self, table, twin, turned=hf_gpt.turned(table))


def _block(config: GPTConfig) -> PreNormBlock:
    d, p_drop, bias = config.d_model, config.p_drop, config.bias
    kind = NormedAttention if config.qk_norm else MultiHeadAttention
    attention = kind(d, config.n_heads, bias=bias, p_drop=p_drop)
    activation = ACTIVATIONS[config.activation]
    feed_forward = FeedForward(d, config.d_inner or 4 * d, activation, bias=bias)
    norm = partial(NORMS[config.norm], eps=config.eps)
    return PreNormBlock(attention, feed_forward, norm=norm, p_drop=p_drop)
