"""Hugging Face's names for the parts and the sizes of a Vision Transformer."""

from collections.abc import Mapping
from typing import Any

from unrolled.models.hf_names import Table, check_settings, inside, linear, norm

SIZES = {
    "image_size": "image_size",
    "patch_size": "patch_size",
    "n_channels": "num_channels",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_inner": "intermediate_size",
    "eps": "layer_norm_eps",
    "p_drop": "hidden_dropout_prob",
    "p_drop_attention": "attention_probs_dropout_prob",
}
BLOCK = {
    **norm("norm_1", "layernorm_before"),
    **linear("attention.W_qkv", *(f"attention.{x}_proj" for x in "qkv")),
    **linear("attention.W_o", "attention.o_proj"),
    **norm("norm_2", "layernorm_after"),
    **linear("feed_forward.W_1", "mlp.fc1"),
    **linear("feed_forward.W_2", "mlp.fc2"),
}


def sizes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a ``ViTConfig`` for the settings of their module."""
    check_settings(settings, model_type="vit", hidden_act="gelu", qkv_bias=True)
    for name in ("image_size", "patch_size"):
        if not isinstance(settings[name], int):
            raise ValueError(f"{name}={settings[name]!r} must be one number: a square")
    return {ours: settings[theirs] for ours, theirs in SIZES.items()}


def settings(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return their settings for the fields of a ``ViTConfig``."""
    return {theirs: sizes[ours] for ours, theirs in SIZES.items()}


def table(n_layers: int) -> Table:
    """Return their names for the parameters of ``ViT``."""
    rows = {
        "first": ("embeddings.cls_token",),
        "positions.table": ("embeddings.position_embeddings",),
        **linear("patches", "embeddings.patch_embeddings.projection"),
        **norm("norm", "layernorm"),
    }
    for i in range(n_layers):
        rows |= inside(BLOCK, f"blocks.{i}", f"layers.{i}")
    return rows
