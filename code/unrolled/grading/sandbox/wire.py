"""What crosses the border between grader and answer: plain values, framed and capped.

A frame is two lengths, JSON text, and the raw bytes of its tensors. Nothing is ever
unpickled: a frame can only become None, truth values, numbers, text, containers, dense
tensors and arrays of the dtypes below, and numbered *references* to things that stay
where they are. Whoever decodes builds all of it anew, so no live object, and no method
that lies in a comparison, can cross.
"""

import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import torch
from torch import Tensor

from unrolled.grading.sandbox.packing import (
    ARRAYS,
    DIGITS,
    DTYPES,
    TENSOR_BYTES,
    Packed,
    Reference,
    WireError,
)

TEXT_BYTES = 4 << 20
HEAD = struct.Struct("!II")
_DIMS = 16
Resolve = Callable[[Reference, dict[str, Any]], Any]  # finds what a reference means


class Carrier(Protocol):
    """What carries frames: a socket, or what stands in for one."""

    def recv(self, size: int, /) -> bytes:
        """Return the next bytes, at most as many; none if the other side has gone."""
        ...

    def sendall(self, data: bytes, /) -> None:
        """Send all of some bytes."""
        ...


def frame(head: Mapping[str, object], packed: Packed) -> bytes:
    """Return the bytes of one message: its own fields, and the packed value."""
    text = json.dumps({**head, "value": packed.tree}).encode()
    if len(text) > TEXT_BYTES:
        raise WireError(f"a message of {len(text)} bytes; at most {TEXT_BYTES}")
    return b"".join([HEAD.pack(len(text), packed.size), text, *packed.blobs])


def lengths(head: bytes) -> tuple[int, int]:
    """Return the two lengths of a frame, refused before anything of it is read."""
    text, tensors = HEAD.unpack(head)
    if text > TEXT_BYTES or tensors > TENSOR_BYTES:
        raise WireError(f"a frame of {text} and {tensors} bytes")
    return text, tensors


@dataclass
class Message:
    """A frame taken in: its fields, its value, the tensors with a graph elsewhere."""

    head: dict[str, Any]
    value: Any
    graphs: list[Tensor]


def message(text: bytes, raw: bytes, resolve: Resolve) -> Message:
    """Return what a frame says, built anew; ``resolve`` finds what references mean."""
    graphs: list[Tensor] = []
    try:
        head = json.loads(text)
        tree = head.pop("value")
        value = _value(tree, _Bytes(raw), lambda one: resolve(one, head), graphs)
    except WireError:
        raise
    except (ValueError, TypeError, KeyError, AttributeError, IndexError) as error:
        raise WireError(f"a malformed frame: {type(error).__name__}") from error
    except (RuntimeError, OverflowError, MemoryError) as error:  # deep nesting too
        raise WireError(
            f"a frame that cannot be built: {type(error).__name__}"
        ) from error
    return Message(head, value, graphs)


@dataclass
class _Bytes:
    """The bytes of a frame's tensors, each of which belongs to one tensor only.

    Tensors come in the order of their bytes. Were it otherwise, a small frame could
    name the same bytes many thousand times, and fill our memory with copies.
    """

    raw: bytes
    taken: int = 0

    def take(self, at: int, size: int) -> bytes:
        """Return the next bytes."""
        if not self.taken <= at <= at + size <= len(self.raw):
            raise WireError("a malformed frame: a tensor beyond its bytes")
        self.taken = at + size
        return self.raw[at : self.taken]


def _value(
    tree: Any, raw: _Bytes, resolve: Callable[[Reference], Any], graphs: list[Tensor]
) -> Any:
    def inner(item: Any) -> Any:
        return _value(item, raw, resolve, graphs)

    match tree:
        case ["v", None | True | False as plain]:
            return plain
        case ["i", str(digits)] if len(digits) <= DIGITS:
            return int(digits)
        case ["f", str(digits)]:
            return float.fromhex(digits)
        case ["c", real, imaginary]:
            return complex(inner(real), inner(imaginary))
        case ["s", str(text)]:
            return text
        case ["y", str(name)]:
            return DTYPES[name]
        case ["d", list(pairs)]:
            return {inner(key): inner(item) for key, item in pairs}
        case ["t", list(items)]:
            return tuple(inner(item) for item in items)
        case ["u", list(items)]:
            return {inner(item) for item in items}
        case ["l", list(items)]:
            return [inner(item) for item in items]
        case ["a", str(name), list(shape), int(at)] if name in ARRAYS:
            return _tensor(name, shape, raw, at).numpy()
        case ["x", str(name), list(shape), int(at), 0 | 1 | 2 as graph, grad]:
            x = _tensor(name, shape, raw, at)
            if graph == 1:
                x.requires_grad_().grad = inner(grad)
            elif graph == 2:
                graphs.append(x)
            return x
        case ["r", ("object" | "function") as kind, int(number)]:
            return resolve(Reference(kind, number))
    raise WireError("a malformed frame: no such value")


def _tensor(name: str, shape: list[Any], raw: _Bytes, at: int) -> Tensor:
    """Return a fresh tensor of the bytes from ``at`` on, after looking at all sizes."""
    dtype = DTYPES[name]
    if len(shape) > _DIMS or not all(
        type(n) is int and 0 <= n < 1 << 31 for n in shape
    ):
        raise WireError("a malformed frame: no such shape")
    its = raw.take(at, prod(shape) * dtype.itemsize)
    if not its:
        return torch.empty(shape, dtype=dtype)
    plain = torch.frombuffer(bytearray(its), dtype=torch.uint8)
    # a truth value of neither 0 nor 1 is undefined behaviour: make it one of them
    flat = plain.ne(0) if dtype is torch.bool else plain.view(dtype)
    return flat.reshape(shape)


def read(receive: Callable[[int], bytes]) -> tuple[bytes, bytes]:
    """Return a frame's text and tensor bytes; ``receive(n)`` returns n bytes."""
    text, tensors = lengths(receive(HEAD.size))
    return receive(text), receive(tensors)
