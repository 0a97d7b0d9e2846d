"""The recipe of agreement: its sentences, its rules, and how right answers are told."""

import pytest
import torch
from torch.nn import functional as F

from unrolled.chapters.c07_lstm import agreement_by_distance as recipe
from unrolled.chapters.c07_lstm import agreement_sentences as made
from unrolled.chapters.c07_lstm.agreement_figures import plot_agreement, plot_levels
from unrolled.data.made.agreement import PREPOSITIONS, WAS
from unrolled.data.made.agreement_words import SEEN

NOUNS = {noun[many]: bool(many) for d in SEEN for noun in d.nouns for many in (0, 1)}


def verbs_by_stack(words):
    """Return of each verb where it and its subject stand, by a parser of its own.

    A noun waits for its verb on a stack. After a preposition, or as the object of a
    verb, it waits for none; "that" before a verb brings the noun before it back.
    """
    waiting, found, last, has_object = [], [], 0, False
    for at, word in enumerate(words):
        before = words[at - 2] if at > 1 else ""
        if word in NOUNS:
            last = at
            doing = before.endswith("ing") and has_object
            if before not in PREPOSITIONS and not doing:
                waiting.append(at)
        elif word in WAS and words[at - 1] == "that":
            found.append((at, last))
            has_object = True
        elif word in WAS:
            found.append((at, waiting.pop()))
            has_object = False
    assert not waiting
    return tuple(found)


def all_kinds():
    yield from made.like_training(800, seed=3)
    for kind, numbers in recipe.TESTS.values():
        for n in numbers:
            yield from made.between(40, n, kind, seed=n)


def test_every_verb_agrees_with_the_subject_that_a_parser_finds():
    for s in all_kinds():
        assert verbs_by_stack(s.words) == s.verbs, s.words
        for at, subject in s.verbs:
            assert s.words[at] == WAS[NOUNS[s.words[subject]]]
        assert [NOUNS[s.words[at]] for at in s.nouns] == list(s.plural)
        assert sum(word in WAS for word in s.words) == len(s.verbs)


def test_training_sentences_stay_within_their_bounds():
    sentences = made.like_training(4000, seed=4)
    assert {len(s.nouns) for s in sentences} == {1, 2, 3, 4}

    def deepest(s):  # verbs that follow one another, each the end of a relative
        runs, run = [0], 0
        for (at, _), (after, _) in zip(s.verbs, s.verbs[1:], strict=False):
            run = run + 1 if after == at + 2 else 0
            runs.append(run)
        return max(runs)

    assert max(map(deepest, sentences)) == made.N_NESTED
    share = sum(s.words[0] != "the" for s in sentences) / len(sentences)
    assert share == pytest.approx(0.75 * made.P_FRONT, abs=0.03)


@pytest.mark.parametrize(("name", "n"), [("chain", 3), ("nest", 2), ("nest", 4)])
def test_as_many_words_stand_between_as_the_figure_says(name, n):
    kind = recipe.TESTS[name][0]
    for s in made.between(50, n, kind, seed=5):
        at, subject = s.verbs[-1]
        assert at - subject - 1 == n * recipe.WORDS_EACH[name]
        assert len(s.verbs) == (n + 1 if name == "nest" else 1)
        assert 0 <= made.n_attractors(s, -1) <= n
        inner = s.words[subject + 1 : at]
        others = [NOUNS[word] for word in inner if word in NOUNS]
        assert len(others) == n
        number = NOUNS[s.words[subject]]
        assert made.n_attractors(s, -1) == sum(o != number for o in others)


def test_rules_see_what_they_say_on_a_sentence_made_by_hand():
    words = tuple("near the pilots the nurse that the guards were calling was".split())
    s = made.Sentence(words, ((8, 7), (10, 4)), (2, 4, 7), (True, False, True))
    guesses = {
        name: [rule(s, at) for at, _ in s.verbs] for name, rule in made.RULES.items()
    }
    assert guesses == {
        "nearest noun": [True, True],
        "first noun": [True, True],
        "opening": [False, False],
        "majority": [True, True],
        "nearest, then opening": [True, False],
    }
    assert made.right([[True, True]], [s]) == [[True, False]]
    assert made.n_attractors(s, -1) == 1


