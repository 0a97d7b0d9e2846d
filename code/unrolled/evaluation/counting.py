"""Counting what a model costs: weights, and steps that must wait for each other."""

from typing import Any

from torch import Tensor, nn


def count_parameters(model: nn.Module) -> int:
    """Return the number of trainable weights."""
    return sum(p.numel() for p in model.parameters() if p.requires_grad)


def sequential_depth(y: Tensor, *, of: str = "") -> int:
    """Return the length of the longest chain of operations that ``y`` waited for.

    It is read off autograd's graph, so ``y`` must require a gradient. With ``of`` only
    operations whose name contains it count: ``of="Tanh"`` counts tanh after tanh.
    """
    if y.grad_fn is None:
        raise ValueError("y was computed without a graph: does its input need grad?")
    depth: dict[Any, int] = {}
    stack: list[Any] = [y.grad_fn]
    while stack:
        node = stack[-1]
        before = [f for f, _ in node.next_functions if f is not None]
        if waiting := [f for f in before if f not in depth]:
            stack += waiting
            continue
        counts = int(of in type(node).__name__)
        depth[node] = counts + max((depth[f] for f in before), default=0)
        stack.pop()
    return depth[y.grad_fn]
