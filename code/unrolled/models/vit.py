r"""Vision Transformer: an image is read as a text, whose words are its patches.

Axes: B batch, T positions, D model width, H heads, K head width, L layers, O classes.
Pixels are (B, channels, height, width). The patches are counted row by row, N in all;
before them stands a token of no patch, which is there to be read, so T is N + 1.
"""

from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from unrolled.layers.attention import MultiHeadAttention
from unrolled.layers.blocks import PreNormBlock
from unrolled.layers.feed_forward import FeedForward
from unrolled.layers.norms import LayerNorm
from unrolled.layers.positions import LearnedPositions
from unrolled.models import hf_vit
from unrolled.models.encoders import start_small
from unrolled.models.hf_names import (
    hugging_face,
    read_weights,
    settings_of,
    write_weights,
)
from unrolled.shapes import at_least, check_dtype, check_rates, check_shape


@dataclass(frozen=True, kw_only=True, slots=True)
class ViTConfig:
    """The sizes of a :class:`ViT`, for square images cut into square patches.

    ``n_classes`` is for a :class:`ViTClassifier`.
    """

    image_size: int
    patch_size: int
    n_channels: int
    d_model: int
    n_heads: int
    n_layers: int
    d_inner: int
    n_classes: int | None = None
    eps: float = 1e-12
    p_drop: float = 0.0
    p_drop_attention: float = 0.0

    def __post_init__(self) -> None:
        at_least(1, image_size=self.image_size, patch_size=self.patch_size)
        at_least(1, n_channels=self.n_channels, d_model=self.d_model)
        at_least(1, n_heads=self.n_heads, n_layers=self.n_layers, d_inner=self.d_inner)
        check_rates(p_drop=self.p_drop, p_drop_attention=self.p_drop_attention)
        if self.image_size % self.patch_size:
            raise ValueError(
                f"image_size={self.image_size} must be a multiple of "
                f"patch_size={self.patch_size}"
            )
        if self.n_classes is not None:
            at_least(2, n_classes=self.n_classes)

    @property
    def n_patches(self) -> int:
        """Return N, how many patches an image has."""
        return (self.image_size // self.patch_size) ** 2


def patchify(pixels: Tensor, patch_size: int) -> Tensor:
    """Cut images (B, channels, height, width) into rows of square patches.

    Each of the N patches is one vector of channels × patch_size × patch_size numbers:
    all of the first channel, row by row, then those of the next.
    """
    check_shape("pixels", pixels, "B channels height width")
    at_least(1, patch_size=patch_size)
    height, width = pixels.shape[2:]
    if height % patch_size or width % patch_size:
        raise ValueError(f"{height=} and {width=} must be multiples of {patch_size=}")
    cut = pixels.unfold(2, patch_size, patch_size).unfold(3, patch_size, patch_size)
    # (B, channels, down, across, patch_size, patch_size): the channels go to the patch
    return cut.permute(0, 2, 3, 1, 4, 5).flatten(start_dim=3).flatten(1, 2)


class ViT(nn.Module):
    r"""Patches become vectors that know the rest of the image.

    .. math::

        \mathbf{X} = [\mathbf{c}; \; \operatorname{patches} \mathbf{W} + \mathbf{b}]
            + \mathbf{P}

    and then one :class:`~unrolled.layers.blocks.PreNormBlock` after the other, and a
    norm. The product with W is a convolution whose stride is as wide as its kernel.
    """

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        self.config = config
        d_patch = config.n_channels * config.patch_size**2
        self.patches = nn.Linear(d_patch, config.d_model)
        self.first = nn.Parameter(0.02 * torch.randn(config.d_model))
        self.positions = LearnedPositions(1 + config.n_patches, config.d_model)
        self.drop = nn.Dropout(config.p_drop)
        self.blocks = nn.ModuleList(_block(config) for _ in range(config.n_layers))
        self.norm = LayerNorm(config.d_model, eps=config.eps)
        start_small(self)

    def forward(self, pixels: Tensor) -> Tensor:
        """Map ``pixels`` (B, channels, height, width) to (B, T, D)."""
        x = self.look_up(pixels)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)

    def states(self, pixels: Tensor) -> list[Tensor]:
        """Return what goes into the first block and comes out of each, (B, T, D).

        There are L + 1; calling the model gives the norm of the last.
        """
        states = [self.look_up(pixels)]
        for block in self.blocks:
            states.append(block(states[-1]))
        return states

    def weights(self, pixels: Tensor) -> list[Tensor]:
        """Return what each head of each layer looks at: L weights (B, H, T, T)."""
        pairs: Any = zip(self.blocks, self.states(pixels)[:-1], strict=True)
        return [block.attention.weights(block.norm_1(x)) for block, x in pairs]

    def look_up(self, pixels: Tensor) -> Tensor:
        """Return the first token and the patches with their positions, (B, T, D)."""
        size = self.config.image_size
        check_shape(
            "pixels",
            pixels,
            "B channels height width",
            channels=self.config.n_channels,
            height=size,
            width=size,
        )
        check_dtype("pixels", pixels, self.patches.weight)
        x = self.patches(patchify(pixels, self.config.patch_size))  # (B, N, D)
        first = self.first.expand(len(x), 1, -1)
        return self.drop(torch.cat([first, x], dim=1) + self.positions.table)

    @classmethod
    def from_hf(cls, module: nn.Module) -> Self:
        """Return our twin of a ``ViTModel``, which may be inside another module.

        A pooler is left behind.
        """
        config = ViTConfig(**hf_vit.sizes(settings_of(module)))
        base: Any = getattr(module, "base_model", module)
        with torch.device("meta"):  # draw nothing
            model = cls(config)
        read_weights(model, hf_vit.table(config.n_layers), base.state_dict())
        return model.train(module.training)

    def to_hf(self) -> Any:
        """Return Hugging Face's twin, a ``ViTModel`` without pooler."""
        hf, settings = hugging_face(), hf_vit.settings(asdict(self.config))
        twin = hf.ViTModel(hf.ViTConfig(**settings), add_pooling_layer=False)
        return write_weights(self, hf_vit.table(self.config.n_layers), twin)


class ViTClassifier(nn.Module):
    """What is in the image? The answer is read from the first token."""

    def __init__(self, config: ViTConfig) -> None:
        super().__init__()
        if config.n_classes is None:
            raise ValueError("n_classes=None must be a number, to classify images")
        self.config = config
        self.vit = ViT(config)
        self.out = start_small(nn.Linear(config.d_model, config.n_classes))

    def forward(self, pixels: Tensor) -> Tensor:
        """Return scores (B, O) for ``pixels`` (B, channels, height, width)."""
        scores: Tensor = self.out(self.vit(pixels)[:, 0])
        return scores


def _block(config: ViTConfig) -> PreNormBlock:
    d_model, p_drop = config.d_model, config.p_drop_attention
    return PreNormBlock(
        MultiHeadAttention(d_model, config.n_heads, p_drop=p_drop),
        FeedForward(d_model, config.d_inner, F.gelu),
        norm=partial(LayerNorm, eps=config.eps),
        p_drop=config.p_drop,
    )
