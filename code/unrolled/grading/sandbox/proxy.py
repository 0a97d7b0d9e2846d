"""``S``, as a test sees it: the names of an answer that runs in another process.

``S.f(x)`` sends plain values and returns plain values: fresh tensors, numbers, text and
containers of them. What is none of these (an ``nn.Module``, an object of a class of the
answer's, a function) stays there, and a :class:`Remote` stands for it: call it, read
and set its attributes, index it, iterate over it. It cannot be compared: the other
process would have the last word. For the same reason a test cannot ask it what tests
ask tensors (``y.exp().sum()``): numbers are had from what has crossed, and from nothing
that poses as a tensor.

Gradients flow. Where an output has a graph there, ``loss.backward()`` here goes on over
there, fills the ``grad`` of the inputs here and of the parameters there, and
``S_module.weight.grad`` reads it. Three things differ from the same test in one
process: a tensor read from a module is a copy, so set it (``m.W = ...`` or
``m.load_state_dict``) instead of changing it in place; a function cannot change its
arguments; and there is no gradient of a gradient.
"""

from collections.abc import Iterator
from typing import Any, NoReturn, Protocol

import torch
from torch import Tensor
from torch.utils._pytree import tree_flatten, tree_unflatten

from unrolled.grading.sandbox.things import leaves_of
from unrolled.grading.sandbox.wire import Message

OPEN = {"__name__", "__doc__"}  # of the names that Python keeps for itself
_OF_TENSORS = {
    *("shape", "dtype", "item", "tolist", "numpy", "detach", "flatten", "squeeze"),
    *(
        "abs",
        "exp",
        "log",
        "sum",
        "mean",
        "std",
        "max",
        "min",
        "amax",
        "amin",
        "argmax",
    ),
    *("all", "any", "nonzero", "isfinite", "isnan", "allclose", "equal"),
}


class Asked(Protocol):
    """Whatever can put a question to the process where the things are."""

    def ask(self, head: dict[str, Any], value: object) -> Message:
        """Send a message and return the answer."""
        ...


class Remote:
    """A thing of an answer's that stays in its process; number 0 is its namespace."""

    __slots__ = ("_link", "_number")

    def __init__(self, link: Asked, number: int) -> None:
        object.__setattr__(self, "_link", link)
        object.__setattr__(self, "_number", number)

    def _ask(self, op: str, value: object, **head: object) -> Any:
        return self._link.ask({"op": op, "number": self._number, **head}, value).value

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name not in OPEN:
            raise AttributeError(f"{name} of an answer is not for tests")
        return self._ask("get", name)

    def __setattr__(self, name: str, value: object) -> None:
        self._ask("set", (name, value))

    def __call__(self, *args: object, **kwargs: object) -> Any:
        """Call it there; gradients flow through what comes back."""
        leaves = [x for x in leaves_of((args, kwargs)) if x.requires_grad]
        head = {"op": "call", "number": self._number, "grad": torch.is_grad_enabled()}
        reply = self._link.ask(head, (args, kwargs))
        if not reply.graphs or not torch.is_grad_enabled():
            return reply.value
        call = reply.head.get("call")
        start = torch.zeros((), requires_grad=True)  # parameters there may need it
        joined = _There.apply(self._link, call, reply.graphs, start, *leaves)
        return _replaced(reply.value, reply.graphs, joined)

    def __getitem__(self, key: object) -> Any:
        return self._ask("item", key)

    def __len__(self) -> int:
        n = self._ask("length", None)
        if type(n) is not int or n < 0:
            raise TypeError("the length of an answer is no number")
        return n

    def __iter__(self) -> Iterator[Any]:
        items = self._ask("items", None)
        if not isinstance(items, list):
            raise TypeError("the items of an answer are no list")
        return iter(items)

    def __repr__(self) -> str:
        return "<an object of the answer's>"

    def _refuse(self, *_: object) -> NoReturn:
        raise TypeError("this is an object of the answer's, not a value to compare")

    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __bool__ = __float__ = __int__ = __index__ = __contains__ = _refuse
    # what cannot be compared has no hash; object's stub says that all things have one
    __hash__ = None  # type: ignore[assignment]


class Thing(Remote):
    """A thing of an answer's as the grader's own tests see it: it is no tensor."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name in _OF_TENSORS:
            raise TypeError(f"{name} of an object of the answer's, which is no tensor")
        return super().__getattr__(name)


def _replaced(value: Any, old: list[Tensor], new: tuple[Tensor, ...]) -> Any:
    """Return a value with some of its tensors exchanged."""
    leaves, form = tree_flatten(value)
    swap: dict[int, Tensor] = {id(a): b for a, b in zip(old, new, strict=True)}
    return tree_unflatten([swap.get(id(leaf), leaf) for leaf in leaves], form)


class _There(torch.autograd.Function):
    """The part of a graph that lies in another process, as one step of ours."""

    @staticmethod
    def forward(
        ctx: Any,
        link: Asked,
        call: object,
        outputs: list[Tensor],
        start: Tensor,
        *leaves: Tensor,
    ) -> tuple[Tensor, ...]:
        ctx.link, ctx.call, ctx.shapes = link, call, [x.shape for x in leaves]
        return tuple(x.clone() for x in outputs)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Any, ...]:
        """Send the gradients of the outputs; return those of the inputs."""
        head = {"op": "backward", "call": ctx.call}
        found = ctx.link.ask(head, list(grads)).value
        if not isinstance(found, list) or len(found) != len(ctx.shapes):
            raise TypeError("an answer's gradients are no list of tensors")
        for g, shape in zip(found, ctx.shapes, strict=True):
            if g is not None and not (isinstance(g, Tensor) and g.shape == shape):
                raise TypeError("an answer's gradient has not its input's shape")
        return (None, None, None, None, *found)


def namespace(link: Asked) -> Remote:
    """Return ``S``: what an answer defines."""
    return Remote(link, 0)
