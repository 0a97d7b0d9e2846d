"""How the pages of a course are made: one file each, that needs nothing from outside.

Whatever a template prints passes :func:`clean` and is then escaped, so no text of a
student's can be markup, turn the line around or hide something. As a second wall each
page says in its head (Content-Security-Policy) that nothing may be loaded and that no
script may run but our own, named by its hash.
"""

import base64
import hashlib
import re
from datetime import datetime
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from unrolled.grading.exercise import Exercise

TEMPLATES = Path(__file__).parent / "templates"
#: How much of a name, and of any other text that is not an answer, is shown.
NAME, TEXT = 80, 1_000

#: Controls, also those that turn the direction around; plain marks of it may stay.
_CONTROL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff"
    "\ufff9-\ufffb\ufffe\uffff]"
)
_MATHS = re.compile(r"\$([^$\n]+)\$")
_MARKS = re.compile(
    r"\*\*(?P<strong>[^*\n]+)\*\*|\*(?P<em>[^*\n]+)\*|`(?P<code>[^`]+)`"
)
_SIGNS = {
    "-": "−",
    r"\,": "\u2009",
    "{,}": ",",
    r"\cdot": "·",
    r"\times": "×",
    r"\le": "≤",
    r"\ge": "≥",
    r"\to": "→",
    r"\lambda": "λ",
    r"\rho": "\N{GREEK SMALL LETTER RHO}",
    r"\gamma": "\N{GREEK SMALL LETTER GAMMA}",
    r"\approx": "≈",
}


def render(template: str, *, style: str, script: str = "", **values: Any) -> str:
    """Return a page.

    Args:
        template: The template's file name.
        style: The files of its style sheets, with blanks between them.
        script: The file of its script; without it no script may run.
        values: What the template shows.
    """
    css = "".join((TEMPLATES / name).read_text("utf-8") for name in style.split())
    code = (TEMPLATES / script).read_text("utf-8") if script else ""
    policy = (
        f"default-src 'none'; style-src {_hash(css)}; img-src data:; "
        f"script-src {_hash(code) if code else repr('none')}; "
        "base-uri 'none'; form-action 'none'"
    )
    page = _environment().get_template(template)
    return page.render(css=Markup(css), code=Markup(code), policy=policy, **values)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(TEMPLATES, encoding="utf-8"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_final,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    for shown in (number, points, percent, clip, moment, prose):
        environment.filters[shown.__name__] = shown
    return environment


def _final(value: Any) -> Any:
    return clean(value) if type(value) is str else value


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def clean(text: str) -> str:
    """Return a text whose control characters, also those of direction, are visible."""
    return _CONTROL.sub(_picture, text)


def _picture(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else "\N{REPLACEMENT CHARACTER}"


def clip(text: str, length: int = TEXT) -> str:
    """Return a text that is not longer than this, and says so if it was."""
    return text if len(text) <= length else f"{text[: length - 1]}…"


def moment(text: str) -> str:
    """Return a time of a seal, which is in UTC, as a person writes it."""
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return clip(text, 40)
    return f"{time.day} {time:%B %Y, %H:%M} UTC"


def number(value: float) -> str:
    """Return a number of points as a person writes it: 7, 7.5 or 7.25."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def points(value: float) -> str:
    """Return a number of points in words."""
    return f"{number(value)} point" if value == 1 else f"{number(value)} points"


def percent(share: float) -> str:
    """Return a share in words; only all is 100 %, and only nothing is 0 %."""
    whole = round(100 * share)
    if 0 < share < 1:
        whole = min(max(whole, 1), 99)
    return f"{whole}\u00a0%"


def heading(exercise: Exercise) -> str:
    """Return what an exercise is called at the head of a page."""
    return f"Exercise {exercise.number.lstrip('0') or '0'}: {exercise.title}"


def prose(text: str) -> Markup:
    """Return the course's own prose as paragraphs, with the marks that rubrics use.

    Bold, emphasis, code and simple mathematics; anything else stays as it is written.
    """
    parts = [part for part in re.split(r"\n\s*\n", text.strip()) if part.strip()]
    return Markup("\n").join(Markup(f"<p>{_inline(part)}</p>") for part in parts)


def _inline(text: str) -> Markup:
    pieces, end = [], 0
    for match in _MATHS.finditer(text):
        pieces += [_marked(text[end : match.start()]), _maths(match.group(1))]
        end = match.end()
    return Markup("").join([*pieces, _marked(text[end:])])


def _marked(text: str) -> Markup:
    pieces, end = [], 0
    for match in _MARKS.finditer(text):
        tag = match.lastgroup
        inner = escape(clean(match.group(tag or 0)))
        pieces += [escape(clean(text[end : match.start()]))]
        pieces += [Markup(f"<{tag}>{inner}</{tag}>")]
        end = match.end()
    return Markup("").join([*pieces, escape(clean(text[end:]))])


def _maths(text: str) -> Markup:
    for sign, plain in _SIGNS.items():
        text = text.replace(sign, plain)
    text = re.sub(r"\\(?:mathbf|mathrm|text)\{(\w+)\}", r"\1", text)
    text = re.sub(r"\\(tanh|log|exp|max|min|quad)\b", r"\1", text)
    shown = str(escape(clean(text)))
    shown = re.sub(r"_(?:\{([^{}]+)\}|(\w))", r"<sub>\1\2</sub>", shown)
    shown = re.sub(r"\^(?:\{([^{}]+)\}|(\w))", r"<sup>\1\2</sup>", shown)
    return Markup(f'<span class="maths">{shown}</span>')
