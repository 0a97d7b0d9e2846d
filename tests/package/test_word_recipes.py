"""The recipes about words: what they read, how they mix and score, small pieces run."""

import math
from itertools import pairwise

import pytest
import torch
import torch.nn.functional as F

from unrolled.evaluation.perplexity import bits_per_token
from unrolled.models.skipgram import SkipGram, SkipGramConfig
from unrolled.models.window_lm import WindowLM, WindowLMConfig, log_probabilities
from unrolled.recipes import (
    company,
    frozen_or_tuned,
    window_choice,
    window_words,
    word_tables,
)
from unrolled.recipes.runner import results
from unrolled.runtime import generator
from unrolled.training.budget import at_most
from unrolled.widgets.bpe_stepper import EXAMPLES, bpe_steps, spelt


def test_a_mixture_is_the_mean_of_probabilities():
    p, q = torch.tensor([0.2, 0.9]), torch.tensor([0.6, 0.1])
    mixed = window_words.mixed(p.log(), q.log())
    torch.testing.assert_close(mixed.exp(), torch.tensor([0.4, 0.5]).double())


def test_window_words_reads_its_vocabulary_from_the_training_text():
    texts = window_words.texts()
    assert len(window_words.tokenizer()) == window_words.N_TOKENS
    assert texts["train"].max() < window_words.N_TOKENS
    assert len(texts["test"]) == len(texts["validation"]) == window_words.N_TEST
    assert not torch.equal(texts["test"], texts["validation"])


def test_the_validation_books_chose_the_settings_of_the_window_model():
    kept = results("window_choice")
    best = min(kept["units"], key=lambda unit: unit["bits"])
    chosen = kept["summary"]["chosen"]
    assert chosen == {name: best[name] for name in chosen}
    assert chosen == {
        "d_embed": window_words.D_EMBED,
        "d_hidden": window_words.D_HIDDEN,
        "epochs": window_words.EPOCHS,
        "rate": window_words.RATE,
    }


def test_a_choice_is_made_by_the_fewest_bits():
    settings = {"d_embed": 1, "d_hidden": 2, "epochs": 3}
    units = [{**settings, "rate": r, "bits": b} for r, b in ((1, 5.0), (2, 4.0))]
    summary = window_choice.summarise(units)
    assert summary == {"chosen": {**settings, "rate": 2}, "bits": [4.0, 5.0]}


def test_committed_counts_are_counted_again():
    kept = results("window_words")["summary"]["Kneser-Ney"]
    test = window_words.texts()["test"]
    log_p = window_words.count(2).log_probabilities(test)
    assert -log_p.mean().item() / math.log(2) == pytest.approx(kept["2"], abs=1e-6)


def test_kinds_are_known_words_and_a_perfect_table_tells_them():
    rows = company.rows()
    words = [(k, w) for k, text in company.KINDS.items() for w in text.split()]
    assert all(word in rows for _, word in words)
    table = torch.zeros(len(rows), len(company.KINDS))
    for kind, word in words:
        table[rows[word], list(company.KINDS).index(kind)] = 1.0
    assert company.same_kind(table, rows) == 1.0
    noise = torch.randn(len(rows), 50, generator=generator(0))
    assert company.same_kind(F.normalize(noise, dim=1), rows) < 0.5


def test_paragraphs_own_their_words():
    ids, owners = company.text()
    assert len(ids) == len(owners)
    assert (owners.diff() >= 0).all()
    assert (ids > 0).all()


def test_guessing_and_counting_get_the_same_pairs():
    whole, again = (company.pairs("whole", generator(seed)) for seed in (0, 1))
    assert torch.equal(whole, again)
    few, same, other = (
        company.pairs("subsampled", generator(seed)) for seed in (0, 0, 1)
    )
    assert torch.equal(few, same)
    assert not torch.equal(few, other)
    the = company.rows()["the"]
    assert (few == the).double().mean() < (whole == the).double().mean() / 4
    with pytest.raises(ValueError, match="which='half' must be one of whole, subs"):
        company.pairs("half", generator(0))


