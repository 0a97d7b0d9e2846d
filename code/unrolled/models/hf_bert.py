"""Hugging Face's names for the parts and the sizes of a BERT or a RoBERTa."""

from collections.abc import Mapping
from typing import Any

from unrolled.models.hf_names import Table, check_settings, inside, linear, norm

SIZES = {
    "n_tokens": "vocab_size",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_layers": "num_hidden_layers",
    "d_inner": "intermediate_size",
    "n_types": "type_vocab_size",
    "eps": "layer_norm_eps",
    "p_drop": "hidden_dropout_prob",
    "p_drop_attention": "attention_probs_dropout_prob",
}
BLOCK = {
    **linear(
        "attention.W_qkv",
        *(f"attention.self.{name}" for name in ("query", "key", "value")),
    ),
    **linear("attention.W_o", "attention.output.dense"),
    **norm("norm_1", "attention.output.LayerNorm"),
    **linear("feed_forward.W_1", "intermediate.dense"),
    **linear("feed_forward.W_2", "output.dense"),
    **norm("norm_2", "output.LayerNorm"),
}
BERT_HEAD = {
    "bias": ("cls.predictions.bias",),
    **linear("transform", "cls.predictions.transform.dense"),
    **norm("norm", "cls.predictions.transform.LayerNorm"),
}
ROBERTA_HEAD = {
    "bias": ("lm_head.bias",),
    **linear("transform", "lm_head.dense"),
    **norm("norm", "lm_head.layer_norm"),
}


def sizes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a ``BERTConfig`` for the settings of their ``config.json``.

    RoBERTa's first position is one after the id of padding, and its
    ``max_position_embeddings`` counts the rows before, which no token has.
    """
    kind = settings["model_type"]
    if kind not in ("bert", "roberta"):
        raise ValueError(f"model_type={kind!r} must be 'bert' or 'roberta'")
    check_settings(settings, hidden_act="gelu", position_embedding_type="absolute")
    check_settings(settings, is_decoder=False, add_cross_attention=False)
    first = settings["pad_token_id"] + 1 if kind == "roberta" else 0
    return {
        **{ours: settings[theirs] for ours, theirs in SIZES.items()},
        "first_position": first,
        "n_positions": settings["max_position_embeddings"] - first,
    }


def settings(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return their settings for the fields of a ``BERTConfig``."""
    first = sizes["first_position"]
    return {
        **{theirs: sizes[ours] for ours, theirs in SIZES.items()},
        "max_position_embeddings": first + sizes["n_positions"],
        **({"pad_token_id": first - 1} if first else {}),
    }


def encoder_table(n_layers: int) -> Table:
    """Return their names for the parameters of ``BERT``."""
    table = {
        "embed.weight": ("embeddings.word_embeddings.weight",),
        "positions.table": ("embeddings.position_embeddings.weight",),
        "types.weight": ("embeddings.token_type_embeddings.weight",),
        **norm("norm", "embeddings.LayerNorm"),
    }
    for i in range(n_layers):
        table |= inside(BLOCK, f"blocks.{i}", f"encoder.layer.{i}")
    return table


def masked_lm_table(n_layers: int, *, roberta: bool) -> Table:
    """Return their names for the parameters of ``MaskedLM``."""
    head, encoder = (ROBERTA_HEAD, "roberta") if roberta else (BERT_HEAD, "bert")
    return {**head, **inside(encoder_table(n_layers), "bert", encoder)}
