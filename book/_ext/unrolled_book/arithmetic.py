"""Numbers that settle a slide by arithmetic alone, so that none is typed in the errata.

``{computed}`name``` prints one in the book's way, ``{computed}`name:.0%``` in another.
"""

import math

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging
from sphinx.util.docutils import SphinxRole

from unrolled.book.claims import pretty

LOG = logging.getLogger(__name__)


def bert_epochs(share_at_128: float) -> float:
    """Passes over BERT's corpus if this share of its steps has sequences of 128.

    A million steps of 256 sequences, at most 512 tokens each, over 3.3 billion words
    (Devlin and others 2019, appendix A.2), a token counted as a word.
    """
    tokens = 128 * share_at_128 + 512 * (1 - share_at_128)
    return 1_000_000 * 256 * tokens / 3.3e9


def window_starts(n_tokens: int, width: int, stride: int) -> list[int]:
    """Where windows start that begin at token 1 and move on by ``stride``."""
    return list(range(1, n_tokens - width + 2, stride))


def gated_weights(n_gates: int, d_input: int, d_hidden: int) -> int:
    """Weights of a gated layer in torch, which has two biases for each gate."""
    return n_gates * d_hidden * (d_input + d_hidden + 2)


def geometric_mean(values: list[float]) -> float:
    """Return the mean that multiplies where the usual one adds."""
    return math.exp(sum(map(math.log, values)) / len(values))


def feed_forward_share(d_model: int, d_inner: int) -> float:
    """Share of an encoder layer's matrices that is not attention's."""
    inner, attention = 2 * d_model * d_inner, 4 * d_model**2
    return inner / (inner + attention)


_STARTS = window_starts(n_tokens=50, width=5, stride=2)  # as the deck draws them

NUMBERS: dict[str, float] = {
    "epochs-all-long": bert_epochs(share_at_128=0.0),
    "epochs-mostly-short": bert_epochs(share_at_128=0.9),
    "windows": len(_STARTS),
    "last-window-starts": _STARTS[-1],
    "last-window-ends": _STARTS[-1] + 5 - 1,
    "pairs-in-a-window": 5 - 1,
    "lstm-weights": gated_weights(4, 64, 128),
    "gru-weights": gated_weights(3, 64, 128),
    "gru-share": gated_weights(3, 64, 128) / gated_weights(4, 64, 128),
    "choices": geometric_mean([10_000.0] * 7),
    "inverse-of-choices": 1 / geometric_mean([10_000.0] * 7),
    "feed-forward-share": feed_forward_share(d_model=512, d_inner=2048),
    "kept-by-0.9-over-100": 0.9**100,
    "dot-aligned-short": 1.0 * 1.0 * math.cos(0),
    "dot-oblique-long": 1.0 * 4.0 * math.cos(math.pi / 3),
}


class Computed(SphinxRole):
    """A number out of the arithmetic above."""

    def run(self) -> tuple[list[nodes.Node], list[nodes.system_message]]:
        """Print the number, or warn that there is none."""
        name, _, spec = self.text.partition(":")
        if name not in NUMBERS:
            LOG.warning(
                "no computed number %r", self.text, location=self.get_location()
            )
            return [nodes.problematic(text=self.text)], []
        return [
            nodes.inline(text=pretty(NUMBERS[name], spec), classes=["measured"])
        ], []


def setup(app: Sphinx) -> None:
    """Register the role."""
    app.add_role("computed", Computed())
