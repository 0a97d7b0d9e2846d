"""The page on speed: every case that was measured is on it."""

import json
import re
from pathlib import Path

import pytest

from minibook import build, page
from unrolled_book import speeds

ROOT = Path(__file__).resolve().parents[2]
ROW = {
    "what": "a step", "against": "torch", "rounds": 9, "share": 0.254, "low": 0.2,
    "high": 0.3, "reach": 0.25,
}  # fmt: skip


def test_every_group_is_on_the_page_once():
    text = (ROOT / "book" / "speed.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"\{speeds\} (\w+)", text)) == sorted(speeds.groups(ROOT))


def test_every_case_was_measured_whole():
    for group in speeds.groups(ROOT).values():
        assert group
        for row in group:
            assert set(row) == set(ROW)
            assert 0 < row["low"] <= row["share"] <= row["high"]


def test_a_page_without_measurements_says_what_to_run(tmp_path):
    with pytest.raises(FileNotFoundError, match="run 'make bench'"):
        speeds.groups(tmp_path)


@pytest.mark.parametrize(("value", "shown"), [(1.234, "1.23"), (0.0123, "0.012")])
def test_a_share_is_shown_with_figures_that_mean_something(value, shown):
    assert speeds.share(value) == shown


def test_a_group_becomes_a_table_and_an_unknown_one_is_named(tmp_path):
    (tmp_path / "book").mkdir()
    record = {"groups": {"layers": [ROW, ROW | {"reach": None}]}}
    (tmp_path / speeds.DATA).write_text(json.dumps(record))
    extensions = ["myst_parser", "unrolled_book.speeds"]
    (tmp_path / "conf.py").write_text(f"{extensions = }")
    text = "# Speed\n\n```{speeds} layers\n```\n"
    (tmp_path / "index.md").write_text(text)
    done = build(tmp_path)
    assert done.returncode == 0, done.stderr
    rows = page(tmp_path, "index.html").select("tbody tr")
    shown = [[cell.text for cell in row(["th", "td"])] for row in rows]
    assert shown == [
        ["a step", "torch", "0.25", "0.20 to 0.30", "0.25"],
        ["a step", "torch", "0.25", "0.20 to 0.30", "none"],
    ]
    (tmp_path / "index.md").write_text(text.replace("layers", "players"))
    assert (
        "book/bench.json has no group 'players', but layers" in build(tmp_path).stderr
    )


def test_the_cost_of_grading_becomes_a_table(tmp_path):
    (tmp_path / "book").mkdir()
    cost = {"what": "a <b>", "seconds": 0.4, "others": {"nbgrader": 4.3}}
    (tmp_path / speeds.DATA).write_text(json.dumps({"groups": {}, "grading": cost}))
    extensions = ["myst_parser", "unrolled_book.speeds"]
    (tmp_path / "conf.py").write_text(f"{extensions = }")
    (tmp_path / "index.md").write_text("# Speed\n\n```{grading-cost}\n```\n")
    assert build(tmp_path).returncode == 0
    cells = page(tmp_path, "index.html").select("tbody [role=rowheader], tbody td")
    shown = [cell.text for cell in cells]
    assert shown == ["Unrolled: a <b>", "0.4", "nbgrader", "4.3"]


def test_recipes_become_tables(tmp_path):
    row = {
        "loss": 1.9, "above": -0.02, "above, low": -0.03, "above, high": -0.01,
        "share of time": 0.22,
    }  # fmt: skip
    (tmp_path / "book" / "results").mkdir(parents=True)
    record = {"summary": {"modern": {"350": row}, "apart": {}}}
    (tmp_path / speeds.RECIPES).write_text(json.dumps(record))
    extensions = ["myst_parser", "unrolled_book.speeds"]
    (tmp_path / "conf.py").write_text(f"{extensions = }")
    text = "# Speed\n\n```{gpt-recipes} modern\n```\n"
    (tmp_path / "index.md").write_text(text)
    assert build(tmp_path).returncode == 0
    cells = page(tmp_path, "index.html").select("tbody [role=rowheader], tbody td")
    assert [cell.text for cell in cells] == [
        "350", "1.900", "−0.020 (−0.030 to −0.010)", "0.22",
    ]  # fmt: skip
    (tmp_path / "index.md").write_text(text.replace("} modern", "} old"))
    assert "'old' must be one of modern, apart" in build(tmp_path).stderr
