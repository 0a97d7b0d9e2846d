"""The weights of BERT and of GPT-2, under the names their homes gave them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from safetensors.torch import load_file
from torch import Tensor

from unrolled.data.fetch.homes import home_file


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pretrained:
    """A model of another's making: its sizes, weights and tokens.

    A token's place is its id. ``merges`` are the pairs that byte-pair encoding
    joins, the first first; WordPiece has none.
    """

    config: Mapping[str, Any]
    weights: Mapping[str, Tensor]
    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...] = ()


def bert() -> Pretrained:
    """Return bert-base-uncased: 12 layers, 768 wide, with its masked-word head.

    The file calls a layer norm's scale and shift *gamma* and *beta*, after TensorFlow;
    here they are *weight* and *bias*, as in PyTorch.
    """
    weights = load_file(home_file("bert", "model.safetensors"))
    return Pretrained(
        config=_json(home_file("bert", "config.json")),
        weights=MappingProxyType({_name(old): w for old, w in weights.items()}),
        tokens=_lines(home_file("bert", "vocab.txt")),
    )


def gpt2() -> Pretrained:
    """Return the small GPT-2: 12 layers, 768 wide, its output tied to its embedding.

    A matrix is (in, out), so that a layer is ``x @ W + b``. The file's causal masks,
    ``h.0.attn.bias`` and its like, are no weights and are left out.
    """
    weights = load_file(home_file("gpt2", "model.safetensors"))
    tokens = _json(home_file("gpt2", "vocab.json"))
    _, *merges = _lines(home_file("gpt2", "merges.txt"))  # the first is a version
    return Pretrained(
        config=_json(home_file("gpt2", "config.json")),
        weights=MappingProxyType(
            {name: w for name, w in weights.items() if not name.endswith(".attn.bias")}
        ),
        tokens=tuple(sorted(tokens, key=tokens.__getitem__)),
        merges=tuple(_pair(line) for line in merges),
    )


def _name(old: str) -> str:
    new = old.replace("LayerNorm.gamma", "LayerNorm.weight")
    return new.replace("LayerNorm.beta", "LayerNorm.bias")


def _json(path: Path) -> Mapping[str, Any]:
    return MappingProxyType(json.loads(path.read_text(encoding="utf-8")))


def _lines(path: Path) -> tuple[str, ...]:
    """Return the lines; ``splitlines`` would also cut at Unicode's rarer separators."""
    return tuple(path.read_text(encoding="utf-8").removesuffix("\n").split("\n"))


def _pair(line: str) -> tuple[str, str]:
    first, second = line.split(" ")
    return first, second
