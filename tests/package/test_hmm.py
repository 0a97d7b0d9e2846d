"""The hidden Markov model, against a sum over every sequence of states there is."""

import math
from itertools import pairwise, product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from unrolled.models.hmm import HMM, HMMConfig, baum_welch
from unrolled.runtime import generator

B, T, D, V = 3, 5, 3, 4
LENGTHS = torch.tensor([2, 5, 1])


def make(n_states=D, n_tokens=V, dtype=torch.float64):
    return HMM(HMMConfig(n_states=n_states, n_tokens=n_tokens)).to(dtype)


def by_hand(pi, a, b):
    """Return a model of these probabilities."""
    model = make(*torch.tensor(b).shape)
    with torch.no_grad():
        for weight, p in zip(model.parameters(), (pi, a, b), strict=True):
            weight.copy_(torch.tensor(p).log())
    return model


def every_path(model, row):
    """Return the joint probability of a row of tokens with each path of states."""
    with torch.no_grad():
        pi, a, b = (log_p.exp().tolist() for log_p in model.log_probabilities())
    paths = {}
    for path in product(range(len(pi)), repeat=len(row)):
        p = pi[path[0]]
        for t, (state, token) in enumerate(zip(path, row, strict=True)):
            p *= b[state][token] * (a[path[t - 1]][state] if t else 1.0)
        paths[path] = p
    return paths


problems = st.tuples(
    st.integers(1, 4), st.integers(1, 5), st.integers(1, 4), st.integers(0, 999)
)


@given(problems)
def test_the_forward_algorithm_is_the_sum_over_all_paths(problem):
    n_states, n_steps, n_tokens, seed = problem
    torch.manual_seed(seed)
    model, ids = make(n_states, n_tokens), torch.randint(n_tokens, (2, n_steps))
    found = model.log_likelihood(ids)
    for row, log_p in zip(ids.tolist(), found.tolist(), strict=True):
        total = sum(every_path(model, row).values())
        assert log_p == pytest.approx(math.log(total), abs=1e-12)


@given(problems)
def test_viterbi_finds_the_best_of_all_paths(problem):
    n_states, n_steps, n_tokens, seed = problem
    torch.manual_seed(seed)
    model, ids = make(n_states, n_tokens), torch.randint(n_tokens, (2, n_steps))
    states, log_p = model.viterbi(ids)
    for row, path, best in zip(ids.tolist(), states, log_p.tolist(), strict=True):
        paths = every_path(model, row)
        assert best == pytest.approx(math.log(max(paths.values())), abs=1e-12)
        assert paths[tuple(path.tolist())] == max(paths.values())


def test_the_probabilities_of_all_texts_of_a_length_sum_to_one():
    ids = torch.tensor(list(product(range(V), repeat=4)))
    total = make().log_likelihood(ids).detach().exp().sum()
    assert float(total) == pytest.approx(1, abs=1e-12)


def test_the_logits_foretell_the_next_token(agree):
    model, ids = make(), torch.randint(V, (B, T))
    logits = model(ids)
    agree(logits.exp().sum(-1), torch.ones(B, T, dtype=torch.float64))
    for t in range(1, T):
        given, whole = (
            model.log_likelihood(ids[:, :t]),
            model.log_likelihood(ids[:, : t + 1]),
        )
        agree(logits[range(B), t - 1, ids[:, t]], whole - given)


def test_filtering_gives_the_states_given_the_past():
    model, row = make(), [3, 1, 0, 2]
    states, log_p = model.filter(torch.tensor([row]))
    for t in range(4):
        paths = every_path(model, row[: t + 1])
        total = sum(paths.values())
        wanted = [
            sum(p for path, p in paths.items() if path[-1] == z) / total
            for z in range(D)
        ]
        assert states[0, t].exp().tolist() == pytest.approx(wanted, abs=1e-12)
        before = sum(every_path(model, row[:t]).values()) if t else 1.0
        assert log_p[0, t].item() == pytest.approx(math.log(total / before), abs=1e-12)


