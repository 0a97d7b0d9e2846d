"""The package reference: whatever cites an equation is in it, so labels are checked."""

from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "code" / "unrolled"


def test_every_module_that_cites_an_equation_is_in_the_reference():
    listed = (ROOT / "book" / "reference.md").read_text(encoding="utf-8")
    citing = [p for p in PACKAGE.rglob("*.py") if ":eq:" in p.read_text("utf-8")]
    assert citing
    for path in citing:
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        assert f"automodule:: {'.'.join(parts)}\n" in listed, path
