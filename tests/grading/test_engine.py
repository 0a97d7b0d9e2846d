"""The engine: right answers pass, others get what they deserve, words leak nothing."""

import dataclasses
import resource
import sys
import time
from contextlib import contextmanager

import pytest

from border_exercise import RANDOM, SECRET, SOLUTIONS, _test, exercise
from hostile_answers import LINE, RIGHT
from unrolled.grading.engine import loading, specimens
from unrolled.grading.engine.answers import grade_answers
from unrolled.grading.engine.loading import generator_of, patience
from unrolled.grading.exercise import TRIALS
from unrolled.grading.forbid import look
from unrolled.grading.sandbox.breaches import choose_sandbox
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.process import WorkerLost
from unrolled.grading.sandbox.walls import address_space, at_most

QUICK = Limits(cpu=1.0, idle=1.0, wall=60.0)


@pytest.fixture(scope="module")
def sandbox():
    with choose_sandbox(limits=QUICK) as chosen:
        yield chosen


def grade(sandbox, answers, *ids, secret=SECRET, extra=(), **more):
    return grade_answers(
        exercise(*ids, **more),
        answers,
        secret=secret,
        sandbox=sandbox,
        extra_tests=extra,
    )


def statuses(graded):
    return {outcome.test: outcome.status for outcome in graded.outcomes}


def test_solutions_earn_everything_twice_the_same(sandbox):
    every = ("q1", "q2", "q3", "q4")
    graded = grade(sandbox, SOLUTIONS, *every)
    assert graded.earned == exercise(*every).points == 13
    assert {o.note for o in graded.outcomes} == {""}
    assert graded == grade(sandbox, SOLUTIONS, *every)
    assert graded.tier == sandbox.tier


def test_what_works_in_a_notebook_works_here(sandbox):
    shown = "def double(x):\n    for one in x: display(one)\n    return 2 * x\n"
    read = "import inspect\nassert '2 * x' in inspect.getsource(double)\n"
    for code in (shown, SOLUTIONS["q1"] + read):
        assert grade(sandbox, {"q1": code}, "q1").earned == 4


def test_no_answers_and_scaffolds_earn_nothing(sandbox):
    graded = grade(sandbox, {"q1": " \n", "q4": ""}, "q1", "q2", "q3", "q4")
    assert graded.earned == 0
    assert {(o.status, o.note) for o in graded.outcomes} == {("failed", "not answered")}
    scaffold = {"q1": "def double(x):\n    raise NotImplementedError('your turn')\n"}
    graded = grade(sandbox, scaffold, "q1")
    assert [o.note for o in graded.outcomes] == [
        "twice one (NotImplementedError: your turn)",
        "one input (NotImplementedError)",
    ]


def test_words_on_a_hidden_test_carry_nothing_out(sandbox):
    loud = "class Leak(ValueError): pass\ndef double(x):\n    raise Leak(str(x))\n"
    visible, hidden = grade(sandbox, {"q1": loud}, "q1").outcomes
    assert visible.note == "twice one (ValueError: tensor([1.]))"
    assert hidden.note == "one input (ValueError)"
    wrong = grade(sandbox, {"q1": "def double(x): return x\n"}, "q1").outcomes[1]
    assert wrong.note == "one input"


def test_one_dead_or_slow_test_costs_itself_only(sandbox):
    dies = (
        "import os\ndef double(x):\n    x.ndim == 2 or os._exit(1)\n    return x * 2\n"
    )
    slow = "def causal_mask(T):\n    while T == 3: pass\n"
    slow += "    return torch.ones(T, T).tril().bool()\n"
    graded = grade(sandbox, SOLUTIONS | {"q1": dies, "q2": slow})
    assert statuses(graded) == {
        "test_two": "died",
        "test_random": "passed",
        "test_three": "timeout",
        "test_mask": "passed",
        "test_scale": "passed",
    }
    assert graded.earned == 8


