"""The neural window model: its equation, its windows, and what it learns."""

import math

import pytest
import torch
from torch import nn

from unrolled.models.ngram import kneser_ney
from unrolled.models.window_lm import WindowLM, WindowLMConfig, log_probabilities

V, S, E, D = 5, 3, 2, 4
TEXT = torch.tensor([4, 0, 1, 2, 2, 0, 3])


def make(n_tokens=V, n_context=S, d_embed=E, d_hidden=D):
    return WindowLM(
        WindowLMConfig(
            n_tokens=n_tokens, n_context=n_context, d_embed=d_embed, d_hidden=d_hidden
        )
    )


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_the_logits_are_the_equation(dtype, device, agree):
    model = make().to(device, dtype)
    windows = torch.randint(V + 1, (6, S), device=device)
    one_hot = nn.functional.one_hot(windows, V + 1).to(dtype)  # a look-up is a product
    x = torch.cat([one_hot[:, s] @ model.embed.weight for s in range(S)], dim=1)
    hidden = torch.tanh(x @ model.hide.weight.T + model.hide.bias)
    agree(model(windows), hidden @ model.read.weight.T + model.read.bias)


def test_the_windows_are_what_stands_before_each_token():
    wanted = [
        [5, 5, 5],
        [5, 5, 4],
        [5, 4, 0],
        [4, 0, 1],
        [0, 1, 2],
        [1, 2, 2],
        [2, 2, 0],
    ]
    assert make().windows(TEXT).tolist() == wanted
    assert make().windows(TEXT[:1]).tolist() == [[5, 5, 5]]
    assert make(n_context=9).windows(TEXT).shape == (7, 9)


@pytest.mark.parametrize("n_rows", [1, 3, 7, 100])
def test_a_text_is_scored_token_by_token(n_rows, agree):
    model = make().double()
    found = log_probabilities(model, TEXT, n_rows=n_rows)
    history = [V] * S
    for token, log_p in zip(TEXT.tolist(), found, strict=True):
        p = model(torch.tensor([history[-S:]])).softmax(dim=-1)[0, token]
        agree(log_p, p.log())
        history.append(token)
    assert model.training
    assert not found.requires_grad


def test_only_the_window_before_a_token_counts():
    model, other = make(), TEXT.clone()
    other[1] = 3
    before, after = log_probabilities(model, TEXT), log_probabilities(model, other)
    changed = (before != after).tolist()
    assert changed == [False, True, True, True, True, False, False]


def test_the_scores_of_all_tokens_sum_to_one():
    texts = [torch.cat([TEXT, torch.tensor([token])]) for token in range(V)]
    model = make()
    total = sum(log_probabilities(model, text)[-1].exp() for text in texts)
    assert float(total) == pytest.approx(1, abs=1e-6)


def test_gradients_agree_with_finite_differences():
    model = make().double()
    names = [name for name, _ in model.named_parameters()]

    def run(*weights):
        values = dict(zip(names, weights, strict=True))
        return torch.func.functional_call(model, values, (model.windows(TEXT),))

    assert torch.autograd.gradcheck(run, tuple(model.parameters()))


def test_it_learns_what_no_shorter_window_can():
    """The next token is the one three before: an n-gram of order 3 cannot know."""
    start = torch.randint(V, (3,))
    text = start.repeat(40)
    pieces = torch.cat([torch.randint(V, (3,)).repeat(4) for _ in range(60)])
    model = make(d_embed=8, d_hidden=32)
    adam = torch.optim.Adam(model.parameters(), lr=0.02)
    x = model.windows(pieces)
    for _ in range(150):
        loss = nn.functional.cross_entropy(model(x), pieces)
        adam.zero_grad()
        loss.backward()
        adam.step()
    learnt = float(log_probabilities(model, text)[3:].mean())
    counted = kneser_ney(pieces, order=3, n_tokens=V).log_probabilities(text)
    assert learnt > math.log(0.5)
    assert learnt > float(counted[3:].mean()) + 0.3


def test_the_forward_is_one_graph_and_names_no_device():
    model, windows = make(), torch.randint(V, (4, S))
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert torch.equal(compiled(windows), model(windows))
    assert model.to("meta")(windows.to("meta")).shape == (4, V)


@pytest.mark.parametrize("name", ["n_tokens", "n_context", "d_embed", "d_hidden"])
def test_sizes_must_be_positive(name):
    with pytest.raises(ValueError, match=f"^{name}=0 must be at least 1$"):
        make(**{name: 0})


def test_mistakes_are_named():
    with pytest.raises(ValueError, match=r"^windows must be \(B, S\): S should be 3"):
        make()(TEXT[None, :2])
    with pytest.raises(ValueError, match=r"^ids must be \(N\): expected 1 axes, got 2"):
        make().windows(TEXT[None])
    with pytest.raises(ValueError, match=r"^ids is empty: a text needs at least one"):
        make().windows(TEXT[:0])
    with pytest.raises(ValueError, match=r"^n_rows=0 must be at least 1$"):
        log_probabilities(make(), TEXT, n_rows=0)
