r"""Decoder blocks: a sentence that is being written looks at itself and at its source.

Axes: B batch, T position, S source position, D model width. Each part looks in turn:
attention to what is written so far, attention to the source, a feed-forward network.
``CrossAttention.read`` makes a source's keys and values once for all steps. Masks are
those of ``unrolled.layers.attention``; what comes later is always hidden.
"""

from torch import Tensor, nn

from unrolled.layers.attention import Cache, MultiHeadAttention
from unrolled.layers.blocks import Norm
from unrolled.layers.heads import CrossAttention
from unrolled.layers.norms import LayerNorm


class PreNormDecoderBlock(nn.Module):
    r"""Normalise, transform, add, three times over.

    .. math::

        \mathbf{X} &\leftarrow \mathbf{X} + \operatorname{attention}(
            \operatorname{norm}_1(\mathbf{X})) \\
        \mathbf{X} &\leftarrow \mathbf{X} + \operatorname{cross}(
            \operatorname{norm}_2(\mathbf{X}), \mathbf{M}) \\
        \mathbf{X} &\leftarrow \mathbf{X} + \operatorname{feed}(
            \operatorname{norm}_3(\mathbf{X}))
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        cross: CrossAttention,
        feed_forward: nn.Module,
        *,
        norm: Norm = LayerNorm,
        p_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention, self.cross = attention, cross
        self.feed_forward = feed_forward
        self.norm_1, self.norm_2, self.norm_3 = (
            norm(attention.d_model) for _ in range(3)
        )
        self.drop = nn.Dropout(p_drop)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Map ``x`` (B, T, D) to (B, T, D), given ``memory`` (B, S, D)."""
        return self.step(x, None, self.cross.read(memory), mask, memory_mask)[0]

    def step(
        self,
        x: Tensor,
        cache: Cache | None,
        source: Cache,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> tuple[Tensor, Cache]:
        """Read ``x`` (B, T, D) after what is in ``cache``, and return both anew.

        ``source`` is what ``cross.read`` makes of the memory.
        """
        x, asked, cache = self._ask(x, cache, mask)
        return self._finish(x, self.cross(asked, source, memory_mask)), cache

    def weights(
        self,
        x: Tensor,
        source: Cache,
        mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
    ) -> Tensor:
        """Return what each head looks at in the source, (B, H, T, S)."""
        _, asked, _ = self._ask(x, None, mask)
        return self.cross.weights(asked, source, memory_mask)

    def _ask(
        self, x: Tensor, cache: Cache | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Cache]:
        """Look at what is written; return the sum, and what asks the source, of it."""
        y, cache = self.attention.step(self.norm_1(x), cache, mask)
        x = x + self.drop(y)
        return x, self.norm_2(x), cache

    def _finish(self, x: Tensor, y: Tensor) -> Tensor:
        """Add ``y``, what the source has answered, and feed the sum forward."""
        x = x + self.drop(y)
        return x + self.drop(self.feed_forward(self.norm_3(x)))


class PostNormDecoderBlock(PreNormDecoderBlock):
    r"""Transform, add, normalise, three times over: the first Transformer's decoder.

    .. math::

        \mathbf{X} &\leftarrow \operatorname{norm}_1(\mathbf{X}
            + \operatorname{attention}(\mathbf{X})) \\
        \mathbf{X} &\leftarrow \operatorname{norm}_2(\mathbf{X}
            + \operatorname{cross}(\mathbf{X}, \mathbf{M})) \\
        \mathbf{X} &\leftarrow \operatorname{norm}_3(\mathbf{X}
            + \operatorname{feed}(\mathbf{X}))

    It is made and called as a :class:`PreNormDecoderBlock` is.
    """

    def _ask(
        self, x: Tensor, cache: Cache | None, mask: Tensor | None
    ) -> tuple[Tensor, Tensor, Cache]:
        y, cache = self.attention.step(x, cache, mask)
        x = self.norm_1(x + self.drop(y))
        return x, x, cache

    def _finish(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.norm_2(x + self.drop(y))
        return self.norm_3(x + self.drop(self.feed_forward(x)))
