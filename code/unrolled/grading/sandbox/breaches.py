"""Does the sandbox hold, on this machine? Attack it from inside, and choose a tier.

The attacks run as an answer would. Each is named by what it would break; a tier is
used only if none gets through that it promises to stop. Tier D promises nothing, so
the same attacks succeed there: the check is known to be able to fail.
"""

import os
import socket
import tempfile
from pathlib import Path
from secrets import token_hex

from unrolled.grading.sandbox.house import Sandbox, SandboxError
from unrolled.grading.sandbox.limits import Limits
from unrolled.grading.sandbox.process import WorkerLost
from unrolled.grading.sandbox.proxy import namespace

_ATTACKS = """
import ctypes, os, socket, subprocess

open(os.__file__).close()  # no attack: an answer must be able to import

def reads_files(path):
    open(path).read()

def writes_files(path):
    open(path, "w").write("x")

def deletes_files(path):
    os.unlink(path)

def sees_processes(pid):
    os.kill(pid, 0) if not os.path.isdir("/proc/self") else os.stat(f"/proc/{pid}")

def uses_the_network(port):
    socket.create_connection(("127.0.0.1", port), timeout=5)

def starts_processes(_):
    if os.fork() == 0:
        os._exit(0)

def runs_programs(_):
    subprocess.run(["/bin/true"], check=True)

def makes_namespaces(_):
    if ctypes.CDLL(None).unshare(0x10000000):
        raise OSError("refused")

def fills_memory(size):
    bytearray(size)

def fills_the_disk(size):
    with open("large", "wb") as file:
        for _ in range(size // 2**20):
            file.write(bytes(2**20))

def leaves_files(path):
    open("left-behind", "w").write("x")
    os.rename("left-behind", path)

def finds_files(path):
    open(path).close()
"""
#: What a tier does not promise to stop.
NOT_PROMISED = {"C": {"sees_processes", "runs_programs"}}


def breaches(sandbox: Sandbox) -> list[str]:
    """Return the attacks that get through, of those that a tier promises to stop."""
    found = [name for name, open_ in attacks(sandbox).items() if open_]
    return [name for name in found if name not in NOT_PROMISED.get(sandbox.tier, ())]


def attacks(sandbox: Sandbox) -> dict[str, bool]:
    """Return for each attack whether it gets through."""
    limits = sandbox.limits
    with (
        tempfile.TemporaryDirectory() as folder,
        socket.create_server(("127.0.0.1", 0)) as server,
    ):
        there, new = Path(folder, "secret"), Path(folder, "new")
        there.write_text("secret")
        os.chmod(folder, 0o700)
        arguments: dict[str, object] = {
            "reads_files": str(there),
            "writes_files": str(new),
            "sees_processes": os.getpid(),
            "uses_the_network": server.getsockname()[1],
            "starts_processes": None,
            "runs_programs": None,
            "makes_namespaces": None,
            "fills_memory": limits.memory + (64 << 20),
            "fills_the_disk": limits.disk + (2 << 20),
            "deletes_files": str(there),
        }
        got = {name: _through(sandbox, name, one) for name, one in arguments.items()}
        got["writes_files"] |= new.exists()
        got["deletes_files"] |= not there.exists()
    left = Path("/tmp", f"left-behind-{token_hex(8)}")  # others may be probing, too
    _through(sandbox, "leaves_files", str(left))
    got["leaves_files"] = left.exists() or _through(sandbox, "finds_files", str(left))
    left.unlink(missing_ok=True)
    return got


def _through(sandbox: Sandbox, name: str, argument: object) -> bool:
    """Return whether one attack, in a worker of its own, gets through."""
    link = sandbox.spawn()
    try:
        try:
            link.begin(0)
            link.ask({"op": "load"}, ("<attacks>", _ATTACKS, []))
        except (Exception, WorkerLost) as error:
            raise SandboxError(f"tier {sandbox.tier} runs no code: {error}") from error
        getattr(namespace(link), name)(argument)
    except SandboxError:
        raise
    except (Exception, WorkerLost):
        return False
    finally:
        link.close()
    return True


def choose_sandbox(
    *,
    limits: Limits | None = None,
    trusted: bool = False,
    hidden: tuple[Path, ...] = (),
    tiers: str = "ABC",
) -> Sandbox:
    """Return a running sandbox of the best tier that holds on this machine.

    Raises:
        SandboxError: None does; the message says why, tier by tier.
    """
    why = []
    for tier in tiers:
        try:
            sandbox = Sandbox(tier, limits=limits, hidden=hidden)
            try:
                if not (open_ := breaches(sandbox)):
                    return sandbox
                why.append(f"tier {tier} is not tight: {', '.join(open_)}")
            except BaseException:
                sandbox.close()
                raise
            sandbox.close()
        except SandboxError as error:
            why.append(f"{error}")
    if trusted:
        return Sandbox("D", limits=limits, trusted=True)
    raise SandboxError(
        f"{'; '.join(why)}. Without isolation an answer can read and delete all that "
        "you can: grade elsewhere, or say that you trust these submissions "
        "(--i-trust-these-submissions)"
    )
