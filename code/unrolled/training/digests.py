"""What tells one batch from another."""

import hashlib
from dataclasses import fields
from typing import Any

import torch


def digest(batch: Any) -> bytes:
    """Return 32 bytes that two batches share only if their numbers are the same."""
    found = hashlib.sha256()
    for field in fields(batch):
        part = getattr(batch, field.name)
        if part is not None:
            held = part.detach().cpu().contiguous()
            found.update(held.view(torch.uint8).numpy().tobytes())
    return found.digest()
