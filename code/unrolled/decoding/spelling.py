"""Text while it is being written: ids come one by one, characters as soon as they can.

A token may be a part of a character, and how a word is set (is there a space before
it?) may depend on the one before. So the text is what decoding adds with one id more.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence

UNREADABLE = "\ufffd"  # what decoding shows for half a character
CONTEXT = 8  # tokens before the new one that its spelling may depend on

Decode = Callable[[Sequence[int]], str]


def spell_on(
    decode: Decode, ids: Iterable[int], *, before: Sequence[int] = ()
) -> Iterator[str]:
    """Yield what each id adds to the text of those ``before`` it.

    All that is yielded, joined, is what ``decode`` adds to its text for all ids.
    """
    known = list(before)[-CONTEXT:]
    shown = decode(known)
    for new in ids:
        known.append(new)
        text = decode(known)
        if text.endswith(UNREADABLE):  # the rest of the character may come
            continue
        yield text[len(shown) :]
        known = known[-CONTEXT:]
        shown = decode(known)
    if rest := decode(known)[len(shown) :]:
        yield rest
