r"""Blocks: attention and a small network, each added to what was there before.

Axes: B batch, T position, S source position, D model width. A block is given its parts,
so that a model's file says what it is made of::

    PreNormBlock(MultiHeadAttention(64, 4), FeedForward(64, 256, gelu_tanh))

``norm`` is called with the model's width, once for each norm: ``LayerNorm``, or
``partial(LayerNorm, eps=1e-12)``. Dropout of a block, ``p_drop``, falls on what a part
adds; attention and feed-forward networks have their own. Masks are those of
``unrolled.layers.attention``.
"""

from collections.abc import Callable

from torch import Tensor, nn

from unrolled.layers.attention import Cache, MultiHeadAttention, Rotate
from unrolled.layers.norms import LayerNorm

Norm = Callable[[int], nn.Module]


class PreNormBlock(nn.Module):
    r"""Normalise, transform, add: what GPT-2, Llama and ViT are made of.

    .. math::

        \mathbf{X} &\leftarrow \mathbf{X} + \operatorname{attention}(
            \operatorname{norm}_1(\mathbf{X})) \\
        \mathbf{X} &\leftarrow \mathbf{X} + \operatorname{feed}(
            \operatorname{norm}_2(\mathbf{X}))

    The sum itself is never normalised: a model has one more norm after its last block.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        feed_forward: nn.Module,
        *,
        norm: Norm = LayerNorm,
        p_drop: float = 0.0,
    ) -> None:
        super().__init__()
        self.attention, self.feed_forward = attention, feed_forward
        self.norm_1, self.norm_2 = norm(attention.d_model), norm(attention.d_model)
        self.drop = nn.Dropout(p_drop)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        rotate: Rotate | None = None,
    ) -> Tensor:
        """Map ``x`` (B, T, D) to (B, T, D): encode it, or decode it if ``causal``."""
        y = self.attention(self._enter(x), mask, causal=causal, rotate=rotate)
        return self._finish(x, y)

    def step(
        self,
        x: Tensor,
        cache: Cache | None,
        mask: Tensor | None = None,
        *,
        rotate: Rotate | None = None,
    ) -> tuple[Tensor, Cache]:
        """Read ``x`` (B, T, D) after what is in ``cache``, and return both anew."""
        y, cache = self.attention.step(self._enter(x), cache, mask, rotate=rotate)
        return self._finish(x, y), cache

    def _enter(self, x: Tensor) -> Tensor:
        """Return what attention is given of ``x``."""
        return self.norm_1(x)

    def _finish(self, x: Tensor, y: Tensor) -> Tensor:
        """Add ``y``, which attention has made of ``x``, and feed the sum forward."""
        x = x + self.drop(y)
        return x + self.drop(self.feed_forward(self.norm_2(x)))


class PostNormBlock(PreNormBlock):
    r"""Transform, add, normalise: the Transformer's first form, and BERT's.

    .. math::

        \mathbf{X} &\leftarrow \operatorname{norm}_1(\mathbf{X}
            + \operatorname{attention}(\mathbf{X})) \\
        \mathbf{X} &\leftarrow \operatorname{norm}_2(\mathbf{X}
            + \operatorname{feed}(\mathbf{X}))

    It is made and called as a :class:`PreNormBlock` is.
    """

    def _enter(self, x: Tensor) -> Tensor:
        return x

    def _finish(self, x: Tensor, y: Tensor) -> Tensor:
        x = self.norm_1(x + self.drop(y))
        return self.norm_2(x + self.drop(self.feed_forward(x)))
