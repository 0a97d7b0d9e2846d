"""The way out: a value taken apart into a JSON tree and the bytes of its tensors.

What is neither a plain value nor a container of them stays where it is, and a numbered
:class:`Reference` goes in its place.
"""

from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

TENSOR_BYTES = 64 << 20  # of one frame; an exercise needs far less
DIGITS = 4000
DTYPES = {
    str(dtype).removeprefix("torch."): dtype
    for dtype in (
        *(torch.float64, torch.float32, torch.float16, torch.bfloat16),
        *(torch.int64, torch.int32, torch.int16, torch.int8, torch.uint8, torch.bool),
        *(torch.complex64, torch.complex128),
    )
}
ARRAYS = {name for name in DTYPES if name != "bfloat16"}
_DEPTH, _ITEMS = 40, 100_000


class WireError(ValueError):
    """A value that must not cross, or bytes that are no frame of ours."""


@dataclass(frozen=True)
class Reference:
    """A thing that stays on the other side, by its number."""

    kind: str  # an "object" of the worker, or a "function" of the grader
    number: int


@dataclass
class Packed:
    """A value taken apart: its JSON tree, its tensors' bytes, its graph outputs."""

    tree: Any = None
    blobs: list[bytes] = field(default_factory=list)
    size: int = 0
    outputs: list[Tensor] = field(default_factory=list)

    def add(self, raw: bytes) -> int:
        """Keep some bytes and return where they begin."""
        at, self.size = self.size, self.size + len(raw)
        if self.size > TENSOR_BYTES:
            raise WireError(f"tensors of {self.size} bytes; at most {TENSOR_BYTES}")
        self.blobs.append(raw)
        return at


def pack(value: object, refer: Callable[[object], Reference]) -> Packed:
    """Take a value apart; ``refer`` keeps what cannot be copied, or refuses it."""
    packed = Packed()
    packed.tree = _tree(value, packed, refer, _DEPTH)
    return packed


def _tree(
    value: Any, into: Packed, refer: Callable[[object], Reference], depth: int
) -> list[Any]:
    def inner(item: object) -> list[Any]:
        return _tree(item, into, refer, depth - 1)

    if depth == 0:
        raise WireError(f"a value nested more than {_DEPTH} deep")
    if value is None or value is True or value is False:
        return ["v", value]
    if isinstance(value, Tensor):
        return _tensor_tree(value, into, inner)
    if isinstance(value, np.ndarray):
        if (name := value.dtype.name) not in ARRAYS:
            raise WireError(f"an array of {name}; it may be {', '.join(ARRAYS)}")
        native = np.ascontiguousarray(value, value.dtype.newbyteorder("="))
        return ["a", name, list(value.shape), into.add(native.tobytes())]
    if isinstance(value, np.generic):
        return inner(value.item())
    if isinstance(value, int):
        if value.bit_length() > 3 * DIGITS:
            raise WireError(f"an integer of {value.bit_length()} bits")
        return ["i", str(int(value))]
    if isinstance(value, float):
        return ["f", float(value).hex()]
    if isinstance(value, complex):
        return ["c", inner(value.real), inner(value.imag)]
    if isinstance(value, str):
        return ["s", str.encode(value, "utf-8", "replace").decode()]
    if isinstance(value, torch.dtype):
        return ["y", str(value).removeprefix("torch.")]
    if isinstance(value, Mapping):
        return ["d", [[inner(key), inner(value[key])] for key in value]]
    if isinstance(value, tuple):
        return ["t", [inner(item) for item in value]]
    if isinstance(value, Set):
        return ["u", [inner(item) for item in value]]
    if isinstance(value, list | range | Iterator):
        items = []
        for item in value:
            items.append(inner(item))
            if len(items) > _ITEMS:
                raise WireError(f"more than {_ITEMS} items")
        return ["l", items]
    found = refer(value)
    return ["r", found.kind, found.number]


def _tensor_tree(
    x: Tensor, into: Packed, inner: Callable[[object], list[Any]]
) -> list[Any]:
    """Write a tensor: its bytes, whether it has a graph, a leaf's gradient."""
    name = str(x.dtype).removeprefix("torch.")
    if name not in DTYPES or x.layout != torch.strided:
        raise WireError(f"a tensor of {x.dtype}, {x.layout}; it may be {[*DTYPES]}")
    graph, grad = 0, None
    if x.requires_grad:
        graph, grad = (1, x.grad) if x.is_leaf else (2, None)
    if graph == 2:
        into.outputs.append(x)
    flat = x.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
    raw = flat.view(torch.uint8).numpy().tobytes() if flat.numel() else b""
    return ["x", name, list(x.shape), into.add(raw), graph, inner(grad)]
