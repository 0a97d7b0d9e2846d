"""Memory in large pages, so that a fork has less to copy. Linux only, and no promise.

To fork is to copy a table of all pages, and to exit is to take it apart. Preloaded,
torch is some 56,000 pages of 4 KiB: by far the largest part of what a worker costs.
Gathered in pages of 2 MiB they are a hundred.
"""

import ctypes
from pathlib import Path

_LARGE = 2 << 20
_COLLAPSE = 25  # an advice that Linux 6.1 understands; older ones refuse it


def gather_pages() -> int:
    """Gather our own memory in large pages, and return how many there are now."""
    if not Path("/proc/self/maps").exists():
        return 0
    advise = ctypes.CDLL(None).madvise
    advise.argtypes = (ctypes.c_size_t, ctypes.c_size_t, ctypes.c_int)
    gathered = 0
    for line in Path("/proc/self/maps").read_text().splitlines():
        span, rights, _, _, _, *file = line.split(maxsplit=5)
        if rights != "rw-p" or file not in ([], ["[heap]"]):
            continue  # a file's, shared, or not to be written
        first, last = (int(end, 16) for end in span.split("-"))
        for at in range(-(-first // _LARGE) * _LARGE, last - _LARGE + 1, _LARGE):
            gathered += advise(at, _LARGE, _COLLAPSE) == 0
    return gathered
