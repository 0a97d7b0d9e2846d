"""Text to text: spelling as the tokens come, prompts, and models with little room."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from table_writer import TableWriter
from unrolled.data.tokens.bpe_training import train_bpe
from unrolled.data.tokens.characters import Characters
from unrolled.data.tokens.vocabulary import BOS, EOS
from unrolled.data.tokens.words import Words
from unrolled.decoding.loop import stream, stream_on
from unrolled.decoding.sampling import greedy, sampler
from unrolled.decoding.spelling import spell_on
from unrolled.decoding.text import begin, best_texts, write
from unrolled.models.gpt import GPT, GPTConfig
from unrolled.models.seq2seq import Seq2Seq, Seq2SeqConfig
from unrolled.models.tagger import Tagger, TaggerConfig
from unrolled.runtime import generator

TEXT = "l'été — the cat 😀 sat, l'homme aussi"
TOKENIZERS = [Characters.of(TEXT), train_bpe(TEXT * 2, 290), Words.of([TEXT])]


@pytest.mark.parametrize("tokenizer", TOKENIZERS, ids=lambda t: type(t).__name__)
@given(st.data())
@settings(max_examples=60)
def test_the_pieces_are_the_text(tokenizer, data):
    ids = data.draw(st.lists(st.integers(0, len(tokenizer) - 1), max_size=30))
    n = data.draw(st.integers(0, len(ids)))
    pieces = list(spell_on(tokenizer.decode, ids[n:], before=ids[:n]))
    before = tokenizer.decode(ids[:n])
    if not before.endswith("\ufffd"):  # half a character is shown as another
        assert before + "".join(pieces) == tokenizer.decode(ids)


def test_half_a_character_waits_for_the_rest():
    tokenizer = train_bpe("", 256)
    ids = tokenizer.encode("a😀b")
    assert list(spell_on(tokenizer.decode, ids)) == ["a", "😀", "b"]
    assert list(spell_on(tokenizer.decode, ids[:3])) == ["a", "\ufffd"]


def test_pieces_come_as_soon_as_their_token():
    seen = []

    def ids():
        for i in TOKENIZERS[2].encode("the cat sat"):
            seen.append(i)
            yield i

    for n, piece in enumerate(spell_on(TOKENIZERS[2].decode, ids()), start=1):
        assert len(seen) == n
        assert piece.strip() in {"the", "cat", "sat"}


def gpt(n_tokens, n_positions=8):
    torch.manual_seed(1)
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1}
    return GPT(GPTConfig(n_tokens=n_tokens, n_positions=n_positions, **sizes)).eval()


@pytest.mark.parametrize("stop", [None, 2])
def test_a_model_with_room_enough_never_reads_anew(stop):
    model, prompts = TableWriter(4), torch.tensor([[0, 1], [3, 3], [1, 2]])
    draws = (sampler(generator=generator(5)) for _ in range(2))
    one = stream(model, prompts, n_tokens=9, choose=next(draws), stop=stop)
    other = stream_on(
        model, prompts, room=10, n_tokens=9, choose=next(draws), stop=stop
    )
    assert [x.tolist() for x in one] == [x.tolist() for x in other]


@pytest.mark.parametrize("stop", [None, 2])
@pytest.mark.parametrize("room", [4, 5, 7])
def test_a_model_that_needs_little_forgets_nothing_that_counts(stop, room):
    model, prompts = TableWriter(4), torch.tensor([[0, 1], [3, 3], [1, 2]])
    one = stream(model, prompts, n_tokens=20, stop=stop)
    other = stream_on(model, prompts, room=room, n_tokens=20, stop=stop)
    assert [x.tolist() for x in one] == [x.tolist() for x in other]


@pytest.mark.parametrize("n_read", [1, 8, 9, 30])
def test_a_small_model_writes_more_than_it_can_read(n_read):
    model = gpt(5)
    prompts = torch.randint(5, (2, n_read))
    ids = torch.stack(list(stream_on(model, prompts, room=8, n_tokens=20)), dim=1)
    assert ids.shape == (2, 20)
    read = prompts if n_read <= 8 else prompts[:, -4:]
    for place in range(20):  # as the words of the function say
        if read.shape[1] > 8:
            read = read[:, -4:]
        assert torch.equal(model(read)[:, -1].argmax(dim=-1), ids[:, place])
        read = torch.cat([read, ids[:, place, None]], dim=1)


def test_writing_goes_on_from_the_prompt():
    tokenizer = Characters.of("abc\n", specials=[EOS])
    model = gpt(len(tokenizer), n_positions=32)
    found = "".join(write(model, tokenizer, "ab", n_tokens=6))
    steps = stream(model, torch.tensor([tokenizer.encode("ab")]), n_tokens=6, stop=0)
    assert found == tokenizer.decode([int(ids) for ids in steps])
    best, *_ = best_texts(model, tokenizer, "ab", n_tokens=6, n_beams=3)
    assert len(best[0]) <= 6
    assert best[1] < 0


def test_words_are_spaced_from_the_prompt_on():
    tokenizer = Words.of(["the cat sat"])
    model = TableWriter(len(tokenizer))
    model.config = None
    with torch.no_grad():
        model.table[..., tokenizer.ids["sat"]] = 99.0
    assert "".join(write(model, tokenizer, "the cat", n_tokens=2)) == " sat sat"
    assert best_texts(model, tokenizer, "the cat", n_tokens=2, n_beams=1)[0][0] == (
        " sat sat"
    )


@pytest.mark.parametrize(
    ("tokenizer", "first"),
    [
        (Characters.of("ab\n", specials=[EOS, BOS]), [1]),
        (Characters.of("ab\n"), [0]),
        (train_bpe("", 256), [10]),
    ],
)
def test_without_a_prompt_it_begins_at_the_beginning(tokenizer, first):
    begun = begin(gpt(len(tokenizer)), tokenizer)
    assert begun.before == first
    assert begun.start[0].tolist() == [first]


def test_a_model_that_reads_a_source_writes_of_it():
    tokenizer = Characters.of("abc", specials=[BOS, EOS])
    sizes = {"n_source": 5, "n_target": 5, "d_embed": 4, "d_hidden": 4}
    model = Seq2Seq(Seq2SeqConfig(**sizes)).eval()
    source = torch.tensor([tokenizer.encode("cab")])
    steps = stream(model, source, None, torch.tensor([0]), n_tokens=5, stop=1)
    wanted = tokenizer.decode([int(ids) for ids in steps])
    assert "".join(write(model, tokenizer, "cab", n_tokens=5)) == wanted
    greedy_again = write(model, tokenizer, "cab", n_tokens=5, choose=greedy)
    assert "".join(greedy_again) == wanted
    with pytest.raises(ValueError, match="prompt='' must be a text"):
        begin(model, tokenizer)
    with pytest.raises(ValueError, match="must have '<bos>'"):
        begin(model, Characters.of("abcde"), "cab")


def test_a_beam_keeps_to_the_room():
    tokenizer, model = Characters.of("abcde"), gpt(5)
    (text, _), *_ = best_texts(model, tokenizer, "abc", n_tokens=99, n_beams=2)
    assert len(text) == 8 - 3 + 1
    with pytest.raises(ValueError, match=r"the prompt has 9 tokens.* can read 8"):
        best_texts(model, tokenizer, "abcdeabcd", n_tokens=1, n_beams=1)


def test_complaints():
    tokenizer, model = Characters.of("abcde"), gpt(5)
    with pytest.raises(ValueError, match=r"the prompt cannot be read: 'x' \(piece 1"):
        write(model, tokenizer, "ax", n_tokens=3)
    with pytest.raises(ValueError, match="the prompt cannot be read"):
        begin(model, tokenizer)  # there is no line end to begin with
    with pytest.raises(ValueError, match="a Tagger writes nothing"):
        begin(Tagger(TaggerConfig(d_in=1, d_hidden=1, d_out=1)), tokenizer)
    for sizes in ({"room": 0, "n_tokens": 1}, {"room": 3, "n_tokens": 0}):
        with pytest.raises(ValueError, match="=0 must be at least 1"):
            stream_on(model, torch.zeros(1, 1), **sizes)
