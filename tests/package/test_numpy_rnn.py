"""The NumPy RNN: a backward pass by hand that autograd and differences confirm."""

import ast
import inspect

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import cross_entropy

from bench.characters import plain_loop
from unrolled.layers.stacks import RNN
from unrolled.models import numpy_rnn
from unrolled.models.numpy_rnn import NumpyRNN

E, D, OUT = 3, 4, 2
NAMES = ["W_x", "W_h", "b", "V", "c"]


@st.composite
def problems(draw):
    """Draw a network with x, targets and h_0, which may be None."""
    n_rows, n_steps, d_in, d_hidden, d_out = (draw(st.integers(1, 5)) for _ in range(5))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    net = NumpyRNN(d_in, d_hidden, d_out, rng=rng)
    x = rng.normal(size=(n_rows, n_steps, d_in))
    if draw(st.booleans()):
        x = np.eye(d_in)[rng.integers(d_in, size=(n_rows, n_steps))]
    targets = rng.integers(d_out, size=(n_rows, n_steps))
    h_0 = rng.normal(size=(n_rows, d_hidden)) if draw(st.booleans()) else None
    return net, x, targets, h_0


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def net(rng):
    return NumpyRNN(E, D, OUT, rng=rng)


def in_torch(net, x, h_0):
    """Return torch's logits, states and parameters for the same network."""
    rnn = RNN(net.d_in, net.d_hidden).double()
    p = {name: torch.tensor(value) for name, value in net.parameters().items()}
    with torch.no_grad():
        for name in ("W_x", "W_h", "b"):
            rnn.cells[0].get_parameter(name).copy_(p[name])
            p[name] = rnn.cells[0].get_parameter(name)
    p["V"].requires_grad_(), p["c"].requires_grad_()
    states, _ = rnn(torch.tensor(x), None if h_0 is None else torch.tensor(h_0)[None])
    return states @ p["V"] + p["c"], states, p


def relative_gap(ours, theirs):
    """Return max |a - b| / max |b|; 1e-3 stands in where all of b is smaller."""
    assert ours.shape == theirs.shape
    return np.abs(ours - theirs).max() / max(1e-3, np.abs(theirs).max())


def differences(f, p, step=1e-3):
    """Return df/dp by central differences of fourth order, moving p in place."""
    slope = np.empty_like(p)
    for i in np.ndindex(p.shape):
        centre, values = p[i], []
        for k in (2, 1, -1, -2):
            p[i] = centre + k * step
            values.append(f())
        p[i] = centre
        slope[i] = np.dot([-1, 8, -8, 1], values) / (12 * step)
    return slope


@settings(deadline=None, max_examples=60)
@given(problem=problems())
def test_forward_agrees_with_the_packages_rnn(problem):
    net, x, _, h_0 = problem
    logits, states = net.forward(x, h_0)
    their_logits, their_states, _ = in_torch(net, x, h_0)
    np.testing.assert_allclose(states, their_states.detach(), rtol=0, atol=1e-12)
    np.testing.assert_allclose(logits, their_logits.detach(), rtol=0, atol=1e-12)


@settings(deadline=None, max_examples=60)
@given(problem=problems())
def test_loss_and_gradients_agree_with_autograd(problem):
    net, x, targets, h_0 = problem
    loss, gradients = net.backward(x, targets, h_0)
    logits, _, p = in_torch(net, x, h_0)
    their_loss = cross_entropy(logits.flatten(0, 1), torch.tensor(targets).flatten())
    their_loss.backward()
    assert abs(loss - their_loss.item()) <= 1e-12 * max(1.0, their_loss.item())
    assert list(gradients) == NAMES
    for name, gradient in gradients.items():
        assert relative_gap(gradient, p[name].grad.numpy()) <= 1e-8


@settings(deadline=None, max_examples=25)
@given(problem=problems())
def test_gradients_agree_with_finite_differences(problem):
    net, x, targets, h_0 = problem
    _, gradients = net.backward(x, targets, h_0)

    def loss():
        return net.loss(net.forward(x, h_0)[0], targets)

    for name, p in net.parameters().items():
        assert relative_gap(gradients[name], differences(loss, p)) <= 1e-8


