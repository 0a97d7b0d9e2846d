"""The outer sandbox of the preloaded process: which tier, by which command.

A: bubblewrap. The preloaded process keeps, of all capabilities, the one that gives its
workers namespaces of their own; they drop it, and no user namespace can be made inside.
B: the same view of the file system, put together by ``unshare`` and ``mount``.
C: no namespaces (an unprivileged container): root's workers become another user.
D: limits only; macOS, or a Linux that forbids the rest. Untested on macOS.

Started by root, A and B first become a user of no rights, since root outside would be
root to the files of the machine, and the kernel counts no processes of root's.
"""

import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import unrolled
from unrolled.grading.sandbox.nursery import FIRST_UID

#: What a tier is, in words for those who teach.
TIERS = {
    "A": "bubblewrap: isolated",
    "B": "namespaces without bubblewrap: isolated",
    "C": "a second user and limits: the machine's processes can be seen",
    "D": "limits and time-outs only: answers were not isolated",
}
_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "HOME": "/tmp",
    "LANG": "C.UTF-8",
    "PYTHONHASHSEED": "0",  # else the order of sets would differ from run to run
    "PYTHONDONTWRITEBYTECODE": "1",
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
}
_VENV, _PACKAGE = "/venv", "/package"
# stage sources where the user without rights can reach them, then become that user
_STAGE = """
set -e
stage=$1; uid=$2; shift 2
while [ "$1" != -- ]; do
  mount --bind "$1" "$stage/$2"; shift 2
done
shift
exec setpriv --reuid="$uid" --regid="$uid" --clear-groups -- "$@"
"""
_BUILD = """
set -e
root=$1; shift
mount --make-rprivate /
mount -t tmpfs -o size=1m,mode=755 room "$root"
cd "$root"
mkdir -p proc tmp dev old
while [ "$1" != -- ]; do
  if [ -d "$1" ]; then mkdir -p ".$2"; else mkdir -p ".${2%/*}"; : > ".$2"; fi
  mount --bind "$1" ".$2"
  case "$2" in
    /dev/*) ;;
    *) mount -o remount,bind,ro,nosuid,nodev ".$2" ;;
  esac
  shift 2
done
shift
for link in bin lib lib64 sbin; do [ ! -L /$link ] || ln -s "usr/$link" $link; done
mount -t tmpfs -o size=1m,nosuid,nodev scratch tmp
mount -t proc -o nosuid,nodev,noexec proc proc
echo 0 > proc/sys/user/max_user_namespaces
pivot_root . old
cd /
PATH=/usr/bin:/bin:/usr/sbin:/sbin  # what led elsewhere leads nowhere now
umount -l /old
rmdir /old
mount -o remount,ro,bind /
exec "$@"
"""


@dataclass(frozen=True)
class Room:
    """How to start the preloaded process: a command and its environment."""

    command: tuple[str, ...]
    environment: dict[str, str]


def _binds() -> list[tuple[str, str]]:
    """Return what is seen inside, read-only: (where it is, where it appears)."""
    seen = [("/usr", "/usr")]
    for name in ("/bin", "/lib", "/lib64", "/sbin"):
        if Path(name).is_dir() and not Path(name).is_symlink():
            seen.append((name, name))
    seen += [
        (p, p) for p in ("/etc/ld.so.cache", "/etc/alternatives") if Path(p).exists()
    ]
    base = os.path.realpath(sys.base_prefix)
    if not base.startswith("/usr"):
        seen.append((base, sys.base_prefix))
    if sys.prefix != sys.base_prefix:
        seen.append((os.path.realpath(sys.prefix), _VENV))
    seen.append((str(Path(unrolled.__file__).parent), f"{_PACKAGE}/unrolled"))
    return seen


def _python() -> str:
    """Return the path of Python inside."""
    if sys.prefix == sys.base_prefix:
        return sys.executable
    return f"{_VENV}/bin/{Path(sys.executable).name}"


def _staged(
    stage: Path, binds: list[tuple[str, str]]
) -> tuple[list[str], list[tuple[str, str]]]:
    """Return what root runs first, and where the sources are after it."""
    if os.geteuid() != 0:
        return [], binds
    staged, pairs = [], []
    for n, (source, target) in enumerate(binds):
        place = stage / f"{n}"
        if Path(source).is_dir():
            place.mkdir()
        else:
            place.touch()
        pairs += [source, f"{n}"]
        staged.append((str(place), target))
    shell = ["unshare", "--mount", "sh", "-c", _STAGE, "sh"]
    return [*shell, str(stage), str(FIRST_UID), *pairs, "--"], staged


def room(tier: str, stage: Path, fd: int) -> Room:
    """Return how to start the preloaded process; ``stage`` is a folder of its own."""
    nursery = ["-m", "unrolled.grading.sandbox.nursery", tier, str(fd)]
    if tier in ("C", "D"):
        home = str(Path(unrolled.__file__).parent.parent)
        return Room((sys.executable, *nursery), {**_ENVIRONMENT, "PYTHONPATH": home})
    environment = {**_ENVIRONMENT, "PYTHONPATH": _PACKAGE}
    before, binds = _staged(stage, _binds())
    if tier == "B":
        (root := stage / "root").mkdir()
        binds += [(f"/dev/{one}", f"/dev/{one}") for one in ("null", "zero", "urandom")]
        pairs = [part for pair in binds for part in pair]
        fresh = "--user --map-root-user --mount --pid --fork --kill-child --net --ipc"
        inside = ["unshare", *fresh.split(), "--uts", "sh", "-c", _BUILD, "sh"]
        inside += [str(root), *pairs, "--", _python(), *nursery]
        return Room((*before, *inside), environment)
    inside = [
        *("bwrap", "--unshare-user", "--unshare-all", "--disable-userns"),
        *("--die-with-parent", "--new-session", "--clearenv", "--hostname", "grader"),
        *("--uid", "65534", "--gid", "65534", "--cap-drop", "ALL"),
        *("--cap-add", "CAP_SYS_ADMIN", "--cap-add", "CAP_SETPCAP"),
    ]
    for name, value in environment.items():
        inside += ["--setenv", name, value]
    for source, target in binds:
        inside += ["--ro-bind", source, target]
    for name in ("bin", "lib", "lib64", "sbin"):
        if Path(f"/{name}").is_symlink():
            inside += ["--symlink", f"usr/{name}", f"/{name}"]
    inside += [
        "--size",
        "1048576",
        "--tmpfs",
        "/tmp",
        "--proc",
        "/proc",
        "--dev",
        "/dev",
    ]
    inside += ["--remount-ro", "/dev", "--remount-ro", "/"]
    return Room((*before, *inside, _python(), *nursery), environment)


def missing_tools(tier: str) -> list[str]:
    """Return the programs that a tier needs and this machine does not have."""
    wanted = {"A": ["bwrap"], "B": ["unshare", "mount", "pivot_root"]}.get(tier, [])
    if wanted and os.geteuid() == 0:
        wanted += ["unshare", "mount", "setpriv"]
    return [tool for tool in wanted if shutil.which(tool) is None]
