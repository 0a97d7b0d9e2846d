"""Multi-head attention: several small attentions, side by side.

Axes: B batch, T query, S key, H heads, K head width, D = H * K model width.
A mask is boolean, has the axes (B, H, T, S), each of full size or 1, and True means
"may attend". A mask (B, S) of the real keys is passed as ``real[:, None, None]``.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.shapes import at_least, check_shape

Rotate = Callable[[Tensor], Tensor]


def attention_weights(
    q: Tensor, k: Tensor, mask: Tensor | None = None, *, causal: bool = False
) -> Tensor:
    r"""Return how much each query attends to each key, (B, H, T, S).

    .. math:: \mathbf{A} = \operatorname{softmax}(\mathbf{Q} \mathbf{K}^\top / \sqrt{K})

    The rows sum to one; a query that may attend to nothing gets a row of zeros, never
    ``nan``. The arguments are those of :func:`attend`.
    """
    if _grouped(q, k):
        k = k.repeat_interleave(q.shape[-3] // k.shape[-3], dim=-3)
    scores = q @ k.mT / q.shape[-1] ** 0.5  # (B, H, T, K) @ (B, H, K, S)
    visible = _visible(q, k, mask, causal)
    if visible is None:
        return scores.softmax(dim=-1)
    scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
    return scores.softmax(dim=-1).masked_fill(~visible, 0.0)


def attend(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    p_drop: float = 0.0,
) -> Tensor:
    r"""Return :math:`\mathbf{A} \mathbf{V}`, (B, H, T, K), by PyTorch's fused kernel.

    It never holds all of the weights :math:`\mathbf{A}`: memory grows with T, not with
    T². A mask costs its own T × S; ``causal`` alone costs nothing. So prefer it, and
    pad on the right: no real query looks there.

    Args:
        q: queries (B, H, T, K).
        k: keys (B, H, S, K), or fewer heads, each shared by a group of queries.
        v: values, of the shape of the keys. All must be finite, padding too.
        mask: who may attend to whom, (B, H, T, S); None is everybody.
        causal: keep each query from later keys too; the last query is at the last key.
        p_drop: the share of weights to drop. Above zero the weights are all held.
    """
    by_kernel = causal and mask is None and q.shape[-2] == k.shape[-2]
    return F.scaled_dot_product_attention(
        q,
        k,
        v,
        attn_mask=None if by_kernel else _visible(q, k, mask, causal),
        dropout_p=p_drop,
        is_causal=by_kernel,
        enable_gqa=_grouped(q, k),
    )


def _visible(q: Tensor, k: Tensor, mask: Tensor | None, causal: bool) -> Tensor | None:
    """Return the mask, and hide the future if ``causal``; None hides nothing."""
    if mask is not None and (mask.dtype != torch.bool or mask.ndim != q.ndim):
        raise ValueError(
            f"mask is {mask.dtype} of shape {tuple(mask.shape)}; it must be boolean, "
            f"with {q.ndim} axes: pass a mask (B, S) of keys as real[:, None, None]"
        )
    n, m = q.shape[-2], k.shape[-2]
    if not causal or n == 1:  # the last query may see all keys
        return mask
    past = q.new_ones(n, m, dtype=torch.bool).tril(m - n)  # (T, S)
    return past if mask is None else mask & past


def _grouped(q: Tensor, k: Tensor) -> bool:
    """Return whether heads of queries share heads of keys."""
    return q.ndim > 2 and q.shape[-3] != k.shape[-3]


@dataclass(frozen=True, slots=True)
class Cache:
    """The keys and values of the positions read so far, (B, H, S, K) each.

    A value, not a store: reading on makes a new cache and leaves the old one as it was.
    """

    k: Tensor
    v: Tensor

    def append(self, k: Tensor, v: Tensor) -> "Cache":
        """Return a cache with the keys and values (B, H, T, K) of T more positions."""
        return Cache(torch.cat([self.k, k], dim=2), torch.cat([self.v, v], dim=2))

    def rows(self, index: Tensor) -> "Cache":
        """Return the cache of the rows ``index``, as a beam needs; rows may repeat."""
        return Cache(self.k[index], self.v[index])


class MultiHeadAttention(nn.Module):
    r"""A sequence attends to itself, in H subspaces at once.

    .. math::

        \mathbf{Y} = [\mathbf{A}_1 \mathbf{V}_1, \dots, \mathbf{A}_H \mathbf{V}_H]
            \mathbf{W}_o, \qquad [\mathbf{Q}, \mathbf{K}, \mathbf{V}] = \mathbf{X}
            [\mathbf{W}_q, \mathbf{W}_k, \mathbf{W}_v]

    Calling the module runs the fused kernel; :meth:`weights` is for looking. ``p_drop``
    drops weights while training.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, p_drop: float = 0.0
    ) -> None:
        super().__init__()
        at_least(1, d_model=d_model, n_heads=n_heads)
        if d_model % n_heads:
            raise ValueError(f"{d_model=} must be a multiple of {n_heads=}")
        self.d_model, self.p_drop = d_model, p_drop
        self.n_heads = self.n_kv_heads = n_heads
        self.W_qkv = nn.Linear(d_model, 3 * d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        rotate: Rotate | None = None,
    ) -> Tensor:
        """Map ``x`` (B, T, D) to (B, T, D).

        ``rotate`` turns queries and keys (B, T, H, K) before they meet: ``Rotation``.
        """
        return self.mix(*self.heads(x, rotate), mask, causal=causal)

    def step(
        self,
        x: Tensor,
        cache: Cache | None,
        mask: Tensor | None = None,
        *,
        rotate: Rotate | None = None,
    ) -> tuple[Tensor, Cache]:
        """Read ``x`` (B, T, D) after ``cache``, causally: return (B, T, D) and a cache.

        The S keys of ``mask`` are those of the cache and of ``x``.
        """
        q, k, v = self.heads(x, rotate)
        cache = Cache(k, v) if cache is None else cache.append(k, v)
        return self.mix(q, cache.k, cache.v, mask, causal=True), cache

    def weights(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        rotate: Rotate | None = None,
    ) -> Tensor:
        """Return what each head looks at, (B, H, T, S)."""
        q, k, _ = self.heads(x, rotate)
        return attention_weights(q, k, mask, causal=causal)

    def heads(self, x: Tensor, rotate: Rotate | None) -> tuple[Tensor, Tensor, Tensor]:
        """Make queries, keys and values, (B, H, T, K) each, of ``x`` (B, T, D)."""
        check_shape("x", x, "B T D", D=self.d_model)
        n, m = self.n_heads, self.n_kv_heads
        heads = self.W_qkv(x).view(*x.shape[:2], n + 2 * m, -1)  # (B, T, 3 H, K)
        qk, v = heads.split_with_sizes((n + m, m), dim=2)
        q, k = self.turn(qk, rotate).split_with_sizes((n, m), dim=2)
        return q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)

    def turn(self, qk: Tensor, rotate: Rotate | None) -> Tensor:
        """Prepare queries and keys at once, (B, T, H, K), before they meet."""
        return qk if rotate is None else rotate(qk)

    def mix(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, *, causal: bool
    ) -> Tensor:
        """Attend in each head, put the heads side by side, mix them: (B, T, D)."""
        p_drop = self.p_drop if self.training else 0.0
        y = attend(q, k, v, mask, causal=causal, p_drop=p_drop)  # (B, H, T, K)
        return self.W_o(y.transpose(1, 2).flatten(start_dim=2))
