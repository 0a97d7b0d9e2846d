"""Special tokens in a text: they are found where they are allowed, and only there.

What spells a special token is by default text like any other: else whoever writes a
text could end it, or speak in the name of somebody else. (tiktoken refuses such a text
until told what to do; ``encode_ordinary`` is its word for our default.) Those that are
meant are named by ``allowed_special``, as in tiktoken. A text is searched from left to
right, and where several begin at one place, the longest is taken, as Hugging Face does.
What stands between two is then cut into pieces as a text by itself.
"""

import re
from collections.abc import Collection, Iterator, Sequence

ALL = "all"


def split_specials(
    text: str, specials: Sequence[str], allowed_special: Collection[str]
) -> Iterator[tuple[str, bool]]:
    """Yield the parts of a text in their order, and whether each is a special token.

    ``allowed_special`` holds those to be found, of ``specials``, or is "all".
    """
    allowed = _check_allowed(specials, allowed_special)
    if not allowed:
        yield text, False
        return
    longest_first = sorted(allowed, key=len, reverse=True)
    pattern = "|".join(map(re.escape, longest_first))
    for place, part in enumerate(re.split(f"({pattern})", text)):
        yield part, place % 2 == 1


def _check_allowed(
    specials: Sequence[str], allowed_special: Collection[str]
) -> Collection[str]:
    """Return the specials that are allowed, if they are such."""
    known = [special for special in specials if special]  # "" would be everywhere
    if allowed_special == ALL:
        return known
    if isinstance(allowed_special, str):
        raise ValueError(
            f"{allowed_special=} must be 'all' or a collection, such as "
            f"{{{allowed_special!r}}}"
        )
    for special in allowed_special:
        if special not in known:
            raise ValueError(
                f"allowed_special has {special!r}, which must be one of {known}"
            )
    return allowed_special