def test_ids_are_their_one_hot_rows(net, rng):
    ids, targets = rng.integers(E, size=(2, 3)), rng.integers(OUT, size=(2, 3))
    h_0 = rng.normal(size=(2, D))
    for ours, theirs in zip(
        net.forward(ids, h_0), net.forward(np.eye(E)[ids], h_0), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)
    loss, gradients = net.backward(ids, targets, h_0)
    same_loss, same = net.backward(np.eye(E)[ids], targets, h_0)
    np.testing.assert_allclose(loss, same_loss, rtol=1e-14)
    for name in NAMES:
        np.testing.assert_allclose(gradients[name], same[name], rtol=0, atol=1e-15)


def test_the_plain_loop_of_the_benchmark_computes_the_same(rng):
    net = NumpyRNN(E, D, E, rng=rng)
    ids, targets = rng.integers(E, size=(2, 6))
    loss, gradients = net.backward(ids[None], targets[None])
    columns = {name: np.atleast_2d(p).T for name, p in net.parameters().items()}
    plain_loss, plain_gradients = plain_loop(columns, ids, targets)
    np.testing.assert_allclose(plain_loss, loss, rtol=1e-13)
    for name in NAMES:
        ours = plain_gradients[name].T.reshape(gradients[name].shape)
        np.testing.assert_allclose(ours, gradients[name], rtol=0, atol=1e-14)


def test_the_loss_survives_huge_logits(net):
    logits = np.array([[[1e4, -1e4], [1e4, -1e4]]])
    for _ in range(2):  # and leaves them as they are
        assert net.loss(logits, np.array([[0, 1]])) == 1e4


def test_equal_logits_cost_the_log_of_the_number_of_classes(net):
    loss = net.loss(np.zeros((2, 3, OUT)), np.zeros((2, 3), int))
    np.testing.assert_allclose(loss, np.log(OUT))


def test_saying_a_batch_twice_changes_neither_loss_nor_gradients(net, rng):
    x, targets = rng.normal(size=(2, 3, E)), rng.integers(OUT, size=(2, 3))
    loss, once = net.backward(x, targets)
    loss_twice, twice = net.backward(np.tile(x, (2, 1, 1)), np.tile(targets, (2, 1)))
    np.testing.assert_allclose(loss_twice, loss)
    for name in NAMES:
        np.testing.assert_allclose(twice[name], once[name], atol=1e-15)


def test_chunks_with_the_state_carried_are_the_whole(net, rng):
    x = rng.normal(size=(2, 5, E))
    logits, _ = net.forward(x)
    first, h = net.forward(x[:, :2])
    second, _ = net.forward(x[:, 2:], h[:, -1])
    np.testing.assert_allclose(np.concatenate([first, second], axis=1), logits)


def test_a_step_walks_downhill_in_place(net, rng):
    x, targets = rng.normal(size=(2, 3, E)), rng.integers(OUT, size=(2, 3))
    before = {name: p.copy() for name, p in net.parameters().items()}
    arrays = net.parameters()
    loss, gradients = net.backward(x, targets)
    net.step(gradients, lr=0.1)
    for name in NAMES:
        assert arrays[name] is net.parameters()[name]
        np.testing.assert_array_equal(
            arrays[name], before[name] - 0.1 * gradients[name]
        )
    assert net.loss(net.forward(x)[0], targets) < loss


def test_nothing_given_is_changed(net, rng):
    given = [
        rng.normal(size=(2, 3, E)),
        rng.integers(OUT, size=(2, 3)),
        np.ones((2, D)),
    ]
    copies = [array.copy() for array in given]
    net.backward(*given)
    for array, copy in zip(given, copies, strict=True):
        np.testing.assert_array_equal(array, copy)


def test_single_precision_stays_single(rng):
    net = NumpyRNN(E, D, OUT, rng=rng, dtype=np.float32)
    one_hot = np.eye(E, dtype=int)[rng.integers(E, size=(2, 3))]
    results = net.forward(one_hot, np.ones((2, D)))
    results += net.forward(one_hot.argmax(axis=-1))
    _, gradients = net.backward(one_hot, rng.integers(OUT, size=(2, 3)))
    net.step(gradients, lr=np.float64(0.1))
    found = [*results, *gradients.values(), *net.parameters().values()]
    assert {array.dtype for array in found} == {np.dtype(np.float32)}


def test_a_generator_decides_the_start():
    one, same, other = (
        NumpyRNN(E, D, OUT, rng=np.random.default_rng(n)) for n in (1, 1, 2)
    )
    for name in NAMES:
        np.testing.assert_array_equal(one.parameters()[name], same.parameters()[name])
        assert (one.parameters()[name] != other.parameters()[name]).all()
        assert np.abs(one.parameters()[name]).max() <= D**-0.5


