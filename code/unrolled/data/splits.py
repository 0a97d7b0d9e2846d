"""Train, validation and test: one fixed division for each corpus of the book."""

import hashlib
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

T = TypeVar("T")
PARTS = ("train", "validation", "test")


@dataclass(frozen=True, kw_only=True, slots=True)
class Splits(Generic[T]):
    """The three parts of a corpus: to learn from, to choose by, to report on."""

    train: T
    validation: T
    test: T


def part_of(key: str, *, percent: int = 10) -> str:
    """Return the part that ``key`` belongs to, the same on every machine, for ever.

    ``percent`` of all keys fall to test and as many to validation. The key must name
    all that is related: two records that share a key share a part.
    """
    if not 0 < percent < 50:
        raise ValueError(f"{percent=} must be between 1 and 49")
    digest = hashlib.sha256(key.encode()).digest()
    place = int.from_bytes(digest[:8], "big") % 100
    if place < percent:
        return "test"
    return "validation" if place < 2 * percent else "train"


def check_part(part: str) -> None:
    """Refuse what is none of the three parts."""
    if part not in PARTS:
        raise ValueError(f"{part=} must be one of {', '.join(PARTS)}")


def split_by(records: Iterable[T], key: Callable[[T], str]) -> Splits[tuple[T, ...]]:
    """Divide ``records`` by the key of each, keeping their order within a part."""
    parts: dict[str, list[T]] = {part: [] for part in PARTS}
    for record in records:
        parts[part_of(key(record))].append(record)
    return Splits(**{part: tuple(found) for part, found in parts.items()})


def split_named(
    records: Iterable[T],
    name: Callable[[T], str],
    *,
    validation: Iterable[str],
    test: Iterable[str],
) -> Splits[tuple[T, ...]]:
    """Divide ``records`` by lists of names; who is on neither is for training."""
    part = dict.fromkeys(validation, "validation") | dict.fromkeys(test, "test")
    found: dict[str, list[T]] = {one: [] for one in PARTS}
    for record in records:
        found[part.get(name(record), "train")].append(record)
    return Splits(**{one: tuple(chosen) for one, chosen in found.items()})


def split_families(
    records: Sequence[T],
    *,
    name: Callable[[T], str],
    keys: Callable[[T], Iterable[Hashable]],
) -> Splits[tuple[T, ...]]:
    """Divide ``records`` so that no key of one part occurs in another.

    Records that share a key are related, and so are the relatives of relatives. A
    family falls into one part: the one where the name of its first record falls.
    """
    heads = families(map(keys, records))
    together = zip(records, heads, strict=True)
    parts = split_by(together, key=lambda pair: name(records[pair[1]]))
    return Splits(
        train=tuple(record for record, _ in parts.train),
        validation=tuple(record for record, _ in parts.validation),
        test=tuple(record for record, _ in parts.test),
    )


def families(keys: Iterable[Iterable[Hashable]]) -> list[int]:
    """Return for every record, given its keys, the first record of its family."""
    above: list[int] = []

    def top(record: int) -> int:
        while above[record] != record:
            above[record] = record = above[above[record]]
        return record

    first: dict[Hashable, int] = {}
    for record, own in enumerate(keys):
        above.append(record)
        for key in own:
            one, other = top(record), top(first.setdefault(key, record))
            above[max(one, other)] = min(one, other)
    return [top(record) for record in range(len(above))]


def runs(items: Sequence[Hashable], n: int) -> Iterator[tuple[Hashable, ...]]:
    """Yield every ``n`` items that follow one another: keys for texts that overlap."""
    return (tuple(items[i : i + n]) for i in range(len(items) - n + 1))
