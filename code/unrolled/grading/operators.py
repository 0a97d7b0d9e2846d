"""What lies under the names of torch: its operators, and the graph of autograd.

One operator has many names (``torch.rnn_tanh``, ``torch._VF.rnn_tanh``,
``torch.ops.aten.rnn_tanh``), and all of them lead through one table of torch's. There
it is closed, at a cost of a tenth of a millisecond, for all code of the process. This
too is a net and no wall: walls are for what must not happen, and stand around the
process.
"""

from collections.abc import Callable
from typing import Any

import torch

_KEYS = ("CPU", "Autograd", "CompositeImplicitAutograd")  # the ways to an operator
_CLOSED: list[torch.library.Library] = []  # what is closed opens when these go
_FORTH = "_make_dual"  # with which derivatives are carried forwards


def close_operator(name: str, trip: Callable[..., Any]) -> None:
    """Let ``trip`` be run for an operator, on whatever way it is called.

    One that tensors have as a method (``add``) stays open: signs and other functions
    call it too.
    """
    packet = getattr(torch.ops.aten, name, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):  # none, or exchanged
        return
    if hasattr(torch.Tensor, name):
        return
    library = torch.library.Library("aten", "IMPL")
    _CLOSED.append(library)
    for overload in packet.overloads():
        full = name if overload == "default" else f"{name}.{overload}"
        if torch._C._dispatch_has_kernel(f"aten::{full}"):
            for key in _KEYS:
                library.impl(full, trip, key)


def close_ways_back(trip: Callable[..., Any]) -> None:
    """Let ``trip`` be run for whoever asks a graph for what it keeps for the way back.

    Nobody goes through such a graph, by whatever name, the grader's tests included; nor
    are derivatives carried forwards.
    """
    torch._C._autograd._push_saved_tensors_default_hooks(lambda kept: kept, trip)
    close_operator(_FORTH, trip)
