"""Where to run and from which seed: the only module that names a device."""

import os
import random
from pathlib import Path

import numpy as np
import torch


def pick_device() -> torch.device:
    """Return the device named by ``UNROLLED_DEVICE``, else the fastest one present.

    CUDA comes before Apple's MPS, and MPS before the CPU.
    """
    if name := os.environ.get("UNROLLED_DEVICE"):
        try:
            device = torch.device(name)
            torch.empty(1, device=device)
        except (RuntimeError, AssertionError, ImportError) as error:
            raise ValueError(
                f"UNROLLED_DEVICE={name!r} cannot be used here; this machine has "
                f"{', '.join(present_devices())}. Unset it to let us choose"
            ) from error
        return device
    if torch.cuda.is_available():
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def present_devices() -> list[str]:
    """Return the names of the devices of this machine, as ``UNROLLED_DEVICE`` takes."""
    cuda = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [*cuda, *mps, "cpu"]


def copies_aside(device: torch.device) -> bool:
    """Return whether ``device`` can fetch pinned memory while the program goes on."""
    return device.type == "cuda"


def seed_all(seed: int) -> None:
    """Seed every generator a chapter draws from; call once, in its first cell."""
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)  # CPU, CUDA and MPS alike


def generator(seed: int) -> torch.Generator:
    """Return a CPU generator of its own, for functions that take ``generator=``."""
    return torch.Generator().manual_seed(seed)


def book_folder() -> Path:
    """Return the ``book/`` folder beside this package's ``code/`` folder."""
    folder = Path(__file__).resolve().parents[2] / "book"
    if not (folder / "_toc.yml").is_file():
        raise FileNotFoundError(
            f"no book at {folder}: the package must be installed from a clone of the "
            "book with 'pip install -e code'"
        )
    return folder
