"""MiniLM: real weights in our own BERT, and the vector of a sentence.

Axes: B sentences, T position, D model width.
"""

import torch.nn.functional as F
from torch import Tensor

from unrolled.data.corpora.minilm import MiniLMConfig, minilm
from unrolled.layers.pooling import mean_state
from unrolled.models.bert import BERT, BERTConfig


def load_minilm() -> BERT:
    """Return the encoder with its 22.7 million learnt numbers, ready to use.

    It is in evaluation mode, so that nothing is dropped. The pooler of the file is left
    there: whoever made the sentence encoder did not use it.
    """
    stored = minilm()
    return BERT.from_weights(bert_config(stored.config), stored.weights).eval()


def bert_config(sizes: MiniLMConfig) -> BERTConfig:
    """Return the sizes of MiniLM as those of a BERT."""
    if sizes.activation != "gelu":
        raise ValueError(f"activation={sizes.activation!r} must be 'gelu'")
    return BERTConfig(
        n_tokens=sizes.n_tokens,
        d_model=sizes.d_model,
        n_heads=sizes.n_heads,
        n_layers=sizes.n_layers,
        d_inner=sizes.d_feedforward,
        n_positions=sizes.n_positions,
        n_types=sizes.n_segments,
        eps=sizes.norm_eps,
        p_drop=sizes.p_dropout,
        p_drop_attention=sizes.p_dropout,
    )


def sentence_vectors(states: Tensor, mask: Tensor) -> Tensor:
    r"""Return the vectors of sentences, (B, D): the mean of their tokens', of length 1.

    .. math:: \mathbf{s} = \frac{\bar{\mathbf{h}}}{\lVert \bar{\mathbf{h}} \rVert},
        \qquad \bar{\mathbf{h}} = \frac{1}{T} \sum_{t=1}^{T} \mathbf{h}_t

    T is how many are real. The product of two of them is the cosine of their angle.

    Args:
        states: what the tokens became, (B, T, D).
        mask: which of them are real, (B, T).
    """
    return F.normalize(mean_state(states, mask), dim=-1)  # (B, T, D) -> (B, D)
