"""What is measured of a character model once it is trained: how it reads and writes."""

import math
from functools import cache
from typing import Any

import torch
from torch import Tensor

from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.windows import carried_windows
from unrolled.decoding.loop import generate
from unrolled.decoding.sampling import Chooser, greedy, sampler
from unrolled.evaluation.perplexity import token_log_probabilities
from unrolled.evaluation.writing import (
    commonest_word,
    known_words,
    period,
    repeated_runs,
    words_of,
)
from unrolled.models.rnn_lm import RNNLM
from unrolled.recipes._character_data import ROWS, WIDTH, characters, held_out
from unrolled.runtime import generator

BEGINS = ("\n", "In the beginning ", "Now ", "The word of the LORD", "zzzz")
SETTINGS: dict[str, dict[str, Any]] = {
    **{f"temperature {tau:g}": {"temperature": tau} for tau in (0.2, 0.5, 1, 1.5)},
    "top-k of 5": {"k": 5},
    "top-p of 0.8": {"p": 0.8},
}
N_TEXTS, LONG = 50, 400  # of a setting, and characters of each
SEEN = 40  # characters of right text before a line break


@torch.no_grad()
def bits_by_place(model: RNNLM) -> dict[str, list[float]]:
    """Return the bits of an unseen character by its place in a piece as of training.

    Pieces are read twice: each from a state of zero, and each from the state after the
    piece before. The first piece, which has none before it, and a shorter last one are
    left out.
    """
    found: dict[str, list[Tensor]] = {"state zero": [], "state carried on": []}
    ids, state = torch.tensor(characters()[0].encode(held_out())), None
    for batch in carried_windows(ids, ROWS, steps=WIDTH - 1):
        logits, after = model.read(batch.x, state)
        if state is not None and batch.x.shape[1] == WIDTH - 1:
            for name, o in zip(found, (model(batch.x), logits), strict=True):
                found[name].append(-token_log_probabilities(o, batch.y))
        state = after
    return {
        name: [round(bits, 4) for bits in _mean_bits(each)]
        for name, each in found.items()
    }


def _mean_bits(nats: list[Tensor]) -> list[float]:
    mean: list[float] = (torch.cat(nats).mean(dim=0) / math.log(2)).tolist()
    return mean


def written(model: RNNLM, choose: Chooser, begins: list[str]) -> list[str]:
    """Return what the model writes after each of ``begins``, all of one length."""
    tokenizer = characters()[0]
    prompts = torch.tensor([tokenizer.encode(begin) for begin in begins])
    ids = generate(model, prompts, n_tokens=LONG, choose=choose).ids
    return [tokenizer.decode(row) for row in ids.tolist()]


def samples(model: RNNLM) -> dict[str, list[str]]:
    """Return what the model writes: greedily after five beginnings, and drawn."""
    texts = {"greedy": [written(model, greedy, [b])[0] for b in BEGINS]}
    for name, setting in SETTINGS.items():
        choose = sampler(generator=generator(0), **setting)
        texts[name] = written(model, choose, ["\n"] * N_TEXTS)
    return texts


def ends_of_lines() -> list[str]:
    """Return the ends of unseen lines, each with its line break."""
    lines = [line for line in held_out().split("\n")[:-1] if len(line) >= SEEN]
    return [line[-SEEN:] + "\n" for line in lines[:N_TEXTS]]


def samples_after_lines(model: RNNLM) -> list[str]:
    """Return what the model writes at temperature 1 once it has read right text.

    The last character before its own is a line break, as before :func:`samples`, and so
    are the draws: what differs is the state alone.
    """
    choose = sampler(generator=generator(0), temperature=1)
    return written(model, choose, ends_of_lines())


@cache
def vocabulary() -> frozenset[str]:
    """Return the words of the training books."""
    return frozenset(words_of(kjv_text().train))


def people() -> list[str]:
    """Return what people wrote: the validation books, in pieces as long as samples."""
    text = kjv_text().validation
    return [text[LONG * i : LONG * (i + 1)] for i in range(2 * N_TEXTS)]


def shares(texts: list[str]) -> dict[str, float]:
    """Return three shares: known words, repeated runs, and the most frequent word."""
    return {
        "words": known_words(texts, vocabulary()),
        "repeated": repeated_runs(texts),
        "commonest": commonest_word(texts)[1],
    }


@torch.no_grad()
def rounds(model: RNNLM) -> list[dict[str, float | None]]:
    """Return for each beginning the round in which the greedy text ends, if it does.

    ``apart`` is how far the last state is from that of a period before, and ``length``
    how long that state is.
    """
    found: list[dict[str, float | None]] = []
    for begin in BEGINS:
        o, state = model.start(torch.tensor([characters()[0].encode(begin)]))
        ids, states = [], []
        for _ in range(LONG):
            ids.append(int(o.argmax()))
            states.append(state.layers[0, 0])
            o, state = model.step(o.argmax(dim=-1), state)
        n = period(ids)
        apart = None if n is None else (states[-1] - states[-1 - n]).norm().item()
        found.append({"period": n, "apart": apart, "length": states[-1].norm().item()})
    return found
