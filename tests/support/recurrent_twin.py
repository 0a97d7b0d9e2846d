"""Torch's recurrent layers, computed from the very weights of ours.

The twin is a function of our parameters, so that one call of autograd gives the
gradients of both in the same terms.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from unrolled.layers.gru import GRUCell
from unrolled.layers.lstm import LSTMCell
from unrolled.layers.recurrent import RNNCell
from unrolled.layers.stacks import Bidirectional, Stack

TWINS = {RNNCell: nn.RNN, LSTMCell: nn.LSTM, GRUCell: nn.GRU}


def weights_of(cell: nn.Module, end: str) -> dict[str, Tensor]:
    """Return torch's parameters that make its layer this cell."""
    second = torch.zeros_like(cell.b)
    if isinstance(cell, GRUCell):
        second = torch.cat([second[: 2 * cell.d_hidden], cell.b_h])
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    values = (cell.W_x.T, cell.W_h.T, cell.b, second)
    return {f"{k}_{end}": v for k, v in zip(names, values, strict=True)}


def built_as(layers: Stack | Bidirectional) -> tuple[type, int, bool]:
    """Return of which cells, how many layers, and whether in both directions."""
    both = isinstance(layers, Bidirectional)
    cells = [*layers.ahead, *layers.back] if both else list(layers.cells)
    (kind,) = {type(cell) for cell in cells}
    return kind, len(cells) // (1 + both), both


def torch_reads(
    layers: Stack | Bidirectional, x: Tensor, lengths: Tensor | None = None
) -> Tensor:
    """Return what torch shows at each step of ``x`` (B, T, E), zeros in padding."""
    both = isinstance(layers, Bidirectional)
    ways = {"": layers.ahead, "_reverse": layers.back} if both else {"": layers.cells}
    weights, (first, *_) = {}, ways[""]
    for way, cells in ways.items():
        for k, cell in enumerate(cells):
            weights |= weights_of(cell, f"l{k}{way}")
    sizes = layers.d_in, layers.d_hidden, layers.n_layers
    make = TWINS[type(first)]  # on meta: it has no weights and draws none
    twin = make(*sizes, batch_first=True, bidirectional=both, device="meta")
    if lengths is None:
        return torch.func.functional_call(twin, weights, (x,))[0]
    packed = pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)
    shown, _ = torch.func.functional_call(twin, weights, (packed,))
    n_steps = x.shape[1]
    return pad_packed_sequence(shown, batch_first=True, total_length=n_steps)[0]


def agree_with_gradients(
    agree: Callable[..., None], model: nn.Module, ours: Tensor, theirs: Tensor
) -> None:
    """Hold two results computed from the weights of ``model``, and their gradients."""
    agree(ours, theirs, model=True)
    upstream, weights = torch.randn_like(ours), tuple(model.parameters())
    grads = (torch.autograd.grad(y, weights, upstream) for y in (ours, theirs))
    for a, b in zip(*grads, strict=True):
        agree(a, b, model=True, gradient=True)
