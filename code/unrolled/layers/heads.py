"""Other heads: keys from elsewhere, fewer keys, and keys of one length.

Axes: B batch, T query, S key, H heads, K head width, D = H * K model width. Masks are
those of ``unrolled.layers.attention``.
"""

from torch import Tensor, nn

from unrolled.layers.attention import (
    Cache,
    MultiHeadAttention,
    Rotate,
    attend,
    attention_weights,
)
from unrolled.layers.norms import unit_rms
from unrolled.shapes import at_least, check_shape


class CrossAttention(nn.Module):
    r"""One sequence attends to another, such as a translation to its source.

    Queries come from ``x``, keys and values from ``memory``:

    .. math::

        \mathbf{Q} = \mathbf{X} \mathbf{W}_q, \qquad
        [\mathbf{K}, \mathbf{V}] = \mathbf{M} [\mathbf{W}_k, \mathbf{W}_v]

    :meth:`read` makes keys and values, once for all the steps of a decoder.
    """

    def __init__(
        self, d_model: int, n_heads: int, *, bias: bool = True, p_drop: float = 0.0
    ) -> None:
        super().__init__()
        at_least(1, d_model=d_model, n_heads=n_heads)
        if d_model % n_heads:
            raise ValueError(f"{d_model=} must be a multiple of {n_heads=}")
        self.d_model, self.n_heads, self.p_drop = d_model, n_heads, p_drop
        self.W_q = nn.Linear(d_model, d_model, bias=bias)
        self.W_kv = nn.Linear(d_model, 2 * d_model, bias=bias)
        self.W_o = nn.Linear(d_model, d_model, bias=bias)

    def read(self, memory: Tensor) -> Cache:
        """Make the keys and values, (B, H, S, K) each, of ``memory`` (B, S, D)."""
        check_shape("memory", memory, "B S D", D=self.d_model)
        return Cache(*split_heads(self.W_kv(memory), 2 * self.n_heads).chunk(2, dim=1))

    def forward(self, x: Tensor, source: Cache, mask: Tensor | None = None) -> Tensor:
        """Map ``x`` (B, T, D) to (B, T, D), given what was read of the memory."""
        p_drop = self.p_drop if self.training else 0.0
        y = attend(self._queries(x), source.k, source.v, mask, p_drop=p_drop)
        mixed: Tensor = self.W_o(y.transpose(1, 2).flatten(start_dim=2))  # (B, T, D)
        return mixed

    def weights(self, x: Tensor, source: Cache, mask: Tensor | None = None) -> Tensor:
        """Return what each head looks at, (B, H, T, S)."""
        return attention_weights(self._queries(x), source.k, mask)

    def _queries(self, x: Tensor) -> Tensor:
        check_shape("x", x, "B T D", D=self.d_model)
        return split_heads(self.W_q(x), self.n_heads)


class GroupedQueryAttention(MultiHeadAttention):
    """Self-attention in which several heads of queries share one of keys and values.

    H heads of queries and ``n_kv_heads`` of keys and values make the cache
    H / ``n_kv_heads`` times smaller. Llama and SmolLM2 are of this kind.
    """

    def __init__(
        self,
        d_model: int,
        n_heads: int,
        n_kv_heads: int,
        *,
        bias: bool = False,
        p_drop: float = 0.0,
    ) -> None:
        super().__init__(d_model, n_heads, bias=bias, p_drop=p_drop)
        at_least(1, n_kv_heads=n_kv_heads)
        if n_heads % n_kv_heads:
            raise ValueError(f"{n_heads=} must be a multiple of {n_kv_heads=}")
        self.n_kv_heads = n_kv_heads
        d_qkv = (n_heads + 2 * n_kv_heads) * (d_model // n_heads)
        self.W_qkv = nn.Linear(d_model, d_qkv, bias=bias)


class NormedAttention(MultiHeadAttention):
    r"""Self-attention whose queries and keys are first brought to one length.

    .. math:: \mathbf{q} \leftarrow \operatorname{RMS}(\mathbf{q}), \qquad
        \mathbf{k} \leftarrow \operatorname{RMS}(\mathbf{k})

    No score can then exceed :math:`\sqrt{K}`, however large the weights grow ("QK
    norm"). The norm comes before the rotation, which keeps lengths.
    """

    def turn(self, qk: Tensor, rotate: Rotate | None) -> Tensor:
        """Normalise queries and keys (B, T, H, K), then rotate them."""
        return super().turn(unit_rms(qk), rotate)


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    """Cut the last axis of ``x`` (B, T, H · K) into heads: (B, H, T, K)."""
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
