"""Scenes: what the caption says is what the pixels show."""

from collections import Counter

import pytest
import torch

from unrolled.data.made.scenes import (
    ALL,
    COLOURS,
    HELD_OUT,
    RELATIONS,
    SEEN,
    SHAPES,
    SIDE,
    SIZES,
    relation,
    scenes,
)
from unrolled.runtime import generator

# How many pixels of its box each shape fills: the corners of a triangle and a circle
# are empty, a cross is mostly empty.
FILLED = {
    ("small", "square"): 49,
    ("large", "square"): 121,
    ("small", "triangle"): 1 + 1 + 3 + 3 + 5 + 5 + 7,
    ("large", "triangle"): 1 + 1 + 3 + 3 + 5 + 5 + 7 + 7 + 9 + 9 + 11,
    ("small", "cross"): 7 * 3 + 7 * 3 - 9,
    ("large", "cross"): 11 * 3 + 11 * 3 - 9,
}


def grassfire(mask):
    """Split a mask into its connected pieces, each a set of (x, y)."""
    left = {(x, y) for y, x in mask.nonzero().tolist()}
    pieces = []
    while left:
        edge = [left.pop()]
        piece = set(edge)
        while edge:
            x, y = edge.pop()
            for near in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1)):
                if near in left:
                    left.remove(near)
                    piece.add(near)
                    edge.append(near)
        pieces.append(piece)
    return pieces


def seen_in(image):
    """Find coloured things by eye: (colour, box) to its pixels. Grey is the ground."""
    coloured = image.amax(0) - image.amin(0) > 0.25
    names = list(COLOURS)
    palette = torch.tensor([COLOURS[name] for name in names])
    found = {}
    for piece in grassfire(coloured):
        xs, ys = zip(*piece, strict=True)
        colour = torch.stack([image[:, y, x] for x, y in piece]).mean(0)
        name = names[(palette - colour).square().sum(1).argmin()]
        box = (min(xs), min(ys), max(xs) + 1, max(ys) + 1)
        found[name, box] = piece
    return found


@pytest.fixture(scope="module")
def drawn():
    return scenes(300, generator=generator(0))


def test_boxes_and_colours_are_those_of_the_pixels(drawn):
    for image, caption in zip(drawn.images, drawn.captions, strict=True):
        found = seen_in(image)
        assert set(found) == {(t.colour, t.box) for t in caption.things}
        for thing in caption.things:
            piece = found[thing.colour, thing.box]
            x0, y0, x1, y1 = thing.box
            assert x1 - x0 == y1 - y0 == 2 * SIZES[thing.size] + 1
            if thing.shape == "circle":
                x, y, r = (x0 + x1 - 1) / 2, (y0 + y1 - 1) / 2, SIZES[thing.size]
                far = max((a - x) ** 2 + (b - y) ** 2 for a, b in piece)
                assert len(piece) == pytest.approx(3.1416 * (r + 0.5) ** 2, rel=0.1)
                assert far <= (r + 0.5) ** 2
            else:
                assert len(piece) == FILLED[thing.size, thing.shape]


def test_triangles_point_up_and_crosses_meet_in_the_middle():
    plain = scenes(200, most=1, noise=0.0, generator=generator(1))
    shapes = Counter()
    for image, caption in zip(plain.images, plain.captions, strict=True):
        (thing,) = caption.things
        (piece,) = seen_in(image).values()
        x0, y0, x1, y1 = thing.box
        corners = {(x, y) for x in (x0, x1 - 1) for y in (y0, y1 - 1)}
        filled = len(corners & piece), (x0, y1 - 1) in piece
        expected = {"square": (4, True), "triangle": (2, True)}
        assert filled == expected.get(thing.shape, (0, False))
        shapes[thing.shape] += 1
    assert set(shapes) == set(SHAPES)


def test_relations_in_captions_hold_between_the_boxes(drawn):
    told = Counter()
    for caption in drawn.captions:
        first, *others = caption.things
        line = " ".join(caption.words)
        for other in others:
            (ax0, ay0, ax1, ay1), (bx0, by0, bx1, by1) = first.box, other.box
            dx, dy = (ax0 + ax1) - (bx0 + bx1), (ay0 + ay1) - (by0 + by1)
            gaps = {
                "left of": (bx0 - ax1, -dx),
                "right of": (ax0 - bx1, dx),
                "above": (by0 - ay1, -dy),
                "below": (ay0 - by1, dy),
            }
            word = max(gaps, key=lambda word: gaps[word][1])
            assert gaps[word][0] >= 1  # apart in that direction
            phrase = f"{word} a {other.size} {other.colour} {other.shape}"
            assert phrase in line
            told[word] += 1
    total = sum(told.values())
    assert set(told) == {" ".join(words) for words in RELATIONS}
    assert all(abs(n / total - 1 / 4) < 0.1 for n in told.values())


