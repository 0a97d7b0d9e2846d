"""Hugging Face's encoders, small and shaken, and what they and ours must agree on."""

from collections.abc import Callable, Mapping, Sequence

import torch
import transformers as hf
from hypothesis import strategies as st
from torch import Tensor, nn

from twins import shake

N_TOKENS, N_POSITIONS, PAD = 11, 7, 1
SMALL = {
    "hidden_size": 6,
    "num_attention_heads": 3,
    "num_hidden_layers": 2,
    "intermediate_size": 5,
    "layer_norm_eps": 1e-12,
    "attn_implementation": "eager",
}
CONFIGS = {"bert": hf.BertConfig, "roberta": hf.RobertaConfig}


@st.composite
def problems(draw):
    """Draw B and T, the settings of a model, whether to pad, and a seed."""
    n_heads = draw(st.integers(1, 3))
    settings = {
        "hidden_size": n_heads * draw(st.integers(2, 4)),
        "num_attention_heads": n_heads,
        "num_hidden_layers": draw(st.integers(1, 3)),
        "intermediate_size": draw(st.integers(3, 9)),
        "type_vocab_size": draw(st.integers(1, 3)),
    }
    sizes = draw(st.integers(1, 3)), draw(st.integers(1, N_POSITIONS))
    return sizes, settings, draw(st.booleans()), draw(st.integers(0, 99))


def bert_like(kind: str, name: str, **settings) -> nn.Module:
    """Return their model of a class such as ``BertModel``, in evaluation mode.

    ``kind`` is bert or roberta, whose positions start after the id of padding.
    """
    first = PAD + 1 if kind == "roberta" else 0
    config = CONFIGS[kind](
        vocab_size=N_TOKENS,
        max_position_embeddings=first + N_POSITIONS,
        pad_token_id=PAD,
        **(SMALL | settings),
    )
    return shake(getattr(hf, name)(config)).eval()


def texts(n_rows: int, n_steps: int, *, n_types: int, padded: bool):
    """Draw ids, real tokens, types and positions (B, T); only padding has its id."""
    ids = torch.randint(PAD + 1, N_TOKENS, (n_rows, n_steps))
    real = torch.rand(n_rows, n_steps) < 0.6 if padded else torch.ones(ids.shape).bool()
    real[:, 0] = True
    positions = torch.rand(n_rows, N_POSITIONS).argsort(dim=-1)[:, :n_steps]
    types = torch.randint(n_types, ids.shape)
    return ids.where(real, PAD), real, types, positions


def their_inputs(real: Tensor, types: Tensor, positions: Tensor, first: int):
    """Return our inputs under their names."""
    return {
        "attention_mask": real.long(),
        "token_type_ids": types,
        "position_ids": positions + first,
    }


def agree_on_all(
    agree: Callable[..., None],
    table: Mapping[str, Sequence[str]],
    pair: tuple[nn.Module, nn.Module],
    results: tuple[Tensor, Tensor],
) -> None:
    """Hold our and their values, and the gradients for every parameter of ours."""
    agree(*results, model=True)
    upstream = torch.randn_like(results[0])
    found = []
    for module, result in zip(pair, results, strict=True):
        names, parameters = zip(*module.named_parameters(), strict=True)
        grads = torch.autograd.grad(result, parameters, upstream, allow_unused=True)
        found.append(dict(zip(names, grads, strict=True)))
    ours, theirs = found
    for name, grad in ours.items():
        parts = torch.cat([theirs.pop(part) for part in table[name]])
        agree(grad, parts.reshape(grad.shape), model=True, gradient=True)
    assert all("pooler" in name for name in theirs)  # each of theirs has its place


def same_weights(ours: nn.Module, theirs: nn.Module) -> bool:
    """Return whether two modules of one kind have the same numbers."""
    a, b = ours.state_dict(), theirs.state_dict()
    return a.keys() == b.keys() and all(torch.equal(a[k], b[k]) for k in a)
