"""What slides say that needs a word: ``book/corrections.yml``, read and checked.

A line of a deck is written ``002:163``, a range ``002:253-256``. A claim speaks to a
correction if it is named there or if their lines meet.
"""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from unrolled.book.claims import VERDICTS
from unrolled_book.claims import Entry

GROUPS = ("error", "overstatement", "wording")
NEEDED = ("source", "group", "says", "instead", "verdict", "chapter", "evidence")
OPTIONAL = ("also", "experiment")
EVIDENCE = ("claims", "cites", "because")
_SOURCE = re.compile(r"(00[0-4]):(\d+)(?:-(\d+))?")


class Lines(NamedTuple):
    """Some lines of a deck, both ends included; they sort by deck and line."""

    deck: str
    first: int
    last: int

    @classmethod
    def parse(cls, source: str) -> "Lines":
        """Read ``002:163`` or ``002:253-256``."""
        match = _SOURCE.fullmatch(source)
        if not match:
            raise ValueError(f"{source!r} is not a slide line like '001:117'")
        first = int(match[2])
        last = int(match[3] or first)
        if not 1 <= first <= last:
            raise ValueError(f"{source!r} does not run forwards from line 1")
        return cls(match[1], first, last)

    def meets(self, other: "Lines") -> bool:
        """Say whether the two have a line in common."""
        same = self.deck == other.deck
        return same and self.first <= other.last and other.first <= self.last


@dataclass(frozen=True, kw_only=True, slots=True)
class Correction:
    """What a slide says, how that fares, what to say instead, and who says so."""

    source: str
    group: str
    says: str
    instead: str
    verdict: str
    chapter: str
    claims: tuple[str, ...] = ()
    cites: tuple[str, ...] = ()
    because: str = ""
    also: tuple[str, ...] = ()
    experiment: bool = False

    @property
    def sources(self) -> tuple[str, ...]:
        """Return all the lines it speaks of, the main one first."""
        return (self.source, *self.also)

    @property
    def anchor(self) -> str:
        """Return its name in addresses: ``000-54``."""
        return re.sub(r"\W", "-", self.source)

    def speaks_to(self, source: str) -> bool:
        """Say whether any of its lines is among those of ``source``."""
        lines = Lines.parse(source)
        return any(lines.meets(Lines.parse(own)) for own in self.sources)

    def executed(self, found: dict[str, Entry]) -> list[Entry]:
        """Return the claims that bear on it: named here, or made about its lines."""
        named = [found[name] for name in self.claims]
        met = [
            entry
            for entry in found.values()
            if entry.claim["source"] and self.speaks_to(entry.claim["source"])
        ]
        return named + [entry for entry in met if entry not in named]


def _faults(entry: dict[str, Any], found: dict[str, Entry] | None) -> list[str]:
    """Return what is wrong with an entry as it stands in the file."""
    if missing := [part for part in NEEDED if not entry.get(part)]:
        return [f"no {part}" for part in missing]
    faults = [f"what is {key!r}?" for key in entry if key not in NEEDED + OPTIONAL]
    evidence = entry["evidence"]
    if not isinstance(evidence, dict) or not any(map(evidence.get, EVIDENCE)):
        return [*faults, f"no evidence: give {', '.join(EVIDENCE)}"]
    faults += [f"what is evidence {key!r}?" for key in evidence if key not in EVIDENCE]
    if entry["group"] not in GROUPS:
        faults.append(f"group {entry['group']!r} is none of {', '.join(GROUPS)}")
    if entry["verdict"] not in VERDICTS:
        faults.append(f"verdict {entry['verdict']!r} is none of {', '.join(VERDICTS)}")
    for source in (entry["source"], *entry.get("also", ())):
        try:
            Lines.parse(source)
        except (TypeError, ValueError) as error:
            faults.append(str(error))
    if found is not None:
        names = evidence.get("claims", ())
        faults += [f"no claim {name!r}" for name in names if name not in found]
    return faults


def read(root: Path, found: dict[str, Entry] | None = None) -> list[Correction]:
    """Return all corrections in the order of the decks, each checked for its parts.

    With ``found``, the claims that they name must be among these.
    """
    path = root / "book" / "corrections.yml"
    corrections: list[Correction] = []
    for entry in yaml.safe_load(path.read_text(encoding="utf-8")):
        if faults := _faults(entry, found):
            raise ValueError(f"{path}: {entry.get('source')}: {'; '.join(faults)}")
        parts = dict(entry)
        evidence = parts.pop("evidence")
        parts["also"] = tuple(parts.get("also", ()))
        for key in ("claims", "cites"):
            parts[key] = tuple(evidence.get(key, ()))
        parts["because"] = evidence.get("because", "")
        corrections.append(Correction(**parts))
    sources = [correction.source for correction in corrections]
    if twice := sorted({source for source in sources if sources.count(source) > 1}):
        raise ValueError(f"{path}: entered twice: {', '.join(twice)}")
    return sorted(corrections, key=lambda correction: Lines.parse(correction.source))


def left_over(corrections: list[Correction], found: dict[str, Entry]) -> list[Entry]:
    """Return the claims that fault a slide and that no correction takes up."""
    taken = [entry for each in corrections for entry in each.executed(found)]
    faulting = [
        entry
        for entry in found.values()
        if entry.claim["verdict"] not in (None, "holds") and entry not in taken
    ]
    return sorted(faulting, key=lambda entry: Lines.parse(entry.claim["source"]))
