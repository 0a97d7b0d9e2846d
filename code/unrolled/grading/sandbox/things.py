"""What a worker does with the things of an answer: gradients, attributes, errors."""

import builtins
from types import FunctionType
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._pytree import tree_flatten

from unrolled.grading.forbid import ForbiddenName

_ERRORS = {
    kind: name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException)
} | {ForbiddenName: "ForbiddenName"}


def leaves_of(value: Any) -> list[Tensor]:
    """Return the tensors in a value."""
    return [leaf for leaf in tree_flatten(value)[0] if isinstance(leaf, Tensor)]


def gradients(
    leaves: list[Tensor], outputs: list[Tensor], grads: list[Tensor | None]
) -> list[Tensor | None]:
    """Return the gradients of the inputs; those of parameters gather where they are."""
    wanted = [(x, g) for x, g in zip(outputs, grads, strict=True) if g is not None]
    for leaf in leaves:
        leaf.grad = None
    torch.autograd.backward(
        [x for x, _ in wanted], [g for _, g in wanted], retain_graph=True
    )
    return [leaf.grad for leaf in leaves]


def of_implementation(thing: object) -> bool:
    """Return whether a thing is the code's own, or a network, or a method of these."""
    if isinstance(thing, type | FunctionType):
        return thing.__module__ == "__main__"
    owner = getattr(thing, "__self__", thing)  # a method's
    if isinstance(owner, type):
        return owner.__module__ == "__main__"
    return isinstance(owner, nn.Module) or type(owner).__module__ == "__main__"


def set_attribute(thing: Any, name: str, value: object) -> None:
    """Set an attribute; a parameter keeps being one."""
    old = getattr(thing, name, None)
    if isinstance(old, torch.nn.Parameter) and isinstance(value, Tensor):
        with torch.no_grad():
            old.copy_(value)
    else:
        setattr(thing, name, value)


def told(error: BaseException) -> dict[str, str]:
    """Return an exception's type, of those that everybody knows, and its text."""
    kind = next(_ERRORS[k] for k in type(error).__mro__ if k in _ERRORS)
    try:
        text = str(error)[:300]
    except BaseException:
        text = ""
    return {"error": kind, "text": text}
