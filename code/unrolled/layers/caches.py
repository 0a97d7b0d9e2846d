"""The state of a decoder that writes: what it has read, ready to read on.

Axes: B batch, T position, S position read before, D model width, H heads, K head width.
Prompts of different lengths are padded on the right. Their padding stays in the caches
as columns that no later token sees; new tokens come after it, and positions are counted
in each row by itself. Rows of one length need no mask.

A step of one token is so little work that calling modules would take half of its time.
So :func:`reader` looks their weights up once, when a prompt is read, and each step then
calls kernels only. The tests hold it to what the modules say. It knows the book's own
classes and no others: a decoder asks :func:`~unrolled.layers.rereading.known` first.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.attention import Cache, MultiHeadAttention, Rotate
from unrolled.layers.blocks import PreNormBlock
from unrolled.layers.feed_forward import FeedForward, SwiGLU
from unrolled.layers.norms import LayerNorm, UnitRMSNorm, unit_rms
from unrolled.layers.rereading import known
from unrolled.shapes import check_lengths, check_shape

Layer = Callable[[Tensor, Tensor, Tensor | None, Rotate | None], tuple[Tensor, Tensor]]
Map = Callable[[Tensor], Tensor]


@dataclass(frozen=True, slots=True, eq=False)
class DecoderState:
    """What the layers of a decoder remember; reading on makes a new one.

    It belongs to the weights as they were when reading began.

    Attributes:
        layers: what reads one more token, for each layer.
        caches: what each layer keeps, (B, 2 H, S, K): heads of keys, then of values.
        n_read: how many columns S the caches have, padding included.
        real: which of them hold real tokens, (B, S); None: all.
    """

    layers: tuple[Layer, ...]
    caches: tuple[Tensor, ...]
    n_read: int
    real: Tensor | None = None

    def rows(self, index: Tensor) -> "DecoderState":
        """Return the state of the rows ``index`` (N,), which may repeat."""
        caches = tuple(cache[index] for cache in self.caches)
        real = None if self.real is None else self.real[index]
        return DecoderState(self.layers, caches, self.n_read, real)

    def place(self, ids: Tensor, n_positions: int) -> int | Tensor:
        """Return where the next token ``ids`` (B,) stands; by rows, (B,), if apart."""
        n_rows = self.caches[0].shape[0]
        if ids.shape != (n_rows,):  # to ask first takes a tenth of the time of a check
            check_shape("ids", ids, "B", B=n_rows)
        _check_room(self.n_read + 1, n_positions)
        return self.n_read if self.real is None else self.real.sum(dim=1)

    def read(self, x: Tensor, rotate: Rotate | None) -> tuple[Tensor, "DecoderState"]:
        """Take a token ``x`` (B, D) through all layers."""
        real, mask, caches = self.real, None, []
        if real is not None:
            real = torch.cat([real, real.new_ones(len(real), 1)], dim=1)
            mask = real[:, None, None]  # (B, 1, 1, S + 1)
        for layer, cache in zip(self.layers, self.caches, strict=True):
            x, longer = layer(x, cache, mask, rotate)
            caches.append(longer)
        return x, DecoderState(self.layers, tuple(caches), self.n_read + 1, real)


def first_positions(ids: Tensor, n_positions: int, name: str = "ids") -> Tensor:
    """Return where the tokens ``ids`` (B, T) of new texts stand, (T,)."""
    check_shape(name, ids, "B T")
    n_steps = ids.shape[1]
    if not n_steps:
        raise ValueError(f"{name} has no tokens: each row needs one, such as BOS")
    _check_room(n_steps, n_positions)
    return torch.arange(n_steps, device=ids.device)


def _check_room(n_tokens: int, n_positions: int) -> None:
    if n_tokens > n_positions:
        raise ValueError(f"{n_tokens} tokens do not fit into {n_positions=}")


def real_prompts(
    prompts: Tensor, lengths: Tensor | None
) -> tuple[Tensor, Tensor | None]:
    """Return prompts (B, T), and by ``lengths`` (B,) which of them is real; None: all.

    Columns of padding alone are cut off: they would take room from what is written.
    """
    check_shape("prompts", prompts, "B T")
    if lengths is None:
        return prompts, None
    check_lengths(lengths, *prompts.shape)
    if len(lengths) and not lengths.is_meta:
        prompts = prompts[:, : int(lengths.max())]
    steps = torch.arange(prompts.shape[1], device=prompts.device)
    real = steps < lengths.to(prompts.device)[:, None]
    return prompts, None if not real.is_meta and bool(real.all()) else real


def read_prompts(
    blocks: Iterable[nn.Module],
    x: Tensor,
    rotate: Rotate | None,
    real: Tensor | None,
) -> tuple[Tensor, DecoderState]:
    """Take prompts ``x`` (B, T, D) through all blocks, of which ``real`` (B, T) count.

    Return what the last real token of each became, (B, 1, D), and a state.
    """
    layers, caches = [], []
    for block in blocks:
        assert isinstance(block, PreNormBlock)
        x, cache = block.step(x, None, rotate=rotate)  # padding on the right is unseen
        layers.append(reader(block))
        caches.append(torch.cat([cache.k, cache.v], dim=1))
    state = DecoderState(tuple(layers), tuple(caches), x.shape[1], real)
    if real is None:
        return x[:, -1:], state
    last = real.sum(dim=1, keepdim=True) - 1  # (B, 1)
    return x.take_along_dim(last[..., None], dim=1), state


def reader(block: PreNormBlock) -> Layer:
    """Return ``block.step`` for one token and a cache, with its weights looked up.

    In training, and for a block of other parts, it is that very method.
    """
    if block.training or type(block) is not PreNormBlock or not known(block):
        return partial(_read_by_modules, block)
    attention = block.attention
    norm_1, norm_2, feed = map(_lean, (block.norm_1, block.norm_2, block.feed_forward))
    W_qkv, W_o = _lean(attention.W_qkv), _lean(attention.W_o)
    n, m, turn = attention.n_heads, attention.n_kv_heads, attention.turn
    turns = type(attention).turn is not MultiHeadAttention.turn  # unrotated ones too

    def read(
        x: Tensor, cache: Tensor, mask: Tensor | None, rotate: Rotate | None
    ) -> tuple[Tensor, Tensor]:
        n_rows = x.shape[0]
        heads = W_qkv(norm_1(x)).view(n_rows, n + 2 * m, 1, -1)  # (B, 3 H, 1, K)
        if turns or rotate is not None:
            qk, v = heads.split_with_sizes((n + m, m), dim=1)
            heads = torch.cat([turn(qk, rotate), v], dim=1)
        q, kv = heads.split_with_sizes((n, 2 * m), dim=1)
        cache = torch.cat([cache, kv], dim=2)
        k, v = cache.split_with_sizes((m, m), dim=1)
        if m < n:
            q = q.reshape(n_rows, m, n // m, -1)  # heads that share keys, as positions
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + W_o(y.reshape(n_rows, -1))
        return x + feed(norm_2(x)), cache

    return read


def _read_by_modules(
    block: PreNormBlock,
    x: Tensor,
    cache: Tensor,
    mask: Tensor | None,
    rotate: Rotate | None,
) -> tuple[Tensor, Tensor]:
    """Read one token as the modules do, with what training drops."""
    before = Cache(*cache.chunk(2, dim=1))
    y, after = block.step(x[:, None], before, mask, rotate=rotate)
    return y[:, 0], torch.cat([after.k, after.v], dim=1)


def _lean(module: nn.Module) -> Map:
    """Return what a module computes in evaluation, with its weights looked up."""
    if type(module) is nn.Linear:
        W, b = module.weight, module.bias
        return lambda x: F.linear(x, W, b)
    if type(module) is LayerNorm:
        gain, bias, eps = module.gain, module.bias, module.eps
        shape = gain.shape
        return lambda x: torch.layer_norm(x, shape, gain, bias, eps)
    if type(module) is UnitRMSNorm:
        return partial(unit_rms, eps=module.eps)
    if type(module) is FeedForward:
        W_1, W_2, activation = _lean(module.W_1), _lean(module.W_2), module.activation
        return lambda x: W_2(activation(W_1(x)))
    if type(module) is SwiGLU:
        W_gu, W_d, gated = _lean(module.W_gu), _lean(module.W_d), module.gated
        return lambda x: W_d(gated(W_gu(x)))
    return module
