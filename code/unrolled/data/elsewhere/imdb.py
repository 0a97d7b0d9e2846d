"""Film reviews with stars: the 50,000 of Maas and others, read out of their archive."""

import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from unrolled.data.fetch.archives import OpenArchive
from unrolled.data.fetch.home_files import Home, files_in
from unrolled.data.fetch.homes import home_file
from unrolled.data.splits import Splits, part_of

IMDB = Home(
    name="imdb",
    files=files_in(
        "https://ai.stanford.edu/~amaas/data/sentiment",
        """aclImdb_v1.tar.gz 84125825
        c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe""",
    ),
    licence="none stated; the reviews are their authors', collected for research",
    citation="A. L. Maas et al., Learning Word Vectors for Sentiment, ACL 2011",
)
_REVIEW = re.compile(r"aclImdb/(?P<part>train|test)/(?P<side>pos|neg)/(\d+)_(\d+)\.txt")
_BREAK = re.compile(r"\s*(?:<br />\s*)+")


@dataclass(frozen=True, kw_only=True, slots=True)
class Review:
    """A review, the stars its author gave (1 to 4, 7 to 10) and the film's id."""

    text: str
    stars: int
    film: str

    @property
    def is_positive(self) -> bool:
        """Say whether the stars are 7 or more; reviews of 5 and 6 are in no part."""
        return self.stars >= 7


def imdb() -> Splits[tuple[Review, ...]]:
    """Return the official train and test, half of each positive.

    They share no film. Validation, which the home does not have, is a tenth of the
    films of train. The 50,000 reviews without stars are left out.
    """
    return _read(home_file(IMDB, "aclImdb_v1.tar.gz"))


@cache
def _read(path: Path) -> Splits[tuple[Review, ...]]:
    parts: dict[str, list[Review]] = {"train": [], "validation": [], "test": []}
    with OpenArchive(path, label=path.name) as archive:
        # in the archive's order: to go back in a compressed tar is to start over
        found = [match for match in map(_REVIEW.fullmatch, archive.names()) if match]
        films = {
            (part, side): _films(archive.read(f"aclImdb/{part}/urls_{side}.txt"))
            for part, side in sorted({(m["part"], m["side"]) for m in found})
        }
        for match in found:
            film = films[match["part"], match["side"]][int(match[3])]
            text = _BREAK.sub("\n", archive.read(match[0]).decode("utf-8"))
            review = Review(text=text.strip(), stars=int(match[4]), film=film)
            held_out = match["part"] == "train" and part_of(film) == "validation"
            parts["validation" if held_out else match["part"]].append(review)
    return Splits(**{part: tuple(reviews) for part, reviews in parts.items()})


def _films(addresses: bytes) -> list[str]:
    """Return the film on each line: line n, from 0, is that of the review with id n."""
    return re.findall(r"/title/(tt\d+)", addresses.decode("ascii"))
