"""Torch's layers with the weights of ours, and what both must agree on.

A table maps each of torch's parameters to ours; several of ours, one below the other,
make one of torch's.
"""

from collections.abc import Callable, Mapping, Sequence

import torch
from torch import Tensor, nn

Table = Mapping[str, Sequence[str]]


def prefixed(table: Table, theirs: str, ours: str) -> dict[str, list[str]]:
    """Return the table of a layer that is a part of another."""
    return {theirs + k: [ours + name for name in names] for k, names in table.items()}


def both(theirs: str, ours: str) -> dict[str, list[str]]:
    """Return the rows of a linear layer: its weight and its bias."""
    return {f"{theirs}.{kind}": [f"{ours}.{kind}"] for kind in ("weight", "bias")}


def norms(n_norms: int) -> dict[str, list[str]]:
    """Return the rows of norms that are numbered from 1."""
    return {
        f"norm{i}.{theirs}": [f"norm_{i}.{ours}"]
        for i in range(1, n_norms + 1)
        for theirs, ours in (("weight", "gain"), ("bias", "bias"))
    }


SELF = {
    "in_proj_weight": ["W_qkv.weight"],
    "in_proj_bias": ["W_qkv.bias"],
    **both("out_proj", "W_o"),
}
CROSS = {
    "in_proj_weight": ["W_q.weight", "W_kv.weight"],
    "in_proj_bias": ["W_q.bias", "W_kv.bias"],
    **both("out_proj", "W_o"),
}
ENCODER = {
    **prefixed(SELF, "self_attn.", "attention."),
    **both("linear1", "feed_forward.W_1"),
    **both("linear2", "feed_forward.W_2"),
    **norms(2),
}
DECODER = {**ENCODER, **prefixed(CROSS, "multihead_attn.", "cross."), **norms(3)}


def shake(ours: nn.Module) -> nn.Module:
    """Move every parameter, so that no bias is zero and no gain is one."""
    with torch.no_grad():
        for parameter in ours.parameters():
            parameter.add_(0.1 * torch.randn_like(parameter))
    return ours


def give_weights(theirs: nn.Module, ours: nn.Module, table: Table) -> nn.Module:
    """Copy the weights of ours into ``theirs``; each must be in the table."""
    assert dict(theirs.named_parameters()).keys() <= table.keys()
    theirs.to(next(ours.parameters()).device, next(ours.parameters()).dtype)
    with torch.no_grad():
        for name, parameter in theirs.named_parameters():
            parameter.copy_(torch.cat([ours.get_parameter(k) for k in table[name]]))
    return theirs


def agree_on_gradients(
    agree: Callable[..., None],
    table: Table,
    pair: tuple[nn.Module, nn.Module],
    results: tuple[Tensor, Tensor],
    inputs: Sequence[Tensor],
) -> None:
    """Hold the gradients of our and their result, for all parameters and inputs."""
    upstream = torch.randn_like(results[0])
    found = []
    for module, result in zip(pair, results, strict=True):
        names, parameters = zip(*module.named_parameters(), strict=True)
        grads = torch.autograd.grad(result, (*parameters, *inputs), upstream)
        found.append((dict(zip(names, grads, strict=False)), grads[len(names) :]))
    (ours, of_ours), (theirs, of_theirs) = found
    for name, grad in theirs.items():
        agree(torch.cat([ours.pop(k) for k in table[name]]), grad, gradient=True)
    assert not ours  # every parameter of ours has its place in theirs
    for a, b in zip(of_ours, of_theirs, strict=True):
        agree(a, b, gradient=True)
