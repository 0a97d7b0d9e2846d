"""Weights under two names: ours, and those of Hugging Face's modules.

A table maps each of our parameters to theirs. Several of theirs, one below the other,
make one of ours: queries, keys and values are three matrices there and one here.
"""

from collections.abc import Collection, Mapping
from importlib import import_module
from typing import Any, TypeVar

import torch
from torch import Tensor, nn

Table = dict[str, tuple[str, ...]]
Model = TypeVar("Model", bound=nn.Module)


def linear(ours: str, *theirs: str) -> Table:
    """Return the rows of a linear layer, or of several that are one of ours."""
    return {
        f"{ours}.{kind}": tuple(f"{name}.{kind}" for name in theirs)
        for kind in ("weight", "bias")
    }


def norm(ours: str, theirs: str) -> Table:
    """Return the rows of a LayerNorm, whose gain they call its weight."""
    return {f"{ours}.gain": (f"{theirs}.weight",), f"{ours}.bias": (f"{theirs}.bias",)}


def inside(table: Table, ours: str, theirs: str) -> Table:
    """Return the table of a module that is a part of another."""
    return {
        f"{ours}.{name}": tuple(f"{theirs}.{part}" for part in parts)
        for name, parts in table.items()
    }


def read_weights(
    model: Model,
    table: Table,
    weights: Mapping[str, Tensor],
    *,
    turned: Collection[str] = (),
) -> Model:
    """Fill ``model`` with copies of ``weights``, of their type and on their device.

    The model may be on the meta device: then nothing was drawn to be thrown away.
    Weights that the table does not name are left where they are. Parts of one of ours
    may differ in size: Llama has fewer keys than queries. Matrices that are ``turned``
    are kept as inputs by outputs.
    """
    found = {}
    for name, parameter in model.named_parameters():
        shape, names = tuple(parameter.shape), table[name]
        if missing := [part for part in names if part not in weights]:
            raise ValueError(
                f"weights must have {missing[0]!r}, for our {name!r} of shape {shape}"
            )
        parts = [_turn(weights[part].detach(), part in turned) for part in names]
        if not _fit(parts, parameter):
            shapes = {part: tuple(weights[part].shape) for part in names}
            raise ValueError(f"{shapes} must make our {name!r} of shape {shape}")
        found[name] = torch.cat([part.flatten() for part in parts]).view(shape)
    model.load_state_dict(found, assign=True)
    return model


@torch.no_grad()
def write_weights(
    model: nn.Module, table: Table, theirs: Model, *, turned: Collection[str] = ()
) -> Model:
    """Copy the weights of ``model`` into ``theirs``, and its type, device and mode."""
    like = next(model.parameters())
    theirs.to(like.device, like.dtype).train(model.training)
    for name, parameter in model.named_parameters():
        names = table[name]
        targets = [_turn(theirs.get_parameter(part), part in turned) for part in names]
        parts = parameter.flatten().split([target.numel() for target in targets])
        for target, part in zip(targets, parts, strict=True):
            target.copy_(part.view(target.shape))
    return theirs


def _turn(weight: Tensor, is_turned: bool) -> Tensor:
    return weight.T if is_turned else weight


def _fit(parts: list[Tensor], whole: Tensor) -> bool:
    """Return whether ``parts``, one below the other, have the numbers of ``whole``.

    A part may have other axes: a kernel of a convolution has more, a vector may be in
    a batch of one. Where it has as many, its rows must be as long.
    """
    alike = (part for part in parts if part.ndim == whole.ndim)
    rows_fit = all(part.shape[1:] == whole.shape[1:] for part in alike)
    return rows_fit and sum(part.numel() for part in parts) == whole.numel()


def hugging_face() -> Any:
    """Import ``transformers``: it takes seconds, so only who goes there waits."""
    try:
        return import_module("transformers")
    except ImportError as error:
        raise ImportError(
            "to_hf() makes a module of Hugging Face's library, which is not installed: "
            "pip install transformers"
        ) from error


def settings_of(module: nn.Module) -> dict[str, Any]:
    """Return the settings of a Hugging Face module, by their names."""
    config: Any = getattr(module, "config", None)
    if not hasattr(config, "to_dict"):
        raise ValueError(
            f"module is a {type(module).__name__} without Hugging Face's config: it "
            "must come from transformers"
        )
    return dict(config.to_dict())


def check_settings(settings: Mapping[str, Any], **wanted: object) -> None:
    """Refuse a setting that our model has no other value of, by its name."""
    for name, value in wanted.items():
        if settings.get(name, value) != value:
            raise ValueError(f"{name}={settings[name]!r} must be {value!r}")
