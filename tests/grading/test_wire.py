"""The wire format: values come back equal, and hostile bytes become nothing else."""

import json
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from unrolled.grading.sandbox import packing, wire
from unrolled.grading.sandbox.packing import Reference, WireError, pack


def refuse(thing):
    raise WireError(f"a {type(thing).__name__}")


def over(value, resolve=lambda reference, head: reference, refer=refuse):
    """Return a value after its way through bytes, with the message around it."""
    raw = wire.frame({"seq": 1}, pack(value, refer))
    at = 0

    def receive(n):
        nonlocal at
        at += n
        return raw[at - n : at]

    return wire.message(*wire.read(receive), resolve)


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_categories=["Cs"]))
    | st.complex_numbers(allow_nan=False),
    lambda inner: (
        st.lists(inner)
        | st.lists(inner).map(tuple)
        | st.dictionaries(st.text("abc") | st.integers(), inner)
    ),
    max_leaves=20,
)


@given(PLAIN)
def test_plain_values_come_back_equal_and_of_the_same_type(value):
    back = over(value).value
    assert back == value
    assert repr(back) == repr(value)


@pytest.mark.parametrize("dtype", packing.DTYPES.values(), ids=str)
@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 3), (2, 3, 4)])
def test_tensors_come_back_bit_for_bit(dtype, shape):
    x = torch.randn(shape).mul(9).to(dtype)
    back = over([x, "between", x.mT if x.ndim > 1 else x]).value
    assert back[0].dtype == dtype
    assert torch.equal(back[0], x)
    assert torch.equal(back[2], x.mT if x.ndim > 1 else x)


def test_odd_numbers_survive():
    nan, inf = over([float("nan"), -float("inf")]).value
    assert nan != nan
    assert inf == -float("inf")
    x = torch.tensor([float("nan"), -0.0, 1e-45])
    assert over(x).value.view(torch.int32).equal(x.view(torch.int32))
    assert over(np.float32(0.5)).value == 0.5
    assert type(over(np.int64(3)).value) is int
    assert over({1, 2}).value == {1, 2}
    assert over(torch.float16).value is torch.float16
    assert over(iter([1, 2])).value == [1, 2]
    assert over(torch.Size([2, 3])).value == (2, 3)


@pytest.mark.parametrize("order", ["<", ">"])
def test_arrays_come_back_equal(order):
    a = np.arange(6, dtype=f"{order}f8").reshape(2, 3).T
    back = over(a).value
    assert back.dtype == np.float64
    assert (back == a).all()


def test_graphs_are_told_apart():
    leaf = torch.ones(2, requires_grad=True)
    (leaf * 3).sum().backward()
    got = over([leaf, leaf * 2, torch.ones(1)])
    assert got.value[0].requires_grad
    assert got.value[0].grad.tolist() == [3, 3]
    assert [x.tolist() for x in got.graphs] == [[2, 2]]
    assert not got.value[2].requires_grad


class Liar(torch.Tensor):
    def __eq__(self, other):
        return True


class Number(float):
    def __eq__(self, other):
        return True

    __hash__ = float.__hash__


def test_subclasses_arrive_as_what_they_are():
    back = over([torch.ones(2).as_subclass(Liar), Number(1.5), True]).value
    assert [type(one) for one in back] == [torch.Tensor, float, bool]


def test_the_rest_is_referred_to():
    thing = object()
    back = over([thing], refer=lambda one: Reference("object", 7)).value
    assert back == [Reference("object", 7)]
    with pytest.raises(WireError, match="a object"):
        over(thing)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (1 << 100_000, "an integer of 100001 bits"),
        (np.array(["a"]), "an array of str"),
        (np.array([object()]), "an array of object"),
        (torch.ones(2, 2).to_sparse(), "a tensor of torch.float32, torch.sparse"),
        (torch.zeros(packing.TENSOR_BYTES + 1, dtype=torch.uint8), "tensors of"),
        (["x" * 100] * 90_000, "a message of"),
        (range(1_000_000), "more than 100000 items"),
        (b"bytes", "a bytes"),
    ],
    ids=range(8),
)
def test_what_must_not_cross_is_refused(value, why):
    with pytest.raises(WireError, match=why):
        over(value)


