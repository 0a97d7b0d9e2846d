"""Cut MyST text into blocks: words, literal code, and directives with their options."""

import re
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

_OPENS = re.compile(r"(?P<fence>`{3,}|:{3,}|~{3,})(?P<info>.*)")
_NAMED = re.compile(r"\s*\{(?P<name>[\w:-]+)\}\s*(?P<argument>.*)")
_EQUATION = re.compile(
    r"^\$\$(?P<body>(?:(?!\$\$).)+)\$\$ *(?:\((?P<label>[^)\s]+)\) *)?$", re.M | re.S
)
_OPTION = re.compile(r":(?P<name>[\w-]+):\s*(?P<value>.*)")


class Words(str):
    """Text that may hold roles, links and targets."""


class Code(str):
    """A fenced block that is shown as it stands."""


class Directive(NamedTuple):
    """A directive: its first line, its options and its body."""

    name: str
    argument: str
    options: dict[str, Any]
    body: str


def blocks(text: str) -> Iterator[Words | Code | Directive]:
    """Yield the blocks of ``text`` in order; a fence that never closes is an error."""
    words: list[str] = []
    lines = iter(text.split("\n"))
    for line in lines:
        opened = _OPENS.fullmatch(line)
        if not opened:
            words.append(line)
            continue
        yield from _words(words)
        words = []
        inside = list(_until_closed(lines, opened["fence"], line))
        if named := _NAMED.fullmatch(opened["info"]):
            yield _directive(named["name"], named["argument"].strip(), inside)
        else:
            yield Code("\n".join([line, *inside, opened["fence"]]))
    yield from _words(words)


def _words(lines: list[str]) -> Iterator[Words | Directive]:
    """Yield words, and an equation between dollars that has a label as a directive."""
    text, at = "\n".join(lines), 0
    for found in _EQUATION.finditer(text):
        if not found["label"]:
            continue
        if before := text[at : found.start()].rstrip("\n"):
            yield Words(before + "\n")
        yield Directive("math", "", {"label": found["label"]}, found["body"].strip())
        at = found.end()
    if lines and (at == 0 or text[at:].strip("\n")):
        yield Words(text[at:].removeprefix("\n") if at else text)


def _until_closed(lines: Iterator[str], fence: str, first: str) -> Iterator[str]:
    closing = re.compile(rf"{re.escape(fence[0])}{{{len(fence)},}}\s*")
    for line in lines:
        if closing.fullmatch(line):
            return
        yield line
    raise ValueError(f"{first!r} is never closed")


def _directive(name: str, argument: str, lines: list[str]) -> Directive:
    options: dict[str, Any] = {}
    if lines[:1] == ["---"] and "---" in lines[1:]:
        end = lines.index("---", 1)
        options = yaml.safe_load("\n".join(lines[1:end])) or {}
        lines = lines[end + 1 :]
    while lines and (option := _OPTION.fullmatch(lines[0])):
        options[option["name"]] = option["value"].strip()
        lines = lines[1:]
    return Directive(name, argument, options, "\n".join(lines).strip("\n"))
