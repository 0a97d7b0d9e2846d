"""A statement of the book: asserted where it is made, recorded for the ledger."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

MIME = "application/vnd.unrolled.claim+json"

#: How a claim may judge the slide it cites.
VERDICTS = (
    "holds",
    "holds with conditions",
    "refuted",
    "rumour",
    "not testable here",
)
_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_SOURCE = re.compile(r"00[0-4]:\d+(-\d+)?")
_UNFOLDED, _FOLDED_FROM = 6, 9  # numbers of a card that stand open; when to fold
_SUPERSCRIPT = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


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
    source: str | None
    verdict: str | None

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        numbers = "; ".join(f"{k} {pretty(v)}" for k, v in self.measured.items())
        rows = [
            f"<div><dt>{escape(name)}</dt><dd>{pretty(value)}</dd></div>"
            for name, value in self.measured.items()
        ]
        slide = ""
        if self.source:
            slide = f'<span class="claim-slide">slide {self.source}'
            slide += f": {self.verdict}</span>" if self.verdict else "</span>"
        return {
            # A notebook is stored with its keys sorted; the author's order is kept.
            MIME: asdict(self) | {"order": list(self.measured)},
            "text/html": f'<div class="claim" id="claim-{self.id}" role="group" '
            f'aria-label="Claim: {self.id}"><p class="claim-head">'
            f'<span class="claim-mark">Claim, held in this run</span>{slide}'
            f"</p><p>{escape(self.sentence)}</p>{_folded(rows)}</div>",
            "text/plain": f"Claim {self.id}: {self.sentence} Measured: {numbers}.",
        }


def claim(
    id: str,
    sentence: str,
    *,
    measured: Mapping[str, float],
    holds: Callable[[Mapping[str, float]], bool],
    source: str | None = None,
    verdict: str | None = None,
) -> Claim:
    """Assert ``sentence`` by applying ``holds`` to the ``measured`` numbers.

    Args:
        id: A name in lower case with hyphens, unique in the book.
        sentence: What *we* assert, in a full sentence.
        measured: The numbers it rests on, by name.
        holds: A function of ``measured``; if it is not true the run fails.
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
        id=id, sentence=sentence, measured=numbers, source=source, verdict=verdict
    )


def _folded(rows: list[str]) -> str:
    """Return a card's rows as a list; of many, all but the first are folded."""
    if len(rows) < _FOLDED_FROM:
        return f"<dl>{''.join(rows)}</dl>"
    first, rest = "".join(rows[:_UNFOLDED]), "".join(rows[_UNFOLDED:])
    words = f"{len(rows) - _UNFOLDED} more numbers"
    fold = f"<details><summary>{words}</summary><dl>{rest}</dl></details>"
    return f"<dl>{first}</dl>{fold}"


def _plain(value: Any) -> float:
    """Return a number, a NumPy scalar or a tensor of one entry as a plain float."""
    return float(value.detach() if hasattr(value, "detach") else value)
