"""Freshness by execution: what may differ between two runs of a cell, and what not."""

import copy

import pytest

from compare_outputs import agree, cell_faults, figure_faults, text_faults
from unrolled.book.claims import claim
from unrolled.book.records import CLAIM

SVG = (
    '<svg><g id="figure_1"><g id="axes_1"><g id="line2d_1"/><g id="text_1">'
    '<!-- loss --></g><g id="text_2"><!-- 0.25 --></g></g></g></svg>'
)


def shows(data):
    return {"output_type": "execute_result", "data": data, "metadata": {}}


def prints(text, name="stdout"):
    return {"output_type": "stream", "name": name, "text": text}


def cell(*outputs, tags=()):
    return {"metadata": {"tags": list(tags)}, "outputs": list(outputs)}


def a_claim(value=0.5, **changes):
    settings = {"measured": {"share": value, "n": 7}, "holds": lambda m: True}
    made = claim("a", "A.", **(settings | changes))
    return {CLAIM: made.record(), "text/plain": f"Claim a: {value}"}


def compare(old, new, *, same=True, tags=()):
    return cell_faults(cell(*old, tags=tags), new, same=same)


def test_what_is_the_same_has_no_faults():
    outputs = [prints("a 1\n"), shows(a_claim()), shows({"image/svg+xml": SVG})]
    assert compare(outputs, copy.deepcopy(outputs)) == []
    assert compare([prints("a "), prints("1")], [prints("a 1")]) == []
    assert compare([prints(["a ", "1"])], [prints("a 1")]) == []


# ---- the kinds of number ----


@pytest.mark.parametrize("kind", ["exact", "close", "bound", 0.1])
def test_on_the_same_kind_of_machine_numbers_are_exactly_the_same(kind):
    assert agree(0.5, 0.5, kind, same=True)
    assert not agree(0.5, 0.5 + 1e-15, kind, same=True)


@pytest.mark.parametrize("same", [False, True])
def test_times_may_be_what_they_like(same):
    assert agree(0.5, 7.0, "time", same=same)


@pytest.mark.parametrize(
    ("was", "now", "kind", "found"),
    [
        (7.0, 7.0, "exact", True),
        (7.0, 7.000001, "exact", False),
        (0.5, 0.50002, "close", True),
        (0.5, 0.501, "close", False),
        (
            0.12349,
            0.12351,
            "close",
            False,
        ),  # printed otherwise
        (1e-7, 3e-7, "close", False),
        (1e-7, 3e-7, "bound", True),
        (0.5, 0.59, 0.1, True),
        (0.5, 0.61, 0.1, False),
    ],
)
def test_on_another_machine_it_depends_on_the_kind(was, now, kind, found):
    assert agree(was, now, kind, same=False) is found


# ---- claims ----


def test_a_changed_number_is_named_with_its_kind():
    (fault,) = compare([shows(a_claim(0.5))], [shows(a_claim(0.6))])
    assert fault == "claim a: share (close) is 0.6, on record 0.5"


def test_a_time_may_change_and_its_neighbour_may_not():
    kinds = {"share": "time"}
    old, new = a_claim(0.5, kinds=kinds), a_claim(0.6, kinds=kinds)
    assert compare([shows(old)], [shows(new)]) == []


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("id", "b"),
        ("sentence", "B."),
        ("order", ["share"]),
        ("headline", []),
        ("kinds", {"n": "exact"}),
        ("source", "001:1"),
    ],
)
@pytest.mark.parametrize("way", [1, -1])
def test_words_and_names_of_a_claim_are_the_same_both_ways(part, value, way):
    bundles = [a_claim(), a_claim()]
    bundles[1][CLAIM][part] = value
    old, new = bundles[::way]
    (fault,) = compare([shows(old)], [shows(new)], same=False)
    assert f"its {part} is" in fault


def test_a_claim_that_comes_or_goes_is_noticed():
    assert "an output is new" in compare([], [shows(a_claim())])[0]
    assert "an output is missing" in compare([shows(a_claim())], [])[0]


def test_claims_are_compared_even_where_printed_times_are_not():
    old, new = (
        [prints("3 s"), shows(a_claim(0.5))],
        [prints("9 s"), shows(a_claim(0.6))],
    )
    faults = compare(old, new, tags=["nbval-ignore-output"])
    assert [fault.split(":")[0] for fault in faults] == ["claim a"]


# ---- text, figures, records ----


def test_text_is_the_same_here_and_may_round_otherwise_elsewhere():
    assert text_faults("loss 0.1234, 1,216", "loss 0.1235, 1,216", same=True)
    assert not text_faults("loss 0.1234, 1,216", "loss 0.1235, 1,216", same=False)
    assert text_faults("loss 0.1234", "loss 0.1334", same=False) == [
        "it prints 0.1334, on record 0.1234"
    ]
    assert text_faults("loss 0.12", "error 0.12", same=False)
    assert text_faults("1 2", "1", same=False)


def test_a_figure_is_compared_by_its_parts_and_words():
    assert figure_faults(SVG, SVG.replace("0.25", "0.75")) == []
    assert "parts" in figure_faults(SVG, SVG.replace('<g id="line2d_1"/>', ""))[0]
    (fault,) = figure_faults(SVG, SVG.replace("loss", "error"))
    assert "lost {'loss': 1}, new {'error': 1}" in fault


def test_other_records_are_the_same():
    mime = "application/vnd.unrolled.lab+json"
    old, new = ({mime: {"name": name}, "text/plain": "x"} for name in "ab")
    assert (
        "is {'name': 'b'}, on record {'name': 'a'}"
        in compare([shows(old)], [shows(new)])[0]
    )
    assert compare([shows(old)], [shows(old | {"text/plain": "y"})]) == []


def test_another_kind_of_output_is_named():
    faults = compare([shows({"text/plain": "1"})], [shows({"text/html": "1"})])
    assert faults == ["it shows text/html, on record text/plain"]


def test_an_error_is_an_output_like_another():
    error = {"output_type": "error", "ename": "ValueError", "evalue": "oh"}
    assert compare([error], [error | {"traceback": ["x"]}]) == []
    assert "ValueError: oh" in compare([error], [error | {"evalue": "ah"}])[0]
