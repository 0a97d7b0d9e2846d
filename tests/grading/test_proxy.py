"""``S`` over the border behaves like ``S`` in one process, and cannot lie."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch import nn

from unrolled.grading.sandbox.breaches import choose_sandbox
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.process import WorkerLost
from unrolled.grading.sandbox.proxy import Remote, namespace

CODE = """
import numpy as np, torch
from torch import nn
from collections import namedtuple

Pair = namedtuple("Pair", "a b")
size = 3

def affine(x, W, b=None, *, scale=1.0):
    return scale * (x @ W + (0 if b is None else b))

def several(x, y):
    return {"sum": x + y, "parts": [x * y, (x.detach(), 3)], "n": x.numel()}

def pair(x):
    return Pair(x, 2 * x)

def positive(x):
    if x <= 0:
        raise ValueError(f"{x=} must be positive")
    return x

def numerical(f, x, h=1e-6):
    return (f(x + h) - f(x - h)) / (2 * h)

def in_place(x):
    x += 1
    return x

class Strange(Exception):
    pass

class Odd(KeyError):
    pass

def fail(kind):
    stop = {"exit": SystemExit, "stop": StopIteration}
    raise {"strange": Strange, "odd": Odd, **stop}[kind]("why")

class Cell(nn.Module):
    def __init__(self, e, d):
        super().__init__()
        self.W_x = nn.Parameter(torch.linspace(-1, 1, e * d).reshape(e, d))
        self.W_h = nn.Parameter(torch.eye(d))
        self.steps = 0

    def forward(self, x, h):
        self.steps += 1
        return torch.tanh(x @ self.W_x + h @ self.W_h)

class Book:
    def __init__(self): self.words = {}
    def add(self, word): return self.words.setdefault(word, len(self.words))
    def __len__(self): return len(self.words)
    def __getitem__(self, word): return self.words[word]
    def __iter__(self): return iter(self.words)
    def __eq__(self, other): return True
    def __bool__(self): return True
    __hash__ = None

class NoLength:
    def __len__(self): raise OSError("none")
