"""What a state still knows: a linear read-out, fitted in closed form.

Training a read-out step by step measures the training too. Least squares does not: it
finds a trace however faint. Axes: B rows, D hidden width.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from unrolled.shapes import check_shape


@torch.no_grad()
def probe_accuracy(
    states: Tensor, answers: Tensor, test_states: Tensor, test_answers: Tensor
) -> float:
    """Return how often a read-out fitted to some states is right about others.

    ``states`` (B, D) are fitted to one-hot ``answers`` (B,) by least squares, with a
    bias, in double precision; the largest score is the answer.
    """
    check_shape("states", states, "B D")
    check_shape("test_states", test_states, "B D", D=states.shape[1])
    for name, y, h in (
        ("answers", answers, states),
        ("test_answers", test_answers, test_states),
    ):
        check_shape(name, y, "B", B=len(h))
    n_classes = int(max(answers.max(), test_answers.max())) + 1
    targets = F.one_hot(answers, n_classes).double()
    # By singular values: where the rank is not full, as when the bias is a sum of other
    # columns, the default of lstsq now and then loses faint ones.
    weights = torch.linalg.pinv(_with_ones(states)) @ targets
    found = (_with_ones(test_states) @ weights).argmax(dim=1)
    return (found == test_answers).double().mean().item()


def _with_ones(states: Tensor) -> Tensor:
    """Return (B, D) as (B, D + 1): a bias is a weight whose input is one."""
    return F.pad(states.double(), (0, 1), value=1.0)
