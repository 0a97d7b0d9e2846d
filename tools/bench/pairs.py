"""Reading one sentence and writing another: keys that are made once for all steps.

The reference is the same model, but its additive attention multiplies the source's
states by their matrix whenever a state asks, as a loop over one step's formula does.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from bench.measure import Case, Step
from unrolled.layers.alignment import AdditiveAttention
from unrolled.models.seq2seq import Seq2Seq, Seq2SeqConfig

B, S, T, V = 32, 20, 20, 3000  # sentences, their lengths, tokens


class ForgetfulAttention(AdditiveAttention):
    """Additive attention that makes its keys anew for every query."""

    def project(self, memory: Tensor) -> Tensor:
        """Take ``memory`` (B, S, D) as it is."""
        return memory

    def score(self, queries: Tensor, keys: Tensor) -> Tensor:
        """Return the scores (B, T, S) of queries and of what should be keys."""
        return super().score(queries, super().project(keys))


def train(model: Seq2Seq) -> Step:
    """Return a step of training on sentences of random tokens, none of them padding."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    source, target_in, target = torch.randint(0, V, (3, B, T))

    def run() -> None:
        optimizer.zero_grad()
        logits = model(source[:, :S], target_in)
        F.cross_entropy(logits.flatten(0, 1), target.flatten()).backward()
        optimizer.step()

    return run


def pair_cases() -> list[Case]:
    """Compare training steps with keys made once and made at every step."""
    found = []
    for width in (128, 256):
        config = Seq2SeqConfig(
            n_source=V, n_target=V, d_embed=width, d_hidden=width, bidirectional=True
        )
        ours, theirs = Seq2Seq(config), Seq2Seq(config)
        theirs.decoder.attention = ForgetfulAttention(width, width, width)
        theirs.load_state_dict(ours.state_dict())
        found.append(
            Case(
                what=f"additive attention, {width} units, a training step",
                against="keys made at every step",
                ours=train(ours),
                theirs=train(theirs),
                reach=0.8,
            )
        )
    return found