def test_an_impossible_text_has_probability_zero_and_not_nan():
    model = by_hand([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], [[1.0, 0.0], [0.0, 1.0]])
    found = model.log_likelihood(torch.tensor([[0, 0, 0, 0], [0, 0, 1, 0]]))
    assert found.tolist() == [0.0, -math.inf]


@pytest.mark.parametrize("lengths", [None, LENGTHS])
def test_autograd_gives_the_expected_counts(lengths, agree):
    """The slope of log p(x) by the logarithm of a probability is its count."""
    model, ids = make(), torch.randint(V, (B, T))
    counts = model.expected_counts(ids, lengths)
    logs = [log_p.detach().requires_grad_() for log_p in model.log_probabilities()]
    free = make()
    free.log_probabilities = lambda: tuple(logs)
    free.log_likelihood(ids, lengths).sum().backward()
    for log_p, count in zip(logs, counts, strict=True):
        agree(count, log_p.grad)
    assert float(counts[2].sum()) == pytest.approx(
        B * T if lengths is None else int(lengths.sum())
    )


def test_expected_counts_are_those_of_all_paths():
    model, row = make(), [0, 2, 2, 1]
    paths = every_path(model, row)
    total = sum(paths.values())
    start, move, emit = torch.zeros(D), torch.zeros(D, D), torch.zeros(D, V)
    for path, p in paths.items():
        start[path[0]] += p / total
        for before, after in pairwise(path):
            move[before, after] += p / total
        for state, token in zip(path, row, strict=True):
            emit[state, token] += p / total
    for found, wanted in zip(
        model.expected_counts(torch.tensor([row])), (start, move, emit), strict=True
    ):
        torch.testing.assert_close(found.float(), wanted)


@settings(max_examples=40)
@given(st.integers(0, 9999), st.booleans())
def test_em_never_lowers_the_likelihood(seed, padded):
    torch.manual_seed(seed)
    model, ids = make(), torch.randint(V, (B, T))
    reached = baum_welch(model, ids, LENGTHS if padded else None, n_steps=15)
    assert len(reached) == 16
    assert (reached.diff() > -1e-10).all()
    assert reached[-1] > reached[0]


def test_em_finds_the_model_behind_a_text():
    torch.manual_seed(1)
    true = by_hand(
        [0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.2, 0.1], [0.05, 0.15, 0.8]]
    )
    ids, _ = true.sample(40, 50, generator=generator(0))
    model = make(2, 3)
    reached = baum_welch(model, ids, n_steps=60)
    assert reached[-1] >= true.log_likelihood(ids).sum()
    with torch.no_grad():
        found = model.log_probabilities()[2].exp()
        wanted = true.log_probabilities()[2].exp()
    found = found[found[:, 0].argsort(descending=True)]  # states have no names
    assert (found - wanted).abs().max() < 0.06


def test_what_never_comes_gets_a_little_only_if_one_says_so():
    ids = torch.randint(V - 1, (B, T))  # the last token does not come
    model = make()
    baum_welch(model, ids, n_steps=2)
    assert model.log_likelihood(torch.full((1, 1), V - 1)).item() == -math.inf
    baum_welch(model, ids, n_steps=2, extra=0.1)
    assert model.log_likelihood(torch.full((1, 1), V - 1)).item() > -math.inf


def test_a_state_that_is_never_visited_keeps_its_row():
    model = by_hand([1.0, 0.0], [[1.0, 0.0], [0.3, 0.7]], [[0.5, 0.5], [0.4, 0.6]])
    reached = baum_welch(model, torch.tensor([[0, 1, 1, 1]]), n_steps=3)
    assert reached[-1] == pytest.approx(math.log(0.25 * 0.75**3))
    probabilities = [log_p.exp() for log_p in model.log_probabilities()]
    assert probabilities[1][1].tolist() == pytest.approx([0.3, 0.7])
    assert probabilities[2][1].tolist() == pytest.approx([0.4, 0.6])


