"""Hugging Face's names for the parts and the sizes of a GPT-2 and of a Llama."""

from collections.abc import Mapping
from typing import Any

from unrolled.models.hf_names import Table, check_settings, inside, linear, norm

GPT2_SIZES = {
    "n_tokens": "vocab_size",
    "n_positions": "n_positions",
    "d_model": "n_embd",
    "n_heads": "n_head",
    "n_layers": "n_layer",
    "d_inner": "n_inner",
    "eps": "layer_norm_epsilon",
    "tied": "tie_word_embeddings",
}
GPT2_PARTS = {  # what a GPTConfig must say for GPT-2 to be able to say it
    "positions": "learned",
    "norm": "layer",
    "activation": "gelu",
    "qk_norm": False,
    "bias": True,
}
GPT2_DROPS = ("resid_pdrop", "embd_pdrop", "attn_pdrop")
GPT2_BLOCK = {
    **norm("norm_1", "ln_1"),
    **linear("attention.W_qkv", "attn.c_attn"),
    **linear("attention.W_o", "attn.c_proj"),
    **norm("norm_2", "ln_2"),
    **linear("feed_forward.W_1", "mlp.c_fc"),
    **linear("feed_forward.W_2", "mlp.c_proj"),
}
LLAMA_SIZES = {
    "n_tokens": "vocab_size",
    "n_positions": "max_position_embeddings",
    "d_model": "hidden_size",
    "n_heads": "num_attention_heads",
    "n_kv_heads": "num_key_value_heads",
    "n_layers": "num_hidden_layers",
    "d_inner": "intermediate_size",
    "eps": "rms_norm_eps",
    "tied": "tie_word_embeddings",
}
LLAMA_BLOCK: Table = {
    "norm_1.gain": ("input_layernorm.weight",),
    "attention.W_qkv.weight": tuple(f"self_attn.{x}_proj.weight" for x in "qkv"),
    "attention.W_o.weight": ("self_attn.o_proj.weight",),
    "norm_2.gain": ("post_attention_layernorm.weight",),
    "feed_forward.W_gu.weight": ("mlp.gate_proj.weight", "mlp.up_proj.weight"),
    "feed_forward.W_d.weight": ("mlp.down_proj.weight",),
}


def gpt2_table(n_layers: int) -> Table:
    """Return their names, in ``GPT2LMHeadModel``, for the parameters of ``GPT``."""
    table: Table = {
        "embed.weight": ("wte.weight",),
        "positions.table": ("wpe.weight",),
        **norm("norm", "ln_f"),
    }
    for i in range(n_layers):
        table |= inside(GPT2_BLOCK, f"blocks.{i}", f"h.{i}")
    body = {
        name: tuple(f"transformer.{part}" for part in parts)
        for name, parts in table.items()
    }
    return body | {"read.weight": ("lm_head.weight",)}


def llama_table(n_layers: int) -> Table:
    """Return their names, in ``LlamaForCausalLM``, for the parameters of ``Llama``."""
    table: Table = {
        "embed.weight": ("model.embed_tokens.weight",),
        "norm.gain": ("model.norm.weight",),
        "read.weight": ("lm_head.weight",),
    }
    for i in range(n_layers):
        table |= inside(LLAMA_BLOCK, f"blocks.{i}", f"model.layers.{i}")
    return table


def gpt2_sizes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a ``GPTConfig`` for the settings of a GPT-2."""
    check_settings(settings, model_type="gpt2", scale_attn_weights=True)
    check_settings(settings, scale_attn_by_inverse_layer_idx=False)
    check_settings(settings, add_cross_attention=False)
    if settings["activation_function"] != "gelu_pytorch_tanh":  # the same, but fused
        check_settings(settings, activation_function="gelu_new")
    drops = {name: settings[name] for name in GPT2_DROPS}
    if len(set(drops.values())) > 1:
        raise ValueError(f"{drops} must be alike: our p_drop is one number")
    sizes = {ours: settings[theirs] for ours, theirs in GPT2_SIZES.items()}
    return sizes | {"p_drop": drops["resid_pdrop"]}


def gpt2_settings(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return their settings for the fields of a ``GPTConfig``, if GPT-2 has them."""
    check_settings(sizes, **GPT2_PARTS)
    settings = {theirs: sizes[ours] for ours, theirs in GPT2_SIZES.items()}
    no_tokens = {"bos_token_id": None, "eos_token_id": None}  # GPT-2's may be too large
    return settings | dict.fromkeys(GPT2_DROPS, sizes["p_drop"]) | no_tokens


def llama_sizes(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of a ``LlamaConfig`` for the settings of a Llama."""
    check_settings(settings, model_type="llama", hidden_act="silu", mlp_bias=False)
    check_settings(settings, attention_bias=False, attention_dropout=0.0)
    check_settings(
        settings, head_dim=settings["hidden_size"] // settings["num_attention_heads"]
    )
    rotary = settings["rope_parameters"]
    check_settings(rotary, rope_type="default")
    sizes = {ours: settings[theirs] for ours, theirs in LLAMA_SIZES.items()}
    return sizes | {"rope_base": rotary["rope_theta"]}


def llama_settings(sizes: Mapping[str, Any]) -> dict[str, Any]:
    """Return their settings for the fields of a ``LlamaConfig``."""
    rotary = {"rope_type": "default", "rope_theta": sizes["rope_base"]}
    settings = {theirs: sizes[ours] for ours, theirs in LLAMA_SIZES.items()}
    no_tokens = {"bos_token_id": None, "eos_token_id": None}
    return settings | {"rope_parameters": rotary} | no_tokens


def turned(table: Table) -> set[str]:
    """Return which matrices of theirs a GPT-2 keeps as inputs by outputs."""
    names = (part for parts in table.values() for part in parts)
    return {name for name in names if ".c_" in name and name.endswith(".weight")}
