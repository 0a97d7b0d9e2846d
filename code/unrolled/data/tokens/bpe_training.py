"""Learning the merges of a byte-pair encoding from a text.

Each step merges the pair of neighbours that comes most often. A recount of the whole
text at every step would take an hour for a book; three things make it seconds. Equal
pieces are merged alike, so each is kept once, with its count. A merge changes only the
pieces that hold the pair, so an index of pieces by pair says where to look. And a new
pair always holds the new token, so the count of an older pair can only fall: a heap of
old counts needs no cleaning, for an entry that is too high when it comes to the top
goes back with the right count.

Ties are many, above all among rare pairs. Of pairs that come equally often, that of the
oldest tokens is merged: of the smallest left part by id (bytes by their value, then
merges in their order), and of those of the smallest right part. So the merges depend on
what pieces a text has, not on their order. Hugging Face's trainer has the same rule;
with others, such as the first pair met, the merges after a tie may be quite different.

No two merges spell the same token. Boundaries between tokens only ever go away; so what
lies between two that are still there was always merged as if it stood alone, and hence
everywhere in the same way.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import islice, pairwise

from unrolled.data.tokens.bpe import N_BYTES, PIECES, BytePairs, merge, to_bytes

Pair = tuple[int, int]


class _Pieces:
    """The different pieces of a text as token numbers, and the pairs in them."""

    def __init__(self, text: str) -> None:
        counted = Counter(PIECES.findall(text))
        self.pieces = [list(to_bytes(piece)) for piece in counted]
        self.times = list(counted.values())
        self.totals: defaultdict[Pair, int] = defaultdict(int)
        self.places: defaultdict[Pair, set[int]] = defaultdict(set)
        for place, (piece, n) in enumerate(zip(self.pieces, self.times, strict=True)):
            for pair in pairwise(piece):
                self.totals[pair] += n
                self.places[pair].add(place)

    def merge(self, pair: Pair, both: int) -> set[Pair]:
        """Merge a pair everywhere; return the pairs that are new."""
        totals, places, found = self.totals, self.places, set()
        for place in places.pop(pair):
            old, n = self.pieces[place], self.times[place]
            new = self.pieces[place] = merge(old, *pair, both)
            if len(new) == len(old):  # an earlier merge took one of the two away
                continue
            for p in pairwise(old):
                totals[p] -= n
            for p in pairwise(new):
                totals[p] += n
                if both in p:
                    found.add(p)
                    places[p].add(place)
        return found


def learn_merges(
    text: str, *, min_count: int = 2
) -> Iterator[tuple[bytes, bytes, int]]:
    """Yield merges as they are learnt, each with the count that it had.

    Of pairs that come equally often, the one of the oldest tokens is merged: smallest
    left part, then smallest right part, by id (bytes by value, then merges in order).
    Nothing is merged that comes less than ``min_count`` times. What spells a special
    token is text to learn from like any other.
    """
    if min_count < 1:
        raise ValueError(f"{min_count=} must be at least 1")
    known = _Pieces(text)
    tokens = [bytes([byte]) for byte in range(N_BYTES)]
    heap = [(-n, pair) for pair, n in known.totals.items()]
    heapq.heapify(heap)
    while heap:
        counted, pair = heapq.heappop(heap)
        n = known.totals[pair]
        if n < min_count:
            continue
        if n < -counted:
            heapq.heappush(heap, (-n, pair))
            continue
        left, right = tokens[pair[0]], tokens[pair[1]]
        for new in known.merge(pair, len(tokens)):
            heapq.heappush(heap, (-known.totals[new], new))
        tokens.append(left + right)
        yield left, right, n


def train_bpe(
    text: str, n_tokens: int, *, min_count: int = 2, specials: Iterable[str] = ()
) -> BytePairs:
    """Return a byte-pair encoding of ``n_tokens``: specials, bytes and merges.

    There are fewer if no pair is left that comes ``min_count`` times: ask ``len``.
    """
    specials = tuple(specials)
    n_merges = n_tokens - N_BYTES - len(specials)
    if n_merges < 0:
        least = N_BYTES + len(specials)
        raise ValueError(
            f"{n_tokens=} must be at least {least}: {N_BYTES} bytes and "
            f"{len(specials)} specials"
        )
    learnt = islice(learn_merges(text, min_count=min_count), n_merges)
    merges = tuple((left, right) for left, right, _ in learnt)
    return BytePairs(merges=merges, specials=specials)
