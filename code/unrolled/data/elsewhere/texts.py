"""Two running texts that papers and courses share: tiny Shakespeare and WikiText-2."""

from functools import cache
from pathlib import Path

from unrolled.data.fetch.home_files import Home, from_git, from_hub
from unrolled.data.fetch.homes import home_file
from unrolled.data.splits import PARTS, Splits

TINY_SHAKESPEARE = Home(
    name="tiny_shakespeare",
    files=from_git(
        "karpathy/char-rnn",
        "6f9487a6fe5b420b7ca9afb0d7c078e37c1d1b4e",
        "data/tinyshakespeare",
        """input.txt 1115394
        86c4e6aa9db7c042ec79f339dcb96d42b0075e16b8fc2e86bf0ca57e2dc565ed""",
    ),
    licence="MIT (repository); the plays are in the public domain",
    citation="A. Karpathy, char-rnn, 2015; William Shakespeare, 40,000 lines",
)
WIKITEXT2 = Home(
    name="wikitext2",
    files=from_hub(
        "datasets/Salesforce/wikitext",
        "b08601e04326c79dfdd32d625aee71d232d685c3",
        "wikitext-2-raw-v1",
        """train-00000-of-00001.parquet 6357543
        e83889baabc497075506f91975be5fac0d45c5290b6b20582c8cd1e853d0c9f7
        validation-00000-of-00001.parquet 657209
        204929b7ff9d6184953f867dedb860e40aa69c078fc1e54b3baaa8fb28511c4c
        test-00000-of-00001.parquet 732610
        5f1bea067869d04849c0f975a2b29c4ff47d867f484f5010ea5e861eab246d91""",
    ),
    licence="CC BY-SA 3.0 and GFDL",
    citation="S. Merity et al., Pointer Sentinel Mixture Models, ICLR 2017",
)


def tiny_shakespeare() -> Splits[str]:
    """Return 1.1 million characters of plays, cut in order at 90 % and at 95 %.

    Its home gives one file and no division; this is the one TensorFlow Datasets made.
    """
    text = home_file(TINY_SHAKESPEARE, "input.txt").read_text(encoding="utf-8")
    first, second = len(text) * 90 // 100, len(text) * 95 // 100
    return Splits(train=text[:first], validation=text[first:second], test=text[second:])


def wikitext2() -> Splits[str]:
    """Return WikiText-2 (raw): good articles of Wikipedia, divided by article.

    A heading is a line such as ``= Title =``. Nothing is replaced by ``<unk>``, but
    words stand apart from their punctuation and ``@-@`` is a hyphen.
    """
    return Splits(**{part: _parquet(_rows(part)) for part in PARTS})


def _rows(part: str) -> Path:
    return home_file(WIKITEXT2, f"{part}-00000-of-00001.parquet")


@cache
def _parquet(path: Path) -> str:
    """Return the lines of a part; the home keeps a blank line as an empty string."""
    import pyarrow.parquet as pq  # heavy: only when asked

    lines = pq.read_table(path, columns=["text"]).column("text").to_pylist()
    return "".join(line or " \n" for line in lines)
