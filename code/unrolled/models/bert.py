r"""BERT: every word reads all the others, to its left and to its right.

Axes: B batch, T position, V vocabulary, D model width, H heads, K head width, L layers.
The sum of three rows (which token, which position, which of two texts) goes through L
blocks that normalise last. RoBERTa has the same shape; it was trained otherwise.

A mask (B, T) of real tokens is True where there is one. What is padding is read by
nobody; what it becomes itself means nothing.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.attention import MultiHeadAttention
from unrolled.layers.blocks import PostNormBlock
from unrolled.layers.feed_forward import FeedForward
from unrolled.layers.norms import LayerNorm
from unrolled.layers.positions import LearnedPositions
from unrolled.models import hf_bert
from unrolled.models.encoders import start_small, visible
from unrolled.models.hf_names import (
    hugging_face,
    read_weights,
    settings_of,
    write_weights,
)
from unrolled.shapes import at_least, check_rates, check_shape


@dataclass(frozen=True, kw_only=True, slots=True)
class BERTConfig:
    """The sizes of a :class:`BERT`; the usual ones are those of the paper's.

    ``n_positions`` is the length of the longest text. In the table of positions,
    ``first_position`` rows come before them that no token has: RoBERTa has two, of its
    habit to count on from the id of padding, which is 1.
    """

    n_tokens: int
    d_model: int
    n_heads: int
    n_layers: int
    d_inner: int
    n_positions: int
    n_types: int = 2
    eps: float = 1e-12
    p_drop: float = 0.1
    p_drop_attention: float = 0.1
    first_position: int = 0

    def __post_init__(self) -> None:
        at_least(1, n_tokens=self.n_tokens, d_model=self.d_model, n_heads=self.n_heads)
        at_least(1, n_layers=self.n_layers, d_inner=self.d_inner, n_types=self.n_types)
        at_least(1, n_positions=self.n_positions)
        at_least(0, first_position=self.first_position)
        check_rates(p_drop=self.p_drop, p_drop_attention=self.p_drop_attention)


class BERT(nn.Module):
    r"""Tokens become vectors that know their neighbours.

    .. math::

        \mathbf{X} = \operatorname{LN}(\mathbf{E}[\text{tokens}]
            + \mathbf{P}[\text{positions}] + \mathbf{S}[\text{types}])

    and then one :class:`~unrolled.layers.blocks.PostNormBlock` after the other, with
    the exact GELU. What reads the result is in ``unrolled.models.bert_heads``.
    """

    def __init__(self, config: BERTConfig) -> None:
        super().__init__()
        self.config = config
        n_rows = config.first_position + config.n_positions
        self.embed = nn.Embedding(config.n_tokens, config.d_model)
        self.positions = LearnedPositions(n_rows, config.d_model)
        self.types = nn.Embedding(config.n_types, config.d_model)
        self.norm = LayerNorm(config.d_model, eps=config.eps)
        self.drop = nn.Dropout(config.p_drop)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.n_layers))
        start_small(self)

    def forward(
        self,
        ids: Tensor,
        mask: Tensor | None = None,
        types: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Return what the tokens become, (B, T, D).

        Args:
            ids: the tokens (B, T).
            mask: which of them are real, (B, T); None is all.
            types: 0 for the first of two texts, 1 for the second (B, T); None is 0.
            positions: whole numbers from 0, (T,) or (B, T); None counts from the left.
        """
        x, real = self.look_up(ids, types, positions), visible(mask, ids)
        for block in self.blocks:
            x = block(x, real)
        return x

    def states(
        self, ids: Tensor, mask: Tensor | None = None, **named: Tensor | None
    ) -> list[Tensor]:
        """Return what goes into the first block and comes out of each: L + 1 states.

        All are (B, T, D), and the last is what calling the model gives. ``types`` and
        ``positions`` may be ``named``.
        """
        states, real = [self.look_up(ids, **named)], visible(mask, ids)
        for block in self.blocks:
            states.append(block(states[-1], real))
        return states

    def weights(
        self, ids: Tensor, mask: Tensor | None = None, **named: Tensor | None
    ) -> list[Tensor]:
        """Return what each head of each layer looks at: L weights (B, H, T, T)."""
        real, states = visible(mask, ids), self.states(ids, mask, **named)
        pairs: Any = zip(self.blocks, states[:-1], strict=True)
        return [block.attention.weights(x, real) for block, x in pairs]

    def look_up(
        self,
        ids: Tensor,
        types: Tensor | None = None,
        positions: Tensor | None = None,
    ) -> Tensor:
        """Return the normalised sum of three rows for each token, (B, T, D)."""
        check_shape("ids", ids, "B T")
        n_steps, longest = ids.shape[1], self.config.n_positions
        if n_steps > longest:
            raise ValueError(f"ids has T={n_steps}, above {longest=}: cut the texts")
        if positions is None:
            positions = torch.arange(n_steps, device=ids.device)
        types = torch.zeros_like(ids) if types is None else types
        check_shape("types", types, "B T", B=ids.shape[0], T=n_steps)
        if positions.shape not in (ids.shape, ids.shape[1:]):
            raise ValueError(
                f"positions must be (T,) or (B, T), for ids of shape "
                f"{tuple(ids.shape)}; its shape is {tuple(positions.shape)}"
            )
        rows = self.positions(positions + self.config.first_position)
        return self.drop(self.norm(self.embed(ids) + self.types(types) + rows))

    @classmethod
    def from_weights(cls, config: BERTConfig, weights: Mapping[str, Tensor]) -> Self:
        """Return a BERT with copies of ``weights``, named as Hugging Face names them.

        Such are those of ``unrolled.data.corpora.minilm``.
        """
        with torch.device("meta"):  # draw nothing
            model = cls(config)
        return read_weights(model, hf_bert.encoder_table(config.n_layers), weights)

    @classmethod
    def from_hf(cls, module: nn.Module) -> Self:
        """Return our twin of a ``BertModel`` or ``RobertaModel``.

        It may be inside another module, such as a ``BertForMaskedLM``. A pooler is left
        behind: here it belongs to the heads that use one.
        """
        config = BERTConfig(**hf_bert.sizes(settings_of(module)))
        base: Any = getattr(module, "base_model", module)
        return cls.from_weights(config, base.state_dict()).train(module.training)

    def to_hf(self) -> Any:
        """Return Hugging Face's twin, without pooler.

        It is a ``RobertaModel`` where positions start after padding's id, and else a
        ``BertModel``.
        """
        hf, settings = hugging_face(), hf_bert.settings(asdict(self.config))
        if self.config.first_position:
            twin = hf.RobertaModel(
                hf.RobertaConfig(**settings), add_pooling_layer=False
            )
        else:
            twin = hf.BertModel(hf.BertConfig(**settings), add_pooling_layer=False)
        return write_weights(self, hf_bert.encoder_table(self.config.n_layers), twin)


def _block(config: BERTConfig) -> PostNormBlock:
    d_model, p_drop = config.d_model, config.p_drop_attention
    return PostNormBlock(
        MultiHeadAttention(d_model, config.n_heads, p_drop=p_drop),
        FeedForward(d_model, config.d_inner, F.gelu),
        norm=partial(LayerNorm, eps=config.eps),
        p_drop=config.p_drop,
    )
