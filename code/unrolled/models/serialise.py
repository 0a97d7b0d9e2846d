"""What a model is made from, in plain values, and how it is made anew from them.

A model says this itself: each argument of its constructor is kept as an attribute of
that name and is a frozen config, a model that is made from its config alone (a head on
a BERT is made from the BERT), or a number, text or truth value. So a new model that
keeps to this can be saved, and there is no list of models.

A file names a class, and importing runs code. So only classes of ``unrolled.models``
and of chapters are taken, from no private module, and only where they are defined.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, fields, is_dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, get_type_hints

from torch import nn

_NAME = re.compile(r"unrolled\.(models|chapters)(\.[a-z]\w*)+\.[A-Z]\w*", re.ASCII)
_PLAIN = (bool, int, float, str)


def name_of(model: nn.Module) -> str:
    """Return the full name of a model's class, such as unrolled.models.gpt.GPT."""
    return f"{type(model).__module__}.{type(model).__qualname__}"


def model_class(name: str) -> type[nn.Module]:
    """Return the class of this full name, which must be one that can be saved.

    Files of before have the last part of the name alone; it is looked for.
    """
    full = name if "." in name else _full_name(name)
    if not _NAME.fullmatch(full):
        raise ValueError(
            f"model {name!r} must be a class of unrolled.models or unrolled.chapters, "
            "such as unrolled.models.gpt.GPT"
        )
    home, _, own = full.rpartition(".")
    try:
        kind: Any = vars(import_module(home)).get(own)
    except ModuleNotFoundError as error:
        raise ValueError(f"model {name!r} is in no module: {error}") from error
    if not _is_model(kind) or kind.__module__ != home:
        raise ValueError(f"model {name!r} must be an nn.Module that {home} defines")
    if not _is_made_from_config(kind):
        raise ValueError(
            f"model {name!r} cannot be saved: it must be made from a config, a model "
            "that is made from one, and plain values"
        )
    found: type[nn.Module] = kind
    return found


def describe(model: nn.Module) -> dict[str, Any]:
    """Return what a model is made from, by the names of its constructor."""
    kind, name = type(model), name_of(model)
    if kind is not model_class(name):
        raise ValueError(f"model is another {name} than the one in its module")
    parts = _parts(kind)
    if missing := [part for part in parts if not hasattr(model, part)]:
        raise ValueError(
            f"{name} must keep {', '.join(missing)} as an attribute of that name, so "
            "that it can be saved"
        )
    return {part: _described(getattr(model, part)) for part in parts}


def check_plain(name: str, description: Mapping[str, Any]) -> None:
    """Refuse a description that JSON would bring back changed."""
    parts = _parts(model_class(name))
    for part, value in json.loads(json.dumps(description)).items():
        if isinstance(value, dict):
            value = asdict(_config(_config_class(parts[part]), value))
        if value != description[part]:
            raise ValueError(
                f"{part}={description[part]} must hold plain values only, as JSON has "
                "them"
            )


def build(name: str, description: Mapping[str, Any]) -> nn.Module:
    """Make the model of this name anew, with weights as they are before training.

    A field that a config has got since takes its default; one that it no longer has,
    or never had, is refused.
    """
    kind = model_class(name)
    parts = _parts(kind)
    if parts.keys() != description.keys():
        raise ValueError(
            f"{name} is made from {', '.join(parts)}, not {', '.join(description)}"
        )
    return kind(**{part: _part(parts[part], description[part]) for part in parts})


def _full_name(name: str) -> str:
    """Return the full name of the one class of unrolled.models that is called so."""
    files = sorted(Path(__file__).parent.glob("*.py"))
    line = f"\nclass {name}("
    homes = [path.stem for path in files if line in path.read_text(encoding="utf-8")]
    if len(homes) != 1:
        raise ValueError(
            f"model {name!r} must be one class of unrolled.models, and is found in "
            f"{', '.join(homes) or 'no module'}"
        )
    return f"unrolled.models.{homes[0]}.{name}"


def _is_model(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, nn.Module)


def _is_made_from_config(kind: Any) -> bool:
    """Tell whether a model is made from configs, their models and plain values."""
    parts = [part for part in _parts(kind).values() if part not in _PLAIN]
    return bool(parts) and all(_config_class(part) is not None for part in parts)


def _parts(kind: Any) -> dict[str, Any]:
    """Return the type of each argument of the constructor."""
    hints = get_type_hints(kind.__init__)
    return {name: hint for name, hint in hints.items() if name != "return"}


def _config_class(kind: Any) -> Any:
    """Return a config's class, or that of the config alone a model is made from."""
    if _is_model(kind):
        parts = _parts(kind)
        kind = parts["config"] if parts.keys() == {"config"} else None
    return kind if is_dataclass(kind) else None


def _described(value: Any) -> Any:
    if isinstance(value, _PLAIN):
        return value
    config: Any = value.config if isinstance(value, nn.Module) else value
    return asdict(config)


def _part(kind: Any, value: Any) -> Any:
    """Return an argument: a number, a config of these values, or a module of one."""
    if not isinstance(value, dict):
        return value
    config = _config(_config_class(kind), value)
    return kind(config) if _is_model(kind) else config


def _config(kind: Any, values: dict[str, Any]) -> Any:
    """Return a config of these values, and of defaults where there are none."""
    known = [field.name for field in fields(kind)]
    if unknown := [name for name in values if name not in known]:
        raise ValueError(
            f"unexpected fields {', '.join(map(repr, unknown))}: {kind.__name__} has "
            f"{', '.join(known)}"
        )
    return kind(**values)
