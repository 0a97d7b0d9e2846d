"""Where to run and from which seed: the only module that names a device."""

import os
import platform
import random
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from math import isnan, nan
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from threadpoolctl import threadpool_limits
from torch import Tensor
from tqdm.auto import tqdm

T = TypeVar("T")


def pick_device() -> torch.device:
    """Return the device named by ``UNROLLED_DEVICE``, else the fastest one present.

    CUDA comes before Apple's MPS, and MPS before the CPU. Each of several processes
    that torchrun started gets a GPU of its own; MPS has none to share.
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
        return _own_gpu(device)
    if torch.cuda.is_available():
        return _own_gpu(torch.device("cuda"))
    if torch.backends.mps.is_available() and "LOCAL_RANK" not in os.environ:
        return torch.device("mps")
    return torch.device("cpu")


def present_devices() -> list[str]:
    """Return the names of the devices of this machine, as ``UNROLLED_DEVICE`` takes."""
    cuda = [f"cuda:{i}" for i in range(torch.cuda.device_count())]
    mps = ["mps"] if torch.backends.mps.is_available() else []
    return [*cuda, *mps, "cpu"]


def _own_gpu(device: torch.device) -> torch.device:
    """Return the GPU of this process, where torchrun has started one for each."""
    number = os.environ.get("LOCAL_RANK")
    if number is None or device.type != "cuda" or device.index is not None:
        return device
    if int(number) >= (present := torch.cuda.device_count()):
        raise ValueError(
            f"process {number} of this machine has no GPU of its own: there are "
            f"{present}, so --nproc-per-node must be at most {present}"
        )
    return torch.device("cuda", int(number))


def join_backend() -> str:
    """Return by what processes talk: gloo, and NCCL between GPUs. Untested there."""
    if (device := pick_device()).type != "cuda":
        return "gloo"
    torch.cuda.set_device(device)
    return "cpu:gloo,cuda:nccl"


def gains_from_bfloat16(device: torch.device) -> bool:
    """Return whether ``device`` multiplies in bfloat16 faster than in float32.

    A GPU of NVIDIA's Ampere generation or later does. A CPU mostly emulates it and is
    slower by far; on MPS it is untested. Untested on a GPU.
    """
    return device.type == "cuda" and torch.cuda.is_bf16_supported(
        including_emulation=False
    )


def gains_from_compile(device: torch.device) -> bool:
    """Return whether compiling for ``device`` pays: on a GPU that Triton knows.

    On a CPU, compiling a recurrent loop takes minutes. Untested on a GPU.
    """
    return device.type == "cuda" and torch.cuda.get_device_capability(device) >= (7, 0)


def autocast(device: torch.device, *, wanted: bool) -> AbstractContextManager[object]:
    """Return a context that multiplies in bfloat16 if ``wanted`` and worth it."""
    if wanted and gains_from_bfloat16(device):
        return torch.autocast(device.type, dtype=torch.bfloat16)
    return nullcontext()


def fuses_optimizers(device: torch.device) -> bool:
    """Return whether torch has optimizers of one kernel for ``device``."""
    return device.type in ("cpu", "cuda", "mps")


def copies_aside(device: torch.device) -> bool:
    """Return whether ``device`` can fetch pinned memory while the program goes on."""
    return device.type == "cuda"


def seed_all(seed: int) -> None:
    """Seed every generator a chapter draws from; call once, in its first cell.

    From then on the CPU computes on one thread: the book's networks are too small to be
    faster on two, and sums that are added up in one order give the same number twice.
    That goes for torch and for the library that multiplies NumPy's matrices.
    """
    torch.set_num_threads(1)
    threadpool_limits(1, user_api="blas")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)  # CPU, CUDA and MPS alike


@contextmanager
def one_thread() -> Iterator[None]:
    """Let the CPU compute on one thread meanwhile, as chapters do."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1, user_api="blas"):
            yield
    finally:
        torch.set_num_threads(before)


def fingerprint() -> dict[str, str]:
    """Return what decides how numbers are rounded: two like machines agree to the bit.

    That is torch, NumPy, and the processor with the instructions that torch uses on it.
    """
    return {
        "torch": torch.__version__,
        "numpy": np.__version__,
        "cpu": f"{_processor()}, {torch.backends.cpu.get_cpu_capability()}",
    }


def _processor() -> str:
    """Return the model of the processor as the system calls it."""
    about = Path("/proc/cpuinfo")
    if about.is_file():
        for line in about.read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    return platform.processor() or platform.machine()


def progress(
    steps: Iterable[T], *, total: int | None = None, wanted: bool = True
) -> Iterator[T]:
    """Yield from ``steps``, with a bar once they have taken two seconds, if ``wanted``.

    The bar goes when they are done. There is none where the book is made
    (``UNROLLED_BOOK``): a page shows results, not the waiting for them.
    """
    quiet = not wanted or bool(os.environ.get("UNROLLED_BOOK"))
    yield from tqdm(steps, total=total, delay=2, leave=False, disable=quiet)


def draws(device: torch.device) -> dict[str, Tensor]:
    """Return the states of the generators that ``seed_all`` seeds, as tensors."""
    _, words, gauss = random.getstate()
    _, keys, *rest = np.random.get_state(legacy=True)
    spare = nan if gauss is None else gauss  # gauss() draws two numbers at a time
    states = {
        "torch": torch.get_rng_state(),
        "python": torch.tensor(words),
        "python.gauss": torch.tensor(spare, dtype=torch.float64),
        "numpy": torch.from_numpy(np.asarray(keys).astype(np.int64)),
        "numpy.rest": torch.tensor(rest, dtype=torch.float64),
    }
    if device.type == "cuda":
        states["device"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["device"] = torch.mps.get_rng_state()
    return states


def restore_draws(states: dict[str, Tensor], device: torch.device) -> None:
    """Put the generators back into the ``states`` that :func:`draws` has returned."""
    torch.set_rng_state(states["torch"])
    gauss = states["python.gauss"].item()
    words = tuple(states["python"].tolist())
    random.setstate((3, words, None if isnan(gauss) else gauss))
    place, has_gauss, cached = states["numpy.rest"].tolist()
    keys = states["numpy"].numpy().astype(np.uint32)
    np.random.set_state(("MT19937", keys, int(place), int(has_gauss), cached))
    if device.type == "cuda":
        torch.cuda.set_rng_state(states["device"], device)
    elif device.type == "mps":
        torch.mps.set_rng_state(states["device"])


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
