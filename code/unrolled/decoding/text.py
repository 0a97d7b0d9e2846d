"""Text to text: a prompt is read, and the model writes on in words.

A language model goes on from the prompt. Without one it begins after ``<bos>``, if the
vocabulary has that, or else after an empty line. A model that reads a source and writes
another text (``start`` takes a ``source``) begins its text with ``<bos>``. Either ends
with ``<eos>``, if there is such a token (or ``<|im_end|>``, SmolLM2's word for it).
"""

import inspect
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import torch

from unrolled.data.tokens.vocabulary import BOS, EOS
from unrolled.decoding.beam import beam_search
from unrolled.decoding.loop import stream, stream_on
from unrolled.decoding.sampling import Chooser, greedy
from unrolled.decoding.spelling import spell_on

ENDS = (EOS, "<|im_end|>")


class Tokens(Protocol):
    """A tokenizer, as those of ``unrolled.data.tokens``."""

    @property
    def ids(self) -> Mapping[Any, int]:
        """Return the id of each token."""

    def encode(self, text: str, /) -> list[int]:
        """Return the ids of a text."""

    def decode(self, ids: Sequence[int], /) -> str:
        """Return the text of the ids."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Beginning:
    """What a model starts from, and what it has read then.

    ``start`` is what ``model.start`` takes, ``before`` the ids that the text goes on
    from, ``n_read`` how many tokens the part that writes has read. ``room`` is how many
    it can read in all; None is as many as there are.
    """

    start: tuple[Any, ...]
    before: list[int]
    n_read: int
    room: int | None

    def fitting(self, n_tokens: int) -> int:
        """Return how many of ``n_tokens`` can be written; the last is not read."""
        if self.room is None:
            return n_tokens
        if self.n_read > self.room:
            raise ValueError(
                f"the prompt has {self.n_read} tokens, and the model can read "
                f"{self.room}: shorten it"
            )
        return min(n_tokens, 1 + self.room - self.n_read)


def reads_source(model: Any) -> bool:
    """Say whether a model that writes does so of a source."""
    return "source" in inspect.signature(model.start).parameters


def begin(model: Any, tokenizer: Tokens, prompt: str = "") -> Beginning:
    """Return how a model begins to write after ``prompt``, or of it."""
    if not hasattr(model, "start"):
        raise ValueError(f"a {type(model).__name__} writes nothing: it has no start")
    first, ids = tokenizer.ids.get(BOS), _encode(tokenizer, prompt)
    device = next(model.parameters()).device
    room = getattr(model.config, "n_positions", None)
    if reads_source(model):
        if first is None or not ids:
            raise ValueError(
                f"{prompt=} must be a text for the model to write of, and its "
                f"vocabulary must have {BOS!r} to begin with"
            )
        source, bos = torch.tensor([ids]).to(device), torch.tensor([first]).to(device)
        return Beginning(start=(source, None, bos), before=[], n_read=1, room=room)
    if not ids:
        ids = [first] if first is not None else _encode(tokenizer, "\n")
    start = (torch.tensor([ids]).to(device),)
    return Beginning(start=start, before=ids, n_read=len(ids), room=room)


def write(
    model: Any,
    tokenizer: Tokens,
    prompt: str = "",
    *,
    n_tokens: int,
    choose: Chooser = greedy,
) -> Iterator[str]:
    """Yield what a model writes after the prompt, piece by piece.

    A language model that has no room for so many tokens forgets the older half now and
    then, and goes on; one that reads a source ends where its room does.
    """
    begun, stop = begin(model, tokenizer, prompt), _stop(tokenizer)
    options: Any = {"choose": choose, "stop": stop}
    if begun.before and begun.room is not None:
        options |= {"room": begun.room, "n_tokens": n_tokens}
        steps = stream_on(model, *begun.start, **options)
    else:
        steps = stream(model, *begun.start, n_tokens=begun.fitting(n_tokens), **options)
    ids = (int(row) for row in steps)  # whoever reads along must have the number
    return spell_on(tokenizer.decode, ids, before=begun.before)


def best_texts(
    model: Any,
    tokenizer: Tokens,
    prompt: str = "",
    *,
    n_tokens: int,
    n_beams: int,
    length_penalty: float = 0.0,
) -> list[tuple[str, float]]:
    """Return the best texts of a beam search after the prompt, with their scores."""
    begun = begin(model, tokenizer, prompt)
    found = beam_search(
        model,
        *begun.start,
        n_beams=n_beams,
        n_tokens=begun.fitting(n_tokens),
        stop=_stop(tokenizer),
        length_penalty=length_penalty,
    )
    texts = (
        "".join(spell_on(tokenizer.decode, ids, before=begun.before))
        for ids in found.lists()[0]
    )
    scored = zip(texts, found.scores[0].tolist(), strict=True)
    return [(text, score) for text, score in scored if score > -math.inf]


def _stop(tokenizer: Tokens) -> int | None:
    """Return the token that ends a text, if the vocabulary has one."""
    return next((tokenizer.ids[end] for end in ENDS if end in tokenizer.ids), None)


def _encode(tokenizer: Tokens, prompt: str) -> list[int]:
    try:
        return tokenizer.encode(prompt)
    except ValueError as error:
        raise ValueError(f"the prompt cannot be read: {error}") from None
