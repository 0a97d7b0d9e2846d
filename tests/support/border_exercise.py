"""A small exercise for the engine's tests: ten points, in three kinds of question."""

from unrolled.grading.exercise import Exercise, Question, Specimen, Test

SECRET = "a-course-secret-that-nobody-knows"
PREAMBLE = "import torch\nfrom torch import nn\n"

SOLUTIONS = {
    "q1": "def double(x):\n    return 2 * x\n",
    "q2": "def causal_mask(T):\n    return torch.ones(T, T, dtype=torch.bool).tril()\n",
    "q3": """
class Scale(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return x * self.weight
""",
    "q4": """
def test_halve(S, rng):
    x = torch.from_numpy(rng.normal(size=5)).requires_grad_()
    y = S.halve(x)
    assert torch.allclose(y, x / 2)
    y.sum().backward()
    assert torch.allclose(x.grad, torch.full((5,), 0.5).double())
""",
}


def _test(name: str, question: str, points: int, note: str, body: str, **more) -> Test:
    source = f"def {name}(S, rng):\n" + "".join(f"    {b}\n" for b in body.splitlines())
    return Test(
        name=name, question=question, points=points, note=note, source=source, **more
    )


RANDOM = """x = torch.from_numpy(rng.normal(size=(3, 4)))
y = S.double(x)
assert y.dtype == x.dtype
assert torch.equal(y, x + x)"""
MASK = """for T in (1, 2, int(rng.integers(4, 9))):
    expected = [[s <= t for s in range(T)] for t in range(T)]
    assert S.causal_mask(T).tolist() == expected"""
MODULE = """m = S.Scale(3)
w = torch.from_numpy(rng.normal(size=3)).float()
m.load_state_dict({"weight": w})
x = torch.ones(2, 3, requires_grad=True)
y = m(x)
torch.testing.assert_close(y, x * w)
(y * y).sum().backward()
torch.testing.assert_close(x.grad, 2 * (w * w).expand(2, 3))
torch.testing.assert_close(m.weight.grad, 4 * w)"""


def question(id: str, kind: str, *, forbid: tuple[str, ...] = (), **parts) -> Question:
    """Return a question whose points are the sum of its parts'."""
    every = (t for one in parts.values() for t in one)
    return Question(
        id=id,
        title=id,
        prompt="",
        kind=kind,
        points=sum(t.points for t in every),
        minutes=5,
        forbid=forbid,
        solution=SOLUTIONS[id],
        **parts,
    )


def _specimen(name: str, points: int, body: str) -> Specimen:
    return Specimen(
        name=name,
        question="q4",
        points=points,
        note=f"the bug {name}" if points else "",
        source=f"def halve(x):\n    return {body}\n",
        visible=False,
    )


def exercise(*ids: str, forbid: tuple[str, ...] = ()) -> Exercise:
    """Return the exercise, or some of its questions; q1 may forbid names."""
    two = "assert S.double(torch.tensor([1.0])).tolist() == [2.0]"
    three = "assert S.causal_mask(3).sum() == 6"
    every = {
        "q1": question(
            "q1",
            "function",
            forbid=forbid,
            visible=(_test("test_two", "q1", 1, "twice one", two, visible=True),),
            hidden=(_test("test_random", "q1", 3, "one input", RANDOM, visible=False),),
        ),
        "q2": question(
            "q2",
            "function",
            visible=(_test("test_three", "q2", 1, "six", three, visible=True),),
            hidden=(_test("test_mask", "q2", 2, "one size", MASK, visible=False),),
        ),
        "q3": question(
            "q3",
            "module",
            hidden=(_test("test_scale", "q3", 3, "no weight", MODULE, visible=False),),
        ),
        "q4": question(
            "q4",
            "test",
            good=(_specimen("by_two", 0, "x / 2"), _specimen("times", 0, "0.5 * x")),
            planted=(
                _specimen("whole", 1, "x // 2"),
                _specimen("detached", 2, "x.detach() / 2 + 0 * x"),
            ),
        ),
    }
    chosen = {id: every[id] for id in ids or ("q1", "q2", "q3")}
    return Exercise(
        number="99",
        name="99-border",
        title="The border",
        preamble=PREAMBLE,
        questions=chosen,
        digest="0" * 64,
    )
