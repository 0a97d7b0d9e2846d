"""Fixtures shared by all tests: a fixed seed, every device there is, our tolerances."""

from collections.abc import Callable

import pytest
import torch
from hypothesis import settings
from torch import Tensor

torch.set_num_threads(1)  # the tensors are tiny: more threads only add noise
torch.backends.cudnn.allow_tf32 = False  # parity is to float32, not to 10 bits

settings.register_profile("book", derandomize=True, deadline=None)
settings.load_profile("book")


def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Leave out the GPU tests where there is no GPU, and say how many."""
    if torch.cuda.is_available():
        return
    left_out = [item for item in items if item.get_closest_marker("gpu")]
    if left_out:
        items[:] = [item for item in items if not item.get_closest_marker("gpu")]
        config.hook.pytest_deselected(items=left_out)


@pytest.fixture(autouse=True)
def seed() -> None:
    torch.manual_seed(0)


@pytest.fixture(
    scope="session", params=["cpu", pytest.param("cuda", marks=pytest.mark.gpu)]
)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture(scope="session")
def agree() -> Callable[..., None]:
    """Return the book's parity check: max |a - b| <= tolerance * max(1, max |b|).

    In float32 the tolerance is 1e-6 for a layer, 1e-5 for a model, and ten times that
    for gradients; in float64 it is 1e-10.
    """

    def check(ours: Tensor, theirs: Tensor, *, model=False, gradient=False) -> None:
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        tolerance = 1e-10
        if ours.dtype == torch.float32:
            tolerance = (1e-5 if model else 1e-6) * (10 if gradient else 1)
        if ours.numel():
            gap = (ours - theirs).abs().max().item()
            assert gap <= tolerance * max(1.0, theirs.abs().max().item())

    return check