def test_there_is_no_torch_in_it():
    nodes = list(ast.walk(ast.parse(inspect.getsource(numpy_rnn))))
    modules = {n.module for n in nodes if isinstance(n, ast.ImportFrom)}
    modules |= {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    assert modules == {"typing", "numpy", "numpy.typing"}


def test_it_learns_to_say_what_it_heard_one_step_ago(rng):
    heard = rng.integers(3, size=(8, 6))
    x, targets = np.eye(3)[heard], np.roll(heard, 1, axis=1)
    targets[:, 0] = 0
    net = NumpyRNN(3, 8, 3, rng=rng)
    for _ in range(300):
        loss, gradients = net.backward(x, targets)
        net.step(gradients, lr=1.0)
    assert (net.forward(x)[0].argmax(axis=-1) == targets).all()
    assert loss < 0.1


X, Y = np.zeros((2, 5, E)), np.zeros((2, 5), int)


@pytest.mark.parametrize(
    ("x", "targets", "h_0", "message"),
    [
        (X[0], Y, None, r"^x must be \(B, T, E=3\), .*; its shape is \(5, 3\)$"),
        (X[..., :2], Y, None, r"^x must be \(B, T, E=3\), .* is \(2, 5, 2\)$"),
        (X[:, :0], Y, None, r"^x must be .*, none of them empty; .* is \(2, 0, 3\)$"),
        (Y[0], Y, None, r"^x must be \(B, T, E=3\), .*; its shape is \(5,\)$"),
        (Y[:, :0], Y, None, r"^x must be \(B, T\), none .* is \(2, 0\)$"),
        (Y + E, Y, None, r"^x must lie in 0\.\.2, got 3\.\.3$"),
        (Y - 1, Y, None, r"^x must lie in 0\.\.2, got -1\.\.-1$"),
        (X, Y, X[0], r"^h_0 must be \(B=2, D=4\), .*; its shape is \(5, 3\)$"),
        (X, Y, np.zeros(D), r"^h_0 must be \(B=2, D=4\), .*; its shape is \(4,\)$"),
        (X, Y[:, :4], None, r"^targets must be \(B=2, T=5\), .* is \(2, 4\)$"),
        (X, np.eye(OUT)[Y], None, r"^targets must be \(B=2, T=5\), .* is \(2, 5, 2\)$"),
        (X, Y + 0.0, None, "^targets must be integers, got dtype float64$"),
        (X, Y + OUT, None, r"^targets must lie in 0\.\.1, got 2\.\.2$"),
        (X, Y - 1, None, r"^targets must lie in 0\.\.1, got -1\.\.-1$"),
    ],
)
def test_wrong_arrays_are_named_in_the_error(net, x, targets, h_0, message):
    with pytest.raises(ValueError, match=message):
        net.backward(x, targets, h_0)


def test_wrong_logits_are_named_in_the_error(net):
    with pytest.raises(
        ValueError, match=r"^logits must be \(B, T, O=2\), .* \(2, 5, 3\)$"
    ):
        net.loss(X, Y)


@pytest.mark.parametrize("sizes", [(0, 4, 2), (3, 0, 2), (3, 4, -1)])
def test_a_width_below_one_is_shown_in_the_error(sizes, rng):
    values = "d_in={}, d_hidden={}, d_out={}".format(*sizes)
    with pytest.raises(ValueError, match=f"^{values} must all be at least 1$"):
        NumpyRNN(*sizes, rng=rng)


def test_a_dtype_that_is_not_a_float_is_refused(rng):
    with pytest.raises(
        ValueError, match=r"^dtype=int32 must be a float, such as float64$"
    ):
        NumpyRNN(E, D, OUT, rng=rng, dtype=np.int32)


@pytest.mark.parametrize("lr", [0.0, -0.1, float("nan")])
def test_a_learning_rate_that_is_not_positive_is_refused(net, lr):
    with pytest.raises(ValueError, match=rf"^lr={lr} must be positive$"):
        net.step(net.parameters(), lr)


def test_a_refused_step_has_changed_nothing(net):
    before = {name: p.copy() for name, p in net.parameters().items()}
    for wrong in ({"W_x": before["W_x"]}, before | {"c": np.ones((1, OUT))}):
        with pytest.raises(
            ValueError, match=r"^gradients has the shapes .*must be .*'c'"
        ):
            net.step(wrong, lr=0.1)
    for name, p in net.parameters().items():
        np.testing.assert_array_equal(p, before[name])
