"""``unrolled sample`` and ``unrolled eval``: what is said, where, with which code."""

import math
import re
import subprocess
import sys

import pytest
import torch
from typer.testing import CliRunner

from unrolled import cli, runtime
from unrolled.cli import finding
from unrolled.data.splits import Splits
from unrolled.data.tokens.bpe_training import train_bpe
from unrolled.data.tokens.characters import Characters
from unrolled.data.tokens.vocabulary import BOS, EOS
from unrolled.decoding.loop import stream
from unrolled.decoding.sampling import sampler
from unrolled.decoding.text import best_texts, write
from unrolled.evaluation.language_model import score_text
from unrolled.models.checkpoints import load, save
from unrolled.models.gpt import GPT, GPTConfig
from unrolled.models.seq2seq import Seq2Seq, Seq2SeqConfig
from unrolled.models.tagger import Tagger, TaggerConfig
from unrolled.runtime import generator

LETTERS = Characters.of("abcdefgh \n")
SIZES = {"n_positions": 12, "d_model": 8, "n_heads": 2, "n_layers": 1}


def call(*words):
    result = CliRunner().invoke(
        cli.app, list(map(str, words)), env={"COLUMNS": "200", "UNROLLED_DEVICE": "cpu"}
    )
    assert "Traceback" not in result.output
    return result


def plain(text):
    return re.sub(r"\s+", " ", re.sub(r"\x1b\[[\d;]*m|[│╭╮╰╯─]", "", text))


@pytest.fixture(name="path")
def _path(tmp_path):
    path = tmp_path / "letters.safetensors"
    save(path, GPT(GPTConfig(n_tokens=len(LETTERS), **SIZES)), LETTERS)
    return path


def written(path, prompt, n_tokens, **how):
    model = load(path).model
    return prompt + "".join(write(model, LETTERS, prompt, n_tokens=n_tokens, **how))


def test_help_says_what_there_is():
    text = plain(call("sample", "--help").output)
    options = ("prompt", "tokens", "temperature", "top-k", "top-p", "beams", "seed")
    for hint in (*(f"--{option}" for option in options), "--number", "smollm2"):
        assert hint in text
    text = plain(call("eval", "--help").output)
    for hint in ("MODEL", "TEXT", "kjv, shakespeare", "kjv:validation", "test part"):
        assert hint in text
    assert all(word in plain(call("--help").output) for word in ("sample", "eval"))


def test_it_writes_what_the_model_does(path):
    result = call("sample", path, "--prompt", "abc", "--tokens", 30, "--seed", 7)
    choose = sampler(generator=generator(7))
    assert result.stdout == written(path, "abc", 30, choose=choose) + "\n"
    assert result.exit_code == 0
    assert call(
        "sample", path, "--prompt", "abc", "--temperature", 0, "--tokens", 9
    ).stdout == (written(path, "abc", 9) + "\n")


def test_it_draws_as_it_is_told(path):
    how = ("--temperature", 0.7, "--top-k", 5, "--top-p", 0.8, "--seed", 3)
    result = call("sample", path, "--prompt", "a", "--tokens", 20, "--number", 3, *how)
    choose = sampler(generator=generator(3), temperature=0.7, k=5, p=0.8)
    texts = [written(path, "a", 20, choose=choose) for _ in range(3)]
    assert result.stdout == f"\n{'-' * 40}\n".join(texts) + "\n"
    assert len(set(texts)) == 3


def test_without_a_seed_or_a_prompt_it_still_writes(path):
    texts = {call("sample", path, "--tokens", 30).stdout for _ in range(3)}
    assert len(texts) == 3


def test_beams_are_shown_with_their_scores(path):
    result = call(
        *("sample", path, "--prompt", "ab", "--tokens", 5, "--beams", 4, "--number", 2)
    )
    model = load(path).model
    found = best_texts(model, LETTERS, "ab", n_tokens=5, n_beams=4)[:2]
    lines = [f"[{score:.2f}] ab{text}\n" for text, score in found]
    assert result.stdout == "".join(lines)


