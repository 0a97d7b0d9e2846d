"""The tests of an exercise inside a student's own kernel, as nbgrader runs them.

nbgrader grades where the student's code runs, so whoever wants to can cheat here: what
holds is ``unrolled grade``. For honest work the two agree: the same tests, the same
seeds, the same rule for tests that students write, the same names forbidden.
"""

import io
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stderr
from typing import Any

import numpy as np
import torch

from unrolled.grading.engine.loading import WORKER_SEED, function_of
from unrolled.grading.engine.outcomes import kind_of
from unrolled.grading.forbid import PACKAGE, look
from unrolled.grading.notebooks.borrowed import parsed
from unrolled.grading.notebooks.sheets import code_mark
from unrolled.grading.notebooks.trials import Namespace, forbidden_names

#: An implementation: its name, points, what is wrong with it, its code, its seeds.
Implementation = tuple[str, int, str, str, list[int]]


def open_judge(
    namespace: Mapping[str, Any], given: str, questions: Mapping[str, Any]
) -> tuple[Callable[..., None], Callable[..., int]]:
    """Return ``judge``, for one test of ours, and ``judge_test``, for one of theirs.

    Args:
        namespace: ``globals()`` of the notebook.
        given: The given code, beside which tests run.
        questions: What each question forbids, and the names that it asks for.
    """

    def judge(
        question: str, name: str, source: str, seeds: tuple[int, int], note: str
    ) -> None:
        """Run a test; an error in this cell means that it is not passed."""
        _refuse_forbidden(question, questions[question], namespace)
        function = function_of(given, source, name)
        torch.manual_seed(seeds[1])
        with _quiet():
            _run(function, namespace, seeds[0], note)

    def judge_test(question: str, implementations: Sequence[Implementation]) -> int:
        """Return the points of a student's test: it tells right code from wrong."""
        entry = questions[question]
        _refuse_forbidden(question, entry, namespace)
        test = namespace.get(entry["name"])
        if not callable(test):
            raise AssertionError(f"{entry['name']} is not defined")
        earned, fair = 0, True
        for name, points, note, source, seeds in implementations:
            code = f"{given}\n{source}"  # the course's own
            torch.manual_seed(WORKER_SEED)
            with _quiet():
                rejected = [_rejects(test, name, code, seed) for seed in seeds]
            if points == 0:
                fair = fair and not any(rejected)
            elif all(rejected):
                earned += points
            else:
                print(f"does not notice: {note}")
        if not fair:
            print("rejects a right implementation")
        return earned if fair else 0

    return judge, judge_test


def _refuse_forbidden(
    id: str, entry: Mapping[str, Any], names: Mapping[str, Any]
) -> None:
    """Look for forbidden names in the answer's cell, and in what it defines."""
    forbid = [*entry.get("forbid", ()), PACKAGE]
    bad = forbidden_names(entry, names)
    run = [text for text in names.get("In", ()) if _answers(text, id, entry)]
    try:
        bad |= set(look("".join(run[-1:]), forbid)["forbidden"])
    except SyntaxError:
        pass  # magics, or no Python: then it defines nothing either
    if bad:
        said = ", ".join(sorted(bad))
        raise AssertionError(f"uses {said}: this question does not allow it")


def _answers(text: str, id: str, entry: Mapping[str, Any]) -> bool:
    """Return whether a cell that was run is an answer, by its mark or what it makes."""
    tree = parsed(text)
    made = {getattr(node, "name", "") for node in tree.body} if tree else set()
    return text.startswith(code_mark(id)) or not made.isdisjoint(entry.get("names", ()))


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep warnings to ourselves: nbgrader takes any word on stderr for a failure."""
    with redirect_stderr(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _run(
    function: Callable[..., Any], names: Mapping[str, Any], seed: int, note: str
) -> None:
    try:
        function(Namespace(names), np.random.default_rng(seed))
    except AssertionError as error:
        said = " ".join(f"{error}".split())[:200]
        raise AssertionError(f"{said}: {note}" if said else note) from None
    except Exception as error:
        raise AssertionError(f"{note} ({kind_of(error)}: {error})") from None


def _rejects(test: Callable[..., Any], name: str, code: str, seed: int) -> bool:
    names: dict[str, Any] = {"__name__": "implementation"}
    exec(compile(code, f"<{name}>", "exec"), names)
    try:
        test(Namespace(names), np.random.default_rng(seed))
    except Exception:
        return True
    return False
