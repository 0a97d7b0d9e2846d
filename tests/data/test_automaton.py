"""The counting language: probabilities by hand, states after any prefix, rates."""

from itertools import product

import pytest
import torch

from unrolled.data.made.automaton import Automaton, counting
from unrolled.runtime import generator


def ids(language: Automaton, text: str) -> torch.Tensor:
    return torch.tensor([[language.tokens.index(token) for token in text]])


def test_it_counts_on_by_the_key():
    language = counting()
    for text, wanted in {
        "": "a",
        "a": "b",
        "abcdefgh": "a",
        "abB": "d",
        "abBdf": "h",
        "aCd": "g",
        "aCdAB": "f",
        "abg": "h",  # a slip: counting goes on from there, under the old key
        "aCe": "h",
    }.items():
        p = language.next_token(
            ids(language, text) if text else torch.zeros(1, 0).long()
        )
        p = p[0, -1]
        assert language.tokens[p.argmax()] == wanted, text
        assert p.max().item() == pytest.approx(0.91)
        assert p[8:].tolist() == pytest.approx([0.05 / 3] * 3)
        assert p.sum().item() == pytest.approx(1)


def test_probabilities_of_all_rows_sum_to_one():
    language = counting(3, 2, p_key=0.2, p_slip=0.3)
    rows = torch.tensor(list(product(range(5), repeat=4)))
    p = language.next_token(rows[:, :-1]).gather(-1, rows[..., None])[..., 0]
    assert p.prod(dim=1).sum().item() == pytest.approx(1)


def test_what_is_written_has_the_rates_asked_for():
    language = counting()
    rows = language.write(400, 50, generator=generator(0))
    p = language.next_token(rows[:, :-1]).gather(-1, rows[..., None])[..., 0]
    shares = [(p > 0.5).float().mean().item(), (rows >= 8).float().mean().item()]
    assert shares == pytest.approx([0.91, 0.05], abs=0.01)
    again = language.write(400, 50, generator=generator(0))
    assert torch.equal(rows, again)


def test_it_complains_well():
    emit = torch.tensor([[1.0, 0.0]])
    move = torch.zeros(1, 2).long()
    with pytest.raises(ValueError, match="emit must be positive and sum to one"):
        Automaton(tokens=("a", "b"), emit=emit, move=move)
    with pytest.raises(ValueError, match="n_letters"):
        counting(3, 3)
