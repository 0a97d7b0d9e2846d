r"""Made proteins: sequences that covary along a contact map that is known.

Two positions in contact choose their letters together: like charges repel, opposite
charges attract, and greasy letters keep each other company. A family is drawn from a
pairwise (Potts) model

.. math:: p(a_1, …, a_L) ∝ \prod_i e^{h_i(a_i)} \prod_{(i,j)} e^{J\, M(a_i, a_j)}

in which every position has at most one partner, so that it falls apart into single
positions and pairs and is sampled *exactly*. Axes: B sequences, T positions, V letters.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from unrolled.shapes import at_least

LETTERS = "ACDEFGHIKLMNPQRSTVWY"  # the twenty amino acids
LEAST_APART = 4  # a chain cannot turn back upon itself any sooner
N_RUNGS = 3  # contacts come in ladders, as where two strands lie side by side

# Charge at neutral pH, and hydropathy (Kyte and Doolittle, 1982) of each of LETTERS.
_CHARGE = {"D": -1.0, "E": -1.0, "K": 1.0, "R": 1.0}
# fmt: off
_HYDROPATHY = (
    1.8, 2.5, -3.5, -3.5, 2.8, -0.4, -3.2, 4.5, -3.9, 3.8,
    1.9, -3.5, -1.6, -3.5, -4.5, -0.8, -0.7, 4.2, -0.9, -1.3,
)
# fmt: on


@dataclass(frozen=True, kw_only=True, slots=True)
class Family:
    """Sequences of one made protein, and all that is true of them.

    ``sequences`` (B, T) of places in LETTERS; ``contacts`` (T, T), symmetric, True
    where two positions touch; ``pairs`` (P, 2) lists them, the lower position first.
    The exact distributions: ``singles`` (T, V) of each position and ``joints`` (P, V,
    V) of each pair; all other pairs of positions are independent.
    """

    sequences: Tensor
    contacts: Tensor
    pairs: Tensor
    singles: Tensor
    joints: Tensor


def affinity() -> Tensor:
    """Return M (V, V), symmetric: how gladly two letters touch, in any family."""
    charge = torch.tensor([_CHARGE.get(letter, 0.0) for letter in LETTERS])
    greasy = torch.tensor(_HYDROPATHY) / 4.5
    return greasy[:, None] * greasy - 2 * charge[:, None] * charge


def contact_pairs(
    length: int, n_contacts: int, *, generator: torch.Generator
) -> Tensor:
    """Draw pairs (P, 2) that share no position, in ladders of (i + k, j - k)."""
    at_least(12, length=length)
    at_least(1, n_contacts=n_contacts)
    if n_contacts > length // 4:
        raise ValueError(
            f"{n_contacts=} must be at most {length // 4}, a quarter of {length=}"
        )
    options = torch.combinations(torch.arange(length))
    order = torch.randperm(len(options), generator=generator)
    free = [True] * length
    pairs: list[tuple[int, int]] = []
    for i, j in options[order].tolist():
        for k in range(min(N_RUNGS, n_contacts - len(pairs))):
            a, b = i + k, j - k
            if b - a < LEAST_APART or not (free[a] and free[b]):
                break
            free[a] = free[b] = False
            pairs.append((a, b))
    return torch.tensor(sorted(pairs))


def _inherit(
    fresh: Tensor, n_rows: int, relatedness: float, generator: torch.Generator
) -> Tensor:
    """Hand letters down a tree of doublings, mixing in ``fresh`` ones: (B, columns).

    ``fresh`` (3B, columns) are independent draws, enough for every branch. A child
    keeps each column of its parent with probability ``relatedness``, else takes a fresh
    draw: every member of the tree follows exactly the distribution of ``fresh``.
    """
    here, used = fresh[:1], 1
    while len(here) < n_rows:
        here = here.repeat_interleave(2, dim=0)[:n_rows]
        keeps = torch.rand(here.shape, generator=generator) < relatedness
        here = torch.where(keeps, here, fresh[used : used + len(here)])
        used += len(here)
    return here


def family(
    n_rows: int,
    length: int,
    *,
    n_contacts: int,
    coupling: float = 2.0,
    conservation: float = 1.0,
    relatedness: float = 0.0,
    generator: torch.Generator,
) -> Family:
    """Draw one family of ``n_rows`` sequences of ``length`` letters.

    ``coupling`` is J above. The fields h are normal with a spread drawn for each
    position between 0 and twice ``conservation``: some positions hardly vary. With
    ``relatedness`` 0 the sequences are independent. Otherwise they are the leaves of a
    tree, row 2k beside row 2k + 1, in which a child keeps a column (a contact's two
    columns together) with that probability. Each sequence alone still follows the
    model, but columns that nothing couples now look coupled, because whole branches
    share them: what misleads mutual information in real families.
    """
    at_least(1, n_rows=n_rows)
    if not 0 <= relatedness < 1:
        raise ValueError(f"{relatedness=} must be at least 0 and below 1")
    for name, value in {"coupling": coupling, "conservation": conservation}.items():
        if value < 0:
            raise ValueError(f"{name}={value} must be at least 0")
    pairs = contact_pairs(length, n_contacts, generator=generator)
    n_letters = len(LETTERS)
    spread = 2 * conservation * torch.rand(length, 1, generator=generator)
    fields = spread * torch.randn(length, n_letters, generator=generator)  # (T, V)
    i, j = pairs.T
    energies = fields[i, :, None] + fields[j, None, :] + coupling * affinity()
    joints = energies.flatten(1).softmax(dim=1)  # (P, V²)
    contacts = torch.zeros(length, length, dtype=torch.bool)
    contacts[i, j] = contacts[j, i] = True
    alone = (~contacts.any(dim=1)).nonzero().flatten()
    singles = fields.softmax(dim=1)

    def draw(weights: Tensor) -> Tensor:  # (columns, states) -> (3B, columns)
        return torch.multinomial(weights, 3 * n_rows, True, generator=generator).T

    fresh = torch.cat([draw(singles[alone]), draw(joints)], dim=1)
    drawn = _inherit(fresh, n_rows, relatedness, generator)
    sequences = torch.empty(n_rows, length, dtype=torch.long)
    sequences[:, alone] = drawn[:, : len(alone)]
    together = drawn[:, len(alone) :]
    sequences[:, i], sequences[:, j] = together // n_letters, together % n_letters
    joints = joints.unflatten(1, (n_letters, n_letters))
    singles[i], singles[j] = joints.sum(dim=2), joints.sum(dim=1)
    return Family(
        sequences=sequences,
        contacts=contacts,
        pairs=pairs,
        singles=singles,
        joints=joints,
    )
