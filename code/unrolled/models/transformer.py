r"""The Transformer: a sentence is read and another written, by attention throughout.

.. math::

    \mathbf{M} &= \operatorname{encoder}(\sqrt{D} \, \mathbf{E}[s_{1:S}]
        + \mathbf{p}_{1:S}) \\
    \mathbf{o}_{1:T} &= \operatorname{decoder}(\sqrt{D} \, \mathbf{E}[w_{1:T}]
        + \mathbf{p}_{1:T}, \; \mathbf{M}) \, \mathbf{V}

The decoder is causal, so it reads the right tokens all at once while training, one step
late, and needs no mask of its target if that is padded on the right.

Axes: B batch, T target position, S source position, V target vocabulary, D model width,
H heads, L layers.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor, nn

from unrolled.layers.attention import MultiHeadAttention
from unrolled.layers.blocks import PostNormBlock, PreNormBlock
from unrolled.layers.decoder_blocks import PostNormDecoderBlock, PreNormDecoderBlock
from unrolled.layers.feed_forward import FeedForward
from unrolled.layers.heads import CrossAttention
from unrolled.layers.norms import LayerNorm
from unrolled.layers.pooling import check_mask
from unrolled.models.pairs import check_tokens
from unrolled.models.transformer_parts import (
    POSITIONS,
    PlacedTokens,
    TransformerState,
)
from unrolled.shapes import at_least, check_choice, check_rates, check_shape

BLOCKS: dict[str, tuple[Any, Any]] = {
    "pre": (PreNormBlock, PreNormDecoderBlock),
    "post": (PostNormBlock, PostNormDecoderBlock),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class TransformerConfig:
    """The sizes and the make of a :class:`Transformer`.

    Args:
        n_source: the size of the source's vocabulary.
        n_target: the size of the target's vocabulary.
        d_model: the width of all vectors between the parts.
        n_heads: the heads of each attention.
        n_layers: the blocks of the encoder, and as many of the decoder.
        d_inner: the width inside the feed-forward networks.
        n_positions: the length of the longest sentence, source or target.
        p_drop: the share to drop in training: of the embeddings, of what each part of
            a block adds, and inside the parts, of attention's weights too.
        norm: "post" is the paper's; "pre" trains more easily when it is deep.
        positions: "sinusoidal" or "learned".
        tie: "none"; "target", whose table is also the read-out's; or "all", the
            paper's, where both sentences are of one vocabulary and have one table.
    """

    n_source: int
    n_target: int
    d_model: int
    n_heads: int
    n_layers: int
    d_inner: int
    n_positions: int
    p_drop: float = 0.0
    norm: str = "pre"
    positions: str = "sinusoidal"
    tie: str = "none"

    def __post_init__(self) -> None:
        at_least(1, n_source=self.n_source, n_target=self.n_target)
        at_least(1, d_model=self.d_model, n_heads=self.n_heads, d_inner=self.d_inner)
        at_least(1, n_layers=self.n_layers, n_positions=self.n_positions)
        if self.d_model % self.n_heads:
            raise ValueError(
                f"d_model={self.d_model} must be a multiple of n_heads={self.n_heads}"
            )
        check_rates(p_drop=self.p_drop)
        check_choice("norm", self.norm, BLOCKS)
        check_choice("positions", self.positions, POSITIONS)
        check_choice("tie", self.tie, ("none", "target", "all"))
        if self.tie == "all" and self.n_source != self.n_target:
            raise ValueError(
                f"tie='all' is for one vocabulary: n_source={self.n_source} must be "
                f"n_target={self.n_target}"
            )


class Transformer(nn.Module):
    """Blocks that read a source, blocks that write a target, and a read-out.

    A ``source_mask`` (B, S) is True where a token is real. Padding may be on either
    side: positions count what is real, and nobody looks at the rest.
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        D, p_drop, layers = config.d_model, config.p_drop, range(config.n_layers)
        places: Any = {"positions": config.positions, "n_positions": config.n_positions}
        look = partial(MultiHeadAttention, D, config.n_heads, p_drop=p_drop)
        look_at = partial(CrossAttention, D, config.n_heads, p_drop=p_drop)
        feed = partial(FeedForward, D, config.d_inner, p_drop=p_drop)
        reader, writer = BLOCKS[config.norm]
        self.embed_source = PlacedTokens(config.n_source, D, p_drop=p_drop, **places)
        self.embed_target = PlacedTokens(config.n_target, D, p_drop=p_drop, **places)
        self.encoder = nn.ModuleList(
            reader(look(), feed(), p_drop=p_drop) for _ in layers
        )
        self.decoder = nn.ModuleList(
            writer(look(), look_at(), feed(), p_drop=p_drop) for _ in layers
        )
        last = LayerNorm if config.norm == "pre" else nn.Identity
        self.norm_source, self.norm_target = last(D), last(D)
        self.read = nn.Linear(D, config.n_target, bias=False)
        if config.tie != "none":
            self.read.weight = self.embed_target.table.weight
        if config.tie == "all":
            self.embed_source.table.weight = self.embed_target.table.weight

    def forward(
        self, source: Tensor, target_in: Tensor, source_mask: Tensor | None = None
    ) -> Tensor:
        """Return logits (B, T, V) of the token after each of ``target_in`` (B, T)."""
        return self._write(target_in, self._read_source(source, source_mask))[0]

    def encode(self, source: Tensor, source_mask: Tensor | None = None) -> Tensor:
        """Map ``source`` (B, S) to the memory (B, S, D) that the decoder looks at."""
        check_tokens("source", source, "B S")
        visible = None
        if source_mask is not None:
            check_mask("source_mask", source_mask, *source.shape)
            visible = source_mask[:, None, None]
        x = self.embed_source(source, source_mask)  # (B, S, D)
        for block in self.encoder:
            x = block(x, visible)
        memory: Tensor = self.norm_source(x)
        return memory

    def start(
        self, source: Tensor, source_mask: Tensor | None, first: Tensor
    ) -> tuple[Tensor, TransformerState]:
        """Read the source and the token ``first`` (B,): logits (B, V) and a state."""
        check_shape("first", first, "B", B=len(source))
        return self.step(first, self._read_source(source, source_mask))

    def step(
        self, ids: Tensor, state: TransformerState
    ) -> tuple[Tensor, TransformerState]:
        """Read a token more, ``ids`` (B,): logits (B, V) of the next, and a state."""
        check_shape("ids", ids, "B", B=len(state.sources[0].k))
        logits, state = self._write(ids[:, None], state)
        return logits[:, 0], state

    def alignment(
        self, source: Tensor, target_in: Tensor, source_mask: Tensor | None = None
    ) -> Tensor:
        """Return where each head of each block looks, (L, B, H, T, S)."""
        state = self._read_source(source, source_mask)
        check_tokens("target_in", target_in, "B T", B=len(source))
        x, weights = self.embed_target(target_in), []
        for block, kv in zip(self._writers(), state.sources, strict=True):
            weights.append(block.weights(x, kv, memory_mask=state.mask))
            x, _ = block.step(x, None, kv, memory_mask=state.mask)
        return torch.stack(weights)

    def _read_source(self, source: Tensor, mask: Tensor | None) -> TransformerState:
        """Return the state before the first token: each block's keys and values."""
        memory = self.encode(source, mask)
        return TransformerState(
            written=(None,) * self.config.n_layers,
            sources=tuple(block.cross.read(memory) for block in self._writers()),
            mask=None if mask is None else mask[:, None, None],
        )

    def _write(
        self, target_in: Tensor, state: TransformerState
    ) -> tuple[Tensor, TransformerState]:
        """Read ``target_in`` (B, T) after what is written: logits and a state."""
        check_tokens("target_in", target_in, "B T", B=len(state.sources[0].k))
        x, written = self.embed_target(target_in, start=state.n_written), []
        for block, cache, kv in zip(
            self._writers(), state.written, state.sources, strict=True
        ):
            x, cache = block.step(x, cache, kv, memory_mask=state.mask)
            written.append(cache)
        logits = self.read(self.norm_target(x))
        return logits, replace(state, written=tuple(written))

    def _writers(self) -> list[PreNormDecoderBlock]:
        return cast("list[PreNormDecoderBlock]", list(self.decoder))
