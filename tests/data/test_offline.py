"""With the data fetched and the network cut, every reader works."""

import shutil
import subprocess
import sys

import pytest

READ_ALL = """
import importlib, pkgutil, socket, sys

def refuse(*_):
    raise OSError("the network is cut")

socket.socket.connect = socket.getaddrinfo = refuse  # for where bwrap is missing
if "bwrap" in sys.argv:
    assert [name for _, name in socket.if_nameindex()] == ["lo"]

from unrolled.data import corpora

for module in pkgutil.iter_modules(corpora.__path__):
    home = importlib.import_module(f"unrolled.data.corpora.{module.name}")
    read = getattr(home, module.name)
    for kind in home.KINDS if module.name == "opinions" else [None]:
        assert read(kind) if kind else read(), module.name
    print(module.name)
"""
CUT = ("bwrap", "--dev-bind", "/", "/", "--unshare-net")


@pytest.mark.slow
def test_every_reader_works_without_a_network():
    cut = CUT if shutil.which("bwrap") else ()
    command = [*cut, sys.executable, "-W", "error", "-c", READ_ALL, *cut[:1]]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.split()) == 12
