"""Errors after right and own prefixes, against sums by hand."""

import pytest
import torch

from unrolled.data.made.automaton import counting
from unrolled.evaluation.exposure import (
    begun,
    misled,
    own_rows,
    scheduled_rows,
    shows_a_key,
    step_errors,
)
from unrolled.models.rnn_lm import RNNLM, RNNLMConfig
from unrolled.runtime import generator, seed_all

LANGUAGE = counting()
V = len(LANGUAGE.tokens)


@pytest.fixture
def model() -> RNNLM:
    seed_all(0)
    return RNNLM(RNNLMConfig(n_tokens=V + 1, d_model=8, cell="rnn"))


def test_errors_are_divergences_after_each_prefix(model):
    rows = LANGUAGE.write(3, 6, generator=generator(0))
    found = step_errors(model, LANGUAGE, rows)
    for b in range(3):
        for t in range(6):
            p = LANGUAGE.next_token(rows[b : b + 1, :t])[0, -1]
            logits = model(begun(LANGUAGE, rows[b : b + 1, :t]))[0, -1]
            right = (p * (p.log() - logits.log_softmax(-1)[:V])).sum()
            assert found[b, t].item() == pytest.approx(right.item(), abs=1e-5)


def test_what_comes_next_has_no_say(model):
    rows = LANGUAGE.write(2, 5, generator=generator(1))
    other = rows.clone()
    other[:, -1] = (other[:, -1] + 1) % V
    torch.testing.assert_close(
        step_errors(model, LANGUAGE, rows), step_errors(model, LANGUAGE, other)
    )


def test_own_rows_are_tokens_of_the_language(model):
    rows = own_rows(model, LANGUAGE, 50, 20, generator=generator(0))
    assert rows.shape == (50, 20)
    assert rows.max() < V
    assert not torch.equal(rows[0], rows[1])


def test_scheduled_rows_go_from_the_text_to_the_models_own(model):
    rows = LANGUAGE.write(64, 30, generator=generator(0))
    none = scheduled_rows(model, LANGUAGE, rows, 0.0, generator=generator(1))
    assert torch.equal(none, rows)
    some = scheduled_rows(model, LANGUAGE, rows, 0.5, generator=generator(1))
    share = (some != rows).float().mean().item()
    assert 0.35 < share < 0.5  # a token of its own may be the right one
    everything = scheduled_rows(model, LANGUAGE, rows, 1.0, generator=generator(1))
    assert everything.max() < V
    assert (everything != rows).float().mean().item() > 0.75


def test_misled_where_two_letters_show_another_key():
    tokens = LANGUAGE.tokens
    #                                  a slip: b to g
    rows = torch.tensor([[tokens.index(token) for token in "abghaBceCfac"]])
    wrong, shown = misled(LANGUAGE, rows)
    # before g, h, a, …: what the two letters before have shown, and where they mislead
    assert wrong.tolist() == [[False] * 3 + [True] + [False] * 8]
    assert tokens[shown[0, 3]] == "d"  # b, g, and five on
    assert [tokens[token] for token in shown[0, [2, 4, 5]]] == ["c", "a", "b"]


def test_some_letters_show_a_key_and_others_none():
    tokens = LANGUAGE.tokens
    rows = torch.tensor([[tokens.index(token) for token in "abghaaBceCfac"]])
    found = shows_a_key(LANGUAGE, rows)
    # before each token: none at the start, then ab, bg, gh, ha, aa, aB, Bc, ce, …
    shown = [False, False, True, False, True, True, False, False, False, True]
    assert found.tolist() == [[*shown, False, False, True]]
    assert not shows_a_key(LANGUAGE, torch.tensor([[0, 4, 0, 4]])).any()
    assert shows_a_key(LANGUAGE, torch.tensor([[0, 3, 6, 7]])).tolist() == [
        [False, False, True, True]
    ]
