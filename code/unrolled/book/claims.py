"""A statement of the book: asserted where it is made, recorded for the ledger.

When a chapter is run again, each number is compared with the one on record. On a
machine with the same fingerprint (:func:`unrolled.runtime.fingerprint`) all must be
exactly the same, but for times. On another it depends on what kind of number it is:

- ``"exact"`` is a count or a name: it is the same on every machine;
- ``"close"``, the default, is computed: the same to four digits;
- ``"bound"`` is a residual, a number that should be zero and is rounding instead:
  anything that ``holds`` accepts;
- ``"time"`` is a time, or a ratio of times: likewise, on the same machine too;
- a number, such as ``0.02``, is the band of something trained: at most so far from the
  record. Training multiplies differences of rounding, and ``holds`` alone would let a
  number drift from the one that the page prints.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch

from unrolled.book.records import CLAIM, bundle
from unrolled.evaluation.intervals import Interval, t_interval

#: How a claim may judge the slide it cites.
VERDICTS = (
    "holds",
    "holds with conditions",
    "refuted",
    "rumour",
    "not testable here",
)
KINDS = ("exact", "close", "bound", "time")
HEADLINE = 3  # numbers on a card, at most; all are in the ledger
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SOURCE = re.compile(r"00[0-4]:\d+(-\d+)?")
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
Kind = str | float


def pretty(value: float, spec: str = "") -> str:
    """Write a number as the book does: 1,216; 0.957; 2.4 × 10⁻⁷; 98%.

    ``spec`` is a format specification; without one, whole numbers stand in full and
    others with three significant digits.
    """
    if not spec and 999.5 <= abs(value) < 1e6:
        value = value if value == round(value) else float(f"{value:.3g}")
    if not spec:
        spec = ",.0f" if value == round(value) and abs(value) < 1e9 else ".3g"
    text = format(value, spec) if value or "e" not in spec else "0"
    if match := re.fullmatch(r"(-?[\d.]+)e([+-]\d+)", text):
        text = f"{match[1]} × 10{str(int(match[2])).translate(_SUPERSCRIPT)}"
    text = re.sub(r"^-(?=[0.]+%?$)", "", text)  # minus nothing is nothing
    return re.sub(r"^-", "−", text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Claim:
    """A claim that held, ready to be shown in a page."""

    id: str
    sentence: str
    measured: dict[str, float]
    kinds: dict[str, Kind]
    headline: tuple[str, ...]
    source: str | None = None
    verdict: str | None = None

    def record(self) -> dict[str, Any]:
        """Return what is stored; the keys of a notebook are sorted, ``order`` is not.

        Of the kinds only those are stored that are not the default.
        """
        return {
            "id": self.id,
            "sentence": self.sentence,
            "measured": self.measured,
            "order": list(self.measured),
            "kinds": {k: kind for k, kind in self.kinds.items() if kind != "close"},
            "headline": list(self.headline),
            "source": self.source,
            "verdict": self.verdict,
        }

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        numbers = "; ".join(f"{k} {pretty(v)}" for k, v in self.measured.items())
        words = f"Claim {self.id}: {self.sentence} Measured: {numbers}."
        return bundle(CLAIM, self.record(), words)


def claim(
    id: str,
    sentence: str,
    *,
    measured: Mapping[str, float],
    holds: Callable[[Mapping[str, float]], bool],
    headline: tuple[str, ...] | None = None,
    kinds: Kind | Mapping[str, Kind] = "close",
    source: str | None = None,
    verdict: str | None = None,
) -> Claim:
    """Assert ``sentence`` by applying ``holds`` to the ``measured`` numbers.

    Args:
        id: A name in lower case with hyphens, unique in the book.
        sentence: What *we* assert, in a full sentence.
        measured: The numbers it rests on, by name.
        holds: A function of ``measured``; if it is not true the run fails.
        headline: The names of up to three numbers that the card shows; the first three
            unless told. The ledger shows all.
        kinds: How a number may differ in another run (see above): one kind for all, or
            some by name.
        source: The slide line it speaks to, such as ``"001:117"``.
        verdict: How the slide fares, one of :data:`VERDICTS`.
    """
    if not _ID.fullmatch(id):
        raise ValueError(f"claim id {id!r} must be lower-case words joined by hyphens")
    if source is not None and not _SOURCE.fullmatch(source):
        raise ValueError(
            f"source={source!r} of claim {id!r} must be a slide line like '001:117'"
        )
    if verdict is not None and verdict not in VERDICTS:
        raise ValueError(
            f"verdict={verdict!r} of claim {id!r} must be one of {', '.join(VERDICTS)}"
        )
    if (verdict is None) != (source is None):
        raise ValueError(f"claim {id!r} needs both a source and a verdict, or neither")
    if not measured:
        raise ValueError(f"claim {id!r} has measured nothing")
    numbers = {name: _plain(value) for name, value in measured.items()}
    if bad := [name for name, value in numbers.items() if not math.isfinite(value)]:
        raise AssertionError(f"claim {id!r}: {', '.join(bad)} is not a finite number")
    outcome = holds(numbers)
    if not hasattr(outcome, "__bool__"):  # a tuple or a generator is always true
        kind = type(outcome).__name__
        raise TypeError(f"holds of claim {id!r} must be true or false, got a {kind}")
    if not outcome:
        raise AssertionError(f"claim {id!r} does not hold: {sentence} {numbers}")
    return Claim(
        id=id,
        sentence=sentence,
        measured=numbers,
        kinds=_kinds(id, numbers, kinds),
        headline=_headline(id, numbers, headline),
        source=source,
        verdict=verdict,
    )


def with_interval(name: str, found: Interval | Any) -> dict[str, float]:
    """Return an estimate and the ends of its interval as three numbers of a claim.

    They are called ``name``, ``name, low`` and ``name, high``. Of values, one of each
    seed, it is their mean and Student's interval at 95 %.
    """
    if not isinstance(found, Interval):
        found = t_interval(torch.as_tensor(found))
    return {
        name: found.estimate,
        f"{name}, low": found.low,
        f"{name}, high": found.high,
    }


def _kinds(
    id: str, numbers: Mapping[str, float], kinds: Kind | Mapping[str, Kind]
) -> dict[str, Kind]:
    """Return the kind of each number."""
    if not isinstance(kinds, Mapping):
        kinds = dict.fromkeys(numbers, kinds)
    if unknown := [name for name in kinds if name not in numbers]:
        raise ValueError(f"claim {id!r} has measured no {unknown[0]!r}: see kinds")
    for name, kind in kinds.items():
        if kind not in KINDS if isinstance(kind, str) else not kind > 0:
            raise ValueError(
                f"kind {kind!r} of {name!r} in claim {id!r} must be one of "
                f"{', '.join(KINDS)}, or a positive number: how far it may be off"
            )
    return {name: kinds.get(name, "close") for name in numbers}


def _headline(
    id: str, numbers: Mapping[str, float], headline: tuple[str, ...] | None
) -> tuple[str, ...]:
    """Return the names of the numbers on the card."""
    if headline is None:
        return tuple(numbers)[:HEADLINE]
    if unknown := [name for name in headline if name not in numbers]:
        raise ValueError(f"claim {id!r} has measured no {unknown[0]!r}: see headline")
    if len(headline) > HEADLINE:
        raise ValueError(
            f"claim {id!r} has {len(headline)} numbers in its headline; {HEADLINE} is "
            "the most: the ledger shows all"
        )
    return tuple(headline)


def _plain(value: Any) -> float:
    """Return a number, a NumPy scalar or a tensor of one entry as a plain float."""
    return float(value.detach() if hasattr(value, "detach") else value)
