"""Scores of a text, against a sum over its tokens one by one."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from table_writer import TableWriter
from unrolled.data.tokens.bpe import BytePairs
from unrolled.data.tokens.bpe_training import train_bpe
from unrolled.data.tokens.characters import Characters
from unrolled.data.tokens.words import Words
from unrolled.evaluation.language_model import score_text, text_log_probabilities


def one_by_one(model, ids):
    """Return the log-probability of each token but the first, given the two before."""
    log_p = model.table.detach().log_softmax(dim=-1)
    padded = [ids[0], *ids]
    return [
        log_p[a, b, c].item() for a, b, c in zip(padded, ids, ids[1:], strict=False)
    ]


@given(st.integers(2, 40), st.integers(4, 12), st.integers(1, 5), st.integers(0, 1000))
@settings(max_examples=40)
def test_every_token_but_the_first_is_scored_once_in_order(n, width, n_rows, seed):
    torch.manual_seed(seed)
    model, ids = TableWriter(4), torch.randint(4, (n,))
    for stride in (None, 1, width - 3):  # a context of two, the table's, is enough
        found = text_log_probabilities(
            model, ids, width=width, stride=stride, n_rows=n_rows
        )
        assert found.tolist() == pytest.approx(one_by_one(model, ids.tolist()))


class Counter(nn.Module):
    """Is the surer of token 1, the more tokens it has in sight."""

    def __init__(self):
        super().__init__()
        self.longest = 0
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, ids):
        self.longest = max(self.longest, ids.shape[1])
        seen = torch.arange(1.0, ids.shape[1] + 1).expand(ids.shape)
        odds = self.scale * seen
        return torch.stack([-torch.log(odds.exp() - 1), torch.zeros_like(odds)], dim=-1)


@pytest.mark.parametrize(("stride", "least"), [(1, 5), (3, 3), (5, 1), (None, 4)])
def test_windows_keep_a_context_and_none_is_wider(stride, least):
    model, ids = Counter(), torch.ones(30, dtype=torch.long)
    log_p = text_log_probabilities(model, ids, width=6, stride=stride)
    seen = -torch.log1p(-log_p.exp())  # p = 1 - exp(-seen)
    assert seen[:5].round().tolist() == [1, 2, 3, 4, 5]
    assert seen[5:].min().round() == least
    assert model.longest == 5


TEXT = "le chât dort. le chien dort."
TOKENIZERS = [
    Characters.of(TEXT),
    train_bpe(TEXT, 262, min_count=2),
    Words.of([TEXT]),
]


class Uniform(nn.Module):
    def __init__(self, n_tokens):
        super().__init__()
        self.logits = nn.Parameter(torch.zeros(n_tokens))

    def forward(self, ids):
        return self.logits.expand(*ids.shape, -1)


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda t: type(t).__name__)
def test_all_units_of_a_uniform_model(tokenizer):
    ids, n = tokenizer.encode(TEXT), len(tokenizer)
    found = score_text(Uniform(n), tokenizer, TEXT, width=8)
    given = tokenizer.decode(ids[:1])
    assert found.n_tokens == len(ids) - 1
    assert found.n_characters == len(TEXT) - len(given)
    assert found.n_bytes == len(TEXT.encode()) - len(given.encode())
    assert found.nats == pytest.approx(math.log(n))
    assert found.perplexity == pytest.approx(n)
    bits = (len(ids) - 1) * math.log2(n)
    assert found.bits_per_character == pytest.approx(bits / found.n_characters)
    assert found.bits_per_byte == pytest.approx(bits / found.n_bytes)
    assert found.n_bytes == found.n_characters + 1  # one letter has two bytes


@pytest.mark.parametrize(
    ("tokenizer", "text", "n_characters", "n_bytes"),
    [
        (BytePairs(merges=()), "é", 1, 2),  # the first token is half of the character
        (BytePairs(merges=()), "éa", 2, 3),
        (BytePairs(merges=()), "aé", 1, 2),
        (Words.of(["le chat"]), "un chat", 7, 7),  # and here it is unknown
        (Words.of(["le chat"]), "le chat", 5, 5),
    ],
)
def test_a_first_token_that_is_no_text_takes_none_away(
    tokenizer, text, n_characters, n_bytes
):
    model = Uniform(len(tokenizer))
    found = score_text(model, tokenizer, text, width=8)
    assert (found.n_characters, found.n_bytes) == (n_characters, n_bytes)
    bits = found.n_tokens * math.log2(len(tokenizer))
    assert found.bits_per_character == pytest.approx(bits / n_characters)
    assert found.bits_per_byte == pytest.approx(bits / n_bytes)


def test_nothing_is_dropped_or_trained_and_the_model_is_as_it_was():
    model, ids = TableWriter(4), torch.randint(4, (20,))
    first, second = (text_log_probabilities(model, ids, width=5) for _ in range(2))
    assert torch.equal(first, second)
    assert not first.requires_grad
    assert model.training
    assert model.drop.training


@pytest.mark.parametrize("text", ["", "l"])
def test_a_text_that_is_too_short_is_refused(text):
    with pytest.raises(ValueError, match=f"{len(text)} tokens; it must have two"):
        score_text(Uniform(30), TOKENIZERS[0], text, width=8)


def test_the_window_is_checked():
    with pytest.raises(ValueError, match="width=1 must be at least 2"):
        text_log_probabilities(Uniform(4), torch.zeros(5, dtype=torch.long), width=1)
