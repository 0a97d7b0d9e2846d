"""Making a batch, against a training step of the smallest model that takes it.

A share of 0.05 says that the batch costs a twentieth of the step. The models are
smaller than any that the book trains on such batches, so that its own do better.
"""

from collections.abc import Callable, Iterator
from itertools import repeat

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from bench.measure import Case, Step
from unrolled.data.batch import Batch, PairBatch
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.corpora.opinions import opinions
from unrolled.data.made.draws import stream, stream_batches
from unrolled.data.made.flip_flop import flip_flop
from unrolled.data.made.recall import recall
from unrolled.data.padding import buckets, pad_labelled, pad_pairs
from unrolled.data.tokens.characters import Characters
from unrolled.data.tokens.words import Words
from unrolled.data.windows import carried_windows, sampled_windows
from unrolled.layers.recurrent import RNNCell
from unrolled.models.classifier import Classifier
from unrolled.models.tagger import Tagger, TaggerConfig
from unrolled.runtime import generator
from unrolled.training.loop import TrainConfig, training_steps

B, T, D = 32, 64, 32


class SmallLM(nn.Module):
    """The smallest language model that we would train: one RNN of D units."""

    def __init__(self, n_tokens: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(n_tokens, D)
        self.rnn = nn.RNN(D, D, batch_first=True)
        self.read = nn.Linear(D, n_tokens)

    def forward(self, ids: Tensor, state: Tensor | None = None) -> Tensor:
        """Return scores (B, T, V) for ``ids`` (B, T)."""
        return self.read(self.rnn(self.embed(ids), state)[0])


def step_of(model: nn.Module, loss: Callable[[], Tensor]) -> Step:
    """Return a step of the book's training loop on a batch that is there already."""
    none = Batch(x=torch.empty(0), y=torch.empty(0))
    steps = training_steps(
        model, lambda *_: loss(), repeat(none), TrainConfig(steps=10**9)
    )
    return lambda: next(steps)


def endless(make: Callable[[], Iterator[Batch]]) -> Step:
    """Return a call for the next batch; after the last one comes the first again."""
    batches = (batch for epoch in stream(make) for batch in epoch)
    return lambda: next(batches)


def made_cases() -> Iterator[tuple[str, Step, Step]]:
    """Yield the two tasks of chapters 4 and 5 with their smallest models."""
    g = generator(0)
    flips = stream_batches(flip_flop, B, 30, n_wires=2, generator=g)
    tagger, batch = Tagger(TaggerConfig(d_in=2, d_hidden=2, d_out=2)), next(flips)
    wanted = (batch.y > 0).float()
    yield (
        "flip-flops, for 2 units",
        lambda: next(flips),
        step_of(
            tagger,
            lambda: F.binary_cross_entropy_with_logits(tagger(batch.x), wanted),
        ),
    )
    recalls = stream(recall, B, 20, generator=g)
    reader, lag = Classifier(RNNCell(10, D), 8), next(recalls)
    yield (
        "recall after 20 steps, for 32 units",
        lambda: next(recalls),
        step_of(reader, lambda: F.cross_entropy(reader(lag.x), lag.y)),
    )


def text_cases() -> Iterator[tuple[str, Step, Step]]:
    """Yield the two ways to cut a text into windows."""
    text = kjv_text().train
    characters = Characters.of(text)
    ids = torch.tensor(characters.encode(text))
    model = SmallLM(len(characters))
    g = generator(0)
    batch = sampled_windows(ids, B, width=T + 1, generator=g)
    step = step_of(
        model,
        lambda: F.cross_entropy(model(batch.x).flatten(0, 1), batch.y.flatten()),
    )
    sampled = stream(sampled_windows, ids, B, width=T + 1, generator=g)
    yield "windows drawn anywhere, for 32 units", lambda: next(sampled), step
    carried = endless(lambda: carried_windows(ids, B, steps=T))
    yield "windows that go on, for 32 units", carried, step


def padded_cases() -> Iterator[tuple[str, Step, Step]]:
    """Yield padded batches with labels, and pairs, both sorted into buckets."""
    tweets = opinions("tweets").train
    words = Words.of([tweet.text for tweet in tweets])
    rows = [words.encode(tweet.text) for tweet in tweets]
    scores = torch.tensor([tweet.score for tweet in tweets])
    lengths, g = [len(row) for row in rows], generator(0)

    def labelled() -> Iterator[Batch]:
        for places in buckets(lengths, B, generator=g):
            yield pad_labelled([rows[i] for i in places], scores[places])

    def pairs() -> Iterator[PairBatch]:
        for places in buckets(lengths, B, generator=g):
            chosen = [rows[i] for i in places]
            yield pad_pairs(chosen, chosen, begin_id=2, end_id=3)

    batch = max(labelled(), key=lambda batch: batch.x.shape[1] == 16)
    reader, writer = SmallLM(len(words)), SmallLM(len(words))
    yield (
        "tweets with their scores, for 32 units",
        endless(labelled),
        step_of(
            reader,
            lambda: (
                (reader.rnn(reader.embed(batch.x))[0].mean((1, 2)) - batch.y)
                .square()
                .mean()
            ),
        ),
    )
    pair = max(pairs(), key=lambda pair: pair.source.shape[1] == 16)

    def translate() -> Tensor:
        last = reader.rnn(reader.embed(pair.source))[1]
        scores = writer(pair.target_in, last)
        return F.cross_entropy(
            scores[pair.target_mask], pair.target_out[pair.target_mask]
        )

    both = nn.ModuleList([reader, writer])
    yield "pairs, for two RNNs of 32 units", endless(pairs), step_of(both, translate)


def batch_cases() -> list[Case]:
    """Compare making each kind of batch with training on it."""
    return [
        Case(
            what=f"a batch of {what}",
            against="a training step",
            ours=make,
            theirs=step,
            reach=0.05,
        )
        for what, make, step in [*made_cases(), *text_cases(), *padded_cases()]
    ]
