"""What reads a BERT: a head for each kind of question.

Answers that are parts of a text have theirs in ``unrolled.models.bert_spans``.

Axes: B batch, T position, V vocabulary, D model width, O classes. A head holds the BERT
that it reads, and is called with what that is called with. Two heads may hold the same
one; its work is then done once by::

    states = bert(ids, mask, types)
    words, follows = masked_lm.read(states), next_sentence.read(states)
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.norms import LayerNorm
from unrolled.models import hf_bert
from unrolled.models.bert import BERT, BERTConfig
from unrolled.models.encoders import start_small
from unrolled.models.hf_names import (
    Table,
    check_settings,
    hugging_face,
    read_weights,
    settings_of,
    write_weights,
)
from unrolled.shapes import at_least

Given = Tensor | None


class MaskedLM(nn.Module):
    r"""Which token stands here? The scores are products with the tokens' own rows.

    .. math::

        \mathbf{o}_t = \operatorname{LN}(\operatorname{gelu}(\mathbf{h}_t \mathbf{W}
            + \mathbf{b})) \, \mathbf{E}^\top + \mathbf{c}
    """

    def __init__(self, bert: BERT) -> None:
        super().__init__()
        d_model, n_tokens = bert.config.d_model, bert.config.n_tokens
        self.transform = start_small(nn.Linear(d_model, d_model))
        self.norm = LayerNorm(d_model, eps=bert.config.eps)
        self.bias = nn.Parameter(torch.zeros(n_tokens))
        self.bert = bert

    def forward(self, ids: Tensor, *given: Given, **named: Given) -> Tensor:
        """Return scores (B, T, V) for all tokens at each position."""
        return self.read(self.bert(ids, *given, **named))

    def read(self, states: Tensor) -> Tensor:
        """Return scores (..., V) for ``states`` (..., D), at chosen places perhaps."""
        x = self.norm(F.gelu(self.transform(states)))
        return F.linear(x, self.bert.embed.weight, self.bias)

    @classmethod
    def from_weights(cls, config: BERTConfig, weights: Mapping[str, Tensor]) -> Self:
        """Return encoder and head with ``weights``, as Hugging Face names them.

        Such are those of ``unrolled.data.elsewhere.pretrained.bert``.
        """
        with torch.device("meta"):  # draw nothing
            model = cls(BERT(config))
        return read_weights(model, model._table(), weights)

    @classmethod
    def from_hf(cls, module: nn.Module) -> Self:
        """Return our twin of a ``BertForMaskedLM`` or ``RobertaForMaskedLM``."""
        settings = settings_of(module)
        check_settings(settings, tie_word_embeddings=True)
        config = BERTConfig(**hf_bert.sizes(settings))
        return cls.from_weights(config, module.state_dict()).train(module.training)

    def to_hf(self) -> Any:
        """Return Hugging Face's twin: see ``BERT.to_hf`` for which."""
        hf, settings = hugging_face(), hf_bert.settings(asdict(self.bert.config))
        if self.bert.config.first_position:
            twin = hf.RobertaForMaskedLM(hf.RobertaConfig(**settings))
        else:
            twin = hf.BertForMaskedLM(hf.BertConfig(**settings))
        return write_weights(self, self._table(), twin)

    def _table(self) -> Table:
        config = self.bert.config
        roberta = config.first_position > 0
        return hf_bert.masked_lm_table(config.n_layers, roberta=roberta)


class Pooler(nn.Module):
    r"""One vector for a whole text: its first token's, through a layer of its own.

    .. math:: \mathbf{p} = \tanh(\mathbf{h}_1 \mathbf{W} + \mathbf{b})
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.W = start_small(nn.Linear(d_model, d_model))

    def forward(self, states: Tensor) -> Tensor:
        """Return (B, D) for ``states`` (B, T, D)."""
        return torch.tanh(self.W(states[:, 0]))


class NextSentence(nn.Module):
    """Does the second text follow the first? Score 0 says yes, as in BERT's code."""

    def __init__(self, bert: BERT) -> None:
        super().__init__()
        self.pooler = Pooler(bert.config.d_model)
        self.out = _classes(bert, 2)
        self.bert = bert

    def forward(self, ids: Tensor, *given: Given, **named: Given) -> Tensor:
        """Return two scores for each pair of texts, (B, 2)."""
        return self.read(self.bert(ids, *given, **named))

    def read(self, states: Tensor) -> Tensor:
        """Return two scores (B, 2) for ``states`` (B, T, D)."""
        scores: Tensor = self.out(self.pooler(states))
        return scores


class PooledClassifier(nn.Module):
    """Of which class is the text? The answer is read from the pooled first token."""

    def __init__(self, bert: BERT, n_classes: int) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.pooler = Pooler(bert.config.d_model)
        self.drop = nn.Dropout(bert.config.p_drop)
        self.out = _classes(bert, n_classes)
        self.bert = bert

    def forward(self, ids: Tensor, *given: Given, **named: Given) -> Tensor:
        """Return a score for each class, (B, O)."""
        return self.read(self.bert(ids, *given, **named))

    def read(self, states: Tensor) -> Tensor:
        """Return scores (B, O) for ``states`` (B, T, D)."""
        scores: Tensor = self.out(self.drop(self.pooler(states)))
        return scores


class TokenClassifier(nn.Module):
    """Of which class is each token? Every state is read by itself."""

    def __init__(self, bert: BERT, n_classes: int) -> None:
        super().__init__()
        self.n_classes = n_classes
        self.drop = nn.Dropout(bert.config.p_drop)
        self.out = _classes(bert, n_classes)
        self.bert = bert

    def forward(self, ids: Tensor, *given: Given, **named: Given) -> Tensor:
        """Return a score for each class at each position, (B, T, O)."""
        return self.read(self.bert(ids, *given, **named))

    def read(self, states: Tensor) -> Tensor:
        """Return scores (B, T, O) for ``states`` (B, T, D)."""
        scores: Tensor = self.out(self.drop(states))
        return scores


def _classes(bert: BERT, n_classes: int) -> nn.Linear:
    at_least(2, n_classes=n_classes)
    return start_small(nn.Linear(bert.config.d_model, n_classes))