def test_rounds_go_on_from_one_another():
    with at_most(3):
        *_, model = company.rounds("subsampled", seed=0)
        again = company.train("subsampled", seed=0, n_rounds=1)
    assert torch.equal(model.centre, again.centre)
    start = SkipGram(SkipGramConfig(n_tokens=len(company.tokenizer()), d_embed=50))
    losses = [company.validation_loss(m, "subsampled") for m in (start, model)]
    assert losses[0] == pytest.approx(6 * math.log(2), rel=1e-6)  # all scores zero
    assert losses[1] < losses[0]


def test_count_tables_are_counts_and_their_mutual_information():
    met = company.meetings(
        torch.tensor([[1, 2], [2, 1], [1, 3], [3, 1], [1, 2], [2, 1]])
    )
    assert met[1].tolist()[:4] == [0, 0, 2, 1]
    assert met.sum() == 6
    information = company.mutual_information(met)
    assert information[1, 2] == pytest.approx(math.log((2 / 6) / (3 / 6 * 2 / 6)))
    assert information[2, 3] == -torch.inf


def test_analogies_are_laid_out_by_pair():
    ranks = [(9, 1), (9, 2), (9, 3), (1, 1), (9, 1), (1, 5)]
    first = company.came_first(ranks)
    assert first.tolist() == [[0, 1, 0], [0, 0, 1], [1, 0, 0]]


def test_kin_come_first_where_steps_are_equal():
    pairs = company.KIN[:3]
    rows = {word: i for i, word in enumerate(w for pair in pairs for w in pair)}
    base = torch.eye(4)[:3].repeat_interleave(2, dim=0) * 3
    base[1::2, 3] = 1.0  # the same step for each pair
    ranks = company.kin_ranks(F.normalize(base, dim=1), rows)
    assert len(ranks) == 6
    assert all(out == 1 for _, out in ranks)
    assert all(free >= out for free, out in ranks)


@pytest.fixture(scope="module")
def window_model():
    config = WindowLMConfig(
        n_tokens=window_words.N_TOKENS, n_context=2, d_embed=4, d_hidden=4
    )
    return WindowLM(config)


def test_runs_are_seen_or_new_and_their_bits_add_up():
    test = window_words.texts()["test"]
    log_p, seen = window_words.count(3).log_probabilities(test), word_tables.seen()
    found = word_tables.by_sight(log_p)
    share = seen.double().mean().item()
    both = share * found["seen"] + (1 - share) * found["new"]
    assert both == pytest.approx(bits_per_token(log_p[2:]), rel=1e-9)
    train = " ".join(map(str, window_words.texts()["train"].tolist()))
    for place in (0, 1, 500, len(seen) - 1):
        run = " ".join(map(str, test[place : place + 3].tolist()))
        assert (f" {run} " in f" {train} ") == seen[place]


def test_a_word_exchanged_for_itself_costs_nothing(window_model):
    itself = torch.arange(window_words.N_TOKENS)
    log_p = log_probabilities(window_model, window_words.texts()["test"])
    as_it_is = word_tables.by_sight(log_p)["new"]
    found = word_tables.bits_if(window_model, itself)
    assert found == pytest.approx(as_it_is, rel=1e-6)
    assert word_tables.bits_if(window_model, itself.roll(1)) != found


def test_words_are_exchanged_for_others(window_model):
    table = F.normalize(window_model.embed.weight[:-1].detach(), dim=1)
    for name, other in word_tables.exchanges(window_model).items():
        words = torch.arange(window_words.N_TOKENS)
        assert (other != words).double().mean() > 0.99
        if name == "nearest word":
            alike = table @ table[7]
            assert alike[other[7]] == alike[alike < 0.99999].max()
        else:
            assert torch.equal(other.sort().values, words)
        if name == "word as frequent":
            assert ((other - words).abs() == 5).all()