def test_padding_does_not_move_the_states_that_love_to_move():
    model = by_hand([0.9, 0.1], [[0.01, 0.99], [0.99, 0.01]], [[0.6, 0.4], [0.5, 0.5]])
    states, _ = model.viterbi(torch.zeros(3, 4).long(), torch.tensor([1, 2, 4]))
    assert states.tolist() == [[0, -1, -1, -1], [0, 1, -1, -1], [0, 1, 0, 1]]


def test_a_padded_row_is_the_row_alone(agree):
    model, ids = make(), torch.randint(V, (B, T))
    log_p = model.log_likelihood(ids, LENGTHS)
    states, best = model.viterbi(ids, LENGTHS)
    for row, n in enumerate(LENGTHS.tolist()):
        alone = ids[row : row + 1, :n]
        agree(log_p[row : row + 1], model.log_likelihood(alone))
        path, top = model.viterbi(alone)
        agree(best[row : row + 1], top)
        assert states[row].tolist() == path[0].tolist() + [-1] * (T - n)


def test_a_long_text_does_not_underflow():
    model = make(dtype=torch.float32)
    ids = torch.randint(V, (1, 2000))
    log_p = model.log_likelihood(ids).item()
    assert -math.inf < log_p < -1000  # exp of this is 0 in any float
    assert log_p == pytest.approx(model.double().log_likelihood(ids).item(), rel=1e-6)


def test_samples_have_the_statistics_of_the_model():
    model = make()
    ids, states = model.sample(4000, 3, generator=generator(0))
    pi, a, b = (log_p.exp() for log_p in model.log_probabilities())
    assert ids.shape == states.shape == (4000, 3)
    marginal = pi @ a @ a
    for t, p in ((0, pi), (2, marginal)):
        seen = torch.bincount(states[:, t], minlength=D) / 4000
        torch.testing.assert_close(seen.double(), p.detach(), atol=0.03, rtol=0)
    seen = torch.bincount(ids[:, 2], minlength=V) / 4000
    wanted = (marginal @ b).detach()
    torch.testing.assert_close(seen.double(), wanted, atol=0.03, rtol=0)
    again, _ = model.sample(4000, 3, generator=generator(0))
    assert torch.equal(ids, again)


def test_gradients_agree_with_finite_differences():
    model, ids = make(2, 3), torch.randint(3, (2, 4))

    def run(*weights):
        values = dict(zip(("start", "move", "emit"), weights, strict=True))
        return torch.func.functional_call(model, values, (ids,))

    assert torch.autograd.gradcheck(run, tuple(model.parameters()))


def test_the_forward_is_one_graph_and_names_no_device():
    model, ids = make(), torch.randint(V, (B, 4))
    compiled = torch.compile(model, fullgraph=True, backend="eager")
    assert torch.equal(compiled(ids), model(ids))
    assert model.to("meta")(ids.to("meta")).shape == (B, 4, V)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m: make(0), r"^n_states=0 must be at least 1$"),
        (lambda m: make(2, 0), r"^n_tokens=0 must be at least 1$"),
        (lambda m: m(torch.zeros(2)), r"^ids must be \(B, T\): expected 2 axes, got 1"),
        (lambda m: m(torch.zeros(2, 0)), r"^ids has no time steps: its shape is \(2, "),
        (
            lambda m: m.log_likelihood(torch.zeros(3, 4).long(), LENGTHS),
            r"^lengths must lie between 1 and T=4, got \[2, 5, 1\]$",
        ),
        (
            lambda m: m.sample(0, 1, generator=generator(0)),
            r"^n_rows=0 must be at least 1$",
        ),
        (
            lambda m: baum_welch(m, torch.zeros(1, 1).long(), n_steps=0),
            r"^n_steps=0 must be at least 1$",
        ),
        (
            lambda m: baum_welch(m, torch.zeros(1, 1).long(), n_steps=1, extra=-1.0),
            r"^extra=-1.0 must not be negative$",
        ),
    ],
)
def test_mistakes_are_named(call, message):
    with pytest.raises(ValueError, match=message):
        call(make())
