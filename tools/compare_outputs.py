"""Compare what a cell gives now with what its notebook stores: is it still true?

With the same fingerprint (torch, NumPy, processor) everything but times is the same to
the last digit. On another machine each number of a claim may differ as its kind says
(:mod:`unrolled.book.claims`), and printed numbers in their last digits. Of a figure the
structure counts: which parts it has, and what is written in it.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import Any

from unrolled.book.claims import pretty
from unrolled.book.records import CLAIM, without_drawing

CLOSE = 1e-4  # of a number, on a machine that rounds otherwise
IGNORED = "nbval-ignore-output"  # nbval's own tag, on cells that print times
NUMBER = re.compile(r"[-−+]?\d[\d,]*\.?\d*(?:e[+-]?\d+)?")
PART = re.compile(r'<g id="([A-Za-z]\w*?)_\d+"')
LABEL = re.compile(r"<!-- (.*?) -->")
Output = Mapping[str, Any]


def cell_faults(
    cell: Mapping[str, Any], outputs: Sequence[Output], *, same: bool
) -> list[str]:
    """Return how the new ``outputs`` of ``cell`` differ from those that it stores.

    ``same`` says that both were made by machines with the same fingerprint.
    """
    ignored = IGNORED in cell["metadata"].get("tags", [])
    found = []
    for old, new in zip_longest(_joined(cell["outputs"]), _joined(outputs)):
        if old is None or new is None:
            state = "new" if old is None else "missing"
            found.append(f"an output is {state}: {_words(old or new)[:80]!r}")
        elif CLAIM in old and CLAIM in new:
            found += claim_faults(old[CLAIM], new[CLAIM], same=same)
        elif not ignored:
            found += list(_bundle_faults(old, new, same=same))
    return found


def claim_faults(
    old: Mapping[str, Any], new: Mapping[str, Any], *, same: bool
) -> list[str]:
    """Return how a claim differs from the one on record."""
    found = [
        f"claim {old['id']}: its {part} is {new.get(part)!r}, on record {old[part]!r}"
        for part in old
        if part != "measured" and new.get(part) != old[part]
    ]
    numbers = old["measured"].keys() & new["measured"].keys()
    for name in sorted(numbers):
        kind = old.get("kinds", {}).get(name, "close")
        was, now = old["measured"][name], new["measured"][name]
        if not agree(was, now, kind, same=same):
            found.append(
                f"claim {old['id']}: {name} ({kind}) is {now!r}, on record {was!r}"
            )
    return found


def agree(was: float, now: float, kind: str | float, *, same: bool) -> bool:
    """Say whether a number of a claim is as it was, by its kind."""
    if was == now or kind == "time":
        return True
    if same or kind == "exact":
        return False
    if kind == "bound":  # the claim has held, or the cell would have failed
        return True
    if kind == "close":
        near = abs(was - now) <= CLOSE * max(abs(was), abs(now))
        return near and pretty(was) == pretty(now)
    return abs(was - now) <= float(kind)


def text_faults(old: str, new: str, *, same: bool) -> list[str]:
    """Return how a printed text differs; its numbers may in their last digit."""
    if old == new:
        return []
    words = [NUMBER.split(text) for text in (old, new)]
    numbers = [NUMBER.findall(text) for text in (old, new)]
    if same or [w.split() for w in words[0]] != [w.split() for w in words[1]]:
        return [f"it prints {new.strip()[:200]!r}, on record {old.strip()[:200]!r}"]
    return [
        f"it prints {b}, on record {a}"
        for a, b in zip(*numbers, strict=True)
        if not _near(a, b)
    ]


def figure_faults(old: str, new: str) -> list[str]:
    """Return how the structure of a drawing differs: its parts and its words."""
    found = []
    for what, shape in (("parts", _parts), ("words", _labels)):
        was, now = shape(old), shape(new)
        if was != now:
            lost, come = dict(was - now), dict(now - was)
            found.append(f"a figure has other {what}: lost {lost}, new {come}")
    return found


def _bundle_faults(old: Output, new: Output, *, same: bool) -> Iterator[str]:
    if old.keys() != new.keys():
        yield f"it shows {', '.join(sorted(new))}, on record {', '.join(sorted(old))}"
        return
    rich = [mime for mime in old if mime != "text/plain"] or ["text/plain"]
    for mime in rich:
        if mime == "image/svg+xml":
            yield from figure_faults(_text(old[mime]), _text(new[mime]))
        elif mime.startswith("text/") or mime in ("stdout", "stderr", "error"):
            yield from text_faults(_text(old[mime]), _text(new[mime]), same=same)
        elif mime.endswith("+json") and old[mime] != new[mime]:
            yield f"its {mime} is {new[mime]}, on record {old[mime]}"


def _joined(outputs: Sequence[Output]) -> list[dict[str, Any]]:
    """Return each output by its types; what is printed bit by bit becomes one."""
    found: list[dict[str, Any]] = []
    for output in outputs:
        if output["output_type"] == "stream":
            name, text = output["name"], _text(output["text"])
            if found and list(found[-1]) == [name]:
                found[-1][name] += text
            else:
                found.append({name: text})
        elif "data" in output:
            found.append(without_drawing(output["data"]))
        elif output["output_type"] == "error":
            found.append({"error": f"{output['ename']}: {output['evalue']}"})
    return found


def _near(a: str, b: str) -> bool:
    """Say whether two printed numbers are one, but for rounding of the last digit."""
    x, y = (float(n.replace(",", "").replace("−", "-")) for n in (a, b))
    digits = len(a.partition(".")[2].partition("e")[0])
    return abs(x - y) <= max(CLOSE * max(abs(x), abs(y)), 1.01 * 10**-digits)


def _parts(svg: str) -> Counter[str]:
    return Counter(PART.findall(svg))


def _labels(svg: str) -> Counter[str]:
    words = (label.strip() for label in LABEL.findall(svg))
    return Counter(word for word in words if not NUMBER.fullmatch(word))


def _text(content: str | list[str]) -> str:
    return content if isinstance(content, str) else "".join(content)


def _words(output: Output) -> str:
    return _text(next(iter(output.values()))) if output else ""
