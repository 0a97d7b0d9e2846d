"""The table behind the embedding plane: some of GloVe's words, rounded to a byte.

The page carries the most frequent plain words, the kin and all that can be picked,
each scaled to length one and then rounded to 127 steps. It computes with the rounded
numbers, and so do we (:func:`table`), which is what a browser test compares.
"""

import base64
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from unrolled.data.corpora.glove import glove
from unrolled.evaluation.analogies import KIN, corner, rank

N_FREQUENT, SCALE = 1500, 127.0
#: What the reader may pick, beside the kin.
PLACES = "france paris italy rome germany berlin japan tokyo spain madrid"
OTHERS = "good better bad worse big bigger small smaller walk walked go went"
WORK = "doctor nurse teacher engineer boss secretary"
PICKS = tuple(
    dict.fromkeys(
        [w for pair in KIN for w in pair] + f"{PLACES} {OTHERS} {WORK}".split()
    )
)
PRESETS = (
    ("man", "woman", "king"),
    ("man", "woman", "uncle"),
    ("he", "she", "uncle"),
    ("man", "woman", "doctor"),
    ("france", "paris", "italy"),
    ("good", "better", "bad"),
    ("walk", "walked", "go"),
)
UNITS: list[dict[str, Any]] = [{"frequent": N_FREQUENT}]


@cache
def words() -> tuple[str, ...]:
    """Return the words of the page: those to pick first, then the frequent ones."""
    plain = (w for w in glove().words if w.isascii() and w.isalpha() and len(w) > 2)
    frequent = [word for word, _ in zip(plain, range(N_FREQUENT), strict=False)]
    return tuple(dict.fromkeys([*PICKS, *frequent]))


@cache
def rounded() -> np.ndarray:
    """Return the vectors (V, E) as bytes from -127 to 127."""
    rows = np.stack([glove()[word] for word in words()])
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return np.round(unit * SCALE).astype(np.int8)


@cache
def table() -> Tensor:
    """Return what the page computes with: (V, E) in double precision, of length one."""
    vectors = torch.from_numpy(rounded()).double()
    return vectors / vectors.norm(dim=1, keepdim=True)


def run_unit(unit: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Save the bytes; tell how much rounding has changed, and what the presets give."""
    (folder / "table").write_bytes(rounded().tobytes())
    exact = torch.from_numpy(np.stack([glove()[word] for word in words()])).double()
    cosines = torch.cosine_similarity(exact, table(), dim=1)
    rows = {word: row for row, word in enumerate(words())}
    kin = []
    for (a, b), (c, d) in ((p, q) for p in KIN for q in KIN if p != q):
        asked = [rows[a], rows[b], rows[c]]
        query = corner(table(), *asked)
        kin.append(rank(table(), query, rows[d], leave_out=asked))
    return {
        "words": len(words()),
        "least cosine with the unrounded": cosines.min().item(),
        "kin first, of these words": sum(r == 1 for r in kin) / len(kin),
    }


def summarise(units: list[dict[str, Any]]) -> dict[str, Any]:
    """Return what the only unit found."""
    return {
        key: units[0][key] for key in units[0] if key not in ("seconds", "frequent")
    }


def export(folder: Path, target: Path) -> None:
    """Write words and bytes as a script for the lab."""
    model = {
        "words": words(),
        "picks": PICKS,
        "presets": PRESETS,
        "width": rounded().shape[1],
        "bytes": base64.b64encode((folder / "table").read_bytes()).decode("ascii"),
    }
    (target / "embedding-plane.js").write_text(
        "window.UnrolledLab = window.UnrolledLab || {};\n"
        "window.UnrolledLab.models = window.UnrolledLab.models || {};\n"
        f'window.UnrolledLab.models["embedding-plane"] = {json.dumps(model)};\n',
        encoding="utf-8",
        newline="\n",
    )