def test_relation_by_hand_and_its_opposite():
    a, b = (0, 0, 7, 7), (10, 3, 17, 10)
    assert relation(a, b) == ("left", "of")
    assert relation(b, a) == ("right", "of")
    assert relation(a, (3, 20, 14, 31)) == ("above",)
    assert relation((3, 20, 14, 31), a) == ("below",)


def test_no_two_boxes_touch_and_all_lie_inside(drawn):
    for caption in drawn.captions:
        taken = torch.zeros(SIDE, SIDE, dtype=torch.int64)
        for thing in caption.things:
            x0, y0, x1, y1 = thing.box
            assert 0 <= x0 < x1 <= SIDE
            assert 0 <= y0 < y1 <= SIDE
            taken[y0:y1, x0:x1] += 1
        assert taken.max() == 1


def test_each_word_that_names_a_thing_points_to_it(drawn):
    for caption in drawn.captions:
        assert len(caption.words) == len(caption.names)
        for i, thing in enumerate(caption.things):
            pairs = zip(caption.words, caption.names, strict=True)
            named = [word for word, name in pairs if name == i]
            assert named == [thing.size, thing.colour, thing.shape]
        free = [
            w for w, n in zip(caption.words, caption.names, strict=True) if n is None
        ]
        assert set(free) <= {"a", "and", "of", "left", "right", "above", "below"}
        assert free.count("a") == len(caption.things)
        assert free.count("and") == (len(caption.things) == 3)


def test_counts_sizes_and_kinds_are_drawn_alike():
    many = scenes(3000, generator=generator(2)).captions
    counts = Counter(len(caption.things) for caption in many)
    assert set(counts) == {1, 2, 3}
    assert all(abs(n / 3000 - 1 / 3) < 0.05 for n in counts.values())
    things = [thing for caption in many for thing in caption.things]
    kinds = Counter((t.colour, t.shape) for t in things)
    assert set(kinds) == set(ALL)
    assert all(abs(n / len(things) - 1 / 20) < 0.012 for n in kinds.values())
    large = sum(t.size == "large" for t in things) / len(things)
    assert abs(large - 0.5) < 0.03
    for caption in many:
        assert len({(t.colour, t.shape) for t in caption.things}) == len(caption.things)


def test_held_out_combinations_are_never_drawn_from_the_seen_ones():
    assert set(SEEN) | set(HELD_OUT) == set(ALL)
    assert not set(SEEN) & set(HELD_OUT)
    for part in (0, 1):  # every colour and shape of the test is known from training
        assert {k[part] for k in HELD_OUT} <= {k[part] for k in SEEN}
    for kinds in (SEEN, HELD_OUT):
        drawn = scenes(300, kinds=kinds, generator=generator(3))
        found = {(t.colour, t.shape) for c in drawn.captions for t in c.things}
        assert found == set(kinds)


def test_images_lie_between_0_and_1_and_noise_has_its_spread():
    clean = scenes(50, noise=0.0, generator=generator(4)).images
    noisy = scenes(50, noise=0.03, generator=generator(4)).images
    assert clean.shape == (50, 3, SIDE, SIDE)
    assert noisy.dtype == torch.float32
    assert noisy.min() >= 0
    assert noisy.max() <= 1
    middle = (clean > 0.2) & (clean < 0.8)  # where nothing is cut off
    assert (noisy - clean)[middle].std().item() == pytest.approx(0.03, rel=0.05)
    grounds = clean.mean(1).flatten(1).median(dim=1).values
    assert grounds.std() > 0.05  # no two grounds alike


def test_the_seed_decides():
    first, again = (scenes(5, generator=generator(5)) for _ in range(2))
    assert torch.equal(first.images, again.images)
    assert first.captions == again.captions
    assert first.captions != scenes(5, generator=generator(6)).captions


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_rows": 0}, "n_rows=0 must be at least 1"),
        ({"fewest": 0}, "fewest=0 must be at least 1"),
        ({"most": 4}, "most=4 must lie between fewest=1 and 3"),
        ({"fewest": 3, "most": 2}, "most=2 must lie between fewest=3 and 3"),
        ({"kinds": SEEN[:2]}, r"kinds must be at least most=3 of ALL, got \[\('red'"),
        ({"kinds": [("pink", "cross")] * 3}, "kinds must be at least most=3 of ALL"),
        ({"noise": -0.1}, "noise=-0.1 is a standard deviation and must be at least 0"),
    ],
)
def test_settings_that_make_no_scene_are_named(wrong, message):
    with pytest.raises(ValueError, match=message):
        scenes(**({"n_rows": 2} | wrong), generator=generator(0))
