"""Where the data lie, whether the network may be used, and who may write."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import filelock
import platformdirs
from tqdm.auto import tqdm

from unrolled.data.fetch.errors import DataError

_FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_ON, _OFF = ("1", "true", "yes", "on"), ("", "0", "false", "no", "off")


def data_folder() -> Path:
    """Return the folder of the data: ``UNROLLED_DATA``, or the platform's cache."""
    chosen = os.environ.get("UNROLLED_DATA")
    if not chosen:
        return platformdirs.user_cache_path("unrolled") / "data"
    try:
        return Path(chosen).expanduser().absolute()
    except RuntimeError:
        raise DataError(
            f"UNROLLED_DATA={chosen!r} names a user who is not known here; set it to "
            "a folder"
        ) from None


def is_offline() -> bool:
    """Tell whether ``UNROLLED_OFFLINE`` forbids to fetch anything."""
    said = os.environ.get("UNROLLED_OFFLINE", "")
    if said.strip().lower() in _ON + _OFF:
        return said.strip().lower() in _ON
    raise ValueError(f"UNROLLED_OFFLINE={said!r} must be 1 or 0 (or yes, no, on, off)")


def _explained(error: OSError, path: Path, again: str) -> DataError:
    """Return what the disk says with what the reader can do about it."""
    full = error.errno in _FULL
    what = "the disk is full" if full else "it cannot be written"
    remedy = "Make room or set" if full else "Set"
    return DataError(
        f"{path}: {what} ({error.strerror or error}). {remedy} UNROLLED_DATA to "
        f"another folder, then run: {again}"
    )


@contextmanager
def writing(path: Path, again: str) -> Iterator[None]:
    """Hold the lock of a file that is to be written, and explain what the disk says."""
    folder = data_folder()
    name = "+".join(path.relative_to(folder).parts)
    lock = filelock.FileLock(folder / ".locks" / f"{name}.lock")
    try:
        for needed in (path.parent, folder / ".locks"):
            needed.mkdir(parents=True, exist_ok=True)
        try:
            held = lock.acquire(timeout=0)
        except filelock.Timeout:
            note = f"waiting for another process that is at {path.name} ..."
            tqdm.write(note, file=sys.stderr)
            held = lock.acquire()
        with held:
            yield
    except OSError as error:
        raise _explained(error, path, again) from error
