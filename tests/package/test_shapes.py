"""Shape contracts: silent when kept, exact when broken."""

import ast
import re
from pathlib import Path

import pytest
import torch

from unrolled import shapes
from unrolled.shapes import (
    at_least,
    check_choice,
    check_dtype,
    check_lengths,
    check_rates,
    check_shape,
)

X = torch.zeros(2, 3, 4)


@pytest.mark.parametrize("sizes", [{}, {"B": 2}, {"D": 4}, {"B": 2, "T": 3, "D": 4}])
def test_a_kept_contract_is_silent(sizes):
    assert check_shape("x", X, "B T D", **sizes) is None


def test_an_axis_of_size_zero_is_still_an_axis():
    assert check_shape("x", X[:0], "B T D", D=4) is None


def test_a_scalar_has_no_axes():
    assert check_shape("loss", torch.tensor(1.0), "") is None
    with pytest.raises(ValueError, match=r"expected 1 axes, got 0; its shape is \(\)"):
        check_shape("loss", torch.tensor(1.0), "B")


@pytest.mark.parametrize("lengths", [[1, 5], [5, 5], [3, 1]])
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32, torch.uint8])
def test_lengths_from_one_to_the_last_step_are_silent(lengths, dtype):
    assert check_lengths(torch.tensor(lengths, dtype=dtype), 2, 5) is None


def test_one_wrong_size_is_named_with_its_axis():
    whole = "q must be (B, T, K): K should be 8, got 4; its shape is (2, 3, 4)"
    with pytest.raises(ValueError, match=f"^{re.escape(whole)}$"):
        check_shape("q", X, "B T K", B=2, K=8)


def test_every_wrong_size_is_named():
    with pytest.raises(ValueError, match="B should be 7, got 2; D should be 8, got 4;"):
        check_shape("x", X, "B T D", B=7, D=8)


@pytest.mark.parametrize(("spec", "n"), [("B T", 2), ("B H T K", 4)])
def test_a_wrong_number_of_axes_is_all_that_is_said(spec, n):
    axes = spec.replace(" ", ", ")
    message = rf"^x must be \({axes}\): expected {n} axes, got 3; its shape is"
    with pytest.raises(ValueError, match=message):
        check_shape("x", X, spec, B=9)


@pytest.mark.parametrize("lengths", [[0, 5], [1, 6], [-1, 2]])
def test_lengths_outside_the_sequence_are_shown(lengths):
    message = (
        rf"^lengths must lie between 1 and T=5, got \[{lengths[0]}, {lengths[1]}\]$"
    )
    with pytest.raises(ValueError, match=message):
        check_lengths(torch.tensor(lengths), 2, 5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.complex64])
def test_lengths_that_are_not_whole_numbers_are_refused(dtype):
    message = f"^lengths must be whole numbers, got dtype {dtype}$"
    with pytest.raises(ValueError, match=message):
        check_lengths(torch.ones(2, dtype=dtype), 2, 5)


def test_one_length_a_row():
    with pytest.raises(
        ValueError, match=r"lengths must be \(B\): B should be 3, got 2"
    ):
        check_lengths(torch.tensor([1, 2]), 3, 5)
    with pytest.raises(ValueError, match="expected 1 axes, got 2"):
        check_lengths(torch.tensor([[1], [2]]), 2, 5)


def test_an_axis_named_twice_is_of_one_size():
    check_shape("A", torch.zeros(3, 3), "T T")
    with pytest.raises(ValueError, match=r"A must be \(T, T\): T should be 2, got 3"):
        check_shape("A", torch.zeros(2, 3), "T T")


def test_a_size_for_an_axis_that_is_not_there_is_an_error():
    with pytest.raises(ValueError, match="no axis D in the spec 'B T'"):
        check_shape("x", torch.zeros(2, 3), "B T", D=9)


@pytest.mark.parametrize(
    ("lengths", "message"),
    [([1, 2], "a tensor, got a list"), (torch.ones(2, dtype=torch.bool), "torch.bool")],
)
def test_lengths_must_be_a_tensor_of_whole_numbers(lengths, message):
    with pytest.raises(ValueError, match=message):
        check_lengths(lengths, 2, 3)


def test_numbers_of_another_kind_than_the_weights_are_named():
    x, weight = torch.zeros(2, dtype=torch.int64), torch.zeros(2)
    with pytest.raises(ValueError, match=r"x is torch.int64 and the weights are torch"):
        check_dtype("x", x, weight)
    check_dtype("x", x.float(), weight)


def test_without_autocast_numbers_of_another_kind_are_named_on_any_device():
    x = torch.zeros(2, dtype=torch.float64, device="meta")
    with pytest.raises(ValueError, match=r"x is torch.float64 and the weights are"):
        check_dtype("x", x, torch.zeros(2, device="meta"))


def test_under_autocast_torch_converts():
    x, weight = torch.zeros(2, dtype=torch.bfloat16), torch.zeros(2)
    with torch.autocast("cpu"):
        check_dtype("x", x, weight)


def test_every_axis_letter_that_a_module_uses_is_in_the_glossary():
    letters = re.compile(r"\b([A-Z]) (?=[a-z])")
    known = set(letters.findall(shapes.__doc__))
    used = {}
    for path in Path(shapes.__file__).parent.rglob("*.py"):
        words = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        axes = words.partition("Axes:")[2].partition(".")[0]
        used[path.name] = set(letters.findall(axes))
    assert {name: axes - known for name, axes in used.items() if axes - known} == {}
    assert set("BTED") <= set().union(*used.values())


def test_a_setting_is_one_of_its_words():
    check_choice("cell", "gru", {"rnn": 1, "gru": 2})
    with pytest.raises(ValueError, match=r"^cell='gnu' must be one of rnn, gru$"):
        check_choice("cell", "gnu", {"rnn": 1, "gru": 2})


@pytest.mark.parametrize("rate", [-0.1, 1.0, float("nan")])
def test_a_share_to_drop_leaves_something(rate):
    check_rates(p_drop=0.0, p_drop_attention=0.99)
    says = rf"^p_drop_attention={rate} must be at least 0 and below 1$"
    with pytest.raises(ValueError, match=says):
        check_rates(p_drop=0.5, p_drop_attention=rate)


def test_at_least_lets_enough_pass_and_names_what_is_too_small():
    at_least(1, n_rows=1, n_steps=5)
    at_least(0, lag=0)
    with pytest.raises(ValueError, match=r"^n_steps=1 must be at least 2$"):
        at_least(2, n_rows=2, n_steps=1)
