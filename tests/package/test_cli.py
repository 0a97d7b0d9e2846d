"""The command line teaches, lists and complains."""

import re
import subprocess
import sys

import pytest
from typer.testing import CliRunner

import unrolled
from unrolled import cli
from unrolled.recipes import runner
from unrolled.recipes.discovery import recipe_names
from unrolled.runtime import book_folder


def call(*words, **environment):
    result = CliRunner().invoke(
        cli.app, words, env={"COLUMNS": "200", "NO_COLOR": "1"} | environment
    )
    result.text = re.sub(
        r"\s+", " ", re.sub(r"\x1b\[[\d;]*m|[│╭╮╰╯─]", "", result.output)
    )
    return result


@pytest.mark.parametrize("words", [[], ["--help"]])
def test_help_says_where_to_start(words):
    result = call(*words)
    assert result.exit_code in (0, 2)
    for hint in ("unrolled info", "make lab", "run", "info"):
        assert hint in result.text


def test_help_of_run_gives_an_example_and_says_where_results_go():
    text = call("run", "--help").text
    for hint in ("unrolled run flip_flop", "book/results/NAME.json", "Interrupt it"):
        assert hint in text


def test_info_says_device_versions_and_folder():
    result = call("info", UNROLLED_DEVICE="cpu")
    assert result.exit_code == 0
    assert f"unrolled {unrolled.__version__}" in result.text
    assert "device cpu (by UNROLLED_DEVICE=cpu)" in result.text
    assert str(book_folder()) in result.text


def test_info_says_when_the_numbers_are_another_torchs(monkeypatch):
    pins = (book_folder().parent / "requirements.txt").read_text()
    pinned = re.search(r"^torch==(.*)$", pins, re.M)[1]
    monkeypatch.setattr("torch.__version__", f"{pinned}+cu126")
    assert "note" not in call("info").text
    monkeypatch.setattr("torch.__version__", f"{pinned}1+cu126")
    assert f"the numbers in the book are torch {pinned}'s" in call("info").text


def test_info_says_that_it_chose_by_itself():
    assert "the fastest one present" in call("info", UNROLLED_DEVICE=None).text


def test_info_with_an_impossible_device_exits_with_2_and_says_what_to_try():
    result = call("info", UNROLLED_DEVICE="abacus")
    assert result.exit_code == 2
    assert "UNROLLED_DEVICE='abacus' cannot be used here" in result.text


@pytest.mark.parametrize("words", [["run", "--list"], ["run"]])
def test_the_recipes_are_listed_with_their_first_words(words):
    result = call(*words)
    assert result.exit_code == 0
    assert "flip_flop Two units learn two flip-flops" in result.text
    assert all(name in result.text for name in recipe_names())


def test_the_recipes_stand_in_two_columns_in_any_terminal():
    wide = call("run", "--list", COLUMNS="500").output.splitlines()
    assert [line.split()[0] for line in wide] == recipe_names()
    column = max(map(len, recipe_names())) + 2
    lines = call("run", "--list", COLUMNS="80").output.splitlines()
    assert len(lines) > len(wide)
    assert max(map(len, lines)) <= 80
    assert [line[:column].strip() for line in lines if line[0] != " "] == recipe_names()
    assert all(line[column - 1] == " " != line[column] for line in lines)
    assert " ".join(" ".join(lines).split()) == " ".join(" ".join(wide).split())


def test_bare_names_are_one_a_line():
    result = call("run", "--names")
    assert result.output.split() == recipe_names()


def test_an_unknown_recipe_exits_with_2_and_names_the_known():
    result = call("run", "flop")
    assert result.exit_code == 2
    assert "no recipe 'flop'" in result.text
    assert all(name in result.text for name in recipe_names())


def test_run_says_where_results_and_models_are(monkeypatch, tmp_path):
    asked = []

    def fake_run(name, *, fresh):
        asked.append((name, fresh))
        return [tmp_path / "flip_flop.json", tmp_path / "flip-flop.js"]

    monkeypatch.setattr(runner, "run_recipe", fake_run)
    result = call("run", "flip_flop", "--fresh")
    assert result.exit_code == 0
    assert asked == [("flip_flop", True)]
    assert f"results in {tmp_path / 'flip_flop.json'}" in result.text
    assert f"model in {tmp_path / 'flip-flop.js'}" in result.text


def test_only_the_commands_that_need_torch_load_it():
    look = "import sys, unrolled.cli; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", look], check=False).returncode == 0
