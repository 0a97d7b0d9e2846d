r"""Llama: a decoder with rotary positions, gates, and keys that queries share.

.. math::

    \mathbf{X} &\leftarrow \mathbf{X} + \operatorname{attention}(
        \operatorname{RMS}(\mathbf{X})) \\
    \mathbf{X} &\leftarrow \mathbf{X} + \operatorname{SwiGLU}(
        \operatorname{RMS}(\mathbf{X}))

The blocks are those of GPT with other parts. H heads of queries share ``n_kv_heads`` of
keys and values, so what must be kept to write on is smaller by that. SmolLM2, a model
of 135 million numbers that was trained on 2 · 10¹² tokens, is of this kind.

Axes: B batch, T position, V vocabulary, D model width, H heads, L layers.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn

from unrolled.data.corpora.smollm2 import smollm2
from unrolled.layers.blocks import PreNormBlock
from unrolled.layers.feed_forward import SwiGLU
from unrolled.layers.heads import GroupedQueryAttention
from unrolled.layers.norms import RMSNorm
from unrolled.layers.positions import RotaryPositions
from unrolled.models import hf_gpt
from unrolled.models.decoder import Decoder
from unrolled.models.encoders import start_small
from unrolled.models.hf_names import (
    Table,
    hugging_face,
    inside,
    read_weights,
    settings_of,
    write_weights,
)
from unrolled.shapes import at_least

GGUF_BLOCK: Table = {
    "norm_1.gain": ("attn_norm.weight",),
    "attention.W_qkv.weight": tuple(f"attn_{x}.weight" for x in "qkv"),
    "attention.W_o.weight": ("attn_output.weight",),
    "norm_2.gain": ("ffn_norm.weight",),
    "feed_forward.W_gu.weight": ("ffn_gate.weight", "ffn_up.weight"),
    "feed_forward.W_d.weight": ("ffn_down.weight",),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class LlamaConfig:
    """The sizes of a :class:`Llama`.

    Attributes:
        n_positions: the longest text it can read.
        n_kv_heads: heads of keys and values, each shared by H / ``n_kv_heads`` queries.
        d_inner: the width inside the feed-forward networks.
        rope_base: how slowly the slowest clock of the positions goes.
        eps: what the norms add to a mean square.
        tied: whether the embeddings are the read-out too.
    """

    n_tokens: int
    n_positions: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    n_layers: int
    d_inner: int
    rope_base: float = 10_000.0
    eps: float = 1e-5
    tied: bool = True

    def __post_init__(self) -> None:
        at_least(1, n_tokens=self.n_tokens, n_positions=self.n_positions)
        at_least(1, d_model=self.d_model, n_layers=self.n_layers, d_inner=self.d_inner)
        at_least(1, n_heads=self.n_heads, n_kv_heads=self.n_kv_heads)
        if not self.rope_base > 0:
            raise ValueError(f"rope_base={self.rope_base} must be above 0")


class Llama(Decoder):
    """A decoder with gates, rotary positions, and keys that queries share."""

    def __init__(self, config: LlamaConfig) -> None:
        d, n_tokens = config.d_model, config.n_tokens
        super().__init__(
            embed=nn.Embedding(n_tokens, d),
            positions=_positions(config),
            blocks=(_block(config) for _ in range(config.n_layers)),
            norm=RMSNorm(d, eps=config.eps),
            read=None if config.tied else nn.Linear(d, n_tokens, bias=False),
        )
        self.config = config
        start_small(self)

    @classmethod
    def from_hf(cls, module: nn.Module) -> "Llama":
        """Return the same model as Hugging Face's ``LlamaForCausalLM``."""
        config = LlamaConfig(**hf_gpt.llama_sizes(settings_of(module)))
        table = hf_gpt.llama_table(config.n_layers)
        model = cls._of_weights(config, table, module.state_dict())
        return model.train(module.training)

    def to_hf(self) -> Any:
        """Return this model as Hugging Face's ``LlamaForCausalLM``."""
        hf, settings = hugging_face(), hf_gpt.llama_settings(asdict(self.config))
        twin = hf.LlamaForCausalLM(hf.LlamaConfig(**settings))
        return write_weights(self, hf_gpt.llama_table(self.config.n_layers), twin)

    @classmethod
    def _of_weights(
        cls, config: LlamaConfig, table: Table, weights: Mapping[str, Tensor]
    ) -> "Llama":
        with torch.device("meta"):  # nothing is drawn to be thrown away
            model = cls(config)
        read_weights(model, table, weights)
        like = model.embed.weight
        model.positions = _positions(config, dtype=like.dtype).to(like.device)
        return model


def load_smollm2() -> Llama:
    """Return SmolLM2-135M-Instruct with its real weights: 540 MB of float32."""
    stored = smollm2()
    c = stored.config
    config = LlamaConfig(
        n_tokens=c.n_tokens,
        n_positions=c.n_positions,
        d_model=c.d_model,
        n_heads=c.n_heads,
        n_kv_heads=c.n_kv_heads,
        n_layers=c.n_layers,
        d_inner=c.d_feedforward,
        rope_base=c.rope_base,
        eps=c.norm_eps,
    )
    table: Table = {
        "embed.weight": ("token_embd.weight",),
        "norm.gain": ("output_norm.weight",),
    }
    for i in range(config.n_layers):
        table |= inside(GGUF_BLOCK, f"blocks.{i}", f"blk.{i}")
    weights = {name: stored.weight(name) for name in stored.names}
    return Llama._of_weights(config, table, weights).eval()


def _positions(
    config: LlamaConfig, *, dtype: torch.dtype | None = None
) -> RotaryPositions:
    d_head, base = config.d_model // config.n_heads, config.rope_base
    return RotaryPositions(config.n_positions, d_head, base=base, dtype=dtype)


def _block(config: LlamaConfig) -> PreNormBlock:
    d = config.d_model
    attention = GroupedQueryAttention(d, config.n_heads, config.n_kv_heads)
    norm = partial(RMSNorm, eps=config.eps)
    return PreNormBlock(attention, SwiGLU(d, config.d_inner), norm=norm)
