"""A rehearsal: the preloaded process does what workers do, before it forks any.

What Python and torch do for the first time they do slowly, and they write it down:
which types are containers, where a method was found, what a piece of code was given.
A worker that finds all this written need not copy the page to write it there. The code
below is ours, the same for all workers, and says nothing of any exercise.
"""

import json
import linecache
import sys
from collections.abc import Iterator
from typing import Any

from unrolled.grading.sandbox import wire
from unrolled.grading.sandbox.packing import Packed, Reference, pack
from unrolled.grading.sandbox.worker import Worker

_ROUNDS = 20  # Python looks at what some code is given only after it has run a little
_GIVEN = """
import numpy as np
import torch
from torch import nn

def draw(rng, *shape):
    return torch.from_numpy(np.asarray(rng.normal(size=shape)))

class Kept:
    def forbidden(self): pass
"""
_ANSWER = """
class Net(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.inner = nn.Linear(n, n)
        self.W = nn.Parameter(torch.randn(n, n))

    def forward(self, x):
        return torch.tanh(self.inner(x) @ self.W)

def answer(x, y):
    h, states = x.new_zeros(len(x), 2), [x.new_zeros(2, 2)]
    for x_t in x.unbind(dim=1):
        h = torch.tanh(x_t * h + torch.exp(x_t) / (1 + h.abs()))
        states.append(torch.cat([h, h], dim=1)[:, :2])
    found = torch.stack(states, dim=1).sum(dim=-1, keepdim=True)
    best = torch.softmax(found.detach(), dim=0).argmax(dim=0)
    return found * y.mean(), {"best": best, "sizes": [*found.shape]}, float(y.max())

def train(steps):
    net = Net(2).double()
    net.load_state_dict(net.state_dict())
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for _ in range(steps):
        optimizer.zero_grad()
        net(torch.ones(2, 2).double()).pow(2).sum().backward()
        optimizer.step()
    return [p.detach().numpy() for p in net.parameters()]

def test_answer(S, rng):
    x = draw(rng, 2, 2).requires_grad_()
    y = S.answer(x)
    assert y.shape == (2, 2) and torch.allclose(y, y + 0 * x)
    torch.testing.assert_close(y.detach(), torch.ones(2, 2).double())
    y.sum().backward()

def wrong(x):
    raise ValueError("no such thing")
"""


def rehearse() -> list[str]:
    """Go through a worker's part a few times; return what became of each question."""
    main, known = sys.modules["__main__"], set(linecache.cache)
    heard: list[str] = []
    for _ in range(_ROUNDS):
        line = _Script(heard)
        try:
            Worker(line).serve()
        except SystemExit:  # the end of the script
            pass
    sys.modules["__main__"] = main
    for name in linecache.cache.keys() - known:
        del linecache.cache[name]
    return heard


class _Script:
    """A line to a grader that follows a script, whatever it is answered."""

    def __init__(self, heard: list[str]) -> None:
        self._heard, self._asked = heard, _questions()
        self._bytes = b""
        self._say_next()

    def recv(self, size: int, /) -> bytes:
        """Return what comes next, nothing at the end."""
        part, self._bytes = self._bytes[:size], self._bytes[size:]
        return part

    def sendall(self, data: bytes, /) -> None:
        """Answer a question of the worker's; after an answer, ask the next."""
        text, _ = wire.lengths(data[: wire.HEAD.size])
        said = json.loads(data[wire.HEAD.size : wire.HEAD.size + text])
        if "question" not in said:
            self._heard.append(said.get("error", "ok"))
            self._say_next()
            return
        reply = {"reply": said["question"], "call": 1, "relayed": True}
        self._bytes += wire.frame(reply, _replied(said))

    def _say_next(self) -> None:
        for head, packed in self._asked:
            self._bytes += wire.frame(head, packed)
            return


def _refer(thing: object) -> Reference:
    """Let a whole number's text stand for the object of that number."""
    return Reference("object", int(str(thing)))


def _questions() -> Iterator[tuple[dict[str, Any], Packed]]:
    """Yield the questions that a grader puts to a worker."""
    import torch

    def call(number: int, *args: object) -> tuple[str, object, dict[str, Any]]:
        return "call", (args, {}), {"number": number, "grad": True}

    def get(number: int, name: str) -> tuple[str, object, dict[str, Any]]:
        return "get", name, {"number": number}

    x = torch.ones(2, 2, dtype=torch.double, requires_grad=True)
    asked: list[tuple[str, object, dict[str, Any]]] = [
        ("begin", 0, {}),
        ("load", ("<given>", _GIVEN, []), {}),
        ("look", (_ANSWER, ["nn.LSTM", "softmax"]), {}),
        ("load", ("<answer>", _ANSWER, ["Kept.forbidden"]), {}),
        ("begin", 0, {}),
        get(0, "answer"),  # object 1
        call(1, x, x.detach()),
        ("backward", [torch.ones(2, 3, 1, dtype=torch.double)], {"call": 7}),
        get(0, "Net"),  # 2
        call(2, 2),  # 3
        call(3, x.detach().float()),
        get(3, "W"),
        ("set", ("W", torch.ones(2, 2)), {"number": 3}),
        get(0, "train"),  # 4
        call(4, 2),
        get(0, "wrong"),  # 5
        call(5, [1, 2.0, None, {"a": (True, "b")}]),
        ("begin", 0, {}),
        ("trial", ("test_answer", 0), {}),
        ("begin", 0, {}),
        ("implement", (_GIVEN, _ANSWER), {}),
        get(0, "answer"),  # 1
        call(1, x, x.detach()),
    ]
    for seq, (op, value, more) in enumerate(asked, start=1):
        yield {"op": op, "seq": seq, **more}, pack(value, _refer)


def _replied(said: dict[str, Any]) -> Packed:
    """Return what another worker would reply to a test's question."""
    import torch

    x = torch.ones(2, 2, dtype=torch.double)
    if said["inner"]["op"] == "get":
        return Packed(["r", "object", 1])
    if said["inner"]["op"] == "backward":
        return pack([x], _refer)
    packed = pack(x, _refer)
    packed.tree[4] = 2  # it has a graph, over there
    return packed
