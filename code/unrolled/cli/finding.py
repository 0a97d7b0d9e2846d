"""What the command line calls a model or a text, and where these are."""

from pathlib import Path
from typing import Any

CORPORA = ("kjv", "shakespeare")
SMOLLM2 = "smollm2"


def find_model(name: str) -> tuple[Any, Any]:
    """Return the model of this name, on the device of the book, and its tokenizer."""
    from unrolled.runtime import pick_device

    model, tokenizer = _smollm2() if name == SMOLLM2 else _checkpoint(name)
    return model.to(pick_device()), tokenizer


def _checkpoint(name: str) -> tuple[Any, Any]:
    """Load a file, or the file of this name among the book's models."""
    from unrolled.models.checkpoints import load
    from unrolled.runtime import book_folder

    folder = book_folder() / "_static" / "models"
    paths = (Path(name), folder / f"{name}.safetensors")
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        known = sorted(p.stem for p in folder.glob("*.safetensors"))
        raise ValueError(
            f"no model {name!r}: there is no such file, and the book has "
            f"{', '.join([*known, SMOLLM2])}"
        )
    found = load(path)
    if not hasattr(found.model, "start"):
        kind = type(found.model).__name__
        raise ValueError(f"{path} holds a {kind}, which does not write text")
    if found.tokenizer is None:
        raise ValueError(f"{path} has no tokenizer: its model knows no text")
    return found.model, found.tokenizer


def _smollm2() -> tuple[Any, Any]:
    """Load the real model, fetched before or now."""
    from unrolled.data.corpora.smollm2 import smollm2
    from unrolled.data.tokens.byte_level import ByteLevel
    from unrolled.models.llama import load_smollm2

    stored = smollm2().tokenizer
    tokenizer = ByteLevel(
        tokens=stored.tokens,
        merges=stored.merges,
        n_specials=len(stored.special),  # which come first
        unknown=stored.unknown,
    )
    return load_smollm2(), tokenizer


def read_text(text: str) -> str:
    """Return the text of a file, or of a part of a corpus."""
    from unrolled.data.corpora.kjv import kjv_text
    from unrolled.data.corpora.shakespeare import shakespeare_text
    from unrolled.data.splits import PARTS

    name, _, part = text.partition(":")
    corpora = dict(zip(CORPORA, (kjv_text, shakespeare_text), strict=True))
    if name in corpora:
        if (part := part or "test") not in PARTS:
            raise ValueError(f"{text!r}: the part must be one of {', '.join(PARTS)}")
        found: str = getattr(corpora[name](), part)
        return found
    if not Path(text).is_file():
        raise ValueError(
            f"no text {text!r}: there is no such file, and the corpora are "
            f"{', '.join(CORPORA)}"
        )
    try:
        return Path(text).read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ValueError(f"{text} must be text in UTF-8: {error}") from None
