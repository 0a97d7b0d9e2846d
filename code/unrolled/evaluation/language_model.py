"""How well a language model foretells a text, in all the usual units.

The text is read in windows that overlap, so that every token but the first is foretold
once, and with a good part of a window in sight. Nats, perplexity and bits of a token
depend on what the tokens are; bits of a character or byte can be compared between
tokenizers. Axes: B windows, T = width - 1 steps, V vocabulary.
"""

from dataclasses import dataclass
from itertools import takewhile
from typing import Protocol

import torch
from torch import Tensor, nn
from tqdm.auto import tqdm

from unrolled.data.windows import scoring_windows
from unrolled.decoding.loop import evaluating
from unrolled.evaluation.perplexity import bits, perplexity, token_log_probabilities


class Tokens(Protocol):
    """A tokenizer: text to ids, and back."""

    def encode(self, text: str, /) -> list[int]:
        """Return the ids of a text."""

    def decode(self, ids: list[int], /) -> str:
        """Return the text of the ids."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Score:
    """What a model made of a text; its first token is given, and does not count.

    A character of which that token is only a part counts, and so does a first word that
    the tokenizer does not know.
    ``nats`` is the mean of -log p: the loss of training.
    """

    n_tokens: int
    n_characters: int
    n_bytes: int
    nats: float
    perplexity: float
    bits_per_character: float
    bits_per_byte: float


def text_log_probabilities(
    model: nn.Module,
    ids: Tensor,
    *,
    width: int,
    stride: int | None = None,
    n_rows: int = 16,
    progress: bool = False,
) -> Tensor:
    """Return the log-probabilities (N - 1,) of all tokens of a text (N,) but the first.

    Args:
        model: takes ids (B, T) to logits (B, T, V).
        ids: the text.
        width: how many tokens a window has; the model reads one less at a time.
        stride: how far apart windows begin; each token is foretold from at least
            width - 1 - stride before it, where there are so many. None is half of that.
        n_rows: B, how many windows are read at once.
        progress: whether to show a bar, on a terminal.
    """
    stride = max(1, (width - 1) // 2) if stride is None else stride
    windows = scoring_windows(ids, n_rows, width=width, stride=stride)
    device = next(model.parameters()).device
    hidden = None if progress else True  # None: where nobody would see it
    found = []
    with torch.inference_mode(), evaluating(model):
        bar = tqdm(total=len(ids) - 1, unit="token", disable=hidden)
        for batch in windows:
            x, y = batch.x.to(device), batch.y.to(device)
            log_p = token_log_probabilities(model(x), y).cpu()
            found.append(log_p[batch.mask])
            bar.update(len(found[-1]))
        bar.close()
    return torch.cat(found)


def score_text(
    model: nn.Module,
    tokenizer: Tokens,
    text: str,
    *,
    width: int,
    stride: int | None = None,
    n_rows: int = 16,
    progress: bool = False,
) -> Score:
    """Return how well a model foretells a text, read as its tokenizer cuts it."""
    ids = tokenizer.encode(text)
    if len(ids) < 2:
        raise ValueError(
            f"{text[:20]!r} has {len(ids)} tokens; it must have two at least, one to "
            "begin with and one to foretell"
        )
    log_p = text_log_probabilities(
        model,
        torch.tensor(ids),
        width=width,
        stride=stride,
        n_rows=n_rows,
        progress=progress,
    )
    given = _common(text, tokenizer.decode(ids[:1]))
    n_characters = len(text) - len(given)
    n_bytes = _n_bytes(text) - _n_bytes(given)
    return Score(
        n_tokens=len(log_p),
        n_characters=n_characters,
        n_bytes=n_bytes,
        nats=-log_p.double().mean().item(),
        perplexity=perplexity(log_p),
        bits_per_character=bits(log_p) / n_characters,
        bits_per_byte=bits(log_p) / n_bytes,
    )


def _common(one: str, two: str) -> str:
    """Return what both texts begin with."""
    pairs = takewhile(lambda pair: pair[0] == pair[1], zip(one, two, strict=False))
    return "".join(c for c, _ in pairs)


def _n_bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
