"""Tokenizers: ours, in Python alone, against Hugging Face's, in Rust, on one thread.

Both cut the text by the same regular expression first. Theirs keep track of places in
the text, which ours do not; and on many threads theirs would gain, ours would not.
"""

import os

os.environ["TOKENIZERS_PARALLELISM"] = "false"  # before the library looks

from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from bench.measure import Case, Step
from unrolled.data.corpora.kjv import kjv_text
from unrolled.data.corpora.minilm import FOLDER, SOURCE, minilm_tokens
from unrolled.data.fetch.store import open_source
from unrolled.data.tokens.bpe import PIECES, BytePairs
from unrolled.data.tokens.bpe_training import train_bpe
from unrolled.data.tokens.wordpiece import WordPiece

N_TOKENS = 8192


def byte_level() -> Tokenizer:
    """Return an untrained tokenizer of theirs that cuts a text as ours does."""
    found = Tokenizer(models.BPE())
    cut = pre_tokenizers.Split(Regex(PIECES.pattern), "isolated")
    spell = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
    found.pre_tokenizer = pre_tokenizers.Sequence([cut, spell])
    return found


def train_theirs(lines: list[str], n_tokens: int) -> Tokenizer:
    """Return their tokenizer, trained as ours is."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=n_tokens,
        min_frequency=2,
        initial_alphabet=alphabet,
        show_progress=False,
    )
    found = byte_level()
    found.train_from_iterator(lines, trainer)
    return found


def minilm() -> tuple[WordPiece, Tokenizer]:
    """Return MiniLM's tokenizer, ours and theirs."""
    with open_source(SOURCE) as archive:
        theirs = Tokenizer.from_str(archive.read(FOLDER + "tokenizer.json").decode())
    theirs.no_padding()
    theirs.no_truncation()
    return WordPiece(tokens=minilm_tokens()), theirs


def encode_theirs(tokenizer: Tokenizer, lines: list[str]) -> list[list[int]]:
    """Return the ids of lines in their fastest way."""
    return [found.ids for found in tokenizer.encode_batch_fast(lines)]


def token_cases() -> list[Case]:
    """Compare training and encoding on the King James Bible, whole."""
    parts = kjv_text()
    text = parts.train + parts.validation + parts.test
    lines = text.splitlines(keepends=True)
    ours, theirs = train_bpe(text, N_TOKENS), train_theirs(lines, N_TOKENS)
    ours_piece, theirs_piece = minilm()
    found: dict[str, tuple[Step, Step]] = {}
    for n in (N_TOKENS // 2, N_TOKENS):
        found[f"BPE, {n} tokens learnt from {len(text) / 1e6:.1f} M characters"] = (
            lambda n=n: train_bpe(text, n),
            lambda n=n: train_theirs(lines, n),
        )
    found["BPE, encoding, by an encoder that has seen nothing yet"] = (
        lambda: BytePairs(merges=ours.merges).encode(text),
        lambda: encode_theirs(Tokenizer.from_str(theirs.to_str()), lines),
    )
    found["BPE, encoding, by an encoder that remembers"] = (
        lambda: [ours.encode(line) for line in lines],
        lambda: encode_theirs(theirs, lines),
    )
    found["WordPiece, encoding"] = (
        lambda: [ours_piece.encode(line) for line in lines],
        lambda: encode_theirs(theirs_piece, lines),
    )
    return [
        Case(what=what, against="Hugging Face tokenizers", ours=ours, theirs=theirs)
        for what, (ours, theirs) in found.items()
    ]
