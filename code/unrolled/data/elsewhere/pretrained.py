"""The weights of BERT and of GPT-2, under the names their homes gave them."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from unrolled.data.fetch.home_files import Home, from_hub
from unrolled.data.fetch.homes import home_file

if TYPE_CHECKING:
    from torch import Tensor

BERT = Home(
    name="bert",
    files=from_hub(
        "google-bert/bert-base-uncased",
        "86b5e0934494bd15c9632b12f734a8a67f723594",
        "",
        """config.json 570
        7160e1553ad2ca51d8c1cb066be533db31826e12d173824c1bb0cb1a4f187d20
        vocab.txt 231508
        07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3
        model.safetensors 440449768
        68d45e234eb4a928074dfd868cead0219ab85354cc53d20e772753c6bb9169d3""",
    ),
    licence="Apache-2.0",
    citation="J. Devlin et al., BERT, NAACL 2019 (bert-base-uncased)",
)
GPT2 = Home(
    name="gpt2",
    files=from_hub(
        "openai-community/gpt2",
        "607a30d783dfa663caf39e06633721c8d4cfcd7e",
        "",
        """config.json 665
        0daed7749b4f02b8f76240d5444551d7b08712dab4d0adb8239c56ba823bb7b4
        vocab.json 1042301
        196139668be63f3b5d6574427317ae82f612a97c5d1cdaf36ed2256dbf636783
        merges.txt 456318
        1ce1664773c50f3e0cc8842619a93edc4624525b728b188a9e0be33b7726adc5
        model.safetensors 548105171
        248dfc3911869ec493c76e65bf2fcf7f615828b0254c12b473182f0f81d3a707""",
    ),
    licence="MIT",
    citation="A. Radford et al., Language Models are Unsupervised Learners, 2019",
)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Pretrained:
    """A model of another's making: its sizes, weights and tokens.

    A token's place is its id. ``merges`` are the pairs that byte-pair encoding
    joins, the first first; WordPiece has none.
    """

    config: Mapping[str, Any]
    weights: Mapping[str, "Tensor"]
    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...] = ()


def bert() -> Pretrained:
    """Return bert-base-uncased: 12 layers, 768 wide, with its masked-word head.

    The file calls a layer norm's scale and shift *gamma* and *beta*, after TensorFlow;
    here they are *weight* and *bias*, as in PyTorch.
    """
    from safetensors.torch import load_file  # loads torch: only when asked

    weights = load_file(home_file(BERT, "model.safetensors"))
    return Pretrained(
        config=_json(home_file(BERT, "config.json")),
        weights=MappingProxyType({_name(old): w for old, w in weights.items()}),
        tokens=_lines(home_file(BERT, "vocab.txt")),
    )


def gpt2() -> Pretrained:
    """Return the small GPT-2: 12 layers, 768 wide, its output tied to its embedding.

    A matrix is (in, out), so that a layer is ``x @ W + b``. The file's causal masks,
    ``h.0.attn.bias`` and its like, are no weights and are left out.
    """
    from safetensors.torch import load_file  # loads torch: only when asked

    weights = load_file(home_file(GPT2, "model.safetensors"))
    tokens = _json(home_file(GPT2, "vocab.json"))
    _, *merges = _lines(home_file(GPT2, "merges.txt"))  # the first is a version
    return Pretrained(
        config=_json(home_file(GPT2, "config.json")),
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
