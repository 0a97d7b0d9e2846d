"""GPT: training steps, writing with a cache, and the attention layer by itself.

The references are a plain GPT-2-style model written here, with PyTorch's attention
kernel; Hugging Face's GPT-2; and x-transformers. All train by the same fused AdamW,
without dropout, and write one text greedily with a cache of keys and values.
"""

import os
from collections.abc import Callable

os.environ["TRANSFORMERS_VERBOSITY"] = "error"  # before the library looks

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from transformers import GPT2LMHeadModel
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

from bench.measure import Case, Step
from unrolled.decoding.loop import generate
from unrolled.layers.attention import MultiHeadAttention, attention_weights
from unrolled.models.gpt import GPT, GPTConfig

B, T, V, D, H, L = 12, 64, 65, 128, 4, 4
N_WRITTEN = 256
LONG = 2048  # positions of the attention layer


class PlainBlock(nn.Module):
    """A block as GPT-2 has it, in the words of torch.nn."""

    def __init__(self) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.mlp = nn.Sequential(
            nn.Linear(D, 4 * D), nn.GELU(approximate="tanh"), nn.Linear(4 * D, D)
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map ``x`` (B, T, D) to (B, T, D)."""
        n_rows, n_steps, _ = x.shape
        q, k, v = (
            part.view(n_rows, n_steps, H, D // H).transpose(1, 2)
            for part in self.qkv(self.ln_1(x)).split(D, dim=2)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).contiguous().view(n_rows, n_steps, D))
        return x + self.mlp(self.ln_2(x))


class PlainGPT(nn.Module):
    """A GPT-2-style model as one would write it down: the reference to beat."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(V, D), nn.Embedding(T, D)
        self.blocks = nn.ModuleList(PlainBlock() for _ in range(L))
        self.ln_f, self.head = nn.LayerNorm(D), nn.Linear(D, V, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids (B, T) to logits (B, T, V)."""
        x = self.tokens(ids) + self.places(torch.arange(ids.shape[1]))
        for block in self.blocks:
            x = block(x)
        return self.head(self.ln_f(x))


def sizes(n_positions: int) -> dict[str, int]:
    """Return the sizes of the GPT that is measured."""
    return {
        "n_tokens": V,
        "n_positions": n_positions,
        "d_model": D,
        "n_heads": H,
        "n_layers": L,
    }


def hugging_face(n_positions: int) -> GPT2LMHeadModel:
    """Return Hugging Face's GPT-2 of the same sizes."""
    return GPT(GPTConfig(**sizes(n_positions))).to_hf()


def x_transformer(n_positions: int) -> TransformerWrapper:
    """Return x-transformers' decoder of the same sizes, with the attention kernel."""
    layers = Decoder(dim=D, depth=L, heads=H, attn_dim_head=D // H, attn_flash=True)
    return TransformerWrapper(
        num_tokens=V, max_seq_len=n_positions, attn_layers=layers, tie_embedding=True
    )


def train(model: nn.Module, logits: Callable[[Tensor], Tensor]) -> Step:
    """Return a training step of ``model`` on a batch (B, T)."""
    ids, targets = torch.randint(0, V, (2, B, T))
    adamw = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)

    def run() -> None:
        adamw.zero_grad(set_to_none=True)
        F.cross_entropy(logits(ids).flatten(0, 1), targets.flatten()).backward()
        adamw.step()

    return run


def training_cases() -> list[Case]:
    """Compare a training step of ours, GPT-2 and modern, with three references."""
    ours, modern = GPT(GPTConfig(**sizes(T))), GPT(GPTConfig.modern(**sizes(T)))
    plain, theirs, x = PlainGPT(), hugging_face(T), x_transformer(T)
    step, of_plain = train(ours, ours), train(plain, plain)
    of_theirs = train(theirs, lambda ids: theirs(ids, use_cache=False).logits)
    rows = [
        ("GPT", step, "a plain GPT-2-style model", of_plain, 0.95),
        ("GPT", step, "transformers GPT-2", of_theirs, 0.70),
        ("GPT", step, "x-transformers", train(x, x), None),
        ("modern GPT", train(modern, modern), "the plain one", of_plain, None),
    ]
    return [
        Case(
            what=f"{model}, a training step",
            against=against,
            ours=ours,
            theirs=theirs,
            reach=reach,
        )
        for model, ours, against, theirs, reach in rows
    ]


def writing_cases() -> list[Case]:
    """Compare how long one text of 256 tokens takes, written with a cache."""
    n_positions, first = N_WRITTEN + 1, torch.zeros(1, 1, dtype=torch.long)
    ours = GPT(GPTConfig(**sizes(n_positions))).eval()
    modern = GPT(GPTConfig.modern(**sizes(n_positions))).eval()
    theirs = hugging_face(n_positions).eval()
    x = AutoregressiveWrapper(x_transformer(n_positions)).eval()

    def write(model: GPT) -> Step:
        return lambda: generate(model, first, n_tokens=N_WRITTEN)

    def write_theirs() -> None:
        theirs.generate(
            first,
            attention_mask=torch.ones_like(first),
            max_new_tokens=N_WRITTEN,
            do_sample=False,
            use_cache=True,
            pad_token_id=0,
        )

    def write_x() -> None:
        x.generate(first, N_WRITTEN, temperature=0.0, cache_kv=True)

    rows = [
        ("GPT", ours, "transformers.generate", write_theirs, 0.25),
        ("GPT", ours, "x-transformers", write_x, None),
        ("modern GPT", modern, "transformers.generate", write_theirs, None),
    ]
    return [
        Case(
            what=f"{name}, {N_WRITTEN} tokens written with a cache",
            against=against,
            ours=write(model),
            theirs=theirs,
            reach=reach,
        )
        for name, model, against, theirs, reach in rows
    ]


def attention_cases() -> list[Case]:
    """Compare causal attention over 2,048 positions, forward and backward."""
    found = []
    hidden = torch.ones(LONG, LONG, dtype=torch.bool).triu(1)
    for d_model, n_heads in ((128, 4), (256, 8), (256, 4)):
        x = torch.randn(1, LONG, d_model, requires_grad=True)
        ours = MultiHeadAttention(d_model, n_heads)
        theirs = nn.MultiheadAttention(d_model, n_heads, batch_first=True)

        def run(ours: nn.Module = ours, x: Tensor = x) -> None:
            ours(x, causal=True).sum().backward()

        def run_theirs(theirs: nn.Module = theirs, x: Tensor = x) -> None:
            theirs(x, x, x, attn_mask=hidden)[0].sum().backward()

        def explicit(ours: MultiHeadAttention = ours, x: Tensor = x) -> None:
            q, k, v = ours.heads(x, None)
            y = attention_weights(q, k, causal=True) @ v
            ours.W_o(y.transpose(1, 2).flatten(start_dim=2)).sum().backward()

        d_head = d_model // n_heads
        what = f"attention over {LONG:,} positions, {n_heads} heads of {d_head}"
        rows = [
            ("torch.nn.MultiheadAttention", run_theirs, 0.28),
            ("weights written out", explicit, 0.17),
        ]
        found += [
            Case(what=what, against=against, ours=run, theirs=theirs, reach=reach)
            for against, theirs, reach in rows
        ]
    return found


def gpt_cases() -> list[Case]:
    """Return all cases of this file."""
    return training_cases() + writing_cases() + attention_cases()