def test_inputs_depend_on_the_secret(sandbox):
    assert generator_of("a", "b", "c").random() == generator_of("a", "b", "c").random()
    draws = {generator_of(*names).random() for names in ("abc", "xbc", "axc", "abx")}
    assert len(draws) == 4
    rng = generator_of("99-border", SECRET, "test_random")
    known = (rng.normal(size=(3, 4)) * 2).tolist()
    hard = f"def double(x): return torch.tensor({known}, dtype=torch.double)\n"
    assert statuses(grade(sandbox, {"q1": hard}, "q1"))["test_random"] == "passed"
    other = grade(sandbox, {"q1": hard}, "q1", secret="another")
    assert statuses(other)["test_random"] == "failed"


def test_tests_of_one_course_count_too(sandbox):
    mine = _test("test_mine", "q1", 5, "mine", RANDOM, visible=False)
    graded = grade(sandbox, SOLUTIONS, "q1", extra=[mine])
    assert graded.earned == 9
    lost = dataclasses.replace(mine, question="q9")
    with pytest.raises(ValueError, match="extra_tests are for q9, and 99-border"):
        grade(sandbox, SOLUTIONS, "q1", extra=[lost])


def test_an_answer_cannot_make_our_test_run_for_ever(sandbox, monkeypatch):
    body = "for _ in range(S.double(1)): pass"
    long = _test("test_long", "q1", 5, "long", body, visible=False)
    monkeypatch.setattr("unrolled.grading.engine.answers.PATIENCE", 0.5)
    code = "def double(x): return 10**18 if x == 1 else 2 * x\n"
    code = code.replace("x == 1", "isinstance(x, int)")
    after = dataclasses.replace(
        long,
        name="test_after",
        source=long.source.replace("test_long", "test_after").replace(
            "double(1)", "double(torch.ones(1)).int()"
        ),
    )
    graded = grade(sandbox, {"q1": code}, "q1", extra=[long, after])
    assert statuses(graded)["test_long"] == "timeout"
    assert statuses(graded)["test_random"] == "passed"
    assert statuses(graded)["test_after"] == "passed"


BROADCAST = {
    "by torch": "y = S.double(x)\nassert (y - torch.ones(1, 300, 300)).abs().max() < 9",
    "by numpy": "y = S.double(x).numpy()\nassert (y - np.ones((300, 300))).max() < 9",
    "by Python": "y = S.double(x)\nassert y.expand(6000, 300, 99).tolist()",
}


@pytest.mark.parametrize("how", BROADCAST)
def test_a_shape_that_is_broadcast_cannot_fill_our_memory(sandbox, how, monkeypatch):
    monkeypatch.setattr(loading, "MEMORY", 256 << 20)
    # it is the memory that ends it, however long a busy machine takes to fill it
    monkeypatch.setattr("unrolled.grading.engine.answers.PATIENCE", 60)
    body = f"import numpy as np\nx = torch.ones(6000)\n{BROADCAST[how]}"
    large = _test("test_large", "q1", 5, "large", body, visible=False)
    small = _test("test_small", "q1", 5, "small", RANDOM, visible=False)
    code = "def double(x):\n    x = 2 * x\n"
    code += "    return x if x.dim() != 1 or len(x) < 9 else x.reshape(6000, 1, 1)\n"
    limits, most = resource.getrlimit(resource.RLIMIT_AS), _largest()
    graded = grade(sandbox, {"q1": code}, "q1", extra=[large, small])
    assert statuses(graded)["test_large"] == "error"
    assert statuses(graded)["test_small"] == "passed"
    assert _largest() - most < 2 * loading.MEMORY  # some was mapped, and unused
    assert resource.getrlimit(resource.RLIMIT_AS) == limits
    assert grade(sandbox, {"q1": code}, "q1", extra=[large, small]) == graded


