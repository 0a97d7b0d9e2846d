"""Whether a run has the settings that a checkpoint says, also one of an older version.

A checkpoint keeps each setting as text, as Python prints it. A config that has got a
field since prints otherwise; that is the same setting if the field has its default.
"""

import ast
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any


def written(value: Any) -> str:
    """Return a setting as text that is the same in every process."""
    return re.sub(r" at 0x\w+", "", repr(value))  # where a function lies in memory


def values_of(config: Any) -> dict[str, Any]:
    """Return the fields of a config and their values."""
    return {field.name: getattr(config, field.name) for field in fields(config)}


def defaults_of(config: Any) -> dict[str, Any]:
    """Return the defaults of those fields of a config that have one."""
    found = {f.name: f.default for f in fields(config) if f.default is not MISSING}
    made = {
        f.name: f.default_factory()
        for f in fields(config)
        if f.default_factory is not MISSING
    }
    return found | made


def differences(
    before: Mapping[str, str], now: Mapping[str, Any], defaults: Mapping[str, Any]
) -> list[str]:
    """Return in words what was set otherwise; what was not known had its default."""
    found = []
    for name, value in now.items():
        default = written(defaults[name]) if name in defaults else "not set"
        was = before.get(name, default)
        if not _agrees(was, value):
            found.append(f"{name} was {was} and is {written(value)}")
    unknown = [name for name in before if name not in now]
    return found + [
        f"{name} was {before[name]} and is unknown to this version" for name in unknown
    ]


def _agrees(was: str, value: Any) -> bool:
    """Tell whether a text is that of a setting, or was before it got new fields."""
    if was == written(value):
        return True
    if not is_dataclass(value):
        return False
    try:
        call = ast.parse(was, mode="eval").body
    except SyntaxError:  # a function, say, has no text that Python reads
        return False
    if not isinstance(call, ast.Call) or call.args:
        return False
    if ast.unparse(call.func) != type(value).__qualname__:
        return False
    texts = {k.arg or "": ast.get_source_segment(was, k.value) for k in call.keywords}
    given = {name: text or "" for name, text in texts.items()}
    return not differences(given, values_of(value), defaults_of(value))
