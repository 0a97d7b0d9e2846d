r"""Muon: momentum, orthogonalised, for the matrices inside a network.

A gradient matrix is dominated by a few directions. Muon keeps its directions and makes
all of them equally long: of :math:`\mathbf{U}\mathbf{S}\mathbf{V}^\top` it takes
:math:`\mathbf{U}\mathbf{V}^\top`, or nearly so.
"""

import math
from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn

#: The polynomial a s + b s³ + c s⁵ of a singular value s, steepest at zero: a few
#: rounds bring small values near 1 and leave none above 1.3.
QUINTIC = (3.4445, -4.7750, 2.0315)


def orthogonalise(G: Tensor, n_rounds: int) -> Tensor:
    r"""Return a matrix with the singular vectors of ``G`` and values near 1.

    A Newton-Schulz round is :math:`\mathbf{X} \leftarrow a\mathbf{X} +
    (b\mathbf{S} + c\mathbf{S}^2)\,\mathbf{X}` with
    :math:`\mathbf{S} = \mathbf{X}\mathbf{X}^\top`: it acts on every singular value
    alone and needs only products.
    """
    a, b, c = QUINTIC
    tall = len(G) > len(G.T)
    X = G.T if tall else G  # S is then the smaller of the two squares
    X = X / X.norm().clamp(min=1e-7)  # no singular value is above 1 now
    for _ in range(n_rounds):
        S = X @ X.T
        X = torch.addmm(X, torch.addmm(S, S, S, beta=b, alpha=c), X, beta=a)
    return X.T if tall else X


class Muon(torch.optim.Optimizer):
    r"""Steps along orthogonalised momentum; for matrices only.

    With gradient G, momentum M and rate :math:`\eta`, a step is M ← βM + (1 − β)G,
    then W ← (1 − ηλ)W − ηs · orthogonalise(βM + (1 − β)G), λ the weight decay. The
    factor s = √max(1, out / in) keeps the change of the *outputs* of one size.
    A parameter group says in ``out_axis`` which axis of its matrices is the output:
    0 in ``nn.Linear``, 1 where the code reads as :math:`\mathbf{x}\mathbf{W}`.
    """

    def __init__(
        self,
        params: Iterable[nn.Parameter] | Iterable[dict[str, Any]],
        *,
        lr: float = 0.02,
        momentum: float = 0.95,
        weight_decay: float = 0.0,
        n_rounds: int = 3,
    ) -> None:
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "weight_decay": weight_decay,
                "n_rounds": n_rounds,
                "out_axis": 0,
            },
        )
        for group in self.param_groups:
            for W in group["params"]:
                if W.ndim != 2:
                    raise ValueError(
                        f"Muon trains matrices; a parameter has shape {tuple(W.shape)}"
                    )

    # PyTorch declares two overloads, one for each kind of closure; we take neither.
    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """Take one step; ``closure`` is not called: our loop has none."""
        for group in self.param_groups:
            for W in group["params"]:
                if W.grad is not None:
                    self._move(W, W.grad, group)
        return None

    def _move(self, W: Tensor, G: Tensor, group: dict[str, Any]) -> None:
        lr, beta = group["lr"], group["momentum"]
        M = self.state[W].setdefault("momentum", torch.zeros_like(G))
        M.lerp_(G, 1 - beta)
        update = orthogonalise(G.lerp(M, beta), group["n_rounds"])
        n_out, n_in = W.shape[group["out_axis"]], W.shape[1 - group["out_axis"]]
        W.mul_(1 - lr * group["weight_decay"])
        W.add_(update, alpha=-lr * math.sqrt(max(1.0, n_out / n_in)))