def test_scores_that_are_mutual_information_correlate_with_it():
    """A score less log k is where skip-gram is at its best; rare pairs do not count."""
    met = torch.tensor([[0, 9, 20], [9, 40, 1], [20, 1, 0]])
    alone = met.double().sum(dim=1) / met.sum()
    information = (met / met.sum() / (alone[:, None] * alone)).log()
    model = SkipGram(SkipGramConfig(n_tokens=3, d_embed=3))
    with torch.no_grad():
        model.neighbour.copy_(torch.eye(3))
        model.centre.copy_(information.clamp(min=-100) - math.log(5))
        model.centre[1, 2] = 50.0  # they met once
    assert company.correlation(model, met) == pytest.approx(1.0, abs=1e-5)


def test_meetings_are_counted_both_ways_and_never_with_the_unknown():
    met = company.meetings(company.pairs("whole", generator(0)))
    assert torch.equal(met, met.T)
    assert not met[0].any()


def test_a_table_is_asked_among_words_that_all_know():
    words = company.shared()
    assert {"king", "she", "tribe"} <= set(words)
    assert not {"queen", "goat", "sware", "<unk>"} & set(words)
    kinds = [w for text in company.KINDS.values() for w in text.split()]
    names = ["<unk>", *dict.fromkeys((*words, *kinds))]
    noise = F.normalize(torch.randn(len(names), 50, generator=generator(0)), dim=1)
    found = company.ask(noise, {word: i for i, word in enumerate(names)})
    assert len(found["shared kin"]) == 30  # of six pairs
    assert company.came_first(found["shared kin"]).sum() <= 2
    by_row_0 = {word: i for i, word in enumerate(names) if word != "goat"}
    table = noise.clone()
    table[0] = noise[names.index("goat")]
    assert company.ask(table, by_row_0) == found


def test_starts_differ_in_what_may_move():
    frozen, tuned, random = map(
        frozen_or_tuned.start_model, ("frozen", "tuned", "random")
    )
    assert torch.equal(frozen.embed.weight, frozen_or_tuned.vectors())
    assert torch.equal(tuned.embed.weight, frozen_or_tuned.vectors())
    assert not torch.equal(random.embed.weight, frozen_or_tuned.vectors())
    assert not frozen.embed.weight.requires_grad
    assert tuned.embed.weight.requires_grad
    assert random.embed.weight.requires_grad


def test_a_slow_table_moves_at_a_part_of_the_rate():
    ids = torch.arange(1, 9).reshape(2, 4)
    for start, pace in frozen_or_tuned.PACES.items():
        model = frozen_or_tuned.start_model(start)
        assert torch.equal(model.embed.weight, frozen_or_tuned.vectors())
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.0)
        F.cross_entropy(model(ids), torch.tensor([0, 1])).backward()
        optimizer.step()
        moved = (model.embed.weight - frozen_or_tuned.vectors()).detach()[1:9]
        assert moved.abs().median().item() == pytest.approx(0.01 * pace, rel=0.02)


def test_validation_chooses_the_pace_and_the_test_does_not():
    seeds = frozen_or_tuned.SEEDS
    units = [
        {"start": start, "labels": n, "seed": seed, "accuracy": a, "validation": v}
        for seed in seeds
        for start, n, a, v in (
            ("frozen", 25, 0.6, 0.5),
            ("3 %", 25, 0.5, 0.4),
            ("random", 25, 0.9, 0.1),
            ("tuned", 50, 0.9, 0.1),
        )
    ]
    found = frozen_or_tuned.chosen(units, 25)
    assert [(u["seed"], u["start"]) for u in found] == [(seed, "3 %") for seed in seeds]


def test_parts_share_no_text_and_labels_are_clear():
    train, test = frozen_or_tuned.part("train"), frozen_or_tuned.part("test")
    assert set(train.y.tolist()) == set(test.y.tolist()) == {0, 1}
    assert train.x.max() <= len(frozen_or_tuned.words())


def test_bpe_steps_shorten_the_text_one_merge_at_a_time():
    run = bpe_steps(EXAMPLES["low, lower, lowest"])
    lengths = [sum(map(len, step)) for step in run.pieces]
    assert len(run.pieces) == len(run.merges) + 1
    assert all(before > after for before, after in pairwise(lengths))
    assert spelt(b" a") == "␣a"
    assert spelt(b"\xc3") == "c3"