def test_a_value_that_holds_itself_is_refused():
    loop = []
    loop.append(loop)
    with pytest.raises(WireError, match="nested more than 40 deep"):
        over(loop)


def said(tree, raw=b""):
    text = json.dumps({"seq": 1, "value": tree}).encode()
    return wire.message(text, raw, lambda reference, head: reference)


@pytest.mark.parametrize(
    "tree",
    [
        *(None, 1, "x", [], {}, ["?"], ["v", 1], ["v", "x"], ["v"]),
        *(["i", 1], ["i", "x"], ["i", "1" * 5000], ["f", "x"], ["f", 1.0], ["s", 1]),
        *(["y", "qint8"], ["l", 1], ["l", [1]], ["d", [[1]]], ["t", {}]),
        ["d", [[["l", []], ["v", None]]]],
        *(["u", [["l", []]]], ["c", ["s", "a"], ["s", "b"]]),
        ["x", "object", [1], 0, 0, ["v", None]],
        ["x", "float32", [2], 0, 0, ["v", None]],
        ["x", "float32", [-1], 0, 0, ["v", None]],
        ["x", "float32", [1], -4, 0, ["v", None]],
        ["x", "float32", [1], 2, 0, ["v", None]],
        ["x", "float32", [1.0], 0, 0, ["v", None]],
        ["x", "float32", ["1"], 0, 0, ["v", None]],
        ["x", "float32", [1 << 40, 0], 0, 0, ["v", None]],
        ["x", "float32", [1 << 30] * 4, 0, 0, ["v", None]],
        ["x", "float32", [0] * 17, 0, 0, ["v", None]],
        ["x", "float32", [1], 0, 3, ["v", None]],
        ["x", "int64", [0], 0, 1, ["v", None]],
        ["x", "float32", [1], 0, 1, ["s", "no gradient"]],
        ["a", "bfloat16", [1], 0],
        ["a", "object", [1], 0],
        ["r", "class", 0],
        ["r", "object", "0"],
    ],
    ids=str,
)
def test_malformed_trees_are_refused(tree):
    with pytest.raises(WireError, match=r"malformed|cannot be built"):
        said(tree, b"\0" * 4)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"1",
        b"{}",
        b"[" * 1_000_000,
        b'{"value": ["i", "' + b"9" * 100_000 + b'"]}',
        pickle.dumps({"value": ["v", None]}),
    ],
    ids=range(9),
)
def test_malformed_text_is_refused(text):
    with pytest.raises(WireError):
        wire.message(text, b"", lambda reference, head: reference)


@pytest.mark.parametrize(
    "sizes", [(wire.TEXT_BYTES + 1, 0), (2, packing.TENSOR_BYTES + 1), (2**32 - 1,) * 2]
)
def test_a_giant_frame_is_refused_before_it_is_read(sizes):
    asked = []

    def receive(n):
        asked.append(n)
        return wire.HEAD.pack(*sizes)

    with pytest.raises(WireError, match="a frame of"):
        wire.read(receive)
    assert asked == [wire.HEAD.size]


def test_bytes_belong_to_one_tensor_only():
    one = ["x", "float32", [1], 0, 0, ["v", None]]
    with pytest.raises(WireError, match="beyond its bytes"):
        said(["l", [one, one]], b"\0" * 8)


def test_truth_values_are_made_true_or_false():
    odd = said(["x", "bool", [3], 0, 0, ["v", None]], b"\x00\x01\xfe").value
    assert odd.view(torch.uint8).tolist() == [0, 1, 1]


@given(st.binary(max_size=60), st.binary(max_size=20))
def test_noise_is_a_wire_error_or_a_value(text, raw):
    try:
        got = wire.message(text, raw, lambda reference, head: reference)
    except WireError:
        return
    assert isinstance(got.head, dict)
