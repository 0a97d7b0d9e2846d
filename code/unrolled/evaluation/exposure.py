r"""How wrong a language model is after right prefixes, and after its own.

The language is an :class:`~unrolled.data.made.automaton.Automaton`, whose probabilities
p are known after *any* prefix. The error of a model q at a step is the divergence

.. math:: \sum_w p(w \mid w_{1:t}) \log
    \frac{p(w \mid w_{1:t})}{q(w \mid w_{1:t})},

which is exact; only the prefixes are drawn. The model's token V, the first after those
of the language, begins a row. Axes: B rows, T tokens, V vocabulary.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.data.made.automaton import Automaton
from unrolled.decoding.loop import evaluating, generate
from unrolled.decoding.sampling import sampler
from unrolled.models.rnn_lm import RNNLM


def begun(language: Automaton, ids: Tensor) -> Tensor:
    """Return the rows (B, T) with the token that begins a row in front, (B, T + 1)."""
    return torch.cat([ids.new_full((len(ids), 1), len(language.tokens)), ids], dim=1)


@torch.no_grad()
def step_errors(model: RNNLM, language: Automaton, ids: Tensor) -> Tensor:
    """Return the error (B, T) at every token of ``ids`` (B, T), after those before.

    What comes next is not looked at: the two distributions are compared.
    """
    with evaluating(model):
        logits = model(begun(language, ids[:, :-1]))
    log_q = logits.log_softmax(dim=-1)[..., : len(language.tokens)]
    p = language.next_token(ids[:, :-1])
    return (p * (p.log() - log_q)).sum(dim=-1)


def misled(language: Automaton, ids: Tensor) -> tuple[Tensor, Tensor]:
    """Return where (B, T) the last two letters of the counting language mislead.

    They do if the step from one to the other is not that of the key. With it comes the
    letter (B, T) to which that step leads on, whether it misleads or not.
    """
    n = sum(token.islower() for token in language.tokens)
    before, last = ids[:, :-2], ids[:, 1:-1]
    shown = (2 * last - before) % n
    right = language.next_token(ids[:, :-1])[:, 2:].argmax(dim=-1)
    wrong = (before < n) & (last < n) & (shown != right)
    return F.pad(wrong, (2, 0)), F.pad(shown, (2, 0))  # no two letters at the start


def shows_a_key(language: Automaton, ids: Tensor) -> Tensor:
    """Return where (B, T) the last two letters are the step of some key apart.

    Where they mislead as well, they show the step of another key than holds; where
    they mislead and do not, there is no key of such a step.
    """
    n = sum(token.islower() for token in language.tokens)
    n_keys = len(language.tokens) - n
    before, last = ids[:, :-2], ids[:, 1:-1]
    step = (last - before) % n
    return F.pad((before < n) & (last < n) & (step >= 1) & (step <= n_keys), (2, 0))


def own_rows(
    model: RNNLM,
    language: Automaton,
    n_rows: int,
    n_steps: int,
    *,
    generator: torch.Generator,
) -> Tensor:
    """Let the model write rows (B, T) by itself, of the language's tokens only."""
    v = len(language.tokens)
    draw = sampler(generator=generator)
    begin = begun(language, torch.empty(n_rows, 0, dtype=torch.long))
    written = generate(
        model, begin, n_tokens=n_steps, choose=lambda logits: draw(logits[:, :v])
    )
    return written.ids


@torch.no_grad()
def scheduled_rows(
    model: RNNLM,
    language: Automaton,
    ids: Tensor,
    p_own: float,
    *,
    generator: torch.Generator,
) -> Tensor:
    """Return rows (B, T) in which tokens of ``ids`` give way to the model's own.

    Each token does so with probability ``p_own``; what the model writes in its place is
    drawn after the row as it stands so far. So scheduled sampling makes its inputs; its
    targets stay those of ``ids``.
    """
    v, rows = len(language.tokens), []
    logits, state = model.start(begun(language, ids[:, :0]))
    for token in ids.T:
        own = torch.multinomial(logits[:, :v].softmax(dim=-1), 1, generator=generator)[
            :, 0
        ]
        swap = torch.rand(len(ids), generator=generator) < p_own
        rows.append(torch.where(swap, own, token))
        logits, state = model.step(rows[-1], state)
    return torch.stack(rows, dim=1)
