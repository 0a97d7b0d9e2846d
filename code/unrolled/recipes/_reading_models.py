"""The models of the reading tasks: a tagger, and judges of whole texts."""

from torch import Tensor, nn

from unrolled.data.corpora.tags import TAGS
from unrolled.layers.pooling import max_state
from unrolled.models.bag_classifier import BagClassifier, BagClassifierConfig
from unrolled.models.tdnn import TDNN, TDNNConfig
from unrolled.models.text_classifier import TextClassifier, TextClassifierConfig
from unrolled.models.token_tagger import TokenTagger, TokenTaggerConfig
from unrolled.recipes._reading_data import LONGEST

E, D, P_DROP = 32, 48, 0.3
WINDOW = 3  # words that the convolution sees at a time
JUDGES = ("bag", "convolution", "last", "mean", "attention", "side by side")


class SideBySide(nn.Module):
    """All states of a text, one after the other, before a single linear layer.

    A text must have a longest length; shorter ones end in zeros.
    """

    def __init__(self, n_tokens: int) -> None:
        super().__init__()
        config = TextClassifierConfig(
            n_tokens=n_tokens, d_embed=E, d_hidden=D, n_classes=2, cell="rnn"
        )
        self.reader = TextClassifier(config).reader
        self.drop = nn.Dropout(P_DROP)
        self.read = nn.Linear(LONGEST * D, 2)

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, 2) for ids (B, T), real where ``mask`` (B, T) is True."""
        states = self.drop(self.reader(ids, mask))  # (B, T, D)
        gap = LONGEST - states.shape[1]
        return self.read(nn.functional.pad(states, (0, 0, 0, gap)).flatten(1))


class Convolution(nn.Module):
    """What is found in any three words in a row, each at its strongest.

    It reads the order of words that are near one another, and of no others.
    """

    def __init__(self, n_tokens: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(n_tokens, E)
        self.drop = nn.Dropout(P_DROP)
        self.net = TDNN(
            TDNNConfig(
                d_in=E,
                n_classes=2,
                widths=(D,),
                n_delays=(WINDOW,),
                dilations=(1,),
                pooling="max",
            )
        )

    def forward(self, ids: Tensor, mask: Tensor | None = None) -> Tensor:
        """Return logits (B, 2) for ids (B, T), real where ``mask`` (B, T) is True."""
        lengths = None if mask is None else mask.sum(dim=1)
        found = self.net.features(self.drop(self.embed(ids)), lengths=lengths)
        return self.net.read(self.drop(max_state(found, mask)))


def build(model: str, n_tokens: int) -> nn.Module:
    """Return a judge before training."""
    if model == "bag":
        return BagClassifier(
            BagClassifierConfig(
                n_tokens=n_tokens, d_embed=E, n_classes=2, p_drop=P_DROP
            )
        )
    if model == "convolution":
        return Convolution(n_tokens)
    if model == "side by side":
        return SideBySide(n_tokens)
    return TextClassifier(
        TextClassifierConfig(
            n_tokens=n_tokens,
            d_embed=E,
            d_hidden=D,
            n_classes=2,
            cell="rnn",
            pooling=model,
            p_drop=P_DROP,
        )
    )


def build_tagger(n_tokens: int) -> TokenTagger:
    """Return a tagger before training."""
    return TokenTagger(
        TokenTaggerConfig(
            n_tokens=n_tokens,
            d_embed=E,
            d_hidden=D,
            n_tags=len(TAGS),
            cell="rnn",
            p_drop=P_DROP,
        )
    )
