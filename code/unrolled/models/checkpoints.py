"""Models in files: their weights, their sizes and the tokens they were trained on.

A checkpoint is a safetensors file: numbers and text, nothing that could run. The text
beside the weights holds the name of the model's class, its config and its tokenizer as
JSON, so the file is all that is needed. A weight that has two names (one table to read
and to write) is kept once. No code is loaded but that of the book's own models: see
``unrolled.models.serialise``.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn

from unrolled.data.tokens.bpe import BytePairs
from unrolled.data.tokens.byte_level import ByteLevel
from unrolled.data.tokens.characters import Characters
from unrolled.data.tokens.wordpiece import WordPiece
from unrolled.data.tokens.words import Words
from unrolled.models.serialise import build, check_plain, describe, name_of

Tokenizer = Characters | Words | BytePairs | ByteLevel | WordPiece
TOKENIZERS: Mapping[str, type[Tokenizer]] = {
    "characters": Characters,
    "words": Words,
    "byte pairs": BytePairs,
    "byte level": ByteLevel,
    "wordpiece": WordPiece,
}
FORMAT = "unrolled checkpoint 1"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Checkpoint:
    """A model, in evaluation mode, and the tokenizer that belongs to it, if any."""

    model: nn.Module
    tokenizer: Tokenizer | None


def save(
    path: str | Path, model: nn.Module, tokenizer: Tokenizer | None = None
) -> None:
    """Write a model and its tokenizer to a file, whole or not at all."""
    name, made = name_of(model), describe(model)
    check_plain(name, made)
    weights, same = _apart(model.state_dict())
    _dtype(weights)
    about = {"format": FORMAT, "model": name, "made_from": json.dumps(made)}
    about["same"] = json.dumps(same)
    if tokenizer is not None:
        about["tokenizer"] = tokenizer.to_json()
    _write(Path(path), weights, about)


def load(path: str | Path) -> Checkpoint:
    """Read a model, and its tokenizer if it has one, from a file of :func:`save`."""
    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"no checkpoint at {path}")
    about, weights = _read(path)
    try:
        model = _build(about, weights)
        tokenizer = _tokenizer(about.get("tokenizer"))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{path} cannot be loaded: {error}") from error
    return Checkpoint(model=model.eval(), tokenizer=tokenizer)


def _tokenizer(text: str | None) -> Tokenizer | None:
    if text is None:
        return None
    kind = json.loads(text)["kind"]
    if kind not in TOKENIZERS:
        raise ValueError(f"its tokenizer {kind!r} must be one of {list(TOKENIZERS)}")
    return TOKENIZERS[kind].from_json(text)


def _apart(weights: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return each weight once, and for every other name of one its first name."""
    names: dict[tuple[Any, ...], str] = {}
    same = {}
    for name, weight in weights.items():
        if weight.is_meta:
            raise ValueError(f"weight {name} is on the meta device: it has no numbers")
        place = (weight.data_ptr(), weight.dtype, weight.shape, weight.stride())
        first = names.setdefault(place, name)
        if first != name:
            same[name] = first
    plain = torch.contiguous_format
    kept = {name: weights[name].clone(memory_format=plain) for name in names.values()}
    return kept, same


def _dtype(weights: Mapping[str, Tensor]) -> torch.dtype:
    """Return the precision of the weights, which must be one."""
    kinds = {weight.dtype for weight in weights.values() if weight.is_floating_point()}
    if len(kinds) > 1:
        raise ValueError(f"the weights must be of one kind, not {kinds}")
    return kinds.pop() if kinds else torch.get_default_dtype()


def _write(path: Path, weights: dict[str, Tensor], about: dict[str, str]) -> None:
    """Write beside the place and then move, so that nobody meets half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.writing")
    try:
        save_file(weights, beside, metadata=about)
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    """Return what the file says of its model, and the weights by all their names."""
    try:
        with safe_open(path, framework="pt") as file:
            about = file.metadata() or {}
            if (found := about.get("format", "")) != FORMAT:
                raise ValueError(
                    f"{path} is no checkpoint of this version: its format is "
                    f"{found!r} and must be {FORMAT!r}"
                )
            weights = {name: file.get_tensor(name) for name in file.keys()}
    except SafetensorError as error:
        raise ValueError(f"{path} is no safetensors file: {error}") from error
    if missing := {"model", "made_from", "same"} - about.keys():
        raise ValueError(f"{path} does not say {', '.join(sorted(missing))}")
    return about, weights


def _build(about: Mapping[str, str], weights: dict[str, Tensor]) -> nn.Module:
    """Make the model anew and give it its weights."""
    dtype = _dtype(weights)
    model = _new(about["model"], about["made_from"], dtype).to(dtype)
    same: dict[str, str] = json.loads(about["same"])
    weights = weights | {name: weights[first] for name, first in same.items()}
    _check_weights(weights, model.state_dict())
    model.load_state_dict(weights)
    return model


def _check_weights(found: Mapping[str, Tensor], wanted: Mapping[str, Tensor]) -> None:
    """Refuse weights of other names or shapes than those of the model."""
    if missing := wanted.keys() - found.keys():
        raise ValueError(f"it lacks the weights {', '.join(sorted(missing))}")
    if extra := found.keys() - wanted.keys():
        raise ValueError(f"its model has no weights {', '.join(sorted(extra))}")
    for name, weight in wanted.items():
        if found[name].shape != weight.shape:
            raise ValueError(
                f"its weight {name} is {tuple(found[name].shape)} and must be "
                f"{tuple(weight.shape)}"
            )


def _new(name: str, text: str, dtype: torch.dtype) -> nn.Module:
    """Make a model anew; nobody misses the random numbers of its first weights."""
    before = torch.get_default_dtype()
    with torch.random.fork_rng(devices=[]):
        torch.set_default_dtype(torch.promote_types(dtype, torch.float32))
        try:
            return build(name, json.loads(text))
        finally:
            torch.set_default_dtype(before)