def _largest() -> int:
    """Return how many bytes this process has had at most."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


def test_a_lower_limit_of_memory_stays():
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    low = address_space() + (256 << 20)
    resource.setrlimit(resource.RLIMIT_AS, (low, hard))
    try:
        with at_most(1 << 40):
            assert resource.getrlimit(resource.RLIMIT_AS) == (low, hard)
        with pytest.raises(MemoryError), at_most(64 << 20):
            bytearray(128 << 20)
        bytearray(128 << 20)
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


@pytest.mark.parametrize(
    "code",
    [
        "def double(x): return torch.add(x, x)\n",
        "def double(x): return x.add(x)\n",
        "from torch import add as plus\ndef double(x): return plus(x, x)\n",
        "def double(x): return getattr(torch, 'add')(x, x)\n",
        "def double(x): return getattr(torch, 'a' + 'dd')(x, x)\n",
        "def double(x): return vars(torch)['ad' 'd'](x, x)\n",
        "def double(x): return eval('torch.a' + 'dd(x, x)')\n",
        "def double(x): return getattr(x, 'ad' + 'd')(x)\n",
        "import importlib\nt = importlib.import_module('tor' + 'ch')\n"
        "def double(x): return getattr(t, 'ad' + 'd')(x, x)\n",
    ],
)
def test_forbidden_names_in_every_spelling(sandbox, code):
    graded = grade(sandbox, {"q1": code}, "q1", forbid=("add",))
    assert set(statuses(graded).values()) == {"forbidden"}
    assert graded.earned == 0
    assert "add" in graded.outcomes[0].note
    assert grade(sandbox, {"q1": code}, "q1").earned == 4


@pytest.mark.parametrize(
    "code",
    [
        "def double(x): return nn.Identity()(x) * 2\n",
        "from torch.nn import Identity as I\ndef double(x): return I()(x) * 2\n",
        "def double(x): return getattr(nn, 'Ident' + 'ity')()(x) * 2\n",
        "from torch.nn.modules import linear\n"
        "def double(x): return vars(linear)['Ident' + 'ity']()(x) * 2\n",
        "class Mine(getattr(nn, 'Ident' + 'ity')): pass\n"
        "def double(x): return Mine()(x) * 2\n",
    ],
)
def test_forbidden_classes(sandbox, code):
    graded = grade(sandbox, {"q1": code}, "q1", forbid=("nn.Identity",))
    assert set(statuses(graded).values()) == {"forbidden"}
    assert grade(sandbox, {"q1": code}, "q1").earned == 4


@pytest.mark.parametrize(
    "code",
    [
        "def double(x): return [*map(lambda y: 2 * y, sorted([x], key=len))][0]\n",
        "import builtins\ndef double(x):\n"
        "    return 2 * getattr(builtins, 'sor' + 'ted')([x], key=len)[0]\n",
    ],
)
def test_forbidden_functions_of_python(sandbox, code):
    graded = grade(sandbox, {"q1": code}, "q1", forbid=("sorted",))
    assert set(statuses(graded).values()) == {"forbidden"}
    assert grade(sandbox, {"q1": code}, "q1").earned == 4


def refused_for_its_names_alone(sandbox, code, names, *, instead):
    """Assert that an answer is right, is refused, and can be written ``instead``."""
    graded = grade(sandbox, {"q1": code}, "q1", forbid=names)
    assert set(statuses(graded).values()) == {"forbidden"}
    assert grade(sandbox, {"q1": code}, "q1").earned == 4
    assert grade(sandbox, {"q1": instead}, "q1", forbid=names).earned == 4


CONVOLUTIONS = {
    "by another name": "getattr(torch._C._VariableFunctions, 'conv' + '1d')(*given)",
    "by its packet": "getattr(torch.ops.aten, 'conv' + '1d')(*given)",
    "by what it calls": "getattr(torch.ops.aten, 'convolu' + 'tion')(\n"
    "        *given, None, [1], [0], [1], False, [0], 1)",
}


@pytest.mark.parametrize("way", CONVOLUTIONS)
def test_forbidden_operators_whatever_leads_to_them(sandbox, way):
    code = "def double(x):\n    given = x.reshape(1, 1, -1), x.new_full((1, 1, 1), 2)\n"
    code += f"    return {CONVOLUTIONS[way]}.reshape(x.shape)\n"
    names = ("F.conv1d", "torch.convolution")
    product = "def double(x): return x @ (2 * torch.eye(x.shape[-1]).to(x))\n"
    refused_for_its_names_alone(sandbox, code, names, instead=product)


WAYS_BACK = {
    "a node": "sum(y.grad_fn(torch.ones_like(y)))",
    "the engine": "torch.autograd.Variable._execution_engine.run_backward(\n"
    "        (y,), (torch.ones_like(y),), False, False, (x,),\n"
    "        allow_unreachable=True, accumulate_grad=False)[0]",
    "forwards": "torch.func.jvp(\n"
    "        lambda x: x * x, (x.detach(),), (torch.ones_like(x),))[1]",
    "what it keeps": "2 * y.grad_fn._saved_self.detach()",
}


@pytest.mark.parametrize("way", WAYS_BACK)
def test_no_way_back_where_autograd_is_forbidden(sandbox, way):
    code = "def double(x):\n    x = x.clone().requires_grad_()\n    y = x * x\n"
    code += f"    return {WAYS_BACK[way]}.detach()\n"
    names = ("torch.autograd.grad", "Tensor.backward")
    by_hand = "W = nn.Parameter(torch.ones(()).double())\n"
    by_hand += "def double(x): return (x * W + x * W).detach()\n"
    refused_for_its_names_alone(sandbox, code, names, instead=by_hand)


@pytest.mark.parametrize(
    "code",
    [
        "from unrolled.losses import cross_entropy\ndef double(x): return 2 * x\n",
        "import unrolled.losses as them\ndef double(x): return 2 * x\n",
        "import importlib\ndef double(x):\n"
        "    importlib.import_module('unrol' + 'led.losses')\n    return 2 * x\n",
        "def double(x):\n    exec('import unrolled' + '.losses')\n    return 2 * x\n",
    ],
)
def test_the_package_of_the_book_is_forbidden_everywhere(sandbox, code):
    graded = grade(sandbox, {"q1": code}, "q1")
    assert set(statuses(graded).values()) == {"forbidden"}
    assert "unrolled" in graded.outcomes[0].note
    own = "def double(x):\n    unrolled = 2\n    return unrolled * x\n"
    assert grade(sandbox, {"q1": own}, "q1").earned == 4


def test_what_an_answer_has_of_its_own_may_have_the_name(sandbox):
    own = "class Mine(nn.Module):\n    def backward(self, x): return x\n"
    own += "    def forward(self, x): return 2 * self.backward(x)\n"
    own += "def double(x): return Mine()(x)\n"
    assert grade(sandbox, {"q1": own}, "q1", forbid=("Tensor.backward",)).earned == 4
    other = "self = torch\ndef double(x): return self.add(x, x)\n"
    graded = grade(sandbox, {"q1": other}, "q1", forbid=("torch.add",))
    assert set(statuses(graded).values()) == {"forbidden"}


def test_what_is_not_forbidden_may_have_the_name(sandbox):
    own = "class Identity(nn.Module):\n    def forward(self, x): return x\n"
    own += "def double(x):\n    add = 2\n    return Identity()(x) * add\n"
    graded = grade(sandbox, {"q1": own}, "q1", forbid=("nn.Identity", "nn.LSTM"))
    assert graded.earned == 4
    seen = look("from a.b import c as d\nx, y = 1, 2\n", ["b.c", "a.q"])
    assert seen["defines"] == ["d", "x", "y"]
    assert seen["forbidden"] == ["b.c"]


SLOW = "    while (x < 0).any(): pass"
SPECIMENS = {
    "accepts all": ("pass", 0),
    "rejects all": ("assert False", 0),
    "sees one bug": ("assert S.halve(torch.ones(1)).item() == 0.5", 1),
    "counts": ("import os\n    n = len(os.listdir('/tmp'))\n"
        "    open(f'/tmp/{n}', 'w').close()\n    assert n < 2", 0),
    "looks inside": ("import inspect\n"
        "    assert '//' not in inspect.getsource(S.halve)", 0),
    "reads what errors say": ("try:\n        S.halve(None)\n"
        "    except Exception as error:\n"
        "        assert '//' not in str(error) and 'detach' not in str(error)", 0),
    "exits": ("import os\n    os._exit(0)", 0),
    "loops": ("while True: pass", 0),
    "kills the implementation": ("S.halve(torch.ones(1)).item()\n    S.halve('x')", 0),
    "reaches for the grader": ("S.halve.__globals__", 0),
    "reads the code": (
        "there = S.torch.sys.modules['dis'].Bytecode(S.halve).dis()\n"
        "    assert '//' not in there and 'detach' not in there", 0),
    "reads the code by force": (
        "link = object.__getattribute__(S, '_link')\n"
        "    def get(thing, name):\n"
        "        number = object.__getattribute__(thing, '_number')\n"
        "        return link.ask({'op': 'get', 'number': number}, name).value\n"
        "    names = get(get(S.halve, '__code__'), 'co_names')\n"
        "    assert 'detach' not in names", 0),
    "changes torch for the next": ("S.torch.Tensor.detach = S.halve", 0),
}  # fmt: skip


@pytest.mark.parametrize("kind", SPECIMENS)
def test_tests_written_by_students(sandbox, kind):
    body, fair = SPECIMENS[kind]
    code = f"def test_halve(S, rng):\n    {body}\n"
    graded = grade(sandbox, {"q4": code}, "q4")
    assert graded.earned == fair
    assert [o.test for o in graded.outcomes] == ["by_two", "times", "whole", "detached"]
    assert graded.complete


def test_an_implementation_keeps_nothing_for_the_next(sandbox):
    body = "assert not hasattr(S, 'seen')\n    S.seen = S.halve.seen = 1\n"
    body += "    assert S.seen == S.halve.seen == 1\n"
    graded = grade(sandbox, {"q4": f"def test_halve(S, rng):\n    {body}"}, "q4")
    assert list(statuses(graded).values()) == ["passed", "passed", "failed", "failed"]
    assert graded.outcomes[2].note == "does not notice: the bug whole"


def test_an_implementation_that_was_lost_is_put_up_again(sandbox):
    whole = exercise("q4")
    asked = whole.questions["q4"]
    slow = tuple(
        dataclasses.replace(one, source=one.source.replace("x):", f"x):\n{SLOW}"))
        for one in asked.good
    )
    odd = dataclasses.replace(asked, good=slow)
    body = "try: S.halve(-torch.ones(1))\n    except RuntimeError: pass\n"
    body += "    assert S.halve(torch.ones(0)).numel() == 0\n"
    code = f"def test_halve(S, rng):\n    {body}"
    graded = grade_answers(
        dataclasses.replace(whole, questions={"q4": odd}),
        {"q4": code},
        secret=SECRET,
        sandbox=sandbox,
    )
    # the right ones are lost in the middle of their test, the others never notice
    assert list(statuses(graded).values()) == ["failed", "failed", "failed", "failed"]
    assert [o.note for o in graded.outcomes][::2] == [
        "rejects a right implementation (RuntimeError)",
        "does not notice: the bug whole",
    ]


@pytest.mark.parametrize(
    "body",
    [
        "if rng.integers(2**40) % 2: raise ValueError",
        "link = object.__getattribute__(S, '_link')\n"
        "    got = link.ask({'op': 'get', 'number': 0}, '__name__')\n"
        "    if got.head['call'] < 1000: raise ValueError",
    ],
    ids=["by its numbers", "by our counter"],
)
def test_nothing_says_which_implementation_is_tried(sandbox, body):
    graded = grade(sandbox, {"q4": f"def test_halve(S, rng):\n    {body}\n"}, "q4")
    right, wrong = {o.status for o in graded.outcomes[:2]}, graded.outcomes[2:]
    assert len(right) == 1
    assert {o.earned for o in wrong} == {0}
    assert len({o.note.partition(":")[0] for o in wrong}) == 1


@pytest.mark.parametrize(
    ("luck", "said"),
    [
        ("assert rng.random() < 0.6", "rejects right implementations as well"),
        ("if rng.random() < 0.6: return", "does not notice: the bug whole"),
    ],
    ids=["rejects right code now and then", "finds a bug now and then"],
)
def test_luck_earns_nothing(sandbox, luck, said):
    head = "def test_halve(S, rng):\n"
    assert head in SOLUTIONS["q4"]
    code = SOLUTIONS["q4"].replace(head, f"{head}    {luck}\n")
    graded = grade(sandbox, {"q4": code}, "q4")
    assert graded.earned == 0
    assert said in {o.note for o in graded.outcomes}


def test_all_trials_of_an_implementation_share_one_clock(sandbox):
    busy = "def test_halve(S, rng):\n    from time import process_time as now\n"
    busy += f"    end = now() + {2 * sandbox.limits.cpu / TRIALS}\n"
    graded = grade(sandbox, {"q4": f"{busy}    while now() < end: pass\n"}, "q4")
    assert statuses(graded)["by_two"] == "timeout"


def test_a_stand_that_a_test_has_filled_is_no_fault_of_the_machine(
    sandbox, monkeypatch
):
    real, tried = specimens._Stand._put, []

    def full(self, one):
        tried.append(one.name)
        link = real(self, one)
        if tried.count(one.name) == 1:
            raise MemoryError
        return link

    monkeypatch.setattr(specimens._Stand, "_put", full)
    graded = grade(sandbox, {"q4": SOLUTIONS["q4"]}, "q4")
    assert graded.complete
    assert len(tried) == (TRIALS + 1) * len(graded.outcomes)


def test_a_stop_that_python_drops_comes_again():
    class Dropping:
        def __del__(self):
            _compute(0.6)

    def work():
        with patience(0.2):
            Dropping()
            _compute(5)

    dropped = []
    with noting_what_is_dropped(dropped), pytest.raises(WorkerLost):
        work()
    assert isinstance(dropped[0], WorkerLost)


def _compute(seconds):
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass


@contextmanager
def noting_what_is_dropped(dropped):
    """Note what Python drops, instead of printing it."""
    before = sys.unraisablehook
    sys.unraisablehook = lambda told: dropped.append(told.exc_value)
    try:
        yield
    finally:
        sys.unraisablehook = before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_colliding_numbers_keep_us_no_longer_than_other_work(sandbox, monkeypatch):
    monkeypatch.setattr("unrolled.grading.engine.loading.PATIENCE", 0.5)
    code = LINE + (
        "many = ['u', [['i', str(k * (2**61 - 1))] for k in range(30_000)]]\n"
        "say({'question': 1, 'op': 'function', 'number': 0, 'value': many})\n"
    )
    graded = grade(sandbox, {"q1": code + RIGHT}, "q1")
    assert set(statuses(graded).values()) == {"timeout"}


def test_faults_of_the_machine_are_forgiven_once(sandbox, monkeypatch):
    faults = []
    real = sandbox.spawn

    def spawn(modules):
        if len(faults) % 2 == 0:
            faults.append(1)
            raise loading.SandboxError("no luck")
        faults.append(0)
        return real()

    monkeypatch.setattr(sandbox, "spawn", spawn)
    assert grade(sandbox, SOLUTIONS).earned == 10

    def never(modules):
        faults.clear()
        return spawn(modules)

    monkeypatch.setattr(sandbox, "spawn", never)
    graded = grade(sandbox, SOLUTIONS)
    assert {o.status for o in graded.outcomes} == {"ungraded"}
    assert "no luck" in graded.outcomes[0].note


def test_given_code_that_fails_is_no_fault_of_the_student(sandbox):
    broken = dataclasses.replace(exercise("q1"), preamble="import nothing_like_it\n")
    graded = grade_answers(broken, SOLUTIONS, secret=SECRET, sandbox=sandbox)
    assert {o.status for o in graded.outcomes} == {"ungraded"}
    assert "nothing_like_it" in graded.outcomes[0].note