def test_text_comes_while_it_is_written(path, monkeypatch):
    events = []
    step = GPT.step

    def slow(self, ids, state):
        events.append("read")
        return step(self, ids, state)

    monkeypatch.setattr(GPT, "step", slow)
    monkeypatch.setattr(
        cli.models.typer, "echo", lambda text="", **_: events.append(text)
    )
    call("sample", path, "--prompt", "abc", "--tokens", 4, "--seed", 0)
    assert [event == "read" for event in events] == [
        *(False, False),  # the prompt and the first token
        *(True, False) * 3,
        False,  # the end of the line
    ]


def test_what_would_command_a_terminal_is_not_shown(tmp_path):
    tokenizer = train_bpe("", 256)
    model = GPT(GPTConfig(n_tokens=256, tied=False, **SIZES))
    with torch.no_grad():
        model.read.weight.zero_()
        model.norm.bias.fill_(1.0)
        model.read.weight[0x1B] = 1.0
    save(tmp_path / "a", model, tokenizer)
    result = call("sample", tmp_path / "a", "--prompt", "x", "--temperature", 0)
    assert result.stdout == "x" + "\ufffd" * 200 + "\n"


def test_a_translator_shows_its_own_text_only(tmp_path):
    tokenizer = Characters.of("abc", specials=[BOS, EOS])
    sizes = {"n_source": 5, "n_target": 5, "d_embed": 4, "d_hidden": 4}
    model = Seq2Seq(Seq2SeqConfig(**sizes)).eval()
    save(tmp_path / "a", model, tokenizer)
    how = ("--prompt", "cab", "--temperature", 0, "--tokens", 6)
    start = torch.tensor([tokenizer.encode("cab")]), None, torch.tensor([0])
    ids = [int(ids) for ids in stream(model, *start, n_tokens=6, stop=1)]
    assert call("sample", tmp_path / "a", *how).stdout == tokenizer.decode(ids) + "\n"
    result = call("eval", tmp_path / "a", __file__)
    assert "it is no language model" in result.stderr


def test_the_books_models_are_known_by_name(path, tmp_path, monkeypatch):
    book = tmp_path / "book"
    (book / "_static" / "models").mkdir(parents=True)
    path.rename(book / "_static" / "models" / "tiny.safetensors")
    monkeypatch.setattr(runtime, "book_folder", lambda: book)
    assert call("sample", "tiny", "--prompt", "abc", "--tokens", 3).exit_code == 0
    result = call("sample", "big")
    assert "no model 'big': there is no such file" in result.stderr
    assert "the book has tiny, smollm2" in result.stderr
    assert result.exit_code == 1


def test_eval_prints_every_unit(path, tmp_path):
    text = "abc def gah bed " * 8
    (tmp_path / "text.txt").write_text(text)
    found = score_text(load(path).model, LETTERS, text, width=13)
    result = call("eval", path, tmp_path / "text.txt")
    assert plain(result.stdout) == plain(
        f"tokens 127 loss {found.nats:.4f} nats a token "
        f"perplexity {found.perplexity:.3f} "
        f"bits per character {found.bits_per_character:.4f} "
        f"bits per byte {found.bits_per_byte:.4f} "
    )
    assert 0.5 * len(LETTERS) < math.exp(found.nats) < 2 * len(LETTERS)
    result = call("eval", path, tmp_path / "text.txt", "--characters", 20)
    assert "tokens 19 " in plain(result.stdout)


@pytest.mark.parametrize(
    ("name", "part"), [("kjv", "test"), ("kjv:test", "test"), ("kjv:train", "train")]
)
def test_eval_knows_the_parts_of_the_corpora(path, monkeypatch, name, part):
    texts = {"train": "abc" * 9, "validation": "d", "test": "fgh" * 5}
    monkeypatch.setattr("unrolled.data.corpora.kjv.kjv_text", lambda: Splits(**texts))
    result = call("eval", path, name)
    assert f"tokens {len(texts[part]) - 1} " in plain(result.stdout)