"""


@pytest.fixture(scope="module")
def link():
    limits = Limits(cpu=5, idle=5, callbacks=100)
    with choose_sandbox(limits=limits) as sandbox:
        line = sandbox.spawn()
        line.begin(0)
        line.ask({"op": "load"}, ("<code>", CODE, []))
        yield line
        line.close()


@pytest.fixture(params=["here", "there"])
def S(request, link):  # noqa: N802 (the name in a test)
    if request.param == "there":
        link.begin(0)
        return namespace(link)
    names = {"__name__": "here"}
    exec(CODE, names)
    return SimpleNamespace(**names)


def test_values_and_functions(S):
    x, W = torch.randn(2, 3), torch.randn(3, 4)
    assert S.size == 3
    torch.testing.assert_close(S.affine(x, W, scale=2.0), 2 * x @ W)
    got = S.several(torch.ones(2), torch.ones(2))
    assert got["sum"].tolist() == [2, 2]
    assert got["parts"][1][1] == 3
    assert got["n"] == 2
    a, b = S.pair(torch.ones(1))
    assert (a + a).equal(b)
    assert S.positive(np.float64(2)) == 2


def test_gradients_of_inputs(S):
    x = torch.randn(2, 3, requires_grad=True)
    W = torch.randn(3, 4, requires_grad=True)
    inner = x * 3  # no leaf
    y = S.affine(inner, W)
    assert y.requires_grad
    (y**2).sum().backward()
    ours, theirs = x.grad.clone(), W.grad.clone()
    x.grad = W.grad = None
    ((3 * x @ W) ** 2).sum().backward()
    torch.testing.assert_close(ours, x.grad)
    torch.testing.assert_close(theirs, W.grad)


def test_gradients_through_several_outputs_and_one_that_is_not_used(S):
    x = torch.randn(3, requires_grad=True)
    y = torch.randn(3, requires_grad=True)
    got = S.several(x, y)
    (grad,) = torch.autograd.grad(got["parts"][0].sum(), x)
    torch.testing.assert_close(grad, y.detach())
    assert not got["parts"][1][0].requires_grad
    with torch.no_grad():
        assert not S.several(x, y)["sum"].requires_grad


def test_modules(S):
    cell = S.Cell(2, 3)
    reference = nn.RNNCell(2, 3, bias=False)
    W_x = reference.weight_ih.detach().T.clone()
    W_h = reference.weight_hh.detach().T.clone()
    cell.load_state_dict({"W_x": W_x, "W_h": W_h})
    x, h = torch.randn(4, 2), torch.randn(4, 3, requires_grad=True)
    y = cell(x, h)
    torch.testing.assert_close(y, reference(x, h))
    assert cell.steps == 1
    y.sum().backward()
    ours = h.grad.clone()
    h.grad = None
    reference(x, h).sum().backward()
    torch.testing.assert_close(ours, h.grad)
    torch.testing.assert_close(cell.W_h.grad, reference.weight_hh.grad.T)
    torch.testing.assert_close(cell.W_x.grad, reference.weight_ih.grad.T)
    named = dict(cell.named_parameters())
    assert sorted(named) == ["W_h", "W_x"]
    assert named["W_x"].requires_grad
    assert sum(p.numel() for p in cell.parameters()) == 15


def test_two_steps_of_a_cell_make_one_graph(S):
    cell = S.Cell(2, 2)
    x = torch.randn(3, 2, requires_grad=True)
    h = cell(x, cell(x, torch.zeros(3, 2)))
    h.sum().backward()
    W = torch.linspace(-1, 1, 4).reshape(2, 2)
    z = x.detach().clone().requires_grad_()
    torch.tanh(z @ W + torch.tanh(z @ W)).sum().backward()
    torch.testing.assert_close(x.grad, z.grad)


def test_objects(S):
    book = S.Book()
    assert [book.add(word) for word in "abca"] == [0, 1, 2, 0]
    assert len(book) == 3
    assert book["c"] == 2
    assert list(book) == ["a", "b", "c"]


def test_functions_as_arguments(S):
    assert abs(S.numerical(lambda x: x**3, 2.0) - 12) < 1e-3


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda S: S.positive(-1), ValueError, "x=-1 must be positive"),
        (lambda S: S.nothing, AttributeError, "nothing"),
        (lambda S: S.affine(), TypeError, "missing 2 required"),
        (lambda S: S.fail("odd"), KeyError, "why"),
    ],
)
def test_exceptions_keep_their_type(S, call, kind, text):
    with pytest.raises(kind, match=text):
        call(S)


@pytest.mark.parametrize(
    ("kind", "become"), [("strange", Exception), ("exit", RuntimeError)]
)
def test_exceptions_that_are_not_pythons_become_its_own(link, kind, become):
    link.begin(0)
    with pytest.raises(become) as caught:
        namespace(link).fail(kind)
    assert type(caught.value) is become


def test_an_argument_is_not_changed(link):
    x = torch.zeros(2)
    assert namespace(link).in_place(x).tolist() == [1, 1]
    assert x.tolist() == [0, 0]


def test_an_object_cannot_be_compared(link):
    book = namespace(link).Book()
    assert isinstance(book, Remote)
    for lie in (
        lambda: book == 3,
        lambda: book != 3,
        lambda: book < 3,
        lambda: bool(book),
        lambda: float(book),
        lambda: 3 in book,
        lambda: {book},
    ):
        with pytest.raises(TypeError):
            lie()
    assert "object of the answer" in repr(book)
    with pytest.raises(AttributeError, match="not for tests"):
        _ = book.__dict__


def test_an_object_cannot_pose_as_a_tensor(link):
    book = namespace(link).Book()
    for name in ("exp", "shape", "item", "tolist", "max", "dtype", "detach"):
        setattr(book, name, 1)  # over there it has them
        with pytest.raises(TypeError, match="no tensor"):
            getattr(book, name)
    book.pages = 7
    assert book.pages == 7
    cell = namespace(link).Cell(1, 1)
    assert cell.double() is not None  # what a network has too


def test_no_exception_ends_a_loop_of_ours(link):
    with pytest.raises(RuntimeError):
        list(map(namespace(link).fail, ["stop"]))


def test_setting_a_parameter_keeps_it_one(link):
    cell = namespace(link).Cell(1, 1)
    cell.W_x = torch.full((1, 1), 7.0)
    assert cell.W_x.item() == 7
    assert cell.W_x.requires_grad
    cell.steps = 5
    assert cell.steps == 5


def test_what_cannot_be_sent_is_named(link):
    with pytest.raises(ValueError, match="a object cannot be given to an answer"):
        namespace(link).positive(object())


def test_a_test_starts_from_the_same_seed(link):
    link.ask({"op": "load"}, ("<more>", "def draw(): return torch.rand(2)\n", []))
    link.begin(3)
    first = namespace(link).draw()
    link.begin(3)
    assert namespace(link).draw().equal(first)
    assert not namespace(link).draw().equal(first)


def test_callbacks_are_counted(link):
    more = "def often(f):\n    for _ in range(1000): f(1)\n"
    link.ask({"op": "load"}, ("<more>", more, []))
    link.begin(0)
    with pytest.raises(WorkerLost, match="timeout"):
        namespace(link).often(lambda x: x)