def test_no_noun_but_the_subject_tells_the_main_verb():
    sentences = made.between(4000, 2, "object", seed=6)
    for place in (-1, -2):  # the nouns inside
        same = [s.plural[place] == s.number(s.verbs[-1][1]) for s in sentences]
        assert sum(same) / len(same) == pytest.approx(0.5, abs=0.03)


def test_a_verb_is_judged_by_the_scores_just_before_it():
    class Knows(torch.nn.Module):
        """A model that gives all its weight to the word that comes next."""

        def forward(self, ids):
            return F.one_hot(self.rows[:, 1:], len(made.vocabulary())).float()

    sentences = made.between(20, 3, "object", seed=7)
    model = Knows()
    model.rows, _ = recipe.pad(made.encode(sentences))
    answers = made.right(recipe.says_plural(model, sentences), sentences)
    assert all(all(row) for row in answers)


def test_the_three_networks_are_of_about_one_size():
    sizes = [recipe.count_parameters(recipe.start(cell, 0)) for cell in recipe.WIDTHS]
    assert max(sizes) / min(sizes) < 1.03


def test_batches_go_through_all_rows_and_training_lowers_the_loss(monkeypatch):
    rows = made.encode(made.like_training(128, seed=8))
    draw = recipe.batches(rows, seed=0)
    first = sorted(map(tuple, next(draw) + next(draw)))
    assert first == sorted(map(tuple, rows))
    monkeypatch.setattr(recipe, "UPDATES", 30)
    model = recipe.start("lstm", 0)
    before = recipe.loss_of(model, rows).item()
    recipe.train(model, rows, 1e-2, seed=0)
    assert recipe.loss_of(model, rows).item() < before - 0.5


def test_the_choosing_seeds_choose_and_the_others_are_counted(monkeypatch):
    losses = {3e-3: 2.0, 1e-2: 1.0, 3e-2: 3.0}
    asked = []

    def trained(cell, lr, seed):
        asked.append((lr, seed))
        return recipe.start(cell, seed), losses[lr] if seed < 2 else 9.0

    monkeypatch.setattr(recipe, "trained", trained)
    unit = recipe.replay_unit({"cell": "gru"}, None)
    assert unit["rate"] == 1e-2
    assert [seed for lr, seed in asked if seed > 1] == list(recipe.REPORTED)
    assert {lr for lr, seed in asked if seed > 1} == {1e-2}
    for test, verbs in unit["right"].items():
        for digits, by_seed in zip(verbs, unit["by seed"][test], strict=True):
            mean = recipe.shares(digits).mean().item()
            assert mean == pytest.approx(sum(by_seed) / len(by_seed))


def test_a_summary_has_what_the_figures_draw(monkeypatch):
    few = made.encode(made.like_training(64, seed=9))
    small = {"chain": ("preposition", range(3)), "nest": ("object", range(3))}
    monkeypatch.setattr(recipe, "TESTS", small)
    monkeypatch.setattr(recipe, "TEST_ROWS", 31)
    monkeypatch.setattr(recipe, "VALID_ROWS", 50)
    monkeypatch.setattr(recipe, "corpus", lambda: (few, few))
    monkeypatch.setattr(
        recipe, "trained", lambda c, _, seed: (recipe.start(c, seed), 1)
    )
    recipe.test_sets.cache_clear()
    found = recipe.summarise([u | recipe.run_unit(u, None) for u in recipe.UNITS])
    recipe.test_sets.cache_clear()
    assert list(found["networks"]) == ["Elman", "GRU", "LSTM"]
    for mean, low, high in found["networks"]["LSTM"]["accuracy"]["nest 2"]:
        assert low <= mean <= high
    assert found["rules"]["opening"]["accuracy"]["chain 2"][0][0] == 1
    assert found["rules"]["nearest noun"]["accuracy"]["nest 2"][0][0] == 1
    assert found["words"] == {"chain": [0, 3, 6], "nest": [0, 5, 10]}
    assert "<svg" in plot_agreement(found).light
    assert "<svg" in plot_levels(found, depths=(1, 2)).light