@pytest.fixture(name="odd")
def _odd(tmp_path):
    """Write files that cannot be used; return where they are."""
    sizes = TaggerConfig(d_in=1, d_hidden=1, d_out=1)
    save(tmp_path / "tagger", Tagger(sizes), LETTERS)
    save(tmp_path / "mute", GPT(GPTConfig(n_tokens=3, **SIZES)))
    save(tmp_path / "letters", GPT(GPTConfig(n_tokens=10, **SIZES)), LETTERS)
    (tmp_path / "junk").write_bytes(b"\xff\xfe junk, no checkpoint")
    (tmp_path / "short.txt").write_text("a")
    (tmp_path / "odd.txt").write_text("abc xyz")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("sample {}/none", "no model '{}/none': there is no such file"),
        ("sample {}/junk", "{}/junk is no safetensors file"),
        ("sample {}/tagger", "holds a Tagger, which does not write text"),
        ("sample {}/mute", "{}/mute has no tokenizer"),
        ("sample {}/letters --prompt abX", "the prompt cannot be read: 'X'"),
        ("sample {}/letters --tokens 0", "tokens=0 must be at least 1"),
        ("sample {}/letters --number 0", "number=0 must be at least 1"),
        ("sample {}/letters --top-k 0", "k=0 must be at least 1"),
        ("sample {}/letters --top-p 2", "p=2.0 must be above 0"),
        ("sample {}/letters --temperature -1", "temperature=-1.0 must be positive"),
        ("sample {}/letters --temperature 0 --top-k 3", "leave out top-k, top-p"),
        ("sample {}/letters --beams 2 --seed 1", "--beams draws nothing"),
        ("sample {}/letters --beams 2 --number 3", "beams=2 must be at least 3"),
        ("eval {}/none kjv", "no model"),
        (
            "eval {}/letters nowhere",
            "no text 'nowhere': there is no such file, and the",
        ),
        ("eval {}/letters kjv:middle", "the part must be one of train, validation"),
        ("eval {}/letters {}/junk", "{}/junk must be text in UTF-8"),
        ("eval {}/letters {}/odd.txt", "'x' (piece 4 of the text) is not in the"),
        ("eval {}/letters kjv --characters -5", "characters=-5 must be at least 1"),
        ("eval {}/letters {}/short.txt", "it must have two at least"),
    ],
)
def test_complaints_are_plain_and_on_stderr(odd, monkeypatch, words, message):
    texts = {"train": "abc", "validation": "abc", "test": "abc"}
    monkeypatch.setattr("unrolled.data.corpora.kjv.kjv_text", lambda: Splits(**texts))
    result = call(*words.replace("{}", str(odd)).split())
    assert result.exit_code == 1
    assert message.replace("{}", str(odd)) in result.stderr
    assert result.stdout == ""


def test_ctrl_c_ends_the_line_and_says_130(path, monkeypatch):
    def stopped(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(GPT, "step", stopped)
    result = call("sample", path, "--prompt", "abc", "--seed", 0)
    assert result.exit_code == 130
    assert re.fullmatch(r"abc[a-h \n]\n", result.stdout)


def test_smollm2_is_put_together_from_its_model_and_its_tokens(monkeypatch):
    tokens = ("<|endoftext|>", "<|im_end|>", *"abc", "ab")
    stored = type("", (), {})()
    stored.tokens, stored.merges = tokens, (("a", "b"),)
    stored.special, stored.unknown = (0, 1), 0
    model = GPT(GPTConfig(n_tokens=6, **SIZES))
    holder = type("", (), {"tokenizer": stored})
    monkeypatch.setattr("unrolled.data.corpora.smollm2.smollm2", lambda: holder)
    monkeypatch.setattr("unrolled.models.llama.load_smollm2", lambda: model)
    found, tokenizer = finding.find_model("smollm2")
    assert found is model
    assert tokenizer.encode("abc") == [5, 4]
    assert call("sample", "smollm2", "--prompt", "cab").exit_code == 0


def test_as_a_program(path):
    words = [
        "sample",
        str(path),
        "--prompt",
        "abc",
        "--tokens",
        "4",
        "--temperature",
        "0",
    ]
    done = subprocess.run(
        [sys.executable, "-m", "unrolled", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == written(path, "abc", 4) + "\n"


@pytest.mark.slow
def test_smollm2_knows_the_capital_of_france():
    how = ("--prompt", "The capital of France is", "--temperature", 0, "--tokens", 3)
    result = call("sample", "smollm2", *how)
    assert result.stdout.startswith("The capital of France is Paris")
