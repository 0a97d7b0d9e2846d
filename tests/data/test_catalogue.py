"""Every corpus is found by looking, and says itself what it is read from."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from unrolled.data import catalogue, corpora, elsewhere
from unrolled.data.catalogue import homes, sources
from unrolled.data.fetch.home_files import Home
from unrolled.data.fetch.sources import Source, pinned

HEAVY = {"torch", "pyarrow", "gguf", "safetensors", "sklearn", "pandas", "scipy"}


def modules(package) -> list[str]:
    found = Path(package.__file__).parent.glob("[!_]*.py")
    return sorted(f"{package.__name__}.{path.stem}" for path in found)


def held(name: str, kind: type) -> list[str]:
    values = vars(import_module(name)).values()
    return [value.name for value in values if isinstance(value, kind)]


@pytest.mark.parametrize("name", modules(corpora))
def test_a_corpus_holds_one_source_of_its_own_name(name):
    own = name.rpartition(".")[2]
    expected = [] if own == "digits" else [own]  # scikit-learn, a dependency, has them
    assert held(name, Source) == expected


def test_all_sources_and_homes_are_found_once():
    found = [one for name in modules(corpora) for one in held(name, Source)]
    assert list(sources()) == sorted(found)
    assert len(found) == 11
    found = [one for name in modules(elsewhere) for one in held(name, Home)]
    assert list(homes()) == sorted(found)


@pytest.mark.parametrize("holder", ["data.corpora", "data.elsewhere"])
def test_a_new_module_is_found_and_nothing_else_is_touched(
    tmp_path, monkeypatch, holder
):
    """A file in the folder is all it takes: here a folder that is laid over it."""
    package = import_module(f"unrolled.{holder}")
    (tmp_path / "new_set.py").write_text(
        "from unrolled.data.fetch.sources import Source, pinned\n"
        "from unrolled.data.fetch.home_files import Home\n"
        "SOURCE = Source(name='new_set', archives=(), licence='a', citation='b')\n"
        "HOME = Home(name='new_set', files=(), licence='a', citation='b')\n"
    )
    monkeypatch.setattr(package, "__path__", [*package.__path__, str(tmp_path)])
    kind = Source if holder == "data.corpora" else Home
    try:
        found = catalogue._held(package, kind)
    finally:
        sys.modules.pop(f"unrolled.{holder}.new_set", None)
    assert found["new_set"].licence == "a"
    known = sources() if kind is Source else homes()
    assert found.keys() == known.keys() | {"new_set"}


def test_to_list_the_data_loads_no_heavy_library():
    """Each would cost the command line seconds, and one corpus another's libraries."""
    code = (
        "import sys; from unrolled.data.catalogue import homes, sources\n"
        f"sources(), homes(); print({HEAVY!r} & sys.modules.keys())"
    )
    out = subprocess.check_output([sys.executable, "-c", code], text=True)
    assert out.strip() == "set()"


def test_a_pin_is_read_by_its_name():
    one, two = pinned("a_b-1.0-py3-none-any.whl 7 ab  c-2.0.tar.gz 8 cd")
    assert (one.project, one.version, one.size, one.sha256) == ("a_b", "1.0", 7, "ab")
    assert (two.project, two.version, two.filename) == ("c", "2.0", "c-2.0.tar.gz")
    with pytest.raises(ValueError, match="shorter"):
        pinned("a-1.0.tar.gz 7")
